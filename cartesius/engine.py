"""The engine: runs correlations in one process. Push events in, get the results that they cause.

A push is synchronous and atomic: all of it is done when `Engine.push` returns, and if a body fails, nothing of it is. A
step runs the correlations in topological order, each once, with all that its inputs gave in the step as one batch.

Invariant: between calls every strand is parked, and the state is plain data.

Source: SEMANTICS 1.1, 1.11, 1.12 and 3.1.
"""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.codec import decode, encode, storable
from cartesius.errors import InvalidArgument, SnapshotMismatch, WrongThread
from cartesius.events import LATEST, Delete, Event, Update
from cartesius.explanations import explain
from cartesius.fingerprints import fingerprint
from cartesius.join_shape import Join
from cartesius.memories import Entry
from cartesius.outputs import Rows
from cartesius.reactives import UNDECLARED, Reactive, check_reactive
from cartesius.records import wrap
from cartesius.snapshots import entries_in, load_join, load_world, save_join, save_world
from cartesius.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cartesius.events import Time

MICROSECOND = timedelta(microseconds=1)
At: TypeAlias = "int | tuple[int, int] | None"
Batch: TypeAlias = "dict[int, dict[int, list[Entry]]]"  # join number -> slot index -> entries


@attrs.frozen
class Stats:
    """What an engine holds and has done.

    Args:
        events: Events pushed.
        tuples: Candidates of positive weight that reached a body.
        retained: Entries in memory.
        waiting: Events held by gates or queued.
        slots: (retained, waiting) of each slot, by (name of the correlation, name of the slot).
    """

    events: int
    tuples: int
    retained: int
    waiting: int
    slots: Mapping[tuple[str, str], tuple[int, int]]


