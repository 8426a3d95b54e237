"""Functions of values that may be missing, in expressions that columns can compute.

A function that is no expression itself, such as the judgement of a pack of rules, can say what it computes as one, by
a method ``in_columns``, in these functions and in those of `made_values`; None is *missing*. They are plain Python
here, and run over columns in `cartesius.columns`. Where a missing value decides nothing, a function of it is missing,
too; `both` and `either` decide without it where they can.

This module is over 300 lines because it is the vocabulary of forms, one short function each.

Invariant: a function here gives over columns, row by row, what it gives here.

Source: S. C. Kleene, Introduction to Metamathematics, 1952, § 64.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import attrs

from cartesius.errors import shortened
from cartesius.expressions.value_sorts import CALLED, is_of_sort

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cartesius.expressions.expressions import Expression
    from cartesius.expressions.value_sorts import ValueSort

ROUNDING: Final = 1e-12
"""By which share of a whole turn two bounds may differ that are meant to be one direction."""
SUBJECT: Final = ""
"""What the expressions of a form call the first slot, whatever its name is."""


@attrs.frozen(eq=False)
class Form:
    """What a function of rows computes, as expressions over the slots of the rows.

    Args:
        meaning: Two values of the function count as unchanged exactly if none of these differs.
        value: The value.
    """

    meaning: tuple[Expression, ...]
    value: Expression


@attrs.frozen
class Asked:
    """What a function is that is no expression: it depends on its rows alone, and is asked of those that are found.

    Args:
        why: Why it is no expression, a clause like "it counts rows".
    """

    why: str


@attrs.frozen
class Observed:
    """The value of a field of a row, missing if the row is, or if it is no number.

    >>> Observed("depth")({"depth": 9.0}), Observed("depth")(None), Observed("depth", is_optional=True)({})
    (9.0, None, None)
    """

    field: str
    is_optional: bool = False
    """Whether a row may lack it."""
    members: tuple[str, ...] | None = None
    """The values that it may have; any other is missing."""
    sort: ValueSort | None = None
    """Of what sort it must be; None: of any."""

    def __call__(self, row: Mapping[str, Any] | None) -> Any:
        """Read it; raise `TypeError` if it is of another sort: no word may pass for yes."""
        if row is None or (self.is_optional and self.field not in row):
            return None
        value = row[self.field]
        if value is None or value != value or (self.members is not None and value not in self.members):  # noqa: PLR0124 - NaN
            return None
        if self.sort is not None and not is_of_sort(value, self.sort):
            shown = shortened(repr(value), 100)
            message = f"expected {CALLED[self.sort]} as {self.field!r} but got {shown} (type={type(value).__name__})"
            raise TypeError(message)
        return value


@attrs.frozen
class Valid:
    """What is valid at an instant in the timeline that a row has in a field, missing if there is no row, or instant.

    A timeline has a method ``at``, and `segments`: instants, in order, and what is valid from each on, or None.

    >>> Valid("timeline")(None, 3)
    """

    field: str

    def __call__(self, row: Mapping[str, Any] | None, instant: int | None) -> Any:
        """Look it up."""
        return None if row is None or instant is None else row[self.field].at(instant)


@attrs.frozen
class Unmarked:
    """A row, missing if it has a field that marks it.

    >>> Unmarked("@stale")({"depth": 9.0}), Unmarked("@stale")({"depth": None, "@stale": True})
    ({'depth': 9.0}, None)
    """

    mark: str

    def __call__(self, row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Look."""
        return None if row is None or self.mark in row else row


@attrs.frozen
class Lifted:
    """A function of values, none of which may be missing; what cannot be computed, or is no number, is missing.

    >>> from operator import truediv
    >>> Lifted(truediv)(1, 2), Lifted(truediv)(1, 0), Lifted(truediv)(1, None)
    (0.5, None, None)
    """

    function: Callable[..., Any]
    keeps_nan: bool = False
    """Whether a result that is no number is there."""

    def __call__(self, *values: Any) -> Any:
        """Apply it."""
        if any(value is None for value in values):
            return None
        try:
            found = self.function(*values)
        except ArithmeticError:
            return None
        return found if self.keeps_nan or found == found else None  # noqa: PLR0124 - NaN


