"""Lifetimes: the memory of a slot as versions. When each of its rows comes, and when it is displaced, and by which.

Invariant: a row that is never in memory at the end of a step, as another one has displaced it in the same, lives from
its birth until its birth.

Source: DESIGN 4; SEMANTICS 1.2 and 1.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.bodies.coding import codes_of
from cartesius.columns.bodies.computed import of_function, of_predicates
from cartesius.columns.lifetimes.overlap import FOREVER, NONE, earliest, successors
from cartesius.columns.stages.rows import all_of
from cartesius.columns.vectors.ordering import last_of_each
from cartesius.plan.nodes import Let, Newest, Node, Now, Oldest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Column, Keys
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot


@attrs.frozen(eq=False)
class Lifetimes:
    """When the rows of a slot are in memory.

    Args:
        born: The step of each that it comes in.
        died: The step that it is displaced in, or the one after it, where it leaves by itself; `FOREVER`.
        by: The row that displaces it; `NONE`.
    """

    born: NDArray[np.int64]
    died: NDArray[np.int64]
    by: Indices


@attrs.frozen(eq=False)
class Memory:
    """What the restrictions of one slot keep.

    Args:
        slot: The slot.
        kind: `Newest`, `Oldest` or `Now`; None: all of it.
        n: How many stay, of each key.
        spaces: The key spaces of these keys.
        predicates: What lets an event in.
    """

    slot: Slot
    kind: type[Node] | None
    n: int
    spaces: tuple[int, ...]
    predicates: tuple[Column, ...]

    def rows(self, keys: Keys, before: Rows | None, arriving: Rows | None) -> Rows | None:
        """Return what is in memory, and what comes to it; None if neither."""
        if arriving is not None and not len(arriving):
            arriving = None
        if arriving is not None and self.predicates:
            let_in = of_predicates(self.predicates, arriving)
            if let_in is not None and not let_in.all():
                keys.check(self.slot.index, arriving)
                arriving = arriving.take(np.flatnonzero(let_in))
        return all_of(before, arriving)

    def codes(self, keys: Keys, rows: Rows) -> tuple[NDArray[np.int64], int]:
        """Return the keys of which each has a memory of its own, as codes, and how many there are."""
        codes, count = np.zeros(len(rows), np.int64), 1
        for space in self.spaces:
            (more,), n = codes_of([keys.in_space(space, self.slot.index, rows)])
            if count == 1:
                codes, count = more, n + 1
            else:
                found, codes = np.unique(codes * (n + 1) + more, return_inverse=True)
                count = len(found)
        return codes, count

    def retained(self, keys: Keys, rows: Rows) -> Rows:
        """Return the rows that stay, if the slot keeps the newest alone."""
        if self.kind is Newest and self.n == 1:
            stays = np.sort(last_of_each(*self.codes(keys, rows)))
            return rows.take(stays[np.searchsorted(stays, 0) :]).as_retained()
        return rows.take(np.flatnonzero(self.lifetimes(keys, rows).died == FOREVER)).as_retained()

    def lifetimes(self, keys: Keys, rows: Rows) -> Lifetimes:
        """Return how long rows stay."""
        born = rows.position
        by = np.full(len(rows), NONE, np.int64)
        died = np.full(len(rows), FOREVER, np.int64)
        if self.kind is Now:
            died = born + 1
        elif self.kind is Oldest:
            died = np.where(earliest(*self.codes(keys, rows), self.n), FOREVER, born)
        elif self.kind is Newest:
            by = successors(*self.codes(keys, rows), self.n)
            died = np.where(by == NONE, FOREVER, born[by])
        return Lifetimes(born, died, by)


def memory_of(join: Join, slot: Slot) -> Memory | str:
    """Return what the restrictions of a slot keep, or why that is not known here."""
    found = Memory(slot, None, 0, (), predicates_of(join, slot))
    for one in join.installed:
        node = one.node
        if isinstance(node, Newest | Oldest | Now) and slot in node.slots:
            if found.kind is not None:
                return "two restrictions say what one slot keeps"
            n = 1 if isinstance(node, Now) else node.n
            found = Memory(slot, type(node), n, tuple(one.prefixes[slot.index]), found.predicates)
    return found


def predicates_of(join: Join, slot: Slot) -> tuple[Column, ...]:
    """Return what lets an event into a slot."""
    filters = [one.node for one in join.installed if isinstance(one.node, Let)]
    return tuple([of_function(one.predicate, slot) for one in filters if slot is one.slot])
