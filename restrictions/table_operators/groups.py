"""Groups: how the rows of a table are summed up so that one that changes need not be summed up anew.

A group has an empty element, an associative and commutative combination, and an inverse: a total is kept up by adding
what comes and subtracting what goes. Sums are exact, whatever comes and goes, and rounded once, at the end. Nulls are
skipped, as in SQL: a total of none but nulls is null, and only `count`, of nothing in particular, counts rows.

This module is over 300 lines because the groups that there are, and the sums that they are over, are read together.

Source: thesis, L23 and L25; SQL:2016, 10.9; SEMANTICS 1.18 and 2.7.
"""

from __future__ import annotations

import decimal
import math
import operator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import attrs

from cartesius.data.codec import storable
from cartesius.data.null_values import null_last
from cartesius.errors import InvalidArgument
from cartesius.expressions.value_functions import Chained
from cartesius.language.lenience import Lenient
from cartesius.plan.known_totals import Total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _itself(value: Any) -> Any:
    return value


class _Summed:
    """What groups and monoids have in common."""

    empty: Any
    combine: Callable[[Any, Any], Any]
    inverse: Any
    lift: Callable[[Any], Any]
    finish: Callable[[Any], Any]
    name: str

    def __attrs_post_init__(self) -> None:
        """Check that what is called is a function."""
        given = {"combine": self.combine, "lift": self.lift, "finish": self.finish}
        for name, function in (given | ({} if isinstance(self, Monoid) else {"inverse": self.inverse})).items():
            if not callable(function):
                message = (
                    f"{type(self).__name__}: expected a function as {name} but got {name}={function!r}"
                    f" (type={type(function).__name__})"
                )
                raise InvalidArgument(message)

    def __repr__(self) -> str:
        """Show the name."""
        return self.name

    def of(self, value: str | Callable[[Any], Any]) -> Self:
        """Return the same over a field of the rows, or a function of them; `count` then counts what is not null.

        >>> from restrictions.tables import count, mean
        >>> mean.of("length")
        mean.of('length')
        >>> count.lift(None), count.of(abs).lift(-2), count.of(lambda n: n + 1).lift(None)
        (1, 1, 0)
        """
        get = operator.attrgetter(value) if isinstance(value, str) else value
        if not callable(get):
            message = f"Group.of: expected a field's name or a function but got {value!r} (type={type(value).__name__})"
            raise InvalidArgument(message)
        shown = getattr(value, "__qualname__", repr(value))
        lift = _one_if_there if self.lift is _one else self.lift
        changes = {"lift": Chained(lift, get), "name": f"{self.name}.of({shown})"}
        return attrs.evolve(self, **changes)  # type: ignore[misc]  # the subclasses are attrs classes

    def after(self, get: Callable[[Any], Any]) -> Self:
        """Return the same of what ``get`` makes of the rows, each of which is a row still, whatever it makes of it."""
        return attrs.evolve(self, lift=Chained(self.lift, get))  # type: ignore[misc]  # likewise

    def check(self, values: Iterable[Any]) -> None:
        """Check the laws on some values, all triples of them; without values nothing, and not ``finish``.

        Raises:
            InvalidArgument: A law does not hold; the message names it, with the elements.
        """
        elements, combine = [self.lift(value) for value in values], self.combine
        for a in elements:
            self._expect("combine(a, empty) == a", combine(a, self.empty), a, a)
            if self.inverse is not None:
                self._expect("combine(a, inverse(a)) == empty", combine(a, self.inverse(a)), self.empty, a)
        for a, b in product(elements, repeat=2):
            self._expect("combine(a, b) == combine(b, a)", combine(a, b), combine(b, a), a, b)
        for a, b, c in product(elements, repeat=3):
            left, right = combine(combine(a, b), c), combine(a, combine(b, c))
            self._expect("combine(combine(a, b), c) == combine(a, combine(b, c))", left, right, a, b, c)

    def _expect(self, law: str, left: Any, right: Any, *elements: Any) -> None:
        if left != right:
            shown = ", ".join(f"{name}={element!r}" for name, element in zip("abc", elements, strict=False))
            failure = f"expected {law} but got {left!r} and {right!r} for {shown}"
            kind = type(self).__name__
            message = f"{kind}: {failure}; it is no commutative {kind.lower()}"
            raise InvalidArgument(message)

    @property
    def known(self) -> tuple[Total, tuple[Callable[[Any], Any], ...]] | None:
        """What the faster tiers know of it: which total it is, and of what, functions applied one after the other.

        >>> from restrictions.tables import Group, count
        >>> count.of(abs).known, Group(1, lambda a, b: a * b, lambda a: 1 / a).known
        ((<Total.PRESENT: 'how many are not None'>, (<built-in function abs>,)), None)
        """
        gets, lift = [], self.lift
        while isinstance(lift, Chained):
            gets.append(lift.inner)
            lift = lift.outer
        mine = attrs.evolve(self, lift=lift)  # type: ignore[misc]  # likewise
        for total, one in _KNOWN.items():
            is_comparable = type(one.empty) is type(self.empty)  # those of a user may be arrays
            if is_comparable and attrs.evolve(one, name=self.name) == mine:
                return total, tuple(gets)
        return None


