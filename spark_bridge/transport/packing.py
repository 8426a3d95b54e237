"""Packing: many rows of a bucket as one, so that what groups them has few rows to move, and none to convert.

Before rows are grouped, a worker puts those of one source and bucket together: a chunk, an Arrow record batch as bytes.
The shuffle, the sort and the stateful operator see one row a chunk, with one binary column.

Invariant: how rows are cut into chunks changes nothing but the chunks; where there are rows, there is a chunk for the
first bucket, if need be without rows. So that bucket is called in every micro-batch with rows, and its state speaks for
a checkpoint: a query whose rows are spread otherwise fails in its first micro-batch, also where all of its rows go to
buckets that have no state.

Source: measured against typed columns through the stateful operator, see docs/rationale.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from spark_bridge.columns.values import arrow_type
from spark_bridge.transport.wire import read, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import types as t

EVERYWHERE: Final = -1
"""Stands for all buckets."""
PACKED: Final = "bucket int, at timestamp_ltz, chunk binary"
"""A chunk: its bucket, the latest of its rows' event times, and the rows.

What a session takes a mere ``timestamp`` for is an option of it, and only an instant has a watermark."""
LONG_AGO: Final = -8_520_336_000_000_000
"""The time of what must not move the watermark, in microseconds: the year 1700."""
BEFORE_ALL: Final = -(2**62)
"""The time of rows that are there before all time (`static_frames`), and their place in the order."""
EARLIEST: Final = BEFORE_ALL // 2
"""Of earlier times it is only told that there is none: what is decided of rows before all time is at such a time."""
FAR_OFF: Final = 8_835_955_200_000_000
"""The latest time that moves it: the year 2250."""

_ROWS, _BYTES = 1 << 18, 1 << 26  # that are put together at once
_CHUNK: Final = 1 << 23  # bytes of a chunk, about
_AT: Final = pa.timestamp("us", "UTC")
_HELPERS: Final = [("sequence", pa.int64()), ("time", pa.int64()), ("reason", pa.string())]


def chunk_schema(schema: t.StructType) -> pa.Schema:
    """Return what a chunk of a source holds: the place in the order, the time, why it is no good, and the columns."""
    return pa.schema([*_HELPERS, *((field.name, arrow_type(field.dataType)) for field in schema)])


def packer(schema: t.StructType, called: int = 1) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return the function, for Spark's ``mapInArrow``, that packs the rows of a source.

    Args:
        schema: The columns that travel; after them come what `chunk_schema` has beside them, and the bucket.
        called: How many buckets, from the first one on, get a chunk at least: all, if each has rows that wait for the
            first call (`static_frames`).
    """
    target = chunk_schema(schema)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        together: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in batches:
            together.append(batch)
            rows, size = rows + batch.num_rows, size + batch.get_total_buffer_size()  # not nbytes: see _packed
            if rows >= _ROWS or size >= _BYTES:
                yield _packed(together, target, called)
                together, rows, size = [], 0, 0
        if rows:
            yield _packed(together, target, called)

    return pack


def _packed(batches: Sequence[pa.RecordBatch], target: pa.Schema, called: int) -> pa.RecordBatch:
    # Where all lists of a column are empty, Spark 4.0 sends no offsets of what is in them. When pyarrow measures or
    # writes such a column, it reads the first of them, which kills the worker. What it has taken has offsets again.
    table = pa.Table.from_batches(batches)
    *own, bucket = table.columns
    bucket = bucket.to_numpy()
    own = own[-len(_HELPERS) :] + own[: -len(_HELPERS)]
    columns = [column.cast(field.type) for column, field in zip(own, target, strict=True)]
    table = pa.Table.from_arrays(columns, schema=target)
    if (bucket != bucket[0]).any():
        small = bucket.astype(np.int16) if bucket.max() < 1 << 15 else bucket  # which are sorted by their digits
        order = np.argsort(small, kind="stable")
        bucket, table = bucket[order], table.take(pa.array(order))
    elif any(map(pa.types.is_nested, target.types)):
        table = table.take(pa.array(np.arange(len(bucket))))
    firsts = np.flatnonzero(np.append(True, bucket[1:] != bucket[:-1]))
    ends = np.append(firsts[1:], len(bucket))
    (whole,) = table.combine_chunks().to_batches()
    most = max(1, len(bucket) * _CHUNK // max(1, whole.nbytes))  # rows of a chunk
    cuts = [
        (at, min(at + most, end)) for first, end in zip(firsts, ends, strict=True) for at in range(first, end, most)
    ]
    starts = np.array([first for first, _ in cuts])
    latest = np.maximum.reduceat(_watermarks(whole), starts)
    chunks = [written(whole.slice(first, end - first)) for first, end in cuts]
    buckets = bucket[starts]
    idle = np.setdiff1d(np.arange(called if buckets[0] != EVERYWHERE else 0), buckets)
    buckets, latest = np.append(buckets, idle), np.append(latest, np.full(len(idle), LONG_AGO))
    chunks += [written(whole.slice(0, 0))] * len(idle)
    arrays = [pa.array(buckets, pa.int32()), pa.array(latest).cast(_AT), pa.array(chunks, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, names=["bucket", "at", "chunk"])


def _watermarks(batch: pa.RecordBatch) -> NDArray[np.int64]:
    """Return the times by which rows move the watermark."""
    time, reason = batch.column(1).to_numpy(), batch.column(2)
    clipped: NDArray[np.int64] = np.clip(time, LONG_AGO, FAR_OFF)
    return np.where(reason.is_null().to_numpy(zero_copy_only=False), clipped, LONG_AGO) if len(reason) else clipped


def unpacked(chunks: Sequence[bytes], schema: pa.Schema) -> pa.Table:
    """Return the rows of chunks of one source."""
    return pa.Table.from_batches([read(chunk, schema) for chunk in chunks], schema)
