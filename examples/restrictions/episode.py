"""Which events belong together? Those of one episode: from one event that begins it to the next that does.

A batch in a factory, a voyage, a log-in, a shift: their ends are events, not times. Tumbling windows cut them apart
and session windows need a gap that nobody knows. `episodes` forgets everything of its slots when an event comes that
begins a new episode: it restricts *memory* when an event has been stored (`push`).

It relies on the order of arrival. What leaves is displaced: its results stand, or are taken back beside `retracting`.
State: none but the memory, which holds one episode, or one for each key.

>>> from cartesius import Engine, Reactive, correlate
>>> from examples.restrictions import episodes
>>> step, alarm = Reactive("step"), Reactive("alarm")
>>> alarms = correlate(
...     step=step,
...     alarm=alarm,
...     yields=lambda step, alarm: (step, alarm),
...     restrict=episodes("step", "alarm", begins=lambda value: value == "start"),
... )
>>> engine = Engine(alarms)
>>> for reactive, value in [(step, "start"), (step, "heat"), (alarm, "hot"), (step, "start"), (alarm, "cold")]:
...     print(value, [event.value for event in engine.push(reactive, value)])
start []
heat []
hot [('heat', 'hot'), ('start', 'hot')]
start []
cold [('start', 'cold')]
"""

# ruff: noqa: D102 - the class says it, and so do the names of its clauses

from collections.abc import Callable
from typing import Any

from cartesius import Reactive, Restriction, Slot, Slots, correlate, displace, forward, handles, memory, push
from restrictions import key_by


class episodes(Restriction):
    """Make an event of `slots` that `begins` an episode displace whatever its slots hold besides."""

    slots: Slots
    begins: Callable[[Any], bool]

    @handles(push, "slots")
    def start_afresh(self, slot: Slot, entry: Any) -> None:
        if self.begins(entry.value):
            for one in self.slots:
                for older in memory(one):
                    if older is not entry:
                        displace(one, older)
        forward(slot, entry)


def example() -> tuple[Reactive, list[tuple[Reactive, Any, int]]]:
    """Return which steps of a batch each alarm may concern, machine by machine, and a trace of two machines."""
    step, alarm = Reactive("step"), Reactive("alarm")
    suspects = correlate(
        alarm=alarm,
        step=step,
        yields=lambda alarm, step: f"{alarm.machine}: {alarm.what} after {step.what}",
        restrict=key_by(alarm="machine", step="machine")
        | episodes("alarm", "step", begins=lambda value: value.what == "start"),
        name="suspects",
    )
    happened = [
        (step, "M1", "start"),
        (step, "M2", "start"),
        (step, "M1", "heat"),
        (alarm, "M1", "too hot"),
        (step, "M1", "start"),
        (alarm, "M1", "door open"),
        (alarm, "M2", "no power"),
    ]
    return suspects, [(reactive, {"machine": m, "what": what}, at) for at, (reactive, m, what) in enumerate(happened)]
