"""The feeds of the office: whoever judges, and however it is killed, the store has what the replay writes."""

from __future__ import annotations

import asyncio
import json
from threading import Event
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from cartesius import Delete
from cartesius import Event as Item
from dsl import RulePack, Source, between, require
from dsl.units import degrees, metres
from examples.port.inputs import read_day
from examples.port.office.kafka_feed import KafkaFeed, follow
from examples.port.office.records import change_of
from examples.port.office.replay import ONE_DAY, Replay
from examples.port.office.spark_feed import SparkFeed
from examples.port.office.store import Store
from examples.port.programs import rule_pack
from tests.unit.examples.conftest import DATA


@pytest.fixture(scope="module")
def day_and_rules():
    day = read_day(DATA)
    some = {220413000, 338531000, 219947000, 636016796, 211839000}
    day = attrs.evolve(day, readings=tuple(each for each in day.readings if each.values.get("mmsi") in {None, *some}))
    return day, rule_pack("port", day.berths, day.gauges, day.stations)


def replayed(day, rules):
    store = Store(":memory:")
    Replay(day, rules, store, begin=day.start + ONE_DAY - 1, speed=1.0, clock=lambda: 0.0).step()
    return store


def told(store):
    """What a store says, as far as it does not depend on how the feed cuts or orders what comes at one time."""
    changes = [attrs.evolve(each, id=0) for each in store.changes_after(0, 10**6)]
    readings = [each for _, each in store.readings_after(0, 10**6)]
    return sorted(changes, key=lambda each: (each.time, each.mmsi)), sorted(
        readings, key=lambda each: (each.time, each.source, each.key, json.dumps(each.row))
    )


# -------------------------------------------------------------------------------------------------------------- Kafka


class Topic:
    """The records of a topic, some of them, in this process: an iterator that ends."""

    def __init__(self, readings: list[Any]) -> None:
        self.readings = readings

    async def __aiter__(self):
        for each in self.readings:
            row = {name: value for name, value in json.loads(json.dumps(each.values)).items() if value is not None}
            yield Item(row, each.time, each.time)
            await asyncio.sleep(0)


def topics(day, sources, until=ONE_DAY):
    last = {"id": "x", "sensor": "x", "station": "x", "mmsi": 0}
    return {
        source: Topic(
            [each for each in day.readings if each.source == source and each.time < day.start + until]
            + [attrs.evolve(day.readings[0], source=source, time=day.start + until + 1, values=last)]
        )
        for source in sources
    }


