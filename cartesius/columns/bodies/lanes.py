"""Lanes: columns of values that may be missing, and the functions of `missing_values` over them.

A `Lane` holds numbers (numpy, or one Python number for all rows) or any other values (a vector), and says which are
there. A `Truth` holds a condition in Kleene's logic as two masks: where it is true, and where it is false.

Invariant: where a value is missing, what stands in its place is never looked at by the results.

Source: `missing_values`; SEMANTICS 1.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.vectors.conversions import of_values, repeated
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct

EXACT: Final = 2**53
"""Ints of a magnitude up to this are floats exactly."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Mask, Vector


@attrs.frozen(eq=False)
class Lane:
    """Values that may be missing.

    Args:
        values: Numbers or Booleans as numpy has them, one Python value for all rows, or a vector.
        valid: Which are there; None: all of them.
        whole: Which of the floats stand for ints; None: those are no floats.
    """

    values: Any
    valid: Mask = None
    whole: Mask = None

    @property
    def is_number(self) -> bool:
        """Whether they are numbers, and no Booleans."""
        values = self.values
        if isinstance(values, np.ndarray):
            return values.dtype.kind in "if"
        return type(values) in (int, float)

    def vector(self, n: int) -> Vector:
        """Return ``n`` values as a vector."""
        values = self.values
        if self.whole is not None and not self.whole.all():
            return of_values(self._mixed(n))
        if self.whole is not None:
            values = values.astype(np.int64)
        if isinstance(values, np.ndarray):
            return Leaf(pa.array(values, mask=None if self.valid is None else ~spread(self.valid, n)))
        if not isinstance(values, Leaf | Struct):
            values = repeated(values, n)
        if self.valid is None or self.valid.all():
            return values
        return values.take(np.where(spread(self.valid, n), np.arange(n), -1), may_miss=True)

    def _mixed(self, n: int) -> list[int | float | None]:
        """Return floats of which some stand for ints, one by one."""
        valid = np.ones(n, np.bool_) if self.valid is None else spread(self.valid, n)
        columns = zip(self.values.tolist(), spread(wholeness(self), n).tolist(), valid.tolist(), strict=True)
        return [None if not there else int(value) if whole else value for value, whole, there in columns]


@attrs.frozen(eq=False)
class Truth:
    """A condition: where it is true, and where it is false; without the latter, wherever it is not true."""

    true: NDArray[np.bool_]
    false: Mask = None

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Where it is false."""
        return ~self.true if self.false is None else self.false

    @property
    def known(self) -> Mask:
        """Where it is true or false; None: everywhere."""
        return None if self.false is None else self.true | self.false


def spread(mask: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    """Return a mask of ``n`` rows, also of one that is the same for all."""
    return mask if mask.shape == (n,) else np.broadcast_to(mask, (n,))


def truth(given: Lane | Truth) -> Truth:
    """Return a condition, also of Booleans."""
    if isinstance(given, Truth):
        return given
    values = given.values
    if not isinstance(values, np.ndarray) and type(values) not in (bool, int, float, type(None)):
        reason = "a condition is neither true nor false"
        raise NotColumnar(reason)
    if values is None:
        return Truth(np.False_, np.False_)  # type: ignore[arg-type]  # the same for all rows
    true = np.asarray(values).astype(np.bool_)
    if given.valid is None:
        return Truth(true)
    return Truth(true & given.valid, ~true & given.valid)


def lane(given: Lane | Truth) -> Lane:
    """Return values, also of a condition."""
    if isinstance(given, Lane):
        return given
    if given.true.shape == ():
        return Lane(bool(given.true) if given.known is None or given.known.all() else None)
    return Lane(given.true, given.known)


def all_valid(*lanes: Lane) -> Mask:
    """Return where all are there; None: everywhere."""
    found: Mask = None
    for one in lanes:
        if one.valid is not None:
            found = one.valid if found is None else found & one.valid
    return found


# -- logic -------------------------------------------------------------------------------------------------------------


NEVER: Final = Truth(np.False_)  # type: ignore[arg-type]  # the same for all rows
ALWAYS: Final = Truth(np.True_)  # type: ignore[arg-type]  # the same for all rows


def _settled(given: Truth) -> bool | None:
    """Return what a condition is, if it is the same for all rows, and known."""
    return bool(given.true) if given.false is None and given.true.shape == () else None


def both(left: Lane | Truth, right: Lane | Truth) -> Truth:
    """Kleene's conjunction."""
    a, b = truth(left), truth(right)
    for one, other in ((a, b), (b, a)):
        if (settled := _settled(one)) is not None:
            return other if settled else NEVER
    return Truth(a.true & b.true, None if a.false is None and b.false is None else a.negative | b.negative)


