"""The life of a checkpoint, on Spark: spread evenly, reported, restarted, migrated, refused."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as f

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument, SnapshotMismatch
from restrictions import as_table, cartesian, retracting
from spark_bridge import correlate_frames, migrate, state_report
from spark_bridge.sinks import to_parquet
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.transport.shuffles import PARTITIONS, bucket_numbers, spark_hash

START = datetime(2024, 6, 30, tzinfo=UTC)
ship, berth = Reactive("ship", table=True, key="mmsi"), Reactive("berth", table=True, key="id")


def moored(least):
    return correlate(
        ship=ship,
        berth=berth,
        where=lambda ship, berth: (ship.berth == berth.id) & (berth.depth > least),
        yields=lambda ship, berth: {"mmsi": ship.mmsi, "depth": berth.depth},
        restrict=retracting() | as_table("ship"),
        name="moored",
    )


class Query:
    """A checkpoint and the files that a query over it reads."""

    def __init__(self, spark, path):
        self.spark, self.path, self.count = spark, path, 0
        self.schemas = {
            "ship": "mmsi long, berth string, at timestamp",
            "berth": "id string, depth double, at timestamp",
        }
        self.checkpoint = str(path / "checkpoint")

    def add(self, source, **columns):
        n = len(next(iter(columns.values())))
        times = [START + timedelta(minutes=self.count, seconds=place) for place in range(n)]
        table = pa.table({**columns, "at": pa.array(times, pa.timestamp("us", "UTC"))})
        (self.path / source).mkdir(exist_ok=True)
        pq.write_table(table, self.path / source / f"{self.count:03}.parquet")
        self.count += 1

    def frames(self, program, **options):
        streams = {
            name: self.spark.readStream.schema(schema).parquet(str(self.path / name))
            for name, schema in self.schemas.items()
        }
        options = {"buckets": 8, "order": "arrival", **options}
        return correlate_frames(program, streams, event_time="at", partition_by="mmsi", **options)

    def run(self, program, **options):
        found = []
        query = self.frames(program, **options).start(
            results=lambda batch, _: found.extend(batch.collect()),
            checkpoint=self.checkpoint,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        return sorted((row.change, row.key, row.depth) for row in found)


@pytest.fixture
def query(spark, tmp_path):
    before = spark.conf.get(PARTITIONS)
    spark.conf.unset(PARTITIONS)
    made = Query(spark, tmp_path)
    made.add("ship", mmsi=list(range(20)), berth=["A", "B"] * 10)
    made.add("berth", id=["A", "B"], depth=[15.0, 9.0])
    yield made
    spark.conf.set(PARTITIONS, before)


def test_a_folder_that_is_no_checkpoint_is_refused_by_name(spark, tmp_path):
    with pytest.raises(InvalidArgument, match=f"{tmp_path}.* has none that can be read"):
        state_report(tmp_path, spark=spark)
    with pytest.raises(InvalidArgument, match=r"read \(\S+UnsupportedFileSystemException: No FileSystem for scheme"):
        state_report("nowhere://here/there", spark=spark)


def test_a_folder_to_which_spark_has_no_way_is_refused_by_name_and_in_one_line(spark, query):
    """Be it that of a checkpoint, as the query is started, or that of a sink, which may first write much later."""
    (query.path / "file").touch()
    frames = query.frames(moored(10))
    for folder, cause in {
        f"{query.path}/file/below": r"\S+ParentNotDirectoryException: Parent path is not a directory: \S+/file",
        f"{query.path}/file": r"\S+FileAlreadyExistsException: .* is not a directory: \S+/file",
        "s3a://bucket/checkpoint": r"\S+ClassNotFoundException: Class \S+S3AFileSystem not found",
        "nowhere://here/there": r'\S+UnsupportedFileSystemException: No FileSystem for scheme "nowhere"',
        "there:here": r"\S+URISyntaxException: Relative path in absolute URI: there:here",
    }.items():
        said = f"a folder for %s= that Spark can read and write but of '{folder}' it says: {cause}; see [^\n]*$"
        with pytest.raises(InvalidArgument, match=f"^start: expected {said % 'checkpoint'}"):
            frames.start(results=print, checkpoint=folder)
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", "of a query")
        with pytest.raises(InvalidArgument, match=f"^to_parquet: expected {said % 'path'}"):
            to_parquet(folder)(spark.range(1), 0)
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)


def test_the_hash_is_that_of_spark(spark):
    numbers = [*range(-20, 20), 2**31 - 1, -(2**31), *bucket_numbers(32)]
    frame = spark.createDataFrame([(number,) for number in numbers], "number int")
    found = [row[0] for row in frame.select(f.hash("number")).collect()]
    assert found == spark_hash(np.array(numbers, np.int32)).tolist()


@pytest.mark.slow  # eight queries
def test_a_checkpoint_from_its_beginning_to_a_changed_program(spark, query, caplog):
    deep = [("update", mmsi, 15.0) for mmsi in range(0, 20, 2)]
    with caplog.at_level(logging.INFO, "spark_bridge"):
        assert query.run(moored(10), soft_limit=100) == deep
    assert "spark.sql.shuffle.partitions is not set: 4 for 8 buckets on 2 cores" in caplog.text
    assert "its state has grown to" in caplog.text
    assert spark.conf.get(PARTITIONS, None) is None

    states = spark.read.format("statestore").load(query.checkpoint).select("partition_id").collect()
    assert Counter(row.partition_id for row in states) == {0: 2, 1: 2, 2: 2, 3: 2}
    report = state_report(query.checkpoint)
    assert sum(slot.rows for one in report.buckets for slot in one.slots if slot.slot == "ship") == 20
    assert sum(slot.rows for one in report.buckets for slot in one.slots if slot.slot == "berth") == 2 * 8
    assert "heaviest bucket: " in str(report)
    assert report.heaviest_key is not None

    with pytest.raises(SnapshotMismatch, match=r"in 'moored' where= differs: - 10, \+ 5"):
        query.frames(moored(5)).start(results=print, checkpoint=query.checkpoint)
    with pytest.raises(SnapshotMismatch, match="its states are in 8 buckets"):
        query.frames(moored(10), buckets=4).start(results=print, checkpoint=query.checkpoint)
    query.schemas["ship"] = "mmsi long, at timestamp"
    with pytest.raises(InvalidArgument, match="the frame of 'ship' to have the column 'berth', which where= of"):
        query.frames(moored(10))

    query.schemas["ship"] = "mmsi long, berth string, flag string, at timestamp"
    for _ in range(2):  # the second restart says nothing of it
        caplog.clear()
        query.add("ship", mmsi=[100 + query.count], berth=["A"], flag=["NL"])
        assert len(query.run(moored(10))) == 1
    assert "new columns" not in caplog.text

    query.add("berth", id=["C"], depth=[1.0])  # a broadcast row: it calls all buckets
    shallow = [("update", mmsi, 9.0) for mmsi in range(1, 20, 2)]
    assert query.run(migrate(moored(5), moored(10))) == shallow
    query.add("ship", mmsi=[7], berth=["A"])
    assert query.run(moored(5)) == [("update", 7, 15.0)]


class Damaging(BucketStates):
    """Writes bucket 3 with one bit flipped."""

    def seal(self, opened):
        blob = super().seal(opened)
        return blob[:-1] + bytes([blob[-1] ^ 1]) if opened.bucket == 3 else blob


@pytest.mark.slow
def test_a_damaged_state_stops_the_query_with_its_bucket_and_version(query, monkeypatch):
    monkeypatch.setattr("spark_bridge.frames.BucketStates", Damaging)
    query.run(moored(10))
    monkeypatch.undo()
    query.add("berth", id=["C"], depth=[1.0])
    with pytest.raises(StreamingQueryException, match=r"its checksum differs \(it says bucket 3, version 1, "):
        query.run(moored(10))
    with pytest.raises(SnapshotMismatch, match="bucket 3, version 1"):
        state_report(query.checkpoint)


def test_new_columns_are_reported_once(query, caplog):
    query.run(moored(10))
    query.schemas["ship"] = "mmsi long, berth string, flag string, at timestamp"
    query.add("ship", mmsi=[50], berth=["A"], flag=["NL"])
    assert query.run(moored(10)) == [("update", 50, 15.0)]
    assert "new columns of 'ship' are ignored, as the state of the checkpoint has none: 'flag'" in caplog.text


def test_memory_without_a_bound_is_refused_of_streams_alone(query):
    pairs = cartesian(Reactive("ship"), Reactive("berth"))
    with pytest.raises(InvalidArgument, match="it would grow for ever"):
        query.frames(pairs, buckets=1)
    assert query.frames(pairs, buckets=1, unbounded=True).results.isStreaming
