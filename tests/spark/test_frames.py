"""The same program, the same results: in this process, in a batch, in one micro-batch, in many, through a restart."""

from __future__ import annotations

import itertools
import json
import os
import random
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import InvalidArgument, SnapshotMismatch
from restrictions import aligning, as_table, cartesian, key_by, most_recently, optionally, retracting
from spark_bridge import correlate_frames

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2024, 6, 30, tzinfo=UTC)
MICROS = int(START.timestamp() * 1_000_000)
MINUTE = 60_000_000

ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")
left, right = Reactive("left"), Reactive("right")


def moored_with(least):
    return correlate(
        ship=ship,
        berth=berth,
        where=lambda ship, berth: (ship.berth == berth.id) & (berth.depth > least),
        yields=lambda ship, berth: {"mmsi": ship.mmsi, "berth_row": berth},
        restrict=optionally("berth") | retracting() | as_table("ship"),
        name="moored",
    )


moored = moored_with(0)
latest = correlate(
    left=left,
    right=right,
    yields=lambda left, right: {"k": left.k, "l": left.n, "r": right.n},
    restrict=key_by(left="k", right="k") | most_recently("left", "right"),
    name="latest",
)
zipped = cartesian(
    left, right, restrict=key_by(left="k", right="k") | most_recently("left", "right") | aligning("left", "right")
)
PROGRAM = [moored, latest, zipped]
INPUTS = {"ship": ship, "berth": berth, "left": left, "right": right}
COLUMNS = {
    "ship": {"mmsi": pa.int64(), "berth": pa.string(), "gone": pa.bool_()},
    "berth": {"id": pa.string(), "depth": pa.float64()},
    "left": {"k": pa.int64(), "n": pa.int64()},
    "right": {"k": pa.int32(), "n": pa.int64()},
}
PARTITIONS = {"ship": "mmsi", "left": "k", "right": "k"}


def make_rows(seed, count=80):
    """Rows of all sources in event-time order, one a minute: (source, minute, columns)."""
    draw = random.Random(seed)
    rows: list[tuple[str, int, dict[str, Any]]] = []
    for minute in range(count):
        source = draw.choice(list(COLUMNS))
        if source == "ship":
            row = {"mmsi": draw.choice([1, 2, 3, 2**53 + 1]), "berth": draw.choice("ABC"), "gone": draw.random() < 0.2}
        elif source == "berth":
            row = {"id": draw.choice("ABC"), "depth": draw.choice([float("inf"), 9.5, 10.0])}
        else:
            row = {"k": draw.randrange(4), "n": draw.choice([None, 2**53 + minute])}
        rows.append((source, minute, row))
    return rows


def in_process(rows):
    engine, found = Engine(*PROGRAM), []
    for source, minute, row in rows:
        reactive = INPUTS[source]
        columns = {name: value for name, value in row.items() if name != "gone"}
        value: Any = columns
        if reactive.table:
            value = Delete(row[reactive.key]) if row.get("gone") else Update(row[reactive.key], columns)
        found += engine.push(reactive, value, at=MICROS + minute * MINUTE)
    return sorted(map(shown_event, found))


def shown_event(event):
    value, key, change = event.value, None, "event" if event.weight > 0 else "retract"
    if isinstance(value, Update | Delete):
        key, change = value.key, type(value).__name__.lower()
        value = value.value if isinstance(value, Update) else None
    if event.reactive == "moored" and value is not None:
        value = {"mmsi": value["mmsi"], "berth_row": value["berth_row"] and dict(value["berth_row"])}
    elif value is not None:
        value = dict(value) if event.reactive == "latest" else [dict(part) for part in value]
    return repr((event.reactive, change, key, event.start, event.end, value))


def micros(moment):
    return int(moment.replace(tzinfo=UTC).timestamp() * 1_000_000)