@attrs.frozen(repr=False)
class Monoid(_Summed):
    """How to total values that cannot be subtracted, as of a maximum: all are kept, and totalled anew if one goes.

    >>> from cartesius import Reactive, run
    >>> from restrictions import tumbling
    >>> from restrictions.tables import Monoid, aggregate
    >>> longest = Monoid("", lambda a, b: max(a, b, key=len))
    >>> word = Reactive("word")
    >>> trace = [(word, "a", 1), (word, "abc", 2), (word, "ab", 3)]
    >>> [event.value.value for event in run(aggregate(word, longest, restrict=tumbling(10)), trace)]
    ['a', 'abc']

    Args:
        empty: The total of nothing.
        combine: Adds two elements; associative and commutative, and ``combine(x, empty) == x``.
        lift: Makes an element of a value; by default the value is one.
        finish: Makes a result of a total; by default it is one.
        name: How it is shown.
    """

    empty: Any
    combine: Callable[[Any, Any], Any]
    lift: Callable[[Any], Any] = _itself
    finish: Callable[[Any], Any] = _itself
    name: str = "Monoid(…)"

    @property
    def inverse(self) -> None:
        """There is none."""
        return


@attrs.frozen(repr=False)
class Group(_Summed):
    """How to total values that can be subtracted again: lift each, combine them, finish the total. For `reduce`.

    >>> from restrictions.tables import Group
    >>> largest_shift = Group(0, lambda a, b: a + b, lambda a: -a, finish=abs)
    >>> largest_shift.check([1, -2, 3])

    Args:
        empty: The total of nothing.
        combine: Adds two elements; associative and commutative, and ``combine(x, empty) == x``.
        inverse: What takes an element back: ``combine(x, inverse(x)) == empty``.
        lift: Makes an element of a row's value; by default the value is one.
        finish: Makes a result of a total; by default it is one.
        name: How it is shown.

    Elements must be plain data, so that a snapshot can hold them.

    Raises:
        InvalidArgument: What is to be called is no function.

    Source:
        Thesis, L23.
    """

    empty: Any
    combine: Callable[[Any, Any], Any]
    inverse: Callable[[Any], Any]
    lift: Callable[[Any], Any] = _itself
    finish: Callable[[Any], Any] = _itself
    name: str = "Group(…)"

    def leniently(self) -> Group:
        """Return the group whose elements are made leniently, if they can be (`lenience`)."""
        return attrs.evolve(self, lift=self.lift.leniently()) if isinstance(self.lift, Lenient) else self


def check_group(call: str, group: object) -> None:
    """Raise `InvalidArgument` in the name of ``call`` if it was given no group and no monoid."""
    if not isinstance(group, Group | Monoid):
        message = (
            f"{call}: expected a Group, or a Monoid, such as count, sum_ or mean, but got group={group!r}"
            f" (type={type(group).__name__})"
        )
        raise InvalidArgument(message)


class _SumDraft:
    """A sum in the making, as `EventDraft` is of an event."""

    __slots__ = (
        "__weakref__", "above", "below", "count", "decimals", "denominator", "floats", "numerator", "undefined",
    )  # fmt: skip


def _of_ints(numerator: int, count: int) -> Sum:
    """Return a sum of ints, in a third of the time of `Sum`."""
    total: Any = object.__new__(_SumDraft)
    total.numerator, total.denominator, total.count = numerator, 1, count
    total.floats = total.decimals = total.above = total.below = total.undefined = 0
    total.__class__ = Sum
    return total  # type: ignore[no-any-return]  # its class was set


