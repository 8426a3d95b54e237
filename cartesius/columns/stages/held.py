"""Held values: Python objects of which columns hold only the references, for kernels that look at them themselves.

Rows that are collected from streams are such values: they never leave as columns, but from one kernel to another.

Objects that were there when columns took over stay in memory until they are replaced. Of such rows columns hold what a
kernel looks at; `State.more` has the rows that have come since, with all they are.

Invariant: of each row that is retained, either the memory has the object, or `State.more` has all of its columns.

Source: DESIGN 4.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.rows import Rows, joined
from cartesius.columns.stages.stored_rows import entries_of, load_bare
from cartesius.columns.vectors.objects import Objects
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.phases import collected_of
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.stages.stages import State
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.phases import Collected
    from cartesius.language.families import Slot


class Held(Objects):
    """References to Python objects."""

    kind = "held"

    @cached_property
    def array(self) -> pa.Array:
        """As many nulls."""
        return pa.nulls(len(self))

    def to_arrow(self) -> pa.Array:
        """Refuse: they are no columns."""
        raise NotColumnar("rows that are collected are given as they are")


def collected(slot: Slot) -> Collected | None:
    """Return how the rows that come to a slot are collected by another correlation; None if they are not."""
    pattern = slot.reactive.pattern
    lives = [] if pattern is None else facts.lives(pattern.restrictions)
    return next((found for life in lives if (found := collected_of(life)) is not None), None)


def load_held(slot: Slot) -> Rows | None:
    """Return the rows in the memory of a slot, as `stages.load_rows`, with their values as they are."""
    rows, values = load_bare(slot)
    return None if rows is None else attrs.evolve(rows, payload=Held(values))


def left(parts: Sequence[Rows], numbers: Indices) -> tuple[Rows, ...]:
    """Return the rows of these numbers, in few parts: one may show ints where another has floats."""
    found: list[Rows] = []
    for part in parts:
        there = part.take(np.flatnonzero(np.isin(part.number, numbers))).as_retained()
        for place, other in enumerate(found):
            with suppress(NotColumnar):
                found[place] = joined([other, there])
                break
        else:
            found.append(there)
    return tuple(one for one in found if len(one))


def store_beside(join: Join, state: State, stored: set[int]) -> None:
    """Let the memory of the only slot hold the objects that have come, beside those that are still there."""
    (slot,), (rows,) = join.slots, state.retained
    stored.add(id(slot.memory))
    entries = [entry for some in state.more or () for entry in entries_of(join, slot, some)]
    there = set() if rows is None else set(rows.number.tolist()) - {entry.number for entry in entries}
    for entry in list(slot.memory.all()):
        if entry.number not in there:  # nor if it has been stored already, to be read
            slot.memory.remove(entry)
    for entry in sorted(entries, key=attrgetter("number")):
        slot.memory.store(entry)
    slot.memory.settle(slot.memory.all())
