"""Rows for a bucket, as chunks, and what it gives, as Python's values: what the tests of buckets share."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
from pyspark.sql import types as t

from spark_bridge.columns.schemas import ResultSchema, result_schema
from spark_bridge.running.buckets import Buckets
from spark_bridge.transport.emission import CHANGES, Layout, kind_of
from spark_bridge.transport.packing import chunk_schema
from spark_bridge.transport.wire import written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_bridge.running.buckets import Outcome
    from spark_bridge.transport.arrivals import Input


@attrs.frozen
class Row:
    """A row of a source: its place in the order, its time, the place of its source, and its columns."""

    sequence: int
    time: int
    source: int
    columns: dict[str, Any]
    reason: str | None = None


def chunk_of(source: Input, rows: Sequence[Row]) -> bytes:
    """Return rows of one source as a chunk."""
    columns = [[row.sequence for row in rows], [row.time for row in rows], [row.reason for row in rows]]
    columns += [[row.columns.get(name) for row in rows] for name in source.schema.names]
    schema = chunk_schema(source.schema)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return written(pa.RecordBatch.from_arrays(arrays, schema=schema))


def chunks_of(inputs: Sequence[Input], rows: Sequence[Row], size: int = 1 << 30) -> dict[int, list[bytes]]:
    """Return rows as chunks of at most ``size`` rows, by the place of their source."""
    mine = {place: [row for row in rows if row.source == place] for place in range(len(inputs))}
    return {
        place: [chunk_of(inputs[place], some[first : first + size]) for first in range(0, len(some), size)]
        for place, some in mine.items()
        if some
    }


def layout_of(schemas: dict[str, ResultSchema]) -> Layout:
    """Return the layout of some outputs, of keys of one type and fields of different names."""
    keys = {schema.key.simpleString(): schema.key for schema in schemas.values()}
    fields = {field.name: field for schema in schemas.values() for field in schema.value}
    return Layout(schemas, tuple(keys.values()), t.StructType(list(fields.values())))


def buckets_of(*outputs, inputs, everywhere=(), on_error="fail") -> Buckets:
    """Return a program whose schemas are derived."""
    frames = {one.name: one.schema for one in inputs}
    schemas = {output.name: result_schema(output, output.name, frames, None) for output in outputs}
    return Buckets(outputs, tuple(inputs), layout_of(schemas), frozenset(everywhere), on_error=on_error)


def run(program: Buckets, bucket: int, state: bytes | None, rows: Sequence[Row], *arguments, size=1 << 30, **options):
    """Run one call on rows."""
    return program.run(bucket, state, chunks_of(program.inputs, rows, size), *arguments, **options)


def results(outcome: Outcome) -> list[tuple[int, str, Any, Any, int, int]]:
    """Return what was given: the place of the output, change, key, value, start, end."""
    return [
        (output, CHANGES[row["change"]], row["key"], row["value"], row["start"], row["end"])
        for output, part in outcome.parts
        if output >= 0
        for row in part.to_pylist()
    ]


def shown(outcome: Outcome) -> list[tuple[str, Any, Any, int]]:
    """Return what was given: change, key, value, end."""
    return [(change, key, value, end) for _, change, key, value, _, end in results(outcome)]


def by_output(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return results of several calls output by output: only within one is there an order."""
    return sorted(found, key=itemgetter(0))


def letters(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the rows that were not used."""
    return [row | {"kind": kind_of(output)} for output, part in outcome.parts if output < 0 for row in part.to_pylist()]
