"""Running batches: through the stages of a program if all of it compiles, otherwise row by row.

While columns own the state, the objects are out of date; `Compiled.settle` brings them up to date.

Invariant: a batch that stages cannot do exactly has changed nothing when it is pushed row by row instead.
"""

from __future__ import annotations

from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from cartesius.columnar.feeds import Feed, fed, timed
from cartesius.columnar.kept import as_flow, keep, latest
from cartesius.columnar.plans import plan
from cartesius.columnar.results import as_table, table_of
from cartesius.columnar.rows import FAR, Flow, Rows, nothing
from cartesius.columnar.stages import Moment, Stage, State
from cartesius.columnar.vectors import NotColumnar
from cartesius.errors import NotStorable
from cartesius.events import EARLIEST, Delete, Event, Update
from cartesius.generated import commented

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cartesius.columnar.stages import Late
    from cartesius.engine import Engine
    from cartesius.join_shape import Join
    from cartesius.reactives import Reactive

    Shape: TypeAlias = "Callable[[Sequence[tuple[str, Flow]]], T]"

T = TypeVar("T")
_WATCHED: Final = "somebody listens, an input has ended, or some input has events already"


class Compiled:
    """The program of an engine as stages, and the state while columns own it."""

    def __init__(self, engine: Engine) -> None:
        self.program = engine._program
        found = plan(engine)
        self.reason = found if isinstance(found, str) else ""
        self.stages: list[Stage] = [] if isinstance(found, str) else found
        self.states: list[State] | None = None  # None: the objects own the state
        self.kept: dict[Reactive, Rows] = {}  # what has changed since then of the rows that are kept once for all

    def settle(self) -> None:
        """Bring the objects up to date: they own the state from now on."""
        if self.states is None:
            return
        states, self.states = self.states, None
        stored: set[int] = set()
        for stage, state in zip(self.stages, states, strict=True):
            stage.store(state, stored)
        changes, self.kept = self.kept, {}
        for table, rows in changes.items():
            keep(self.program.kept[table], rows)
        self.program.world.journal.clear()

    @property
    def nbytes(self) -> int:
        """How many bytes the rows that columns hold take, beside payload and keys."""
        return sum(state.nbytes for state in self.states or ())

    def source(self) -> str:
        """Return the generated code of all stages, each with its pattern, or why there is none."""
        if self.reason:
            return f"# a batch of columns is pushed row by row: {commented(self.reason)}\n"
        return "\n".join(stage.source() for stage in self.stages)

    def run(self, engine: Engine, feed: Feed, shape: Shape[T]) -> tuple[T, list[tuple[int, Late]]]:
        """Run a batch; return what ``shape`` makes of what the outputs give, and what is late, with its step.

        Raises:
            NotColumnar: It cannot be done exactly; nothing has changed.
        """
        world, program = engine._world, self.program
        moment, late, feed = _by_the_clock(engine, feed, [stage.join for stage in self.stages if not stage.keeps_time])
        flows: dict[Reactive, Flow] = {}
        number, tuples = world.number + 1, 0
        rows = {reactive: _numbered(one, engine._events + 1, number) for reactive, one in feed.rows.items() if len(one)}
        number += moment.steps
        states = []
        for place, stage in enumerate(self.stages):
            arriving: dict[int, Rows] = {}
            for slot in stage.join.slots:
                if slot.reactive in rows:
                    arriving[slot.index] = rows[slot.reactive]
                elif len(flows.get(slot.reactive, ())):
                    arriving[slot.index] = _given_on(flows[slot.reactive], number)
                    number += len(flows[slot.reactive])
            state = stage.load(arriving) if self.states is None else self.states[place]
            outcome = stage.run(state, arriving, moment)
            states.append(outcome.state)
            tuples += outcome.tuples
            late += outcome.late
            flows.update(dict.fromkeys(stage.join.reactives, outcome.flow))
        kept = {
            reactive: latest(self.kept.get(reactive), one) for reactive, one in rows.items() if reactive in program.kept
        }
        given = {reactive: as_flow(one) for reactive, one in rows.items()} | flows
        shaped = shape([(program.names[output], given.get(output) or nothing()) for output in program.outputs])
        self.states = states
        engine._direct = {}  # it works on the objects
        self.kept |= kept
        world.number, world.candidates = number - 1, world.candidates + tuples
        world.steps += moment.steps
        late.sort(key=itemgetter(0))
        world.late.extend(item for _, item in late)
        if moment.clock is not None and len(moment.clock):
            world.clock = max(world.clock, int(moment.clock[-1]))
        engine._events += moment.steps
        ends = [int(one.end.max()) for one in feed.rows.values() if len(one)]
        engine._latest = max([engine._latest, *ends])
        engine._is_touched = engine._has_begun = True
        return shaped, late


