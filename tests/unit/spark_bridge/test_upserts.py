"""The sinks that keep the newest rows need a client each, which not everybody has installed; here they have fakes.

They are tried with the real ones in tests/brokers.
"""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as t

from cartesius.errors import InvalidArgument, NotInstalled
from spark_bridge import upserts
from spark_bridge.running.queries import check_start
from spark_bridge.upserts import to_delta, to_postgresql


@pytest.mark.parametrize(
    ("sink", "arguments", "module", "requirement"),
    [
        (to_postgresql, ("dbname=port", "verdicts"), "psycopg", "cartesius-joins[postgresql]"),
        (to_delta, ("out/verdicts",), "delta", "delta-spark"),
    ],
)
def test_a_sink_whose_client_is_missing_says_so_before_anything_runs(sink, arguments, module, requirement, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    said = f'{sink.__name__}: expected the package {module} but it is not installed; pip install "{requirement}"'
    with pytest.raises(NotInstalled, match=f"^{re.escape(said)}$"):
        sink(*arguments)


@pytest.mark.parametrize(
    ("make", "arguments", "said"),
    [
        (to_postgresql, (3, "t"), "to_postgresql: expected a text for connection= but got 3"),
        (to_postgresql, ("dbname=port", None), "to_postgresql: expected a text for table= but got None"),
        (to_delta, (None,), "to_delta: expected a text for path= but got None"),
        (to_delta, (" ",), "to_delta: expected a text for path= but got ' '"),
    ],
)
def test_what_names_no_place_is_refused_when_the_sink_is_made(make, arguments, said):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(said)}$"):
        make(*arguments)


@pytest.mark.parametrize(
    ("make", "arguments", "module"),
    [(to_postgresql, ("dbname=port", "t"), "psycopg"), (to_delta, ("out",), "delta.tables")],
)
@pytest.mark.parametrize("share", ["dead", "late"])
def test_what_keeps_rows_by_their_keys_is_refused_for_rows_that_have_none(make, arguments, module, share, monkeypatch):
    client: Any = ModuleType(module)
    client.DeltaTable = None
    monkeypatch.setitem(sys.modules, "delta", ModuleType("delta"))
    monkeypatch.setitem(sys.modules, module, client)
    sink = make(*arguments)
    check_start({"results": sink, "dead": None, "late": None}, "out", None)
    said = f"rows without a key for {share}= but got one of {make.__name__}, .*; use to_parquet or to_kafka, or"
    with pytest.raises(InvalidArgument, match=f"^start: expected a sink that takes {said}"):
        check_start({"results": print, share: sink}, "out", None)


class Cursor:
    """Of psycopg's cursor what the sink needs before it copies rows; it knows the columns of some tables."""

    connection = None

    def __init__(self, adapters, tables):
        self.adapters = adapters
        self.tables = tables
        self.said = []

    def execute(self, statement, values=()):
        text = statement if isinstance(statement, str) else statement.as_string(None)
        self.said.append(text.split(" (")[0])
        if text.startswith("CREATE TABLE"):
            self.tables['"t"'] = {"output": "text", "v": "bigint"}
        self.found = self.tables.get(values[0], {}) if values else {}

    def fetchall(self):
        return list(self.found.items())


def test_a_table_of_postgresql_is_made_under_a_lock_and_one_that_is_there_is_looked_at_alone():
    psycopg = pytest.importorskip("psycopg", reason="the extra postgresql is not installed")
    fields = {"output": "text", "v": "bigint"}
    cursor: Any = Cursor(psycopg.adapters, {'"changes"': {"deleted": "boolean", **fields}})
    upserts._Upsert(cursor, "t", fields)
    lock = cursor.said.index(f"SELECT pg_advisory_xact_lock({upserts._MAKING})")
    assert cursor.said[lock + 1] == 'CREATE TABLE IF NOT EXISTS "t"'
    made = len(cursor.said)
    upserts._Upsert(cursor, "t", fields)
    assert [text.split()[0] for text in cursor.said[made:]] == ["CREATE", "SELECT", "SELECT", "SELECT"]
    cursor.tables['"changes"'] = {"deleted": "boolean", "v": "text"}
    with pytest.raises(
        InvalidArgument, match=r'lumn \'v\' of the table "t" to be of the field\'s type text but it is big'
    ):
        upserts._Upsert(cursor, "t", {"v": "text"})


class Table:
    """Of a Delta table what the sink uses; its merge fails as often as it is told, as another query was first."""

    def __init__(self, schema, clashes, clash):
        self.schema = schema
        self.clashes = clashes
        self.clash = clash
        self.merged = False

    def toDF(self):
        return SimpleNamespace(schema=self.schema)

    def whenNotMatchedInsert(self, *_):
        return SimpleNamespace(execute=self.finish)

    def finish(self):
        self.clashes -= 1
        if self.clashes >= 0:
            raise self.clash
        self.merged = True

    def __getattr__(self, _):
        return lambda *_, **__: self


class ConcurrentAppendException(PySparkException):
    """As Delta's."""


def delta_sink(monkeypatch, table):
    module: Any = ModuleType("delta.tables")
    module.DeltaTable = table
    monkeypatch.setitem(sys.modules, "delta", ModuleType("delta"))
    monkeypatch.setitem(sys.modules, "delta.tables", module)
    monkeypatch.setattr(upserts, "newest_changes", lambda batch: batch)
    return to_delta(Path("out/verdicts"))


SCHEMA = t.StructType([t.StructField(name, t.StringType()) for name in ("output", "key", "v")])
BATCH = SimpleNamespace(columns=["change", *SCHEMA.names], schema=SCHEMA, sparkSession=None, alias=lambda _: None)


@pytest.mark.parametrize("is_captured", [True, False])
def test_a_merge_that_another_query_was_before_is_made_again_some_times(monkeypatch, is_captured):
    clash = ConcurrentAppendException("io.delta.exceptions.ConcurrentAppendException: Files were added")
    if is_captured:  # as where delta.exceptions has been imported
        clash = ConcurrentAppendException("Files were added")
        monkeypatch.setattr(ConcurrentAppendException, "__module__", "delta.exceptions.captured")
    table = Table(SCHEMA, 3, clash)
    delta_sink(monkeypatch, table)(BATCH, 0)
    assert table.merged
    with pytest.raises(ConcurrentAppendException):
        delta_sink(monkeypatch, Table(SCHEMA, 1_000, clash))(BATCH, 0)


def test_what_else_a_merge_fails_of_is_raised_at_once(monkeypatch):
    table = Table(SCHEMA, 1, PySparkException("no space left"))
    with pytest.raises(PySparkException, match="no space left"):
        delta_sink(monkeypatch, table)(BATCH, 0)
    assert not table.merged


def test_a_delta_table_of_other_fields_is_refused_and_capitals_tell_none_apart(monkeypatch):
    there = [SCHEMA["output"], SCHEMA["key"]]
    for fields, said in [
        ([], r"table delta\.`out/verdicts` to have a column 'v' .*delta\.`out/verdicts` ADD COLUMN `v` string"),
        ([t.StructField("v", t.LongType())], "column 'v' .*type string but it is bigint"),
        ([t.StructField("V", t.StringType()), t.StructField("w", t.LongType())], "there is no field 'w'"),
    ]:
        table = Table(t.StructType([*there, *fields]), 0, None)
        with pytest.raises(InvalidArgument, match=said):
            delta_sink(monkeypatch, table)(BATCH, 0)
        assert not table.merged
