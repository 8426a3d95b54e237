"""Functions of lanes: what Python's operators do on values of which some are missing, over columns.

The same numbers, bit for bit, as one by one; what numpy would do otherwise (ints that leave 64 bits, or meet floats
where they are none) raises `NotColumnar`. A function that is not known here is called row by row.

Source: `missing_values`; SEMANTICS 1.4.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.bodies.lanes import (
    EXACT,
    Lane,
    Truth,
    all_valid,
    bound,
    is_text,
    kind_of,
    lane,
    of_vector,
    spread,
    wholeness,
    without_nan,
)
from cartesius.columns.vectors.arithmetic import at_once
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import MISSING, TUPLE, Leaf, NotColumnar, Struct
from cartesius.expressions.missing_values import Turning, complete, exactly, greatest, least

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Mask

_INT64: Final = np.iinfo(np.int64)
_COMPARISONS: Final = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_ARITHMETIC: Final = (operator.add, operator.sub, operator.mul, operator.truediv)


def lifted(function: Callable[..., Any], keeps_nan: bool, n: int, *given: Lane | Truth) -> Lane | Truth:
    """Apply a function of values that are there; what cannot be computed is missing."""
    lanes = [lane(one) for one in given]
    if any(one.values is None for one in lanes):
        return Lane(None)
    if function in _COMPARISONS:
        return _compared(function, *lanes)
    if all(one.is_number for one in lanes):
        if function in _ARITHMETIC:
            return _calculated(function, *lanes, keeps_nan=keeps_nan)
        if function in (operator.neg, operator.abs):
            return _signed(function, *lanes)
        if function in (exactly, float) and (function is exactly or kind_of(lanes[0].values) == "f"):
            return lanes[0]
        if function in (least, greatest):
            return _chosen(function, *lanes)
        if isinstance(function, Turning):
            return _turned(function, *lanes)
    if function is complete and len(lanes) == 1 and (found := _completed(lanes[0])) is not None:
        return found
    return _called(function, keeps_nan, n, lanes)


def _as_floats(values: Any) -> Any:
    return values.astype(np.float64, copy=False) if isinstance(values, np.ndarray) else float(values)


def _plain(values: Any) -> Any:
    """Return numbers, as Python's if they are the same for all rows."""
    return values if getattr(values, "shape", ()) else getattr(values, "item", lambda: values)()


def _calculated(function: Any, left: Lane, right: Lane, *, keeps_nan: bool) -> Lane:
    a, b = left.values, right.values
    valid = all_valid(left, right)
    if (left.whole is not None or right.whole is not None) and function is not operator.truediv:
        return _mixed(function, left, right, valid)
    is_whole = kind_of(a) == "i" and kind_of(b) == "i"
    if function is operator.truediv:
        if is_whole and max(bound(a), bound(b)) > EXACT:
            reason = "an int beyond 2**53 is divided"
            raise NotColumnar(reason)
        b = np.asarray(b)
        if (is_zero := b == 0).any():
            valid = ~is_zero if valid is None else valid & ~is_zero
            b = np.where(is_zero, 1, b)
        found = _as_floats(a) / b.astype(np.float64, copy=False)
    elif is_whole:
        most = bound(a) * bound(b) if function is operator.mul else bound(a) + bound(b)
        if most > _INT64.max:
            reason = "an int leaves 64 bits"
            raise NotColumnar(reason)
        found = function(a, b)
    else:
        found = function(_as_floats(a), _as_floats(b))
    given = Lane(_plain(found), valid)
    return given if keeps_nan else without_nan(given)


def _mixed(function: Any, left: Lane, right: Lane, valid: Any) -> Lane:
    """Calculate with floats of which some stand for ints."""
    whole = wholeness(left) & wholeness(right)
    found = function(_as_floats(left.values), _as_floats(right.values))
    if (np.abs(np.where(whole, found, 0)) > EXACT).any():
        reason = "ints beyond 2**53 and floats are mixed"
        raise NotColumnar(reason)
    found = without_nan(Lane(found, valid))
    return Lane(found.values, found.valid, whole if whole.any() else None)


def _signed(function: Any, given: Lane) -> Lane:
    if kind_of(given.values) == "i" and bound(given.values) > _INT64.max:
        reason = "an int leaves 64 bits"
        raise NotColumnar(reason)
    return Lane(_plain(function(given.values)), given.valid, given.whole)


def _comparable(left: Lane, right: Lane) -> tuple[Any, Any]:
    a, b = left.values, right.values
    if kind_of(a) != kind_of(b):
        for values in (a, b):
            if kind_of(values) == "i" and bound(values) > EXACT:
                reason = "an int beyond 2**53 is compared with a float"
                raise NotColumnar(reason)
    return a, b


def _chosen(function: Any, left: Lane, right: Lane) -> Lane:
    a, b = _comparable(left, right)
    is_second = b < a if function is least else b > a
    return Lane(_plain(np.where(is_second, b, a)), all_valid(left, right))