@storable
@attrs.frozen
class Sum(_SumDraft):
    """An exact sum: a fraction, and how many numbers are in it; how many are floats, decimals, or not finite."""

    numerator: int = 0
    denominator: int = 1
    count: int = 0
    floats: int = 0
    decimals: int = 0
    above: int = 0  # +inf
    below: int = 0  # -inf
    undefined: int = 0  # NaN

    @classmethod
    def of(cls, value: Any) -> Sum:
        """Return the sum of one number."""
        if type(value) is int:  # most are
            return _of_ints(value, 1)
        if not isinstance(value, int | float | Decimal):
            message = (
                f"sum_: expected numbers but got {value!r} (type={type(value).__name__}); name a field, as in"
                " sum_.of('length'), or make a Group for it"
            )
            raise InvalidArgument(message)
        counts = {"count": 1, "floats": int(isinstance(value, float)), "decimals": int(isinstance(value, Decimal))}
        if _is_finite(value):
            exact = Fraction(value)
            return cls(exact.numerator, exact.denominator, **counts)
        what = "undefined" if value != value else "above" if value > 0 else "below"  # noqa: PLR0124 - NaN
        return cls(**counts, **{what: 1})

    def __add__(self, other: Sum) -> Sum:
        """Add, exactly."""
        if self.denominator == other.denominator == 1 and self._is_of_ints and other._is_of_ints:
            return _of_ints(self.numerator + other.numerator, self.count + other.count)
        counts = map(operator.add, self._counts, other._counts)
        exact = self.exact + other.exact
        return Sum(exact.numerator, exact.denominator, *counts)

    def __neg__(self) -> Sum:
        """Return what takes it back."""
        return Sum(-self.numerator, self.denominator, *map(operator.neg, self._counts))

    @property
    def exact(self) -> Fraction:
        """The sum of the finite numbers."""
        return Fraction(self.numerator, self.denominator)

    @property
    def _is_of_ints(self) -> bool:
        return not (self.floats or self.decimals or self.above or self.below or self.undefined)

    @property
    def _counts(self) -> tuple[int, int, int, int, int, int]:
        return self.count, self.floats, self.decimals, self.above, self.below, self.undefined

    @property
    def value(self) -> Any:
        """An int, 0 of nothing; a Decimal, exact, if there are decimals; a float, rounded once, if there are floats."""
        if self._is_of_ints:
            return self.numerator
        if self.infinite is not None:
            return self.infinite
        return _as_float(self.exact) if self.floats else _as_decimal(self.exact)

    @property
    def infinite(self) -> float | Decimal | None:
        """The sum if it is no finite number, otherwise None."""
        number = float if self.floats else Decimal
        if self.undefined or (self.above and self.below):
            return number("nan")
        return number("inf" if self.above else "-inf") if self.above or self.below else None


def _is_finite(value: int | float | Decimal) -> bool:
    if isinstance(value, int):
        return True
    return value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)


def _as_float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _as_decimal(exact: Fraction) -> Decimal:
    """Return the decimal that equals a fraction of a denominator 2^a·5^b."""
    places = 0
    while exact.denominator != 1:
        exact, places = exact * 10, places + 1
    with decimal.localcontext() as context:
        context.prec = exact.numerator.bit_length() // 3 + 2  # a digit has more than three bits
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        return Decimal(exact.numerator).scaleb(-places)


def _one(value: Any) -> int:
    return 1


def _one_if_there(value: Any) -> int:
    return int(value is not None)


def _summand(value: Any) -> Sum:
    return Sum() if value is None else Sum.of(value)


def _sum(total: Sum) -> Any:
    return total.value if total.count else None


def _mean(total: Sum) -> Any:
    """Return the mean, rounded once; a Decimal of decimals, otherwise a float."""
    if total.count == 0:
        return None
    if total.infinite is not None:
        return total.infinite
    if total.decimals and not total.floats:
        return _as_decimal(total.exact) / total.count
    return _as_float(total.exact / total.count)


def _smaller(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    first, second = null_last(one), null_last(other)
    return other if second < first or (not first < second and _comes_first(other, one)) else one


def _larger(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    first, second = null_last(one), null_last(other)
    return other if first < second or (not second < first and _comes_first(other, one)) else one


def _comes_first(one: Any, other: Any) -> bool:
    """Whether of two equal values it is this one that counts, whichever came first: by type, or as it is written."""
    return (type(one).__name__, repr(one)) < (type(other).__name__, repr(other))


count = Group(0, operator.add, operator.neg, lift=_one, name="count")
"""How many rows there are; ``count.of(…)``: how many of them have what is said there."""
sum_ = Group(Sum(), operator.add, operator.neg, lift=_summand, finish=_sum, name="sum_")
"""The sum of the rows: exact; a float is rounded once, a Decimal not at all; a float among decimals makes a float.

None counts for nothing, and the sum of nothing is None.
"""
mean = Group(Sum(), operator.add, operator.neg, lift=_summand, finish=_mean, name="mean")
"""The mean of the rows, from their exact sum; None counts for nothing, and the mean of nothing is None."""
min_ = Monoid(None, _smaller, name="min_")
"""The least of the rows; None of no row, and None counts for nothing.

As in orders NaN is greater than all numbers, and null greater than that, in each part of a tuple as well.
"""
max_ = Monoid(None, _larger, name="max_")
"""The greatest of the rows; None of no row, and None counts for nothing. NaN and null are as with `min_`."""
_KNOWN: dict[Total, Group | Monoid] = {
    Total.COUNT: count, Total.PRESENT: attrs.evolve(count, lift=_one_if_there),
    Total.SUM: sum_, Total.MEAN: mean, Total.LEAST: min_, Total.GREATEST: max_,
}  # fmt: skip
