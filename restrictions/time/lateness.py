"""Lateness: how far behind the clock events of some slots still count.

Source: SEMANTICS 3.9 and 3.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius import Duration, Restriction, Slot, Slots
from cartesius.errors import InvalidArgument
from cartesius.plan import facts
from cartesius.plan.nodes import AllowLate
from restrictions.time.duration import check_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.plan.nodes import Node


class allowing_lateness(Restriction):
    """Let events of ``slots`` count that are late, as far as they are at most ``lateness`` behind the clock.

    What frees their partners, or decides that none comes, waits for as long.

    Args:
        lateness: Time units or a `timedelta`, ≥ 0.
        *slots: The slots concerned: streams.

    State: none. Relies on no order. Commutes with everything.

    Raises:
        InvalidArgument: A negative duration; when a correlation is built: beside windows or versions, which have a
            lateness of their own, or for a table.

    Law:
        ``allowing_lateness(a, *s) | allowing_lateness(b, *s) == allowing_lateness(max(a, b), *s)``.

    Source:
        SEMANTICS 3.12; Akidau et al., The Dataflow Model, VLDB 2015, doi:10.14778/2824032.2824076 (allowed lateness).
    """

    lateness: Duration
    slots: Slots

    def validate(self) -> None:
        """Check the duration."""
        check_duration(self, "lateness", self.lateness)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse it where late events count already, by a rule of its own."""
        own = next((other for other in others if facts.opens_windows(other) or facts.versions(other)), None)
        if own is not None:
            message = (
                f"{self!r}: expected no {own!r} beside it, which says itself what counts late; leave one of them out"
            )
            raise InvalidArgument(message)
        table = next((slot.name for slot in slots["slots"] if slot.is_table), None)
        if table is not None:
            message = f"{self!r}: expected streams but {table!r} is a table; use versioned({table!r}, retention=…)"
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (AllowLate(self.slots, self.lateness),)
