"""Running batches: through the stages of a program if all of it compiles, otherwise row by row.

While columns own the state, the objects are out of date; `Compiled.settle` brings them up to date.

Invariant: a batch that stages cannot do exactly has changed nothing when it is pushed row by row instead.

This module is over 300 lines because a batch goes this one way, from the columns given to the table returned.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

import attrs
import numpy as np
import pyarrow as pa

from cartesius.batching.world import OF_NONE
from cartesius.columns.batches.batch_times import advanced, by_the_clock, is_all_known, next_deadline, with_times
from cartesius.columns.batches.fates import Counting, balance, held_of
from cartesius.columns.batches.feeds import Feed, fed, lists_of
from cartesius.columns.batches.kept import as_flow, keep, latest
from cartesius.columns.batches.keyed_state import ByKey, Change, KeyedState, whole
from cartesius.columns.batches.keyless import Keyless
from cartesius.columns.batches.plans import plan
from cartesius.columns.batches.row_by_row import is_table, no_table, one_by_one
from cartesius.columns.batches.single_rows import Rent, row_of
from cartesius.columns.batches.slicing import between, slice_length, stacked
from cartesius.columns.batches.written_part import Given, WrittenPart
from cartesius.columns.judgements.ageing import Ageing
from cartesius.columns.results import as_table, dated, events_of
from cartesius.columns.stages.rows import FAR, Flow, Rows, nothing
from cartesius.columns.stages.stages import Moment
from cartesius.columns.stages.stored_rows import checked_keys
from cartesius.columns.stages.turns import check_distinct, check_single
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.generated import commented
from cartesius.data.inflating import undisturbed
from cartesius.errors import NotStorable, carried

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.columns.batches.kept import Parts
    from cartesius.columns.batches.written_part import Where
    from cartesius.columns.stages.stages import Counts, Late, Stage, State
    from cartesius.core.engine_core import EngineCore
    from cartesius.data.events import Event, Time
    from cartesius.language.reactives import Reactive

    Shape: TypeAlias = "Callable[[Sequence[tuple[str, Flow]]], T]"

T = TypeVar("T")
_FEW: Final = 8
"""What objects hold of a program that is compiled in part is taken over for a batch of every eighth part of it, at
least: any other call gives it back, which costs as much as so many rows that are pushed."""
_LOOKS: Final = 64
"""So many rows are looked up of what columns hold in the time in which objects are made of all of it."""
_CANNOT: Final = (NotColumnar, NotStorable, pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError)
"""What says that a batch cannot be done by columns exactly."""
_WATCHED: Final = "somebody listens, an input has ended, or some input has events already"


@attrs.define
class Attempt(Generic[T]):
    """How far a batch went through the stages of a program.

    Args:
        done: How many rows did, the first ones; the others have changed nothing, and are to be pushed one by one.
        made: What was made of what the outputs gave, slice by slice.
        late: What was late, with its step.
    """

    done: int = 0
    made: list[T] = attrs.field(factory=list)
    late: list[tuple[int, Late]] = attrs.field(factory=list)


@attrs.define
class Ran(Generic[T]):
    """What running a batch has come to.

    Args:
        done: How many steps were done, the first ones.
        late: What was late, with its step.
        stopped_by: What happened in the step after those; or, if ``made`` is empty, why what they gave is no table.
        made: What was made of what the outputs gave.
    """

    done: int
    late: list[tuple[int, Late]]
    stopped_by: BaseException | None
    made: list[T] = attrs.field(factory=list)


@attrs.define
class _Computed:
    """What columns make of a batch.

    Args:
        rows: What comes to the inputs.
        moment: The clock in each step.
        number: The next arrival number.
        late: What is late, and where.
        counting: What becomes of what comes.
        latest: The latest end of what comes.
        flows: What the correlations give.
        loaded: The states before the batch.
        states: The states after it.
        tuples: How many candidates there were.
        kept: What has changed of the rows that are kept once for all.
    """

    rows: dict[Reactive, Rows]
    moment: Moment
    number: int
    late: list[tuple[Where, Late]]
    counting: Counting
    latest: Time
    flows: dict[Reactive, Flow] = attrs.field(factory=dict)
    loaded: list[State | KeyedState] = attrs.field(factory=list)
    states: list[State | KeyedState | Change] = attrs.field(factory=list)
    tuples: int = 0
    kept: dict[Reactive, Parts] = attrs.field(factory=dict)


class Compiled:
    """The program of an engine as stages, and the state while columns own it."""

    def __init__(self, engine: EngineCore) -> None:
        self.program = engine._program
        self._planned = plan(engine)
        self.reason, self.stages = self._planned.reason, self._planned.stages
        self.part = WrittenPart(engine, [*self._planned.written]) if self._planned.written else None
        self._keyless = [Keyless(stage.join) for stage in self.stages]
        self._places = [self.program.joins.index(stage.join) for stage in self.stages]
        self.states: list[State | KeyedState] | None = None  # None: the objects own the state
        self._lent: tuple[int, Time] | None = None  # when the objects were brought up to date, to be read
        self._looks: tuple[tuple[int, Time], int] = (0, 0), 0  # when rows were looked up, and how many since then
        self.kept: dict[Reactive, Parts] = {}  # what has changed since then of the rows that are kept once for all
        self._by_key = [ByKey(stage) for stage in self.stages]
        self.rent = Rent()

    def settle(self) -> None:
        """Bring the objects up to date: they own the state from now on."""
        if self.states is None:
            return
        journal = self.program.world.journal
        journal.is_open = True
        states, self.states = self.states, None
        held = held_of(self.program.joins)
        undisturbed(partial(self._store, states))
        self.keep_rows()
        balance(self.stages, held, None)
        journal.clear()
        journal.is_open = False

    def _store(self, states: Sequence[State | KeyedState]) -> None:
        stored: set[int] = set()
        for stage, state in zip(self.stages, states, strict=True):
            stage.store(whole(state), stored)

    def keep_rows(self) -> None:
        """Bring the rows of tables that are kept once for all up to date; who is interrupted in it may begin again."""
        for table, parts in self.kept.items():
            keep(self.program.kept[table], parts)
        self.kept = {}

    def lend(self) -> None:
        """Bring the objects up to date, to be read: columns go on owning the state, also if it is interrupted."""
        if self.states is None or self._lent == self._now:
            return
        states, journal = self.states, self.program.world.journal
        try:
            self.settle()
            self.states, self._lent = states, self._now
        except BaseException:
            self.states, journal.is_open = states, True
            journal.clear()
            journal.is_open = False
            raise

    @property
    def _now(self) -> tuple[int, Time]:
        return self.program.world.steps, self.program.world.clock

    def show(self, table: Reactive, key: Any) -> None:
        """Likewise what the newest row of a key of a table is read from, of all else nothing."""
        if self.states is None or self._lent == self._now:
            return
        since, looks = self._looks
        looks = looks + 1 if since == self._now else 0
        self._looks = self._now, looks
        parts = self._about(table, key, self.states) if looks < _LOOKS and self.part is None else None
        if parts is None:
            self.lend()
            return
        self._lent = None
        self.keep_rows()
        for stage, part in parts:
            stage.store(part, set())
        self.program.world.journal.clear()

    def _about(
        self, table: Reactive, key: Any, states: Sequence[State | KeyedState]
    ) -> list[tuple[Stage, State]] | None:
        join = self.program.join_of.get(table)
        if join is None:
            bound = [join.slots[index] for join, index in self.program.bound.get(table, ())]
            is_kept = table in self.program.kept and not any(slot.keeps_versions for slot in bound)
            return [] if is_kept else None
        place = next((place for place, stage in enumerate(self.stages) if stage.join is join), None)
        if place is None or join.batch.versions is not None or any(one.has_copies for one in chain(*join.gates)):
            return None
        part = self.stages[place].about(whole(states[place]), key)
        found = None if part is None else [(self.stages[place], part)]
        for slot in join.slots:
            more = self._about(slot.reactive, key, states) if slot.kept is not None and found is not None else []
            found = None if more is None or found is None else found + more
        return found

    def counts(self) -> dict[int, Counts] | None:
        """Return how many events are in memory and wait, by the numbers of correlations that columns hold, and slots.

        What has left meanwhile is accounted for. None: only the objects can tell.
        """
        found: dict[int, Counts] = {}
        for stage, state in zip(self.stages, self.states or (), strict=self.states is not None):
            one = stage.counts(state.counted if isinstance(state, KeyedState) else state)
            if one is None:
                return None
            found[stage.join.number] = one
        if found:
            balance(self.stages, held_of([stage.join for stage in self.stages]), found)
        return found

    def push(self, engine: EngineCore, reactive: Reactive, value: Any, start: Time, end: Time) -> list[Event] | None:
        """Push one event, if columns own the state and that is the cheaper way; None: nothing has changed."""
        if self.states is None or self.part is not None or not self.rent.is_paid(self.states):
            return None
        row = row_of(value, start, end, is_table=reactive.table)
        if row is None:
            return None
        found: Attempt[list[Event]] = Attempt()
        why, has_tables = engine._why_row_by_row, any(is_table(engine, output) for output in self.program.outputs)
        try:
            feed = Feed({reactive: row}, 1, is_timed=True)
            attempt(engine, feed, lambda flows: events_of(as_table(flows, has_tables=has_tables)), found)
            engine._why_row_by_row = why  # that is of batches
            return found.made[0] if found.made else None
        except BaseException as error:
            is_torn, engine._journal.is_open = engine._journal.is_open, True
            is_torn |= bool(found.made) and not carried(error, found.made[0])
            engine._journal.is_open = is_torn
            raise

    def advance(self, engine: EngineCore, clock: int) -> list[Event] | None:
        """Move the clock, if columns own the state and can; return what is decided by that, or None: nothing is.

        The journal is open if it was moved: who has called it closes it.
        """
        if self.states is None or not is_all_known(self):
            return None
        if advanced(self, self.states, clock):
            return []
        if self.part is not None or abs(clock) > FAR or not self.rent.is_paid(self.states):
            return None
        world, has_tables = self.program.world, any(is_table(engine, output) for output in self.program.outputs)
        moment = Moment(1, np.array([max(clock, world.clock)], np.int64), meets_deadlines=True)
        found = _Computed({}, moment, world.number + 1, [], Counting(), world.latest)
        try:
            engine._steps.is_running = True
            with np.errstate(all="ignore"):
                emitted = events_of(as_table(self._given(self._through(found)), has_tables=has_tables))
            engine._steps.is_running = False
        except BaseException as error:
            engine._steps.is_running = False
            if isinstance(error, _CANNOT):
                return None
            raise
        self._commit(engine, found, Ran(0, _in_order(found.late), None))
        return emitted

    def next_deadline(self) -> tuple[int | None] | None:
        """Return the earliest clock at which something is due, or None; as a tuple, None if only the objects know."""
        return None if self.states is None else next_deadline(self, self.states)

    @property
    def nbytes(self) -> int:
        """How many bytes the rows that columns hold take, beside payload and keys."""
        return sum(state.nbytes for state in self.states or ())

    @property
    def n_retained(self) -> int:
        """How many rows columns hold."""
        kept = sum(len(rows) for parts in self.kept.values() for rows in parts)
        return kept + sum(state.n_retained for state in self.states or ())

    def is_too_much_for(self, steps: int) -> bool:
        """Whether objects hold more than a batch of so many rows should take over, where a part is written."""
        if self.part is None or self.states is not None:
            return False
        held = sum(len(slot.memory.all()) for stage in self.stages for slot in stage.join.slots)
        return held > _FEW * steps

    def source(self) -> str:
        """Return the generated code of all stages, each with its pattern, or why there is none."""
        if self.reason:
            return f"# a batch of columns is pushed row by row: {commented(self.reason)}\n"
        written = [f"# {join.name} is run row by row: {commented(why)}" for join, why in self._planned.written.items()]
        return "\n".join([*(stage.source() for stage in self.stages), *written])

    def run(self, engine: EngineCore, feed: Feed, shape: Shape[T]) -> Ran[T]:
        """Run a batch, as far as that goes. The journal is open then: the caller closes it once it has the results.

        Raises:
            NotColumnar: It cannot be done exactly; nothing has changed.
        """
        found, given = self._computed(engine, feed), Given(feed.steps)
        if self.part is not None:
            given = self.part.run(found.rows, found.flows, found.moment, found.number)
            if given.stopped_by is not None and not given.done:
                engine._journal.is_open = False
                raise _as_reason(given.stopped_by)
            if given.stopped_by is not None:
                try:
                    found = self._computed(engine, between(feed, 0, given.done), found.loaded)
                except Exception as error:  # a body gives something else than a moment ago: what is written has changed
                    raise given.stopped_by from error
        ran: Ran[T] = Ran(given.done, _in_order([*found.late, *given.late]), given.stopped_by)
        try:
            ran.made = [shape(self._given(found, given.emitted))]
        except NotStorable as error:
            if self.part is None:
                raise
            ran.stopped_by = error  # what was done stands
        self._commit(engine, found, ran, found.moment.steps)
        return ran

    def _given(self, found: _Computed, emitted: Any = ()) -> list[tuple[str, Flow]]:
        """Return what the outputs give, by their names."""
        flows = {reactive: as_flow(one) for reactive, one in found.rows.items()} | found.flows
        flows |= {} if self.part is None else self.part.flows(emitted)
        return [(self.program.names[output], flows.get(output) or nothing()) for output in self.program.outputs]

    def _computed(self, engine: EngineCore, feed: Feed, before: Sequence[State | KeyedState] = ()) -> _Computed:
        """Return what columns make of a batch, in the state ``before`` it if that was loaded; nothing has changed."""
        ends = [int(one.end.max()) for one in feed.rows.values() if len(one)]  # of what is late, too: it has been seen
        moment, late, feed = by_the_clock(engine, feed, [stage.join for stage in self.stages if not stage.keeps_time])
        counting = Counting()
        counting.come_late(self.program, late)
        for one in feed.rows.values():
            if one.key is not None:
                checked_keys(one.key)
        number = engine._world.number + 1
        rows = {
            reactive: _numbered(one, engine._world.events + 1, number)
            for reactive, one in feed.rows.items()
            if len(one)
        }
        latest_end = max(ends, default=engine._world.latest)
        aside: list[tuple[Where, Late]] = [((step, True, OF_NONE), item) for step, item in late]
        return self._through(_Computed(rows, moment, number + moment.steps, aside, counting, latest_end), before)

    def _through(self, found: _Computed, before: Sequence[State | KeyedState] = ()) -> _Computed:
        """Let what comes go through the stages."""
        for place, stage in enumerate(self.stages):
            arriving, where = _arriving(stage, found), self._places[place]
            without: dict[int, int] = {}
            for index, one in arriving.items():
                arriving[index], aside = self._keyless[place].set_aside(stage.join.slots[index], one)
                found.late += [((step, True, where), item) for step, item in aside]
                without[index] = len(aside)
            arriving = {index: one for index, one in arriving.items() if len(one)}
            if self.states is None:
                self._by_key[place].begin()
                state: State | KeyedState = before[place] if before else stage.load(arriving)
            else:
                state = self.states[place]
            found.loaded.append(state)
            outcome, after = self._by_key[place].run(state, arriving, found.moment)
            found.states.append(after)
            found.tuples += outcome.tuples
            found.late += [((step, True, where), item) for step, item in outcome.late]
            found.counting.come(stage, arriving, without, outcome)
            if stage.gives_turns and len(stage.join.reactives) > 1:
                check_single(outcome.flow)
            found.flows.update(dict.fromkeys(stage.join.reactives, outcome.flow))
        check_distinct(found.flows[stage.join.reactives[0]] for stage in self.stages if isinstance(stage, Ageing))
        written = () if self.part is None else self.part.keeps
        for reactive, one in found.rows.items():
            if reactive in self.program.kept and reactive not in written:
                found.kept[reactive] = latest(self.kept.get(reactive, ()), one)
        return found

    def _commit(self, engine: EngineCore, found: _Computed, ran: Ran[Any], events: int = 0) -> None:
        """Let a batch of some events have happened."""
        world = engine._world
        world.journal.is_open = True
        if found.moment.last_clock is not None:
            world.clock = max(world.clock, found.moment.last_clock)
        self.states = [one.made() if isinstance(one, Change) else one for one in found.states]  # by that clock
        engine._direct = {}  # it works on the objects
        self.kept |= found.kept
        world.number, world.candidates = max(world.number, found.number - 1), world.candidates + found.tuples
        world.steps += found.moment.steps
        found.counting.count()
        world.late.extend(item for _, item in ran.late)
        engine._world.events += events
        engine._world.latest = max(engine._world.latest, found.latest)
        engine._is_touched = engine._has_begun = True


def _in_order(late: list[tuple[Where, Late]]) -> list[tuple[int, Late]]:
    """Return what was set aside as it is when rows are pushed, each with its step."""
    return [(step, item) for (step, *_), item in sorted(late, key=itemgetter(0))]


def _as_reason(error: BaseException) -> BaseException:
    """Return what is raised for what stopped the first step: an error of its own comes when the step is pushed."""
    return NotColumnar(str(error)) if isinstance(error, Exception) else error


def _arriving(stage: Stage, found: _Computed) -> dict[int, Rows]:
    """Return what comes to each slot of a stage; what other stages give is numbered."""
    arriving: dict[int, Rows] = {}
    for slot in stage.join.slots:
        if slot.reactive in found.rows:
            arriving[slot.index] = found.rows[slot.reactive]
        elif len(found.flows.get(slot.reactive, ())):
            arriving[slot.index] = _given_on(found.flows[slot.reactive], found.number, stage)
            found.number += len(found.flows[slot.reactive])
    return arriving


def _given_on(flow: Flow, number: int, stage: Stage) -> Rows:
    """Return what one correlation gives as what comes to another."""
    if flow.turn is not None and not stage.takes_turns:
        raise NotColumnar("what is due comes in steps of its own")
    if flow.weight is not None and (flow.weight < 0).any():
        raise NotColumnar("results that are taken back go on into another correlation")
    return flow.as_rows(number)


def _numbered(rows: Rows, ordinal: int, number: int) -> Rows:
    numbers = (rows.position + ordinal, rows.position + number)
    return Rows(rows.payload, rows.start, rows.end, *numbers, rows.position, rows.key, rows.deletes)


def compiled_of(engine: EngineCore) -> Compiled:
    """Return the program of an engine, compiled as far as that goes."""
    compiled = engine._compiled
    if not isinstance(compiled, Compiled) or compiled.program is not engine._program:
        engine._settle()
        engine._compiled = compiled = Compiled(engine)
    return compiled


def push_many(engine: EngineCore, batch: object) -> pa.Table:
    """Push a batch; see `Engine.push_many`."""
    program = engine._program
    feed = fed(program.inputs, program.names, batch, engine._world.unit)
    if engine._mark is not None:
        engine._note("push_many", lists_of(engine, feed))
    before = _take_language(engine, feed)
    for reactive, rows in feed.rows.items():
        if len(rows):
            engine._check_goes_on(reactive, "push_many")
    has_tables = any(is_table(engine, output) for output in program.outputs)
    compiled_of(engine).rent.begin()
    found: Attempt[pa.Table] = Attempt()
    events, told = engine._world.events, list[BaseException]()
    try:
        attempt(engine, feed, lambda flows: as_table(flows, has_tables=has_tables), found)
        if found.done == feed.steps and found.made:
            return dated(stacked(found.made), engine._world.calendar)
        reason = f"push_many: {compiled_of(engine).reason or engine._why_row_by_row}"
        engine._steps.given_up.count(None, reason, many=feed.steps - found.done)
        return one_by_one(engine, feed, found.made, found.done, told)
    except BaseException as error:
        is_torn, engine._journal.is_open = engine._journal.is_open, True
        pushed = engine._world.events - events
        if not pushed and not found.made:
            engine._world.calendar.is_dated = before
        elif found.made and pushed == found.done and not told:  # no row was pushed alone
            is_torn |= not carried(error, dated(stacked(found.made), engine._world.calendar))
        engine._journal.is_open = is_torn
        raise


def _take_language(engine: EngineCore, feed: Feed) -> bool | None:
    """Note whether the times of a batch are datetimes; return what was known of the engine before."""
    calendar = engine._world.calendar
    before = calendar.is_dated
    if feed.is_timed:
        got = "a column of datetimes" if feed.is_dated else "a column of ints"
        calendar.check(feed.is_dated, "push_many", got, has_ints=engine._world.latest > engine._world.events)
        calendar.is_dated = feed.is_dated
    return before


def attempt(engine: EngineCore, feed: Feed, shape: Shape[T], found: Attempt[T]) -> Attempt[T]:
    """Push a batch through the stages of a program, slice by slice, as far as that can be done exactly.

    Args:
        engine: The engine.
        feed: The batch; its inputs go on.
        shape: What makes something of what the outputs give in a slice, by their names.
        found: How far it has come, also if it is interrupted: what was done until then stands.
    """
    compiled = compiled_of(engine)
    engine._why_row_by_row = _WATCHED if engine._is_watched() else ""
    if compiled.is_too_much_for(feed.steps):
        engine._why_row_by_row = "it is small beside what is held"
    if compiled.reason or engine._why_row_by_row:
        return found
    ran: Ran[T] | None = None
    try:
        engine._steps.is_running = True
        with np.errstate(all="ignore"):
            feed = with_times(engine, feed)
            while (ran is None or ran.stopped_by is None) and (found.done < feed.steps or not found.made):
                end = min(found.done + slice_length(compiled.n_retained), feed.steps)
                ran = compiled.run(engine, between(feed, found.done, end), shape)
                found.late += [(found.done + step, item) for step, item in ran.late]
                found.made += ran.made
                found.done += ran.done
                engine._journal.is_open = False  # last: who is interrupted before has an engine that is broken
    except _CANNOT as why:
        engine._why_row_by_row = str(why)
    finally:
        engine._steps.is_running = False
    if ran is None or ran.stopped_by is None:
        return found
    if not ran.made:
        ran.stopped_by.add_note(no_table(found.done, feed.steps))
    elif isinstance(ran.stopped_by, Exception):
        engine._why_row_by_row = str(ran.stopped_by)  # the row is pushed once more, and raises with all notes
        return found
    raise ran.stopped_by
