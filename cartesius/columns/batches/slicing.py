"""Slicing: a long batch is computed in slices, so that what a slice needs stays in the caches of the processor.

Any cut of a batch gives the same results, and memory that was just freed is used again, where all of a long batch at
once would touch fresh memory in each step of its computation. A slice is at least as long as a multiple of what is
retained, which each slice handles anew, so that the whole stays linear.

Invariant: slices share the arrays of their batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.batches.feeds import Feed
from cartesius.columns.results import together
from cartesius.columns.vectors.vectors import from_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.stages.rows import Rows

SLICE: Final = 1 << 17
"""How many rows a slice has at least."""
_TIMES_RETAINED: Final = 8


def slice_length(n_retained: int) -> int:
    """Return how many rows the next slice has if ``n_retained`` are retained."""
    return max(SLICE, _TIMES_RETAINED * n_retained)


def between(feed: Feed, begin: int, end: int) -> Feed:
    """Return the rows of the steps from ``begin`` up to ``end``, as a batch of its own."""
    if begin == 0 and end >= feed.steps:
        return feed
    end = min(end, feed.steps)
    rows = {reactive: _between(one, begin, end) for reactive, one in feed.rows.items()}
    return Feed(rows, end - begin, is_timed=feed.is_timed)


def _between(rows: Rows, begin: int, end: int) -> Rows:
    first, last = np.searchsorted(rows.position, [begin, end]).tolist()
    start = rows.start[first:last]
    return attrs.evolve(
        rows,
        payload=rows.payload.slice(first, last),
        start=start,
        end=start if rows.end is rows.start else rows.end[first:last],
        ordinal=rows.ordinal[first:last],
        number=rows.number[first:last],
        position=rows.position[first:last] - begin,
        key=None if rows.key is None else rows.key.slice(first, last),
        deletes=None if rows.deletes is None else rows.deletes[first:last],
    )


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the results of slices as those of the batch."""
    if len(tables) == 1:
        return tables[0]
    some = [table for table in tables if table.num_rows] or list(tables[:1])
    if all(table.schema.equals(some[0].schema, check_metadata=True) for table in some):
        return pa.concat_tables(some)
    names = [name for name in max(some, key=lambda table: table.num_columns).column_names]
    columns, fields = zip(*(_stacked(some, name) for name in names), strict=True)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _stacked(tables: Sequence[pa.Table], name: str) -> tuple[Any, pa.Field]:
    given = [table.schema.field(name) for table in tables]
    if all(field.equals(given[0], check_metadata=True) for field in given):
        return pa.chunked_array([chunk for table in tables for chunk in table.column(name).chunks]), given[0]
    vector = together([from_arrow(table.column(name), field) for table, field in zip(tables, given, strict=True)])
    return vector.to_arrow(), vector.field(name)
