"""Held events: what gates hold, as far as it matters to who asks, which may be a copy of one key.

What is held under another key meets nothing of this one, so nobody waits for it: a quiet key keeps no other waiting, in
one bucket as in several. What correlations before this one hold counts likewise, where the key of a result is known to
be that of its parts (`lineage.carries`).

Source: SEMANTICS 1.13 and 3.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.correlations.continuations import held_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot


class Held:
    """What the gates of one correlation hold that matters.

    Args:
        join: The correlation.
        parts: Those of the key that asks, by key space; none: all keys ask.
        asking: Who asks: gates that see events after it hold nothing back from it; None: who comes after them all.
        counts: Whether what is held matters at all.
    """

    def __init__(
        self, join: Join, parts: Mapping[int, Any], asking: Installed | None = None, *, counts: bool = True
    ) -> None:
        self.asking = asking
        self._join = join
        self._parts = parts
        self._counts = counts
        self._of = {
            slot.name: [space for space in join.bindings.key_spaces(slot) if space in parts] for slot in join.slots
        }

    def of_source(self, source: Join, carried: Mapping[int, int]) -> Held:
        """Return what matters of that which a correlation before this one holds.

        Args:
            source: That correlation.
            carried: By key space of this one the space of that one that has the same keys.
        """
        parts = {carried[space]: part for space, part in self._parts.items() if space in carried}
        return Held(source, parts, counts=self._counts)

    def among(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Iterate over those of some entries that matter: what is in none of the key's spaces meets all keys."""
        if not self._counts:
            return
        for entry in entries:
            if all(entry.keys[space] == self._parts[space] for space in self._of[entry.slot]):
                yield entry

    def by(self, gate: Installed) -> Iterator[Entry]:
        """Iterate over what a gate holds that matters."""
        if self._parts and tuple(self._parts) == gate.prefix:  # then it is one copy
            copy = gate.copies.get(tuple(self._parts.values()))
            return self.among(gate.held([] if copy is None else [copy]))
        return self.among(gate.held(copy for key, copy in gate.copies.items() if self._concerns(gate, key)))

    def _concerns(self, gate: Installed, key: tuple[Any, ...]) -> bool:
        """Whether a copy of a gate has the key that asks, as far as it is in those spaces."""
        return not any(
            space in self._parts and self._parts[space] != part for space, part in zip(gate.prefix, key, strict=False)
        )

    def is_due(self, gate: Installed) -> bool:
        """Whether a copy of a gate that matters waits for a deadline."""
        return self._counts and any(self._concerns(gate, key) for key in gate.due)

    def keeps(self, gate: Installed, slot: Slot, time: Time) -> bool:
        """Whether a gate holds an event of a slot with an end at ``time`` or earlier, or what it holds is not known."""
        if any(entry.slot == slot.name and entry.end <= time for entry in self.by(gate)):
            return True
        return self._counts and gate.suspends and any(True for _ in held_by(gate))
