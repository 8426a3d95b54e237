"""A restriction at work in one correlation: its copies by key, its clauses as handlers of a layer, its deadlines.

A restriction to the right of a `key_by` that names its slots has one copy of its `state` a key; which copy a clause
runs on follows from the keys that travel with the event. A copy is forgotten when its state is as in a fresh one.

This module is over 300 lines because copies, clauses and deadlines of a restriction are of one object.

Source: SEMANTICS 1.13.
"""

from __future__ import annotations

from copy import copy as shallow_copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from cartesius.batching.floored_deadlines import FlooredDeadlines
from cartesius.correlations.clause_layers import clauses_of_layers, in_clause
from cartesius.correlations.gates import count_set_aside
from cartesius.correlations.placements import Place
from cartesius.data.entries import GONE
from cartesius.data.events import EARLIEST, Event
from cartesius.effects.evidence import Layer, layer_of
from cartesius.effects.operations import Operation
from cartesius.effects.resumptions import running
from cartesius.errors import InvalidArgument, add_place
from cartesius.language.families import Slot, ended, start, tick
from cartesius.plan import facts
from cartesius.plan.nodes import Opaque, Until, slots_of_node
from cartesius.results.views import View
from cartesius.storage.stored import entries_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.effects.handlers import Clauses
    from cartesius.language.families import Family
    from cartesius.language.restriction_base import Restriction
    from cartesius.plan.nodes import Node


