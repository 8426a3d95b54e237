"""Kafka: topics as sources, and as a sink whose results a reader has once.

A source reads partitions from the offsets that are kept with the engine's snapshot, and no consumer group moves them. A
sink writes in transactions, one from each checkpoint to the next, and leaves the number of the checkpoint in the same
transaction: as the offset of a consumer group. So who starts anew knows whether the results of the last checkpoint
stand, or of the one before. Readers must read with ``isolation.level=read_committed``.

This module is over 300 lines because source and sink are the two halves of one client, which no other module knows.

Source: KIP-98 (transactions), KIP-447 (offsets in transactions).
"""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import Future, wait
from contextlib import suppress
from math import inf
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

from cartesius.connectors.endpoints import checked_position
from cartesius.connectors.held_records import Held, HeldRecords
from cartesius.connectors.row_items import Unreadable, item_of, json_text, result_line, row_of
from cartesius.data.events import Delete, Event, Update
from cartesius.errors import InvalidArgument, NotReachable, ShutOut, block, shortened
from cartesius.installation import needing

with needing("import cartesius.connectors.kafka", "cartesius-joins[kafka]"):
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
    from confluent_kafka.admin import AdminClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence

Answer = TypeVar("Answer")
_LOG: Final = logging.getLogger(__name__)
_FIRST: Final = 10.0  # seconds, for the first answer
_PATIENCE: Final = 30.0  # seconds, for what the broker is asked once
_DEADLINE: Final = 60.0
"""Seconds that a step of a transaction may take: librdkafka keeps its own limits in most cases only."""
_CLOSING: Final = 5.0  # seconds, for what may be left to others: a transaction that is not aborted ends by itself
_AT_ONCE: Final = 500
_POLL: Final = 0.2  # seconds
_CRITICAL: Final = 2  # what librdkafka logs, by the levels of syslog: nothing that it goes on behind
_MOVING: Final = frozenset(
    {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}
)
"""What a broker says that has started, or taken over, a moment ago: the clients find the coordinator, asked again."""

_AWAY: Final = frozenset(
    {KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE}
)
_GONE: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})
_TAKEN_OVER: Final = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})


def _checked_names(call: str, servers: object, topic: object) -> None:
    for name, value in (("servers", servers), ("topic", topic)):
        if not isinstance(value, str) or not value:
            expected = "the servers as 'host:port,host:port'" if name == "servers" else "the name of a topic"
            message = f"{call}: expected {expected} but got {name}={value!r} (type={type(value).__name__})"
            raise InvalidArgument(message)


@block
def _asking(call: str, servers: str, topic: str) -> Generator[None]:
    """Say which servers, and which topic, where nobody answers, or another one has taken over."""
    try:
        yield
    except KafkaException as error:
        if error.args[0].code() in _TAKEN_OVER:
            message = (
                f"{call}: expected to be the only one of its transaction= at {topic!r} but another run has taken it"
                " over; leave it to that run, or name this one otherwise"
            )
            raise ShutOut(message) from error
        if error.args[0].code() not in _AWAY:
            raise
        message = (
            f"{call}: expected Kafka at {servers!r}, for the topic {topic!r}, but nobody answers:"
            f" {error.args[0].str()}; see the address, and whether it runs; with options={{'log_level': 6}} the client"
            " says more, as of TLS and passwords"
        )
        raise NotReachable(message) from error


def _partitions(client: Consumer, call: str, topic: str) -> list[int]:
    """Return the partitions of a topic."""
    found = client.list_topics(topic, timeout=_FIRST).topics[topic]
    if found.error is not None:
        message = f"{call}: expected a topic {topic!r} but there is none: {found.error.str()}; make it first"
        raise InvalidArgument(message)
    return list(found.partitions)


class _NoRow(NamedTuple):
    """A record that is no row."""

    text: str
    reason: str


