"""Causes: the times of what makes the changes of a table, beside those of the parts.

Where a slot is alone, that is its event. Where every step has one event, it is that. Otherwise it is all of the step's
events that are parts, or that take the place of parts; in a row with a missing part, if none is, all of the step.

Source: SEMANTICS 1.10: a change carries the hull of its parts and of what caused it, a deletion its cause alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cartesius.columns.stages.rows import BEFORE
from cartesius.columns.vectors.ordering import LAST
from cartesius.columns.vectors.vectors import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.tables.table_rows import Versions
    from cartesius.columns.tables.timelines import Timeline
    from cartesius.columns.vectors.vectors import Indices

    Times: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

_EARLY = np.iinfo(np.int64).min


class OfRows:
    """One slot: each state has its event."""

    def __init__(self, them: Versions, rows: Indices) -> None:
        self.them = them
        self.rows = rows

    def of(self, timeline: Timeline, shows: NDArray[np.bool_], showed: NDArray[np.bool_], states: Indices) -> Times:
        """Return the times of the events."""
        rows = self.rows[states]
        return self.them.rows.start[rows], self.them.rows.end[rows]


class OfSteps:
    """One event a step."""

    def __init__(self, them: Sequence[Versions], steps: int) -> None:
        self.start, self.end = np.zeros(steps, np.int64), np.zeros(steps, np.int64)
        for one in them:
            there = slice(int(np.searchsorted(one.position, 0)), len(one))
            self.start[one.position[there]] = one.rows.start[there]
            self.end[one.position[there]] = one.rows.end[there]

    def of(self, timeline: Timeline, shows: NDArray[np.bool_], showed: NDArray[np.bool_], states: Indices) -> Times:
        """Return the times of the steps' events."""
        position = timeline.position[states]
        return self.start[position], self.end[position]


class OfParts:
    """Several events a step.

    Args:
        them: The versions of each slot.
        after: Of each version which one takes its place.
        may_miss: Whether parts may be missing.
        steps: How many steps the batch has.
    """

    def __init__(self, them: Sequence[Versions], after: Sequence[Indices], *, may_miss: bool, steps: int) -> None:
        self.them = them
        self.after = after
        self.may_miss = may_miss
        self.steps = steps

    def of(self, timeline: Timeline, shows: NDArray[np.bool_], showed: NDArray[np.bool_], states: Indices) -> Times:
        """Return the hull of the events that are, or replace, parts."""
        start, end = np.full(len(states), LAST), np.full(len(states), _EARLY)
        position, new, old = timeline.position[states], shows[states], showed[states]
        found_new, found_old = np.zeros(len(states), np.bool_), np.zeros(len(states), np.bool_)
        for one, after, indices in zip(self.them, self.after, timeline.parts, strict=True):
            if not len(one):
                continue
            now = indices[states]
            self._include(one, np.where(new, now, MISSING), position, start, end, found_new)
            before = np.where(old, indices[states - 1], MISSING)
            replacing = np.where(before == MISSING, MISSING, after[before])
            self._include(one, replacing, position, start, end, found_old)
        if self.may_miss:
            everywhere = (new & ~found_new) | (old & ~found_old)
            if everywhere.any():
                first, last = self._of_steps()
                at = position[everywhere]
                start[everywhere] = np.minimum(start[everywhere], first[at])
                end[everywhere] = np.maximum(end[everywhere], last[at])
        return start, end

    def _include(
        self,
        one: Versions,
        rows: Indices,
        position: NDArray[np.int64],
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        found: NDArray[np.bool_],
    ) -> None:
        """Include the times of the rows that come in the step itself."""
        is_there = rows != MISSING
        is_there[is_there] = one.position[rows[is_there]] == position[is_there]
        mine = rows[is_there]
        start[is_there] = np.minimum(start[is_there], one.rows.start[mine])
        end[is_there] = np.maximum(end[is_there], one.rows.end[mine])
        found |= is_there

    def _of_steps(self) -> Times:
        """Return the hull of all that happens in each step, but for deletions of what is not there."""
        start, end = np.full(self.steps, LAST), np.full(self.steps, _EARLY)
        for one, after in zip(self.them, self.after, strict=True):
            if not len(one):
                continue
            counts = one.target != MISSING
            replacing = after[after != MISSING]
            counts[replacing] = True
            counts &= one.position != BEFORE
            at = one.position[counts]
            np.minimum.at(start, at, one.rows.start[counts])
            np.maximum.at(end, at, one.rows.end[counts])
        return start, end


Causes: TypeAlias = OfRows | OfSteps | OfParts
"""What knows the times of what caused each change."""
