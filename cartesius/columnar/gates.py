"""Gates of columns: what comes to a slot, and what of it comes through, in which step.

Source: SEMANTICS 1.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columnar.alignment import released, released_by_key, the_rest
from cartesius.columnar.computed import codes_of, of_predicates
from cartesius.columnar.rows import Rows, joined

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cartesius.columnar.shapes import Shape
    from cartesius.families import Slot


def filtered(shape: Shape, slot: Slot, rows: Rows | None) -> Rows | None:
    """Return which rows come through the filters of a slot."""
    if rows is None:
        return None
    shape.keys.check(slot.index, rows)
    holds = of_predicates(shape.slots[slot.index].predicates, rows)
    return rows if holds is None else rows.take(np.flatnonzero(holds))


def through(
    shape: Shape,
    slots: Sequence[Slot],
    held: Mapping[int, Rows | None],
    coming: list[Rows | None],
    base: int,
    steps: int,
) -> dict[int, Rows | None]:
    """Let what comes to aligned slots be what is released; return what is held back."""
    waiting: dict[int, Rows | None] = {}
    for slot in slots:
        parts = [one for one in (held[slot.index], coming[slot.index]) if one is not None]
        waiting[slot.index] = joined(parts) if parts else None
    present = [one for one in waiting.values() if one is not None]
    if len(present) < len(slots):
        for slot in slots:
            coming[slot.index] = None
        return {index: None if one is None else one.as_retained() for index, one in waiting.items()}
    positions = [one.position for one in present]
    if not shape.spaces:
        found = released(positions)
    else:
        spaces, keys = shape.spaces, shape.keys
        sides = [keys.in_spaces(spaces, slot.index, one) for slot, one in zip(slots, present, strict=True)]
        codes, nobody = codes_of(sides)
        found = released_by_key(positions, codes, nobody + 1, steps)
    for slot, mine, chosen in zip(slots, present, found.rows, strict=True):
        let = attrs.evolve(mine.take(chosen), position=found.position, number=found.position + base)
        coming[slot.index] = let
        waiting[slot.index] = the_rest(mine, chosen).as_retained()
    return waiting
