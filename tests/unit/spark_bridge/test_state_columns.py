"""The body of a state: any plain data, exactly, in columns or not; and the rows of memories."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius.columns.stages.rows import BEFORE, Rows
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import Leaf
from cartesius.data.codec import text_of
from cartesius.data.queues import Queue
from cartesius.engines.saving import FEW, Memory
from cartesius.errors import NotStorable
from cartesius.storage.stored import Stored
from spark_bridge.state.state_columns import decoded, encoded
from tests.unit.cartesius.columns.values import columns, values


def exact(value):
    """Plain data as text, by which values are told apart type for type."""
    return text_of(value)


@given(values)
def test_plain_data_survive(value):
    assert exact(decoded(encoded(value))) == exact(value)


@given(columns(max_size=12), st.integers(1, 4))
def test_long_lists_survive_whatever_types_they_mix(items, times):
    long = items * (times * FEW)
    state = {"list": long, "dict": dict(enumerate(long)), "pairs": list(enumerate(long)), "inner": [{"deep": [long]}]}
    assert exact(decoded(encoded(state))) == exact(state)


def test_keys_of_any_type_and_what_no_column_has():
    state = {(n, str(n)): Queue([n, None]) for n in range(2 * FEW)}
    assert exact(decoded(encoded(state))) == exact(state)


@given(columns(max_size=5))
def test_entries_survive(items):
    entries = [
        Stored(item, 1, 2 + n, ("ship", n), [[n]], [], n, "ship", {"uses": 1} if n % 2 else None, None, n)
        for n, item in enumerate(items * FEW)
    ]
    assert exact(decoded(encoded(entries))) == exact(entries)


def rows(n, *, payload=None, key=None, equal=False):
    start = np.arange(n) * 3
    end = start if equal else start + 1
    number = np.arange(n) + 2**60
    return Rows(payload or Leaf(pa.array(range(n))), start, end, number, number, np.full(n, BEFORE), key)


def shown(one):
    columns_ = [getattr(one, name).tolist() for name in ("start", "end", "ordinal", "number", "position")]
    return [exact(one.payload.to_list()), None if one.key is None else exact(one.key.to_list()), *columns_]


@given(columns(max_size=12), columns(max_size=12), st.booleans())
def test_rows_survive(payload, keys, equal):
    n = min(len(payload), len(keys))
    one = rows(n, payload=of_values(payload[:n]), key=of_values(keys[:n]), equal=equal)
    found = decoded(encoded({"columns": [[one, None]], "memory": Memory(one, 5)}))
    assert shown(found["columns"][0][0]) == shown(one)
    assert found["columns"][0][1] is None
    assert found["memory"].first == 5
    assert shown(found["memory"].rows) == shown(one)


def test_what_is_read_can_be_written_to():
    found = decoded(encoded(Memory(rows(3), 0)))
    found.rows.start[0] = 7  # kernels may do so
    assert found.rows.start[0] == 7


def test_columns_are_smaller():
    entries = [
        Stored({"mmsi": n, "berth": "A"}, n, n, ("ship", n), [[n]], [], n, "ship", None, None, n) for n in range(1000)
    ]
    as_rows = rows(1000, payload=of_values([entry.value for entry in entries]))
    assert len(encoded(Memory(as_rows, 0))) < len(encoded(entries)) < 0.4 * len(repr(entries))


def test_nothing_but_plain_data_goes_in():
    with pytest.raises(NotStorable):
        encoded([object()] * FEW)
    with pytest.raises(NotStorable):
        encoded({"x": object()})
