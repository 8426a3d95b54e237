"""What Python's operators do, on vectors: the same values, the same types, or `NotColumnar`.

Ints that would leave 64 bits, divisions by zero: all that is left to Python, which gives what it gives when the rows
are pushed one by one. A function that is not known here is called value by value. Where a null makes the result null,
nothing is computed.

Source: SEMANTICS 1.4 (equality is Python's in every tier) and 1.18 (null); DESIGN 4.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Vector
from cartesius.expressions.nulls import LOGICAL, PROPAGATING, null_aware

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

_EXACT: Final = 2**53
_INT64: Final = np.iinfo(np.int64)


class AtOnce(Protocol):
    """A function of values that can be asked for many rows at once."""

    def of_vectors(self, *columns: Vector) -> Vector | None:
        """Return what it gives for each row of ``columns``, or None if these are none that it can take at once."""


def at_once(function: Callable[..., Any], arguments: Sequence[Vector]) -> Vector | None:
    """Return what ``function`` gives for all rows, if it can be asked for that (`AtOnce`)."""
    ask: Callable[..., Vector | None] | None = getattr(function, "of_vectors", None)
    if ask is None:
        return None
    try:
        return ask(*arguments)
    except NotColumnar:
        raise
    except Exception as error:
        raise _raises(function, error) from error


def _raises(function: Callable[..., Any], error: Exception) -> NotColumnar:
    name = getattr(function, "__name__", "a function")
    return NotColumnar(f"{name} raises {type(error).__name__}")


def value_by_value(function: Callable[..., Any], *arguments: Vector) -> Vector:
    """Call ``function`` for each row; what it raises is raised when the rows are pushed one by one."""
    if (found := at_once(function, arguments)) is not None:
        return found
    try:
        return of_values([function(*values) for values in zip(*[one.to_list() for one in arguments], strict=True)])
    except Exception as error:
        raise _raises(function, error) from error


def apply(function: Callable[..., Any], *arguments: Vector) -> Vector:
    """Return what ``function``, an operator or any other, gives for each row; null is as `nulls` has it."""
    if function in PROPAGATING and any(_has_null(one) for one in arguments):
        return _where_all_there(function, arguments)
    if function in (*LOGICAL, operator.invert) and all(map(_is_truth, arguments)):
        return Leaf(_KLEENE[function](*[one.array.cast(pa.bool_()) for one in arguments]))  # type: ignore[union-attr]  # leaves
    return _applied_to_all(function, arguments)


def _applied_to_all(function: Callable[..., Any], arguments: Sequence[Vector]) -> Vector:
    if all(isinstance(one, Leaf) and one.kind == "" for one in arguments):
        leaves: Any = arguments
        found = _applied(function, leaves)
        if found is not None:
            return found
    return value_by_value(null_aware(function), *arguments)


def _has_null(vector: Vector) -> bool:
    return vector.valid is not None or (isinstance(vector, Leaf) and vector.type == pa.null())


def _where_all_there(function: Callable[..., Any], arguments: Sequence[Vector]) -> Vector:
    """Return what a function gives for each row of which no argument is null, and null for the others."""
    n = len(arguments[0])
    there = np.ones(n, np.bool_)
    for one in arguments:
        there &= one.valid if one.valid is not None else not _has_null(one)
    chosen = np.flatnonzero(there)
    if not len(chosen):
        return Leaf(pa.nulls(n))
    places = np.full(n, MISSING, np.int64)
    places[chosen] = np.arange(len(chosen))
    return _applied_to_all(function, [one.take(chosen) for one in arguments]).take(places, may_miss=True)


def _is_truth(vector: Vector) -> bool:
    """Whether all values are true, false or null."""
    return isinstance(vector, Leaf) and not vector.kind and vector.type in (pa.bool_(), pa.null())


_KLEENE: Final = {operator.and_: pc.and_kleene, operator.or_: pc.or_kleene, operator.invert: pc.invert}


def truth(vector: Vector) -> NDArray[np.bool_]:
    """Return the truth value of each row, as ``if`` sees it."""
    if isinstance(vector, Leaf) and vector.kind == "" and vector.is_number:
        found: NDArray[np.bool_] = vector.numbers.astype(np.bool_)
        return found if vector.valid is None else found & vector.valid
    if isinstance(vector, Leaf) and vector.type == pa.null():
        return np.zeros(len(vector), np.bool_)
    return np.array([bool(value) for value in vector.to_list()], np.bool_)


def _applied(function: Any, leaves: tuple[Leaf, ...]) -> Leaf | None:
    if function in _COMPARISONS and len(leaves) == 2:
        return _compared(function, *leaves)
    if not all(leaf.valid is None and leaf.is_number for leaf in leaves):
        return None
    if function is operator.xor:
        if all(pa.types.is_boolean(leaf.type) for leaf in leaves):
            return Leaf(pa.array(function(leaves[0].numbers, leaves[1].numbers)))
        return None
    if len(leaves) == 2 and function in _ARITHMETIC:
        return _calculated(function, *leaves)
    if len(leaves) == 1 and function in (operator.neg, operator.abs, abs, operator.pos):
        return _unary(function, leaves[0])
    return None


# -- comparisons -------------------------------------------------------------------------------------------------------

_COMPARISONS: Final = {
    operator.eq: pc.equal,
    operator.ne: pc.not_equal,
    operator.lt: pc.less,
    operator.le: pc.less_equal,
    operator.gt: pc.greater,
    operator.ge: pc.greater_equal,
}


def _compared(function: Any, left: Leaf, right: Leaf) -> Leaf | None:
    if left.is_number and right.is_number:
        a, b = _comparable(left), _comparable(right)
        if a.dtype != b.dtype and not (_is_exact(a) and _is_exact(b)):
            return None
        found = function(a, b)
    elif left.type == right.type and _is_ordered(left.type):
        found = _COMPARISONS[function](left.array, right.array)
    else:
        return None
    return Leaf(pa.array(found))


def _comparable(leaf: Leaf) -> NDArray[Any]:
    numbers = leaf.numbers
    if numbers.dtype == np.bool_ or (numbers.dtype.kind in "iu" and numbers.dtype != np.uint64):
        return numbers.astype(np.int64)
    return numbers.astype(np.float64) if numbers.dtype.kind == "f" else numbers


def _is_exact(numbers: NDArray[Any]) -> bool:
    """Whether all of them are the same as floats."""
    if numbers.dtype.kind == "f" or not len(numbers):
        return True
    return int(numbers.max()) <= _EXACT and int(numbers.min()) >= -_EXACT


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether Arrow compares values of a type as Python does."""
    kinds = pa.types
    return bool(
        kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_date32(kind)
        or kinds.is_decimal(kind)
        or (kinds.is_timestamp(kind) and kind.tz is None)
    )


