"""What stands: of things that come to a group and leave it, which is the first of those that are there, at any time.

Times are *cells*, the steps in which something comes to a group or leaves it; things are ranked, and stand from one
cell until before another one of their group. A tree over all cells has each thing in the few nodes that its span is
made of; the first of a cell is the least rank on the way from the root to its leaf.

Source: the segment tree of intervals (Bentley, 1977), level by level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE
from cartesius.columns.vectors.ordering import begins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Ints

NOBODY: Final = int(np.iinfo(np.int64).max)
"""The rank of nothing."""


@attrs.frozen(eq=False)
class Times:
    """The steps in which something happens to a group; of each group the time before the batch is the first.

    Args:
        code: The code of the group of each cell, ascending.
        position: Its step, ascending in a group.
        steps: How many there are.
    """

    code: Ints
    position: Ints
    steps: int

    def __len__(self) -> int:
        return len(self.code)

    @property
    def is_before(self) -> NDArray[np.bool_]:
        """Which cells are the times before the batch."""
        found: NDArray[np.bool_] = self.position == BEFORE
        return found

    def at(self, code: Ints, position: Ints) -> Ints:
        """Return the first cell of a group that is not before a step, or the first one of the next group."""
        return np.searchsorted(self._packed(self.code, self.position), self._packed(code, position))

    def _packed(self, code: Ints, position: Ints) -> Ints:
        return code * (self.steps + 2) + np.minimum(position, self.steps) + 1


def times(code: Ints, position: Ints, steps: int) -> Times:
    """Return the cells in which things happen to groups, given the code and the step of each."""
    groups = np.unique(code)
    codes = np.concatenate([groups, code])
    positions = np.concatenate([np.full(len(groups), BEFORE, np.int64), position])
    order = np.lexsort((positions, codes))
    codes, positions = codes[order], positions[order]
    new = np.flatnonzero(begins(codes, positions))
    return Times(codes[new], positions[new], steps)


def first_standing(n: int, since: Ints, until: Ints, rank: Ints) -> Ints:
    """Return of each of ``n`` cells the least rank of what stands there; `NOBODY` where nothing does.

    >>> import numpy as np
    >>> one, other = (0, 3, 7), (1, 2, 5)
    >>> since, until, rank = map(np.array, zip(one, other))
    >>> [int(rank) if rank != NOBODY else None for rank in first_standing(4, since, until, rank)]
    [7, 5, 7, None]

    Args:
        n: How many cells there are.
        since: The cell from which on each thing stands.
        until: The cell before which it leaves.
        rank: Its rank.
    """
    size = 1 << max(n - 1, 0).bit_length()
    least = np.full(2 * size, NOBODY, np.int64)
    left, right = since + size, until + size
    while len(left):
        is_odd = (left & 1 == 1) & (left < right)
        np.minimum.at(least, left[is_odd], rank[is_odd])
        left = left + is_odd
        is_odd = (right & 1 == 1) & (left < right)
        right = right - is_odd
        np.minimum.at(least, right[is_odd], rank[is_odd])
        left, right = left >> 1, right >> 1
        goes_on = left < right
        left, right, rank = left[goes_on], right[goes_on], rank[goes_on]
    level = 1
    while level < size:
        below = least[2 * level : 4 * level]
        np.minimum(below, np.repeat(least[level : 2 * level], 2), out=below)
        level *= 2
    return least[size : size + n]