def shown_row(row):
    value: Any = None
    if row.output == "latest":
        value = {"k": row.k, "l": row.l, "r": row.r}
    elif row.output == "moored" and row.change == "update":
        value = {"mmsi": row.mmsi, "berth_row": row.berth_row and row.berth_row.asDict()}
    elif row.output not in ("latest", "moored"):
        value = [row._1.asDict(), row._2.asDict()]
    key = None if row.key is None else int(row.key)
    return repr((row.output, row.change, key, micros(row.start), micros(row.end), value))


def table_of(source, rows):
    mine = [(minute, row) for name, minute, row in rows if name == source]
    arrays = {"at": pa.array([START + timedelta(minutes=m) for m, _ in mine], pa.timestamp("us", "UTC"))}
    arrays |= {name: pa.array([row[name] for _, row in mine], kind) for name, kind in COLUMNS[source].items()}
    return pa.table(arrays)


class Folder:
    """Slices of rows as files, one a source and slice, read in the order in which they were written."""

    def __init__(self, root: Path, spark):
        self.root, self.spark, self.number = root, spark, 0

    def add(self, tables):
        for source, table in tables.items():
            folder = self.root / source
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{self.number:03}.parquet"
            pq.write_table(table, path)
            moment = time.time() - 10_000 + self.number
            os.utime(path, (moment, moment))
        self.number += 1

    def add_rows(self, rows):
        self.add({source: table_of(source, rows) for source in COLUMNS})

    def streams(self, *sources):
        found = {}
        for source in sources or COLUMNS:
            schema = self.spark.read.parquet(str(self.root / source)).schema
            reader = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            found[source] = reader.parquet(str(self.root / source))
        return found

    def run(self, frames):
        """Run a query until all files are read; return results, dead and late rows."""
        found = {"results": [], "dead": [], "late": []}
        sinks = {kind: (lambda batch, _, rows=rows: rows.extend(batch.collect())) for kind, rows in found.items()}
        query = frames.start(**sinks, checkpoint=str(self.root / "checkpoint"), trigger={"availableNow": True})
        assert [active.id for active in self.spark.streams.active] in ([query.id], [])  # one query, whatever it tells
        query.awaitTermination()
        return found


@pytest.fixture
def folder(tmp_path, spark):
    return Folder(tmp_path, spark)


def correlated(frames, program=PROGRAM, **options):
    options = {"order": "arrival", **options}
    return correlate_frames(program, frames, event_time="at", deleted="gone", partition_by=PARTITIONS, **options)


def test_a_batch_gives_what_the_engine_gives_for_any_number_of_buckets(spark):
    rows = make_rows(1)
    expected = in_process(rows)
    assert len(expected) > 60
    tables = {source: spark.createDataFrame(table_of(source, rows)) for source in COLUMNS}
    for buckets in (1, 5):
        everything = correlated(tables, buckets=buckets).all.select("*", "value.*").collect()
        assert {row.kind for row in everything} == {"result"}
        assert sorted(map(shown_row, everything)) == expected


def test_a_stream_gives_it_however_it_is_cut_and_through_a_restart(spark, folder):
    rows = make_rows(2)
    expected = in_process(rows)
    whole = Folder(folder.root / "whole", spark)
    whole.add_rows(rows)
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        assert sorted(map(shown_row, whole.run(correlated(whole.streams(), buckets=3))["results"])) == expected
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    cut = Folder(folder.root / "cut", spark)
    found = []
    for first, last in itertools.pairwise([0, 17, 50, 80]):
        cut.add_rows(rows[first:last])
        if first == 17:
            continue  # two slices before the restart, and so two micro-batches in one run
        found += cut.run(correlated(cut.streams(), buckets=5, watermark="1 minute"))["results"]
    assert sorted(map(shown_row, found)) == expected
    cut.add_rows(rows[-1:])
    with pytest.raises(SnapshotMismatch, match=r"another program: in 'moored' where= differs: - 0, \+ 1"):
        cut.run(correlated(cut.streams(), [moored_with(1), latest, zipped], buckets=5, watermark="1 minute"))


