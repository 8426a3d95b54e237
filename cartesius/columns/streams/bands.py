"""The kernel of bands: parts that lie near each other in time, under one key common to all, whatever the order.

Rows are sorted by key and end; of each fresh row, two binary searches find what lies in the band, slot after slot.
Whether two rows match depends on their own times alone; when the clock has passed what a row can match, it leaves. That
changes no result, but how many candidates are counted, and what is retained.

Invariant: a candidate is found once, from the first of its slots that has a fresh part.

Source: SEMANTICS 1.17 and 3.8; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from cartesius.columns.bodies.coding import codes_under
from cartesius.columns.bodies.computed import linking
from cartesius.columns.bodies.vectorising import ColumnarBody, heading
from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import BEFORE, joined, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.streams.band_merge import merged
from cartesius.columns.streams.band_pairs import FAR, counted, near
from cartesius.columns.streams.expiring import Expiring, bound_of
from cartesius.columns.streams.gate_columns import filtered
from cartesius.columns.streams.shapes import Shape, shape_of
from cartesius.columns.streams.zipping import flow_of
from cartesius.plan.facts import bounds_on_times
from cartesius.plan.nodes import BANDS, Complete, KeyBy, Let, TakeOrder, Until, Visit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Vector
    from cartesius.correlations.join_shape import Join

    Ints = NDArray[np.int64]

KNOWN_OF_BANDS: Final = BANDS | {KeyBy, Let, Complete, TakeOrder, Visit}


class Near(Stage):
    """`within`, `lasting` and `apart`."""

    is_in_memory = True
    keeps_time = True
    kernel: ClassVar[str] = "band_merge.merged, or band_pairs.near"

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join)
        self.shape = shape
        bands = [one for one in join.installed if isinstance(one.node, Until)]
        self.expiring = Expiring(join, bands)
        self.bounds = tuple([bound for one in bands for bound in bounds_on_times(one, len(join.slots))])
        latest = [[bound_of(one, slot.index) for one in self.expiring.settled] for slot in join.slots]
        delays = [[one.most for one in mine if one is not None] for mine in latest]
        self.delays = [min(mine, default=None) for mine in delays]
        self.body = ColumnarBody(join, linking(join))
        self.keys = [shape.keys.own(slot.index) for slot in join.slots]

    def split(self, slot: int, rows: Rows) -> Vector | None:
        """Return what is equal in parts that meet."""
        return None if not self.shape.components else self.shape.components[0].columns[slot](rows)

    def source(self) -> str:
        """Return the code of the body, below the functions that find its candidates."""
        return heading(self.join, self.kernel) + "".join(f"\n{code.text}" for code in self.body.codes)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Find what lies in the bands."""
        if not moment.steps:
            return Outcome(nothing(), state, 0)
        rows: list[Rows | None] = []
        for slot, before in zip(self.join.slots, state.retained, strict=True):
            coming = filtered(self.shape, slot, arriving.get(slot.index))
            there = [one for one in (before, coming) if one is not None]
            rows.append(joined(there) if there else None)
        after = State(tuple([self._remaining(slot, mine, moment) for slot, mine in enumerate(rows)]))
        present = [one for one in rows if one is not None]
        codes, count = codes_under(self.shape.components, rows)  # an error in what is equated is one, whoever is there
        if len(present) < len(rows):
            return Outcome(nothing(), after, 0)
        tuples, position, ordered = self._met(present, codes, count - 1, moment)
        parts = [
            Parts(mine, chosen, key=None if key is None else key(mine))
            for mine, chosen, key in zip(present, ordered, self.keys, strict=True)
        ]
        return Outcome(flow_of(self.body, parts, position) if len(position) else nothing(), after, tuples)

    def _met(
        self, rows: list[Rows], codes: list[Ints], nobody: int, moment: Moment
    ) -> tuple[int, Ints, Sequence[Ints]]:
        """Return how many candidates there are, and the steps and rows of those that are near."""
        is_oldest_first, steps = self.shape.is_oldest_first, moment.steps
        if len(rows) == 2:
            clock = moment.clock if moment.meets_deadlines else None
            met = merged(rows, codes, nobody, self.bounds, clock, self.delays, steps, is_oldest_first=is_oldest_first)
            if met is not None:
                return met.tuples, met.position, met.rows
        positions = [one.position for one in rows]
        gone = [self.expiring.leave(slot, one, moment) for slot, one in enumerate(rows)]
        tuples = counted(positions, gone, codes, nobody, steps)
        starts, ends = [one.start for one in rows], [one.end for one in rows]
        found = near(starts, ends, positions, codes, nobody, self.bounds)
        return tuples, *in_order(rows, found, is_oldest_first=is_oldest_first)

    # -- the clock -----------------------------------------------------------------------------------------------------

    def _remaining(self, slot: int, rows: Rows | None, moment: Moment) -> Rows | None:
        """Return the rows that the clock has not passed when the batch is over."""
        due = None if rows is None or not moment.meets_deadlines else self.expiring.due(slot, rows)
        if rows is None or due is None or moment.clock is None:
            return None if rows is None else rows.as_retained()
        return rows.take(np.flatnonzero((due >= moment.clock[-1]) | (rows.position == moment.steps - 1))).as_retained()

    def passed(self, state: State, clock: int) -> State | None:
        """Return the state without the rows that the clock has passed: they give nothing."""
        return State(tuple([self._left(slot, rows, clock) for slot, rows in enumerate(state.retained)]))

    def _left(self, slot: int, rows: Rows | None, clock: int) -> Rows | None:
        due = None if rows is None else self.expiring.due(slot, rows)
        return rows if rows is None or due is None else rows.take(np.flatnonzero(due >= clock))

    def deadline(self, state: State) -> int | None:
        """Return when the first row is due to leave."""
        due = [
            self.expiring.due(slot, rows) for slot, rows in enumerate(state.retained) if rows is not None and len(rows)
        ]
        firsts = [int(times.min()) for times in due if times is not None]
        return min(firsts, default=None)

    def store(self, state: State, stored: set[int]) -> None:
        """Store the memories, and ask for the deadlines that their entries wait for."""
        super().store(state, stored)
        self.expiring.store(state)


def in_order(rows: Sequence[Rows], found: Sequence[Ints], *, is_oldest_first: bool) -> tuple[Ints, list[Ints]]:
    """Return the steps of candidates, and their rows, in the order in which they are enumerated."""
    position = np.full(len(found[0]), BEFORE, np.int64)
    for mine, chosen in zip(rows, found, strict=True):
        np.maximum(position, mine.position[chosen], out=position)
    sign = 1 if is_oldest_first else -1
    order = np.lexsort((*[sign * chosen for chosen in reversed(found)], position))
    return position[order], [chosen[order] for chosen in found]


def band_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation of streams whose parts must be near each other in time."""
    if not any(isinstance(one.node, Until) for one in join.installed):
        return None
    shape = shape_of(join, KNOWN_OF_BANDS)
    if not isinstance(shape, Shape):
        return shape
    if any(one.floor_slots for one in join.installed):
        return "what leaves waits for what gates hold"
    stage = Near(join, shape)
    if any(abs(bound.most) > FAR for bound in stage.bounds):
        return "its durations are too long"
    return stage