def _turned(function: Turning, *lanes: Lane) -> Truth:
    value, low, high = [np.asarray(one.values) for one in lanes]
    if len({one.dtype.kind for one in (value, low, high)}) > 1:
        value, low, high = [one.astype(np.float64) for one in (value, low, high)]
    whole, slack = function.whole, function.slack
    span = (high - low) % whole
    true = (value - low + slack) % whole <= span + 2 * slack
    true |= (low != high) & (np.minimum(span, whole - span) <= slack)
    valid = all_valid(*lanes)
    return Truth(true) if valid is None else Truth(true & valid, ~true & valid)


def _compared(function: Any, left: Lane, right: Lane) -> Truth:
    if kind_of(left.values) in "ifb" and kind_of(right.values) in "ifb":
        a, b = _comparable(left, right)
        true = np.asarray(function(a, b))
    else:
        true = _compared_texts(function, left.values, right.values)
    valid = all_valid(left, right)
    return Truth(true) if valid is None else Truth(true & valid, ~true & valid)


def _compared_texts(function: Any, a: Any, b: Any) -> NDArray[np.bool_]:
    sides = [one.array if isinstance(one, Leaf) else one for one in (a, b)]
    are_texts = [isinstance(one, str) or (isinstance(one, pa.Array) and is_text(one.type)) for one in sides]
    if not all(are_texts) or function not in (operator.eq, operator.ne):
        reason = "values of different types are compared"
        raise NotColumnar(reason)
    if isinstance(sides[0], str) and isinstance(sides[1], str):
        return np.asarray(function(*sides))
    found = pc.equal(*sides).fill_null(False).to_numpy(zero_copy_only=False)
    equal: NDArray[np.bool_] = found if function is operator.eq else ~found
    return equal


def _completed(given: Lane) -> Lane | None:
    """Return tuples of numbers, of which those that lack one are missing; None if they are no such tuples."""
    tuples = given.values
    if not isinstance(tuples, Struct) or tuples.kind != TUPLE:
        return None
    valid = given.valid
    for item in tuples.items:
        if not isinstance(item, Leaf) or item.kind or not item.is_number:
            return None
        there = without_nan(Lane(item.numbers, item.valid)).valid
        if there is not None:
            valid = there if valid is None else valid & there
    return Lane(tuples, valid)


def _called(function: Any, keeps_nan: bool, n: int, lanes: Sequence[Lane]) -> Lane:
    """Call a function that columns do not know, row by row."""
    valid = all_valid(*lanes)
    there = np.arange(n) if valid is None else np.flatnonzero(spread(valid, n))
    vectors = [one.vector(n).take(there) for one in lanes]
    if (whole := at_once(function, vectors)) is not None:
        if valid is None:
            return without_nan(of_vector(whole))
        places = np.full(n, MISSING, np.int64)
        places[there] = np.arange(len(there))
        return without_nan(of_vector(whole.take(places, may_miss=True)))
    columns = [one.to_list() for one in vectors]
    found: list[Any] = [None] * n
    is_given = len(lanes) == 1  # whether it gives back what it is asked about, where that is something
    for place, values in zip(there.tolist(), zip(*columns, strict=True), strict=True):
        try:
            value = function(*values)
        except ArithmeticError:
            continue
        except Exception as error:
            reason = f"{getattr(function, '__name__', 'a function')} raises {type(error).__name__}"
            raise NotColumnar(reason) from error
        found[place] = value if keeps_nan or value == value else None  # noqa: PLR0124 - NaN
        is_given = is_given and (value is values[0] or value is None)
    if is_given:
        return attrs.evolve(lanes[0], valid=np.array([value is not None for value in found], np.bool_))
    return of_vector(of_values(found))


def first_known(value: Lane | Truth, default: Lane | Truth) -> Lane:
    """A value, or another where it is missing."""
    first, second = lane(value), lane(default)
    if first.values is None:
        return second
    if first.valid is None or second.values is None:
        return first
    valid = None if second.valid is None else first.valid | second.valid
    if isinstance(first.values, Leaf) or not first.is_number or not second.is_number:
        return _chosen_text(first, second, valid)
    a, b = first.values, second.values
    found = np.where(first.valid, a, b)
    whole = np.where(first.valid, wholeness(first), wholeness(second))
    if whole.all() and found.dtype.kind == "f":  # the value is a float that is nowhere there
        found = found.astype(np.int64)
    return Lane(found, valid, None if whole.all() == whole.any() else whole)


def _chosen_text(first: Lane, second: Lane, valid: Mask) -> Lane:
    if not isinstance(first.values, Leaf) or not is_text(first.values.type) or type(second.values) is not str:
        reason = "a value and its default are of two types"
        raise NotColumnar(reason)
    return Lane(Leaf(first.values.array.fill_null(second.values)), valid)
