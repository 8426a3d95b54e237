"""A query that is going to be killed: it reads slices of rows, joins them, and writes what comes out into a sink.

``python -m tests.faults.job FOLDER SINK MASTER`` runs on from the checkpoint in FOLDER until all slices are read. The
program has all that a crash could lose: rows that wait for the watermark, memories, deadlines of buckets to which no
row comes, rows of a broadcast source, dead letters and late rows.

What it gives does not depend on where micro-batches are cut, for a crash may cut them otherwise: Spark's file source
notes which file comes next before Spark notes what the micro-batch is made of, so after a kill between the two a source
is a file ahead of the others. Hence a watermark for each source, of which the slowest counts.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cartesius import Reactive, correlate
from restrictions import as_table, key_by, optionally, retracting, within, without
from tests.faults.killing import AT_WORK, RETURNED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_bridge import Frames
    from spark_bridge.running.queries import Sink

ROOT = Path(__file__).resolve().parents[2]
START = datetime(2024, 6, 30, tzinfo=UTC)
SECOND = 1_000_000
SLICES = 10
MINUTES_A_SLICE = 5
LATE_FROM = 4  # the first slice with late rows: before, there may be no clock yet
UNLUCKY = 13  # a call of that number makes the program raise
COLUMNS = {
    "ship": {"mmsi": pa.int64(), "berth": pa.string(), "gone": pa.bool_()},
    "berth": {"id": pa.string(), "depth": pa.float64()},
    "call": {"mmsi": pa.int64(), "n": pa.int64()},
    "answer": {"mmsi": pa.int64(), "n": pa.int64()},
}
DDL = {pa.int64(): "bigint", pa.string(): "string", pa.bool_(): "boolean", pa.float64(): "double"}

ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")
call, answer = Reactive("call"), Reactive("answer")
moored = correlate(
    ship=ship,
    berth=berth,
    where=lambda ship, berth: ship.berth == berth.id,
    yields=lambda ship, berth: {"mmsi": ship.mmsi, "berth_row": berth},
    restrict=optionally("berth") | retracting() | as_table("ship"),
    name="moored",
)
answered = correlate(
    call=call,
    answer=answer,
    yields=lambda call, answer: {"mmsi": call.mmsi, "share": answer.n / (call.n - UNLUCKY)},
    restrict=key_by(call="mmsi", answer="mmsi") | within(timedelta(minutes=7), "call", "answer"),
    name="answered",
)
unanswered = correlate(
    call=call,
    yields=lambda call: {"mmsi": call.mmsi, "missed": call.n},
    restrict=key_by(call="mmsi", answer="mmsi") | without(answer, after="call", within=timedelta(minutes=3)),
    name="unanswered",
)
UPSERTED = ("postgresql", "delta")
"""The sinks that keep a table's newest rows, and so take outputs that are tables."""


def write_rows(root: Path, seed: int, rows_a_slice: int = 60) -> None:
    """Write the slices, a file a source and slice; some rows out of order, late, without a time, or absurd."""
    draw = random.Random(seed)
    for number in range(SLICES):
        rows: dict[str, list[dict[str, Any]]] = {source: [] for source in COLUMNS}
        for n in range(rows_a_slice):
            source = draw.choice(["ship", "ship", "berth", "call", "call", "answer"])
            seconds = 60 * MINUTES_A_SLICE * number + draw.randrange(60 * MINUTES_A_SLICE)
            late = draw.random() < 0.03 and number >= LATE_FROM
            at: datetime | None = START + timedelta(seconds=seconds - (3600 if late else 0))
            if draw.random() < 0.02:
                at = draw.choice([None, datetime(2100, 1, 1, tzinfo=UTC)])
            mmsi = draw.choice([None, 2**53 + 1]) if draw.random() < 0.02 else draw.randrange(40)
            row = {"at": at, "mmsi": mmsi, "n": draw.randrange(30), "id": draw.choice("ABCDE"), "gone": n % 9 == 0}
            rows[source].append({**row, "berth": draw.choice("ABCDE"), "depth": draw.choice([9.5, 10.0, None])})
        for source, columns in COLUMNS.items():
            schema = pa.schema([("at", pa.timestamp("us", "UTC")), *columns.items()])
            folder = root / "in" / source
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{number:03}.parquet"
            pq.write_table(pa.Table.from_pylist(rows[source], schema), path)
            os.utime(path, (1_600_000_000 + number,) * 2)  # a file stream goes by the time of modification


def frames_of(spark: SparkSession, root: Path, outputs: list[Reactive]) -> Frames:
    """Return what the program gives over the slices."""
    from spark_bridge import correlate_frames

    used = ["ship", "berth", *(["call", "answer"] if call_is_used(outputs) else [])]
    streams = {}
    for source in used:
        schema = ", ".join(["at timestamp", *(f"{name} {DDL[kind]}" for name, kind in COLUMNS[source].items())])
        streams[source] = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{root}/in/{source}")
    partitions = {name: "mmsi" for name in used if name != "berth"}
    return correlate_frames(
        outputs,
        streams,
        event_time="at",
        deleted={"ship": "gone"},
        partition_by=partitions,
        buckets=4,
        watermark=dict.fromkeys(used, "2 minutes"),
        on_error="dead_letter",
    )


def call_is_used(outputs: list[Reactive]) -> bool:
    """Return whether the outputs are more than the table of the ships."""
    return len(outputs) > 1


