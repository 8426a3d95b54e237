"""The kernel of bands: parts that lie near each other in time, under one key common to all, whatever the order.

Rows are sorted by key and end; of each fresh row, two binary searches find what lies in the band, slot after slot.
Whether two rows match depends on their own times alone; when the clock has passed what a row can match, it leaves. That
changes no result, but how many candidates are counted, and what is retained.

Invariant: a candidate is found once, from the first of its slots that has a fresh part.

Source: SEMANTICS 1.17 and 3.8; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from cartesius.columnar.candidates import Parts
from cartesius.columnar.computed import codes_under, linking
from cartesius.columnar.gates import filtered
from cartesius.columnar.headings import heading
from cartesius.columnar.rows import BEFORE, joined, nothing
from cartesius.columnar.shapes import Shape, shape_of
from cartesius.columnar.stages import Outcome, Stage, State
from cartesius.columnar.vectorising import ColumnarBody
from cartesius.columnar.vectors import NotColumnar
from cartesius.columnar.zipping import flow_of
from cartesius.meanings import Meaning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.rows import Rows
    from cartesius.columnar.stages import Moment
    from cartesius.installations import Installed
    from cartesius.join_shape import Join

    Ints = NDArray[np.int64]

_BANDS: Final = frozenset({Meaning.BAND, Meaning.LASTING, Meaning.APART})
_KNOWN: Final = _BANDS | {Meaning.KEYS, Meaning.FILTER, Meaning.COMPLETION, Meaning.OLDEST_FIRST}
_FAR: Final = 1 << 61


@attrs.frozen
class Bound:
    """The end of the part of slot ``of`` is at most ``most`` after the end, or start, of that of slot ``since``."""

    of: int
    since: int
    most: int
    from_start: bool = False


@attrs.frozen(eq=False)
class Side:
    """The rows of one slot, sorted by key and end.

    Args:
        rows: Which rows, in this order.
        places: Their keys and ends in one number.
    """

    rows: Ints
    places: Ints


class Near(Stage):
    """`within`, `lasting` and `apart`."""

    keeps_time = True

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        self.bands = [one for one in join.installed if one.restriction.meaning in _BANDS]
        self.bounds = tuple([bound for one in self.bands for bound in bounds_of(one, len(join.slots))])
        self.settled = [one for one in self.bands if one.is_settled]
        self.body = ColumnarBody(join, linking(join))
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]

    def source(self) -> str:
        """Return the code of the body, below the functions that find its candidates."""
        functions = "bands.counted, bands.near" if self.shape.components else "bands.near"
        return heading(self.join, functions) + "".join(f"\n{code.text}" for code in self.body.codes)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Find what lies in the bands."""
        rows: list[Rows | None] = []
        for slot, before in zip(self.join.slots, state.retained, strict=True):
            coming = filtered(self.shape, slot, arriving.get(slot.index))
            there = [one for one in (before, coming) if one is not None]
            rows.append(joined(there) if there else None)
        expiry = [None if mine is None else self._expiry(slot, mine, moment) for slot, mine in enumerate(rows)]
        retained = [
            None if mine is None or gone is None else _remaining(mine, gone, moment.steps)
            for mine, gone in zip(rows, expiry, strict=True)
        ]
        after = State(tuple(retained))
        present, gone = [one for one in rows if one is not None], [one for one in expiry if one is not None]
        if len(present) < len(rows):
            if self.shape.components:
                codes_under(self.shape.components, rows)  # an error in what is equated is one, whoever is there
            return Outcome(nothing(), after, 0)
        codes, count = codes_under(self.shape.components, rows) if self.shape.components else _all_alike(present)
        tuples = counted([one.position for one in present], gone, codes, count - 1, moment.steps)
        found = near(
            [one.start for one in present],
            [one.end for one in present],
            [one.position for one in present],
            codes,
            count - 1,
            self.bounds,
        )
        position, ordered = _in_order(present, found, is_oldest_first=self.shape.is_oldest_first)
        parts = [
            Parts(mine, chosen, key=None if key is None else key(mine))
            for mine, chosen, key in zip(present, ordered, self.keys, strict=True)
        ]
        return Outcome(flow_of(self.body, parts, position) if len(position) else nothing(), after, tuples)

    # -- the clock -----------------------------------------------------------------------------------------------------

    def _expiry(self, slot: int, rows: Rows, moment: Moment) -> Ints:
        """Return before which step each row leaves; the number of steps, if it stays."""
        if len(rows) and max(abs(int(rows.start.min())), abs(int(rows.end.max()))) > _FAR:
            reason = "times are too far apart"
            raise NotColumnar(reason)
        if not moment.meets_deadlines or moment.clock is None:
            return np.full(len(rows), moment.steps, np.int64)
        found = np.full(len(rows), moment.steps, np.int64)
        for one in self.settled:
            due = _due(one, slot, rows)
            if due is not None:
                passed = np.searchsorted(moment.clock, due, side="right")
                np.minimum(found, np.maximum(passed, rows.position + 1), out=found)
        return found

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories, and ask for the deadlines that their entries wait for."""
        super().store(state, stored)
        deadlines = self.join.world.deadlines
        for one in self.bands:
            one.due.clear()
            one.copies.clear()
        deadlines.heap = [item for item in deadlines.heap if item[3] not in self.bands]
        for one in self.settled:
            for slot in one.named:
                rows = state.retained[slot.index]
                due = None if rows is None else _due(one, slot.index, rows)
                if due is None:
                    continue
                for time, entry in zip(due.tolist(), slot.memory.all(), strict=True):
                    key = one.key_of(slot, entry)
                    if key not in one.copies:
                        one.make(key)
                    one.notify_at(time, key)
        deadlines.clean()


def bounds_of(installed: Installed, n: int) -> Iterable[Bound]:
    """Return what a restriction says of the times of the parts of ``n`` slots."""
    copy, meaning = installed.stateless, installed.restriction.meaning
    if meaning is Meaning.BAND:
        named = [slot.index for slot in copy.slots]
        return [Bound(of, since, copy.duration, from_start=True) for of in named for since in named]
    if meaning is Meaning.LASTING:
        return [Bound(of, copy.slot.index, copy.duration) for of in range(n)]
    left, right = copy.left.index, copy.right.index
    return [Bound(right, left, copy.upper), Bound(left, right, -copy.lower)]


def _due(installed: Installed, slot: int, rows: Rows) -> Ints | None:
    """Return the last end that a partner of each row may have; None if the restriction says nothing of the slot."""
    copy, meaning = installed.stateless, installed.restriction.meaning
    if slot not in [named.index for named in installed.named]:
        return None
    after: int = (
        copy.duration if meaning is not Meaning.APART else copy.upper if slot == copy.left.index else -copy.lower
    )
    return (rows.start if meaning is Meaning.BAND else rows.end) + after


def _remaining(rows: Rows, gone: Ints, steps: int) -> Rows:
    return rows.as_retained() if (gone >= steps).all() else rows.take(np.flatnonzero(gone >= steps)).as_retained()


def _all_alike(rows: Sequence[Rows]) -> tuple[list[Ints], int]:
    """Return the codes of rows that all have one key, and no row has none."""
    return [np.zeros(len(mine), np.int64) for mine in rows], 2


def counted(positions: Sequence[Ints], gone: Sequence[Ints], codes: Sequence[Ints], nobody: int, steps: int) -> int:
    """Return how many candidates there are: what of equal keys is in memory together when one of them comes.

    >>> import numpy as np
    >>> counted(
    ...     [np.array([0, 1]), np.array([2])],
    ...     [np.array([2, 3]), np.array([3])],
    ...     [np.zeros(2, int), np.zeros(1, int)],
    ...     1,
    ...     3,
    ... )
    1

    Args:
        positions: Of each slot: when the rows come.
        gone: Before which step they leave.
        codes: Their keys.
        nobody: The code of what meets nothing.
        steps: How many steps there are.
    """
    width = steps + 2
    came = [np.sort(mine * width + at + 1) for mine, at in zip(codes, positions, strict=True)]
    left = [np.sort(mine * width + at + 1) for mine, at in zip(codes, gone, strict=True)]
    total = 0
    for slot, (mine, at) in enumerate(zip(codes, positions, strict=True)):
        fresh = np.flatnonzero((at != BEFORE) & (mine != nobody))
        now = mine[fresh] * width + at[fresh] + 1
        each: Ints | None = None
        for other in range(len(codes)):
            if other != slot:
                there = np.searchsorted(came[other], now) - np.searchsorted(left[other], now, side="right")
                each = there if each is None else each * there
        total += len(fresh) if each is None else int(each.sum())
    return total


def near(
    starts: Sequence[Ints],
    ends: Sequence[Ints],
    positions: Sequence[Ints],
    codes: Sequence[Ints],
    nobody: int,
    bounds: Sequence[Bound],
) -> list[Ints]:
    """Return the rows of the candidates, slot by slot, that satisfy the bounds, have one key, and a fresh part.

    >>> import numpy as np
    >>> left, right = np.array([1, 5]), np.array([4, 9])
    >>> keys = [np.zeros(2, int), np.zeros(2, int)]
    >>> near(
    ...     [left, right],
    ...     [left, right],
    ...     [np.array([0, 1]), np.array([2, 3])],
    ...     keys,
    ...     1,
    ...     [Bound(1, 0, 3), Bound(0, 1, 3)],
    ... )
    [array([0, 1]), array([0, 0])]

    Args:
        starts: The first instants of the rows of each slot.
        ends: The last instants.
        positions: When they come; `BEFORE` for what is not fresh.
        codes: Their keys.
        nobody: The code of what meets nothing.
        bounds: What must hold.
    """
    n = len(ends)
    low, high = min(int(mine.min(initial=0)) for mine in ends), max(int(mine.max(initial=0)) for mine in ends)
    span = high - low + 1
    if span * (nobody + 2) > _FAR:
        reason = "times are too far apart"
        raise NotColumnar(reason)
    found: list[list[Ints]] = [[] for _ in range(n)]
    for first in range(n):
        parts = {first: np.flatnonzero((positions[first] != BEFORE) & (codes[first] != nobody))}
        parts = _satisfying(parts, first, bounds, starts, ends)
        for slot in range(n):
            if slot == first or not len(parts[first]):
                continue
            may = codes[slot] != nobody if slot > first else (codes[slot] != nobody) & (positions[slot] == BEFORE)
            side = _sorted(np.flatnonzero(may), codes[slot], ends[slot] - low, span)
            code = codes[first][parts[first]] * span
            since, until = np.zeros(len(code), np.int64), np.full(len(code), span - 1)
            for bound in bounds:
                if bound.of == slot and bound.since in parts:
                    times = (starts if bound.from_start else ends)[bound.since][parts[bound.since]]
                    np.minimum(until, times + bound.most - low, out=until)
                elif bound.since == slot and bound.of in parts:
                    np.maximum(since, ends[bound.of][parts[bound.of]] - bound.most - low, out=since)
            since, until = np.minimum(since, span), np.maximum(until, -1)
            begin = np.searchsorted(side.places, code + since)
            n_each = np.maximum(np.searchsorted(side.places, code + until, side="right") - begin, 0)
            within = np.arange(int(n_each.sum())) - np.repeat(np.cumsum(n_each) - n_each, n_each)
            parts = {index: np.repeat(mine, n_each) for index, mine in parts.items()}
            parts[slot] = side.rows[np.repeat(begin, n_each) + within]
            parts = _satisfying(parts, slot, bounds, starts, ends)
        if len(parts) == n:
            for slot in range(n):
                found[slot].append(parts[slot])
    return [np.concatenate(mine) if mine else np.zeros(0, np.int64) for mine in found]


def _sorted(rows: Ints, codes: Ints, ends: Ints, span: int) -> Side:
    places = codes[rows] * span + ends[rows]
    order = np.argsort(places, kind="stable")
    return Side(rows[order], places[order])


def _satisfying(
    parts: dict[int, Ints], slot: int, bounds: Sequence[Bound], starts: Sequence[Ints], ends: Sequence[Ints]
) -> dict[int, Ints]:
    """Return the candidates that satisfy what is said of starts, which are not sorted, where ``slot`` has come last."""
    for bound in bounds:
        if bound.from_start and slot in (bound.of, bound.since) and bound.of in parts and bound.since in parts:
            holds = ends[bound.of][parts[bound.of]] - starts[bound.since][parts[bound.since]] <= bound.most
            if not holds.all():
                parts = {index: mine[holds] for index, mine in parts.items()}
    return parts


def _in_order(rows: Sequence[Rows], found: Sequence[Ints], *, is_oldest_first: bool) -> tuple[Ints, list[Ints]]:
    """Return the steps of candidates, and their rows, in the order in which they are enumerated."""
    position = np.full(len(found[0]), BEFORE, np.int64)
    for mine, chosen in zip(rows, found, strict=True):
        np.maximum(position, mine.position[chosen], out=position)
    sign = 1 if is_oldest_first else -1
    order = np.lexsort((*[sign * chosen for chosen in reversed(found)], position))
    return position[order], [chosen[order] for chosen in found]


def band_stage(join: Join) -> Stage | str:
    """Return the stage of a correlation of streams whose parts must be near each other in time."""
    if not any(one.restriction.meaning in _BANDS for one in join.installed):
        return "it has no bands"
    shape = shape_of(join, _KNOWN)
    if isinstance(shape, str):
        return shape
    stage = Near(join, shape)
    if any(abs(bound.most) > _FAR for bound in stage.bounds):
        return "its durations are too long"
    return stage
