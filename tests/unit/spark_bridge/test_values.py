"""Values survive the way through Arrow exactly, and what does not fit is refused by name."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from uuid import UUID

import attrs
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius.columns.vectors.vectors import Leaf
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from spark_bridge.columns.payloads import vector_of
from spark_bridge.columns.result_columns import array_of
from spark_bridge.columns.values import arrow_type, check_supported, to_arrow
from tests.unit.spark_bridge.typed_values import typed


def column(values, kind):
    return pa.chunked_array([to_arrow(values, kind, "x")])


@given(st.data())
def test_what_goes_in_comes_out_and_goes_back(data):
    kind, values = data.draw(typed())
    given_values = data.draw(st.lists(st.none() | values, max_size=4))
    array = column(given_values, kind)
    vector = vector_of(array)
    found = vector.to_list()
    assert found == given_values
    if all(type(one) is type(other) for one, other in zip(found, given_values, strict=True)):
        plain = (Decimal, float, tuple, Record, datetime)
        assert all(repr(a) == repr(b) or isinstance(b, plain) for a, b in zip(found, given_values, strict=True))
    else:
        raise AssertionError(found)
    assert array_of(vector, kind, "x").equals(array.combine_chunks())  # without a detour where there is a shorter way
    assert to_arrow(found, kind, "x").equals(array.combine_chunks())


@given(st.data())
def test_it_does_not_matter_how_columns_are_cut(data):
    kind, values = data.draw(typed())
    given_values = data.draw(st.lists(st.none() | values, min_size=1, max_size=6))
    cut = data.draw(st.integers(0, len(given_values)))
    pieces = [to_arrow(part, kind, "x") for part in (given_values[:cut], given_values[cut:])]
    found = vector_of(pa.chunked_array(pieces)).to_list()
    assert list(map(repr, found)) == list(map(repr, vector_of(column(given_values, kind)).to_list()))


@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.0, math.nan])
@pytest.mark.parametrize("kind", [t.DoubleType(), t.FloatType()], ids=str)
def test_odd_floats_survive(value, kind):
    array = column([value, None], kind)
    assert [str(found) for found in vector_of(array).to_list()] == [str(value), "None"]
    assert [str(found.as_py()) for found in array_of(vector_of(array), kind, "x")] == [str(value), "None"]


def test_a_null_changes_no_number_beside_it():
    assert vector_of(column([2**53 + 1, None], t.LongType())).to_list() == [2**53 + 1, None]


def test_a_timestamp_of_another_zone_is_the_same_instant():
    moment = datetime(2024, 6, 30, 3, 30, 0, 1, tzinfo=timezone(timedelta(hours=2)))
    (found,) = vector_of(column([moment], t.TimestampType())).to_list()
    assert (found, found.utcoffset()) == (moment, timedelta(0))


def test_widths_do_not_show():
    """So that a source with ints of 32 bits joins one with 64, and a batch what was kept of another."""
    for kind in (t.ByteType(), t.ShortType(), t.IntegerType(), t.LongType()):
        assert vector_of(column([1], kind)).type == pa.int64()
    nested = t.ArrayType(t.StructType([t.StructField("x", t.FloatType())]))
    assert vector_of(column([[{"x": 0.5}], []], nested)).to_list() == [(Record({"x": 0.5}),), ()]


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
    assert to_arrow([value], t.StringType(), "x").to_pylist() == [text]


@pytest.mark.parametrize("value", [Ship("EVA", 9.5), ("EVA", 9.5), {"name": "EVA", "draught": 9.5, "more": 1}])
def test_a_struct_is_made_of_an_object_a_tuple_or_a_mapping(value):
    kind = t.StructType([t.StructField("name", t.StringType()), t.StructField("draught", t.DoubleType())])
    assert to_arrow([value], kind, "x").to_pylist() == [{"name": "EVA", "draught": 9.5}]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (t.LongType(), 2**63),
        (t.LongType(), 1.5),
        (t.LongType(), True),
        (t.ByteType(), 128),
        (t.DoubleType(), "1"),
        (t.DoubleType(), 2**53 + 1),
        (t.DoubleType(), 10**400),
        (t.FloatType(), 1e300),
        (t.DoubleType(), True),
        (t.StringType(), "\ud800"),
        (t.BooleanType(), 1),
        (t.DecimalType(5, 2), Decimal("1.005")),
        (t.DecimalType(5, 2), Decimal("1000")),
        (t.DecimalType(5, 2), 1.5),
        (t.TimestampType(), datetime(2024, 1, 1)),
        (t.TimestampNTZType(), datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2)))),
        (t.DateType(), "2024-01-01"),
        (t.DateType(), datetime(2024, 1, 1, 12)),
        (t.BinaryType(), "x"),
        (t.ArrayType(t.LongType()), "abc"),
        (t.ArrayType(t.LongType()), 5),
        (t.StructType([t.StructField("name", t.StringType())]), 5),
        (t.StructType([t.StructField("name", t.StringType())]), {"nome": "EVA"}),
        (t.StructType([t.StructField("name", t.StringType())]), ("EVA", 2)),
        (t.MapType(t.StringType(), t.LongType()), 5),
        (t.MapType(t.StringType(), t.LongType()), {None: 5}),
    ],
)
def test_what_does_not_fit_is_refused_by_name(kind, value):
    with pytest.raises(InvalidArgument, match=r"expected ship\.draught to be of type"):
        to_arrow([value], kind, "ship.draught")


@pytest.mark.parametrize("text", ["1.5000", "0E+20", "0E-20", "1.5E+2", "-999.990"])
def test_zeros_at_the_end_of_a_decimal_take_no_room(text):
    assert to_arrow([Decimal(text)], t.DecimalType(5, 2), "x").to_pylist() == [Decimal(text)]


def test_nothing_is_rounded_inside_a_list():
    with pytest.raises(InvalidArgument, match=r"expected xs\[\] to be of type bigint but got 1.5 \(type=float\)"):
        to_arrow([[1, 1.5]], t.ArrayType(t.LongType()), "xs")


def test_types_that_cannot_be_carried_are_named():
    kind = t.StructType(
        [
            t.StructField("ok", t.DateType()),
            t.StructField("d", t.ArrayType(t.DayTimeIntervalType())),
            t.StructField("c", t.CharType(3)),
        ]
    )
    with pytest.raises(
        InvalidArgument, match=r"exactly but got ship\.d\[\]: interval day to second; ship\.c: char\(3\); cast"
    ):
        check_supported(kind, "ship", "correlate_frames")


def test_texts_of_a_collation_are_refused_wherever_they_are():
    """In Spark "a" and "A" may be equal by one, and are not here: what matches would differ without a word."""
    kind = t.MapType(t.StringType(), t.ArrayType(t.StringType("UTF8_LCASE")))
    check_supported(t.MapType(t.StringType("UTF8_BINARY"), t.StringType()), "ship", "correlate_frames")
    with pytest.raises(InvalidArgument, match=r"exactly but got ship.value\[\]: string collate UTF8_LCASE; cast"):
        check_supported(kind, "ship", "correlate_frames")


def test_types_are_those_that_spark_writes():
    assert str(arrow_type(t.MapType(t.DateType(), t.LongType()))) == "map<date32[day], int64>"
    assert str(arrow_type(t.DecimalType(5, 2))) == "decimal128(5, 2)"
    assert str(arrow_type(t.TimestampNTZType())) == "timestamp[us]"


NARROW = [
    (pa.array([1, 2**40]), t.IntegerType(), "x to be of type int but got 1099511627776"),
    (pa.array([1, 2]), t.BooleanType(), "x to be of type boolean but got 1"),
    (pa.array([True]), t.LongType(), "x to be of type bigint but got True"),
    (pa.array(["1"]), t.LongType(), "x to be of type bigint but got '1'"),
]


@pytest.mark.parametrize(("array", "kind", "message"), NARROW, ids=str)
def test_columns_that_do_not_fit_are_refused_as_values_are(array, kind, message):
    with pytest.raises(InvalidArgument, match=f"expected {message}"):
        array_of(Leaf(array), kind, "x")


def test_columns_that_fit_are_taken_whatever_their_width():
    assert array_of(Leaf(pa.array([1, 2])), t.ByteType(), "x").type == pa.int8()
    assert array_of(Leaf(pa.array([1, 2**53])), t.DoubleType(), "x").to_pylist() == [1.0, 2.0**53]
    assert array_of(Leaf(pa.nulls(2)), t.DateType(), "x").to_pylist() == [None, None]


def test_dates_are_dates():
    assert vector_of(column([date(2024, 2, 29)], t.DateType())).to_list() == [date(2024, 2, 29)]
