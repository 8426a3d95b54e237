"""PostgreSQL, a real server: what a micro-batch leaves in the table, whoever reads it, and however often it comes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from threading import Barrier

import pytest

from cartesius import CartesiusError, Delete, Reactive, Update
from tests.brokers.servers import postgresql_server

pytestmark = pytest.mark.slow
psycopg = pytest.importorskip("psycopg", reason="the extra postgresql is not installed")
SCHEMA = (
    'output string, change string, key bigint, start timestamp, `end` timestamp, `odd "name` string,'
    " amount decimal(5, 2), whole bigint, number double, truth boolean, day date, local timestamp_ntz, blob binary,"
    " list array<bigint>, inner struct<a: bigint, at: timestamp>"
)
NOON = datetime(2024, 3, 31, 0, 59, 59, 123456, tzinfo=UTC)
FIELDS = (
    "'; DROP TABLE t; \\ \t\u2603\n",
    Decimal("-1.50"),
    2**53 + 1,
    float("nan"),
    True,
    date(2024, 2, 29),
    datetime(2024, 3, 31, 2, 30, 0, 1),
    b"\x00\xff",
    [1, None, 2**53 + 1],
    (7, NOON),
)
NOTHING = (None,) * len(FIELDS)


@pytest.fixture(scope="module")
def server():
    with postgresql_server() as connection:
        yield connection


@pytest.fixture
def table(server):
    with psycopg.connect(server, autocommit=True) as database:
        database.execute("SET TIME ZONE 'UTC'")
        database.execute('DROP TABLE IF EXISTS "verdicts"')
        yield lambda text: database.execute(text).fetchall()


def batch(spark, *changes):
    rows = [("ships", change, key, NOON, NOON, *fields) for change, key, fields in changes]
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


def test_every_type_arrives_exactly_whatever_the_zone_of_the_session(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    spark.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    try:
        to_postgresql(server, "verdicts")(batch(spark, ("update", 1, FIELDS), ("update", None, NOTHING)), 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    (found, empty) = table("SELECT * FROM verdicts ORDER BY key")
    assert found[:4] == ("ships", 1, NOON, NOON)
    assert repr(found[4:12]) == repr(FIELDS[:8])
    assert found[12] == [1, None, 2**53 + 1]
    assert found[13] == {"a": 7, "at": "2024-03-31T00:59:59.123456Z"}
    assert empty == ("ships", None, NOON, NOON, *NOTHING)


@pytest.mark.parametrize("zone", ["Asia/Kamchatka", "America/New_York"])
def test_the_first_and_the_last_instant_arrive_whatever_the_zone_of_the_session(spark, server, table, zone):
    """In a zone east of UTC the last one is in the year 10000, in one west of it the first one before Christ."""
    from spark_bridge.upserts import to_postgresql

    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        first, last = "TIMESTAMP'0001-01-01 00:00:00Z'", "TIMESTAMP'9999-12-31 23:59:59.999999Z'"
        ends = f"{first} start", f"{last} `end`", f"ARRAY({first}, {last}) ends"
        rows = spark.range(1).selectExpr("'ships' output", "'update' change", "id key", *ends)
        to_postgresql(server, "verdicts")(rows.coalesce(1), 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    shown = ["0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"]
    expected = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), shown
    assert table('SELECT "start", "end", ends FROM verdicts') == [expected]


def test_keys_of_maps_are_written_as_values_of_their_type_are(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    rows = spark.range(1).selectExpr(
        "'ships' output", "'update' change", "MAP(X'6162', DATE'2024-02-29') key",
        "MAP(DATE'2024-02-29', MAP(TIMESTAMP'2024-03-31 00:59:59.123456Z', 1)) v",
    )  # fmt: skip
    for number in range(2):
        to_postgresql(server, "verdicts")(rows.coalesce(1), number)
    assert table("SELECT key, v FROM verdicts") == [
        ({"YWI=": "2024-02-29"}, {"2024-02-29": {"2024-03-31T00:59:59.123456Z": 1}})
    ]


def test_nested_keys_a_microsecond_apart_are_two_rows(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    schema = "output string, change string, key struct<at: timestamp, n: bigint>, value bigint"
    rows = [("ships", "update", (NOON.replace(microsecond=after), None), after) for after in (0, 1)]
    to_postgresql(server, "verdicts")(spark.createDataFrame(rows, schema).coalesce(1), 0)
    assert table("SELECT key, value FROM verdicts ORDER BY value") == [
        ({"at": "2024-03-31T00:59:59.000000Z", "n": None}, 0),
        ({"at": "2024-03-31T00:59:59.000001Z", "n": None}, 1),
    ]


def test_the_last_change_of_a_key_wins_and_a_repeat_changes_nothing(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    write = to_postgresql(server, "verdicts")
    amounts = {n: ("x", Decimal(n), *NOTHING[2:]) for n in range(4)}
    first = batch(spark, ("update", 1, amounts[0]), ("update", 2, amounts[1]), ("update", None, amounts[1]))
    second = batch(
        spark,
        ("update", 1, amounts[2]),
        ("delete", 2, NOTHING),
        ("delete", 1, NOTHING),
        ("update", 1, amounts[3]),
        ("delete", None, NOTHING),
        ("delete", 9, NOTHING),
    )
    write(first, 0)
    write(first, 0)
    assert table("SELECT key, amount FROM verdicts ORDER BY key") == [(1, 0), (2, 1), (None, 1)]
    for _ in range(3):
        write(second, 1)
        assert table("SELECT key, amount FROM verdicts") == [(1, 3)]


HOSTILE = ("deleted", "deleted_", "row", "place", "t", 'a"; DROP TABLE x; --', "a.b", "`", "{}", "%s", "naïve 'x'")


@pytest.mark.parametrize("name", ["changes", 'odd "; %s {} name'])
def test_names_are_nothing_but_names(spark, server, table, name):
    """Those of the sink's own helpers among them."""
    from spark_bridge.upserts import to_postgresql

    quoted = '"' + name.replace('"', '""') + '"'
    table(f"SELECT to_regclass('{quoted}')")
    with psycopg.connect(server, autocommit=True) as database:
        database.execute(f"DROP TABLE IF EXISTS {quoted}")
    columns = ", ".join(f"`{one.replace('`', '``')}` string" for one in HOSTILE)
    schema = f"output string, change string, key bigint, {columns}"

    def batch_of(*changes):
        rows = [("ships", change, key, *([text] * len(HOSTILE))) for change, key, text in changes]
        return spark.createDataFrame(rows, schema).coalesce(1)

    write = to_postgresql(server, name)
    write(batch_of(("update", 1, "x"), ("update", 2, "y")), 0)
    write(batch_of(("delete", 1, None), ("update", 2, "z")), 1)
    assert table(f"SELECT * FROM {quoted}") == [("ships", 2, *(["z"] * len(HOSTILE)))]


