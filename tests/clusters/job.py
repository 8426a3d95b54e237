"""What is submitted to a cluster: two rule packs over slices of rows, one of them written here, in ``__main__``.

``spark-submit … tests/clusters/job.py FOLDER`` judges the slices in FOLDER, and writes down the verdicts, and where the
Python of the workers and the packages in it came from.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from harbour_rules import berth, shipped, vessel  # shipped by --py-files, or in the archive

from dsl import RulePack, require
from dsl.units import metres

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

in_main = RulePack("in_main", subject=vessel, location=vessel.destination, links=[berth.id == vessel.destination])
with in_main:
    require(vessel.draught <= 12 * metres, name="draught", because="she is too deep")
    require(berth.depth - vessel.draught >= 2 * metres, name="room", because="the berth is not deep enough")


def origins(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Say which Python runs this, and where it has our packages from."""
    import greenlet
    import harbour_rules as rules
    import pandas

    import cartesius

    for _ in frames:
        yield pandas.DataFrame(
            {"what": [sys.executable, greenlet.__file__, str(cartesius.__file__), str(rules.__file__)]}
        )


def main(root: str) -> None:
    """Run the query to the end of the slices."""
    from pyspark.sql import SparkSession

    from spark_bridge import correlate_frames
    from spark_bridge.sinks import to_parquet

    spark = SparkSession.builder.appName("clusters").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    streams = {}
    for source in ("vessel", "berth"):
        schema = spark.read.parquet(f"{root}/in/{source}").schema
        streams[source] = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{root}/in/{source}")
    frames = correlate_frames(
        [in_main.table(), shipped.table()],
        streams,
        event_time="at",
        partition_by="mmsi",
        buckets=4,
        order="arrival",
    )
    frames.start(
        results=to_parquet(f"{root}/out"), checkpoint=f"{root}/checkpoint", trigger={"availableNow": True}
    ).awaitTermination()
    rows = spark.read.parquet(f"{root}/out").collect()
    made_of = spark.range(4).repartition(4).mapInPandas(origins, "what string")
    found = {
        "verdicts": sorted([row.output, row.key, row.end.timestamp(), row.status] for row in rows),
        "origins": sorted({row.what for row in made_of.collect()}),
    }
    with open(f"{root}/found.json", "w", encoding="utf-8") as file:
        json.dump(found, file)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
