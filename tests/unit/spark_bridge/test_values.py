"""Values survive the way over JSON exactly, and what does not fit is refused by name."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from cartesius.records import Record
from spark_bridge.values import check_supported, decoder, encoder, reader, wire_type

LONG = st.integers(-(2**63), 2**63 - 1)
PLAIN = [
    (t.LongType(), LONG),
    (t.ByteType(), st.integers(-128, 127)),
    (t.DoubleType(), st.floats(allow_nan=False)),
    (t.FloatType(), st.floats(width=32, allow_nan=False)),
    (t.StringType(), st.text()),
    (t.BooleanType(), st.booleans()),
    (t.BinaryType(), st.binary()),
    (t.DateType(), st.dates()),
    (
        t.DecimalType(20, 4),
        st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9),
    ),
    (t.TimestampType(), st.datetimes().map(lambda d: d.replace(tzinfo=UTC, fold=0))),
    (t.TimestampNTZType(), st.datetimes().map(lambda d: d.replace(fold=0))),
]


@st.composite
def typed(draw, depth=2):
    """A Spark type and a strategy of its values."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(PLAIN))
    kind, values = draw(typed(depth - 1))
    shape = draw(st.sampled_from(["array", "struct", "text map", "whole map"]))
    maybe = st.none() | values
    if shape == "array":
        return t.ArrayType(kind), st.lists(maybe, max_size=3).map(tuple)
    if shape == "struct":
        fields = t.StructType([t.StructField("a", kind), t.StructField("b c", t.LongType())])
        return fields, st.builds(lambda a, b: Record({"a": a, "b c": b}), maybe, st.none() | LONG)
    key, keys = (t.StringType(), st.text()) if shape == "text map" else (t.LongType(), LONG)
    dictionaries: Any = st.dictionaries(keys, maybe, max_size=3)
    return t.MapType(key, kind), dictionaries.map(Record)


@given(st.data())
def test_what_is_encoded_decodes_to_itself(data):
    kind, values = data.draw(typed())
    value = data.draw(values)
    text = json.dumps({"x": encoder(kind, "x")(value)})
    found = reader(t.StructType([t.StructField("x", kind)]))(text)["x"]
    assert found == value
    assert repr(found) == repr(value) or isinstance(value, Decimal | float | tuple | Record)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), -0.0])
def test_odd_doubles_survive(value):
    found = decoder(t.DoubleType())(json.loads(json.dumps(encoder(t.DoubleType(), "x")(value))))
    assert str(found) == str(value)


def test_nan_survives():
    assert str(decoder(t.DoubleType())(encoder(t.DoubleType(), "x")(float("nan")))) == "nan"


def test_numbers_beside_a_decimal_are_read_from_their_text():
    schema = t.StructType([t.StructField("d", t.DecimalType(38, 20)), t.StructField("f", t.DoubleType())])
    row = reader(schema)('{"d":123456789012345678.12345678901234567890,"f":0.1}')
    assert row == {"d": Decimal("123456789012345678.12345678901234567890"), "f": 0.1}


def test_a_column_that_is_not_there_is_null():
    assert reader(t.StructType([t.StructField("a", t.LongType())]))("{}") == {"a": None}


def test_a_timestamp_of_another_zone_is_the_same_instant():
    moment = datetime(2024, 6, 30, 3, 30, 0, 1, tzinfo=timezone(timedelta(hours=2)))
    assert encoder(t.TimestampType(), "x")(moment) == "2024-06-30T01:30:00.000001+00:00"


class Colour(Enum):
    RED = 1


@attrs.frozen
class Ship:
    name: str
    draught: float


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        ((1.0, 2.0), "[1.0, 2.0]"),
        (Colour.RED, "RED"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_a_text_holds_any_plain_value(value, text):
    assert encoder(t.StringType(), "x")(value) == text


@pytest.mark.parametrize("value", [Ship("EVA", 9.5), ("EVA", 9.5), {"name": "EVA", "draught": 9.5, "more": 1}])
def test_a_struct_is_made_of_an_object_a_tuple_or_a_mapping(value):
    kind = t.StructType([t.StructField("name", t.StringType()), t.StructField("draught", t.DoubleType())])
    assert encoder(kind, "x")(value) == {"name": "EVA", "draught": 9.5}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (t.LongType(), 2**63),
        (t.LongType(), 1.5),
        (t.LongType(), True),
        (t.ByteType(), 128),
        (t.DoubleType(), "1"),
        (t.DoubleType(), True),
        (t.BooleanType(), 1),
        (t.DecimalType(5, 2), Decimal("1.005")),
        (t.DecimalType(5, 2), Decimal("1000")),
        (t.DecimalType(5, 2), 1.5),
        (t.TimestampType(), datetime(2024, 1, 1)),
        (t.DateType(), "2024-01-01"),
        (t.BinaryType(), "x"),
        (t.ArrayType(t.LongType()), "abc"),
        (t.ArrayType(t.LongType()), 5),
        (t.StructType([t.StructField("name", t.StringType())]), 5),
        (t.StructType([t.StructField("name", t.StringType())]), {"nome": "EVA"}),
        (t.StructType([t.StructField("name", t.StringType())]), ("EVA", 2)),
        (t.MapType(t.StringType(), t.LongType()), 5),
    ],
)
def test_what_does_not_fit_is_refused_by_name(kind, value):
    with pytest.raises(InvalidArgument, match=r"expected ship\.draught to be of type"):
        encoder(kind, "ship.draught")(value)


def test_nothing_is_rounded_inside_a_list():
    with pytest.raises(InvalidArgument, match=r"expected xs\[\] to be of type bigint but got 1.5 \(type=float\)"):
        encoder(t.ArrayType(t.LongType()), "xs")([1, 1.5])


def test_types_that_cannot_be_carried_are_named():
    kind = t.StructType([t.StructField("ok", t.DateType()), t.StructField("d", t.ArrayType(t.DayTimeIntervalType()))])
    with pytest.raises(InvalidArgument, match=r"exactly but got ship\.d\[\]: interval day to second; cast"):
        check_supported(kind, "ship", "correlate_frames")


def test_maps_whose_keys_are_no_strings_travel_as_entries():
    assert wire_type(t.MapType(t.DateType(), t.LongType())).simpleString() == "array<struct<key:date,value:bigint>>"
    assert wire_type(t.MapType(t.StringType(), t.LongType())).simpleString() == "map<string,bigint>"
    nested = t.StructType([t.StructField("m", t.ArrayType(t.MapType(t.LongType(), t.LongType())))])
    assert wire_type(nested).simpleString() == "struct<m:array<array<struct<key:bigint,value:bigint>>>>"


def test_dates_are_dates():
    assert decoder(t.DateType())("2024-02-29") == date(2024, 2, 29)
