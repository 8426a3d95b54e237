"""A static frame beside a stream, and the prefix of a stream in a batch, on Spark: the batch agrees with the stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cartesius import Reactive, correlate
from cartesius.errors import SnapshotMismatch
from restrictions import as_table, retracting, without
from spark_bridge import correlate_frames

START = datetime(2024, 6, 30, tzinfo=UTC)
call, answer = Reactive("call"), Reactive("answer")
berth = Reactive("berth", table=True, key="ship")
ten = timedelta(minutes=10)
unanswered = correlate(
    call=call,
    answer=answer,
    where=lambda call, answer: call.ship == answer.ship,
    yields=lambda call: {"ship": call.ship},
    restrict=without("answer", after="call", within=ten),
    name="unanswered",
)
at_berth = correlate(
    call=unanswered,
    berth=berth,
    where=lambda call, berth: call.ship == berth.ship,
    yields=lambda call, berth: {"ship": call.ship, "name": berth.name},
    name="at_berth",
)
berths_told = correlate(
    berth=berth,
    yields=lambda berth: {"name": berth.name},
    restrict=retracting() | as_table("berth"),
    name="berths_told",
)
SCHEMAS = {"call": "ship long, at timestamp", "answer": "ship long, at timestamp"}
ROWS: dict[int, Any] = {
    0: {"call": range(6)},
    1: {"answer": [0, 2]},
    20: {"call": [7]},
    21: {"answer": [7]},
    31: {"call": [3]},
}


def test_a_static_frame_is_there_before_all_time_and_once(spark, tmp_path):
    for name in SCHEMAS:
        (tmp_path / name).mkdir()
    berths = spark.createDataFrame([(n, f"berth {n}") for n in range(5)], "ship long, name string")
    options: dict[str, Any] = {"event_time": "at", "buckets": 3, "watermark": "1 minute"}
    found = []

    def add(minutes):
        for minute in minutes:
            for name, ships in ROWS[minute].items():
                at = pa.array([START + timedelta(minutes=minute)] * len(ships), pa.timestamp("us", "UTC"))
                table = pa.table({"ship": pa.array(list(ships), pa.int64()), "at": at})
                pq.write_table(table, tmp_path / name / f"{minute}.parquet")

    def stream(berths):
        streams = {n: spark.readStream.schema(kind).parquet(str(tmp_path / n)) for n, kind in SCHEMAS.items()}
        frames = correlate_frames([at_berth, berths_told], {**streams, "berth": berths}, unbounded=True, **options)
        started = frames.start(
            results=lambda batch, _: found.extend(batch.collect()),
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
        )
        started.awaitTermination()

    add([0, 1])
    stream(berths)
    add([20, 21, 31])
    stream(berths.withColumn("at", berths.ship.cast("timestamp")))  # what it has for times is not looked at
    with pytest.raises(SnapshotMismatch, match="the static frame of 'berth' has other rows than those that its states"):
        stream(berths.limit(2))
    batch = {name: spark.read.schema(kind).parquet(str(tmp_path / name)) for name, kind in SCHEMAS.items()}
    prefix = correlate_frames(
        [at_berth, berths_told], {**batch, "berth": berths}, close=False, **options
    ).results.collect()

    def told(rows):
        return sorted((row.output, row.change, row.key or "", row.ship or 0, row.name, row.start) for row in rows)

    assert told(found) == told(prefix)
    assert [row[3] for row in told(found) if row[0] == "at_berth"] == [1, 3, 4]  # that of minute 31 is not decided yet
    assert [row[2:] for row in told(found) if row[0] == "berths_told"] == [
        (str(n), 0, f"berth {n}", None) for n in range(5)
    ]
