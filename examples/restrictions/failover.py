"""Which of two sources do I trust? The good one; the other one only while the good one is silent.

A ship reports its position by GPS, and a radar sees it as well, less exactly. Merging both streams makes the track
jump; taking GPS alone makes it stop when the receiver fails. `failing_over` is a hot standby: a gate on *arrival*, so
what it drops is never stored, and nothing that stands behind it (memory, keys, windows) has to know.

It relies on the order of arrival, and on event times for the silence. It asks for no deadline: the silence is noticed
by the first event of the other source that comes after it. State: one time, or one for each key.

>>> from cartesius import Engine, Reactive, correlate
>>> from examples.restrictions import failing_over
>>> fix = Reactive("fix")
>>> track = correlate(
...     fix=fix,
...     yields=lambda fix: (fix.by, fix.x),
...     restrict=failing_over("fix", 10, lambda fix: fix.by == "gps"),
... )
>>> engine = Engine(track)
>>> for by, x, at in [("gps", 1, 0), ("radar", 9, 5), ("radar", 8, 10), ("radar", 7, 11), ("gps", 4, 12)]:
...     print(at, [event.value for event in engine.push(fix, {"by": by, "x": x}, at=at)])
0 [('gps', 1)]
5 []
10 []
11 [('radar', 7)]
12 [('gps', 4)]
"""

# ruff: noqa: D102 - the class says it, and so do the names of its clauses

from collections.abc import Callable
from typing import Any

from cartesius import Duration, Reactive, Restriction, Slot, arrive, correlate, forward, handles, state
from cartesius.plan import Node, Opaque
from restrictions import key_by, most_recently


class failing_over(Restriction):
    """Let `preferred` events of `slot` through; others only after more than `silence` without one."""

    slot: Slot
    silence: Duration
    preferred: Callable[[Any], bool]
    last = state(float("-inf"))

    def plan(self) -> tuple[Node, ...]:
        """Say that what it does not let through is dropped, not kept for later."""
        return (Opaque(held=""),)

    @handles(arrive, "slot")
    def choose(self, slot: Slot, event: Any) -> None:
        if (is_preferred := self.preferred(event.value)) or event.end > self.last + self.silence:
            self.last = event.end if is_preferred else self.last
            forward(slot, event)


def example() -> tuple[Reactive, list[tuple[Reactive, Any, int]]]:
    """Return the ships in guarded cells, by GPS or else by radar, and a trace: the receiver of EVA fails."""
    fix, guard = Reactive("fix"), Reactive("guard")
    inside = correlate(
        guard=guard,
        fix=fix,
        where=lambda guard, fix: guard.cell == fix.cell,
        yields=lambda guard, fix: f"{fix.ship} in {guard.cell}, by {fix.by}",
        restrict=key_by(fix="ship") | most_recently("fix") | failing_over("fix", 10, lambda fix: fix.by == "gps"),
        name="inside",
    )
    reports = [
        ("EVA", "gps", 6, 1),
        ("ORCA", "gps", 7, 2),
        ("EVA", "radar", 7, 5),
        ("ORCA", "radar", 6, 12),
        ("EVA", "radar", 7, 13),
        ("EVA", "gps", 7, 14),
    ]
    trace: list[tuple[Reactive, Any, int]] = [(guard, {"cell": 7}, 0)]
    return inside, trace + [(fix, {"ship": s, "by": by, "cell": cell}, at) for s, by, cell, at in reports]
