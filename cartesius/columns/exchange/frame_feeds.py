"""Frames as a batch: the rows of all inputs by event time, checked before anything runs.

Rows of one time come in the order of the frames, and within a frame as they stand. A static frame's rows come before
all time.

Source: as `spark_bridge.correlate_frames` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.analysis import frame_reads
from cartesius.analysis.frame_reads import Frames, ValueType
from cartesius.analysis.lineage import hints_of
from cartesius.columns.batches.feeds import Feed
from cartesius.columns.stages.rows import FAR, Rows
from cartesius.columns.vectors.key_codes import nulls
from cartesius.columns.vectors.normalising import normalised, wrapped
from cartesius.columns.vectors.ordering import ascends
from cartesius.columns.vectors.vectors import KIND, RECORD, TUPLE, Struct, Vector
from cartesius.data.records import TAKEN, taken
from cartesius.errors import InvalidArgument, NotStorable, near

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.language.reactives import Reactive

BEFORE_ALL: Final = -FAR
"""The time of a static frame's rows."""


@attrs.frozen(eq=False)
class Given:
    """The frame of one input.

    Args:
        name: The input.
        reactive: It.
        table: The frame.
        at: Its column of event times; None: it is static.
        deleted: Of a table, the column that says which rows are gone; None: none is.
    """

    name: str
    reactive: Reactive
    table: pa.Table
    at: str | None
    deleted: str | None

    @property
    def fields(self) -> list[str]:
        """The columns that are the payload: those that the reactive declares, or all without those of a meaning."""
        declared = list(self.reactive.fields or hints_of(self.reactive.type) or ())
        return declared or [name for name in self.table.column_names if name not in (self.at, self.deleted)]

    @property
    def is_bare(self) -> bool:
        """Whether a payload is the value of the one column ``value``, and no record."""
        return self.fields == ["value"] and not self.reactive.fields and self.reactive.type is None

    def check(self) -> None:
        """Raise `InvalidArgument` if a column is missing or there twice, or the table declares no key."""
        names = self.table.column_names
        if twice := [name for name in names if names.count(name) > 1]:
            raise self.wrong("columns of different names", f"{twice[0]!r} twice", "; rename one")
        if self.at is not None:
            self._has(self.at, "at=")
        if self.deleted is not None:
            self._has(self.deleted, "deleted=")
        for name in self.fields:
            self._has(name, "a field that the reactive declares")
        if not TAKEN.isdisjoint(self.fields) and not self.is_bare:
            raise InvalidArgument(taken(self.fields))
        if not self.fields:
            raise self.wrong("columns of a payload", "none", "; name the fields, or the one column `value`")
        key = self.reactive.key
        if self.reactive.table and key is not None and not isinstance(key, str):
            fix = f'; write Reactive({self.name!r}, table=True, key="column")'
            raise self.wrong("a table that declares its key", "one that does not", fix)
        if self.reactive.table and isinstance(key, str):
            self._has(key, "the key")

    def _has(self, column: str, what: str) -> None:
        names = self.table.column_names
        if column not in names:
            raise self.wrong(f"the column {column!r} ({what})", f"{', '.join(names) or 'none'}", near(column, names))

    def wrong(self, expected: str, got: str, fix: str) -> InvalidArgument:
        """Return the error that says what was expected of the frame."""
        return InvalidArgument(f"run_frames: expected the frame of {self.name!r} to have {expected} but got {got}{fix}")

    def vector(self, name: str) -> Vector:
        """Return a column."""
        column, field = self.table.column(name), self.table.schema.field(name)
        try:
            return normalised(column, field)
        except (pa.ArrowException, NotStorable, ValueError, OverflowError) as error:
            fix = "; cast them to a type that Python has, as timestamp('us')"
            raise self.wrong("values of Python", f"{field.type} in {name!r}: {error}", fix) from None

    def payload(self) -> Vector:
        """Return the payloads."""
        if self.is_bare:
            return wrapped(self.vector("value"))
        return Struct(RECORD, self.fields, [wrapped(self.vector(name)) for name in self.fields], self.table.num_rows)

    def keys(self) -> Vector | None:
        """Return the keys of a table's rows."""
        if not self.reactive.table:
            return None
        if self.reactive.key is None:
            return Struct(TUPLE, (), (), self.table.num_rows)
        keys = self.vector(str(self.reactive.key))
        if nulls(keys) is not None:
            raise self.wrong(f"a value for the key {self.reactive.key!r} in each row", "a null", "; it matches nothing")
        return keys

    def deletes(self) -> NDArray[np.bool_] | None:
        """Return which rows of a table are gone; None if none is."""
        if self.deleted is None:
            return None
        column = self.table.column(self.deleted)
        if not pa.types.is_boolean(column.type) or column.null_count:
            got = f"{column.type}{' with nulls' if column.null_count else ''} in {self.deleted!r}"
            raise self.wrong("truth values, without nulls, in deleted=", got, "")
        found: NDArray[np.bool_] = column.to_numpy()
        return found if found.any() else None

    def times(self) -> tuple[NDArray[np.int64], pa.DataType | None]:
        """Return the event times, and the type of the timestamps that they are; None: they are ints.

        Raises:
            InvalidArgument: They are neither, some are missing, or some are no whole microseconds.
        """
        assert self.at is not None  # Invariant: static frames are not asked
        column = self.table.column(self.at)
        if column.null_count:
            row = int(pc.index(pc.is_null(column), value=True).as_py())
            got = f"{column.null_count} nulls in {self.at!r}, the first in row {row}"
            raise self.wrong("a time in each row", got, "; drop those rows, or fill them")
        kind, whole = column.type, None
        if pa.types.is_timestamp(kind):
            whole = pa.timestamp("us", kind.tz)
        elif not pa.types.is_integer(kind):
            got = f"{kind} in {self.at!r}"
            raise self.wrong("times that are timestamps or ints", got, "; cast them, as of a date to timestamp('us')")
        try:
            numbers = column.cast(pa.int64()) if whole is None else column.cast(whole).cast(pa.int64())
        except pa.ArrowInvalid as error:
            fix = "; round them, or give ints, and what one of them means as unit="
            raise self.wrong(f"times of whole microseconds, in 64 bits, in {self.at!r}", str(error), fix) from None
        found: NDArray[np.int64] = numbers.to_numpy()
        return found, whole


