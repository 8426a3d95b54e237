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
from cartesius.columnar.cells import cells_of, entries_of, kept_up, taken
from cartesius.columnar.conversions import of_values
from cartesius.columnar.fixed_point import Fixed, quotients, rounded
from cartesius.columnar.keys import NEVER, encoded
from cartesius.columnar.ordering import last_of_each
from cartesius.columnar.rows import Flow
from cartesius.columnar.sums import Counts, Means, Sums
from cartesius.columnar.totalling import ints
from cartesius.columnar.vectors import MISSING, Leaf, NotColumnar, Struct, concatenated
from cartesius.meanings import Total
from cartesius.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cartesius.columnar.cells import Amounts, Cells, Change, Entries, Kept
    from cartesius.columnar.timelines import Found
    from cartesius.columnar.vectors import Vector
    from cartesius.join_shape import Join

    Finished: TypeAlias = "tuple[Leaf, NDArray[np.bool_]]"

_EXACT: Final = 2**53


@attrs.frozen(eq=False)
class Held:
    """The totals by group: keys, totals, and of how many results they are."""

    key: Vector
    total: Amounts
    number: NDArray[np.int64]


class ToTotals:
    """Results that are totalled.

    Args:
        group: What they are totalled over: counts, sums or means.
        by: The function of a result that is the key of its group; None: there is one total, a stream.
    """

    how = "add what comes to the total of its group, and subtract what goes"

    def __init__(self, group: Any, by: Callable[[Any], Any] | None) -> None:
        self.kind, self.gets = group.known
        self.group = group
        self.by = by

    def load(self, join: Join) -> Held | None:
        """Return the totals that the objects hold."""
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        if not output.totals:
            return None
        elements = [element for element, _ in output.totals.values()]
        number = np.array([number for _, number in output.totals.values()], np.int64)
        total: Amounts | None = number
        if self.kind is not Total.COUNT:
            sums = [one.sum for one in elements] if self.kind is Total.MEAN else elements
            total = Sums(sums[0]).columns(sums)
        assert total is not None  # Invariant: there are elements
        return Held(of_values([()] if self.by is None else list(output.totals)), total, number)

    def store(self, join: Join, more: Held | None) -> None:
        """Let the objects hold the totals."""
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        output.totals.clear()
        if more is None:
            return
        kinds: dict[Total, type[Counts | Sums | Means]] = {Total.COUNT: Counts, Total.SUM: Sums, Total.MEAN: Means}
        elements = kinds[self.kind](self.group.empty).objects(more.total, more.number)
        keys = [None] if self.by is None else more.key.to_list()
        output.totals.update(zip(keys, zip(elements, more.number.tolist(), strict=True), strict=True))

    def given(self, found: Found, more: Held | None, steps: int) -> tuple[Flow, Held | None]:
        """Return the totals that change, step by step, and those after the batch."""
        entries = entries_of(found, steps)
        vector = found.shown.value
        keys = self.keys(vector)
        sides = [[keys]] if more is None else [[keys], [more.key]]
        (codes, *known), count = encoded(sides, skips_null=False)
        if (codes == NEVER).any():
            reason = "a group is no number"
            raise NotColumnar(reason)
        number = np.zeros(count, np.int64)
        if more is not None:
            number[known[0]] = more.number
        cells = cells_of(entries, codes, count)
        totals = kept_up(cells, entries, self._amounts(vector), None if more is None else more.total, known, count)
        numbers = cells.kept_up(entries.sign, number)
        flow = self.flow(entries, cells, self._finished(totals, numbers), numbers, keys)
        number[cells.code] = numbers[1]
        named = self.named(entries, cells, numbers, keys)
        return flow, self._held(*named, more, known, totals.held(cells), number)

    def named(self, entries: Entries, cells: Cells, numbers: Change, keys: Vector) -> tuple[Vector, NDArray[np.int64]]:
        """Return the keys and the codes of the groups that come to be, in order.

        Of equal keys, 0.0 and -0.0, a group keeps the one that it was made with.
        """
        made = np.arange(len(cells.code))
        if self.by is not None:
            made = np.flatnonzero((numbers[0] == 0) & (numbers[1] > 0))
        made = made[np.argsort(cells.position[made], kind="stable")]
        return keys.take(entries.value[cells.mention[made]]), cells.code[made]

    def keys(self, vector: Vector) -> Vector:
        """Return the key of the group of each value; where there is one total, the empty tuple."""
        if self.by is None:
            return Struct("tuple", (), (), len(vector))
        return got(vector, self.by)

    def _amounts(self, vector: Vector) -> NDArray[Any]:
        """Return what each value adds."""
        for get in self.gets:
            vector = got(vector, get)
        if self.kind is Total.COUNT or not len(vector):
            return np.ones(len(vector), np.int64)
        if not isinstance(vector, Leaf) or vector.valid is not None or not vector.is_number:
            reason = "what is summed up is not always a number"
            raise NotColumnar(reason)
        if pa.types.is_floating(vector.type):
            return vector.numbers.astype(np.float64, copy=False)
        return ints(vector)

    def flow(self, entries: Entries, cells: Cells, finished: Finished, numbers: Change, keys: Vector) -> Flow:
        """Return the changes, given what is shown of each cell, and where that is what was shown before."""
        value, same = finished
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

    def _finished(self, totals: Kept, numbers: Change) -> Finished:
        """Return what is shown of the totals, and where that is what was shown before."""
        divisors = [np.where(number == 0, 1, number) for number in numbers]
        is_none = numbers[1] == 0
        before, now = totals.before, totals.after
        if isinstance(before, Fixed) or isinstance(now, Fixed):
            assert isinstance(before, Fixed)  # Invariant: all of them are
            assert isinstance(now, Fixed)
            if self.by is None and is_none.any():
                reason = "a total of no floats is an int"
                raise NotColumnar(reason)
            if self.kind is Total.MEAN:
                shown = [quotients(one, divisor) for one, divisor in zip((before, now), divisors, strict=True)]
            else:
                shown = [rounded(before), rounded(now)]
            return Leaf(pa.array(shown[1])), np.equal(*shown)
        if self.kind is not Total.MEAN:
            return Leaf(pa.array(now)), np.equal(before, now)
        if len(now) and max(int(np.abs(before).max()), int(np.abs(now).max())) > _EXACT:
            reason = "a mean of more than 2**53"
            raise NotColumnar(reason)
        means = before / divisors[0], now / divisors[1]
        return Leaf(pa.array(means[1], mask=is_none)), np.equal(*means)

    def _held(
        self,
        keys: Vector,
        codes: NDArray[np.int64],
        more: Held | None,
        known: list[NDArray[np.int64]],
        total: Amounts,
        number: NDArray[np.int64],
    ) -> Held | None:
        """Return the totals after a batch; ``total`` and ``number`` are by code.

        ``keys`` and ``codes`` are of the groups that came to be in it.
        """
        if more is not None:
            keys, codes = concatenated([more.key, keys]), np.concatenate([*known, codes])
        last = last_of_each(codes, len(number))
        there = (
            np.flatnonzero((last != MISSING) & (number > 0)) if self.by is not None else np.arange(min(1, len(keys)))
        )
        return Held(keys.take(last[there]), taken(total, there), number[there]) if len(there) else None


def got(vector: Vector, get: Callable[[Any], Any]) -> Vector:
    """Return what a function gives for each value; the field of records that it gets, if it does that."""
    if isinstance(get, operator.attrgetter) and isinstance(vector, Struct) and vector.kind == "record":
        names: Any = get.__reduce__()[1]
        item = vector.item(names[0])
        if item is not None and vector.valid is None and len(names) == 1 and "." not in names[0]:
            return item
    return value_by_value(get, vector)
