"""A restart of Spark's own `writeStream`, without `Frames.start` and its note: what the states themselves say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from cartesius import Reactive
from restrictions.streams import interval_join
from spark_bridge import correlate_frames

START = datetime(2024, 6, 30, tzinfo=UTC)
DAY = timedelta(days=1)
asked, answered = Reactive("asked"), Reactive("answered")
pairs = interval_join(asked, answered, -DAY, DAY, key="ship")


def add(folder, minute, ships):
    at = pa.array([START + timedelta(minutes=minute)] * len(ships), pa.timestamp("us", "UTC"))
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table({"ship": pa.array(ships, pa.int64()), "at": at}), folder / f"{minute}.parquet")


def test_a_restart_in_other_buckets_is_refused_and_loses_nothing(spark, tmp_path):
    def run(buckets):
        streams = {
            name: spark.readStream.schema("ship long, at timestamp").parquet(str(tmp_path / name))
            for name in ("asked", "answered")
        }
        frames = correlate_frames(pairs, streams, event_time="at", buckets=buckets, order="arrival", watermark="1 hour")
        writer = frames.results.writeStream.format("parquet").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", f"{tmp_path}/checkpoint").option("path", f"{tmp_path}/out")
        writer.start().awaitTermination()

    def found():
        return sorted(row._1.ship for row in spark.read.parquet(f"{tmp_path}/out").collect())

    add(tmp_path / "asked", 0, [*range(20)])
    (tmp_path / "answered").mkdir()
    run(2)
    add(tmp_path / "answered", 1, [3])  # one row, which goes to a bucket that has no state
    with pytest.raises(StreamingQueryException, match=r"its states are in 2 buckets, .* and not in 8; write buckets=2"):
        run(8)
    assert found() == []
    add(tmp_path / "answered", 2, [*range(20)])
    run(2)
    assert found() == sorted([*range(20), 3])
