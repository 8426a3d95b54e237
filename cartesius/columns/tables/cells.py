"""Cells: what is put into the totals of groups and taken out of them, by group and step, and what they come to by it.

Source: SEMANTICS 2.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np

from cartesius.columns.groups.fixed_point import Fixed, carried, of_floats
from cartesius.columns.tables.timelines import ranks
from cartesius.columns.vectors.ordering import begins, by_code, by_several
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.tables.timelines import Found
    from cartesius.columns.vectors.vectors import Indices

    Change: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
    Amounts: TypeAlias = NDArray[np.int64] | Fixed

_MOST: Final = 2**62


@attrs.frozen(eq=False)
class Entries:
    """What is put into totals, and taken out of them, in order of mention.

    Args:
        position: In which step.
        sign: 1 or -1.
        value: Which of the values.
        start: The first instant of the cause.
        end: The last instant of the cause.
    """

    position: NDArray[np.int64]
    sign: NDArray[np.int64]
    value: Indices
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@attrs.frozen(eq=False)
class Cells:
    """The entries by group and step: what happens to a group in a step, in order of groups and steps.

    Args:
        order: The order of the entries by group and step.
        begin: Where each cell begins in it.
        code: The code of its group.
        position: Its step.
        mention: Which entry mentions the group first in the step.
    """

    order: Indices
    begin: Indices
    code: NDArray[np.int64]
    position: NDArray[np.int64]
    mention: Indices

    def kept_up(self, amounts: NDArray[np.int64], before: NDArray[np.int64]) -> Change:
        """Return what sums of ``amounts``, one an entry, are before and after each cell."""
        if not len(self.begin):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        changes = np.add.reduceat(amounts[self.order], self.begin)
        summed = np.cumsum(changes)
        first = np.maximum.accumulate(np.where(begins(self.code), np.arange(len(self.code)), 0))
        after = summed - (summed - changes)[first] + before[self.code]
        return after - changes, after

    def hull(self, entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the hull of the causes in each cell."""
        if not len(self.begin):
            return entries.start, entries.end
        start, end = entries.start[self.order], entries.end[self.order]
        return np.minimum.reduceat(start, self.begin), np.maximum.reduceat(end, self.begin)


@attrs.frozen(eq=False)
class Kept:
    """What totals are before and after each cell, and what groups had before the batch, by code."""

    before: Amounts
    after: Amounts
    had: Amounts

    def held(self, cells: Cells) -> Amounts:
        """Return what groups have after the batch, by code."""
        if isinstance(self.had, Fixed):
            assert isinstance(self.after, Fixed)  # Invariant: all of them are
            high, low = self.had.high.copy(), self.had.low.copy()
            high[cells.code], low[cells.code] = self.after.high, self.after.low
            return Fixed(high, low, self.had.exponent)
        assert not isinstance(self.after, Fixed)
        found = self.had.copy()
        found[cells.code] = self.after
        return found


def kept_up(
    cells: Cells,
    entries: Entries,
    amounts: NDArray[Any],
    before: Amounts | None,
    known: list[NDArray[np.int64]],
    count: int,
) -> Kept:
    """Return what totals come to; ``known`` are the codes of those from before."""
    if before is not None and len(amounts) and isinstance(before, Fixed) != (amounts.dtype.kind == "f"):
        raise NotColumnar("ints and floats are added")
    if not isinstance(before, Fixed) and amounts.dtype.kind != "f":
        had = np.zeros(count, np.int64)
        if isinstance(before, np.ndarray):
            had[known[0]] = before
        _check(amounts, had, len(entries.sign))
        return Kept(*cells.kept_up(amounts[entries.value] * entries.sign, had), had)
    rows = of_floats(amounts.astype(np.float64), before.exponent if isinstance(before, Fixed) else None)
    limbs = np.zeros(count, np.int64), np.zeros(count, np.int64)
    if isinstance(before, Fixed):
        before = before.of_exponent(rows.exponent)
        limbs[0][known[0]], limbs[1][known[0]] = before.high, before.low
    for limb, had in zip((rows.high, rows.low), limbs, strict=True):
        _check(limb, had, len(entries.sign))
    high, low = (
        cells.kept_up(limb[entries.value] * entries.sign, had)
        for limb, had in zip((rows.high, rows.low), limbs, strict=True)
    )
    was, now = (carried(*both, rows.exponent) for both in zip(high, low, strict=True))
    return Kept(was, now, Fixed(*limbs, rows.exponent))


def _check(amounts: NDArray[np.int64], had: NDArray[np.int64], n: int) -> None:
    """Refuse what might leave 64 bits."""
    most = [max(int(one.max()), -int(one.min())) if len(one) else 0 for one in (amounts, had)]
    if most[0] * (n + 1) + most[1] > _MOST:
        raise NotColumnar("a total may leave 64 bits")


def taken(amounts: Amounts, indices: Indices) -> Amounts:
    """Return the amounts at ``indices``."""
    return amounts.take(indices) if isinstance(amounts, Fixed) else amounts[indices]


def cells_of(entries: Entries, codes: NDArray[np.int64], count: int) -> Cells:
    """Return entries by group, which the codes of the values say, and step."""
    group = codes[entries.value]
    order = by_code(group, count)
    code, position = group[order], entries.position[order]
    begin = np.flatnonzero(begins(code, position))
    return Cells(order, begin, code[begin], position[begin], order[begin])


def entries_of(found: Found, steps: int) -> Entries:
    """Return what the states of a timeline put into totals, and take out of them."""
    what = found.shown
    timeline, shows, showed = what.timeline, what.shows, what.showed
    old, new = np.flatnonzero(timeline.changed & showed), np.flatnonzero(timeline.changed & shows)
    nobody = np.zeros(len(shows), np.bool_)
    times = [found.causes.of(timeline, nobody, showed, old), found.causes.of(timeline, shows, nobody, new)]
    states, is_new = np.concatenate([old, new]), np.repeat([0, 1], [len(old), len(new)])
    order = by_several(
        [(timeline.position[states], steps), (is_new, 1), *ranks(found, states, is_new == 1, len(found.them) - 1)]
    )
    start, end = (np.concatenate([one[place] for one in times])[order] for place in (0, 1))
    value = np.concatenate([what.index[old - 1], what.index[new]])
    return Entries(timeline.position[states][order], (2 * is_new - 1)[order], value[order], start, end)
