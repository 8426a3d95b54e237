"""Durations: how long an event may be matched, by event time, and leaves memory, by the clock.

Whether two events match depends on their own times alone, so the order of arrival is irrelevant; the clock decides when
an entry may be forgotten, as nothing that comes can match it. That is expiry, not displacement: results stand.

Source: ReactiveX (join); Flink's interval join, by its boundaries; SEMANTICS 1.14 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import (
    Duration,
    Restriction,
    Slot,
    Slots,
    expire,
    forward,
    handles,
    notify_at,
    push,
    tick,
)
from cartesius.data.events import EARLIEST
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import finalise, is_drained, is_settled, may_miss
from cartesius.language.families import admit, completes
from cartesius.plan.nodes import Apart, Lasting, Within
from cartesius.rows.clock_clauses import due_at

if TYPE_CHECKING:
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.plan.nodes import Node


def check_duration(restriction: Restriction, argument: str, duration: Any) -> None:
    """Raise `InvalidArgument` for a negative duration; what is none is refused when the correlation is built."""
    if duration < duration * 0:
        message = f"{type(restriction).__name__}: expected a duration ≥ 0 but got {argument}={duration!r}"
        raise InvalidArgument(message)


class _expiring(Restriction):
    """Base: entries leave once the clock has passed the last end that a partner may have.

    Where parts may be missing, their rows are final then. A slot that it does not name may complete rows later: then
    nothing leaves.
    """

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the last end that a partner of ``entry`` may have."""
        raise NotImplementedError  # each subclass says

    def may_give(self, *, is_shown: bool, is_awaited: bool) -> bool:
        """At most the row without a partner: otherwise it forgets."""
        return is_awaited

    def _remember(self, slot: Slot, entry: Entry) -> None:
        if EARLIEST in (entry.start, entry.end):  # what has always been so can match nothing that ends
            expire(slot, entry)
        elif is_settled():
            notify_at(int(self.due(slot, entry)))
        forward(slot, entry)

    def _forget(self, slots: tuple[Slot, ...], now: int) -> None:
        for slot in slots:
            for entry in due_at(slot, now - 1):
                finalise(slot, entry)
                expire(slot, entry)


