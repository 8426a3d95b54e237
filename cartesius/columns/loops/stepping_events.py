"""Events of a loop over steps: what comes to each slot and what leaves it, in one order.

Source: SEMANTICS 1.1, 1.7 and 3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.loops.stepping_shapes import Shape
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Ints

    Part = tuple[Ints, Ints, Ints]


@attrs.frozen
class Events:
    """What comes and goes, in order.

    Args:
        kinds: What it is: the number of a kind of `stepping_plans.Plan`, or, after those, of a slot that rows leave.
        steps: In which step.
        numbers: The row; of several rows that come together, the number of their release.
        released: The rows of each release, by slot; -1 where there is none.
    """

    kinds: bytes
    steps: list[int]
    numbers: list[int]
    released: dict[int, list[int]]


def events_of(shape: Shape, rows: Sequence[Rows | None], first: Sequence[int], moment: Moment) -> Events:
    """Return the events of a batch.

    Args:
        shape: The correlation.
        rows: The rows of each slot, those in memory in front.
        first: How many those are.
        moment: The batch.
    """
    kinds = {kind: number for number, kind in enumerate(shape.plan.kinds)}
    parts = list(_leaving(shape, rows, moment, len(kinds)))
    gates = [gate.slots for _, gate in shape.gates]
    for slot, mine in enumerate(rows):
        if mine is not None and not any(slot in slots for slots in gates):
            new = np.arange(first[slot], len(mine))
            parts.append((np.full(len(new), kinds[slot,]), mine.position[new], new))
    released: dict[int, list[int]] = {}
    for slots in gates:
        at, by_slot = _releases(slots, rows, first)
        parts.append(_of_releases(slots, at, by_slot, kinds))
        released |= {slot: mine.tolist() for slot, mine in by_slot.items()}
    kind, step, number = (np.concatenate([part[column] for part in parts]) for column in range(3))
    order = np.argsort(step, kind="stable")  # what leaves before a step stands in front of what comes in it
    return Events(kind[order].astype(np.uint8).tobytes(), step[order].tolist(), number[order].tolist(), released)


def _leaving(shape: Shape, rows: Sequence[Rows | None], moment: Moment, number: int) -> list[Part]:
    """Return what the clock lets leave; a slot that rows may leave is a kind of its own, from ``number`` on."""
    none = np.zeros(0, np.int64)
    parts = [(none, none, none)]
    for kind, slot in enumerate([slot for slot in shape.plan.slots if shape.plan.expires[slot]], number):
        mine = rows[slot]
        leave = None if mine is None else shape.expiring.leave(slot, mine, moment)
        if leave is not None:
            gone = np.flatnonzero(leave < moment.steps)
            parts.append((np.full(len(gone), kind), leave[gone], gone))
    return parts


def _releases(slots: Sequence[int], rows: Sequence[Rows | None], first: Sequence[int]) -> tuple[Ints, dict[int, Ints]]:
    """Return the steps of the releases of a gate, and their rows."""
    positions = {slot: one.position[first[slot] :] for slot in slots if (one := rows[slot]) is not None}
    at = np.unique(np.concatenate([np.zeros(0, np.int64), *positions.values()]))
    by_slot = {slot: np.full(len(at), -1, np.int64) for slot in slots}
    for slot, mine in positions.items():
        by_slot[slot][np.searchsorted(at, mine)] = first[slot] + np.arange(len(mine))
    return at, by_slot


def _of_releases(slots: Sequence[int], at: Ints, by_slot: dict[int, Ints], kinds: dict[tuple[int, ...], int]) -> Part:
    kind, number = np.zeros(len(at), np.int64), np.arange(len(at))
    for one, place in kinds.items():
        if not set(one) <= set(slots):
            continue
        mine = np.logical_and.reduce([(by_slot[slot] >= 0) == (slot in one) for slot in slots])
        kind[mine] = place
        if len(one) == 1:  # filters have dropped the others
            number[mine] = by_slot[one[0]][mine]
    return kind, at, number
