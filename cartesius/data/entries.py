"""Entries: events inside a correlation.

Tables have many, so what one costs counts: it has few fields, and what only some need is noted beside them (`more`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cartesius.data.events import Window
from cartesius.effects.resumptions import running
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cartesius.data.events import Time

LIVE: Final = 0
FRESH: Final = 1
GONE: Final = 2
UNLIMITED: Final = float("inf")
ABSENT: Final = ("absent",)

Candidate: TypeAlias = "list[Entry | None]"
"""A combination of entries, by slot; None where a part is missing."""


class Entry:
    """An event inside a correlation, as clauses receive it.

    >>> from cartesius import Entry
    >>> def urgency(event: Entry) -> int:
    ...     return (
    ...         event.value.priority
    ...     )  # also: .start, .end, .uses (how often it may still be used), .number (of arrival)
    """

    __slots__ = ("_identity", "end", "keys", "more", "number", "row_key", "slot", "start", "state", "value")

    def __init__(self, value: Any, start: Time, end: Time, identity: Any, *, weight: int = 1) -> None:
        self.value = value
        self.start = start
        self.end = end
        self._identity = identity  # of a row the name of its table: the key of the row completes it
        self.keys: tuple[Any, ...] = ()
        self.row_key: Any = ABSENT
        self.slot = ""  # the name of the slot that it came to
        self.number = -1  # arrival number in memory; -1 while held before it
        self.state = LIVE
        self.more: dict[str, Any] | None = {"weight": weight} if weight != 1 else None

    @property
    def identity(self) -> Any:
        """What tells it from all other events; of a row, its table and its key."""
        return (self._identity, self.row_key) if type(self._identity) is str else self._identity

    @property
    def event_identity(self) -> Any:
        """What tells the event that it is from others: versions of a row are one row."""
        return self.identity

    @property
    def uses(self) -> float:
        """How often it may still be used; unlimited, unless a restriction says otherwise."""
        return UNLIMITED if self.more is None else self.more.get("uses", UNLIMITED)

    @uses.setter
    def uses(self, uses: float) -> None:
        at_work = running().__dict__.get("copy")
        if at_work is not None:  # a clause of a restriction, whose push may still be undone
            at_work[0].join.world.journal.append(partial(setattr, self, "more", self.more))
        self.note(uses=uses)

    @property
    def weight(self) -> int:
        """1, or -1 for an event that takes an earlier one back."""
        return 1 if self.more is None else self.more.get("weight", 1)

    @property
    def deletes(self) -> bool:
        """Whether it says that there is no such row any more."""
        return self.more is not None and "deletes" in self.more

    @property
    def withdrawn(self) -> bool:
        """Whether its source took it back while a gate held it: it does not reach memory any more."""
        return self.more is not None and self.more.get("withdrawn", False)

    @property
    def cause(self) -> tuple[Time, Time]:
        """The time of what displaced it; its own, if nothing has."""
        return (self.start, self.end) if self.more is None else self.more.get("cause", (self.start, self.end))

    def note(self, **more: Any) -> None:
        """Note what only some entries have."""
        self.more = {**(self.more or {}), **more}

    def noted(self, name: str, default: Any = None) -> Any:
        """Return what was noted."""
        return default if self.more is None else self.more.get(name, default)

    def as_deletion(self) -> Entry:
        """Return the deletion of this row, at the same time: what it would have been may say which version holds."""
        entry = Entry(None, self.start, self.end, self._identity)
        entry.row_key, entry.keys, entry.slot = self.row_key, self.keys, self.slot
        entry.more = {**(self.more or {}), "deletes": True, "row": self.value}
        return entry

    def with_value(self, value: Any, start: Time | None = None, end: Time | None = None) -> Entry:
        """Return the same event with another value (and times): what a gate that transforms lets through."""
        start = self.start if start is None else start
        entry = Entry(value, start, self.end if end is None else end, self._identity)
        entry.keys, entry.row_key, entry.slot = self.keys, self.row_key, self.slot
        entry.more = None if self.more is None else dict(self.more)
        return entry

    def nth(self, place: int, value: Any, start: Time, end: Time) -> Entry:
        """Return one of several events that a gate makes of this one, told apart by their place."""
        entry = Entry(value, start, end, (self.identity, place))
        entry.keys, entry.slot = self.keys, self.slot
        if door := self.noted("door"):
            entry.note(door=(*door, place))
        return entry

    def as_row(self, key: Any, value: Any, *, deletes: bool = False, table: str | None = None) -> Entry:
        """Return the same event as a change of the row of ``key``, of ``table``, unless its source may take it back."""
        entry = Entry(value, self.start, self.end, self._identity if table is None else table)
        entry.keys, entry.row_key, entry.slot = self.keys, key, self.slot
        if deletes:
            entry.note(deletes=True)
        return entry

    def again(self) -> Entry:
        """Return another event that equals this one."""
        entry = Entry(self.value, self.start, self.end, ("again", self.identity, self.number), weight=self.weight)
        entry.keys, entry.row_key, entry.slot = self.keys, self.row_key, self.slot
        return entry

    def own_key(self) -> Any:
        """The key of the row, or else the first key given by a `key_by`; where there is none, the window."""
        if self.row_key is not ABSENT:
            return self.row_key
        keys = [key for key in self.keys if key is not ABSENT]
        return next((key for key in keys if type(key) is not Window), keys[0] if keys else None)

    def __repr__(self) -> str:
        """Show value and time."""
        return f"Entry({self.value!r} @ {self.start}..{self.end})"


class Several(Entry):
    """Several events of one slot, bound together as a list: a part of a candidate, never in memory itself."""

    __slots__ = ("entries",)

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__(
            [entry.value for entry in entries],
            min([entry.start for entry in entries]),
            max([entry.end for entry in entries]),
            tuple([entry.identity for entry in entries]),
        )
        self.entries = tuple(entries)  # in order of arrival
        self.number, self.state = entries[-1].number, max([entry.state for entry in entries])
        self.keys, self.row_key, self.slot = entries[0].keys, entries[0].row_key, entries[0].slot

    @property
    def uses(self) -> float:
        """How often all of them may still be used."""
        return min([entry.uses for entry in self.entries])

    @uses.setter
    def uses(self, uses: float) -> None:
        message = f"uses: expected the uses of one event, as each of a list has its own, but got {self!r}; see .entries"
        raise InvalidArgument(message)


def singly(part: Entry | None) -> tuple[Entry, ...]:
    """Return the events that a part of a candidate is: one, several, or none where it is missing."""
    if part is None:
        return ()
    return part.entries if isinstance(part, Several) else (part,)


def is_spent(parts: Iterable[Entry | None]) -> bool:
    """Whether a part of a candidate has no use left."""
    for part in parts:
        if part is None:
            continue
        if type(part) is Several:
            if is_spent(part.entries):
                return True
        elif part.more is not None and part.uses <= 0:
            return True
    return False
