"""The transducer of a bounded sequence: a state for each length that what has begun of a match may have.

A tag is the variables that an event may be bound to, an item the event as an entry of each. What has begun with n parts
is a row, in the register of the n variables that it binds; an event makes the next longer one of it, and keeps, or
not, what is there. A register that no transition leads into is undefined after the event: so what has begun is over.

Invariant: no register is ever in conflict, as of each length one match at most has begun (`track_shapes`).

Source: SOURCES E6.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.automata.extended_values import UNDEFINED
from cartesius.automata.machines import Transducer
from cartesius.automata.transitions import INITIAL, New, Transition
from cartesius.correlations.runs import longer_run, run_of
from cartesius.data.events import EARLIEST
from cartesius.errors import InvalidArgument
from cartesius.rows.following import precedes
from cartesius.tracking.track_shapes import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from cartesius.batching.bodies import Body
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.tracking.track_shapes import TrackShape

    Row: TypeAlias = "tuple[Entry | None, ...]"
    Item: TypeAlias = "tuple[Entry | None, ...]"  # by place in the sequence

MATCH = "match"
CLOCK = "latest end"


def machine_of(join: Join, shape: TrackShape) -> Transducer:
    """Return the transducer of a correlation that has a shape."""
    return _Machine(shape, join.batch.body, _tags(join, shape)).transducer


def _tags(join: Join, shape: TrackShape) -> list[tuple[int, ...]]:
    """Return the places that an event may have: all its slots, or those whose filters and keys it satisfies."""
    found: dict[tuple[int, ...], None] = {}
    for reactive in dict.fromkeys(slot.reactive for slot in join.slots):
        mine = [place for place, slot in enumerate(shape.slots) if slot.reactive == reactive]
        apart = len(mine) > 1 and (join.bindings.spaces or any(shape.slots[p].index in shape.filters for p in mine))
        sizes = range(1, len(mine) + 1) if apart else [len(mine)]
        found |= dict.fromkeys(places for size in sizes for places in combinations(mine, size))
    return list(found)


@attrs.frozen
class _Run:
    """The newest run of the variable that `one_or_more` binds."""

    entry: Entry | None = None
    is_open: bool = True  # an event may extend it
    is_fresh: bool = False  # it became so by the latest item
    is_longer: bool = False  # it takes the place of a shorter one


class _Machine:
    """Makes the transducer of a shape, whose body is that of the correlation."""

    def __init__(self, shape: TrackShape, body: Body, tags: Iterable[tuple[int, ...]]) -> None:
        self._shape = shape
        self._body = body
        self._count = len(shape.slots)
        self._gate: Any = None if shape.grows is None else shape.grows[0]
        self._grown = None if shape.grows is None else shape.grows[1]
        self._transitions: list[Transition] = []
        names = [slot.name for slot in shape.slots]
        self._names = [" ".join(names[:length]) or "nothing" for length in range(self._count)]  # by length
        self._run = "" if self._grown is None else f"run of {names[self._grown]}"
        self._base = f"before {self._run}"
        self._begin()
        tag_names = {places: " ".join(names[place] for place in places) for places in tags}
        for places, tag in tag_names.items():
            self._add(tag, (CLOCK,), CLOCK, _later)
            if shape.kind is Kind.SINGLE:
                self._single(tag, places)
            elif places == (self._grown,):
                self._growing(tag)
            elif shape.kind is Kind.STRICT:
                self._strict(tag, places)
            else:
                self._recent(tag, places)
        used = {transition.target for transition in self._transitions} | {MATCH}
        states = [name for name in (*self._names, self._run, self._base, MATCH, CLOCK) if name in used]
        self.transducer = Transducer(states, self._transitions, tags=list(tag_names.values()), final=[MATCH])

    def _add(self, tag: Any, sources: tuple[Any, ...], target: str, term: Callable[..., Any]) -> None:
        self._transitions.append(Transition(tag, sources, target, term))

    def _begin(self) -> None:
        self._add(INITIAL, (), CLOCK, lambda: (EARLIEST, False))
        if self._grown is not None:
            self._add(INITIAL, (), self._run, _Run)
        if self._shape.kind is Kind.SINGLE:
            self._add(INITIAL, (), self._names[0], lambda: self._empty)

    # -- by kind -------------------------------------------------------------------------------------------------------

    def _strict(self, tag: str, places: Sequence[int]) -> None:
        """Nothing is kept but what the event goes on with."""
        for place in places:
            self._extend(tag, place, self._names[place])
        self._keep_run(tag)

    def _recent(self, tag: str, places: Sequence[int]) -> None:
        """What has none of the parts that the event displaces is kept."""
        first, last = min(places), self._count - 1
        for place in places:
            name = self._names[place]
            self._extend(tag, place, name if place == first else New(name))  # what it displaces may be part of it
        is_last = last in places
        if not (is_last and self._shape.uses_up and self._shape.is_strict):
            for length in range(1, first + 1):
                if length == last and self._shape.uses_up:
                    self._add(tag, (self._names[length],), self._names[length], self._unless_fits(last))
                else:
                    self._keep(tag, self._names[length])
        self._keep_run(tag)

    def _single(self, tag: str, places: Sequence[int]) -> None:
        """The one match that has begun goes on with the next part, if the event fits."""
        for length, name in enumerate(self._names):
            if length not in places:
                self._keep(tag, name)
                continue
            self._extend(tag, length, name)
            self._add(tag, (name,), name, self._unless_fits(length))
            if length == self._count - 1:
                self._add(tag, (New(MATCH),), self._names[0], lambda match, item: self._empty)

    def _growing(self, tag: str) -> None:
        """The event goes on with the run of its variable, begins another, or is dropped, as if it had not come."""
        place = self._grown
        assert place is not None  # Invariant: what grows has a place
        run, is_strict = New(self._run), self._shape.kind is Kind.STRICT
        self._add(tag, (self._run,), self._run, lambda run, item: self._grow(run, item[place]))
        base: Any = New(self._names[place])
        if place == 0:
            self._add(tag, (run,), self._target(0), lambda run, item: self._with(self._empty, place, run))
        else:
            if is_strict:
                base = New(self._base)
                begins = (self._names[place], run)
                self._add(tag, begins, self._base, lambda row, run, item: row if _begins(run) else UNDEFINED)
                goes_on = (self._base, run)
                self._add(tag, goes_on, self._base, lambda row, run, item: UNDEFINED if _begins(run) else row)
            self._add(tag, (base, run), self._target(place), lambda row, run, item: self._with(row, place, run))
        for length in range(1, self._count):
            name = self._names[length]
            if not is_strict and length <= place:
                self._keep(tag, name)
            elif length <= place:  # a run that began before does not lie behind
                self._add(tag, (name, run), name, lambda row, run, item: UNDEFINED if self._follows(row, run) else row)
            else:  # it has the run that is displaced
                self._add(tag, (name, run), name, lambda row, run, item: UNDEFINED if run.is_fresh else row)

    def _follows(self, row: Row, run: _Run) -> bool:
        """Whether a run has just become such that it starts after what has begun ends."""
        if not run.is_fresh or run.entry is None:
            return False
        return all(precedes(part, run.entry) for part in row if part is not None)

    # -- pieces --------------------------------------------------------------------------------------------------------

    @property
    def _empty(self) -> Row:
        return (None,) * self._count

    def _target(self, place: int) -> str:
        return MATCH if place == self._count - 1 else self._names[place + 1]

    def _keep(self, tag: str, name: str) -> None:
        self._add(tag, (name,), name, lambda row, item: row)

    def _keep_run(self, tag: str) -> None:
        if self._grown is not None:
            self._add(tag, (self._run,), self._run, lambda run, item: attrs.evolve(run, is_fresh=False))

    def _extend(self, tag: str, place: int, source: Any) -> None:
        """Let an event go on with what has begun; the first needs nothing, unless one match is followed at a time."""
        if place == 0 and self._shape.kind is not Kind.SINGLE:
            self._add(tag, (), self._target(0), lambda item: self._longer(self._empty, 0, item[0]))
            return

        def goes_on(row: Row, item: Item) -> Any:
            return self._longer(row, place, item[place])

        self._add(tag, (source,), self._target(place), goes_on)

    def _grow(self, run: _Run, event: Entry) -> _Run:
        gate = self._gate
        if run.entry is not None and run.is_open and gate.may_be(after := longer_run(run.entry, event)):
            after.number = event.number
            return _Run(after, is_fresh=True, is_longer=True)
        if gate.may_be(alone := run_of(event)):
            alone.number = event.number
            return _Run(alone, is_fresh=True)
        return _Run(run.entry, is_open=run.is_open and gate.contiguity == "relaxed")

    def _with(self, row: Row, place: int, run: _Run) -> Any:
        return self._longer(row, place, run.entry) if run.is_fresh else UNDEFINED

    def _longer(self, row: Row, place: int, entry: Entry | None) -> Any:
        """Return the row with one part more, or the match that it is; undefined if it does not fit."""
        longer = self._following(row, place, entry)
        if longer is None:
            return UNDEFINED
        if place == self._count - 1:
            return self._match(longer)
        return tuple(longer) if self._body.fits(longer, self._shape.slots[place].index) else UNDEFINED

    def _following(self, row: Row, place: int, entry: Entry | None) -> list[Entry | None] | None:
        assert entry is not None  # Invariant: an item has an entry for each place of its tag
        before = row[self._shape.slots[place - 1].index] if place else None
        if before is not None and not precedes(before, entry):
            return None
        longer = list(row)
        longer[self._shape.slots[place].index] = entry
        return longer

    def _match(self, row: list[Entry | None]) -> Any:
        for indexes, duration in self._shape.spans:
            parts = [part for index in indexes if (part := row[index]) is not None]
            if max(part.end for part in parts) - min(part.start for part in parts) > duration:
                return UNDEFINED
        match = self._body.result(row)
        return UNDEFINED if match is None else match

    def _unless_fits(self, place: int) -> Callable[[Row, Item], Any]:
        slot = self._shape.slots[place]

        def unless(row: Row, item: Item) -> Any:
            longer = self._following(row, place, item[place])
            return UNDEFINED if longer is not None and self._body.fits(longer, slot.index) else row

        return unless


def _begins(run: _Run) -> bool:
    return run.is_fresh and not run.is_longer


def _later(before: tuple[Time, bool], item: Item) -> tuple[Time, bool]:
    """Return the end of an event that follows all before, and whether it is a point: others of its time follow."""
    event = next(entry for entry in item if entry is not None)
    (latest, was_point), is_point = before, event.start == event.end
    if event.start < latest or (event.start == latest and not (was_point and is_point)):
        message = (
            "Tracker: expected events that come one after another, each starting after those before (of its key) have"
            f" ended, or points of one time, but got one at {event.start}..{event.end} after one that ends at {latest};"
            " order them by in_event_time, or use an Engine, which remembers what has come"
        )
        raise InvalidArgument(message)
    return event.end, is_point
