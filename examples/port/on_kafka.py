"""Running a pack on Spark with Kafka: a topic a source, and a topic of verdict changes.

The readings of the day go into topics of the run's own, and after them one row a source from the next day: it says that
nothing of the day comes any more, so that the clock passes the day's end. Each source's watermark counts, and the
slowest is the clock; so it does not matter how fast which topic is read, and rows are used in event-time order. Two
reports of one ship and one time, of which the files have two pairs, come in the order of what they say.

What is returned was read back from the topic of verdict changes, with repeats dropped.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import attrs
import pyspark
from pyspark.sql import functions as f

from examples.port.cells import microseconds, moment
from examples.port.inputs import SOURCES
from examples.port.on_spark import SparkRun, merged, progress_lines
from examples.port.slices import TIME, spark_schema, write_slices
from examples.port.verdict_changes import ChangeLog
from spark_bridge import correlate_frames
from spark_bridge.sinks import Repeats, to_kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from dsl import RulePack
    from examples.port.inputs import Day

_DAY_MINUTES: Final = 24 * 60
_DELAY: Final = "1 minute"
_JSON: Final = {"timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}


@attrs.frozen
class Broker:
    """Where the topics are.

    Args:
        servers: The bootstrap servers, as Kafka writes them.
        run: The beginning of the topics' names, of this run alone.
        rows_a_batch: How many rows of a topic a micro-batch takes at most.
    """

    servers: str
    run: str
    rows_a_batch: int = 2000

    def topic(self, what: str) -> str:
        """Return the name of the topic of a source, or of the ``"verdicts"``."""
        return f"{self.run}.{what}"


def connector(jars: Path | None) -> dict[str, str]:
    """Return the options that give a Spark session its Kafka connector.

    >>> from pathlib import Path
    >>> connector(Path("nowhere"))
    {'spark.jars': ''}

    Args:
        jars: A folder of jars; None: Spark fetches the connector of its own version from Maven Central, which has none
            for some versions from 4.1 on (docs/how_to/sinks.md says which).
    """
    if jars is not None:
        return {"spark.jars": ",".join(str(jar) for jar in sorted(jars.glob("*.jar")))}
    return {"spark.jars.packages": f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"}


def publish(spark: SparkSession, day: Day, pack: RulePack, broker: Broker) -> None:
    """Send the readings of ``day`` into the topics of the sources of ``pack``, in their order, and a last row each."""
    with TemporaryDirectory(prefix="port-topics-") as folder:
        for source in _sources(pack):
            write_slices(day, source, _DAY_MINUTES, Path(folder) / source)
            rows = spark.read.schema(spark_schema(source)).parquet(f"{folder}/{source}").orderBy("place").drop("place")
            _send(rows.coalesce(1).select(f.to_json(f.struct("*"), _JSON).alias("value")), broker.topic(source), broker)
            key = pack.sources[source].key
            last = {TIME: f"{moment(day.start) + timedelta(hours=25):%Y-%m-%dT%H:%M:%S.%fZ}", key: 0}
            _send(spark.createDataFrame([(json.dumps(last),)], "value string"), broker.topic(source), broker)


def _send(values: DataFrame, topic: str, broker: Broker) -> None:
    values.write.format("kafka").option("kafka.bootstrap.servers", broker.servers).option("topic", topic).save()


def _sources(pack: RulePack) -> list[str]:
    return [source for source in SOURCES if source in pack.sources]


def judge(
    spark: SparkSession, day: Day, pack: RulePack, broker: Broker, checkpoint: str, *, buckets: int = 6
) -> list[tuple[Any, ...]]:
    """Judge what is in the topics, send verdict changes to theirs, and return the dead letters.

    Args:
        spark: A session with the connector.
        day: The day that is judged.
        pack: The rules.
        broker: Where the topics are.
        checkpoint: The query's folder: one that is there already is gone on from.
        buckets: The number of engines, over which ships are spread.
    """
    frames = {}
    for source in _sources(pack):
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.servers)
        reader = reader.option("subscribe", broker.topic(source)).option("startingOffsets", "earliest")
        records = reader.option("maxOffsetsPerTrigger", broker.rows_a_batch).load()
        schema = spark_schema(source).removesuffix(", `place` bigint")
        frames[source] = records.select(f.from_json(f.col("value").cast("string"), schema, _JSON).alias("row")).select(
            "row.*"
        )
    start = moment(day.start)
    letters: list[tuple[Any, ...]] = []

    def bury(dead: DataFrame, _: int) -> None:
        letters.extend(tuple(row) for row in dead.select("source", f.unix_micros("at"), "reason", "payload").collect())

    query = correlate_frames(
        pack.table(),
        frames,
        event_time=TIME,
        partition_by="mmsi",
        buckets=buckets,
        watermark=dict.fromkeys(frames, _DELAY),
        plausible=(start - timedelta(days=1), start + timedelta(days=2)),
        on_error="dead_letter",
    ).start(
        results=to_kafka(broker.servers, broker.topic("verdicts")),
        dead=bury,
        checkpoint=checkpoint,
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    return letters


def verdicts(spark: SparkSession, broker: Broker) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield (the record's key, its value) of the verdict changes in their topic, in order, each once."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.servers)
    reader = reader.option("subscribe", broker.topic("verdicts")).option("includeHeaders", "true")
    records = reader.load().select("partition", "offset", "key", "value", "headers").orderBy("partition", "offset")
    repeats = Repeats()
    for record in records.toLocalIterator():
        key, headers = bytes(record["key"]), [(name, bytes(value)) for name, value in record["headers"]]
        if not repeats.is_repeat(record["partition"], key, headers):
            yield json.loads(key)["key"], json.loads(bytes(record["value"]))


def run_on_kafka(
    spark: SparkSession,
    day: Day,
    pack: RulePack,
    broker: Broker,
    *,
    buckets: int = 6,
    tell: Callable[[str], object] = lambda _: None,
    batch: Callable[[str], object] = lambda _: None,
) -> SparkRun:
    """Judge the ships of ``day`` by ``pack``, through Kafka.

    Args:
        spark: A session with the connector.
        day: The readings.
        pack: The rules.
        broker: Where the topics are to be.
        buckets: The number of engines, over which ships are spread.
        tell: Gets a line about what is in which topics.
        batch: Gets a line per micro-batch.
    """
    publish(spark, day, pack, broker)
    topics = ", ".join(broker.topic(source) for source in _sources(pack))
    tell(f"the day is in the topics {topics} of {broker.servers}")
    with TemporaryDirectory(prefix="port-kafka-") as folder, progress_lines(spark, batch):
        letters = judge(spark, day, pack, broker, f"{folder}/checkpoint", buckets=buckets)
    log = ChangeLog(day)
    for mmsi, change in verdicts(spark, broker):
        failed = [reason["name"] for reason in change["because"] if not reason["missing"]]
        missing = [name for reason in change["because"] for name in reason["missing"]]
        log.add(microseconds(datetime.fromisoformat(change["end"])), mmsi, change["status"], failed, missing)
    tell(f"the verdict changes are in the topic {broker.topic('verdicts')}")
    return SparkRun(log, merged(day, letters), tuple((source, why) for source, _, why, _ in letters))
