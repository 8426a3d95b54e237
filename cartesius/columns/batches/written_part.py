"""The written part of a program: correlations that no kernel knows, run as written behind those that columns compute.

They are a program of their own in the same world. What comes to them in a batch comes in its order: of inputs the rows,
of correlations that columns compute what these give. Objects own their state, always.

Invariant: each step happens or does not. A batch that stops at a step has changed what the steps before it change, and
nothing else; so columns, which compute without changing anything, can be computed once more up to there.

Source: DESIGN 4; SEMANTICS 1.1 and 1.12.
"""

from __future__ import annotations

from copy import copy
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
import numpy as np

from cartesius.batching.world import OF_NONE
from cartesius.columns.batches.row_by_row import is_table, payloads_of
from cartesius.columns.results import flow_of
from cartesius.columns.stages.rows import LAST
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.core.direct_pushes import DirectPushes
from cartesius.data.events import Event
from cartesius.programs.doors import checked_value
from cartesius.programs.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cartesius.columns.stages.rows import Flow, Rows
    from cartesius.columns.stages.stages import Late, Moment
    from cartesius.core.direct_pushes import Direct
    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Time
    from cartesius.language.reactives import Reactive

    Arrival: TypeAlias = tuple[Reactive, Any, int, int, int]
    """A reactive, a value, its first and last instant, and its number among what the reactive gives."""
    Where: TypeAlias = tuple[int, bool, int]
    """In which step something is set aside, whether not by a deadline, and by which correlation of the program."""
    Emitted: TypeAlias = tuple[int, int, Event]
    """A step, the time of the deadline that something comes of, as in `Flow.turn`, and what comes."""


@attrs.define
class Given:
    """What the written part has made of a batch.

    Args:
        done: How many steps it has done, the first ones.
        emitted: What the outputs give.
        late: What was set aside, and where.
        stopped_by: What happened in the step after those, which has changed nothing; None: it has done all.
    """

    done: int = 0
    emitted: list[Emitted] = attrs.field(factory=list)
    late: list[tuple[Where, Late]] = attrs.field(factory=list)
    stopped_by: BaseException | None = None


