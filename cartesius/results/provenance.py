"""Provenance: which events made a result, and which handlers saw an event. Recorded on request, for debugging.

An engine built with ``trace=True`` keeps one record of every event that it has seen, and each call, so that the calls
can be made again (`cartesius.show`): memory grows with the trace, and a snapshot does not hold it.

This module is over 300 lines because what is noted of an event, and how it is told, are one form.

Invariant: each note knows the call in which it was made; so what was known after an earlier call is known for good.

Source: Cheney, Chiticariu, Tan, Provenance in Databases, 2009 (why-provenance).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.data.entries import ABSENT, singly
from cartesius.data.event_tables import label_of
from cartesius.data.events import Delete, Event, Update
from cartesius.data.window_spans import REPORTED, origin
from cartesius.drawing.html_tables import HtmlText, drawing, panel
from cartesius.drawing.marble_diagrams import Lane, Marble, marble_svg
from cartesius.drawing.markup import element
from cartesius.errors import InvalidArgument, as_text
from cartesius.results.recorded_calls import Departures, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.data.calendars import Calendar
    from cartesius.data.entries import Entry
    from cartesius.data.journals import Journal
    from cartesius.language.families import Family, Slot
    from cartesius.results.recorded_calls import Call
    from cartesius.storage.conservation import Fate

Notes: TypeAlias = "dict[Any, int]"
"""What was noted, in order, and in which call."""


@attrs.define(slots=True)
class Made:
    """What is known of one event: how it is shown, its parts by slot, who saw it, why it left, what it is a part of."""

    told: Told
    parts: tuple[tuple[str, Any], ...] = ()
    seen: Notes = attrs.field(factory=dict)
    left: Notes = attrs.field(factory=dict)
    results: Notes = attrs.field(factory=dict)
    is_input: bool = False
    is_taken_back: bool = False


class Provenance:
    """The records of one engine, by identity, value and time: changes of one row share an identity, and so do results.

    Args:
        journal: Where it is noted how to undo a note.
        calendar: What times mean: they are noted in time units, and written as they came.
    """

    def __init__(self, journal: Journal, calendar: Calendar) -> None:
        self.journal = journal
        self.calendar = calendar
        self.records: dict[Any, Made] = {}
        self._first: dict[Any, Any] = {}  # of each identity, the key of its first record
        self._taken: dict[Any, Any] = {}  # of each input, and of each row of one, the key of what was taken in last
        self.calls: list[Call] = []
        self.departures = Departures()

    @property
    def events(self) -> list[Event]:
        """What was pushed, in order."""
        return [call.event for call in self.calls if call.event is not None]

    def called(self, call: Call) -> None:
        """Record a call."""
        self.journal.append(partial(self.calls.__delitem__, slice(len(self.calls), None)))
        self.departures.gone = []
        self.calls.append(call)
        if call.event is not None:
            key, told = _of_event(call.event)
            self._mark(self._record(key, told), is_input=True)
            self._set(self._taken, told.name, key)
            if told.is_change:
                self._set(self._taken, ("row", *key[0]), key)

    def saw(self, entry: Entry, slot: Slot, handler: str, family: Family) -> None:
        """Record that a handler saw an event."""
        record = self._record(*_of_entry(entry, slot))
        self._note(record.seen, f"{slot.name}: {family.name} {handler}")

    def stored(self, entry: Entry, slot: Slot) -> None:
        """Record that a row has come into a memory: what a gate has made of the event that is taken in."""
        if entry.row_key is not ABSENT:
            key, told = _of_entry(entry, slot)
            self._record(key, told)
            self._link(slot.name, key)

    def left(self, entry: Entry, slot: Slot, fate: Fate) -> None:
        """Record that an event has left a memory, and why."""
        self._note(self._record(*_of_entry(entry, slot)).left, self.departures.note(entry, slot, fate))

    def made(
        self, output: str, identity: Any, result: tuple[Any, ...], parts: Iterable[tuple[Slot, Entry | None]]
    ) -> None:
        """Record a result with its parts."""
        _, value, start, end = result
        told = Told.of(output, value, start, end)
        made = (identity, *told.what)
        record = self._record(made, told)
        made_of = [(slot.name, *_of_entry(one, slot)) for slot, part in parts for one in singly(part)]
        record.parts = tuple([(slot, key) for slot, key, _ in made_of])
        for slot, key, part in made_of:
            self._note(self._record(key, part).results, made)
            self._link(slot, key)

    def _link(self, slot: str, key: Any) -> None:
        """Record of what a run, or what a gate makes of an event, is made: its identity is of those of the events."""
        made, identity = self.records[key], key[0]
        if made.parts or made.is_input:
            return
        if made.told.is_change:  # of a row, its changes share one
            taken = self._taken.get(("row", *identity), self._taken.get(made.told.name))
            known = [taken] if taken is not None and taken[3:] == key[3:] else []
        else:
            members = [origin(one) for one in identity] if isinstance(identity, tuple) else []
            known = [self._first[one] for one in members if isinstance(one, tuple) and one in self._first]
            known = known or [self._first[identity]]
        self._mark(made, parts=tuple([(slot, one) for one in known if one != key]))
        for _, part in made.parts:
            self._note(self.records[part].results, key)

    def changed(self, event: Event, made: tuple[Any, tuple[Any, ...]] | None) -> None:
        """Record a change of a table, and the result (identity, and what it is) that its row is now, or None."""
        key, told = _of_event(event)
        record = self._record(key, told)
        if made is not None:
            identity, (_, value, start, end) = made
            shown = self.records.get((identity, *Told.of(event.reactive, value, start, end).what))
            if shown is None:
                return  # it was made before the snapshot from which this engine goes on
            # An equal one may have come at the same time, of others: nobody can tell the two apart.
            self._mark(record, parts=tuple(dict.fromkeys([*record.parts, *shown.parts])))
            for _, part in shown.parts:
                self._note(self.records[part].results, key)

    def given(self, events: Iterable[Event]) -> None:
        """Record events that come out, if they are not known by their parts: totals have too many."""
        for event in events:
            key, told = _of_event(event)
            record = self._record(key, told)
            self._mark(record, is_taken_back=event.weight < 0)
            kind, *_, result = event.identity if isinstance(event.identity, tuple) else ("", None)
            if kind == REPORTED and (reported := self.records.get((result, *told.what))):
                record.parts = reported.parts

    def _set(self, notes: dict[Any, Any], name: Any, value: Any) -> None:
        before = notes.get(name)
        self.journal.append(lambda: notes.pop(name) if before is None else notes.update({name: before}))
        notes[name] = value

    def _mark(self, record: Made, **marks: Any) -> None:
        for name, value in marks.items():
            self.journal.append(partial(setattr, record, name, getattr(record, name)))
            setattr(record, name, value)

    def _record(self, key: Any, told: Told) -> Made:
        record = self.records.get(key)
        if record is None:
            self.journal.append(lambda: self.records.pop(key, None))
            record = self.records[key] = Made(told)
            if key[0] not in self._first and not told.is_change:  # a row's identity may be an event's as well
                self.journal.append(lambda: self._first.pop(key[0], None))
                self._first[key[0]] = key
        return record

    def _note(self, notes: Notes, note: Any) -> None:
        if note not in notes:
            self.journal.append(lambda: notes.pop(note, None))
            notes[note] = len(self.calls)

    def why(self, event: object, whereabouts: Callable[[Event], list[str]]) -> HtmlText:
        """Return a short tree: what made the event, who saw it, where it is, and what it became. A notebook draws it.

        Args:
            event: The event.
            whereabouts: Says where it is now.
        """
        record, places = None, list[str]()
        if isinstance(event, Event):
            key, told = _of_event(event)
            if event.identity is None and not told.is_change:  # `push_many` tells no identities: the last that is so
                key = next((one for one in reversed(self.records) if one[1:] == told.what), key)
                event = attrs.evolve(event, identity=key[0])
            places = whereabouts(event)
            try:
                record = self.records.get(key)
            except TypeError:  # what cannot be hashed is no identity
                record = None
        if record is None:
            message = (
                f"why: expected an event that this engine emitted, or took in (engine.pushed), but got {event!r};"
                " it records events from when it was built, not from before a snapshot"
            )
            raise InvalidArgument(message)
        text = self.account(record, places, len(self.calls))
        lanes = self.lanes(self._ancestors([key, *record.results]))
        picture = partial(marble_svg, lanes, title=f"Why {self.text(record)}", time_text=self.calendar.text)
        return HtmlText(text, lambda: drawing(picture())._repr_html_() + panel(element("pre", text)))

    def account(self, record: Made, places: Iterable[str], until: int) -> str:
        """Return what was known of an event after the first ``until`` calls, as a short tree.

        Args:
            record: What is known of it.
            places: Where it was then.
            until: How many calls count.
        """
        lines = [self.text(record), *self._branches(record, until), *(f"  is {place}" for place in places)]
        became = [self.text(self.records[made]) for made in _known(record.results, until)]
        if not record.parts:
            if not record.is_input:
                lines.insert(1, "  of events that are not noted one by one, as those of a total")
            elif not became:
                became = ["nothing so far"]
        return "\n".join([*lines, *(f"  became: {text}" for text in became)])

    def _ancestors(self, keys: list[Any]) -> list[Any]:
        """Return some keys, and those of all that their events were made of, as they were recorded."""
        found = dict.fromkeys(keys)
        pending = list(found)
        while pending:
            parts = [part for _, part in self.records[pending.pop()].parts if part not in found]
            found |= dict.fromkeys(parts)
            pending += parts
        return [key for key in self.records if key in found]

    def lanes(self, keys: Iterable[Any] | None = None, names: Iterable[str] = ()) -> list[Lane]:
        """Return what is recorded as lanes of marbles: those of inputs first, then those of results.

        Args:
            keys: Of the records that are wanted; by default all. A table shows its changes, not the results behind
                them, and a run the events that it is made of.
            names: Of lanes that are there even if they are empty, first.
        """
        wanted = self.records if keys is None else {key: self.records[key] for key in keys}
        inputs = {event.reactive for event in self.events} | set(names)
        tables = {one.told.name for one in self.records.values() if one.told.is_change}
        on_lanes: dict[str, list[Any]] = {name: [] for name in names}
        for key, one in wanted.items():
            name = one.told.name
            if one.is_input or (name not in inputs and (one.told.is_change or name not in tables)):
                on_lanes.setdefault(name, []).append(key)
        places = {key: (name, place) for name, found in on_lanes.items() for place, key in enumerate(found)}

        def parts(key: Any) -> list[tuple[str, int]]:
            below = [part for _, part in self.records[key].parts]
            return [one for part in below for one in ([places[part]] if part in places else parts(part))]

        def marble(key: Any) -> Marble:
            one = self.records[key]
            told, calendar = one.told, self.calendar
            label = label_of(calendar.shown_value(told.value)) if calendar.is_dated else told.label
            return Marble(
                label, told.start, told.end, tuple(dict.fromkeys(parts(key))), is_taken_back=one.is_taken_back
            )

        ordered = sorted(on_lanes, key=lambda name: name not in inputs)
        return [Lane(name, list(map(marble, on_lanes[name])), is_result=name not in inputs) for name in ordered]

    def _branches(self, record: Made, until: int, indent: str = "  ") -> list[str]:
        lines = [f"{indent}seen by {note}" for note in _known(record.seen, until)]
        lines += [f"{indent}left {note}" for note in _known(record.left, until)]
        for slot, identity in record.parts:
            part = self.records[identity]
            lines.append(f"{indent}{slot} = {self.text(part)}")
            lines += self._branches(part, until, indent + "  ")
        return lines

    def text(self, record: Made) -> str:
        """Return an event in a line: its reactive, its value, and its time as it came."""
        told = record.told
        value = as_text(self.calendar.shown_value(told.value)) if self.calendar.is_dated else told.text
        return f"{told.name} {value} @ {self.calendar.text(told.start, told.end)}"

    def key_of(self, event: Event) -> Any:
        """Return the key of an event's record."""
        return _of_event(event)[0]

    def is_shown(self, event: Event, entry: Entry, slot: Slot) -> bool:
        """Whether an event inside a correlation is that event; of a row, that change of it, or what it was made of."""
        if entry.row_key is ABSENT:
            return bool(origin(entry.identity) == event.identity)
        mine, its = _of_entry(entry, slot)[0], _of_event(event)[0]
        return bool(mine == its or (mine in self.records and any(its == part for _, part in self.records[mine].parts)))

    def entry_key(self, entry: Entry, slot: Slot) -> Any:
        """Return the key of the record of an event inside a correlation, made if need be."""
        key, told = _of_entry(entry, slot)
        self._record(key, told)
        return key


def _known(notes: Notes, until: int) -> list[Any]:
    return [note for note, call in notes.items() if call <= until]


def _of_event(event: Event) -> tuple[Any, Told]:
    """Return the key of an event's record, and how it is shown."""
    told = Told.of(event.reactive, event.value, event.start, event.end)
    if isinstance(event.value, Update | Delete):
        return ((event.reactive, event.value.key), *told.what), told
    return (event.identity, *told.what), told


def _of_entry(entry: Entry, slot: Slot) -> tuple[Any, Told]:
    """Return the key of the record of an event inside a correlation, and how it is shown."""
    value = entry.value
    if entry.row_key is not ABSENT:
        value = Delete(entry.row_key) if entry.deletes else Update(entry.row_key, value)
    told = Told.of(slot.source, value, entry.start, entry.end)
    return (origin(entry.event_identity), *told.what), told
