"""Judging a history on Spark: the verdicts that the same rows give in this process, from many buckets at once.

The history goes through the reader of `dsl.histories` into Parquet files, so that the same rows are used, and the same
refused; Spark reads those. A bucket is judged as a whole: its rows have to fit into a worker, so there are more buckets
where there are more rows.

The only module of `dsl` that knows Spark and `spark_bridge`; it is imported where `compare` is given a session.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from cartesius.analysis.partition_choice import NoPartition, chosen_partition
from cartesius.errors import InvalidArgument
from dsl.comparison.verdict_spans import NOTHING, VerdictSpans, add_name, said
from dsl.histories.field_columns import TIME, joined
from dsl.terms.instants import moment_of
from spark_bridge import correlate_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsl.histories.history_folders import History
    from dsl.rule_packs import RulePack

_ROWS: Final = 400_000
"""How many rows of the subject a bucket has; those of most other sources are in every bucket."""
_LEAST: Final = 6
_TASKS: Final = 32
"""Into how many tasks Spark divides the buckets: each core takes the next as soon as it is free."""
_LOOK_S: Final = 1.0
_GROUP: Final = "spark.jobGroup.id"
_A_FILE: Final = 250_000


@contextmanager
def local_spark() -> Iterator[SparkSession]:
    """Start a Spark on the cores of this machine, and stop it.

    Raises:
        InvalidArgument: There is no Java, or Spark does not start with it.
    """
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        message = "expected Java 17 or newer for --spark but there is none; set JAVA_HOME, or leave --spark out"
        raise InvalidArgument(message)
    # The JVM starts the workers; it knows neither this interpreter nor where our packages are.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    with TemporaryDirectory(prefix="compare-spark-") as folder:
        builder = SparkSession.builder.master("local[*]").appName("compare")
        for name, value in {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",  # the machine's own name need not resolve
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.local.dir": folder,
            "spark.log.level": "ERROR",
            "spark.python.daemon.module": "spark_bridge.daemon",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.adaptive.coalescePartitions.enabled": "false",  # small files, long work
            "spark.sql.shuffle.partitions": str(_TASKS),
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        }.items():
            builder = builder.config(name, value)
        try:
            spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            message = f"expected Spark to start but got {error}; it needs Java 17 or newer, or leave --spark out"
            raise InvalidArgument(message) from error
        try:
            yield spark
        finally:
            spark.stop()


def check_spread(pack: RulePack) -> None:
    """Raise `InvalidArgument` if the rules cannot be spread over buckets, before anything is written for them."""
    try:
        chosen_partition((pack.table(),), in_order=True)
    except NoPartition as error:
        subject = next(iter(pack.declarations))
        message = (
            f"compare: expected rules that spread each {subject} over Spark by itself but those of version"
            f" {pack.version} are about pairs, or about totals over the others ({error.reason}); leave out --spark"
            " (spark=), and they are judged in this process"
        )
        raise InvalidArgument(message) from error


class Prepared:
    """A history as files that Spark reads, and what was seen of it while they were written."""

    def __init__(self, history: History, folder: Path) -> None:
        """Write the files.

        Args:
            history: What was observed.
            folder: Where the files go, a folder that is made; the workers of Spark read it.
        """
        self.folder = folder
        self.seen = VerdictSpans()
        subject = next(iter(history.files.values())).source
        writers: dict[str, _Files] = {name: _Files(folder / name) for name in history.files}
        self.rows: dict[str, int] = dict.fromkeys(history.files, 0)
        for stretch in history.batches():
            for name, table in stretch.items():
                times = table.column(TIME)
                self.seen.saw((times[0].value, times[-1].value), table.num_rows)
                self.rows[name] += table.num_rows
                writers[name].write(table)
                if name == subject.name:
                    add_name(self.seen, subject.key, table)
        for name, writer in writers.items():
            writer.close(history.empty(name))

    def frames(self, spark: SparkSession) -> dict[str, Any]:
        """Return the frame of each source."""
        return {name: spark.read.parquet(str(self.folder / name)) for name in self.rows}


def judged_on_spark(
    spark: SparkSession, pack: RulePack, prepared: Prepared, end: int, progress: Callable[[int], object]
) -> Callable[[], VerdictSpans]:
    """Return what judges a history on Spark.

    Args:
        spark: A session, whose workers read the folder of `prepared`.
        pack: The rules.
        prepared: What was observed.
        end: Until when time goes on behind the rows, in microseconds since the epoch.
        progress: Called now and then, from another thread, with about how many rows are judged.
    """
    subject = next(iter(prepared.rows))
    results = correlate_frames(
        pack.table(),
        prepared.frames(spark),
        event_time=TIME,
        buckets=max(_LEAST, -(-prepared.rows[subject] // _ROWS)),
        close=False,
        until=moment_of(end),
    ).results
    wanted = results.select(f.unix_micros("end"), "change", "key", "status", "because.name", "because.missing")

    def judge() -> VerdictSpans:
        # Of one subject all is in one bucket, in order.
        spans = prepared.seen.without_verdicts()
        with _following(spark, lambda share: progress(int(share * prepared.seen.rows))):
            collected = wanted.collect()
        for time, change, key, status, names, missing in collected:
            is_judged = change == "update"
            spans.add(key, time, said(status, zip(names, missing, strict=True)) if is_judged else NOTHING)
        return spans

    return judge


@contextmanager
def _following(spark: SparkSession, tell: Callable[[float], object]) -> Iterator[None]:
    """Tell which share of the tasks of what is run meanwhile is done, of the stage that judges: it is behind others."""
    context, stop, group = spark.sparkContext, Event(), f"compare-{uuid4()}"
    tracker = context.statusTracker()

    def follow() -> None:
        share = 0.0
        while not stop.wait(_LOOK_S):
            for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)):
                if job is None or len(job.stageIds) < 2:  # it reads the files alone
                    continue
                stage = tracker.getStageInfo(max(job.stageIds))
                if stage is not None and stage.numTasks:
                    share = max(share, stage.numCompletedTasks / stage.numTasks)  # another job puts results in order
                    tell(share)

    thread, before = Thread(target=follow, name="progress", daemon=True), context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        context.setLocalProperty(_GROUP, before)  # type: ignore[arg-type]  # None takes it back


class _Files:
    """Parquet files of a source, of so many rows each that several workers read them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: list[pa.Table] = []
        self.number = 0
        folder.mkdir(parents=True)

    def write(self, table: pa.Table) -> None:
        self.held.append(table)
        if sum(each.num_rows for each in self.held) >= _A_FILE:
            self._put()

    def close(self, empty: pa.Table) -> None:
        if self.held or not self.number:
            self.held = self.held or [empty]
            self._put()

    def _put(self) -> None:
        whole = joined(self.folder.name, self.held)
        pq.write_table(whole, self.folder / f"part-{self.number:05}.parquet")
        self.held, self.number = [], self.number + 1
