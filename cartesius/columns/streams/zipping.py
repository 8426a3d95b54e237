"""The kernel of zip: all slots come in lock-step and keep one event, so that each release is one candidate.

Without a key the k-th rows of all slots meet. Under a key the rows are sorted by it, stably, once a slot, and those of
the same ordinal within their key meet. Nothing is enumerated.

Invariant: of the state, `more` has what the gate holds, by slot; `retained` the last row released, of each key.

Source: SEMANTICS 1.7; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.bodies.coding import codes_of
from cartesius.columns.bodies.computed import linking
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.lifetimes.emitting import Emissions, as_events
from cartesius.columns.stages.aligned_rows import load_held, released, released_by_key, store_held, the_rest
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import BEFORE, Flow, Rows, all_of, joined, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State, left_of
from cartesius.columns.streams.gate_columns import filtered
from cartesius.columns.streams.shapes import OF_LOCKSTEP, Shape, shape_of
from cartesius.columns.vectors.key_codes import NEVER, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.aligned_rows import Released
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.nodes import Node


class Zip(Stage):
    """`aligning` and `most_recently` of all slots."""

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        self.body = ColumnarBody(join, linking(join))
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]
        ((self.gate, _),) = shape.aligned

    def source(self) -> str:
        """Return the code of the body, below the functions that find its candidates."""
        kernel = "alignment.released_by_key" if self.shape.spaces else "alignment.released"
        return heading(self.join, kernel) + "".join(f"\n{code.text}" for code in self.body.codes)

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the memories, and what the gate holds."""
        held = load_held(self.gate, arriving)
        return self._state(super().load(arriving).retained, [held[slot.index] for slot in self.join.slots])

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories, and what the gate holds."""
        super().store(state, stored)
        store_held(self.join, self.gate, state.more)

    def without(self, state: State, are_gone: Callable[[Rows], NDArray[np.bool_]]) -> State:
        """Return the state without some rows."""
        held = [left_of(rows, are_gone)[0] for rows in state.more.values()]
        return self._state(super().without(state, are_gone).retained, held)

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return the keys under which the gate holds rows, if it is one gate a key."""
        spaces = self.shape.spaces
        if len(spaces) != 1 or spaces[0] == self.join.bindings.window_space:
            return None
        return self.shape.keys.in_space(spaces[0], slot % len(self.join.slots), rows)

    def as_rows(self, state: State) -> State:
        """Return the state with what the gate holds as rows of further slots."""
        return State((*state.retained, *(state.more.get(slot.index) for slot in self.join.slots)))

    def of_rows(self, state: State) -> State:
        """Return the state of rows."""
        n = len(self.join.slots)
        return self._state(state.retained[:n], state.retained[n:])

    def _state(self, retained: Sequence[Rows | None], held: Iterable[Rows | None]) -> State:
        waiting = dict(enumerate(held))
        return State(tuple(retained), waiting, sum(len(rows) for rows in waiting.values() if rows is not None))

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Release what is complete."""
        held: dict[int, Rows | None] = state.more
        rows: list[Rows | None] = []
        for slot in self.join.slots:
            rows.append(all_of(held.get(slot.index), filtered(self.shape, slot, arriving.get(slot.index))))
        present = [one for one in rows if one is not None and len(one)]
        if len(present) < len(rows):
            waiting = [None if one is None else one.as_retained() for one in rows]
            return Outcome(nothing(), self._state(state.retained, waiting), 0)
        return self._released(state, present, moment)

    def _released(self, state: State, rows: list[Rows], moment: Moment) -> Outcome:
        found, before, nobody = self._found(state.retained, rows, moment.steps)
        waiting = [the_rest(mine, taken).as_retained() for mine, taken in zip(rows, found.rows, strict=True)]
        if not len(found):
            return Outcome(nothing(), self._state(state.retained, waiting), 0)
        base = next(int(mine.number[-1] - mine.position[-1]) for mine in rows if mine.position[-1] != BEFORE)
        newest = np.full(nobody + 1, -1, np.int64)
        newest[found.code] = np.arange(len(found))
        last = np.sort(newest[newest >= 0])
        retained = []
        for mine, chosen, old, codes in zip(rows, found.rows, state.retained, before, strict=True):
            new = attrs.evolve(mine.take(chosen[last]), number=found.position[last] + base).as_retained()
            kept = [] if old is None else [old.take(np.flatnonzero(newest[codes] < 0))]
            retained.append(joined([*kept, new]))
        outcome = self._state(retained, waiting)
        meet = self._meet(rows, found, nobody)
        parts = [
            Parts(mine, chosen if meet is None else chosen[meet], key=None if key is None else key(mine))
            for mine, chosen, key in zip(rows, found.rows, self.keys, strict=True)
        ]
        position = found.position if meet is None else found.position[meet]
        return Outcome(flow_of(self.body, parts, position), outcome, len(position))

    def _found(
        self, retained: Sequence[Rows | None], rows: Sequence[Rows], steps: int
    ) -> tuple[Released, list[NDArray[np.int64]], int]:
        """Return what is released, the codes of what is retained, and the code of what has no key."""
        positions = [mine.position for mine in rows]
        spaces, n = self.shape.spaces, len(rows)
        if not spaces:
            return released(positions), [np.zeros(0 if old is None else len(old), np.int64) for old in retained], 0
        sides = [self.shape.keys.in_spaces(spaces, index, mine) for index, mine in enumerate(rows)]
        old = [(i, self.shape.keys.in_spaces(spaces, i, one)) for i, one in enumerate(retained) if one is not None]
        codes, nobody = codes_of([*sides, *[side for _, side in old]])
        before = [np.zeros(0, np.int64)] * n
        for (index, _), mine in zip(old, codes[n:], strict=True):
            before[index] = mine
        return released_by_key(positions, codes[:n], nobody + 1, steps), before, nobody

    def _meet(self, rows: Sequence[Rows], found: Released, nobody: int) -> NDArray[np.bool_] | None:
        """Return which rows that are released together satisfy the equalities; None: all do."""
        meet: NDArray[np.bool_] | None = None
        for component in self.shape.components:
            if component.space in self.shape.spaces:
                holds = found.code != nobody
            else:
                sides = [[component.columns[slot](mine)] for slot, mine in enumerate(rows)]
                codes, _ = encoded(sides, skips_null=component.skips_null)
                first, *others = [mine[chosen] for mine, chosen in zip(codes, found.rows, strict=True)]
                holds = first != NEVER
                for other in others:
                    holds &= first == other
            meet = holds if meet is None else meet & holds
        return None if meet is None or meet.all() else meet


def flow_of(body: ColumnarBody, parts: Sequence[Parts], position: NDArray[np.int64]) -> Flow:
    """Return what candidates give that come at these positions, in their order."""
    if body.has_condition:
        holds = body.holds(parts)
        parts, position = [part.chosen(holds) for part in parts], position[holds]
    return as_events(Emissions(parts, position), body)


def zip_stage(join: Join, known: frozenset[type[Node]] = OF_LOCKSTEP) -> Stage | str | None:
    """Return the stage of a correlation whose slots come in lock-step, one event of each at a time."""
    shape = shape_of(join, known)
    if not isinstance(shape, Shape):
        return shape
    if len(shape.aligned) != 1 or set(shape.aligned[0][1]) != set(range(len(join.slots))):
        return None
    if any(one.newest != 1 or one.uses is not None or one.leaves for one in shape.slots):
        return None
    return Zip(join, shape)
