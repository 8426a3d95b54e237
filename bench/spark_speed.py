"""`make bench-spark`: print what our program costs on Spark beside what a good engineer would write, from one run.

The sides of a figure read the same files, one after the other, in the same session, with RocksDB state. Before anything
is timed, their rows are compared on a small load. A figure is a ratio of rates.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

import attrs
import click
from rich.console import Console

from bench import spark_harbour, spark_sides, spark_state
from bench.options import COUNT, MANY, PROCESSES
from bench.sheets import Sheet, verdict
from bench.spark_streams import (
    HDFS,
    PAIR,
    PROVIDER,
    ROCKSDB,
    Load,
    collected,
    measured,
    processors,
    rate,
    scratch,
    session,
    streams,
    write_pairs,
)
from bench.timing import Disagreement
from dsl.command_lines import INTERRUPTED, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

FIGURES: Final = ("latest", "band", "cores", "harbour", "fixed", "state")
"""What ``--only`` takes."""
_PAIRS: Final = {"left": PAIR, "right": PAIR}
_SMALL: Final = Load(rows=2_000, keys=50, batches=0, buckets=4)
_FEW: Final = Load(rows=100, keys=50, batches=20, buckets=6)
"""Three buckets a core, as `make run` has."""
_MOST_MS: Final = 850.0
"""Processor time of a micro-batch of ours with few rows: half of what it was with PySpark's daemon and 32 buckets."""
_BOUNDS: Final = {
    "keyed latest join, against one group a key by hand": (7.0, "ours", "one group a key"),
    "band join, against Spark's own with RocksDB": (3.0, "our band", "Spark's band, RocksDB"),
    "band join, against Spark's own with HDFS": (3.0, "our band", "Spark's band, HDFS"),
    "keyed latest join, against counting rows in the same buckets": (0.6, "ours", "counting rows"),
    "keyed latest join, against numpy by hand in the same buckets": (0.8, "ours", "numpy by hand"),
    "keyed latest join, 2 cores against 1, pinned": (1.3, "ours, 2 cores", "ours, 1 core"),
    "rule pack of the harbour, against counting its vessel rows": (0.4, "our verdicts", "counting vessels"),
}
"""The least ratio of each figure, and whose rates it is of."""


@attrs.define
class Bench:
    """What was measured: rows a second, by side; seconds of the clock and of processors with few rows; large states."""

    rates: dict[str, float] = attrs.field(factory=dict)
    fixed: dict[str, tuple[float, float]] = attrs.field(factory=dict)
    states: dict[str, dict[str, spark_state.Cost]] = attrs.field(factory=dict)

    def sheets(self) -> list[Sheet]:
        """Return the tables that there is something for."""
        shown = []
        for figure, (least, ours, theirs) in _BOUNDS.items():
            if ours in self.rates and theirs in self.rates:
                ratio = self.rates[ours] / self.rates[theirs]
                shown.append((figure, f"{least:g}", f"{ratio:.2f}", verdict(ratio >= least)))
        rates = tuple((side, f"{found:,.0f}") for side, found in self.rates.items())
        title = f"A micro-batch of {_FEW.rows} rows in {_FEW.buckets} buckets"
        headings = ("side", "ms", "ms of processors", "at most", "kept")
        every = (
            Sheet("Ratios on Spark", ("figure", "at least", "measured", "kept"), tuple(shown)),
            Sheet("Rates", ("side", "rows/s"), rates),
            Sheet(title, headings, tuple(self._fixed_rows())),
            spark_state.sheet(self.states),
        )
        return [sheet for sheet in every if sheet.rows]

    def _fixed_rows(self) -> Iterator[tuple[str, ...]]:
        for side, (clock, seconds) in self.fixed.items():
            used = 1000 * seconds
            bound = (f"{_MOST_MS:.0f}", verdict(used <= _MOST_MS)) if side == "ours" else ("", "")
            yield side, f"{1000 * clock:.0f}", f"{used:.0f}", *bound

    def time(self, side: str, frame: DataFrame, counted: str = "") -> None:
        """Measure one side."""
        self.rates[side] = rate(measured(frame, counted))
        _tell(f"{side}: {self.rates[side]:,.0f} rows/s")


def _tell(text: str) -> None:
    click.echo(text, err=True)


def _check(spark: SparkSession, sides: dict[str, Callable[..., DataFrame]]) -> None:
    """Compare the rows of all sides, on a small load."""
    with scratch(spark) as folder:
        write_pairs(folder, _SMALL)
        found = {name: collected(side(streams(spark, folder, _PAIRS), _SMALL)) for name, side in sides.items()}
    first, *others = found
    for other in others:
        if found[other] != found[first]:
            message = f"{len(found[first]):,} rows of {first}, {len(found[other]):,} of {other}, which differ"
            raise Disagreement(message)


def _latest(spark: SparkSession, load: Load, bench: Bench) -> None:
    joins = {
        "ours": spark_sides.our_latest,
        "numpy by hand": spark_sides.latest_by_numpy,
        "one group a key": spark_sides.latest_by_key,
    }
    _check(spark, joins)
    others = {"counting rows": spark_sides.counting, "mapInPandas, identity": spark_sides.identity}
    with scratch(spark) as folder:
        write_pairs(folder, load)
        for name, side in (joins | others).items():
            bench.time(name, side(streams(spark, folder, _PAIRS), load))


