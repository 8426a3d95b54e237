"""Segments: rows sorted by group, so that what runs along a group is one operation on columns.

In front of the rows stand those of the groups that were there before, one each: so a running total begins with theirs.

Invariant: within a segment rows are in order of arrival, what was before first.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.vectors.ordering import by_code

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices


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
        self.is_head = np.ones(self.size, np.bool_)
        np.not_equal(in_order[1:], in_order[:-1], out=self.is_head[1:])

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
