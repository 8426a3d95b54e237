"""The engine: runs correlations in one process. Push events in, get the results that they cause.

A push is synchronous and atomic: all of it is done when `Engine.push` returns, and if a body fails, nothing of it is.
An input of which something is there already (`Reactive.of`) is eaten at the first use, or by `pull`.

Invariant: between calls every strand is parked, and the state is plain data.

This module is over 300 lines because it is the one class that users read as a whole; the work is done in `steps`,
`doors`, `outlets`, `pulling`, `snapshots` and `provenance`.

Source: SEMANTICS 1.1, 1.11, 1.12 and 3.1.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import AsyncIterable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from cartesius.codec import decode, encode
from cartesius.direct_pushes import DirectPushes
from cartesius.doors import check_input, check_storable, checked_lateness, checked_tier, checked_times, checked_value
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch, WrongThread, carried, shortened
from cartesius.events import LATEST, Event
from cartesius.explanations import explain
from cartesius.fingerprints import fingerprint
from cartesius.inflating import loading
from cartesius.lenience import checked_on_error
from cartesius.measures import measure, unaccounted, whereabouts
from cartesius.outlets import Outlets, add_output, checked_outputs, remove_output
from cartesius.programs import Program
from cartesius.pulling import Prefixes, listen, value_and_time
from cartesius.reactives import Reactive
from cartesius.reading import Table
from cartesius.snapshots import load_engine, save_engine
from cartesius.state_checks import checked_state
from cartesius.steps import Steps
from cartesius.tiers import columns_of, sources_of, tier_of
from cartesius.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from cartesius.columns.batches.running import Compiled
    from cartesius.columns.results import ArrowTable
    from cartesius.direct_pushes import Direct
    from cartesius.doors import At, Tier
    from cartesius.events import Time
    from cartesius.failures import Failure
    from cartesius.lenience import OnError
    from cartesius.measures import Stats
    from cartesius.outlets import Subscription
    from cartesius.provenance import Provenance

MICROSECOND = timedelta(microseconds=1)


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
        pulled: Tables that are only asked for, by `query`, `lookup` or `versions`, and emit nothing: views.
        unit: What one unit of time means, for durations given as `timedelta`; by default a microsecond.
        lateness: How far the clock stays behind the latest end seen, in time units or as `timedelta`; None: it moves by
            `advance` alone.
        durable: Whether a value that no snapshot can hold is refused already when it is pushed.
        trace: Whether to record which events made a result and which handlers saw an event, for `why`.
        tier: How it runs: ``"reference"`` as written, on coroutines; ``"in_place"`` with direct calls, also in
            `push_many`. By default the fastest that the program allows. Results are the same.
        on_error: What becomes of a rule that raises: ``"fail"``, the call does, and has changed nothing; ``"unknown"``,
            for the tables of packs of rules: the rule is undecided, and the verdict says which rule raised what.

    Raises:
        InvalidArgument: No output, something else than a reactive (or than a table, in ``pulled``), two inputs of one
            name, a negative lateness, no such tier, or ``on_error="unknown"`` with an output made of no pack of rules.
    """

    def __init__(
        self,
        *outputs: Reactive,
        pulled: Iterable[Reactive] = (),
        unit: timedelta = MICROSECOND,
        lateness: int | timedelta | None = None,
        durable: bool = False,
        trace: bool = False,
        tier: Tier | None = None,
        on_error: OnError = "fail",
        _layout: Mapping[str, Any] | None = None,  # of a saved one, whose names and numbers it is to have
    ) -> None:
        pushed, views = checked_outputs(outputs, pulled)
        if not isinstance(unit, timedelta) or unit <= timedelta(0):
            message = f"Engine: expected what one unit of time means, a timedelta > 0, but got unit={unit!r}"
            raise InvalidArgument(message)
        self._thread = threading.current_thread()
        self._thread_number = threading.get_ident()
        self._tier = checked_tier(tier)
        is_lenient = checked_on_error(on_error, "Engine") == "unknown"
        self._world = World(unit, durable=durable, trace=trace, is_reference=tier == "reference", is_lenient=is_lenient)
        self._journal = self._world.journal
        self._lateness = checked_lateness(lateness, self._world)
        self._durable = durable
        self._program = Program(pushed, self._world, pulled=views, saved=_layout)
        self._steps = Steps(self._program, self._world)
        weakref.finalize(self, self._steps.drop).atexit = False
        self._outlets = Outlets()
        self._has_begun = False  # whether constants have been given, and what the inputs have already is eaten
        self._is_touched = False  # whether anything was done, here or before a snapshot
        self._prefixes = Prefixes(self.inputs)
        self.fed: set[Reactive] = set()  # the inputs that an iteration over `events` feeds
        self._listeners: list[Callable[[list[Event]], None]] = []
        self._pushes = self._direct_pushes()
        self._direct: Direct = {}  # what pushes into some inputs directly, while nothing stands in the way
        self._compiled: Compiled | None = None  # its program as kernels, once `push_many` was called
        self._why_row_by_row = ""  # why the last batch was pushed row by row, if it was

    def _direct_pushes(self) -> DirectPushes:
        objections = (
            (self._world.is_reference, "the tier is pinned"),
            (self._durable, "each value is checked, in a durable engine"),
            (bool(self._world.deadlines.floored), "what leaves, or is decided, waits for what gates hold"),
            (self._world.provenance is not None, "what saw an event is recorded, by trace=True"),
        )
        objection = next((reason for is_so, reason in objections if is_so), "")
        return DirectPushes(self._program, self._steps, objection, self._lateness)

    @property
    def _events(self) -> int:
        """How many events have been pushed."""
        return self._world.events

    @_events.setter
    def _events(self, events: int) -> None:
        self._world.events = events

    @property
    def _latest(self) -> Time:
        """The latest end of those."""
        return self._world.latest

    @_latest.setter
    def _latest(self, latest: Time) -> None:
        self._world.latest = latest

    @property
    def _ended(self) -> frozenset[Reactive]:
        """The inputs that have ended."""
        return self._world.ended

    @_ended.setter
    def _ended(self, ended: frozenset[Reactive]) -> None:
        self._world.ended = ended

    # -- the program ---------------------------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[Reactive, ...]:
        """What is emitted, in order."""
        return self._program.outputs

    @property
    def pulled(self) -> tuple[Reactive, ...]:
        """What is only asked for."""
        return self._program.pulled

    @property
    def inputs(self) -> dict[str, Reactive]:
        """What can be pushed into, by name."""
        return self._program.inputs

    def add(self, output: Reactive, *, pulled: bool = False) -> list[Event]:
        """Compute one more output from now on; return what it has already: the rows of a table, as updates.

        What the engine computes already is found, with its state: a correlation that is the same pattern is shared. A
        new one begins empty, but for the rows that the tables it is made from have now: they come as its first step,
        at the latest time seen, and what they give is returned, not told to subscribers. A view of such a table is
        looked up when it is asked.

        >>> from cartesius import Engine, Reactive, Update
        >>> from restrictions.tables import filter_table, map_table
        >>> depth = Reactive("depth", table=True)
        >>> engine = Engine(filter_table(depth, lambda metres: metres > 10))
        >>> _ = engine.push(depth, Update("A", 12)), engine.push(depth, Update("B", 9))
        >>> feet = map_table(depth, lambda metres: 3 * metres)
        >>> [event.value for event in engine.add(feet)]
        [Update(key='B', value=27), Update(key='A', value=36)]
        >>> [event.value for event in engine.push(depth, Update("B", 10))]
        [Update(key='B', value=30)]

        Args:
            output: The reactive; if it is only pulled so far, it is pushed from now on, or the other way round.
            pulled: Whether it is only asked for, by `query`, and emits nothing; it must be a table.

        Raises:
            InvalidArgument: It is an output of that kind already, is no table but pulled, or has an input whose name
                another one has. Nothing has changed then, nor if a body fails on the rows.
        """
        self._check_thread("add")
        emitted = None
        try:
            emitted = add_output(self, output, is_pulled=pulled)
            self._journal.is_open = False
            return emitted
        except BaseException as error:
            self._interrupted(error, emitted)
            raise

    def remove(self, output: Reactive) -> None:
        """Compute an output no longer: what no other one needs is forgotten, with its state; subscriptions end.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import combine_latest, zip_
        >>> left, right = Reactive("left"), Reactive("right")
        >>> latest, pairs = combine_latest(left, right), zip_(left, right)
        >>> engine = Engine(latest, pairs)
        >>> _ = engine.push(left, "L")
        >>> engine.remove(pairs)
        >>> [event.value for event in engine.push(right, "R")], engine.stats.retained
        ([('L', 'R')], 2)

        Raises:
            InvalidArgument: It is no output, or the last one.
        """
        self._check_thread("remove")
        remove_output(self, output)

    def subscribe(self, output: Reactive, function: Callable[[list[Event]], object]) -> Subscription:
        """Call ``function`` after each call that makes ``output`` emit, with the list of its events.

        It is called once the call is done, and may use the engine itself: what that emits is told after. If it fails,
        the call stands: the others are told, and then the error comes out of the call, with a note that says so.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import zip_
        >>> left, right = Reactive("left"), Reactive("right")
        >>> pairs = zip_(left, right)
        >>> engine = Engine(pairs)
        >>> subscription = engine.subscribe(pairs, lambda events: print([event.value for event in events]))
        >>> _ = engine.push(left, "L"), engine.push(right, "R")
        [('L', 'R')]
        >>> subscription.cancel()

        Args:
            output: An output that is pushed.
            function: What is called. A snapshot does not hold it.

        Raises:
            InvalidArgument: No output of this engine, one that is only pulled, or no function.
        """
        self._check_thread("subscribe")
        self._direct = {}
        return self._outlets.subscribe(self._program, output, function)

    def _fingerprint(self) -> str:
        return fingerprint(self._program.describe(unit=self._world.unit, lateness=self._lateness))

    def explain(self, *, bounds: bool = False) -> str:
        """Say, before anything runs, what the engine does: restrictions, memory bounds, indexes, what did not trace.

        Of a batch that went row by row although its program is compiled, it says why.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import combine_latest
        >>> left, right = Reactive("left"), Reactive("right")
        >>> for line in Engine(combine_latest(left, right)).explain(bounds=True).splitlines()[-3:]:
        ...     print(line)
          variables     2
          steps         left: 2 at most, on 2 levels, 1 at once
          steps         right: 2 at most, on 2 levels, 1 at once

        Args:
            bounds: Whether to say in numbers how many state variables each correlation has, how many steps an event
                costs, and how many of them may run in parallel; or which slot has no bound, and why.
        """
        return explain(
            self._program.joins, self._program.outputs, partial(tier_of, self), partial(columns_of, self), bounds=bounds
        )

    def source(self) -> str:
        """Show the code that was generated, for pushes and for batches, each with the pattern that it came from.

        Constants and functions of the pattern are bound names in it: ``c0``, ``c1``, …, listed above the code.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import combine_latest
        >>> left, right = Reactive("left"), Reactive("right")
        >>> print(Engine(combine_latest(left, right)).source().splitlines()[0])
        # combine_latest(left, right), when an event comes to 'left'
        """
        self._check_thread("source")
        return sources_of(self)

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
            EngineBroken: An earlier call was interrupted while it changed the state; every call says so then.
            BaseException: What a body raises, or interrupts the call (Ctrl-C, a signal's handler): nothing of it has
                happened, and the event may be pushed again; all of it, if the error has the attribute ``emitted``, the
                list of what would have been returned; or the engine is broken, as above.
        """
        if reactive.__class__ is Reactive and threading.get_ident() == self._thread_number:
            direct = self._direct.get(reactive)
            if direct is not None:
                emitted = None
                try:
                    emitted = direct(value, at)
                    if emitted is not None:
                        self._journal.is_open = False
                        return emitted
                except BaseException as error:
                    self._interrupted(error, emitted)
                    raise
        left_by, failed_by = self._steps.given_up.taken()
        self._check_thread("push")
        self._check_goes_on(reactive, "push")
        checked_times(at, self._latest, self._world.clock)
        value = checked_value(reactive, value)
        if self._durable:
            check_storable(reactive, value)
        self._pushes.learn(reactive)
        emitted = None
        try:
            emitted = self._do(lambda: self._take(reactive, value, at))
            self._steps.given_up.count(reactive, left_by or self._pushes.why_not(reactive), failed_by)
            return emitted
        except BaseException as error:
            self._interrupted(error, emitted)
            raise

    def push_many(self, batch: Mapping[Reactive, Any] | Mapping[str, Any] | Mapping[Reactive | str, Any]) -> ArrowTable:
        """Push many events, as columns; return what the outputs emit because of them, as an Arrow table.

        The results are those of pushing the rows one by one. Where the program and the types allow it, the batch is
        computed column by column; `explain` says where not, and `source` shows the code.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import combine_latest
        >>> left, right = Reactive("left"), Reactive("right")
        >>> engine = Engine(combine_latest(left, right))
        >>> batch = {left: {"value": [1, 2], "order": [0, 2]}, right: {"value": [7], "order": [1]}}
        >>> engine.push_many(batch).select(["value", "start", "end"]).to_pylist()
        [{'value': {'0': 1, '1': 7}, 'start': 1, 'end': 2}, {'value': {'0': 2, '1': 7}, 'start': 2, 'end': 3}]

        Args:
            batch: For each input, or its name, its columns: an Arrow table or record batch, or a mapping from names to
                arrays. ``at``, or ``start`` and ``end``: the times, in time units, by default as in `push`;
                ``order``: the arrival order, distinct ints, needed of several inputs, one alone comes row by row; of
                tables ``key``, unless the reactive declares a field, and ``deleted``. The rest is the payload: a
                record of the columns, or, if it is the one column ``value``, that.

        Returns:
            A table with the columns ``reactive``, ``value``, ``start``, ``end``, ``weight``, and if an output is a
            table ``key`` and ``deleted``. `cartesius.columns.results.events_of` makes events of it.

        Raises:
            InvalidArgument: Columns that are none of a batch; nothing was changed.
            Exception: What a body raises, as from `push`: the rows before stand, and what they gave is the attribute
                ``emitted`` of the error.
        """
        self._check_own_thread("push_many")
        from cartesius.columns.batches.running import push_many  # noqa: PLC0415 - with numpy and Arrow, which nothing else needs

        return push_many(self, batch)

    def _settle(self) -> None:
        """Bring the objects up to date, if columns own the state."""
        if self._compiled is not None:
            self._compiled.settle()

    @property
    def _is_watched(self) -> bool:
        """Whether something must happen between the rows of a batch."""
        must_begin = not self._has_begun and self._must_begin
        has_ended = any(slot.ended and not join.is_done for join in self._program.joins for slot in join.slots)
        return bool(self._listeners or self._ended or has_ended or must_begin or self._outlets.are_heard)

    @property
    def _must_begin(self) -> bool:
        return bool(self._prefixes.of) or not all(join.is_begun for join in self._program.joins)

    def _check_goes_on(self, reactive: Reactive, call: str) -> None:
        """Raise `InvalidArgument` if something is no input, or has ended."""
        name = check_input(self._program.names, reactive, call)
        if reactive in self._ended:
            message = f"{call}: expected an input that goes on but {name!r} has ended; push before end() or close()"
            raise InvalidArgument(message)

    def _do(self, work: Callable[[], list[Event]]) -> list[Event]:
        """Eat what the inputs have already, and then do ``work``, all or nothing; tell who listens."""
        self._direct = {}
        out = None
        try:
            out = self._steps.atomically(work if self._has_begun else lambda: self._begin() + work())
            self._prefixes.settle(succeeded=True)
            self._has_begun = self._is_touched = True
            self._journal.is_open = False
            for listener in list(self._listeners):
                listener(out)
            self._outlets.tell(out)
            self._direct = self._pushes.ready(self)
            return out
        except BaseException as error:
            self._interrupted(error, out)
            raise

    def _interrupted(self, error: BaseException, emitted: list[Event] | None) -> None:
        """Let an error that comes out of a call that stands carry what it has emitted: nothing is lost in silence."""
        self._steps.is_running = False
        if emitted is not None and not carried(error, emitted):
            self._journal.is_open = True

    def _begin(self) -> list[Event]:
        self._journal.append(partial(self._prefixes.settle, succeeded=False))
        out = self._steps.begin()
        for reactive, item in self._prefixes:
            value, at = value_and_time(item)
            out += self._take(reactive, checked_value(reactive, value), at)
        return out

    def _take(self, reactive: Reactive, value: Any, at: At) -> list[Event]:
        name = self._program.names[reactive]
        start, end = checked_times(at, self._latest, self._world.clock)
        event = Event(value, start, end, 1, name, (name, self._events + 1))
        try:
            self._events += 1
            self._latest = max(self._latest, end)
            if self._world.provenance is not None:
                self._world.provenance.pushed(event)
            out: list[Event] = []
            if self._lateness is not None:
                out += self._steps.move_clock(max(self._world.clock, self._latest - self._lateness))
            without = self._steps.set_aside_late(reactive, event) if end < self._world.clock else frozenset()
            if without is None:
                return out
            return out + self._steps.propagate({reactive: [event]}, set(), without)
        except BaseException as error:
            slots = ", ".join(
                f"slot {join.slots[index].name!r} of {join.name}"
                for join, index in self._program.bound.get(reactive, ())
            )
            error.add_note(f"while pushing {shortened(repr(value))} at {start}..{end} into {name!r} ({slots})")
            raise

    def pull(self) -> list[Event]:
        """Eat what the inputs have already (see `Reactive.of`), in slot order; return what is emitted by it."""
        self._check_thread("pull")
        return self._do(list)

    def events(self, sources: Mapping[Reactive, AsyncIterable[Any]] | None = None) -> AsyncIterator[Event]:
        """Iterate, under asyncio, over what the outputs emit from now on: ``async for event in engine.events(…)``.

        It eats the async iterables of the inputs as their items come, each ending its input when it ends, and shows
        what other tasks' pushes emit. It ends when the outputs have completed, all ``sources`` have ended, or the
        engine is closed. An error of a source comes out of it. Of several iterations one feeds an input, all hear.

        >>> import asyncio
        >>> from cartesius import Engine, Reactive
        >>> from restrictions import zip_
        >>> async def ticks(*values):
        ...     for value in values:
        ...         yield value
        >>> async def show():
        ...     engine = Engine(zip_(Reactive.of(ticks(1, 2)), Reactive.of(ticks("a", "b", "c"))))
        ...     return [event.value async for event in engine.events()]
        >>> asyncio.run(show())
        [(1, 'a'), (2, 'b')]

        Args:
            sources: More async iterables, by input; besides those of `Reactive.of`.
        """
        given = {input_: input_.items for input_ in self.inputs.values() if isinstance(input_.items, AsyncIterable)}
        for input_ in sources or ():
            check_input(self._program.names, input_, "events")
        self._direct = {}
        return listen(self, {**given, **(sources or {})}, self._listeners)

    def advance(self, time: int) -> list[Event]:
        """Promise that no event with an end before ``time`` comes any more; return what is decided by that.

        The clock never goes back: an earlier ``time`` changes nothing.
        """
        self._check_own_thread("advance")
        if isinstance(time, bool) or not isinstance(time, int):
            message = f"advance: expected a time, an int of time units, but got {time!r} (type={type(time).__name__})"
            raise InvalidArgument(message)
        if self._compiled is not None and not self._is_watched and self._compiled.advance(time):
            return []
        self._settle()
        return self._do(lambda: self._steps.move_clock(time))

    def end(self, reactive: Reactive) -> list[Event]:
        """Declare that an input has ended: nothing comes on it any more."""
        self._check_thread("end")
        check_input(self._program.names, reactive, "end")
        return self._do(lambda: self._end([reactive]))

    def close(self) -> list[Event]:
        """End all inputs and move the clock past everything; return what is decided by that."""
        self._check_thread("close")
        return self._do(lambda: self._steps.move_clock(LATEST) + self._end(self.inputs.values()))

    def _end(self, reactives: Iterable[Reactive]) -> list[Event]:
        self._ended = self._ended | set(reactives)
        return self._steps.propagate({}, set(self._ended))

    @property
    def done(self) -> bool:
        """Whether the outputs have completed: they emit nothing any more."""
        return all(
            output in self._ended or (output in self._program.join_of and self._program.join_of[output].is_done)
            for output in (*self.outputs, *self.pulled)
        )

    @property
    def has_finished(self) -> bool:
        """Whether nothing more can be emitted: the outputs have completed, or all inputs have ended."""
        return self.done or self._ended >= set(self.inputs.values())

    def _check_thread(self, call: str) -> None:
        """Check who calls, and let the objects own the state: what every call but `push_many` begins with."""
        self._check_own_thread(call)
        self._settle()

    def _check_own_thread(self, call: str) -> None:
        caller = threading.current_thread()
        if caller is not self._thread:
            message = (
                f"Engine: expected to be used by the thread that built it, {self._thread.name!r}, but was called by"
                f" {caller.name!r}; give each thread its own engine"
            )
            raise WrongThread(message)
        self._steps.check_idle(call)

    # -- reading -------------------------------------------------------------------------------------------------------

    def query(self, table: Reactive, at: Time | None = None) -> dict[Any, Any]:
        """Return the rows of a table, an output or an input of the program: {key: value}.

        Of an input, a row that all who are bound to it have set aside, as its key for them is null, is not among them.

        Args:
            table: The table.
            at: Of a table that keeps versions: the rows that hold at this time, in time units; of one in windows: those
                of the windows that contain it and are not freed. By default the newest, of all windows.

        Raises:
            InvalidArgument: No table, no versions, or a time whose versions are forgotten.
        """
        return self._table(table, "query").rows(at)

    def lookup(self, table: Reactive, key: Any, default: Any = None, *, at: Time | None = None) -> Any:
        """Return the row of one key, or ``default``: what `query` has, without making all rows.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions.tables import to_table
        >>> report = Reactive("report")
        >>> ships = to_table(report, key="name")
        >>> engine = Engine(ships)
        >>> for draught in (9, 8):
        ...     _ = engine.push(report, {"name": "EVA", "draught": draught})
        >>> engine.lookup(ships, "EVA").draught, engine.lookup(ships, "BO")
        (8, None)

        Raises:
            InvalidArgument: As for `query`.
        """
        return next(iter(self._table(table, "lookup").row(key, at)), default)

    def versions(self, table: Reactive) -> dict[Time, dict[Any, Any]]:
        """Return the rows of a table that keeps versions at each time at which they change: {time: {key: value}}.

        >>> from cartesius import Engine, Reactive, Update
        >>> from restrictions import versioned
        >>> from restrictions.tables import filter_table
        >>> depth = Reactive("depth", table=True)
        >>> deep = filter_table(depth, lambda metres: metres > 10, restrict=versioned("x"))
        >>> engine = Engine(deep)
        >>> for metres, time in ((12, 5), (14, 9), (11, 7)):
        ...     _ = engine.push(depth, Update("A", metres), at=time)
        >>> engine.versions(deep)
        {5: {'A': 12}, 7: {'A': 11}, 9: {'A': 14}}

        Raises:
            InvalidArgument: No table, or no versions.

        Source:
            Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 2.
        """
        return self._table(table, "versions").history()

    def _table(self, table: Reactive, call: str) -> Table:
        if self._steps.is_running:
            message = f"{call}: expected a body that is pure but it reads its own engine; join the table instead"
            raise InvalidArgument(message)
        self._check_thread(call)
        return Table(self._program, table, call)

    @property
    def clock(self) -> Time:
        """The engine's clock, in time units: no event with an earlier end is used any more."""
        return self._world.clock

    @property
    def next_deadline(self) -> int | None:
        """The earliest clock at which something is due, or None."""
        self._check_own_thread("next_deadline")
        if self._compiled is not None and (known := self._compiled.next_deadline()) is not None:
            return known[0]
        self._settle()
        return self._world.deadlines.next(self._world.clock)

    @property
    def pushed(self) -> list[Event]:
        """The events pushed so far, in order; kept only with ``trace=True``."""
        return list(self._recorded("pushed").events)

    def why(self, event: Event) -> str:
        """Explain an event as a short tree: which events made it, which handlers saw them, and what became of it.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import combine_latest
        >>> left, right = Reactive("left"), Reactive("right")
        >>> engine = Engine(combine_latest(left, right), trace=True)
        >>> engine.push(left, "L", at=1)
        []
        >>> (pair,) = engine.push(right, "R", at=2)
        >>> print(engine.why(pair))
        combine_latest(left, right) ('L', 'R') @ 1..2
          left = left 'L' @ 1
            seen by left: push most_recently('left', 'right')
          right = right 'R' @ 2
            seen by right: push most_recently('left', 'right')

        Args:
            event: One that the engine has emitted, or taken in (see `pushed`).

        Raises:
            InvalidArgument: The engine does not know it, or was built without ``trace=True``.
        """
        return self._recorded("why").why(self._program.as_recorded(event), self._whereabouts)

    def _whereabouts(self, identity: Any) -> list[str]:
        late = [f"set aside: {reason}" for event, _, reason in self._world.late if event.identity == identity]
        return late + [place for join in self._program.joins for place in whereabouts(join, identity)]

    def _recorded(self, call: str) -> Provenance:
        self._check_thread(call)
        if self._world.provenance is None:
            message = (
                f"{call}: expected an engine that records events but this one does not; write Engine(…, trace=True)"
            )
            raise InvalidArgument(message)
        return self._world.provenance

    @property
    def late(self) -> list[tuple[Event, str, str]]:
        """The events that came too late or were set aside: (event, reactive or slot, reason), in order of arrival."""
        return list(self._world.late)

    def take_late(self) -> list[tuple[Event, str, str]]:
        """Return what `late` has, and forget it: where many events are late, that is what bounds it."""
        self._check_own_thread("take_late")
        late = self._world.late
        try:
            self._world.late = []
            return late
        except BaseException:
            self._world.late = late
            raise

    def take_failure(self) -> Failure | None:
        """Return where the last call that raised was at work, and forget it; None: it was refused before it began.

        For who pushes the events of others, and must tell one that the program raises on from one that it refuses.

        >>> from cartesius import Engine, Reactive, correlate
        >>> level = Reactive("level")
        >>> engine = Engine(correlate(x=level, yields=lambda x: 1 / x, name="inverse"))
        >>> try:
        ...     engine.push(level, 0)
        ... except ZeroDivisionError:
        ...     print(engine.take_failure())
        Failure(correlation='inverse', pattern='yields (1 / x)', outputs=('inverse',), deadline=None)
        """
        self._check_own_thread("take_failure")
        failure, self._world.failure = self._world.failure, None
        return failure

    @property
    def stats(self) -> Stats:
        """What the engine holds and has done."""
        self._check_thread("stats")
        given_up = self._steps.given_up.by_reason()
        return measure(self._program.joins, self._events, self._world.candidates, given_up)

    # -- state ---------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return the state as bytes: plain data, versioned, with a fingerprint of the program. Only between pushes.

        Raises:
            NotStorable: The state holds something that is not plain data.
        """
        self._check_thread("snapshot")
        return encode({"program": self._fingerprint(), **save_engine(self)})

    @classmethod
    def restore(
        cls,
        blob: bytes,
        *outputs: Reactive,
        pulled: Iterable[Reactive] = (),
        unit: timedelta = MICROSECOND,
        lateness: int | timedelta | None = None,
        durable: bool = False,
        trace: bool = False,
        tier: Tier | None = None,
        on_error: OnError = "fail",
    ) -> Engine:
        """Return an engine for ``outputs``, and ``pulled``, in the state that `snapshot` saved.

        They are those that the engine had then, in its order; their names are as they were.

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
        state = checked_state(decode(blob))
        engine = loading(
            lambda: cls(
                *outputs,
                pulled=pulled,
                unit=unit,
                lateness=lateness,
                durable=durable,
                trace=trace,
                tier=tier,
                on_error=on_error,
                _layout=state["layout"],
            )
        )
        if state["program"] != loading(engine._fingerprint):
            message = (
                "restore: expected a snapshot of this program but it belongs to another one: a reactive, a"
                " restriction, a body, the unit or the lateness differs; restore it with the program that took it"
            )
            raise SnapshotMismatch(message)
        loading(lambda: load_engine(engine, state))
        return engine

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be copied and pickled: two engines would share one state.

        Raises:
            NotStorable: Always.
        """
        message = (
            "Engine: expected to be used where it is but it was to be copied or pickled; take a snapshot(), which is"
            " bytes, and make another engine of it by Engine.restore(blob, *outputs)"
        )
        raise NotStorable(message)

    def _check_invariants(self) -> None:
        """For tests: raise AssertionError if the state is inconsistent."""
        for join in self._program.joins:
            for slot in join.slots:
                slot.memory.check_invariants()
        lost = unaccounted(self._program.joins)
        assert not lost, lost
