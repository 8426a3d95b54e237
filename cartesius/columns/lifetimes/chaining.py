"""Chaining: which combinations of rows there are, and from which step to which. The overlap join of all slots.

Slots are joined one after the other, along the equalities between them: each time the combinations so far are versions
as well, joined with those of the next slot. Where a part may be missing, what is left of the life of a combination
without a partner is one with that part missing.

Invariant: the combinations that differ only in when they live do not overlap, nor touch.

Source: DESIGN 4; SEMANTICS 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.lifetimes.overlap import NONE, Versions, gaps, overlapping
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.lanes import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.column_texts import Code
    from cartesius.columns.bodies.computed import Column
    from cartesius.columns.lifetimes.lifetimes import Lifetimes
    from cartesius.columns.stages.candidates import Parts
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices


@attrs.frozen(eq=False)
class Edge:
    """What two slots must agree in.

    Args:
        left: A slot.
        right: Another one.
        of_left: What is computed of the one.
        of_right: What is computed of the other one, to be equal.
        skips_null: Whether None equals nothing.
    """

    left: int
    right: int
    of_left: Column
    of_right: Column
    skips_null: bool

    def seen_from(self, slot: int) -> tuple[int, Column, Column]:
        """Return the other slot, and what is computed of it and of this one."""
        if slot == self.left:
            return self.right, self.of_right, self.of_left
        return self.left, self.of_left, self.of_right


@attrs.frozen(eq=False)
class Turn:
    """How one slot is joined to those before it.

    Args:
        slot: The slot.
        edges: The equalities that it is joined by.
        parent: Where parts may be missing: the slot that it hangs on; None at a root.
        may_miss: Whether a combination may go on without it: nothing beyond it is mandatory either.
        conditions: Where parts may be missing: what it and its parent must satisfy besides.
    """

    slot: int
    edges: tuple[Edge, ...]
    parent: int | None = None
    may_miss: bool = False
    conditions: tuple[Code, ...] = ()


@attrs.frozen(eq=False)
class Combinations:
    """Combinations, and when they live.

    Args:
        rows: For each slot that has been joined, the row of each combination; `NONE` where its part is missing.
        born: The step that each begins with.
        died: The step that each ends before.
    """

    rows: Mapping[int, Indices]
    born: NDArray[np.int64]
    died: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.born)

    def take(self, keep: Indices) -> Combinations:
        """Return the combinations at ``keep``."""
        return Combinations({slot: rows[keep] for slot, rows in self.rows.items()}, self.born[keep], self.died[keep])


@attrs.frozen(eq=False)
class Joining:
    """One batch: the rows of all slots, joined as their turns say.

    Args:
        rows: The rows of each slot.
        lifetimes: When they are in memory.
        parts: What makes parts of a slot of the indices of rows.
        visible: Where parts may be missing: which rows of a slot are seen at all; None: all.
        most: How many combinations may be in store at a time; None: any number.
    """

    _rows: Sequence[Rows]
    _lifetimes: Sequence[Lifetimes]
    _parts: Callable[[int, Indices], Parts]
    _visible: Sequence[NDArray[np.bool_] | None]
    _most: int | None

    def joined(self, turns: Sequence[Turn], *, only_new: bool) -> Combinations:
        """Return all combinations; where ``only_new`` is set, those that are there before the batch may be left out."""
        first, *rest = turns
        alive = self._alive(first.slot)
        mine = self._lifetimes[first.slot]
        found = Combinations({first.slot: alive}, mine.born[alive], mine.died[alive])
        for turn in rest:
            found = self._next(found, turn, fresh=0 if only_new and turn is rest[-1] else None)
        return found

    def both(self, turn: Turn, first: int) -> Combinations:
        """Return the combinations of two slots of which each may be missing."""
        lives = self._lifetimes[turn.slot]
        alive = self._alive(first)
        start = self._lifetimes[first]
        found = self._next(Combinations({first: alive}, start.born[alive], start.died[alive]), turn, fresh=None)
        matched = np.flatnonzero((found.rows[turn.slot] != NONE) & (found.rows[first] != NONE))
        owner, since, until = gaps(
            lives.born, lives.died, found.rows[turn.slot][matched], found.born[matched], found.died[matched]
        )
        visible = self._visible[turn.slot]
        if visible is not None:
            seen = np.flatnonzero(visible[owner])
            owner, since, until = owner[seen], since[seen], until[seen]
        alone = Combinations({first: np.full(len(owner), NONE, np.int64), turn.slot: owner}, since, until)
        return _together(found, alone)

    def _alive(self, slot: int) -> Indices:
        mine, visible = self._lifetimes[slot], self._visible[slot]
        lives = mine.born < mine.died
        return np.flatnonzero(lives if visible is None else lives & visible)

    def _next(self, found: Combinations, turn: Turn, *, fresh: int | None) -> Combinations:
        mine, its = self._codes(found, turn)
        lives = self._lifetimes[turn.slot]
        if turn.parent is not None and not turn.edges:
            mine = np.where(found.rows[turn.parent] == NONE, NEVER, mine)
        if (visible := self._visible[turn.slot]) is not None:
            its = np.where(visible, its, NEVER)
        left, right = Versions(mine, found.born, found.died), Versions(its, lives.born, lives.died)
        before, row = overlapping(left, right, fresh=fresh, most=self._most)
        if turn.conditions and len(row):
            ends = {turn.slot: row}
            assert turn.parent is not None  # Invariant: conditions are on a slot and its parent
            ends[turn.parent] = found.rows[turn.parent][before]
            hold = np.ones(len(row), np.bool_)
            parts = [self._parts(slot, indices) for slot, indices in sorted(ends.items())]
            for code in turn.conditions:
                hold &= holds(code.function(len(row), *parts), len(row))
            before, row = before[hold], row[hold]
        more = found.take(before)
        born, died = np.maximum(more.born, lives.born[row]), np.minimum(more.died, lives.died[row])
        matched = Combinations({**more.rows, turn.slot: row}, born, died)
        if not turn.may_miss:
            return matched
        owner, since, until = gaps(found.born, found.died, before, born, died)
        left_out = found.take(owner)
        alone = Combinations({**left_out.rows, turn.slot: np.full(len(owner), NONE, np.int64)}, since, until)
        return _together(matched, alone)

    def _codes(self, found: Combinations, turn: Turn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what the combinations, and the rows of the next slot, are joined by."""
        here = self._rows[turn.slot]
        mine, its = np.zeros(len(found), np.int64), np.zeros(len(here), np.int64)
        for place, edge in enumerate(turn.edges):
            other, of_other, of_mine = edge.seen_from(turn.slot)
            codes, n = encoded([[of_other(self._rows[other])], [of_mine(here)]], skips_null=edge.skips_null)
            theirs = np.append(codes[0], NEVER)[found.rows[other]]
            if place == 0:
                mine, its = theirs, codes[1]
            else:
                mine, its = _combined(mine, its, theirs, codes[1], n)
        return mine, its


