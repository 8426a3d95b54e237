"""The daemon of the workers: what they find imported, and what is said where there is another."""

from __future__ import annotations

import gc
import logging
import os
import sys

import pytest

from spark_bridge.running.queries import tell_of_daemon
from tests.faults.killing import victims

pytestmark = pytest.mark.spark


def test_a_worker_finds_the_library_imported_and_frozen(spark):
    def found(_):
        return "spark_bridge.running.buckets" in sys.modules, "dsl" in sys.modules, gc.get_freeze_count() > 10_000

    assert spark.sparkContext.parallelize([0], 1).map(found).collect() == [(True, True, True)]


def test_what_kills_finds_the_driver_and_its_workers_but_not_their_daemon(spark):
    job = os.getpid()

    def found(_):
        killed = victims(job, "worker")
        return os.getpid() in killed, os.getppid() in killed

    assert len(victims(job, "driver")) == 1
    assert spark.sparkContext.parallelize([0], 1).map(found).collect() == [(True, False)]


def test_it_is_told_in_one_line_where_the_daemon_is_another(caplog):
    with caplog.at_level(logging.WARNING, "spark_bridge"):
        tell_of_daemon("spark_bridge.daemon")
        assert not caplog.messages
        tell_of_daemon(None)
    assert caplog.messages == [
        "spark.python.daemon.module is not set: with spark_bridge.daemon each micro-batch takes less time"
    ]
