"""Kafka, a real broker: the port's sources as topics, verdict changes to a topic, and no repeat that a reader sees.

`make test-kafka` runs these tests; they are slow.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from tests.brokers.servers import ROOT, kafka_broker, kafka_connector

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def connector():
    return kafka_connector()


@pytest.fixture(scope="module")
def servers(connector, tmp_path_factory):
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as servers:
        yield servers


def port(out, *options):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "examples.port", "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + (out / "spark.log").read_text()[-3000:]
    return pq.read_table(out / "verdicts.parquet").to_pylist(), done.stdout


def test_the_port_through_kafka_gives_the_verdicts_of_this_process(servers, connector, tmp_path):
    here, _ = port(tmp_path / "here", "--in-process")
    there, said = port(tmp_path / "there", "--kafka", servers, "--jars", str(connector))
    assert len(here) > 300
    assert there == here
    assert ".verdicts" in said
    assert "micro-batch 0: " in said
