"""A micro-batch that Spark hands over again, as the sink had its rows but Spark no note of it, is used once.

`tests/faults` kills processes at random points; here a query fails at a chosen one, in a process that goes on and so
has the engines of the micro-batch that failed.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import key_by, within
from spark_bridge.sinks import kafka_records, to_parquet

START = datetime(2024, 6, 30, tzinfo=UTC)
SLICES = 3
WIDTH = timedelta(seconds=88)
SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("n", pa.int64())])

left, right = Reactive("left"), Reactive("right")
pairs = correlate(
    left=left,
    right=right,
    yields=lambda left, right: {"a": left.n, "b": right.n},
    restrict=key_by(left="k", right="k") | within(WIDTH, "left", "right"),
    name="pairs",
)


def slices(source):
    """Return the rows of each slice: (when, key, number); no two rows of two sources are 88 seconds apart."""
    step, offset = {"left": (14, 0), "right": (21, 1)}[source]
    numbers = range(SLICES * 20)
    return [
        [(START + timedelta(seconds=n * step + offset), n % 3, n) for n in numbers if n * step // 280 == part]
        for part in range(SLICES)
    ]


@pytest.mark.slow
def test_what_comes_again_after_the_sink_had_it_is_there_once(spark, tmp_path):
    from pyspark.errors import StreamingQueryException

    from spark_bridge import correlate_frames

    streams = {}
    for source in ("left", "right"):
        (tmp_path / source).mkdir()
        for number, rows in enumerate(slices(source)):
            columns = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
            path = tmp_path / source / f"{number}.parquet"
            pq.write_table(pa.Table.from_pylist(columns, SCHEMA), path)
            os.utime(path, (1_600_000_000 + number,) * 2)  # a file stream goes by the time of modification
        reader = spark.readStream.schema("at timestamp, k bigint, n bigint").option("maxFilesPerTrigger", 1)
        streams[source] = reader.parquet(str(tmp_path / source))
    frames = correlate_frames(
        pairs, streams, event_time="at", order="arrival", partition_by="k", buckets=3, watermark="10 minutes"
    )
    write, handed_over = to_parquet(f"{tmp_path}/out"), []

    def results(batch, number):
        write(batch, number)
        handed_over.append(number)
        if handed_over == [0, 1]:
            message = "the sink has it, and Spark does not know"
            raise ConnectionError(message)

    def run():
        frames.start(
            results=results, checkpoint=f"{tmp_path}/checkpoint", trigger={"availableNow": True}
        ).awaitTermination()

    with pytest.raises(StreamingQueryException, match="the sink has it"):
        run()
    run()
    assert handed_over[:4] == [0, 1, 1, 2]
    rows = {source: [row for part in slices(source) for row in part] for source in streams}
    expected = [
        (a, b) for t, k, a in rows["left"] for u, other, b in rows["right"] if k == other and abs(t - u) <= WIDTH
    ]
    assert len(expected) > 50

    def found():
        return sorted((row.a, row.b) for row in spark.read.parquet(f"{tmp_path}/out").collect())

    assert found() == sorted(expected)
    with pytest.raises(StreamingQueryException, match="to_parquet: expected a folder of this query"):
        frames.start(
            results=to_parquet(f"{tmp_path}/out"), checkpoint=f"{tmp_path}/anew", trigger={"availableNow": True}
        ).awaitTermination()
    assert found() == sorted(expected)


def test_a_folder_of_another_query_is_left_alone(spark, tmp_path):
    """Its numbers begin at 0 as well, and so do those of a checkpoint that is made anew."""

    def write(query, value, number=0):
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", query)  # as Spark does for a query
        try:
            to_parquet(tmp_path / "out")(spark.createDataFrame([(value,)], "value bigint").coalesce(1), number)
        finally:
            spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)

    write("b7e1", 1)
    (tmp_path / "out" / "_cartesius_query").write_text("")  # as a driver leaves it that dies while it writes
    (tmp_path / "out" / "._cartesius_query.crc").unlink()
    write("b7e1", 2)
    for number in (0, 1):
        with pytest.raises(
            InvalidArgument, match=r"of this query \(c4d2\) but .*out has the .* of another one \(b7e1\)"
        ):
            write("c4d2", 4, number)
    rows = spark.read.parquet(f"{tmp_path}/out").collect()
    assert [(row.batch, row.value) for row in rows] == [(0, 2)]


def test_changes_of_a_row_whose_key_is_null_are_sent_in_order_and_told_apart(spark):
    """Its key is a key like others; what is of no row of a table has no order, but is told apart as well."""
    changes = [(None, "update", text) for text in "zam"] + [(None, "delete", None), (None, "update", "a")]
    rows = [("ships", *change) for change in changes] + [("pairs", None, "event", "x")] * 2
    batch = spark.createDataFrame(rows, "output string, key bigint, change string, text string").coalesce(1)
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "b7e1")  # as Spark does for a query
    try:
        records = kafka_records(batch, 3).collect()
    finally:
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", None)
    ships = [json.loads(record.value) for record in records if "ships" in record.key]
    assert [(ship["change"], ship["text"]) for ship in ships] == [(change, text) for _, change, text in changes]
    headers = [{name: bytes(value) for name, value in record.headers} for record in records]
    assert {(each["query"], each["batch"]) for each in headers} == {(b"b7e1", b"3")}
    assert len({(record.key, each["id"]) for record, each in zip(records, headers, strict=True)}) == len(rows)
