"""Letters on Spark: a row or a derived event that is not used is told once, whatever it is, in however many buckets.

`tests/laws/test_bridge.py` compares letters with what an engine in this process sets aside, without Spark.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

from cartesius import Engine, Reactive, correlate
from restrictions import key_by, most_recently, within, without
from spark_bridge import correlate_frames
from tests.spark.test_frames import Folder

START = datetime(2024, 6, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")


def at(minute):
    return START + timedelta(minutes=minute)


call, answer, engineer = Reactive("call"), Reactive("answer"), Reactive("engineer")
unanswered = correlate(
    call=call,
    answer=answer,
    where=lambda call, answer: call.id == answer.id,
    yields=lambda call: {"site": call.site, "id": call.id},
    restrict=without("answer", after="call", within=timedelta(minutes=5)),
    name="unanswered",
)
sent = correlate(
    unanswered=unanswered,
    engineer=engineer,
    yields=lambda unanswered, engineer: {"id": unanswered.id, "engineer": engineer.n},
    restrict=key_by(unanswered="site", engineer="site") | within(timedelta(minutes=60), "unanswered", "engineer"),
    name="sent",
)
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "call": [(at(1), 1, None), (at(2), 2, "a"), (at(3), 3, None), (at(4), 4, "b")],
    "answer": [(at(3), 4), (at(90), 9)],
    "engineer": [(at(n), "abcd"[n % 4], n) for n in range(30)],
}
COLUMNS = {
    "call": {"id": pa.int64(), "site": pa.string()},
    "answer": {"id": pa.int64()},
    "engineer": {"site": pa.string(), "n": pa.int64()},
}
TABLES = {
    source: pa.Table.from_arrays(
        [
            pa.array(column, kind)
            for column, kind in zip(zip(*rows, strict=True), [MOMENT, *COLUMNS[source].values()], strict=True)
        ],
        names=["at", *COLUMNS[source]],
    )
    for source, rows in ROWS.items()
}


def micros(moment):
    return (moment.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def set_aside():
    """What the engine sets aside: of which reactive, which call, and when."""
    engine = Engine(sent, lateness=0)
    rows = [(moment, place, source, rest) for place, source in enumerate(ROWS) for moment, *rest in ROWS[source]]
    for moment, _, source, rest in sorted(rows, key=lambda row: row[:2]):
        engine.push(engine.inputs[source], dict(zip(COLUMNS[source], rest, strict=True)), at=micros(moment))
    engine.close()
    return sorted((event.reactive, event.value["id"], event.end) for event, _, _ in engine.late)


@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_a_derived_event_that_is_set_aside_is_told_once(spark, tmp_path, buckets):
    """The calls are in every bucket, and each finds out whether one was answered; the engineers are spread."""
    expected = set_aside()
    assert [(reactive, number) for reactive, number, _ in expected] == [("unanswered", 1), ("unanswered", 3)]
    options: dict[str, Any] = {"event_time": "at", "partition_by": {"engineer": "site"}, "buckets": buckets}
    batch = correlate_frames(sent, {name: spark.createDataFrame(table) for name, table in TABLES.items()}, **options)
    folder = Folder(tmp_path, spark)
    folder.add(TABLES)
    stream = folder.run(correlate_frames(sent, folder.streams(*TABLES), watermark="1 second", **options))
    told = batch.all.collect()  # at once: each of the three frames is a job of its own
    for letters in ([row for row in told if row.kind == "dead"], stream["dead"]):
        assert sorted((row.source, json.loads(row.payload)["id"], micros(row.at)) for row in letters) == expected
        assert {row.reason.partition(",")[0] for row in letters} == {"its key is null"}
    assert {row.kind for row in told} == {"result", "dead"}
    assert sum(row.kind == "result" for row in told) == len(stream["results"]) > 0
    assert not stream["late"]


@pytest.fixture
def odd(spark):
    """Texts as Spark reads them from a file in another encoding: it checks none of the bytes."""
    return spark.sql("""
        select timestamp'2024-06-30 00:00:00Z' at, 1L n, 'ok' s, array('a') l
        union all select timestamp'2024-06-30 00:01:00Z', 2L, cast(X'61ff62' as string), array('b')
        union all select timestamp'2024-06-30 00:02:00Z', 3L, 'c', array('d', cast(X'fe' as string))
        union all select timestamp'2024-06-30 00:03:00Z', 4L, null, null
    """)


ODD = {
    ("x", 'its payload cannot be read: s is no UTF-8', '{"n":2,"s":"a\N{REPLACEMENT CHARACTER}b","l":["b"]}'),
    ("x", 'its payload cannot be read: l is no UTF-8', '{"n":3,"s":"c","l":["d","\N{REPLACEMENT CHARACTER}"]}'),
}  # fmt: skip


@pytest.mark.parametrize("spread", ["*", "s"])
def test_a_text_that_is_no_utf_8_is_a_dead_letter(odd, spread):
    echo = correlate(x=Reactive("x"), yields=lambda x: {"n": x.n, "s": x.s, "l": x.l}, name="echo")
    frames = correlate_frames(echo, {"x": odd}, event_time="at", partition_by={"x": spread}, buckets=3)
    assert sorted(row.n for row in frames.results.collect()) == [1, 4]
    dead = frames.dead.collect()
    assert {(row.source, row.reason, row.payload) for row in dead} == ODD
    assert len(dead) == len(ODD)


def test_a_dead_row_of_a_static_frame_is_told_once(spark, odd, tmp_path):
    static = odd.drop("at").union(spark.sql("select null, 'no key', array('e')"))
    x, y = Reactive("x", table=True, key="n"), Reactive("y")
    joined = correlate(
        x=x,
        y=y,
        where=lambda x, y: x.n == y.n,
        yields=lambda x, y: {"n": y.n},
        restrict=key_by(x="n", y="n") | most_recently("y"),
    )
    folder = Folder(tmp_path, spark)
    folder.add({"y": pa.table({"at": pa.array([START], MOMENT), "n": [4]})})
    frames = correlate_frames(
        joined, {"x": static, **folder.streams("y")}, event_time="at", partition_by={"y": "n"}, buckets=5,
        order="arrival", unbounded=True,
    )  # fmt: skip
    found = folder.run(frames)
    assert [row.n for row in found["results"]] == [4]
    no_key = ("x", "its key 'n' is null", '{"s":"no key","l":["e"]}')
    assert sorted((row.source, row.reason, row.payload) for row in found["dead"]) == sorted([*ODD, no_key])


def test_a_source_of_many_columns_is_spread_by_all_of_them_in_time(spark):
    """Spark makes 2**n conditions of what depends on n columns that are then renamed; with 17 it ran out of memory."""
    wide = spark.range(8).select(f.lit(START).alias("at"), *((f.col("id") + n).alias(f"c{n}") for n in range(60)))
    echo = correlate(x=Reactive("x"), yields=lambda x: {"n": x.c0}, name="echo")
    frames = correlate_frames(echo, {"x": wide}, event_time="at", buckets=4)
    assert frames.partition_by == {"x": "*"}
    assert sorted(row.n for row in frames.results.collect()) == list(range(8))
