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

from cartesius import Engine, Reactive
from examples.experiments.efforts import Effort
from examples.experiments.figures import speeds
from examples.experiments.sheets import shown
from restrictions import affinely, aligning, cartesian, most_recently

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from examples.experiments.sheets import Sheet

STREAMS: Final = tuple(Reactive(name) for name in "abc")
NAMES: Final = tuple(stream.name for stream in STREAMS)
SAMPLES: Final = 10
PUSHED: Final = {Effort.quick: 3_000, Effort.normal: 15_000, Effort.full: 300_000}
"""How many events are pushed one by one against the clock; and of how many at random the memory is looked at."""
LOOKED: Final = {Effort.quick: 3_000, Effort.normal: 15_000, Effort.full: 11_100_000}
"""After how many pushes in turn the memory is looked at."""
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
        held: Events in memory or waiting, the mean over the pushes that were looked at; None if none was.
        held_most: The most of them.
        tuples: Candidates.
        pushed: Events a second, one by one.
        columns: Events a second, as columns.
    """

    memory: float
    held: float | None
    held_most: int | None
    tuples: int
    pushed: float
    columns: float


def measure(
    join: str, n: int, pushed: int, looked: int, seed: int, *, shuffled: bool,
    clock: Callable[[], float] = perf_counter,
) -> Measured:  # fmt: skip
    """Run a join over ``n`` events a stream, as columns.

    The first ``pushed`` of them one by one as well, against the clock; and the first ``looked``, to look at the memory
    after each.
    """
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 2**31, 3 * n)
    sources = np.tile(np.arange(3), n)
    if shuffled:
        draw.shuffle(sources)
    engine, samples, took = Engine(JOINS[join]), [], 0.0
    if join == "cartesian":  # of which there is one run, and what a first batch sets up is not the join's
        Engine(JOINS[join]).push_many(next(batches(sources, values, 100)))
    bounds = [3 * n * sample // SAMPLES for sample in range(SAMPLES + 1)]
    for first, last in pairwise(bounds):
        for batch in batches(sources[first:last], values[first:last], 100 if join == "cartesian" else 300_000):
            start = clock()
            engine.push_many(batch)
            took += clock() - start
        samples.append(engine.stats.retained)
    speed = one_by_one(JOINS[join], sources[:pushed].tolist(), values[:pushed].tolist(), clock)
    held, most = looks(JOINS[join], sources[:looked], values[:looked]) if looked else (None, None)
    return Measured(sum(samples) / SAMPLES, held, most, engine.stats.tuples, speed, 3 * n / took)


def batches(sources: Any, values: Any, size: int) -> Iterator[dict[Reactive, pa.Table]]:
    """Yield events as columns, at most ``size`` at a time."""
    for first in range(0, len(sources), size):
        mine, batch = sources[first : first + size], {}
        for number, stream in enumerate(STREAMS):
            (order,) = np.nonzero(mine == number)
            batch[stream] = pa.table({"order": order, "value": values[first + order]})
        yield batch


def one_by_one(output: Reactive, sources: list[int], values: list[int], clock: Callable[[], float]) -> float:
    """Return pushes a second."""
    engine = Engine(output)
    start = clock()
    for number, value in zip(sources, values, strict=True):
        engine.push(STREAMS[number], value)
    return len(sources) / (clock() - start)


def looks(output: Reactive, sources: Any, values: Any) -> tuple[float, int]:
    """Return how many events are in memory or wait after a push: the mean over all pushes, and the most."""
    engine, total, most = Engine(output), 0, 0
    for first in range(0, len(sources), 100_000):
        some = slice(first, first + 100_000)
        for number, value in zip(sources[some].tolist(), values[some].tolist(), strict=True):
            engine.push(STREAMS[number], value)
            stats = engine.stats
            held = stats.retained + stats.waiting
            total += held
            most = max(most, held)
    return total / len(sources), most


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, and write the page; of the speeds the best of ``repetitions`` counts."""
    sheet.say(f"""
## Table 3: what a restriction saves

Three streams of random integers are joined without a condition, so every combination of an event of *a*, one of *b* and
one of *c* is a result. Four restrictions of that:

| join | which combinations | for n events a stream |
| --- | --- | --- |
| cartesian | all: nothing is ever forgotten | n³ |
| mostRecently | each new event with the newest of the two others | 3n - 2 |
| affinely | each event in one result at most | n |
| zip | the first with the first, the second with the second, … | n |

This is the experiment of the paper that this library is built on (*Versatile Event Correlation with Algebraic
Effects*, ICFP 2018, Table 3). First the events come strictly in turn, *a b c a b c …*, as there; then in random order.
Memory was looked at {SAMPLES} times, after each tenth of the events, as in the paper. In turn, that is the end of a
round for the joins that use an event once, which have nothing left then; so the mean over the pushes stands beside it.
*Held* is what is in memory or waits at a gate.
""")
    sheet.plan(2 * sum(1 if join == "cartesian" else repetitions for join in PAPER))
    runs = sheet.rows("runs")
    for shuffled in (False, True):
        found = []
        for join in PAPER:
            n = size_of(join, effort)
            for repetition in range(1 if join == "cartesian" else repetitions):
                sheet.told(f"{join}, 3 x {n:,} events, {'at random' if shuffled else 'in turn'}")
                looked = looked_of(join, effort, shuffled=shuffled) if repetition == 0 else 0
                one = measure(
                    join, n, pushed_of(join, effort), looked, seed + repetition, shuffled=shuffled, clock=sheet.clock
                )
                found.append((join, n, looked, one))
                where = {"join": join, "order": "at random" if shuffled else "in turn", "events": 3 * n}
                runs.append({**where, "seed": seed + repetition, "looked": looked, **attrs.asdict(one)})
        _tell(sheet, found, shuffled=shuffled)
    sheet.data("runs")