def ships(*rows):
    """Rows of (minutes, or None, or a datetime; mmsi; berth) as a table."""
    at = [START + timedelta(minutes=t) if isinstance(t, int) else t for t, _, _ in rows]
    return pa.table(
        {
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            "mmsi": pa.array([mmsi for _, mmsi, _ in rows], pa.int64()),
            "berth": pa.array([berth for _, _, berth in rows], pa.string()),
        }
    )


def test_bad_and_late_rows_are_told_and_the_good_ones_are_used(folder):
    lengths = correlate(
        ship=ship,
        yields=lambda ship: {"inverse": 1 / (ship.mmsi - 7), "berth": ship.berth},
        restrict=retracting() | as_table("ship"),
        name="lengths",
    )
    year_2100 = datetime(2100, 1, 1, tzinfo=UTC)
    bad = [(None, 1, "null"), (year_2100, 2, "2100"), (1, None, "keyless"), (2, 7, "raises")]
    folder.add({"ship": ships(*bad, (3, 8, "good"))})
    folder.add({"ship": ships((4, 9, "good too"), (60, 10, "moves the clock"))})
    folder.add({"ship": ships((5, 11, "late"), (61, 12, "good still"), (51, 13, "within the delay"))})
    frames = correlate_frames(
        lengths,
        folder.streams("ship"),
        event_time="at",
        partition_by="mmsi",
        buckets=4,
        order="arrival",
        watermark="10 minutes",
        on_error="dead_letter",
    )
    found = folder.run(frames)
    dead = {row.payload.split('"berth":')[1]: (row.source, row.reason, row.at) for row in found["dead"]}
    assert dead == {
        '"null"}': ("ship", "its event time is null", None),
        '"2100"}': ("ship", "its event time 2100-01-01 00:00:00 is absurdly late", datetime(2100, 1, 1)),
        '"keyless"}': ("ship", "its key 'mmsi' is null", datetime(2024, 6, 30, 0, 1)),
        '"raises"}': (
            "ship",
            "the program raised ZeroDivisionError: division by zero (in 'lengths': yields {'inverse': (1 / (ship.mmsi -"
            " 7)), 'berth': ship.berth})",
            datetime(2024, 6, 30, 0, 2),
        ),
    }
    used = {row.berth for row in found["results"]}
    assert used == {"good", "good too", "moves the clock", "good still", "within the delay"}
    (late,) = found["late"]
    clock = MICROS + 50 * MINUTE + 1
    assert late.payload == '{"mmsi":11,"berth":"late"}'
    assert late.reason == f"its end {MICROS + 5 * MINUTE} is before the clock {clock}"


def test_what_is_dated_later_than_tomorrow_is_not_believed(spark):
    """By the calendar: with the moment in its plan, Spark would compile its code anew for each micro-batch."""
    now = datetime.now(UTC)
    rows = ships(*[(now + timedelta(days=day), day, "") for day in (-1, 0, 1, 3, 30_000)])  # 2: midnight may pass
    seen = correlate(ship=ship, yields=lambda ship: {"number": ship.mmsi}, restrict=as_table("ship"), name="seen")
    frames = correlate_frames(seen, {"ship": spark.createDataFrame(rows)}, event_time="at", buckets=2)
    assert {row.number for row in frames.results.collect()} == {-1, 0, 1}
    dead = {json.loads(row.payload)["mmsi"]: row.reason for row in frames.dead.collect()}
    assert set(dead) == {3, 30_000}
    assert all(reason.endswith("is absurdly late") for reason in dead.values())
    plan = frames.all._jdf.queryExecution().logical().toString()
    assert "current_date" in plan
    assert "current_timestamp" not in plan


