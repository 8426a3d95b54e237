"""Null values as keys: what equals nothing, what comes last, and how the key of a row is kept so that it is found.

A key is null if it is None, a number that is none, or a tuple with a null part. A number that is none is what does not
equal itself, of whatever type: a NaN, or the NaT of pandas and numpy.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

from cartesius.data.records import Record

IS_NULL: Final = "its key is null"
"""How the reason begins for which an event is set aside that has no key."""
NO_NUMBER: Final = Decimal("NaN")


def is_null(key: Any) -> bool:
    """Whether a key equals nothing, another null included."""
    if type(key) is int or type(key) is str:
        return False
    if isinstance(key, tuple):
        return any(map(is_null, key))
    return key is None or is_no_number(key)


def is_no_number(value: Any) -> bool:
    """Whether a value does not equal itself: a number that is none, or a tuple of one."""
    if isinstance(value, tuple):
        return any(map(is_no_number, value))
    # An array is not asked, as it answers item by item; what cannot be hashed is no key.
    return type(value).__hash__ is not None and bool(value != value)  # noqa: PLR0124 - NaN


def has_no_number(value: Any) -> bool:
    """Whether a number that is none is in a record, a list or a tuple, however deep."""
    waiting, seen = [value], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, Record | dict | tuple | list):
            if id(one) not in seen:  # a list may be in itself
                seen.add(id(one))
                waiting += [one[name] for name in one] if isinstance(one, Record | dict) else one
        elif is_no_number(one):
            return True
    return False


def null_last(key: Any) -> tuple[Any, ...]:
    """Return what sorts as a key does; null comes last of all, a number that is none before that, in each part as well.

    >>> sorted([None, 3, math.nan, 1], key=null_last)
    [1, 3, nan, None]
    >>> sorted([(1, None), (None, 1), (1, 2)], key=null_last)
    [(1, 2), (1, None), (None, 1)]
    """
    if key is None:
        return (2,)
    if not isinstance(key, tuple) and is_no_number(key):
        return (1,)
    if isinstance(key, tuple | list) and type(key).__lt__ in (tuple.__lt__, list.__lt__):
        parts = map(null_last, key)
        return (0, tuple(parts) if isinstance(key, tuple) else list(parts))
    return (0, key)


def found_again(key: Any) -> Any:
    """Return the key of a row as it is kept: of numbers that are none there is one, as a dict goes by identity."""
    if type(key) is tuple:
        return tuple(map(found_again, key)) if is_null(key) else key
    if type(key) is float:
        return math.nan if math.isnan(key) else key
    return NO_NUMBER if type(key) is Decimal and key.is_nan() else key
