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

Invariant: between steps every strand is parked at its inbox, no entry is fresh or gone, and all that matters is in the
memories, the doors, the restrictions' copies, the output rows and the shared `World`: plain data.

This module is over 300 lines because the layers and the steps that run through them are read together; what they do is
in `batches`, `stacks`, `installations` and `strands`.

Source: ICFP 2018, doi:10.1145/3236762, Figures 10 to 14, as SEMANTICS 1.1 to 1.12 corrects them.
"""

from __future__ import annotations

import weakref
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cartesius.batches import Batch
from cartesius.bindings import Bindings
from cartesius.continuations import held_by
from cartesius.families import Slot, arrive, completes, ended, enter, withdraw
from cartesius.handlers import Composed, handle
from cartesius.installations import Installed
from cartesius.operations import check_performed
from cartesius.outputs import Events
from cartesius.relations import Relations
from cartesius.stacks import inner_handlers, outer_handlers
from cartesius.strands import Future, Strands, await_
from cartesius.versions import NEWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cartesius.continuations import Continuation
    from cartesius.entries import Entry
    from cartesius.events import Event, Time
    from cartesius.patterns import Pattern
    from cartesius.reactives import Reactive
    from cartesius.world import World

_FINISHED = object()
Answer = TypeVar("Answer")


class Join:
    """One correlation in one engine."""

    def __init__(
        self, pattern: Pattern, name: str, number: int, world: World, share: Callable[[Bindings], None] | None = None
    ) -> None:
        self.pattern = pattern
        self.name = name
        self.number = number
        self.world = world
        self.reactives: list[Reactive] = []  # what it computes: the outputs of its pattern, and of all that equal it
        self.is_done = False
        self.is_begun = bool(pattern.slots)  # without inputs there is one result, given before anything else
        self.strands = Strands()
        self.bindings = Bindings(pattern, world, share)
        self.slots = self.bindings.slots
        self.batch = Batch(self.bindings, name, number, world)
        self.batch.held = self.held
        self.installed = [
            Installed(restriction, self, place, self.bindings.prefixes[place])
            for place, restriction in enumerate(pattern.restrictions)
        ]
        check_performed(pattern.restrictions, "correlate")
        for one in self.installed:
            one.check(tuple(other.restriction for other in self.installed if other is not one))
        self.outer = outer_handlers(pattern, self.bindings, self.batch, self.installed, self._is_over)
        self.inner, self._outside = inner_handlers(self.bindings, self.batch, self.installed, self.let_in)
        if self.batch.versions is not None:
            keeper = next(one for one in self.installed if one.restriction.keeps_versions)
            self.batch.versions.notify_at = partial(keeper.notify_at, key=())
        self.is_table = any(one.restriction.makes_table for one in self.installed)
        self._completes_early = any(one.restriction.completes_early for one in self.installed)
        self._openers = [
            [one for one in self.installed if one.starts and one.prefix and slot in one.named] for slot in self.slots
        ]
        self._played: set[int] = set()
        self._continuations: dict[int, list[weakref.ref[Continuation]]] = {}
        self._build_strands()
        for one in self.installed:
            if one.starts and not one.prefix:
                self._under_all(partial(one.copy, ()))
        world.journal.clear()

    # -- building ------------------------------------------------------------------------------------------------------

    def _build_strands(self) -> None:
        self.strands.drop()
        self.strands = Strands()
        self.mail: list[deque[Entry | None]] = [deque() for _ in self.slots]
        self.inboxes: list[Future[Any]] = [Future(slot.name) for slot in self.slots]
        self.alarm: Future[Any] = Future("the clock")
        for slot in self.slots:
            if not slot.ended:
                self.strands.spawn(partial(self._keep_strand, slot))
        self.strands.spawn(partial(handle, self.inner, self._clock_strand))
        handle(self.outer, self.strands.run)

    def _under_all(self, thunk: Callable[[], object]) -> None:
        handle(self.outer, lambda: handle(self.inner, thunk))

    # -- strands -------------------------------------------------------------------------------------------------------

    def _keep_strand(self, slot: Slot) -> None:
        """Run the strand of a slot; begin it anew when a ctl clause has abandoned it, and with it the one event."""
        while handle(self.inner, partial(self._strand, slot)) is not _FINISHED:
            if self._held_of(slot.index):
                return  # a continuation is held: the rest of the strand is its

    def note_continuation(self, continuation: Continuation, of: object) -> None:
        """Note a continuation that a ctl clause has been given, of the strand of a slot."""
        if isinstance(of, Slot):
            self._continuations[of.index] = [*self._held_of(of.index), weakref.ref(continuation)]

    def _held_of(self, index: int) -> list[weakref.ref[Continuation]]:
        given = self._continuations.get(index, ())
        return [reference for reference in given if (one := reference()) is not None and not one.used]

    def _strand(self, slot: Slot) -> object:
        while (entry := self._next_mail(slot)) is not None:
            self.batch.cause = (entry.start, entry.end)
            self._enter(slot, entry)
        self.batch.cause = (self.world.clock, self.world.clock)
        ended(slot)
        return _FINISHED

    def _next_mail(self, slot: Slot) -> Entry | None:
        """Suspend until there is mail for ``slot``: an event, or None for its end."""
        while not self.mail[slot.index]:
            await_(self.inboxes[slot.index])
            self.inboxes[slot.index] = Future(slot.name)
        return self.mail[slot.index].popleft()

    def _post(self, index: int, mail: Iterable[Entry | None]) -> None:
        """Leave mail for a strand, which may be suspended elsewhere by a ctl clause: then it finds it later."""
        self.mail[index].extend(mail)
        if not self.inboxes[index].is_resolved:
            self.inboxes[index].resolve(None)

    def go_on_later(self, installed: Installed, layer: str, continuation: Callable[[], None]) -> None:
        """Let a continuation that was held go on as a strand of its own, under the handlers outside that layer."""
        self.strands.spawn(partial(handle, Composed(self._outside[installed, layer]), continuation))

    def drop(self) -> None:
        """Unwind all strands: what they suspend refers to itself, and would never be collected."""
        self.strands.drop()
        for one in self.installed:
            for continuation in held_by(one):
                continuation.drop()

    def _enter(self, slot: Slot, entry: Entry) -> None:
        """Let an event in through the door of its slot, or queue it there."""
        entry.slot = slot.name
        if not self.bindings.add_keys(slot, entry, partial(self.held, slot)):
            return
        if self.bindings.window_space is not None:
            enter(slot, entry)
        else:
            self.let_in(slot, entry)

    def let_in(self, slot: Slot, entry: Entry) -> None:
        """Let an event that has all its keys come to the gates, unless it must wait at the door."""
        if entry.weight < 0:
            if not slot.door.drop(entry.identity):
                withdraw(slot, entry)
            return
        if self.batch.windows is not None and (slot.source, entry.identity) in self.batch.windows.lost:
            return
        for one in self._openers[slot.index]:
            one.copy(one.key_of(slot, entry))
        if not slot.door.holds_back(entry):
            slot.operations[arrive](slot, entry)  # no release: what comes to windows together is one batch

    def held(self, slot: Slot) -> Iterator[Entry]:
        """Iterate over the events of ``slot`` in the states of restrictions."""
        for one in self.installed:
            yield from (entry for entry in one.held() if entry.slot == slot.name)

    def _clock_strand(self) -> None:
        while True:
            installed, key, now = await_(self.alarm)
            self.alarm = Future("the clock")
            self.batch.cause = (now, now)
            installed.ticking(key, now)

    def _is_over(self, arrived: frozenset[int]) -> bool:
        return all(slot.ended for slot in self.slots) and not any(one.due for one in self.installed)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def begin(self) -> list[Event]:
        """Run the step of a correlation without inputs, once."""
        self.is_begun = True
        self.world.journal.append(lambda: setattr(self, "is_begun", False))
        self.batch.cause = (float("-inf"), float("-inf"))
        return self._step(self.batch.begin)

    def deliver(self, batches: Mapping[int, list[Entry]]) -> list[Event]:
        """Run one step with the events of each slot; return what comes out, and set `is_done` if that was the last."""

        def arriving() -> None:
            for index, batch in batches.items():
                if not self.slots[index].ended:
                    self._post(index, batch)

        return self._step(arriving, frozenset(batches))

    def end(self, indexes: Iterable[int]) -> list[Event]:
        """Let slots end: nothing comes on them any more; return what comes out by that."""

        def ending() -> None:
            for index in indexes:
                slot = self.slots[index]
                if not slot.ended:
                    slot.ended = True
                    self.world.journal.append(partial(setattr, slot, "ended", False))
                    self._post(index, [None])

        return self._step(ending)

    def tick(self, installed: Installed, key: tuple[Any, ...], now: Time) -> list[Event]:
        """Run one step for a deadline of one copy."""
        return self._step(lambda: self.alarm.resolve((installed, key, now)))

    def play(self, slot: Slot) -> None:
        """Note that events may be released at a slot's door once the present step is over."""
        self._played.add(slot.index)

    @property
    def has_played(self) -> bool:
        """Whether events may be released at a door."""
        return bool(self._played)

    def release(self) -> list[Event] | None:
        """Run one step with the next event released at a door, in slot order; None if there is none."""
        for index in sorted(self._played):
            slot = self.slots[index]
            entry = slot.door.release()
            if entry is not None:
                self.batch.cause = (entry.start, entry.end)
                released = partial(handle, self.inner, partial(arrive, slot, entry))
                return self._step(partial(self.strands.spawn, released), frozenset((index,)))
            self._played.discard(index)
        return None

    def close(self, window: tuple[Any, ...], *, displaces: bool) -> None:
        """Forget the copies in a window, and the rows that come from it, unless they are taken back."""
        for one in self.installed:
            one.close(window)
        assert self.batch.windows is not None  # Invariant: who closes a window has opened it
        self.batch.windows.close(window, displaces=displaces)

    def commit(self) -> None:
        """End the batch."""
        for one in self.installed:
            one.released.clear()
        self.batch.commit()

    def _step(self, work: Callable[[], object], arrived: frozenset[int] = frozenset()) -> list[Event]:
        if self.is_done:
            return []

        def run() -> list[Event]:
            self.batch.is_behind = False
            work()
            self.strands.run()
            for index in sorted(arrived):
                self.batch.share(self.slots[index])
            self.commit()
            may_be_over = self._completes_early or not self.slots or any(slot.ended for slot in self.slots)
            if may_be_over and self.bindings.operations[completes](arrived):
                self.is_done = True
                self.world.journal.append(lambda: setattr(self, "is_done", False))
            events = self.batch.output.settle()
            if self.world.provenance is not None:
                self.world.provenance.given(events)
            return events

        return handle(self.outer, run)

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the row of ``key`` in a tuple, or the empty tuple; only of a table."""
        output = self.batch.output
        assert not isinstance(output, Events | Relations)
        return self._looking(lambda: handle(self.outer, partial(output.row, key)))

    def rows(self) -> dict[Any, Any]:
        """Return the rows; only of a table."""
        output = self.batch.output
        assert not isinstance(output, Events | Relations)
        return self._looking(lambda: handle(self.outer, output.rows))

    def _looking(self, read: Callable[[], Answer]) -> Answer:
        """Read at the moment that is looked at, or else the newest."""
        versions = self.batch.versions
        if versions is None or versions.moment.at is not None:
            return read()
        found: Answer = versions.looking_at(NEWEST, read)
        return found

    def rebuild(self) -> None:
        """Make the strands anew from the state, after a failure or a restore."""
        self.batch.clear()
        self._played.clear()
        for slot in self.slots:
            slot.memory.restore_order()
        for one in self.installed:
            one.restore_order()
            one.released.clear()
            one.reconsidered.clear()
        self._build_strands()
