"""Memory per row, by tracemalloc: what an engine holds of tables, beyond the objects that were pushed.

What is pushed, the keys and the times are made before tracing begins, so that they do not count. Each operator is
measured by itself, several at once in processes of their own, as tracing makes a push three times as slow.
"""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

import attrs

from bench.table_cases import Rows, is_odd
from bench.tables import TooSlow, fill
from cartesius import Engine, Reactive
from restrictions.tables import (
    combine_updates,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    reduce,
    sum_,
    to_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import TypeAlias

    from bench.table_cases import Pushes

    TraceFunction: TypeAlias = Callable[[FrameType, str, Any], Any]

BOUND = 250  # bytes a row


@attrs.frozen
class Holding:
    """An operator whose memory is measured."""

    build: Callable[..., Reactive]
    inputs: int = 1
    berths: str = "none"
    takes: str = "changes of a table"  # or "changes", or "values"

    def sources(self) -> list[Reactive]:
        """Return new inputs."""
        return [Reactive(f"input {i}", table=self.takes == "changes of a table") for i in range(self.inputs)]

    def pushes(self, changes: Pushes) -> list[tuple[int, Any]]:
        """Return what is pushed."""
        return [(number, x.value if self.takes == "values" else x) for number, x in changes]


def halved(value: int) -> int:
    """Return what `map_table` makes of a row."""
    return value // 2


def latest(_: int, value: int) -> int:
    """Return what `combine_updates` folds: the value itself, so that no object is new."""
    return value


HOLDINGS = {
    "inner_join": Holding(inner_join, inputs=2),
    "left_join": Holding(left_join, inputs=2),
    "outer_join": Holding(outer_join, inputs=2),
    "foreign_join": Holding(lambda left, right: foreign_join(left, right, on="berth"), inputs=2, berths="one each"),
    "to_table(key=…)": Holding(lambda stream: to_table(stream, key="berth"), berths="one each", takes="values"),
    "to_table(changes)": Holding(to_table, takes="changes"),
    "filter_table": Holding(lambda table: filter_table(table, is_odd)),
    "map_table": Holding(lambda table: map_table(table, halved)),
    "reduce": Holding(lambda table: reduce(table, sum_)),
    "reduce by": Holding(lambda table: reduce(table, sum_.of("draught"), by="berth"), berths="by group"),
    "combine_updates": Holding(lambda table: combine_updates(table, 0, latest)),
}


@attrs.frozen
class Held:
    """Bytes a row, over all input tables: when they are filled, and when each row has been updated once."""

    name: str
    n: int
    filled: float | None
    updated: float | None = None

    @property
    def is_within(self) -> bool:
        """Whether it keeps the bound."""
        return self.filled is not None and self.filled <= BOUND


def hold(name: str, n: int, seed: int, patience: float, *, updates: bool) -> Held:
    """Measure one operator with ``n`` rows a table; without a figure if that would take too long.

    Args:
        name: The operator, one of `HOLDINGS`.
        n: Rows a table.
        seed: Seed of the values.
        patience: How long filling the tables may take, in seconds.
        updates: Whether to update every row, too.
    """
    holding = HOLDINGS[name]
    inputs = holding.sources()
    rows = Rows(n, seed, holding.berths)
    first = holding.pushes(rows.first(holding.inputs))
    second = holding.pushes(rows.update_of_each(holding.inputs)) if updates else []
    times = list(range(1_000_000, 1_000_000 + len(first) + len(second)))
    _make_line_tables(holding, first[:100])
    engine = Engine(holding.build(*inputs))
    tracemalloc.start()
    try:
        before = _held()
        fill(engine, inputs, first, patience, times)
        filled = (_held() - before) / len(first)
        if not updates:
            return Held(name, n, filled)
        fill(engine, inputs, second, patience, times[len(first) :])
        return Held(name, n, filled, (_held() - before) / len(first))
    except TooSlow:
        return Held(name, n, None)
    finally:
        tracemalloc.stop()


def _make_line_tables(holding: Holding, pushes: list[tuple[int, Any]]) -> None:
    """Push a few to another engine under a trace function, which does nothing.

    CPython then keeps for each function a table of its lines, without which `tracemalloc` is half as slow again.
    """

    def trace(*_: object) -> TraceFunction:
        return trace

    before = sys.gettrace()
    inputs = holding.sources()
    engine = Engine(holding.build(*inputs))
    sys.settrace(trace)
    try:
        fill(engine, inputs, pushes, patience=60)
    finally:
        sys.settrace(before)


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def measure(
    rows: int,
    updated_rows: int,
    seed: int,
    *,
    workers: int = 1,
    patience: float = 240,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[Held, Held]]:
    """Measure all operators: filled with ``rows`` a table; and with ``updated_rows``, which are then updated.

    Args:
        rows: Rows a table.
        updated_rows: Rows a table, where they are updated; fewer, as that takes longer.
        seed: Seed of the values.
        workers: How many processes measure at once; 1: this one does.
        patience: How long filling the tables of an operator may take, in seconds.
        tell: What is told of the progress.
    """
    if workers == 1:
        for name in HOLDINGS:
            tell(f"{name}: memory")
            yield (
                hold(name, rows, seed, patience, updates=False),
                hold(name, updated_rows, seed, patience, updates=True),
            )
        return
    # Ctrl-C is for this process alone, which ends its workers in the midst of what they measure; a worker that the
    # system kills ends the measurement, where `multiprocessing.Pool` would wait for it.
    ignoring = (signal.SIGINT, signal.SIG_IGN)
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), signal.signal, ignoring)
    try:
        parts = [(rows, False), (updated_rows, True)]
        asked = {
            name: [pool.submit(hold, name, n, seed, patience, updates=updates) for n, updates in parts]
            for name in HOLDINGS
        }
        for name, (large, small) in asked.items():
            found = large.result(), small.result()
            tell(f"{name}: memory measured at {rows:,} rows")
            yield found
    finally:
        for worker in multiprocessing.active_children():
            if worker not in others:
                worker.kill()
        pool.shutdown(cancel_futures=True)
