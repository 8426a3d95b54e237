"""Sources: the frames of a program, checked against its inputs before anything runs.

Every message names the source and the column, and the near names.

The texts of programs that follow the first one of a query travel as the rows of a source do, to every bucket, and are
used before the rows of their micro-batch; so Spark's offsets say which text is in force when, and a micro-batch that
comes again has the same. Their times are theirs alone: they neither wait for the watermark nor move it.

Invariant: texts of one micro-batch are used in the order of (time, text).

Source: Carbone et al., Apache Flink (2015), where a stream that is broadcast may change the state of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from pyspark.sql import types as t

from cartesius.analysis.partitioning import ANYHOW
from cartesius.data.records import TAKEN, taken
from cartesius.errors import InvalidArgument, near
from cartesius.language.reactives import UNDECLARED
from spark_bridge.columns.instances import arguments_of
from spark_bridge.columns.values import check_supported, nullable
from spark_bridge.transport.arrivals import Input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame

    from cartesius import Reactive

KEY_TYPES: Final = (
    t.StringType,
    t.IntegralType,
    t.BooleanType,
    t.DateType,
    t.TimestampType,
    t.DecimalType,
    t.BinaryType,
)
"""The types that rows are spread over buckets by."""
_CASE: Final = "spark.sql.caseSensitive"


@attrs.frozen(eq=False)
class Source:
    """One frame and what its columns are.

    Args:
        number: Its place in the caller's mapping.
        frame: The DataFrame.
        event_time: The column of the event times, a timestamp; None: its rows are there before all time.
        sequence: The column that gives the arrival order, or None.
        partition: The column that its rows are split by, or `ANYHOW`, by all of them, or None.
        needed: The columns that must not be null, and what each is.
        input: How its rows become events.
    """

    number: int
    frame: DataFrame
    event_time: str | None
    sequence: str | None
    partition: str | None
    needed: Mapping[str, str]
    input: Input


def make_source(
    number: int,
    name: str,
    frame: DataFrame,
    reactive: Reactive,
    *,
    event_time: str,
    is_static: bool = False,
    sequence: str | None,
    partition: str | None,
    deleted: str | None,
) -> Source:
    """Check one frame against the input that it is bound to.

    Raises:
        InvalidArgument: A column is missing, there twice, of the wrong type, or has a name that no field can have; or a
            table declares no key.
    """
    columns: t.StructType = nullable(frame.schema)
    _check_names(frame, columns.names, name)
    if not is_static:
        expected = 'a timestamp; cast it: f.col(…).cast("timestamp_ltz")'
        _check_column(columns, name, event_time, "event_time", (t.TimestampType,), expected)
    if sequence is not None:
        _check_column(columns, name, sequence, "sequence", (t.IntegralType,), "a whole number")
    if deleted is not None:
        _check_column(columns, name, deleted, "deleted", (t.BooleanType,), "a Boolean")
    if partition is not None and partition != ANYHOW:
        _check_column(columns, name, partition, "partition_by", KEY_TYPES, "a text, a whole number, or a date")
    fields = value_schema(columns, name, reactive, (event_time, sequence, deleted)).names
    key = None
    if reactive.table:
        key = table_key(name, reactive)
        if key is not None:
            _check_there(columns, name, key, "the key")
    carried = list(dict.fromkeys([*fields, *([] if key is None else [key]), *([] if deleted is None else [deleted])]))
    schema = t.StructType([columns[column] for column in carried])
    check_supported(schema, name, "correlate_frames")
    if not TAKEN.isdisjoint(names := list(_names(t.StructType([columns[field] for field in fields])))):
        message = f"correlate_frames: of {name!r}, {taken(names)}"
        raise InvalidArgument(message)
    needed: dict[str, str] = {}
    for helper, what in ((sequence, "sequence"), (key, "key")):
        if helper is not None:
            needed.setdefault(helper, what)
    is_split = partition is not None
    return Source(
        number,
        frame,
        None if is_static else event_time,
        sequence,
        partition,
        needed,
        Input(name, schema, tuple(fields), reactive.table, key, deleted, reactive.type, is_split),
    )


def _check_names(frame: DataFrame, columns: list[str], name: str) -> None:
    for column in columns:
        if columns.count(column) > 1:
            message = f"correlate_frames: expected columns of different names in {name!r} but {column!r} is there twice"
            raise InvalidArgument(message)
    check_told_apart(columns, frame, f"columns in {name!r}")


def check_told_apart(names: list[str], frame: DataFrame, what: str) -> None:
    """Refuse names that the session of a frame does not tell apart."""
    lower = [name.lower() for name in names]
    for name in names:
        if lower.count(name.lower()) > 1 and frame.sparkSession.conf.get(_CASE, "false") != "true":
            alike = ", ".join(repr(one) for one in names if one.lower() == name.lower())
            message = (
                f"correlate_frames: expected {what} whose names differ in more than capitals but got {alike}, which"
                f" Spark takes for one unless {_CASE} is true; rename one"
            )
            raise InvalidArgument(message)


def value_schema(columns: t.StructType, name: str, reactive: Reactive, helpers: Iterable[str | None]) -> t.StructType:
    """Return the columns that are the value of an event; raise `InvalidArgument` if one that is declared is missing."""
    wanted = list(reactive.fields or arguments_of(reactive.type) or ())
    for field in wanted:
        _check_there(columns, name, field, "a field")
    unused = tuple(helpers)
    return t.StructType([columns[field] for field in wanted or [c for c in columns.names if c not in unused]])


def table_key(name: str, reactive: Reactive) -> str | None:
    """Return the column of a table's key, or None if it has one row; raise `InvalidArgument` if it does not say."""
    if reactive.key is None or isinstance(reactive.key, str):
        return reactive.key
    shown = "declares none" if reactive.key is UNDECLARED else f"got key={reactive.key!r}"
    message = (
        f"correlate_frames: expected a table with a declared key for {name!r}, which {shown};"
        f' write Reactive({name!r}, table=True, key="column")'
    )
    raise InvalidArgument(message)


