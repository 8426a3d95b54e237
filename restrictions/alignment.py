"""Alignment: slots in lock-step.

`aligning` is a gate: a held event is invisible to everyone. When every aligned slot holds one, the row is released
as one batch, also if ``where`` then fails. ``most_recently(l, r) | aligning(l, r)`` is zip, in any order of
composition.

Source: ICFP 2018, doi:10.1145/3236762, Figure 14, as SEMANTICS 1.7 corrects it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, Slots, arrive, forward, handles, state
from cartesius.errors import InvalidArgument
from cartesius.families import completes, copies, separate, withdraw
from cartesius.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Slot
    from cartesius.memories import Entry


class aligning(Restriction):
    """Hold events back until every one of ``slots`` has one; then let one of each through. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import aligning, cartesian
    >>> left, right = Reactive("left"), Reactive("right")
    >>> steps = cartesian(left, right, restrict=aligning("left", "right"))
    >>> [event.value for event in run(steps, [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(1, 'x'), (2, 'y'), (2, 'x'), (1, 'y')]

    Args:
        *slots: Two or more slots, by variable name or reactive.

    Raises:
        InvalidArgument: When a correlation is built: fewer than two slots, or sets that overlap another `aligning`.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 14.
    """

    slots: Slots
    held: Mapping[str, Queue] = state({})

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse a single slot, and overlapping sets."""
        mine = slots["slots"]
        if len(mine) < 2:
            message = f"{self!r}: expected two or more slots to align but got {mine[0].name}; name the others"
            raise InvalidArgument(message)
        for slot in mine:
            if slot.reactive.table:
                message = (
                    f"{self!r}: expected streams but {slot.name!r} is bound to a table, {slot.reactive.name!r}:"
                    " its rows replace each other, so there is no next one to wait for; align the streams before it"
                )
                raise InvalidArgument(message)
        for other in others:
            if isinstance(other, aligning):
                common = [
                    slot.name for slot in mine if {slot.name, slot.reactive, slot.reactive.name} & set(other.slots)
                ]
                if common:
                    message = (
                        f"{self!r}: expected sets of slots that do not overlap but {common[0]} is in {other!r} as well;"
                        " align them in one set"
                    )
                    raise InvalidArgument(message)

    @handles(arrive, "slots")
    def hold(self, slot: Slot, event: Entry) -> None:
        """Queue the event; release a row if it was the last one missing."""
        held = {**self.held, slot.name: self.held.get(slot.name, Queue()).append(event)}
        if len(held) < len(self.slots):
            self.held = held
            return
        row = [(aligned, held[aligned.name].head) for aligned in self.slots]
        rests = ((name, queue.rest()) for name, queue in held.items())
        self.held = {name: rest for name, rest in rests if rest}
        separate()
        for aligned, head in row:
            arrive(aligned, head)

    @handles(withdraw, "slots")
    def let_go(self, slot: Slot, event: Entry) -> None:
        """Drop a held event that its source takes back."""
        queue = self.held.get(slot.name, Queue())
        rest = queue.without(event.identity)
        if len(rest) == len(queue):
            forward(slot, event)
            return
        held = {**self.held, slot.name: rest}
        self.held = {name: queue for name, queue in held.items() if queue}

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """No row can be released once an aligned input has ended with nothing held."""
        return any(slot.ended and not any(slot.name in copy.held for copy in copies()) for slot in self.slots) or bool(
            forward(arrived)
        )
