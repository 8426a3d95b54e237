"""Missing parts of two slots, step by step: which rows a step takes away and adds, where a part may be missing.

A row has a part of each slot, or of one that has no partner. What a step changes are the rows with what comes or goes,
and those in which it stands, or stood, for a missing part; they are found in the memories before and after it.

Source: SEMANTICS 2.6; `partial_rows`, whose rules these are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import attrs

from cartesius.columns.vectors.vectors import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Pair: TypeAlias = "tuple[int, int]"


@attrs.frozen(eq=False)
class Missing:
    """The rows of two slots of which parts may be missing.

    Args:
        near: Of each slot: the rows in its memory that an index finds for a row of the other.
        alone: Whether a row of it satisfies what is said of it alone.
        fits: Whether two rows match.
        may_miss: Of each slot whether its part may be missing.
        is_oldest_first: Whether memories are visited so.
        met: Of each slot, by row, whether it has had a partner that has left since.
    """

    near: Sequence[Callable[[int], Sequence[int]]]
    alone: Sequence[Callable[[int], object]]
    fits: Callable[[int, int], object]
    may_miss: tuple[bool, ...] = attrs.field(kw_only=True)
    is_oldest_first: bool = attrs.field(kw_only=True)
    met: Sequence[bytearray] = attrs.field(kw_only=True)

    def around(self, there: Sequence[int], others: Sequence[int]) -> set[Pair]:
        """Return the rows with what is ``there``, and those which miss a part that one of the ``others`` would be."""
        found: set[Pair] = set()
        for slot in (0, 1):
            if there[slot] >= 0:
                found.update(self._with(slot, there[slot]))
            other = others[slot]
            if other >= 0 and self.may_miss[slot] and self.alone[slot](other):
                for partner in self._partners(slot, other):
                    is_lonely = next(self._partners(1 - slot, partner), None) is None
                    if is_lonely and not self.met[1 - slot][partner]:
                        found.add(_pair(1 - slot, partner, MISSING))
        return found

    def _with(self, slot: int, row: int) -> Iterator[Pair]:
        if not self.alone[slot](row):
            return
        is_lonely = True
        for partner in self._partners(slot, row):
            is_lonely = False
            yield _pair(slot, row, partner)
        if is_lonely and self.may_miss[1 - slot] and not self.met[slot][row]:
            yield _pair(slot, row, MISSING)

    def _partners(self, slot: int, row: int) -> Iterator[int]:
        """Iterate over what matches a row, as parts that are there."""
        other = 1 - slot
        for partner in self.near[other](row):
            if self.alone[other](partner) and self.fits(*_pair(slot, row, partner)):
                yield partner

    def changed(self, before: set[Pair], after: set[Pair], step: int, out: list[int]) -> int:
        """Add to ``out`` what a step takes back and what it gives, in order; return how many it gives."""
        given = after - before
        rank = partial(_rank, is_oldest_first=self.is_oldest_first)
        for left, right in sorted(before - after, key=rank):
            out += (left, right, ~step)
        for left, right in sorted(given, key=rank):
            out += (left, right, step)
        return len(given)

    def misses(self, slot: int, row: int) -> bool:
        """Whether a row that the clock lets leave has had no partner."""
        if not self.alone[slot](row) or self.met[slot][row]:
            return False
        return next(self._partners(slot, row), None) is None

    def finalise(self, slot: int, row: int) -> None:
        """Note with whom a row has been matched that the clock lets leave."""
        for partner in self._partners(slot, row):
            self.met[1 - slot][partner] = True


def _pair(slot: int, row: int, partner: int) -> Pair:
    return (row, partner) if slot == 0 else (partner, row)


def _rank(row: Pair, *, is_oldest_first: bool) -> tuple[float, ...]:
    sign = 1 if is_oldest_first else -1
    return tuple([float("inf") if part == MISSING else sign * part for part in row])
