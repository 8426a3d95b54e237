"""Tables by a function of the result: of the results that stand under a key, the first is the row.

All combinations of versions are sorted as a full enumeration visits them; the row of a key, in a step in which
something comes to it or leaves it, is the first that stands there (`standing`).

Invariant: of the state, `more` is the rows that are shown, in the order in which their keys came.

Source: SEMANTICS 2.2.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.bodies.column_texts import Code
from cartesius.columns.bodies.compositions import applied
from cartesius.columns.groups.standing import NOBODY, first_standing, times
from cartesius.columns.lifetimes.emitting import causes
from cartesius.columns.lifetimes.overlap import FOREVER, NONE
from cartesius.columns.stages.candidates import hull
from cartesius.columns.stages.rows import Flow, nothing
from cartesius.columns.stages.stages import State
from cartesius.columns.streams.version_plans import Plan, plan_of
from cartesius.columns.streams.versions import VersionJoin
from cartesius.columns.tables.table_totals import got
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import encoded, nulls
from cartesius.columns.vectors.ordering import begins
from cartesius.columns.vectors.sameness import unchanged
from cartesius.columns.vectors.vectors import MISSING, NotColumnar, concatenated
from cartesius.data.entries import GONE
from cartesius.expressions.expressions import Expression
from cartesius.results.outputs import Rows as ResultRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.lifetimes.chaining import Combinations
    from cartesius.columns.stages.candidates import Parts
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment, Stage
    from cartesius.columns.vectors.vectors import Ints, Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Candidate, Entry


@attrs.frozen(eq=False)
class Shown:
    """The rows that are shown: their keys and values."""

    key: Vector
    value: Vector


class RowJoin(VersionJoin):
    """A correlation of streams with memories whose results are rows by a function of them."""

    is_in_memory = True

    def __init__(self, join: Join, plan: Plan) -> None:
        super().__init__(join, plan)
        self.key: Code | None = None
        if isinstance(join.pattern.yields, Expression) and plan.by is not None:
            with suppress(NotColumnar):
                self.key = Code("key", applied(plan.by, join.pattern.yields), self.body.slots)

    def source(self) -> str:
        """Return the code of the body, and of the key."""
        return super().source() + ("" if self.key is None else f"\n{self.key.text}")

    # -- state ---------------------------------------------------------------------------------------------------------

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return nothing: results of several keys may be rows of one."""
        return None

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the memories, and what is shown.

        Raises:
            NotColumnar: A result stands of which a part has left: it came without a key, so that nothing can meet it.
        """
        if self.join.batch.partial is not None:
            there = [{entry.identity for entry in slot.memory.all()} for slot in self.join.slots]
            if any(
                part is not None and part not in mine
                for results in self._output.live.values()
                for _, parts, _ in results
                for part, mine in zip(parts, there, strict=True)
            ):
                raise NotColumnar("an event without a key comes out unmatched")
        shown = self._output.shown
        more = Shown(of_values(list(shown)), of_values(list(shown.values()))) if shown else None
        return State(super().load(arriving).retained, more)

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories, what is shown, and the results that stand: those that a full enumeration gives."""
        super().store(state, stored)
        output, batch, shown = self._output, self.join.batch, state.more
        output.shown = {} if shown is None else dict(zip(shown.key.to_list(), shown.value.to_list(), strict=True))
        output.live = {key: {} for key in output.shown}
        for parts in self._standing():
            match = batch.body.evaluate(parts)
            if match is not None:
                for key, result, identity in batch._results(match):
                    output.live[key][identity] = result

    @property
    def _output(self) -> ResultRows:
        output = self.join.batch.output
        assert isinstance(output, ResultRows)  # Invariant: that is how this one was chosen
        return output

    def _standing(self) -> Iterator[Candidate]:
        """Iterate over all combinations that the memories have, each once."""
        batch, slots = self.join.batch, self.join.slots
        rows = batch.product if batch.partial is None else batch.partial.rows
        for slot in slots if batch.partial is not None else slots[:1]:
            missing: dict[int, Entry | None] = {other.index: None for other in slots[: slot.index]}
            for entry in list(slot.memory.all()):
                yield from rows.containing({**missing, slot.index: entry}, GONE)  # type: ignore[union-attr]  # it has some

    # -- a batch -------------------------------------------------------------------------------------------------------

    def given(self, rows: list[Rows], more: Shown | None, moment: Moment) -> tuple[Flow, Any, int]:
        """Return the changes of the table, and what is shown after them."""
        plan, sizes = self.plan, [len(mine) for mine in rows]
        found, lifetimes = self.combinations(rows)
        tuples = int(np.count_nonzero(found.born >= 0))
        found = self.those_that_hold(rows, found)
        found = found.take(_ranked(found, sizes, oldest_first=plan.is_oldest_first))
        if not len(found):
            return nothing(), more, tuples
        parts = self.parts(rows, [found.rows[slot] for slot in range(len(rows))])
        value, counts = self.body.values(parts)
        if counts is not None:
            raise NotColumnar("a body gives several values of a combination, or none")
        keys, codes = self._keys(parts, value)
        coming, going = np.flatnonzero(found.born >= 0), np.flatnonzero(found.died != FOREVER)
        which = np.concatenate([going, coming])
        weight = np.repeat(np.array([-1, 1], np.int8), [len(going), len(coming)])
        position = np.concatenate([found.died[going], found.born[coming]])
        order = np.lexsort((which, weight, position))
        which, weight, position = which[order], weight[order], position[order]
        if not len(which):
            return nothing(), more, tuples
        mentioned = self.parts(rows, [found.rows[slot][which] for slot in range(len(rows))])
        since, until = causes(rows, lifetimes, mentioned, position, weight, moment.steps)
        cells = times(codes[which], position, moment.steps)
        first = first_standing(
            len(cells), cells.at(codes, found.born), cells.at(codes, found.died), np.arange(len(found))
        )
        cell = cells.at(codes[which], position)
        mention, since, until = _by_cell(cell, len(cells), since, until)
        flow, chosen = _changes(value, hull(parts), first, cells.is_before, mention, since, until)
        key = keys.take(which[mention[chosen]])
        flow = attrs.evolve(flow, position=cells.position[chosen], key=key)
        return flow, _shown(more, flow) if len(flow) else more, tuples

    def _keys(self, parts: Sequence[Parts], value: Vector) -> tuple[Vector, Ints]:
        """Return the key of each result, and its code."""
        by = self.plan.by
        assert by is not None  # Invariant: that is how this one was chosen
        keys = got(value, by) if self.key is None else self.key.values(len(value), *parts)
        if nulls(keys) is not None:
            raise NotColumnar("the key of a row is null")
        (codes,), _ = encoded([[keys]], skips_null=False)
        if (codes < 0).any():
            raise NotColumnar("a key does not equal itself")
        return keys, codes


