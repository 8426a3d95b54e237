"""Running a pack on Spark: the files of a day replayed in slices of event time, through one streaming query.

The rows of a micro-batch are used in the order of (event time, source, place in the file), and micro-batches are cut
along event time; so the verdicts are those of `in_process`. Rows whose time is not to be believed go in as well: the
bridge sets them aside before they can move its clock, and hands them over as dead letters.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from examples.port.cells import moment
from examples.port.dead_letters import DeadLetter
from examples.port.inputs import SOURCES
from examples.port.programs import rule_pack
from examples.port.rule_changes import RuleChanges, RuleLog
from examples.port.slices import PLACE, TIME, number_of_slices, spark_schema, write_slices
from examples.port.verdict_changes import ChangeLog
from spark_bridge import correlate_frames
from spark_bridge.progress import ProgressLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row

    from dsl import RulePack
    from dsl.versions import FollowedRules
    from examples.port.inputs import Day

_ROOT: Final = Path(__file__).resolve().parents[2]
_ONE_DAY: Final = timedelta(days=1)


class NoSpark(Exception):
    """Spark does not start, most likely for want of a Java. The message says what to do."""


class Office(RuleLog, Protocol):
    """Gets what each micro-batch gives, once more if it comes again, and is told when all are done."""

    def write(self, rows: Iterable[Row], number: int) -> None:
        """Take the results of a micro-batch: time, change, key, status, because, pack."""
        ...

    def finish(self) -> None:
        """Take note that no micro-batch comes any more."""
        ...


@attrs.frozen
class SparkRun:
    """What a run on Spark gives.

    Args:
        log: The verdicts.
        dead: All dead letters: those of the reader, and those of the bridge that the reader has not.
        set_aside: What the bridge set aside: (source, reason).
    """

    log: ChangeLog
    dead: tuple[DeadLetter, ...]
    set_aside: tuple[tuple[str, str], ...]


@contextmanager
def spark_session(log: Path, more: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Start a small Spark on two local cores, and stop it.

    Args:
        log: The file for what Java and Spark say; the terminal is for people.
        more: Further options of Spark's.

    Raises:
        NoSpark: There is no Java in JAVA_HOME or on the PATH, or Spark does not start with it.
    """
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        message = "Spark needs Java 17 or newer but there is none; use `make run`, which finds it, or --in-process"
        raise NoSpark(message)
    # The JVM starts the workers; it knows neither this interpreter nor where our packages are.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    with TemporaryDirectory(prefix="port-spark-") as folder:
        options = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",  # the machine's own name need not resolve
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a short life on two cores
            "spark.local.dir": folder,
            "spark.python.daemon.module": "spark_bridge.daemon",
            "spark.sql.shuffle.partitions": "2",  # of which Spark's hash gives each three of six buckets
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            **(more or {}),
        }
        builder = SparkSession.builder.master("local[2]").appName("port")
        for name, value in options.items():
            builder = builder.config(name, value)
        try:
            with _errors_to(log):  # Java keeps the standard error that it was started with
                spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise NoSpark(reason_in(log)) from error
        spark.sparkContext.setLogLevel("ERROR")
        with logged_to(log):
            try:
                yield spark
            finally:
                spark.stop()


