"""Totals of the results of tables, by group: sums that are kept up by adding what comes and subtracting what goes.

Each state of a timeline takes the row before it out of the total of its group, and puts its own into that of its own.
By group, these entries add up to what the total was at any time; ints that would leave 64 bits are left to Python.
Of how many values that are not null a total is, is kept up likewise.

Source: SEMANTICS 1.18 and 2.7; thesis, L23.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.groups.fixed_point import Fixed, rounded
from cartesius.columns.groups.sums import Sums, divided, numbers_of, summed
from cartesius.columns.groups.totalling import Summed
from cartesius.columns.stages.rows import Flow
from cartesius.columns.tables.cells import Kept, cells_of, entries_of, kept_up, taken
from cartesius.columns.vectors.calling import value_by_value
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.ordering import last_of_each
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct, concatenated
from cartesius.data.records import path_of
from cartesius.expressions.value_functions import of_value
from cartesius.plan.known_totals import Total
from cartesius.results.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cartesius.columns.tables.cells import Amounts, Cells, Change, Entries
    from cartesius.columns.tables.timelines import Found
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join

    Finished: TypeAlias = "tuple[Leaf, NDArray[np.bool_]]"

_COUNTS: Final = (Total.COUNT, Total.PRESENT)


@attrs.frozen(eq=False)
class Held:
    """The totals by group.

    Args:
        key: The keys of the groups.
        total: What they come to, 0 of nothing.
        present: Of how many values that are not null; None: of all.
        number: Of how many results.
    """

    key: Vector
    total: Amounts
    present: NDArray[np.int64] | None
    number: NDArray[np.int64]


class ToTotals:
    """Results that are totalled.

    Args:
        group: What they are totalled over: counts, sums or means.
        by: The function of a result that is the key of its group; None: there is one total, a stream.
    """

    how = "add what comes to the total of its group, and subtract what goes"
    reads_rows = False

    def __init__(self, group: Any, by: Callable[[Any], Any] | None) -> None:
        self.kind, gets = group.known
        self.gets = tuple(map(of_value, gets))
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
        key = of_values([()] if self.by is None else list(output.totals))
        if self.kind in _COUNTS:
            found = Summed(np.array(elements, np.int64), np.array(elements, np.int64))
        else:
            of_objects = summed(elements)
            assert of_objects is not None  # Invariant: there are elements
            found = of_objects
        is_whole = found.numbers is None or np.array_equal(found.numbers, number)
        return Held(key, found.sums, None if is_whole else found.numbers, number)

    def store(self, join: Join, more: Held | None) -> None:
        """Let the objects hold the totals."""
        output = join.batch.output
        assert isinstance(output, Totals)  # Invariant: that is how this one was chosen
        output.totals.clear()
        if more is None:
            return
        if isinstance(more.total, np.ndarray) and self.kind in _COUNTS:
            elements = more.total.tolist()
        else:
            elements = Sums(self.group.empty).objects(Summed(more.total, more.present), more.number)
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
            raise NotColumnar("a group is no number")
        number = np.zeros(count, np.int64)
        if more is not None:
            number[known[0]] = more.number
        cells = cells_of(entries, codes, count)
        numbers = cells.kept_up(entries.sign, number)
        amounts, there, sums = self._amounts(vector, more)
        had = None if more is None else more.present
        present, presents = number, numbers
        if there is not None or had is not None:
            present = np.zeros(count, np.int64)
            if more is not None:
                present[known[0]] = more.number if had is None else had
            presents = cells.kept_up(entries.sign if there is None else entries.sign * there[entries.value], present)
        totals = Kept(*presents, present) if amounts is None else kept_up(cells, entries, amounts, sums, known, count)
        flow = self.flow(entries, cells, self._finished(totals, presents), numbers, keys)
        held = totals.held(cells)
        number[cells.code] = numbers[1]
        if present is not number:
            present[cells.code] = presents[1]
        named = self.named(entries, cells, numbers, keys)
        return flow, self._held(*named, more, known, held, None if present is number else present, number)

    def named(self, entries: Entries, cells: Cells, numbers: Change, keys: Vector) -> tuple[Vector, NDArray[np.int64]]:
        """Return the keys and the codes of the groups that come to be, in order.

        Of equal keys, 0.0 and -0.0, a group keeps the one that it was made with.
        """
        made = np.arange(len(cells.code))
        if self.by is not None:
            made = np.flatnonzero((numbers[0] == 0) & (numbers[1] > 0))
        made = made[np.argsort(cells.mention[made])]
        return keys.take(entries.value[cells.mention[made]]), cells.code[made]

    def keys(self, vector: Vector) -> Vector:
        """Return the key of the group of each value; where there is one total, the empty tuple."""
        if self.by is None:
            return Struct("tuple", (), (), len(vector))
        return got(vector, self.by)

    def _amounts(
        self, vector: Vector, more: Held | None
    ) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None, Amounts | None]:
        """Return what each value adds, None if it adds 1; which are not null, None: all; and the sums before."""
        for get in self.gets:
            vector = got(vector, get)
        if self.kind in _COUNTS:
            return None, None if self.kind is Total.COUNT else vector.valid, None
        if not len(vector):
            return np.ones(0, np.int64), None, None if more is None else more.total
        if more is None:
            return numbers_of(vector, None)
        return numbers_of(vector, Summed(more.total, more.number if more.present is None else more.present))

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
        """Return what is shown of the totals, null of no numbers, and where that is what was shown before."""
        before, now = totals.before, totals.after
        if self.kind in _COUNTS:
            assert not isinstance(before, Fixed)  # Invariant: counts are ints
            assert not isinstance(now, Fixed)  # likewise
            return Leaf(pa.array(now)), np.equal(before, now)
        shown: list[NDArray[Any]] = []
        for sums, number in ((before, numbers[0]), (now, numbers[1])):
            if self.kind is Total.MEAN:
                shown.append(divided(sums, np.maximum(number, 1)))
            else:
                shown.append(rounded(sums) if isinstance(sums, Fixed) else sums)
        is_none, was_none = numbers[1] == 0, numbers[0] == 0
        return Leaf(pa.array(shown[1], mask=is_none)), np.equal(*shown) & (is_none == was_none)

    def _held(
        self,
        keys: Vector,
        codes: NDArray[np.int64],
        more: Held | None,
        known: list[NDArray[np.int64]],
        total: Amounts,
        present: NDArray[np.int64] | None,
        number: NDArray[np.int64],
    ) -> Held | None:
        """Return the totals after a batch; ``total``, ``present`` and ``number`` are by code.

        ``keys`` and ``codes`` are of the groups that came to be in it.
        """
        if more is not None:
            keys, codes = concatenated([more.key, keys]), np.concatenate([*known, codes])
        last = last_of_each(codes, len(number))
        there = (
            np.flatnonzero((last != MISSING) & (number > 0)) if self.by is not None else np.arange(min(1, len(keys)))
        )
        if not len(there):
            return None
        there = there[np.argsort(last[there])]  # in the order in which the groups were made
        present = None if present is None else present[there]
        return Held(keys.take(last[there]), taken(total, there), present, number[there])


def got(vector: Vector, get: Callable[[Any], Any]) -> Vector:
    """Return what a function gives for each value; the field of records that it gets, if it does that."""
    path = path_of(get) or ()
    if len(path) == 1 and isinstance(vector, Struct) and vector.kind == "record" and vector.valid is None:
        item = vector.item(path[0])
        if item is not None:
            return item
    return value_by_value(get, vector)
