"""Rows that could not be used are told as JSON that says what they held; an encoder of the test's own is the oracle."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from spark_bridge.columns.row_texts import json_texts, value_text
from spark_bridge.columns.values import to_arrow
from tests.unit.spark_bridge.typed_values import typed


def told(value, kind):
    """What JSON's reader is to find for a value; decimals, like floats, are numbers."""
    match value, kind:
        case None, _:
            return None
        case bytes(), _:
            return base64.b64encode(value).decode()
        case float(), _ if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        case float(), t.FloatType():
            return float(str(np.float32(value)))
        case datetime(), t.TimestampType():
            return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)
        case datetime(), _:
            return value.strftime("%Y-%m-%dT%H:%M:%S.%f").zfill(26)
        case date(), _:
            return value.isoformat()
        case Decimal(), _:
            return float(value)
        case _, t.ArrayType():
            return [told(item, kind.elementType) for item in value]
        case _, t.MapType(keyType=t.StringType()):
            return {key: told(item, kind.valueType) for key, item in value.items()}
        case _, t.MapType():
            pairs = [{"key": key, "value": told(item, kind.valueType)} for key, item in value.items()]
            return [{name: item for name, item in pair.items() if item is not None} for pair in pairs]
        case _, t.StructType():
            items = {field.name: told(value[field.name], field.dataType) for field in kind}
            return {name: item for name, item in items.items() if item is not None}
    return value


@st.composite
def tables(draw):
    n = draw(st.integers(1, 4))
    columns = {}
    for place in range(draw(st.integers(1, 3))):
        kind, values = draw(typed())
        columns[f'c "{place}"'] = kind, draw(st.lists(st.none() | values, min_size=n, max_size=n))
    rows = draw(st.lists(st.integers(0, n - 1), max_size=5))
    return columns, rows


@given(tables())
def test_texts_say_what_rows_held(drawn):
    columns, rows = drawn
    table = pa.table({name: to_arrow(values, kind, name) for name, (kind, values) in columns.items()})
    found = [json.loads(text, parse_float=float) for text in json_texts(table, rows)]
    everything = [{name: told(values[row], kind) for name, (kind, values) in columns.items()} for row in rows]
    assert found == [{name: value for name, value in each.items() if value is not None} for each in everything]


@given(tables())
def test_a_row_is_told_the_same_beside_others(drawn):
    columns, rows = drawn
    table = pa.table({name: to_arrow(values, kind, name) for name, (kind, values) in columns.items()})
    assert json_texts(table, rows) == [text for row in rows for text in json_texts(table, [row])]


DAY = 86_400_000_000  # microseconds


@pytest.mark.parametrize(
    ("column", "text"),
    [
        pytest.param(
            pa.array([106_751_991 * DAY], pa.timestamp("us", "UTC")), "294247-01-10T00:00:00.000000Z", id="late"
        ),
        pytest.param(pa.array([-106_751_991 * DAY], pa.timestamp("us")), "-290308-12-22T00:00:00.000000", id="early"),
        pytest.param(pa.array([2**31 - 1], pa.date32()), "5881580-07-11", id="a day"),
        pytest.param(
            pa.array([11_323_000 * DAY], pa.timestamp("us", "UTC")), "32971-04-28T00:00:00.000000Z", id="five digits"
        ),
    ],
)
def test_times_beyond_every_calendar_are_told(column, text):
    """Dates by the calendar that goes on for ever (proleptic Gregorian), as Java's `LocalDate` counts them."""
    assert json_texts(pa.table({"at": column, "all": pa.array([[column[0]]])}), [0]) == [
        f'{{"at":"{text}","all":["{text}"]}}'
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": math.nan, "b": [math.inf, -math.inf]}, '{"a":"NaN","b":["Infinity","-Infinity"]}'),
        ({(1, 2): 3}, '[{"key":[1,2],"value":3}]'),
        ({"at": date(2024, 6, 30)}, '{"at":"2024-06-30"}'),
    ],
)
def test_what_json_lacks_is_spelled(value, text):
    assert value_text(value) == text
