"""Arrivals: the rows of one call in the order in which they are used, as columns for the compiled tier or as values.

Invariant: a step is a row; step n is the n-th row in the order of `row_order`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from cartesius import Delete, Update
from cartesius.columns.batches.feeds import Feed
from cartesius.columns.stages.rows import Rows
from cartesius.columns.vectors.key_codes import any_nan
from cartesius.columns.vectors.vectors import RECORD, TUPLE, Leaf, Struct
from cartesius.errors import SnapshotMismatch
from spark_bridge.columns.instances import instance
from spark_bridge.columns.payloads import unreadable, vector_of
from spark_bridge.columns.row_texts import json_texts
from spark_bridge.transport.packing import chunk_schema
from spark_bridge.transport.row_order import ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cartesius import Engine, Reactive
    from cartesius.columns.vectors.vectors import Vector

SEQUENCE, TIME, REASON, COLUMNS = 0, 1, 2, 3
"""Where a chunk has its helpers, and from where on the columns of the source."""


@attrs.frozen
class Input:
    """How the rows of one source become events.

    Args:
        name: The source.
        schema: The columns that travel.
        fields: Those that are the event's value.
        is_table: Whether the rows are changes of a table.
        key: A table's key, or None for a table of one row.
        deleted: The column that makes a row a `Delete`, or None.
        type: What the value is made an instance of; None: a mapping.
        is_split: Whether each row goes to one bucket; otherwise all have it.
    """

    name: str
    schema: t.StructType
    fields: tuple[str, ...]
    is_table: bool = False
    key: str | None = None
    deleted: str | None = None
    type: Any = None
    is_split: bool = False

    @property
    def value_schema(self) -> t.StructType:
        """The fields of its events, with their types."""
        return t.StructType([field for field in self.schema if field.name in self.fields])


class Columns:
    """The rows of one source, as a table of the helpers and its columns."""

    def __init__(self, source: Input, table: pa.Table) -> None:
        self.source = source
        self.table = table
        self.payload = table.select(range(COLUMNS, table.num_columns))

    def __len__(self) -> int:
        rows: int = self.table.num_rows
        return rows

    @cached_property
    def vectors(self) -> Mapping[str, Vector]:
        """The columns, by name."""
        names = self.source.schema.names
        return {name: vector_of(column) for name, column in zip(names, self.payload.columns, strict=True)}

    @cached_property
    def times(self) -> Any:
        """The event times."""
        return self.numbers(TIME)

    @cached_property
    def record(self) -> Struct:
        """The values, as records."""
        fields = self.source.fields
        return Struct(RECORD, fields, [self.vectors[name] for name in fields], len(self))

    @cached_property
    def keys(self) -> Vector | None:
        """The keys of a table's rows."""
        if not self.source.is_table:
            return None
        return Struct(TUPLE, (), (), len(self)) if self.source.key is None else self.vectors[self.source.key]

    @cached_property
    def deletes(self) -> Any:
        """Which rows of a table are gone; None if none is."""
        if self.source.deleted is None:
            return None
        found = self.vectors[self.source.deleted]
        assert isinstance(found, Leaf)  # Invariant: the column is Boolean
        return found.numbers if found.numbers.any() else None

    @cached_property
    def _plain(self) -> tuple[list[Any], list[Any] | None, list[bool] | None]:
        keys = None if self.keys is None else self.keys.to_list()
        return self.record.to_list(), keys, None if self.deletes is None else self.deletes.tolist()

    def value(self, row: int) -> Any:
        """Return what is pushed for a row; a type of the user's may raise."""
        values, keys, deletes = self._plain
        if keys is not None and deletes is not None and deletes[row]:
            return Delete(keys[row], values[row])
        value = values[row] if self.source.type is None else instance(self.source.type, values[row])
        return value if keys is None else Update(keys[row], value)

    def texts(self, rows: Sequence[int]) -> list[str]:
        """Return rows as JSON texts."""
        return json_texts(self.payload.rename_columns(self.source.schema.names), rows)

    def text(self, row: int) -> str:
        """Return a row as JSON text."""
        return self.texts([row])[0]

    def stored(self) -> bytes:
        """Return the rows as bytes that say which columns they have, for `restored`."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        found: bytes = sink.getvalue().to_pybytes()
        return found

    def unreadable(self) -> dict[int, str]:
        """Return which rows cannot be read, and why."""
        return unreadable(self.payload, self.source.schema)

    def only(self, rows: Any) -> Columns:
        """Return some of the rows: those at ``rows``, or for which it is true."""
        chosen = pa.array(rows)
        return Columns(self.source, self.table.filter(chosen) if rows.dtype == np.bool_ else self.table.take(chosen))

    def numbers(self, helper: int) -> Any:
        """Return a helper that is a number."""
        return self.table.column(helper).to_numpy()


def before(columns: Sequence[Columns], clock: float) -> list[Columns]:
    """Return the rows whose time is before that of the clock."""
    return [one.only(one.numbers(TIME) < clock) for one in columns]


def not_before(columns: Sequence[Columns], clock: float) -> list[Columns]:
    """Return the others."""
    return [one.only(one.numbers(TIME) >= clock) for one in columns]


def joined(some: Sequence[Columns], more: Sequence[Columns]) -> list[Columns]:
    """Return the rows of each source one after the other."""
    return [Columns(a.source, pa.concat_tables([a.table, b.table])) for a, b in zip(some, more, strict=True)]


def restored(source: Input, stored: bytes | None) -> Columns:
    """Return the rows of a source that `Columns.stored` has stored; None: there are none.

    Their columns may have come in another order: which of equal times is used first is decided by that of now.

    Raises:
        SnapshotMismatch: They had other columns.
    """
    schema = chunk_schema(source.schema)
    if stored is None:
        return Columns(source, schema.empty_table())
    table = pa.ipc.open_stream(stored).read_all()
    places = {name: place for place, name in enumerate(table.column_names[COLUMNS:], start=COLUMNS)}
    if places.keys() == {*source.schema.names}:
        table = table.select([*range(COLUMNS), *(places[name] for name in source.schema.names)])
    if table.schema != schema:
        before, now = (
            ", ".join(f"{one.name} {one.type}" for one in [*columns][COLUMNS:]) for columns in (table.schema, schema)
        )
        message = (
            f"restore: expected rows of {source.name!r} that wait to have the columns {now} but they were stored with"
            f" {before}; keep key= and the columns as they were"
        )
        raise SnapshotMismatch(message)
    return Columns(source, table)


class Arrivals:
    """The rows of all sources that are used in one go.

    Args:
        columns: The rows of each source, in the order of the sources.
    """

    def __init__(self, columns: Sequence[Columns]) -> None:
        self.columns = columns
        order = ordered(
            [one.numbers(SEQUENCE) for one in columns],
            [one.numbers(TIME) for one in columns],
            [one.payload for one in columns],
        )
        firsts = np.cumsum([0, *[len(one) for one in columns[:-1]]])
        self.source = np.repeat(np.arange(len(columns)), [len(one) for one in columns])[order]
        self.row = order - firsts[self.source]
        self.time = np.concatenate([one.numbers(TIME) for one in columns])[order]

    def __len__(self) -> int:
        return len(self.row)

    def feed(self, engine: Engine) -> Feed | None:
        """Return the rows as a batch; None if they cannot be one."""
        if engine.has_finished:
            return None
        rows: dict[Reactive, Rows] = {}
        for number, one in enumerate(self.columns):
            if not len(one):
                continue
            if one.source.type is not None or (one.keys is not None and any_nan(one.keys)):
                return None
            steps = np.flatnonzero(self.source == number)
            mine = self.row[steps]
            time, deletes = self.time[steps], one.deletes
            rows[engine.inputs[one.source.name]] = Rows(
                one.record.take(mine),
                time,
                time,
                steps,
                steps,
                steps,
                None if one.keys is None else one.keys.take(mine),
                None if deletes is None else deletes[mine],
            )
        return Feed(rows, len(self), is_timed=True)

    def between(self, first: int, last: int) -> Iterator[tuple[Columns, int, int]]:
        """Iterate over the rows from a step up to another: of which source, which of its rows, and when."""
        columns = (all_of[first:last].tolist() for all_of in (self.source, self.row, self.time))
        for source, row, time in zip(*columns, strict=True):
            yield self.columns[source], row, time

    def at(self, step: int) -> tuple[Columns, int]:
        """Return one of them: of which source, and which of its rows."""
        return self.columns[self.source[step]], int(self.row[step])
