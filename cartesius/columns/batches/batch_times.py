"""The times of a batch: of what comes without any, of the clock in each step, and what comes too late by it.

Between batches the clock moves, and what is due is asked for. As long as that decides nothing, columns keep the state:
a program on Spark moves its clock once a micro-batch.

Invariant: no time is so far from 0 that 64 bits might not hold what kernels compute of it.

Source: SEMANTICS 3.1 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.batches.feeds import Feed, timed
from cartesius.columns.batches.keyed_state import Change, KeyedState, NotSplit, whole
from cartesius.columns.batches.row_by_row import payloads_of
from cartesius.columns.stages.rows import FAR
from cartesius.columns.stages.stages import UNKNOWN, Moment, State
from cartesius.columns.vectors.ordering import ascends
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.events import EARLIEST, Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.batches.running import Compiled
    from cartesius.columns.stages.stages import Late
    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.join_shape import Join


def with_times(engine: EngineCore, feed: Feed) -> Feed:
    """Return what comes with its times; raise `NotColumnar` if 64 bits may not hold what is computed of them."""
    latest, clock = engine._world.latest, engine._world.clock
    known = [abs(time) for time in (latest, clock, engine._lateness or 0) if time != EARLIEST]
    if max(known) > FAR:
        raise NotColumnar("times are far from 0")
    feed = timed(feed, latest, clock)
    for rows in feed.rows.values():
        rows.check_times()
    return feed


def by_the_clock(
    engine: EngineCore, feed: Feed, timeless: Sequence[Join]
) -> tuple[Moment, list[tuple[int, Late]], Feed]:
    """Return the clock in each step, what comes too late, with its step, and the rest.

    Args:
        engine: The engine.
        feed: What comes.
        timeless: The correlations whose stages do not look at the clock themselves.
    """
    world, lateness, show = engine._world, engine._lateness, engine._world.calendar.time
    if lateness is None and world.clock == EARLIEST:
        return Moment(feed.steps), [], feed
    ends = np.zeros(feed.steps, np.int64)
    for one in feed.rows.values():
        ends[one.position] = one.end
    if lateness is None:
        clock = np.full(feed.steps, int(world.clock), np.int64)
    else:
        latest = ends if engine._world.latest == EARLIEST else np.maximum(ends, int(engine._world.latest))
        clock = (latest if ascends(latest) else np.maximum.accumulate(latest)) - lateness
        if world.clock != EARLIEST:
            np.maximum(clock, int(world.clock), out=clock)
        if any(item[3].join in timeless for item in world.deadlines.heap):
            raise NotColumnar("deadlines are due")
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
            raise NotColumnar("late events count for some time")
        if keeping:
            rest[reactive] = one  # the stages look at the clock themselves
            continue
        name = engine._program.names[reactive]
        aside = one.take(np.flatnonzero(mine))
        positions, values = aside.position.tolist(), payloads_of(reactive, aside)
        for position, value, start, end in zip(
            positions, values, aside.start.tolist(), aside.end.tolist(), strict=True
        ):
            event = Event(value, start, end, 1, name, (name, engine._world.events + 1 + position))
            reason = f"its end {show(end)} is before the clock {show(int(clock[position]))}"
            late.append((position, (event, name, reason)))
        rest[reactive] = one.take(np.flatnonzero(~mine))
    return moment, late, Feed(rest, feed.steps, is_timed=True)


def advanced(compiled: Compiled, states: Sequence[State | KeyedState], clock: int) -> bool:
    """Move the clock if that decides nothing; return whether it was moved: the journal is open then."""
    pairs = zip(compiled.stages, states, strict=True)
    try:
        passed = [
            state.passed(clock) if isinstance(state, KeyedState) else stage.passed(state, clock)
            for stage, state in pairs
        ]
    except (NotColumnar, NotSplit):
        return False
    after = [state for state in passed if state is not None]
    if len(after) < len(passed):
        return False
    world = compiled.program.world
    world.journal.is_open = True
    compiled.states = [state.made() if isinstance(state, Change) else state for state in after]
    if clock <= world.clock and any(state.n_retained for state in states):
        world.steps += 1  # what was overdue may have left, although the clock stands: `marks` tells that by the steps
    world.clock = max(world.clock, clock)
    return True


def next_deadline(compiled: Compiled, states: Sequence[State | KeyedState]) -> tuple[int | None] | None:
    """Return the earliest clock at which something is due, or None; as a tuple, None if only the objects know."""
    if not is_all_known(compiled):
        return None
    pairs = zip(compiled.stages, states, strict=True)
    times = [stage.deadline(whole(state) if stage.keeps_time else State(())) for stage, state in pairs]
    return None if UNKNOWN in times else (min([time + 1 for time in times if time is not None], default=None),)


def is_all_known(compiled: Compiled) -> bool:
    """Whether nothing is due but what stages know; what they asked for as objects is out of date."""
    keeping = {stage.join for stage in compiled.stages if stage.keeps_time}
    return all(item[3].join in keeping for item in compiled.program.world.deadlines.heap)
