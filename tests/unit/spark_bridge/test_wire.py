"""Whatever a record batch holds is read as it was written, and what can be said briefly is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from spark_bridge.transport.wire import read, written

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WHOLE = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}


@st.composite
def ranges(draw, bits):
    """Whole numbers of a type, near each other or at both its ends."""
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    low = draw(st.integers(least, most))
    width = draw(st.sampled_from([0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**64]))
    return st.sampled_from([low, min(low + width, most)]) | st.integers(low, min(low + width, most))


@st.composite
def columns(draw, n, depth=2):
    """A column of ``n`` rows: numbers, times, texts, lists, structs of these; nulls in it, or none, or only nulls."""
    whole = draw(st.sampled_from(list(WHOLE)))
    small = draw(ranges(32))
    kinds = {
        whole: draw(ranges(WHOLE[whole])),
        pa.timestamp("us", "UTC"): small.map(lambda n: EPOCH + timedelta(microseconds=n)),
        pa.timestamp("us"): small.map(lambda n: EPOCH.replace(tzinfo=None) + timedelta(seconds=n)),
        pa.date32(): st.dates(date(1900, 1, 1), date(2200, 1, 1)),
        pa.bool_(): st.booleans(),
        pa.float64(): st.floats(),
        pa.string(): st.text(max_size=3),
        pa.binary(): st.binary(max_size=3),
        pa.null(): st.none(),
        pa.list_(pa.int64()): st.lists(st.integers(0, 9), max_size=3),
        pa.map_(pa.string(), pa.int64()): st.dictionaries(st.text(max_size=2), st.integers(0, 9)).map(
            lambda found: list(found.items())
        ),
    }
    if depth and draw(st.booleans()):
        items = draw(st.lists(columns(n, depth - 1), max_size=3))
        fields = [pa.field(f"f{place}", item.type) for place, item in enumerate(items)]
        if not items:
            return pa.array([{}] * n, pa.struct([]))
        mask = pa.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), pa.bool_())
        return pa.StructArray.from_arrays(items, fields=fields, mask=draw(st.sampled_from([mask, None])))
    kind = draw(st.sampled_from(list(kinds)))
    nulls = draw(st.sampled_from(["none", "some", "all"]))
    values = {"none": kinds[kind], "some": kinds[kind] | st.none(), "all": st.none()}[nulls]
    return pa.array(draw(st.lists(values, min_size=n, max_size=n)), kind)


@st.composite
def batches(draw):
    n = draw(st.integers(0, 6))
    found = draw(st.lists(columns(n), min_size=1, max_size=4))
    batch = pa.RecordBatch.from_arrays(found, names=[f"c{place}" for place in range(len(found))])
    first = draw(st.integers(0, n))
    return batch.slice(first, draw(st.integers(0, n - first)))


@given(batches())
def test_a_batch_is_read_as_it_was_written(batch):
    again = read(written(batch), batch.schema)
    again.validate(full=True)
    assert again.schema == batch.schema
    assert again.num_rows == batch.num_rows
    assert [_shown(column) for column in again.columns] == [_shown(column) for column in batch.columns]


def _shown(column):
    return [repr(value) for value in column.to_pylist()]  # by which nan is itself, and -0.0 is not 0.0


@given(batches())
def test_it_is_read_from_anywhere_in_a_buffer(batch):
    data = b"x" + written(batch)
    again = read(pa.py_buffer(data).slice(1), batch.schema)
    assert [_shown(column) for column in again.columns] == [_shown(column) for column in batch.columns]


@pytest.mark.parametrize(
    ("column", "bytes_a_row"),
    [
        pytest.param(pa.array(np.arange(10_000) + 10**15), 2, id="near each other"),
        pytest.param(pa.array(np.arange(10_000) + 10**15).view(pa.timestamp("us", "UTC")), 2, id="times"),
        pytest.param(pa.array(np.arange(10_000) * 400_000), 4, id="up to four thousand millions"),
        pytest.param(pa.array(np.arange(10_000) * 10**12), 8, id="far apart"),
        pytest.param(pa.array(np.full(10_000, 7)), 0, id="alike"),
        pytest.param(pa.nulls(10_000, pa.string()), 0, id="null"),
    ],
)
def test_a_column_takes_no_more_bytes_than_its_numbers_need(column, bytes_a_row):
    size = len(written(pa.RecordBatch.from_arrays([column], names=["n"])))
    assert bytes_a_row * 10_000 <= size < bytes_a_row * 10_000 + 400
