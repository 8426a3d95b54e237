"""Separation: events that stand alone, and events that are there for one batch only.

With `separately` no parts meet: each event is a candidate of its own, and the others are missing. So a union is a
correlation. With `momentarily` an event meets what is there when it comes, and leaves with its batch: what comes later
does not find it. It is how a stream looks things up.

Source: ICFP 2018, doi:10.1145/3236762, Table 2 (merge); SEMANTICS 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Restriction, Slots, forward, handles, push
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import expire
from cartesius.language.families import alone, optional
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts
from cartesius.plan.nodes import Now, Separate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class separately(Restriction):
    """Let each event be a candidate of its own: all other parts are None. Never suspends.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import momentarily, separately
    >>> left, right = Reactive("left"), Reactive("right")
    >>> both = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=separately() | momentarily("x", "y"))
    >>> [event.value for event in run(both, [(left, 1), (right, "a")])]
    [(1, None), (None, 'a')]

    A condition in ``where`` that traces is asked of the events of its own slot alone; who wants none of the others
    lets nothing of them through, by `only`, or filters the results.

    State: none. Relies on no order. Commutes with everything but the restrictions it refuses.

    Law:
        Idempotent.

    Raises:
        InvalidArgument: When a correlation is built: a condition on several slots, or beside a `key_by` of several
            slots or an `optionally`, which speak
            of parts that meet.

    Source:
        ICFP 2018, doi:10.1145/3236762, Table 2 (merge).
    """

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse what is about parts that meet."""
        for other in others:
            if len(facts.key_space(other)) > 1 or any(family is optional for _, family, _, _ in slot_families(other)):
                message = f"{self!r}: expected no restriction on parts that meet but got {other!r}; leave one out"
                raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Separate(),)

    @handles(alone)
    def never_meet(self) -> bool:
        """Say so."""
        return True


class momentarily(Restriction):
    """Let each event of ``slots`` leave memory with the batch that it came in. Its results stand. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, momentarily, most_recently
    >>> ship, tide = Reactive("ship"), Reactive("tide")
    >>> seen = cartesian(ship, tide, restrict=momentarily("ship") | most_recently("tide"))
    >>> [event.value for event in run(seen, [(ship, "EVA"), (tide, 2.5), (ship, "ORCA"), (tide, 2.7)])]
    [('ORCA', 2.5)]

    Args:
        *slots: The slots concerned, by variable name or reactive.

    State: none. Relies on arrival order, against the other slots.

    Law:
        ``momentarily(s) | momentarily(s) == momentarily(s)``; it commutes with `most_recently`, `at_most` and
        `aligning`.

    Source:
        SEMANTICS 1.2: leaving is expiry, not displacement.
    """

    slots: Slots

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Now(self.slots),)

    @handles(push, "slots")
    def leave(self, slot: Slot, entry: Entry) -> None:
        """Let it leave at the end of the batch."""
        expire(slot, entry)
        forward(slot, entry)
