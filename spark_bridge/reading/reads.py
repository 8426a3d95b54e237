"""Reads: what a program reads of frames of Spark, each column and its type, checked before anything runs.

`cartesius.analysis.frame_reads` does it; here are Spark's types, and how a column is cast there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import types as t

from cartesius.analysis import frame_reads
from cartesius.analysis.frame_reads import Frames, ValueType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.language.reactives import Reactive

_GROUPS: Final = (
    ("a number", (t.NumericType, t.BooleanType)),
    ("a text", (t.StringType,)),
    ("bytes", (t.BinaryType,)),
    ("a date", (t.DateType,)),
    ("a time", (t.TimestampType,)),
    ("a local time", (t.TimestampNTZType,)),
)


def check_reads(
    outputs: tuple[Reactive, ...], values: Mapping[str, t.StructType], columns: Mapping[str, t.StructType]
) -> None:
    """Refuse frames that have not what a program reads.

    >>> from cartesius import Reactive
    >>> from pyspark.sql import types as t
    >>> from restrictions.streams import map_
    >>> from spark_bridge.reading.reads import check_reads
    >>> frames = {"ship": t.StructType([t.StructField("draft", t.DoubleType())])}
    >>> check_reads((map_(Reactive("ship"), lambda ship: ship.draft),), frames, frames)

    Args:
        outputs: The program.
        values: The fields of each source's events, by the source's name.
        columns: All columns of its frame; a table's key is among them.

    Raises:
        InvalidArgument: A column is not there, or of a type that does not fit the other one; both are named.
    """
    of_values = {name: _value_type(kind) for name, kind in values.items()}
    of_columns = {name: _value_type(kind).fields or {} for name, kind in columns.items()}
    frame_reads.check_reads(outputs, Frames("correlate_frames", of_values, of_columns, _cast))


def _value_type(kind: t.DataType) -> ValueType:
    group = next((name for name, kinds in _GROUPS if isinstance(kind, kinds)), "")
    fields = {field.name: _value_type(field.dataType) for field in kind} if isinstance(kind, t.StructType) else None
    return ValueType(group, kind.simpleString(), fields)


def _cast(source: str, column: str, kind: str) -> str:
    frame = f'frames["{source}"]'
    return f'write {frame} = {frame}.withColumn("{column}", f.col("{column}").cast("{kind}"))'