def test_an_input_that_ends_or_idles_does_not_stop_the_clock(folder):
    """As in `make run`: AIS is heard for an hour, the tide runs on. The fastest input moves the clock."""
    tide = Reactive("tide")
    both = correlate(
        ship=ship, tide=tide, yields=lambda ship, tide: {"ship": ship.mmsi, "tide": tide.mmsi}, name="both"
    )
    folder.add({"ship": ships((1, 1, "A")), "tide": ships((1, 10, ""))})
    folder.add({"ship": ships(), "tide": ships((120, 11, ""))})  # the ships are silent from here on
    folder.add({"tide": ships((240, 12, ""))})  # and now their stream has no file at all
    folder.add({"ship": ships((2, 2, "late")), "tide": ships((241, 13, ""))})
    frames = correlate_frames(
        both,
        folder.streams("ship", "tide"),
        event_time="at",
        buckets=1,
        order="arrival",
        watermark="10 minutes",
        unbounded=True,
    )
    found = folder.run(frames)
    assert {row.tide for row in found["results"]} == {10, 11, 12, 13}
    (late,) = found["late"]
    assert late.payload == '{"mmsi":2,"berth":"late"}'


@pytest.mark.slow  # tests/laws try the same without Spark
def test_in_event_time_order_no_cut_and_no_disorder_within_the_delay_matters(folder):
    """Rows up to nine minutes out of order, cut at random, with a restart, against the sorted rows in this process."""
    rows = make_rows(11, 60)
    draw = random.Random(5)
    shuffled = sorted(rows, key=lambda row: row[1] + draw.randrange(10))
    mark = [
        ("ship", 200, {"mmsi": 99, "berth": "A", "gone": True})
    ]  # a deletion of nothing: it moves the watermark alone
    cuts = sorted(draw.sample(range(1, 60), 4))
    options = {"order": "event_time", "watermark": "10 minutes", "buckets": 3}
    found = []
    for since, until in itertools.pairwise([0, *cuts, 60]):
        folder.add_rows(shuffled[since:until])
        if until == cuts[1]:
            found += folder.run(correlated(folder.streams(), **options))["results"]
    folder.add_rows(mark)
    last = folder.run(correlated(folder.streams(), **options))
    found += last["results"]
    assert sorted(map(shown_row, found)) == in_process(rows)
    assert last["late"] == last["dead"] == []


def test_in_event_time_order_a_bucket_without_rows_is_not_forgotten_and_late_rows_are_told(folder):
    seen = correlate(ship=ship, yields=lambda ship: {"berth": ship.berth}, restrict=as_table("ship"), name="seen")
    folder.add({"ship": ships((1, 1, "held"), (2, 2, "held too"))})
    folder.add({"ship": ships((60, 3, "moves the clock"))})  # to minute 50, for the next call
    folder.add({"ship": ships((5, 3, "late"), (120, 3, "never passed"))})
    frames = correlate_frames(
        seen, folder.streams("ship"), event_time="at", partition_by="mmsi", buckets=7, watermark="10 minutes"
    )
    found = folder.run(frames)
    assert sorted(row.berth for row in found["results"]) == ["held", "held too", "moves the clock"]
    (late,) = found["late"]
    assert late.payload == '{"mmsi":3,"berth":"late"}'


@pytest.mark.slow  # tests/laws try the same without Spark
def test_a_watermark_may_be_set_for_some_inputs_only(folder):
    both = correlate(
        other=Reactive("other"), ship=ship, yields=lambda other, ship: {"a": other.mmsi, "b": ship.mmsi}, name="both"
    )
    folder.add({"ship": ships((60, 1, "A")), "other": ships((5, 2, "B"))})
    folder.add({"ship": ships((61, 3, "A")), "other": ships((6, 4, "late"))})
    delays = {"other": "1 minute"}
    streams = folder.streams("ship", "other")
    frames = correlate_frames(
        both, streams, event_time="at", buckets=1, order="arrival", watermark=delays, unbounded=True
    )
    found = folder.run(frames)
    assert {(row.a, row.b) for row in found["results"]} == {(2, 1), (2, 3), (4, 1), (4, 3)}
    assert found["late"] == []


