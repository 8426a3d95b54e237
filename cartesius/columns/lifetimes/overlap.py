"""Versions and how they overlap: the temporal join as functions of numpy arrays, which know nothing of events.

A memory that keeps the newest event of each key turns a stream into *versions*, rows that are valid in [born, died):
the steps from their arrival to that of their successor. Versions that have the same code and overlap make a result, at
the later of the two births, that is taken back at the earlier of the two deaths; what is left of the life of a version
without any partner is a *gap*.

Invariant: a code is an int from 0, or negative where a version meets nothing; steps are ints below `FOREVER`.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.vectors.ordering import by_code, ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices

NONE: Final = -1
"""In the place of an index: there is no such row."""
FOREVER: Final = 2**31
"""In the place of a death: there is none yet. Later than every step of a batch."""


def successors(codes: NDArray[np.int64], count: int, n: int = 1) -> Indices:
    """Return of each row the ``n``-th next one of the same code, `NONE` where there is none.

    >>> successors(np.array([0, 1, 0, 0]), 2).tolist()
    [2, -1, 3, -1]
    """
    found = np.full(len(codes), NONE, np.int64)
    order = by_code(codes, count)
    if n < len(order):
        alike = codes[order[n:]] == codes[order[:-n]]
        found[order[:-n][alike]] = order[n:][alike]
    return found


def earliest(codes: NDArray[np.int64], count: int, n: int = 1) -> NDArray[np.bool_]:
    """Return which rows are among the ``n`` first of their code.

    >>> earliest(np.array([0, 1, 0, 0]), 2, 2).tolist()
    [True, True, True, False]
    """
    found = np.ones(len(codes), np.bool_)
    order = by_code(codes, count)
    if n < len(order):
        found[order[n:]] = codes[order[n:]] != codes[order[:-n]]
    return found


# -- versions of one common key ----------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Carried:
    """What `carried` returns.

    Args:
        parts: For each slot and place, the index of the newest row of that slot up to there with the code of the place,
            `NONE` if there is none.
        previous: The place before each that has the same code, `NONE` if it is the first; None if not asked for.
    """

    parts: list[Indices]
    previous: Indices | None


def carried(
    places: Sequence[Indices], codes: Sequence[NDArray[Any]], count: int, *, with_previous: bool = True
) -> Carried:
    """Carry the newest row of each slot and code forward: the overlap join of slots that have one key in common.

    One stable sort by code, and one running maximum a slot; no sort at all where there is one code.

    >>> newest = carried([np.array([0, 3]), np.array([1, 2])], [np.array([0, 0]), np.array([1, 0])], 2)
    >>> [part.tolist() for part in newest.parts], newest.previous.tolist()
    ([[0, -1, 0, 1], [-1, 0, 1, 1]], [-1, -1, 0, 2])

    Args:
        places: Of each slot: the place of each row in the order of arrival of all, from 0; ascending, and all distinct.
        codes: Of each slot: the code of each row.
        count: How many codes there are.
        with_previous: Whether the place before each is asked for.
    """
    total = sum(map(len, places))
    if count <= 1:
        return Carried([_newest(mine, total) for mine in places], np.arange(-1, total - 1))
    every = np.empty(total, np.int64)
    for mine, code in zip(places, codes, strict=True):
        every[mine] = code
    order = by_code(every, count)
    # Of each code rows are counted from where those of the code before it end: what a running maximum has carried from
    # another code is below the base of the present one.
    base = every[order]
    previous = None
    if with_previous:
        previous = np.full(total, NONE, np.int64)
        alike = base[1:] == base[:-1]
        previous[order[1:][alike]] = order[:-1][alike]
    base *= total + 1
    parts = []
    for mine in places:
        row = np.zeros(total, np.int64)
        row[mine] = np.arange(1, len(mine) + 1)
        newest = row[order]
        newest += base
        np.maximum.accumulate(newest, out=newest)
        newest -= base
        newest -= 1
        row[order] = newest
        parts.append(row)
    return Carried(parts, previous)


def _newest(mine: Indices, total: int) -> Indices:
    """Return of each place the index of the newest row up to there."""
    found = np.zeros(total, np.int64)
    found[mine] = 1
    found[:1] -= 1
    return np.cumsum(found, out=found)


# -- versions of any codes ---------------------------------------------------------------------------------------------


class TooMany(Exception):  # a control signal that never leaves the kernel
    """There are more pairs than should be in store at a time."""


@attrs.frozen(eq=False)
class Versions:
    """Rows with the steps in which they are valid.

    Args:
        code: What they are joined by; negative where they meet nothing.
        born: The step that each begins with.
        died: The step that each ends before; `FOREVER` if none does.
    """

    code: NDArray[np.int64]
    born: NDArray[np.int64]
    died: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.code)


class _Sorted:
    """Versions that live at all, by code and birth."""

    def __init__(self, versions: Versions, span: int, low: int) -> None:
        lives = np.flatnonzero((versions.born < versions.died) & (versions.code >= 0))
        code, born = versions.code[lives], versions.born[lives]
        count = int(code.max()) + 1 if len(code) else 0
        is_ascending = len(born) < 2 or bool((born[1:] >= born[:-1]).all())
        order = by_code(code, count) if is_ascending else np.argsort(code * span + born)
        self.index = lives[order]
        base = code[order] * span - low
        self.since = base + born[order]
        self.until = base + np.minimum(versions.died[self.index], low + span - 1)


def overlapping(
    left: Versions, right: Versions, *, fresh: int | None = None, most: int | None = None
) -> tuple[Indices, Indices]:
    """Return the pairs of indices of versions with one code that overlap, each once, in no particular order.

    A pair overlaps if the one is born while the other is alive. Those that are born in a span of time are next to each
    other once they are sorted by code and birth, so a pair costs no more than it takes to write it down.

    >>> left = Versions(np.array([7, 7]), np.array([0, 4]), np.array([4, FOREVER]))
    >>> right = Versions(np.array([7, 8]), np.array([2, 3]), np.array([6, FOREVER]))
    >>> [sorted(pairs.tolist()) for pairs in overlapping(left, right)]
    [[0, 1], [0, 0]]

    Args:
        left: Versions.
        right: Versions.
        fresh: Pairs of which both were born before this step are left out; None: there are no such.
        most: If there are more pairs than that, none are made; None: any number.

    Raises:
        TooMany: There are more.
    """
    if not len(left) or not len(right):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = int(min(left.born.min(), right.born.min()))
    span = int(max(left.born.max(), right.born.max())) - low + 2
    a, b = _Sorted(left, span, low), _Sorted(right, span, low)
    since = a.since if fresh is None else a.since + np.maximum(fresh - left.born[a.index], 0)
    later = np.searchsorted(b.since, since)
    n_later = np.maximum(np.searchsorted(b.since, a.until) - later, 0)
    since = b.since if fresh is None else b.since + np.maximum(fresh - 1 - right.born[b.index], 0)
    earlier = np.searchsorted(a.since, since, "right")
    n_earlier = np.maximum(np.searchsorted(a.since, b.until) - earlier, 0)
    if most is not None and int(n_later.sum() + n_earlier.sum()) > most:
        raise TooMany
    mine, its = ranges(later, n_later)
    its_too, mine_too = ranges(earlier, n_earlier)
    return a.index[np.concatenate([mine, mine_too])], b.index[np.concatenate([its, its_too])]


def gaps(
    born: NDArray[np.int64], died: NDArray[np.int64], owner: Indices, since: NDArray[np.int64], until: NDArray[np.int64]
) -> tuple[Indices, NDArray[np.int64], NDArray[np.int64]]:
    """Return what is left of lives without the spans in which they have a partner: whose, from when, until when.

    The spans of one owner may overlap. Each gap is as long as can be.

    >>> [found.tolist() for found in gaps(*map(np.array, ([0, 5], [9, 7], [0, 0, 0], [1, 2, 6], [3, 5, 9])))]
    [[0, 0, 1], [0, 5, 5], [1, 6, 7]]

    Args:
        born: When each life begins.
        died: When it ends.
        owner: The index of the life that each span belongs to; it lies within it.
        since: When each span begins.
        until: When it ends.
    """
    # A life is over where an empty span lies; and before it begins nothing is left.
    lives = np.flatnonzero(born < died)
    owner = np.concatenate([owner, lives])
    since = np.concatenate([since, died[lives]])
    until = np.concatenate([until, died[lives]])
    order = np.lexsort((since, owner))
    owner, since, until = owner[order], since[order], until[order]
    low = int(born.min()) if len(born) else 0
    width = int(died.max()) - low + 1 if len(died) else 1
    reached = np.maximum.accumulate(owner * width + (until - low)) - owner * width + low
    before = born[owner]
    is_same = owner[1:] == owner[:-1]
    before[1:][is_same] = reached[:-1][is_same]
    is_gap = before < since
    return owner[is_gap], before[is_gap], since[is_gap]
