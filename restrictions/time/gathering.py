"""Gathering: events of one slot with the list of what another had meanwhile, by event time.

Source: ReactiveX (group_join), with lists in place of nested streams.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cartesius import Duration, Restriction, Slot, arrive, forward, handles, notify_at, state, tick
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import is_drained
from cartesius.language.families import completes, withdraw
from cartesius.plan.nodes import Opaque
from restrictions.basics.checks import refuse_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.data.entries import Entry
    from cartesius.plan.nodes import Node


class grouping(Restriction):
    """Hold each event of ``left`` for its duration; then let it through with the list of what ``right`` had meanwhile.

    An event of each side is live from its end for its duration, inclusive; the list has the values of all events of
    ``right`` that were live together with it, in order of arrival.

    Args:
        left: The slot whose events open groups.
        right: The slot whose events are gathered; none is let through.
        left_duration: Time units or a `timedelta`, ≥ 0.
        right_duration: Time units or a `timedelta`, ≥ 0.

    State: the live events of both. Relies on no order, but for the lists. Commutes with `most_recently`,
    `earliest`, `at_most`, `affinely` and `momentarily`.

    Completes when ``left`` has ended and no group is open.

    Raises:
        InvalidArgument: When a correlation is built: a table; as an event comes: it has always
            been so, as that of `now`.

    Law:
        Its lists are those of a comprehension over all events; tested in ``tests/oracle/test_streams.py``.

    Source:
        ReactiveX (group_join), with lists in place of nested streams.
    """

    left: Slot
    right: Slot
    left_duration: Duration
    right_duration: Duration
    open: tuple[Entry, ...] = state(())
    live: tuple[Entry, ...] = state(())

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        refuse_tables(self, (*slots["left"], *slots["right"]))

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(held="O(window)", swallows=(self.right,), floors=(self.left, self.right)),)

    def _due(self, event: Entry, duration: int) -> int:
        if not math.isfinite(event.end):
            message = f"{self!r}: expected events of a time, which are live for a while, but got {event!r}"
            raise InvalidArgument(message)
        return int(event.end) + duration

    @handles(arrive, "left")
    def open_group(self, slot: Slot, event: Entry) -> None:
        """Hold it back."""
        due = self._due(event, self.left_duration)
        self.open = (*self.open, event)
        notify_at(due)

    @handles(arrive, "right")
    def gather(self, slot: Slot, event: Entry) -> None:
        """Keep it as long as a group may want it."""
        due = self._due(event, self.right_duration)
        self.live = (*self.live, event)
        notify_at(due)

    @handles(withdraw, "left", "right")
    def let_go(self, slot: Slot, event: Entry) -> None:
        """Drop what its source takes back."""
        self.open = tuple(held for held in self.open if held.identity != event.identity)
        self.live = tuple(held for held in self.live if held.identity != event.identity)
        forward(slot, event)

    @handles(tick)
    def close_groups(self, now: int) -> None:
        """Let through the groups whose time is over; forget what no open or later group can want."""
        closed = [event for event in self.open if event.end + self.left_duration < now]
        self.open = tuple(event for event in self.open if event not in closed)
        for event in closed:
            met = [
                right
                for right in self.live
                if right.end <= event.end + self.left_duration and event.end <= right.end + self.right_duration
            ]
            end = max([event.end, *(right.end for right in met)])
            start = min([event.start, *(right.start for right in met)])
            arrive(self.left, event.with_value((event.value, [right.value for right in met]), start, end))
        first = min([now, *(int(event.end) for event in self.open)])
        self.live = tuple(right for right in self.live if right.end + self.right_duration >= first)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """No group is open, and none will be."""
        return is_drained(self.left)
