"""Stacks: where every event is used once and nothing else limits the memories, what meets is found without a loop.

A result comes whenever the slot of which fewest have come gets another; so a slot always has as many events left as it
is ahead of that one. What is left of it is a stack (oldest first: a queue), and what comes and what is taken is matched
as brackets are: at each height they alternate.

Invariant: of one key, some slot has nothing left.

Source: SEMANTICS 1.5 and 1.17; ICFP 2018, doi:10.1145/3236762, Table 3 (affinely on all).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@attrs.frozen(eq=False)
class Used:
    """What is used of some rows.

    Args:
        by: Which rows make the results, one each.
        parts: Of each slot: the parts of the results.
        left: Of each slot: the rows that are not used.
    """

    by: Ints
    parts: list[Ints]
    left: list[Ints]


def used_once(slot: NDArray[Any], key: Ints, n: int, *, is_oldest_first: bool) -> Used:
    """Return what meets, and what is left.

    >>> import numpy as np
    >>> used = used_once(np.array([0, 0, 1, 1]), np.zeros(4, int), 2, is_oldest_first=False)  # L1 L2 R1 R2
    >>> used.by, used.parts
    (array([2, 3]), [array([1, 0]), array([2, 3])])

    Args:
        slot: The slot of each row, in the order of arrival, key by key.
        key: The code of its key, ascending.
        n: How many slots there are, at least two.
        is_oldest_first: Whether the oldest is used first.
    """
    begins, group = _groups(key)
    mine = [slot == number for number in range(n)]
    so_far = [np.cumsum(one, dtype=np.int32) for one in mine]
    before = [all_[begins] - one[begins] for all_, one in zip(so_far, mine, strict=True)]  # of earlier keys
    came = so_far
    if group is not None:
        came = [all_ - earlier[group] for all_, earlier in zip(so_far, before, strict=True)]
    least = came[0]
    for one in came[1:]:
        least = np.minimum(least, one)
    is_last = np.zeros(len(slot), np.bool_)
    np.greater(least[1:], least[:-1], out=is_last[1:])  # where a key begins it is 0
    by = np.flatnonzero(is_last)
    parts, left = [], []
    for number in range(n):
        if is_oldest_first:
            rows = np.flatnonzero(mine[number])
            parts.append(rows[(0 if group is None else before[number][group[by]]) + least[by] - 1])
            at_the_end = least[np.append(begins[1:], len(slot)) - 1] if len(slot) else least
            is_left = came[number] > (at_the_end if group is None else at_the_end[group])
            left.append(np.flatnonzero(mine[number] & is_left))
        else:
            taken, stays = _matched(mine[number], is_last, came[number] - least, group)
            parts.append(np.where(mine[number][by], by, taken[by]))
            left.append(stays)
    return Used(by, parts, left)


def _groups(key: Ints) -> tuple[Ints, Ints | None]:
    """Return where each key begins, and the number of the key of each row; None if there is one key."""
    if not len(key) or key[0] == key[-1]:
        return np.zeros(min(len(key), 1), np.int64), None
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    return begins, np.repeat(np.arange(len(begins)), np.diff(begins, append=len(key)))


def _matched(
    is_mine: NDArray[np.bool_], is_last: NDArray[np.bool_], height: NDArray[np.int32], group: Ints | None
) -> tuple[Ints, Ints]:
    """Return what is taken of a stack by each row that makes a result, and what stays, in order.

    Args:
        is_mine: Which rows come to it.
        is_last: Which rows make a result: one of its own is used at once, one of another slot takes the newest.
        height: Its height after each row.
        group: The key of each row.
    """
    changes = np.flatnonzero(is_mine != is_last)
    level = height[changes] - is_mine[changes]
    most = int(level.max(initial=0))
    if most:
        place = level if group is None else group[changes] * (most + 1) + level
        few = int(place.max()) < 1 << 16
        changes = changes[np.argsort(place.astype(np.uint16) if few else place, kind="stable")]
    takes = is_last[changes]
    places = np.flatnonzero(takes)
    taken = np.zeros(len(is_mine), np.int64)
    taken[changes[places]] = changes[places - 1]
    is_taken = np.append(takes[1:], [False]) if len(takes) else takes
    return taken, np.sort(changes[~takes & ~is_taken])