def reason_in(log: Path) -> str:
    """Say why Spark has not started, as far as the log tells."""
    missing = re.search(r"unresolved dependency: ([^\]]+): not found", log.read_text(errors="replace"))
    if missing:
        return (
            f"Spark does not find {missing[1]} at Maven Central; `make run-kafka` takes an older Spark, whose connector"
            f" is there, or give a folder of jars, --jars FOLDER ({log} says more)"
        )
    return f"Spark does not start; {log} says why. It needs Java 17 or newer; without it, use --in-process"


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Send what this process and those that it starts write to standard error into a file."""
    sys.stderr.flush()
    before = os.dup(2)
    log.write_bytes(b"")
    try:
        with log.open("ab") as file:  # to append, as `logged_to` writes there as well
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def logged_to(log: Path) -> Iterator[None]:
    """Send what libraries log in this process to the end of a file: after Ctrl-C, every call that was broken off.

    Args:
        log: The file.
    """
    handler = logging.FileHandler(log, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%y/%m/%d %H:%M:%S"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


def run_on_spark(
    spark: SparkSession,
    day: Day,
    pack: RulePack,
    *,
    slice_minutes: int = 60,
    buckets: int = 6,
    progress: Callable[[int], None] = lambda _: None,
    tell: Callable[[str], object] = lambda _: None,
    say: Callable[[str], object] = lambda _: None,
    office: Office | None = None,
    follow: FollowedRules | None = None,
) -> SparkRun:
    """Judge the ships of ``day`` by ``pack``.

    Args:
        spark: A session.
        day: The readings.
        pack: The rules.
        slice_minutes: The length of a slice of event time, in minutes: a micro-batch.
        buckets: The number of engines, over which ships are spread.
        progress: Called with the number of each slice when it is done.
        tell: Gets a line per micro-batch.
        say: Gets a line when the rules change, or would if they were right.
        office: Where the verdict changes are written as well, for the board.
        follow: The file that `pack` was read from: when it changes, the run goes on with its new rules.
    """
    log = ChangeLog(day)
    letters: list[tuple[str, int | None, str, str]] = []
    last = number_of_slices(slice_minutes) - 1

    def take(results: DataFrame, number: int) -> None:
        rows = results.select(
            f.unix_micros("end").alias("time"), "change", "key", "status", "because", "pack"
        ).collect()
        for row in rows:
            change, mmsi = row["change"], row["key"]
            assert change == "update", f"a ship's verdict is never deleted, but got {change} of {mmsi}"
            failed = [reason["name"] for reason in row["because"] if not reason["missing"]]
            missing = [name for reason in row["because"] for name in reason["missing"]]
            log.add(row["time"], mmsi, row["status"], failed, missing)
        if office is not None:
            office.write(rows, number)
        progress(min(number, last))
        if changes is not None and number < last:  # there is no slice after the last
            changes.look(number + 1)

    def bury(dead: DataFrame, _: int) -> None:
        letters.extend(tuple(row) for row in dead.select("source", f.unix_micros("at"), "reason", "payload").collect())

    with TemporaryDirectory(prefix="port-slices-") as folder, progress_lines(spark, tell):
        harbour = rule_pack("port", day.berths, day.gauges, day.stations)
        changes = None if follow is None else RuleChanges(follow, Path(folder) / "rules", say, harbour, office)
        begins = pack if changes is None else changes.pack
        frames: dict[str, DataFrame] = {}
        for source in (source for source in SOURCES if source in begins.sources):
            write_slices(day, source, slice_minutes, Path(folder) / source)
            stream = spark.readStream.schema(spark_schema(source)).option("maxFilesPerTrigger", 1)
            frames[source] = stream.parquet(f"{folder}/{source}")
        start = moment(day.start)
        query = correlate_frames(
            begins.table() if changes is None else begins.live(),
            frames,
            event_time=TIME,
            sequence=PLACE,
            partition_by="mmsi",
            buckets=buckets,
            watermark="1 minute",
            plausible=(start - _ONE_DAY, start + 2 * _ONE_DAY),
            on_error="dead_letter",
            changes=None if changes is None else changes.stream(spark),
        ).start(results=take, dead=bury, checkpoint=f"{folder}/checkpoint")
        query.processAllAvailable()  # not availableNow, which would not see what is published meanwhile
        query.stop()
        if office is not None:
            office.finish()
    return SparkRun(log, merged(day, letters), tuple((source, why) for source, _, why, _ in letters))


@contextmanager
def progress_lines(spark: SparkSession, tell: Callable[[str], object]) -> Iterator[None]:
    """Give ``tell`` a line per micro-batch of the queries that run meanwhile; all have come at the end."""
    listener = ProgressLines(tell)
    spark.streams.addListener(listener)
    try:
        yield
    finally:
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # Spark tells it by and by
        spark.streams.removeListener(listener)


def merged(day: Day, letters: Iterable[tuple[Any, ...]]) -> tuple[DeadLetter, ...]:
    """Add to the reader's dead letters what the bridge set aside, and the reader did not.

    Args:
        day: The readings.
        letters: The bridge's: (source, time, reason, payload).
    """
    known = [(reading.source, reading.time) for reading in day.untimely]
    found = list(day.dead)
    for source, time, why, payload in letters:
        if (source, time) in known:
            known.remove((source, time))
        else:
            found.append(DeadLetter(source, "", 0, why, payload))
    return tuple(found)
