"""What tests of pauses share: the barrier of DESIGN 3 as printed, and programs with it."""

from __future__ import annotations

from cartesius import (
    Restriction,
    Slot,
    Slots,
    arrive,
    correlate,
    forward,
    handles,
    pause,
    play,
    start,
)
from cartesius.plan import Node, Opaque
from restrictions import (
    momentarily,
    most_recently,
    separately,
)


class barrier(Restriction):
    """Hold `slots` back; each event of `signal` lets one event of each through."""

    slots: Slots
    signal: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(*self.slots, self.signal)),)

    @handles(start)  # when the copy for a key is made
    def close(self):
        for slot in self.slots:
            pause(slot)

    @handles(arrive, "slots")
    def close_behind(self, slot, event):
        pause(slot)
        forward(slot, event)

    @handles(arrive, "signal")
    def open(self, slot, event):
        forward(slot, event)  # what is released follows after this step, in slot order
        for slot in self.slots:  # noqa: PLR1704 - as printed
            play(slot)


class dam(Restriction):
    """Hold `slots` back until the first event of `signal`; then let everything through, asking in reverse order."""

    slots: Slots
    signal: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(*self.slots, self.signal)),)

    @handles(start)
    def close(self):
        for slot in self.slots:
            pause(slot)

    @handles(arrive, "signal")
    def open(self, slot, event):
        for slot_ in reversed(self.slots):
            play(slot_)
        forward(slot, event)


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


def waiting_of(engine):
    return {slot: waiting for (_, slot), (_, waiting) in engine.stats.slots.items()}


def shown(x, y, go):
    return next(part for part in (x, y, go) if part is not None)


def each_alone(x, y, go, restrict):
    """Every event that gets through is a result of its own: results come in the order in which events got through."""
    return correlate(
        x=x, y=y, go=go, yields=shown, restrict=separately() | momentarily("x", "y", "go") | restrict, name="out"
    )


def met(x, go, restrict):
    """Every event of x that gets through meets the latest signal."""
    return correlate(
        x=x,
        go=go,
        yields=lambda x, go: (x, go),
        restrict=restrict | momentarily("x") | most_recently("go"),
        name="out",
    )
