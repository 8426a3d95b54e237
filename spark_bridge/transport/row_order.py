"""Row order: in which order the rows of a call are used, whatever chunks, frames or partitions they came in.

By sequence, then event time, then source, and rows alike in these by their values, column after column: null last, an
array, a map or an unequal length by its text. Rows that are alike in all that are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_bridge.columns.payloads import whole, with_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_LAST = np.iinfo(np.int64).max


def ordered(sequences: Sequence[Ints], times: Sequence[Ints], tables: Sequence[pa.Table]) -> Ints:
    """Return the order of the rows of several sources, those of the first counted first.

    Args:
        sequences: Of each source, its rows' places in the order of arrival.
        times: Of each, its rows' event times.
        tables: Of each, the columns that tell rows apart that are alike in all else.
    """
    sequence, time = np.concatenate(sequences), np.concatenate(times)
    order = np.argsort(time, kind="stable")  # what comes by source stays so
    if (sequence != sequence[:1]).any():
        order = order[np.argsort(sequence[order], kind="stable")]
    source = np.repeat(np.arange(len(tables)), [len(one) for one in times])
    alike = np.ones(len(order), np.bool_)  # as the row before
    alike[:1] = False
    for key in (sequence, time, source):
        alike[1:] &= key[order[1:]] == key[order[:-1]]
    if not alike.any():
        return order
    group = np.cumsum(~alike).astype(np.int64)
    is_tied = alike.copy()
    is_tied[:-1] |= alike[1:]
    first = 0
    for number, table in enumerate(tables):
        places = np.flatnonzero(is_tied & (source[order] == number))
        if len(places):
            rows = order[places]
            order[places] = rows[_by_values(table, rows - first, group[places])]
        first += table.num_rows
    return order


def _by_values(table: pa.Table, rows: Ints, group: Ints) -> Ints:
    """Return the order of rows by their values, in groups that come one after the other.

    Columns are looked at one by one, up to the one that leaves no two rows of a group alike.
    """
    order = np.arange(len(rows))
    for codes in _codes(table, rows):
        order = order[np.lexsort((codes[order], group[order]))]
        is_other = (group[order[1:]] != group[order[:-1]]) | (codes[order[1:]] != codes[order[:-1]])
        if is_other.all():
            break
        group = group.copy()
        group[order] = np.append(0, np.cumsum(is_other))
    return order


def _codes(table: pa.Table, rows: Ints) -> Iterator[Ints]:
    """Iterate over ints that are ordered as the values of the columns of some rows are."""
    chosen = pa.array(rows)
    for column in table.columns:
        yield from _codes_of(whole(column.take(chosen)))


def _codes_of(array: pa.Array) -> Iterator[Ints]:
    kind = array.type
    if pa.types.is_struct(kind):
        yield np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.int64)
        for item in array.flatten():
            yield from _codes_of(item)
        return
    if pa.types.is_floating(kind):  # by their bits, so that -0.0 is before 0.0, and each NaN has a place
        bits = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False).view(np.int64)
        codes = np.where(bits < 0, bits ^ _LAST, bits)
    elif pa.types.is_nested(kind):
        codes = _ranks(pa.array([None if value is None else repr(value) for value in _values(array)], pa.string()))
    elif pa.types.is_integer(kind):
        codes = array.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    elif pa.types.is_boolean(kind):
        codes = array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
    elif pa.types.is_temporal(kind):
        codes = (
            array.view(pa.int32() if pa.types.is_date32(kind) else pa.int64()).fill_null(0).to_numpy().astype(np.int64)
        )
    else:
        codes = _ranks(array)
    if array.null_count:
        yield np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.int64)
    yield codes


def _values(array: pa.Array) -> list[Any]:
    """Return values of Python's that tell the values of an array apart, also where a text is no UTF-8."""
    try:
        found: list[Any] = array.to_pylist()
    except UnicodeDecodeError:  # of a static frame, whose rows are ordered before they are read
        undecoded = with_leaves(array.type, lambda kind: pa.binary() if pa.types.is_string(kind) else kind)
        found = array.cast(undecoded).to_pylist()
    return found


def _ranks(array: pa.Array) -> Ints:
    ranks: Ints = pc.rank(array, tiebreaker="dense").to_numpy().astype(np.int64)
    return ranks
