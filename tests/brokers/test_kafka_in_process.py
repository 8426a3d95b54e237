"""Kafka in process, a real broker: what is killed between any two steps goes on, and a reader has each result once."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta

import pytest

from cartesius import CartesiusError, Delete, Event, Reactive, correlate
from cartesius.connectors import JsonLinesSink, kafka, run_stream
from restrictions import key_by, within
from restrictions.streams import map_
from tests.brokers.servers import kafka_broker
from tests.unit.cartesius.connectors.test_stream_runs import Killed, dying

pytestmark = pytest.mark.slow

order, payment = Reactive("order"), Reactive("payment")
paid = correlate(
    order=order,
    payment=payment,
    yields=lambda order, payment: (order.id, payment.amount),
    restrict=key_by(order="id", payment="order") | within(30, "order", "payment"),
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    with kafka_broker(tmp_path_factory.mktemp("kafka"), "num.partitions=2") as servers:
        yield servers


def topic(servers, name):
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
    return name


def send(servers, name, rows, *, partition=0):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers})
    for row in rows:
        key, value = row if isinstance(row, tuple) else (None, json.dumps(row))
        producer.produce(name, value, key, partition)
    assert producer.flush(30) == 0


def results(servers, name):
    """What a reader of committed records has, by partition and offset."""
    source = kafka.KafkaSource(servers, name, follow=False)

    async def values():
        return [tuple(item.value["value"]) async for item in source]

    return asyncio.run(values())


def start(servers, names, folder, sink):
    sources = {
        slot: kafka.KafkaSource(servers, name, at="time", follow=False)
        for slot, name in zip(("order", "payment"), names, strict=True)
    }
    once, patience = timedelta(0), timedelta(seconds=60)
    asyncio.run(run_stream(paid, sources, sink, checkpoint=folder, every=once, patience=patience, lateness=200))


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("method", ["write", "prepare", "commit"])
def test_wherever_it_is_killed_a_reader_has_each_result_once(servers, tmp_path, method, is_done):
    tag = f"{method}-{is_done}"
    names = [topic(servers, f"orders-{tag}"), topic(servers, f"payments-{tag}")]
    out = topic(servers, f"paid-{tag}")
    for n in range(8):
        send(servers, names[0], [{"id": n, "time": 10 * n}], partition=n % 2)
        send(servers, names[1], [{"order": n, "amount": 5 * n, "time": 10 * n + 7}], partition=n % 2)

    for calls in (1, 2, 4):
        sink = kafka.KafkaSink(servers, out, transaction=tag)
        setattr(sink, method, dying(getattr(sink, method), calls, is_done=is_done))
        with pytest.raises(Killed):
            start(servers, names, tmp_path, sink)
        del sink  # it is not closed: the next one with its name shuts it out
    last = kafka.KafkaSink(servers, out, transaction=tag)
    start(servers, names, tmp_path, last)
    last.close()
    assert sorted(results(servers, out)) == [(n, 5 * n) for n in range(8)]


def test_records_have_their_own_times_and_those_without_a_value_delete(servers):
    name = topic(servers, "ships")
    told = []
    begun = int(time.time() * 1e6) - 1000
    send(servers, name, [{"id": 1}, ('"EVA"', None), ("ORCA", None), (None, "nothing"), {"id": 2}])
    source = kafka.KafkaSource(servers, name, follow=False, unreadable=lambda text, why: told.append((text, why[:7])))

    async def items():
        return [item async for item in source]

    found = asyncio.run(items())
    assert [item.value for item in found] == [{"id": 1}, Delete("EVA"), Delete("ORCA"), {"id": 2}]
    assert all(isinstance(item, Event) and begun <= item.end <= time.time() * 1e6 for item in found)
    assert told == [("nothing", "no JSON")]
    assert source.position["offsets"] == {0: 5, 1: 0}
    latest = kafka.KafkaSource(servers, name, start="latest", follow=False)

    async def none():
        return [item async for item in latest]

    assert asyncio.run(none()) == []
    assert latest.position["offsets"] == {0: 5, 1: 0}


def test_where_the_latest_begins_is_part_of_the_first_checkpoint(servers, tmp_path):
    """Else a record that comes while nobody runs is before the latest that the next run begins with."""
    name = topic(servers, "late-start")
    send(servers, name, [{"id": 1}])
    numbers = map_(Reactive("order"), lambda order: order.id)
    for more in ([], [{"id": 2}, {"id": 3}]):  # nothing comes while the first runs
        send(servers, name, more)
        sink = JsonLinesSink(tmp_path / "ids.jsonl")
        source = kafka.KafkaSource(servers, name, start="latest", follow=False)
        asyncio.run(run_stream(numbers, {"order": source}, sink, checkpoint=tmp_path / "kept"))
        sink.close()
    assert [json.loads(line)["value"] for line in (tmp_path / "ids.jsonl").read_text().splitlines()] == [2, 3]


def test_of_a_partition_that_is_new_since_all_records_are_read(servers):
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    name = topic(servers, "growing")
    before, later = (kafka.KafkaSource(servers, name, start="latest", follow=False) for _ in range(2))

    async def values(source):
        return [item.value["id"] async for item in source]

    send(servers, name, [{"id": 1}])
    assert asyncio.run(values(before)) == []
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_partitions([NewPartitions(name, 3)])[name].result(30)
    while len(admin.list_topics(name).topics[name].partitions) < 3:
        pass
    send(servers, name, [{"id": 2}, {"id": 3}], partition=2)
    later.seek(before.position)
    assert asyncio.run(values(later)) == [2, 3]
    assert later.position["offsets"] == {0: 1, 1: 0, 2: 2}


def test_a_topic_that_was_made_anew_is_refused(servers):
    from confluent_kafka.admin import AdminClient

    name = topic(servers, "anew")
    send(servers, name, [{"id": 1}])
    before, later = (kafka.KafkaSource(servers, name, follow=False) for _ in range(2))

    async def values(source):
        return [item.value["id"] async for item in source]

    assert asyncio.run(values(before)) == [1]
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([name])[name].result(30)
    while name in admin.list_topics().topics:
        pass
    topic(servers, name)
    send(servers, name, [{"id": 2}, {"id": 3}])
    later.seek(before.position)
    with pytest.raises(CartesiusError, match="it was removed and made anew; begin anew"):
        asyncio.run(values(later))


def test_what_a_topic_has_no_more_is_said(servers):
    name = topic(servers, "short")
    source = kafka.KafkaSource(servers, name, follow=False)
    source.seek({"topic": name, "id": None, "offsets": {0: 9, 1: 0}, "latest": None})

    async def items(source):
        return [item async for item in source]

    with pytest.raises(CartesiusError, match="to have the offset 9, where the checkpoint goes on, but it has 0 to 0"):
        asyncio.run(items(source))
    with pytest.raises(CartesiusError, match="start='earliest' or start='latest' but got start='now'"):
        kafka.KafkaSource(servers, name, start="now")  # type: ignore[arg-type]  # it is refused


def test_a_folder_of_another_run_is_refused(servers, tmp_path):
    names = [topic(servers, "orders-other"), topic(servers, "payments-other")]
    send(servers, names[0], [{"id": 1, "time": 1}])
    out = topic(servers, "paid-other")
    sink = kafka.KafkaSink(servers, out, transaction="one")
    start(servers, names, tmp_path, sink)
    sink.close()
    other = kafka.KafkaSink(servers, out, transaction="two")
    with pytest.raises(CartesiusError, match="but it has committed 0; it is the sink of another run, or has forgotten"):
        start(servers, names, tmp_path, other)
    other.close()
