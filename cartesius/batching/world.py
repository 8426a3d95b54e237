"""What the correlations of one engine share: the clock, arrival numbers, and the journal of a push.

The journal makes a push atomic: whoever changes the state adds how to undo it; if a body fails, the undos run
backwards.

Source: SEMANTICS 1.12 and 3.10.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.batching.deadlines import Deadlines
from cartesius.data.calendars import Calendar
from cartesius.data.events import EARLIEST
from cartesius.data.journals import Journal
from cartesius.errors import InvalidArgument
from cartesius.results.provenance import Provenance

if TYPE_CHECKING:
    from cartesius.data.events import Time
    from cartesius.language.reactives import Reactive

OF_NONE: Final = -1
"""Stands for the number of a correlation where an event is too late for the engine, before any is at work."""


@attrs.frozen
class Failure:
    """Where something raised.

    >>> Failure("moored", "yields (1 / depth)", ("moored",), None).deadline is None
    True
    """

    correlation: str
    """The name of the correlation that was at work."""
    pattern: str
    """Its body, as text."""
    outputs: tuple[str, ...]
    """The outputs that are made from it."""
    deadline: int | None
    """The time of the deadline that was due; None: an event was at work, or the end of an input."""


class World:
    """The state that an engine's correlations share."""

    def __init__(
        self,
        unit: timedelta,
        *,
        durable: bool = False,
        trace: bool = False,
        is_reference: bool = False,
        is_lenient: bool = False,
        is_trial: bool = False,
    ) -> None:
        self.is_trial = is_trial  # whether nothing runs in it: what a unit is, is not known yet
        self.durable = durable
        self.is_lenient = is_lenient  # whether a rule that raises is undecided
        self.is_reference = is_reference  # whether every clause runs on coroutines, needed or not
        self.unit = unit
        self.calendar = Calendar(unit)
        self.clock: Time = EARLIEST
        self.events = 0  # how many have been pushed
        self.latest: Time = EARLIEST  # the latest end of those
        self.ended: frozenset[Reactive] = frozenset()
        self.number = 0
        self.steps = 0
        self.candidates = 0
        self.fates: list[int] = []  # what has become of the deliveries, of all slots: see `conservation`
        self.journal = Journal()
        self.touched: dict[tuple[Any, tuple[Any, ...]], Any] = {}
        self.deadlines: Deadlines[Any] = Deadlines(self.journal)
        self.late: list[tuple[Any, str, str]] = []
        self.late_by: list[int] | None = None  # the numbers of the correlations of these, while somebody notes them
        self.failure: Failure | None = None  # where the last call that failed raised
        self.provenance = Provenance(self.journal, self.calendar) if trace else None

    def next_number(self) -> int:
        """Return the next arrival number."""
        self.number += 1
        return self.number

    def set_aside(self, item: tuple[Any, str, str], number: int) -> None:
        """Put an event beside the late ones, with slot and reason, in the correlation of a number."""
        self.late.append(item)
        if self.late_by is not None:
            self.late_by.append(number)

    def is_past(self, time: Time) -> bool:
        """Whether all deadlines at ``time`` have been met: those of one time are, one after the other."""
        present = self.deadlines.present
        return time < (self.clock if present is None else present)

    def units(self, duration: Any, call: object, argument: str) -> Any:
        """Return a duration in time units, or each of several, in the name of ``call`` where it is none."""
        if isinstance(duration, tuple):
            return tuple([self.units(one, call, argument) for one in duration])
        if isinstance(duration, timedelta):
            count, rest = divmod(duration, self.unit)
            if rest:
                message = (
                    f"{call}: expected {argument} in whole time units of {self.unit} but got {duration!r}; round it"
                )
                raise InvalidArgument(message)
            return count
        if isinstance(duration, int) and not isinstance(duration, bool):
            return duration
        message = (
            f"{call}: expected a duration, an int of time units or a timedelta, but got {argument}={duration!r}"
            f" (type={type(duration).__name__})"
        )
        raise InvalidArgument(message)

    def begin(self) -> tuple[Any, ...]:
        """Start a push: nothing to undo yet."""
        self.deadlines.settle()
        self.journal.clear()
        self.touched.clear()
        self.failure = None
        counts = self.number, self.steps, self.candidates, self.deadlines.number, self.events
        return *counts, self.clock, self.latest, self.ended, self.calendar.is_dated, len(self.late), self.fates.copy()

    def roll_back(self, before: tuple[Any, ...]) -> None:
        """Undo a push."""
        self.journal.roll_back()
        self.touched.clear()
        self.deadlines.soon.clear()
        self.deadlines.present = None
        self.number, self.steps, self.candidates, self.deadlines.number, self.events, *rest = before
        self.clock, self.latest, self.ended, self.calendar.is_dated, late, self.fates[:] = rest
        del self.late[late:]

    def finish(self) -> None:
        """End a push: what it did stands."""
        self.journal.clear()
        if self.provenance is not None:
            self.provenance.departures.touched = list(self.touched)
        if self.touched:
            for (installed, key), copy in self.touched.items():
                installed.forget(key, copy)
            self.touched.clear()
        self.deadlines.clean()
