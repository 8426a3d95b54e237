"""The times of a batch: of what comes without any, of the clock in each step, and what comes too late by it.

Invariant: no time is so far from 0 that 64 bits might not hold what kernels compute of it.

Source: SEMANTICS 3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.batches.feeds import Feed, timed
from cartesius.columns.batches.row_by_row import payloads_of
from cartesius.columns.stages.rows import FAR
from cartesius.columns.stages.stages import Moment
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.events import EARLIEST, Event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.stages.stages import Late
    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.join_shape import Join


def with_times(engine: EngineCore, feed: Feed) -> Feed:
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
        latest = ends if engine._latest == EARLIEST else np.maximum(ends, int(engine._latest))
        clock = np.maximum.accumulate(latest)
        clock -= lateness
        if world.clock != EARLIEST:
            np.maximum(clock, int(world.clock), out=clock)
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
        positions, values = aside.position.tolist(), payloads_of(reactive, aside)
        for position, value, start, end in zip(
            positions, values, aside.start.tolist(), aside.end.tolist(), strict=True
        ):
            event = Event(value, start, end, 1, name, (name, engine._events + 1 + position))
            reason = f"its end {show(end)} is before the clock {show(int(clock[position]))}"
            late.append((position, (event, name, reason)))
        rest[reactive] = one.take(np.flatnonzero(~mine))
    return moment, late, Feed(rest, feed.steps, is_timed=True)
