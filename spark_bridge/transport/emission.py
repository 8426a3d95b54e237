"""Emission: what the calls of a bucket give, results and rows that were not used, as columns, and back to Spark's.

A bucket gives parts: an Arrow record batch each, of the results of one output or of letters of one kind, with only the
columns that these have. A worker makes them rows of a frame, by ``mapInArrow``, with only the columns that are asked
for: what a row costs is mostly what Spark does for each column of it.

Invariant: results of one output are in the order in which the engine gave them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from cartesius import Delete, Update
from cartesius.columns.results import as_table, events_of
from cartesius.errors import InvalidArgument, shortened
from spark_bridge.columns.result_columns import array_of, is_row_of
from spark_bridge.columns.row_texts import moment, value_text
from spark_bridge.columns.values import arrow_type, to_arrow
from spark_bridge.transport.packing import EARLIEST
from spark_bridge.transport.wire import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cartesius import Event
    from cartesius.columns.stages.rows import Flow
    from cartesius.data.events import Time
    from spark_bridge.columns.schemas import ResultSchema

CHANGES: Final = ("event", "retract", "update", "delete")
"""What a result says, by its code."""
_EVENT, _RETRACT, _UPDATE, DELETE = range(4)
LETTERS: Final = {"dead": -1, "late": -2, "warning": -3}
"""What became of a row that was not used; the last is of no row, but what a bucket says of itself.

Each kind has a number that stands in place of an output's."""

_INSTANT: Final = t.TimestampType()
_LETTER: Final = pa.schema(
    [("source", pa.string()), ("reason", pa.string()), ("at", pa.int64()), ("payload", pa.string())]
)
_SMALL: Final = 10_000  # rows of a batch for Spark, at least, while there are more


def kind_of(output: int) -> str:
    """Return what a part is of: ``result``, or one of `LETTERS`."""
    return next((kind for kind, number in LETTERS.items() if number == output), "result")


def _columns(fields: Iterable[tuple[str, t.DataType]]) -> t.StructType:
    return t.StructType([t.StructField(name, kind) for name, kind in fields])


PART: Final = _columns(
    [("bucket", t.IntegerType()), ("output", t.IntegerType()), ("rows", t.LongType()), ("part", t.BinaryType())]
)
"""A part, as it leaves the bucket."""
LETTER: Final = _columns(
    [
        ("output", t.IntegerType()),
        ("bucket", t.IntegerType()),
        ("source", t.StringType()),
        ("reason", t.StringType()),
        ("at", _INSTANT),
        ("payload", t.StringType()),
    ]
)
"""The columns of letters for Spark."""


