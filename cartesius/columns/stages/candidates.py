"""Candidates of a batch as columns: for each slot the rows of its parts, of which fields are taken when asked for."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.lanes import NEVER, Truth
from cartesius.columns.vectors.vectors import CHANGE, MISSING, RECORD, Leaf, NotColumnar, Struct, Vector, concatenated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices

_MOST: Final = np.iinfo(np.int64)


class Parts:
    """The parts of one slot.

    Args:
        rows: The rows that they are taken from.
        indices: Which row is the part of each candidate; `MISSING` where there is none.
        may_miss: Whether some may be missing.
        key: The key of each of ``rows``, as ``key_x`` gives it; by default that of a table's row.
    """

    def __init__(self, rows: Rows, indices: Indices, *, may_miss: bool = False, key: Vector | None = None) -> None:
        self.rows = rows
        self.indices = indices
        self.missing: NDArray[np.bool_] | None = None
        if may_miss and (missing := indices == MISSING).any():
            self.missing = missing
        self._key = rows.key if key is None else key
        self._taken: dict[str | None, Vector] = {}

    def __len__(self) -> int:
        return len(self.indices)

    def chosen(self, places: Indices | NDArray[np.bool_]) -> Parts:
        """Return the parts of the candidates at some places, or where a mask is true."""
        return Parts(self.rows, self.indices[places], may_miss=self.missing is not None, key=self._key)

    @property
    def value(self) -> Vector:
        """The payloads; None where a part is missing."""
        if None not in self._taken:
            self._taken[None] = self.rows.payload.take(self.indices, may_miss=self.missing is not None)
        return self._taken[None]

    def field(self, name: str) -> Vector:
        """Return a field of the payloads; null where a part is missing, or null itself."""
        if name not in self._taken:
            payload = self.rows.payload
            there = self.indices if self.missing is None else self.indices[~self.missing]
            if not isinstance(payload, Struct):
                if not len(there):
                    return Leaf(pa.nulls(len(self)))  # nothing has come yet: whatever fields it will have
                raise NotColumnar(f"some part has no field {name!r}")
            item = payload.item(name) if payload.kind == RECORD or is_update(payload, there) else None
            if item is None:
                raise NotColumnar(f"there is no field {name!r}")
            indices, may_miss = self.indices, self.missing is not None
            if payload.valid is not None:
                indices, may_miss = np.where(np.append(payload.valid, False)[indices], indices, MISSING), True
            self._taken[name] = item.take(indices, may_miss=may_miss)
        return self._taken[name]

    @property
    def key(self) -> Vector:
        """The keys; None where a part is missing."""
        if self._key is None:
            raise NotColumnar("the key of a part is asked for")
        return self._key.take(self.indices, may_miss=self.missing is not None)

    @property
    def window(self) -> Vector:
        """The windows of the candidates."""
        window = self.rows.window
        if window is None:
            raise NotColumnar("a part is in no window")
        return window.take(self.indices, may_miss=self.missing is not None)

    def instants(self, name: str) -> Leaf:
        """Return the first or the last instants, null where a part is missing."""
        return Leaf(pa.array(self.start if name == "start" else self.end, mask=self.missing))

    @property
    def is_missing(self) -> Truth:
        """Whether a part is missing."""
        return NEVER if self.missing is None else Truth(self.missing)

    @property
    def start(self) -> NDArray[np.int64]:
        """The first instants, late where a part is missing."""
        return self._times(self.rows.start, _MOST.max)

    @property
    def end(self) -> NDArray[np.int64]:
        """The last instants, early where a part is missing."""
        return self._times(self.rows.end, _MOST.min)

    @property
    def times(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and the last instants, one array where all of them are the same."""
        start = self.start
        return start, start if self.rows.end is self.rows.start and self.missing is None else self.end

    def _times(self, times: NDArray[np.int64], default: int) -> NDArray[np.int64]:
        if self.missing is None:
            return times[self.indices]
        return np.where(self.missing, default, np.append(times, default)[self.indices])

    @property
    def time(self) -> Struct:
        """The occurrence intervals; None where a part is missing."""
        items = [Leaf(pa.array(self.start)), Leaf(pa.array(self.end))]
        valid = None if self.missing is None else ~self.missing
        return Struct("interval", ("start", "end"), items, len(self), valid)


def is_update(payload: Struct, indices: Indices) -> bool:
    """Whether all of these values are updates: of a deletion there is only the key."""
    deleted = payload.item("deleted") if payload.kind == CHANGE else None
    return isinstance(deleted, Leaf) and not deleted.numbers[indices].any()


def hull(parts: Sequence[Parts]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the convex hull of the parts' times, candidate by candidate."""
    start, end = parts[0].times
    for place, one in enumerate(parts[1:]):
        since, until = one.times
        is_own = place > 0  # the first hull is another array than the times of the first part
        start = np.minimum(start, since, out=start if is_own else None)
        end = np.maximum(end, until, out=end if is_own else None)
    return start, end


def window(*parts: Parts) -> Vector:
    """Return the windows of candidates: those of the first parts that are there."""
    return first_there([part for part in parts if len(part.rows)] or parts, attrgetter("window"))


def first_there(parts: Sequence[Parts], taken: Callable[[Parts], Vector]) -> Vector:
    """Return what is ``taken`` of the first part of each candidate that is there."""
    first, *others = parts
    if first.missing is None or not others:
        return taken(first)
    n, chosen = len(first), np.full(len(first), MISSING, np.int64)
    for place, part in enumerate(parts):
        is_there = chosen == MISSING if part.missing is None else (chosen == MISSING) & ~part.missing
        chosen[is_there] = np.flatnonzero(is_there) + place * n
    return concatenated(map(taken, parts)).take(chosen)


def whole(rows: Rows, key: Vector | None = None) -> Parts:
    """Return all rows, each as the part of a candidate of its own, without copying them."""
    parts = Parts(rows, np.arange(len(rows)), key=key)
    payload = rows.payload
    parts._taken[None] = payload
    if isinstance(payload, Struct) and payload.kind == "record" and payload.valid is None:
        parts._taken.update(zip(payload.names, payload.items, strict=True))
    return parts
