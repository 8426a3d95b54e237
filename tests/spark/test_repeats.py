"""A micro-batch that Spark hands over again, as the sink had its rows but Spark no note of it, is used once.

`tests/faults` kills processes at random points; here a query fails at a chosen one, in a process that goes on and so
has the engines of the micro-batch that failed.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from restrictions import key_by, within
from spark_bridge import correlate_frames
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
    with pytest.raises(
        StreamingQueryException, match="to_parquet: expected a folder for the result rows of this query"
    ):
        frames.start(
            results=to_parquet(f"{tmp_path}/out"), checkpoint=f"{tmp_path}/anew", trigger={"availableNow": True}
        ).awaitTermination()
    assert found() == sorted(expected)


def of_a_query(spark, query="b7e1", share="result"):
    """As Spark tells of a query, and `Frames.start` of a share."""
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", query)
    spark.sparkContext.setLocalProperty("cartesius.share", share)


class Written:
    """A folder, into which a query writes micro-batches of some columns."""

    def __init__(self, spark, place):
        self.spark, self.place = spark, place

    def __call__(self, columns, number=0, **whose):
        of_a_query(self.spark, **whose)
        to_parquet(self.place)(self.spark.range(1).coalesce(1).selectExpr(*columns), number)

    def found(self):
        return {path.name: path.stat().st_mtime_ns for path in self.place.rglob("*.parquet")}


@pytest.fixture
def folder(spark, tmp_path):
    yield Written(spark, tmp_path / "out")
    of_a_query(spark, None, None)


def test_a_folder_of_another_query_or_of_another_sink_is_left_alone(spark, folder):
    """Their numbers begin at 0 as well, and so do those of a checkpoint that is made anew."""
    folder.place.mkdir()
    (folder.place / "_cartesius_query").write_text("")  # as a driver leaves it that dies while it writes
    folder(["1 v"])
    folder(["2 v"])
    there = folder.found()
    for other, said in [({"query": "c4d2"}, "result rows of another one"), ({"share": "dead"}, "result rows of an")]:
        for number in (0, 1):
            with pytest.raises(InvalidArgument, match=rf"expected a folder for the .* but .*out has the {said}.*b7e1"):
                folder(["4 v"], number, **other)
    assert folder.found() == there
    assert [(row.batch, row.v) for row in spark.read.parquet(str(folder.place)).collect()] == [(0, 2)]


def test_a_folder_of_other_fields_is_left_alone(folder):
    """A reader of files of several kinds finds fields of one of them, or cannot read at all."""
    folder(["1L v", "'x' w"])
    folder(["'y' w", "2L v"], 1)  # Spark tells columns by their names
    there = folder.found()
    for fields, said in [
        (["1L v", "'x' w", "2 more"], "'more' was None and is int"),
        (["1L v"], "'w' was string and is None"),
        (["1 v", "'x' w"], "'v' was bigint and is int"),
        (["array(1L) v", "'x' w"], "'v' was bigint and is array<bigint>"),
        (["1L V", "'x' w"], "'v' was bigint and is None, 'V' was None and is bigint"),
    ]:
        for number in (1, 2):
            with pytest.raises(
                InvalidArgument, match=rf"made of other fields \({re.escape(said)}\), and .*; write into an"
            ):
                folder(fields, number)
    assert folder.found() == there


def test_a_micro_batch_that_nobody_knows_is_not_replaced(folder):
    """As an earlier release wrote it, or without threads of Java's."""
    folder(["1 v"], 3, query=None)
    there = folder.found()
    with pytest.raises(InvalidArgument, match="has micro-batch 3 already, and no note of whose it is"):
        folder(["2 v"], 3)
    assert folder.found() == there
    folder(["2 v"], 4)  # as a query goes on that began with an earlier release
    assert folder.found().items() > there.items()


def test_a_note_of_the_query_alone_is_known(spark, folder):
    """As an earlier release wrote it: that query goes on, also with a micro-batch that it had begun, and no other."""
    folder(["1 v"])
    (folder.place / "._cartesius_query.crc").unlink()  # Hadoop's own, of the text before
    (folder.place / "_cartesius_query").write_text("b7e1")
    there = folder.found()
    for number in (0, 7):
        with pytest.raises(InvalidArgument, match=r"has the result rows of another one \(b7e1\)"):
            folder(["4 v"], number, query="c4d2")
    assert folder.found() == there
    folder(["2 v"])
    assert [row.v for row in spark.read.parquet(str(folder.place)).collect()] == [2]
    with pytest.raises(InvalidArgument, match="made of other fields"):
        folder(["'x' v"], 1)


