"""Gates of columns: what comes to a slot, and what of it comes through, in which step.

Source: SEMANTICS 1.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.bodies.coding import codes_of
from cartesius.columns.bodies.computed import of_predicates
from cartesius.columns.stages.aligned_rows import Released, released, released_by_key, the_rest
from cartesius.columns.stages.rows import Rows, all_of
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Keys
    from cartesius.columns.streams.shapes import Shape
    from cartesius.language.families import Slot


@attrs.frozen(eq=False)
class Gate:
    """What aligns some slots.

    Args:
        slots: Their indexes.
        keys: The key spaces of the correlation.
        spaces: Those under which rows are held, each key for itself.
        limit: How many rows of a slot and key are held at most; None: any number.
    """

    slots: tuple[int, ...]
    keys: Keys
    spaces: tuple[int, ...]
    limit: int | None = None


def filtered(shape: Shape, slot: Slot, rows: Rows | None) -> Rows | None:
    """Return which rows come through the filters of a slot."""
    if rows is None:
        return None
    shape.keys.check(slot.index, rows)
    holds = of_predicates(shape.slots[slot.index].predicates, rows)
    return rows if holds is None else rows.take(np.flatnonzero(holds))


def through(
    gate: Gate, held: Mapping[int, Rows | None], coming: list[Rows | None], base: int, steps: int
) -> dict[int, Rows | None]:
    """Let what comes to aligned slots be what is released; return what is held back.

    Raises:
        NotColumnar: More would be held than the gate has room for.
    """
    waiting = {slot: all_of(held[slot], coming[slot]) for slot in gate.slots}
    present = [one for one in waiting.values() if one is not None]
    codes, count = _codes(gate, waiting)
    if len(present) < len(gate.slots):
        found = Released((), np.zeros(0, np.int64), np.zeros(0, np.int64))
    elif gate.spaces:
        found = released_by_key([one.position for one in present], list(codes.values()), count, steps)
    else:
        found = released([one.position for one in present])
    if gate.limit is not None:
        for slot, mine in waiting.items():
            if mine is not None and not _has_room(mine.position, codes[slot], found, gate.limit, steps):
                raise NotColumnar("a queue is full")
    if not found.rows:
        for slot in gate.slots:
            coming[slot] = None
        return {index: None if one is None else one.as_retained() for index, one in waiting.items()}
    for slot, mine, chosen in zip(gate.slots, present, found.rows, strict=True):
        let = attrs.evolve(mine.take(chosen), position=found.position, number=found.position + base)
        coming[slot] = let
        waiting[slot] = the_rest(mine, chosen).as_retained()
    return waiting


def _codes(gate: Gate, waiting: Mapping[int, Rows | None]) -> tuple[dict[int, NDArray[np.int64]], int]:
    """Return the codes of the keys under which rows are held, by slot, and how many there are."""
    present = {slot: rows for slot, rows in waiting.items() if rows is not None}
    found = {slot: np.zeros(len(rows), np.int64) for slot, rows in present.items()}
    count = 1
    for space in gate.spaces if present else ():
        codes, nobody = codes_of([gate.keys.in_space(space, slot, rows) for slot, rows in present.items()])
        if len(gate.spaces) > 1 and any((one == nobody).any() for one in codes):
            raise NotColumnar("an event in a window has no key")
        both = [mine * (nobody + 1) + code for mine, code in zip(found.values(), codes, strict=True)]
        count *= nobody + 1
        if len(gate.spaces) > 1:
            numbers, inverse = np.unique(np.concatenate([np.zeros(0, np.int64), *both]), return_inverse=True)
            both, count = np.split(inverse.astype(np.int64), np.cumsum([len(one) for one in both])[:-1]), len(numbers)
        found = dict(zip(found, both, strict=True))
    return found, count


def _has_room(position: NDArray[np.int64], codes: NDArray[np.int64], found: Released, limit: int, steps: int) -> bool:
    """Whether, whenever a row comes, fewer than ``limit`` of its slot and key are held."""
    order = np.lexsort((position, codes))
    code, at = codes[order], position[order]
    begins = np.searchsorted(code, code, "left")
    earlier = np.arange(len(order)) - begins
    wide = steps + 1
    released_at = np.sort(found.code * wide + found.position + 1)
    before = np.searchsorted(released_at, code * wide + at + 1) - np.searchsorted(released_at, code * wide)
    return bool((earlier - before < limit)[at >= 0].all())
