"""Unchanged values: whether a row, or a result, is still what it was, so that nothing has to be told.

Invariant: who reads a table by its changes has what who reads its rows has, whatever they make of it.

Source: SEMANTICS 1.16 and 2.2.
"""

from __future__ import annotations

import dataclasses
from datetime import datetime, time
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from math import copysign
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.records import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_ATOMS = frozenset((int, str, bool, bytes, type(None)))
_LISTS = (tuple, list)  # to ask after a union takes four times as long
_EXACT = frozenset((int, str, bytes, type(None)))
"""Types of which no two have values that are equal to each other."""


def is_unchanged(old: Any, new: Any, *, by_look: bool = True) -> bool:
    """Whether nothing can tell two values apart, type-exactly, NaN equal to itself.

    What is equal by ``==`` may be told apart: 0.0 and -0.0, 1.5 and 1.50, an instant in two zones, fields in another
    order. Classes are compared by the fields that take part in their equality.

    >>> is_unchanged((1, float("nan")), (1, float("nan"))), is_unchanged(1, 1.0), is_unchanged(0.0, -0.0)
    (True, False, False)

    Args:
        old: A value.
        new: Another one.
        by_look: Whether those differ that are equal and may be told apart; otherwise as for `is_equal`.
    """
    if old is new:
        return True
    if type(old) is not type(new):
        return False
    if type(old) in _ATOMS:  # most are
        return bool(old == new)
    each = is_unchanged if by_look else is_equal
    if type(old) is Record:
        old, new = old._fields, new._fields
    if isinstance(old, _LISTS):
        return len(old) == len(new) and all(map(each, old, new))
    if isinstance(old, dict):
        if by_look:
            return [*old] == [*new] and all(map(each, old.values(), new.values()))
        return old.keys() == new.keys() and all(each(value, new[key]) for key, value in old.items())
    if isinstance(old, float | Decimal):
        is_it = bool(old == new) and (not by_look or _looks_alike(old, new))
        return is_it or (is_nan(old) and is_nan(new))
    if by_look and isinstance(old, datetime | time):
        return bool(old == new) and (old.tzinfo, old.fold) == (new.tzinfo, new.fold)
    if isinstance(old, set | frozenset):
        if _are_plain(old) and _are_plain(new):
            return bool(old == new)
        return {_exactly(item, by_look) for item in old} == {_exactly(item, by_look) for item in new}
    if attrs.has(type(old)):
        return all(_is_field_unchanged(each, name, key, old, new) for name, key in _compared(type(old)))  # type: ignore[arg-type]  # classes are hashable
    if _is_of_dataclass(old):
        names = [field.name for field in dataclasses.fields(old) if field.compare]
        return all(each(getattr(old, name), getattr(new, name)) for name in names)
    return bool(old == new)


def is_equal(old: Any, new: Any) -> bool:
    """Compare type-exactly, NaN equal to itself.

    >>> is_equal(0.0, -0.0), is_equal(1, 1.0), is_equal({"a": 1, "b": 2}, {"b": 2, "a": 1})
    (True, False, True)
    """
    return is_unchanged(old, new, by_look=False)


def bucket_of(value: Any) -> Any:
    """Return what is the same for equal values (`is_equal`), and seldom for others: a key to look among them.

    >>> bucket_of({"a": [float("nan")]}) == bucket_of({"a": [float("nan")]})
    True
    """
    if type(value) in _ATOMS:  # most are
        return hash(value)
    if isinstance(value, Record):
        value = value._fields
    if isinstance(value, tuple | list):
        return tuple(map(bucket_of, value))
    if isinstance(value, dict):
        return frozenset((key, bucket_of(each)) for key, each in value.items())
    if isinstance(value, set | frozenset):
        return frozenset(map(bucket_of, value))
    if isinstance(value, float | Decimal) and is_nan(value):
        return "nan"
    try:
        if attrs.has(type(value)):
            fields = [(getattr(value, name), key) for name, key in _compared(type(value))]  # type: ignore[arg-type]  # likewise
            return tuple(bucket_of(each if key is None else key(each)) for each, key in fields)
        if _is_of_dataclass(value):
            return tuple(bucket_of(getattr(value, field.name)) for field in dataclasses.fields(value) if field.compare)
        return hash(value)
    except Exception:  # of any kind, of a class of the user's: values of which none is looked up are compared with all
        return "other"


def _is_of_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _looks_alike(old: Any, new: Any) -> bool:
    """Whether equal numbers of one type are written alike."""
    return copysign(1.0, old) == copysign(1.0, new) if isinstance(old, float) else old.as_tuple() == new.as_tuple()


def is_same(old: Any, new: Any) -> bool:
    """Compare by ``==``, NaN equal to itself, also inside of tuples, lists and mappings.

    >>> is_same(float("nan"), float("nan")), is_same((1, float("nan")), (1.0, float("nan"))), is_same(None, 0)
    (True, True, False)
    """
    if old == new or is_unchanged(old, new):
        return True
    if isinstance(old, Record) and isinstance(new, Record):
        old, new = old._fields, new._fields
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)
    if isinstance(old, tuple | list) and type(old) is type(new):
        return len(old) == len(new) and all(map(is_same, old, new))
    return False


@lru_cache(maxsize=1000)
def _compared(kind: type[Any]) -> tuple[tuple[str, Callable[[Any], Any] | None], ...]:
    """Return the fields of a class that take part in its equality, and what is compared of each; None: itself."""
    # attrs' stubs do not know the key
    return tuple((field.name, getattr(field, "eq_key", None)) for field in attrs.fields(kind) if field.eq)


def _is_field_unchanged(
    each: Callable[[Any, Any], bool], name: str, key: Callable[[Any], Any] | None, old: Any, new: Any
) -> bool:
    old, new = getattr(old, name), getattr(new, name)
    if old is new:
        return True
    return each(old, new) if key is None else each(key(old), key(new))


def is_nan(value: float | Decimal) -> bool:
    """Whether a number is none."""
    return value.is_nan() if isinstance(value, Decimal) else value != value  # noqa: PLR0124 - NaN


def _are_plain(items: Collection[Any]) -> bool:
    """Whether items that are equal are so type-exactly, none being NaN: text, integers, or tuples of these alone."""
    kinds = set(map(type, items))
    if kinds == {tuple}:
        kinds = set(map(type, chain.from_iterable(items)))
    return kinds <= _EXACT


def _exactly(item: Any, by_look: bool) -> Any:
    """Return what is equal for items of a set that are so type-exactly, or, if by their look, are written alike."""
    if isinstance(item, tuple | frozenset):
        parts = (_exactly(part, by_look) for part in item)
        return type(item), type(item)(parts) if type(item) in (tuple, frozenset) else item
    if isinstance(item, float | Decimal) and (by_look or is_nan(item)):
        return type(item), "nan" if is_nan(item) else str(item)
    if isinstance(item, datetime | time) and by_look:
        return type(item), item.tzinfo, item.fold, item
    return type(item), item