def _combined(mine: Any, its: Any, theirs: Any, more: Any, n: int) -> tuple[Any, Any]:
    never = [(a == NEVER) | (b == NEVER) for a, b in ((mine, theirs), (its, more))]
    every = np.concatenate([mine * n + theirs, its * n + more])
    _, codes = np.unique(every, return_inverse=True)
    codes[np.concatenate(never)] = NEVER
    return codes[: len(mine)], codes[len(mine) :]


def _together(one: Combinations, other: Combinations) -> Combinations:
    rows = {slot: np.concatenate([mine, other.rows[slot]]) for slot, mine in one.rows.items()}
    return Combinations(rows, np.concatenate([one.born, other.born]), np.concatenate([one.died, other.died]))


# -- the turns of slots ------------------------------------------------------------------------------------------------


def in_a_chain(n: int, edges: Sequence[tuple[int | None, Edge]]) -> list[Turn]:
    """Return the turns of slots of which no part is missing: each is joined to those before it, if it can be."""
    turns, met = [Turn(0, ())], {0}
    while len(met) < n:
        left = [slot for slot in range(n) if slot not in met]
        slot = next((slot for slot in left if _between(edges, slot, met)), left[0])
        turns.append(Turn(slot, tuple(_between(edges, slot, met))))
        met.add(slot)
    return turns


def _between(edges: Sequence[tuple[int | None, Edge]], slot: int, met: set[int]) -> list[Edge]:
    """Return the edges from a slot to those that are there; of a key space one, as the others follow from it."""
    found, spaces = [], set()
    for space, edge in edges:
        ends = {edge.left, edge.right}
        if slot not in ends or not (ends - {slot}) <= met or space in spaces:
            continue
        if space is not None:
            spaces.add(space)
        found.append(edge)
    return found


def in_a_tree(
    edges: Sequence[Edge], pairs: dict[frozenset[int], list[Code]], may_miss: Sequence[bool]
) -> list[Turn] | str:
    """Return the turns of slots that hang on each other, of which some may be missing."""
    n = len(may_miss)
    joined = {frozenset((edge.left, edge.right)) for edge in edges} | set(pairs)
    root = next((slot for slot in range(n) if not may_miss[slot]), 0)
    if all(may_miss) and n != 2:
        return "more than two parts may be missing, and none must be there"
    parents: dict[int, int | None] = {root: None}
    order = [root]
    for slot in order:
        for other in range(n):
            if other not in parents and frozenset((slot, other)) in joined:
                parents[other] = slot
                order.append(other)
    if len(order) < n:
        return "parts may be missing of slots that no condition connects"

    def ends(slot: int) -> bool:
        return may_miss[slot] and all(ends(other) for other, parent in parents.items() if parent == slot)

    turns = []
    for slot in order:
        parent = parents[slot]
        pair = frozenset([slot] if parent is None else [slot, parent])
        mine = tuple([edge for edge in edges if {edge.left, edge.right} == pair])
        turns.append(Turn(slot, mine, parent, parent is not None and ends(slot), tuple(pairs.get(pair, ()))))
    return turns
