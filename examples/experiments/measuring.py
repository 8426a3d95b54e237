"""One run: a strategy on a trace, once against the clock, and once with a look after each event.

What is counted does not depend on the machine, so that it is reproduced exactly; only seconds do.
"""

from __future__ import annotations

import gc
from collections import Counter
from operator import add
from time import perf_counter
from typing import TYPE_CHECKING, Any

import attrs

from cartesius import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cartesius import Event, Reactive
    from examples.experiments.workloads import Arrival


@attrs.frozen
class Counts:
    """What a strategy does with a trace.

    Args:
        candidates: Tuples that reached a body.
        results: Results given.
        corrections: Results taken back.
        late: Events set aside as too late.
        retained_mean: Events in memory, the mean over all events.
        retained_max: The most events in memory.
        waiting_mean: Events held back, the mean over all events.
        waiting_max: The most events held back.
        held_max: The most events in memory or held back, at one time.
        delay_mean: How far the clock is beyond a result when it is given, in time units; None without results.
        delay_max: The longest of these; None without results.
        right: Results that stand and are true; None where nobody knows.
        missed: True ones that were not given, or taken back; None where nobody knows.
        wrong: Results that stand and are not true; None where nobody knows.
    """

    candidates: int
    results: int
    corrections: int
    late: int
    retained_mean: float
    retained_max: int
    waiting_mean: float
    waiting_max: int
    held_max: int
    delay_mean: float | None
    delay_max: int | None
    right: int | None
    missed: int | None
    wrong: int | None


def seconds(
    output: Reactive, trace: Sequence[Arrival], options: Mapping[str, Any], clock: Callable[[], float] = perf_counter
) -> float:
    """Return how long it takes to push a trace, event by event, and to close."""
    engine = Engine(output, **options)
    gc.collect()
    start = clock()
    for reactive, value, at in trace:
        engine.push(reactive, value, at=at)
    engine.close()
    return clock() - start


def counted(
    output: Reactive, trace: Sequence[Arrival], options: Mapping[str, Any], truth: Iterable[Any] | None
) -> Counts:
    """Push a trace event by event; return what was done.

    Args:
        output: The strategy.
        trace: The arrivals.
        options: Options of the engine.
        truth: The values that should be given; None if nobody knows.
    """
    engine = Engine(output, **options)
    net: Counter[Any] = Counter()
    retained: list[int] = []
    waiting: list[int] = []
    delays: list[int] = []
    corrections, now = 0, 0

    def take(events: Iterable[Event]) -> None:
        nonlocal corrections
        for event in events:
            net[event.value] += event.weight
            if event.weight > 0:
                delays.append(int(now - event.end))
            else:
                corrections += 1

    for reactive, value, at in trace:
        now = max(now, at)
        take(engine.push(reactive, value, at=at))
        stats = engine.stats
        retained.append(stats.retained)
        waiting.append(stats.waiting)
    take(engine.close())
    right = missed = wrong = None
    if truth is not None:
        should, given = Counter(truth), +net
        right, missed, wrong = (sum(one.values()) for one in (should & given, should - given, given - should))
    return Counts(
        candidates=engine.stats.tuples,
        results=len(delays),
        corrections=corrections,
        late=len(engine.late),
        retained_mean=_mean(retained) or 0.0,
        retained_max=max(retained, default=0),
        waiting_mean=_mean(waiting) or 0.0,
        waiting_max=max(waiting, default=0),
        held_max=max(map(add, retained, waiting), default=0),
        delay_mean=_mean(delays),
        delay_max=max(delays, default=None),
        right=right,
        missed=missed,
        wrong=wrong,
    )


def _mean(numbers: Sequence[int]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None
