"""What else the speed figures promise: memory of the compiled tier, building a large pack, and what an import loads."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import tracemalloc
from statistics import median
from typing import TYPE_CHECKING, Final

import attrs
import pyarrow as pa

from bench import ours
from bench.program_cases import RULES, pack_workload, rule_pack
from bench.workloads import Workload, band, keyed_latest, two_streams
from cartesius import Engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Reactive

MEMORY_LEAST, BUILDING_LEAST = 64, 1_000
HEAVY: Final = ("numpy", "pyarrow", "pandas", "pyspark", "pint")
PAYLOAD: Final = 16
"""Bytes of the payload's own columns: two ints of 64 bits."""


@attrs.frozen
class Fact:
    """A number with its bound, where it has one: it must be that at most."""

    name: str
    value: float
    unit: str
    most: float | None = None
    note: str = ""

    @property
    def is_kept(self) -> bool:
        """Whether the bound is kept."""
        return self.most is None or self.value <= self.most


def measure(n: int, repetitions: int, seed: int, tell: Callable[[str], None] = lambda _: None) -> list[Fact]:
    """Measure all.

    Args:
        n: Events, of which the engine retains most.
        repetitions: How often, for medians.
        seed: Seed of the values.
        tell: What is told of the progress.
    """
    tell("memory of the compiled tier")
    found = [
        retained("keyed latest", keyed_latest, n, max(n // 2, 1), seed),
        retained("band", band, n, max(n // 2, 1), seed),
    ]
    tell(f"building a pack of {RULES} rules")
    found.append(building(repetitions, seed))
    tell("import cartesius")
    return [*found, *importing(repetitions)]


def retained(label: str, output: Callable[[], Reactive], n: int, keys: int, seed: int) -> Fact:
    """Return the bytes that an engine holds per retained event after a batch, beyond the payload's own columns.

    They are what Python and numpy have allocated, and Arrow's pool; the batch itself and the results are let go before.
    """
    sample = Workload("keyed", label, output, two_streams(min(n, ours.SAMPLE), keys, seed))
    if ours.fitting(sample, 0)[1] != "compiled":  # that has also loaded what batches need
        n = sample.n  # row by row, under tracing, it would take long
    tracemalloc.start()
    try:
        before = _held()
        workload = Workload("keyed", label, output, two_streams(n, keys, seed))
        engine = workload.engine()
        engine.push_many(workload.batch)
        how = ours.how(engine)
        del workload
        held = _held() - before
        n_retained = engine.stats.retained
    finally:
        tracemalloc.stop()
    return Fact(
        f"bytes per retained event beyond the payload, {label}",
        held / n_retained - PAYLOAD,
        "B",
        MEMORY_LEAST,
        f"{n_retained:,} retained; {how}",
    )


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0] + int(pa.total_allocated_bytes())


def building(repetitions: int, seed: int) -> Fact:
    """Return what building an engine for a pack of forty rules costs, in pushes through it."""
    costs = []
    _, workload = pack_workload(RULES, 1_000, seed)
    for _ in range(repetitions):
        begin = time.perf_counter()
        Engine(rule_pack(RULES).table())
        seconds = time.perf_counter() - begin
        run = ours.by_push(workload, "in_place")
        begin = time.perf_counter()
        run()
        costs.append(seconds / (time.perf_counter() - begin) * workload.n)
    return Fact(f"building an engine for a pack of {RULES} rules", median(costs), "pushes", BUILDING_LEAST)


def importing(repetitions: int) -> list[Fact]:
    """Return how long ``import cartesius`` takes beyond Python's own start, and how many heavy packages it loads."""
    times = [_seconds("import cartesius") - _seconds("pass") for _ in range(repetitions)]
    ask = f"import sys, cartesius; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout.split()
    return [
        Fact("import cartesius", median(times) * 1000, "ms"),
        Fact(f"of {', '.join(HEAVY)}, loaded by it", len(loaded), "packages", 0, " ".join(loaded)),
    ]


def _seconds(program: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - begin
