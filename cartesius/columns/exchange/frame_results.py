"""Results as frames: what each output gives of a batch, with the fields of its values as columns.

The columns are those of `spark_bridge.correlate_frames`: `change`, of tables `key`, `start`, `end`, and the fields.
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.analysis.frame_reads import column_names
from cartesius.analysis.lineage import Column, Composed, value_of
from cartesius.columns.batches.row_by_row import in_order, is_table
from cartesius.columns.batches.running import Attempt, attempt, compiled_of
from cartesius.columns.batches.slicing import between, stacked
from cartesius.columns.results import as_table, restated, table_of
from cartesius.columns.stages.rows import FAR
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import KIND, PACKED, RECORD, TUPLE, Struct, from_arrow
from cartesius.errors import InvalidArgument, NotStorable, add_note, as_text
from cartesius.expressions.expressions import Tuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.columns.batches.feeds import Feed
    from cartesius.columns.exchange.frame_feeds import Timeline
    from cartesius.columns.stages.rows import Flow
    from cartesius.core.engine_core import EngineCore
    from cartesius.data.events import Event
    from cartesius.language.reactives import Reactive

RESERVED: Final = ("change", "key", "start", "end")
"""The columns of a result beside the fields of its value."""
_UNSIGNED: Final = 2**64
_EXACT: Final = 2**53
"""Up to here each int is a float."""
_OF_STREAMS: Final = ("event", "retract")
_OF_TABLES: Final = ("update", "delete")


def results(engine: EngineCore, timeline: Timeline, end: Callable[[], list[Event]] | None) -> dict[str, pa.Table]:
    """Run a batch on a new engine, and end it; return what each output gives, by its name, as columns.

    Args:
        engine: The engine.
        timeline: The batch.
        end: What ends its inputs; None: they go on.

    Raises:
        InvalidArgument: A field of a result has the name of one of the columns beside it.
        NotStorable: A result is no plain data.
        Exception: What a body raises, with a note that says on which row.
    """
    program = engine._program
    outputs = [(program.names[output], output, is_table(engine, output)) for output in program.outputs]

    def apart(flows: Sequence[tuple[str, Flow]]) -> list[pa.Table]:
        return [as_table([flow], has_tables=table) for flow, (_, _, table) in zip(flows, outputs, strict=True)]

    found: Attempt[list[pa.Table]] = attempt(engine, timeline.feed, apart, Attempt())
    events = _one_by_one(engine, timeline.feed, found.done)
    events += [] if end is None else _ended(engine, end)
    tables = {}
    for place, (name, output, table) in enumerate(outputs):
        parts = [made[place] for made in found.made]
        if events or not parts:
            try:
                parts.append(table_of([event for event in events if event.reactive == name], [(name, table)]))
            except NotStorable as error:
                error.add_note(
                    f"in run_frames: what {name!r} gives is nothing a frame holds; yield plain data, or use run"
                )
                raise
        tables[name] = _flat(stacked(parts), output, name, timeline)
    return tables


def _one_by_one(engine: EngineCore, feed: Feed, done: int) -> list[Event]:
    """Push the rows from ``done`` on."""
    events: list[Event] = []
    for step, (reactive, value, at) in enumerate(in_order(between(feed, done, feed.steps)), start=done):
        try:
            events += engine.push(reactive, value, at)
        except BaseException as error:
            where = f"in run_frames, at row {step} of {feed.steps} by time, of {reactive.name!r}"
            add_note(error, f"{where}: {as_text(value)}")
            raise
    return events


def _ended(engine: EngineCore, end: Callable[[], list[Event]]) -> list[Event]:
    """Return what the end of the inputs decides.

    To end them turns all that is retained into objects, which may take longer than the batch: where columns own the
    state, the clock moves past everything instead. Restrictions that ask when an input ends are not compiled, so
    columns never own the state of one.
    """
    compiled = compiled_of(engine)
    emitted = compiled.advance(engine, FAR)
    engine._journal.is_open = False
    is_over = emitted is not None and compiled.next_deadline() == (None,)
    return (emitted or []) + ([] if is_over else end())


def _flat(table: pa.Table, output: Reactive, name: str, timeline: Timeline) -> pa.Table:
    """Return a table of results with the fields of the values as columns."""
    values, field = table.column("value"), table.schema.field("value")
    columns = {"change": _changes(table)}
    fields = [pa.field("change", columns["change"].type)]
    if "key" in table.column_names:
        key = table.column("key"), table.schema.field("key")
        columns["key"], key_field = restated(*key, partial(_plain, kind=timeline.kind), timeline.kind) or key
        fields.append(key_field)
    for bound in ("start", "end"):
        columns[bound] = _times(table, bound, timeline)
        fields.append(pa.field(bound, columns[bound].type))
    if not table.num_rows and (known := _known(output, timeline)):
        inner, items = [pa.field(each, pa.null()) for each in known], [pa.nulls(0)] * len(known)
    elif not pa.types.is_struct(values.type):
        inner, items = [field], [values]
    else:
        inner = [values.type.field(place) for place in range(values.type.num_fields)]
        names = _names(output, field, [one.name for one in inner])
        inner, items = [one.with_name(each) for one, each in zip(inner, names, strict=True)], values.flatten()
    for each, column in zip(inner, items, strict=True):
        item, one = restated(column, each, partial(_plain, kind=timeline.kind), timeline.kind) or (column, each)
        if one.name in RESERVED:
            message = (
                f"run_frames: expected results of {name!r} whose fields differ from the columns beside them"
                f" ({', '.join(RESERVED)}) but one is called {one.name!r}; yield it under another name"
            )
            raise InvalidArgument(message)
        columns[one.name] = item
        fields.append(one)
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))


def _known(output: Reactive, timeline: Timeline) -> list[str]:
    """Return what the fields of a value are called, where that is known without one; otherwise nothing."""
    match value_of(output):
        case Composed(expression=expression):
            return column_names(expression)
        case Column(reactive=reactive, path=()) if reactive in timeline.feed.rows:
            value = timeline.feed.rows[reactive].payload
            return [str(name) for name in value.names] if isinstance(value, Struct) and value.kind == RECORD else []
    return []


def _plain(column: Any, field: pa.Field, kind: pa.DataType | None) -> tuple[pa.Array, pa.Field] | None:
    """Return texts that stand for numbers or lists as a column of these; None: they stand for something else.

    Numbers of several types become the one that holds them all, ints beyond 64 bits decimals.
    """
    values = from_arrow(column, field).to_list()
    kinds = {*map(type, values)} - {NoneType}
    if kinds == {list}:
        return _lists(values, field, kind)
    try:
        found = _numbers(values, kinds)
    except pa.ArrowException:  # more digits than Arrow has, or none
        return None
    return None if found is None else (found, pa.field(field.name, found.type))


def _numbers(values: list[Any], kinds: set[type]) -> pa.Array | None:
    if kinds == {int, float} and all(abs(each) <= _EXACT for each in values if type(each) is int):
        return pa.array([None if each is None else float(each) for each in values], pa.float64())
    if kinds == {int} and all(each is None or 0 <= each < _UNSIGNED for each in values):
        return pa.array(values, pa.uint64())
    if kinds and kinds <= {int, Decimal}:
        return pa.array([Decimal(each) if type(each) is int else each for each in values])
    return None


def _lists(values: list[Any], field: pa.Field, kind: pa.DataType | None) -> tuple[pa.Array, pa.Field] | None:
    of_items = of_values([item for each in values for item in each or ()])
    found = of_items.to_arrow(), of_items.field("item")
    items, one = restated(*found, partial(_plain, kind=kind), kind) or found
    if _has_texts(one):
        return None
    lengths = [None if each is None else len(each) for each in values]
    ends = np.cumsum([0, *(length or 0 for length in lengths)])
    offsets = pa.array(ends, pa.int32(), mask=np.array([*(length is None for length in lengths), False]))
    return pa.ListArray.from_arrays(offsets, items, pa.list_(one)), pa.field(field.name, pa.list_(one))


def _has_texts(field: pa.Field) -> bool:
    """Whether there are texts in its values that stand for something else."""
    if (field.metadata or {}).get(KIND) == PACKED.encode():
        return True
    return any(_has_texts(field.type.field(place)) for place in range(field.type.num_fields))


def _names(output: Reactive, field: pa.Field, names: list[str]) -> list[str]:
    """Return what the fields of a value are called: of a tuple as `column_names` says, or by their places."""
    if (field.metadata or {}).get(KIND) != TUPLE.encode():
        return names
    match value_of(output):
        case Composed(expression=Tuple() as expression) if len(expression.items) == len(names):
            return column_names(expression)
    return [f"_{place}" for place in range(1, len(names) + 1)]


def _changes(table: pa.Table) -> pa.Array:
    """Return what each row says: an event, or that it is taken back; of a table a row, or that it is gone."""
    is_second = table.column("deleted" if "deleted" in table.column_names else "weight").to_numpy()
    words = _OF_TABLES if "deleted" in table.column_names else _OF_STREAMS
    places = is_second if is_second.dtype == np.bool_ else is_second < 0
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int8)), pa.array(words))


def _times(table: pa.Table, bound: str, timeline: Timeline) -> pa.ChunkedArray:
    """Return times as they came in; null: before or after all time."""
    column, field = table.column(bound), table.schema.field(bound)
    if column.type != pa.int64():
        known = [time if abs(time) < float("inf") else None for time in from_arrow(column, field).to_list()]
        column = pa.chunked_array([pa.array([None if time is None else int(time) for time in known], pa.int64())])
    if timeline.first is not None:
        column = pc.if_else(pc.equal(column, timeline.first), pa.scalar(None, pa.int64()), column)
    return column if timeline.kind is None else column.cast(timeline.kind)
