"""Accepting: an input is taken in the order in which it arrives, although its type does not say that this is its order.

Source: SOURCES E1 and E7: what a checker of types reports, its user may know better, or may not mind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Restriction, Slots
from cartesius.plan.nodes import TakeOrder

if TYPE_CHECKING:
    from cartesius.plan.nodes import Node


class by_arrival(Restriction):
    """Accept the order of arrival of ``slots`` as their order, in spite of what they declare. Changes nothing.

    >>> from cartesius import Reactive, run, unordered
    >>> from restrictions import by_arrival, cartesian, most_recently
    >>> tide = Reactive("tide", order=unordered())
    >>> latest = cartesian(tide, restrict=most_recently("tide") | by_arrival("tide"))
    >>> [event.value for event in run(latest, [(tide, 2.5), (tide, 2.7)])]
    [(2.5,), (2.7,)]

    Its results are then in one order with everything that is accepted by arrival; another run may give other results.

    Args:
        *slots: The slots concerned, by variable name or reactive.

    State: none. Relies on no order. Commutes with everything.

    Law:
        It is the identity.

    Source:
        SOURCES E7.
    """

    slots: Slots

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (TakeOrder(self.slots),)
