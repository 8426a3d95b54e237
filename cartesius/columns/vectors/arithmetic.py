"""What functions of values do, on columns: the same values, the same types, or `NotColumnar`.

A function means one thing; what differs is what becomes of a value that cannot be computed. In a traced body (`apply`)
that is an error, which pushing row by row raises; of what may be missing (`lifted`) it is missing. Ints that would
leave 64 bits, or meet floats where they are none: all that is left to Python. A function that is not known here is
called value by value. Where a null makes the result null, nothing is computed.

Source: SEMANTICS 1.4 (equality is Python's in every tier) and 1.18 (null); DESIGN 4; `missing_values`.
"""

from __future__ import annotations

import operator
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.vectors.calling import called, leniently, raises, value_by_value
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.lanes import (
    EXACT,
    INT64,
    Lane,
    Truth,
    all_valid,
    both,
    bound,
    chosen,
    either,
    lane,
    opposite,
    plain,
    wholeness,
    without_nan,
)
from cartesius.columns.vectors.vectors import TUPLE, Leaf, NotColumnar, Struct
from cartesius.expressions.missing_values import ROUNDING, Turning, exactly, greatest, least
from cartesius.expressions.nulls import COMPARISONS, PROPAGATING, null_aware
from cartesius.expressions.value_sorts import DATE_LINE, POLE, position_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.columns.vectors.lanes import Given
    from cartesius.columns.vectors.vectors import Mask


def apply(function: Callable[..., Any], *given: Given) -> Lane | Truth:
    """Return what ``function``, an operator or any other, gives for each row; null is as `nulls` has it."""
    if function in _LOGIC:
        if all(map(is_truth, given)):
            known: Truth = _LOGIC[function](*given)
            return known
        function = null_aware(function)
    lanes = list(map(lane, given))
    propagates = function in PROPAGATING
    if propagates and any(one.values is None for one in lanes):
        return Lane(None)
    if propagates and (found := _known(function, lanes, misses=False)) is not None:
        return found
    return called(partial(value_by_value, function), lanes, skips_null=propagates)


_LOGIC: Final[dict[Any, Any]] = {operator.and_: both, operator.or_: either, operator.invert: opposite}


def is_truth(given: Given) -> bool:
    """Whether all values are true, false or null."""
    if isinstance(given, Truth):
        return True
    one = lane(given)
    return one.values is None or one.kind == "b"


def lifted(function: Callable[..., Any], keeps_nan: bool, *given: Given) -> Lane | Truth:
    """Apply a function of values that are there; what cannot be computed is missing."""
    lanes = [lane(one) for one in given]
    for one in lanes:
        if one.values is None:
            return one
    found = _known(function, lanes, misses=True)
    if found is None:
        found = called(lambda *columns: leniently(function, keeps_nan, columns), lanes, skips_null=True)
    return found if keeps_nan or isinstance(found, Truth) else without_nan(found)


def _known(function: Any, lanes: Sequence[Lane], *, misses: bool) -> Lane | Truth | None:
    """Return what a function gives where nothing is null, if columns can compute it of these; null remains null.

    Args:
        function: The function.
        lanes: What it is asked about.
        misses: Whether what cannot be computed is missing, rather than an error.
    """
    if function in _OF_ANY:
        return _OF_ANY[function](function, *lanes)
    meaning = _turned if type(function) is Turning else _OF_NUMBERS.get(function)
    numbers = None if meaning is None else _numbers(lanes)
    return None if meaning is None or numbers is None else meaning(function, misses, *numbers)


# -- comparisons -------------------------------------------------------------------------------------------------------


def _compared(function: Any, left: Lane, right: Lane) -> Truth | None:
    if left.kind == "O" or right.kind == "O":
        true = _compared_in_arrow(function, left.values, right.values)
        if true is None:
            return None
    elif not _are_comparable(left, right):
        return None
    else:
        true = np.asarray(function(left.values, right.values))
    valid = all_valid(left, right)
    return Truth(true) if valid is None else Truth(true & valid, ~true & valid)


