"""What every peer of the speed figures takes and returns: Arrow tables; and how they become Python values and back.

A batch maps inputs to tables with the columns ``order`` (the arrival order across inputs), ``at``, and the payload:
its fields, or one column ``value`` that is the payload itself; of tables also ``key`` and ``deleted``. What comes back
has the columns ``value``, ``start`` and ``end``, of tables also ``key`` and ``deleted``. A value of several parts is a
struct with the fields "0", "1", … These are the columns of `Engine.push_many`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from cartesius import Delete, Engine, Event, Reactive, Update, Window

Batch: TypeAlias = Mapping[str, pa.Table]
Push: TypeAlias = tuple[str, Any, int]
"""The name of an input, the payload, and when."""
TIMES: Final = ("order", "at")
MARKS: Final = ("key", "deleted")
RESULTS: Final = ("key", "deleted", "value", "start", "end")


def column(values: pa.Table, name: str) -> list[Any]:
    """Return a column as Python values, by the fastest way there is."""
    found = values[name]
    if found.null_count or not pa.types.is_primitive(found.type) or pa.types.is_boolean(found.type):
        listed: list[Any] = found.to_pylist()
        return listed
    plain: list[Any] = found.to_numpy().tolist()
    return plain


def columns(values: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    """Return an iterator over the rows of these columns."""
    return zip(*(column(values, name) for name in names), strict=True)


def sides(batch: Batch) -> list[int]:
    """Return the number of the input of each event, in the order of arrival."""
    arrival = np.argsort(np.concatenate([each["order"].to_numpy() for each in batch.values()]), kind="stable")
    numbers = np.repeat(np.arange(len(batch)), [each.num_rows for each in batch.values()])
    listed: list[int] = numbers[arrival].tolist()
    return listed


def head(batch: Batch, n: int) -> dict[str, pa.Table]:
    """Return the first ``n`` events in the order of arrival, which is the order of the rows of each input."""
    found = {}
    for name, each in batch.items():
        orders = each["order"].to_numpy()
        found[name] = each.slice(0, int(np.searchsorted(orders, n)))
    return found


def n_events(batch: Batch) -> int:
    """Return the number of rows of all inputs."""
    return sum(each.num_rows for each in batch.values())


def struct(*parts: Sequence[Any] | Any) -> pa.StructArray:
    """Return values of several parts, of a list or an array each."""
    arrays = [part if isinstance(part, pa.Array) else pa.array(part) for part in parts]
    return pa.StructArray.from_arrays(arrays, names=[str(number) for number in range(len(parts))])


def results(value: pa.Array, start: Any, end: Any, **marks: Any) -> pa.Table:
    """Return what a peer returns; times are lists or arrays."""
    times = {"start": pa.array(start, pa.int64()), "end": pa.array(end, pa.int64())}
    return pa.table({**{name: pa.array(mark) for name, mark in marks.items()}, "value": value, **times})


def pushes(batch: Batch, inputs: Mapping[str, Reactive]) -> list[Push]:
    """Return what `Engine.push` is given instead of a batch, in the order of arrival."""
    rows = [_pushed(name, values, inputs[name]) for name, values in batch.items()]
    return [next(rows[side]) for side in sides(batch)]


def _pushed(name: str, values: pa.Table, reactive: Reactive) -> Iterator[Push]:
    payload = [each for each in values.column_names if each not in (*TIMES, *MARKS)]
    if payload == ["value"]:
        payloads: Iterable[Any] = column(values, "value")
    else:
        payloads = (dict(zip(payload, row, strict=True)) for row in columns(values, *payload))
    if "key" in values.column_names:
        gone = column(values, "deleted") if "deleted" in values.column_names else [False] * values.num_rows
        changes = zip(column(values, "key"), payloads, gone, strict=True)
        payloads = (Delete(key) if is_gone else Update(key, value) for key, value, is_gone in changes)
    return zip((name for _ in range(values.num_rows)), payloads, column(values, "at"), strict=True)


def compared(found: pa.Table) -> pa.Table:
    """Return the columns that all peers return, in one order and one piece, to compare them."""
    kept = found.select([name for name in RESULTS if name in found.column_names]).combine_chunks()
    return kept.replace_schema_metadata(None).cast(
        pa.schema([pa.field(each.name, _without_metadata(each.type)) for each in kept.schema])
    )


def _without_metadata(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _without_metadata(each.type)) for each in kind])
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind


def rows(found: pa.Table | Iterable[Event]) -> list[tuple[Any, ...]]:
    """Return results as plain tuples (key, deleted, value, start, end), with None and False where there is no table."""
    if isinstance(found, pa.Table):
        kept = {name: found[name].to_pylist() for name in RESULTS if name in found.column_names}
        kept.setdefault("key", [None] * found.num_rows)
        kept.setdefault("deleted", [False] * found.num_rows)
        return list(zip(*(kept[name] for name in RESULTS), strict=True))
    return [_row(event) for event in found]


def _row(event: Event) -> tuple[Any, ...]:
    match event.value:
        case Delete(key):
            return _plain(key), True, None, event.start, event.end
        case Update(key, value):
            return _plain(key), False, _plain(value), event.start, event.end
        case value:
            return None, False, _plain(value), event.start, event.end


def _plain(value: Any) -> Any:
    if isinstance(value, Window):
        return {"start": value.start, "end": value.end}
    if isinstance(value, tuple):
        return {str(number): _plain(part) for number, part in enumerate(value)}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value


def push_all(engine: Engine, pushed: Iterable[Push]) -> list[Event]:
    """Push all; return the results."""
    inputs = engine.inputs
    return [event for name, value, at in pushed for event in engine.push(inputs[name], value, at)]
