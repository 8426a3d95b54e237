"""Our side of the speed figures: `Engine.push` event by event, and `Engine.push_many`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from bench.arrow_rows import pushes

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from bench.arrow_rows import Batch
    from bench.workloads import Workload
    from cartesius import Engine
    from cartesius.programs.doors import Tier

SAMPLE, GROWTH = 2_000, 2
"""Events from which it is foreseen how long more of them take, and how many times as many are tried next."""


def by_push(workload: Workload, tier: Tier | None) -> Callable[[], int]:
    """Return what pushes event by event, and returns the number of results."""
    return pushing(workload.engine(tier), workload.batch, is_timed=workload.is_timed)


def pushing(engine: Engine, batch: Batch, *, is_timed: bool = True) -> Callable[[], int]:
    """Return what pushes a batch event by event into an engine, and returns the number of results."""
    push, inputs = engine.push, engine.inputs
    bound: list[tuple[Any, ...]] = [(inputs[name], value, at) for name, value, at in pushes(batch, inputs)]
    if not is_timed:
        bound = [(reactive, value) for reactive, value, _ in bound]

    def run() -> int:
        n = 0
        for each in bound:
            n += len(push(*each))
        return n

    return run


def by_batch(workload: Workload) -> Callable[[], pa.Table]:
    """Return what pushes all as one batch."""
    engine = workload.engine()
    return lambda: engine.push_many(workload.batch)


def how(engine: Engine) -> str:
    """Say how the last batch was computed: compiled, or why row by row."""
    compiled = engine._compiled
    if compiled is not None and compiled.states is not None:
        return "compiled"
    return engine._why_row_by_row or (compiled.reason if compiled is not None else "no batch yet")


def fitting(workload: Workload, patience: float) -> tuple[Workload, str]:
    """Return the workload as a batch, and how that is computed; row by row it is shortened to fit ``patience``."""
    sample = workload.shortened(SAMPLE)
    engine = sample.engine()
    engine.push_many(sample.batch)
    found = how(engine)
    return (workload if found == "compiled" else fitting_pushes(workload, None, workload.n, patience)), found


def fitting_pushes(workload: Workload, tier: Tier | None, n: int, patience: float) -> Workload:
    """Return the workload with at most ``n`` events, as many as can be pushed in about ``patience`` seconds."""
    size, n = SAMPLE, min(n, workload.n)
    while size < n:
        run = by_push(workload.shortened(size), tier)
        begin = time.perf_counter()
        run()
        seconds = time.perf_counter() - begin
        if seconds * n / size <= patience / 4:  # it may be worse than linear
            break
        if seconds * GROWTH > patience / 2:
            return workload.shortened(size)
        size *= GROWTH
    return workload.shortened(n)
