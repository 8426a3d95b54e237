"""Types of what a body computes of values whose types are known: comparisons, logic, arithmetic, and `coalesce`.

Each of them may be null, as what it is computed of may be.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as t

from cartesius.expressions.nulls import COMPARISONS, LOGICAL, first_there, is_not_null, is_null

if TYPE_CHECKING:
    from collections.abc import Sequence

WHOLE: Final = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_NUMBERS = (*WHOLE, t.FloatType, t.DoubleType)
_TRUTHS = (*COMPARISONS, is_null, is_not_null)
_LOGIC = (*LOGICAL, operator.xor, operator.invert)
_ARITHMETIC = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.neg,
    operator.pos, operator.abs, abs,
)  # fmt: skip


def is_truth(function: Any) -> bool:
    """Whether a function gives a truth value, whatever it is of."""
    return function in _TRUTHS


def is_computing(function: Any) -> bool:
    """Whether the type of what a function gives may be told of those of its arguments."""
    return function is first_there or function in (*_LOGIC, *_ARITHMETIC)


def item_type(kind: t.DataType, name: Any) -> t.DataType | None:
    """Return the type of a field, of an element of an array, or of what a map has for a text; None if it has no such.

    >>> print(item_type(t.ArrayType(t.LongType()), 0), item_type(t.ArrayType(t.LongType()), "a"))
    LongType() None
    """
    match kind, name:
        case t.StructType(), str() if name in kind.names:
            return kind[name].dataType
        case t.ArrayType(), int():
            return kind.elementType
        case t.MapType(keyType=t.StringType()), str():
            return kind.valueType
    return None


def computed_type(function: Any, kinds: Sequence[t.DataType]) -> t.DataType | None:
    """Return the type of what a computing function gives of values of types; None if it cannot be told.

    >>> print(
    ...     computed_type(operator.add, [t.LongType(), t.DoubleType()]), computed_type(operator.or_, [t.StringType()])
    ... )
    DoubleType() None
    """
    if not kinds:
        return None
    are_whole, is_alike = all(isinstance(kind, WHOLE) for kind in kinds), all(kind == kinds[0] for kind in kinds)
    if function in _LOGIC:
        return t.LongType() if are_whole else kinds[0] if is_alike and kinds[0] == t.BooleanType() else None
    if function is first_there and is_alike:
        return kinds[0]
    if not all(isinstance(kind, _NUMBERS) for kind in kinds):
        return None
    return t.LongType() if are_whole and function is not operator.truediv else t.DoubleType()