@attrs.frozen
class Layout:
    """The columns of what comes back.

    Args:
        schemas: How the results of each output look, by the output's name, in the order of the outputs.
        keys: The types that the keys of the tables among the outputs have, each once.
        value: All fields of all values.
    """

    schemas: Mapping[str, ResultSchema]
    keys: tuple[t.DataType, ...]
    value: t.StructType

    @property
    def names(self) -> tuple[str, ...]:
        """The outputs."""
        return tuple(self.schemas)

    def own(self, output: str) -> t.StructType:
        """Return the fields of an output's values that become columns of their own."""
        schema = self.schemas[output]
        return t.StructType([field for field in schema.value if field.name != schema.key_field])

    def part(self, output: int) -> pa.Schema:
        """Return the columns of a part."""
        if output < 0:
            return _LETTER
        name = self.names[output]
        fields = [("change", pa.int8()), ("key", arrow_type(self.schemas[name].key))]
        fields += [("start", pa.int64()), ("end", pa.int64()), ("value", arrow_type(self.own(name)))]
        return pa.schema(fields)

    @property
    def result_schema(self) -> t.StructType:
        """The columns of results for Spark; what is the same in all of them is left out."""
        fields: list[tuple[str, t.DataType]] = [("output", t.IntegerType())] if len(self.names) > 1 else []
        fields += [("change", t.ByteType()), *((f"key_{place}", kind) for place, kind in enumerate(self.keys))]
        fields += [("start", _INSTANT), ("end", _INSTANT)]
        return _columns([*fields, *((f"value_{place}", field.dataType) for place, field in enumerate(self.value))])

    @property
    def schema(self) -> t.StructType:
        """The columns of results and letters together."""
        return t.StructType([*LETTER, *(field for field in self.result_schema if field.name != "output")])

    def rows(self, batches: Iterable[pa.RecordBatch], schema: t.StructType) -> Iterator[pa.RecordBatch]:
        """Make rows of parts, for Spark's ``mapInArrow``.

        Args:
            batches: Parts, with the columns of `PART`.
            schema: The columns of the rows: `schema`, `result_schema` or `LETTER`.
        """
        target = pa.schema([(field.name, arrow_type(field.dataType)) for field in schema])
        together: list[pa.RecordBatch] = []
        for batch in batches:
            names = batch.schema.names
            columns = [batch.column(names.index(name)) for name in ("bucket", "output", "part")]
            for bucket, output, part in zip(*columns, strict=True):
                together.append(self._rows(bucket.as_py(), output.as_py(), part.as_buffer(), target))
                if sum(one.num_rows for one in together) >= _SMALL:
                    yield _one(together)
                    together = []
        if together:
            yield _one(together)

    def _rows(self, bucket: int, output: int, part: pa.Buffer, target: pa.Schema) -> pa.RecordBatch:
        found = read(part, self.part(output))
        n = found.num_rows
        arrays = {name: found.column(place) for place, name in enumerate(found.schema.names)}
        arrays |= {
            "output": pa.repeat(pa.scalar(output, pa.int32()), n),
            "bucket": pa.repeat(pa.scalar(bucket, pa.int32()), n),
        }
        if output >= 0:
            for name in ("start", "end"):  # of rows that are there before all time, there is none
                times = arrays[name]
                arrays[name] = pc.if_else(pc.less(times, EARLIEST), pa.scalar(None, times.type), times)
            schema = self.schemas[self.names[output]]
            if schema.key in self.keys:
                arrays[f"key_{self.keys.index(schema.key)}"] = arrays.pop("key")
            own = arrays.pop("value")
            items = dict(zip((field.name for field in own.type), own.flatten(), strict=True))
            arrays |= {f"value_{place}": items[name] for place, name in enumerate(self.value.names) if name in items}
        columns = [
            arrays[field.name].cast(field.type) if field.name in arrays else pa.nulls(n, field.type) for field in target
        ]
        return pa.RecordBatch.from_arrays(columns, schema=target)