def _names(kind: t.DataType) -> Iterator[str]:
    """Iterate over the names of all fields of a type."""
    match kind:
        case t.StructType():
            yield from kind.names
            for field in kind:
                yield from _names(field.dataType)
        case t.ArrayType():
            yield from _names(kind.elementType)
        case t.MapType():
            yield from _names(kind.valueType)


def _check_there(columns: t.StructType, name: str, column: str, what: str) -> None:
    if column not in columns.names:
        message = (
            f"correlate_frames: expected the frame of {name!r} to have the column {column!r} ({what}) but it has"
            f" {', '.join(columns.names)}{near(column, columns.names)}"
        )
        raise InvalidArgument(message)


def _check_column(
    columns: t.StructType, name: str, column: str, what: str, kinds: tuple[Any, ...], expected: str
) -> None:
    _check_there(columns, name, column, what)
    kind = columns[column].dataType
    if not isinstance(kind, kinds):
        message = (
            f"correlate_frames: expected {what}={column!r} of {name!r} to be {expected}, but it is"
            f" of type {kind.simpleString()}"
        )
        raise InvalidArgument(message)


TEXT: Final = "text"
"""The column of the text."""
_AT: Final = "at"
CHANGES: Final = Input(
    "changes", t.StructType([t.StructField(_AT, t.TimestampType()), t.StructField(TEXT, t.StringType())]), (TEXT,)
)
"""How changes are told of where they cannot be used."""


def change_source(frame: Any, number: int, event_time: str) -> Source:
    """Return a frame of changes as a source.

    Args:
        frame: The frame.
        number: The place after all sources.
        event_time: The column that says when a change was made.

    Raises:
        InvalidArgument: It is no stream, or has not the columns.
    """
    if not hasattr(type(frame), "schema") or not frame.isStreaming:
        message = f"correlate_frames: expected a streaming DataFrame of texts but got changes={frame!r}"
        raise InvalidArgument(message)
    for name, kind in ((event_time, t.TimestampType), (TEXT, t.StringType)):
        found = {field.name: field.dataType for field in frame.schema}.get(name)
        if not isinstance(found, kind):
            got = "has none" if found is None else f"is {found.simpleString()}"
            message = (
                f"correlate_frames: expected changes= to have a column {name!r} of type {kind().simpleString()} but it"
                f" {got}{near(name, frame.schema.names)}"
            )
            raise InvalidArgument(message)
    renamed: DataFrame = frame.selectExpr(f"`{event_time}` AS {_AT}", TEXT)
    needed = {_AT: "time", TEXT: "text"}
    return Source(number, renamed, None, None, None, needed, CHANGES)
