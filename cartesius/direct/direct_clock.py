"""Direct clocks: what a push does before and after it is computed, as text: times, counters, and the clock.

Invariant: a push that is late, or that more is due before than the function can do, is left to the handlers.

Source: SEMANTICS 3.1.
"""

from __future__ import annotations

TIMES = """
    if steps.is_running or journal.is_open:
        return None  # it is refused
    if at is None:
        start = end = world.latest + 1
    elif type(at) is int:
        start = end = at
    else:
        start, end = checked_times(at, world.latest, world.clock)
    if end < world.clock:
        return steps.given_up.leave("the event is late")
"""
_COME = """
    journal.is_open = True  # who has called it closes it when it has what comes out
    world.events = ordinal
    if end > world.latest:
        world.latest = end
    world.steps += 1
"""
PASSED = """
    passed = max(world.latest, end) - lateness
    if passed < world.clock:
        passed = world.clock
    if end < passed:
        return steps.given_up.leave("the event is late")
"""
_CLOCK = """
    if world.deadlines.heap and world.deadlines.heap[0][0] < passed:
        return steps.given_up.leave("something is due before")
"""
MEET = """
    if world.deadlines.heap and world.deadlines.heap[0][0] < passed:
        met = leaving.meet(passed)
        if met is None:
            return steps.given_up.leave("something is due before")
"""
_MOVE = """
    world.clock = passed
"""


def coming(lateness: int | None) -> tuple[str, str]:
    """Return what looks whether the clock may move, and what takes note that an event has come, and moves it."""
    return ("", _COME) if lateness is None else (PASSED + _CLOCK, _COME + _MOVE)
