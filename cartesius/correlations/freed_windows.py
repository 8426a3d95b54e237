"""Rows that windows made, beyond the correlation that has the windows: they leave with them.

A row of a table that is totalled in windows names its window in its key. Once the window is freed, the row changes no
more. So where all that it can still meet is of the same window, which links show, it leaves when the last of them is
freed: as expiry does, and after all that is due at that time, so that what is final still meets. What it may meet in
no window stays, unless somebody says for how long (`retaining`).

Invariant: of a window that is freed for all slots that meet in it no row is in memory after that time.

Source: SEMANTICS 3.2, 2.8 and 1.14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.data.events import LATEST, Window
from cartesius.data.window_spans import WindowRows
from cartesius.effects.handlers import handles
from cartesius.effects.operations import forward
from cartesius.errors import InvalidArgument
from cartesius.language.clauses import of_clause
from cartesius.language.families import Duration, Durations, Slots, push, tick
from cartesius.language.restriction_base import Restriction
from cartesius.plan import facts
from cartesius.plan.nodes import Freed, Retain
from cartesius.results.relations import Relations
from cartesius.rows.clock_clauses import due_at, notify_at_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.correlations.installations import Installed
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.data.journals import Journal
    from cartesius.language.families import Slot
    from cartesius.plan.nodes import Node
    from cartesius.results.outputs import Rows
    from cartesius.results.totals import Totals


class leaving(Restriction):
    """Let the rows of freed windows leave: what a correlation of tables that are totalled in windows adds to itself.

    Args:
        *slots: Slots of such tables whose rows meet rows of the same window alone, or are kept no longer.
        places: Where in the keys of each slot the window is.
        lateness: How long after their end windows are known.
        of_sessions: Likewise, of sessions.

    State: none. Relies on no order. Commutes with all that does not look at memory.

    Law:
        What is given is what is given without it, as long as no row changes whose window is freed.
    """

    slots: Slots
    places: tuple[int | None, ...]
    lateness: Durations
    of_sessions: Durations

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Freed(self.slots),)

    def due(self, slot: Slot, entry: Entry) -> Time:
        """Return the last time before its window is freed for all slots."""
        place = self.places[self.slots.index(slot)]
        window: Window = entry.row_key if place is None else entry.row_key[place]
        end: Time = window.end
        return end + max([*self.lateness, *(after + 1 for after in self.of_sessions)]) - 1

    @handles(push, "slots")
    def note(self, slot: Slot, entry: Entry) -> None:
        """Ask for the time when it leaves."""
        notify_at_time(self.due(slot, entry))
        forward(slot, entry)

    @handles(tick)
    def let_go(self, now: int) -> None:
        """Let the rows of the windows go that are freed now, and what came of them."""
        installed, _ = of_clause("leaving")
        for slot in self.slots:
            for entry in due_at(slot, now - 1):
                installed.expire(slot, entry)
        if installed.join.batch.freed is not None:
            installed.join.batch.freed.forget(now - 1)

    def may_give(self, *, is_shown: bool, is_awaited: bool) -> bool:
        """Nothing: it forgets."""
        return False

    def __repr__(self) -> str:
        """Show how long after its end a window is known."""
        of_sessions = f", of_sessions={list(self.of_sessions)}" if self.of_sessions else ""
        lateness = f", lateness={list(self.lateness)}" if self.lateness else ""
        return f"leaving({', '.join(map(str, self.configuration['slots']))}{lateness}{of_sessions})"


class retaining(Restriction):
    """Keep closed windows for some time: their totals, and their rows where those meet what is in no window.

    Args:
        retention: How long after it is closed a window is known: time units or a `timedelta`, ≥ 0. If windows are
            freed later than that, they are known until then.

    State: none. Relies on no order. Commutes with everything.

    Raises:
        InvalidArgument: A negative duration; when a correlation is built: no windows.

    Law:
        It changes no result.
    """

    retention: Duration

    def validate(self) -> None:
        """Check the duration."""
        if self.retention < self.retention * 0:
            message = f"retention: expected a duration ≥ 0 but got retention={self.retention!r}"
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse it where there are no windows that could be closed."""
        if not any(facts.opens_windows(other) or facts.forgets(other) for other in others):
            message = (
                f"retention: expected a table of windows, such as aggregate gives, but got none beside"
                f" retention={self.retention!r}; leave it out"
            )
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Retain(self.retention),)

    @handles(tick)
    def release(self, now: int) -> None:
        """Forget the totals of the windows that are kept no longer."""
        installed, _ = of_clause("retaining")
        installed.join.batch.windows.release(now - self.retention)

    def may_give(self, *, is_shown: bool, is_awaited: bool) -> bool:
        """Nothing: it forgets."""
        return False


def keep_closed(installed: Installed, closed_at: Time) -> bool:
    """Whether the totals of a window stay, as `retaining` says; then it is asked to forget them in time."""
    time = closed_at + installed.stateless.retention - 1
    if time == LATEST or installed.join.world.is_past(time):
        return False
    installed.notify_at(int(time), ())
    return True


def may_give(installed: Installed) -> bool:
    """Whether a tick that a restriction has asked for may give anything, if no event comes any more."""
    batch = installed.join.batch
    is_relation = isinstance(batch.output, Relations)
    is_shown, is_awaited = batch.is_pure or is_relation, batch.partial is not None or is_relation
    wanted = [key for key, times in installed.due.items() if any(installed.still_awaits(time, key) for time in times)]
    copies = (installed.copies.get(key, installed.stateless) for key in wanted)
    return any(copy.may_give(is_shown=is_shown, is_awaited=is_awaited) for copy in copies)


class FreedResults:
    """The results that leave with their parts: by the time when those do."""

    def __init__(self, output: Rows | Totals, keepers: list[Installed], journal: Journal) -> None:
        self.output = output
        self.keepers = keepers
        self.rows = WindowRows(journal)

    def note(self, parts: Candidate, key: Any, identity: Any) -> None:
        """Note a result."""
        times = [
            keeper.stateless.due(slot, entry)
            for keeper in self.keepers
            for slot in keeper.named
            if (entry := parts[slot.index]) is not None
        ]
        if times and min(times) < LATEST:
            self.rows.note((min(times),), (key, identity))

    def forget(self, time: Time) -> None:
        """Forget the results whose parts leave."""
        for key, identity in self.rows.pop((time,)):
            self.output.let_go(key, identity)
