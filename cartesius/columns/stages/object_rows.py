"""Rows whose values are objects: those that were there when columns took over stay in memory until they are replaced.

Of such rows columns hold what a kernel looks at; `State.more` has the rows that have come since, with all they are.

Invariant: of each row that is retained, either the memory has the object, or `State.more` has all of its columns.

Source: DESIGN 4.
"""

from __future__ import annotations

from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.stages.rows import Rows, joined
from cartesius.columns.stages.stored_rows import entries_of
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.stages.stages import State
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.correlations.join_shape import Join


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
    there = set() if rows is None else set(rows.number.tolist())
    for entry in list(slot.memory.all()):
        if entry.number not in there:
            slot.memory.remove(entry)
    entries = [entry for some in state.more or () for entry in entries_of(join, slot, some)]
    for entry in sorted(entries, key=attrgetter("number")):
        slot.memory.store(entry)
    slot.memory.settle(slot.memory.all())
