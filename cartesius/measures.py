"""What an engine holds and has done, counted when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius.join_shape import Join


@attrs.frozen
class Stats:
    """What an engine holds and has done.

    Args:
        events: Events pushed.
        tuples: Candidates of positive weight that reached a body.
        retained: Entries in memory; those of a memory that slots share count once.
        waiting: Events that are held in no memory: by gates, in rows that are not decided, or queued.
        visited: Entries looked at to combine them, since the engine was built or restored.
        slots: (retained, waiting) of each slot, by (name of the correlation, name of the slot): of a shared memory
            each of its slots has all.
    """

    events: int
    tuples: int
    retained: int
    waiting: int
    visited: int = attrs.field(eq=False)
    slots: Mapping[tuple[str, str], tuple[int, int]]


def measure(joins: Iterable[Join], events: int, candidates: int) -> Stats:
    """Count what the correlations retain and what waits at their gates."""
    slots, memories = {}, {}
    for join in joins:
        waiting = _waiting(join)
        for slot in join.slots:
            memories[id(slot.memory)] = slot.memory
            slots[join.name, slot.name] = (len(slot.memory), waiting[slot.name])
    return Stats(
        events,
        candidates,
        sum(map(len, memories.values())),
        sum(waiting for _, waiting in slots.values()),
        sum(memory.visited for memory in memories.values()),
        slots,
    )


def _waiting(join: Join) -> dict[str, int]:
    """Count, for each slot, what waits at its door, and what restrictions hold in their state but is in no memory."""
    waiting = {slot.name: len(slot.door.queue) for slot in join.slots}
    memories = {slot.name: slot.memory for slot in join.slots}
    held = {id(entry): entry for one in join.installed for entry in one.held()}
    for entry in held.values():
        if entry.number < 0 or not memories[entry.slot].holds(entry):
            waiting[entry.slot] += 1
    return waiting