def test_topics_give_what_the_replay_gives_and_a_feed_that_begins_anew_goes_on(day_and_rules):
    day, rules = day_and_rules
    store = Store(":memory:")
    first = KafkaFeed(store, day, rules)
    asyncio.run(follow(first, topics(day, first.sources, until=ONE_DAY // 3), Event()))
    part = told(store)
    assert len(part[0]) > 0
    second = KafkaFeed(store, day, rules)  # another process, which reads the topics from their beginning
    asyncio.run(follow(second, topics(day, second.sources, until=ONE_DAY // 3), Event()))
    assert told(store) == part
    third = KafkaFeed(store, day, rules)
    asyncio.run(follow(third, topics(day, third.sources), Event()))
    assert told(store) == told(replayed(day, rules))
    assert [each.until for each in store.progress()] == [day.start + ONE_DAY]


def test_a_topic_that_is_slow_keeps_the_others_waiting(day_and_rules):
    day, rules = day_and_rules
    store = Store(":memory:")
    feed = KafkaFeed(store, day, rules)
    quick = [source for source in feed.sources if source != "vessel"]
    for source in quick:
        for each in day.readings:
            if each.source == source:
                feed.take(source, each.time, each.values)
    feed.step()
    assert store.newest_ids() == (0, 0)


VESSEL = {"mmsi": 7, "draught": 9.0, "length": 0.0, "position": [91.0, 181.0], "destination": "elsewhere"}


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (["7"], "record: expected an object but got ['7']"),
        ({"draught": 9.0}, "mmsi: expected a key but got nothing"),
        ({**VESSEL, "mmsi": "7"}, "mmsi: expected a whole number but got 7"),
        ({**VESSEL, "mmsi": [7]}, "mmsi: expected a whole number but got [7]"),
        ({**VESSEL, "length": "long\x1b"}, "length: expected a number but got long\\x1b"),
        ({**VESSEL, "draught": True}, "draught: expected a number but got True"),
        ({**VESSEL, "draught": float("nan")}, "draught: expected a number but got nan"),
        ({**VESSEL, "position": [91.0]}, "position: expected two numbers but got [91.0]"),
        ({**VESSEL, "name": 7}, "name: expected a text but got 7"),
    ],
)
def test_a_record_that_does_not_fit_is_told_and_those_after_it_are_used(day_and_rules, capsys, record, why):
    """It ended the feed, at each start again."""
    day, rules = day_and_rules
    feed = KafkaFeed(Store(":memory:"), day, rules)
    feed.take("vessel", day.start, record)
    feed.take("vessel", day.start + 1, VESSEL)
    assert capsys.readouterr().err == f"board: a record of vessel at 2020-06-30 00:00:00 UTC: {why}\n"
    (reading,) = feed._waiting["vessel"]
    missing = ("length", "position", "speed")  # AIS's codes for "not available", too
    assert (reading.values["draught"], [reading.values[name] for name in missing]) == (9.0, [None] * 3)


# ------------------------------------------------------------------------------------------------ what fails, in words

ship = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, beam=metres, course=degrees, kind=str)
quay = Source("berth", key=None, depth=metres)


@pytest.mark.parametrize(
    ("condition", "value", "limit"),
    [
        (quay.depth >= ship.draught * 1.1, "15.24 m", "16.94 m"),
        (ship.draught * 1.1 <= quay.depth, "16.94 m", "15.24 m"),
        (100 * metres >= ship.length, "400 m", "100 m"),
        (ship.length * ship.beam <= 22000 * metres * metres, "22052 m²", "22000 m²"),
        (ship.length <= 399.99 * metres, "400 m", "399.99 m"),
        (between(ship.course, 60 * degrees, 120 * degrees), "20°", "60° to 120°"),
        (ship.kind == "tanker", "tug", "tanker"),
        ((ship.kind == "tanker") | (ship.kind == "cargo"), "tug", ""),
        ((ship.length <= 100 * metres) & (ship.draught <= 15 * metres), "length 400 m, draught 15.4 m", ""),
    ],
)
def test_value_and_limit_are_what_the_condition_compares(condition, value, limit):
    """They were the last two that a reason shows: of a span its ends, of other conditions two of their constants."""
    pack = RulePack("port", subject=ship)
    with pack:
        require(condition, "rule")
    row = {"mmsi": 7, "draught": 15.4, "length": 400.0, "beam": 55.13, "course": 20.0, "kind": "tug"}
    verdict = pack.check({"vessel": row, **({"berth": {"depth": 15.24}} if "berth" in pack.sources else {})})
    (failed,) = change_of(0, "EVA", verdict, {}).failed
    assert (failed.value, failed.limit) == (value, limit)


# -------------------------------------------------------------------------------------------------------------- Spark


def row(time, mmsi, status, pack, *because):
    return {"time": time, "change": "update", "key": mmsi, "status": status, "because": because, "pack": pack}


REASON = {
    "name": "clearance", "text": "clearance >= 50 cm", "because": "she must stay afloat", "missing": [],
    "values": [
        {"_1": "tide.height", "_2": "0.4", "_3": "m"}, {"_1": "clearance", "_2": "43.000000001", "_3": "cm"},
        {"_1": "50 cm", "_2": "50", "_3": "cm"},
    ],
    "margin": {"_1": -7.0, "_2": "cm"},
}  # fmt: skip


def test_a_micro_batch_that_comes_again_changes_nothing(day_and_rules):
    day, rules = day_and_rules
    store = Store(":memory:")
    batch = [row(day.start + 60_000_000, 220413000, "restricted", rules.version, REASON)]
    SparkFeed(store, day, rules, 60).write(batch, 0)
    before = told(store)
    SparkFeed(store, day, rules, 60).write(batch, 0)  # the driver died before Spark had noted that it was done
    assert told(store) == before
    ((change,), readings) = before
    (failed,) = change.failed
    assert (change.name, change.pack) == ("GUNVOR MAERSK", rules.version)
    assert attrs.astuple(failed) == ("clearance", "she must stay afloat", "43 cm", "50 cm", "-7 cm")
    assert {each.time // 3_600_000_000 for each in readings} == {day.start // 3_600_000_000}


def test_readings_of_micro_batches_that_change_nothing_are_written_with_the_next(day_and_rules):
    day, rules = day_and_rules
    store = Store(":memory:")
    feed = SparkFeed(store, day, rules, 60)
    feed.write([], 0)
    feed.write([], 2)
    feed.finish()
    assert told(store) == ([], told(replayed(day, rules))[1])


@pytest.mark.slow
@pytest.mark.spark
def test_a_query_that_dies_behind_the_store_and_runs_again_leaves_what_the_replay_leaves(spark, day_and_rules):
    from examples.port.on_spark import run_on_spark

    day, rules = day_and_rules
    store = Store(":memory:")

    class Dying(SparkFeed):
        def write(self, rows, number):
            super().write(rows, number)
            if number == 1:
                raise RuntimeError("the driver is gone")

    with pytest.raises(Exception, match="the driver is gone"):
        run_on_spark(spark, day, rules, slice_minutes=480, buckets=2, office=Dying(store, day, rules, 480))
    assert [each.number for each in store.progress()] == [1]
    run_on_spark(spark, day, rules, slice_minutes=480, buckets=2, office=SparkFeed(store, day, rules, 480))
    # A row of the very instant of a change counts as read here, also if its place is behind that of the cause.
    (there, seen), (here, readings) = told(store), told(replayed(day, rules))
    assert [attrs.evolve(each, read={}) for each in there] == [attrs.evolve(each, read={}) for each in here]
    assert seen == readings
    for first, second in zip(there, here, strict=True):
        assert first.read.keys() == second.read.keys()
        assert all(first.read[each] == second.read[each] or first.read[each][1] == first.time for each in first.read)


def test_a_deletion_before_any_row_of_a_topic_deletes_nothing():
    taken = []
    feed = SimpleNamespace(sources=["vessel"], take=lambda *record: taken.append(record), step=lambda: None)

    async def topic():
        yield Delete(7)
        yield Item({"mmsi": 7}, 5, 5)

    asyncio.run(follow(feed, {"vessel": topic()}, Event()))  # type: ignore[arg-type]  # what is asked of one
    assert taken == [("vessel", 5, {"mmsi": 7})]
