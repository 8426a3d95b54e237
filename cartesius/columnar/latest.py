"""The kernel of latest values: slots that keep their newest event of each key, under one key common to all.

Rows of all slots are sorted by key, stably; within a key the part of each slot is the last of its rows so far. So a
candidate is found by carrying row numbers forward: one sort, and one running maximum a slot.

Source: DESIGN 4 (versions are disjoint per key, and their overlap join is a merge).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columnar.candidates import Parts, hull
from cartesius.columnar.rows import BEFORE, Flow, Rows, joined, nothing
from cartesius.columnar.stages import Outcome, Stage, State
from cartesius.columnar.vectorising import ColumnarBody
from cartesius.meanings import Meaning
from cartesius.outputs import Events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columnar.stages import Moment
    from cartesius.join_shape import Join

_KNOWN = {Meaning.NEWEST, Meaning.COMPLETION}


class Latest(Stage):
    """`most_recently` of all slots, without keys."""

    def __init__(self, join: Join) -> None:
        super().__init__(join)
        self.body = ColumnarBody(join)

    def source(self) -> str:
        """Return the generated code."""
        return "\n".join(code.text for code in self.body.codes)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Carry the newest of each slot forward."""
        rows = []
        for slot, before in zip(self.join.slots, state.retained, strict=True):
            mine = [one for one in (before, arriving.get(slot.index)) if one is not None]
            rows.append(joined(mine) if mine else None)
        retained = tuple([None if one is None else one.take(np.array([len(one) - 1])).as_retained() for one in rows])
        present = [one for one in rows if one is not None]
        flow, tuples = self._flow(present) if len(present) == len(rows) else (nothing(), 0)
        return Outcome(flow, State(retained), tuples)

    def _flow(self, rows: list[Rows]) -> tuple[Flow, int]:
        position = np.concatenate([one.position for one in rows])
        slot = np.repeat(np.arange(len(rows)), [len(one) for one in rows])
        index = np.concatenate([np.arange(len(one)) for one in rows])
        order = np.argsort(position, kind="stable")
        position, slot, index = position[order], slot[order], index[order]
        carried: list[NDArray[np.int64]] = [
            np.maximum.accumulate(np.where(slot == place, index, -1)) for place in range(len(rows))
        ]
        keep = position != BEFORE
        for one in carried:
            keep &= one >= 0
        parts = [Parts(one, part[keep]) for one, part in zip(rows, carried, strict=True)]
        position = position[keep]
        tuples = len(position)
        if self.body.has_condition:
            holds = self.body.holds(parts)
            parts, position = [part.chosen(holds) for part in parts], position[holds]
        value, counts = self.body.values(parts)
        start, end = hull(parts)
        if counts is not None:
            position, start, end = (np.repeat(one, counts) for one in (position, start, end))
        return Flow(position, value, start, end), tuples


def latest_stage(join: Join) -> Stage | str:
    """Return the stage of a correlation that keeps the newest event of each slot."""
    meanings = {one.restriction.meaning for one in join.installed}
    if not meanings <= _KNOWN or not isinstance(join.batch.output, Events):
        return "its restrictions are not those of latest values"
    newest = [one for one in join.installed if one.restriction.meaning is Meaning.NEWEST]
    if len(newest) != 1 or set(newest[0].named) != set(join.slots) or vars(newest[0].restriction)["n"] != 1:
        return "not every slot keeps one event"
    if any(slot.is_table or slot.n is not None or slot.shared is not None for slot in join.slots):
        return "a slot is no plain stream"
    if len({slot.reactive for slot in join.slots}) < len(join.slots):
        return "two slots have one source"
    return Latest(join)
