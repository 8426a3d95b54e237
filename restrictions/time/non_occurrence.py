"""Rows that wait for the clock: what `without` is made of, by where what must not come is forbidden.

A row that satisfies the body is held until the clock has passed the time at which an event that would forbid it could
still come; then it comes, with the time of its own parts, or never. Whether an event forbids depends on its time, and
if that is the part's on which was used first; so the clock decides the same in any order of arrival, ties apart.

Invariant: what is held is not decided: its last time is not before the clock.

This module is over 300 lines because what the three kinds have in common is one state machine.

Source: SEMANTICS 3.3 and 3.11.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius import (
    Absent,
    Duration,
    Reactive,
    Restriction,
    Slot,
    arrive,
    expire,
    forward,
    handles,
    notify_at,
    push,
    select,
    set_aside,
    state,
    tick,
)
from cartesius.correlations.absences import forgotten, in_order, is_among, is_over, look_again, passes
from cartesius.data.events import EARLIEST
from cartesius.data.queues import Queue
from cartesius.errors import InvalidArgument
from cartesius.language.families import completes
from cartesius.plan import facts
from cartesius.plan.nodes import Never
from cartesius.rows.clock_clauses import due_at, has_passed
from cartesius.rows.combinations import reconsider
from cartesius.rows.following import precedes
from restrictions.basics.checks import refuse_tables
from restrictions.time.duration import check_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.language.matches import Match
    from cartesius.plan.nodes import Node


class _absence(Restriction):
    """Base: holds the rows that are not decided, and keeps the events that may forbid one.

    The ``anchor`` is the slot by whose event it is known which events may forbid its rows.
    """

    c: Absent[Slot]
    anchor: Slot
    held: Mapping[int, Queue] = state({})  # rows, and how many values, by the last time
    decided: tuple[tuple[Candidate, int], ...] = state(())  # those of this step

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse what is there and absent at once; rows of a table as what is absent; and versions."""
        (absent,) = slots["c"]
        refuse_tables(self, (absent,))
        if any(absent in named for field, named in slots.items() if field != "c"):
            message = (
                f"{self!r}: expected another slot than {absent.name!r}, which cannot be absent from a row that it is"
                " in; give the reactive itself, to forbid a second event of it"
            )
            raise InvalidArgument(message)
        versions = [other for other in others if facts.versions(other)]
        if versions:
            message = (
                f"{self!r}: expected memory in order of arrival but {versions[0]!r} keeps versions, which may still"
                " change when the clock has decided; leave one out"
            )
            raise InvalidArgument(message)

    def decided_after(self, parts: Candidate) -> Time:
        """Return the last time at which an event that forbids a row may end: past it, the row is decided."""
        raise NotImplementedError  # each subclass says

    def forbids(self, parts: Candidate, absent: Entry) -> bool:
        """Whether an event forbids a row, by its time."""
        return self.needs(self._part(parts, self.anchor), absent)

    def earliest(self, entry: Entry) -> Time:
        """Return the earliest end of an event that may forbid a row with ``entry`` of the anchor."""
        return entry.end + 1

    def concerns(self, parts: Candidate) -> bool:
        """Whether a row has the parts that it is about; beside `separately` others come without."""
        return parts[self.anchor.index] is not None

    def _part(self, parts: Candidate, slot: Slot) -> Entry:
        part = parts[slot.index]
        assert part is not None  # Invariant: it is asked of rows that it concerns alone
        return part

    def waits_for(self, time: int) -> tuple[Slot, ...]:
        """A row waits for what must not come alone; that is needed as long as an anchor may."""
        return (self.c,) if time in self.held else ()

    @handles(arrive, "anchor")
    def check_known(self, slot: Slot, event: Entry) -> None:
        """Set aside what comes so late that its rows cannot be decided."""
        until = forgotten(self.c, event)
        if event.deletes or until == EARLIEST or until < self.earliest(event):
            forward(slot, event)
            return
        reason = (
            f"events of {self.c.name!r} that end at {self.earliest(event)} or later may decide about it, but they are"
            f" forgotten up to {until}"
        )
        set_aside(slot, event, reason)

    @handles(push, "anchor")
    def remember(self, slot: Slot, entry: Entry) -> None:
        """Let it leave at once if nothing that comes can meet it: its row is held."""
        if passes(slot):
            expire(slot, entry)
        forward(slot, entry)

    @handles(push, "c")
    def keep(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may be forgotten."""
        due = self.due(slot, entry)
        assert due is not None  # Invariant: each subclass says
        if due == EARLIEST or has_passed(due):
            look_again(slot, entry)
        else:
            notify_at(int(due))
        forward(slot, entry)

    @handles(select)
    def decide(self, matches: Iterable[Match]) -> None:
        """Hold the rows that are not decided; let through those that the clock has decided, and nothing forbids."""
        due, self.decided = self.decided, ()
        rows = [*in_order(due), *self._known(list(matches))]
        forward(iter([row for row in rows if not self.concerns(row.parts) or self._is_free(row.parts)]))

    def _known(self, matches: list[Match]) -> Iterator[Match]:
        """Yield the matches that are decided already, and hold the others."""
        for match in matches:
            last = self.decided_after(match.parts) if self.concerns(match.parts) else EARLIEST
            if last == EARLIEST or has_passed(last, self.c):
                yield match
            else:
                row = (match.parts, len(match.values))
                self.held = {**self.held, int(last): self.held.get(int(last), Queue()).append(row)}
                notify_at(int(last))

    def _is_free(self, parts: Candidate) -> bool:
        look_again(self.anchor, self._part(parts, self.anchor))  # it needs nothing any more for this row
        return not is_among(self.c, parts, partial(self.forbids, parts))

    @handles(tick)
    def pass_by(self, now: int) -> None:
        """Decide the rows whose time has passed, and look at the events whose time has."""
        for entry in due_at(self.c, now - 1):
            look_again(self.c, entry)
        if now - 1 in self.held:
            held = dict(self.held)
            self.decided = tuple(held.pop(now - 1))
            self.held = held
            reconsider()

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing comes once all parts have ended, whether or not what is absent has: rows that wait are waited for."""
        return is_over() or bool(forward(arrived))

    def _show(self, field: str) -> str:
        value = self.configuration[field]
        return value.name if isinstance(value, Reactive) else repr(value)


class _in_duration(_absence):
    """Base: an event is forbidden within a duration."""

    within: Duration

    def validate(self) -> None:
        """Check the duration."""
        check_duration(self, "within", self.within)

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the end, and the duration on."""
        return entry.end + self.within

    def _shown(self, how: str) -> str:
        return f"without({self._show('c')}, {how}={self._show('anchor')}, within={self.configuration['within']!r})"


class without_after(_in_duration):
    """Let rows come in which no event of ``c`` ends in (end, end + ``within``] of the part of ``anchor``.

    Nor, if both are points, one of its time that was used after it. It is ``without(c, after=…, within=…)``.

    State: the rows that wait. Relies on order for ties. Commutes with `most_recently`, `affinely` and `at_most`.

    Law:
        ``without(c, after=a, within=d) | without(c, after=a, within=e) == without(c, after=a, within=max(d, e))``.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Never(self.c, self.anchor, "after", self.within),)

    def decided_after(self, parts: Candidate) -> Time:
        """Return the end of that event, and the duration on."""
        return self._part(parts, self.anchor).end + self.within

    def needs(self, entry: Entry, absent: Entry) -> bool:
        """Whether that event is in the duration."""
        is_tied = absent.end == entry.end and precedes(entry, absent)
        return is_tied or entry.end < absent.end <= entry.end + self.within

    def __repr__(self) -> str:
        """Show it as written."""
        return self._shown("after")


