"""Rows: the events of one slot as columns, those retained from before in front of those of the batch.

Invariant: rows are in order of arrival; `position` ascends, and is `BEFORE` for what was there before the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.normalising import wrapped
from cartesius.columns.vectors.ordering import by_code
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct, concatenated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices, Ints, Vector

BEFORE: Final = -1
"""The position of a row that was there before the batch."""
LAST: Final = int(np.iinfo(np.int64).max)
"""The turn of what comes of an event, after all deadlines that are due before it."""
FAR: Final = 1 << 60
"""Times and durations beyond it are left to Python, whose ints have no end: sums of a few may leave 64 bits."""


@attrs.frozen(eq=False)
class Rows:
    """The events of one slot, or the changes of a table.

    Args:
        payload: The values; of a deletion there is none.
        start: First instants, in time units.
        end: Last instants, in time units.
        ordinal: The number of a pushed event, by which its identity tells it; not used of tables.
        number: The arrival number in memory.
        position: In which step of the batch it comes, from 0.
        key: Of a table: the keys of the rows.
        deletes: Of a table: which changes are deletions; None if there are none.
        window: The window that each is in, where windows are a key; None: in none.
        turn: As of `Flow`: when a row comes of a deadline.
    """

    payload: Vector
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    ordinal: NDArray[np.int64]
    number: NDArray[np.int64]
    position: NDArray[np.int64]
    key: Vector | None = None
    deletes: NDArray[np.bool_] | None = None
    window: Struct | None = None
    turn: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.start)

    def take(self, indices: Indices) -> Rows:
        """Return the rows at ``indices``."""
        start = self.start[indices]
        return Rows(
            self.payload.take(indices),
            start,
            start if self.end is self.start else self.end[indices],
            self.ordinal[indices],
            self.number[indices],
            self.position[indices],
            None if self.key is None else self.key.take(indices),
            None if self.deletes is None else self.deletes[indices],
            None if self.window is None else self.window.take(indices),
            None if self.turn is None else self.turn[indices],
        )

    def as_retained(self) -> Rows:
        """Return the same rows as what was there before the next batch."""
        return attrs.evolve(self, position=np.full(len(self), BEFORE, np.int64), deletes=None, turn=None)

    def check_times(self) -> Rows:
        """Return the same rows; raise `NotColumnar` if times are so far from 0 that sums of them may not be exact."""
        if len(self) and max(int(self.end.max()), -int(self.start.min())) > FAR:
            raise NotColumnar("times are far from 0")
        return self

    @property
    def nbytes(self) -> int:
        """How many bytes they take, beside the payload and the keys."""
        columns = [self.start, self.end, self.ordinal, self.number, self.position]
        return sum(column.nbytes for column in columns) + (0 if self.window is None else self.window.nbytes)


def all_of(*parts: Rows | None) -> Rows | None:
    """Return rows one after the other, of which some may never have come; None: none has."""
    there = [part for part in parts if part is not None]
    return joined(there) if there else None


def joined(parts: Sequence[Rows]) -> Rows:
    """Return rows one after the other; `NotColumnar` if their types differ."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    keys = [part.key for part in parts if part.key is not None]
    deletes = None
    if any(part.deletes is not None for part in parts):
        deletes = np.concatenate(
            [np.zeros(len(part), np.bool_) if part.deletes is None else part.deletes for part in parts]
        )
    start, end, ordinal, number, position = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("start", "end", "ordinal", "number", "position")
    )
    if all(part.end is part.start for part in parts):
        end = start
    payload, key = concatenated([part.payload for part in parts]), concatenated(keys) if keys else None
    windows = [part.window for part in parts if part.window is not None]
    window = concatenated(windows) if windows else None
    assert window is None or isinstance(window, Struct)  # Invariant: either all rows are in windows, or none
    return Rows(payload, start, end, ordinal, number, position, key, deletes, window)


