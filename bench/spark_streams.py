"""Streams for the figures on Spark: files of random rows, one a source and micro-batch, and how a query is measured.

A micro-batch takes the files of one number of each source. Its rate is its input rows over the time from its trigger to
its end, as Spark reports it; the first micro-batches warm up, and are left out.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame

START: Final = 1_600_000_000_000_000  # microseconds since the epoch
SECONDS: Final = 10
"""Of event time in a micro-batch."""
WARM_UP: Final = 2
"""Micro-batches that are not measured."""
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS: Final = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
PAIR: Final = "at timestamp, k long, n long"


@attrs.frozen
class Load:
    """How much goes through a query.

    Args:
        rows: Rows of a micro-batch, of all sources.
        keys: Different keys.
        batches: Micro-batches that are measured.
        buckets: Engines of ours, and groups of the sides that use buckets.
        seed: Of the values.
    """

    rows: int = 500_000
    keys: int = 20_000
    batches: int = 3
    buckets: int = 32
    seed: int = 1


@contextmanager
def session(cores: int, more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Start Spark with RocksDB state, on some cores and with what else is to be set, and stop it."""
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as folder:
        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.local.dir": folder,
            "spark.sql.shuffle.partitions": str(cores),
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            PROVIDER: ROCKSDB,
            "spark.python.daemon.module": "spark_bridge.daemon",
            **(more or {}),
        }
        configured = SparkConf().setMaster(f"local[{cores}]").setAppName("bench").setAll(list(options.items()))
        with SparkContext(conf=configured) as context:
            signal.signal(signal.SIGINT, _interrupted)  # instead of PySpark's, which asks Java something first
            context.setLogLevel("ERROR")
            yield SparkSession(context)


def _interrupted(*_: object) -> None:
    """Raise what Ctrl-C does; py4j writes a traceback of the call that this cuts off, and Java pages of what it ran."""
    logging.disable()
    raise KeyboardInterrupt


@contextmanager
def scratch(spark: SparkSession) -> Iterator[Path]:
    """Make a folder, and remove it; on Ctrl-C when the queries that write there have been stopped."""
    folder = Path(tempfile.mkdtemp(prefix="bench-spark-"))
    try:
        yield folder
    except KeyboardInterrupt:
        spark.sparkContext.setLogLevel("OFF")
        with suppress(PySparkException, Py4JError):  # of what they were about
            for query in spark.streams.active:
                query.stop()
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write(folder: Path, number: int, table: pa.Table, files: int = 1) -> None:
    """Write the files of a micro-batch; each becomes a task of Spark's, as such small ones are not split."""
    folder.mkdir(parents=True, exist_ok=True)
    each = -(-table.num_rows // files)
    for place in range(files):
        path = folder / f"{number:04}-{place}.parquet"
        pq.write_table(table.slice(place * each, each), path)
        os.utime(path, (START // 1_000_000 + number,) * 2)  # a file stream goes by the time of modification


def write_pairs(folder: Path, load: Load) -> None:
    """Write two sources, ``left`` and ``right``, of rows with a key and a number."""
    draw = np.random.default_rng(load.seed)
    for number in range(WARM_UP + load.batches):
        for source in ("left", "right"):
            n = load.rows // 2
            at = np.sort(draw.integers(0, SECONDS * 1_000_000, n)) + START + number * SECONDS * 1_000_000
            columns = {"at": pa.array(at, pa.timestamp("us", "UTC")), "k": draw.integers(0, load.keys, n)}
            write(folder / source, number, pa.table({**columns, "n": draw.integers(0, 1 << 40, n)}))


def streams(spark: SparkSession, folder: Path, schemas: Mapping[str, str]) -> dict[str, DataFrame]:
    """Return sources as streams that take the files of one micro-batch after the other."""
    return {
        name: spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", len(list((folder / name).glob("0000-*"))))
        .parquet(str(folder / name))
        for name, schema in schemas.items()
    }


def processors(frame: DataFrame) -> tuple[float, float]:
    """Run a query over all there is; return the seconds of a micro-batch, on average: of the clock, and of processors.

    Those of all processes of Spark's, from when it has warmed up.
    """
    with scratch(frame.sparkSession) as folder:
        writer = frame.writeStream.format("noop").outputMode("append").option("checkpointLocation", str(folder))
        query = writer.trigger(availableNow=True).start()
        first: tuple[int, float, float] | None = None
        while not query.awaitTermination(0.05):  # type: ignore[arg-type]  # PySpark takes fractions
            done = query.lastProgress
            if first is None and done is not None and done["batchId"] >= WARM_UP:
                first = done["batchId"], time.perf_counter(), processor_seconds()
        ended, used = time.perf_counter(), processor_seconds()
        last = max(one["batchId"] for one in query.recentProgress if one["numInputRows"])
    assert first is not None, "there are too few micro-batches"
    return (ended - first[1]) / (last - first[0]), (used - first[2]) / (last - first[0])


def measured(frame: DataFrame, counted: str = "") -> list[tuple[int, float]]:
    """Run a query over all there is; return rows and seconds of each micro-batch that is measured.

    Args:
        frame: What is asked, a stream.
        counted: Part of the path of the one source whose rows count; empty: all do.
    """
    with scratch(frame.sparkSession) as folder:
        writer = frame.writeStream.format("noop").outputMode("append").option("checkpointLocation", str(folder))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = [one for one in query.recentProgress if one["numInputRows"]]
    return [(_rows(one, counted), one["durationMs"]["triggerExecution"] / 1000) for one in progress[WARM_UP:]]


def _rows(progress: Any, counted: str) -> int:
    return sum(int(one["numInputRows"]) for one in progress["sources"] if counted in one["description"])


def collected(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Run a query over all there is; return its rows, sorted."""
    rows: list[tuple[Any, ...]] = []

    def take(batch: DataFrame, _: int) -> None:
        rows.extend(tuple(row) for row in batch.collect())

    with scratch(frame.sparkSession) as folder:
        writer = frame.writeStream.outputMode("append").option("checkpointLocation", str(folder)).foreachBatch(take)
        writer.trigger(availableNow=True).start().awaitTermination()
    return sorted(rows)


def rate(runs: list[tuple[int, float]]) -> float:
    """Return rows a second."""
    return sum(rows for rows, _ in runs) / sum(seconds for _, seconds in runs)


def processor_seconds() -> float:
    """Return the processor time that this process and all that it started, directly or not, have used so far."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile, and its parent has its time
        process = int(stat.parent.name)
        parents[process] = int(fields[1])
        used[process] = sum(map(int, fields[11:15]))  # its own, and of its children that have ended

    def is_ours(process: int) -> bool:
        while process and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return sum(ticks for process, ticks in used.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")