@attrs.frozen
class Turning:
    """Whether a value is met on the way around a circle from one bound to another.

    >>> Turning(360)(350, 340, 20), Turning(360)(30, 340, 20)
    (True, False)
    """

    whole: float
    slack: float = 0

    def __call__(self, value: Any, low: Any, high: Any) -> bool | None:
        """Look; nobody knows of what is infinite."""
        turned, span = sector(value, low, high, self.whole, self.slack)
        if turned != turned or span != span:  # noqa: PLR0124 - NaN
            return None
        return bool(turned <= span + 2 * self.slack)


def sector(value: Any, low: Any, high: Any, whole: Any, slack: float = 0) -> tuple[Any, Any]:
    """Return how far a value is along a sector, and how far that turns: all the way between bounds a turn apart.

    Bounds that are equal but for rounding are one direction, whichever of the two is ahead by a bit.

    >>> sector(350, 340, 20, 360), sector(Decimal(0), 350, 10, 360), sector(30, 30, 30 - 1e-14, 360)[1] < 1e-13
    ((10, 40), (Fraction(10, 1), 20), True)

    Args:
        value: Where it is.
        low: Where the sector begins.
        high: Where it ends.
        whole: A whole turn.
        slack: By how much it begins earlier.
    """
    value, low, high = exactly(value), exactly(low), exactly(high)  # a remainder of decimals may be negative
    gap = high - low
    if abs(gap) <= ROUNDING * whole:
        return (value - min(low, high) + slack) % whole, abs(gap)
    span = gap % whole
    return (value - low + slack) % whole, whole if min(span, whole - span) <= ROUNDING * whole else span


def both(left: Any, right: Any) -> bool | None:
    """Return Kleene's conjunction.

    >>> both(None, False), both(None, True)
    (False, None)
    """
    if (left is not None and not left) or (right is not None and not right):
        return False
    return None if left is None or right is None else True


def either(left: Any, right: Any) -> bool | None:
    """Return Kleene's disjunction.

    >>> either(None, True), either(None, False)
    (True, None)
    """
    if left or right:
        return True
    return None if left is None or right is None else False


def opposite(value: Any) -> bool | None:
    """Return Kleene's negation.

    >>> opposite(False), opposite(None)
    (True, None)
    """
    return None if value is None else not value


def is_missing(value: Any) -> bool:
    """Whether a value, or a row, is missing.

    >>> is_missing(None), is_missing(0)
    (True, False)
    """
    return value is None


def is_there(value: Any) -> bool:
    """Whether a value, or a row, is there.

    >>> is_there(None), is_there(0)
    (False, True)
    """
    return value is not None


def is_true(value: Any) -> bool:
    """Whether a condition holds for certain.

    >>> is_true(True), is_true(None)
    (True, False)
    """
    return bool(value)


def where_there(row: Any, value: Any) -> Any:
    """Return a value where a row is there; otherwise it is missing.

    >>> where_there({}, 3), where_there(None, 3)
    (3, None)
    """
    return None if row is None else value


def first_known(value: Any, default: Any) -> Any:
    """Return a value, or another where it is missing.

    >>> first_known(None, 3)
    3
    """
    return default if value is None else value


def exactly(value: Any) -> Any:
    """Return a number that may be subtracted from any other: floats and decimals can be compared, and no more.

    >>> exactly(Decimal("0.5")), exactly(0.5)
    (Fraction(1, 2), 0.5)
    """
    if not isinstance(value, Decimal):
        return value
    return Fraction(value) if value.is_finite() else float(value)


def least(left: Any, right: Any) -> Any:
    """Return the smaller of two values, the first of equal ones.

    >>> least(2, 1)
    1
    """
    return min(left, right)


def greatest(left: Any, right: Any) -> Any:
    """Return the greater of two values, the first of equal ones.

    >>> greatest(2, 1)
    2
    """
    return max(left, right)


_FORMS: Final[dict[int, tuple[ref[Any], Form]]] = {}
"""The forms of functions that are there, by identity: equal functions may hold 1 and 1.0."""


def form_of(function: Any) -> Form | Asked | str | None:
    """Return what a function says that it computes, why it cannot, or None if it says nothing.

    A form is the same object for the same function, so that what is made of it is made once, for all engines.

    >>> form_of(len)
    """
    describe: Callable[[], Form | Asked | str] | None = getattr(function, "in_columns", None)
    if describe is None:
        return None
    place = id(function)
    if place in _FORMS and _FORMS[place][0]() is function:
        return _FORMS[place][1]
    found = describe()
    if isinstance(found, Form):
        _FORMS[place] = ref(function, lambda _: _FORMS.pop(place, None)), found
    return found
