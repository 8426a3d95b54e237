"""Equalities: when an item of one stream is one of the other stream, and a hashable form by which equals are found.

Invariant: items that are equal have one form; so equals are looked for among those of one form alone.

Source: DiffStream (SOURCES E4), which asks for an equivalence; SEMANTICS 2.2 and 4.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from decimal import Decimal
from typing import Any, Final, TypeAlias, TypeGuard, final

import attrs

from cartesius.data.events import Delete, Event, Update
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from cartesius.results.unchanged_values import is_equal, is_nan

Equal: TypeAlias = Callable[[Any, Any], bool]

_NAN: Final = "nan"
_UNKNOWN: Final = "?"  # of what may equal anything, as far as is known


@final
@attrs.frozen
class Equality:
    """Whether two items are the same, with the form by which equals are found; `equal_by` makes them."""

    equal: Equal
    form: Callable[[Any], Hashable]

    def __call__(self, one: Any, other: Any) -> bool:
        """Ask of an item of the first stream and one of the second."""
        return self.equal(one, other)


def equal_by(form: Callable[[Any], Any]) -> Equality:
    """Compare items by a form of them, such as the part that is the same in any order of the input.

    >>> from cartesius.testing import equal_by, streams_equivalent
    >>> parts = equal_by(lambda text: sorted(text.split("@")))
    >>> bool(streams_equivalent(["a@b@a", "c"], ["c", "b@a@a"], equal=parts))
    True

    Args:
        form: A pure function of an item (of an event, not of its value); what it returns is compared by ``==``.

    Raises:
        InvalidArgument: It is no function.
    """
    if not callable(form):
        message = f"equal_by: expected a function of an item but got {form!r} (type={type(form).__name__})"
        raise InvalidArgument(message)
    return Equality(lambda one, other: bool(form(one) == form(other)), lambda item: form_of(form(item)))


def as_equality(equal: Equal | None) -> Equality:
    """Return a function of two items as an `Equality`; without one, that of values, times and weight.

    Raises:
        InvalidArgument: It is no function.
    """
    if equal is None:
        return _DEFAULT
    if not callable(equal):
        message = f"equal: expected a function of two items but got {equal!r} (type={type(equal).__name__})"
        raise InvalidArgument(message)
    return equal if isinstance(equal, Equality) else Equality(equal, lambda item: _UNKNOWN)


def form_of(value: Any) -> Hashable:
    """Return something hashable that is the same for values that are equal, by ``==`` or type-exactly.

    >>> form_of([1, {"a": 2.0}]) == form_of((True, {"a": 2})), form_of(1) == form_of(2)
    (True, False)
    """
    if isinstance(value, str | int):  # most are
        return value
    if isinstance(value, float | Decimal):
        return _NAN if is_nan(value) else value
    if isinstance(value, tuple | list):
        return tuple(map(form_of, value))
    if isinstance(value, Mapping | Record):
        return frozenset((name, form_of(value[name])) for name in value)
    if isinstance(value, set | frozenset):
        return frozenset(map(form_of, value))
    if isinstance(value, bytes | bytearray):
        return hash(tuple(value))  # that of other buffers of the same numbers, which may equal it
    if isinstance(value, memoryview | array):
        return hash(form_of(value.tolist()))
    if isinstance(value, Update | Delete):
        return form_of(value.key)
    if attrs.has(type(value)) or dataclasses.is_dataclass(value):
        return _UNKNOWN  # a NaN in a field makes its hash differ from that of its equal
    if _is_hashable(value):
        return value
    if isinstance(value, Sequence):  # such as a UserList, which equals a list
        return tuple(map(form_of, value))
    return frozenset(map(form_of, value)) if isinstance(value, Set) else _UNKNOWN


def _is_hashable(value: object) -> TypeGuard[Hashable]:
    try:
        hash(value)
    except (TypeError, ValueError):  # a ValueError: what it holds may change, as of a buffer
        return False
    return True


def _is_equal(one: Any, other: Any) -> bool:
    if isinstance(one, Event) and isinstance(other, Event):
        same = (one.start, one.end, one.weight) == (other.start, other.end, other.weight)
        return same and is_equal(one.value, other.value)
    return bool(one == other)


def _form(item: Any) -> Hashable:
    return (item.start, item.end, item.weight, form_of(item.value)) if isinstance(item, Event) else form_of(item)


_DEFAULT: Final = Equality(_is_equal, _form)
