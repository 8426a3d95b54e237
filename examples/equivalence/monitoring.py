"""A running Spark query watched against a second implementation: ``python -m examples.equivalence.monitoring``.

The query is a keyed latest join. The second implementation is the engine in this process, which runs in a thread beside
it, at its own pace. The query runs alone, then watched, as often as asked: so what watching costs is seen from
outside, too.

Source: DiffStream's case study of a running application (SOURCES E4), at our size.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import click
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from cartesius import Engine, Event, Reactive, correlate
from cartesius.testing import equal_by, same_key
from examples.equivalence.picture import draw_watching
from restrictions import key_by, most_recently
from spark_bridge import correlate_frames
from spark_bridge.testing import row_monitor, to_monitor

if TYPE_CHECKING:
    from cartesius.testing import Monitor

START: Final = datetime(2024, 6, 30, tzinfo=UTC)
SIDES: Final = ("left", "right")
STEP: Final = timedelta(milliseconds=10)
DELAY: Final = timedelta(seconds=1)

SAME_PAIR: Final = equal_by(lambda row: (row["k"], row["l"], row["r"]))

Row: TypeAlias = tuple[str, int, int]


def latest_pairs() -> Reactive:
    """Return the program: for each key the latest of the left with the latest of the right."""
    left, right = (Reactive(side) for side in SIDES)
    pairs: Reactive = correlate(
        left=left,
        right=right,
        yields=lambda left, right: {"k": left.k, "l": left.n, "r": right.n},
        restrict=key_by(left="k", right="k") | most_recently("left", "right"),
        name="pairs",
    )
    return pairs


def drawn(count: int, keys: int) -> list[Row]:
    """Return rows (side, k, n), one after the other in time."""
    draw = random.Random(1)
    return [(draw.choice(SIDES), draw.randrange(keys), number) for number in range(count)]


def written(batches: list[list[Row]], folder: Path) -> None:
    """Write the rows as files, one a side and micro-batch."""
    for number, batch in enumerate(batches):
        for side in SIDES:
            mine = [(k, n) for name, k, n in batch if name == side]
            table = pa.table(
                {
                    "at": pa.array([START + n * STEP for _, n in mine], pa.timestamp("us", "UTC")),
                    "k": pa.array([k for k, _ in mine], pa.int64()),
                    "n": pa.array([n for _, n in mine], pa.int64()),
                }
            )
            path = folder / side / f"{number:03}.parquet"
            path.parent.mkdir(exist_ok=True)
            pq.write_table(table, path)
            os.utime(path, (1_600_000_000 + number,) * 2)  # Spark goes by it; two may be written in one millisecond


def run_query(spark: SparkSession, folder: Path, name: str, sink: Any) -> list[Any]:
    """Run the query over all files; return what Spark says of each micro-batch that had rows."""
    schema = "at timestamp, k bigint, n bigint"
    inputs = {
        side: spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / side))
        for side in SIDES
    }
    frames = correlate_frames(
        latest_pairs(), inputs, event_time="at", partition_by="k", buckets=4, watermark=f"{DELAY.seconds} seconds"
    )
    checkpoint = str(folder / f"checkpoint of {name}")
    query = frames.start(results=sink, checkpoint=checkpoint, trigger={"availableNow": True})
    query.awaitTermination()
    return [progress for progress in query.recentProgress if progress["numInputRows"]]


def run_second(batches: list[list[Row]], monitor: Monitor, *, mistake: bool) -> None:
    """Run the second implementation over the same rows; with a mistake, it takes the n of one row for 0."""
    engine, rows = Engine(latest_pairs()), [row for batch in batches for row in batch]
    wrong = len(rows) * 3 // 4 if mistake else None
    # Spark's clock lets those go that are not within the delay of the last one.
    last = len(rows) - 1 - DELAY // STEP
    for batch in batches:
        found: list[Event] = []
        for side, k, n in batch:
            found += engine.push(engine.inputs[side], {"k": k, "n": 0 if n == wrong else n}, at=n)
        monitor.take(2, [event.value for event in found if event.end <= last])


class Watched(NamedTuple):
    """The monitor of the last run, and what Spark says of each micro-batch of each run, when alone and when watched."""

    monitor: Monitor
    alone: list[list[Any]]
    watched: list[list[Any]]


def watch(spark: SparkSession, folder: Path, batches: list[list[Row]], *, pairs: int = 1, mistake: bool) -> Watched:
    """Run the query alone, then watched; so many times in turn, as the machine may have a busy minute."""
    written(batches, folder)
    alone, watched = [], []
    for pair in range(pairs):
        alone.append(run_query(spark, folder, f"run {pair} alone", lambda batch, number: batch.count()))
        monitor = row_monitor(same_key("k"), SAME_PAIR)
        second = threading.Thread(target=run_second, args=(batches, monitor), kwargs={"mistake": mistake})
        second.start()
        watched.append(run_query(spark, folder, f"run {pair} watched", to_monitor(monitor, 1)))
        second.join()
    return Watched(monitor, alone, watched)


@click.command(context_settings={"max_content_width": 110})
@click.option("--rows", default=10_000, show_default=True, type=click.IntRange(100), help="Rows of a micro-batch.")
@click.option("--batches", default=6, show_default=True, type=click.IntRange(2), help="How many micro-batches.")
@click.option("--keys", default=500, show_default=True, type=click.IntRange(1), help="How many keys.")
@click.option("--pairs", default=1, show_default=True, type=click.IntRange(1), help="Runs alone and watched.")
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), help="A PNG file to draw it into.")
@click.option("--mistake", is_flag=True, help="Let the second implementation make a mistake.")
def main(*, rows: int, batches: int, keys: int, pairs: int, picture: Path | None, mistake: bool) -> None:
    """Run a query alone, then watched, and print what the monitor saw, kept and cost."""
    if picture is not None and not os.access(picture.absolute().parent, os.W_OK):
        message = f"cannot write to {picture.absolute().parent}; choose another --picture"
        raise click.ClickException(message)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.python.daemon.module", "spark_bridge.daemon").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    source = drawn(rows * batches, keys)
    with tempfile.TemporaryDirectory() as name:
        parts = [source[start : start + rows] for start in range(0, len(source), rows)]
        found = watch(spark, Path(name), parts, pairs=pairs, mistake=mistake)
    spark.stop()
    show(*found)
    if picture is not None:
        draw_watching(found.monitor.samples, found.alone, found.watched, picture)


def show(monitor: Monitor, alone: list[list[Any]], watched: list[list[Any]]) -> None:
    """Print a line a batch that the monitor took, what watching cost the query, and the answer."""
    console = Console(highlight=False)
    table = Table("s", "stream", "items", "unmatched 1", "unmatched 2", "kB", "ms", "items/s")
    for sample in monitor.samples:
        figures = [f"{sample.at:.1f}", sample.stream, sample.items, *sample.unmatched]
        speed = f"{sample.items / sample.seconds:,.0f}" if sample.items else ""
        table.add_row(*map(str, figures), f"{sample.size / 1000:,.0f}", f"{1000 * sample.seconds:,.0f}", speed)
    console.print(table)
    means = []
    for what, runs in (("alone", alone), ("watched", watched)):
        warm = [each for progress in runs for each in progress[1:]]  # the first one warms up
        seconds = [each["batchDuration"] / 1000 for each in warm]
        count = sum(each["numInputRows"] for each in warm)
        console.print(f"{what}: {statistics.mean(seconds):.2f} s a micro-batch, {count / sum(seconds):,.0f} rows/s")
        means.append([statistics.mean(each["batchDuration"] for each in progress[1:]) for progress in runs])
    ratios = [f"{watched / alone:.2f}" for alone, watched in zip(*means, strict=True)]
    matching = sum(sample.seconds for sample in monitor.samples if sample.stream == 1)
    whole = sum(each["batchDuration"] / 1000 for each in watched[-1])
    console.print(f"watched takes, of the time alone, pair by pair: {', '.join(ratios)}")
    console.print(f"matching takes {matching / whole:.1%} of the time of the watched query")
    answer = monitor.finish()
    console.print("the streams are equivalent" if answer else answer.reason, markup=False, soft_wrap=True)


if __name__ == "__main__":
    main(prog_name="python -m examples.equivalence.monitoring")