def _are_comparable(left: Lane, right: Lane) -> bool:
    """Whether numpy compares numbers as Python does: an int meets a float only where it is one, exactly."""
    kinds = left.kind + right.kind
    return "f" not in kinds or all(one.kind != "i" or bound(one.values) <= EXACT for one in (left, right))


_IN_ARROW: Final = dict(
    zip(COMPARISONS, (pc.equal, pc.not_equal, pc.less, pc.less_equal, pc.greater, pc.greater_equal), strict=True)
)


def _compared_in_arrow(function: Any, left: Any, right: Any) -> Any:
    """Compare what is ordered in Arrow as in Python; None if that is not known of these."""
    a, b = _ordered(left), _ordered(right)
    if a is None or b is None or (isinstance(a, pa.Scalar) and isinstance(b, pa.Scalar)):
        return None
    if a.type != b.type and not (is_text(a.type) and is_text(b.type)):
        return None
    found = _IN_ARROW[function](a, b)
    return (found.fill_null(False) if found.null_count else found).to_numpy(zero_copy_only=False)


def _ordered(values: Any) -> pa.Array | pa.Scalar | None:
    """Return values, or one that is the same for all rows, if Arrow compares them as Python does."""
    leaf = of_values([values]) if type(values) in (str, bytes, date, datetime) else values
    if not isinstance(leaf, Leaf) or leaf.kind or not _is_ordered(leaf.type):
        return None
    return leaf.array if leaf is values else leaf.array[0]


