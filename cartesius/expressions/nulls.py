"""Null in what traces: comparisons with it are unknown, arithmetic with it is null, and logic is Kleene's.

An `Apply` of one of Python's operators means what is said here, in every tier; functions that do not trace are
Python's own. Unknown is null, too: a combination matches only where its condition is true.

Source: S. C. Kleene, Introduction to Metamathematics, 1952, § 64; SQL:2016, 6.39 and 8.2; SEMANTICS 1.18.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

COMPARISONS: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
PROPAGATING: Final = frozenset((
    *COMPARISONS, operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.xor, operator.neg, operator.pos, operator.abs, abs, operator.getitem,
))  # fmt: skip
"""What is null as soon as one of its arguments is."""
LOGICAL: Final = (operator.and_, operator.or_)
"""What may know its answer though one of its arguments is null, and is asked from left to right."""


def truth(value: Any) -> Any:
    """Return a Boolean of numpy's as Python's, and all else as it is."""
    if value is True or value is False or value is None:
        return value
    is_truth = getattr(getattr(value, "dtype", None), "kind", None) == "b" and not getattr(value, "ndim", 1)
    return bool(value) if is_truth else value


def is_null(value: Any) -> bool:
    """Whether a value is null: what ``x.f == None`` asks where it is traced."""
    return value is None


def is_not_null(value: Any) -> bool:
    """Whether a value is not null: what ``x.f != None`` asks where it is traced."""
    return value is not None


def first_there(*values: Any) -> Any:
    """Return the first value that is not null; null if all are."""
    return next((value for value in values if value is not None), None)


def both(left: Any, right: Callable[[], Any]) -> Any:
    """Return ``left & right()``; only false stops.

    >>> both(None, lambda: False), both(None, lambda: True), both(6, lambda: 3)
    (False, None, 2)
    """
    left = truth(left)
    if left is False:
        return False
    other = truth(right())
    if left is None or other is None:
        return False if other is False else None
    return left & other


def either(left: Any, right: Callable[[], Any]) -> Any:
    """Return ``left | right()``; only true stops.

    >>> either(None, lambda: True), either(None, lambda: False), either(6, lambda: 1)
    (True, None, 7)
    """
    left = truth(left)
    if left is True:
        return True
    other = truth(right())
    if left is None or other is None:
        return True if other is True else None
    return left | other


def opposite(value: Any) -> Any:
    """Return ``~value``: of a truth value its opposite, unknown of unknown."""
    value = truth(value)
    if value is None:
        return None
    return not value if isinstance(value, bool) else ~value


def all_hold(checks: Iterable[Callable[[Any], Any]], row: Any) -> bool:
    """Whether all conditions are true of ``row``. They are asked in order; only one that is false ends that.

    >>> all_hold([lambda row: None, lambda row: row], False)
    False
    """
    holds = True
    for check in checks:
        found = check(row)
        if not found:
            if found is not None:
                return False
            holds = False
    return holds


def null_aware(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what an `Apply` of ``function`` means, of values that are known already.

    >>> null_aware(operator.lt)(None, 3), null_aware(operator.and_)(None, False), null_aware(len)("ab")
    (None, False, 2)
    """
    if function is operator.and_:
        return lambda left, right: both(left, lambda: right)
    if function is operator.or_:
        return lambda left, right: either(left, lambda: right)
    if function is operator.invert:
        return opposite
    if function in PROPAGATING:
        return lambda *values: None if any(value is None for value in values) else function(*values)
    return function


def application(function: Callable[..., Any], arguments: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return what an `Apply` of ``function`` means, of arguments that are computed of a row.

    They are asked from left to right, as far as is needed.
    """
    if function is operator.and_ or function is operator.or_:
        logical = both if function is operator.and_ else either
        left, right = arguments
        return lambda row: logical(left(row), lambda: right(row))
    if function is first_there:
        return lambda row: next((value for ask in arguments if (value := ask(row)) is not None), None)
    if len(arguments) == 1:
        one, meaning = arguments[0], null_aware(function)
        return lambda row: meaning(one(row))
    if function not in PROPAGATING:
        return lambda row: function(*[ask(row) for ask in arguments])
    first, second = arguments

    def apply(row: Any) -> Any:
        one, other = first(row), second(row)
        return None if one is None or other is None else function(one, other)

    return apply