def run(spark: SparkSession, root: Path, sink: str) -> None:
    """Run the query to the end of the slices, on from its checkpoint, and write down what the sink then has."""
    from pyspark.sql import Row

    from spark_bridge import sinks, upserts

    kind, _, where = sink.partition(":")
    frames = frames_of(spark, root, [moored] if kind in UPSERTED else [moored, answered, unanswered])
    checkpoint, trigger = f"{root}/checkpoint", {"availableNow": True}
    if kind == "files":  # Spark's own file sink
        writer = frames.all.writeStream.format("parquet").option("path", f"{root}/out")
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    else:
        results = {
            "parquet": lambda: sinks.to_parquet(f"{root}/out"),
            "kafka": lambda: into_files_and_topic(root, *where.split(":", 1)),
            "postgresql": lambda: upserts.to_postgresql(*reversed(where.split(":", 1))),
            "delta": lambda: upserts.to_delta(f"{root}/out"),
        }[kind]()
        dead = sinks.to_parquet(f"{root}/dead")
        query = frames.start(results=noting(root, results), dead=dead, checkpoint=checkpoint, trigger=trigger)
    (root / AT_WORK).write_text(str(os.getpid()))
    query.awaitTermination()
    found: dict[str, list[Any]] = {}
    if kind == "files":
        found["all"] = spark.read.parquet(f"{root}/out").collect()
    else:
        found["dead"] = spark.read.parquet(f"{root}/dead").drop("batch").collect()
    if kind in ("parquet", "kafka", "delta"):
        table = spark.read.format("delta" if kind == "delta" else "parquet").load(f"{root}/out")
        found["results"] = table.drop("batch").collect()
    if kind == "postgresql":
        found["results"] = rows_of(*where.split(":", 1))
    if kind == "kafka":
        found["topic"], found["repeats"] = records_of(spark, *where.split(":", 1))
    rows = {
        name: sorted(_shown(row.asDict(recursive=True) if isinstance(row, Row) else row) for row in each)
        for name, each in found.items()
    }
    (root / "found.json").write_text(json.dumps(rows, indent=0))


def _shown(row: Any) -> str:
    """Return a row as text, but not which clock a late one has met: that does depend on the micro-batch."""
    return re.sub(r"(is before the clock) \d+", r"\1", repr(row))


def rows_of(table: str, connection: str) -> list[Any]:
    """Return what PostgreSQL has in a table."""
    import psycopg

    with psycopg.connect(connection) as database:
        return list(database.execute(f"SELECT * FROM {table}"))  # type: ignore[call-overload, unused-ignore]  # where psycopg is there, it wants a literal


def into_files_and_topic(root: Path, topic: str, servers: str) -> Sink:
    """Return a sink of two: so what is in the topic can be compared with what is in the files."""
    from spark_bridge import sinks

    both = sinks.to_parquet(f"{root}/out"), sinks.to_kafka(servers, topic)
    return lambda batch, number: [sink(batch, number) for sink in both]


def noting(root: Path, sink: Sink) -> Sink:
    """Return the sink, which notes each micro-batch when it has done its work."""

    def write(batch: DataFrame, number: int) -> None:
        sink(batch, number)
        with (root / RETURNED).open("a") as notes:
            notes.write(f"{os.getpid()} {number}\n")

    return write


def records_of(spark: SparkSession, topic: str, servers: str) -> tuple[list[Any], list[Any]]:
    """Return what a reader has of a topic, each record with its place among those of its key, and what it drops.

    Of what it drops, the number of the micro-batch. What has no key has no order either.
    """
    from spark_bridge.sinks import Repeats

    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    records = reader.option("includeHeaders", "true").load().orderBy("partition", "offset").collect()
    repeats, kept, dropped = Repeats(), defaultdict(list), []
    for record in records:
        headers = [(name, bytes(value)) for name, value in record["headers"]]
        key = bytes(record["key"])
        if repeats.is_repeat(record["partition"], key, headers):
            dropped.append(int(dict(headers)["batch"]))
        else:
            kept[key].append(bytes(record["value"]).decode())
    for key, values in kept.items():
        if json.loads(key)["key"] is None:
            values.sort()
    return [(key, place, value) for key, values in kept.items() for place, value in enumerate(values)], dropped


def shared_classes() -> str:
    """Return the option of Java by which a first run keeps the classes that it has loaded, and the others use them.

    A Java starts in half the time, and each kill is followed by a start.
    """
    import pyspark

    archive = ROOT / "out" / "classes" / f"spark-{pyspark.__version__}.jsa"
    archive.parent.mkdir(parents=True, exist_ok=True)
    return f"-XX:SharedArchiveFile={archive}" if archive.exists() else f"-XX:ArchiveClassesAtExit={archive}"


def main(root: Path, sink: str, master: str) -> None:
    """Start Spark with ``master``, and run."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("faults")
    java = f"{JAVA} {shared_classes()}"
    javas = {f"spark.{part}.extraJavaOptions": java for part in ("driver", "executor")}
    for name, value in (OPTIONS | javas).items():
        builder = builder.config(name, value)
    for option in os.environ.get("FAULTS_SPARK_OPTIONS", "").split():
        builder = builder.config(*option.split("=", 1))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    run(spark, root, sink)
    spark.stop()


JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a short life on few cores
_STATE = "org.apache.spark.sql.execution.streaming.state"
OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "900m",
    "spark.executor.memory": "600m",
    "spark.python.daemon.module": "spark_bridge.daemon",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # nor is it worth compiling a plan for a few rows
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": f"{_STATE}.RocksDBStateStoreProvider",
}

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
