"""What must be on the screen? The latest reading of each tank, and every alarm that nobody has acknowledged.

"Keep the latest" forgets the alarm of a minute ago as soon as the next reading is fine; "keep everything" shows
alarms for ever. `latching` says what neither can: an alarm is not superseded, it is acknowledged. It handles
`displace`, the operation that `most_recently` performs for what it would drop, and forwards it or not: what is not
forwarded stays.

It relies on a restriction that displaces (`most_recently`), on either side of it. An acknowledging event is an event
of the same slot. State: none but the memory: the latest event and the alarms since the last acknowledgement, or those
for each key.

>>> from cartesius import Engine, Reactive, correlate
>>> from examples.restrictions import latching
>>> from restrictions import most_recently
>>> look, tank = Reactive("look"), Reactive("tank")
>>> screen = correlate(
...     look=look,
...     tank=tank,
...     yields=lambda look, tank: tank,
...     restrict=most_recently("look", "tank")
...     | latching("tank", alarms=lambda level: level > 90, clears=lambda level: level == 0),
... )
>>> engine = Engine(screen)
>>> for level in (95, 60, 50, 0, 40):
...     _ = engine.push(tank, level)
...     print(level, [event.value for event in engine.push(look, "who looks")])
95 [95]
60 [60, 95]
50 [50, 95]
0 [0]
40 [40]
"""

# ruff: noqa: D102 - the class says it, and so do the names of its clauses

from collections.abc import Callable
from typing import Any

from cartesius import Reactive, Restriction, Slot, Slots, correlate, displace, forward, handles, memory
from restrictions import key_by, most_recently


class latching(Restriction):
    """Keep an event of `slots` that `alarms` from being displaced, unless the newest one of its slot `clears`."""

    slots: Slots
    alarms: Callable[[Any], bool]
    clears: Callable[[Any], bool]

    @handles(displace, "slots")
    def latch(self, slot: Slot, entry: Any) -> None:
        if not self.alarms(entry.value) or self.clears(memory(slot)[0].value):
            forward(slot, entry)


def example() -> tuple[Reactive, list[tuple[Reactive, Any, int]]]:
    """Return what whoever looked last sees, and a trace: tank A has an alarm, which is acknowledged later."""
    look, tank = Reactive("look"), Reactive("tank")
    screen = correlate(
        look=look,
        tank=tank,
        yields=lambda look, tank: f"{look}: {tank.name} {tank.level}",
        restrict=most_recently("look")
        | key_by(tank="name")
        | most_recently("tank")
        | latching("tank", alarms=lambda tank: tank.level == "HIGH", clears=lambda tank: tank.level == "ack"),
        name="screen",
    )
    readings = [("A", "HIGH"), ("B", "60"), ("A", "70"), None, ("B", "65"), ("A", "ack"), None]
    return screen, [
        (look, f"look {at}", at) if reading is None else (tank, {"name": reading[0], "level": reading[1]}, at)
        for at, reading in enumerate(readings, 1)
    ]
