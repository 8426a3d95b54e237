"""Schemas of results: derived from a declared type or from a traced ``yields``, or given by the caller.

The fields of a value become columns beside the bridge's own; each may be null. Types that cannot be told are refused at
once, naming the field: a wrong guess would show only when the first result comes.

This module is over 300 lines because the type of a value is told of those of its parts, in one walk over origins.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

import collections.abc
import operator
import types
import typing
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

import attrs
from pyspark.sql import types as t

from cartesius.analysis.frame_reads import column_names
from cartesius.analysis.lineage import (
    Column,
    Composed,
    Computed,
    InPattern,
    OneOf,
    Typed,
    hints_of,
    key_of,
    origin,
    value_of,
)
from cartesius.data.events import Window
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import (
    Apply,
    Constant,
    Expression,
    Field,
    Fields,
    IsMissing,
    TimeOf,
    Tuple,
    WindowOf,
    show,
)
from spark_bridge.columns.computed_types import WHOLE, computed_type, is_computing, is_truth, item_type
from spark_bridge.columns.values import check_supported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.analysis.lineage import Origin, Scope
    from cartesius.language.reactives import Reactive

RESERVED: Final = ("output", "change", "key", "start", "end")
"""The bridge's own columns of a result; Spark does not tell them from the same in capitals."""

_SPAN: Final = t.StructType([t.StructField(name, t.LongType()) for name in ("start", "end")])
PLAIN: Final[dict[Any, t.DataType]] = {
    str: t.StringType(),
    bool: t.BooleanType(),
    int: t.LongType(),
    float: t.DoubleType(),
    bytes: t.BinaryType(),
    datetime: t.TimestampType(),
    date: t.DateType(),
    Decimal: t.DecimalType(38, 18),
    UUID: t.StringType(),
    Window: _SPAN,
}


class _Unknown(Exception):
    """No type can be told; its text says for what, and why."""


@attrs.frozen
class ResultSchema:
    """How the results of one output look.

    Args:
        value: The value's fields; what a row is made of.
        key: The type of the table's key; a null string for an output that is no table.
        is_row: Whether the value has fields; otherwise it is the one field ``value`` itself, or, where that is neither
            a record nor a map, may be a mapping with it.
        key_field: The field of the value that is the table's key, and so becomes no column of its own.
    """

    value: t.StructType
    key: t.DataType
    is_row: bool = True
    key_field: str | None = None


def result_schema(
    output: Reactive,
    name: str,
    frames: Mapping[str, t.StructType],
    given: t.StructType | None = None,
    keys: Mapping[str, t.StructType] | None = None,
) -> ResultSchema:
    """Return the schema of the results of ``output``.

    Args:
        output: An output of the program.
        name: What it is called there.
        frames: The fields of each source's events, by the source's name.
        given: The value's fields, from the caller; None: derive them.
        keys: The columns among which a table's key is; by default those fields.

    Raises:
        InvalidArgument: A type cannot be told, or a field has the name of one of the bridge's columns.
    """
    try:
        key = _key_type(output, frames if keys is None else keys)
    except _Unknown as reason:
        message = f"correlate_frames: cannot tell the type of the key of {name!r}: {reason}; use a slot as its key"
        raise InvalidArgument(message) from None
    if given is not None:
        found = value_of(output)
        value, is_row = given, given.names != ["value"] or _is_row(found, frames)
        key_field = _key_field(found, output)
        _check_given(given, found, key_field, name)
    else:
        try:
            found = value_of(output)
            if found is None and output.pattern is not None:
                raise _Unknown(output.pattern.untraced[0] if output.pattern.untraced else "its body does not trace")
            value, is_row = _fields(found, frames)
            key_field = _key_field(found, output)
        except (_Unknown, NameError) as reason:
            message = (
                f"correlate_frames: cannot tell the schema of the results of {name!r}: {reason}; give the fields of the"
                ' value as schema="field type, …" (DDL) or a StructType, or declare type= on the correlation'
            )
            raise InvalidArgument(message) from None
    check_supported(value, name, "correlate_frames")
    clashes = [field for field in value.names if field.lower() in RESERVED and field != key_field]
    if clashes:
        message = (
            f"correlate_frames: expected results of {name!r} whose fields differ from the bridge's own columns"
            f" ({', '.join(RESERVED)}) but one is called {clashes[0]!r}; yield it under another name"
        )
        raise InvalidArgument(message)
    return ResultSchema(value, key, is_row, key_field)


def _check_given(given: t.StructType, found: Origin | None, key_field: str | None, name: str) -> None:
    """Refuse a schema that has fewer fields than are yielded, or more, as far as that is known."""
    match found:
        case Composed(expression=Tuple(items=items)) if len(items) != len(given):
            what, written = f"tuples of {len(items)}", ", ".join(column_names(found.expression))
        case Composed(expression=Fields(names=names)):
            yielded = [str(one) for one in names if one != key_field]
            if sorted(yielded) == sorted(one for one in given.names if one != key_field):
                return
            what, written = f"the fields {', '.join(yielded)}", ", ".join(yielded)
        case Typed(hint=hint) if (hints := hints_of(hint)) is not None and sorted(hints) != sorted(given.names):
            what, written = f"the fields {', '.join(hints)}", ", ".join(hints)
        case _:
            return
    message = (
        f"correlate_frames: expected schema= for the results of {name!r} to have what is yielded, {what}, but it has"
        f" {', '.join(given.names) or 'nothing'}; write a type for each of: {written}"
    )
    raise InvalidArgument(message)