class Installed(Place):
    """One restriction in one correlation."""

    def __init__(
        self, restriction: Restriction, join: Join, number: int, spaces: Mapping[int, tuple[int, ...]]
    ) -> None:
        super().__init__(restriction, join, spaces)
        self.number = number
        self.copies: dict[tuple[Any, ...], Any] = {}
        self._made = 0  # how many copies have been made
        self.released: set[tuple[Any, Slot]] = set()  # what the copies have released in the present batch
        self.reconsidered: dict[tuple[Any, ...], None] = {}  # the copies that want to choose, by key
        self.due: dict[tuple[Any, ...], dict[int, int]] = {}  # deadlines a copy waits for, with their numbers, by key
        self.until: Time = EARLIEST  # the latest of those that have been in the heap
        self.floor_slots: tuple[Slot, ...] = ()  # whose floors its deadlines wait for, where they are not the clock
        self.floored = FlooredDeadlines(join.world.journal, in_order=not self.absent and not self.opens_windows)
        self.keyed_gates: frozenset[Installed] = frozenset()  # those that matter to it, and hold events by its key
        self._in_windows: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}  # the keys of the copies in each window
        self.ticking: Operation[..., Any] = Operation(f"tick of {type(restriction).__name__}")
        for slot in join.slots:
            slot.memory.index(self.prefixes[slot.index])
            if slot.has_windows and self.opens_windows:
                slot.memory.index((*self.prefixes[slot.index], join.bindings.window_space))  # type: ignore[arg-type]  # there is one
        self.stateless = self._fresh()
        if not join.world.is_trial:
            self.stateless.validate()  # once more, now that durations are in time units
        self.nodes: tuple[Node, ...] = self.stateless.nodes  # with the slots themselves
        self.pausing = frozenset(facts.paused(self))
        self.anchors: tuple[Slot, ...] = facts.anchors(self)
        self._lets_leave = facts.expires(self) or facts.forgets(self) or bool(facts.recalled(self))
        settling = self.named if facts.settles(self) or facts.forgets(self) else self.absent
        self.dues = {slot: self._index_of_due(slot) for slot in settling}  # the indexes on keys, and when to leave

    def _index_of_due(self, slot: Slot) -> tuple[int, ...]:
        due = type(self.restriction).due
        slot.memory.probes.append(lambda entry: due(self.stateless, slot, entry))
        positions = (*self.prefixes[slot.index], len(slot.memory.probes) - 1)
        slot.memory.index(positions)
        return positions

    @cached_property
    def node(self) -> Node:
        """What it means, if one node says it all, of all slots that it names; otherwise `Opaque`."""
        node = self.nodes[0]
        is_whole = len(self.nodes) == 1 and (self.opens_windows or {*slots_of_node(node)} == {*self.named})
        return node if is_whole else _SEVERAL

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place in the program: the wave and the number of its correlation, and its turn there."""
        return self.join.wave, self.join.number, self.turn

    def lags(self) -> Mapping[Slot, int | None]:
        """Return how far the floors of slots stay behind the clock where nothing is held; None: they never move."""
        return self.join.floors.lags_of(self)

    def awaited(self, time: int, key: tuple[Any, ...]) -> tuple[Slot, ...]:
        """Return the slots whose floors a deadline waits for."""
        return self.copies.get(key, self.stateless).waits_for(time) or self.floor_slots

    def bars(self, time: int) -> bool:
        """Whether a deadline that is not let bars those after it, of all keys."""
        return self.join.floors.let_none(self, time)

    def may_let_go(self, time: int) -> bool:
        """Whether a deadline may be let now though nothing has happened to its key."""
        return self.join.floors.let_some(self, time)

    def keys_let_go(self, blocked: Collection[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
        """Return of some keys those that may not be blocked any more."""
        return self.join.floors.keys_let_go(self, blocked)

    def may_tick(self, time: int, key: tuple[Any, ...]) -> bool:
        """Whether floors have passed a deadline."""
        return self.join.floors.let_tick(self, time, key)

    @property
    def is_settled(self) -> bool:
        """Whether the slots named decide by themselves when an event of them can be forgotten."""
        absent = self.join.pattern.absent.names
        present = [slot for slot in self.join.slots if slot.name not in absent]
        return facts.settles_alone(self) or all(slot in self.named for slot in present)

    @cached_property
    def lets_go_alone(self) -> bool:
        """Whether its deadlines let go what is in memory, and do nothing else: of what has left none is wanted."""
        return isinstance(self.node, Until) and self.is_settled and self.join.batch.versions is None

    @cached_property
    def gives_rows(self) -> bool:
        """Whether rows come as it lets go: of one time in the order of what is in memory, whoever has left."""
        batch = self.join.batch
        return self.lets_go_alone and batch.partial is not None and not batch.is_pure

    def still_awaits(self, time: int, key: tuple[Any, ...]) -> bool:
        """Whether what was asked for is wanted, unless it was taken back."""
        if not self.lets_go_alone:
            return True
        under = (*key, time) if key else time
        for slot, positions in self.dues.items():  # noqa: SIM110 - it is asked of each event, and a generator costs more
            if slot.memory.lookup(positions, under):
                return True
        return False

    def first_awaiting(self, time: int, key: tuple[Any, ...]) -> int | None:
        """Return the number of the first in memory that it lets go once the clock is past a time; None: none is."""
        under = (*key, time) if key else time
        found = [next(iter(slot.memory.lookup(positions, under)), None) for slot, positions in self.dues.items()]
        return min([entry.number for entry in found if entry is not None], default=None)

    def newest(self) -> int:
        """Return the number of what has come to memory last."""
        return self.join.world.number

    def due_at(self, slot: Slot, time: int, key: tuple[Any, ...]) -> list[Entry]:
        """Return what nothing can match once the clock is past ``time``, oldest first."""
        return [entry for entry in slot.memory.keyed(self.dues[slot], (*key, time)) if entry.state != GONE]

    def key_of(self, slot: Slot, entry: Entry) -> tuple[Any, ...]:
        """Return the key of the copy that an event of ``slot`` concerns."""
        return tuple([entry.keys[p] for p in self.prefixes[slot.index]])

    def _fresh(self) -> Any:
        kind = type(self.restriction)
        copy = object.__new__(kind)
        fields = vars(copy)
        fields.update({name: getattr(self.restriction, name) for name in self.restriction.configuration})
        fields["configuration"] = self.restriction.configuration
        for name, field_kind in self.restriction._fields.items():
            if field_kind == "slots":
                fields[name] = self.slots[name]
            elif field_kind == "slot":
                fields[name] = self.slots[name][0]
            elif field_kind in ("duration", "durations") and fields[name] is not None:
                fields[name] = self.join.world.units(fields[name], self.restriction, name)
            elif field_kind == "instant":
                fields[name] = self.join.world.calendar.unit_of(fields[name], repr(self.restriction))
        fields.update({name: _own(value) for name, value in self.restriction._states.items()})
        return copy

    def copy(self, key: tuple[Any, ...]) -> Any:
        """Return the copy for ``key``, made if need be; what it holds is remembered, in case this push fails."""
        if not self.has_copies:
            return self.stateless
        world, copy = self.join.world, self.copies.get(key)
        if copy is None:
            world.journal.append(lambda: self.copies.pop(key, None))
            copy = self.make(key)
            world.touched[self, key] = copy
            for method, family, _, _ in self.marks:
                if family is start:
                    self.run(getattr(type(self.restriction), method), key, ())
        elif (self, key) not in world.touched:
            before = {name: _own(value) for name, value in vars(copy).items()}
            world.touched[self, key] = copy

            def undo() -> None:
                vars(copy).update(before)
                self.copies[key] = copy

            world.journal.append(undo)
        return copy

    def make(self, key: tuple[Any, ...]) -> Any:
        """Make the copy for ``key``, without starting it."""
        copy = self.copies[key] = self.spare()
        if self.is_inside:
            self._in_windows.setdefault(self._window(key), set()).add(key)
        return copy

    def spare(self) -> Any:
        """Return a copy that is not at work."""
        copy = object.__new__(type(self.restriction))
        fields = vars(copy)
        fields.update(vars(self.stateless))
        for name, value in self.restriction._states.items():
            fields[name] = _own(value)
        self._made = fields["made"] = self._made + 1
        return copy

    def _window(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the part of a copy's key up to the window; none of it, of a copy for slots that have no windows."""
        space = self.join.bindings.window_space
        prefixes = (*([self.prefix] if self.prefix else []), *self.prefixes.values())
        mine = next((prefix for prefix in prefixes if len(prefix) == len(key) and space in prefix), None)
        return () if mine is None else key[: mine.index(space) + 1]

    def keys_in(self, window: tuple[Any, ...]) -> Collection[tuple[Any, ...]]:
        """Return the keys of the copies in a window."""
        return self._in_windows.get(window, ())

    def close(self, window: tuple[Any, ...]) -> None:
        """Forget the copies in a window, with what they asked for."""
        for key in sorted(self._in_windows.get(window, ()), key=repr):
            copy = self.copies.get(key)
            if copy is not None:
                self.join.world.journal.append(partial(self._reopen, key, copy))
                del self.copies[key]
            deadlines = self.join.world.deadlines
            for item in deadlines.asked_by([(self, key)]):
                deadlines.take(item)
            self.join.world.touched.pop((self, key), None)
        self._in_windows.pop(window, None)

    def _reopen(self, key: tuple[Any, ...], copy: Any) -> None:
        self.copies[key] = copy
        self._in_windows.setdefault(self._window(key), set()).add(key)

    def restore_order(self) -> None:
        """Put the copies, after a roll-back, in the order in which they were made."""
        self.copies = dict(sorted(self.copies.items(), key=lambda item: item[1].made))

    def forget(self, key: tuple[Any, ...], copy: Any) -> None:
        """Forget a copy that is as a fresh one."""
        if self.starts or key in self.due or key not in self.copies:
            return
        if all(getattr(copy, name) == initial for name, initial in self.restriction._states.items()):
            del self.copies[key]
            if self.is_inside:
                self._in_windows[self._window(key)].discard(key)

    def held(self, copies: Iterable[Any] | None = None) -> Iterator[Entry]:
        """Iterate over the entries in the states of some copies; None: of all."""
        for copy in self.copies.values() if copies is None else copies:
            for name in self.restriction._states:
                yield from entries_in(getattr(copy, name))

    def notify_at(self, time: int, key: tuple[Any, ...]) -> None:
        """Ask for a tick of the copy for ``key`` once the clock is past ``time``."""
        self.join.world.deadlines.add(time, self, key)

    def cancel_at(self, time: int, key: tuple[Any, ...]) -> None:
        """Take back what the copy for ``key`` has asked for at ``time``."""
        self.join.world.deadlines.cancel(time, self, key)

    def expire(self, slot: Slot, entry: Entry) -> None:
        """Let an entry leave at the end of the batch; its results stand."""
        if isinstance(self.join.batch.output, View) and not self._lets_leave:
            message = (
                f"{self.restriction!r}: expected a restriction that says that it lets entries expire, as the rows of"
                f" {self.join.name} are looked up in memory otherwise; say so in its plan: Opaque(expires=True)"
            )
            raise InvalidArgument(message)
        if self.join.world.provenance is not None:
            self.join.world.provenance.departures.lets(entry, repr(self.restriction))
        self.join.batch.expire(slot, entry)

    def play(self, slot: Slot, key: tuple[Any, ...]) -> None:
        """Let what waits at the door of ``slot`` under ``key`` follow once the step is over."""
        if slot.door.play(self.prefixes[slot.index], key):
            self.join.play(slot)

    def set_aside(self, slot: Slot, entry: Entry, reason: str) -> None:
        """Put an event that will not be used beside the late ones."""
        count_set_aside(self, slot, entry)
        event = Event(entry.value, entry.start, entry.end, entry.weight, slot.source, entry.identity)
        self.join.world.set_aside((event, slot.name, reason), self.join.number)

    def reconsider(self, key: tuple[Any, ...]) -> None:
        """Let the copy for ``key`` choose at the end of the batch, even if no match comes."""
        self.reconsidered[key] = None
        self.join.batch.is_reconsidered = True

    def release(self, slot: Slot, key: tuple[Any, ...]) -> None:
        """End the batch if the copy for ``key`` has released an event of ``slot`` in it already."""
        if (key, slot) in self.released:
            self.join.commit()
        self.released.add((key, slot))

    def layer(self, name: str) -> Layer | None:
        """Return the restriction's clauses of a layer as a handler, or None if it has none there."""
        clauses = self._clauses_of_layers.get(name)
        return Layer(self.restriction, clauses) if clauses else None

    @cached_property
    def _clauses_of_layers(self) -> Mapping[str, Clauses]:
        return clauses_of_layers(self)

    def layer_of(self, family: Family | Operation[..., Any]) -> str:
        """Return the layer of a clause; who sees events at the door goes on from there when the clock has moved."""
        return "door" if family in (tick, ended) and self.opens_windows else layer_of(family)

    def run(self, function: Callable[..., Any], key: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        """Run a clause on the copy for ``key``."""
        return self.run_on(self.copy(key), function, key, arguments)

    def run_on(self, copy: Any, function: Callable[..., Any], key: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        """Run a clause on a copy, that for ``key``."""
        here = running().__dict__
        before, here["copy"] = here.get("copy"), (self, key)
        try:
            return function(copy, *arguments)
        except Exception as error:
            add_place(error, in_clause(function, self.restriction))
            raise
        finally:
            here["copy"] = before


_SEVERAL = Opaque()


def _own(value: Any) -> Any:
    """Return a copy of what a clause might change in place, although it should replace it."""
    return shallow_copy(value) if type(value) in (dict, list, set) else value
