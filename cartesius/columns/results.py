"""Results: what the outputs emit in a batch as an Arrow table, and back.

The columns are `reactive`, `value`, `start`, `end`, `weight`, and of tables `key` and `deleted`. A tuple is a struct
with the fields "0", "1", …, and the field's metadata says that it is one.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cartesius.installation import needing

with needing("import cartesius.columns.results", "cartesius-joins[columns]"):
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

from cartesius.columns.stages.rows import LAST, Flow, nothing
from cartesius.columns.stages.turns import turns_of
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import (
    KIND,
    PACKED,
    Leaf,
    NotColumnar,
    Vector,
    concatenated,
    from_arrow,
    packed,
)
from cartesius.data.codec import text_of
from cartesius.data.events import EPOCH, Delete, Event, Update, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.data.calendars import Calendar

    Restated: TypeAlias = "Callable[[Any, pa.Field], tuple[Any, pa.Field] | None]"

ArrowTable: TypeAlias = pa.Table
"""What `Engine.push_many` returns."""

WINDOW: Final = b"window"
"""What stands for windows, as the kind of a struct."""
_WINDOW_TEXT: Final = text_of(Window(0, 1)).removesuffix("0,1]")
"""How each window begins in a text of the kind `PACKED`."""
_MICROSECOND: Final = timedelta(microseconds=1)
FIRST_INSTANT, LAST_INSTANT = (
    (one.replace(tzinfo=UTC) - EPOCH) // _MICROSECOND for one in (datetime.min, datetime.max)
)
"""The first and the last time that a datetime can be, in microseconds."""
_INTS: Final = 2**63
_FLOATS: Final = 2**53


def as_table(flows: Sequence[tuple[str, Flow]], *, has_tables: bool) -> pa.Table:
    """Return what the outputs, by name, give as one table, in the order of steps and then of the outputs."""
    flows = flows or [("", nothing())]
    names = pa.array([name for name, _ in flows], pa.string())
    sources = np.concatenate(
        [np.full(len(flow), place, np.int8 if len(flows) < 128 else np.int32) for place, (_, flow) in enumerate(flows)]
    )
    order: NDArray[np.int64] | None = None
    if len(flows) > 1:
        positions = np.concatenate([flow.position for _, flow in flows])
        if all(flow.turn is None for _, flow in flows):
            order = np.argsort(positions, kind="stable")
        else:
            order = _in_turn([flow for _, flow in flows], positions)

    def column(values: Any) -> Any:
        return values if order is None else values.take(order) if isinstance(values, pa.Array) else values[order]

    every = [flow for _, flow in flows]
    value = together([flow.value for flow in every])
    value = value if order is None else value.take(order)
    start = _times(column(_one_after_the_other([flow.start for flow in every])))
    end = _times(column(_one_after_the_other([flow.end for flow in every])))
    weights = [np.ones(len(flow), np.int8) if flow.weight is None else flow.weight for flow in every]
    columns: dict[str, Any] = {
        "reactive": pa.DictionaryArray.from_arrays(pa.array(column(sources)), names),
        "value": value.to_arrow(),
        "start": start.to_arrow(),
        "end": end.to_arrow(),
        "weight": pa.array(column(np.concatenate(weights))),
    }
    fields = [pa.field(name, array.type) for name, array in columns.items()]
    fields[1:4] = value.field("value"), start.field("start"), end.field("end")
    if has_tables:
        key = together([of_values([None] * len(flow)) if flow.key is None else flow.key for flow in every])
        key = key if order is None else key.take(order)
        is_table = column(np.concatenate([np.full(len(flow), flow.key is not None) for flow in every]))
        deletions = [np.zeros(len(flow), np.bool_) if flow.deletes is None else flow.deletes for flow in every]
        deleted = column(np.concatenate(deletions))
        columns |= {"key": key.to_arrow(), "deleted": pa.array(deleted, mask=~is_table)}
        fields += [key.field("key"), pa.field("deleted", pa.bool_())]
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))


def dated(table: pa.Table, calendar: Calendar) -> pa.Table:
    """Return results with their times as datetimes, if the engine was given such; infinite times are no datetimes."""
    if not calendar.is_dated:
        return table
    kind, length = pa.timestamp("us", "UTC"), calendar.unit // _MICROSECOND
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if field.name in ("start", "end"):
            times = _instants(column, kind, length)
            table = table.set_column(place, field.name, times)
        elif field.name in ("key", "value"):
            found = restated(column, field, partial(_dated_texts, shown=calendar.shown_value), kind, length)
            table = table if found is None else table.set_column(place, found[1], found[0])
    return table


def restated(
    column: Any, field: pa.Field, texts: Restated, kind: pa.DataType | None, length: int = 1
) -> tuple[Any, pa.Field] | None:
    """Return a column, and its field, with the windows in its values at instants; None: it stays as it is.

    Args:
        column: An array, or a chunked one.
        field: Its field, which says what structs and texts stand for.
        texts: Gives what a column of texts that stand for values becomes, and its field; None: it stays.
        kind: What instants are: timestamps of microseconds; None: windows stay.
        length: How many of those a time unit is.
    """
    if (field.metadata or {}).get(KIND) == PACKED.encode():
        return texts(column, field)
    if not pa.types.is_struct(field.type):
        return None
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    fields = [field.type.field(place) for place in range(field.type.num_fields)]
    items = [column.field(place) for place in range(len(fields))]
    if column.offset or any(len(item) != len(column) for item in items):
        column = pa.concat_arrays([column])
        items = [column.field(place) for place in range(len(fields))]
    if kind is not None and (field.metadata or {}).get(KIND) == WINDOW:
        bounds = [_instants(item, kind, length) for item in items]
        if not any(pa.types.is_integer(bound.type) for bound in bounds):  # else one has no year, and both stay in units
            items = bounds
        found = [one.with_type(item.type) for one, item in zip(fields, items, strict=True)]
    else:
        inner = [restated(item, one, texts, kind, length) for item, one in zip(items, fields, strict=True)]
        if not any(inner):
            return None
        items = [item if one is None else one[0] for item, one in zip(items, inner, strict=True)]
        found = [known if one is None else one[1] for known, one in zip(fields, inner, strict=True)]
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(items, fields=found, mask=mask), field.with_type(pa.struct(found))


def _dated_texts(column: Any, field: pa.Field, shown: Callable[[Any], Any]) -> tuple[Any, pa.Field] | None:
    """Return texts that stand for values with the windows in these at instants; None: there are none."""
    if not pc.any(pc.match_substring(column, _WINDOW_TEXT)).as_py():
        return None
    return packed(map(shown, from_arrow(column, field).to_list())).to_arrow(), field


def _instants(times: Any, kind: pa.DataType, length: int) -> Any:
    """Return times in units as instants; as they are, if one is infinite or beyond what datetimes can be."""
    if not pa.types.is_integer(times.type):
        return times
    least, most = pc.min_max(times).as_py().values()
    if least is not None and (least * length < FIRST_INSTANT or most * length > LAST_INSTANT):
        return times
    return pc.multiply(times.cast(pa.int64()), pa.scalar(length, pa.int64())).cast(kind)


def _in_turn(flows: Sequence[Flow], positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of what is given: of deadlines at one time that of one correlation first, to all its outputs."""
    first: dict[int, int] = {}
    ranks = []
    turns = [turns_of(flow) for flow in flows]
    for place, (flow, turn) in enumerate(zip(flows, turns, strict=True)):
        ranks.append(np.where(turn == LAST, 0, first.setdefault(id(flow), place)))
    return np.lexsort((np.concatenate(ranks), np.concatenate(turns), positions))


