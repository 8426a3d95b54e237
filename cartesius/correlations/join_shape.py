"""The join shape: one correlation at work, as layers of handlers around strands.

    collect        what results become                       yield_, retract_
      trigger      the body: where, yields; and restrictions that see admit
                                                             trigger, admit
        outer      selectors, retracting, …, as written; then the defaults
                                                             select, displace_i, retract_i, completes, …
          product  enumerate the batch, spend uses           push_i
            strands: the rest is installed on every one
              memory     restrictions that see push_i
                remember store the event                     arrive_i, withdraw_i, ended_i
                  gates  restrictions that see arrive_i, withdraw_i, ended_i, tick
                    door windows: restrictions that see enter_i; then pauses
                      strand i: await_ → keys → enter_i(event);   clock strand: await_ → tick

Where no restriction can suspend a strand there are none, but direct calls in their order (`runners`).

This module is over 300 lines because it is where all that a correlation has comes together.

Invariant: between steps nothing runs, no entry is fresh or gone, and all that matters is in the memories, the doors,
the restrictions' copies, the output rows and the shared `World`: plain data.

Source: ICFP 2018, doi:10.1145/3236762, Figures 10 to 14, as SEMANTICS 1.1 to 1.12 corrects them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cartesius.batching.batches import Batch
from cartesius.batching.bindings import Bindings
from cartesius.batching.null_keys import NullKeys
from cartesius.correlations.continuations import held_by
from cartesius.correlations.floors import Floors
from cartesius.correlations.freed_windows import keep_closed, may_give
from cartesius.correlations.gates import number_held
from cartesius.correlations.installations import Installed
from cartesius.correlations.placements import gates_of
from cartesius.correlations.runners import InPlace, OnStrands
from cartesius.correlations.stacks import inner_handlers, outer_handlers
from cartesius.data.entries import ABSENT
from cartesius.effects.operations import check_performed
from cartesius.language.families import Slot, arrive, completes, ended, enter, withdraw
from cartesius.plan import facts
from cartesius.plan.nodes import Retain
from cartesius.results.outputs import Events
from cartesius.results.relations import Relations
from cartesius.rows.deliveries import entry_of
from cartesius.rows.following import note_doors
from cartesius.storage.conservation import Fate
from cartesius.storage.version_memories import NEWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from cartesius.batching.world import World
    from cartesius.correlations.runners import Runner
    from cartesius.data.entries import Entry
    from cartesius.data.events import Event, Time
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive

Answer = TypeVar("Answer")


class Join:
    """One correlation in one engine."""

    def __init__(
        self, pattern: Pattern, name: str, number: int, world: World, share: Callable[[Bindings], None] | None = None
    ) -> None:
        self.pattern = pattern
        self.name = name
        self.number = number
        self.wave = 0  # of deadlines of one time those of an earlier wave are met first, then those of a lower number
        self.world = world
        self.reactives: list[Reactive] = []  # what it computes: the outputs of its pattern, and of all that equal it
        self.is_done = False
        self.is_begun = bool(pattern.slots)  # without inputs there is one result, given before anything else
        self.bindings = Bindings(pattern, world, share)
        self.slots = self.bindings.slots
        self.batch = Batch(self.bindings, name, number, world)
        self.batch.held = self.held
        inside = [
            (restriction, prefix)
            for restriction, prefix in zip(pattern.restrictions, self.bindings.prefixes, strict=True)
            if not facts.is_of_the_door(restriction)
        ]
        self.installed = [
            Installed(restriction, self, number, prefix) for number, (restriction, prefix) in enumerate(inside)
        ]
        self.gates = [gates_of(self.installed, slot) for slot in self.slots]
        for slot, gates in zip(self.slots, self.gates, strict=True):
            slot.ledger.open_gates(len(gates))
        check_performed(pattern.restrictions, "correlate")
        for one in self.installed:
            one.restriction.check(one.slots, tuple([o.restriction for o in self.installed if o is not one]))
        outer = outer_handlers(pattern, self.bindings, self.batch, self.installed, self._is_over)
        self.null_keys = NullKeys(self.bindings, self.batch)
        self.batch.null_keys = self.null_keys
        inner, outside = inner_handlers(self.bindings, self.batch, self.installed, self.let_in)
        self.floors = Floors(self)
        self.suspending = [one.restriction for one in self.installed if one.suspends]
        self.is_in_place = not world.is_reference and not self.suspending
        self.runner: Runner = (
            InPlace(self, outer, inner) if self.is_in_place else OnStrands(self, outer, inner, outside)
        )
        if self.batch.versions is not None:
            keeper = next(one for one in self.installed if facts.versions(one))
            self.batch.versions.notify_at = partial(keeper.notify_at, key=())
        for one in self.installed:
            if self.batch.windows is not None and isinstance(one.node, Retain):
                self.batch.windows.keep = partial(keep_closed, one)
        self.is_table = any(facts.makes_table(one) for one in self.installed)
        self.may_complete_early = any(facts.ends_early(one) for one in self.installed)
        self._openers = [
            [one for one in self.installed if one.starts and one.prefix and slot in one.named] for slot in self.slots
        ]
        self._played: set[int] = set()
        self.runner.build()
        starting = [one for one in self.installed if one.starts and not one.prefix]
        if starting:
            for one in starting:
                self.runner.spawn(partial(one.copy, ()))
            self.runner.under_outer(self.runner.run)
        world.journal.clear()

    @property
    def strands(self) -> OnStrands:
        """The strands, of a correlation that has some."""
        assert isinstance(self.runner, OnStrands)  # Invariant: who asks for them has a ctl clause
        return self.runner

    def drop(self) -> None:
        """Unwind all strands."""
        self.runner.drop()
        for one in self.installed:
            for continuation in held_by(one):
                continuation.drop()

    def come(self, slot: Slot, entry: Entry | None) -> None:
        """Let an event come in, or, if it is None, the end of its slot."""
        if entry is None:
            self.batch.cause = (self.world.clock, self.world.clock)
            ended(slot)
            return
        self.batch.cause = (entry.start, entry.end)
        entry.slot = slot.name
        if not self.bindings.add_keys(slot, entry, partial(self.held, slot)):
            if entry.weight > 0:
                slot.ledger.deliver(Fate.EXPIRED)  # a deletion of no row
            return
        if self.bindings.needed[slot.index] and not self.null_keys.let_in(slot, entry):
            if entry.row_key is ABSENT:
                return
            entry = entry.as_deletion()  # a row whose new value has no key is none
            if not self.bindings.add_keys(slot, entry, partial(self.held, slot)):
                return
        if self.bindings.window_space is not None:
            enter(slot, entry)
        else:
            self.let_in(slot, entry)

    def let_in(self, slot: Slot, entry: Entry) -> None:
        """Let an event that has all its keys come to the gates, unless it must wait at the door."""
        if entry.weight < 0:
            if dropped := slot.door.drop(entry.identity):
                slot.ledger.count(Fate.WITHDRAWN, dropped)
            else:
                self.take_back(slot, entry, Fate.WITHDRAWN)
            return
        slot.ledger.count(Fate.DELIVERED)
        if self.batch.windows is not None and (slot.source, entry.identity) in self.batch.windows.lost:
            slot.ledger.count(Fate.USED_UP)
            return
        for one in self._openers[slot.index]:
            one.copy(one.key_of(slot, entry))
        if not slot.door.holds_back(entry):
            slot.operations[arrive](slot, entry)  # no release: what comes to windows together is one batch

    def way_in(self, slot: Slot) -> tuple[Callable[[Slot, Entry], object], bool]:
        """Return what lets an event of a stream come in that has its keys, and whether that counts the delivery."""
        if self._openers[slot.index] or any(slot in one.pausing for one in self.installed):
            return self.let_in, True
        is_gated = any(slot in one.gated for one in self.installed)
        return (slot.operations[arrive] if is_gated else self.batch.store), False

    def take_back(self, slot: Slot, entry: Entry, fate: Fate) -> None:
        """Let an event be taken back; of what gates held of it, count what becomes of it."""
        before = number_held(self, slot, entry.identity)
        withdraw(slot, entry)
        for gate, (was, now) in enumerate(zip(before, number_held(self, slot, entry.identity), strict=True)):
            slot.ledger.give(gate, was - now)
            slot.ledger.count(fate, was - now)

    def held(self, slot: Slot) -> Iterator[Entry]:
        """Iterate over the events of ``slot`` in the states of restrictions."""
        for one in self.installed:
            yield from (entry for entry in one.held() if entry.slot == slot.name)

    def meet(self, installed: Installed, key: tuple[Any, ...], now: Time) -> None:
        """Let one copy have its tick."""
        self.batch.cause = (now, now)
        installed.ticking(key, now)

    def _is_over(self, arrived: frozenset[int]) -> bool:
        return all(slot.ended for slot in self.slots) and not any(map(may_give, self.installed))

    # -- steps ---------------------------------------------------------------------------------------------------------

    def begin(self) -> list[Event]:
        """Run the step of a correlation without inputs, once."""
        self.world.journal.append(lambda: setattr(self, "is_begun", False))
        self.is_begun = True
        self.batch.cause = (float("-inf"), float("-inf"))
        return self._step(self.batch.begin)

    def batches_of(
        self, coming: Iterable[tuple[Slot, Sequence[Event]]], events: Mapping[Reactive, list[Event]], step: int
    ) -> dict[int, list[Entry]]:
        """Return what comes to slots in a step as entries, by slot, which know at which place they came in.

        Of slots that share a memory the first to get something stores it, and the others get none.
        """
        batches: dict[int, list[Entry]] = {}
        for slot, some in coming:
            if some:
                stores = slot.shared is None or self.is_done or slot.shared.stores(slot)
                batches[slot.index] = [entry_of(slot, event) for event in some] if stores else []
        note_doors(batches, self.slots, step, events)
        return batches

    def deliver(self, batches: Mapping[int, list[Entry]]) -> list[Event]:
        """Run one step with the events of each slot; return what comes out, and set `is_done` if that was the last."""

        def arriving() -> None:
            for index, batch in batches.items():
                if not self.slots[index].ended:
                    self.runner.post(index, batch)

        return self._step(arriving, frozenset(batches))

    def end(self, indexes: Iterable[int]) -> list[Event]:
        """Let slots end: nothing comes on them any more; return what comes out by that."""

        def ending() -> None:
            for index in indexes:
                slot = self.slots[index]
                if not slot.ended:
                    self.world.journal.append(partial(setattr, slot, "ended", False))
                    slot.ended = True
                    self.runner.post(index, [None])

        return self._step(ending)

    def tick(self, installed: Installed, key: tuple[Any, ...], now: Time) -> list[Event]:
        """Run one step for a deadline of one copy; once it is done, only what forgets goes on."""
        if self.is_done and may_give(installed):
            return []
        return self._run(lambda: self.runner.ring(installed, key, now))

    def play(self, slot: Slot) -> None:
        """Note that events may be released at a slot's door once the present step is over."""
        self._played.add(slot.index)

    @property
    def has_played(self) -> bool:
        """Whether events may be released at a door."""
        return bool(self._played)

    def release(self) -> list[Event] | None:
        """Run one step with the next event released at a door, in slot order; None if there is none.

        Once all is over what waits goes on waiting: nobody would take it.
        """
        if self.is_done:
            self._played.clear()
        for index in sorted(self._played):
            slot = self.slots[index]
            entry = slot.door.release()
            if entry is not None:
                self.batch.cause = (entry.start, entry.end)
                return self._step(partial(self.runner.spawn, partial(arrive, slot, entry)), frozenset((index,)))
            self._played.discard(index)
        return None

    def close(self, window: tuple[Any, ...], heir: tuple[Any, ...] | None, *, displaces: bool) -> None:
        """Forget the copies in a window, and the rows that come from it, unless they are taken back.

        Args:
            window: The window, behind the keys to its left.
            heir: The same under other keys, which is still open: rows that come from both are forgotten with that.
            displaces: Whether its events are displaced.
        """
        for one in self.installed:
            one.close(window)
        assert self.batch.windows is not None  # Invariant: who closes a window has opened it
        self.batch.windows.close(window, heir, displaces=displaces)

    def commit(self) -> None:
        """End the batch."""
        for one in self.installed:
            one.released.clear()
        self.batch.commit()

    def _step(self, work: Callable[[], object], arrived: frozenset[int] = frozenset()) -> list[Event]:
        return [] if self.is_done else self._run(work, arrived)

    def _run(self, work: Callable[[], object], arrived: frozenset[int] = frozenset()) -> list[Event]:
        def run() -> list[Event]:
            work()
            self.runner.run()
            for index in sorted(arrived):
                self.batch.share(self.slots[index])
            self.commit()
            may_be_over = self.may_complete_early or not self.slots or any(slot.ended for slot in self.slots)
            if may_be_over and not self.is_done and self.bindings.operations[completes](arrived):
                self.world.journal.append(lambda: setattr(self, "is_done", False))
                self.is_done = True
            return self.settle()

        return self.runner.under_outer(run)

    def settle(self) -> list[Event]:
        """End a step; return what it gives."""
        self.batch.is_behind = False  # what comes next, and whoever asks between steps, goes by the clock again
        events = self.batch.output.settle()
        if self.world.provenance is not None:
            self.world.provenance.given(events)
        return events

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the row of ``key`` in a tuple, or the empty tuple; only of a table."""
        output = self.batch.output
        assert not isinstance(output, Events | Relations)
        return self._looking(lambda: self.runner.under_outer(partial(output.row, key)))

    def rows(self) -> dict[Any, Any]:
        """Return the rows; only of a table."""
        output = self.batch.output
        assert not isinstance(output, Events | Relations)
        return self._looking(lambda: self.runner.under_outer(output.rows))

    def _looking(self, read: Callable[[], Answer]) -> Answer:
        """Read at the moment that is looked at, or else the newest."""
        versions = self.batch.versions
        if versions is None or versions.moment.at is not None:
            return read()
        found: Answer = versions.looking_at(NEWEST, read)
        return found

    def rebuild(self) -> None:
        """Begin anew from the state, after a failure or a restore."""
        self.batch.clear()
        self._played.clear()
        for slot in self.slots:
            slot.memory.restore_order()
        for one in self.installed:
            one.restore_order()
            one.released.clear()
            one.reconsidered.clear()
        self.runner.build()
