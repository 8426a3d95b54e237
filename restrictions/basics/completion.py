"""Completion: when an output has emitted all that it will.

A bare correlation completes when all its inputs have, and no deadline may give anything. These say otherwise, for the
operators of `streams`, each as ReactiveX has it.

Source: SEMANTICS 1.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, Slots, arrive, forward, handles, state
from cartesius.language.clauses import is_drained
from cartesius.language.families import completes, ended
from cartesius.plan.nodes import Complete, Opaque

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class completing_with(Restriction):
    """Complete as soon as all of ``slots`` have ended, whatever the others do.

    State: none. Relies on no order. Commutes with all gates that leave completion to others; of several that do not,
    the right-most decides.

    Law:
        Idempotent.
    """

    slots: Slots

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Complete(self.slots),)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Compare what has ended."""
        return all(map(is_drained, self.slots)) or bool(forward(arrived))


class completing_without_value(Restriction):
    """RxPY's rule: no result can come any more once an input has ended without a value, seen when an event comes.

    State: none. Relies on no order. Commutes as `completing_with` does.

    Law:
        Idempotent.
    """

    slots: Slots

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Complete(self.slots),)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Compare what has ended with what came."""
        return bool(forward(arrived)) or any(
            any(is_drained(slot) and not slot.memory for slot in self.slots)
            and all(slot.ended for slot in self.slots if slot.index != index)
            for index in arrived
        )


class never_completing(Restriction):
    """Never complete.

    State: none. Relies on no order. Commutes with no restriction that says itself when the output completes.

    Law:
        Idempotent.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Complete(),)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Say so."""
        return False


class at_end(Restriction):
    """Hold the last event of each of ``slots`` back until all of them have ended; then let these through together.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.basics.completion import at_end
    >>> left, right = Reactive("left"), Reactive("right")
    >>> last = cartesian(left, right, restrict=at_end("left", "right"))
    >>> [event.value for event in run(last, [(left, 1), (right, "x"), (left, 2)], close=True)]
    [(2, 'x')]

    Args:
        *slots: The slots concerned.

    State: one event a slot. Relies on arrival order. Commutes with what handles stored entries.

    Completes when one of them ends without an event: no result can come.

    Law:
        Idempotent.
    """

    slots: Slots
    last: Mapping[str, Entry] = state({})

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Opaque(fields=None, held="O(1)"),)

    @handles(arrive, "slots")
    def keep(self, slot: Slot, event: Entry) -> None:
        """Replace the one before."""
        self.last = {**self.last, slot.name: event}

    @handles(ended, "slots")
    def let_go(self, slot: Slot) -> None:
        """Let the last ones through, if this was the last to end."""
        if all(slot.ended for slot in self.slots):
            last, self.last = self.last, {}
            for slot_ in self.slots:
                if slot_.name in last:
                    arrive(slot_, last[slot_.name])

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can come without a last event."""
        return any(map(is_drained, self.slots)) or bool(forward(arrived))