def _given_on(flow: Flow, number: int) -> Rows:
    """Return what one correlation gives as what comes to another."""
    if flow.turn is not None:
        reason = "what is due comes in steps of its own"
        raise NotColumnar(reason)
    if flow.weight is not None and (flow.weight < 0).any():
        reason = "results that are taken back go on into another correlation"
        raise NotColumnar(reason)
    return flow.as_rows(number)


def _numbered(rows: Rows, ordinal: int, number: int) -> Rows:
    numbers = (rows.position + ordinal, rows.position + number)
    return Rows(rows.payload, rows.start, rows.end, *numbers, rows.position, rows.key, rows.deletes)


def _is_table(engine: Engine, output: Reactive) -> bool:
    return engine._program.join_of[output].is_table if output in engine._program.join_of else output.table


def _timed(engine: Engine, feed: Feed) -> Feed:
    """Return what comes with its times; raise `NotColumnar` if 64 bits may not hold what is computed of them."""
    latest, clock = engine._latest, engine._world.clock
    known = [abs(time) for time in (latest, clock, engine._lateness or 0) if time != EARLIEST]
    if max(known) > FAR:
        reason = "times are far from 0"
        raise NotColumnar(reason)
    feed = timed(feed, latest, clock)
    for rows in feed.rows.values():
        rows.check_times()
    return feed


def _by_the_clock(engine: Engine, feed: Feed, timeless: Sequence[Join]) -> tuple[Moment, list[tuple[int, Late]], Feed]:
    """Return the clock in each step, what comes too late, with its step, and the rest.

    Args:
        engine: The engine.
        feed: What comes.
        timeless: The correlations whose stages do not look at the clock themselves.
    """
    world, lateness = engine._world, engine._lateness
    if lateness is None and world.clock == EARLIEST:
        return Moment(feed.steps), [], feed
    ends = np.zeros(feed.steps, np.int64)
    for one in feed.rows.values():
        ends[one.position] = one.end
    clock = np.full(feed.steps, np.iinfo(np.int64).min if world.clock == EARLIEST else int(world.clock), np.int64)
    if lateness is not None:
        latest = ends if engine._latest == EARLIEST else np.maximum(ends, int(engine._latest))
        clock = np.maximum(clock, np.maximum.accumulate(latest) - lateness)
        if any(item[3].join in timeless for item in world.deadlines.heap):
            reason = "deadlines are due"
            raise NotColumnar(reason)
    is_late = ends < clock
    moment = Moment(feed.steps, clock, meets_deadlines=lateness is not None)
    if not is_late.any():
        return moment, [], feed
    late: list[tuple[int, Late]] = []
    rest = {}
    for reactive, one in feed.rows.items():
        mine = is_late[one.position]
        bound = engine._program.bound.get(reactive, ())
        keeping = [join not in timeless for join, index in bound if join.slots[index].keeps_late]
        if keeping and mine.any() and not (all(keeping) and len(keeping) == len(bound)):
            reason = "late events count for some time"
            raise NotColumnar(reason)
        if keeping:
            rest[reactive] = one  # the stages look at the clock themselves
            continue
        name = engine._program.names[reactive]
        aside = one.take(np.flatnonzero(mine))
        positions, values = aside.position.tolist(), _payloads(reactive, aside)
        for position, value, start, end in zip(
            positions, values, aside.start.tolist(), aside.end.tolist(), strict=True
        ):
            event = Event(value, start, end, 1, name, (name, engine._events + 1 + position))
            late.append((position, (event, name, f"its end {end} is before the clock {int(clock[position])}")))
        rest[reactive] = one.take(np.flatnonzero(~mine))
    return moment, late, Feed(rest, feed.steps, is_timed=True)


