"""Totals of the results of tables, by group: sums that are kept up by adding what comes and subtracting what goes.

Each state of a timeline takes the row before it out of the total of its group, and puts its own into that of its own.
By group, these entries add up to what the total was at any time; ints that would leave 64 bits are left to Python.

Source: SEMANTICS 2.7; thesis, L23.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columnar.arithmetic import value_by_value
from cartesius.columnar.conversions import of_values
from cartesius.columnar.keys import NEVER, encoded
from cartesius.columnar.ordering import begins, by_code, by_several, last_of_each
from cartesius.columnar.rows import Flow
from cartesius.columnar.timelines import ranks
from cartesius.columnar.vectors import MISSING, Leaf, NotColumnar, Struct, concatenated
from cartesius.meanings import Summed
from cartesius.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Change: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

    from cartesius.columnar.timelines import Found
    from cartesius.columnar.vectors import Indices, Vector
    from cartesius.join_shape import Join
    from cartesius.meanings import Summation

_MOST: Final = 2**62
_EXACT: Final = 2**53


@attrs.frozen(eq=False)
class Sums:
    """The totals by group: keys, totals, and of how many results they are."""

    key: Vector
    total: NDArray[np.int64]
    number: NDArray[np.int64]


@attrs.frozen(eq=False)
class Entries:
    """What is put into totals, and taken out of them, in order of mention.

    Args:
        position: In which step.
        sign: 1 or -1.
        value: Which of the values.
        start: The first instant of the cause.
        end: The last instant of the cause.
    """

    position: NDArray[np.int64]
    sign: NDArray[np.int64]
    value: Indices
    start: NDArray[np.int64]
    end: NDArray[np.int64]


class ToTotals:
    """Results that are totalled.

    Args:
        summation: What is added up.
        by: The function of a result that is the key of its group; None: there is one total, a stream.
    """

    how = "add what comes to the total of its group, and subtract what goes"

    def __init__(self, summation: Summation, by: Callable[[Any], Any] | None) -> None:
        self.summation = summation
        self.by = by

    def load(self, join: Join) -> Sums | None:
        """Return the totals that the objects hold."""
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        if not output.totals:
            return None
        totals = [self.summation.total(element) for element, _ in output.totals.values()]
        if any(total is None or abs(total) >= _MOST for total in totals):
            reason = "a total is no int of 64 bits"
            raise NotColumnar(reason)
        number = np.array([number for _, number in output.totals.values()], np.int64)
        keys = [()] if self.by is None else list(output.totals)
        return Sums(of_values(keys), np.array(totals, np.int64), number)

    def store(self, join: Join, more: Sums | None) -> None:
        """Let the objects hold the totals."""
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        output.totals.clear()
        if more is not None:
            for key, total, number in zip(more.key.to_list(), more.total.tolist(), more.number.tolist(), strict=True):
                output.totals[None if self.by is None else key] = (self.summation.element(total, number), number)

    def given(self, found: Found, more: Sums | None, steps: int) -> tuple[Flow, Sums | None]:
        """Return the totals that change, step by step, and those after the batch."""
        entries = _entries(found, steps)
        vector = found.shown.value
        keys = self._keys(vector)
        sides = [[keys]] if more is None else [[keys], [more.key]]
        (codes, *known), count = encoded(sides, skips_null=False)
        if (codes == NEVER).any():
            reason = "a group is no number"
            raise NotColumnar(reason)
        before, number = np.zeros(count, np.int64), np.zeros(count, np.int64)
        if more is not None:
            before[known[0]], number[known[0]] = more.total, more.number
        amounts = self._amounts(vector)
        if len(amounts) and int(np.abs(amounts).max()) * (len(entries.sign) + 1) + int(np.abs(before).max()) > _MOST:
            reason = "a total may leave 64 bits"
            raise NotColumnar(reason)
        cells = _cells(entries, codes, count)
        totals = cells.kept_up(amounts[entries.value] * entries.sign, before)
        numbers = cells.kept_up(entries.sign, number)
        flow = self._flow(entries, cells, totals, numbers, keys)
        before[cells.code], number[cells.code] = totals[1], numbers[1]
        return flow, self._held(keys, codes, more, known, before, number)

    def _keys(self, vector: Vector) -> Vector:
        """Return the key of the group of each value; where there is one total, the empty tuple."""
        if self.by is None:
            return Struct("tuple", (), (), len(vector))
        return got(vector, self.by)

    def _amounts(self, vector: Vector) -> NDArray[np.int64]:
        """Return what each value adds."""
        for get in self.summation.gets:
            vector = got(vector, get)
        if self.summation.summed is Summed.COUNT:
            return np.ones(len(vector), np.int64)
        if not len(vector):
            return np.zeros(0, np.int64)
        if not isinstance(vector, Leaf) or vector.valid is not None:
            reason = "what is summed up is not always a number"
            raise NotColumnar(reason)
        if not (pa.types.is_integer(vector.type) or pa.types.is_boolean(vector.type)) or pa.types.is_uint64(
            vector.type
        ):
            reason = f"values of the type {vector.type} are summed up"
            raise NotColumnar(reason)
        return vector.numbers.astype(np.int64)

    def _flow(self, entries: Entries, cells: Cells, totals: Change, numbers: Change, keys: Vector) -> Flow:
        value, same = self._finished(totals, numbers)
        had, has = numbers[0] > 0, numbers[1] > 0
        is_change = np.ones(len(had), np.bool_) if self.by is None else (had ^ has) | (has & ~same)
        chosen = np.flatnonzero(is_change)
        chosen = chosen[np.argsort(cells.mention[chosen])]
        start, end = cells.hull(entries)
        times = cells.position[chosen], value.take(chosen), start[chosen], end[chosen]
        if self.by is None:
            return Flow(*times)
        deletes = None if has[chosen].all() else ~has[chosen]
        if deletes is not None:
            times = (times[0], value.take(np.where(deletes, MISSING, chosen), may_miss=True), *times[2:])
        return Flow(*times, None, keys.take(entries.value[cells.mention[chosen]]), deletes)

    def _finished(self, totals: Change, numbers: Change) -> tuple[Leaf, NDArray[np.bool_]]:
        """Return what is shown of the totals, and where that is what was shown before."""
        if self.summation.summed is not Summed.MEAN:
            return Leaf(pa.array(totals[1])), np.equal(*totals)
        if len(totals[1]) and max(int(np.abs(one).max()) for one in totals) > _EXACT:
            reason = "a mean of more than 2**53"
            raise NotColumnar(reason)
        before, now = (total / np.where(number == 0, 1, number) for total, number in zip(totals, numbers, strict=True))
        return Leaf(pa.array(now, mask=numbers[1] == 0)), np.equal(before, now)

    def _held(
        self,
        keys: Vector,
        codes: NDArray[np.int64],
        more: Sums | None,
        known: list[NDArray[np.int64]],
        total: NDArray[np.int64],
        number: NDArray[np.int64],
    ) -> Sums | None:
        """Return the totals after a batch; ``total`` and ``number`` are by code."""
        if more is not None:
            keys, codes = concatenated([more.key, keys]), np.concatenate([*known, codes])
        if self.by is None:
            return Sums(keys.take(np.zeros(1, np.int64)), total[:1], number[:1]) if len(keys) else None
        last = last_of_each(codes, len(total))
        there = np.flatnonzero((last != MISSING) & (number > 0))
        return Sums(keys.take(last[there]), total[there], number[there])


@attrs.frozen(eq=False)
class Cells:
    """The entries by group and step: what happens to a group in a step, in order of groups and steps.

    Args:
        order: The order of the entries by group and step.
        begin: Where each cell begins in it.
        code: The code of its group.
        position: Its step.
        mention: Which entry mentions the group first in the step.
    """

    order: Indices
    begin: Indices
    code: NDArray[np.int64]
    position: NDArray[np.int64]
    mention: Indices

    def kept_up(self, amounts: NDArray[np.int64], before: NDArray[np.int64]) -> Change:
        """Return what sums of ``amounts``, one an entry, are before and after each cell."""
        if not len(self.begin):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        changes = np.add.reduceat(amounts[self.order], self.begin)
        summed = np.cumsum(changes)
        first = np.maximum.accumulate(np.where(begins(self.code), np.arange(len(self.code)), 0))
        after = summed - (summed - changes)[first] + before[self.code]
        return after - changes, after

    def hull(self, entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the hull of the causes in each cell."""
        if not len(self.begin):
            return entries.start, entries.end
        start, end = entries.start[self.order], entries.end[self.order]
        return np.minimum.reduceat(start, self.begin), np.maximum.reduceat(end, self.begin)


