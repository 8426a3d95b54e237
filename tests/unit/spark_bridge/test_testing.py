"""Rows of two queries are compared as they come, a micro-batch that comes again once. No Spark is needed for that."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Row

from cartesius.errors import InvalidArgument
from spark_bridge.testing import row_monitor, to_monitor


class Batch:
    """A micro-batch, as far as a sink looks at it."""

    def __init__(self, *rows) -> None:
        self.rows = rows

    def collect(self):
        return list(self.rows)


def sink(monitor, stream) -> Any:
    return to_monitor(monitor, stream)


def update(key, value):
    return Row(output="t", change="update", key=key, value=value)


def test_changes_of_one_row_depend_and_others_do_not():
    event = [Row(output="e", change="event", key=None, value=n) for n in range(2)]
    monitor = row_monitor()
    first, second = sink(monitor, 1), sink(monitor, 2)
    first(Batch(update("E", 1), update("F", 1), update("E", 2), *event), 0)
    second(Batch(event[1], update("F", 1), event[0]), 0)
    assert monitor.unmatched == (2, 0)
    second(Batch(), 1)
    second(Batch(update("E", 2)), 2)
    assert not monitor.answer
    assert monitor.answer.item.key == "E"
    assert "'value': 2" in monitor.answer.reason


def test_without_the_columns_of_results_nothing_depends_on_anything():
    monitor = row_monitor()
    sink(monitor, 1)(Batch(Row(k=1, v=float("nan")), Row(k=1, v=2.0)), 0)
    sink(monitor, 2)(Batch(Row(k=1, v=2.0), Row(k=1, v=float("nan"))), 0)
    assert monitor.finish()


def test_types_count_also_within_structures():
    monitor = row_monitor()
    sink(monitor, 1)(Batch(Row(v=Row(a=[1], b={"x": 1}))), 0)
    sink(monitor, 2)(Batch(Row(v=Row(a=[1], b={"x": 1.0}))), 0)
    assert monitor.unmatched == (1, 1)
    sink(monitor, 2)(Batch(Row(v=Row(a=[1], b={"x": 1}))), 0)
    assert monitor.unmatched == (0, 1)


def test_a_micro_batch_that_comes_again_is_taken_once_and_one_that_failed_is_taken():
    class Failing(Batch):
        def collect(self):
            message = "the executor is gone"
            raise ConnectionError(message)

    monitor = row_monitor()
    first = sink(monitor, 1)
    first(Batch(Row(v=1)), 0)
    first(Batch(Row(v=1)), 0)
    with pytest.raises(ConnectionError):
        first(Failing(), 1)
    first(Batch(Row(v=2)), 1)
    assert monitor.unmatched == (2, 0)
    assert [(sample.stream, sample.items) for sample in monitor.samples] == [(1, 1), (1, 1)]


def test_relations_of_ones_own_read_rows_as_records():
    monitor = row_monitor(lambda a, b: a.k == b.k, lambda a, b: a.v == -b.v, limit=5)
    sink(monitor, 1)(Batch(Row(k=1, v=1), Row(k=2, v=2)), 0)
    sink(monitor, 2)(Batch(Row(k=2, v=-2), Row(k=1, v=-1)), 0)
    assert monitor.finish()


def test_there_are_two_streams():
    with pytest.raises(InvalidArgument, match="to_monitor: expected stream 1 or 2 but got stream=0"):
        to_monitor(row_monitor(), 0)