@attrs.frozen(eq=False)
class Flow:
    """What a correlation gives in a batch, in the order in which it is given.

    Args:
        position: The step of each, ascending.
        value: The values; of a deletion there is none.
        start: First instants, in time units.
        end: Last instants, in time units.
        weight: 1 or -1 each; None if all are 1.
        key: Of a table: the keys of the changed rows.
        deletes: Of a table: which changes are deletions; None if there are none.
        turn: The time of the deadline that it is the result of, in a step of its own before that of the event at its
            position; `LAST` of what comes of the event. None: nothing comes of a deadline.
    """

    position: NDArray[np.int64]
    value: Vector
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    weight: NDArray[np.int8] | None = None
    key: Vector | None = None
    deletes: NDArray[np.bool_] | None = None
    turn: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.position)

    def take(self, order: Ints) -> Flow:
        """Return what is given, in an ``order`` that says where each stands."""
        return Flow(
            self.position[order],
            self.value.take(order),
            self.start[order],
            self.end[order],
            None if self.weight is None else self.weight[order],
            None if self.key is None else self.key.take(order),
            None if self.deletes is None else self.deletes[order],
            None if self.turn is None else self.turn[order],
        )

    def as_rows(self, number: int) -> Rows:
        """Return the changes of a table as rows of a slot bound to it, numbered from ``number``."""
        numbers = np.arange(number, number + len(self), dtype=np.int64)
        columns = (self.start, self.end, numbers, numbers, self.position, self.key, self.deletes)
        return Rows(wrapped(self.value), *columns, turn=self.turn)


def no_rows() -> Rows:
    """Return the rows of a slot that nothing has ever come to."""
    none = np.zeros(0, np.int64)
    return Rows(Leaf(pa.nulls(0)), none, none, none, none, none)


def nothing() -> Flow:
    """Return what a correlation gives that gives nothing."""
    none = np.zeros(0, np.int64)
    return Flow(none, Leaf(pa.nulls(0)), none, none)


def one_after_the_other(flows: Sequence[Flow]) -> Flow:
    """Return what is given in one part of a batch, and then in the next one; `NotColumnar` if their types differ."""
    flows = [flow for flow in flows if len(flow)] or list(flows[:1])
    if len(flows) == 1:
        return flows[0]
    position, start, end = (
        np.concatenate([getattr(flow, name) for flow in flows]) for name in ("position", "start", "end")
    )
    weight = deletes = None
    if any(flow.weight is not None for flow in flows):
        weight = np.concatenate([np.ones(len(one), np.int8) if one.weight is None else one.weight for one in flows])
    if any(flow.deletes is not None for flow in flows):
        deletes = np.concatenate(
            [np.zeros(len(one), np.bool_) if one.deletes is None else one.deletes for one in flows]
        )
    keys = [flow.key for flow in flows if flow.key is not None]
    value = concatenated([flow.value for flow in flows])
    return Flow(position, value, start, end, weight, concatenated(keys) if keys else None, deletes)


def has_several_steps(rows: Sequence[Rows]) -> bool:
    """Whether events come in more than one step."""
    new = [mine.position[mine.position >= 0] for mine in rows]
    ends = [int(at) for one in new if len(one) for at in (one[0], one[-1])]
    return min(ends) < max(ends)


def arrival(rows: Sequence[Rows], steps: int) -> Ints:
    """Return the order of arrival of all rows; what was there before the batch comes first."""
    n_before = [int(np.searchsorted(one.position, 0)) for one in rows]
    firsts = np.cumsum([0, *[len(one) for one in rows[:-1]]]).tolist()
    at = np.full(steps, -1, np.int64)
    for one, n, first in zip(rows, n_before, firsts, strict=True):
        at[one.position[n:]] = np.arange(first + n, first + len(one))
    fresh = at[at >= 0] if (at < 0).any() else at
    if not any(n_before):
        return fresh
    retained = np.concatenate([first + np.arange(n) for n, first in zip(n_before, firsts, strict=True)])
    number = np.concatenate([one.number[:n] for one, n in zip(rows, n_before, strict=True)])
    return np.concatenate([retained[np.argsort(number, kind="stable")], fresh])


def by_key(order: Ints, code: Ints, count: int) -> Ints:
    """Return an order of rows sorted by key, stably, given the code of each row, below ``count``."""
    return order[by_code(code[order], count)] if code.any() else order
