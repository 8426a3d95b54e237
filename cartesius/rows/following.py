"""What follows what: of two events of one sequence, whether one precedes the other.

By time, or, of events that are points of one time, by the order in which they were used: that of their numbers. One
event of a reactive that several slots of a correlation are bound to has a number in each, so such events are told by
their *door* instead: the place at which they came in. A part that is several events precedes what all of them precede,
so it is asked for those that may be of one time with something else: the first that starts it, the last that ends it.

Invariant: no event precedes itself, and of two events at most one precedes the other.

Source: SEMANTICS 3.11; ties are ordered so by Flink, Esper and Siddhi.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.data.entries import Several
from cartesius.plan import facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.data.entries import Entry
    from cartesius.data.events import Event
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive

Place: TypeAlias = "tuple[Any, ...]"
"""Among events of one time: the number of an event, and its door, which is empty where its number says it all."""
NOWHERE: Place = ()
"""In the place of a place: something that is no point is of that time."""
FIRST, LAST = "first", "last"  # under which a run notes its places
OWN = -1  # in a place of a run: the number that the run is stored by


def precedes(one: Entry, other: Entry) -> bool:
    """Whether ``one`` comes before ``other``: it ends before that starts, or both are of one time and it came first.

    >>> from cartesius import Entry
    >>> from cartesius.rows.following import precedes
    >>> first, second, longer = Entry("a", 5, 5, ("in", 1)), Entry("b", 5, 5, ("in", 2)), Entry("c", 4, 5, ("in", 3))
    >>> first.number, second.number, longer.number = 1, 2, 3
    >>> precedes(first, second), precedes(second, first), precedes(first, longer)
    (True, False, False)
    """
    if one.end != other.start:
        return bool(one.end < other.start)
    earlier, later = place_of_last(one), place_of_first(other)
    return bool(earlier and later) and _is_earlier(earlier, later)


def _is_earlier(one: Place, other: Place) -> bool:
    if one[1] and other[1] and one[1][0] == other[1][0]:  # of one reactive
        return bool(one[1] < other[1])
    return bool(one[0] < other[0])


def place_of_first(entry: Entry) -> Place:
    """Return the place of the first of the events with which an entry starts, if all of them are points."""
    return _place(entry, FIRST, entry.start, min)


def place_of_last(entry: Entry) -> Place:
    """Return the place of the last of the events with which an entry ends, if all of them are points."""
    return _place(entry, LAST, entry.end, max)


def _place(entry: Entry, which: str, time: float, choose: Callable[[Sequence[Place]], Place]) -> Place:
    if type(entry) is Several:
        places = [_place(one, which, time, choose) for one in entry.entries if one.start <= time <= one.end]
        return choose(places) if all(places) else NOWHERE
    noted: Place | None = entry.noted(which)
    if noted is None:
        return _own(entry) if entry.start == entry.end else NOWHERE
    return (_number(entry), noted[1]) if noted and noted[0] == OWN else noted


def _own(entry: Entry) -> Place:
    return _number(entry), entry.noted("door", ())


def _number(entry: Entry) -> float:
    return entry.number if entry.number >= 0 else math.inf  # it is held still, and used later than all that is stored


def note_places(longer: Entry, run: Entry, event: Entry) -> None:
    """Note of a run by which of its events it is ordered; ``event`` has made it longer, and is the last to be used."""
    new = (OWN, event.noted("door", ())) if event.start == event.end else NOWHERE
    first, last = place_of_first(run), place_of_last(run)
    if event.start < run.start:
        first = new
    elif event.start == run.start:
        first = first if new else NOWHERE
    if event.end > run.end or (event.end == run.end and last):
        last = new
    longer.note(first=first, last=last)


def must_note_doors(pattern: Pattern, reactive: Reactive) -> bool:
    """Whether events of a reactive are told by their doors: several slots have them, and it matters what follows."""
    is_shared = list(pattern.slots.values()).count(reactive) > 1
    return is_shared and any(facts.in_order(one) or one._absent for one in pattern.restrictions)


def note_doors(
    batches: Mapping[int, list[Entry]], slots: Sequence[Slot], step: int, events: Mapping[Reactive, list[Event]]
) -> None:
    """Note where what comes in a step came in, for the slots that must know: as which of its reactive's events."""
    for index, entries in batches.items():
        if slots[index].notes_door:
            slot = slots[index]
            places = {event.identity: place for place, event in enumerate(events[slot.reactive])}
            for entry in entries:
                entry.note(door=(slot.source, step, places.get(entry.identity, 0)))
