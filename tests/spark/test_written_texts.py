"""What Spark's values are as JSON and as text, whatever the zone of the session; keys of maps are as values are."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from pyspark.sql import functions as f
from pyspark.sql import types as t

from spark_bridge.columns.written_texts import as_json
from spark_bridge.sinks import kafka_records
from spark_bridge.transport import envelope

KINDS = {
    "string": ("'a\"\u2603'", "'b'"),
    "boolean": ("true", "false"),
    "int": ("1", "-7"),
    "bigint": ("9007199254740993", "1"),
    "decimal(5, 2)": ("1.50", "-0.01"),
    "double": ("1.5", "-1e300"),
    "date": ("DATE'2024-02-29'", "DATE'0001-01-01'", "DATE'9999-12-31'"),
    "timestamp": (
        "TIMESTAMP'2024-03-31 00:59:59.123456Z'",
        "TIMESTAMP'0001-01-01 00:00:00Z'",
        "TIMESTAMP'9999-12-31 23:59:59.999999Z'",
    ),
    "timestamp_ntz": ("TIMESTAMP_NTZ'2024-03-31 02:30:00.000001'", "TIMESTAMP_NTZ'0001-01-01 00:00:00'"),
    "binary": ("X'00ff'", "X'6162'", "X''"),
    "struct<`a.b`: date, b: binary>": ("STRUCT(DATE'2024-02-29', X'00')", "STRUCT(null, X'01')"),
    "array<timestamp>": ("ARRAY(TIMESTAMP'2024-03-31 00:59:59Z', null)", "ARRAY()"),
}


@pytest.fixture
def amsterdam(spark):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_keys_of_maps_are_written_as_values_are_and_no_two_alike(amsterdam):
    """Also within structs, lists and maps: Spark writes a day as a number, and bytes as an address that changes."""
    columns = {}
    for place, (kind, values) in enumerate(KINDS.items()):
        keys = f"ARRAY({', '.join(f'CAST({value} AS {kind})' for value in values)})"
        maps = f"map_from_arrays({keys}, transform({keys}, (key, n) -> n))"
        columns[f"keys`{place}"] = keys
        columns[f"maps`{place}"] = f"STRUCT(ARRAY(MAP(DATE'2024-02-29', {maps}, DATE'1970-01-01', null)) AS `a.b`)"
    frame = amsterdam.range(1).select(*(f.expr(text).alias(name) for name, text in columns.items()))
    row = f.struct(*(f.col(f"`{name.replace('`', '``')}`") for name in columns))
    written = json.loads(frame.select(as_json(row, frame.schema)).first()[0])
    for place, (kind, values) in enumerate(KINDS.items()):
        (maps,), keys = written[f"maps`{place}"]["a.b"], written[f"keys`{place}"]
        assert maps["1970-01-01"] is None
        found = maps["2024-02-29"]
        assert [*found.values()] == [*range(len(values))], kind
        shown = [text if isinstance(key, str) else json.loads(text) for text, key in zip(found, keys, strict=True)]
        assert shown == keys, kind
    assert written["keys`7"][1:] == ["0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"]


def test_keys_of_tables_are_texts_of_which_no_two_are_alike(amsterdam):
    """A map's text was that of another map, as Spark quotes nothing in it."""
    texts_of_texts = ("MAP('a', '1, b -> 2')", "MAP('a', '1', 'b', '2')")
    numbers_of_days = ("MAP(DATE'2024-02-29', 1)", "MAP(DATE'2024-03-01', 1)")
    kinds = {**KINDS, "map<string, string>": texts_of_texts, "map<date, int>": numbers_of_days}
    values = [(f"CAST({value} AS {kind})", kind) for kind, values in kinds.items() for value in values]
    frame = amsterdam.range(1).select(*(f.expr(text).alias(f"c{n}") for n, (text, _) in enumerate(values)))
    texts = frame.select(
        *(envelope._key(f.col(one.name), one.dataType, t.StringType()) for one in frame.schema)
    ).first()
    for kind in kinds:
        mine = [text for text, (_, its) in zip(texts, values, strict=True) if its == kind]
        assert len({*mine}) == len(mine), kind
    assert '{"2024-02-29":1}' in tuple(texts)


def test_records_have_such_keys_too_and_their_headers_stay_the_same(amsterdam):
    rows = amsterdam.range(1).selectExpr(
        "'ships' output", "'event' change", "MAP(X'6162', DATE'2024-02-29') key", "MAP(DATE'2024-02-29', X'00') v"
    )  # fmt: skip
    ((key, value, headers),) = kafka_records(rows, 0).collect()
    assert json.loads(key) == {"output": "ships", "key": {"YWI=": "2024-02-29"}}
    assert json.loads(value) == {"change": "event", "v": {"2024-02-29": "AA=="}}
    assert [bytes(header.value) for header in headers[1:]] == [
        b"0", b"0-1-" + sha256(value.encode()).hexdigest().encode()
    ]  # fmt: skip