def _ranked(found: Combinations, sizes: Sequence[int], *, oldest_first: bool) -> Ints:
    """Return combinations in the order in which a full enumeration visits them."""
    columns = []
    for slot, size in enumerate(sizes):
        row = found.rows[slot]
        columns.append(np.where(row == NONE, size, row if oldest_first else size - 1 - row))
    return np.lexsort((found.born, *reversed(columns)))


def _by_cell(cell: Ints, n: int, since: Ints, until: Ints) -> tuple[Ints, Ints, Ints]:
    """Return of each cell its first mention, `NONE` where nothing is mentioned, and the hull of its causes."""
    mention, first, last = np.full(n, NONE, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    order = np.argsort(cell, kind="stable")
    heads = np.flatnonzero(begins(cell[order]))
    there = cell[order][heads]
    mention[there] = order[heads]
    first[there] = np.minimum.reduceat(since[order], heads)
    last[there] = np.maximum.reduceat(until[order], heads)
    return mention, first, last


def _changes(
    value: Vector,
    times_: tuple[Ints, Ints],
    first: Ints,
    is_before: NDArray[np.bool_],
    mention: Ints,
    since: Ints,
    until: Ints,
) -> tuple[Flow, Ints]:
    """Return the changes, without their steps and keys, and the cells of which they are, in order of mention."""
    was = np.append(NOBODY, first[:-1])
    has, had = first != NOBODY, was != NOBODY
    is_change = ~is_before & (has | had)
    both = np.flatnonzero(is_change & has & had)
    is_change[both] = ~unchanged(value.take(was[both]), value.take(first[both]))
    chosen = np.flatnonzero(is_change)
    chosen = chosen[np.argsort(mention[chosen])]
    gone, row = ~has[chosen], np.where(has[chosen], first[chosen], 0)
    start = np.where(gone, since[chosen], np.minimum(since[chosen], times_[0][row]))
    end = np.where(gone, until[chosen], np.maximum(until[chosen], times_[1][row]))
    values = value.take(np.where(gone, MISSING, row), may_miss=True) if gone.any() else value.take(row)
    none = np.zeros(0, np.int64)
    return Flow(none, values, start, end, deletes=gone if gone.any() else None), chosen


def _shown(more: Shown | None, flow: Flow) -> Shown | None:
    """Return what is shown after changes: keys stay where they came, unless they were deleted."""
    assert flow.key is not None  # Invariant: they are changes of a table
    sides, values = [flow.key], [flow.value]
    if more is not None:
        sides, values = [more.key, *sides], [more.value, *values]
    every, value = concatenated(sides), concatenated(values)
    n = len(every)
    deletes = np.zeros(n, np.bool_)
    if flow.deletes is not None:
        deletes[n - len(flow) :] = flow.deletes
    (code,), count = encoded([[every]], skips_null=False)
    last_deleted, last = np.full(count, NONE, np.int64), np.full(count, NONE, np.int64)
    last_deleted[code[deletes]] = np.flatnonzero(deletes)
    last[code] = np.arange(n)
    since = np.flatnonzero(~deletes & (np.arange(n) > last_deleted[code]))  # those that have it come since
    if not len(since):
        return None
    came = since[np.sort(np.unique(code[since], return_index=True)[1])]
    return Shown(every.take(came), value.take(last[code[came]]))


def row_join_stage(join: Join) -> Stage | str | None:
    """Return the stage of streams with memories whose results are rows by a function, or why it has none."""
    if not isinstance(join.batch.output, ResultRows):
        return None
    plan = plan_of(join)
    if not isinstance(plan, Plan):
        return None  # whose reason is given by `version_stage`
    return RowJoin(join, plan) if plan.takes_back else "what its results are made of leaves, and they stand"
