"""Sinks that keep the newest rows of the program's tables: into PostgreSQL, or into a Delta table.

A row is there by (output, key): an update replaces it, a delete removes it. A micro-batch is one transaction, and the
last change of a key wins in it; so one that comes again after a failure leaves the same rows.

Invariant: what is written depends on the micro-batch alone.
Source: PostgreSQL's ``INSERT … ON CONFLICT``; Delta Lake's ``MERGE``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as t

from cartesius.errors import InvalidArgument
from cartesius.installation import needing
from spark_bridge.transport.envelope import JSON, column, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import Cursor, sql
    from pyspark.sql import Column, DataFrame

    from spark_bridge.running.queries import Sink

_KEY: Final = ("output", "key")
_POSTGRESQL: Final[dict[type[t.DataType], str]] = {
    t.ByteType: "smallint",
    t.ShortType: "smallint",
    t.IntegerType: "integer",
    t.LongType: "bigint",
    t.FloatType: "real",
    t.DoubleType: "double precision",
    t.BooleanType: "boolean",
    t.StringType: "text",
    t.DateType: "date",
    t.TimestampType: "timestamptz",
    t.TimestampNTZType: "timestamp",
    t.BinaryType: "bytea",
}
"""PostgreSQL's types; a decimal is a numeric, and what is nested is jsonb."""

_LONGEST: Final = 63
"""How many bytes of a name PostgreSQL reads."""
_SYSTEM: Final = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
"""The columns that each of its tables has."""
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
    ``jsonb``, unique by (output, key). One transaction a micro-batch, from the driver. Needs PostgreSQL 15 or newer,
    and the library psycopg (``pip install "cartesius-joins[postgresql]"``).

    Args:
        connection: How to connect, as libpq writes it: ``"host=… dbname=…"``, or a URL. A password is better left to
            ``~/.pgpass``, as a checkpoint or a log may show the program.
        table: The table, if need be with its schema: ``"harbour.verdicts"``.

    Raises:
        NotInstalled: There is no psycopg.
        InvalidArgument: Of the sink, not of this: a field cannot be a column, or the table, which was there, lacks it.
    """
    with needing("to_postgresql", "cartesius-joins[postgresql]"):
        import psycopg  # noqa: PLC0415 - only where it is wanted

    def write(batch: DataFrame, _: int) -> None:
        names = [name for name in batch.columns if name != "change"]
        check_postgresql_names(names)
        kinds = [batch.schema[name].dataType for name in names]
        texts = [_text(column(name), kind) for name, kind in zip(names, kinds, strict=True)]
        rows = newest_changes(batch).select(f.col("change") == "delete", *texts)
        with psycopg.connect(connection) as database, database.cursor() as cursor:
            upsert = _Upsert(cursor, table, dict(zip(names, map(postgresql_type, kinds), strict=True)))
            with cursor.copy(upsert.copy) as copy:
                for row in rows.toLocalIterator():
                    copy.write_row(tuple(row))
            upsert.finish()

    return write


def check_postgresql_names(names: Iterable[str]) -> None:
    """Raise if a table of PostgreSQL cannot have columns of these names.

    Raises:
        InvalidArgument: One is that of a column that each table has, or two are the same up to the 63rd byte.
    """
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(_cut(name), name)
        why = (
            "which PostgreSQL has for itself"
            if name in _SYSTEM
            else f"which PostgreSQL cuts at {_LONGEST} bytes, as {other!r}"
            if other != name
            else ""
        )
        if why:
            message = f"to_postgresql: expected fields that can be columns but got {name!r}, {why}; yield another name"
            raise InvalidArgument(message)


def _cut(name: str) -> str:
    return name.encode()[:_LONGEST].decode(errors="ignore")


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
        self._deleted = sql.Identifier(next(name for name in free if name not in columns))
        self._names = [sql.Identifier(name) for name in columns]
        kinds = [sql.SQL(kind) for kind in columns.values()]  # of postgresql_type, from nobody's input
        pair = sql.SQL("{} {}")
        typed = self._joined([pair.format(name, kind) for name, kind in zip(self._names, kinds, strict=True)])
        create = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, UNIQUE NULLS NOT DISTINCT (output, key))")
        cursor.execute(create.format(self._table, typed))
        cursor.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(self._table))
        there = {column.name for column in cursor.description or ()}
        for name, kind in columns.items():
            if _cut(name) not in there:
                add = f"ALTER TABLE {table} ADD COLUMN " + '"' + name.replace('"', '""') + f'" {kind}'
                message = (
                    f"to_postgresql: expected the table {table} to have a column {name!r} but it was made of other"
                    f" fields; add it ({add}), or write into another table"
                )
                raise InvalidArgument(message)
        temporary = sql.SQL("CREATE TEMPORARY TABLE {} ({} boolean, {}) ON COMMIT DROP")
        cursor.execute(temporary.format(self._changes, self._deleted, typed))
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

    def _joined(self, parts: list[sql.Composed] | list[sql.Identifier]) -> sql.Composed:
        return self._sql(", ").join(parts)


def postgresql_type(kind: t.DataType) -> str:
    """Return the type of a column of PostgreSQL.

    >>> from pyspark.sql import types as t
    >>> postgresql_type(t.LongType()), postgresql_type(t.DecimalType(5, 2)), postgresql_type(t.ArrayType(t.LongType()))
    ('bigint', 'numeric(5, 2)', 'jsonb')
    """
    if isinstance(kind, t.DecimalType):
        return f"numeric({kind.precision}, {kind.scale})"
    return "text" if isinstance(kind, t.StringType) else _POSTGRESQL.get(type(kind), "jsonb")


def _text(value: Column, kind: t.DataType) -> Column:
    """Return what PostgreSQL reads as that value, whatever the zone of the session."""
    match kind:
        case t.TimestampType():
            return f.date_format(value, "yyyy-MM-dd HH:mm:ss.SSSSSSXXXXX")
        case t.BinaryType():
            return f.concat(f.lit("\\x"), f.hex(value))
    return value.cast("string") if postgresql_type(kind) != "jsonb" else f.to_json(value, JSON)


def to_delta(path: str) -> Sink:
    """Return a sink that keeps the newest rows in a Delta table, by (output, key).

    >>> from spark_bridge.upserts import to_delta
    >>> frames.start(results=to_delta("out/verdicts"), checkpoint="out/checkpoint")  # doctest: +SKIP

    The table is made if it is not there, with the columns of `Frames.results` but ``change``. One merge a micro-batch.
    Needs the library delta-spark, and a session that is set up for it.

    Args:
        path: The folder of the table.

    Raises:
        NotInstalled: There is no delta-spark.
    """
    with needing("to_delta", "delta-spark"):
        from delta.tables import DeltaTable  # noqa: PLC0415 - only where it is wanted

    def write(batch: DataFrame, _: int) -> None:
        names = [name for name in batch.columns if name != "change"]
        schema = t.StructType([batch.schema[name] for name in names])
        table = DeltaTable.createIfNotExists(batch.sparkSession).location(path).addColumns(schema).execute()
        news = {quoted(name): f"c.{quoted(name)}" for name in names}
        merge = table.alias("t").merge(newest_changes(batch).alias("c"), "t.output = c.output AND t.key <=> c.key")
        merge = merge.whenMatchedDelete("c.change = 'delete'").whenMatchedUpdate(set=news)
        merge.whenNotMatchedInsert("c.change = 'update'", news).execute()

    return write
