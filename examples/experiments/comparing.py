"""Comparisons: strategies by workloads by sizes by repetitions, as one tidy table, a row a run.

Invariant: a row is found again from its strategy, workload, size and seed, but for the seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import pyarrow as pa

from cartesius import Reactive
from cartesius.errors import InvalidArgument
from examples.experiments.bars import Bar
from examples.experiments.figures import compared
from examples.experiments.measuring import Counts, counted, seconds
from examples.experiments.sheets import save_figure, save_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from examples.experiments.workloads import Workload

Strategy: TypeAlias = Callable[..., Reactive]
"""From the inputs of a workload to a correlation of them."""

_TYPES: Final = {"int": pa.int64(), "float": pa.float64()}
SCHEMA: Final = pa.schema(
    [
        ("strategy", pa.string()),
        ("workload", pa.string()),
        ("size", pa.int64()),
        ("repetition", pa.int64()),
        ("seed", pa.int64()),
        ("events", pa.int64()),
        ("seconds", pa.float64()),
        ("events_per_second", pa.float64()),
        *((field.name, _TYPES[str(field.type).removesuffix(" | None")]) for field in attrs.fields(Counts)),
    ]
)
"""The columns of a comparison."""
COUNTED: Final = frozenset({"candidates", "results", "corrections", "late", "right", "missed", "wrong"})
"""Of these, the columns that count what was done."""


def compare(
    strategies: Mapping[str, Strategy],
    workloads: Sequence[Workload],
    sizes: Sequence[int],
    *,
    repetitions: int = 3,
    seed: int = 1,
    told: Callable[[str], None] | None = None,
    found: list[dict[str, Any]] | None = None,
    clock: Callable[[], float] = perf_counter,
) -> pa.Table:
    """Run every strategy on every workload in every size; return a row a run.

    Args:
        strategies: By name; each makes a correlation from the inputs of a workload.
        workloads: What they run on.
        sizes: How many events, each at least 1.
        repetitions: Runs of each, with seeds of their own, at least 1.
        seed: The seed of the first repetition; the next has the next.
        told: Is told of each run before it begins. None: a progress bar, on a terminal.
        found: A list to which each row is added as soon as it is measured, for who may be interrupted.
        clock: What the seconds are measured by.

    Returns:
        A table of the columns of `SCHEMA`. Strategies take turns, so that a busy minute of the machine meets all.

    Raises:
        InvalidArgument: No strategy, or a size or number of repetitions below 1.
    """
    if not strategies or repetitions < 1 or any(size < 1 for size in sizes):
        message = "a comparison needs a strategy, sizes of at least 1, and at least 1 repetition"
        raise InvalidArgument(message)
    if told is None:
        with Bar() as bar:
            bar.plan(len(strategies) * len(workloads) * len(sizes) * repetitions)
            return compare(
                strategies,
                workloads,
                sizes,
                repetitions=repetitions,
                seed=seed,
                told=bar.tell,
                found=found,
                clock=clock,
            )
    rows: list[dict[str, Any]] = []
    for workload in workloads:
        for size in sizes:
            for repetition in range(repetitions):
                trace = workload.trace(size, seed + repetition)
                truth = None if workload.truth is None else list(workload.truth(trace))
                for name, strategy in strategies.items():
                    told(f"{workload.name}, {len(trace):,} events: {name}")
                    output = strategy(*workload.inputs)
                    took = seconds(output, trace, workload.options, clock)
                    row = {
                        "strategy": name,
                        "workload": workload.name,
                        "size": size,
                        "repetition": repetition,
                        "seed": seed + repetition,
                        "events": len(trace),
                        "seconds": took,
                        "events_per_second": len(trace) / took,
                        **attrs.asdict(counted(output, trace, workload.options, truth)),
                    }
                    rows.append(row)
                    if found is not None:
                        found.append(row)
    return pa.Table.from_pylist(rows, SCHEMA)


def summary(table: pa.Table) -> list[dict[str, Any]]:
    """Return a row for each strategy, workload and size: of the repetitions, means of counts, medians of other columns.

    As the mean is linear, right and missed add up to the true pairs, the same for each strategy; medians need not.

    Args:
        table: What `compare` returns.

    Returns:
        Rows in order of first appearance; beside the median of ``events_per_second`` its least and greatest.
    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        groups.setdefault((row["strategy"], row["workload"], row["size"]), []).append(row)
    found = []
    for (strategy, workload, size), rows in groups.items():
        speeds = [row["events_per_second"] for row in rows]
        one: dict[str, Any] = {"strategy": strategy, "workload": workload, "size": size}
        for name in SCHEMA.names[5:]:
            values = [row[name] for row in rows if row[name] is not None]
            average = fmean if name in COUNTED else median
            one[name] = average(values) if values else None
        found.append({**one, "slowest": min(speeds), "fastest": max(speeds)})
    return found


def save(table: pa.Table, stem: str | Path) -> list[Path]:
    """Write a comparison to files whose names begin alike: CSV, Parquet, and a picture of each workload and size.

    Args:
        table: What `compare` returns.
        stem: How the names begin, with their folder, which is made if it is not there.

    Returns:
        The files.
    """
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    save_table(table, stem)
    files = [Path(f"{stem}.csv"), Path(f"{stem}.parquet")]
    rows = summary(table)
    for workload, size in dict.fromkeys((row["workload"], row["size"]) for row in rows):
        mine = [row for row in rows if (row["workload"], row["size"]) == (workload, size)]
        path = Path(f"{stem}-{workload.replace(' ', '-')}-{size}.png")
        save_figure(compared(mine), path)
        files.append(path)
    return files
