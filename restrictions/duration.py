"""Durations: how long an event may be matched, by event time, and leaves memory, by the clock.

Whether two events match depends on their own times alone, so the order of arrival is irrelevant; the clock decides when
an entry may be forgotten, as nothing that comes can match it. That is expiry, not displacement: results stand.

Source: ReactiveX (join, group_join); Flink's interval join, by its boundaries; SEMANTICS 1.14 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cartesius import (
    Duration,
    Restriction,
    Slot,
    arrive,
    expire,
    forward,
    handles,
    memory,
    notify_at,
    push,
    state,
    tick,
)
from cartesius.clauses import is_drained
from cartesius.errors import InvalidArgument
from cartesius.events import EARLIEST
from cartesius.families import admit, completes, withdraw
from restrictions.checks import refuse_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.enumeration import Candidate
    from cartesius.memories import Entry


def _check_duration(restriction: Restriction, argument: str, duration: Any) -> None:
    """Raise `InvalidArgument` for a negative duration; what is none is refused when the correlation is built."""
    if duration < duration * 0:
        message = f"{type(restriction).__name__}: expected a duration ≥ 0 but got {argument}={duration!r}"
        raise InvalidArgument(message)


class lasting(Restriction):
    """Let an event of ``slot`` match only what ends at most ``duration`` after its own end; then it leaves memory.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.duration import lasting
    >>> left, right = Reactive("left"), Reactive("right")
    >>> soon = cartesian(left, right, restrict=lasting("left", 10))
    >>> [event.value for event in run(soon, [(left, "a", 0), (right, "x", 10), (right, "y", 11)])]
    [('a', 'x')]

    Args:
        slot: The slot.
        duration: Time units or a `timedelta`, ≥ 0; the bound is inclusive.

    State: the next deadline. Relies on no order. Commutes with `lasting` of other slots and with `most_recently`.

    Completes when the slot has ended and nothing of it is left.

    Raises:
        InvalidArgument: A negative duration.

    Law:
        ``lasting(s, a) | lasting(s, b) == lasting(s, min(a, b))``.
    """

    relies_on_order: ClassVar[bool] = False
    is_pointwise: ClassVar[bool] = True

    slot: Slot
    duration: Duration
    due: int | None = state(None)

    def validate(self) -> None:
        """Check the duration."""
        _check_duration(self, "duration", self.duration)

    @handles(push, "slot")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave; what has always been so can match nothing that ends."""
        if entry.end == EARLIEST:
            expire(slot, entry)
        else:
            self._ask(int(entry.end))
        forward(slot, entry)

    def _ask(self, end: int) -> None:
        due = end + self.duration
        if self.due is None or due < self.due:
            self.due = due
            notify_at(due)

    @handles(tick)
    def forget(self, now: int) -> None:
        """Let go what nothing can match any more, and ask for the next time."""
        entries = memory(self.slot)
        self.due = None
        for entry in entries:
            if entry.end + self.duration < now:
                expire(self.slot, entry)
        rest = [int(entry.end) for entry in entries if entry.end + self.duration >= now]
        if rest:
            self._ask(min(rest))

    @handles(admit)
    def is_in_time(self, parts: Candidate) -> bool:
        """Compare the ends."""
        mine = parts[self.slot.index]
        latest = max(part.end for part in parts if part is not None)
        return (mine is None or latest <= mine.end + self.duration) and bool(forward(parts))

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can match what has ended and left."""
        return (is_drained(self.slot) and not self.slot.memory) or bool(forward(arrived))

    def bound(self) -> str:
        """What comes within the duration, and before the clock has passed it."""
        return "O(window)"


class apart(Restriction):
    """Let two slots match only if ``lower <= end of right - end of left <= upper``; forget what cannot any more.

    Args:
        left: A slot.
        right: Another.
        lower: Time units or a `timedelta`, inclusive; may be negative.
        upper: Time units or a `timedelta`, inclusive.

    State: the next deadline. Relies on no order. Commutes with every other `apart`.

    Raises:
        InvalidArgument: ``lower`` exceeds ``upper``.

    Law:
        ``apart(l, r, a, b) | apart(l, r, c, d) == apart(l, r, max(a, c), min(b, d))``, where that is not empty.

    Source:
        Flink's interval join (both bounds inclusive).
    """

    relies_on_order: ClassVar[bool] = False
    is_pointwise: ClassVar[bool] = True

    left: Slot
    right: Slot
    lower: Duration
    upper: Duration
    due: int | None = state(None)

    def validate(self) -> None:
        """Check the bounds."""
        if type(self.lower) is type(self.upper) and self.lower > self.upper:
            message = f"apart: expected lower ≤ upper but got lower={self.lower!r}, upper={self.upper!r}; swap them"
            raise InvalidArgument(message)

    def _last(self, slot: Slot, entry: Entry) -> int:
        """Return the last end that an event of the other slot may have to match ``entry``."""
        return int(entry.end) + (self.upper if slot is self.left else -self.lower)

    @handles(push, "left", "right")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave; what has always been so can match nothing that ends."""
        if entry.end == EARLIEST:
            expire(slot, entry)
        else:
            self._ask(self._last(slot, entry))
        forward(slot, entry)

    def _ask(self, due: int) -> None:
        if self.due is None or due < self.due:
            self.due = due
            notify_at(due)

    @handles(tick)
    def forget(self, now: int) -> None:
        """Let go what nothing can match any more, and ask for the next time."""
        self.due = None
        rest = []
        for slot in (self.left, self.right):
            for entry in memory(slot):
                last = self._last(slot, entry)
                if last < now:
                    expire(slot, entry)
                else:
                    rest.append(last)
        if rest:
            self._ask(min(rest))

    @handles(admit)
    def is_in_band(self, parts: Candidate) -> bool:
        """Compare the ends."""
        left, right = parts[self.left.index], parts[self.right.index]
        inside = left is None or right is None or self.lower <= right.end - left.end <= self.upper
        return inside and bool(forward(parts))

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can match what has ended and left."""
        return any(is_drained(s) and not s.memory for s in (self.left, self.right)) or bool(forward(arrived))

    def bound(self) -> str:
        """What comes within the band, and before the clock has passed it."""
        return "O(window)"


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
        InvalidArgument: A negative duration; when a correlation is built: a table.

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

    def validate(self) -> None:
        """Check the durations."""
        _check_duration(self, "left_duration", self.left_duration)
        _check_duration(self, "right_duration", self.right_duration)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse tables."""
        refuse_tables(self, (*slots["left"], *slots["right"]))

    @handles(arrive, "left")
    def open_group(self, slot: Slot, event: Entry) -> None:
        """Hold it back."""
        self.open = (*self.open, event)
        notify_at(int(event.end) + self.left_duration)

    @handles(arrive, "right")
    def gather(self, slot: Slot, event: Entry) -> None:
        """Keep it as long as a group may want it."""
        self.live = (*self.live, event)
        notify_at(int(event.end) + self.right_duration)

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

    def waits(self) -> str:
        """What comes within the durations."""
        return "O(window)"