def _is_row(found: Origin | None, frames: Mapping[str, t.StructType]) -> bool:
    """Whether a value is known to have fields."""
    if isinstance(found, Composed):
        return True
    try:
        return _fields(found, frames)[1]
    except (_Unknown, NameError):
        return False


def _fields(found: Origin | None, frames: Mapping[str, t.StructType]) -> tuple[t.StructType, bool]:
    kind = _type_of(found, frames, "the value")
    if isinstance(kind, t.StructType):
        return kind, True
    return t.StructType([t.StructField("value", kind)]), False


def _key_type(output: Reactive, frames: Mapping[str, t.StructType]) -> t.DataType:
    if not output.table:
        return t.StringType()
    if output.pattern is None and not isinstance(output.key, str):
        return t.StringType()  # a table of one row: its key is empty
    found = key_of(output)
    if found is None:
        reason = "its key is computed by a function that does not trace, or is that of a table of one row"
        raise _Unknown(reason)
    return _type_of(found, frames, "the key")


def _key_field(found: Origin | None, output: Reactive) -> str | None:
    """Return ``key`` if that field of the value is the table's key."""
    key = key_of(output) if output.table else None
    if key is None:
        return None
    match found:
        case Composed(expression=expression, scope=scope):
            names = column_names(expression)
            if "key" in names and origin(expression.items[names.index("key")], scope) == key:
                return "key"
        case Column(reactive=reactive) if key == Column(reactive, (*found.path, "key")):
            return "key"
    return None


def _type_of(found: Origin | None, frames: Mapping[str, t.StructType], path: str) -> t.DataType:
    match found:
        case Column(reactive=reactive, path=steps):
            kind: t.DataType = frames[reactive.name]
            for step in steps:
                inner = item_type(kind, step)
                if inner is None:
                    message = f"there is no field {step!r} in the frame of {reactive.name!r}"
                    raise _Unknown(message)
                kind = inner
            return kind
        case Typed(hint=hint):
            return _type_of_hint(hint, path)
        case OneOf(origins=origins):
            return _common([_type_of(one, frames, path) for one in origins], path)
        case Composed(expression=expression, scope=scope):
            names = column_names(expression)
            return t.StructType(
                [
                    t.StructField(name, _type_of(origin(item, scope), frames, name))
                    for name, item in zip(names, expression.items, strict=True)
                ]
            )
        case Computed(expression=expression, scope=scope):
            return _type_of_computed(expression, scope, frames, path)
    message = f"{path} comes from a body that does not trace"
    raise _Unknown(message)


def _common(kinds: list[t.DataType], path: str) -> t.DataType:
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(isinstance(kind, WHOLE) for kind in kinds):
        return t.LongType()
    message = f"{path} is of the types {' and '.join(kind.simpleString() for kind in kinds)}"
    raise _Unknown(message)


def _type_of_computed(
    expression: Expression, scope: Scope, frames: Mapping[str, t.StructType], path: str
) -> t.DataType:
    match expression:
        case Constant(value=value) if type(value) in PLAIN:
            return PLAIN[type(value)]
        case TimeOf(slot=slot) if isinstance(scope, InPattern) and slot in scope.pattern.lists:
            return t.ArrayType(_SPAN)
        case TimeOf() | WindowOf():
            return _SPAN
        case (
            Field(target=target, name=name) | Apply(function=operator.getitem, arguments=(target, Constant(value=name)))
        ):
            item = item_type(_type_of(origin(target, scope), frames, path), name)
            if item is not None:
                return item
        case IsMissing():
            return t.BooleanType()
        case Apply(function=function) if is_truth(function):
            return t.BooleanType()
        case Apply(function=function, arguments=arguments) if is_computing(function):
            there = [origin(one, scope) for one in arguments if one != Constant(None)]
            kind = computed_type(function, [_type_of(one, frames, path) for one in there])
            if kind is not None:
                return kind
    message = f"{path} is computed, as {show(expression)}"
    raise _Unknown(message)


def _type_of_hint(hint: Any, path: str) -> t.DataType:
    """Return the type of a Python type; raise `_Unknown`, naming ``path``, if it has none."""
    if hint in PLAIN:
        return PLAIN[hint]
    kind, arguments = typing.get_origin(hint), typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        return _type_of_union([a for a in arguments if a is not type(None)], path)
    if kind is Literal:
        return _type_of_union(list(dict.fromkeys(map(type, arguments))), path)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return t.StringType()
    if kind is tuple and arguments and arguments[-1] is not ...:
        fields = [(f"_{place}", argument) for place, argument in enumerate(arguments, start=1)]
        return t.StructType([t.StructField(name, _type_of_hint(a, f"{path}.{name}")) for name, a in fields])
    if kind in (tuple, list, collections.abc.Sequence) and arguments:
        return t.ArrayType(_type_of_hint(arguments[0], f"{path}[]"))
    if kind in (dict, collections.abc.Mapping) and arguments:
        return t.MapType(_type_of_hint(arguments[0], f"{path}.key"), _type_of_hint(arguments[1], f"{path}.value"))
    fields_of = hints_of(hint)
    if fields_of is None:
        message = f"{path} is declared as {getattr(hint, '__name__', hint)!s}, which has no counterpart in Spark"
        raise _Unknown(message)
    return t.StructType([t.StructField(name, _type_of_hint(h, f"{path}.{name}")) for name, h in fields_of.items()])


def _type_of_union(members: list[Any], path: str) -> t.DataType:
    """Return the one type of the members; several become text: a string as it is, anything else as JSON."""
    kinds = [_type_of_hint(member, path) for member in members]
    return kinds[0] if all(kind == kinds[0] for kind in kinds) else t.StringType()
