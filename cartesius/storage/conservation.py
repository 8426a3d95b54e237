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
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    def unaccounted(self, present: int) -> int:
        """Return how many deliveries are nowhere: none, outside a call; ``present`` are in memory or at the door."""
        counts, base = self.counts, self.base
        gone = sum(counts[base + 1 : base + len(FATES)])  # what was replaced counts on both sides
        return counts[base] - gone - sum([counts[hand] for hand in self.hands]) - present

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
