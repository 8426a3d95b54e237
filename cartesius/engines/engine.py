"""The engine: runs correlations in one process. Push events in, get the results that they cause.

A push is synchronous and atomic: all of it is done when `Engine.push` returns, and if a body fails, nothing of it is.
An input of which something is there already (`Reactive.of`) is eaten at the first use, or by `pull`.

Invariant: between calls every strand is parked, and the state is plain data.

This module is over 300 lines because it is the one class that users read as a whole; the work is done in `steps`,
`doors`, `outlets`, `pulling`, `snapshots` and `provenance`.

Source: SEMANTICS 1.1, 1.11, 1.12 and 3.1.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from cartesius.core.engine_core import MICROSECOND, EngineCore, Result
from cartesius.core.marks import Mark
from cartesius.core.outlets import add_output, remove_output
from cartesius.core.pulling import listen
from cartesius.data.codec import decode, encode
from cartesius.data.entries import ABSENT
from cartesius.data.events import LATEST, Event
from cartesius.data.inflating import loading
from cartesius.drawing.html_tables import panel, table
from cartesius.drawing.marble_diagrams import plain_time
from cartesius.engines.changes import do_again, save_changes
from cartesius.engines.explanations import explain
from cartesius.engines.snapshots import load_engine, save_engine, written_entries
from cartesius.engines.state_checks import checked_state
from cartesius.engines.tiers import columns_of, sources_of, tier_of
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch
from cartesius.installation import needing
from cartesius.language.fingerprints import fingerprint
from cartesius.programs.doors import check_input
from cartesius.programs.measures import measure, unaccounted, whereabouts
from cartesius.programs.table_reading import Table
from cartesius.results.recorded_calls import Call
from cartesius.storage.memories import checked_row_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from datetime import datetime, timedelta
    from typing import TypedDict, Unpack

    from cartesius.batching.world import Failure
    from cartesius.columns.results import ArrowTable
    from cartesius.core.outlets import Subscription
    from cartesius.data.events import Time
    from cartesius.language.lenience import OnError
    from cartesius.language.reactives import Reactive
    from cartesius.programs.doors import Tier
    from cartesius.programs.measures import Stats
    from cartesius.results.provenance import Provenance

    class Options(TypedDict, total=False):
        """The options of an engine."""

        pulled: Iterable[Reactive]
        unit: timedelta
        lateness: int | timedelta | None
        durable: bool
        trace: bool
        tier: Tier | None
        on_error: OnError

    class SavedOptions(Options, total=False):
        """Those, and the layout of a saved engine."""

        _layout: Mapping[str, Any]

    class Restored(Options, total=False):
        """Those, and what has come since the snapshot."""

        changes: Iterable[bytes]


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
Row = TypeVar("Row")


class Engine(EngineCore[Result]):
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
        unit: What one unit of time means, for durations given as `timedelta`, and for times given as `datetime`, which
            count from the Unix epoch; by default a microsecond.
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

    if TYPE_CHECKING:  # what its events carry follows from its outputs, if those are up to three

        @overload
        def __init__(self: Engine[A], output: Reactive[Any, A], /, **options: Unpack[Options]) -> None: ...
        @overload
        def __init__(
            self: Engine[A | B], one: Reactive[Any, A], two: Reactive[Any, B], /, **options: Unpack[Options]
        ) -> None: ...
        @overload
        def __init__(
            self: Engine[A | B | C],
            one: Reactive[Any, A],
            two: Reactive[Any, B],
            three: Reactive[Any, C],
            /,
            **options: Unpack[Options],
        ) -> None: ...
        @overload
        def __init__(self: Engine[Any], *outputs: Reactive, **options: Unpack[SavedOptions]) -> None: ...
        def __init__(self, *outputs: Any, **options: Any) -> None: ...

    def __repr__(self) -> str:
        """Show outputs, inputs and clock."""
        return f"<engine of {', '.join(self._names)}; inputs {', '.join(self.inputs)}; clock {plain_time(self.clock)}>"

    def _repr_html_(self) -> str:
        said = [
            ("outputs", ", ".join(self._names)),
            ("inputs", ", ".join(self.inputs)),
            ("clock", plain_time(self.clock)),
        ]
        return panel(table((), said)) + self.stats._repr_html_()

    @property
    def _names(self) -> list[str]:
        return [self._program.names[output] for output in self._program.outputs]

    # -- the program ---------------------------------------------------------------------------------------------------

    def add(self, output: Reactive[Any, A], *, pulled: bool = False) -> list[Event[A]]:
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
        emitted = self._world.calendar.shown(add_output(self, output, is_pulled=pulled))
        self._journal.is_open = False
        return emitted

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

    def subscribe(self, output: Reactive[Any, A], function: Callable[[list[Event[A]]], object]) -> Subscription:
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
                arrays. ``at``, or ``start`` and ``end``: the times, in time units or as timestamps with a time
                zone (then results have such, in UTC), by default as in `push`;
                ``order``: the arrival order, distinct ints, needed of several inputs, one alone comes row by row; of
                tables ``key``, unless the reactive declares a field, and ``deleted``. The others are the payload: a
                record of the columns, or, if it is the one column ``value``, that.

        Returns:
            A table with the columns ``reactive``, ``value``, ``start``, ``end``, ``weight``, and if an output is a
            table ``key`` and ``deleted``. `cartesius.columns.results.events_of` makes events of it.

        Raises:
            InvalidArgument: Columns that are none of a batch; nothing was changed.
            NotInstalled: There is no numpy or no pyarrow, the extra ``columns``.
            Exception: What a body raises, as from `push`: the rows before stand, and what they gave is the attribute
                ``emitted`` of the error.
        """
        self._check_own_thread("push_many")
        with needing("Engine.push_many", "cartesius-joins[columns]"):
            from cartesius.columns.batches.running import push_many  # noqa: PLC0415 - with numpy and Arrow, which nothing else needs

        return push_many(self, batch)

    def events(self, sources: Mapping[Reactive, AsyncIterable[Any]] | None = None) -> AsyncIterator[Event[Result]]:
        """Iterate, under asyncio, over what the outputs emit from now on: ``async for event in engine.events(…)``.

        It eats the async iterables of the inputs as their items come, each ending its input when it ends, and shows
        what other tasks' pushes emit. It ends when the outputs have completed, all ``sources`` have ended, or the
        engine is closed. An error of a source comes out of it. Of several iterations one feeds an input, all hear;
        where that one is left, another one feeds it.

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
        if not isinstance(sources, Mapping | None):
            message = f"events: expected async iterables by input, {{input: iterable}}, but got sources={sources!r}"
            raise InvalidArgument(message)
        for input_, items in (sources or {}).items():
            name = check_input(self._program.names, input_, "events")
            if not isinstance(items, AsyncIterable):
                message = (
                    f"events: expected an async iterable for {name!r} but got {items!r} (type={type(items).__name__});"
                    " push what is there already, or give it to Reactive.of"
                )
                raise InvalidArgument(message)
        self._direct = {}
        return listen(self, {**given, **(sources or {})}, self._listeners)

    def advance(self, time: int | datetime) -> list[Event[Result]]:
        """Promise that no event with an end before ``time`` comes any more; return what is decided by that.

        The clock never goes back: an earlier ``time`` decides at most what was overdue. It is an int of time units, or
        a datetime where events come with such.
        """
        self._check_own_thread("advance")
        units, dated = self._units(time, "advance")
        if isinstance(units, bool) or not isinstance(units, int):
            message = (
                "advance: expected a time, an int of time units or a datetime with a zone, but got"
                f" {time!r} (type={type(time).__name__})"
            )
            raise InvalidArgument(message)
        if self._mark is not None:
            self._note("advance", self._world.calendar.plain(units, dated=dated))
        if units <= self._world.clock:  # it says nothing new, nor that times are datetimes
            dated = self._world.calendar.is_dated
        if self._compiled is not None and not self._is_watched():
            emitted = self._compiled.advance(self, units)
            if emitted is not None:
                self._world.calendar.is_dated = dated
                emitted = self._world.calendar.shown(emitted)
                self._journal.is_open = False
                return emitted
        self._settle()

        def advance() -> list[Event]:
            self._record(Call("advance", time=units))
            self._world.calendar.is_dated = dated
            return self._steps.move_clock(units)

        return self._do(advance)

    def close(self) -> list[Event[Result]]:
        """End all inputs and move the clock past everything; return what is decided by that.

        After `push_many` the rows that are retained become objects first: 10 to 20 µs each.
        """
        self._check_thread("close")
        self._note("close")

        def close() -> list[Event]:
            self._record(Call("close"))
            out = self._steps.move_clock(LATEST) + self._end(self.inputs.values())
            return out + self._steps.move_clock(LATEST)  # what the end has let go may have been held once more

        return self._do(close)

    # -- reading -------------------------------------------------------------------------------------------------------

    def query(self, table: Reactive[Row, Any], at: Time | datetime | None = None) -> dict[Any, Row]:
        """Return the rows of a table, an output or an input of the program: {key: value}.

        Of an input, a row that all who are bound to it have set aside, as its key for them is null, is not among them.

        Args:
            table: The table.
            at: Of a table that keeps versions: the rows that hold at this time, an int or a datetime as events' are; of
                one in windows: those of the windows that contain it and are not freed. By default the newest, of all
                windows.

        Raises:
            InvalidArgument: No table, no versions, or a time whose versions are forgotten.
        """
        known, shown = self._table(table, "query"), self._world.calendar.shown_value
        rows = known.rows(self._units_asked(at, "query"))
        return {shown(key): shown(row) for key, row in rows.items()} if self._world.calendar.is_dated else rows

    def lookup(self, table: Reactive, key: Any, default: Any = None, *, at: Time | datetime | None = None) -> Any:
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
            InvalidArgument: As for `query`; or a key that cannot be hashed.
        """
        calendar = self._world.calendar
        taken = checked_row_key(calendar.taken_value(key), "lookup")
        known = self._table(table, "lookup", taken if at is None else ABSENT)
        found = known.row(taken, self._units_asked(at, "lookup"))
        return calendar.shown_value(found[0]) if found else default

    def versions(self, table: Reactive[Row, Any]) -> dict[Any, dict[Any, Row]]:
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
        history, calendar = self._table(table, "versions").history(), self._world.calendar
        shown = calendar.shown_value
        return {calendar.time(at): {shown(k): shown(row) for k, row in rows.items()} for at, rows in history.items()}

    def _units_asked(self, at: Any, call: str) -> Any:
        """Return a time that is asked for in time units; infinite ones are so in both languages."""
        return at if isinstance(at, float) else self._units(at, call)[0]

    def _table(self, table: Reactive, call: str, newest: Any = ABSENT) -> Table:
        if self._steps.is_running:
            message = f"{call}: expected a body that is pure but it reads its own engine; join the table instead"
            raise InvalidArgument(message)
        self._check_own_thread(call)
        found = Table(self._program, table, call)
        if self._compiled is not None and newest is not ABSENT:
            self._compiled.show(table, newest)
        else:
            self._lend()
        return found

    @property
    def clock(self) -> Any:
        """The engine's clock: no event with an earlier end is used any more. An int, a datetime, or infinite."""
        return self._world.calendar.time(self._world.clock)

    @property
    def next_deadline(self) -> Any:
        """The earliest clock at which something is due, or may be, or None: `advance` lets nothing out before.

        It is before `clock` where an event that came was decided already; the next call, `advance(clock)`, say, lets
        that out.
        """
        self._check_own_thread("next_deadline")
        if self._compiled is not None and (known := self._compiled.next_deadline()) is not None:
            return self._world.calendar.time(known[0])
        self._lend()
        return self._world.calendar.time(self._world.deadlines.next(self._world.clock))

    @property
    def pushed(self) -> list[Event]:
        """The events pushed so far, in order; kept only with ``trace=True``."""
        return self._world.calendar.shown(list(self._recorded("pushed").events))

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
        known, record = self._world.calendar.taken(self._program.as_recorded(event)), self._recorded("why")
        return record.why(known, partial(self._whereabouts, record))

    def show(self, *, port: int = 0, browse: bool = True) -> None:
        """Show on a page, in the browser, what the engine was told so far and did, step by step.

        The page makes the recorded calls again on engines of its own: with all restrictions, or without some. It is
        served to this machine alone, until Ctrl-C; in a notebook beside it, until its kernel ends.

        Args:
            port: The TCP port that is listened on; 0: any free one.
            browse: Whether to open a browser; the address is printed.

        Raises:
            InvalidArgument: The engine was built without ``trace=True``, or restored from a snapshot; or an event loop
                is running in this thread, and it is not that of a notebook.
            NotInstalled: There is no starlette or no uvicorn, the extra ``edit``.
            OSError: The port is taken.
        """
        self._check_thread("show")
        from cartesius.show.showing import show_engine  # noqa: PLC0415 - who shows nothing need not load it

        show_engine(self, port=port, browse=browse)

    def _whereabouts(self, record: Provenance, event: Event) -> list[str]:
        late = [f"set aside: {reason}" for one, _, reason in self._world.late if one.identity == event.identity]
        is_it = partial(record.is_shown, event)
        return late + [place for join in self._program.joins for place in whereabouts(join, is_it)]

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
        return self._late_as_shown(self._world.late)

    def take_late(self) -> list[tuple[Event, str, str]]:
        """Return what `late` has, and forget it: where many events are late, that is what bounds it."""
        self._check_own_thread("take_late")
        late = self._world.late
        if late:
            self._note("take_late")
        try:
            self._world.late = []
            return self._late_as_shown(late)
        except BaseException:
            self._world.late = late
            raise

    def _late_as_shown(self, late: list[tuple[Event, str, str]]) -> list[tuple[Event, str, str]]:
        shown = self._world.calendar.shown([event for event, _, _ in late])
        return [(event, *rest) for event, (_, *rest) in zip(shown, late, strict=True)]  # type: ignore[misc]  # two texts

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
        self._check_own_thread("stats")
        counts = {} if self._compiled is None else self._compiled.counts()
        if counts is None:
            self._lend()
        given_up = self._steps.given_up.by_reason()
        return measure(self._program.joins, self._world.events, self._world.candidates, given_up, counts or {})

    # -- state ---------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """Return the state as bytes: plain data, versioned, with a fingerprint of the program. Only between pushes.

        Raises:
            NotStorable: The state holds something that is not plain data.
        """
        self._check_own_thread("snapshot")
        self._lend()
        return encode({"program": self._fingerprint(), **save_engine(self, written_entries)})

    def mark(self) -> Mark:
        """Note, from now on, what the engine is called with, for `changes_since`; what was noted before is forgotten.

        What comes is held until the next mark, or until an output is added or removed.
        """
        self._check_own_thread("mark")
        stand, (end, name) = self._stand(), self._restored
        if self._mark is None:
            self._mark = Mark(stand, name if stand[0] == end else "")
        else:
            self._mark = self._mark.next(stand)
        return self._mark

    def changes_since(self, mark: Mark) -> bytes:
        """Return what has come since the last mark, as bytes, from which `restore` goes on behind a snapshot.

        It costs as much as what has come, however much the engine holds, where a snapshot costs as much as all of that.
        `restore` does it again, so that takes as long as it took; a program's functions must give what they gave then.

        >>> from cartesius import Engine, Reactive
        >>> from restrictions import zip_
        >>> left, right = Reactive("left"), Reactive("right")
        >>> pairs = zip_(left, right)
        >>> engine = Engine(pairs)
        >>> saved, mark = engine.snapshot(), engine.mark()
        >>> engine.push(left, "L", at=1)
        []
        >>> changes = [engine.changes_since(mark)]  # store it; then go on from here
        >>> mark = engine.mark()
        >>> [event.value for event in Engine.restore(saved, pairs, changes=changes).push(right, "R", at=2)]
        [('L', 'R')]

        Raises:
            InvalidArgument: It is not the last mark of this engine, or an output was added or removed since.
            NotStorable: Something that came is not plain data; ``Engine(…, durable=True)`` refuses it at once.
        """
        self._check_own_thread("changes_since")
        if self._mark is None or mark is not self._mark:
            why = "another one was made since" if self._mark else "there is none, or an output was added or removed"
            message = (
                f"changes_since: expected the last mark of this engine but got {mark!r}; {why}: take a snapshot() and a"
                " mark()"
            )
            raise InvalidArgument(message)
        return save_changes(self, mark)

    @overload
    @classmethod
    def restore(cls, blob: bytes, output: Reactive[Any, A], /, **options: Unpack[Restored]) -> Engine[A]: ...

    @overload
    @classmethod
    def restore(cls, blob: bytes, *outputs: Reactive, **options: Unpack[Restored]) -> Engine: ...

    @classmethod
    def restore(
        cls,
        blob: bytes,
        *outputs: Reactive,
        changes: Iterable[bytes] = (),
        pulled: Iterable[Reactive] = (),
        unit: timedelta = MICROSECOND,
        lateness: int | timedelta | None = None,
        durable: bool = False,
        trace: bool = False,
        tier: Tier | None = None,
        on_error: OnError = "fail",
    ) -> Engine:
        """Return an engine for ``outputs``, and ``pulled``, in the state that `snapshot` saved.

        They are those that the engine had then, in its order; their names are as they were. Then ``changes`` are done
        again: what `changes_since` has returned since the snapshot, all of it, in order.

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
            SnapshotMismatch: The bytes are damaged, or belong to another program; or the changes do not go on where the
                snapshot ends, or do not come to what they came to.
            InvalidArgument: They are no bytes, or the changes are not in a list.
        """
        state = checked_state(decode(blob))
        engine: Engine = loading(
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
                " restriction, a body, the unit, the lateness or the minor version of Python differs; restore it with"
                " the program that took it"
            )
            raise SnapshotMismatch(message)
        loading(lambda: load_engine(engine, state))
        do_again(engine, changes)
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
        self._lend()
        for join in self._program.joins:
            for slot in join.slots:
                slot.memory.check_invariants()
        lost = unaccounted(self._program.joins)
        assert not lost, lost
