"""What a recording engine notes of each call: which one it was, what it ran on, and who let which events leave.

Invariant: what is noted of a call is complete when the call is done; a call that fails is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import attrs

from cartesius.data.event_tables import label_of
from cartesius.data.events import Delete, Update
from cartesius.effects.resumptions import running
from cartesius.errors import as_text, block

if TYPE_CHECKING:
    from collections.abc import Generator

    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Time
    from cartesius.language.families import Family, Slot
    from cartesius.storage.conservation import Fate

_PASSED_ON = frozenset({"displace", "retract", "withdraw"})
"""The families whose clauses hear that an event leaves, and let none leave by themselves."""
_GONE = {"DISPLACED": "displaced", "EXPIRED": "expired", "USED_UP": "used up", "WITHDRAWN": "taken back by its source"}


@attrs.frozen
class Call:
    """A call that changed the state.

    Args:
        kind: Which one.
        event: What was pushed.
        time: To what the clock was advanced, in time units.
        ended: The name of the input that ended.
    """

    kind: Literal["push", "advance", "end", "close"]
    event: Event | None = None
    time: Time | None = None
    ended: str = ""


class Told(NamedTuple):
    """How an event is shown: its reactive, its value, in a few words and in full, and its time, in time units."""

    name: str
    value: Any
    label: str
    text: str
    start: Any
    end: Any
    is_change: bool

    @classmethod
    def of(cls, name: str, value: Any, start: Any, end: Any) -> Told:
        """Return how an event with that value and time is shown."""
        return cls(name, value, label_of(value), as_text(value), start, end, isinstance(value, Update | Delete))

    @property
    def what(self) -> tuple[Any, ...]:
        """What tells events of one identity apart."""
        return self.name, self.text, self.start, self.end


class Departures:
    """Who lets events leave memory."""

    def __init__(self) -> None:
        self.touched: list[tuple[Any, tuple[Any, ...]]] = []  # which copies of which restrictions the last call ran on
        self.gone: list[tuple[Slot, Entry]] = []  # what left the memory of which slot in the last call
        self._letting: dict[int, str] = {}  # by the number of an entry: who has said that it shall leave

    @block
    def acting(self, handler: str, family: Family) -> Generator[None]:
        """Note whose clause runs meanwhile, which may let events leave; not so if it hears that one leaves.

        It is noted of the strand: others may run before the clause ends.
        """
        here = running().__dict__
        before = here.get("acting", "")
        if family.name not in _PASSED_ON:
            here["acting"] = handler
        try:
            yield
        finally:
            here["acting"] = before

    def lets(self, entry: Entry, handler: str) -> None:
        """Note who says that an entry in memory shall leave."""
        self._letting[entry.number] = handler

    def note(self, entry: Entry, slot: Slot, fate: Fate) -> str:
        """Note that an entry has left a memory; say why."""
        self.gone.append((slot, entry))
        by = self._letting.pop(entry.number, "") or (
            running().__dict__.get("acting", "") if fate.name == "DISPLACED" else ""
        )
        return f"{slot.name}: {_GONE[fate.name]}{f' by {by}' if by else ''}"