def either(left: Lane | Truth, right: Lane | Truth) -> Truth:
    """Kleene's disjunction."""
    a, b = truth(left), truth(right)
    for one, other in ((a, b), (b, a)):
        if (settled := _settled(one)) is not None:
            return ALWAYS if settled else other
    return Truth(a.true | b.true, None if a.false is None and b.false is None else a.negative & b.negative)


def opposite(given: Lane | Truth) -> Truth:
    """Kleene's negation."""
    a = truth(given)
    return Truth(a.negative, None if a.false is None else a.true)


def is_true(given: Lane | Truth) -> Truth:
    """Whether a condition holds for certain."""
    return Truth(truth(given).true)


def is_missing(given: Lane | Truth) -> Truth:
    """Whether a value is missing."""
    if isinstance(given, Lane) and given.values is None:
        return ALWAYS
    known = given.known if isinstance(given, Truth) else given.valid
    return NEVER if known is None else Truth(~known)


def where_there(missing: Truth, given: Lane | Truth) -> Lane | Truth:
    """A value where a row is there."""
    if _settled(missing) is False:
        return given
    there = ~missing.true
    if isinstance(given, Truth):
        return Truth(given.true & there, given.negative & there)
    return Lane(given.values, there if given.valid is None else given.valid & there, given.whole)


def wholeness(given: Lane) -> NDArray[np.bool_]:
    """Return which numbers are ints, or stand for them; the floats that do are exact."""
    if given.whole is not None:
        return given.whole
    is_whole = kind_of(given.values) == "i"
    if is_whole and bound(given.values) > EXACT:
        reason = "ints beyond 2**53 and floats are mixed"
        raise NotColumnar(reason)
    return np.asarray(is_whole)


def bound(values: Any) -> int:
    """Return the greatest magnitude among ints, or among floats that stand for them."""
    if not isinstance(values, np.ndarray):
        return abs(int(values))
    return max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0


def first_case(values: Sequence[str], conditions: Sequence[Truth], n: int) -> Lane:
    """The text of the first condition that holds, the last where none does."""
    codes = np.full(n, len(values) - 1, np.int8)
    for place in reversed(range(len(values) - 1)):
        codes[spread(conditions[place].true, n)] = place
    return Lane(Leaf(pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(values)).dictionary_decode()))


def of_vector(vector: Vector) -> Lane:
    """Return the lane of a vector: numbers as numpy has them, 64 bits wide; other values as they are."""
    if not isinstance(vector, Leaf):
        return Lane(vector, vector.valid)
    if vector.kind:
        reason = "values are of several types"
        raise NotColumnar(reason)
    if vector.type == pa.null():
        return Lane(None)
    if not vector.is_number:
        return Lane(vector, vector.valid)
    numbers = vector.numbers
    if numbers.dtype in (np.uint64, np.float16):
        reason = f"values are of the type {vector.type}"
        raise NotColumnar(reason)
    wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}[numbers.dtype.kind]
    return Lane(numbers.astype(wide, copy=False), vector.valid)


def member(given: Lane, members: Sequence[str]) -> Lane:
    """Return values, of which those that are none of ``members`` are missing."""
    values = given.values
    if values is None:
        return given
    if not isinstance(values, Leaf) or not is_text(values.type):
        reason = "a choice is no text"
        raise NotColumnar(reason)
    is_member = pc.is_in(values.array, pa.array(members, values.type)).to_numpy(zero_copy_only=False)
    if is_member.all():
        return given
    return Lane(values, is_member if given.valid is None else given.valid & is_member)


def texts_differ(left: Leaf, right: Leaf) -> NDArray[np.bool_]:
    """Return where texts differ."""
    found: NDArray[np.bool_] = pc.not_equal(left.array, right.array).to_numpy(zero_copy_only=False)
    return found


def without_nan(given: Lane) -> Lane:
    """Return values, of which those that are no numbers are missing."""
    values = given.values
    if kind_of(values) != "f" or not np.isnan(np.sum(values)):  # a sum of numbers may be none, too: then look closer
        return given
    is_nan = np.isnan(values)
    if not is_nan.any():
        return given
    return Lane(np.asarray(values), ~is_nan if given.valid is None else given.valid & ~is_nan)


def kind_of(values: Any) -> str:
    """Return what numbers are, as numpy has it: ints, floats, Booleans, or others."""
    if isinstance(values, np.ndarray):
        return str(values.dtype.kind)
    return {int: "i", float: "f", bool: "b"}.get(type(values), "O")


def is_text(kind: pa.DataType) -> bool:
    """Whether values of an Arrow type are texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
