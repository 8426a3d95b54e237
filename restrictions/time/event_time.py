"""Order: a gate that holds events back until nothing earlier can come; and how far behind the clock events still count.

Source: SEMANTICS 3.1, 3.3, 3.5, 3.9 and 3.12.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from cartesius import Duration, Restriction, Slot, Slots, arrive, forward, handles, set_aside, state, tick, withdraw
from cartesius.data.events import EARLIEST
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import slot_of
from cartesius.plan import facts
from cartesius.plan.nodes import AllowLate, InTime
from cartesius.rows.clock_clauses import ask_tick, cancel_at, has_passed, notify_at_time
from restrictions.time.duration import check_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.plan.nodes import Node


class in_event_time(Restriction):
    """Hold all events back until the clock has passed them, and let them go in the order of their times.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import cartesian, in_event_time
    >>> left = Reactive("left")
    >>> engine = Engine(cartesian(left, restrict=in_event_time(5)))
    >>> [[e.value for e in engine.push(left, at, at=at)] for at in (10, 8, 13, 15)]
    [[], [], [], [(8,)]]
    >>> engine.push(left, 9, at=9), [reason for _, _, reason in engine.late]
    ([], ['its end 9 is before 10, the latest time seen, 15, less the lateness of in_event_time(5)'])
    >>> [e.value for e in engine.close()]
    [(10,), (13,), (15,)]

    Its clock is that of the engine, or the latest end seen on its slots less ``lateness``, whichever is later. An event
    is let go once that clock is past its end, each in a step of its own, in the order of (end, slot, arrival). One
    that is earlier than the latest less the lateness, or than what has gone already, is late, and set aside. Changes
    of tables are held and ordered likewise. It is one gate for all keys and windows, wherever it stands beside a
    `key_by`: the clock goes on for a quiet key, too. What other gates hold back, to its right or where its inputs come
    from, it waits for. Gates are passed from right to left: written last it comes first.

    Args:
        lateness: How far an event may be behind the latest: time units or a `timedelta`, ≥ 0. As long results wait.

    State: the events that are held, and the latest ends seen and let go. Relies on no order, but of events of one time.
    Commutes with what handles stored entries.

    Raises:
        InvalidArgument: A negative lateness.

    Law:
        What it lets through does not depend on the order of arrival, if nothing is late and no two events of a slot
        have one end.

    Source:
        SEMANTICS 3.5.
    """

    lateness: Duration
    held: tuple[Entry, ...] = state(())  # in the order in which they will go
    seen: Time = state(EARLIEST)
    gone: Time = state(EARLIEST)  # the latest end of what has been let go

    def validate(self) -> None:
        """Check the lateness."""
        check_duration(self, "lateness", self.lateness)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse windows that hold events until they are reported: each brings its own when others have gone on."""
        for other in others:
            if facts.opens_windows(other) and facts.held(other) is not None:
                message = (
                    f"{self!r}: expected windows that let events in as they come but {other!r} holds them until it"
                    " reports; order the events in a correlation of their own, before the windows"
                )
                raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (InTime(self.lateness),)

    def own_floor(self) -> Time:
        """Return the latest end seen, less the lateness: earlier events are set aside."""
        return self.seen - self.lateness

    def _may_go(self, event: Entry) -> bool:
        return event.end < self.own_floor() or has_passed(event.end)

    @handles(arrive)
    def hold(self, slot: Slot, event: Entry) -> None:
        """Hold an event that is in time."""
        if event.end == EARLIEST:  # it has always been so
            forward(slot, event)
        elif event.end < max(self.gone, self.own_floor()):
            set_aside(slot, event, self._reason(event))
        else:
            place = bisect_right(self.held, _order(event), key=_order)
            self.held = self.held[:place] + (event,) + self.held[place:]  # noqa: RUF005 - not copied where it comes last
            self.seen = max(self.seen, event.end)
            notify_at_time(event.end)
            self._go_on()

    def _reason(self, event: Entry) -> str:
        now = self.own_floor()
        if event.end >= now:
            return f"its end {event.end} is before {self.gone}, the end of what {self!r} has let go already"
        return f"its end {event.end} is before {now}, the latest time seen, {self.seen}, less the lateness of {self!r}"

    def _go_on(self) -> None:
        if self.held and self._may_go(self.held[0]):
            ask_tick()

    @handles(tick)
    def let_go(self, now: Time) -> None:
        """Let the first go, if its time has come; the next follows in a step of its own."""
        if self.held and self._may_go(self.held[0]):
            head, rest = self.held[0], self.held[1:]
            self.held = rest
            self.gone = max(self.gone, head.end)
            if not rest or rest[0].end != head.end:
                cancel_at(head.end)  # by its own clock it may have gone before
            arrive(slot_of(head), head)
            self._go_on()

    @handles(withdraw)
    def take_back(self, slot: Slot, event: Entry) -> None:
        """Drop what is held; what has gone is taken back behind it."""
        rest = tuple(held for held in self.held if held.identity != event.identity or held.slot != slot.name)
        if len(rest) == len(self.held):
            forward(slot, event)
        self.held = rest


def _order(event: Entry) -> tuple[Time, int]:
    return event.end, slot_of(event).index


class allowing_lateness(Restriction):
    """Let events of ``slots`` count that are late, as far as they are at most ``lateness`` behind the clock.

    What frees their partners, or decides that none comes, waits for as long.

    Args:
        lateness: Time units or a `timedelta`, ≥ 0.
        *slots: The slots concerned: streams.

    State: none. Relies on no order. Commutes with everything.

    Raises:
        InvalidArgument: When a correlation is built: beside windows or versions, which have a
            lateness of their own, or for a table.

    Law:
        ``allowing_lateness(a, *s) | allowing_lateness(b, *s) == allowing_lateness(max(a, b), *s)``.

    Source:
        SEMANTICS 3.12; Akidau et al., The Dataflow Model, VLDB 2015, doi:10.14778/2824032.2824076 (allowed lateness).
    """

    lateness: Duration
    slots: Slots

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