class KafkaSource:
    """The records of a topic: ``async for item in KafkaSource("127.0.0.1:9092", "orders")``.

    A value is a JSON object. A record without one deletes the row of its key, of a table, at the record's own
    timestamp or, with ``at``, at the latest time that the topic has given before; a key that is JSON is what that says
    (``123`` is a number, ``"123"`` a text), any other is a text. Records of one partition come in its order, and those
    of several by their times: the earliest of their first records is given when each has one, or is at its end. So a
    partition that no broker has keeps the others waiting. Without a position it begins with the first record, or the
    next. A partition that is added while it runs is read when it is started anew, with all that it has.

    Args:
        servers: The bootstrap servers.
        topic: The topic.
        at: The field that says when, as of `FileSource`. None: the record's own timestamp, in microseconds.
        keys: What the keys of deletions are: ``"json"``, as above, or ``"text"``, each a text, also ``123``.
        start: Where it begins without a position: ``"earliest"`` or ``"latest"``.
        follow: Whether to wait for more at the ends of the partitions; False: the iteration ends there.
        unreadable: Called with each record that is no row, as text, and why; by default it is logged, and passed over.
        options: More options of librdkafka's consumer, by their names, as for security. What it logs is left out, as
            ``log_level`` is 2 if it is not given.

    Raises:
        InvalidArgument: No such start or keys, or servers or a topic that are no text; or, in the iteration, no such
            topic, one that was made anew since the position, or offsets that the topic has no more.
        NotReachable: In the iteration, of which it is the beginning: nobody answers for ten seconds.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        at: str | None = None,
        keys: Literal["json", "text"] = "json",
        start: Literal["earliest", "latest"] = "earliest",
        follow: bool = True,
        unreadable: Callable[[str, str], object] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if start not in ("earliest", "latest"):
            message = f"KafkaSource: expected start='earliest' or start='latest' but got {start=!r}"
            raise InvalidArgument(message)
        if keys not in ("json", "text"):
            message = f"KafkaSource: expected keys='json' or keys='text' but got {keys=!r}"
            raise InvalidArgument(message)
        _checked_names("KafkaSource", servers, topic)
        self.topic = topic
        self.at = at
        self.keys = keys
        self.start = start
        self.follow = follow
        self._unreadable = unreadable or self._warn
        self._offsets: dict[int, int] = {}
        self._latest: int | None = None  # the latest time that was given, if a field says it
        self._id: str | None = None  # of the topic: one that is made anew has another
        self._servers = servers
        self._own = {"log_level": _CRITICAL, **(options or {}), "bootstrap.servers": servers}
        self._options = {
            "group.id": "cartesius",  # it is asked for, and not used: partitions are assigned here
            "isolation.level": "read_committed",
            **self._own,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        }

    @property
    def position(self) -> dict[str, Any]:
        """The topic, its id, the offset of the next record of each partition, and the latest time that was given.

        Of what begins with the latest, the broker is asked at once where that is: the first checkpoint says it.
        """
        if self.start == "latest" and not self._offsets:
            consumer = Consumer(self._options)
            try:
                self._assign(consumer)
            finally:
                consumer.close()
        return {"topic": self.topic, "id": self._id, "offsets": dict(self._offsets), "latest": self._latest}

    def seek(self, position: dict[str, Any]) -> None:
        """Go on at a position in this topic.

        Raises:
            InvalidArgument: It is in another topic, or another source's.
        """
        told = checked_position(position, "KafkaSource", "topic", "id", "offsets", "latest")
        if told["topic"] != self.topic:
            message = (
                f"KafkaSource: expected the topic {told['topic']!r}, of which the checkpoint has offsets, but got"
                f" {self.topic!r}; read that one, or begin anew"
            )
            raise InvalidArgument(message)
        self._id, self._offsets, self._latest = told["id"], dict(told["offsets"]), told["latest"]

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Iterate over the records as items."""
        consumer = Consumer(self._options)
        fetch: asyncio.Future[Any] = asyncio.ensure_future(asyncio.to_thread(self._assign, consumer))
        try:
            records, paused = HeldRecords(await asyncio.shield(fetch), follow=self.follow), set[int]()
            while self.follow or not records.have_ended():
                fetch = asyncio.ensure_future(asyncio.to_thread(consumer.consume, _AT_ONCE, _POLL))
                self._hold(records, await asyncio.shield(fetch), consumer)
                while (found := records.take()) is not None:
                    for item in self._given(*found):
                        yield item
                full = records.full()
                consumer.pause(self._places(full - paused))
                consumer.resume(self._places(paused - full))
                paused = full
        finally:
            await asyncio.gather(fetch, return_exceptions=True)  # no thread may use it any more
            await asyncio.to_thread(consumer.close)

    def _hold(self, records: HeldRecords, messages: list[Any], consumer: Consumer) -> None:
        """Hold what was read, and see which partitions have come to their ends."""
        for message in messages:
            partition, error = message.partition(), message.error()
            if error is None:
                records.add(partition, self._held(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                records.end(partition, message.offset())
            elif error.code() in _GONE:
                reason = (
                    f"KafkaSource: expected partition {partition} of {self.topic!r} to have what comes next but it was"
                    f" removed before it was read: {error.str()}; let the topic keep more, and begin anew"
                )
                raise InvalidArgument(reason)
            else:
                raise KafkaException(error)
        for place in self._places(set(self._offsets)):  # known before what is new comes, and before an end does
            records.reaches(place.partition, consumer.get_watermark_offsets(place, cached=True)[1])

    def _places(self, partitions: set[int]) -> list[TopicPartition]:
        return [TopicPartition(self.topic, partition) for partition in partitions]

    def _assign(self, consumer: Consumer) -> list[int]:
        """Read all partitions from where each goes on; return them."""
        with _asking("KafkaSource", self._servers, self.topic):
            partitions = _partitions(consumer, "KafkaSource", self.topic)
            self._check_id()
            begins_late = self.start == "latest" and not self._offsets  # else it is new, and nobody has read any of it
            offsets = dict(self._offsets)  # nothing of it counts before all have answered
            for partition in partitions:
                low, high = consumer.get_watermark_offsets(TopicPartition(self.topic, partition), timeout=_PATIENCE)
                offset = offsets.setdefault(partition, high if begins_late else low)
                if not low <= offset <= high:
                    message = (
                        f"KafkaSource: expected partition {partition} of {self.topic!r} to have the offset {offset},"
                        f" where the checkpoint goes on, but it has {low} to {high}: records are lost to it; begin anew"
                    )
                    raise InvalidArgument(message)
        self._offsets = offsets
        consumer.assign([TopicPartition(self.topic, partition, offsets[partition]) for partition in partitions])
        return partitions

    def _check_id(self) -> None:
        """Take note of the id of the topic, and raise if it is not that of the position."""
        admin = AdminClient({name: value for name, value in self._own.items() if name != "on_commit"})
        described = admin.describe_topics(TopicCollection([self.topic]), request_timeout=_PATIENCE)
        topic_id = str(described[self.topic].result().topic_id)
        if self._id not in (None, topic_id):
            message = (
                f"KafkaSource: expected the topic {self.topic!r} with the id {self._id}, of which the checkpoint has"
                f" offsets, but it has {topic_id}: it was removed and made anew; begin anew"
            )
            raise InvalidArgument(message)
        self._id = topic_id

    def _held(self, message: Any) -> Held:
        """Return a record with its item, or with why it has none."""
        value = message.value()
        _, milliseconds = message.timestamp()
        try:
            if value is not None and self.at is not None:
                item = item_of(row_of(value), self.at)
                return Held(item.end, message.offset(), item)
            payload = (
                row_of(value) if value is not None else Delete(_key_of(message.key(), is_json=self.keys == "json"))
            )
        except (Unreadable, UnicodeDecodeError) as error:
            return Held(-inf, message.offset(), _NoRow((value or b"").decode(errors="replace"), str(error)))
        if self.at is not None:
            return Held(-inf, message.offset(), payload)  # when it is, what was given before says
        return Held(milliseconds * 1000, message.offset(), Event(payload, milliseconds * 1000, milliseconds * 1000))

    def _given(self, partition: int, record: Held) -> list[Any]:
        """Move behind a record, and return its item in a list; an empty one if it is no row."""
        self._offsets[partition] = record.offset + 1
        match record.content:
            case _NoRow(text, reason):
                self._unreadable(text, reason)
                return []
            case Delete() if self._latest is not None:
                return [Event(record.content, self._latest, self._latest)]
            case Event(end=end) if self.at is not None:
                self._latest = end if self._latest is None else max(end, self._latest)
        return [record.content]

    def _warn(self, text: str, reason: str) -> None:
        _LOG.warning("%s: a record is passed over: %s: %s", self.topic, reason, shortened(text, 200))


def _key_of(key: bytes | None, *, is_json: bool) -> Any:
    """Return a key that is JSON as that, if it may be, and any other as text."""
    if key is None:
        reason = "a record without a value and without a key says nothing"
        raise Unreadable(reason)
    if is_json:
        with suppress(ValueError, RecursionError):
            return json.loads(key, parse_constant=_refused)
    return key.decode()


def _refused(constant: str) -> Any:
    """Refuse what Python reads and JSON has not: NaN and infinities."""
    raise ValueError(constant)


class KafkaSink:
    """Writes results to a topic, each once for who reads what is committed, whatever happened in between.

    A value is what `JsonLinesSink` writes as a line. The key is that of a table's row, as JSON; of a stream there is
    none. What becomes visible, does so with a checkpoint: see ``every`` of `run_stream`, which must be shorter than
    ``transaction.timeout.ms``.

    Args:
        servers: The bootstrap servers.
        topic: The topic; it must be there.
        transaction: The name of the run, the same whenever it is started anew, and of this run alone: the broker shuts
            out whoever has used it before, when this one begins.
        options: More options of librdkafka's clients, by their names, as for security; see `KafkaSource`.

    Raises:
        InvalidArgument: No such topic, or servers or a topic that are no text.
        NotReachable: Nobody answers.
    """

    def __init__(self, servers: str, topic: str, *, transaction: str, options: Mapping[str, Any] | None = None) -> None:
        _checked_names("KafkaSink", servers, topic)
        self.topic = topic
        self._servers = servers
        self._has_begun = False
        self._step: Future[Any] | None = None
        common = {"log_level": _CRITICAL, **(options or {}), "bootstrap.servers": servers}
        self._options = {**common, "transactional.id": transaction}
        self._producer = Producer(self._options)
        self._marks = Consumer({**common, "group.id": f"cartesius.{transaction}", "enable.auto.commit": False})
        with _asking("KafkaSink", servers, topic):
            _partitions(self._marks, "KafkaSink", topic)

    def _begin(self) -> None:
        """Shut out who has used the transaction before; what it has left open is aborted."""
        if not self._has_begun:
            self._has_begun = True
            self._producer.init_transactions(_PATIENCE)
            self._producer.begin_transaction()

    def committed(self) -> int:
        """Return the number of the last checkpoint whose results are committed; 0: none. It begins anew with that.

        Raises:
            NotReachable: Nobody answers.
        """

        def work() -> list[TopicPartition]:
            if self._has_begun:  # by another run, which this one shuts out, with what it has left open or at work
                self._producer, self._has_begun = Producer(self._options), False
            self._begin()  # what another run commits later would not count
            return _insist(lambda: self._marks.committed([TopicPartition(self.topic, 0)], timeout=_PATIENCE))

        with self._asking():
            [mark] = _started(work).result(_DEADLINE)
        return max(mark.offset, 0)

    def seek(self, position: None) -> None:
        """Do nothing: what was not committed is aborted."""

    def write(self, events: Sequence[Event]) -> None:
        """Write results; nobody sees them before `commit`.

        Raises:
            NotReachable: The brokers have taken nothing for a minute.
            ShutOut: Another run has the transaction's name now.
        """
        with self._asking():
            self._begin()
            for event in events:
                change = event.value
                key = json_text(change.key) if isinstance(change, Update | Delete) else None
                self._produce(result_line(event), key)

    def _produce(self, line: bytes, key: str | None) -> None:
        until = monotonic() + _DEADLINE
        while True:
            try:
                return self._producer.produce(self.topic, line, key)
            except BufferError:  # its queue is full
                if monotonic() >= until:
                    raise TimeoutError from None
                self._producer.poll(_POLL)
            except KafkaException as error:
                if error.args[0].code() == KafkaError._FATAL:
                    self._producer.abort_transaction(_CLOSING)  # which says what was fatal
                raise

    async def prepare(self, number: int) -> None:
        """Send what was written, and the number of the checkpoint: who is shut out keeps none.

        Raises:
            NotReachable: The brokers have not taken it within a minute.
            ShutOut: Another run has the transaction's name now.
        """
        producer = self._producer

        def work() -> None:
            self._begin()
            producer.flush()
            mark = TopicPartition(self.topic, 0, number)
            group = self._marks.consumer_group_metadata()
            _insist(lambda: producer.send_offsets_to_transaction([mark], group, _PATIENCE))

        await self._awaited(work)

    async def commit(self, number: int) -> None:
        """Commit the results up to a checkpoint, and its number with them.

        Raises:
            NotReachable: The brokers have not done it within a minute; the next start finds out whether they did.
            ShutOut: Another run has the transaction's name now.
        """
        producer = self._producer  # also when another run has begun with this sink

        def work() -> None:
            _insist(lambda: producer.commit_transaction(_PATIENCE))
            producer.begin_transaction()

        await self._awaited(work)

    def close(self) -> None:
        """End; what was not committed is aborted: by the next start, or the broker, where it cannot be done at once."""
        before = self._step

        def work() -> None:
            if before is not None:
                before.exception()  # a step that was given up may still be at work: one at a time
            with suppress(KafkaException):
                self._producer.abort_transaction(_CLOSING)
            self._marks.close()

        wait([_started(work)], _CLOSING)

    async def _awaited(self, work: Callable[[], object]) -> None:
        """Do a step of the transaction in a thread, and wait for it no longer than to the deadline."""
        self._step = _started(work)
        with self._asking():
            await asyncio.wait_for(asyncio.wrap_future(self._step), _DEADLINE)

    @block
    def _asking(self) -> Generator[None]:
        """Say what to do where the deadline has come, or nobody answers, or another one has taken over."""
        try:
            with _asking("KafkaSink", self._servers, self.topic):
                yield
        except TimeoutError:
            message = (
                f"KafkaSink: expected the brokers to take the results for {self.topic!r} within {_DEADLINE:g} s but"
                " they did not; see whether they are there, and start the process again: it goes on from the checkpoint"
            )
            raise NotReachable(message) from None


def _started(work: Callable[[], Answer]) -> Future[Answer]:
    """Do something in a thread of its own, for which the process does not wait in the end, as it may never end."""
    done: Future[Answer] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # it is raised where it is awaited
            done.set_exception(error)

    done.set_running_or_notify_cancel()  # who waits no more does not end it
    Thread(target=run, name="kafka", daemon=True).start()
    return done


def _insist(call: Callable[[], Answer]) -> Answer:
    """Do what may be asked for again until it is done, or the deadline has come."""
    until = monotonic() + _DEADLINE
    while True:
        try:
            return call()
        except KafkaException as error:
            is_moving = error.args[0].code() in _MOVING
            if not (error.args[0].retriable() or is_moving) or monotonic() >= until:
                raise
            sleep(_POLL if is_moving else 0)
