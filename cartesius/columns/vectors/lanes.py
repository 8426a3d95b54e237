"""Lanes: columns of values that may be null, and logic over them.

What is computed on columns is one of three: a `Vector`, as it was read; a `Lane`, which holds numbers (numpy, or one
Python value for all rows) or any other values (a vector), and says which are there; or a `Truth`, a condition in
Kleene's logic as two masks, where it is true and where it is false.

This module is over 300 lines because all computing on columns is of these three, in each other's terms.

Invariant: where a value is null, what stands in its place is never looked at by the results.

Source: S. C. Kleene, Introduction to Metamathematics, 1952, § 64; SEMANTICS 1.4 and 1.18.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.conversions import of_values, repeated
from cartesius.columns.vectors.vectors import MISSING, PACKED, Leaf, NotColumnar, Struct, Vector, concatenated

EXACT: Final = 2**53
"""Ints of a magnitude up to this are floats exactly."""
INT64: Final = np.iinfo(np.int64)
_VECTORS: Final = (Leaf, Struct)  # a union would be made anew each time it is asked for
_COLUMNS: Final = (np.ndarray, *_VECTORS)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices, Mask

    Given: TypeAlias = "Lane | Truth | Vector"


@attrs.frozen(eq=False)
class Lane:
    """Values that may be null.

    Args:
        values: Numbers or Booleans as numpy has them, one Python value for all rows, or a vector.
        valid: Which are there; None: all of them.
        whole: Which of the floats stand for ints; None: those are no floats.
    """

    values: Any
    valid: Mask = None
    whole: Mask = None

    @property
    def kind(self) -> str:
        """What its numbers are, as numpy has it: ints of 64 bits ``i``, floats ``f``, Booleans ``b``; others ``O``."""
        values = self.values
        if isinstance(values, np.ndarray):
            kind: str = values.dtype.kind
            return kind
        if type(values) is int:
            return "i" if INT64.min <= values <= INT64.max else "O"
        return "f" if type(values) is float else "b" if type(values) is bool else "O"

    @property
    def size(self) -> int | None:
        """How many rows it has; None if it is the same for any number of them."""
        if isinstance(self.values, _COLUMNS):
            return len(self.values)
        return None if self.valid is None or not self.valid.shape else len(self.valid)

    def vector(self, n: int) -> Vector:
        """Return ``n`` values as a vector."""
        values = self.values
        if self.whole is not None and not self.whole.all():
            return of_values(self._mixed(n))
        if self.whole is not None:
            values = values.astype(np.int64)
        if isinstance(values, np.ndarray):
            return Leaf(pa.array(values, mask=None if self.valid is None else ~spread(self.valid, n)))
        if not isinstance(values, _VECTORS):
            values = repeated(values, n)
        if self.valid is None or self.valid is values.valid or self.valid.all():
            return values
        return values.take(np.where(spread(self.valid, n), np.arange(n), MISSING), may_miss=True)

    def _mixed(self, n: int) -> list[int | float | None]:
        """Return floats of which some stand for ints, one by one."""
        valid = np.ones(n, np.bool_) if self.valid is None else spread(self.valid, n)
        columns = zip(self.values.tolist(), spread(wholeness(self), n).tolist(), valid.tolist(), strict=True)
        return [None if not there else int(value) if whole else value for value, whole, there in columns]

    def where(self, there: NDArray[np.bool_]) -> Lane:
        """Return the values in some rows, null in the others."""
        return attrs.evolve(self, valid=there if self.valid is None else self.valid & there)


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


def lane(given: Given) -> Lane:
    """Return values, also of a condition, or of a vector: numbers as numpy has them, 64 bits wide."""
    if isinstance(given, Lane):
        return given
    if isinstance(given, Truth):
        if given.true.shape == ():
            return Lane(bool(given.true) if given.known is None or given.known.all() else None)
        return Lane(given.true, given.known)
    if not isinstance(given, Leaf):
        return Lane(given, given.valid)
    if given.type == pa.null():
        if given.kind:
            raise NotColumnar("values are of several types")
        return Lane(None)
    if given.kind or not given.is_number:
        return Lane(given, given.valid)
    numbers = given.numbers
    if numbers.dtype == np.uint64 and len(numbers) and int(numbers.max()) > INT64.max:
        return Lane(given, given.valid)
    wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}[numbers.dtype.kind]
    return Lane(numbers.astype(wide, copy=False), given.valid)


def truth(given: Given) -> Truth:
    """Return a condition; other values are as ``if`` sees them."""
    if isinstance(given, Truth):
        return given
    one = lane(given)
    values = one.values
    if values is None:
        return Truth(np.False_, np.False_)  # type: ignore[arg-type]  # the same for all rows
    if isinstance(values, _VECTORS):
        true = np.array([bool(value) for value in values.to_list()], np.bool_)
    else:
        true = values.astype(np.bool_, copy=False) if isinstance(values, np.ndarray) else np.asarray(bool(values))
    return Truth(true) if one.valid is None else Truth(true & one.valid, ~true & one.valid)


def holds(given: Given, n: int) -> NDArray[np.bool_]:
    """Return in which of ``n`` rows a condition is true."""
    return spread(truth(given).true, n)


def vector_of(given: Given, n: int) -> Vector:
    """Return ``n`` values as a vector."""
    return given if isinstance(given, _VECTORS) else lane(given).vector(n)


def placed(vector: Vector, places: Indices, n: int) -> Vector:
    """Return ``n`` values: those of a vector at some places, in order, and None in all others."""
    indices = np.full(n, MISSING, np.int64)
    indices[places] = np.arange(len(places))
    return vector.take(indices, may_miss=True)


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


def both(left: Given, right: Given) -> Truth:
    """Kleene's conjunction."""
    a, b = truth(left), truth(right)
    for one, other in ((a, b), (b, a)):
        if (settled := _settled(one)) is not None:
            return other if settled else NEVER
    return Truth(a.true & b.true, None if a.false is None and b.false is None else a.negative | b.negative)


