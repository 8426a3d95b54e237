"""The sink of Kafka where a broker has moved: it asks again, for a while. Brokers themselves are in `tests/brokers`."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from cartesius.connectors import kafka


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
    sink = object.__new__(kafka.KafkaSink)
    sink.topic, sink._marks = "paid", consumer
    return sink


def test_a_coordinator_that_moves_is_asked_again(slept):
    moving = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    assert sink_asking(Consumer(*moving)).committed() == 7
    assert len(slept) == 3


def test_patience_ends_and_other_errors_come_out_at_once(slept):
    with pytest.raises(KafkaException, match="NOT_COORDINATOR"):
        sink_asking(Consumer(*[KafkaError.NOT_COORDINATOR] * 1000)).committed()
    assert sum(slept) == pytest.approx(kafka._PATIENCE, abs=2 * kafka._POLL)
    slept.clear()
    with pytest.raises(KafkaException, match="AUTHORIZATION"):
        sink_asking(Consumer(KafkaError.GROUP_AUTHORIZATION_FAILED)).committed()
    assert slept == []