def _cells(entries: Entries, codes: NDArray[np.int64], count: int) -> Cells:
    group = codes[entries.value]
    order = by_code(group, count)
    code, position = group[order], entries.position[order]
    begin = np.flatnonzero(begins(code, position))
    return Cells(order, begin, code[begin], position[begin], order[begin])


def _entries(found: Found, steps: int) -> Entries:
    """Return what the states of a timeline put into totals, and take out of them."""
    what = found.shown
    timeline, shows, showed = what.timeline, what.shows, what.showed
    old, new = np.flatnonzero(timeline.changed & showed), np.flatnonzero(timeline.changed & shows)
    nobody = np.zeros(len(shows), np.bool_)
    times = [found.causes.of(timeline, nobody, showed, old), found.causes.of(timeline, shows, nobody, new)]
    states, is_new = np.concatenate([old, new]), np.repeat([0, 1], [len(old), len(new)])
    order = by_several([(timeline.position[states], steps), (is_new, 1), *ranks(found, states, is_new == 1)])
    start, end = (np.concatenate([one[place] for one in times])[order] for place in (0, 1))
    value = np.concatenate([what.index[old - 1], what.index[new]])
    return Entries(timeline.position[states][order], (2 * is_new - 1)[order], value[order], start, end)


def got(vector: Vector, get: Callable[[Any], Any]) -> Vector:
    """Return what a function gives for each value; the field of records that it gets, if it does that."""
    if isinstance(get, operator.attrgetter) and isinstance(vector, Struct) and vector.kind == "record":
        names: Any = get.__reduce__()[1]
        item = vector.item(names[0])
        if item is not None and vector.valid is None and len(names) == 1 and "." not in names[0]:
            return item
    return value_by_value(get, vector)
