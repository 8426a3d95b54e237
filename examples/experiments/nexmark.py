"""The experiment ``nexmark``: the join and window queries of a known benchmark, as correlations, checked by SQL."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from cartesius import Engine
from examples.experiments.efforts import Effort
from examples.experiments.figures import speed as speed_figure
from examples.experiments.nexmark_events import events
from examples.experiments.nexmark_queries import QUERIES
from examples.experiments.nexmark_sql import answers, row
from examples.experiments.sheets import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from examples.experiments.sheets import Sheet
    from examples.experiments.workloads import Arrival

SIZE: Final = {Effort.quick: 1_000, Effort.normal: 5_000, Effort.full: 50_000}
TIMED: Final = 500
"""How many events are pushed at least, about, where time is taken."""
MEANT: Final = {
    "query 3": "auctions of category 10 of sellers in three states: two tables and a foreign key",
    "query 4": "the mean winning price by category: totals of query 9",
    "query 5": "the auctions with the most bids, in windows that overlap",
    "query 7": "the highest bid of each window",
    "query 8": "who registered and opened an auction in one window: a join of streams in windows",
    "query 9": "the winning bid of each auction: the best of many matches, while it was open",
}


def answered(
    query: str, trace: Sequence[Arrival], clock: Callable[[], float] = perf_counter
) -> tuple[Engine, set[tuple[Any, ...]], int, float]:
    """Push the events of a query; return its engine, the rows of its table, how many events, and how many a second.

    Of the second half of them: the first makes ready what an engine needs. A small trace is pushed more than once.
    """
    output = QUERIES[query]()
    inputs = set(Engine(output).inputs.values())
    mine = [arrival for arrival in trace if arrival.reactive in inputs]
    half, took = len(mine) // 2, 0.0
    turns = max(1, TIMED // len(mine))
    for _ in range(turns):
        engine = Engine(output)
        for reactive, value, at in mine[:half]:
            engine.push(reactive, value, at=at)
        start = clock()
        for reactive, value, at in mine[half:]:
            engine.push(reactive, value, at=at)
        took += clock() - start
    rows = {row(query, key, value) for key, value in engine.query(output).items()}
    return engine, rows, len(mine), turns * (len(mine) - half) / took


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, check, and write the page."""
    sheet.say("""
## Nexmark: queries that others are measured by

Nexmark is a benchmark of stream processors: an auction house where persons register, open auctions and bid, in the
ratio 1 : 3 : 46. Six of its queries join or window; here each is a correlation or a chain of some, and gives a table
that is right after every single event. DuckDB, a database, answers the same in SQL, over all events at once at the end:
the rows have to be the same, and the command fails if they are not.
""")
    sheet.table(MEANT.items(), "query", "asks for")
    trace = events(SIZE[effort], seed)
    try:
        known = answers(trace)
    except ImportError:
        known = None
    sheet.plan(len(QUERIES) * (repetitions + 1))
    lines: list[list[Any]] = []
    found = sheet.rows("runs")
    for query in QUERIES:
        speeds_of = []
        sheet.told(f"{query}, to warm up")
        answered(query, trace, sheet.clock)
        for repetition in range(repetitions):
            sheet.told(f"{query}, {len(trace):,} events")
            engine, rows, pushed, speed = answered(query, trace, sheet.clock)
            stats = engine.stats
            speeds_of.append(speed)
            found.append(
                {"query": query, "repetition": repetition, "seed": seed, "events": pushed, "rows": len(rows),
                 "candidates": stats.tuples, "retained": stats.retained, "events_per_second": speed}
            )  # fmt: skip
            if known is not None:
                sheet.check(f"{query} does not answer what DuckDB does", holds=rows == known[query])
        is_same = "not checked: no duckdb" if known is None else "yes" if rows == known[query] else "NO"
        lines.append([query, pushed, len(rows), is_same, stats.tuples, stats.retained, median(speeds_of)])
    sheet.table(lines, "query", "events", "rows", "as DuckDB", "candidates", "in memory at the end", "events/s, `push`")
    sheet.picture(
        "speed",
        speed_figure([(line[0], line[-1]) for line in lines]),
        "Events a second of each query, pushed one by one",
        f"Events a second, pushed one by one on one thread, over the second half of each query's events, the median"
        f" of {repetitions}. {_seen(lines)}",
    )
    sheet.data("runs")


def _seen(lines: Sequence[Sequence[Any]]) -> str:
    """Say which query is the fastest and which the slowest, and what each looked at."""
    fastest, slowest = (pick(lines, key=lambda line: line[-1]) for pick in (max, min))
    fast, slow = (
        f"{name}, took {events:,} events and looked at {shown(candidates / events)} candidates for each"
        for name, events, _, _, candidates, *_ in (fastest, slowest)
    )
    return f"The fastest, {fast}; the slowest, {slow}."
