"""Shelves: the rows of one slot, to be found by their keys, and by those that they name, taken away and put back.

They are found by chains: of each key the last row, and of each row the one of its key before it. Rows lie in few parts,
one after the other, each much longer than the next: the last ones are put together until that is so.

Invariant: what is held is what the chains of keys lead to; those of what is named lead also to what was held.

Source: O'Neil et al., The log-structured merge-tree, doi:10.1007/s002360050048.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import LAST, joined
from cartesius.columns.vectors.ordering import begins, single
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Ints

NONE: Final = -1
LONGER: Final = 4
"""So many times longer is a part than the one behind it, at least."""
DEEP: Final = 64
"""So many links of a chain are followed."""


class Chain:
    """Rows by a code: of each code the last row, and of each row its code, and the one of it before."""

    def __init__(self) -> None:
        self._code, self._before, self._last = (np.zeros(0, np.int64) for _ in range(3))  # longer than they need be

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        return self._code.nbytes + self._before.nbytes + self._last.nbytes

    def put(self, codes: Ints, n: int) -> None:
        """Put rows behind ``n`` others, given their codes."""
        order = np.argsort(codes, kind="stable")
        code, number = codes[order], n + order
        first = begins(code)
        self._last = _as_long(self._last, int(code[-1]) + 1)
        self._before = _as_long(self._before, n + len(codes))
        self._code = _as_long(self._code, n + len(codes))
        self._code[n : n + len(codes)] = codes
        self._before[number[1:]] = number[:-1]
        self._before[number[first]] = self._last[code[first]]
        is_last = np.append(first[1:], True)
        self._last[code[is_last]] = number[is_last]

    def of(self, codes: Ints, is_held: NDArray[np.int8]) -> Ints:
        """Return the numbers of the rows of some codes, each code once, given which rows are held.

        Each link is a step; where many rows have one code, all rows are looked at instead, at once.
        """
        codes = codes[codes < len(self._last)]
        there = self._last[codes]
        found = [there[:0]]
        while len(there := there[there != NONE]):
            if len(found) > DEEP:
                is_asked = np.zeros(len(self._last), np.bool_)
                is_asked[codes] = True
                held = np.flatnonzero(is_held == 1)
                return held[is_asked[self._code[held]]]
            found.append(there)
            there = self._before[there]
        return np.concatenate(found)

    def codes(self, numbers: Ints) -> Ints:
        """Return the codes of some rows, each once."""
        return single(self._code[numbers])

    def forget(self, codes: Ints) -> None:
        """Let the rows of some codes go."""
        self._last[codes[codes < len(self._last)]] = NONE


class Shelf:
    """The rows of one slot.

    Args:
        n_links: How many others they name by keys of theirs.
    """

    def __init__(self, n_links: int = 0) -> None:
        self.parts: list[Rows] = []
        self.n = 0
        self.held = 0
        self.keys = Chain()
        self.links = [Chain() for _ in range(n_links)]
        self._due = np.zeros(0, np.int64)  # likewise longer
        self._earliest = LAST  # nothing that is held is due before
        self._types: pa.Schema | None = None  # of the parts
        self._is_held = np.zeros(0, np.int8)  # longer than it need be

    @property
    def nbytes(self) -> int:
        """How many bytes its rows and chains take, beside payload and keys."""
        chains = sum(one.nbytes for one in (self.keys, *self.links))
        return chains + self._is_held.nbytes + self._due.nbytes + sum(part.nbytes for part in self.parts)

    def put(self, rows: Rows, codes: Ints, *links: Ints, due: Ints | None = None) -> None:
        """Put rows behind those that are there, given the codes of their keys, and of those that they name.

        Args:
            rows: The rows.
            codes: The codes of their keys.
            *links: The codes of what they name.
            due: When they are due; None: they never are.
        """
        if not len(rows):
            return
        if due is not None:
            self._due = _as_long(self._due, self.n + len(rows))
            self._due[self.n : self.n + len(rows)] = due
            self._earliest = min(self._earliest, int(due.min()))
        for chain, mine in zip((self.keys, *self.links), (codes, *links), strict=True):
            chain.put(mine, self.n)
        self._is_held = _as_long(self._is_held, self.n + len(rows))
        self._is_held[self.n : self.n + len(rows)] = 1
        self.n += len(rows)
        self.held += len(rows)
        first, n = len(self.parts), len(rows)
        while first and len(self.parts[first - 1]) < LONGER * n:
            first -= 1
            n += len(self.parts[first])
        self.parts[first:] = [joined([*self.parts[first:], rows])]

    def of(self, codes: Ints) -> Ints:
        """Return the numbers of the rows of some keys, ascending."""
        return np.sort(self.keys.of(codes, self._is_held))

    def naming(self, link: int, codes: Ints) -> Ints:
        """Return the keys of the rows that name some, by codes."""
        numbers = self.links[link].of(codes, self._is_held)
        return self.keys.codes(numbers[self._is_held[numbers] == 1])

    def named(self, link: int, codes: Ints) -> Ints:
        """Return what the rows of some keys name."""
        return self.links[link].codes(self.keys.of(codes, self._is_held))

    def due(self, before: int) -> Ints:
        """Return the keys of the rows that are due before a time.

        All are looked at where some are due, as many often are at one time: two milliseconds a million.
        """
        if before <= self._earliest:
            return np.zeros(0, np.int64)
        is_held = self._is_held[: self.n] == 1
        due = self._due[: self.n]
        self._earliest = int(due[is_held].min(initial=LAST))
        return self.keys.codes(np.flatnonzero(is_held & (due < before)))

    def forget(self, codes: Ints) -> None:
        """Let the rows of some keys go."""
        gone = self.keys.of(codes, self._is_held)
        self._is_held[gone] = 0
        self.held -= len(gone)
        self.keys.forget(codes)

    def rows(self, numbers: Ints) -> Rows | None:
        """Return the rows of these numbers, in the order of arrival; None if none has ever been there."""
        if not self.parts:
            return None
        firsts = np.cumsum([0, *map(len, self.parts)])
        cuts = np.searchsorted(numbers, firsts)
        found = [
            part.take(numbers[since:until] - first)
            for part, first, since, until in zip(self.parts, firsts.tolist(), cuts, cuts[1:], strict=False)
            if since < until
        ]
        rows = joined(found or [self.parts[0].take(numbers)])
        arrived = rows.number
        return rows if (arrived[1:] >= arrived[:-1]).all() else rows.take(np.argsort(arrived, kind="stable"))

    def fitting(self, rows: Rows) -> Rows | None:
        """Return rows with the types of those that are there, so that they lie beside them; None: they have others."""
        if not self.parts:
            return rows
        if self._types is None:
            self._types = _types(self.parts[0])
        if self._types.equals(_types(rows), check_metadata=True):
            return rows
        try:
            rows = joined([self.parts[0].take(np.zeros(1, np.int64)), rows]).take(np.arange(1, 1 + len(rows)))
        except NotColumnar:
            return None
        return rows if self._types.equals(_types(rows), check_metadata=True) else None

    def all(self) -> Rows | None:
        """Return all that is held."""
        return self.rows(np.flatnonzero(self._is_held[: self.n]))


def _as_long(array: Any, n: int) -> Any:
    """Return an array with room for ``n`` values, those that are new `NONE`."""
    if len(array) >= n:
        return array
    longer = np.full(max(n, 3 * len(array) // 2), NONE, array.dtype)
    longer[: len(array)] = array
    return longer


def _types(rows: Rows) -> pa.Schema:
    vectors = {"payload": rows.payload, "key": rows.key, "window": rows.window}
    return pa.schema([one.field(name) for name, one in vectors.items() if one is not None])
