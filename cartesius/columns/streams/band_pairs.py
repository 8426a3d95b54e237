"""Pairs in a band: which rows of several slots lie near each other in time under equal keys, as functions of arrays.

Rows are sorted by key and end; of each fresh row, two binary searches find what lies in the band, slot after slot.

Invariant: a candidate is found once, from the first of its slots that has a fresh part.

Source: SEMANTICS 1.17 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE
from cartesius.columns.vectors.ordering import ranges
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.vectors.vectors import Ints
    from cartesius.plan.facts import Bound

FAR: Final = 1 << 61
"""A duration that is longer than any two times that columns know are apart; what exceeds it is left to Python."""


@attrs.frozen(eq=False)
class Side:
    """The rows of one slot, sorted by key and end.

    Args:
        rows: Which rows, in this order.
        places: Their keys and ends in one number.
    """

    rows: Ints
    places: Ints


def counted(
    positions: Sequence[Ints], gone: Sequence[Ints | None], codes: Sequence[Ints], nobody: int, steps: int
) -> int:
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
        gone: Before which step they leave, at least the number of steps if they stay; None: all do.
        codes: Their keys.
        nobody: The code of what meets nothing.
        steps: How many steps there are.
    """
    width = steps + 2
    came = [np.sort(mine * width + at + 1) for mine, at in zip(codes, positions, strict=True)]
    left = [np.sort(mine * width + (steps if at is None else at) + 1) for mine, at in zip(codes, gone, strict=True)]
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
    >>> from cartesius.plan.facts import Bound
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
    low, span = extent(ends)
    if span * (nobody + 2) > FAR:
        raise NotColumnar("times are too far apart")
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
            of, others = ranges(begin, n_each)
            parts = {index: mine[of] for index, mine in parts.items()} | {slot: side.rows[others]}
            parts = _satisfying(parts, slot, bounds, starts, ends)
        if len(parts) == n:
            for slot in range(n):
                found[slot].append(parts[slot])
    return [np.concatenate(mine) if mine else np.zeros(0, np.int64) for mine in found]


def extent(times: Sequence[Ints]) -> tuple[int, int]:
    """Return the least of all times, and how many instants there are from it to the greatest.

    >>> import numpy as np
    >>> extent([np.array([7, 5]), np.array([], int), np.array([9])])
    (5, 5)
    """
    there = [mine for mine in times if len(mine)]
    low = min((int(mine.min()) for mine in there), default=0)
    return low, max((int(mine.max()) for mine in there), default=0) - low + 1


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
