"""Signals: gates that open, close or let go when another slot has an event, which goes no further.

Source: ReactiveX (skipUntil, takeUntil, sample); SEMANTICS 1.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import Slot, arrive, forward, handles, state
from cartesius.language.clauses import copies, is_drained
from cartesius.language.families import completes, ended
from cartesius.plan.nodes import Opaque
from restrictions.gates.folding import of_streams

if TYPE_CHECKING:
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.plan.nodes import Node


class sampling(of_streams):
    """Hold the latest event of ``slot`` back until the next of ``signal``, which is not let through. Never suspends.

    State: one event. Relies on arrival order. The end of the signal is one more signal. Completes with that,
    or at the first signal after the end of the slot. Commutes with `most_recently`, `earliest`, `at_most`,
    `affinely` and `momentarily`.

    Law:
        Not idempotent: the one to the right keeps the signal to itself.
    """

    slot: Slot
    signal: Slot
    latest: Entry | None = state(None)
    is_over: bool = state(False)

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(fields=None, held="O(1)", swallows=(self.signal,)),)

    @handles(arrive, "slot")
    def keep(self, slot: Slot, event: Entry) -> None:
        """Replace the one before."""
        self.latest = event

    @handles(arrive, "signal")
    def let_go(self, slot: Slot, event: Entry) -> None:
        """Let the latest through, at the time of both."""
        self._sample(event.start, event.end)

    @handles(ended, "signal")
    def let_go_at_end(self, slot: Slot) -> None:
        """Let the latest through; nothing can follow."""
        self._sample()
        self.is_over = True

    def _sample(self, *times: Time) -> None:
        latest, self.latest = self.latest, None
        if latest is not None:
            start, end = min([latest.start, *times]), max([latest.end, *times])
            arrive(self.slot, latest.with_value(latest.value, start, end))
        self.is_over = self.slot.ended

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Only as said above."""
        return bool(copies()) and all(copy.is_over for copy in copies())


class after(of_streams):
    """Drop the events of ``slot`` that come before the first of ``signal``, which is not let through. Never suspends.

    State: whether the signal has come. Relies on arrival order. Completes when the slot ends after the signal; if it
    ended before, never. Commutes with `most_recently`, `earliest`, `at_most`,
    `affinely` and `momentarily`.

    Law:
        Not idempotent: the one to the right keeps the signal to itself.
    """

    slot: Slot
    signal: Slot
    is_open: bool = state(False)
    is_over: bool = state(False)

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(fields=None, held="", swallows=(self.signal,)),)

    @handles(arrive, "signal")
    def open(self, slot: Slot, event: Entry) -> None:
        """Open for good."""
        self.is_open = True

    @handles(arrive, "slot")
    def let_through(self, slot: Slot, event: Entry) -> None:
        """Let through what comes once it is open."""
        if self.is_open:
            forward(slot, event)

    @handles(ended, "slot")
    def note_end(self, slot: Slot) -> None:
        """Complete if it is open."""
        self.is_over = self.is_open

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """Only as said above."""
        return bool(copies()) and all(copy.is_over for copy in copies())


class until(of_streams):
    """Drop the events of ``slot`` from the first of ``signal`` on, which is not let through. Never suspends.

    State: whether the signal has come. Relies on arrival order. Completes when the signal comes, or the slot has ended.
    Commutes with `most_recently`, `earliest`, `at_most`,
    `affinely` and `momentarily`.

    Law:
        Idempotent.
    """

    slot: Slot
    signal: Slot
    is_over: bool = state(False)

    def plan(self) -> tuple[Node, ...]:
        """Return what its clauses do not say."""
        return (Opaque(fields=None, held="", swallows=(self.signal,), ends=True),)

    @handles(arrive, "signal")
    def close(self, slot: Slot, event: Entry) -> None:
        """Close for good."""
        self.is_over = True

    @handles(arrive, "slot")
    def let_through(self, slot: Slot, event: Entry) -> None:
        """Let through what comes before."""
        if not self.is_over:
            forward(slot, event)

    @handles(completes)
    def is_complete(self, arrived: Any) -> bool:
        """The signal has come, or the slot has ended."""
        return any(copy.is_over for copy in copies()) or is_drained(self.slot)
