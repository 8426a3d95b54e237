"""Steps: how a push, a deadline or an end runs through the correlations of a program.

A step runs every correlation once, in topological order, with all that its inputs gave in the step as one batch: no
glitch, nothing twice. What is done in one call is atomic.

Source: SEMANTICS 1.1, 1.12 and 3.10.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from cartesius.batching.world import OF_NONE
from cartesius.correlations.continuations import holders
from cartesius.correlations.gates import count_late
from cartesius.effects.evidence import put_back
from cartesius.errors import InvalidArgument
from cartesius.programs.alternatives import Sharing
from cartesius.programs.doors import check_usable
from cartesius.programs.failures import failure_in, noted
from cartesius.programs.give_ups import GiveUps
from cartesius.rows.deliveries import concerning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.batching.world import World
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event, Time
    from cartesius.language.reactives import Reactive
    from cartesius.programs.programs import Program

Found = TypeVar("Found")
MOST_DEADLINES = 100_000
"""How many deadlines one copy of a restriction may ask for, and get, during one move of the clock."""


class Steps:
    """Runs the steps of a program."""

    def __init__(self, program: Program, world: World) -> None:
        self.program = program
        self.world = world
        self.is_running = False
        self.given_up = GiveUps()
        self.broken_by = ""  # the restrictions that held a continuation while a push failed

    def atomically(self, work: Callable[[], list[Event]]) -> list[Event]:
        """Do ``work``, or undo all of it; once it is done the journal is open until the caller knows of the results."""
        self.check_idle("push")
        before, restore_handlers = self.world.begin(), put_back()
        try:
            self.is_running = True
            out = work()
            self.world.journal.is_open = True  # there is no way back any more
        except BaseException:
            is_torn, self.world.journal.is_open, self.is_running = self.world.journal.is_open, True, False
            restore_handlers()
            if not is_torn:
                self.undo(before)
            raise
        self.is_running = False
        self.world.finish()
        return out

    def undo(self, before: tuple[Any, ...]) -> None:
        """Undo all that was done since `World.begin` has returned ``before``; the journal is open, and is closed."""
        self.world.roll_back(before)
        self.broken_by = " and ".join([holder for join in self.program.joins for holder in holders(join)])
        for join in self.program.joins:
            join.rebuild()
        self.world.journal.is_open = False

    @property
    def over(self) -> int:
        """How many correlations have completed."""
        return sum([join.is_done for join in self.program.joins])

    def check_idle(self, call: str) -> None:
        """Raise `InvalidArgument` while a step is running, and `EngineBroken` if one was not undone."""
        check_usable(call, is_running=self.is_running, is_torn=self.world.journal.is_open, broken_by=self.broken_by)

    def drop(self) -> None:
        """Unwind the strands of all correlations."""
        self.program.drop()

    def begin(self) -> list[Event]:
        """Run the step of the correlations without inputs, before anything else."""
        if all(join.is_begun for join in self.program.joins):
            return []
        return self.propagate({}, set())

    def move_clock(self, time: Time) -> list[Event]:
        """Run a step for each deadline below ``time``, in order, and set the clock."""
        deadlines = self.world.deadlines
        if not deadlines.floored and not (deadlines.heap and deadlines.heap[0][0] < time):
            self.world.clock = max(self.world.clock, time)  # as most often: between steps nothing else is asked for
            return []
        out: list[Event] = []
        asked: Counter[tuple[Installed, tuple[Any, ...]]] = Counter()
        before = deadlines.number
        while True:
            stop = deadlines.next_stop(self.world.clock)
            due = deadlines.pop(min(time, stop + 1))
            if due is None and stop >= time:
                deadlines.present = None
                self.world.clock = max(self.world.clock, time)
                out = self.finished(out)
                if deadlines.floored and deadlines.heap and deadlines.heap[0][0] < time:
                    continue  # what floors have let go was asked for a time that is past
                return out
            deadline = int(stop) if due is None else due[0]
            self.world.clock = max(self.world.clock, deadline + 1)
            deadlines.present = max(deadline, deadlines.present or deadline)
            if due is None:
                out += self.finished([])
                continue
            _, _, _, installed, key = due
            if deadlines.is_later(due, before):  # asked for during this move
                self._check_ends(installed, key, asked)
            with noted(due):
                out += self.propagate(*self._tick(installed, key, deadline + 1))

    def _tick(
        self, installed: Installed, key: tuple[Any, ...], now: Time
    ) -> tuple[dict[Reactive, list[Event]], set[Reactive]]:
        """Run a step for one copy; return what comes out, of which reactive, and whether that has completed."""
        self.world.steps += 1
        join = installed.join
        return self._with_siblings(join, self._blaming(join, lambda: join.tick(installed, key, now)))

    def _blaming(self, join: Join, work: Callable[[], Found]) -> Found:
        """Do ``work`` of a correlation; if it raises, note where that was."""
        try:
            return work()
        except Exception:
            self.world.failure = failure_in(self.program, join, self.world.deadlines.present)
            raise

    def _check_ends(self, installed: Installed, key: tuple[Any, ...], asked: Counter[Any]) -> None:
        """Refuse a restriction that asks for deadlines without end: the clock could not move past them."""
        asked[installed, key] += 1
        if asked[installed, key] > MOST_DEADLINES:
            message = (
                f"{installed.restriction!r}: expected deadlines that come to an end but one copy has asked for"
                f" {MOST_DEADLINES} in one move of the clock; ask for the next only when an event comes"
            )
            raise InvalidArgument(message)

    def set_aside_late(self, reactive: Reactive, event: Event) -> frozenset[tuple[Join, int]] | None:
        """Set an event aside that comes too late for some slots, with the reason; return those slots, None if all."""
        clock, bound = self.world.clock, self.program.bound.get(reactive, [])
        show = self.world.calendar.time
        reason = f"its end {show(event.end)} is before the clock {show(clock)}"
        too_late = [(join, index) for join, index in bound if not join.slots[index].takes_late(event.end, clock)]
        count_late(too_late)
        if not any(join.slots[index].keeps_late for join, index in bound):
            self.world.set_aside((event, self.program.names[reactive], reason), OF_NONE)
            return None
        for slot in [join.slots[index] for join, index in too_late]:
            kind = "lateness" if slot.lateness else "retention"
            kept = f" by more than the {kind} {slot.retention}" if slot.keeps_late else ""
            self.world.set_aside((event, slot.name, reason + kept), OF_NONE)
        return None if len(too_late) == len(bound) else frozenset(too_late)

    def propagate(
        self,
        events: dict[Reactive, list[Event]],
        ended: set[Reactive],
        without: frozenset[tuple[Join, int]] = frozenset(),
    ) -> list[Event]:
        """Run one step, and then one for each event that is released at a door by it, or tick that it asks for.

        Args:
            events: What comes.
            ended: What ends.
            without: The slots for which what comes is too late.
        """
        return self.finished(self._step(events, ended, without))

    def begin_anew(
        self, joins: Sequence[Join], events: dict[Reactive, list[Event]], ended: set[Reactive]
    ) -> list[Event]:
        """Run the first step of correlations that have come while others were at work; return what outputs emit."""
        self.world.steps += 1
        self._visit(joins, events, ended)
        return self.finished(self._emitted(events))

    def finished(self, out: list[Event]) -> list[Event]:
        """Run a step for each event released at a door, tick asked for, and deadline that floors have passed."""
        deadlines = self.world.deadlines
        while True:
            released = self._release() if any([join.has_played for join in self.program.joins]) else None
            if released is not None:
                out += self._step(*self._with_siblings(*released))
            elif deadlines.soon:
                out += self._step(*self._tick(*deadlines.soon.popleft(), self.world.clock))
            elif deadlines.floored and (due := deadlines.pop_passed()) is not None:
                with noted(due):
                    out += self._step(*self._tick(due[3], due[4], due[0] + 1))
            else:
                return out

    def _release(self) -> tuple[Join, list[Event]] | None:
        for join in self.program.joins:
            events = self._blaming(join, join.release)
            if events is not None:
                return join, events
        return None

    def _with_siblings(self, join: Join, found: list[Event]) -> tuple[dict[Reactive, list[Event]], set[Reactive]]:
        """Return what comes out of a correlation, and of the alternatives that lose by it; and what has completed."""
        events: dict[Reactive, list[Event]] = {}
        ended: set[Reactive] = set()
        self._note(join, found, events, ended)
        self._settle(Sharing(self.program.groups), join, events, ended)
        return events, ended

    def _note(self, join: Join, found: list[Event], events: dict[Reactive, list[Event]], ended: set[Reactive]) -> None:
        """Note what a correlation has given to all that it stands for."""
        for reactive in join.reactives:
            events[reactive] = [*events.get(reactive, ()), *found]
        if join.is_done:
            ended.update(join.reactives)
            self.program.take_over(join)

    def _settle(self, sharing: Sharing, join: Join, events: dict[Reactive, list[Event]], ended: set[Reactive]) -> None:
        """Let the other alternatives lose what a correlation has consumed in a step."""
        for other, more in sharing.settle(join):
            self._note(other, more, events, ended)

    def _step(
        self,
        events: dict[Reactive, list[Event]],
        ended: set[Reactive],
        without: frozenset[tuple[Join, int]] = frozenset(),
    ) -> list[Event]:
        """Run every correlation once, in topological order, with what its inputs gave."""
        self.world.steps += 1
        for table, kept in self.program.kept.items():
            if table in events and not without:
                events[table] = [kept.change(event) for event in events[table]]
        self._visit(self.program.joins, events, ended, without)
        return self._emitted(events)

    def _visit(
        self,
        joins: Sequence[Join],
        events: dict[Reactive, list[Event]],
        ended: set[Reactive],
        without: frozenset[tuple[Join, int]] = frozenset(),
    ) -> None:
        given, sharing = set(events), Sharing(self.program.groups)
        for join in joins:
            if join.reactives[0] in given:
                continue
            is_concerned = any([slot.reactive in events or slot.reactive in ended for slot in join.slots])
            if join.is_begun and not join.is_done and not is_concerned:
                continue
            coming = [
                (slot, sharing.left(join, slot, concerning(slot, events[slot.reactive])))
                for slot in join.slots
                if slot.reactive in events and (join, slot.index) not in without
            ]
            batches = join.batches_of(coming, events, self.world.steps)
            produced = [] if join.is_begun else self._blaming(join, join.begin)
            if batches:
                produced += self._blaming(join, partial(join.deliver, batches))
            ending = [slot.index for slot in join.slots if slot.reactive in ended and not slot.ended]
            if ending and not join.is_done:
                produced += self._blaming(join, partial(join.end, ending))
            if produced or join.is_done:
                self._note(join, produced, events, ended)
            self._settle(sharing, join, events, ended)
        for shared in self.program.shared:
            shared.settle()

    def _emitted(self, events: Mapping[Reactive, list[Event]]) -> list[Event]:
        """Return what the outputs emit, each under its own name."""
        return [
            event if event.reactive == name else attrs.evolve(event, reactive=name)
            for output in self.program.outputs
            for name in (self.program.names[output],)
            for event in events.get(output, ())
        ]
