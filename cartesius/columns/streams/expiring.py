"""Expiring: when the clock lets the rows of a slot leave, and the deadlines that the objects wait for.

Source: SEMANTICS 3.8 and 3.10.
"""

from __future__ import annotations

from functools import reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.stages.rows import LAST
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import begins
from cartesius.columns.vectors.vectors import MISSING, Leaf
from cartesius.plan.facts import bounds_on_times

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Keys
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.spans import Spans
    from cartesius.columns.stages.stages import Moment, State
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.facts import Bound

    Ints = NDArray[np.int64]


class Expiring:
    """The restrictions of a correlation that let rows leave by the clock.

    Args:
        join: The correlation.
        restrictions: Those of its restrictions that may.
        spans: Its windows, if any: what is in one leaves when that is freed.
        frees_in_turn: Whether it matters to other windows when that is; otherwise it is at the end of a batch.
    """

    def __init__(
        self, join: Join, restrictions: Sequence[Installed], spans: Spans | None = None, *, frees_in_turn: bool = False
    ) -> None:
        self.join = join
        self.all = restrictions
        self.spans = spans
        self.frees_in_turn = frees_in_turn
        self.settled = [one for one in restrictions if one.is_settled]

    def concerns(self, slot: int) -> bool:
        """Whether some rows of a slot leave in a batch."""
        return self.frees_in_turn or any(named.index == slot for one in self.settled for named in one.named)

    def leave(self, slot: int, rows: Rows, moment: Moment) -> NDArray[np.int64] | None:
        """Return before which step each row leaves, at least the number of steps if it stays; None: all stay."""
        due = self.due(slot, rows)
        if not moment.meets_deadlines or moment.clock is None or due is None:
            return None
        return np.maximum(np.searchsorted(moment.clock, due, side="right"), moment.after(rows.position))

    def due(self, slot: int, rows: Rows) -> NDArray[np.int64] | None:
        """Return when the rows of a slot are due to leave; None: never."""
        due = [mine for one in self.settled if (mine := due_of(one, slot, rows)) is not None]
        if self.frees_in_turn and self.spans is not None:
            due.append(ends_of(rows) + self.spans.lateness - 1)
        return reduce(np.minimum, due) if due else None

    def turns(self, keys: Keys, rows: Sequence[Rows | None], found: Ints) -> tuple[Ints, Ints]:
        """Return the turns of candidates in two slots, of which those with one part come as that leaves; and the order.

        Those of one deadline come in the order in which memories are visited, of one time by the first that is there,
        as nothing leaves before: by the copy of the restriction, of which there is one for each key that is left of it.
        """
        (one,) = self.settled
        sides = [(slot, mine) for slot, mine in enumerate(rows) if mine is not None]
        due = [times for slot, some in sides if (times := due_of(one, slot, some)) is not None]
        asked = first_asked(one, keys, sides, due)
        position = found[:, -1]
        turn, rank = np.full(len(found), LAST), np.arange(len(found))
        first, of = np.zeros(len(found), np.int64), np.zeros(len(found), np.int64)
        sign = 1 if self.join.batch.rank.is_oldest_first else -1
        for (slot, _), times, numbers in zip(sides, due, asked, strict=True):
            alone = np.flatnonzero(found[:, 1 - slot] == MISSING)
            row = found[alone, slot]
            turn[alone], first[alone], of[alone], rank[alone] = times[row], numbers[row], slot, sign * row
        return turn, np.lexsort((rank, of, first, turn, position))

    def kept(self, rows: Rows | None, kept: NDArray[np.int64], moment: Moment) -> NDArray[np.int64]:
        """Return which rows of those that are kept are in no window that is freed by the end of a batch."""
        if self.spans is None or moment.clock is None or rows is None or rows.window is None:
            return kept
        found: NDArray[np.int64] = kept[(ends_of(rows) + self.spans.lateness > moment.clock[-1])[kept]]
        return found

    def held(self, held: Mapping[int, Rows | None], moment: Moment) -> dict[int, Rows | None]:
        """Return what a gate holds, by slot, of windows that are not freed."""
        every = {slot: self.kept(one, np.arange(0 if one is None else len(one)), moment) for slot, one in held.items()}
        return {slot: None if one is None else one.take(every[slot]) for slot, one in held.items()}

    def deadline(self, state: State) -> int | None:
        """Return the first deadline that `store` would ask for."""
        found = []
        for one in self.settled:
            for slot in one.named:
                rows = state.retained[slot.index]
                due = None if rows is None or not len(rows) else due_of(one, slot.index, rows)
                found += [] if due is None else [int(due.min())]
        return min(found, default=None)

    def store(self, state: State) -> None:
        """Ask for the deadlines of what is in memory, in the order of arrival."""
        deadlines = self.join.world.deadlines
        for one in self.all:
            one.due.clear()
            one.copies.clear()
        deadlines.drop(self.all)
        for one in self.settled:
            asking: list[tuple[int, Any, int]] = []
            for slot in one.named:
                retained = state.retained[slot.index]
                if retained is not None:
                    asking += self._asking(one, slot.index, retained, list(slot.memory.all()))
            for _, key, time in sorted(asking, key=itemgetter(0)):
                _notify(one, key, time)
        deadlines.clean()

    def _asking(self, one: Installed, slot: int, rows: Rows, entries: Sequence[Any]) -> Iterator[tuple[int, Any, int]]:
        due = due_of(one, slot, rows)
        assert due is not None  # Invariant: the slot is one that the restriction names
        for number, time, entry in zip(rows.number.tolist(), due.tolist(), entries, strict=True):
            yield number, one.key_of(self.join.slots[slot], entry), time


