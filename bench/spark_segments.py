"""States in pieces, as a prototype: what a bucket's state would cost if only what has changed of it were written.

Each keeps the state of a bucket in a map of Spark's `transformWithState`, from place to bytes, and has the two calls of
`BucketStates`: `open` and `seal`. All of them keep the decoded engine between calls, by the number of calls that the
state has seen, as nothing here fails or moves. They stand for three designs:

- `Whole`: the state that the library writes, under one place;
- `ByKey`: the rows of each memory in segments by a hash of their key, of which those that have changed are written;
- `Log`: the state whole, and after it what each call has changed: rows that are new, numbers of rows that have gone.

Only for programs whose state columns own (`saving`), without rows that wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs
import numpy as np

from cartesius.columns.stages.rows import Rows, joined
from cartesius.columns.vectors.vectors import Struct
from cartesius.engines.saving import load, save
from spark_bridge.state.bucket_states import BucketStates, Opened
from spark_bridge.state.state_columns import decoded, encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius import Engine
    from spark_bridge.reading.demands import Demands

    Slots = list[tuple[int, int]]  # (correlation, slot) of each memory

FIRST: Final = 0
"""The place of what is read first."""
_PER_SEGMENT: Final = 1 << 20  # places, of each memory
_MOST: Final = 0.5  # bytes of the log, as a share of those of the whole


class Parts(Protocol):
    """The map of one bucket."""

    def get(self, place: int) -> bytes | None:
        """Return what stands at a place."""

    def put(self, place: int, part: bytes) -> None:
        """Write to a place."""

    def remove(self, place: int) -> None:
        """Forget a place."""


@attrs.define(eq=False)
class At(Opened):
    """A bucket at work, and where its state is.

    Args:
        parts: Its map.
        known: What is known of the parts that are written.
    """

    parts: Any = None
    known: Any = None


@attrs.frozen(eq=False)
class Apart:
    """A state in parts, of the program that ``states`` has."""

    states: BucketStates

    @property
    def demands(self) -> Demands | None:
        """What its frames demand."""
        return self.states.demands


@attrs.frozen(eq=False)
class Whole(Apart):
    """The state under one place, each time anew."""

    def open(self, bucket: int, parts: Parts, *, holds: bool = False) -> At:
        """Return the bucket as its last call left it."""
        found = self.states.open(bucket, parts.get(FIRST), holds=holds)
        return At(bucket, found.version, found.engine, None, parts=parts)

    def seal(self, opened: At) -> bytes:
        """Write the state."""
        opened.parts.put(FIRST, self.states.seal(opened))
        return b""


_KEPT: Final[dict[tuple[str, int], tuple[int, Engine, Any]]] = {}  # of this worker


@attrs.frozen(eq=False)
class ByKey(Apart):
    """Segments by the key, of which those that have changed are written.

    Args:
        states: Whose program it is.
        keys: The column of the key of each source.
        segments: How many segments each memory has.
    """

    keys: dict[str, str]
    segments: int

    def open(self, bucket: int, parts: Parts, *, holds: bool = False) -> At:
        """Return the bucket as its last call left it."""
        first = parts.get(FIRST)
        if first is None:
            return At(bucket, 0, self.states.open(bucket, None).engine, None, parts=parts, known={})
        found = decoded(first)
        kept = _KEPT.pop((self.states.query, bucket), None)
        if kept is not None and kept[0] == found["version"]:
            return At(bucket, kept[0], kept[1], None, parts=parts, known=kept[2])
        known = {
            (one, slot): np.array(marks, np.int64).reshape(-1, 2)
            for (one, slot), marks in zip(found["slots"], found["marks"], strict=True)
        }
        columns = [[None] * n for n in found["widths"]]
        for (one, slot), marks in known.items():
            places = [_place(one, slot, segment) for segment in np.flatnonzero(marks[:, 0]).tolist()]
            pieces = [decoded(part) for part in map(parts.get, places) if part is not None]
            rows = joined([piece.as_retained() for piece in pieces])
            columns[one][slot] = rows.take(np.argsort(rows.number, kind="stable"))
        engine = load({**found["engine"], "columns": columns}, self.states.outputs, None)
        return At(bucket, found["version"], engine, None, parts=parts, known=known)

    def seal(self, opened: At) -> bytes:
        """Write what has changed."""
        state = save(opened.engine)
        columns, rest = _divided(state)
        known = {}
        for (one, slot), rows in columns.items():
            name = opened.engine._program.joins[one].slots[slot].source
            of = _segments_of(rows, self.keys[name], self.segments)
            marks = np.stack([np.bincount(of, minlength=self.segments), _sums(of, rows.number, self.segments)], axis=1)
            before = opened.known.get((one, slot), np.zeros_like(marks))
            order = np.argsort(of, kind="stable")
            ends = np.cumsum(marks[:, 0])
            for segment in np.flatnonzero((marks != before).any(axis=1)).tolist():
                mine = order[ends[segment] - marks[segment, 0] : ends[segment]]
                opened.parts.put(_place(one, slot, segment), encoded(rows.take(np.sort(mine))))
            known[one, slot] = marks
        version = opened.version + 1
        first = {"version": version, "engine": rest, "slots": list(known), "widths": list(map(len, state["columns"]))}
        opened.parts.put(FIRST, encoded({**first, "marks": [found.ravel().tolist() for found in known.values()]}))
        _KEPT[self.states.query, opened.bucket] = version, opened.engine, known
        return b""


@attrs.frozen(eq=False)
class Log(Apart):
    """The state whole, and what calls have changed since; when that is as large, the whole anew."""

    def open(self, bucket: int, parts: Parts, *, holds: bool = False) -> At:
        """Return the bucket as its last call left it."""
        first = parts.get(FIRST)
        if first is None:
            return At(bucket, 0, self.states.open(bucket, None).engine, None, parts=parts)
        found = decoded(first)
        kept = _KEPT.pop((self.states.query, bucket), None)
        if kept is not None and kept[0] == found["version"]:
            return At(bucket, kept[0], kept[1], None, parts=parts, known=kept[2])
        whole = decoded(parts.get(1) or b"")
        columns = whole["columns"]
        for place in range(2, 2 + found["entries"]):
            for one, slot, gone, come in decoded(parts.get(place) or b""):
                rows = columns[one][slot]
                stays = rows.take(np.flatnonzero(~np.isin(rows.number, np.array(gone, np.int64))))
                columns[one][slot] = joined([stays, come.as_retained()])
        engine = load({**found["engine"], "columns": columns}, self.states.outputs, None)
        numbers = {(one, slot): rows.number for one, some in enumerate(columns) for slot, rows in enumerate(some)}
        known = numbers, found["entries"], found["size"], found["whole"]
        return At(bucket, found["version"], engine, None, parts=parts, known=known)

    def seal(self, opened: At) -> bytes:
        """Write what has changed."""
        state = save(opened.engine)
        columns, rest = _divided(state)
        none: dict[tuple[int, int], NDArray[np.int64]] = {}
        before, entries, size, whole = opened.known or (none, 0, 0, 0)
        if before.keys() != columns.keys() or size > _MOST * whole:
            part = encoded({"columns": state["columns"]})
            opened.parts.put(1, part)
            for place in range(2, 2 + entries):
                opened.parts.remove(place)
            entries, size, whole = 0, 0, len(part)
        else:
            changes = [(one, slot, *_change(before[one, slot], rows)) for (one, slot), rows in columns.items()]
            part = encoded([change for change in changes if len(change[2]) or len(change[3])])
            opened.parts.put(2 + entries, part)
            entries, size = entries + 1, size + len(part)
        version = opened.version + 1
        first = {"version": version, "engine": rest, "entries": entries, "size": size, "whole": whole}
        opened.parts.put(FIRST, encoded(first))
        numbers = {place: rows.number for place, rows in columns.items()}
        _KEPT[self.states.query, opened.bucket] = version, opened.engine, (numbers, entries, size, whole)
        return b""


def _divided(state: dict[str, Any]) -> tuple[dict[tuple[int, int], Rows], dict[str, Any]]:
    """Return the memories that columns own, and the rest of the state."""
    found = {(one, slot): rows for one, some in enumerate(state["columns"]) for slot, rows in enumerate(some)
             if rows is not None}  # fmt: skip
    return found, {name: part for name, part in state.items() if name != "columns"}


def _place(one: int, slot: int, segment: int) -> int:
    return 1 + (one * 16 + slot) * _PER_SEGMENT + segment


def _segments_of(rows: Rows, key: str, segments: int) -> NDArray[np.int64]:
    """Return in which segment each row is."""
    assert isinstance(rows.payload, Struct)  # Invariant: the rows are records
    column = rows.payload.item(key)
    assert column is not None  # Invariant: with that field
    keys = np.array(column.to_list(), np.uint64)
    mixed = keys * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(40)) % np.uint64(segments)).astype(np.int64)


def _sums(of: NDArray[np.int64], numbers: NDArray[np.int64], segments: int) -> NDArray[np.int64]:
    found = np.zeros(segments, np.int64)
    np.add.at(found, of, numbers)
    return found


def _change(before: NDArray[np.int64], rows: Rows) -> tuple[list[int], Rows]:
    """Return the numbers of the rows that have gone, and the rows that are new."""
    gone = np.setdiff1d(before, rows.number, assume_unique=True)
    return gone.tolist(), rows.take(np.flatnonzero(~np.isin(rows.number, before, assume_unique=True)))