def check_reads(outputs: tuple[Reactive, ...], given: Sequence[Given]) -> None:
    """Raise `InvalidArgument` if the program reads what a frame has not, or compares columns of unlike types."""
    columns = {one.name: {field.name: _type_of(field) for field in one.table.schema} for one in given}
    values = {one.name: ValueType("", "", {name: columns[one.name][name] for name in one.fields}) for one in given}
    values |= {one.name: columns[one.name]["value"] for one in given if one.is_bare}
    frame_reads.check_reads(outputs, Frames("run_frames", values, columns, _cast))


def _type_of(field: pa.Field) -> ValueType:
    if KIND in (field.metadata or {}):
        return ValueType("", str(field.type))  # ours: what such a text stands for may be of several types
    return _value_type(field.type)


def _value_type(kind: pa.DataType) -> ValueType:
    if pa.types.is_dictionary(kind):
        return _value_type(kind.value_type)
    fields = {field.name: _type_of(field) for field in kind.fields} if pa.types.is_struct(kind) else None
    return ValueType(_group(kind), str(kind), fields, _has_records(kind))


def _has_records(kind: pa.DataType) -> bool:
    of = pa.types
    is_list = of.is_list(kind) or of.is_large_list(kind)
    return of.is_struct(kind) or of.is_map(kind) or (is_list and _has_records(kind.value_type))


def _group(kind: pa.DataType) -> str:
    of = pa.types
    if of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind) or of.is_boolean(kind):
        return "a number"
    if of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind):
        return "a text"
    if of.is_binary(kind) or of.is_large_binary(kind):
        return "bytes"
    if of.is_timestamp(kind):
        return "a local time" if kind.tz is None else "a time"
    if of.is_list(kind) or of.is_large_list(kind):
        return "a list"
    return "a date" if of.is_date(kind) else "a record" if of.is_struct(kind) else ""


def _cast(source: str, column: str, kind: str) -> str:
    return f"cast the column {column!r} of {source!r} to {kind}"


@attrs.frozen(eq=False)
class Timeline:
    """The rows of all frames in the order in which they are used.

    Args:
        feed: The batch.
        kind: The type of timestamps that times are; None: they are ints.
        first: The time of static rows, which the user has not given; None: there are none.
    """

    feed: Feed
    kind: pa.DataType | None
    first: int | None


def timeline(given: Sequence[Given]) -> Timeline:
    """Return the rows of frames, which have been checked, by time.

    Raises:
        InvalidArgument: Times are none, or of several kinds; or keys, or values, are none of Python.
    """
    timed = {one.name: one.times() for one in given if one.at is not None}
    kind = _common({name: kind for name, (_, kind) in timed.items()})
    earliest = [int(times.min()) for times, _ in timed.values() if len(times)]
    first = min([BEFORE_ALL, *(time - 1 for time in earliest)])
    times = [timed[one.name][0] if one.name in timed else np.full(one.table.num_rows, first, np.int64) for one in given]
    every = np.concatenate(times)
    positions = np.arange(len(every), dtype=np.int64)
    if not ascends(every):
        positions[np.argsort(every, kind="stable")] = np.arange(len(every))
    ends = np.cumsum([len(one) for one in times])[:-1]
    parts = zip(given, times, np.split(positions, ends), strict=True)
    rows = {one.reactive: _rows(one, at, position) for one, at, position in parts}
    return Timeline(Feed(rows, len(every), is_timed=True), kind, first if len(timed) < len(given) else None)


def _rows(one: Given, at: NDArray[np.int64], positions: NDArray[np.int64]) -> Rows:
    none = np.zeros(len(at), np.int64)
    rows = Rows(one.payload(), at, at, none, none, positions, one.keys(), one.deletes())
    return rows if ascends(positions, strictly=True) else rows.take(np.argsort(positions, kind="stable"))


def _common(kinds: Mapping[str, Any]) -> pa.DataType | None:
    """Return the type of all times: of timestamps with zones, which are instants, the zone of the first."""
    words = {name: _word(kind) for name, kind in kinds.items()}
    if len(set(words.values())) > 1:
        shown = ", ".join(f"{word} for {name!r}" for name, word in words.items())
        message = (
            f"run_frames: expected event times of one kind in all frames but got {shown}; say of timestamps without"
            " a zone in which they are (pandas: tz_localize, polars: dt.replace_time_zone), and make ints timestamps"
        )
        raise InvalidArgument(message)
    return next(iter(kinds.values()), None)


def _word(kind: pa.DataType | None) -> str:
    return "ints" if kind is None else f"timestamps {'without' if kind.tz is None else 'with'} a zone"