def _band(spark: SparkSession, load: Load, bench: Bench) -> None:
    _check(spark, {"our band": spark_sides.our_band, "Spark's band": spark_sides.native_band})
    with scratch(spark) as folder:
        write_pairs(folder, load)
        bench.time("our band", spark_sides.our_band(streams(spark, folder, _PAIRS), load))
        for name, provider in (("RocksDB", ROCKSDB), ("HDFS", HDFS)):
            spark.conf.set(PROVIDER, provider)
            bench.time(f"Spark's band, {name}", spark_sides.native_band(streams(spark, folder, _PAIRS), load))
        spark.conf.set(PROVIDER, ROCKSDB)


def _harbour(spark: SparkSession, load: Load, bench: Bench) -> None:
    with scratch(spark) as folder:
        pack, schemas = spark_harbour.write_harbour(folder, load)
        vessel = f"/{spark_harbour.VESSEL}"
        bench.time("counting vessels", spark_harbour.counted_vessels(streams(spark, folder, schemas), load), vessel)
        bench.time("our verdicts", spark_harbour.our_verdicts(pack, streams(spark, folder, schemas), load), vessel)


def _fixed(spark: SparkSession, bench: Bench) -> None:
    sides = {
        "ours": spark_sides.our_latest,
        "numpy by hand": spark_sides.latest_by_numpy,
        "counting rows": spark_sides.counting,
    }
    with scratch(spark) as folder:
        write_pairs(folder, _FEW)
        for name, side in [*sides.items()] * 2:  # in the first round Java compiles, and it does not count
            clock, used = bench.fixed[name] = processors(side(streams(spark, folder, _PAIRS), _FEW))
            _tell(f"{name}: {1000 * clock:.0f} ms for {_FEW.rows} rows, {1000 * used:.0f} ms of processors")


def _on_cores(load: Load, bench: Bench) -> None:
    """Run ours in processes of their own, pinned."""
    for cores in (1, 2):
        pinned = "0" if cores == 1 else "0,1"
        command = ["taskset", "-c", pinned, sys.executable, "-m", "bench.spark_speed", "--child", str(cores)]
        given = attrs.asdict(load)
        command += [part for name in ("rows", "keys", "batches", "buckets") for part in (f"--{name}", str(given[name]))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        side = f"ours, {cores} core{'s' if cores > 1 else ''}"
        bench.rates[side] = float(json.loads(done.stdout.splitlines()[-1]))
        _tell(f"{side}: {bench.rates[side]:,.0f} rows/s")


@click.command(help="Measure our programs on Spark against hand-written operators, and Spark's own joins.")
@click.option("--only", type=click.Choice(FIGURES), multiple=True, help="What to measure; all by default.")
@click.option("--rows", type=click.IntRange(2, MANY), default=500_000, show_default=True, help="Rows of a micro-batch.")
@click.option("--keys", type=COUNT, default=20_000, show_default=True, help="Different keys.")
@click.option(
    "--batches", type=COUNT, default=3, show_default=True, help="Micro-batches that are measured; two more warm up."
)
@click.option("--buckets", type=COUNT, default=32, show_default=True, help="Engines, or groups.")
@click.option("--cores", type=PROCESSES, default=2, show_default=True, help="Cores of Spark.")
@click.option("--ships", type=COUNT, default=1_000_000, show_default=True, help="Keys of the large states.")
@click.option("--child", type=PROCESSES, hidden=True)
def main(only: tuple[str, ...], cores: int, ships: int, child: int | None, **given: Any) -> None:
    """Run the benchmark."""
    load, bench, wanted = Load(**given), Bench(), set(only or FIGURES)
    if child is not None:
        with session(child) as spark, scratch(spark) as folder:
            write_pairs(folder, load)
            bench.time("ours", spark_sides.our_latest(streams(spark, folder, _PAIRS), load))
        click.echo(json.dumps(bench.rates["ours"]))
        return
    try:
        _measure(wanted, load, cores, ships, bench)
    except KeyboardInterrupt:
        _tell("interrupted; this is what was measured")
        raise click.exceptions.Exit(INTERRUPTED) from None
    finally:
        for sheet in bench.sheets():
            Console().print(sheet.as_table())
        if load.rows < Load().rows:
            _tell("these are fewer rows than the bounds are for: a look, and no figures to quote")


def _measure(wanted: set[str], load: Load, cores: int, ships: int, bench: Bench) -> None:
    with session(cores) as spark:
        for name, measure in (("latest", _latest), ("band", _band), ("harbour", _harbour)):
            if name in wanted:
                measure(spark, load, bench)
        if "fixed" in wanted:
            _fixed(spark, bench)
    if "state" in wanted:
        with session(cores, spark_state.CONFIGURATION) as spark:
            for name, costs in spark_state.measure(spark, ships, load.batches, _tell):
                bench.states[name] = costs
    if "cores" in wanted:
        _on_cores(load, bench)


if __name__ == "__main__":
    run(main)
