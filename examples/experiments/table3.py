"""The experiment ``table3``: four joins of three streams, as in Table 3 of the paper, with its sizes and its sampling.

The paper pushes random integers strictly in turn, and looks at the memory ten times: after every tenth of the pushes.
As that is always the end of a round, joins that use an event once are seen with nothing in memory. So the mean over all
pushes stands beside it, and the same events in random order.

Source: ICFP 2018, doi:10.1145/3236762, section 6; SOURCES A13.
"""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from cartesius import Engine, Reactive
from examples.experiments.efforts import Effort
from restrictions import affinely, aligning, cartesian, most_recently

if TYPE_CHECKING:
    from collections.abc import Iterator

    from examples.experiments.sheets import Sheet

STREAMS: Final = tuple(Reactive(name) for name in "abc")
NAMES: Final = tuple(stream.name for stream in STREAMS)
SAMPLES: Final = 10
PUSHED: Final = {Effort.quick: 3_000, Effort.normal: 15_000, Effort.full: 300_000}
"""How many events are pushed one by one, to look after each."""
CARTESIAN: Final = {Effort.quick: 111, Effort.normal: 300, Effort.full: 1_110}
"""Likewise of the cartesian product, of which the last of 1,110 makes 137,000 candidates."""
SHARE: Final = {Effort.quick: 100, Effort.normal: 1, Effort.full: 1}
"""The sizes are divided by this, that of the cartesian product by its cube root, about."""


@attrs.frozen
class Paper:
    """A row of Table 3: events a stream, mean memory, events/s, candidates."""

    events: int
    memory: float
    speed: float
    tuples: int


PAPER: Final = {
    "cartesian": Paper(370, 610.5, 23.06, 50_653_000),
    "mostRecently": Paper(3_700_000, 3, 279_632.76, 11_099_998),
    "affinely": Paper(3_700_000, 0, 301_311.34, 3_700_000),
    "zip": Paper(3_700_000, 0, 372_513.73, 3_700_000),
}
JOINS: Final = {
    "cartesian": cartesian(*STREAMS),
    "mostRecently": cartesian(*STREAMS, restrict=most_recently(*NAMES)),
    "affinely": cartesian(*STREAMS, restrict=affinely(*NAMES)),
    "zip": cartesian(*STREAMS, restrict=affinely(*NAMES) | aligning(*NAMES)),
}


@attrs.frozen
class Measured:
    """What was found.

    Args:
        memory: Events in memory, the mean of the ten samples.
        held: Events in memory or waiting, the mean over all pushes.
        tuples: Candidates.
        pushed: Events a second, one by one.
        columns: Events a second, as columns.
    """

    memory: float
    held: float
    tuples: int
    pushed: float
    columns: float


