"""The kernel of merges: no parts meet, each event is a candidate of its own, and leaves with its step.

Source: ICFP 2018, doi:10.1145/3236762, Table 2 (merge); SEMANTICS 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import no_rows, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.streams.gate_columns import filtered
from cartesius.columns.streams.shapes import Shape, shape_of
from cartesius.columns.streams.zipping import flow_of
from cartesius.columns.vectors.vectors import MISSING
from cartesius.plan.nodes import Complete, Let, Now, Separate, TakeOrder, Visit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.correlations.join_shape import Join

_KNOWN: Final = frozenset({Separate, Now, Let, Complete, TakeOrder, Visit})


class Merge(Stage):
    """`separately` and `momentarily` of all slots."""

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        self.body = ColumnarBody(join)

    def source(self) -> str:
        """Return the code of the body."""
        return heading(self.join, "merging.run") + "".join(f"\n{code.text}" for code in self.body.codes)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Put the events of all slots in the order of arrival."""
        number, row = np.full(moment.steps, -1, np.int64), np.zeros(moment.steps, np.int64)
        rows = []
        for slot in self.join.slots:
            mine = filtered(self.shape, slot, arriving.get(slot.index))
            if mine is not None:
                number[mine.position] = slot.index
                row[mine.position] = np.arange(len(mine))
            rows.append(no_rows() if mine is None else mine)
        position = np.flatnonzero(number >= 0)
        if not len(position):
            return Outcome(nothing(), state, 0)
        number, row = number[position], row[position]
        parts = [Parts(mine, np.where(number == index, row, MISSING), may_miss=True) for index, mine in enumerate(rows)]
        return Outcome(flow_of(self.body, parts, position), state, len(position))


def merge_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation in which no parts meet, and nothing stays."""
    if not any(isinstance(one.node, Separate) for one in join.installed):
        return None
    shape = shape_of(join, _KNOWN)
    if not isinstance(shape, Shape):
        return shape
    if not all(slot.leaves for slot in shape.slots):
        return "events that stand alone stay in memory"
    return Merge(join, shape)
