"""What a clause of a restriction may ask of the clock: what it is, and to be told when it is past a time.

Source: SEMANTICS 3.1 and 3.10.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cartesius.errors import InvalidArgument
from cartesius.language.clauses import of_clause

if TYPE_CHECKING:
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot


def notify_at(time: int) -> None:
    """Ask for a `tick` of this copy once the clock is past ``time`` (time units). Only in a restriction's clause.

    >>> from cartesius import Engine, Reactive, Restriction, Slot, arrive, forward, handles, notify_at, tick
    >>> from restrictions import cartesian
    >>> class reminding(Restriction):
    ...     slot: Slot
    ...
    ...     @handles(arrive, "slot")
    ...     def remember(self, slot, event):
    ...         notify_at(event.end + 10)
    ...         forward(slot, event)
    ...
    ...     @handles(tick)
    ...     def remind(self, now):
    ...         print("it is", now)
    >>> level = Reactive("level")
    >>> engine = Engine(cartesian(level, restrict=reminding("level")))
    >>> [event.value for event in engine.push(level, 3, at=5)], engine.next_deadline
    ([(3,)], 16)
    >>> engine.advance(20)
    it is 16
    []
    """
    installed, key = of_clause("notify_at")
    if isinstance(time, bool) or not isinstance(time, int):
        message = f"notify_at: expected a time, an int of time units, but got {time!r} (type={type(time).__name__})"
        raise InvalidArgument(message)
    installed.notify_at(time, key)


def notify_at_time(time: Time) -> None:
    """Ask for a `tick` as `notify_at` does, if ``time`` is one that comes. Only in a clause of a restriction."""
    if math.isfinite(time):
        notify_at(int(time))


def cancel_at(time: Time) -> None:
    """Take back a `notify_at` of this copy: no tick at ``time`` is wanted any more. Only in a restriction's clause."""
    installed, key = of_clause("cancel_at")
    installed.cancel_at(time, key)


def is_awaited(time: Time) -> bool:
    """Whether this copy waits for a `tick` at ``time`` that is still to come. Only in a clause of a restriction."""
    installed, key = of_clause("is_awaited")
    return time in installed.due.get(key, ())


def due_at(slot: Slot, time: int) -> list[Entry]:
    """Return what is stored in ``slot`` under the copy's key that nothing can match once the clock is past ``time``.

    Only in a clause of a restriction that says, by `due`, when that is.
    """
    installed, key = of_clause("due_at", slot)
    found: list[Entry] = installed.due_at(slot, time, key)
    return found


def is_past(time: Time) -> bool:
    """Whether the clock is past ``time``, and what was due then is done. Only in a clause of a restriction."""
    installed, _ = of_clause("is_past")
    return bool(installed.join.world.is_past(time))


def has_passed(time: Time, *slots: Slot) -> bool:
    """Whether what this copy waits for can come no more: the floors of these slots, or all, are past ``time``.

    Only in a clause of a restriction that says, by ``floors_of``, which slots matter. Without gates it is the clock.
    """
    installed, key = of_clause("has_passed")
    return bool(installed.join.floors.let_decide(installed, time, key, slots))


def may_close(time: Time) -> bool:
    """Whether no gate that windows have in common holds an event of a window that is closed, or freed, at ``time``.

    Only in a clause of a restriction that opens windows.
    """
    installed, key = of_clause("may_close")
    return bool(installed.join.floors.let_close(installed, time, key))


def clock() -> Time:
    """Return the engine's clock; before all times while events that windows have held back are still to come.

    Only in a clause of a restriction. For what opens windows itself it is the engine's.
    """
    installed, _ = of_clause("clock")
    time: Time = installed.join.world.clock if installed.opens_windows else installed.join.batch.now
    return time


def ask_tick() -> None:
    """Ask for a `tick` of this copy right after the present step. Only in a clause of a restriction."""
    installed, key = of_clause("ask_tick")
    installed.join.world.deadlines.ask(installed, key)
