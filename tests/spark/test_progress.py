"""A line per micro-batch of a real query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cartesius import Reactive, correlate
from spark_bridge import correlate_frames
from spark_bridge.progress import ProgressLines

START = datetime(2024, 6, 30, tzinfo=UTC)


@pytest.mark.slow
def test_a_query_has_a_line_per_micro_batch_with_what_came_out_late_and_dead(spark, tmp_path):
    n = Reactive("n")
    same = correlate(n=n, yields=lambda n: {"v": n.v}, name="same")
    batches: list[list[int | None]] = [[0, 1], [30, None], [2, 31, 32]]
    for number, minutes in enumerate(batches):
        rows = [(None if m is None else START + timedelta(minutes=m), m) for m in minutes]
        frame = spark.createDataFrame(rows, "at timestamp, v int").coalesce(1)
        frame.write.parquet(f"{tmp_path}/in/{number}")
    lines: list[str] = []
    listener = ProgressLines(lines.append)
    spark.streams.addListener(listener)
    try:
        stream = spark.readStream.schema("at timestamp, v int").option("maxFilesPerTrigger", 1)
        frames = correlate_frames(
            same,
            {"n": stream.parquet(f"{tmp_path}/in/*")},
            event_time="at",
            buckets=1,
            order="arrival",
            watermark="5 minutes",
            unbounded=True,
        )
        query = frames.start(
            results=lambda batch, _: batch.count(),
            dead=lambda batch, _: batch.count(),
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
            name="numbers",
        )
        query.awaitTermination()
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        spark.streams.removeListener(listener)
    started = [line.partition(" rows (")[0] for line in lines[:3]]
    assert started == ["numbers: micro-batch 0: 2", "numbers: micro-batch 1: 2", "numbers: micro-batch 2: 3"]
    came = [line.partition("second), ")[2].partition("; state")[0] for line in lines[:3]]
    assert came == ["2 results, 0 late, 0 dead", "1 results, 0 late, 1 dead", "2 results, 1 late, 0 dead"]
    assert "watermark 2024-06-30T00:25:00.000Z" in lines[2]
