"""Provenance: which events made a result, and which handlers saw an event. Recorded on request, for debugging.

An engine built with ``trace=True`` keeps one record of every event that it has seen: memory grows with the trace, and a
snapshot does not hold it.

Source: Cheney, Chiticariu, Tan, Provenance in Databases, 2009 (why-provenance).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius.errors import InvalidArgument
from cartesius.events import Delete, Event, Update

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.families import Family, Slot
    from cartesius.join_shape import Join
    from cartesius.memories import Entry


@attrs.define(slots=True)
class Made:
    """What is known of one event: how it is shown, its parts by slot, who saw it, and what it is a part of."""

    text: str
    parts: tuple[tuple[str, Any], ...] = ()
    seen: list[str] = attrs.field(factory=list)
    results: list[Any] = attrs.field(factory=list)


class Provenance:
    """The records of one engine."""

    def __init__(self, journal: list[Callable[[], None]]) -> None:
        self.journal = journal
        self.records: dict[Any, Made] = {}
        self.events: list[Event] = []  # as pushed, in order

    def pushed(self, event: Event) -> None:
        """Record an event that was pushed."""
        self.events.append(event)
        self.journal.append(lambda: self.events.remove(event))
        self._record(_identity(event), _shown(event.reactive, event.value, event.start, event.end))

    def saw(self, entry: Entry, slot: Slot, handler: str, family: Family) -> None:
        """Record that a handler saw an event."""
        record = self._record(entry.identity, _shown(slot.reactive.name, entry.value, entry.start, entry.end))
        self._note(record.seen, f"{slot.name}: {family.name} {handler}")

    def made(self, output: str, identity: Any, result: tuple[Any, ...], parts: Sequence[tuple[str, Entry]]) -> None:
        """Record a result with its parts by slot."""
        _, value, start, end = result
        record = self._record(identity, "")
        before = (record.text, record.parts)
        self.journal.append(lambda: _reset(record, *before))
        record.text = _shown(output, value, start, end)
        record.parts = tuple([(slot, part.identity) for slot, part in parts])
        for slot, part in parts:
            origin = self._record(part.identity, _shown(slot, part.value, part.start, part.end))
            self._note(origin.results, identity)

    def _record(self, identity: Any, text: str) -> Made:
        record = self.records.get(identity)
        if record is None:
            record = self.records[identity] = Made(text)
            self.journal.append(lambda: self.records.__delitem__(identity))
        return record

    def _note(self, notes: list[Any], note: Any) -> None:
        if note not in notes:
            notes.append(note)
            self.journal.append(lambda: notes.remove(note))

    def why(self, event: object, whereabouts: Callable[[Any], list[str]]) -> str:
        """Return a short tree: what made the event, who saw it, where it is, and what it became.

        Args:
            event: The event.
            whereabouts: Says, for an identity, where the event is now.
        """
        identity = _identity(event) if isinstance(event, Event) else None
        record = self.records.get(identity)
        if record is None:
            message = (
                f"why: expected an event that this engine emitted, or took in (engine.pushed), but got {event!r};"
                " it records events from when it was built, not from before a snapshot"
            )
            raise InvalidArgument(message)
        lines = [record.text, *self._branches(record), *(f"  is {place}" for place in whereabouts(identity))]
        became = [self.records[made].text for made in record.results]
        if not became and not record.parts:
            became = ["nothing so far"]
        return "\n".join([*lines, *(f"  became {text}" for text in became)])

    def _branches(self, record: Made, indent: str = "  ") -> list[str]:
        lines = [f"{indent}seen by {note}" for note in record.seen]
        for slot, identity in record.parts:
            part = self.records[identity]
            lines.append(f"{indent}{slot} = {part.text}")
            lines += self._branches(part, indent + "  ")
        return lines


def whereabouts(join: Join, identity: Any) -> list[str]:
    """Say where the event of that identity is now in a correlation: at a door, held by a gate, or in memory."""
    found = []
    for slot in join.slots:
        if any(entry.identity == identity for entry in slot.door.queue):
            found.append(f"waiting at the door of {slot.name}")
        if any(entry.identity == identity for entry in slot.memory):
            found.append(f"in the memory of {slot.name}")
    for one in join.installed:
        if any(entry.identity == identity and entry.number < 0 for entry in one.held()):
            found.append(f"held by {one.restriction!r}")
    return found


def _identity(event: Event) -> Any:
    """Return the identity under which correlations know an event: a row's is its key (SEMANTICS 1.9)."""
    return (event.reactive, event.value.key) if isinstance(event.value, Update | Delete) else event.identity


def _reset(record: Made, text: str, parts: tuple[tuple[str, Any], ...]) -> None:
    record.text, record.parts = text, parts


def _shown(name: str, value: object, start: Any, end: Any) -> str:
    return f"{name} {value!r} @ {start}" + (f"..{end}" if start != end else "")
