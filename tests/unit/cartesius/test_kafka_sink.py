"""The sink of Kafka where a broker moves, or answers no more. Brokers themselves are in `tests/brokers`."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from cartesius import Event
from cartesius.connectors import kafka
from cartesius.errors import NotReachable, ShutOut


@dataclass(frozen=True)
class Frozen(Exception):
    size: int


class Consumer:
    """Fails as often as it was told, and answers then."""

    def __init__(self, *errors: int) -> None:
        self.errors = list(errors)

    def committed(self, partitions, timeout):
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))
        return [SimpleNamespace(offset=7)]


@pytest.fixture
def slept(monkeypatch):
    """A clock that goes on while one sleeps, and how long that was each time."""
    times: list[float] = []
    monkeypatch.setattr(kafka, "sleep", times.append)
    monkeypatch.setattr(kafka, "monotonic", lambda: sum(times))
    return times


def sink_asking(consumer):
    sink = sink_with(Stuck())
    sink._marks = consumer
    return sink


def test_a_coordinator_that_moves_is_asked_again(slept):
    moving = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    assert sink_asking(Consumer(*moving)).committed() == 7
    assert len(slept) == 3


def test_patience_ends_and_other_errors_come_out_at_once(slept):
    with pytest.raises(KafkaException, match="NOT_COORDINATOR"):
        sink_asking(Consumer(*[KafkaError.NOT_COORDINATOR] * 1000)).committed()
    assert sum(slept) == pytest.approx(kafka._DEADLINE, abs=2 * kafka._POLL)
    slept.clear()
    with pytest.raises(KafkaException, match="AUTHORIZATION"):
        sink_asking(Consumer(KafkaError.GROUP_AUTHORIZATION_FAILED)).committed()
    assert slept == []


def test_a_broker_that_does_not_say_what_is_committed_is_named():
    for code in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT):
        with pytest.raises(
            NotReachable, match=r"Kafka at 'nowhere:9092', .* options=\{'log_level': 6\} .* TLS and pass"
        ):
            sink_asking(Consumer(code)).committed()


class Stuck:
    """A producer whose broker is gone: the calls named do not return, whatever time they were given."""

    def __init__(self, *names, **calls):
        vars(self).update(calls)  # what they do instead
        self.names = names
        self.called = []
        self.goes_on = threading.Event()

    def __getattr__(self, name):
        def call(*_):
            self.called.append(name)
            if name in self.names:
                self.goes_on.wait()

        return call


@pytest.fixture
def stuck(request):
    producer = Stuck(request.param)
    yield producer
    producer.goes_on.set()


def sink_with(producer):
    sink = object.__new__(kafka.KafkaSink)
    sink.topic, sink._servers, sink._producer, sink._step = "paid", "nowhere:9092", producer, None
    sink._has_begun, sink._options = False, {}
    sink._marks = SimpleNamespace(  # type: ignore[assignment]  # all that is asked of it
        consumer_group_metadata=lambda: "group", close=lambda: None
    )
    return sink


async def steps(sink):
    await sink.prepare(1)
    await sink.commit(1)


def test_what_a_value_raises_as_it_is_written_comes_out_as_it_is_whatever_its_class_refuses():
    class Unwritable:
        def __str__(self):
            raise error

    error = Frozen(7)
    with pytest.raises(Frozen) as caught:
        sink_with(Stuck()).write([Event(Unwritable(), 1, 1, 1, "paid")])
    assert caught.value is error


every_step = pytest.mark.parametrize(
    "stuck", ["flush", "send_offsets_to_transaction", "commit_transaction"], indirect=True
)


@every_step
def test_a_step_that_never_ends_is_given_up_and_what_to_do_is_said(stuck, monkeypatch):
    monkeypatch.setattr(kafka, "_DEADLINE", 0.01)
    monkeypatch.setattr(kafka, "_CLOSING", 0.01)
    sink = sink_with(stuck)
    said = (
        r"the results for 'paid' within 0.01 s but they did not; .* start the process again: it goes on from the chec"
    )
    with pytest.raises(NotReachable, match=said):
        asyncio.run(steps(sink))
    sink.close()
    assert stuck.called[-1] == stuck.names[0]  # nothing else is done with it meanwhile


@every_step
def test_a_step_that_never_ends_can_be_cancelled_and_others_have_their_turn(stuck, monkeypatch):
    monkeypatch.setattr(kafka, "_CLOSING", 0.01)
    sink = sink_with(stuck)

    async def run():
        going = asyncio.ensure_future(steps(sink))
        while stuck.names[0] not in stuck.called:
            await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    begun = time.monotonic()
    asyncio.run(run())
    sink.close()
    assert time.monotonic() - begun < kafka._DEADLINE / 2


def test_a_sink_that_is_made_and_not_used_shuts_nobody_out():
    """A second start that is refused, as the first run is still there, would end that one."""
    producer = Stuck()
    sink = sink_with(producer)
    assert producer.called == []
    asyncio.run(steps(sink))
    assert producer.called[:2] == ["init_transactions", "begin_transaction"]
    assert producer.called.count("init_transactions") == 1


def test_closing_waits_for_a_step_that_was_cancelled_and_aborts_what_came_behind_it():
    producer = Stuck("commit_transaction")
    sink = sink_with(producer)
    sink._marks.close = lambda: producer.called.append("closed")

    async def run():
        going = asyncio.ensure_future(steps(sink))
        while "commit_transaction" not in producer.called:
            await asyncio.sleep(0)
        going.cancel()

    asyncio.run(run())
    producer.goes_on.set()
    sink.close()
    assert producer.called[-4:] == ["commit_transaction", "begin_transaction", "abort_transaction", "closed"]


def failing(code):
    def call(*_):
        raise KafkaException(KafkaError(code))

    return call


fenced = failing(KafkaError._FENCED)


@pytest.mark.parametrize("call", ["flush", "send_offsets_to_transaction", "commit_transaction"])
def test_who_is_shut_out_is_told_and_closing_does_not_raise_again(call):
    sink = sink_with(Stuck(**{call: fenced, "abort_transaction": fenced}))
    with pytest.raises(ShutOut, match="to be the only one of its transaction= at 'paid' but another run has taken it"):
        asyncio.run(steps(sink))
    sink.close()


def test_who_is_shut_out_is_told_before_it_keeps_a_checkpoint():
    """One that it kept would stand in the way of its successor's. The broker knows only when it is asked."""
    with pytest.raises(ShutOut):
        asyncio.run(sink_with(Stuck(send_offsets_to_transaction=fenced)).prepare(1))
    producer = Stuck()
    asyncio.run(steps(sink_with(producer)))
    assert producer.called[2:] == ["flush", "send_offsets_to_transaction", "commit_transaction", "begin_transaction"]


