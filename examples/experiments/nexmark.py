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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from examples.experiments.sheets import Sheet
    from examples.experiments.workloads import Arrival

SIZE: Final = {Effort.quick: 1_000, Effort.normal: 5_000, Effort.full: 50_000}
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
    """Push the events of a query; return its engine, the rows of its table, how many events, and how many a second."""
    output = QUERIES[query]()
    engine = Engine(output)
    inputs = set(engine.inputs.values())
    mine = [arrival for arrival in trace if arrival.reactive in inputs]
    start = clock()
    for reactive, value, at in mine:
        engine.push(reactive, value, at=at)
    took = clock() - start
    return engine, {row(query, key, value) for key, value in engine.query(output).items()}, len(mine), len(mine) / took


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
    sheet.plan(len(QUERIES) * repetitions)
    lines: list[list[Any]] = []
    found = sheet.rows("runs")
    for query in QUERIES:
        speeds_of = []
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
        f"Events a second, pushed one by one on one thread, the median of {repetitions}. Where a query is slower, its"
        " table changes more with each event: query 5 takes a bid into two windows and asks again which auction leads;"
        " queries 4 and 9 compare a bid with the best of its auction so far.",
    )
    sheet.data("runs")