class WrittenPart:
    """The correlations of a program that no kernel knows, and those behind them.

    Args:
        engine: The engine.
        joins: The correlations.
    """

    def __init__(self, engine: EngineCore, joins: Sequence[Join]) -> None:
        whole, self._world = engine._program, engine._world
        self._engine = engine
        self.numbers = {join.number for join in joins}
        self._places = {join.number: place for place, join in enumerate(whole.joins)}
        made = {reactive for join in joins for reactive in join.reactives}
        memories = {slot.shared for join in joins for slot in join.slots}
        self._program = program = copy(whole)
        program.joins = list(joins)
        program.outputs = tuple([output for output in whole.outputs if output in made])
        program.shared = [shared for shared in whole.shared if shared in memories]
        bound = {reactive: [one for one in some if one[0] in joins] for reactive, some in whole.bound.items()}
        program.bound = {reactive: some for reactive, some in bound.items() if some}
        read = {slot.reactive for join in joins for slot in join.slots if slot.kept is not None}
        program.kept = {table: kept for table, kept in whole.kept.items() if table in read}  # columns keep the others
        self.keeps: Collection[Reactive] = program.kept
        self.sources = [reactive for reactive in program.bound if reactive not in made]
        self._is_alone = len(whole.outputs) == 1
        self._steps = Steps(program, self._world)
        self._steps.given_up = engine._steps.given_up
        objection = "each value is checked, in a durable engine" if self._world.durable else ""
        self._pushes = DirectPushes(program, self._steps, objection, engine._lateness)
        self._direct: Direct = {}
        self._n_met = 0  # how much was set aside in the present step by deadlines
        self._left: tuple[Any, Any] | None = None  # why clauses did the last step, if they did

    def run(self, rows: Mapping[Reactive, Rows], flows: Mapping[Reactive, Flow], moment: Moment, number: int) -> Given:
        """Run the steps of a batch, as far as that goes. The journal is open afterwards: the caller closes it.

        Args:
            rows: What comes to the inputs.
            flows: What the correlations give that columns compute.
            moment: The clock in each step.
            number: What they give is numbered from there.

        Raises:
            NotColumnar: It cannot be done in this way; nothing has changed.
        """
        world, given = self._world, Given()
        coming = self._coming(rows, flows, number)
        turns = _turns([] if self._is_alone else [flows[one] for one in self._engine._program.outputs if one in flows])
        arriving = sorted(coming, reverse=True)
        before = world.events, world.latest, world.clock
        n_late, others = len(world.late), world.deadlines.of_others(self.numbers)
        try:
            world.journal.is_open, world.late_by = True, []
            world.deadlines.leave_out(others)
            world.number = max(world.number, number + sum(map(len, flows.values())))
            world.journal.is_open = False
            self._direct = self._pushes.ready(bool, 0)
            while (step := self._next(given.done, arriving, moment)) < moment.steps:
                here = coming[arriving.pop()] if arriving and arriving[-1] == step else []
                given.emitted += self._run_step(step, here, moment, turns.get(step, ()))
                if len(world.late) > n_late + len(given.late):
                    given.late += self._set_aside(step, world.late[n_late + len(given.late) :])
                given.done = step + 1
                world.journal.is_open = False
                self._learn(
                    here
                )  # only now, as functions take long to make, and the step stands if that is interrupted
            given.done = moment.steps
            world.journal.is_open = True  # in here, as what has been done stands wherever somebody interrupts
        except BaseException as error:
            if world.journal.is_open or self._steps.is_running:  # a function was left without its handlers: see `push`
                world.journal.is_open, self._steps.is_running = True, False
                raise
            given.stopped_by = error
            world.journal.is_open = True
        world.late_by = None
        world.deadlines.take_in(others)
        self._engine._steps.broken_by = self._steps.broken_by
        del world.late[n_late:]
        world.events, world.latest, world.clock = before
        return given

    def _coming(
        self, rows: Mapping[Reactive, Rows], flows: Mapping[Reactive, Flow], number: int
    ) -> dict[int, list[Arrival]]:
        """Return what comes in each step in which something does."""
        coming: dict[int, list[Arrival]] = {}
        numbers: dict[int, int] = {}  # of what is given: the same for all reactives that stand for it
        for reactive in self.sources:
            mine = rows.get(reactive)
            if reactive in flows:
                flow = flows[reactive]
                if flow.turn is not None and (flow.turn != LAST).any():
                    raise NotColumnar("what is due comes in steps of its own")
                first = numbers.setdefault(id(flow), number)
                mine, number = flow.as_rows(first), max(number, first + len(flow))
            if mine is None:
                continue
            columns = (mine.start.tolist(), mine.end.tolist(), mine.ordinal.tolist(), mine.position.tolist())
            for value, start, end, ordinal, position in zip(payloads_of(reactive, mine), *columns, strict=True):
                coming.setdefault(position, []).append((reactive, value, start, end, ordinal))
        return coming

    def _next(self, done: int, arriving: Sequence[int], moment: Moment) -> int:
        """Return the next step in which something comes, or is due before."""
        first = arriving[-1] if arriving else moment.steps
        heap = self._world.deadlines.heap
        if not moment.meets_deadlines or moment.clock is None or not heap:
            return first
        return min(first, max(done, int(np.searchsorted(moment.clock, heap[0][0], side="right"))))

    def _run_step(self, step: int, here: Sequence[Arrival], moment: Moment, turns: Collection[int]) -> list[Emitted]:
        """Run one step, or nothing of it; return what the outputs give.

        Args:
            step: The step.
            here: What comes in it.
            moment: The clock in each step.
            turns: At which deadlines something comes of what columns compute.
        """
        world, lateness, self._n_met = self._world, self._engine._lateness, 0
        clock = world.clock if moment.clock is None else int(moment.clock[step])
        heap = world.deadlines.heap
        is_due = moment.meets_deadlines and bool(heap) and heap[0][0] < clock
        left: tuple[str, Exception | None] = ("", None)
        if len(here) == 1 and (self._is_alone or not is_due):
            reactive, value, start, end, ordinal = here[0]
            function = self._direct.get(reactive)
            if function is not None:
                world.events, world.latest = ordinal - 1, world.latest if lateness is None else clock + lateness
                emitted = function(value, start if start == end else (start, end))
                if emitted is not None:
                    return [(step, LAST, event) for event in emitted]
                left = self._steps.given_up.taken()
        self._left = left
        found: list[Emitted] = []
        n_late = len(world.late)

        def work() -> list[Event]:
            if is_due:
                found.extend([(step, *one) for one in self._meet(clock, turns)])
                self._n_met = len(world.late) - n_late
            world.clock = max(world.clock, clock)
            found.extend([(step, LAST, event) for event in self._propagated(here)])
            return []

        self._steps.atomically(work)
        return found

    def _learn(self, here: Sequence[Arrival]) -> None:
        """Make functions for what came in a step that clauses have done, and count why they have."""
        if self._left is None:
            return
        (left_by, failed_by), self._left = self._left, None
        for reactive, *_ in here:
            self._pushes.learn(reactive)
            why = left_by or self._pushes.why_not(reactive)
            self._steps.given_up.count(None, f"push_many: {why}", failed_by)
        self._direct = self._pushes.ready(bool, 0)

    def _meet(self, clock: Time, turns: Collection[int]) -> list[tuple[int, Event]]:
        """Meet what is due below a time; return what the outputs give, each with the time of its deadline."""
        if self._is_alone:
            return [(LAST, event) for event in self._steps.move_clock(clock)]
        found: list[tuple[int, Event]] = []
        heap = self._world.deadlines.heap
        while heap and heap[0][0] < clock:
            time, before = heap[0][0], self._world.steps
            emitted = self._steps.move_clock(time + 1)
            if emitted and (self._world.steps > before + 2 or time in turns):
                raise NotColumnar("several things are due at one time, which go to several outputs")
            found += [(time, event) for event in emitted]
        return found

    def _propagated(self, here: Sequence[Arrival]) -> list[Event]:
        """Run a step with what comes; return what the outputs give."""
        if not here:
            return []
        events: dict[Reactive, list[Event]] = {}
        without: frozenset[tuple[Join, int]] = frozenset()
        world, before, n_late = self._world, self._world.steps, len(self._world.late)
        for reactive, value, start, end, ordinal in here:
            name = self._program.names[reactive]
            if reactive.pattern is not None:
                name = self._program.join_of[reactive].name
            checked = checked_value(reactive, value) if reactive.pattern is None else value
            event = Event(checked, start, end, 1, name, (name, ordinal))
            if reactive.pattern is None and end < world.clock:
                too_late = self._steps.set_aside_late(reactive, event)
                if too_late is None:
                    continue
                without |= too_late
            events.setdefault(reactive, []).append(event)
        is_given = any(reactive.pattern is not None for reactive in events)
        emitted = self._steps.propagate(events, set(), without) if events else []
        if is_given and len(world.late) > n_late:
            raise NotColumnar("a result is set aside, and of what it was made is not known")
        if not self._is_alone and emitted and world.steps > before + 1:
            raise NotColumnar("what comes goes on in several steps, to several outputs")
        return emitted

    def _set_aside(self, step: int, items: Sequence[Late]) -> list[tuple[Where, Late]]:
        """Return what was set aside in a step, and where: it stays in its order."""
        numbers, self._world.late_by = (self._world.late_by or [])[-len(items) :], []
        known = [OF_NONE if n < self._n_met else self._places.get(one, OF_NONE) for n, one in enumerate(numbers)]
        places = enumerate(zip(items, accumulate(known, max), strict=True))
        return [((step, n >= self._n_met, place), item) for n, (item, place) in places]

    def flows(self, emitted: Sequence[Emitted]) -> dict[Reactive, Flow]:
        """Return what the outputs give as columns; raise `NotStorable` if it is no plain data."""
        found = {}
        for output in self._program.outputs:
            name = self._program.names[output]
            mine = [one for one in emitted if one[2].reactive == name]
            step, turn = (np.array([one[place] for one in mine], np.int64) for place in (0, 1))
            flow = flow_of([event for _, _, event in mine], step, is_table=is_table(self._engine, output))
            found[output] = flow if self._is_alone else attrs.evolve(flow, turn=turn)
        return found


def _turns(flows: Sequence[Flow]) -> dict[int, set[int]]:
    """Return the deadlines that something comes of, by step."""
    turns: dict[int, set[int]] = {}
    for flow in flows:
        if flow.turn is not None:
            for step, turn in zip(flow.position.tolist(), flow.turn.tolist(), strict=True):
                if turn != LAST:
                    turns.setdefault(step, set()).add(turn)
    return turns
