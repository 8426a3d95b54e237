"""Recency: which events of a slot stay, by order of arrival.

Dropping an entry for a newer one is displacement: whether its results are taken back is `retracting`'s choice. Uses are
kept, so recency commutes with `affinely`.

Source: ICFP 2018, doi:10.1145/3236762, Figure 12; SEMANTICS 1.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Restriction, Slots, displace, forward, handles, memory, push
from cartesius.plan.nodes import Newest, Oldest
from restrictions.basics.checks import check_count

if TYPE_CHECKING:
    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class most_recently(Restriction):
    """Keep the ``n`` newest events of each slot (of each key, right of a `key_by`). Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, most_recently
    >>> left, right = Reactive("left"), Reactive("right")
    >>> latest = cartesian(left, right, restrict=most_recently("left"))
    >>> [event.value for event in run(latest, [(left, 1), (left, 2), (right, "a"), (right, "b")])]
    [(2, 'a'), (2, 'b')]

    Args:
        *slots: The slots concerned, by variable name or reactive.
        n: How many stay: an int ≥ 1, dimensionless.

    Raises:
        InvalidArgument: ``n`` is not an int ≥ 1.

    State: none of its own; it looks at memory. Relies on arrival order, in each slot, and against the other slots.

    Law:
        ``most_recently(s, n=a) | most_recently(s, n=b) == most_recently(s, n=min(a, b))``; it commutes with `at_most`,
        `affinely`, `aligning`, `momentarily` and `only`.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 4.4.1.
    """

    slots: Slots
    n: int = 1

    def validate(self) -> None:
        """Check the count."""
        check_count(type(self).__name__, self.n)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Newest(self.slots, self.n),)

    @handles(push, "slots")
    def drop_older(self, slot: Slot, entry: Entry) -> None:
        """Displace what is older than the newest n."""
        for older in memory(slot)[self.n :]:
            displace(slot, older)
        forward(slot, entry)


class earliest(Restriction):
    """Keep the ``n`` oldest events of each slot (of each key, right of a `key_by`). Never suspends.

    A newer event is dropped when it comes: it meets nothing. If an older one is used up, the next newcomer is kept.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, earliest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> first = cartesian(left, right, restrict=earliest("left"))
    >>> [event.value for event in run(first, [(left, 1), (left, 2), (right, "a"), (right, "b")])]
    [(1, 'a'), (1, 'b')]

    Args:
        *slots: The slots concerned, by variable name or reactive.
        n: How many stay: an int ≥ 1, dimensionless.

    State: none of its own; it looks at memory. Relies on arrival order, in each slot.

    Raises:
        InvalidArgument: ``n`` is not an int ≥ 1.

    Law:
        ``earliest(s, n=a) | earliest(s, n=b) == earliest(s, n=min(a, b))``; it commutes with `at_most`, `affinely` and
        `aligning`.

    Source:
        ICFP 2018, doi:10.1145/3236762, section 5 (selection by position).
    """

    slots: Slots
    n: int = 1

    def validate(self) -> None:
        """Check the count."""
        check_count(type(self).__name__, self.n)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Oldest(self.slots, self.n),)

    @handles(push, "slots")
    def drop_newer(self, slot: Slot, entry: Entry) -> None:
        """Displace what is newer than the oldest n."""
        for newer in memory(slot)[: -self.n]:
            displace(slot, newer)
        forward(slot, entry)
