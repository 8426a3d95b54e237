"""Conversions: Python values as vectors, exactly; where Arrow has no one type for them, as texts of plain data."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.vectors import DICT, MISSING, PACKED, RECORD, TUPLE, Leaf, NotColumnar, Struct, packed
from cartesius.data.events import Interval, Window
from cartesius.data.records import Record, fields_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.vectors.vectors import Vector


def of_values(values: Sequence[Any], like: Vector | None = None) -> Vector:
    """Return a vector of Python values, exactly: as texts of plain data where Arrow has no one type for them.

    Args:
        values: What it is to stand for.
        like: A vector whose Arrow types are taken where the values fit; otherwise `NotColumnar` is raised.
    """
    return _inferred(values) if like is None else _like(values, like)


def _inferred(values: Sequence[Any]) -> Vector:
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) == 1:
        (kind,) = kinds
        found = _struct_of(values) if kind in _WITH_FIELDS else _leaf_of(values, kind)
        if found is not None:
            return found
    if not kinds:
        return Leaf(pa.nulls(len(values)))
    return packed(values)


_PLAIN = {bool, int, float, str, bytes}
_CHECKED = {date, datetime, timedelta}
_WITH_FIELDS = {Record, dict, tuple, Interval, Window}


def _leaf_of(values: Sequence[Any], kind: type) -> Leaf | None:
    if kind not in _PLAIN and kind not in _CHECKED:
        return None
    try:
        leaf = Leaf(pa.array(values, from_pandas=False))
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        return None
    if kind in _CHECKED and list(map(repr, leaf.to_list())) != list(map(repr, values)):
        return None  # the time zone, or the fold, is another
    return leaf


def parts_of(value: Any) -> tuple[str, tuple[str, ...], tuple[Any, ...]]:
    """Return the kind, the names and the values of what a `Struct` can stand for."""
    if isinstance(value, Record):
        fields = fields_of(value)
        return RECORD, tuple(fields), tuple(fields.values())
    if isinstance(value, dict):
        return DICT, tuple(value), tuple(value.values())
    if isinstance(value, Interval):
        return "interval", ("start", "end"), (value.start, value.end)
    if isinstance(value, Window):
        return "window", ("start", "end"), (value.start, value.end)
    return TUPLE, tuple(map(str, range(len(value)))), tuple(value)


def _struct_of(values: Sequence[Any]) -> Struct | None:
    parts = [None if value is None else parts_of(value) for value in values]
    shapes = {part[:2] for part in parts if part is not None}
    if len(shapes) != 1:
        return None
    ((name, names),) = shapes
    if not all(isinstance(one, str) for one in names) or len(set(names)) != len(names):
        return None
    columns = [[None if part is None else part[2][place] for part in parts] for place in range(len(names))]
    valid = np.array([part is not None for part in parts])
    return Struct(name, names, [_inferred(column) for column in columns], len(values), None if valid.all() else valid)


def _like(values: Sequence[Any], like: Vector) -> Vector:
    if isinstance(like, Struct):
        if any(value is not None for value in values):
            kinds = {type(value) for value in values if value is not None}
            found = _struct_of(values) if len(kinds) == 1 and kinds <= _WITH_FIELDS else None
        else:
            found = like.take(np.full(len(values), MISSING), may_miss=True)
        if found is None or (found.kind, found.names) != (like.kind, like.names):
            raise NotColumnar("retained values have other fields than those that come")
        items = [_like(mine.to_list(), its) for mine, its in zip(found.items, like.items, strict=True)]
        return Struct(like.kind, like.names, items, len(values), found.valid)
    if like.kind == PACKED:
        return packed(values)
    if like.type == pa.null() and not like.kind:  # all that come are missing: that goes with any type
        return _inferred(values)
    try:
        leaf = Leaf(pa.array(values, like.type, from_pandas=False), like.kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise NotColumnar(f"retained values are of another type than {like.type}") from error
    if list(map(_exactly, leaf.to_list())) != list(map(_exactly, values)):
        raise NotColumnar(f"retained values are of another type than {like.type}")
    return leaf


def _exactly(value: Any) -> Any:
    return (type(value), value) if isinstance(value, int | str | bytes | None) else repr(value)


def repeated(value: Any, length: int) -> Vector:
    """Return a vector of one value, ``length`` times."""
    return of_values([value]).take(np.zeros(length, np.int64))
