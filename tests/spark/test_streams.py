"""Streams as Spark users run them: triggers, watermarks of their own, output modes; and all types, drawn."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import types as t

from cartesius import Engine, Reactive, correlate
from cartesius.testing import streams_equivalent
from restrictions import as_table, without
from restrictions.tables import foreign_join, map_table
from spark_bridge import correlate_frames
from spark_bridge.columns.values import arrow_type, to_arrow
from tests.laws.bridge_programs import as_rows, by_output
from tests.laws.spark_model import planned
from tests.spark.test_frames import MICROS, START, Folder, micros
from tests.unit.spark_bridge.typed_values import typed

SECOND = 1_000_000
ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")
gauge = Reactive("gauge", table=True, key="id")
hail, answer = Reactive("hail"), Reactive("answer")
depth = map_table(berth, lambda berth: {"depth": berth.depth})
moored = foreign_join(ship, foreign_join(berth, gauge, on="gauge"), on="berth")
unanswered = correlate(
    hail=hail,
    answer=answer,
    where=lambda hail, answer: hail.mmsi == answer.mmsi,
    yields=lambda hail: {"mmsi": hail.mmsi},
    restrict=without("answer", after="hail", within=timedelta(seconds=5)),
    name="unanswered",
)
PROGRAM = [moored, unanswered, depth]
LONG, TEXT, DOUBLE = pa.int64(), pa.string(), pa.float64()
COLUMNS = {
    "ship": {"mmsi": LONG, "berth": TEXT},
    "berth": {"id": TEXT, "gauge": TEXT, "depth": DOUBLE},
    "gauge": {"id": TEXT, "level": DOUBLE},
    "hail": {"mmsi": LONG},
    "answer": {"mmsi": LONG},
}
INPUTS = {"ship": ship, "berth": berth, "gauge": gauge, "hail": hail, "answer": answer}
KINDS = {LONG: t.LongType(), TEXT: t.StringType(), DOUBLE: t.DoubleType()}


def make_rows(seed, count):
    """Rows of all sources, one a second: (source, second, columns)."""
    draw = random.Random(seed)
    made = {
        "ship": lambda: {"mmsi": draw.randrange(4), "berth": draw.choice("AB")},
        "berth": lambda: {"id": draw.choice("AB"), "gauge": draw.choice("gh"), "depth": draw.choice([9.5, 10.0])},
        "gauge": lambda: {"id": draw.choice("gh"), "level": draw.choice([0.5, 1.0])},
        "hail": lambda: {"mmsi": draw.randrange(9)},
        "answer": lambda: {"mmsi": draw.randrange(9)},
    }
    sources = [draw.choice(list(COLUMNS)) for _ in range(count)]
    return [(source, second, made[source]()) for second, source in enumerate(sources)]


def tables(rows, sources=COLUMNS):
    found = {}
    for source in sources:
        mine = [(second, row) for name, second, row in rows if name == source]
        at = pa.array([START + timedelta(seconds=second) for second, _ in mine], pa.timestamp("us", "UTC"))
        columns = {name: pa.array([row[name] for _, row in mine], kind) for name, kind in COLUMNS[source].items()}
        found[source] = pa.table({"at": at, **columns})
    return found


def schema_of(columns):
    fields = [t.StructField(name, KINDS[kind]) for name, kind in columns.items()]
    return t.StructType([t.StructField("at", t.TimestampType()), *fields])


def in_process(rows, clock):
    engine, found = Engine(*PROGRAM, lateness=0), []
    for source, second, row in rows:
        found += engine.push(INPUTS[source], row, at=MICROS + second * SECOND)
    return found + engine.advance(clock)


def items_of(rows, layout):
    found: dict[str, list] = {}
    for row in rows:
        whole = row.asDict(recursive=True)
        names = layout.own(row.output).names
        value = None if row.change == "delete" else {name: whole[name] for name in names}
        key = layout.schemas[row.output].key
        shown = row.key if row.key is None or isinstance(key, t.StringType) else int(row.key)
        item = (row.change, repr(shown), micros(row.start), micros(row.end), repr(value))
        found.setdefault(row.output, []).append(item)
    return found


@pytest.mark.slow  # tests/laws try the same without Spark
def test_a_query_that_goes_on_meets_deadlines_in_idle_buckets_and_tells_each_output(spark, tmp_path):
    """The trigger is of processing time; files come while it runs. Sources are spread as the program itself says."""
    rows = make_rows(5, 60)
    folder = Folder(tmp_path, spark)
    options: dict[str, Any] = {"watermark": "2 seconds", "buckets": 4, "unbounded": True}
    schemas = {source: schema_of(columns) for source, columns in COLUMNS.items()}
    layout = planned(PROGRAM, schemas, is_streaming=True, **options).runner.layout
    folder.add(tables(rows[:20]))
    frames = correlate_frames(PROGRAM, folder.streams(*COLUMNS), event_time="at", **options)
    assert frames.partition_by == {"ship": "mmsi", "hail": "mmsi", "answer": "mmsi"}
    found, unused = [], []
    query = frames.start(
        results=lambda batch, _: found.extend(batch.collect()),
        dead=lambda batch, _: unused.extend(batch.collect()),
        checkpoint=str(tmp_path / "checkpoint"),
        trigger={"processingTime": "0 seconds"},
    )
    try:
        query.processAllAvailable()
        folder.add(tables(rows[20:40]))
        query.processAllAvailable()
        assert query.isActive
        folder.add(tables([*rows[40:], ("gauge", 200, {"id": "z", "level": 0.0})]))
        query.processAllAvailable()
    finally:
        query.stop()
    assert unused == []
    expected = by_output(as_rows(in_process(rows, MICROS + 198 * SECOND + 1), layout))
    mine = items_of(found, layout)
    assert mine.keys() == expected.keys() == {depth.name, moored.name, "unanswered"}
    for name, items in expected.items():
        same_key = None if name == "unanswered" else (lambda a, b: a[1] == b[1])
        same = streams_equivalent(items, mine[name], dependent=same_key)
        assert same, (name, same)


seen = correlate(ship=ship, yields=lambda ship: {"berth": ship.berth}, restrict=as_table("ship"), name="seen")


def test_a_watermark_of_the_frame_itself_and_sinks_of_spark_are_what_spark_users_expect(spark, tmp_path):
    folder = Folder(tmp_path, spark)
    for rows in ([("ship", 1, {"mmsi": 1, "berth": "A"})], [("ship", 60, {"mmsi": 2, "berth": "B"})]):
        folder.add(tables(rows, ["ship"]))
    late = [("ship", 5, {"mmsi": 1, "berth": "late"}), ("ship", 99, {"mmsi": 1, "berth": "not yet passed"})]
    folder.add(tables(late, ["ship"]))
    stream = folder.streams("ship")["ship"].withWatermark("at", "10 seconds")
    frames = correlate_frames(seen, {"ship": stream}, event_time="at", buckets=2)
    assert frames.partition_by == {"ship": "mmsi"}
    for mode in ("update", "complete"):
        writer = frames.all.writeStream.format("memory").queryName(f"never_{mode}").outputMode(mode)
        with pytest.raises(AnalysisException):
            writer.option("checkpointLocation", str(tmp_path / mode)).start()
    writer = frames.all.writeStream.format("memory").queryName("appended").outputMode("append")
    writer.option("checkpointLocation", str(tmp_path / "append")).trigger(availableNow=True).start().awaitTermination()
    told = spark.table("appended").collect()
    assert sorted(row.value.berth for row in told if row.kind == "result") == ["A", "B"]
    assert [row.payload for row in told if row.kind == "late"] == ['{"mmsi":1,"berth":"late"}']


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_frames_of_drawn_types_come_out_as_they_went_in(spark, data):
    """Eleven columns at once, in a session of another zone; what Spark itself gives of the frame is what comes out."""
    drawn = [data.draw(typed()) for _ in range(10)]
    columns = [to_arrow([data.draw(st.none() | values) for _ in range(4)], kind, "x") for kind, values in drawn]
    columns.append(
        to_arrow([(), None, (), None], t.ArrayType(t.ArrayType(t.BinaryType())), "x")
    )  # Spark 4.0: no offsets
    names = [f"column {place}" for place in range(11)]
    start = pa.array([datetime(2024, 6, 30, tzinfo=UTC)] * 4, arrow_type(t.TimestampType()))
    given_table = pa.table([start, pa.array(range(4), LONG), *columns], names=["at", "id", *names])
    thing = Reactive("thing", table=True, key="id")
    same = correlate(thing=thing, yields=lambda thing: thing, restrict=as_table("thing"), name="same")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.createDataFrame(given_table).coalesce(1)
        results = correlate_frames(same, {"thing": frame}, event_time="at", buckets=2).results
        assert [results.schema[name].dataType for name in names] == [frame.schema[name].dataType for name in names]
        found = results.toArrow().sort_by("id").select(names)
        assert str(found.to_pylist()) == str(frame.toArrow().sort_by("id").select(names).to_pylist())
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
