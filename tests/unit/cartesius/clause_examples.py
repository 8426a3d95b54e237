"""What tests of clauses share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius import (
    Entry,
    Restriction,
    Slot,
    arrive,
    correlate,
    forward,
    handles,
    notify_at,
    tick,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Broken(Exception):
    """What a user's code raises."""


def values(events):
    return [event.value for event in events]


def through(reactive, restrict, **options):
    return correlate(x=reactive, yields=lambda x: x, restrict=restrict, name="out", **options)


class waking(Restriction):
    """Ask for what ``asks`` says of an event, let it through, and note each tick."""

    slot: Slot
    asks: Callable[[Entry], Any]

    @handles(arrive, "slot")
    def ask(self, slot, event):
        for time in self.asks(event):
            notify_at(time)
        forward(slot, event)

    @handles(tick)
    def note(self, now):
        TICKS.append(now)


TICKS: list[Any] = []
