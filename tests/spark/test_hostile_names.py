"""Fields of results may be called anything: sinks take their names for names, whatever characters these have.

PostgreSQL's sink is tried at a real server, in tests/brokers/test_postgresql.py.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import functions as f

from cartesius.errors import InvalidArgument
from spark_bridge.sinks import to_kafka, to_parquet
from spark_bridge.upserts import to_delta

ODD = ("`", "a.b", "row", "place", "value", "deleted", "'x\"y'", "naïve")
HOSTILE = ("a`; DROP TABLE x; --", "`", "a.b", "row", "place", "value", "deleted", "{0} %s 'x' \"y\"", "naïve name")


@pytest.fixture
def batch(spark):
    changes = [("update", 1, "x"), ("update", 2, "y"), ("delete", 1, None)]
    rows = [("ships", change, key, *([text] * len(HOSTILE))) for change, key, text in changes]
    columns = ", ".join(f"`{name.replace('`', '``')}` string" for name in HOSTILE)
    return spark.createDataFrame(rows, f"output string, change string, key bigint, {columns}").coalesce(1)


class Table:
    """Of a Delta table what the sink uses: it evaluates what it is told to insert."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def addColumns(self, schema):
        self.schema = schema
        return self

    def toDF(self):
        return self

    def merge(self, source, _):
        self.source = source
        return self

    def whenMatchedDelete(self, _):
        return self

    def whenMatchedUpdate(self, **_):
        return self

    def whenNotMatchedInsert(self, _, values):
        self.rows = self.source.where("change = 'update'").select(*map(f.expr, values.values())).collect()
        self.source.select(*map(f.expr, values))  # each name is that of a column
        return self

    def __getattr__(self, _):  # createIfNotExists(…).location(…).execute(), alias(…)
        return lambda *_: self


def test_names_are_nothing_but_names(batch, tmp_path, monkeypatch):
    delta: Any = ModuleType("delta.tables")
    delta.DeltaTable = Table()
    monkeypatch.setitem(sys.modules, "delta", ModuleType("delta"))
    monkeypatch.setitem(sys.modules, "delta.tables", delta)
    with pytest.raises(InvalidArgument, match="to_delta: expected fields that can be columns but got 'a`; DROP"):
        to_delta("nowhere")(batch, 0)
    odd = batch.toDF("output", "change", "key", *ODD, "last")
    to_delta("nowhere")(odd, 0)
    assert [tuple(row) for row in delta.DeltaTable.rows] == [("ships", 2, *(["y"] * len(HOSTILE)))]

    to_parquet(f"{tmp_path}/files")(batch, 0)
    found = batch.sparkSession.read.parquet(f"{tmp_path}/files")
    assert found.columns == [*batch.columns, "batch"]
    assert sorted(map(tuple, found.drop("batch").collect())) == sorted(map(tuple, batch.collect()))
    with pytest.raises(InvalidArgument, match=r"without a field 'batch', .* but there is 'Batch'"):
        to_parquet(f"{tmp_path}/hidden")(batch.withColumnRenamed("value", "Batch"), 0)

    sent: list[Any] = []  # instead of to a broker
    with mock.patch.object(type(batch), "write", property(lambda records: mock.MagicMock(told=sent.append(records)))):
        to_kafka("nobody", "topic")(batch, 0)
    (records,) = sent
    assert sorted(row.headers[2].value.decode() for row in records.collect()) == ["0-1", "0-1", "0-2"]
