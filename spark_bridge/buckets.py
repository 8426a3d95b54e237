"""Buckets: one engine a bucket, from the rows of one call and the state before it to results and the state after it.

Nothing here knows Spark, but its types. Rows are used in (event time, source, payload) order, or in (sequence, event
time, source, payload) order, whatever the chunks they came in. The clock moves once, before the first row,
alike in every bucket.

Invariant: no greenlet outlives a call: an engine that has strands is local to it, and unwinds them when it goes.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs
from pyspark.sql import types as t

from cartesius import CartesiusError, Delete, Engine, Event, Update
from cartesius.errors import InvalidArgument, NotStorable
from spark_bridge.bucket_states import BucketStates
from spark_bridge.dead_letters import letter, raised, unreadable
from spark_bridge.values import encoder, reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius import Reactive
    from spark_bridge.schemas import ResultSchema


@attrs.frozen
class Input:
    """How the rows of one source become events.

    Args:
        name: The source.
        schema: The columns of its payload, as they travel.
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

    def reading(self) -> Callable[[str], Any]:
        """Return the function from a payload's text to what is pushed."""
        read = reader(self.schema)

        def value_of(columns: Mapping[str, Any]) -> Any:
            row = {name: columns[name] for name in self.fields}
            return row if self.type is None else self.type(**row)

        def value(text: str) -> Any:
            columns = read(text)
            if not self.is_table:
                return value_of(columns)
            key = () if self.key is None else columns[self.key]
            if self.deleted is not None and columns[self.deleted]:
                return Delete(key)
            return Update(key, value_of(columns))

        return value


@attrs.frozen(order=False)
class Row:
    """One row of the tagged frame."""

    sequence: int
    time: int
    source: int
    payload: str
    reason: str | None = None


@attrs.frozen
class Outcome:
    """What a call gives: output rows, as columns by name, the state, and the time that the clock must pass next."""

    rows: list[dict[str, Any]]
    state: bytes
    due: int | None = None


_PLACE = attrgetter("sequence", "time", "source", "payload")


class Buckets:
    """A program and how its rows are read and written; it runs one bucket at a time.

    Args:
        outputs: The program.
        inputs: Its sources, in the order of the caller's mapping.
        schemas: How the results of each output look, by the name that their events carry.
        everywhere: The outputs whose results come out of every bucket alike, so that bucket 0 alone tells them.
        states: Opens and seals their states; by default without keeping engines between calls.
    """

    def __init__(
        self,
        outputs: tuple[Reactive, ...],
        inputs: tuple[Input, ...],
        schemas: Mapping[str, ResultSchema],
        everywhere: frozenset[str],
        states: BucketStates | None = None,
    ) -> None:
        self.outputs = outputs
        self.inputs = inputs
        self.schemas = schemas
        self.everywhere = everywhere
        self.states = states or BucketStates(outputs, inputs)
        self._prepare()

    def _prepare(self) -> None:
        self._readers = [one.reading() for one in self.inputs]
        self._keys = {name: encoder(schema.key, f"the key of {name}") for name, schema in self.schemas.items()}
        self._values = {name: encoder(schema.value, name) for name, schema in self.schemas.items()}

    def __reduce__(self) -> tuple[object, ...]:
        """Travel as what it was made from."""
        return Buckets, (self.outputs, self.inputs, self.schemas, self.everywhere, self.states)

    def run(
        self,
        bucket: int,
        state: bytes | None,
        rows: Iterable[Row],
        clock: int | None = None,
        *,
        holds: bool = False,
        close: bool = False,
    ) -> Outcome:
        """Run one call of one bucket.

        Args:
            bucket: Its number.
            state: The state that the last call gave, or None.
            rows: The rows, in any order.
            clock: The time, in microseconds, before which nothing comes any more; None: not known.
            holds: Whether rows wait until the clock has passed them; one that it has passed already is late.
            close: Whether all sources end after these rows.

        Raises:
            SnapshotMismatch: The state is another program's, or damaged.
            NotStorable: The new state cannot be stored.
        """
        # Not durable=True: what is pushed was read from JSON, and so is plain data.
        opened = self.states.open(bucket, state, holds=holds)
        engine, held = opened.engine, [Row(*row) for row in opened.held or ()]
        out = self._results(bucket, opened.changes)
        if clock is not None and clock > engine.clock:
            due = sorted((row for row in held if row.time < clock), key=_PLACE)
            held = [row for row in held if row.time >= clock]
            for row in due:
                out += self._results(bucket, engine.advance(row.time))
                out += self._use(bucket, engine, row)
            out += self._results(bucket, engine.advance(clock))
        for row in sorted(rows, key=_PLACE):
            if holds and row.reason is None and row.time >= engine.clock:
                held.append(row)
            else:
                out += self._use(bucket, engine, row)
        if close:
            out += self._results(bucket, engine.close())
        times = [row.time for row in held]
        if engine.next_deadline is not None:
            times.append(engine.next_deadline)
        if holds:
            opened.held = [(row.sequence, row.time, row.source, row.payload) for row in sorted(held, key=_PLACE)]
        blob = self.states.seal(opened)
        if opened.warning:
            out.append({"kind": "warning", "bucket": bucket, "reason": opened.warning})
        return Outcome(out, blob, min(times, default=None))

    def _use(self, bucket: int, engine: Engine, row: Row) -> list[dict[str, Any]]:
        source = self.inputs[row.source]

        def aside(kind: str, reason: str) -> list[dict[str, Any]]:
            return [letter(kind, source.name, reason, row.time, row.payload, bucket)]

        if row.reason is not None:
            return aside("dead", row.reason)
        is_told_here = source.is_split or bucket == 0
        try:
            value = self._readers[row.source](row.payload)
        except Exception as error:  # whatever a constructor of the user's raises
            return aside("dead", unreadable(error)) if is_told_here else []
        try:
            events = engine.push(engine.inputs[source.name], value, at=row.time)
        except (InvalidArgument, NotStorable) as error:
            return aside("dead", raised(error))
        except CartesiusError as error:  # the program or the engine is broken, not the row
            error.add_note(f"while using a row of {source.name!r}: {row.payload}")
            raise
        except Exception as error:  # a body of the user's: the push is undone
            return aside("dead", raised(error))
        out = self._results(bucket, events)
        if engine.late:
            for _, name, reason in engine.take_late():
                where = "" if name == source.name else f" (at {name})"
                out += aside("late", reason + where) if is_told_here else []
        return out

    def _results(self, bucket: int, events: Iterable[Event]) -> list[dict[str, Any]]:
        return [self._result(bucket, event) for event in events if bucket == 0 or event.reactive not in self.everywhere]

    def _result(self, bucket: int, event: Event) -> dict[str, Any]:
        name, value, key = event.reactive, event.value, None
        change = "event" if event.weight > 0 else "retract"
        if isinstance(value, Update | Delete):
            key = value.key if value.key != () else None
            change = "update" if isinstance(value, Update) else "delete"
            value = value.value if isinstance(value, Update) else None
        if value is not None and not self.schemas[name].is_row:
            value = {"value": value}
        result = {"key": self._keys[name](key), name: self._values[name](value)}
        return {
            "kind": "result",
            "bucket": bucket,
            "output": name,
            "change": change,
            "start": event.start,
            "end": event.end,
            "result": json.dumps(result),
        }
