"""On Spark itself: what the whole row splits, joins of either side, and a pack whose subjects the clock changes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from cartesius import Engine, Reactive, Update, correlate
from dsl import RulePack, Source, instant, now, require
from dsl.units import hours, knots, minutes
from restrictions import key_by, session, versioned
from restrictions.streams import filter_, map_, merge
from restrictions.tables import outer_join
from spark_bridge import correlate_frames
from tests.spark.test_frames import Folder, micros

START = datetime(2024, 6, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MINUTE_MICROS = 60_000_000


def table(times, **columns):
    at = pa.array([START + minute * MINUTE for minute in times], pa.timestamp("us", "UTC"))
    return pa.table({"at": at, **columns})


def test_rows_that_none_meets_go_anywhere_whatever_types_they_have(spark):
    report, alarm = Reactive("report"), Reactive("alarm")
    odd = filter_(merge(report, alarm), lambda row: row.n % 2 == 1)
    program = map_(odd, lambda row: {"n": row.n, "more": row.more})
    amount = 60
    rows = table(
        range(amount),
        n=pa.array(range(amount), pa.int64()),
        tags=pa.array([[("a", number)] for number in range(amount)], pa.map_(pa.string(), pa.int64())),
        more=pa.array([[float(number), None] for number in range(amount)], pa.list_(pa.float64())),
    )
    frames = {name: spark.createDataFrame(rows) for name in ("report", "alarm")}
    schema = "n long, more array<double>"
    found = correlate_frames(program, frames, event_time="at", buckets=3, schema=schema)
    assert found.partition_by == {"report": "*", "alarm": "*"}
    everything = found.all.select("kind", "bucket", "value.*").collect()
    assert {row.bucket for row in everything} == {0, 1, 2}
    expected = sorted([(number, [float(number), None]) for number in range(1, amount, 2)] * 2)
    assert sorted((row.n, row.more) for row in everything) == expected


def test_a_join_in_which_a_row_of_either_side_is_enough_is_split_by_the_key_of_both(spark):
    left, right = (Reactive(name, table=True, key="id", fields=("id", "n")) for name in ("left", "right"))
    ids = {"left": [1, 2, 3, 4, 5], "right": [4, 5, 6, 7]}
    kinds = {"left": pa.int64(), "right": pa.int32()}
    frames = {
        name: spark.createDataFrame(table(range(len(own)), id=pa.array(own, kinds[name]), n=pa.array(own, pa.int64())))
        for name, own in ids.items()
    }
    found = correlate_frames(outer_join(left, right), frames, event_time="at", buckets=3)
    assert found.partition_by == {"left": "id", "right": "id"}
    rows = {row.key: (row._1, row._2) for row in found.results.orderBy("end").collect()}
    assert {key: [side is not None for side in sides] for key, sides in rows.items()} == {
        key: [key in ids["left"], key in ids["right"]] for key in range(1, 8)
    }


ship = Source("ship", key="mmsi", mmsi=int, eta=instant)
wind = Source("wind", key=None, speed=knots, stale_after=10 * minutes)
PORT = RulePack("port", subject=ship, only=ship.mmsi > 0)
with PORT:
    require(ship.eta - now <= 1 * hours, name="soon")
    require(wind.speed <= 30 * knots, name="wind")


@pytest.mark.slow  # the law of tests/laws/test_bridge_packs.py, on Spark itself
def test_a_pack_goes_by_the_clock_in_buckets_that_no_row_comes_to(spark, tmp_path):
    """Ship 1 is early until 00:30; a wind is too old after ten minutes."""
    eta = pa.array([START + 90 * MINUTE, START + 20 * MINUTE, START], pa.timestamp("us", "UTC"))
    ships = table([0, 0, 0], mmsi=pa.array([1, 2, -3], pa.int64()), eta=eta)
    winds = [table([minute], speed=pa.array([20.0])) for minute in (1, 25, 300)]
    folder = Folder(tmp_path, spark)
    folder.add({"ship": ships, "wind": winds[0]})
    for one in winds[1:]:
        folder.add({"wind": one})
    frames = correlate_frames(
        PORT.table(), folder.streams("ship", "wind"), event_time="at", buckets=4, watermark="1 minute"
    )
    assert frames.partition_by == {"ship": "mmsi"}
    done = folder.run(frames)
    assert done["dead"] == done["late"] == []
    found = [(row.key, row.status, micros(row.end)) for row in done["results"]]
    engine = Engine(PORT.table(), lateness=0)
    expected = []
    for row in ships.to_pylist():
        at = micros(row.pop("at"))
        expected += engine.push(PORT.sources["ship"], Update(row["mmsi"], row), at=at)
    for one in winds[:-1]:
        [row] = one.to_pylist()
        expected += engine.push(PORT.sources["wind"], {"speed": row["speed"]}, at=micros(row["at"]))
    expected += engine.advance(micros(START + 299 * MINUTE))
    told = [(event.value.key, event.value.value.status, event.end) for event in expected]
    assert sorted(found) == sorted(told)
    first = [(status, end // MINUTE_MICROS) for key, status, end in told if key == 1]
    of_start = micros(START) // MINUTE_MICROS
    assert [(status, minute - of_start) for status, minute in first] == [
        ("restricted", 0),
        ("restricted", 1),
        ("restricted", 11),
        ("restricted", 25),
        ("allowed", 30),
        ("unknown", 35),
    ]


def test_sessions_and_versions_of_a_key_are_split_by_it(spark):
    click, price = Reactive("click"), Reactive("price")
    visit = correlate(
        click=click,
        yields=lambda click, window: {"id": click.id, "n": click.n, "first": window.start},
        restrict=key_by(click="id") | session(5 * MINUTE),
        name="visit",
    )
    offered = correlate(
        click=click,
        price=price,
        yields=lambda click, price: {"id": click.id, "n": click.n, "first": price.n},
        restrict=key_by(click="id", price="id") | versioned("price", retention=timedelta(hours=1)),
        name="offered",
    )
    minutes, names = range(0, 90, 1), {"click": click, "price": price}
    given = {"click": [(m, m * 7 % 11) for m in minutes if m % 5], "price": [(m, m % 11) for m in minutes if not m % 3]}
    frames = {
        name: spark.createDataFrame(
            table(
                [minute for minute, _ in rows],
                id=pa.array([key for _, key in rows], pa.int64()),
                n=pa.array([minute for minute, _ in rows], pa.int64()),
            )
        )
        for name, rows in given.items()
    }
    schema = "id long, n long, first long"
    found = correlate_frames([visit, offered], frames, event_time="at", buckets=4, schema=schema)
    assert found.partition_by == {"click": "id", "price": "id"}
    engine = Engine(visit, offered)
    arriving = sorted((minute, name, key) for name, rows in given.items() for minute, key in rows)
    events = [
        event
        for minute, name, key in arriving
        for event in engine.push(names[name], {"id": key, "n": minute}, at=micros(START + minute * MINUTE))
    ]
    expected = Counter((event.reactive, *event.value.values()) for event in [*events, *engine.close()] if event.weight)
    rows = found.results.where("change = 'event'").collect()
    assert Counter((row.output, row.id, row.n, row.first) for row in rows) == expected
    assert {name for name, *_ in expected} == {"visit", "offered"}
