"""Ticks: what makes one batch of the events that come to windows.

Source: Dindar et al., VLDB Journal 2013 (SECRET: tick); SEMANTICS 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.data.queues import Queue

TICKS: Final = ("tuple", "time")


def first_batch(pending: Queue, tick: Any, now: Time) -> list[Entry] | None:
    """Return the first batch of what waits that is complete at ``now``; None if there is none."""
    if tick == "tuple" or not pending:
        return None
    if tick != "time":
        steps = list(dict.fromkeys(event.noted("step") for event in pending))  # one event may have come to two slots
        return [event for event in pending if event.noted("step") in steps[:tick]] if len(steps) >= tick else None
    ends = sorted({event.end for event in pending})
    if len(ends) == 1 and ends[0] >= now:
        return None
    return [event for event in pending if event.end == ends[0]]