def compiled_of(engine: Engine) -> Compiled:
    """Return the program of an engine, compiled as far as that goes."""
    if engine._compiled is None or engine._compiled.program is not engine._program:
        engine._settle()
        engine._compiled = Compiled(engine)
    return engine._compiled


def push_many(engine: Engine, batch: object) -> pa.Table:
    """Push a batch; see `Engine.push_many`."""
    program = engine._program
    feed = fed(program.inputs, program.names, batch)
    for reactive, rows in feed.rows.items():
        if len(rows):
            engine._check_goes_on(reactive, "push_many")
    has_tables = any(_is_table(engine, output) for output in program.outputs)
    found = attempt(engine, feed, lambda flows: as_table(flows, has_tables=has_tables))
    return _one_by_one(engine, feed) if found is None else found[0]


def attempt(engine: Engine, feed: Feed, shape: Shape[T]) -> tuple[T, list[tuple[int, Late]]] | None:
    """Push a batch through the stages of a program, if all of it compiles.

    Args:
        engine: The engine.
        feed: The batch; its inputs go on.
        shape: What makes something of what the outputs give, by their names. If it raises `NotColumnar`, nothing has
            changed.

    Returns:
        What ``shape`` has made, and what was late, with its step; None, and nothing has changed, if the batch cannot be
        computed exactly: then the rows are to be pushed one by one.
    """
    compiled = compiled_of(engine)
    engine._why_row_by_row = _WATCHED if engine._is_watched else ""
    if compiled.reason or engine._why_row_by_row:
        return None
    engine._steps.check_idle()
    engine._steps.is_running = True
    try:
        with np.errstate(all="ignore"):
            return compiled.run(engine, _timed(engine, feed), shape)
    except (NotColumnar, NotStorable, pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError) as why:
        engine._why_row_by_row = str(why)
    finally:
        engine._steps.is_running = False
    return None


def _one_by_one(engine: Engine, feed: Feed) -> pa.Table:
    outputs = [(engine._program.names[output], _is_table(engine, output)) for output in engine._program.outputs]
    out: list[Event] = []
    done = 0
    try:
        for reactive, value, at in _in_order(feed):
            out += engine.push(reactive, value, at)
            done += 1
    except Exception as error:
        error.add_note(
            f"in push_many, at row {done} of {feed.steps} in the order of arrival; those before it stand, and what they"
            " gave is the attribute `emitted` of this error, a table"
        )
        with suppress(AttributeError, NotStorable):  # it may be frozen, and they no plain data
            error.emitted = table_of(out, outputs)  # type: ignore[attr-defined]  # any error of a body leaves as it is
        raise
    try:
        return table_of(out, outputs)
    except NotStorable as error:
        error.add_note("in push_many: all rows were pushed, but what they gave is nothing that columns hold; use push")
        raise


def _in_order(feed: Feed) -> Iterator[tuple[Reactive, Any, tuple[int, int] | None]]:
    """Iterate over the rows as `push` takes them."""
    items: list[tuple[Reactive, Any, tuple[int, int] | None] | None] = [None] * feed.steps
    for reactive, rows in feed.rows.items():
        values = _payloads(reactive, rows)
        times = zip(rows.start.tolist(), rows.end.tolist(), strict=True) if feed.is_timed else [None] * len(rows)
        for position, value, at in zip(rows.position.tolist(), values, times, strict=True):
            items[position] = (reactive, value, at)
    return (item for item in items if item is not None)


def _payloads(reactive: Reactive, rows: Rows) -> list[Any]:
    values = rows.payload.to_list()
    if not reactive.table:
        return values
    assert rows.key is not None  # Invariant: rows of a table have keys
    deletes = [False] * len(rows) if rows.deletes is None else rows.deletes.tolist()
    keys = rows.key.to_list()
    return [Delete(k) if gone else Update(k, v) for k, v, gone in zip(keys, values, deletes, strict=True)]
