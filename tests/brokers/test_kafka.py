"""Kafka, a real broker: the port's sources as topics, verdict changes to a topic, and no repeat that a reader sees.

`make test-kafka` runs these tests, also through kills of the driver and of executors; they are slow.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter

import pyarrow.parquet as pq
import pytest

from dsl import RulePack
from tests.brokers.rules_job import DEEP, DEEPER
from tests.brokers.servers import ROOT, kafka_broker, kafka_connector
from tests.faults.comparing import disturbed, undisturbed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def connector():
    return kafka_connector()


@pytest.fixture(scope="module")
def servers(connector, tmp_path_factory):
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as servers:
        yield servers


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    """A broker whose topics have several partitions, so that a record has to come again where it came before."""
    with kafka_broker(tmp_path_factory.mktemp("spread"), "num.partitions=3") as servers:
        yield servers


@pytest.fixture(scope="module")
def expected(spread, connector, tmp_path_factory):
    """What a reader has of the topic of an undisturbed run, and the seconds that a micro-batch took."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAULTS_SPARK_OPTIONS", jars_of(connector))
        return undisturbed(tmp_path_factory.mktemp("undisturbed"), f"kafka:undisturbed:{spread}")


def jars_of(folder):
    return f"spark.jars={','.join(map(str, sorted(folder.glob('*.jar'))))}"


def port(out, *options):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "examples.port", "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + (out / "spark.log").read_text()[-3000:]
    return pq.read_table(out / "verdicts.parquet").to_pylist(), done.stdout


def test_the_port_through_kafka_gives_the_verdicts_of_this_process(servers, connector, tmp_path):
    here, _ = port(tmp_path / "here", "--in-process")
    there, said = port(tmp_path / "there", "--verbose", "--kafka", servers, "--jars", str(connector))
    assert len(here) > 300
    assert there == here
    assert ".verdicts" in said
    assert "micro-batch 0: " in said


def test_a_record_of_a_topic_of_rules_changes_those_of_a_query(servers, connector, tmp_path):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    jars = jars_of(connector).partition("=")[2]
    command = [sys.executable, "-m", "tests.brokers.rules_job", servers, str(tmp_path / "checkpoint"), jars]
    at = {"at": "2026-03-01T12:00:00Z"}

    def told(rules, ships):
        sent = {"rules": [{**at, **each} for each in rules], "ships": [{**at, **each} for each in ships]}
        done = subprocess.run(
            [*command, json.dumps(sent)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    old, new = RulePack.from_text(DEEP).version, RulePack.from_text(DEEPER).version
    ships = [{"mmsi": mmsi, "draught": draught} for mmsi, draught in enumerate([8.0, 10.0, 12.0, 9.5])]
    wrong = [{"text": "not rules", "who": "mallory"}]  # a dead letter
    assert told(wrong, ships[:3]) == [[mmsi, "allowed", old] for mmsi in range(3)]
    assert told([{"text": DEEPER, "who": "eva"}], ships[3:]) == [[mmsi, "restricted", new] for mmsi in (1, 2, 3)]


@pytest.mark.parametrize("target", ["driver", "executor"])
def test_a_reader_has_each_record_once_and_in_order_whatever_died(
    expected, spread, connector, tmp_path, monkeypatch, target
):
    rows, seconds = expected
    assert len(rows["topic"]) == len(rows["results"]) > 500
    assert rows["repeats"] == []
    monkeypatch.setenv("FAULTS_SPARK_OPTIONS", jars_of(connector))
    found = disturbed(tmp_path, f"kafka:{target}:{spread}", target, seconds)
    print(f"repeats, by micro-batch: {dict(Counter(found['repeats']))}")
    assert {**found, "repeats": []} == rows
