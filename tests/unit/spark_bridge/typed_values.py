"""Types of Spark's, nested as deep as is drawn, and values of theirs: what tests of the border share."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius.data.records import TAKEN, Record

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
    names = st.text().filter(lambda name: name not in TAKEN)  # others are refused
    key, keys = (t.StringType(), names) if shape == "text map" else (t.LongType(), LONG)
    dictionaries: Any = st.dictionaries(keys, maybe, max_size=3)
    return t.MapType(key, kind), dictionaries.map(Record)
