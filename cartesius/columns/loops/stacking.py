"""The kernel of `affinely` on all slots, if nothing else limits them: no loop is needed.

Invariant: what is retained has its one use left.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.1; SEMANTICS 1.5; `stack_pairs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.bodies.coding import codes_under
from cartesius.columns.bodies.computed import linking
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.loops.stack_pairs import used_once
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import arrival, by_key, joined, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.stages.stored_rows import check_noted, rows_of
from cartesius.columns.streams.gate_columns import filtered
from cartesius.columns.streams.shapes import OF_LOCKSTEP, Shape, shape_of
from cartesius.columns.streams.zipping import flow_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.nodes import Node


class Stacking(Stage):
    """Each event is used once, the newest first, or the oldest."""

    costs = 1 / 8

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        self.body = ColumnarBody(join, linking(join))
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]

    def source(self) -> str:
        """Return the code of what is yielded, below the functions that find the candidates."""
        return heading(self.join, "stacks.used_once") + "".join(f"\n{code.text}" for code in self.body.codes[-1:])

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the memories."""
        retained = []
        for slot in self.join.slots:
            entries = list(slot.memory.all())
            check_noted(entries, {"uses"})
            retained.append(rows_of(slot, entries, arriving.get(slot.index)))
        return State(tuple(retained))

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories, and that each event may be used."""
        super().store(state, stored)
        for slot in self.join.slots:
            for entry in slot.memory.all():
                entry.uses = 1

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return what is equal in parts that meet."""
        return self.shape.components[0].columns[slot](rows) if self.shape.components else None

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Match what comes with what is left."""
        if not any(map(len, arriving.values())):
            return Outcome(nothing(), state, 0)
        rows: list[Rows | None] = []
        for slot, before in zip(self.join.slots, state.retained, strict=True):
            parts = [one for one in (before, filtered(self.shape, slot, arriving.get(slot.index))) if one is not None]
            rows.append(joined(parts) if parts else None)
        codes, count = self._codes(rows)
        present = [one for one in rows if one is not None]
        if len(present) < len(rows):
            return Outcome(nothing(), State(tuple([None if one is None else one.as_retained() for one in rows])), 0)
        lengths = [len(one) for one in present]
        firsts, slots = np.cumsum([0, *lengths[:-1]]), np.repeat(np.arange(len(rows), dtype=np.int16), lengths)
        order, n = arrival(present, moment.steps), sum(lengths)
        code = np.concatenate(codes) if codes else np.zeros(n, np.int64)
        if codes:
            order = by_key(order, code, count)
            n = int((code != count - 1).sum())  # the rest meets nothing, and comes last
        key, rest = code[order[:n]], order[n:]
        used = used_once(slots[order[:n]], key, len(rows), is_oldest_first=self.shape.is_oldest_first)
        position = np.concatenate([one.position for one in present])
        step = np.full(moment.steps, -1, np.int64)
        step[position[order[used.by]]] = np.arange(len(used.by))
        by_step = step[step >= 0]
        kept, parts_ = [], []
        for number, (one, first) in enumerate(zip(present, firsts, strict=True)):
            stays = np.sort(np.concatenate([order[used.left[number]], rest[slots[rest] == number]])) - first
            kept.append(one.take(stays).as_retained())
            own = self.keys[number]
            found = order[used.parts[number][by_step]] - first
            parts_.append(Parts(one, found, key=None if own is None else own(one)))
        flow = flow_of(self.body, parts_, np.flatnonzero(step >= 0)) if len(by_step) else nothing()
        return Outcome(flow, State(tuple(kept)), len(by_step))

    def _codes(self, rows: list[Rows | None]) -> tuple[list[NDArray[np.int64]], int]:
        """Return the codes under which rows meet, and how many there are; none if all meet."""
        if not self.shape.components or all(one is None for one in rows):
            return [], 0
        return codes_under(self.shape.components, rows)  # whoever is there: an error in what is equated is one


def stacking_stage(join: Join, known: frozenset[type[Node]] = OF_LOCKSTEP) -> Stage | None:
    """Return the stage of a product of streams of which each event is used once, and that is all."""
    shape = shape_of(join, known)
    if not isinstance(shape, Shape) or shape.aligned or len(shape.slots) == 1 or join.pattern.is_generator:
        return None
    if {(one.uses, one.newest, one.leaves) for one in shape.slots} != {(1, None, False)}:
        return None
    stage = Stacking(join, shape)
    return None if stage.body.has_condition else stage