def test_an_output_that_is_no_table_is_refused_and_nothing_is_written(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    with pytest.raises(Exception, match="expected updates and deletes of a table"):
        to_postgresql(server, "verdicts")(batch(spark, ("update", 1, NOTHING), ("event", None, NOTHING)), 0)
    assert table("SELECT to_regclass('verdicts')") == [(None,)]


def test_a_program_keeps_its_table_there(spark, server, table, tmp_path):
    from cartesius import Engine, correlate
    from restrictions import as_table, retracting
    from spark_bridge import correlate_frames
    from spark_bridge.upserts import to_postgresql

    ship = Reactive("ship", table=True, key="mmsi")
    seen = correlate(
        ship=ship, yields=lambda ship: {"berth": ship.berth}, restrict=retracting() | as_table("ship"), name="seen"
    )
    rows = [(n, f"B{n}", n % 3 == 0 and n > 6) for n in [1, 2, 3, 9, 2, 3, 6, 12, 1]]
    engine = Engine(seen)
    for n, berth, gone in rows:
        engine.push(engine.inputs["ship"], Delete(n) if gone else Update(n, {"mmsi": n, "berth": berth}))
    frame = spark.createDataFrame(
        [(NOON, *row) for row in rows], "at timestamp, mmsi bigint, berth string, gone boolean"
    )
    frame.write.parquet(f"{tmp_path}/in")
    stream = spark.readStream.schema(frame.schema).parquet(f"{tmp_path}/in")
    frames = correlate_frames(
        seen, {"ship": stream}, event_time="at", order="arrival", partition_by="mmsi", buckets=3, deleted="gone"
    )
    query = frames.start(
        results=to_postgresql(server, "verdicts"), checkpoint=f"{tmp_path}/checkpoint", trigger={"availableNow": True}
    )
    query.awaitTermination()
    expected = sorted((key, row["berth"]) for key, row in engine.query(seen).items())
    assert table("SELECT key, berth FROM verdicts ORDER BY key") == expected


def test_a_field_that_the_table_lacks_is_named_and_nothing_is_written(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    sink = to_postgresql(server, "verdicts")
    sink(batch(spark, ("update", 1, FIELDS)), 0)
    more = batch(spark, ("update", 2, FIELDS)).selectExpr("*", f"whole as `{'n' * 70}`")
    said = (
        r"table \"verdicts\" to have a column 'n+' but .*; add it \(ALTER TABLE \"verdicts\" ADD COLUMN \"n+\" bigint\)"
    )
    with pytest.raises(CartesiusError, match=said):
        sink(more, 1)
    assert table("SELECT key FROM verdicts") == [(1,)]
    with psycopg.connect(server, autocommit=True) as database:
        database.execute(f'ALTER TABLE verdicts ADD COLUMN "{"n" * 70}" bigint')
    sink(more, 1)
    assert table("SELECT key FROM verdicts ORDER BY key") == [(1,), (2,)]


BEGINNING = "output string, change string, key bigint"


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("v bigint", "v double", "column 'v' .*type double precision but it is bigint"),
        ("v decimal(5,1)", "v decimal(7,3)", r"column 'v' .*type numeric\(7,3\) but it is numeric\(5,1\)"),
        ("v date", "v timestamp", "column 'v' .*type timestamp with time zone but it is date"),
        ("v string", "v bigint", "column 'v' .*type bigint but it is text"),
        ("v bigint, w string", "v bigint", "there is no field 'w'"),
    ],
)
def test_a_table_of_other_fields_is_refused_and_left_as_it_is(spark, server, table, before, now, said):
    from spark_bridge.upserts import to_postgresql

    def batch_of(fields):
        frame = spark.createDataFrame([("ships", "update", 1)], BEGINNING)
        kinds = [field.split(" ") for field in fields.split(", ")]
        values = {"date": "DATE '2024-01-02'", "timestamp": "TIMESTAMP '2024-01-02 03:04:05Z'"}
        return frame.selectExpr(
            "*", *(f"CAST({values.get(kind, '2.257')} AS {kind}) AS {name}" for name, kind in kinds)
        )

    sink = to_postgresql(server, "verdicts")
    sink(batch_of(before), 0)
    had = table("SELECT * FROM verdicts")
    with pytest.raises(CartesiusError, match=said):
        sink(batch_of(now), 1)
    assert table("SELECT * FROM verdicts") == had


