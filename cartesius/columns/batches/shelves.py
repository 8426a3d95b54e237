"""Shelves: the rows of one slot, to be found by their keys, taken away and put back.

They are found by chains: of each key the last row, and of each row the one of its key before it. Rows lie in few parts,
one after the other, each much longer than the next: the last ones are put together until that is so.

Invariant: what is held is what the chains lead to.

Source: O'Neil et al., The log-structured merge-tree, doi:10.1007/s002360050048.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import joined
from cartesius.columns.vectors.ordering import begins
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows

    Ints = NDArray[np.int64]

NONE: Final = -1
LONGER: Final = 4
"""So many times longer is a part than the one behind it, at least."""


class Shelf:
    """The rows of one slot."""

    def __init__(self) -> None:
        self.parts: list[Rows] = []
        self.n = 0
        self.held = 0
        self._before = np.zeros(0, np.int64)  # of each row the one of its key before it; the array is longer
        self._last = np.zeros(0, np.int64)  # of each code; likewise

    @property
    def nbytes(self) -> int:
        """How many bytes its rows and chains take, beside payload and keys."""
        return self._before.nbytes + self._last.nbytes + sum(part.nbytes for part in self.parts)

    def put(self, rows: Rows, codes: Ints) -> None:
        """Put rows behind those that are there, given the codes of their keys."""
        if not len(rows):
            return
        order = np.argsort(codes, kind="stable")
        code, number = codes[order], self.n + order
        first = begins(code)
        self._last = _as_long(self._last, int(code[-1]) + 1)
        self._before = _as_long(self._before, self.n + len(rows))
        self._before[number[1:]] = number[:-1]
        self._before[number[first]] = self._last[code[first]]
        is_last = np.append(first[1:], True)
        self._last[code[is_last]] = number[is_last]
        self.n += len(rows)
        self.held += len(rows)
        self.parts.append(rows)
        while len(self.parts) > 1 and len(self.parts[-2]) < LONGER * len(self.parts[-1]):
            self.parts[-2:] = [joined(self.parts[-2:])]

    def of(self, codes: Ints) -> Ints:
        """Return the numbers of the rows of some keys, ascending."""
        there = self._last[codes[codes < len(self._last)]]
        found = [there[:0]]
        while len(there := there[there != NONE]):
            found.append(there)
            there = self._before[there]
        return np.sort(np.concatenate(found))

    def forget(self, codes: Ints) -> None:
        """Let the rows of some keys go."""
        self.held -= len(self.of(codes))
        self._last[codes[codes < len(self._last)]] = NONE

    def rows(self, numbers: Ints) -> Rows | None:
        """Return the rows of these numbers, in the order of arrival; None if none has ever been there."""
        if not self.parts:
            return None
        firsts = np.cumsum([0, *map(len, self.parts)])
        cuts = np.searchsorted(numbers, firsts)
        found = [
            part.take(numbers[since:until] - first)
            for part, first, since, until in zip(self.parts, firsts.tolist(), cuts, cuts[1:], strict=False)
        ]
        rows = joined(found)
        arrived = rows.number
        return rows if (arrived[1:] >= arrived[:-1]).all() else rows.take(np.argsort(arrived, kind="stable"))

    def fitting(self, rows: Rows) -> Rows | None:
        """Return rows with the types of those that are there, so that they lie beside them; None: they have others."""
        if not self.parts or _types(self.parts[0]).equals(_types(rows), check_metadata=True):
            return rows
        try:
            rows = joined([self.parts[0].take(np.zeros(1, np.int64)), rows]).take(np.arange(1, 1 + len(rows)))
        except NotColumnar:
            return None
        return rows if _types(self.parts[0]).equals(_types(rows), check_metadata=True) else None

    def all(self) -> Rows | None:
        """Return all that is held."""
        return self.rows(self.of(np.arange(len(self._last))))


def _as_long(array: Ints, n: int) -> Ints:
    """Return an array with room for ``n`` values, those that are new `NONE`."""
    if len(array) >= n:
        return array
    longer = np.full(2 * n, NONE, np.int64)
    longer[: len(array)] = array
    return longer


def _types(rows: Rows) -> pa.Schema:
    vectors = {"payload": rows.payload, "key": rows.key, "window": rows.window}
    return pa.schema([one.field(name) for name, one in vectors.items() if one is not None])