def is_text(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether Arrow compares values of a type as Python does."""
    kinds = pa.types
    return bool(
        is_text(kind)
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_date32(kind)
        or kinds.is_decimal(kind)
        or (kinds.is_timestamp(kind) and kind.tz is None)
    )


def _exclusive(_: Any, left: Lane, right: Lane) -> Truth | None:
    return _compared(operator.ne, left, right) if left.kind == right.kind == "b" else None


def _extreme(function: Any, left: Lane, right: Lane) -> Lane | None:
    """Return the least, or the greatest, of two numbers: the first of equal ones."""
    if "O" in (left.kind, right.kind) or not _are_comparable(left, right):
        return None
    a, b = left.values, right.values
    is_first = np.logical_not(b < a if function is least else b > a)
    found = chosen(is_first, Lane(a, None, left.whole), Lane(b, None, right.whole))
    return Lane(found.values, all_valid(left, right), found.whole)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _numbers(given: Sequence[Lane]) -> list[Lane] | None:
    """Return numbers, Booleans as ints; None if some values are none."""
    found = []
    for one in given:
        kind, values = one.kind, one.values
        if kind == "O":
            return None
        found.append(one if kind != "b" else Lane(plain(np.asarray(values).astype(np.int64)), one.valid))
    return found


def _as_floats(values: Any) -> Any:
    return values.astype(np.float64, copy=False) if isinstance(values, np.ndarray) else float(values)


def _calculated(function: Any, _: bool, left: Lane, right: Lane) -> Lane:
    a, b = left.values, right.values
    valid = all_valid(left, right)
    if left.whole is not None or right.whole is not None:
        return _mixed(function, left, right, valid)
    if left.kind == right.kind == "i":
        most = bound(a) * bound(b) if function is operator.mul else bound(a) + bound(b)
        if most > INT64.max:
            raise NotColumnar("an int leaves 64 bits")
        return Lane(plain(function(a, b)), valid)
    return Lane(plain(function(_as_floats(a), _as_floats(b))), valid)


def _mixed(function: Any, left: Lane, right: Lane, valid: Mask) -> Lane:
    """Calculate with floats of which some stand for ints."""
    whole = wholeness(left) & wholeness(right)
    found = function(_as_floats(left.values), _as_floats(right.values))
    if (np.abs(np.where(whole, found, 0)) > EXACT).any():
        raise NotColumnar("ints beyond 2**53 and floats are mixed")
    return Lane(found, valid, whole if whole.any() else None)


def _divided(function: Any, misses: bool, left: Lane, right: Lane) -> Lane | None:
    a, b = left.values, right.values
    valid = all_valid(left, right)
    if (is_zero := np.asarray(b == 0)).any():
        if not misses and (is_zero if valid is None else is_zero & valid).any():
            raise raises(function, ZeroDivisionError)
        valid = ~is_zero if valid is None else valid & ~is_zero
        b = plain(np.where(is_zero, 1, b))
    are_ints = left.kind == right.kind == "i"
    if function is operator.truediv:
        if are_ints and max(bound(a), bound(b)) > EXACT:
            return None
        return Lane(plain(np.asarray(_as_floats(a) / _as_floats(b))), valid)
    if not are_ints or (np.asarray(a) == INT64.min).any():
        return None
    return Lane(plain(function(a, b)), valid)


def _signed(function: Any, _: bool, given: Lane) -> Lane | None:
    if given.kind == "i" and bound(given.values) > INT64.max:
        return None
    return Lane(plain(function(given.values)), given.valid, given.whole)


def _as_they_are(_: Any, given: Lane) -> Lane | None:
    return None if given.kind == "O" else given


def _floats(_: Any, __: bool, given: Lane) -> Lane:
    return Lane(_as_floats(given.values), given.valid)


def _turned(function: Turning, _: bool, *given: Lane) -> Truth:
    value, low, high = [np.asarray(one.values) for one in given]
    if len({one.dtype.kind for one in (value, low, high)}) > 1:
        value, low, high = [one.astype(np.float64) for one in (value, low, high)]
    whole, slack = function.whole, function.slack
    with np.errstate(invalid="ignore"):  # as `sector` has it
        gap = high - low
        is_one, span = np.abs(gap) <= ROUNDING * whole, gap % whole
        span = np.where(np.minimum(span, whole - span) <= ROUNDING * whole, whole, span)
        span = np.where(is_one, np.abs(gap), span)
        turned = (value - np.where(is_one, np.minimum(low, high), low) + slack) % whole
    true = turned <= span + 2 * slack
    valid = all_valid(*given, without_nan(Lane(span)), without_nan(Lane(turned)))
    return Truth(true) if valid is None else Truth(true & valid, ~true & valid)


def _positions(_: Any, given: Lane) -> Lane | None:
    """Return pairs of numbers, of which those that are no place on Earth are missing; None if they are no pairs."""
    tuples = given.values
    if not isinstance(tuples, Struct) or tuples.kind != TUPLE or len(tuples.items) != len(_FARTHEST):
        return None
    lanes = [lane(item) for item in tuples.items]
    if not all(isinstance(one.values, np.ndarray) and one.kind in "if" for one in lanes):
        return None
    there = all_valid(given, *lanes)
    for one, most in zip(lanes, _FARTHEST, strict=True):
        is_near = (one.values >= -most) & (one.values <= most)  # of what is no number neither is so
        there = is_near if there is None else there & is_near
    return Lane(tuples, there)


_FARTHEST: Final = (POLE, DATE_LINE)
_OF_ANY: Final[dict[Any, Callable[..., Lane | Truth | None]]] = {
    **dict.fromkeys(COMPARISONS, _compared),
    operator.xor: _exclusive, least: _extreme, greatest: _extreme, exactly: _as_they_are, position_of: _positions,
}  # fmt: skip
"""What a function means on columns of any values: a function of it, and of lanes."""
_OF_NUMBERS: Final[dict[Any, Callable[..., Lane | Truth | None]]] = {
    operator.add: _calculated, operator.sub: _calculated, operator.mul: _calculated,
    operator.truediv: _divided, operator.floordiv: _divided, operator.mod: _divided,
    operator.neg: _signed, operator.pos: _signed, operator.abs: _signed, abs: _signed, float: _floats,
}  # fmt: skip
"""What it means on numbers: a function of it, of whether what cannot be computed is missing, and of lanes."""
