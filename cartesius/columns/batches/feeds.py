"""Feeds: a batch of several inputs as the user gives it, checked and put into order before anything changes.

Each input has columns: an Arrow table or record batch, or a mapping from names to arrays. What has a meaning is taken
out by name (`at`, or `start` and `end`; `order`; of a table `key` and `deleted`), what remains is the payload: a
record of the columns, or, where there is the one column `value`, that. Of a feed lists are made again, in plain data
that shares nothing with who gave it.

This module is over 300 lines because each column that has a meaning is checked, and told what is wrong with it, here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.results import FIRST_INSTANT, LAST_INSTANT
from cartesius.columns.stages.rows import Rows
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import nulls
from cartesius.columns.vectors.normalising import column_of, normalised, wrapped
from cartesius.columns.vectors.ordering import ascends
from cartesius.columns.vectors.vectors import KIND, RECORD, TUPLE, Struct, Vector
from cartesius.data.records import TAKEN, Record, taken
from cartesius.errors import InvalidArgument, NotStorable
from cartesius.language.reactives import UNDECLARED, Reactive
from cartesius.programs.doors import check_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.core.engine_core import EngineCore
    from cartesius.data.events import Time

ORDER: Final = "order"
TIMES: Final = ("at", "start", "end")
_DENSE: Final = 4
"""How many times as many ints as there are rows an order may span to be ranked without sorting."""


@attrs.frozen(eq=False)
class Feed:
    """A batch: the rows of each input, by position in the arrival order of all.

    Args:
        rows: The rows of each input; ordinals and numbers are not given yet.
        steps: How many rows there are.
        is_timed: Whether all of them say when they happened; otherwise none does.
        is_dated: Whether they say it by datetimes.
    """

    rows: Mapping[Reactive, Rows]
    steps: int
    is_timed: bool
    is_dated: bool = False


def fed(inputs: Mapping[str, Reactive], names: Mapping[Reactive, str], batch: object, unit: timedelta) -> Feed:
    """Return a batch in order.

    Args:
        inputs: The inputs of the engine, by name.
        names: The names of its reactives.
        batch: What the user gave.
        unit: What one unit of time means, for datetimes.

    Raises:
        InvalidArgument: It is no batch of these inputs; nothing was changed.
    """
    if not isinstance(batch, Mapping):
        message = (
            "push_many: expected columns for each input, as in {left: table, right: table}, but got"
            f" {_shown(batch)}; inputs are {', '.join(inputs)}"
        )
        raise InvalidArgument(message)
    given: dict[Reactive, _Columns] = {}
    for key, columns in batch.items():
        reactive: Any = inputs.get(key, key) if isinstance(key, str) else key
        name = check_input(names, reactive, "push_many")
        if reactive in given:
            message = f"push_many: expected columns for each input once but {name!r} is there twice; put them together"
            raise InvalidArgument(message)
        given[reactive] = _Columns(reactive, name, columns, unit)
    positions = _positions([one for one in given.values() if one.length])
    timed = {one.is_timed for one in given.values() if one.length}
    if len(timed) > 1:
        message = "push_many: expected times in all inputs or in none but some have no `at`; add it"
        raise InvalidArgument(message)
    dated = {one.is_dated for one in given.values() if one.length and one.is_timed}
    if len(dated) > 1:
        message = "push_many: expected datetimes in all inputs, or ints in all, but some have one and some the other"
        raise InvalidArgument(message)
    rows = {reactive: one.rows(positions.get(one.name)) for reactive, one in given.items()}
    return Feed(rows, sum(map(len, rows.values())), timed == {True}, dated == {True})


class _Columns:
    """The columns of one input."""

    def __init__(self, reactive: Reactive, name: str, columns: object, unit: timedelta) -> None:
        self.reactive = reactive
        self.name = name
        table = self._table(columns)
        self.length = table.num_rows
        self.columns = {field.name: (table.column(place), field) for place, field in enumerate(table.schema)}
        if len(self.columns) < table.num_columns:
            raise self._wrong("columns of different names", f"the names {table.column_names}", "rename")
        if not TAKEN.isdisjoint(self.columns):
            raise InvalidArgument(taken(self.columns))
        self.order = self._ints(ORDER)
        times = {name: self.columns[name][1].type for name in TIMES if name in self.columns}
        self.is_dated = bool(times) and all(map(pa.types.is_timestamp, times.values()))
        self.at, self.start, self.end = (
            self._datetimes(one, unit) if self.is_dated else self._ints(one) for one in TIMES
        )
        if (self.start is None) != (self.end is None) or (self.at is not None and self.start is not None):
            got = " and ".join(name for name in ("at", "start", "end") if getattr(self, name) is not None)
            raise self._wrong("`at`, or `start` and `end`", got, "give one or the other")
        self.start, self.end = (self.at, self.at) if self.start is None else (self.start, self.end)
        self.is_timed = self.start is not None
        if self.start is not None and self.end is not None and (wrong := np.flatnonzero(self.start > self.end)).size:
            row = int(wrong[0])
            got = f"{self.start[row]}..{self.end[row]} in row {row}"
            raise self._wrong("intervals with start ≤ end", got, "swap them")
        self.deletes = self._deleted() if reactive.table else None
        self.key = self._given_keys() if reactive.table and reactive.key is UNDECLARED else None
        self.payload = self._payload()
        if reactive.table and self.key is None:
            declared = reactive.key  # None: it is a table of one row
            self.key = Struct(TUPLE, (), (), self.length) if declared is None else self._declared_keys(str(declared))

    def _table(self, columns: object) -> pa.Table:
        if isinstance(columns, pa.Table):
            return columns
        if isinstance(columns, pa.RecordBatch):
            return pa.Table.from_batches([columns])
        if not isinstance(columns, Mapping):
            fix = "give a pyarrow table, or a mapping from names to arrays: of a pandas frame dict(frame)"
            raise self._wrong("columns", _shown(columns), fix)
        given = []
        for name, column in columns.items():
            try:
                array, field = column_of(pa.array(column) if name in TIMES and _are_datetimes(column) else column)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                fix = "give an array, or a list of values of Python"
                raise self._wrong(f"a column in {name!r}", str(error), fix) from None
            given.append((array, field.with_name(str(name))))
        lengths = {field.name: len(array) for array, field in given}
        if len(set(lengths.values())) > 1:
            raise self._wrong("columns of one length", f"the lengths {lengths}", "mend them")
        return pa.Table.from_arrays([array for array, _ in given], schema=pa.schema([field for _, field in given]))

    def _wrong(self, expected: str, got: str, fix: str) -> InvalidArgument:
        return InvalidArgument(f"push_many: expected {expected} for {self.name!r} but got {got}; {fix}")

    def _ints(self, name: str) -> NDArray[np.int64] | None:
        if name not in self.columns:
            return None
        column, field = self.columns.pop(name)
        if not self.length:  # an empty list has no type
            return np.zeros(0, np.int64)
        if not pa.types.is_integer(field.type) or column.null_count or pa.types.is_uint64(field.type):
            got = f"{field.type}{' with nulls' if column.null_count else ''}"
            if (field.metadata or {}).get(KIND):  # a list that is no array of one type, as text
                got = "what no 64 bits hold, or values of several types"
            fix = "number the rows" if name == ORDER else "times are ints of time units, or datetimes, without nulls"
            raise self._wrong(f"ints in {name!r}", got, fix)
        found: NDArray[np.int64] = column.to_numpy().astype(np.int64, copy=False)
        return found

    def _datetimes(self, name: str, unit: timedelta) -> NDArray[np.int64] | None:
        """Return the times of a column of datetimes, in time units since the epoch."""
        if name not in self.columns:
            return None
        column, field = self.columns.pop(name)
        if field.type.tz is None or column.null_count:
            got = f"{field.type}{' with nulls' if column.null_count else ''}"
            fix = "leave nulls out" if field.type.tz else "give the timestamps a time zone, or ints of time units"
            raise self._wrong(f"aware datetimes in {name!r}", got, fix)
        try:
            instants = column.cast(pa.timestamp("us", field.type.tz)).cast(pa.int64()).to_numpy()
        except pa.ArrowInvalid as error:  # there are nanoseconds, or they are too many
            raise self._wrong(f"microseconds in {name!r}", str(error), "round them") from None
        if (odd := np.flatnonzero((instants < FIRST_INSTANT) | (instants > LAST_INSTANT))).size:
            got = f"{instants[odd[0]]} µs since 1970 in row {int(odd[0])}"
            raise self._wrong(f"datetimes of the years 1 to 9999 in {name!r}", got, "mend them")
        units, rest = np.divmod(instants, unit // timedelta(microseconds=1))
        if (odd := np.flatnonzero(rest)).size:
            got = f"{column[int(odd[0])].as_py()} in row {int(odd[0])}"
            raise self._wrong(f"whole time units of {unit} in {name!r}", got, "round them")
        found: NDArray[np.int64] = units.astype(np.int64, copy=False)
        return found

    def _deleted(self) -> NDArray[np.bool_] | None:
        if "deleted" not in self.columns:
            return None
        column, field = self.columns.pop("deleted")
        if not self.length:
            return None
        if not pa.types.is_boolean(field.type) or column.null_count:
            raise self._wrong("Booleans in 'deleted'", str(field.type), "without nulls")
        found: NDArray[np.bool_] = column.to_numpy()
        return found if found.any() else None

    def _given_keys(self) -> Vector:
        if "key" not in self.columns:
            fix = "each row of a table has its key; it is the column `key`, unless the reactive declares a field"
            raise self._wrong("a column 'key'", f"the columns {list(self.columns)}", fix)
        return self._vector(*self.columns.pop("key"))

    def _declared_keys(self, name: str) -> Vector:
        """Return the field that is the key; it stays part of the payload."""
        payload = self.payload
        if isinstance(payload, Struct):
            keys = payload.item(name)
        else:
            values = payload.to_list()
            has_field = all(isinstance(value, Record) and name in value for value in values)
            keys = of_values([value[name] for value in values]) if has_field else None
        if keys is None:
            got = f"the columns {list(self.columns)}"
            raise self._wrong(f"a column {name!r}", got, "the reactive declares it as its key")
        if payload.valid is not None or nulls(keys) is not None:
            raise self._wrong(f"a value for the key {name!r} in each row", "a null", "it matches nothing")
        return keys

    def _payload(self) -> Vector:
        if list(self.columns) == ["value"]:
            column, field = self.columns["value"]
            return wrapped(self._vector(column, field))
        if not self.columns and not (self.reactive.table and self.deletes is not None and self.deletes.all()):
            fix = "name the fields of the payload, or the one column `value`"
            raise self._wrong("the columns of a payload", "none", fix)
        items = [wrapped(self._vector(column, field)) for column, field in self.columns.values()]
        return Struct(RECORD, list(self.columns), items, self.length)

    def _vector(self, column: pa.ChunkedArray, field: pa.Field) -> Vector:
        try:
            return normalised(column, field)
        except (pa.ArrowException, NotStorable, ValueError, OverflowError) as error:
            got = f"{field.type} in {field.name!r}: {error}"
            fix = "cast them to a type that Python has, as timestamp('us')"
            raise self._wrong("values of Python", got, fix) from None

    def rows(self, positions: NDArray[np.int64] | None) -> Rows:
        """Return the rows in order of arrival, ``positions`` being theirs; None: they come as they are."""
        none = np.zeros(self.length, np.int64)
        start, end = (none, none) if self.start is None or self.end is None else (self.start, self.end)
        if positions is None:
            positions = np.arange(self.length, dtype=np.int64)
        rows = Rows(self.payload, start, end, none, none, positions, self.key, self.deletes)
        return rows if ascends(positions, strictly=True) else rows.take(np.argsort(positions, kind="stable"))


def _positions(given: Sequence[_Columns]) -> dict[str, NDArray[np.int64]]:
    """Return the position of each row in the order of all."""
    if len(given) == 1 and given[0].order is None:
        return {}
    orders = []
    for one in given:
        if one.order is None:
            message = (
                f"push_many: expected the arrival order of several inputs, but {one.name!r} has no column {ORDER!r};"
                " add one to each, with distinct ints that say in which order their rows come"
            )
            raise InvalidArgument(message)
        orders.append(one.order)
    if not orders:
        return {}
    every = np.concatenate(orders)
    positions = _ranks(every)
    ends = np.cumsum([len(order) for order in orders])[:-1]
    return {one.name: part for one, part in zip(given, np.split(positions, ends), strict=True)}


def _ranks(every: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rank of each of some ints; raise `InvalidArgument` if one is there twice."""
    n, low, high = len(every), int(every.min()), int(every.max())
    if high - low < _DENSE * n:
        places = every - low if low else every
        is_there = np.zeros(high - low + 1, np.bool_)
        is_there[places] = True
        if np.count_nonzero(is_there) == n:
            return places if len(is_there) == n else (np.cumsum(is_there) - 1)[places]
    ranked = np.argsort(every, kind="stable")
    in_order = every[ranked]
    if (twice := np.flatnonzero(in_order[1:] == in_order[:-1])).size:
        message = (
            f"push_many: expected distinct ints in {ORDER!r} but {in_order[twice[0]]} is there twice; number all rows"
        )
        raise InvalidArgument(message)
    positions = np.empty(n, np.int64)
    positions[ranked] = np.arange(n)
    return positions


