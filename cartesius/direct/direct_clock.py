"""Direct clocks: what a push does before and after it is computed, as text: times, counters, and the clock.

Invariant: a push that is late, or that more is due before than the function can do, is left to the handlers.

Source: SEMANTICS 3.1.
"""

from __future__ import annotations

TIMES = """
    if steps.is_running or journal.is_open:
        return None  # it is refused
    latest, clock = world.latest, world.clock
    if at is None:
        start = end = latest + 1
    elif type(at) is int:
        start = end = at
    elif is_dated(at):
        return None  # the engine turns datetimes into ints, once it has been given one
    else:
        start, end = checked_times(at, latest, clock)
    if end > latest:
        latest = end
"""
_STANDS = """
    if end < clock:
        return steps.given_up.leave("the event is late")
"""
_PASSED = """
    passed = latest - lateness
    if passed < clock:
        passed = clock
    if end < passed:
        return steps.given_up.leave("the event is late")
    heap = world.deadlines.heap
"""
_NOTHING_DUE = """
    if heap and heap[0][0] < passed:
        return steps.given_up.leave("something is due before")
"""
MEET = """
    if heap and heap[0][0] < passed:
        met = leaving.meet(passed)
        if met is None:
            return steps.given_up.leave("something is due before")
"""
_COME = """
    journal.is_open = True  # who has called it closes it when it has what comes out
    world.events, world.latest = ordinal, latest
    world.steps += 1
"""
_MOVE = """
    world.clock = passed
"""


def coming(lateness: int | None, *, meets: bool = False) -> tuple[str, str]:
    """Return what looks whether the clock may move, and what takes note that an event has come, and moves it.

    Args:
        lateness: That of the engine; None: its clock stands.
        meets: Whether what is due before the event is met by the function itself.
    """
    if lateness is None:
        return _STANDS, _COME
    return _PASSED if meets else _PASSED + _NOTHING_DUE, _COME + _MOVE
