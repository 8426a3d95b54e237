"""What a source of Kafka makes of what its client gives. Brokers themselves are in `tests/brokers`."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from cartesius import CartesiusError, Delete, Event
from cartesius.connectors import FileSource, held_records, kafka
from cartesius.data.codec import decode, encode
from cartesius.errors import InvalidArgument, NotReachable


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
        self.partitions, self.name, self.topic_id, self.low = (
            [[*records] for records in partitions],
            name,
            topic_id,
            low,
        )
        self.at_a_time, self.said, self.paused, self.places = at_a_time, {}, set(), {}
        self.error, self.is_away = None, False

    def client(self, options):
        return self

    def list_topics(self, name, timeout):
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        error = None if name == self.name else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        topic = SimpleNamespace(error=error, partitions={n: None for n in range(len(self.partitions))})
        return SimpleNamespace(topics={name: topic})

    def describe_topics(self, names, request_timeout):
        return {self.name: SimpleNamespace(result=lambda: SimpleNamespace(topic_id=self.topic_id))}

    def get_watermark_offsets(self, place, timeout=None, cached=False):
        return self.low, self.low + len(self.partitions[place.partition])

    def assign(self, places):
        self.places, self.said = {place.partition: place.offset - self.low for place in places}, {}

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
            if self.said.get(partition) != len(records) == self.places[partition]:  # anew when it has grown
                self.said[partition] = len(records)
                return [Record(partition, self.low + len(records), None, error=KafkaError(KafkaError._PARTITION_EOF))]
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

    return asyncio.run(asyncio.wait_for(found(), 10))


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


def timed(*times, of=0):
    return rows(*({"of": of, "time": time} for time in times))


@pytest.mark.parametrize("at_a_time", [1, 3, 500])
def test_a_backlog_of_several_partitions_comes_in_the_order_of_time(use, at_a_time):
    """Read one after the other, all but one of the partitions would be late."""
    times = [range(n, 400, 4) for n in range(4)]
    use(Broker(*(timed(*each, of=n) for n, each in enumerate(times)), [], at_a_time=at_a_time))
    found = items(source_of(at="time"))
    assert [item.end for item in found] == list(range(400))
    assert [item.value["of"] for item in found] == [n % 4 for n in range(400)]


def test_records_without_a_field_of_time_are_merged_by_their_own(use):
    use(Broker(*([(b"{}", None, 4 * n + of) for n in range(9)] for of in range(4))))
    assert [item.end for item in items(source_of())] == [1000 * n for n in range(36)]


def test_the_position_is_behind_what_was_given_not_behind_what_was_read(use):
    use(Broker(timed(1, 2, 9), timed(3, 4)))
    first, second = source_of(at="time"), source_of(at="time")
    assert [item.end for item in items(first, 3)] == [1, 2, 3]
    assert first.position["offsets"] == {0: 2, 1: 1}
    second.seek(decode(encode(first.position)))
    assert [item.end for item in items(second)] == [4, 9]


def test_a_partition_that_is_ahead_of_the_others_is_not_read_on_until_they_have_come(use, monkeypatch):
    monkeypatch.setattr(held_records, "_MOST", 8)
    broker = use(Broker(timed(*range(100, 150)), timed(*range(100)), at_a_time=4))
    most, consume = 0, broker.consume

    def looking(*arguments):
        nonlocal most
        most = max(most, broker.places[0]) if broker.places[1] < 100 else most
        return consume(*arguments)

    broker.consume = looking
    assert [item.end for item in items(source_of(at="time"))] == list(range(150))
    assert most == 8


def test_a_partition_at_its_end_is_not_waited_for(use):
    """Of one that is read to its end, and one that never had anything, while the source goes on to follow them."""
    use(Broker(timed(5, 6), timed(1), []))
    assert [item.end for item in items(source_of(at="time", follow=True), 3)] == [1, 5, 6]


@pytest.mark.parametrize("at_a_time", [1, 3, 500])
def test_what_has_come_meanwhile_to_partitions_that_had_ended_is_merged_by_time_as_well(use, at_a_time):
    """After an interruption all partitions have more, and the client gives it one partition after the other."""
    broker = use(Broker(timed(0), timed(1), timed(2), at_a_time=at_a_time))
    consume, last = broker.consume, 3

    def growing(*arguments):
        nonlocal last
        if (
            last < 200
            and len(broker.said) == 3
            and all(n == len(broker.partitions[of]) for of, n in broker.said.items())
        ):
            for time in range(last, last + 60):  # all that was there was read, and their ends were told
                broker.partitions[time % 3].extend(timed(time))
            last += 60
        return consume(*arguments)

    broker.consume = growing
    assert [item.end for item in items(source_of(at="time", follow=True), 243)] == list(range(243))


def test_a_partition_that_grows_is_read_to_its_first_end_if_it_is_not_followed(use):
    """Else who writes faster than it is read keeps the source from ending."""
    broker = use(Broker(timed(1), timed(5, 6), at_a_time=1))
    consume = broker.consume

    def growing(*arguments):
        broker.partitions[1].extend(timed(7) if broker.said else ())
        return consume(*arguments)

    broker.consume = growing
    broker.partitions[0].extend(timed(2))
    assert [item.end for item in items(source_of(at="time"))][:4] == [1, 2, 5, 6]


def test_what_an_open_transaction_holds_back_is_no_end_for_who_follows():
    """Its end is reported where the transaction begins, and what it has written may be the earliest."""
    for follow in (True, False):
        records = held_records.HeldRecords([0, 1], follow=follow)
        records.add(0, held_records.Held(5, 0, "a"))
        records.reaches(0, 1)
        records.end(1, 7)
        records.reaches(1, 9)
        assert (records.take() is None) is follow
        assert records.have_ended() is not follow


def test_a_partition_of_which_nothing_is_known_is_waited_for():
    records = held_records.HeldRecords([0, 1], follow=True)
    records.add(0, held_records.Held(5, 0, "a"))
    records.reaches(0, 1)
    records.reaches(1, -1001)  # what librdkafka says as long as it does not know
    assert records.take() is None
    records.end(1, 0)
    records.reaches(1, 0)
    assert records.take() == (0, held_records.Held(5, 0, "a"))
    records.add(1, held_records.Held(6, 0, "b"))
    records.reaches(0, 3)
    assert records.take() is None  # of the first, too, there is more by now
    records.end(0, 3)
    records.reaches(0, 3)
    assert records.take() == (1, held_records.Held(6, 0, "b"))


def test_a_deletion_is_at_the_latest_time_that_was_given_before_not_at_that_of_its_record(use):
    """Else replayed data would be late all: their times are of then, and the record's is of when it was written."""
    now = 1_800_000_000_000
    broker = Broker([*timed(10), (None, b"7", now), *timed(30), (None, b"8", now)], [*timed(20), (None, b"9", now)])
    use(broker)
    found = items(source_of(at="time"))
    assert [(item.end, item.value) for item in found if isinstance(item.value, Delete)] == [
        (10, Delete(7)),
        (20, Delete(9)),
        (30, Delete(8)),
    ]
    first, second = source_of(at="time"), source_of(at="time")
    items(first, 1)
    second.seek(decode(encode(first.position)))
    assert items(second, 1) == [Event(Delete(7), 10, 10)]  # who goes on gives what the first would have given
    use(Broker([(None, b"7", now), *timed(10)]))
    assert items(source_of(at="time")) == [Delete(7), Event({"of": 0}, 10, 10)]
    use(Broker([(None, b"7", 5)]))
    assert items(source_of()) == [Event(Delete(7), 5000, 5000)]