def test_columns_that_postgresql_fills_may_be_there(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    with psycopg.connect(server, autocommit=True) as database:
        database.execute(
            "CREATE TABLE verdicts (output text, key bigint, v bigint, twice bigint GENERATED ALWAYS AS (2 * v) STORED,"
            " seen text DEFAULT 'no', number bigint GENERATED BY DEFAULT AS IDENTITY,"
            " UNIQUE NULLS NOT DISTINCT (output, key))"
        )
    for v in (1, 7):
        to_postgresql(server, "verdicts")(spark.createDataFrame([("a", "update", 1, v)], f"{BEGINNING}, v bigint"), v)
    assert table("SELECT v, twice, seen, number FROM verdicts") == [(7, 14, "no", 1)]


@pytest.mark.parametrize("generated", ["GENERATED ALWAYS AS (2 * v) STORED", "GENERATED ALWAYS AS IDENTITY"])
def test_a_column_that_only_postgresql_may_fill_takes_no_field(spark, server, table, generated):
    from spark_bridge.upserts import to_postgresql

    with psycopg.connect(server, autocommit=True) as database:
        database.execute(
            f"CREATE TABLE verdicts (output text, key bigint, v bigint, twice bigint {generated},"
            " UNIQUE NULLS NOT DISTINCT (output, key))"
        )
    rows = spark.range(1).selectExpr("'a' output", "'update' change", "id key", "id v", "2 * id twice")
    with pytest.raises(
        CartesiusError, match=r"column 'twice' .* field's type bigint but it is bigint GENERATED ALWAYS"
    ):
        to_postgresql(server, "verdicts")(rows, 0)


@pytest.mark.parametrize(
    ("made", "is_taken"),
    [
        ("", False),
        ("UNIQUE (output, key)", False),
        ("UNIQUE NULLS NOT DISTINCT (output)", False),
        ("UNIQUE NULLS NOT DISTINCT (output, v)", False),
        ("UNIQUE NULLS NOT DISTINCT (output, key, v)", False),
        ("UNIQUE NULLS NOT DISTINCT (output, key) DEFERRABLE", False),
        ("UNIQUE NULLS NOT DISTINCT (output, key)", True),
        ("UNIQUE NULLS NOT DISTINCT (key, output) INCLUDE (v)", True),
        ("UNIQUE (output, key), CHECK (key > 0)", False),
        ("UNIQUE (output, key), NOT NULL key", True),
        ("PRIMARY KEY (output, key)", True),
    ],
)
def test_a_table_that_may_have_two_rows_of_a_key_is_refused(spark, server, table, made, is_taken):
    """A null key is one as well: of a table that is unique but for nulls a repeat made two rows."""
    from spark_bridge.upserts import to_postgresql

    key = "key bigint NOT NULL" if "NOT NULL key" in made else "key bigint"
    made = made.removesuffix(", NOT NULL key")
    with psycopg.connect(server, autocommit=True) as database:
        database.execute(
            f"CREATE TABLE verdicts ({', '.join(['output text', key, 'v bigint', *filter(None, [made])])})"
        )
        database.execute("CREATE OR REPLACE VIEW seen AS SELECT * FROM verdicts")
    try:
        rows = spark.range(1).selectExpr("'a' output", "'update' change", "id key", "id v")
        if is_taken:
            for number in range(2):
                to_postgresql(server, "verdicts")(rows, number)
                to_postgresql(server, "seen")(rows, number)
            assert table("SELECT key FROM verdicts") == [(0,)]
        else:
            with pytest.raises(CartesiusError, match='ALTER TABLE "verdicts" ADD UNIQUE NULLS NOT DISTINCT'):
                to_postgresql(server, "verdicts")(rows, 0)
            assert table("SELECT * FROM verdicts") == []
    finally:
        with psycopg.connect(server, autocommit=True) as database:
            database.execute("DROP VIEW seen")


def test_two_queries_may_make_one_table(spark, server, table):
    from spark_bridge.upserts import to_postgresql

    together = Barrier(2)

    def write(name, output):
        rows = spark.createDataFrame([(output, "update", 1, 1)], f"{BEGINNING}, v bigint").coalesce(1)
        together.wait()
        to_postgresql(server, name)(rows, 0)

    with ThreadPoolExecutor(2) as threads:
        for name in ("verdicts_one", "verdicts_two", "verdicts_three"):
            list(threads.map(write, [name] * 2, "ab"))
            assert table(f"SELECT output FROM {name} ORDER BY output") == [("a",), ("b",)]