@pytest.fixture
def letters(spark, tmp_path):
    """Frames of a stream of which one row is used, and one is not."""
    (tmp_path / "x").mkdir()
    rows = pa.table({"at": pa.array([START, None], pa.timestamp("us", "UTC")), "n": [1, 2]})
    pq.write_table(rows, tmp_path / "x" / "0.parquet")
    stream = spark.readStream.schema("at timestamp, n bigint").parquet(f"{tmp_path}/x")
    echo = correlate(x=Reactive("x"), yields=lambda x: {"n": x.n}, name="echo")
    return correlate_frames(echo, {"x": stream}, event_time="at", order="arrival", buckets=1, unbounded=True)


def test_one_folder_is_one_however_it_is_written(letters, tmp_path):
    """A name that its file system does not resolve is told by the note."""
    here, options = f"{tmp_path}/out", {"checkpoint": f"{tmp_path}/checkpoint", "trigger": {"availableNow": True}}
    relative = os.path.relpath(here)
    for other in (f"{tmp_path}/./out", f"{tmp_path}//out", f"{tmp_path}/x/../out/", f"file:{here}", f"file://{here}"):
        for share in ("dead", "late"):
            with pytest.raises(InvalidArgument, match=f"sink of its own for results= and for {share}="):
                letters.start(results=to_parquet(here), **{share: to_parquet(other)}, **options)
    with pytest.raises(InvalidArgument, match="sink of its own for dead= and for late="):
        letters.start(results=print, dead=to_parquet(relative), late=to_parquet(f"./{relative}"), **options)
    (tmp_path / "linked").symlink_to(here)
    query = letters.start(results=to_parquet(here), dead=to_parquet(tmp_path / "linked"), **options)
    with pytest.raises(StreamingQueryException, match=r"for the dead rows of this query .* has the result rows of"):
        query.awaitTermination()
    assert pq.read_table(f"{here}/batch=0").to_pylist()[0]["n"] == 1


def test_letters_are_records_told_apart_by_what_they_say(spark):
    """They have no key, and no change; which bucket comes first may differ when a micro-batch comes again."""
    at = "timestamp'2024-06-30 00:00:00Z'"
    rows = [*(f"('ship', 'late', {at}, '{{}}', {bucket})" for bucket in (0, 1, 1)), "('berth', 'late', null, null, 0)"]
    sent = []
    for some in (rows, rows[::-1]):
        batch = spark.sql(f"select * from values {', '.join(some)} as t(source, reason, at, payload, bucket)")
        records = kafka_records(batch.coalesce(1), 3).collect()
        sent.append({(row.key, row.value, row.headers[2].value.decode()) for row in records})
    assert sent[0] == sent[1]
    assert len({(key, name) for key, _, name in sent[0]}) == len(rows)
    assert {key: json.loads(value) for key, value, _ in sorted(sent[0])} == {
        '{"source":"ship"}': {"reason": "late", "at": "2024-06-30T00:00:00.000000Z", "payload": "{}", "bucket": 1},
        '{"source":"berth"}': {"reason": "late", "at": None, "payload": None, "bucket": 0},
    }


def test_changes_of_a_row_whose_key_is_null_are_sent_in_order_and_told_apart(spark):
    """Its key is a key like others; what is of no row of a table has no order, but is told apart as well."""
    changes = [(None, "update", text) for text in "zam"] + [(None, "delete", None), (None, "update", "a")]
    rows = [("ships", *change) for change in changes] + [("pairs", None, "event", "x")] * 2
    batch = spark.createDataFrame(rows, "output string, key bigint, change string, text string").coalesce(1)
    of_a_query(spark)
    try:
        records = kafka_records(batch, 3).collect()
    finally:
        of_a_query(spark, None, None)
    ships = [json.loads(record.value) for record in records if "ships" in record.key]
    assert [(ship["change"], ship["text"]) for ship in ships] == [(change, text) for _, change, text in changes]
    headers = [{name: bytes(value) for name, value in record.headers} for record in records]
    assert {(each["query"], each["batch"]) for each in headers} == {(b"b7e1", b"3")}
    assert len({(record.key, each["id"]) for record, each in zip(records, headers, strict=True)}) == len(rows)
