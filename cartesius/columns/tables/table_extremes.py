"""The least and the greatest of the results of tables, by group: of what stands there, whatever comes and goes.

What each row adds to its group stands from the step in which it comes to that in which it goes; of what stands at any
time, the first by rank is the total.

Invariant: the elements held are those of the rows that are there, each once.

Source: SEMANTICS 2.7.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.groups.extremes import ranked, unranked
from cartesius.columns.groups.standing import NOBODY, first_standing, times
from cartesius.columns.groups.totalling import widened
from cartesius.columns.lifetimes.overlap import FOREVER
from cartesius.columns.stages.rows import BEFORE, Flow
from cartesius.columns.tables.cells import cells_of, entries_of
from cartesius.columns.tables.table_totals import ToTotals, got
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.ordering import last_of_each
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, concatenated
from cartesius.plan.known_totals import Total
from cartesius.results.totals import Totals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.tables.cells import Cells
    from cartesius.columns.tables.timelines import Found
    from cartesius.columns.vectors.vectors import Indices, Ints, Vector
    from cartesius.correlations.join_shape import Join


@attrs.frozen(eq=False)
class Elements:
    """What rows add to their groups.

    Args:
        group: The keys of the groups.
        value: The elements.
        row: The keys of the rows.
    """

    group: Vector
    value: Vector
    row: Vector

    def __len__(self) -> int:
        return len(self.row)

    def take(self, indices: Indices) -> Elements:
        """Return some of them."""
        return Elements(self.group.take(indices), self.value.take(indices), self.row.take(indices))


class ToExtremes(ToTotals):
    """Results of one table of which the least, or the greatest, is the total."""

    how = "of what stands in its group, the first by rank"

    def load(self, join: Join) -> Elements | None:  # type: ignore[override]  # each output knows its own state
        """Return the elements that the objects hold."""
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        found = [  # in the order of the totals: a group whose elements have all gone meanwhile keeps its place
            (key, one, at[1][0][1]) for key in output.totals for at, one in output.elements.get(key, {}).items()
        ]
        if not found:
            return None
        groups, values, rows = (list(column) for column in zip(*found, strict=True))
        return Elements(of_values([()] * len(rows) if self.by is None else groups), of_values(values), of_values(rows))

    def store(self, join: Join, more: Elements | None) -> None:  # type: ignore[override]  # likewise
        """Let the objects hold the elements, and the totals that they come to."""
        output, slot = join.batch.output, join.slots[0]
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        had = output.totals
        output.elements, output.totals = {}, {}
        if more is not None:
            groups = [None] * len(more) if self.by is None else more.group.to_list()
            for group, value, row in zip(groups, more.value.to_list(), more.row.to_list(), strict=True):
                identity = (join.batch.number, ((slot.source, row),), 0)
                output.elements.setdefault(group, {})[identity] = value
        elif self.by is None and had:
            output.totals[None] = (self.group.empty, 0)  # a stream of one total has had one, and does not forget it
        for group, elements in output.elements.items():
            output.totals[group] = (reduce(self.group.combine, elements.values(), self.group.empty), len(elements))

    def given(self, found: Found, more: Elements | None, steps: int) -> tuple[Flow, Any]:  # type: ignore[override]  # each output knows its own state
        """Return the totals that change, step by step, and the elements after the batch."""
        what, timeline = found.shown, found.shown.timeline
        bounds = np.flatnonzero(timeline.changed | timeline.first)
        begin = np.flatnonzero(what.shows & (timeline.changed | (timeline.position == BEFORE)))
        after = np.append(bounds, len(timeline.first))[np.searchsorted(bounds, begin, "right")]
        first = np.append(timeline.first, True)[after]
        died = np.where(first, FOREVER, np.append(timeline.position, 0)[after])
        index = what.index[begin]
        rows = np.flatnonzero(timeline.parts[0] != MISSING)
        row = found.them[0].key.take(timeline.parts[0][begin])
        rest = _untouched(more, found.them[0].key.take(timeline.parts[0][rows]))
        groups = self.keys(what.value)
        mine = Elements(groups.take(index), self._values(what.value).take(index), row)
        every = _together(rest, mine)
        n = len(every) - len(mine)
        born = np.concatenate([np.full(n, BEFORE, np.int64), timeline.position[begin]])
        died = np.concatenate([np.full(n, FOREVER, np.int64), died])
        had = every.group.take(np.zeros(0, np.int64)) if more is None else more.group
        (codes, of_every, of_had), count = encoded([[groups], [every.group], [had]], skips_null=False)
        if (codes == NEVER).any() or (of_every == NEVER).any():
            raise NotColumnar("a group is no number")
        entries = entries_of(found, steps)
        cells = cells_of(entries, codes, count)
        numbers = cells.kept_up(entries.sign, np.bincount(of_every[born == BEFORE], minlength=count))
        finished = self._of_those_standing(every.value, of_every, born, died, cells, steps)
        flow = self.flow(entries, cells, finished, numbers, groups)
        there = np.flatnonzero(died == FOREVER)
        if not len(there):
            return flow, None
        made, of_made = self.named(entries, cells, numbers, groups)
        last = last_of_each(np.concatenate([of_had, of_made]), count)
        there = there[np.argsort(last[of_every[there]], kind="stable")]  # in the order in which the groups were made
        group = concatenated([had, made]).take(last[of_every[there]])
        return flow, Elements(group, every.value.take(there), every.row.take(there))

    def _values(self, vector: Vector) -> Vector:
        for get in self.gets:
            vector = got(vector, get)
        return vector

    def _of_those_standing(
        self, value: Vector, code: Ints, born: Ints, died: Ints, cells: Cells, steps: int
    ) -> tuple[Leaf, NDArray[np.bool_]]:
        """Return the totals of cells, and where they are what they were before."""
        value = widened(value)
        if not isinstance(value, Leaf) or value.kind:
            raise NotColumnar("what is compared are no plain values")
        n = len(cells.code)
        if value.valid is not None and not value.valid.any():
            return Leaf(pa.nulls(n, value.type)), np.ones(n, np.bool_)
        if not n:
            return value.take(np.zeros(0, np.int64)), np.ones(0, np.bool_)
        ranks, by_rank = ranked(value)
        last = int(ranks.max())
        ranks = ranks if self.kind is Total.LEAST else last - ranks
        known = np.arange(len(ranks)) if value.valid is None else np.flatnonzero(value.valid)
        when = times(cells.code, cells.position, steps)
        since, until = when.at(code[known], born[known]), when.at(code[known], died[known])
        least = first_standing(len(when), since, until, ranks[known])
        at = when.at(cells.code, cells.position)
        best = np.where(least == NOBODY, MISSING, least if self.kind is Total.LEAST else last - least)
        return unranked(best[at], by_rank, value), best[at] == best[at - 1]


def _untouched(more: Elements | None, rows: Vector) -> Elements | None:
    """Return what is held of other rows than these."""
    if more is None:
        return None
    (touched, mine), count = encoded([[rows], [more.row]], skips_null=False)
    is_touched = np.zeros(count + 1, np.bool_)
    is_touched[touched] = True
    return more.take(np.flatnonzero(~is_touched[mine]))


def _together(one: Elements | None, other: Elements) -> Elements:
    if one is None or not len(one):
        return other
    pairs = ((one.group, other.group), (one.value, other.value), (one.row, other.row))
    return Elements(*[concatenated(pair) for pair in pairs])
