"""Rows of one event time on Spark: what follows what does not depend on the micro-batches that brought them (3.11)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cartesius import Engine, Reactive, correlate
from restrictions import in_sequence, key_by, within
from spark_bridge import correlate_frames

START = datetime(2024, 6, 30, tzinfo=UTC)
order, payment = Reactive("order"), Reactive("payment")
second = timedelta(seconds=1)
paid = correlate(
    order=order,
    payment=payment,
    yields=lambda order, payment: {"order": order.n, "payment": payment.n},
    restrict=key_by(order="k", payment="k") | in_sequence("order", "payment") | within(second, "order", "payment"),
    name="paid",
)
ROWS = [("order", 0, 1), ("payment", 1, 1), ("payment", 2, 1), ("order", 3, 1), ("order", 4, 2), ("payment", 5, 2)]
"""Source, number and key: all of one time; the last row of all moves the watermark."""
CUTS = {"one": [ROWS, []], "two": [ROWS[:2], ROWS[2:]], "turned": [ROWS[::-1][:3], ROWS[::-1][3:]]}
"""How they may come, in two micro-batches. All run in one query, each with keys and numbers of its own."""
APART = 10
LAST = 99


def expected():
    """In a process, with the rows of a frame before those of the next: so Spark uses those of one time."""
    engine = Engine(paid)
    events = [
        event
        for source in (order, payment)
        for name, number, key in ROWS
        if name == source.name
        for event in engine.push(source, {"n": number, "k": key}, at=0)
    ]
    return sorted((event.value["order"], event.value["payment"]) for event in events)


def test_rows_of_one_time_follow_each_other_by_frame_whichever_micro_batch_brings_them(spark, tmp_path):
    for source in ("order", "payment"):
        (tmp_path / source).mkdir()
    found: list[Any] = []

    def run():
        streams = {
            name: spark.readStream.schema("n long, k long, at timestamp").parquet(str(tmp_path / name))
            for name in ("order", "payment")
        }
        frames = correlate_frames(paid, streams, event_time="at", buckets=2, watermark="1 minute")
        started = frames.start(
            results=lambda batch, _: found.extend(batch.collect()),
            checkpoint=f"{tmp_path}/checkpoint",
            trigger={"availableNow": True},
        )
        started.awaitTermination()

    def add(number, rows, at):
        for source in ("order", "payment"):
            mine = [(n, k) for name, n, k in rows if name == source]
            times = pa.array([at] * len(mine), pa.timestamp("us", "UTC"))
            columns = {"n": pa.array([n for n, _ in mine], pa.int64()), "k": pa.array([k for _, k in mine], pa.int64())}
            pq.write_table(pa.table({**columns, "at": times}), tmp_path / source / f"{number}.parquet")

    for number in range(2):
        rows = [
            (name, APART * way + n, APART * way + key)
            for way, cuts in enumerate(CUTS.values())
            for name, n, key in cuts[number]
        ]
        add(number, rows, START)
        run()
    add(2, [("order", LAST, LAST), ("payment", LAST, LAST)], START + timedelta(hours=1))
    run()
    pairs = sorted((row.order, row.payment) for row in found if row.order != LAST)
    of_each = {
        name: [(one % APART, other % APART) for one, other in pairs if one // APART == other // APART == way]
        for way, name in enumerate(CUTS)
    }
    assert of_each == dict.fromkeys(CUTS, expected())
    assert len(pairs) == len(CUTS) * len(expected())
    assert expected() == [(0, 1), (3, 1), (4, 5)]
