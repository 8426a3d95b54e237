"""Conservation: what becomes of each delivery, counted where it happens.

A delivery is an event that comes to a slot (in windows: to one window of it); in memory, waiting at the door, in the
hand of a gate, or gone, by one fate. A change that deletes a row expires as it comes. What takes a delivery back is
none, nor is a row that a change brings back into memory for its batch, nor what another alternative has used up in the
same step.

A gate has in hand what it took and has not let go. What it does not hold of that it has dropped. Where it makes several
events of one, it gives more than it took: what it has dropped is then less than nothing.

The counts of all slots are in one list, which a call copies when it begins: so a call that fails has counted nothing.

Invariant: outside a call, delivered = in memory + at the door + in the hand of gates + what fates count, of each slot.

Source: issue 18, A3; the conservation of tuples in the tests of stream processors, as of mass in physics.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cartesius.entries import Entry
    from cartesius.families import Slot
    from cartesius.installations import Installed
    from cartesius.join_shape import Join


class Fate(IntEnum):
    """What is counted of a slot."""

    DELIVERED = 0
    USED_UP = 1
    EXPIRED = 2
    DISPLACED = 3
    WITHDRAWN = 4
    LATE = 5
    SET_ASIDE = 6
    UNTOLD = 7  # it left while columns owned the state, and they do not tell why
    REPLACED = 8  # one was delivered and displaced another: counted at once where each addition costs


FATES: Final = tuple(fate for fate in Fate if fate is not Fate.REPLACED)


@final
class Ledger:
    """The counts of one slot, or of all that share a memory.

    Args:
        counts: Those of all slots; its own are added.
    """

    __slots__ = ("base", "counts", "hands")

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts
        self.base = len(counts)
        self.hands: list[int] = []  # where the counts of its gates are, those first that events come to first
        counts.extend([0] * len(Fate))

    def count(self, fate: Fate, n: int = 1) -> None:
        """Count what has become of ``n`` deliveries."""
        self.counts[self.base + fate] += n

    def deliver(self, fate: Fate) -> None:
        """Count a delivery that comes to nothing."""
        self.count(Fate.DELIVERED)
        self.count(fate)

    def open_gates(self, n: int) -> None:
        """Add the counts of ``n`` gates; of a shared memory once."""
        while len(self.hands) < n:
            self.hands.append(len(self.counts))
            self.counts.append(0)

    def take(self, gate: int) -> None:
        """Count what a gate takes, from the one before."""
        self.counts[self.hands[gate]] += 1
        if gate:
            self.counts[self.hands[gate - 1]] -= 1

    def give(self, gate: int, n: int = 1) -> None:
        """Count what a gate has no longer in hand."""
        self.counts[self.hands[gate]] -= n

    def of(self, fate: Fate) -> int:
        """Return how many deliveries had a fate."""
        replaced = fate in (Fate.DELIVERED, Fate.DISPLACED) and self.counts[self.base + Fate.REPLACED]
        return self.counts[self.base + fate] + replaced

    def in_hand(self, gate: int) -> int:
        """Return how many deliveries a gate took and has not let go."""
        return self.counts[self.hands[gate]]

    def unaccounted(self, slot: Slot) -> int:
        """Return how many deliveries are nowhere: none, outside a call."""
        fates = sum(map(self.of, FATES[1:]))
        present = len(slot.memory) + len(slot.door.queue) + sum(map(self.in_hand, range(len(self.hands))))
        return self.of(Fate.DELIVERED) - fates - present

    def text(self, fate: Fate | None, n: str = "1", *, gate: int = 0) -> str:
        """Return the text that counts ``n`` deliveries in a generated function; without a fate, in a gate's hand."""
        return f"fates[{self.hands[gate] if fate is None else self.base + fate}] += {n}"

    def saved(self) -> list[int]:
        """Return the counts, for a snapshot."""
        return [*map(self.of, FATES), *map(self.in_hand, range(len(self.hands)))]

    def load(self, saved: Sequence[int]) -> None:
        """Bring back what `saved` returned; as many counts, or that raises."""
        places = [*(self.base + fate for fate in FATES), *self.hands]
        for place, n in zip(places, saved, strict=True):
            self.counts[place] = n
        self.counts[self.base + Fate.REPLACED] = 0


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
    if installed.restriction.opens_windows:
        slot.ledger.deliver(Fate.SET_ASIDE)
    elif entry.number < 0 and (gate := gate_of(installed, slot)) is not None:
        slot.ledger.give(gate)
        slot.ledger.count(Fate.SET_ASIDE)


def count_late(found: Iterable[tuple[Join, int]]) -> None:
    """Count an event that comes too late to some slots; those that share a memory count once."""
    for ledger in {id(slot.ledger): slot.ledger for join, index in found for slot in (join.slots[index],)}.values():
        ledger.deliver(Fate.LATE)