def test_what_is_no_row_is_told_when_it_is_passed_over(use):
    use(Broker([*timed(1), (b"no",), *timed(9)], timed(5)))
    told = []
    source = source_of(at="time", unreadable=lambda text, why: told.append(text))
    items(source, 1)
    assert told == []
    assert source.position["offsets"] == {0: 1, 1: 0}
    items(source)
    assert told == ["no"]


def test_the_latest_of_some_partitions_is_no_position(use):
    """Those that did not answer would be read from their beginnings, as if they were new."""
    broker = use(Broker(rows({"id": 1}), rows({"id": 2}, {"id": 3})))
    source, marks, answers = source_of(start="latest"), broker.get_watermark_offsets, [True, False]

    def failing(*arguments, **options):
        if answers and not answers.pop(0):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return marks(*arguments, **options)

    broker.get_watermark_offsets = failing
    with pytest.raises(NotReachable):
        print(source.position)
    assert source.position["offsets"] == {0: 1, 1: 2}


def test_callbacks_that_are_the_consumers_alone_are_options_as_well(use, monkeypatch):
    broker, asked = use(Broker(rows({"id": 1}))), []

    def admin(options):
        AdminClient(options)  # the real one, which refuses what it does not know
        asked.append(options)
        return broker

    monkeypatch.setattr(kafka, "AdminClient", admin)
    callbacks = {"on_commit": print, "error_cb": print}
    source = kafka.KafkaSource("127.0.0.1:1", "orders", follow=False, options=callbacks)
    assert values(source) == [{"id": 1}]
    assert asked[0]["error_cb"] is print  # others, as that of OAuth, are of every client