def _tell(sheet: Sheet, found: list[tuple[str, int, int, Measured]], *, shuffled: bool) -> None:
    sheet.say("### In random order" if shuffled else "### In turn")
    counts, fastest = [], []
    for join, paper in PAPER.items():
        mine = [(n, looked, one) for name, n, looked, one in found if name == join]
        n, looked, one = mine[0]
        at_paper = n == paper.events and not shuffled
        if at_paper:
            is_same = (one.memory, one.tuples) == (paper.memory, paper.tuples)
            sheet.check(f"{join}: memory and candidates are not the paper's", holds=is_same)
        theirs = [paper.memory if at_paper else None, paper.tuples if at_paper else None]
        counts.append(
            [join, f"3 x {n:,}", one.tuples, theirs[1], one.memory, theirs[0], one.held, one.held_most, looked]
        )
        best = [max(getattr(each, side) for *_, each in mine) for side in ("pushed", "columns")]
        fastest.append([join, *best, paper.speed, len(mine)])
    sheet.table(
        counts, "join", "events", "candidates", "in the paper", "memory, ten samples", "in the paper",
        "held, mean over pushes", "held, most", "pushes looked at",
    )  # fmt: skip
    once = {row[0]: (row[6], row[7]) for row in counts if row[0] in ("affinely", "zip")}
    if shuffled:
        most = " and ".join(f"{most:,} of *{join}*" for join, (_, most) in once.items())
        sheet.say(f"""
What is used once piles up on the side that is ahead, as far as a random walk strays: at most {most} here. What an input
holds back for another is not bounded by the restriction; it is bounded by how evenly they come.
""")
        return
    means = " and ".join(f"{shown(mean)} of *{join}*" for join, (mean, _) in once.items())
    sheet.say(f"""
Candidates and memory are counts: where the size is the paper's they have to equal its to the digit, and the command
fails if they do not. The memory of *affinely* and *zip* is what was left where the paper looked; over the pushes there
are {means} on average, as 0, 1 or 2 events of a round have come.
""")
    sheet.table(
        fastest, "join", "events/s by push", "events/s by push_many", "events/s in the paper", "ours: the best of",
    )  # fmt: skip
    sheet.picture(
        "speed",
        speeds(fastest, ("push, one event at a time", "push_many, columns", "the paper, on a 3 GHz Xeon")),
        "Events a second of each join by push and by push_many, the best of its runs, and in the paper",
        f"Events a second, on a logarithmic scale; further right is faster. The full product does n² work for each"
        f" event, the restricted ones less. By push they are {_times(fastest, 1)} as fast as it, by push_many"
        f" {_times(fastest, 2)}; in the paper they were {_times(fastest, 3)}.",
    )


def _times(rows: Sequence[Sequence[Any]], column: int) -> str:
    """Say how many times as much as in the first row a column is in the others, at least and at most."""
    every = [row[column] / rows[0][column] for row in rows[1:]]
    return f"{shown(min(every))} to {shown(max(every))} times"


def pushed_of(join: str, effort: Effort) -> int:
    """Return how many events are pushed one by one."""
    return CARTESIAN[effort] if join == "cartesian" else PUSHED[effort]


def looked_of(join: str, effort: Effort, *, shuffled: bool) -> int:
    """Return after how many pushes the memory is looked at."""
    return pushed_of(join, effort) if shuffled or join == "cartesian" else LOOKED[effort]


def size_of(join: str, effort: Effort) -> int:
    """Return the events a stream."""
    share = SHARE[effort]
    return PAPER[join].events // (share if join != "cartesian" else round(share ** (1 / 3)) * 2 if share > 1 else 1)
