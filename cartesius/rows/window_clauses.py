"""What a clause of a restriction that opens windows may do: deliver events to them, report, and close them.

Source: SEMANTICS 3.1, 3.2, 3.4 and 3.10; Dindar et al., VLDB Journal 2013 (SECRET).
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.data.entries import GONE
from cartesius.data.window_spans import inside, outside, window_of
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import of_clause, slot_of
from cartesius.language.families import arrive, displace, enter, push, tick
from cartesius.plan import facts
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cartesius.data.entries import Entry
    from cartesius.data.events import Window
    from cartesius.language.families import Slot

MOST_ROUNDS = 1_000
"""How often restrictions inside a window may ask for a deadline when it is freed."""


def deliver(event: Entry, window: Window) -> None:
    """Let an event, or what takes it back, come into a window. Only in a clause of a restriction that opens windows.

    >>> from cartesius.language.families import enter
    >>> enter.__doc__.splitlines()[2].strip()
    'A clause delivers it to windows, by `window_clauses.deliver`, in a class whose plan is a `Deliver`.'
    """
    installed, _ = of_clause("deliver")
    enter(slot_of(event), inside(event, installed.join.bindings.window_space, window))


def catch_up() -> None:
    """Say that what a window has held back comes now, in batches: until this step is over, the clock decides nothing.

    Only in a clause of a restriction that opens windows.
    """
    installed, _ = of_clause("catch_up")
    installed.join.batch.is_behind = True


def next_batch() -> None:
    """End the present batch: what is delivered from now on is another one. Only in a clause for `tick`."""
    installed, _ = of_clause("next_batch")
    installed.join.commit()


def report(window: Window, *, unless_empty: bool = False) -> None:
    """Say that what is in a window is visible now: where results are relations, it is evaluated after this step.

    Args:
        window: The window, of this copy's key.
        unless_empty: Whether not to, if nothing is in it by then.
    """
    installed, key = of_clause("report")
    windows = installed.join.batch.windows

    def is_empty() -> bool:
        space = installed.join.bindings.window_space
        slots = [slot for slot in installed.join.slots if slot.has_windows]
        return not any(_there(slot, (*installed.prefixes[slot.index], space), (*key, window)) for slot in slots)

    windows.report((*key, window), is_empty if unless_empty else None)


def let_finish(window: Window) -> None:
    """Let restrictions inside a window do what they wait for: nothing comes after its end, as if it were that of time.

    Only in a clause for `tick`, before `close_window`.
    """
    installed, key = of_clause("let_finish")
    join = installed.join
    misses = join.batch.partial is not None
    others = [one for one in join.installed if one is not installed and (misses or not facts.settles(one))]
    deadlines = join.world.deadlines
    due: deque[Any] = deque()
    newest, known, rounds = -1, deadlines.number, 0
    while rounds < MOST_ROUNDS:
        join.commit()  # what has come last may wait, too
        if deadlines.number > newest:  # somebody has asked: what is due first may be another
            newest = deadlines.number
            copies = [(one, copy) for one in others for copy in one.keys_in((*key, window))]
            due = deque(deadlines.asked_by(copies))
        if not due:
            return
        time, _, _, one, copy = item = due.popleft()
        if deadlines.is_later(item, known):
            known, rounds = newest, rounds + 1
        if deadlines.take(item):
            one.ticking(copy, time + 1)
    message = (
        f"{installed.restriction!r}: expected restrictions inside that come to an end with their window but they have"
        f" asked for the next deadline {MOST_ROUNDS} times; ask only when an event comes"
    )
    raise InvalidArgument(message)


def close_window(window: Window, *, displaces: bool = False) -> None:
    """Let go of what is in a window, after this batch, and of the copies of restrictions in it.

    Args:
        window: The window, of this copy's key.
        displaces: Whether its events are displaced, so that their results may be taken back; otherwise they expire.
    """
    installed, key = of_clause("close_window")
    join = installed.join
    space = join.bindings.window_space
    for slot in join.slots:
        if slot.has_windows:
            dropped = slot.door.close(space, window, installed.prefixes[slot.index], key)
            slot.ledger.count(Fate.EXPIRED, dropped)
            for entry in _there(slot, (*installed.prefixes[slot.index], space), (*key, window)):
                if displaces:
                    displace(slot, entry)
                else:
                    join.batch.expire(slot, entry)
    windows = join.batch.windows
    is_shared = windows is not None and windows.are_rows_shared
    join.close((*key, window), _heir(installed, key, window) if is_shared else None, displaces=displaces)


def _heir(installed: Any, key: tuple[Any, ...], window: Window) -> tuple[Any, ...] | None:
    """Return other keys under which a window is let go of after this, and it; None: there are none."""
    deadlines = installed.join.world.deadlines
    others: Iterable[tuple[Any, ...]] = reversed(installed.copies)
    if deadlines.present is not None and not installed.floor_slots:  # then it is due there at this time as well
        others = (one for _, _, _, who, one in deadlines.due_by(deadlines.present) if who is installed)
    copies = installed.copies
    return next(
        ((*one, window) for one in others if one != key and one in copies and window in copies[one].contents), None
    )


def of_window(slot: Slot, entry: Entry) -> list[Entry]:
    """Return what is stored in ``slot`` in the window of ``entry``, newest first. Only in a clause of a restriction."""
    installed, _ = of_clause("of_window")
    space = installed.join.bindings.window_space
    positions = tuple([p for p in installed.prefixes[slot.index] if p != space])
    key = tuple([entry.keys[p] for p in positions])
    return list(reversed(_there(slot, (*positions, space), (*key, window_of(entry)))))


def _there(slot: Slot, positions: tuple[int, ...], key: tuple[Any, ...]) -> Sequence[Entry]:
    return [entry for entry in slot.memory.keyed(positions, key) if entry.state != GONE]


def in_units(period: Any) -> int:
    """Return a period in time units. Only in a clause of a restriction."""
    installed, _ = of_clause("in_units")
    return int(installed.join.world.units(period, installed.restriction, "period"))


def note_step(event: Entry) -> None:
    """Note the present step of an event, until the call is undone: what comes in one step is one batch.

    Only in a clause of a restriction.
    """
    installed, _ = of_clause("note_step")
    world = installed.join.world
    world.journal.append(partial(setattr, event, "more", event.more))
    event.note(step=world.steps)


def may_others_wait() -> bool:
    """Whether other restrictions may wait for what is due now. Only in a clause of a restriction."""
    installed, _ = of_clause("may_others_wait")
    return any(
        family is tick
        for other in installed.join.installed
        if other is not installed
        for _, family, _, _ in other.marks
    )


def delivered_to(window: Window) -> list[Entry]:
    """Return what is stored in a window as it came, without it, by arrival. Only in a clause of a restriction."""
    installed, key = of_clause("delivered_to")
    join = installed.join
    space = join.bindings.window_space
    found = [
        entry
        for slot in join.slots
        if slot.has_windows
        for entry in _there(slot, (*installed.prefixes[slot.index], space), (*key, window))
    ]
    return [outside(entry, space) for entry in sorted(found, key=lambda entry: entry.number)]


def may_drop() -> bool:
    """Whether other restrictions may drop or change what is delivered. Only in a clause of a restriction."""
    installed, _ = of_clause("may_drop")
    others = (one for one in installed.join.installed if one is not installed)
    return any(family in (arrive, push) for other in others for _, family, _, _ in other.marks)
