"""Demands: what the frames of a query demand of its program, and what the program then gives.

It is asked of the program that a query begins with, and, where that can change while it runs, of each that is to follow
it: by a worker, which has the program as a text, and decides alike in every bucket. What it reads of frames, each
column and its type, is checked by `cartesius.analysis.frame_reads`; here are Spark's types, and how a column is cast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
from pyspark.sql import types as t

from cartesius.analysis import frame_reads
from cartesius.analysis.frame_reads import Frames, ValueType
from cartesius.analysis.lineage import derived
from cartesius.analysis.partitioning import Partitioning
from cartesius.batching.world import World
from cartesius.core.engine_core import MICROSECOND
from cartesius.errors import InvalidArgument
from cartesius.programs.programs import Program
from spark_bridge.columns.instances import converted
from spark_bridge.columns.payloads import has_type
from spark_bridge.columns.schemas import result_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Reactive
    from spark_bridge.columns.schemas import ResultSchema

_GROUPS: Final = (
    ("a number", (t.NumericType, t.BooleanType)),
    ("a text", (t.StringType,)),
    ("bytes", (t.BinaryType,)),
    ("a date", (t.DateType,)),
    ("a time", (t.TimestampType,)),
    ("a local time", (t.TimestampNTZType,)),
    ("a record", (t.StructType,)),
    ("a list", (t.ArrayType,)),
)


def check_reads(
    outputs: tuple[Reactive, ...], values: Mapping[str, t.StructType], columns: Mapping[str, t.StructType]
) -> None:
    """Refuse frames that have not what a program reads.

    >>> from cartesius import Reactive
    >>> from pyspark.sql import types as t
    >>> from restrictions.streams import map_
    >>> from spark_bridge.reading.demands import check_reads
    >>> frames = {"ship": t.StructType([t.StructField("draft", t.DoubleType())])}
    >>> check_reads((map_(Reactive("ship"), lambda ship: ship.draft),), frames, frames)

    Args:
        outputs: The program.
        values: The fields of each source's events, by the source's name.
        columns: All columns of its frame; a table's key is among them.

    Raises:
        InvalidArgument: A column is not there, or of a type that does not fit the other one; both are named.
    """
    types = {one.name: one.type for each in derived(outputs) if each.pattern for one in each.pattern.slots.values()}
    of_values = {name: _told(_value_type(kind), types.get(name)) for name, kind in values.items()}
    of_columns = {name: _value_type(kind).fields or {} for name, kind in columns.items()}
    frame_reads.check_reads(outputs, Frames("correlate_frames", of_values, of_columns, _cast, tuple, are_typed=True))


def _told(columns: ValueType, kind: Any) -> ValueType:
    """Return what is told of payloads made of columns: not the type of a field that is another value in an instance."""
    unlike = dict.fromkeys(converted(kind), ValueType("", ""))
    return attrs.evolve(columns, fields={**(columns.fields or {}), **unlike})


def _value_type(kind: t.DataType) -> ValueType:
    group = next((name for name, kinds in _GROUPS if isinstance(kind, kinds)), "")
    fields = {field.name: _value_type(field.dataType) for field in kind} if isinstance(kind, t.StructType) else None
    return ValueType(group, kind.simpleString(), fields, has_type(kind, (t.StructType, t.MapType)))


def _cast(source: str, column: str, kind: str) -> str:
    frame = f'frames["{source}"]'
    return f'write {frame} = {frame}.withColumn("{column}", f.col("{column}").cast("{kind}"))'


def described(outputs: tuple[Reactive, ...]) -> Program:
    """Return a program that is asked about, and never runs."""
    program = Program(outputs, World(MICROSECOND))
    program.drop()
    return program


@attrs.frozen
class Demands:
    """The frames of a query, as far as its program has to fit them.

    Args:
        values: The fields of each source's events, by the source's name.
        columns: All columns of its frame.
        given: What the caller says of the fields of results, by output.
        split: The column by which each source is spread over several buckets.
        in_order: As for `Partitioning`.
    """

    values: Mapping[str, t.StructType]
    columns: Mapping[str, t.StructType]
    given: Mapping[str, t.StructType]
    split: Mapping[str, str]
    in_order: bool

    def met(self, program: Program) -> tuple[Mapping[str, ResultSchema], frozenset[str]]:
        """Return how the results of each output look, and those whose results come out of every bucket alike.

        Raises:
            InvalidArgument: Its rows cannot be spread like this, or the types of its results cannot be told.
        """
        outputs = program.outputs
        split = self._partitioning(program)
        for name in self.columns:
            split.check_table(program.inputs[name])
        names = [program.names[output] for output in outputs]
        schemas = {
            name: result_schema(output, name, self.values, self.given.get(name), self.columns)
            for name, output in zip(names, outputs, strict=True)
        }
        everywhere = frozenset(
            name for name, output in zip(names, outputs, strict=True) if self.split and not split.is_split(output)
        )
        return schemas, everywhere

    def _partitioning(self, program: Program) -> Partitioning:
        return Partitioning(program.outputs, self.split, in_order=self.in_order)

    def alike(self, program: Program) -> frozenset[str]:
        """Return the names under which events come that every bucket has alike."""
        split = self._partitioning(program)
        names = {name: reactive for reactive, name in program.names.items()}
        names |= {join.name: reactive for reactive, join in program.join_of.items()}
        return frozenset(name for name, reactive in names.items() if not split.is_split(reactive))

    def check_follows(self, outputs: tuple[Reactive, ...], before: tuple[Reactive, ...]) -> None:
        """Check that a program reads what there is, and gives what another one gave, at the same places.

        Raises:
            InvalidArgument: It does not.
        """
        check_reads(outputs, self.values, self.columns)
        found, wanted = (self.met(described(one)) for one in (outputs, before))
        if found != wanted:
            message = "correlate_frames: expected changed rules with results of the same types, but they have others"
            raise InvalidArgument(message)
