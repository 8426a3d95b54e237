"""Gates: what they hold of a slot, and the counts of what they take, let go and set aside.

Law: what gates hold is what their counts say (`conservation`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.plan import facts
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot


def held_by(gate: Installed, slot: Slot, identity: Any = None) -> Iterator[Entry]:
    """Iterate over what a gate holds of a slot; of one identity, if one is given."""
    seen = set()
    for entry in gate.held():
        is_meant = entry.slot == slot.name and (identity is None or entry.identity == identity)
        if is_meant and entry.number < 0 and not entry.withdrawn and id(entry) not in seen:
            seen.add(id(entry))
            yield entry


def number_held(join: Join, slot: Slot, identity: Any = None) -> list[int]:
    """Return how many events of a slot each of its gates holds; of one identity, if one is given."""
    return [sum(1 for _ in held_by(gate, slot, identity)) for gate in join.gates[slot.index]]


def gate_of(installed: Installed, slot: Slot) -> int | None:
    """Return which of the gates of a slot a restriction is, if it is one."""
    gates = installed.join.gates[slot.index]
    return gates.index(installed) if installed in gates else None


def taking(installed: Installed, slot: Slot) -> Callable[[Entry], None]:
    """Return what counts that a gate takes an event."""
    gate = gate_of(installed, slot)
    assert gate is not None  # Invariant: who has a clause for what arrives is a gate

    def take(entry: Entry) -> None:
        if not entry.withdrawn:  # else it is nowhere any more
            slot.ledger.take(gate)

    return take


def count_set_aside(installed: Installed, slot: Slot, entry: Entry) -> None:
    """Count what a restriction sets aside, at the door or as a gate; what is in memory stays there."""
    if facts.opens_windows(installed):
        slot.ledger.deliver(Fate.SET_ASIDE)
    elif entry.number < 0 and (gate := gate_of(installed, slot)) is not None:
        slot.ledger.give(gate)
        slot.ledger.count(Fate.SET_ASIDE)


def count_late(found: Iterable[tuple[Join, int]]) -> None:
    """Count an event that comes too late to some slots; those that share a memory count once."""
    for ledger in {id(slot.ledger): slot.ledger for join, index in found for slot in (join.slots[index],)}.values():
        ledger.deliver(Fate.LATE)