def test_sources_stay_in_their_order_whichever_has_a_watermark(folder):
    """Spark knows them by that alone after a restart, where other ones may have a watermark."""
    other = Reactive("other")
    both = correlate(other=other, ship=ship, yields=lambda other, ship: {"a": other.mmsi, "b": ship.mmsi}, name="both")
    folder.add({"ship": ships((60, 1, "A")), "other": ships((5, 2, "B"))})
    for delays in ({"other": "1 minute"}, {"ship": "1 minute"}, "1 minute"):
        frames = correlate_frames(
            both, folder.streams("ship", "other"), event_time="at", buckets=1, watermark=delays, unbounded=True
        )
        plan = frames.all._jdf.queryExecution().analyzed()
        leaves = [plan.collectLeaves().apply(place).toString() for place in range(2)]
        assert ["/ship" in leaves[0], "/other" in leaves[1]] == [True, True], (delays, leaves)


def worker(spark):
    """The process that runs a task."""
    frame = spark.range(1).mapInPandas(lambda frames: (f.assign(id=os.getpid()) for f in frames), "id long")
    return frame.collect()[0].id


@pytest.mark.slow
def test_no_greenlet_is_left_when_workers_are_not_reused(spark, folder):
    rows = make_rows(3, 20)
    spark.conf.set("spark.sql.shuffle.partitions", "1")  # a worker a micro-batch
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.python.worker.reuse", "false")
    try:
        assert worker(spark) != worker(spark)
        folder.add_rows(rows[:10])
        folder.add_rows(rows[10:])
        found = folder.run(correlated(folder.streams(), buckets=2))["results"]
    finally:
        conf.set("spark.python.worker.reuse", "true")
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert sorted(map(shown_row, found)) == in_process(rows)


