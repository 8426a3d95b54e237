"""Consumption: how often an event may take part in results.

A candidate is triggered only if every part has a use left at that moment; uses are spent only when the body yields.
Consumption is not displacement: a used-up event's results stand.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.1; SEMANTICS 1.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Restriction, Slots, forward, handles, push
from cartesius.plan.nodes import Uses
from restrictions.basics.checks import check_count

if TYPE_CHECKING:
    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class at_most(Restriction):
    """Let each event of ``slots`` take part in at most ``n`` results. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import at_most, cartesian
    >>> left, right = Reactive("left"), Reactive("right")
    >>> once = cartesian(left, right, restrict=at_most(1, "left"))
    >>> [event.value for event in run(once, [(left, 1), (right, "x"), (right, "y")])]
    [(1, 'x')]

    Args:
        n: Uses per event: an int ≥ 1, dimensionless.
        *slots: The slots concerned, by variable name or reactive.

    Raises:
        InvalidArgument: ``n`` is not an int ≥ 1.

    State: the uses left, of each entry. Relies on arrival order, as who comes first uses first.

    Law:
        ``at_most(n, s) | at_most(m, s) == at_most(min(n, m), s)``; it commutes with `most_recently`, `earliest`,
        `momentarily`, `aligning` and `only`.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 4.4.1.
    """

    n: int
    slots: Slots

    def validate(self) -> None:
        """Check the count."""
        check_count(type(self).__name__, self.n)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Uses(self.slots, self.n),)

    @handles(push, "slots")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Limit the uses of a new entry."""
        entry.uses = min(entry.uses, self.n)
        forward(slot, entry)


class affinely(at_most):
    """Let each event of ``slots`` take part in at most one result: `at_most` of one. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import affinely, cartesian
    >>> left, right = Reactive("left"), Reactive("right")
    >>> pairs = cartesian(left, right, restrict=affinely("left", "right"))
    >>> [event.value for event in run(pairs, [(left, 1), (left, 2), (right, "x"), (right, "y")])]
    [(2, 'x'), (1, 'y')]

    Args:
        *slots: The slots concerned, by variable name or reactive.

    State: the use left, of each entry. Relies on arrival order, as who comes first uses first.

    Law:
        ``affinely(s) == at_most(1, s)``; it commutes as `at_most` does.

    Source:
        ICFP 2018, doi:10.1145/3236762, Figure 12.
    """

    n: int = 1