def either(left: Given, right: Given) -> Truth:
    """Kleene's disjunction."""
    a, b = truth(left), truth(right)
    for one, other in ((a, b), (b, a)):
        if (settled := _settled(one)) is not None:
            return ALWAYS if settled else other
    return Truth(a.true | b.true, None if a.false is None and b.false is None else a.negative & b.negative)


def opposite(given: Given) -> Truth:
    """Kleene's negation."""
    a = truth(given)
    return Truth(a.negative, None if a.false is None else a.true)


def is_true(given: Given) -> Truth:
    """Whether a condition holds for certain."""
    return Truth(truth(given).true)


def is_missing(given: Given) -> Truth:
    """Whether a value is null."""
    if isinstance(given, Truth):
        known = given.known
    else:
        one = lane(given)
        if one.values is None:
            return ALWAYS
        known = one.valid
    return NEVER if known is None else Truth(~known)


def is_there(given: Given) -> Truth:
    """Whether a value is not null."""
    return opposite(is_missing(given))


def where_there(missing: Truth, given: Given) -> Given:
    """A value where a row is there."""
    if _settled(missing) is False:
        return given
    there = ~missing.true
    if isinstance(given, Truth):
        return Truth(given.true & there, given.negative & there)
    return lane(given).where(there)


def first_known(value: Given, default: Given) -> Given:
    """A value, or another where it is null."""
    first = lane(value)
    if first.values is None:
        return default
    return value if first.valid is None else chosen(first.valid, first, lane(default))


# -- numbers of which some are ints, and others floats -----------------------------------------------------------------


def chosen(is_first: NDArray[np.bool_], first: Lane, second: Lane) -> Lane:
    """Return in some rows the first, in the others the second of two values."""
    if second.values is None:
        return first.where(is_first)
    if first.values is None:
        return second.where(~is_first)
    there = None
    if first.valid is not None or second.valid is not None:
        there = np.where(is_first, *[np.True_ if one.valid is None else one.valid for one in (first, second)])
        there = None if there.all() else there
    kinds = first.kind + second.kind
    if kinds not in ("bb", "ii", "if", "fi", "ff"):
        n = len(is_first) if is_first.shape else next((size for one in (first, second) if (size := one.size)), 1)
        places = np.where(spread(is_first, n), np.arange(n), n + np.arange(n))
        return lane(concatenated([first.vector(n), second.vector(n)]).take(places))
    found = np.where(is_first, first.values, second.values)
    if first.whole is None and second.whole is None and kinds[0] == kinds[1]:
        return Lane(plain(found), there)
    whole = np.where(is_first, wholeness(first), wholeness(second))
    if whole.all():  # the float is nowhere there
        return Lane(plain(found.astype(np.int64)), there)
    return Lane(plain(found), there, whole if whole.any() else None)


def plain(values: Any) -> Any:
    """Return numbers, as Python's if they are the same for all rows."""
    return values if getattr(values, "shape", ()) else getattr(values, "item", lambda: values)()


def wholeness(given: Lane) -> NDArray[np.bool_]:
    """Return which numbers are ints, or stand for them; the floats that do are exact."""
    if given.whole is not None:
        return given.whole
    is_whole = given.kind == "i"
    if is_whole and bound(given.values) > EXACT:
        raise NotColumnar("ints beyond 2**53 and floats are mixed")
    return np.asarray(is_whole)


def bound(values: Any) -> int:
    """Return the greatest magnitude among ints, or among floats that stand for them."""
    if not isinstance(values, np.ndarray):
        return abs(int(values))
    return max(abs(int(values.max())), abs(int(values.min()))) if len(values) else 0


def without_nan(given: Lane) -> Lane:
    """Return values, of which those that are no numbers are null."""
    values = given.values
    if isinstance(values, Leaf) and values.kind == PACKED:
        is_number = np.array([bool(value == value) for value in values.to_list()], np.bool_)  # noqa: PLR0124 - NaN
        return given if is_number.all() else given.where(is_number)
    if type(values) is Decimal and values.is_nan():
        return Lane(None)
    if given.kind != "f" or not np.isnan(np.sum(values)):  # a sum of numbers may be none, too: then look closer
        return given
    is_nan = np.isnan(values)
    if not np.any(is_nan):
        return given
    return given.where(~is_nan) if isinstance(values, np.ndarray) else Lane(None)
