"""Tracking: running a bounded sequence by the transducer that it is, instead of asking the memory what is next.

An engine keeps the events that a match may need, and asks them. Where a bounded number of matches can have begun
(`track_shapes`), they can be kept instead: then memory and work for an event have bounds that are numbers. What
is given up for that is everything but plain results of events that come in order.

Invariant: what it gives is what an `Engine` gives for the same pushes.

Source: SOURCES E6.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, final

from cartesius.automata.extended_values import UNDEFINED
from cartesius.batching.world import World
from cartesius.correlations.join_shape import Join
from cartesius.data.entries import Entry
from cartesius.data.events import EARLIEST, Event
from cartesius.errors import InvalidArgument
from cartesius.language.reactives import check_reactive
from cartesius.programs.doors import checked_times, checked_value
from cartesius.tracking.track_machines import MATCH, machine_of
from cartesius.tracking.track_shapes import track_shape_of

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cartesius.automata.machines import Transducer
    from cartesius.automata.transducing import Running
    from cartesius.data.events import Time
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.programs.doors import At


@final
class Tracker:
    """Runs one bounded sequence by a data transducer: `in_sequence`, `one_or_more`, under what bounds them.

    >>> from cartesius import Reactive, correlate
    >>> from cartesius.transducers import Tracker
    >>> from restrictions import in_sequence
    >>> up, down = Reactive("up"), Reactive("down")
    >>> peaks = correlate(
    ...     up=up, down=down, yields=lambda up, down: up - down, restrict=in_sequence("up", "down", contiguity="strict")
    ... )
    >>> tracker = Tracker(peaks)
    >>> for reactive, value in [(up, 1), (up, 5), (down, 2), (down, 0)]:
    ...     for event in tracker.push(reactive, value):
    ...         print(event.start, event.end, event.value)
    2 3 3
    >>> tracker.transducer.states, tracker.transducer.steps("down")
    (('up', 'match', 'latest end'), Steps(total=2, levels=1, parallel=2))

    Args:
        correlation: What `correlate` returned. Its slots are inputs; besides a sequence of all of them it may have one
            `key_by` to the left of all, `within`, `only`, `most_recently` of one event, and `momentarily`.
        unit: What one unit of time means, as for `Engine`: times are ints, or datetimes.

    State: the registers of ``transducer``, for each key that has come.

    Raises:
        InvalidArgument: No correlation, or one that is not bounded; the message says why. From `push`: a reactive that
            is none of its inputs, or an event that starts before another one of its key has ended.

    Law:
        It gives what ``Engine(correlation, tier="reference")`` gives; tested in ``tests/oracle/test_tracking.py``.

    Source:
        SOURCES E6.
    """

    def __init__(self, correlation: Reactive, *, unit: timedelta = timedelta(microseconds=1)) -> None:
        pattern = check_reactive(correlation, "Tracker", "correlation").pattern
        if pattern is None:
            message = f"Tracker: expected what correlate returns but got {correlation!r}, an input"
            raise InvalidArgument(message)
        world = World(unit)
        self._join = Join(pattern, correlation.name, 0, world)
        self._calendar = world.calendar
        self._join.drop()
        shape = track_shape_of(self._join)
        if isinstance(shape, str):
            message = (
                "Tracker: expected a sequence of which a bounded number of matches can have begun but in"
                f" {correlation.name} {shape}; an Engine runs it as it is"
            )
            raise InvalidArgument(message)
        self._shape = shape
        self._places = {slot: place for place, slot in enumerate(shape.slots)}
        self.transducer: Transducer = machine_of(self._join, shape)
        self._runs: dict[Hashable, Running] = {}
        self._latest: Time = EARLIEST
        self._number = 0

    def __repr__(self) -> str:
        """Show the correlation, and how many keys have come."""
        return f"<tracker of {self._join.name}; {self.keys} {'key' if self.keys == 1 else 'keys'}>"

    @property
    def keys(self) -> int:
        """How many keys have come: each has registers of its own. Without `key_by` all events are of one."""
        return len(self._runs)

    def push(self, reactive: Reactive, value: Any, at: At = None) -> list[Event]:
        """Push an event, as into an `Engine`; return what comes out. One whose key is null is left out."""
        slots = [slot for slot in self._join.slots if slot.reactive == reactive]
        if not slots:
            known = ", ".join(dict.fromkeys(slot.reactive.name for slot in self._join.slots))
            message = f"push: expected an input of this tracker but got {reactive!r}; the inputs are {known}"
            raise InvalidArgument(message)
        units, dated = self._calendar.units(at, "push", has_ints=self._latest > self._number)
        start, end = checked_times(units, self._latest, EARLIEST, at)
        value = checked_value(reactive, value)
        items: dict[Hashable, dict[int, Entry]] = {}
        for slot in slots:
            entry = self._entry(slot, value, start, end)
            has_keys = all(key is not None for key in entry.keys)  # one whose key is null is for nobody
            if has_keys and all(keep(value) for keep in self._shape.filters.get(slot.index, ())):
                items.setdefault(entry.keys, {})[self._places[slot]] = entry
        given = self._take(items)
        self._latest = max(self._latest, end)
        self._number += 1
        self._calendar.is_dated = self._calendar.is_dated if dated is None else dated
        return self._calendar.shown(given)

    def _entry(self, slot: Slot, value: Any, start: Time, end: Time) -> Entry:
        entry = Entry(value, start, end, (slot.source, self._number + 1))
        entry.slot, entry.number = slot.name, self._number + 1
        entry.keys = self._join.bindings.keys_of(slot, entry)
        return entry

    def _take(self, items: dict[Hashable, dict[int, Entry]]) -> list[Event]:
        """Take the items of each key, or, if one fails, none."""
        before = {key: run.registers for key in items if (run := self._runs.get(key)) is not None}
        given: list[Event] = []
        try:
            for key, entries in items.items():
                running = self._runs.setdefault(key, self._runs.get(key) or self.transducer.start())
                tag = " ".join(self._shape.slots[place].name for place in sorted(entries))
                item = tuple([entries.get(place) for place in range(len(self._shape.slots))])
                match = running.take(tag, item)[MATCH]
                if match is not UNDEFINED:
                    given += [Event(value, match.start, match.end, 1, self._join.name) for value in match.values]
        except BaseException:
            for key in items:
                self._runs.pop(key, None)
            for key, registers in before.items():
                self._runs[key] = self.transducer.start()
                self._runs[key].registers = registers
            raise
        return given
