"""Ordering: rows by key, and changes by step, without comparing more than must be.

Of rows sorted by group what runs along a group, a segment, is one operation on columns. In front of the rows stand
those of the groups that were there before, one each: so a running total begins with theirs.

Invariant: within a segment rows are in order of arrival, what was before first.

Sources: radix sort, which numpy has for 16-bit numbers; a number and its place packed into one, which sorts stably.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cartesius.columns.vectors.vectors import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices

_RADIX: Final = 1 << 16
_BITS: Final = 62
_FEW: Final = 1 << 12
LAST: Final = np.iinfo(np.int64).max


def by_code(codes: NDArray[Any], count: int) -> Indices:
    """Return the stable order of codes in ``range(count)``."""
    if count <= 1:
        return np.arange(len(codes))
    if count <= _RADIX:
        return np.argsort(codes.astype(np.uint16), kind="stable")
    bits = len(codes).bit_length()
    if bits + count.bit_length() > _BITS:
        return np.argsort(codes, kind="stable")
    packed = (codes.astype(np.int64, copy=False) << bits) | np.arange(len(codes))
    packed.sort()
    return packed & ((1 << bits) - 1)


def by_position(positions: NDArray[np.int64], steps: int) -> Indices | None:
    """Return the order by position, in ``range(steps)``; None if two are in one step."""
    place = np.full(steps, MISSING, np.int64)
    place[positions] = np.arange(len(positions))
    order = place[place != MISSING]
    return order if len(order) == len(positions) else None


def by_several(columns: Sequence[tuple[NDArray[Any], int]]) -> Indices:
    """Return the order by several columns, the first one first; each is at most what stands beside it.

    No two rows have the same in all of them.
    """
    if sum(bound.bit_length() for _, bound in columns) > _BITS:
        return np.lexsort([column for column, _ in reversed(columns)])
    packed = np.zeros(len(columns[0][0]), np.int64)
    for column, bound in columns:
        packed = (packed << bound.bit_length()) | column
    return np.argsort(packed)


def sorted_rows(columns: Sequence[tuple[NDArray[np.int64], int]]) -> list[NDArray[np.int64]]:
    """Return the columns of rows sorted by all of them; each is in ``range`` of what stands beside it.

    Numbers are sorted much faster than the places of numbers, so rows are packed into one number each, if they fit.
    """
    bits = [(bound - 1).bit_length() for _, bound in columns]
    if sum(bits) > _BITS:
        order = np.lexsort([column for column, _ in reversed(columns)])
        return [column[order] for column, _ in columns]
    packed = np.zeros(len(columns[0][0]), np.int64)
    for (column, _), width in zip(columns, bits, strict=True):
        packed <<= width
        packed |= column
    packed.sort()
    found = []
    for width in reversed(bits):
        found.append(packed & ((1 << width) - 1))
        packed >>= width
    return found[::-1]


def ascends(numbers: NDArray[np.int64], *, strictly: bool = False) -> bool:
    """Whether each number is at least the one before, or more."""
    before, after = numbers[:-1], numbers[1:]
    return bool((before < after if strictly else before <= after).all())


def last_of_each(codes: NDArray[np.int64], count: int) -> Indices:
    """Return the place of the last of each code in ``range(count)``, `MISSING` where there is none."""
    last = np.full(count, MISSING, np.int64)
    last[codes] = np.arange(len(codes))
    return last


def single(values: NDArray[Any]) -> NDArray[Any]:
    """Return values in order, each once: of few, faster than `numpy.unique`."""
    ordered = np.sort(values)
    return ordered[begins(ordered)]


def begins(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where one of the columns differs from its value before."""
    found = np.ones(len(columns[0]), np.bool_)
    if len(found):
        found[1:] = columns[0][1:] != columns[0][:-1]
        for column in columns[1:]:
            found[1:] |= column[1:] != column[:-1]
    return found


def ends(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where one of the columns differs from its next value."""
    return np.append(begins(*columns)[1:], True)[: len(columns[0])]


def ranges(first: Indices, lengths: Indices) -> tuple[Indices, Indices]:
    """Return of each of some rows the numbers from its first one on, with the number of the row beside each.

    >>> [found.tolist() for found in ranges(np.array([7, 0, 3]), np.array([2, 0, 1]))]
    [[0, 0, 2], [7, 8, 3]]
    """
    row = np.repeat(np.arange(len(lengths)), lengths)
    return row, np.arange(len(row)) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)


def bisected(ordered: NDArray[np.int64], asked: NDArray[np.int64]) -> Indices:
    """Return how many of the ordered numbers are at most what is asked, for each."""
    if len(asked) < _FEW:
        return np.searchsorted(ordered, asked, "right")
    order = np.argsort(asked)  # bisection in order stays in the caches
    found = np.empty(len(asked), np.int64)
    found[order] = np.searchsorted(ordered, asked[order], "right")
    return found


class Segments:
    """Rows by group.

    Args:
        codes: The group of each, those of what was before first.
        count: They are in ``range(count)``.
        before: How many groups were there before.
    """

    def __init__(self, codes: NDArray[np.int64], count: int, before: int) -> None:
        self.before = before
        self.size = len(codes)
        self.order: Indices | None = None if count == 1 else by_code(codes, count)
        in_order = codes if self.order is None else codes[self.order]
        self.is_head = begins(in_order)

    @cached_property
    def heads(self) -> Indices:
        """Where segments begin."""
        return np.flatnonzero(self.is_head)

    @cached_property
    def tails(self) -> Indices:
        """Where segments end, the last row of each."""
        return np.append(self.heads[1:], self.size) - 1

    @cached_property
    def lengths(self) -> Indices:
        """How many rows each has."""
        lengths: Indices = np.diff(np.append(self.heads, self.size))
        return lengths

    @cached_property
    def first(self) -> Indices:
        """Which row is the first of each segment."""
        return self.heads if self.order is None else self.order[self.heads]

    @cached_property
    def by_arrival(self) -> Indices:
        """The segments, by their first rows: groups in the order in which they were first met."""
        return np.argsort(self.first, kind="stable")

    @cached_property
    def number(self) -> Indices:
        """The segment of each row, in their order."""
        return np.cumsum(self.is_head) - 1

    @cached_property
    def places(self) -> Indices:
        """Where each row is by segment, without those of before."""
        if self.order is None:
            return np.arange(self.before, self.size)
        places: Indices = np.empty(self.size, np.int64)
        places[self.order] = np.arange(self.size)
        return places[self.before :]

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what each row has, those before first, by segment."""
        return values if self.order is None else values[self.order]

    def running(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return running sums within segments; they may leave 64 bits on the way, as long as no sum does."""
        total = np.cumsum(values)
        if len(self.heads) > 1:
            total -= np.repeat(total[self.heads] - values[self.heads], self.lengths)
        return total

    def changed(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where a value differs from the one before it, or is the first."""
        changed = self.is_head.copy()
        changed[1:] |= values[1:] != values[:-1]
        return changed
