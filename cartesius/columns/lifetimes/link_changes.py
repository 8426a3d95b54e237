"""Lookups: which rows of other tables each row of a subject's table is linked to, and when that changes in a batch.

A row is a *version* of its key: it holds from its position until that of the next change of the key. A link leads from
a row to the one whose key equals a value of it. A *spell* is a span of positions in which a row of the subject and all
rows that it is linked to, directly or by way of others, stay the same. The spells of a batch are found link by link:
each spell is cut at the changes of the key that it leads to, which are a range of the changes sorted by key and
position. So the work is that of the sort, and of what comes out.

Invariant: spells are sorted by the subject's key and then by position; where a subject stays there, they touch.

Source: DESIGN 4 (versions, temporal overlap join); M. Kaufmann et al., Timeline Index, SIGMOD 2013.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE
from cartesius.columns.vectors.key_codes import NEVER
from cartesius.columns.vectors.ordering import begins, by_code, ends, ranges
from cartesius.columns.vectors.vectors import MISSING, NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices

_MOST = 1 << 24
"""More spells than this are too many for one batch: they would not fit into memory."""


@attrs.frozen(eq=False)
class Changes:
    """The changes of a table, by key and then by position, without deletions of what is not there.

    Args:
        row: The number of each among the table's rows.
        code: The code of its key.
        position: When it happens.
        until: When the next change of its key does; the number of steps if there is none.
        is_there: Whether it is a row, and no deletion.
    """

    row: Indices
    code: Indices
    position: Indices
    until: Indices
    is_there: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Rows, codes: Indices, count: int, steps: int) -> Changes:
        """Sort the changes of a table by the codes, below ``count``, of their keys."""
        order = by_code(codes, count)
        code = codes[order]
        is_there = np.ones(len(order), np.bool_) if rows.deletes is None else ~rows.deletes[order]
        if rows.deletes is not None:
            is_first = begins(code)
            is_first[1:] |= ~is_there[:-1]
            keep = is_there | ~is_first
            order, code, is_there = order[keep], code[keep], is_there[keep]
        position = rows.position[order]
        until = np.full(len(order), steps, np.int64)
        until[:-1] = np.where(begins(code)[1:], steps, position[1:])
        return cls(order, code, position, until, is_there)

    @property
    def last(self) -> Indices:
        """The rows that are there at the end, in order of arrival."""
        return np.sort(self.row[ends(self.code) & self.is_there])


@attrs.frozen(eq=False)
class Spells:
    """The spells of a batch.

    Args:
        since: The position at which each begins.
        until: That at which it ends.
        code: The code of the subject's key.
        rows: By slot the number of the row, `MISSING` where there is none.
    """

    since: Indices
    until: Indices
    code: Indices
    rows: tuple[Indices | None, ...]

    @classmethod
    def of(cls, subject: Changes, slots: int) -> Spells:
        """Return the spells of the subject's rows alone."""
        there = slice(None) if subject.is_there.all() else np.flatnonzero(subject.is_there)
        rows = (subject.row[there], *(None for _ in range(slots - 1)))
        return cls(subject.position[there], subject.until[there], subject.code[there], rows)

    def linked(self, slot: int, codes: Indices, table: Changes | None, steps: int) -> Spells:
        """Return the spells with the rows of one more slot, whose keys must have the ``codes``.

        Args:
            slot: The slot.
            codes: The code to look for in each spell, `NEVER` for none.
            table: Its changes; None: there are none.
            steps: How many steps the batch has.
        """
        if table is None or not len(table.row):
            return self._with(slot, np.full(len(self.since), MISSING, np.int64))
        if table.position.max() == BEFORE:
            rows = np.full(max(int(table.code.max()), int(codes.max(initial=0))) + 2, MISSING, np.int64)
            rows[table.code] = table.row
            return self._with(slot, rows[codes])  # what is looked for never is the last code
        width = steps + 2
        moments = table.code * width + table.position + 1
        low = np.searchsorted(moments, codes * width + self.since + 1, side="right")
        high = np.searchsorted(moments, codes * width + self.until + 1, side="left")
        rows = np.where(table.is_there, table.row, MISSING)
        at_first = np.where((low > 0) & (table.code[low - 1] == codes), rows[low - 1], MISSING)
        high = np.maximum(high, low)
        counts = high - low
        total = int(counts.sum())
        if not total:
            return self._with(slot, at_first)
        if total + len(counts) > _MOST:
            raise NotColumnar("too many rows are touched in one batch")
        return self._cut(slot, table, rows, at_first, low, counts)

    def _cut(
        self, slot: int, table: Changes, rows: Indices, at_first: Indices, low: Indices, counts: Indices
    ) -> Spells:
        """Cut each spell at ``counts`` changes, those from ``low`` on."""
        origin, change = ranges(low - 1, counts + 1)
        is_first = begins(origin)
        change[is_first] = 0
        since = np.where(is_first, self.since[origin], table.position[change])
        until = self.until[origin]
        until[:-1] = np.where(is_first[1:], until[:-1], since[1:])
        found = np.where(is_first, at_first[origin], rows[change])
        others = [None if one is None else one[origin] for one in self.rows]
        others[slot] = found
        return Spells(since, until, self.code[origin], tuple(others))

    def _with(self, slot: int, rows: Indices) -> Spells:
        others = list(self.rows)
        others[slot] = rows
        return attrs.evolve(self, rows=tuple(others))

    def codes_of(self, slot: int, codes: Indices) -> Indices:
        """Return, of each spell, the code that its row of ``slot`` leads to; `NEVER` where it has none."""
        rows = self.rows[slot]
        assert rows is not None  # Invariant: links are followed from the subject on
        if not len(codes):
            return np.full(len(rows), NEVER, np.int64)
        return np.where(rows == MISSING, NEVER, codes[rows])

    def before(self) -> Indices:
        """Return, of each spell, the number of the one in which it was the same subject just before, or `MISSING`."""
        found = np.arange(-1, len(self.since) - 1)
        is_next = np.zeros(len(self.since), np.bool_)
        is_next[1:] = (self.code[1:] == self.code[:-1]) & (self.until[:-1] == self.since[1:])
        found[~is_next] = MISSING
        return found

    def take(self, order: Indices) -> Spells:
        """Return the spells in another order."""
        rows = tuple([None if one is None else one[order] for one in self.rows])
        return Spells(self.since[order], self.until[order], self.code[order], rows)


def check_apart(tables: Sequence[Rows | None], *, has_deadlines: bool) -> None:
    """Raise `NotColumnar` if rows of two slots come in one step, or several rows of one other than of a deadline."""
    positions = [one.position[one.position != BEFORE] for one in tables if one is not None]
    if has_deadlines:
        positions = [np.unique(one) for one in positions]
    if positions:
        every = np.concatenate(positions)
        if len(np.unique(every)) < len(every):
            raise NotColumnar("rows of several tables change in one step")