def test_every_type_survives(spark):
    moment = datetime(1965, 3, 4, 5, 6, 7, 123456)
    instant, last = moment.replace(tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    columns: dict[str, list[Any]] = {
        "id long": [1, 2, 2**53 + 1],
        "tiny tinyint": [1, None, -128],
        "short smallint": [2, None, -32768],
        "whole int": [3, None, -(2**31)],
        "single float": [0.1, None, float("-inf")],
        "double double": [float("nan"), None, -0.0],
        "exact decimal(38, 18)": [Decimal("12345678901234567890.123456789012345678"), None, Decimal("-1e-18")],
        "truth boolean": [True, None, False],
        "text string": ['a "quoted" \u2603\n', None, ""],
        "blob binary": [b"\x00\xff", None, b""],
        "day date": [moment.date(), None, date(1, 1, 1)],
        "instant timestamp": [instant, None, last],
        "local timestamp_ntz": [moment, None, datetime(1, 1, 1)],
        "array array<bigint>": [[2**53 + 1, None, -(2**63)], None, []],
        "struct struct<`a b`: bigint, deep: array<struct<x: double, t: timestamp>>>": [
            (2**53 + 1, [(None, instant), None]),
            None,
            (None, []),
        ],
        "by_text map<string, decimal(5, 2)>": [{"a": Decimal("1.50"), "b": None}, None, {}],
        "by_number map<int, array<date>>": [{1: [moment.date(), None], -2: None}, None, {}],
        "`odd ``name.` string": ["x", None, ""],
    }
    rows = list(zip([START] * 3, *columns.values(), strict=True))
    frame = spark.createDataFrame(rows, ", ".join(["at timestamp", *columns]))
    thing = Reactive("thing", table=True, key="id")
    same = correlate(thing=thing, yields=lambda thing: thing, restrict=as_table("thing"), name="same")
    found = correlate_frames(same, {"thing": frame}, event_time="at", partition_by="id", buckets=2).results
    assert found.schema["key"].dataType.simpleString() == "bigint"
    given = frame.drop("at")
    assert [f.dataType.simpleString() for f in found.schema][5:] == [f.dataType.simpleString() for f in given.schema]
    found_rows = found.drop("output", "change", "key", "start", "end").collect()
    assert sorted(map(repr, found_rows)) == sorted(map(repr, given.collect()))


def test_a_sequence_gives_the_order_of_arrival(spark):
    number = Reactive("number")
    latest_two = correlate(
        a=number, b=Reactive("other"), yields=lambda a, b: {"a": a.n, "b": b.n}, restrict=most_recently("a"), name="two"
    )
    schema = "at timestamp, place long, n int"
    numbers = spark.createDataFrame([(START, 2, 20), (START + timedelta(1), 1, 10), (START, None, 0)], schema)
    others = spark.createDataFrame([(START, 3, 1)], schema)
    frames = correlate_frames(
        latest_two, {"number": numbers, "other": others}, event_time="at", sequence="place", buckets=1
    )
    assert [(row.a, row.b) for row in frames.results.collect()] == [(20, 1)]
    assert [(row.reason, row.payload) for row in frames.dead.collect()] == [("its sequence 'place' is null", '{"n":0}')]
    assert frames.late.collect() == []


def test_given_schemas_and_scalars(spark):
    @correlate(n=Reactive("number"))
    def odd(n):
        if n.n % 2:
            yield n.n

    numbers = spark.createDataFrame([(START, 3), (START, 4)], "at timestamp, n int")
    frames = correlate_frames(odd, {"number": numbers}, event_time="at", schema="value long", buckets=1)
    assert [row.value for row in frames.results.collect()] == [3]


@pytest.mark.parametrize("is_traced", [True, False])
@pytest.mark.parametrize("rows", [2, 100])
def test_a_field_called_value_is_a_field_like_any_other(spark, is_traced, rows):
    frames = {"left": spark.range(rows).selectExpr("timestamp'2024-06-30 00:00:00Z' at", "id k")}

    def opaque(left):
        return {"value": int(str(left.k)) + 1}

    def told(yields):
        found = correlate_frames(
            correlate(left=left, yields=yields, name="told"), frames, event_time="at", schema="value long"
        )
        return sorted(row.value for row in found.results.collect())

    every = [*range(1, rows + 1)]
    assert told((lambda left: {"value": left.k + 1}) if is_traced else opaque) == every
    assert told((lambda left: left.k + 1) if is_traced else lambda left: int(str(left.k)) + 1) == every


def test_what_spark_cannot_read_is_named(spark):
    frame = spark.range(3).selectExpr("timestamp'2024-06-30 00:00:00Z' at", "id k")
    echo = correlate(left=left, yields=lambda left: {"k": left.k}, name="echo")
    for duration in ("5 parsecs", "-5 seconds", {"left": "abc"}):
        for close in (True, False):
            with pytest.raises(
                InvalidArgument, match=r"durations ≥ 0 that Spark reads, .* but got .* \(.*(negative|PARSE)"
            ):
                correlate_frames(echo, {"left": frame}, event_time="at", watermark=duration, close=close)
    with pytest.raises(InvalidArgument, match=r"but got schema='k lnog' \(UNSUPPORTED_DATATYPE\)"):
        correlate_frames(echo, {"left": frame}, event_time="at", schema="k lnog")
    with pytest.raises(
        InvalidArgument, match="differ in more than capitals but got 'k', 'K', which Spark takes for one"
    ):
        correlate_frames(echo, {"left": frame.toDF("at", "k").selectExpr("*", "k as K")}, event_time="at")
    maps = frame.selectExpr("at", "map('a', k) m")  # of which Spark makes no hash
    static = spark.sql("select map('a', 1) m")
    either = correlate(left=left, right=right, yields=lambda left, right: {"m": right.m}, name="either")
    found = correlate_frames(
        either, {"left": maps, "right": static}, event_time="at", partition_by={"right": "*"}, buckets=3
    )
    assert [row.m for row in found.results.collect()] == [{"a": 1}] * 3


@pytest.mark.parametrize(
    "wrong",
    [{"until": datetime(2024, 7, 1)}, {"until": START, "close": True}, {"until": START, "watermark": "1 second"}],
)
def test_until_is_for_a_batch_whose_clock_goes_on_with_its_rows(spark, wrong):
    """That it goes on is tested by comparisons of packs (test_comparison_on_spark)."""
    echo = correlate(left=left, yields=lambda left: {"k": left.k}, restrict=most_recently("left"), name="echo")
    batch = spark.range(3).selectExpr("timestamp'2024-06-30 00:00:00Z' at", "id k")
    with pytest.raises(InvalidArgument, match="until="):
        correlate_frames(echo, {"left": batch}, **{"event_time": "at", "close": False, "buckets": 1, **wrong})


def test_a_session_may_take_a_mere_timestamp_for_one_without_a_zone(spark):
    """Only an instant has a watermark."""
    echo = correlate(left=left, yields=lambda left: {"k": left.k}, restrict=most_recently("left"), name="echo")
    stream = spark.readStream.format("rate").load().selectExpr("timestamp at", "value k")
    batch = spark.range(3).selectExpr("timestamp_ltz'2024-06-30 00:00:00Z' at", "id k")
    options: dict[str, Any] = {"event_time": "at", "watermark": "1 second", "buckets": 1}
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        found = correlate_frames(echo, {"left": stream}, **options).results
        prefix = correlate_frames(echo, {"left": batch}, close=False, **options).results.collect()
    finally:
        spark.conf.unset("spark.sql.timestampType")
    assert found.schema["start"].dataType.simpleString() == "timestamp"
    assert prefix == []


def test_a_key_that_becomes_a_text_is_another_one_for_each_key(spark):
    """Rows are kept by it (`to_postgresql`): two keys of one text would be one row."""
    pairs = [("a, b", "c"), ("a", "b, c"), ("null", "c")]
    times = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)]  # both are half past two in Amsterdam
    named = correlate(
        left=left,
        yields=lambda left: {"p": left.p, "q": left.q},
        restrict=as_table(lambda value: (value["p"], value["q"])),
        name="named",
    )
    timed = correlate(
        ship=Reactive("ship", table=True, key="t"),
        yields=lambda ship: {"n": ship.n},
        restrict=retracting() | as_table("ship"),
        name="timed",
    )
    stamped = correlate(
        berth=Reactive("berth", table=True, key="b"),
        yields=lambda berth: {"n": berth.n},
        restrict=retracting() | as_table("berth"),
        name="stamped",
    )
    frames = {
        "berth": spark.createDataFrame(
            [(START, one, 1) for one in (b"\xff", b"\xfe")], "at timestamp, b binary, n long"
        ),
        "left": spark.createDataFrame([(START, *pair) for pair in pairs], "at timestamp, p string, q string"),
        "ship": spark.createDataFrame([(START, time, 1) for time in times], "at timestamp, t timestamp, n long"),
    }
    spark.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    try:
        results = correlate_frames([named, timed, stamped], frames, event_time="at", buckets=1).results
        keys = sorted(row.key for row in results.collect())
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert keys == sorted([
        *(json.dumps({"_1": p, "_2": q}, separators=(",", ":")) for p, q in pairs),
        "2026-10-25T00:30:00.000000Z",
        "2026-10-25T01:30:00.000000Z",
        "/w==",
        "/g==",
    ])  # fmt: skip


