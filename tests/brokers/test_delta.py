"""Delta, the real library: the newest rows of a table, whatever comes again, and whatever the driver died of.

`make test-delta` runs these tests, in an environment of their own: delta-spark does not go with the newest Spark.
"""

from __future__ import annotations

import importlib.metadata
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pyspark
import pytest

from cartesius.errors import InvalidArgument
from tests.brokers.servers import jars
from tests.faults.comparing import disturbed, undisturbed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
BEGINNING = "output string, change string, key bigint"
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",  # of 50, for a table of a few rows
}


@pytest.fixture(scope="module")
def options():
    """What a session needs for Delta: the jars of the library's version for this Spark."""
    # Not at the top: a run that leaves slow tests out would show it as skipped.
    pytest.importorskip("delta", reason="delta-spark is not installed; `make test-delta` brings it")
    minor = ".".join(pyspark.__version__.split(".")[:2])
    version = importlib.metadata.version("delta-spark")
    artifact = (
        f"io.delta:delta-spark_2.13:{version}" if minor == "4.0" else f"io.delta:delta-spark_{minor}_2.13:{version}"
    )
    folder: Path | None = jars(f"delta-{version}", artifact)
    if folder is None:
        pytest.skip(f"Maven Central has no {artifact} here")
    return {**DELTA, "spark.jars": ",".join(map(str, sorted(folder.glob("*.jar"))))}


@pytest.fixture(scope="module")
def session(options):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    for name, value in {**options, "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "1"}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    yield spark
    spark.stop()


def test_the_last_change_of_a_key_wins_and_a_repeat_changes_nothing(session, tmp_path):
    from spark_bridge.upserts import to_delta

    path = f"{tmp_path}/table"
    write = to_delta(path)
    schema = "output string, change string, key bigint, inner struct<a: bigint>, `odd-name` string"

    def batch(*changes):
        return session.createDataFrame([("ships", *change) for change in changes], schema).coalesce(1)

    def rows():
        return sorted(map(repr, (tuple(row)[1:] for row in session.read.format("delta").load(path).collect())))

    first = batch(("update", 1, (1,), "a"), ("update", 2, (2,), "b"), ("update", None, None, "c"))
    second = batch(
        ("update", 1, (3,), "d"),
        ("delete", 2, None, None),
        ("delete", 1, None, None),
        ("update", 1, (2**53 + 1,), "e"),
        ("delete", None, None, None),
        ("delete", 9, None, None),
    )
    for _ in range(2):
        write(first, 0)
        assert rows() == ["(1, Row(a=1), 'a')", "(2, Row(a=2), 'b')", "(None, None, 'c')"]
    for _ in range(2):
        write(second, 1)
        assert rows() == [f"(1, Row(a={2**53 + 1}), 'e')"]


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ("v bigint", "v double", "column 'v' .*type double but it is bigint"),
        ("v decimal(5,1)", "v decimal(7,3)", r"column 'v' .*type decimal\(7,3\) but it is decimal\(5,1\)"),
        ("v struct<a:bigint>", "v struct<a:bigint,b:bigint>", "column 'v' .*type struct<a:bigint,b:bigint> but it is"),
        ("v bigint, w string", "v bigint", "there is no field 'w'"),
        ("v bigint", "v bigint, w string", "to have a column 'w' .*ADD COLUMN `w` string"),
    ],
)
def test_a_table_of_other_fields_is_refused_and_left_as_it_is(session, tmp_path, before, now, said):
    from spark_bridge.upserts import to_delta

    def batch_of(fields):
        return session.createDataFrame([], f"{BEGINNING}, {fields}")

    sink = to_delta(tmp_path / "table")
    sink(batch_of(before), 0)
    with pytest.raises(InvalidArgument, match=said):
        sink(batch_of(now), 1)
    had = session.read.format("delta").load(f"{tmp_path}/table").drop("output", "key")
    assert had.schema == session.createDataFrame([], before).schema


@pytest.mark.parametrize("character", " ,;{}()\n\t=")
def test_delta_has_no_names_with_the_characters_that_are_refused(session, tmp_path, character):
    """Or they need not be."""
    from pyspark.errors import AnalysisException

    frame = session.createDataFrame([], "v struct<v: bigint>").withColumnRenamed("v", f"a{character}b")
    with pytest.raises(AnalysisException, match="INVALID_CHARACTERS_IN_COLUMN_NAMES"):
        frame.write.format("delta").save(f"{tmp_path}/table")


def test_two_queries_may_write_into_one_table(session, tmp_path):
    from spark_bridge.upserts import to_delta

    together = Barrier(2)

    def write(output):
        together.wait()
        for number in range(3):
            rows = session.createDataFrame([(output, "update", 1, number)], f"{BEGINNING}, v bigint").coalesce(1)
            to_delta(tmp_path / "table")(rows, number)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, "ab"))
    rows = session.read.format("delta").load(f"{tmp_path}/table").collect()
    assert sorted((row.output, row.v) for row in rows) == [("a", 2), ("b", 2)]


def test_the_rows_are_the_same_whatever_the_driver_died_of(options, tmp_path, monkeypatch):
    monkeypatch.setenv("FAULTS_SPARK_OPTIONS", " ".join(f"{name}={value}" for name, value in options.items()))
    rows, seconds = undisturbed(tmp_path / "undisturbed", "delta")
    assert len(rows["results"]) > 20
    assert disturbed(tmp_path / "disturbed", "delta", "driver", seconds) == rows
