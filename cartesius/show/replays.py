"""Replays: the calls of a recording made again on a fresh engine, and what there is after each.

What there is after a step are the stays that hold then, so a step is looked up, and none is stored.

Invariant: the stays that hold after a step are what the engine's memories, doors and gates hold then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from cartesius.data.entries import ABSENT, Entry
from cartesius.data.queues import Queue
from cartesius.errors import as_text, shortened
from cartesius.show.show_steps import Given, Place, Stay, Step
from cartesius.storage.stored import entries_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.results.provenance import Provenance
    from cartesius.results.recorded_calls import Call
    from cartesius.show.recordings import Recording


class Replay:
    """A recording made again, maybe on another program.

    Args:
        recording: The recording.
        outputs: What the program computes, and then what is only asked for.
        most: How many calls are made.
    """

    def __init__(self, recording: Recording, outputs: Sequence[Reactive], most: int) -> None:
        n = len(recording.outputs)
        options = {**recording.options, "pulled": outputs[n:]}
        self._engine = recording.make(*outputs[:n], trace=True, **options)
        program = self._engine._program
        self.joins: list[Join] = program.joins
        self.bound: dict[str, list[tuple[Join, Slot]]] = {
            name: [(join, join.slots[index]) for join, index in program.bound.get(reactive, ())]
            for name, reactive in program.inputs.items()
        }
        self.names = [program.names[output] for output in outputs[:n]]
        self.provenance: Provenance = self._engine._world.provenance
        self.calendar = self.provenance.calendar
        self.calendar.is_dated = recording.is_dated
        self.steps: list[Step] = []
        self.failure = ""
        self.stays: dict[Place, list[Stay]] = {}
        self.stays_of: defaultdict[Any, list[Stay]] = defaultdict(list)
        self.came: defaultdict[int, list[Stay]] = defaultdict(list)  # by the step in which they began
        self.went: defaultdict[int, list[Stay]] = defaultdict(list)
        self.step_of: dict[Any, int] = {}  # of what was pushed
        self.numbers: dict[Any, int] = {}  # of the events that somebody has asked for
        self._present: dict[Slot, dict[int, Stay]] = {slot: {} for join in self.joins for slot in join.slots}
        # What held events when it was last looked at, and which; no stay of those that memory has as well.
        self._holders: dict[Any, tuple[Any, dict[int, Stay | None]]] = {}
        self._shadows: defaultdict[tuple[Slot, int], list[tuple[dict[int, Stay | None], Entry, Place]]]
        self._shadows = defaultdict(list)
        self._leaves: dict[tuple[Installed, tuple[Any, ...]], tuple[Any, ...]] = {}
        self._n_held: Counter[Place] = Counter()
        self._n_late = 0
        self._late_of: defaultdict[Any, list[tuple[int, str]]] = defaultdict(list)
        self._dropped: dict[tuple[Slot, int], int] = {}
        self._join_of: dict[Slot, str] = {}
        for join in self.joins:
            for slot in join.slots:
                self._join_of[slot] = join.name
                self.stays[Place(join.name, slot.name, "memory")] = []
        self._note(None, [])
        for call in islice(recording.calls, most):
            try:
                emitted = self._made(call)
            except Exception as error:  # the program is another one: a body may fail on what it never saw
                notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
                self.failure = f"{type(error).__name__}: {shortened(as_text(error, str))}{notes}"
                break
            self._note(call, emitted)

    def _made(self, call: Call) -> list[Event]:
        engine, event = self._engine, call.event
        name = event.reactive if event is not None else call.ended
        if name and name not in engine.inputs:  # what was left out was all that read it
            self.provenance.called(call)
            return []
        emitted: list[Event]
        if event is not None:
            at = self.calendar.time(event.start), self.calendar.time(event.end)
            emitted = engine.push(engine.inputs[name], event.value, at=at)
        elif call.kind == "end":
            emitted = engine.end(engine.inputs[name])
        else:
            emitted = engine.advance(self.calendar.time(call.time)) if call.kind == "advance" else engine.close()
        return emitted

    # -- what there is after a step ------------------------------------------------------------------------------------

    def _note(self, call: Call | None, emitted: list[Event]) -> None:
        number = len(self.steps)
        dropped: list[Place] = []
        self._look_at_memories(number)
        self._look_at_queues(number)
        for join in self.joins:
            dropped += self._newly_dropped(join)
        if call is not None and call.event is not None:
            self.step_of[self.pushed(number)] = number
        world = self._engine._world
        late = [(self.provenance.key_of(event), where, why) for event, where, why in world.late[self._n_late :]]
        self._n_late += len(late)
        for key, _, why in late:
            self._late_of[key].append((number, why))
        places = {name: place for place, name in enumerate(self.names)}
        given = [
            Given(places[event.reactive], self.provenance.key_of(self._engine._program.as_recorded(event)), event)
            for event in map(self.calendar.taken, emitted)
        ]
        next_one = world.deadlines.next(world.clock)
        self.steps.append(Step(number, call, tuple(given), tuple(late), tuple(dropped), world.clock, next_one))

    def _look_at_memories(self, number: int) -> None:
        for slot, left in self.provenance.departures.gone:
            stay = self._present[slot].pop(left.number, None)
            if stay is None:  # it came and went in one step
                stay = self._begin(Place(self._join_of[slot], slot.name, "memory"), slot, left, number)
            self._end(stay, number)
            for stays, entry, place in self._shadows.pop((slot, left.number), ()):
                if id(entry) in stays:
                    self._hold(stays, entry, place, slot, number)
        for join in self.joins:
            for slot in join.slots:
                present = self._present[slot]
                place = Place(join.name, slot.name, "memory")
                if len(present) != len(slot.memory):  # most often only what is newest has come
                    for entry in reversed(list(takewhile(partial(_is_new, present), slot.memory))):
                        present[entry.number] = self._begin(place, slot, entry, number)
                if len(present) != len(slot.memory):
                    self._compare(place, slot, number)

    def _compare(self, place: Place, slot: Slot, number: int) -> None:
        """Note what has come to a memory, and what has left it in silence."""
        present, now = self._present[slot], {entry.number: entry for entry in slot.memory}
        for gone in [arrival for arrival in present if arrival not in now]:
            self._end(present.pop(gone), number)
        for arrival, entry in reversed(now.items()):
            if arrival not in present:
                present[arrival] = self._begin(place, slot, entry, number)

    def _look_at_queues(self, number: int) -> None:
        """Note what waits at doors, and what copies of restrictions hold that ran in this step, or are forgotten."""
        for join in self.joins:
            for slot in join.slots:
                at_door = Place(join.name, slot.name, "door"), slot
                self._follow((slot, "door"), slot.door.queue, partial(_anywhere, at_door), number)
        forgotten = [one for one in self._leaves if one[0].has_copies and one[1] not in one[0].copies]
        for installed, key in dict.fromkeys([*self.provenance.departures.touched, *forgotten]):
            copy = installed.copies.get(key) if installed.has_copies else installed.stateless
            leaves = {} if copy is None else dict(_leaves(installed, copy))
            for leaf in dict.fromkeys([*self._leaves.get((installed, key), ()), *leaves]):
                self._follow((installed, key, leaf), leaves.get(leaf, ()), partial(_at_gate, installed), number)
            self._leaves[installed, key] = tuple(leaf for leaf in leaves if (installed, key, leaf) in self._holders)
            if not self._leaves[installed, key]:
                del self._leaves[installed, key]

    def _follow(self, holder: Any, now: Any, where: Callable[[Entry], tuple[Place, Slot] | None], number: int) -> None:
        """Note what has come to a holder of events, and left it, since it was last looked at."""
        before, stays = self._holders.get(holder, ((), {}))
        if now is before and not isinstance(now, list | dict | set):
            return
        since = now.since(before) if isinstance(now, Queue) and isinstance(before, Queue) else None
        if since is None or not all(isinstance(one, Entry) for one in since[0]):  # of rows, parts may be in others
            found = {id(entry): entry for entry in entries_in(now)}
            gone, came = [one for one in stays if one not in found], list(found.values())
        else:
            gone, came = [id(entry) for entry in since[0]], [*entries_in(since[1])]
        for one in gone:
            stay = stays.pop(one, None)
            if stay is not None:
                self._end(stay, number)
                self._n_held[stay.place] -= stay.is_before_memory
        self._holders[holder] = (now, stays)
        for entry in came:
            if id(entry) not in stays and (place := where(entry)) is not None:
                if entry.number >= 0 and place[1].memory.holds(entry):  # it is there, as long as memory has it
                    stays[id(entry)] = None
                    self._shadows[place[1], entry.number].append((stays, entry, place[0]))
                else:
                    self._hold(stays, entry, *place, number)
        if not stays:
            del self._holders[holder]

    def _hold(self, stays: dict[int, Stay | None], entry: Entry, place: Place, slot: Slot, number: int) -> None:
        stays[id(entry)] = stay = self._begin(place, slot, entry, number)
        self._n_held[place] += stay.is_before_memory

    def _begin(self, place: Place, slot: Slot, entry: Entry, number: int) -> Stay:
        keys = ", ".join(shortened(as_text(key), 60) for key in entry.keys if key is not ABSENT)
        key = self.provenance.entry_key(entry, slot)
        stay = Stay(place, entry, key, keys, number, is_before_memory=entry.number < 0)
        self.stays.setdefault(place, []).append(stay)
        self.stays_of[stay.key].append(stay)
        self.came[number].append(stay)
        return stay

    def _end(self, stay: Stay, number: int) -> None:
        stay.until = number
        self.went[number].append(stay)

    def _newly_dropped(self, join: Join) -> Iterator[Place]:
        """Iterate over the gates that did not let an event through in this step."""
        for slot in join.slots:
            gates = join.gates[slot.index]
            hands = [slot.ledger.in_hand(gate) for gate in range(len(gates))]
            if not any(hands):
                continue
            suspended = 0 if join.is_in_place else join.strands.number_held(slot)
            for number, gate in enumerate(gates):
                place = Place(join.name, slot.name, "gate", repr(gate.restriction))
                lost = hands[number] - self._n_held[place] - (suspended if gate.suspends else 0)
                if lost > self._dropped.get((slot, number), 0):
                    yield place
                self._dropped[slot, number] = lost

    # -- asking --------------------------------------------------------------------------------------------------------

    def present(self, place: Place, step: int) -> list[Stay]:
        """Return what is in a place after a step, the newest first."""
        return [stay for stay in reversed(self.stays[place]) if stay.holds(step)]

    def pushed(self, step: int) -> Any:
        """Return the key of the event that a step pushed, or None."""
        event = self.provenance.calls[step - 1].event if step else None
        return None if event is None else self.provenance.key_of(event)

    def places(self, key: Any, step: int) -> list[str]:
        """Say where an event is after a step."""
        late = [f"set aside: {why}" for since, why in self._late_of.get(key, ()) if since <= step]
        return late + [str(stay.place) for stay in self.stays_of.get(key, ()) if stay.holds(step)]

    def why(self, key: Any, step: int) -> str:
        """Say what is known of an event after a step, as `Engine.why` does."""
        return self.provenance.account(self.provenance.records[key], self.places(key, step), step)

    def whereabouts(self, key: Any, step: int) -> list[str]:
        """Say what has become of an event until a step: where it is, why it left, or who did not let it through."""
        found = [f"is {place}" for place in self.places(key, step)]
        found += [f"left {note}" for note, call in self.provenance.records[key].left.items() if call <= step]
        pushed = self.step_of.get(key)
        if not found and pushed is not None:
            found = [f"was not let through by {place.gate}" for place in self.steps[pushed].dropped]
        return found

    def origins(self, key: Any) -> dict[Any, int]:
        """Return the events pushed that a result is made of, in order, each with the step that pushed it."""
        found: dict[Any, int] = {}
        pending = [key]
        while pending:
            one = pending.pop()
            if one in self.step_of:
                found[one] = self.step_of[one]
            else:
                pending += [part for _, part in reversed(self.provenance.records[one].parts)]
        return found


def _leaves(installed: Installed, copy: Any) -> Iterator[tuple[Any, Any]]:
    """Iterate over what a copy of a restriction holds: its states, and what is in a dict by itself."""
    for name in installed.restriction._states:
        value = getattr(copy, name)
        if isinstance(value, dict):
            yield from (((name, key), inner) for key, inner in value.items())
        else:
            yield (name, None), value


def _is_new(present: Mapping[int, Stay], entry: Entry) -> bool:
    return entry.number not in present


def _anywhere(found: tuple[Place, Slot], _: Entry) -> tuple[Place, Slot]:
    return found


def _at_gate(installed: Installed, entry: Entry) -> tuple[Place, Slot] | None:
    """Return where an event is that a restriction holds; None if its source has taken it back."""
    slot = next((slot for slot in installed.join.slots if slot.name == entry.slot), None)
    if slot is None or entry.withdrawn:
        return None
    return Place(installed.join.name, slot.name, "gate", repr(installed.restriction)), slot
