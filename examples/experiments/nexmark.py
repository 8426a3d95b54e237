"""The experiment ``nexmark``: the join and window queries of a known benchmark, as correlations, checked by SQL."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from cartesius import Engine
from examples.experiments.efforts import Effort
from examples.experiments.nexmark_events import events
from examples.experiments.nexmark_queries import QUERIES
from examples.experiments.nexmark_sql import answers, row

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def answered(query: str, trace: Sequence[Arrival]) -> tuple[Engine, set[tuple[Any, ...]], int, float]:
    """Push the events of a query; return its engine, the rows of its table, how many events, and how many a second."""
    output = QUERIES[query]()
    engine = Engine(output)
    inputs = set(engine.inputs.values())
    mine = [arrival for arrival in trace if arrival.reactive in inputs]
    start = perf_counter()
    for reactive, value, at in mine:
        engine.push(reactive, value, at=at)
    took = perf_counter() - start
    return engine, {row(query, key, value) for key, value in engine.query(output).items()}, len(mine), len(mine) / took


def run(sheet: Sheet, effort: Effort, seed: int, repetitions: int) -> None:
    """Measure, check, and write the page."""
    sheet.say("""
## Nexmark: queries that others are measured by

Persons register, open auctions and bid, in the ratio 1 : 3 : 46. The queries that join or window are correlations
here; each is a table that is right after every event. DuckDB answers the same in SQL, over all events at once.
""")
    sheet.table(MEANT.items(), "query", "asks for")
    trace = events(SIZE[effort], seed)
    try:
        known = answers(trace)
    except ImportError:
        known = None
    lines = []
    for query in QUERIES:
        sheet.told(f"{query}, {len(trace):,} events")
        runs = [answered(query, trace) for _ in range(repetitions)]
        engine, rows, pushed, _ = runs[0]
        is_same = "not checked: no duckdb" if known is None else "yes" if rows == known[query] else "NO"
        stats, speed = engine.stats, median(speed for *_, speed in runs)
        lines.append([query, pushed, len(rows), is_same, stats.tuples, stats.retained, speed])
    sheet.table(lines, "query", "events", "rows", "as DuckDB", "candidates", "in memory at the end", "events/s, `push`")
