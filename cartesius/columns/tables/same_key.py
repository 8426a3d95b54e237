"""The kernel of rows under one key: a single table, or tables of which rows of equal keys are joined.

The versions of all slots are sorted by key, stably; in a key the part of each slot is its latest row so far. So the
states of a key are found by carrying row numbers forward: one sort, and one running maximum a slot.

Source: DESIGN 4 (versions are disjoint per key, and their overlap join is a merge); SEMANTICS 2.3 to 2.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.stages.rows import BEFORE, nothing
from cartesius.columns.stages.stages import Outcome, State
from cartesius.columns.tables.causes import OfParts, OfRows, OfSteps
from cartesius.columns.tables.table_rows import NOTHING, by_key, changes_something, followed, has_null, hot_codes
from cartesius.columns.tables.table_stages import TableStage
from cartesius.columns.tables.timelines import Found, Timeline, shown
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.ordering import begins, by_code, by_position, ends
from cartesius.columns.vectors.vectors import MISSING, NotColumnar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.tables.causes import Causes
    from cartesius.columns.tables.table_rows import ByKey, Versions
    from cartesius.columns.tables.table_stages import Output
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join


class SameKey(TableStage):
    """Rows of equal keys."""

    how = "sort by key, carry the row of each slot forward"
    tells_gates = True

    def __init__(self, join: Join, output: Output, missing: Sequence[bool]) -> None:
        super().__init__(join, output, missing)
        self.roots = range(len(join.slots))

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys of the rows."""
        return self.keyed(slot, rows)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Carry the rows of each key forward."""
        them = self.versions(state, arriving)
        there = [slot for slot, one in enumerate(them) if len(one)]
        if not there:
            return Outcome(nothing(), state, 0)
        codes, count = self._codes(them, there)
        retained = [one.live(codes[slot], count) if slot in codes else None for slot, one in enumerate(them)]
        changed = self._changed(them[0], codes[0], count) if self.is_transient else None
        fates = self.told(them) if changed is None else self.passed_on(them[0], changed[1])
        if self.is_read_only:
            return Outcome(nothing(), State(tuple(retained), state.more), 0, fates=fates)
        if len(them) == 1:
            found = self._alone(them[0], *(changed or self._changed(them[0], codes[0], count)))
        else:
            found = self._together(them, codes, count, moment.steps)
        flow, more = self.output.given(found, state.more, moment.steps)
        return Outcome(flow, State(tuple(retained), more), found.shown.timeline.tuples, fates=fates)

    def _codes(self, them: list[Versions], there: list[int]) -> tuple[dict[int, NDArray[np.int64]], int]:
        """Return the codes of the keys of each slot. The key None matches nothing: each slot has a code for it."""
        found, count = encoded([[them[slot].key] for slot in there], skips_null=True)
        codes = dict(zip(there, found, strict=True))
        nulls = [slot for slot in there if has_null(them[slot].key)]
        if len(nulls) > 1 and all(self.missing):
            raise NotColumnar("keys are null on both sides of an outer join")
        for place, slot in enumerate(nulls):
            codes[slot] = np.where(codes[slot] == NEVER, count + place, codes[slot])
        return codes, count + len(nulls)

    def _changed(self, one: Versions, codes: NDArray[np.int64], count: int) -> tuple[ByKey, NDArray[np.bool_]]:
        """Return the versions of a single table by key, of which something changes, and which of them are a change."""
        ordered = by_key(one, codes, count, hot_codes(codes, one.position != BEFORE, count))
        changed = one.position[ordered.rows] != BEFORE
        return ordered, changed & changes_something(one, ordered) if self.is_transient else changed

    def _alone(self, one: Versions, ordered: ByKey, changed: NDArray[np.bool_]) -> Found:
        """Return the states of a single table: its versions, by key."""
        position, part = one.position[ordered.rows], one.target[ordered.rows]
        timeline = Timeline(position, ordered.first, [part], part != MISSING, changed)
        arrival = ordered.rows if self.is_transient else None
        return Found(shown(timeline, [one], self.body), [one], OfRows(one, ordered.rows), arrival)

    def _together(self, them: list[Versions], codes: Mapping[int, NDArray[np.int64]], count: int, steps: int) -> Found:
        """Return the states of several tables: which row of each is there; and, likewise, what became of some."""
        there = sorted(codes)
        hot = np.logical_or.reduce([hot_codes(codes[one], them[one].position != BEFORE, count) for one in there])
        rows = [np.flatnonzero(hot[codes[one]]) for one in there]  # of keys of which nothing changes there is no state
        slot = np.repeat(np.array(there), list(map(len, rows)))
        target, position = (
            np.concatenate([getattr(them[one], name)[mine] for one, mine in zip(there, rows, strict=True)])
            for name in ("target", "position")
        )
        every = np.concatenate([codes[one][mine] for one, mine in zip(there, rows, strict=True)])
        order, is_single = _by_arrival(position, steps)
        order = order[by_code(every[order], count)]
        code, slot, target, position = every[order], slot[order], target[order], position[order]
        first = begins(code)
        parts = _carried(slot, target, first, len(them))
        if any(one.has_deletions for one in them):
            keep = ~_in_vain(slot, target, first, parts)
            code, position, parts = code[keep], position[keep], [part[keep] for part in parts]
            first = begins(code)
        if not is_single:
            keep = ends(code, position)
            code, position, parts = code[keep], position[keep], [part[keep] for part in parts]
            first = begins(code)
        timeline = Timeline(position, first, parts, self._exists(parts), position != BEFORE)
        causes: Causes = OfSteps(them, steps) if is_single else self._of_parts(them, codes, count, steps)
        return Found(shown(timeline, them, self.body), them, causes, None)

    def _exists(self, parts: list[Indices]) -> NDArray[np.bool_]:
        """Return which states are a candidate: no part is missing that may not, and not all are."""
        needed = [part != MISSING for part, may_miss in zip(parts, self.missing, strict=True) if not may_miss]
        some = [part != MISSING for part in parts]
        exists: NDArray[np.bool_] = np.logical_and.reduce(needed) if needed else np.logical_or.reduce(some)
        return exists

    def _of_parts(
        self, them: list[Versions], codes: Mapping[int, NDArray[np.int64]], count: int, steps: int
    ) -> OfParts:
        ordered = {slot: by_key(them[slot], found, count) for slot, found in codes.items()}
        after = [followed(one, ordered.get(slot, NOTHING)) for slot, one in enumerate(them)]
        return OfParts(them, after, may_miss=any(self.missing), steps=steps)


def _by_arrival(position: NDArray[np.int64], steps: int) -> tuple[Indices, bool]:
    """Return the order of arrival, what was there before first, and whether no step has two rows."""
    before, coming = np.flatnonzero(position == BEFORE), np.flatnonzero(position != BEFORE)
    order = by_position(position[coming], steps)
    if order is None:
        return np.argsort(position, kind="stable"), False
    return np.concatenate([before, coming[order]]), True


def _carried(slot: NDArray[np.int64], target: Indices, first: NDArray[np.bool_], slots: int) -> list[Indices]:
    """Return for each slot which of its rows is there, along rows sorted by key."""
    places = np.arange(len(slot))
    since = np.maximum.accumulate(np.where(first, places, 0))
    parts = []
    for one in range(slots):
        latest = np.maximum.accumulate(np.where(slot == one, places, MISSING))
        parts.append(np.where(latest >= since, target[latest], MISSING))
    return parts


def _in_vain(
    slot: NDArray[np.int64], target: Indices, first: NDArray[np.bool_], parts: list[Indices]
) -> NDArray[np.bool_]:
    """Return which are deletions of rows that are not there."""
    found: NDArray[np.bool_] = target == MISSING
    at = np.flatnonzero(found)
    before = np.array([part[at - 1] for part in parts])[slot[at], np.arange(len(at))]
    found[at] = first[at] | (before == MISSING)
    return found
