"""Filters: events that never reach memory.

Source: ICFP 2018, doi:10.1145/3236762, section 5; SEMANTICS 2.4 for tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Restriction, Slot, arrive, forward, handles
from cartesius.plan.nodes import Let

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class only(Restriction):
    """Let an event of ``slot`` through only if its value satisfies the predicate. Never suspends.

    On a table a row that stops satisfying it leaves, and one that never did is not seen.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, most_recently, only
    >>> left, right = Reactive("left"), Reactive("right")
    >>> even = cartesian(left, right, restrict=most_recently("left") | only("left", lambda n: n % 2 == 0))
    >>> [event.value for event in run(even, [(left, 2), (left, 3), (right, "x")])]
    [(2, 'x')]

    Args:
        slot: The slot, by variable name or reactive.
        predicate: A pure function of the value.

    State: none. Relies on no order.

    Raises:
        InvalidArgument: ``predicate`` is not a function.

    Law:
        ``only(s, p) | only(s, q) == only(s, p and q)``; it commutes with every other `only`, and with what handles
        stored entries.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 5.
    """

    slot: Slot
    predicate: Callable[[Any], Any]

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Let(self.slot, self.configuration["predicate"]),)

    @handles(arrive, "slot")
    def let_through(self, slot: Slot, event: Entry) -> None:
        """Drop what fails; a failing row takes the place of its predecessor, as a deletion."""
        if event.deletes or self.predicate(event.value):
            forward(slot, event)
        elif slot.is_table:
            forward(slot, event.as_deletion())
