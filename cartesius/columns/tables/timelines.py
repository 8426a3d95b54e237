"""Timelines: what the row of each key of a table was from which step on, and the changes that follow from it.

A timeline has a *state* for each step in which something under a key changed, and one for what was there before the
batch; by key, and in order of steps. A state says which rows are the parts of the key's one candidate, so that a change
is a state that differs from the one before it.

Invariant: of a key there is one state a step, and one candidate a state.

Source: SEMANTICS 1.10, 2.2 and 2.8.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.stages.candidates import Parts, first_there, hull
from cartesius.columns.stages.rows import Flow, nothing
from cartesius.columns.vectors.ordering import by_position, by_several
from cartesius.columns.vectors.sameness import unchanged_since
from cartesius.columns.vectors.vectors import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.vectorising import ColumnarBody
    from cartesius.columns.tables.causes import Causes
    from cartesius.columns.tables.table_rows import Versions
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join


@attrs.frozen(eq=False)
class Timeline:
    """The states of a table's keys.

    Args:
        position: The step from which on each holds, `BEFORE` for what was there already.
        first: Whether it is the first of its key.
        parts: Of each slot the row, `MISSING` where there is none.
        exists: Whether its parts are a candidate.
        changed: Whether it is another one than the state before, in a step of the batch.
    """

    position: NDArray[np.int64]
    first: NDArray[np.bool_]
    parts: list[Indices]
    exists: NDArray[np.bool_]
    changed: NDArray[np.bool_]

    @property
    def tuples(self) -> int:
        """How many candidates reach the body in the batch."""
        return int(np.count_nonzero(self.exists & self.changed))


@attrs.frozen(eq=False)
class Shown:
    """A timeline with what the body gives for its states.

    Args:
        timeline: The states.
        shows: Whether a state has a row: its candidate satisfies the body.
        value: The rows of the states that have one.
        index: Which of them each state has, or the latest before it.
    """

    timeline: Timeline
    shows: NDArray[np.bool_]
    value: Vector
    index: Indices

    @property
    def showed(self) -> NDArray[np.bool_]:
        """Whether the state before it, of the same key, has a row."""
        before = np.zeros(len(self.shows), np.bool_)
        before[1:] = self.shows[:-1]
        before &= ~self.timeline.first
        return before


def shown(timeline: Timeline, them: Sequence[Versions], body: ColumnarBody) -> Shown:
    """Return what the body gives for the states."""
    shows = timeline.exists.copy()
    parts = _parts(timeline, them, np.flatnonzero(shows))
    if body.has_condition:
        holds = body.holds(parts)
        shows[shows] = holds
        parts = [part.chosen(holds) for part in parts]
    value, counts = body.values(parts)
    if counts is not None:  # of several values the first is shown
        yields = counts > 0
        value = value.take((np.cumsum(counts) - counts)[yields])
        shows[shows] = yields
    return Shown(timeline, shows, value, np.cumsum(shows) - 1)


def _parts(timeline: Timeline, them: Sequence[Versions], states: Indices) -> list[Parts]:
    return [Parts(one.rows, indices[states], may_miss=True) for one, indices in zip(them, timeline.parts, strict=True)]


@attrs.frozen(eq=False)
class Found:
    """All that a kernel has found out in a batch.

    Args:
        shown: The states, with what the body gives for them.
        them: The versions of each slot.
        causes: The times of what happened.
        arrival: Of each state the row that it is about, if rows that are replaced come with those that replace them.
    """

    shown: Shown
    them: Sequence[Versions]
    causes: Causes
    arrival: Indices | None


class ToRows:
    """Results that are rows of a table: one change for each state that shows another row than the one before.

    Args:
        keyed: The slots of which the first that is present gives the row its key.
    """

    how = "compare with the row before"
    reads_rows = True

    def __init__(self, keyed: Sequence[int]) -> None:
        self.keyed = keyed

    def load(self, join: Join) -> None:
        """Hold nothing: the rows follow from the memory."""

    def store(self, join: Join, more: None) -> None:
        """Hold nothing."""

    def given(self, found: Found, more: None, steps: int) -> tuple[Flow, None]:
        """Return the changes, in order."""
        return changes(found, self.keyed, steps), None


def changes(found: Found, keyed: Sequence[int], steps: int) -> Flow:
    """Return the changes of a table, by step and first mention."""
    what, them = found.shown, found.them
    timeline, shows, showed = what.timeline, what.shows, what.showed
    is_change = timeline.changed & (shows ^ showed)
    both = np.flatnonzero(timeline.changed & shows & showed)
    if len(both):
        same = unchanged_since(what.value)
        is_change[both[~same[what.index[both]]]] = True
    states = np.flatnonzero(is_change)
    states = states[mentioned(found, showed, states, max(keyed), steps)]
    updates = shows[states]
    start, end = found.causes.of(timeline, shows, showed, states)
    has_row = np.where(showed[states], states - 1, states)  # what is taken back is mentioned first, with its key
    there = [slot for slot in keyed if len(them[slot])]
    if not there:
        return nothing()
    parts = _parts(timeline, them, has_row)
    key = first_there([parts[slot] for slot in there], attrgetter("key"))
    deletes, index = None, what.index[states]
    if updates.all():
        first, last = hull(_parts(timeline, them, states))
        start, end = np.minimum(start, first), np.maximum(end, last)
        value = what.value.take(index)
    else:
        deletes = ~updates
        first, last = hull(_parts(timeline, them, states[updates]))
        start[updates], end[updates] = np.minimum(start[updates], first), np.maximum(end[updates], last)
        value = what.value.take(np.where(updates, index, MISSING), may_miss=True)
    return Flow(timeline.position[states], value, start, end, None, key, deletes)


def mentioned(found: Found, showed: NDArray[np.bool_], states: Indices, last: int, steps: int) -> Indices:
    """Return the order of states by step, and in a step by first mention.

    What is taken back is mentioned before what comes, each newest first, slot by slot, up to the ``last`` one.
    """
    timeline = found.shown.timeline
    order = by_position(timeline.position[states], steps)
    if order is not None:
        return order
    is_new = ~showed[states]
    columns = ranks(found, states, is_new, last)
    return by_several([(timeline.position[states], steps), (is_new.astype(np.int64), 1), *columns])


def ranks(found: Found, states: Indices, is_new: NDArray[np.bool_], last: int) -> list[tuple[NDArray[np.int64], int]]:
    """Return what candidates are sorted by, newest first, slot by slot: those of states, or those before them."""
    them, arrival = found.them, found.arrival
    if arrival is not None:
        return [(len(them[0]) - arrival[states], len(them[0]))]
    ranked = np.where(is_new, states, states - 1)
    columns = []
    for slot in range(last + 1):
        rows, count = found.shown.timeline.parts[slot][ranked], len(them[slot])
        columns.append((np.where(rows == MISSING, count, count - 1 - rows), count))
    return columns
