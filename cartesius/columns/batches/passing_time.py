"""Passing time: the clock moves, and what is due is asked for, while columns own the state.

As long as that decides nothing, columns keep the state: a program on Spark moves its clock once a micro-batch.

Source: SEMANTICS 3.1 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.columns.batches.keyed_state import Change, KeyedState, NotSplit, whole
from cartesius.columns.stages.stages import UNKNOWN, State
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.batches.running import Compiled


def advanced(compiled: Compiled, states: Sequence[State | KeyedState], clock: int) -> bool:
    """Move the clock if that decides nothing; return whether it was moved."""
    if not _is_all_known(compiled):
        return False
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
    world.clock = max(world.clock, clock)
    world.journal.is_open = False
    return True


def next_deadline(compiled: Compiled, states: Sequence[State | KeyedState]) -> tuple[int | None] | None:
    """Return the earliest clock at which something is due, or None; as a tuple, None if only the objects know."""
    if not _is_all_known(compiled):
        return None
    pairs = zip(compiled.stages, states, strict=True)
    times = [stage.deadline(whole(state) if stage.keeps_time else State(())) for stage, state in pairs]
    return None if UNKNOWN in times else (min([time + 1 for time in times if time is not None], default=None),)


def _is_all_known(compiled: Compiled) -> bool:
    """Whether nothing is due but what stages know; what they asked for as objects is out of date."""
    keeping = {stage.join for stage in compiled.stages if stage.keeps_time}
    return all(item[3].join in keeping for item in compiled.program.world.deadlines.heap)