def measure(join: str, n: int, pushed: int, seed: int, *, shuffled: bool) -> Measured:
    """Run a join over ``n`` events a stream; over the first ``pushed`` of them one by one as well."""
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 2**31, 3 * n)
    sources = np.tile(np.arange(3), n)
    if shuffled:
        draw.shuffle(sources)
    engine, samples, took = Engine(JOINS[join]), [], 0.0
    bounds = [3 * n * sample // SAMPLES for sample in range(SAMPLES + 1)]
    for first, last in pairwise(bounds):
        for batch in batches(sources[first:last], values[first:last], 100 if join == "cartesian" else 300_000):
            start = perf_counter()
            engine.push_many(batch)
            took += perf_counter() - start
        samples.append(engine.stats.retained)
    mean, speed = one_by_one(JOINS[join], sources[:pushed].tolist(), values[:pushed].tolist())
    return Measured(sum(samples) / SAMPLES, mean, engine.stats.tuples, speed, 3 * n / took)


def batches(sources: Any, values: Any, size: int) -> Iterator[dict[Reactive, pa.Table]]:
    """Yield events as columns, at most ``size`` at a time."""
    for first in range(0, len(sources), size):
        mine, batch = sources[first : first + size], {}
        for number, stream in enumerate(STREAMS):
            (order,) = np.nonzero(mine == number)
            batch[stream] = pa.table({"order": order, "value": values[first + order]})
        yield batch


def one_by_one(output: Reactive, sources: list[int], values: list[int]) -> tuple[float, float]:
    """Return the mean of what is in memory or waits after each push, and pushes a second."""
    engine, total = Engine(output), 0
    for number, value in zip(sources, values, strict=True):
        engine.push(STREAMS[number], value)
        total += engine.stats.retained + engine.stats.waiting
    engine = Engine(output)
    start = perf_counter()
    for number, value in zip(sources, values, strict=True):
        engine.push(STREAMS[number], value)
    return total / len(sources), len(sources) / (perf_counter() - start)


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, and write the page; of the speeds the best of ``repetitions`` counts."""
    sheet.say("""
## Table 3: four joins of three streams

Three streams of random integers, joined without a condition: every combination (*cartesian*), the newest of each
(*mostRecently*), each event at most once (*affinely*), and each exactly once in order (*zip*). First the events come
strictly in turn, as in the paper; then in random order.
""")
    for shuffled in (False, True):
        rows, found = [], []
        for join, paper in PAPER.items():
            n = size_of(join, effort)
            sheet.told(f"{join}, 3 x {n:,} events, {'at random' if shuffled else 'in turn'}")
            runs = [
                measure(join, n, pushed_of(join, effort), seed + one, shuffled=shuffled)
                for one in range(1 if join == "cartesian" else repetitions)
            ]
            best = max(runs, key=lambda one: one.columns)
            pushed = max(one.pushed for one in runs)
            found.append((join, pushed, best.columns, paper.speed))
            at_paper = n == paper.events and not shuffled
            rows.append(
                [join, f"3 x {n:,}", runs[0].memory, paper.memory if at_paper else None, runs[0].held, runs[0].tuples,
                 paper.tuples if at_paper else None, pushed, best.columns, paper.speed]
            )  # fmt: skip
        sheet.say("### In turn" if not shuffled else "### In random order")
        sheet.table(
            rows, "join", "events", "memory, ten samples", "paper", "held, mean over pushes", "candidates", "paper",
            "events/s, `push`", "`push_many`", "paper",
        )  # fmt: skip
        if not shuffled:
            sheet.picture("speed", _figure(found), "Events a second of each join, and in the paper")
    sheet.say(f"""
Memory and candidates are counts, and must equal the paper's to the digit. Its zeros are where it looked: after a
whole round nothing is left; over all pushes one event is there on average. That mean counts what waits at a gate,
too; it is of the first {PUSHED[effort]:,} events, of the
product of {CARTESIAN[effort]:,}. In random order, what is used once piles up on the side that is
ahead. Speeds are of this machine, the paper's of a 3 GHz Xeon; `push` takes one event at a time, `push_many` columns.
""")


def pushed_of(join: str, effort: Effort) -> int:
    """Return how many events are pushed one by one."""
    return CARTESIAN[effort] if join == "cartesian" else PUSHED[effort]


def size_of(join: str, effort: Effort) -> int:
    """Return the events a stream."""
    share = SHARE[effort]
    return PAPER[join].events // (share if join != "cartesian" else round(share ** (1 / 3)) * 2 if share > 1 else 1)


def _figure(found: list[tuple[str, float, float, float]]) -> Figure:
    figure = Figure(figsize=(9, 3), dpi=110, layout="constrained")
    axes = figure.subplots()
    names = [name for name, *_ in found]
    for place, (label, colour) in enumerate((("push", "#1f3b57"), ("push_many", "#5aa469"), ("the paper", "#b9b9b9"))):
        axes.barh([y + 0.27 * place for y in range(len(names))], [one[1 + place] for one in found], 0.25, color=colour,
                  label=label)  # fmt: skip
    axes.set_yticks([y + 0.27 for y in range(len(names))], names)
    axes.set_xscale("log")
    axes.set_xlabel("events a second (log)")
    axes.invert_yaxis()
    axes.legend(fontsize=8)
    return figure