class Engine:
    """Runs correlations in one process.

    >>> from cartesius import Engine, Reactive
    >>> from restrictions import combine_latest
    >>> left, right = Reactive("left"), Reactive("right")
    >>> engine = Engine(combine_latest(left, right))
    >>> engine.push(left, "L", at=1)
    []
    >>> engine.push(right, "R", at=2)
    [Event(value=('L', 'R'), start=1, end=2, weight=1, reactive='combine_latest(left, right)')]

    Args:
        *outputs: The reactives whose events are wanted; the inputs are found from them.
        unit: What one unit of time means, for durations given as `timedelta`; by default a microsecond.
        lateness: How far the clock stays behind the latest end seen, in time units or as `timedelta`; None: it moves by
            `advance` alone.
        durable: Whether a value that no snapshot can hold is refused already when it is pushed.

    Raises:
        InvalidArgument: No output, something else than a reactive, or two inputs of one name.
    """

    def __init__(
        self,
        *outputs: Reactive,
        unit: timedelta = MICROSECOND,
        lateness: int | timedelta | None = None,
        durable: bool = False,
    ) -> None:
        if not outputs:
            message = "Engine: expected one or more reactives to compute but got none; write Engine(reactive)"
            raise InvalidArgument(message)
        self.outputs = tuple(check_reactive(output, "Engine", "output") for output in outputs)
        self._thread = threading.get_ident()
        self._world = World(unit)
        self._lateness = None if lateness is None else self._world.units(lateness, "Engine", "lateness")
        self._durable = durable
        self.inputs: dict[str, Reactive] = {}
        self.names: dict[Reactive, str] = {}
        self._joins: list[Join] = []
        self._join_of: dict[Reactive, Join] = {}
        self._bound: dict[Reactive, list[tuple[Join, int]]] = {}
        for output in self.outputs:
            self._add(output)
        self._events = 0
        self._latest: Time = 0
        self._ended: set[Reactive] = set()

    # -- the program ---------------------------------------------------------------------------------------------------

    def _add(self, reactive: Reactive) -> None:
        if reactive in self.names:
            return
        pattern = reactive.pattern
        if pattern is None:
            if self.inputs.setdefault(reactive.name, reactive) is not reactive:
                message = (
                    f"Engine: expected inputs with different names but two are called {reactive.name!r}; rename one"
                )
                raise InvalidArgument(message)
            self.names[reactive] = reactive.name
            if reactive.type is not None:
                storable(reactive.type)
            return
        for source in pattern.slots.values():
            self._add(source)
        taken = set(self.names.values())
        name, number = reactive.name, 1
        while name in taken:
            number += 1
            name = f"{reactive.name}#{number}"
        self.names[reactive] = name
        join = Join(pattern, name, len(self._joins), self._world)
        self._joins.append(join)
        self._join_of[reactive] = join
        for slot in join.slots:
            self._bound.setdefault(slot.reactive, []).append((join, slot.index))
        if reactive.type is not None:
            storable(reactive.type)

    def _program(self) -> str:
        joins = [join.pattern.describe(self.names) for join in self._joins]
        outputs = ", ".join(self.names[output] for output in self.outputs)
        return "\n".join([*joins, f"outputs {outputs}; unit {self._world.unit}; lateness {self._lateness}"])

    def explain(self) -> str:
        """Say, before anything runs, what the engine does: restrictions, memory bounds, indexes, what did not trace."""
        return explain(self._joins, self.names)

    # -- running -------------------------------------------------------------------------------------------------------

    def push(self, reactive: Reactive, value: Any, at: At = None) -> list[Event]:
        """Push an event; return what the outputs emit because of it.

        Args:
            reactive: An input of the engine.
            value: The payload. On a table an `Update` or a `Delete`, or a bare row if the reactive declares its key.
            at: When, in time units, or an interval (start, end); by default one after the latest time seen.

        Raises:
            InvalidArgument: An unknown or ended input, a wrong time, or no change of a table.
            NotStorable: In a durable engine, a value that no snapshot can hold.
            WrongThread: Called by another thread than the one that built the engine.
        """
        self._check_thread()
        self._check_input(reactive, "push")
        if reactive in self._ended:
            message = (
                f"push: expected an input that goes on but {reactive.name!r} has ended; push before end() or close()"
            )
            raise InvalidArgument(message)
        start, end = self._times(at)
        value = self._checked(reactive, value)
        if self._durable:
            encode(value)
        before = (self._events, self._latest)
        event = Event(value, start, end, 1, reactive.name, (reactive.name, self._events + 1))

        def work() -> list[Event]:
            self._events += 1
            self._latest = max(self._latest, end)
            out: list[Event] = []
            if self._lateness is not None:
                out += self._move_clock(max(self._world.clock, self._latest - self._lateness))
            if end < self._world.clock:
                reason = f"its end {end} is before the clock {self._world.clock}"
                self._world.late.append((event, reactive.name, reason))
                return out
            return out + self._propagate({reactive: [event]}, set())

        try:
            return self._atomically(work)
        except Exception as error:
            self._events, self._latest = before
            slots = ", ".join(f"slot {join.slots[index].name!r} of {join.name}" for join, index in self._bound[reactive])
            error.add_note(f"while pushing {value!r} at {start}..{end} into {reactive.name!r} ({slots})")
            raise

    def advance(self, time: int) -> list[Event]:
        """Promise that no event with an end before ``time`` comes any more; return what is decided by that.

        The clock never goes back: an earlier ``time`` changes nothing.
        """
        self._check_thread()
        if isinstance(time, bool) or not isinstance(time, int):
            message = f"advance: expected a time, an int of time units, but got {time!r} (type={type(time).__name__})"
            raise InvalidArgument(message)
        return self._atomically(lambda: self._move_clock(time))

    def end(self, reactive: Reactive) -> list[Event]:
        """Declare that an input has ended: nothing comes on it any more."""
        self._check_thread()
        self._check_input(reactive, "end")
        return self._end([reactive])

    def close(self) -> list[Event]:
        """End all inputs and move the clock past everything; return what is decided by that."""
        self._check_thread()
        out = self._atomically(lambda: self._move_clock(LATEST))
        return out + self._end(self.inputs.values())

    def _end(self, reactives: Iterable[Reactive]) -> list[Event]:
        ended = set(self._ended)
        self._ended |= set(reactives)
        try:
            return self._atomically(lambda: self._propagate({}, set(self._ended)))
        except Exception:
            self._ended = ended
            raise

    @property
    def done(self) -> bool:
        """Whether the outputs have completed: they emit nothing any more."""
        return all(
            output in self._ended or (output in self._join_of and self._join_of[output].is_done)
            for output in self.outputs
        )

    def _atomically(self, work: Callable[[], list[Event]]) -> list[Event]:
        before = self._world.begin()
        try:
            out = work()
        except BaseException:
            self._world.roll_back(before)
            for join in self._joins:
                join.rebuild()
            raise
        self._world.finish()
        return out

    def _move_clock(self, time: Time) -> list[Event]:
        out: list[Event] = []
        while (due := self._world.deadlines.pop(time)) is not None:
            deadline, installed, key = due
            self._world.clock = max(self._world.clock, deadline + 1)
            join = installed.join
            derived = {reactive: join_ for reactive, join_ in self._join_of.items() if join_ is join}
            events = join.tick(installed, key, deadline + 1)
            (reactive,) = derived
            done = {reactive} if join.is_done else set[Reactive]()
            out += self._propagate({reactive: events}, done)
        self._world.clock = max(self._world.clock, time)
        return out

    def _propagate(self, events: dict[Reactive, list[Event]], ended: set[Reactive]) -> list[Event]:
        """Run one step: every correlation once, in topological order, with what its inputs gave."""
        for reactive, join in self._join_of.items():
            if reactive in events:
                continue
            was_done = join.is_done
            batches = {
                slot.index: [self._entry(slot.reactive, event) for event in events[slot.reactive]]
                for slot in join.slots
                if events.get(slot.reactive)
            }
            produced = join.deliver(batches) if batches else []
            ending = [slot.index for slot in join.slots if slot.reactive in ended and not slot.ended]
            if ending and not join.is_done:
                join.end(ending)
            if produced:
                events[reactive] = produced
            if join.is_done and not was_done:
                ended.add(reactive)
        return [event for output in self.outputs for event in events.get(output, ())]

    def _entry(self, reactive: Reactive, event: Event) -> Entry:
        value = event.value
        entry = Entry(value, event.start, event.end, event.identity, weight=event.weight)
        if reactive.table:
            entry.row_key = value.key
            entry.identity = (self.names[reactive], value.key)
            entry.deletes = isinstance(value, Delete)
            entry.value = None if entry.deletes else value.value
        return entry

    def _times(self, at: At) -> tuple[Time, Time]:
        if at is None:
            time = self._latest + 1
            return time, time
        start, end = at if isinstance(at, tuple) else (at, at)
        for time in (start, end):
            if isinstance(time, bool) or not isinstance(time, int):
                message = f"push: expected a time, an int of time units, but got at={at!r} (type={type(time).__name__})"
                raise InvalidArgument(message)
        if start > end:
            message = f"push: expected an interval with start ≤ end but got at={at!r}; swap them"
            raise InvalidArgument(message)
        return start, end

    def _checked(self, reactive: Reactive, value: Any) -> Any:
        if not reactive.table:
            return wrap(value)
        if isinstance(value, Update):
            return Update(value.key if reactive.key is not None else (), wrap(value.value))
        if isinstance(value, Delete):
            return value if reactive.key is not None else Delete(())
        if reactive.key is UNDECLARED:
            message = (
                f"push: expected an Update or a Delete for the table {reactive.name!r} but got {value!r}"
                f" (type={type(value).__name__}); write Update(key, value)"
            )
            raise InvalidArgument(message)
        row = wrap(value)
        if reactive.key is None:
            return Update((), row)
        try:
            return Update(getattr(row, reactive.key), row)
        except AttributeError as error:
            message = f"push: expected a row with the key {reactive.key!r} for the table {reactive.name!r}; {error}"
            raise InvalidArgument(message) from None

    def _check_input(self, reactive: object, call: str) -> None:
        if isinstance(reactive, Reactive) and self.inputs.get(reactive.name) is reactive:
            return
        names = ", ".join(self.inputs)
        message = f"{call}: expected an input of this engine but got {reactive!r}; the inputs are {names}"
        raise InvalidArgument(message)

    def _check_thread(self) -> None:
        if threading.get_ident() == self._thread:
            return
        message = (
            f"Engine: expected to be used by the thread that built it ({self._thread}) but was called by"
            f" {threading.current_thread().name!r} ({threading.get_ident()}); give each thread its own engine"
        )
        raise WrongThread(message)

    # -- reading -------------------------------------------------------------------------------------------------------

    def query(self, table: Reactive) -> dict[Any, Any]:
        """Return the current rows of a table, an output or an input of the program: {key: value}."""
        self._check_thread()
        join = self._join_of.get(table)
        if join is not None and isinstance(join.output, Rows):
            return dict(join.output.shown)
        if table.table and table in self._bound:
            bound, index = self._bound[table][0]
            return {key: entry.value for key, entry in bound.slots[index].memory.rows.items()}
        message = (
            f"query: expected a table of this engine but got {table!r}; its tables come from as_table, or table=True"
        )
        raise InvalidArgument(message)

    @property
    def clock(self) -> Time:
        """The engine's clock, in time units: no event with an earlier end is used any more."""
        return self._world.clock

    @property
    def next_deadline(self) -> int | None:
        """The earliest clock at which something is due, or None."""
        return self._world.deadlines.next

    @property
    def late(self) -> list[tuple[Event, str, str]]:
        """The events that came too late: (event, reactive or slot, reason), in order of arrival."""
        return self._world.late

    @property
    def stats(self) -> Stats:
        """What the engine holds and has done."""
        slots = {}
        for join in self._joins:
            waiting = dict.fromkeys(range(len(join.slots)), 0)
            for installed in join.installed:
                for copy in installed.copies.values():
                    for name in installed.restriction._states:
                        held = getattr(copy, name)
                        for slot, events in held.items() if isinstance(held, dict) else ():
                            index = next((s.index for s in join.slots if s.name == slot), None)
                            if index is not None:
                                waiting[index] += sum(entry.number < 0 for entry in entries_in(events))
            for slot in join.slots:
                slots[join.name, slot.name] = (len(slot.memory), waiting[slot.index])
        return Stats(
            self._events,
            self._world.candidates,
            sum(retained for retained, _ in slots.values()),
            sum(waiting for _, waiting in slots.values()),
            slots,
        )

    # -- state ---------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return the state as bytes: plain data, versioned, with a fingerprint of the program. Only between pushes.

        Raises:
            NotStorable: The state holds something that is not plain data.
        """
        self._check_thread()
        return encode(
            {
                "program": fingerprint(self._program()),
                "events": self._events,
                "latest": self._latest,
                "ended": sorted(reactive.name for reactive in self._ended),
                "world": save_world(self._world, self._joins),
                "joins": [save_join(join) for join in self._joins],
            }
        )

    @classmethod
    def restore(
        cls,
        blob: bytes,
        *outputs: Reactive,
        unit: timedelta = MICROSECOND,
        lateness: int | timedelta | None = None,
        durable: bool = False,
    ) -> Engine:
        """Return an engine for ``outputs`` in the state that `snapshot` saved.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import zip_
        >>> left, right = Reactive("left"), Reactive("right")
        >>> pairs = zip_(left, right)
        >>> engine = Engine(pairs)
        >>> engine.push(left, "L", at=1)
        []
        >>> [event.value for event in Engine.restore(engine.snapshot(), pairs).push(right, "R", at=2)]
        [('L', 'R')]

        Raises:
            SnapshotMismatch: The bytes are damaged, or belong to another program.
        """
        engine = cls(*outputs, unit=unit, lateness=lateness, durable=durable)
        state = decode(blob)
        if state["program"] != fingerprint(engine._program()):
            message = (
                "restore: expected a snapshot of this program but it belongs to another one: a reactive, a"
                " restriction, a body, the unit or the lateness differs; restore it with the program that took it"
            )
            raise SnapshotMismatch(message)
        engine._events, engine._latest = state["events"], state["latest"]
        engine._ended = {engine.inputs[name] for name in state["ended"]}
        for join, saved in zip(engine._joins, state["joins"], strict=True):
            load_join(join, saved)
        load_world(engine._world, engine._joins, state["world"])
        engine._world.finish()
        for join in engine._joins:
            join.rebuild()
        return engine

    def _check_invariants(self) -> None:
        """For tests: raise AssertionError if the state is inconsistent."""
        for join in self._joins:
            for slot in join.slots:
                slot.memory.check_invariants()


def run(output: Reactive, trace: Iterable[tuple[Any, ...]], *, close: bool = False, **options: Any) -> list[Event]:
    """Run a trace of (reactive, value) or (reactive, value, at) through a fresh engine; return all that it emits.

    >>> from cartesius import Reactive, run
    >>> from restrictions import zip_
    >>> left, right = Reactive("left"), Reactive("right")
    >>> [event.value for event in run(zip_(left, right), [(left, 1), (left, 2), (right, "a", 7)])]
    [(1, 'a')]
    """
    engine = Engine(output, **options)
    events = [event for step in trace for event in engine.push(*step)]
    return events + engine.close() if close else events