RESULT = Event({"id": 7}, 1, 2, 1, "paid")


def test_who_is_shut_out_and_writes_is_told_as_well():
    """The client only says then that it has failed for good; what it was, it says when it is to abort."""
    for code, error in ((KafkaError._FATAL, ShutOut), (KafkaError.MSG_SIZE_TOO_LARGE, KafkaException)):
        with pytest.raises(error):
            sink_with(Stuck(produce=failing(code), abort_transaction=fenced)).write([RESULT])


def test_a_queue_that_stays_full_ends_a_run_and_one_that_is_emptied_does_not(slept):
    full = 1000

    def produce(*_):
        nonlocal full
        full -= 1
        if full >= 0:
            raise BufferError

    producer = Stuck(produce=produce, poll=slept.append)
    with pytest.raises(NotReachable, match="to take the results for 'paid' within 60 s but they did not"):
        sink_with(producer).write([RESULT])
    assert sum(slept) == pytest.approx(kafka._DEADLINE, abs=2 * kafka._POLL)
    full = 10
    sink_with(producer).write([RESULT])


@pytest.mark.parametrize("left", [None, "flush", "commit_transaction"])
def test_a_sink_that_another_run_had_begins_anew_with_nothing_of_it(left, monkeypatch):
    """What that one wrote after its last checkpoint is written again; it may even be at work with it still."""
    first, second = Stuck(left), Stuck()
    sink = sink_with(first)
    sink._marks.committed = lambda *_, timeout: [SimpleNamespace(offset=3)]
    monkeypatch.setattr(kafka, "Producer", lambda options: second)

    async def run():
        sink.write([RESULT])
        going = asyncio.ensure_future(steps(sink))
        while left is not None and left not in first.called:
            await asyncio.sleep(0)
        going.cancel()

    asyncio.run(run())
    assert sink.committed() == 3
    asyncio.run(steps(sink))
    begun = ["init_transactions", "begin_transaction"]  # which aborts what is open, and fences who has it
    assert second.called == [*begun, "flush", "send_offsets_to_transaction", "commit_transaction", "begin_transaction"]
    first.goes_on.set()
    sink.close()
    assert second.called[6:] == ["abort_transaction"]
    assert "abort_transaction" not in first.called
