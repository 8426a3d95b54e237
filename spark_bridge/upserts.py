"""Sinks that keep the newest rows of the program's tables: into PostgreSQL, or into a Delta table.

A row is there by (output, key): an update replaces it, a delete removes it. A micro-batch is one transaction, and the
last change of a key wins in it; so one that comes again after a failure leaves the same rows.

Invariant: what is written depends on the micro-batch alone, and the table has its fields and types, no other.
Source: PostgreSQL's ``INSERT … ON CONFLICT``; Delta Lake's ``MERGE``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as f
from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from cartesius.installation import needing
from spark_bridge.columns.table_columns import (
    check_columns,
    check_delta_fields,
    check_postgresql_fields,
    postgresql_type,
)
from spark_bridge.columns.written_texts import text_of
from spark_bridge.running.queries import KeyedSink
from spark_bridge.sinks import checked_path, checked_text
from spark_bridge.transport.envelope import column, quoted

if TYPE_CHECKING:
    import os

    from psycopg import Cursor, sql
    from pyspark.sql import Column, DataFrame

    from spark_bridge.running.queries import Sink

_KEY: Final = ("output", "key")
_MAKING: Final = 0x63617274
"""Its lock for those that make a table: ``IF NOT EXISTS`` fails where two do at once."""
_MERGES: Final = 10
"""How often a micro-batch is merged, if other queries change the Delta table meanwhile."""
_NO_TABLE: Final = (
    "expected updates and deletes of a table but there is a change that has no key; write the output as a table, with"
    " as_table, or use to_parquet or to_kafka"
)


def newest_changes(batch: DataFrame) -> DataFrame:
    """Return the last change of each key of a micro-batch; running it fails if an output is no table."""
    is_of_a_table = column("change").isin("update", "delete")
    checked = batch.where(f.when(is_of_a_table, f.lit(True)).otherwise(f.raise_error(f.lit(_NO_TABLE)).cast("boolean")))
    # The rows of one key are in one partition, in order: they are of one bucket.
    row = f.struct(*(column(name) for name in batch.columns)).alias("row")
    placed = checked.select(*_KEY, row, f.monotonically_increasing_id().alias("place"))
    return placed.groupBy(*_KEY).agg(f.max_by("row", "place").alias("row")).select("row.*")


def to_postgresql(connection: str, table: str) -> Sink:
    """Return a sink that keeps the newest rows in a table of PostgreSQL, by (output, key).

    >>> from spark_bridge.upserts import to_postgresql
    >>> frames.start(  # doctest: +SKIP
    ...     results=to_postgresql("dbname=port", "verdicts"), checkpoint="out/checkpoint"
    ... )

    The table is made if it is not there: the columns of `Frames.results` but ``change``, with nested values as
    ``jsonb``, unique by (output, key), null keys too. One that is there is so as well, and has these columns and no
    other but such as PostgreSQL fills itself. One transaction a micro-batch, from the driver. Needs PostgreSQL 15 or
    newer, and the library psycopg (``pip install "cartesius-joins[postgresql]"``).

    Args:
        connection: How to connect, as libpq writes it: ``"host=… dbname=…"``, or a URL. A password is better left to
            ``~/.pgpass``, as a checkpoint or a log may show the program.
        table: The table, if need be with its schema: ``"harbour.verdicts"``.

    Raises:
        NotInstalled: There is no psycopg.
        InvalidArgument: An argument is no text. Or of the sink, not of this: a field cannot be a column; or the table
            has other columns, or one of another type, or may have two rows of one key. Or of `Frames.start`: it is for
            dead letters or late rows, which have no key.
    """
    checked_text("to_postgresql", "connection", connection)
    checked_text("to_postgresql", "table", table)
    with needing("to_postgresql", "cartesius-joins[postgresql]"):
        import psycopg  # noqa: PLC0415 - only where it is wanted

    def write(batch: DataFrame, _: int) -> None:
        names = [name for name in batch.columns if name != "change"]
        schema = t.StructType([batch.schema[name] for name in names])
        check_postgresql_fields(schema)
        kinds = [field.dataType for field in schema]
        texts = [_text(column(name), kind) for name, kind in zip(names, kinds, strict=True)]
        rows = newest_changes(batch).select(f.col("change") == "delete", *texts)
        with psycopg.connect(connection) as database, database.cursor() as cursor:
            upsert = _Upsert(cursor, table, dict(zip(names, map(postgresql_type, kinds), strict=True)))
            with cursor.copy(upsert.copy) as copy:
                for row in rows.toLocalIterator():
                    copy.write_row(tuple(row))
            upsert.finish()

    return KeyedSink("to_postgresql", write)


class _Upsert:
    """The statements of one micro-batch: a temporary table of changes, and what is done with it."""

    def __init__(self, cursor: Cursor[tuple[object, ...]], table: str, columns: dict[str, str]) -> None:
        from psycopg import sql  # noqa: PLC0415 - only where it is wanted

        self._cursor = cursor
        self._sql = sql.SQL
        names = table.split(".")
        self._table = sql.Identifier(*names)
        # Names that are nobody's: a temporary table hides another of its name, a column may be called anything.
        self._changes = sql.Identifier("changes" if names[-1] != "changes" else "changes_of_a_batch")
        free = (f"deleted{'_' * more}" for more in range(len(columns) + 1))
        deleted = next(name for name in free if name not in columns)
        self._deleted = sql.Identifier(deleted)
        self._fields = [*columns]
        self._names = [sql.Identifier(name) for name in columns]
        kinds = [sql.SQL(kind) for kind in columns.values()]  # of postgresql_type, from nobody's input
        pair = sql.SQL("{} {}")
        typed = self._joined([pair.format(name, kind) for name, kind in zip(self._names, kinds, strict=True)])
        temporary = sql.SQL("CREATE TEMPORARY TABLE {} ({} boolean, {}) ON COMMIT DROP")
        cursor.execute(temporary.format(self._changes, self._deleted, typed))
        wanted, there = self._columns(self._changes), self._columns(self._table)
        del wanted[deleted]
        if not there:
            cursor.execute(sql.SQL("SELECT pg_advisory_xact_lock({})").format(sql.Literal(_MAKING)))
            create = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, UNIQUE NULLS NOT DISTINCT (output, key))")
            cursor.execute(create.format(self._table, typed))
            there = self._columns(self._table)
        shown = self._table.as_string(cursor)
        check_columns("to_postgresql", shown, there, wanted, lambda name: sql.Identifier(name).as_string(cursor))
        if not self._is_unique():
            message = (
                f"to_postgresql: expected the table {shown} to be unique by (output, key), also where the key is null,"
                " as a row would be there twice when a micro-batch comes again; make it so (ALTER TABLE"
                f" {shown} ADD UNIQUE NULLS NOT DISTINCT (output, key)), or write into another table"
            )
            raise InvalidArgument(message)
        self.copy = sql.SQL("COPY {} FROM STDIN").format(self._changes)

    def finish(self) -> None:
        """Take the changes over."""
        for same in (self._sql("t.key = c.key"), self._sql("t.key IS NULL AND c.key IS NULL")):  # each by its index
            delete = self._sql("DELETE FROM {} t USING {} c WHERE c.{} AND t.output = c.output AND {}")
            self._cursor.execute(delete.format(self._table, self._changes, self._deleted, same))
        names = self._joined(self._names)
        news = self._joined([self._sql("{0} = EXCLUDED.{0}").format(name) for name in self._names])
        self._cursor.execute(
            self._sql(
                "INSERT INTO {} ({}) SELECT {} FROM {} WHERE NOT {} ON CONFLICT (output, key) DO UPDATE SET {}"
            ).format(self._table, names, names, self._changes, self._deleted, news)
        )

    def _columns(self, table: sql.Identifier) -> dict[str, str]:
        """Return the columns of a table with their types, as PostgreSQL calls these; none if there is no such table.

        What PostgreSQL fills itself, and no field does, is its owner's, and not among them.
        """
        self._cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod)"
            " || CASE WHEN attgenerated <> '' OR attidentity = 'a' THEN ' GENERATED ALWAYS' ELSE '' END"
            " FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
            " AND (attname = ANY(%s) OR NOT atthasdef AND attidentity = '') ORDER BY attnum",
            [table.as_string(self._cursor), self._fields],
        )
        return {str(name): str(kind) for name, kind in self._cursor.fetchall()}

    def _is_unique(self) -> bool:
        """Return whether the table, or what is behind a view, has one row of each (output, key)."""
        self._cursor.execute(
            "SELECT 1 FROM pg_class c WHERE oid = to_regclass(%s) AND (relkind = 'v' OR EXISTS ("
            "SELECT FROM pg_index WHERE indrelid = c.oid AND indisunique AND indimmediate AND indpred IS NULL"
            " AND indnkeyatts = 2 AND (SELECT array_agg(attname::text ORDER BY attname) = '{key,output}'"
            " AND (indnullsnotdistinct OR bool_or(attname = 'key' AND attnotnull))"
            " FROM pg_attribute WHERE attrelid = c.oid AND attnum IN (indkey[0], indkey[1]))))",
            [self._table.as_string(self._cursor)],
        )
        return bool(self._cursor.fetchall())

    def _joined(self, parts: list[sql.Composed] | list[sql.Identifier]) -> sql.Composed:
        return self._sql(", ").join(parts)


def _text(value: Column, kind: t.DataType) -> Column:
    """Return what PostgreSQL reads as that value, whatever the zone of the session."""
    return f.concat(f.lit("\\x"), f.hex(value)) if isinstance(kind, t.BinaryType) else text_of(value, kind)


def to_delta(path: str | os.PathLike[str]) -> Sink:
    """Return a sink that keeps the newest rows in a Delta table, by (output, key).

    >>> from spark_bridge.upserts import to_delta
    >>> frames.start(results=to_delta("out/verdicts"), checkpoint="out/checkpoint")  # doctest: +SKIP

    The table is made if it is not there, with the columns of `Frames.results` but ``change``; one that is there has
    these, and no other. One merge a micro-batch, again if another query has changed the table meanwhile. Needs the
    library delta-spark, and a session that is set up for it.

    Args:
        path: The folder of the table.

    Raises:
        NotInstalled: There is no delta-spark.
        InvalidArgument: It is no path. Or of the sink, not of this: a field cannot be a column, or the key is a map; or
            the table has other columns, or one of another type. Or of `Frames.start`: it is for dead letters or late
            rows, which have no key.
    """
    folder = checked_path("to_delta", path)
    with needing("to_delta", "delta-spark"):
        from delta.tables import DeltaTable  # noqa: PLC0415 - only where it is wanted

    def write(batch: DataFrame, _: int) -> None:
        for left in reversed(range(_MERGES)):
            try:
                return merged(batch)
            except (PySparkException, Py4JJavaError) as error:
                if left == 0 or not is_clash(error):
                    raise

    def merged(batch: DataFrame) -> None:
        names = [name for name in batch.columns if name != "change"]
        schema = t.StructType([batch.schema[name] for name in names])
        check_delta_fields(schema)
        table = DeltaTable.createIfNotExists(batch.sparkSession).location(folder).addColumns(schema).execute()
        spelt = {name.lower(): name for name in names}  # Delta tells no names apart by capitals alone
        there = {spelt.get(field.name.lower(), field.name): field.dataType for field in table.toDF().schema}
        shown = {name: kind.simpleString() for name, kind in there.items()}
        wanted = {field.name: field.dataType.simpleString() for field in schema}
        check_columns("to_delta", f"delta.{quoted(folder)}", shown, wanted, quoted)
        news = {quoted(name): f"c.{quoted(name)}" for name in names}
        merge = table.alias("t").merge(newest_changes(batch).alias("c"), "t.output = c.output AND t.key <=> c.key")
        merge = merge.whenMatchedDelete("c.change = 'delete'").whenMatchedUpdate(set=news)
        merge.whenNotMatchedInsert("c.change = 'update'", news).execute()

    return KeyedSink("to_delta", write)


def is_clash(error: Exception) -> bool:
    """Return whether another query has changed a Delta table while this one wrote into it."""
    # What Delta raises has a class of its own in Python only where `delta.exceptions` has been imported.
    return type(error).__module__.startswith("delta.exceptions") or "io.delta.exceptions." in str(error)
