"""The office fed from a real broker: what topics of readings say is judged once, also by a feed that begins anew."""

from __future__ import annotations

import json
import time
from threading import Event

import pytest

from dsl import RulePack
from examples.port.office.kafka_feed import start_kafka
from examples.port.office.replay import ONE_DAY
from examples.port.office.store import Store
from examples.port.slices import TIME
from tests.brokers.servers import kafka_broker
from tests.unit.examples.test_office_feeds import day_and_rules, replayed, told
from tests.unit.examples.test_office_rules import BAD, GOOD, judged

__all__ = ["day_and_rules"]  # a fixture

pytestmark = pytest.mark.slow
PATIENCE = 120  # seconds


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with kafka_broker(tmp_path_factory.mktemp("kafka"), "num.partitions=1") as servers:
        yield servers


def publish(servers, run, day, sources, first, last):
    """Send the readings of a part of the day, as `on_kafka.publish` does: what is null is left out."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for source in sources:
        rows = [each for each in day.readings if each.source == source and first <= each.time - day.start < last]
        for each in rows:
            row = {name: value for name, value in each.values.items() if value is not None}
            producer.produce(f"{run}.{source}", json.dumps({**row, TIME: each.time}))
        producer.produce(f"{run}.{source}", json.dumps({TIME: day.start + last + 1}))  # nothing earlier comes any more
    assert producer.flush(30) == 0


def follow_until(servers, run, store, day, rules, time_of_day, *, topic=None, packs=1):
    stop = Event()
    feeding = start_kafka(servers, run, store, day, rules, stop, rules=topic)
    end = time.monotonic() + PATIENCE
    while not any(each.until >= day.start + time_of_day for each in store.progress()) or len(store.packs()) < packs:
        assert time.monotonic() < end, store.progress()
        store.wait(1.0)
    stop.set()
    feeding.result()


def test_topics_of_a_broker_give_what_the_replay_gives_and_a_feed_that_begins_anew_goes_on(
    servers,
    day_and_rules,
    tmp_path,
):
    day, rules = day_and_rules
    store = Store(str(tmp_path / "office.db"))
    publish(servers, "port", day, rules.sources, 0, ONE_DAY // 4)
    follow_until(servers, "port", store, day, rules, ONE_DAY // 4)
    part = told(store)
    assert len(part[0]) > 0
    publish(servers, "port", day, rules.sources, ONE_DAY // 4, ONE_DAY)
    follow_until(servers, "port", store, day, rules, ONE_DAY)
    assert told(store) == told(replayed(day, rules))
    store.close()


def test_records_of_a_topic_of_rules_change_them_once_and_say_who(servers, day_and_rules, tmp_path):
    from confluent_kafka import Producer

    day, rules = day_and_rules
    store = Store(str(tmp_path / "office.db"))
    publish(servers, "ruled", day, rules.sources, 0, ONE_DAY // 4)
    stricter = GOOD[1]
    producer = Producer({"bootstrap.servers": servers})
    for who, text in [("mallory", BAD[2]), ("eva", stricter)]:
        producer.produce("rules", json.dumps({"who": who, "text": text}))
    assert producer.flush(30) == 0
    follow_until(servers, "ruled", store, day, rules, ONE_DAY // 4, topic="rules", packs=2)
    publish(servers, "ruled", day, rules.sources, ONE_DAY // 4, ONE_DAY)
    follow_until(servers, "ruled", store, day, rules, ONE_DAY, topic="rules", packs=2)  # another process
    assert [each.who for each in store.packs()] == ["kafka", "eva"]
    assert judged(store, day.start + ONE_DAY) == judged(
        replayed(day, RulePack.from_text(stricter)), day.start + ONE_DAY
    )
    store.close()
