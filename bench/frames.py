"""`run_frames` beside `Engine.push_many` on the same tables: how much the way in and out of other libraries costs.

python -m bench.frames [--rows N]
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

from bench.options import COUNT
from cartesius import Engine, Reactive, correlate, run_frames
from restrictions import key_by, most_recently, within

if TYPE_CHECKING:
    from collections.abc import Callable

BEST_OF = 5


def programs() -> dict[str, Reactive]:
    left, right = Reactive("left"), Reactive("right")
    keys = key_by(left="id", right="id")
    restricted = {"latest": keys | most_recently("left", "right"), "band": keys | within(50, "left", "right")}
    return {
        name: correlate(
            left=left, right=right, yields=lambda left, right: {"x": left.x, "y": right.x}, restrict=restrict
        )
        for name, restrict in restricted.items()
    }


def tables(rows: int, keys: int) -> dict[str, pa.Table]:
    draw = np.random.default_rng(0)
    return {
        name: pa.table({"id": draw.integers(0, keys, rows), "x": np.arange(rows), "at": 2 * np.arange(rows) + place})
        for place, name in enumerate(("left", "right"))
    }


def pushed_many(program: Reactive, batch: dict[str, pa.Table]) -> pa.Table:
    return Engine(program, lateness=0).push_many(batch)


def seconds(*works: Callable[[], object]) -> list[float]:
    """The best times of works that are done in turns, so that a busy machine slows all of them."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(BEST_OF):
        for times, work in zip(taken, works, strict=True):
            begun = time.perf_counter()
            work()
            times.append(time.perf_counter() - begun)
    return [min(times) for times in taken]


@click.command()
@click.option("--rows", type=COUNT, default=500_000, show_default=True, help="How many rows each of two inputs has.")
def main(rows: int) -> None:
    """Print how many times as fast as push_many run_frames is, for each kind of frame."""
    connection = duckdb.connect()
    kinds: dict[str, Callable[[pa.Table], Any]] = {
        "arrow": lambda table: table,
        "pandas": pa.Table.to_pandas,
        "polars": pl.DataFrame,
        "duckdb": connection.from_arrow,
    }
    for name, program in programs().items():
        for keys in (1_000, rows):
            given = tables(rows, keys)
            batch = {one: table.append_column("order", table.column("at")) for one, table in given.items()}
            for kind, make in kinds.items():
                frames = {one: make(table) for one, table in given.items()}
                pushed, taken = seconds(
                    partial(pushed_many, program, batch),
                    partial(run_frames, program, frames, at="at"),
                )
                click.echo(f"{name:7} {keys:>9,} keys  {kind:7} {pushed / taken:5.2f} times push_many ({taken:.3f} s)")


if __name__ == "__main__":
    main()