def sink_to(topic="orders"):
    return kafka.KafkaSink("nowhere:9092", topic, transaction="paid")


def test_servers_that_do_not_answer_and_topics_that_are_not_there_are_named(use, monkeypatch):
    broker = use(Broker(rows({"id": 1})))
    monkeypatch.setattr(kafka, "Producer", broker.client)
    for begin in (lambda: values(source_of("none")), lambda: sink_to("none")):
        with pytest.raises(InvalidArgument, match=r"expected a topic 'none' but there is none: .*; make it first"):
            begin()
    broker.is_away = True
    for begin in (lambda: values(source_of()), sink_to, lambda: source_of(start="latest").position):
        with pytest.raises(NotReachable, match="expected Kafka at 'nowhere:9092', for the topic 'orders', but nobody"):
            begin()


@pytest.mark.parametrize("wrong", [None, 9092, ["nowhere:9092"], b"nowhere", ""])
def test_what_is_no_text_is_refused_as_servers_and_as_a_topic(wrong):
    for make in (kafka.KafkaSource, lambda *names: kafka.KafkaSink(*names, transaction="paid")):
        with pytest.raises(InvalidArgument, match="expected the servers as 'host:port,host:port' but got servers="):
            make(wrong, "orders")
        with pytest.raises(InvalidArgument, match="expected the name of a topic but got topic="):
            make("nowhere:9092", wrong)


@pytest.mark.parametrize("code", [KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE])
def test_what_a_topic_has_removed_before_it_was_read_is_said(use, code):
    use(Broker(rows({"id": 1}))).error = code
    with pytest.raises(InvalidArgument, match="partition 0 of 'orders' to have what comes next but it was removed"):
        values(source_of())
    use(Broker(rows({"id": 1}))).error = KafkaError.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(KafkaException, match="AUTHORIZATION"):
        values(source_of())


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (b"7", 7), (b'"7"', "7"), (b"seven", "seven"), (b"NaN", "NaN"), (b"-Infinity", "-Infinity"), (b'["a"]', ["a"]),
        (b"[NaN]", "[NaN]"), (b"null", None),
    ],
)  # fmt: skip
def test_a_key_that_is_json_is_what_that_says_and_any_other_is_a_text(use, key, said):
    use(Broker([(None, key, 5)]))
    assert values(source_of()) == [Delete(said)]
    assert values(source_of(keys="text")) == [Delete(key.decode())]
    with pytest.raises(InvalidArgument, match="expected keys='json' or keys='text' but got keys='int'"):
        source_of(keys="int")