class within(_expiring):
    """Let events of ``slots`` match only if all are within ``duration`` of each other: ``max(end) - min(start)``.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, within
    >>> left, right = Reactive("left"), Reactive("right")
    >>> near = cartesian(left, right, restrict=within(3, "left", "right"))
    >>> [event.value for event in run(near, [(left, "a", 10), (right, "x", 13), (right, "y", 14), (right, "z", 8)])]
    [('a', 'x'), ('a', 'z')]

    An event leaves memory once the clock has passed what it can match, if all slots of the correlation are named: one
    that is not may complete a row later. Beside `optionally` the row of an event without a partner comes then, once;
    with `retracting`, too, it comes at once and is taken back when a partner comes.

    Args:
        duration: Time units or a `timedelta`, ≥ 0; the bound is inclusive.
        *slots: The slots concerned.

    State: none. Relies on no order. Commutes with every other `within` and with `most_recently`.

    Completes when one of the slots has ended and nothing of it is left, or all inputs have ended: entries that are
    merely to be forgotten delay nothing.

    Raises:
        InvalidArgument: A negative duration; when a correlation is built: beside `optionally` in one of more than two
            slots.

    Law:
        ``within(a, *s) | within(b, *s) == within(min(a, b), *s)``.

    Source:
        SEMANTICS 3.8; Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 4 (stream-stream join).
    """

    duration: Duration
    slots: Slots

    def validate(self) -> None:
        """Check the duration."""
        check_duration(self, "duration", self.duration)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Within(self.slots, self.duration),)

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the start, and the duration on."""
        return entry.start + self.duration

    @handles(push, "slots")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave."""
        self._remember(slot, entry)

    @handles(tick)
    def forget(self, now: int) -> None:
        """Let go what nothing can match any more."""
        self._forget(self.slots, now)

    @handles(admit)
    def are_near(self, parts: Candidate) -> bool:
        """Compare the last end with the first start."""
        mine = [part for slot in self.slots if (part := parts[slot.index]) is not None]
        is_alone = len(mine) < min(len(self.slots), 2)  # a part that meets no other is near none
        is_near = is_alone or max(part.end for part in mine) - min(part.start for part in mine) <= self.duration
        return is_near and bool(forward(parts))

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can match what has ended and left."""
        is_over = not may_miss() and any(is_drained(slot) and not slot.memory for slot in self.slots)
        return is_over or bool(forward(arrived))


class lasting(_expiring):
    """Let an event of ``slot`` match only what ends at most ``duration`` after its own end; then it leaves memory.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian
    >>> from restrictions.time.duration import lasting
    >>> left, right = Reactive("left"), Reactive("right")
    >>> soon = cartesian(left, right, restrict=lasting("left", 10))
    >>> [event.value for event in run(soon, [(left, "a", 0), (right, "x", 10), (right, "y", 11)])]
    [('a', 'x')]

    Args:
        slot: The slot.
        duration: Time units or a `timedelta`, ≥ 0; the bound is inclusive.

    State: none. Relies on no order. Commutes with `lasting` of other slots and with `most_recently`.

    Completes when the slot has ended and nothing of it is left, or all inputs have ended.

    Law:
        ``lasting(s, a) | lasting(s, b) == lasting(s, min(a, b))``.
    """

    slot: Slot
    duration: Duration

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Lasting(self.slot, self.duration),)

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the end, and the duration on."""
        return entry.end + self.duration

    @handles(push, "slot")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave."""
        self._remember(slot, entry)

    @handles(tick)
    def forget(self, now: int) -> None:
        """Let go what nothing can match any more."""
        self._forget((self.slot,), now)

    @handles(admit)
    def is_in_time(self, parts: Candidate) -> bool:
        """Compare the ends."""
        mine = parts[self.slot.index]
        latest = max(part.end for part in parts if part is not None)
        return (mine is None or latest <= mine.end + self.duration) and bool(forward(parts))

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can match what has ended and left."""
        is_over = not may_miss() and is_drained(self.slot) and not self.slot.memory
        return is_over or bool(forward(arrived))


class apart(_expiring):
    """Let two slots match only if ``lower <= end of right - end of left <= upper``; forget what cannot any more.

    Args:
        left: A slot.
        right: Another.
        lower: Time units or a `timedelta`, inclusive; may be negative.
        upper: Time units or a `timedelta`, inclusive.

    State: none. Relies on no order. Commutes with every other `apart`.

    Raises:
        InvalidArgument: ``lower`` exceeds ``upper``.

    Law:
        ``apart(l, r, a, b) | apart(l, r, c, d) == apart(l, r, max(a, c), min(b, d))``, where that is not empty.

    Source:
        Flink's interval join (both bounds inclusive).
    """

    left: Slot
    right: Slot
    lower: Duration
    upper: Duration

    def validate(self) -> None:
        """Check the bounds."""
        if type(self.lower) is type(self.upper) and self.lower > self.upper:
            message = f"apart: expected lower ≤ upper but got lower={self.lower!r}, upper={self.upper!r}; swap them"
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Apart(self.left, self.right, self.lower, self.upper),)

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the last end within the bounds, seen from the side of ``slot``."""
        return entry.end + (self.upper if slot is self.left else -self.lower)

    @handles(push, "left", "right")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave."""
        self._remember(slot, entry)

    @handles(tick)
    def forget(self, now: int) -> None:
        """Let go what nothing can match any more."""
        self._forget((self.left, self.right), now)

    @handles(admit)
    def is_in_band(self, parts: Candidate) -> bool:
        """Compare the ends."""
        left, right = parts[self.left.index], parts[self.right.index]
        inside = left is None or right is None or self.lower <= right.end - left.end <= self.upper
        return inside and bool(forward(parts))

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Nothing can match what has ended and left."""
        is_over = not may_miss() and any(is_drained(s) and not s.memory for s in (self.left, self.right))
        return is_over or bool(forward(arrived))
