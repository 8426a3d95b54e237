"""What a source of Kafka makes of what its client gives. Brokers themselves are in `tests/brokers`."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, TopicPartition

from cartesius import CartesiusError
from cartesius.connectors import FileSource, kafka
from cartesius.data.codec import decode, encode


class Record:
    """A record, as a client gives it; of the kind ``error`` it says something else."""

    def __init__(self, partition, offset, value, key=None, at=0, error=None):
        self.content = {"partition": partition, "offset": offset, "value": value, "key": key}
        self.content |= {"timestamp": (1, at), "error": error}

    def __getattr__(self, name):
        return lambda: self.content[name]


class Broker:
    """A broker of one topic, whose partitions are lists of values, keys and times in milliseconds.

    Clients get records partition by partition, so many at a time: as badly mixed as it gets.
    """

    def __init__(self, *partitions, name="orders", topic_id="first", low=0, at_a_time=500):
        self.partitions, self.name, self.topic_id, self.low = partitions, name, topic_id, low
        self.at_a_time, self.said, self.paused, self.places = at_a_time, set(), set(), {}
        self.error = None

    def client(self, options):
        return self

    def list_topics(self, name, timeout):
        error = None if name == self.name else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        topic = SimpleNamespace(error=error, partitions={n: None for n in range(len(self.partitions))})
        return SimpleNamespace(topics={name: topic})

    def describe_topics(self, names, request_timeout):
        return {self.name: SimpleNamespace(result=lambda: SimpleNamespace(topic_id=self.topic_id))}

    def get_watermark_offsets(self, place, timeout=None, cached=False):
        return self.low, self.low + len(self.partitions[place.partition])

    def assign(self, places):
        self.places, self.said = {place.partition: place.offset - self.low for place in places}, set()

    def pause(self, places: list[TopicPartition]):
        self.paused |= {place.partition for place in places}

    def resume(self, places: list[TopicPartition]):
        self.paused -= {place.partition for place in places}

    def consume(self, most, timeout):
        if self.error is not None:
            return [Record(0, 0, None, error=KafkaError(self.error))]
        for partition, records in enumerate(self.partitions):
            begin = self.places[partition]
            if partition not in self.paused and begin < len(records):
                found = [
                    Record(partition, self.low + place, *records[place])
                    for place in range(begin, min(begin + self.at_a_time, len(records)))
                ]
                self.places[partition] += len(found)
                return found
        for partition, records in enumerate(self.partitions):
            if partition not in self.said and self.places[partition] == len(records):
                self.said.add(partition)
                return [Record(partition, 0, None, error=KafkaError(KafkaError._PARTITION_EOF))]
        return []

    def close(self):
        pass


@pytest.fixture
def use(monkeypatch):
    """Let clients be those of a broker."""

    def used(broker):
        monkeypatch.setattr(kafka, "Consumer", broker.client)
        monkeypatch.setattr(kafka, "AdminClient", broker.client)
        return broker

    return used


def rows(*values):
    return [(json.dumps(value).encode(),) for value in values]


def source_of(topic="orders", **options):
    return kafka.KafkaSource("nowhere:9092", topic, **{"follow": False} | options)


def items(source, most=None):
    """The items of a source, or the first of them."""

    async def found():
        given, iterator = [], aiter(source)
        async for item in iterator:
            given.append(item)
            if len(given) == most:
                break
        await iterator.aclose()
        return given

    return asyncio.run(found())


def values(source, most=None):
    return [item.value for item in items(source, most)]


def test_it_goes_on_where_it_was(use):
    use(Broker(rows({"id": 1}, {"id": 2}, {"id": 3})))
    first, second = source_of(), source_of()
    assert values(first, 2) == [{"id": 1}, {"id": 2}]
    second.seek(decode(encode(first.position)))
    assert values(second) == [{"id": 3}]


def test_a_topic_that_is_another_one_than_that_of_the_position_is_refused(use):
    """Its offsets mean other records: those before them would be lost without a word."""
    first = source_of()
    use(Broker(rows({"id": 1}, {"id": 2})))
    values(first)
    with pytest.raises(CartesiusError, match=r"the topic 'orders', of which .* has offsets, but got 'payments'; read"):
        source_of("payments").seek(first.position)
    use(Broker(rows({"id": 3}, {"id": 4}, {"id": 5}), topic_id="second"))
    second = source_of()
    second.seek(first.position)
    with pytest.raises(CartesiusError, match=r"with the id first, .* but it has second: it was removed and made anew"):
        values(second)


def test_a_topic_of_which_nothing_was_read_yet_may_be_made_anew(use):
    first, second = source_of(), source_of()
    use(Broker(rows({"id": 1})))
    second.seek(first.position)
    assert values(second) == [{"id": 1}]


@pytest.mark.parametrize("position", [{0: 5}, None, 7, {"topic": "orders"}])
def test_positions_of_other_sources_are_refused(tmp_path, position):
    file = FileSource(tmp_path / "orders.jsonl")
    for position_of_others, source in ((position, source_of()), (position, file), (file.position, source_of())):
        with pytest.raises(CartesiusError, match=r"Source: expected a position with .* but got .* another source's"):
            source.seek(position_of_others)
    with pytest.raises(CartesiusError, match="FileSource: expected a position with offset, head, file"):
        file.seek(source_of().position)