def _one_after_the_other(times: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return times as what holds all of them exactly: some may be infinite, or beyond 64 bits."""
    if len({one.dtype for one in times}) == 1:
        return np.concatenate(times)
    every = [time for one in times for time in one.tolist()]
    return np.array(every, _kind(every))


def _times(times: NDArray[Any]) -> Vector:
    return of_values(times.tolist()) if times.dtype == np.object_ else Leaf(pa.array(times))


def together(vectors: Sequence[Vector]) -> Vector:
    """Return vectors one after the other, as texts of plain data if their types differ."""
    try:
        return concatenated(vectors)
    except NotColumnar:
        return of_values([value for vector in vectors for value in vector.to_list()])


def events_of(table: pa.Table) -> list[Event]:
    """Return the events that a table of results stands for, as `push` would have returned them.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import combine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> engine = Engine(combine_latest(left, right))
    >>> table = engine.push_many({left: {"value": [1, 2], "order": [0, 2]}, right: {"value": ["x"], "order": [1]}})
    >>> [event.value for event in events_of(table)]
    [(1, 'x'), (2, 'x')]

    Args:
        table: What `Engine.push_many` returned.
    """
    lists = {field.name: from_arrow(table.column(place), field).to_list() for place, field in enumerate(table.schema)}
    values = lists["value"]
    if "key" in lists:
        values = [
            value if deleted is None else Delete(key) if deleted else Update(key, value)
            for value, key, deleted in zip(values, lists["key"], lists["deleted"], strict=True)
        ]
    starts, ends = (
        [int(time) if isinstance(time, float) and math.isfinite(time) else time for time in lists[name]]
        for name in ("start", "end")
    )
    rest = (starts, ends, lists["weight"], lists["reactive"])
    return [Event(*fields) for fields in zip(values, *rest, strict=True)]


def table_of(events: Sequence[Event], outputs: Sequence[tuple[str, bool]]) -> pa.Table:
    """Return events as a table of results; ``outputs`` are the names, and whether each is a table."""
    flows = []
    for name, is_table in outputs:
        places = [place for place, event in enumerate(events) if event.reactive == name]
        mine = [events[place] for place in places]
        flows.append((name, flow_of(mine, np.array(places, np.int64), is_table=is_table)))
    return as_table(flows, has_tables=any(is_table for _, is_table in outputs))


def flow_of(events: Sequence[Event], position: NDArray[np.int64], *, is_table: bool) -> Flow:
    """Return what one output gives, in the order of the steps at ``position``, as columns."""
    kind = _kind([time for event in events for time in (event.start, event.end)])
    start, end = np.array([event.start for event in events], kind), np.array([event.end for event in events], kind)
    weight = np.array([event.weight for event in events], np.int8)
    if not is_table:
        return Flow(position, of_values([event.value for event in events]), start, end, weight)
    deletes = np.array([isinstance(event.value, Delete) for event in events], np.bool_)
    value = of_values([None if isinstance(one.value, Delete) else one.value.value for one in events])
    key = of_values([event.value.key for event in events])
    return Flow(position, value, start, end, weight, key, deletes)


def _kind(times: Sequence[Any]) -> Any:
    """Return what holds times exactly: int64, floats where some are infinite, and Python's own where neither does."""
    finite = [time for time in times if isinstance(time, int)]
    most = max(map(abs, finite), default=0)
    if len(finite) == len(times):
        return np.int64 if most < _INTS else np.object_
    return np.float64 if most <= _FLOATS else np.object_
