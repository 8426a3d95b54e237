"""Durations: how long an event may be matched, by event time, and leaves memory, by the clock.

Whether two events match depends on their own times alone, so the order of arrival is irrelevant; the clock decides when
an entry may be forgotten, as nothing that comes can match it. That is expiry, not displacement: results stand.

Source: ReactiveX (join); Flink's interval join, by its boundaries; SEMANTICS 1.14 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cartesius import (
    Duration,
    Restriction,
    Slot,
    expire,
    forward,
    handles,
    notify_at,
    push,
    state,
    tick,
)
from cartesius.clauses import is_drained, oldest_first
from cartesius.errors import InvalidArgument
from cartesius.events import EARLIEST
from cartesius.families import admit, completes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.entries import Entry
    from cartesius.enumeration import Candidate


def check_duration(restriction: Restriction, argument: str, duration: Any) -> None:
    """Raise `InvalidArgument` for a negative duration; what is none is refused when the correlation is built."""
    if duration < duration * 0:
        message = f"{type(restriction).__name__}: expected a duration ≥ 0 but got {argument}={duration!r}"
        raise InvalidArgument(message)


class _expiring(Restriction):
    """Base: entries leave once the clock has passed the last end that a partner may have.

    While they come in order of that, only those that are due are visited; after one that does not, all are, until the
    clock has passed what was ahead of it.
    """

    expires: ClassVar[bool] = True
    latest: Mapping[str, int] = state({})  # the last due time of each slot
    disordered_until: int | None = state(None)

    def _last(self, slot: Slot, entry: Entry) -> int:
        """Return the last end that a partner of ``entry`` may have."""
        raise NotImplementedError  # each subclass says

    def _remember(self, slot: Slot, entry: Entry) -> None:
        if entry.end == EARLIEST:  # what has always been so can match nothing that ends
            expire(slot, entry)
            return
        due = self._last(slot, entry)
        notify_at(due)
        latest = self.latest.get(slot.name, due)
        if due < latest:
            self.disordered_until = max(latest, self.disordered_until or latest)
        if due > latest or slot.name not in self.latest:
            self.latest = {**self.latest, slot.name: due}

    def _forget(self, slots: tuple[Slot, ...], now: int) -> None:
        is_ordered = self.disordered_until is None or self.disordered_until < now
        is_empty = True
        for slot in slots:
            for entry in oldest_first(slot):
                if self._last(slot, entry) < now:
                    expire(slot, entry)
                    continue
                is_empty = False
                if is_ordered:
                    break
        if is_ordered:
            self.disordered_until = None
        if is_empty:
            self.latest = {}


class lasting(_expiring):
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

    State: the last due times. Relies on no order. Commutes with `lasting` of other slots and with `most_recently`.

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

    def validate(self) -> None:
        """Check the duration."""
        check_duration(self, "duration", self.duration)

    def _last(self, slot: Slot, entry: Entry) -> int:
        return int(entry.end) + self.duration

    @handles(push, "slot")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave."""
        self._remember(slot, entry)
        forward(slot, entry)

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
        return (is_drained(self.slot) and not self.slot.memory) or bool(forward(arrived))

    def bound(self) -> str:
        """What comes within the duration, and before the clock has passed it."""
        return "O(window)"


class apart(_expiring):
    """Let two slots match only if ``lower <= end of right - end of left <= upper``; forget what cannot any more.

    Args:
        left: A slot.
        right: Another.
        lower: Time units or a `timedelta`, inclusive; may be negative.
        upper: Time units or a `timedelta`, inclusive.

    State: the last due times. Relies on no order. Commutes with every other `apart`.

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

    def validate(self) -> None:
        """Check the bounds."""
        if type(self.lower) is type(self.upper) and self.lower > self.upper:
            message = f"apart: expected lower ≤ upper but got lower={self.lower!r}, upper={self.upper!r}; swap them"
            raise InvalidArgument(message)

    def _last(self, slot: Slot, entry: Entry) -> int:
        return int(entry.end) + (self.upper if slot is self.left else -self.lower)

    @handles(push, "left", "right")
    def limit(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it may leave."""
        self._remember(slot, entry)
        forward(slot, entry)

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
        return any(is_drained(s) and not s.memory for s in (self.left, self.right)) or bool(forward(arrived))

    def bound(self) -> str:
        """What comes within the band, and before the clock has passed it."""
        return "O(window)"
