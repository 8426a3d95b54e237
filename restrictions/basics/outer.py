"""Outer joins: parts that may be missing.

`optionally` gives the maximal partial rows: no present event can replace a missing part. When a partner comes or
leaves, the row is taken back and given anew, by `retracting`; or it is given once nothing can match it any more, where
a bound in time such as `within` says when.

Source: SEMANTICS 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Restriction, Slots, handles
from cartesius.language.families import optional
from cartesius.plan.nodes import May
from restrictions.basics.checks import refuse_consumption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Slot
    from cartesius.plan.nodes import Node


class optionally(Restriction):
    """Let the parts of ``slots`` be missing: None in ``yields``, where no present event fits. Never suspends.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import optionally, retracting
    >>> ship, berth = Reactive("ship"), Reactive("berth")
    >>> moored = correlate(
    ...     ship=ship,
    ...     berth=berth,
    ...     where=lambda ship, berth: ship.berth == berth.id,
    ...     yields=lambda ship, berth: (ship.name, berth),
    ...     restrict=optionally("berth") | retracting(),
    ... )
    >>> [(e.value, e.weight) for e in run(moored, [(ship, {"name": "EVA", "berth": 4})])]
    [(('EVA', None), 1)]

    Args:
        *slots: The slots whose part may be missing.

    State: none; it looks at memory. Relies on no order. Commutes with `retracting` and with every other `optionally`.

    Raises:
        InvalidArgument: When a correlation is built: without `retracting` or a bound in time on all slots, with a
            restriction that consumes, with a
            ``where`` function that did not trace, with conditions that form a cycle or span three slots, or with three
            slots of one `key_by` that may all be missing. A body in direct style alone is asked, with None.

    Law:
        It equals left-deep chains of left joins; tested against a from-scratch enumeration.

    Source:
        SEMANTICS 2.6.
    """

    slots: Slots

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse what would make partial rows wrong."""
        refuse_consumption(self, others)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (May(self.slots),)

    @handles(optional, "slots")
    def may_miss(self, slot: Slot) -> bool:
        """Allow it."""
        return True