# -- arithmetic --------------------------------------------------------------------------------------------------------

_ARITHMETIC: Final = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
)  # fmt: skip


def _calculated(function: Any, left: Leaf, right: Leaf) -> Leaf | None:
    a, b = _comparable(left), _comparable(right)
    if "u" in (a.dtype.kind, b.dtype.kind):
        return None
    if function is operator.truediv:
        if (b == 0).any() or not (_is_exact(a) and _is_exact(b)):
            return None
        return Leaf(pa.array(a.astype(np.float64) / b.astype(np.float64)))
    if function in (operator.floordiv, operator.mod):
        if "f" in (a.dtype.kind, b.dtype.kind) or (b == 0).any() or (a == _INT64.min).any():
            return None
        return Leaf(pa.array(function(a, b)))
    if "f" in (a.dtype.kind, b.dtype.kind):
        return Leaf(pa.array(function(a.astype(np.float64), b.astype(np.float64))))
    return Leaf(pa.array(_exactly(function, a, b)))


def _exactly(function: Any, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Calculate with ints; what would leave 64 bits is refused."""
    found: NDArray[np.int64] = function(a, b)
    if len(a):
        high = function is operator.mul
        most = [max(abs(int(side.max())), abs(int(side.min()))) for side in (a, b)]
        bound = most[0] * most[1] if high else most[0] + most[1]
        if bound > _INT64.max:
            reason = "an int leaves 64 bits"
            raise NotColumnar(reason)
    return found


def _unary(function: Any, leaf: Leaf) -> Leaf | None:
    numbers = _comparable(leaf)
    if numbers.dtype.kind == "u" or (numbers.dtype.kind == "i" and (numbers == _INT64.min).any()):
        return None
    return Leaf(pa.array(function(numbers)))