def test_results_of_broadcast_sources_come_once(spark):
    depth = correlate(
        berth=berth,
        yields=lambda berth: {"depth": berth.depth},
        restrict=retracting() | as_table("berth"),
        name="depth",
    )
    rows = [row for row in make_rows(4, 30) if row[0] in ("ship", "berth")]
    tables = {source: spark.createDataFrame(table_of(source, rows)) for source in ("ship", "berth")}
    frames = correlate_frames(
        [depth, moored], tables, event_time="at", partition_by={"ship": "mmsi"}, buckets=7, deleted="gone"
    )
    engine = Engine(depth)
    expected = [event for name, minute, row in rows if name == "berth" for event in engine.push(berth, row, at=minute)]
    found = [row for row in frames.results.collect() if row.output == "depth"]
    assert len(found) == len(expected) > 2
    assert {row.key for row in found} == {event.value.key for event in expected}


def test_only_streams_are_started(spark):
    from cartesius.errors import InvalidArgument

    numbers = spark.createDataFrame([(START, 3)], "at timestamp, n int")
    frames = correlate_frames(cartesian(Reactive("number")), {"number": numbers}, event_time="at", buckets=1)
    with pytest.raises(InvalidArgument, match="expected streaming frames but all are batch"):
        frames.start(results=print, checkpoint="nowhere")
