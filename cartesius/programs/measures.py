"""What an engine holds and has done, and where an event is, found when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.correlations.gates import number_held
from cartesius.drawing.html_tables import panel, table
from cartesius.storage.conservation import FATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot


@attrs.frozen
class Fates:
    """What has become of the deliveries to one slot, each of which counts once.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import cartesian, within
    >>> left, right = Reactive("left"), Reactive("right")
    >>> engine = Engine(cartesian(left, right, restrict=within(5, "left", "right")), lateness=0)
    >>> _ = engine.push(left, "a", at=0), engine.push(left, "b", at=9), engine.push(left, "c", at=2)
    >>> fates = engine.stats.fates["cartesian(left, right)", "left"]
    >>> fates.delivered, fates.retained, fates.expired, fates.late
    (3, 1, 1, 1)

    A delivery is an event that has come to the slot; in windows, to one window of it. A change that deletes a row
    expires as it comes, and displaces the row; what takes an event back is no delivery.

    Args:
        delivered: How many there were.
        retained: In memory.
        waiting: At the door, or held by a gate.
        used_up: By results, as often as they might be; or by another alternative.
        expired: Left memory with time, or with their window.
        displaced: By other events, such as the next of the same key.
        withdrawn: Taken back by their source.
        late: Came after their time.
        set_aside: By a restriction, or as a key of theirs is null.
        untold: Left while a batch of columns was computed, where several restrictions let events go, and columns keep
            no count of it.
        dropped: By gates, by the name of the restriction. One that makes several events of one gives more than it
            takes: that counts below zero.
    """

    delivered: int
    retained: int
    waiting: int
    used_up: int
    expired: int
    displaced: int
    withdrawn: int
    late: int
    set_aside: int
    untold: int
    dropped: Mapping[str, int]


@attrs.frozen
class Stats:
    """What an engine holds and has done.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import combine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> engine = Engine(combine_latest(left, right))
    >>> _ = engine.push(left, 1), engine.push(left, 2), engine.push(right, 3)
    >>> engine.stats.events, engine.stats.retained, engine.stats.slots["combine_latest(left, right)", "left"]
    (3, 2, (1, 0))

    Args:
        events: Events pushed.
        tuples: Candidates of positive weight that reached a body.
        retained: Entries in memory; those of a memory that slots share count once.
        waiting: Events that are held in no memory: by gates, in rows that are not decided, or queued.
        visited: Entries looked at to combine them, since the engine was built or restored.
        slots: (retained, waiting) of each slot, by (name of the correlation, name of the slot): of a shared memory
            each of its slots has all.
        fates: What has become of the deliveries to each slot, likewise; not compared, as columns do not tell all.
        given_up: Events that were not done by a function of their own, or by columns, but by the clauses as written,
            by reason, since the engine was built or restored.
    """

    events: int
    tuples: int
    retained: int
    waiting: int
    visited: int = attrs.field(eq=False)
    slots: Mapping[tuple[str, str], tuple[int, int]]
    fates: Mapping[tuple[str, str], Fates] = attrs.field(eq=False)
    given_up: Mapping[str, int] = attrs.field(eq=False, repr=False)

    def _repr_html_(self) -> str:
        totals = [
            ("events pushed", self.events),
            ("candidates", self.tuples),
            ("retained", self.retained),
            ("waiting", self.waiting),
        ]
        fates = [(correlation, slot, *self.slots[correlation, slot]) for correlation, slot in self.slots]
        return panel(table((), totals), table(("correlation", "slot", "retained", "waiting"), fates))


def measure(
    joins: Iterable[Join],
    events: int,
    candidates: int,
    given_up: Mapping[str, int],
    counts: Mapping[int, Mapping[int, tuple[int, int]]],
) -> Stats:
    """Count what the correlations retain and what waits at their gates.

    Args:
        joins: The correlations.
        events: How many were pushed.
        candidates: How many there were.
        given_up: Events by the reason for which they were done by the clauses.
        counts: Where columns own the state, by the numbers of the correlations and slots: retained, waiting.
    """
    slots, memories, fates = {}, {}, {}
    for join in joins:
        known = counts[join.number] if join.number in counts else _counts(join)
        for slot in join.slots:
            slots[join.name, slot.name] = known[slot.index]
            memories[id(slot.memory)] = slot.memory, known[slot.index][0]
            fates[join.name, slot.name] = _fates(join, slot, known[slot.index][0])
    return Stats(
        events,
        candidates,
        sum(retained for _, retained in memories.values()),
        sum(waiting for _, waiting in slots.values()),
        sum(memory.visited for memory, _ in memories.values()),
        slots,
        fates,
        given_up,
    )


def _counts(join: Join) -> dict[int, tuple[int, int]]:
    """Count what each slot retains; and waits at its door, or restrictions hold in their state but is in no memory."""
    waiting = {slot.name: len(slot.door.queue) for slot in join.slots}
    memories = {slot.name: slot.memory for slot in join.slots}
    held = {id(entry): entry for one in join.installed for entry in one.held()}
    for entry in held.values():
        if entry.number < 0 or not memories[entry.slot].holds(entry):
            waiting[entry.slot] += 1
    return {slot.index: (len(slot.memory), waiting[slot.name]) for slot in join.slots}


def _fates(join: Join, slot: Slot, retained: int) -> Fates:
    waiting = len(slot.door.queue)
    dropped: dict[str, int] = {}
    suspended = 0 if join.is_in_place else join.strands.number_held(slot)
    for place, (gate, held) in enumerate(zip(join.gates[slot.index], number_held(join, slot), strict=True)):
        waits = held
        if gate.suspends:
            waits, suspended = held + suspended, 0
        waiting += waits
        if lost := slot.ledger.in_hand(place) - waits:
            name = repr(gate.restriction)
            dropped[name] = dropped.get(name, 0) + lost
    counted = {fate.name.lower(): slot.ledger.of(fate) for fate in FATES}
    return Fates(**counted, retained=retained, waiting=waiting, dropped=dropped)


def unaccounted(joins: Iterable[Join]) -> dict[tuple[str, str], int]:
    """Return the slots of whose deliveries some are nowhere, or in two places, and how many: none, outside a call."""
    return {(join.name, slot.name): n for join in joins for slot in join.slots if (n := slot.unaccounted)}


def whereabouts(join: Join, is_it: Callable[[Entry, Slot], bool]) -> list[str]:
    """Say where the event that a test tells is now in a correlation: at a door, held by a gate, or in memory."""
    found = []
    for slot in join.slots:
        if any(is_it(entry, slot) for entry in slot.door.queue):
            found.append(f"waiting at the door of {slot.name}")
        if any(is_it(entry, slot) for entry in slot.memory):
            found.append(f"in the memory of {slot.name}")
    slots = {slot.name: slot for slot in join.slots}
    for one in join.installed:
        if any(entry.number < 0 and entry.slot in slots and is_it(entry, slots[entry.slot]) for entry in one.held()):
            found.append(f"held by {one.restriction!r}")
    return found
