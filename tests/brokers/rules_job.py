"""A job that judges what a topic has by rules that another topic changes: `rules_job.py SERVERS CHECKPOINT JARS SENT`.

It sends what it is told to, a JSON object of records by topic, runs to the end of what there is, and prints a line of
JSON for each verdict: the ship, the status, the version.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from dsl import RulePack
from dsl.versions import CHANGE_COLUMNS
from spark_bridge import correlate_frames

HEAD = "pack: port\nsubject: vessel\nsource vessel by mmsi:\n    mmsi: number\n    draught: metres\n"
DEEP = HEAD + "draught must be at most 15 m\n    name: deep\n"
DEEPER = HEAD + "draught must be at most 9 m\n    name: deep\n"


def main(servers: str, checkpoint: str, jars: str, sent: str) -> None:
    """Send the records, and run the query on its checkpoint."""
    builder = SparkSession.builder.master("local[2]").config("spark.jars", jars)
    builder = builder.config("spark.python.daemon.module", "spark_bridge.daemon")
    spark = builder.config("spark.sql.shuffle.partitions", 2).config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    for name, records in json.loads(sent).items():
        values = spark.createDataFrame([(json.dumps(each),) for each in records], "value string").coalesce(1)
        values.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", name).save()

    def topic(name: str, columns: str):
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", name)
        records = reader.option("startingOffsets", "earliest").load()
        return records.select(f.from_json(f.col("value").cast("string"), columns).alias("row")).select("row.*")

    frames = correlate_frames(
        RulePack.from_text(DEEP).live(),
        {"vessel": topic("ships", "at timestamp, mmsi long, draught double")},
        event_time="at",
        order="arrival",
        buckets=4,
        changes=topic("rules", CHANGE_COLUMNS),
    )
    told = []
    frames.start(
        results=lambda batch, _: told.extend([row.key, row.status, row.pack] for row in batch.collect()),
        checkpoint=checkpoint,
        trigger={"availableNow": True},
    ).awaitTermination()
    spark.stop()
    print("\n".join(map(json.dumps, sorted(told))))


if __name__ == "__main__":
    main(*sys.argv[1:])