def _one(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return next(iter(pa.Table.from_batches(batches).combine_chunks().to_batches()), batches[0])


def _instants(times: Sequence[Time]) -> pa.Array:
    """Return times as Spark has them: what has always been so (`now`) has no instant."""
    return pa.array([time if isinstance(time, int) else None for time in times], pa.int64())


class Emission:
    """What one call of a bucket gives.

    Args:
        layout: The columns.
        silent: The outputs that are told elsewhere.
        sets_aside: Whether a result that does not fit its columns is a letter of its output; otherwise, it is raised.
    """

    def __init__(self, layout: Layout, silent: frozenset[str], *, sets_aside: bool = False) -> None:
        self.layout = layout
        self._sets_aside = sets_aside
        self._places = {name: place for place, name in enumerate(layout.names) if name not in silent}
        self._parts: list[tuple[int, pa.RecordBatch]] = []
        self._events: list[Event] = []
        self._letters: dict[str, list[tuple[str, str, int | None, str]]] = {}

    def add(self, events: Sequence[Event]) -> None:
        """Take events that an engine gave."""
        self._events += events

    def add_made(self, parts: Sequence[tuple[int, pa.RecordBatch]], events: Sequence[Event]) -> None:
        """Take what `of_flows` made of what an engine gave as columns."""
        self._settle()
        self._parts += parts
        self.add(events)

    def letter(self, kind: str, source: str, reason: str, time: int | None, payload: str) -> None:
        """Take a row that was not used."""
        self._letters.setdefault(kind, []).append((source, reason, time, payload))

    def letter_of(self, kind: str, event: Event, reason: str) -> None:
        """Take a derived event that was not used, or cannot be told."""
        end = event.end if isinstance(event.end, int) and event.end >= EARLIEST else None  # else it is infinite
        self.letter(kind, event.reactive, reason, end, value_text(event.value))

    def parts(self) -> list[tuple[int, pa.RecordBatch]]:
        """Return all of it: of each part the place of the output, or the number of the kind, and its rows."""
        self._settle()
        for kind, letters in self._letters.items():
            columns = [
                pa.array(column, type_) for column, type_ in zip(zip(*letters, strict=True), _LETTER.types, strict=True)
            ]
            self._parts.append((LETTERS[kind], pa.RecordBatch.from_arrays(columns, schema=_LETTER)))
        self._letters = {}
        return self._parts

    def _settle(self) -> None:
        events, self._events = self._events, []
        for name, place in self._places.items():
            mine = [event for event in events if event.reactive == name]
            if mine:
                self._parts.append((place, self._of_fitting(name, place, mine)))

    def _of_fitting(self, name: str, place: int, events: Sequence[Event]) -> pa.RecordBatch:
        """Return events as a part; those that do not fit are letters, or the error names the first one."""
        try:
            return self._of_events(name, place, events)
        except InvalidArgument as error:
            if (middle := len(events) // 2) > 0:
                halves = (events[:middle], events[middle:])
                return _one([self._of_fitting(name, place, half) for half in halves])
            (event,) = events
            if not self._sets_aside:
                message = (
                    f'{error}, or say on_error="dead_letter", which sets such results aside; got the result of'
                    f" {name!r} at {moment(event.end)}: {shortened(value_text(event.value))}"
                )
                raise InvalidArgument(message) from error
            self.letter_of("dead", event, str(error))
        return self._of_events(name, place, [])

    def _of_events(self, name: str, place: int, events: Sequence[Event]) -> pa.RecordBatch:
        changes, keys, values = [], [], []
        for event in events:
            value, key, change = event.value, None, _EVENT if event.weight > 0 else _RETRACT
            if isinstance(value, Update | Delete):
                key = None if value.key == () else value.key
                change = _UPDATE if isinstance(value, Update) else DELETE
                value = value.value if isinstance(value, Update) else None
            changes.append(change)
            keys.append(key)
            values.append(value)
        schema, own = self.layout.schemas[name], self.layout.own(name)
        if not schema.is_row:
            values = [one if one is None or is_row_of(one, own) else {"value": one} for one in values]
        arrays = [
            pa.array(changes, pa.int8()),
            to_arrow(keys, schema.key, f"the key of {name}"),
            _instants([event.start for event in events]),
            _instants([event.end for event in events]),
            to_arrow(values, own, name),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.layout.part(place))

    def of_flows(self, flows: Iterable[tuple[str, Flow]]) -> tuple[list[tuple[int, pa.RecordBatch]], list[Event]]:
        """Return columns as parts; of an output of which a result does not fit, as events."""
        parts: list[tuple[int, pa.RecordBatch]] = []
        events: list[Event] = []
        for name, flow in flows:
            if not len(flow) or name not in self._places:
                continue
            try:
                parts.append((self._places[name], self._of_flow(name, self._places[name], flow)))
            except InvalidArgument:  # which of them it is, and what becomes of it, is found out once this has happened
                events += events_of(as_table([(name, flow)], has_tables=flow.key is not None))
        return parts, events

    def _of_flow(self, name: str, place: int, flow: Flow) -> pa.RecordBatch:
        n, schema, own = len(flow), self.layout.schemas[name], self.layout.own(name)
        gone = None if flow.deletes is None or not flow.deletes.any() else flow.deletes
        if flow.key is None:
            change = np.zeros(n, np.int8) if flow.weight is None else np.where(flow.weight > 0, _EVENT, _RETRACT)
            keys = pa.nulls(n, arrow_type(schema.key))
        else:
            change = np.full(n, _UPDATE) if gone is None else np.where(gone, DELETE, _UPDATE)
            keys = array_of(flow.key, schema.key, f"the key of {name}")
        values = array_of(flow.value, own, name, is_row=schema.is_row, gone=gone)
        arrays = [pa.array(change.astype(np.int8)), keys, pa.array(flow.start), pa.array(flow.end), values]
        return pa.RecordBatch.from_arrays(arrays, schema=self.layout.part(place))
