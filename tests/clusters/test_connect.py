"""Spark Connect: the bridge says at once, and clearly, that it does not run there."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cartesius import Reactive, correlate
from cartesius.errors import InvalidArgument
from spark_bridge import correlate_frames
from tests.brokers.servers import ROOT

SAID = r"but 'n' is one of Spark Connect.*start the session with master\(…\)"
n = Reactive("n")
same = correlate(n=n, yields=lambda n: {"v": n.v}, name="same")

REAL = """
from pyspark.sql import SparkSession
from tests.clusters.test_connect import same
from spark_bridge import correlate_frames
spark = SparkSession.builder.remote("local[1]").getOrCreate()
frame = spark.sql("select timestamp'2024-01-01' at, 1 v")
assert frame.collect()[0].v == 1
try:
    correlate_frames(same, {"n": frame}, event_time="at")
except ValueError as error:
    print("refused:", error)
spark.stop()
"""


def test_a_frame_of_spark_connect_is_refused():
    class Remote:
        schema = None

    Remote.__module__ = "pyspark.sql.connect.dataframe"
    with pytest.raises(InvalidArgument, match=SAID):
        correlate_frames(same, {"n": Remote()}, event_time="at")  # type: ignore[dict-item]  # that is the point


@pytest.mark.slow
def test_a_frame_of_a_real_server_is_refused(tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect's client is not installed; `make cluster` brings it")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-W", "ignore", "-c", REAL]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "refused: correlate_frames: expected frames of a classic Spark session" in done.stdout, done.stderr[-3000:]
