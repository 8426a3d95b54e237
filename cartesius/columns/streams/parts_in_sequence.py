"""The kernel of sequences: parts that follow each other within a time, under one key common to all.

In any order of lying between, a sequence is one more condition on the times of parts in a band. Of parts that are next
to each other, each decides the one after it: so rows of all slots are put in order, key by key, and of each the next
one of a slot is found by one pass backwards. Which part is next is judged by what is in memory when the last part
comes; where events come in order of time, that is all that came before it, as what has left is out of the band.

Invariant: a candidate is a combination that reaches the body, found once, when its last part comes.

Source: SEMANTICS 1.17 and 3.11; DESIGN 4.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE, arrival
from cartesius.columns.streams.band_pairs import FAR, near
from cartesius.columns.streams.bands import KNOWN_OF_BANDS, Near, in_order
from cartesius.columns.streams.shapes import Shape, shape_of
from cartesius.columns.vectors.ordering import ascends, by_code
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.plan.nodes import InSequence, Until, Within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment, Stage
    from cartesius.columns.vectors.vectors import Ints
    from cartesius.correlations.join_shape import Join

_KNOWN: Final = KNOWN_OF_BANDS | {InSequence}


class Following(Near):
    """`in_sequence` beside `within`."""

    kernel = "parts_in_sequence.Following"

    def __init__(self, join: Join, shape: Shape) -> None:
        super().__init__(join, shape)
        nodes = [one.node for one in join.installed if isinstance(one.node, InSequence)]
        self.orders = [[slot.index for slot in node.slots] for node in nodes]
        self.contiguity = next((node.contiguity for node in nodes if node.contiguity != "any"), "any")

    def _met(
        self, rows: list[Rows], codes: list[Ints], nobody: int, moment: Moment
    ) -> tuple[int, Ints, Sequence[Ints]]:
        """Return how many candidates there are, and the steps and rows of those that are in sequence."""
        if self.contiguity == "any":
            found = self._in_any_order(rows, codes, nobody)
            return len(found[0]), *in_order(rows, found, is_oldest_first=self.shape.is_oldest_first)
        found, position = self._next(rows, codes, nobody, moment.steps)
        turn = slice(None) if self.shape.is_oldest_first else slice(None, None, -1)
        order = by_code(position[turn], moment.steps)  # of one last part, rows are in order by their first
        return len(order), position[turn][order], [chosen[turn][order] for chosen in found]

    def _in_any_order(self, rows: list[Rows], codes: list[Ints], nobody: int) -> Sequence[Ints]:
        starts, ends = [one.start for one in rows], [one.end for one in rows]
        found = near(starts, ends, [one.position for one in rows], codes, nobody, self.bounds)
        follow = np.ones(len(found[0]), np.bool_)
        for before, after in {pair for order in self.orders for pair in pairwise(order)}:
            follow &= _precede(rows[before], found[before], rows[after], found[after])
        return [chosen[follow] for chosen in found]

    def _next(self, rows: list[Rows], codes: list[Ints], nobody: int, steps: int) -> tuple[Sequence[Ints], Ints]:
        """Return the rows that are next to each other, key by key, and the steps of the last ones."""
        line = _line(rows, codes, nobody, steps)
        at = np.flatnonzero(line.is_of(0))
        parts = [at]
        for slot in range(1, len(rows)):
            after = line.next_of(slot, at) if self.contiguity == "relaxed" else line.next_of_any(slot, at)
            is_there = line.code[after] == line.code[at]
            parts = [*(part[is_there] for part in parts), at := after[is_there]]
        found: list[Ints] = [
            line.row[part].astype(np.int64) - first for part, first in zip(parts, line.firsts, strict=False)
        ]
        position = rows[-1].position[found[-1]]
        kept = position > BEFORE  # else it was given before
        if self.bounds:  # of points that follow each other, and each of which is bounded by all
            most = min(bound.most for bound in self.bounds)
            kept &= rows[-1].end[found[-1]] - rows[0].end[found[0]] <= most
        return [one[kept] for one in found], position[kept]


@attrs.frozen(eq=False)
class Line:
    """The rows of all slots that have a key, key by key, in the order in which they came.

    Args:
        code: Their keys, and behind them one that is no key.
        row: Which of the rows of all slots they are.
        firsts: Which of these is the first one of each slot, and how many there are.
    """

    code: NDArray[np.int32]
    row: NDArray[np.int32]
    firsts: Sequence[int]

    def is_of(self, slot: int) -> NDArray[np.bool_]:
        """Return which are of a slot."""
        found: NDArray[np.bool_] = (self.row >= self.firsts[slot]) & (self.row < self.firsts[slot + 1])
        return found

    def next_of(self, slot: int, at: Ints) -> Ints:
        """Return the places of the next rows of a slot after some places, under whatever key."""
        is_next = self.is_of(slot)
        places: Ints = np.append(np.flatnonzero(is_next), len(self.row))
        return places[np.cumsum(is_next, dtype=np.int32)[at]]  # which is the one after so many of them

    def next_of_any(self, slot: int, at: Ints) -> Ints:
        """Return the places after some places, if they are of a slot."""
        return np.where(np.append(self.is_of(slot), False)[at + 1], at + 1, len(self.row))


def _line(rows: Sequence[Rows], codes: Sequence[Ints], nobody: int, steps: int) -> Line:
    """Put the rows of all slots in line; `NotColumnar` if they are no points that come in order of time."""
    if any(one.end is not one.start and (one.end != one.start).any() for one in rows):
        raise NotColumnar("events last, so that the next one is not the one that comes next")
    firsts = [0, *np.cumsum([len(one) for one in rows]).tolist()]
    order = arrival(rows, steps).astype(np.int32)
    code = np.concatenate(codes, dtype=np.int32)[order]
    if (code == nobody).any():
        order, code = order[code != nobody], code[code != nobody]
    time = np.concatenate([one.end for one in rows])[order]
    if not ascends(time):
        raise NotColumnar("events do not come in order of time, so that others may come between")
    by_key = by_code(code, nobody)
    return Line(np.append(code[by_key], np.int32(-1)), order[by_key], firsts)


def _precede(before: Rows, these: Ints, after: Rows, those: Ints) -> NDArray[np.bool_]:
    """Return which rows come before others: by time, or, of points of one time, as they came."""
    end, start = before.end[these], after.start[those]
    tied = (end == start) & (before.start[these] == end) & (after.end[those] == start)
    first, second = before.position[these], after.position[those]
    came = (first < second) | ((first == second) & (before.number[these] < after.number[those]))
    answer: NDArray[np.bool_] = (end < start) | (tied & came)
    return answer


def sequence_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation of streams whose parts follow each other within a time."""
    sequences = [one for one in join.installed if isinstance(one.node, InSequence)]
    if not sequences:
        return None
    shape = shape_of(join, _KNOWN)
    if not isinstance(shape, Shape):
        return shape
    if any(one.floor_slots for one in join.installed):
        return "what leaves waits for what gates hold"
    stage = Following(join, shape)
    if any(abs(bound.most) > FAR for bound in stage.bounds):
        return "its durations are too long"
    if any(one.node.after_match is not None for one in sequences):  # type: ignore[attr-defined]  # a sequence's
        return "a match may rule out others"
    bands = [one for one in join.installed if isinstance(one.node, Until)]
    if stage.contiguity == "any":
        return stage if bands else "nothing bounds how far parts may be apart"
    if len(sequences) > 1 or stage.orders != [list(range(len(join.slots)))]:
        return "several sequences hold, or one does not name all slots in their order"
    if join.pattern.where is not None and (stage.contiguity == "relaxed" or not join.pattern.has_traced_where):
        return "conditions say what is next"
    spaces = {*sequences[0].prefixes[0]}
    if {one.space for one in shape.components} != spaces or any(
        len(by) < len(join.slots) for by in join.bindings.spaces
    ):
        return "slots are linked by more than the keys to the left of the sequence"
    if any(not isinstance(one.node, Within) or len(one.named) < len(join.slots) for one in bands):
        return "what lies between may leave before its neighbours"
    return stage
