"""Instances: what the declared type of a source's events makes of a row.

The way back of `values`, which writes an enum by its name and a UUID as its text: what a body compares is what it would
in this process. What a column has for any other hint is taken as it is.

Invariant: of what `values` makes of an instance of a type, that type makes an equal one.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import types
import typing
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from cartesius.analysis.lineage import hints_of
from cartesius.data.records import fields_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.data.records import Record
    from spark_bridge.columns.values import Convert


def arguments_of(kind: Any) -> dict[str, str] | None:
    """Return the argument for each field that an attrs class, a dataclass or a named tuple is made of; else None.

    >>> @attrs.frozen
    ... class Berth:
    ...     _id: str
    ...     depth: float
    ...     is_free: bool = attrs.field(init=False, default=True)
    >>> arguments_of(Berth), arguments_of(str)
    ({'_id': 'id', 'depth': 'depth'}, None)
    """
    hints = hints_of(kind)
    if hints is None or attrs.has(kind):
        return hints and {field.name: field.alias for field in attrs.fields(kind) if field.init}
    if dataclasses.is_dataclass(kind):
        return {field.name: field.name for field in dataclasses.fields(kind) if field.init}
    return dict(zip(hints, hints, strict=True))


def instance(kind: Any, record: Record) -> Any:
    """Return an instance of a type made of a record that has its fields, or some of them."""
    converts = _converts(kind)
    there = [(*converts[name], value) for name, value in fields_of(record).items() if name in converts]
    return kind(**{argument: convert(value) for argument, convert, value in there})


@lru_cache(maxsize=256)
def _converts(kind: Any) -> dict[str, tuple[str, Convert]]:
    hints = hints_of(kind) or {}
    return {name: (argument, _converter(hints[name])) for name, argument in (arguments_of(kind) or {}).items()}


def converted(kind: Any) -> list[str]:
    """Return the fields of which an instance of a type has another value than the column."""
    return [name for name, (_, convert) in _converts(kind).items() if convert is not _same]


def _converter(hint: Any) -> Convert:
    """Return the function from what a column has for a hint, None to None."""
    convert = _convert(hint)
    return convert if convert is _same else lambda value: None if value is None else convert(value)


def _convert(hint: Any) -> Convert:
    kind, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (typing.Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        return _converter(members[0]) if len(members) == 1 else _same
    if kind is UUID:
        return UUID
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_member, kind)
    if kind is tuple and arguments and arguments[-1] is not ...:
        return partial(_tuple, [_converter(argument) for argument in arguments])
    if kind in (list, tuple, collections.abc.Sequence):
        make, element = (list if kind is list else tuple), _converter(arguments[0] if arguments else Any)
        return lambda values: make(map(element, values))
    if kind in (dict, collections.abc.Mapping) and arguments:
        to_key, to_value = map(_converter, arguments)
        return lambda record: {to_key(key): to_value(value) for key, value in fields_of(record).items()}
    return _same if arguments_of(kind) is None else partial(instance, kind)


def _tuple(converts: Sequence[Convert], value: tuple[Any, ...] | Record) -> tuple[Any, ...]:
    """Return a tuple of what an array has, or a struct."""
    items = value if isinstance(value, tuple) else fields_of(value).values()
    return tuple(convert(item) for convert, item in zip(converts, items, strict=True))


def _same(value: Any) -> Any:
    return value


def _member(kind: type[Enum], value: Any) -> Enum:
    """Return the member of that name, or else of that value."""
    return kind[value] if value in kind.__members__ else kind(value)