def bound_of(installed: Installed, slot: int) -> Bound | None:
    """Return when the partner of an event of a slot ends at the latest; None if the restriction does not say."""
    bounds = bounds_on_times(installed, len(installed.join.slots))
    return next((bound for bound in bounds if bound.since == slot), None)


def due_of(installed: Installed, slot: int, rows: Rows) -> NDArray[np.int64] | None:
    """Return the last end that a partner of each row may have; None if the restriction does not say."""
    bound = bound_of(installed, slot)
    return None if bound is None else (rows.start if bound.from_start else rows.end) + bound.most


def first_asked(one: Installed, keys: Keys, sides: Sequence[tuple[int, Rows]], due: Sequence[Ints]) -> list[Ints]:
    """Return for each row of some slots who has asked for its deadline first, as a number of arrival.

    It is asked for by the copy of the restriction, of which there is one for each key that is left of it, also for one
    that is null.
    """
    spaces = one.prefixes[sides[0][0]]
    codes = [np.zeros(len(rows), np.int64) for _, rows in sides]
    if spaces:
        copies = [[keys.in_space(space, slot, rows) for space in spaces] for slot, rows in sides]
        codes, _ = encoded(copies, skips_null=False)
    number, time, code = np.concatenate([rows.number for _, rows in sides]), np.concatenate(due), np.concatenate(codes)
    return np.split(least_of(number, code, time), np.cumsum([len(rows) for _, rows in sides])[:-1])


def least_of(number: Ints, code: Ints, time: Ints) -> Ints:
    """Return for each row the least number of those that have its code and its time."""
    order = np.lexsort((number, code, time))
    is_first = begins(time[order], code[order])
    least = np.empty(len(order), np.int64)
    least[order] = number[order][is_first][np.cumsum(is_first) - 1]
    return least


def ends_of(rows: Rows) -> NDArray[np.int64]:
    """Return when the windows of rows end."""
    ends = None if rows.window is None else rows.window.item("end")
    assert isinstance(ends, Leaf)  # Invariant: all of them are in windows
    found: NDArray[np.int64] = ends.numbers
    return found


def _notify(one: Installed, key: Any, time: int) -> None:
    if key not in one.copies:
        one.make(key)
    one.notify_at(time, key)