def timed(feed: Feed, latest: Time, clock: Time) -> Feed:
    """Return a feed with the times that `push` gives by itself, if it has none: each one after the latest."""
    if feed.is_timed:
        return feed
    first = int(max(1 if latest == float("-inf") else latest + 1, clock))
    times = {reactive: one.position + first for reactive, one in feed.rows.items()}
    rows = {
        reactive: attrs.evolve(one, start=times[reactive], end=times[reactive]) for reactive, one in feed.rows.items()
    }
    return Feed(rows, feed.steps, is_timed=True, is_dated=feed.is_dated)


def _are_datetimes(column: object) -> bool:
    """Whether a list begins with a datetime, and has no ints, which Arrow would take for microseconds then."""
    if not isinstance(column, list) or not isinstance(next(iter(column), None), datetime):
        return False
    return all(isinstance(time, datetime | None) for time in column)


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return f"{text if len(text) < 60 else text[:57] + '...'} (type={type(value).__name__})"


_TAKEN: Final = {*TIMES, ORDER, "key", "deleted", "value"}


def lists_of(engine: EngineCore, feed: Feed) -> dict[str, dict[str, list[Any]]]:
    """Return the columns of each input, by its name, in the order of arrival: what `Engine.push_many` takes."""
    lists, show = {}, partial(engine._world.calendar.plain, dated=feed.is_dated)
    for reactive, rows in feed.rows.items():
        columns: dict[str, list[Any]] = {ORDER: rows.position.tolist(), **_payload(rows)}
        if feed.is_timed:
            columns |= {name: [*map(show, getattr(rows, name).tolist())] for name in ("start", "end")}
        if rows.key is not None and reactive.key is UNDECLARED:
            columns["key"] = rows.key.to_list()
        if rows.deletes is not None:
            columns["deleted"] = rows.deletes.tolist()
        lists[engine._program.names[reactive]] = columns
    return lists


def _payload(rows: Rows) -> dict[str, list[Any]]:
    payload = rows.payload
    if not isinstance(payload, Struct) or payload.kind != RECORD or payload.valid is not None:
        return {"value": payload.to_list()}
    if not payload.names or not _TAKEN.isdisjoint(payload.names):
        return {"value": payload.to_list()}
    return {name: item.to_list() for name, item in zip(payload.names, payload.items, strict=True)}
