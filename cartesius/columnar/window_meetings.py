"""Meetings: which rows of two slots meet in windows, and what is left there.

Source: SEMANTICS 1.3 and 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columnar.candidates import Parts
from cartesius.columnar.ordering import begins, by_code
from cartesius.columnar.rows import BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.rows import Rows
    from cartesius.columnar.spans import Spans
    from cartesius.columnar.vectors import Indices, Vector

    Ints = NDArray[np.int64]


class InWindow(Parts):
    """The parts of one slot, and their windows."""

    def __init__(self, rows: Rows, indices: Indices, windows: Ints, spans: Spans, key: Vector | None) -> None:
        super().__init__(rows, indices, key=key)
        self.windows = windows
        self.spans = spans

    def chosen(self, keep: NDArray[np.bool_]) -> Parts:
        """Return the parts of the candidates where ``keep`` is true."""
        return InWindow(self.rows, self.indices[keep], self.windows, self.spans, self._key)

    @property
    def window(self) -> Vector:
        """The windows of the candidates."""
        return self.spans.column(self.windows[self.indices])


def met(
    codes: Sequence[Ints], count: int, positions: Sequence[Ints], newest: Sequence[int | None], *, is_oldest_first: bool
) -> tuple[Indices, Indices]:
    """Return which rows of two slots meet under equal codes, the later one in the batch: in order of enumeration.

    Args:
        codes: The group of each row, by slot; rows are in order of arrival.
        count: They are in ``range(count)``.
        positions: The step of each row.
        newest: How many of the newest of a slot, under one code, are there; None: all.
        is_oldest_first: Whether they are visited so.
    """
    sizes = [len(mine) for mine in codes]
    slot, place = np.repeat([0, 1], sizes), np.concatenate([np.arange(size) for size in sizes])
    position, code = np.concatenate(positions), np.concatenate(codes)
    arrival = np.argsort(position, kind="stable")
    order = arrival[by_code(code[arrival], count)]
    first = begins(code[order])
    since = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    found: list[Indices] = []
    ends, lengths = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    for one in (0, 1):
        is_mine = slot[order] == one
        found.append(place[order[is_mine]])
        so_far = np.cumsum(is_mine)
        there = so_far - (so_far - is_mine)[since]
        n = newest[one]
        other = ~is_mine
        ends[order[other]] = so_far[other]
        lengths[order[other]] = there[other] if n is None else np.minimum(there[other], n)
    lengths[position == BEFORE] = 0
    meeting = arrival[lengths[arrival] > 0]
    lengths, ends = lengths[meeting], ends[meeting]
    total = int(lengths.sum())
    within = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    partner = np.repeat(ends - lengths, lengths) + within if is_oldest_first else np.repeat(ends - 1, lengths) - within
    mine, which = np.repeat(place[meeting], lengths), np.repeat(slot[meeting], lengths)
    left, right = np.empty(total, np.int64), np.empty(total, np.int64)
    is_left = which == 0
    left[is_left], right[is_left] = mine[is_left], found[1][partner[is_left]]
    right[~is_left], left[~is_left] = mine[~is_left], found[0][partner[~is_left]]
    return left, right


def from_last(windows: Ints, keys: Ints) -> Ints:
    """Return how many rows of the same window and key come after each."""
    codes = (windows - int(windows.min())) * (int(keys.max()) + 1) + keys
    order = by_code(codes, int(codes.max()) + 1)
    heads = np.flatnonzero(begins(codes[order]))
    lengths = np.diff(np.append(heads, len(order)))
    found = np.empty(len(order), np.int64)
    found[order] = np.repeat(heads + lengths - 1, lengths) - np.arange(len(order))
    return found
