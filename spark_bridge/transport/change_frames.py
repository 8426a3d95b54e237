"""Change frames: the texts of programs that follow the first one of a query, as rows of a stream.

They travel as the rows of a source do, to every bucket, and are used before the rows of their micro-batch; so Spark's
offsets say which text is in force when, and a micro-batch that comes again has the same. Their times are theirs alone:
they neither wait for the watermark nor move it.

Invariant: texts of one micro-batch are used in the order of (time, text).

Source: Carbone et al., Apache Flink (2015), where a stream that is broadcast may change the state of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as t

from cartesius.errors import InvalidArgument, near
from spark_bridge.transport.arrivals import Input
from spark_bridge.transport.source_frames import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    return Source(number, renamed, None, None, None, CHANGES.schema, needed, CHANGES)
