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

from cartesius.columns.stages.rows import joined
from cartesius.columns.vectors.ordering import begins, single
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows

    Ints = NDArray[np.int64]

NONE: Final = -1
LONGER: Final = 4
"""So many times longer is a part than the one behind it, at least."""
SPANS: Final = 1 << 10
"""In so many spans of time lies what is due; later more are added, but for what is due after the farthest."""
FARTHEST: Final = 1 << 16


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

    def of(self, codes: Ints) -> Ints:
        """Return the numbers of the rows of some codes."""
        there = self._last[codes[codes < len(self._last)]]
        found = [there[:0]]
        while len(there := there[there != NONE]):
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
        self._times = Chain()  # by the spans of time in which rows are due
        self._due = np.zeros(0, np.int64)
        self._types: pa.Schema | None = None  # of the parts
        self._is_held = np.zeros(0, np.int8)  # longer than it need be

    @property
    def nbytes(self) -> int:
        """How many bytes its rows and chains take, beside payload and keys."""
        chains = sum(one.nbytes for one in (self.keys, self._times, *self.links))
        return chains + self._is_held.nbytes + self._due.nbytes + sum(part.nbytes for part in self.parts)

    def put(self, rows: Rows, codes: Ints, *links: Ints, due: tuple[Ints, Ints] | None = None) -> None:
        """Put rows behind those that are there, given the codes of their keys, and of those that they name.

        Args:
            rows: The rows.
            codes: The codes of their keys.
            *links: The codes of what they name.
            due: The codes of the spans of time in which they are due, and when they are; None: they never are.
        """
        if not len(rows):
            return
        if due is not None:
            self._times.put(due[0], self.n)
            self._due = _as_long(self._due, self.n + len(rows))
            self._due[self.n : self.n + len(rows)] = due[1]
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
        return np.sort(self.keys.of(codes))

    def naming(self, link: int, codes: Ints) -> Ints:
        """Return the keys of the rows that name some, by codes."""
        numbers = self.links[link].of(codes)
        return self.keys.codes(numbers[self._is_held[numbers] == 1])

    def named(self, link: int, codes: Ints) -> Ints:
        """Return what the rows of some keys name."""
        return self.links[link].codes(self.keys.of(codes))

    def due(self, codes: Ints, before: int) -> Ints:
        """Return the keys of the rows that are due in some spans of time, and before a time."""
        numbers = self._times.of(codes)
        return self.keys.codes(numbers[(self._is_held[numbers] == 1) & (self._due[numbers] < before)])

    def forget(self, codes: Ints) -> None:
        """Let the rows of some keys go."""
        gone = self.keys.of(codes)
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


class Times:
    """Spans of time, by which what is due is found: their codes ascend.

    Args:
        dues: When rows are due, by which the spans are so long that few rows are due in one.
    """

    def __init__(self, dues: Sequence[Ints]) -> None:
        some = [due for due in dues if len(due)]
        self._first = min([int(due.min()) for due in some], default=0)
        self._width = max((max([int(due.max()) for due in some], default=0) - self._first) // SPANS, 1)
        self._passed = 0  # the code of the clock

    def codes(self, due: Ints) -> Ints:
        """Return the codes of times, of those that have passed that of the clock."""
        return np.clip((due - self._first) // self._width, self._passed, FARTHEST)

    def until(self, clock: int) -> Ints:
        """Return the codes of the spans from where the clock was until some clock."""
        return np.arange(self._passed, self._code(clock) + 1)

    def pass_to(self, clock: int) -> None:
        """Move the clock."""
        self._passed = max(self._passed, self._code(clock))

    def _code(self, time: int) -> int:
        return min(max((time - self._first) // self._width, 0), FARTHEST)