class without_before(_in_duration):
    """Let rows come in which no event of ``c`` ends in [start - ``within``, start) of the part of ``anchor``.

    Nor, if both are points, one of its time that was used before it. It is ``without(c, before=…, within=…)``.

    State: the rows that wait. Relies on order for ties. Commutes with `most_recently`, `affinely` and `at_most`.

    Law:
        ``without(c, before=b, within=d) | without(c, before=b, within=e) == without(c, before=b, within=max(d, e))``.
    """

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Never(self.c, self.anchor, "before", self.within),)

    def decided_after(self, parts: Candidate) -> Time:
        """Return what is just before the start of that event."""
        return self._part(parts, self.anchor).start - 1

    def earliest(self, entry: Entry) -> Time:
        """Return the start, less the duration."""
        return entry.start - self.within

    def needs(self, entry: Entry, absent: Entry) -> bool:
        """Whether that event is in the duration."""
        is_tied = absent.end == entry.start and precedes(absent, entry)
        return is_tied or entry.start - self.within <= absent.end < entry.start

    def __repr__(self) -> str:
        """Show it as written."""
        return self._shown("before")


class without_between(_absence):
    """Let rows come in which no event of ``c`` lies strictly between the parts of ``anchor`` and ``last``.

    It is what ``without(c, between=(…, …))`` is. An event that overlaps one of them, or touches it, is not between; of
    points of one time the one that was used first comes first.

    State: the rows that wait. Relies on order for ties. Commutes with `most_recently`, `affinely` and `at_most`.

    Law:
        Idempotent.
    """

    last: Slot

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Never(self.c, self.anchor, "between", last=self.last),)

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the end: what is still to come for the anchor ends later."""
        return entry.end

    def decided_after(self, parts: Candidate) -> Time:
        """Return the end of the event of ``last``."""
        return self._part(parts, self.last).end

    def concerns(self, parts: Candidate) -> bool:
        """Whether a row has both parts."""
        return super().concerns(parts) and parts[self.last.index] is not None

    def needs(self, entry: Entry, absent: Entry) -> bool:
        """Whether that event is after the anchor's, so that one of ``last`` may follow."""
        return precedes(entry, absent)

    def forbids(self, parts: Candidate, absent: Entry) -> bool:
        """Whether it is between the two."""
        return super().forbids(parts, absent) and precedes(absent, self._part(parts, self.last))

    def __repr__(self) -> str:
        """Show it as written."""
        return f"without({self._show('c')}, between=({self._show('anchor')}, {self._show('last')}))"


without_after.__name__ = without_before.__name__ = without_between.__name__ = "without"  # as it is written
