"""Null keys on Spark (SEMANTICS 1.18): in one bucket as in four, in a batch as in a stream, as in this process.

The key is also the column by which rows are spread. `tests/laws/test_null_keys.py` tries more of them without Spark.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import key_by, most_recently
from restrictions.streams import interval_join
from spark_bridge import correlate_frames
from tests.spark.test_frames import Folder

START = datetime(2024, 6, 30, tzinfo=UTC)
MICROS, MINUTE = int(START.timestamp() * 1_000_000), 60_000_000
CUTS = (0, 20, 42, 43)
order, payment = Reactive("order"), Reactive("payment")
INPUTS = {"order": order, "payment": payment}
latest = correlate(
    order=order,
    payment=payment,
    yields=lambda order, payment: {"id": order.id, "one": order.n, "other": payment.n},
    restrict=key_by(order="id", payment="id") | most_recently("order", "payment"),
    name="latest",
)
paid = correlate(
    pair=interval_join(order, payment, 0, timedelta(minutes=4), key="id", how="left"),
    yields=lambda pair: {"id": pair[0].id, "one": pair[0].n, "other": pair[1].n},
    name="paid",
)
PROGRAM = [latest, paid]


def rows_of(seed):
    """Rows of both sources, one a minute: (source, minute, id). The last lets go what waits for a payment."""
    draw = random.Random(seed)
    rows = [(draw.choice(["order", "payment"]), minute, draw.choice([None, None, 1, 2, 3])) for minute in range(41)]
    return [*rows, ("payment", 60, 9), ("payment", 61, 9)]


def tables_of(rows):
    times = pa.timestamp("us", "UTC")
    return {
        source: pa.table({
            "at": pa.array([START + timedelta(minutes=m) for s, m, _ in rows if s == source], times),
            "id": pa.array([key for s, _, key in rows if s == source], pa.int64()),
            "n": pa.array([m for s, m, _ in rows if s == source], pa.int64()),
        })
        for source in ("order", "payment")
    }  # fmt: skip


def in_process(rows):
    """Return what the engine gives, and of what it sets aside the source and the reason."""
    engine, found = Engine(*PROGRAM), Counter[Any]()
    events = [
        event
        for source, minute, key in rows
        for event in engine.push(INPUTS[source], {"id": key, "n": minute}, at=MICROS + minute * MINUTE)
    ]
    for event in [*events, *engine.close()]:
        found[event.reactive, event.value["id"], event.value["one"], event.value["other"]] += event.weight
    return found, Counter((str(event.reactive), reason) for event, _, reason in engine.late)


def shown(results, dead):
    found = Counter[Any]()
    for row in results:
        found[row.output, row.id, row.one, row.other] += {"event": 1, "retract": -1}[row.change]
    return found, Counter((row.source, row.reason.partition(" (at ")[0]) for row in dead)  # which slot: not asked here


@pytest.mark.parametrize("buckets", [1, 4])
def test_null_keys_are_alike_for_any_number_of_buckets(spark, tmp_path, buckets):
    rows = rows_of(3)
    expected = in_process(rows)
    aside = sum(key is None for _, _, key in rows)
    assert sum(expected[1].values()) > aside > 10  # of `latest` all, and of `paid` the payments
    assert any(output == "paid" and key is None for output, key, *_ in expected[0])
    options: dict[str, Any] = {
        "event_time": "at", "partition_by": {"order": "id", "payment": "id"}, "order": "arrival", "buckets": buckets
    }  # fmt: skip
    whole = {source: spark.createDataFrame(table) for source, table in tables_of(rows).items()}
    frames = correlate_frames(PROGRAM, whole, **options)
    told = frames.all.select("*", "value.*").collect()
    assert {row.kind for row in told} == {"result", "dead"}
    found = shown(*([row for row in told if row.kind == kind] for kind in ("result", "dead")))
    assert found[0] == expected[0]
    assert found[1] == expected[1]
    folder = Folder(tmp_path, spark)
    for since, until in itertools.pairwise(CUTS):
        folder.add(tables_of(rows[since:until]))
    streams = folder.streams("order", "payment")
    found = folder.run(correlate_frames(PROGRAM, streams, watermark="1 minute", unbounded=True, **options))
    assert found["late"] == []
    assert shown(found["results"], found["dead"]) == expected
