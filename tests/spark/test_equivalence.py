"""Frames are compared as streams, and running queries while they run."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from cartesius.testing import all_depend, same_key
from examples.equivalence import monitoring
from restrictions import as_table, key_by, most_recently, retracting
from spark_bridge import correlate_frames
from spark_bridge.testing import assert_frames_equivalent, frames_equivalent, row_monitor, to_monitor

START = datetime(2024, 6, 30, tzinfo=UTC)
left, right = Reactive("left"), Reactive("right")


def by_hand(left, right):
    return {"k": left.k, "sum": left.n + right.n}


def wrong(left, right):
    return {"k": left.k, "sum": right.n + right.n}


def latest(yields=by_hand):
    per_key = key_by(left="k", right="k") | most_recently("left", "right")
    shown = retracting() | as_table(lambda value: value["k"])
    return correlate(left=left, right=right, yields=yields, restrict=per_key | shown, name="latest")


def rows_of(seed, count):
    draw = random.Random(seed)
    return [(START + timedelta(minutes=n), draw.randrange(3), draw.randrange(100)) for n in range(count)]


def frames_of(spark, buckets, count=30):
    schema = "at timestamp, k int, n int"
    sides = enumerate(("left", "right"))
    inputs = {name: spark.createDataFrame(rows_of(seed, count), schema) for seed, name in sides}
    return correlate_frames(latest(), inputs, event_time="at", partition_by="k", buckets=buckets)


def test_frames_are_compared_as_streams(spark):
    results = frames_of(spark, 1).results
    rows = results.collect()
    assert len(rows) > 20
    assert_frames_equivalent(frames_of(spark, 3).results, results.select(*reversed(results.columns)))
    in_order, positions = rows_as_frame(spark, results.schema)
    first, second, *_ = [place for place, row in enumerate(rows) if row.k == rows[0].k]
    swapped = [*rows[:first], rows[second], *rows[first + 1 : second], rows[first], *rows[second + 1 :]]
    answer = frames_equivalent(in_order(rows), in_order(swapped))
    assert "depends on item" in answer.reason
    assert answer.item.k == rows[0].k
    assert frames_equivalent(in_order(rows), in_order(swapped), lambda a, b: False)
    with pytest.raises(AssertionError, match="has no equal left in stream 2") as caught:
        assert_frames_equivalent(in_order(rows), in_order(rows[:-1]), same_key("k"))
    assert "--- stream 1" in str(caught.value)
    numbered = positions(rows)
    assert frames_equivalent(numbered, numbered.orderBy("sum"), all_depend(), order_by="position")
    otherwise = numbered.withColumn("position", numbered.position * 10)  # it says the order, and nothing else
    assert frames_equivalent(numbered, otherwise, all_depend(), order_by=["position"])
    backwards = numbered.withColumn("position", -numbered.position)
    assert not frames_equivalent(numbered, backwards, all_depend(), order_by="position")


def rows_as_frame(spark, schema):
    """Make frames of one partition, with and without a column that says the order."""
    with_position = StructType([*schema, StructField("position", LongType())])

    def in_order(rows):
        return spark.createDataFrame(rows, schema).coalesce(1)

    def positions(rows):
        return spark.createDataFrame([(*row, place) for place, row in enumerate(rows)], with_position)

    return in_order, positions


def test_what_cannot_be_compared_is_refused(spark):
    one = spark.range(1).selectExpr("id as k", "id as v")
    with pytest.raises(InvalidArgument, match=r"frames_equivalent: expected the columns \['k', 'v'\] in both but got"):
        frames_equivalent(one, one.drop("k"))
    with pytest.raises(InvalidArgument, match="expected columns of different names"):
        frames_equivalent(one.select("k", "k"), one.select("k", "k"))
    with pytest.raises(InvalidArgument, match=r"beside those of order_by= but got \['k', 'v'\]; to sort by what is"):
        frames_equivalent(one, one, order_by=["k", "v"])
    with pytest.raises(InvalidArgument, match="expected batches but got a stream; use to_monitor"):
        frames_equivalent(one, spark.readStream.format("rate").load())


@pytest.mark.slow
def test_a_running_query_is_watched_against_another(spark, tmp_path):
    """The same program cut otherwise, over other buckets; and one that is wrong, which is found while both run."""
    for seed, name in enumerate(("left", "right")):
        rows = rows_of(seed, 40)
        for part in range(4):
            frame = spark.createDataFrame(rows[part * 10 : part * 10 + 10], "at timestamp, k int, n int").coalesce(1)
            frame.write.parquet(f"{tmp_path}/{name}/{part}")

    def start(program, sink, buckets, files, name):
        stream = spark.readStream.schema("at timestamp, k int, n int").option("maxFilesPerTrigger", files)
        inputs = {side: stream.parquet(f"{tmp_path}/{side}/*") for side in ("left", "right")}
        frames = correlate_frames(
            program, inputs, event_time="at", partition_by="k", buckets=buckets, watermark="1 minute"
        )
        return frames.start(results=sink, checkpoint=f"{tmp_path}/{name}", trigger={"availableNow": True})

    for yields in (by_hand, wrong):
        told: list[str] = []
        monitor = row_monitor(on_difference=lambda answer, told=told: told.append(answer.reason))
        queries = [
            start(latest(), to_monitor(monitor, 1), 3, 1, f"one-{yields.__name__}"),
            start(latest(yields), to_monitor(monitor, 2), 2, 2, f"two-{yields.__name__}"),
        ]
        for query in queries:
            query.awaitTermination()
        is_right = yields is by_hand
        assert bool(monitor.finish()) is is_right, monitor.finish().reason
        assert sum(sample.items for sample in monitor.samples) > (50 if is_right else 0)
        assert bool(told) is not is_right


@pytest.mark.slow
@pytest.mark.parametrize("mistake", [False, True])
def test_the_example_watches_a_query_against_the_engine_in_this_process(spark, tmp_path, mistake):
    rows = monitoring.drawn(1_200, 4)
    found = monitoring.watch(spark, tmp_path, [rows[:400], rows[400:800], rows[800:]], mistake=mistake)
    assert len(found.alone[0]) == len(found.watched[0]) == 3
    assert bool(found.monitor.finish()) is not mistake, found.monitor.finish().reason
    assert all(sample.size < 1_200 * 2_000 for sample in found.monitor.samples)
