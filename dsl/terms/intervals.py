"""Intervals: sets of numbers as unions of intervals, and sets of other values, exact and closed under complement.

They say which values of a term make a comparison true: of `draught > 15 m` those above 15. That one set is empty, or
lies within another, is a proof about comparisons.

Invariant: the intervals of `Numbers` are not empty, ascend, and do not touch; so equal sets are equal data.

Source: R. E. Moore, Interval Analysis, 1966.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

import attrs

Operator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">="]
OPPOSITE: dict[Operator, Operator] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
"""The comparison that holds where this one does not."""
MIRRORED: dict[Operator, Operator] = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The comparison with its sides exchanged."""


class Bound(NamedTuple):
    """A cut between numbers: just before ``value``, or, if it is ``after`` it, just after; None: at infinity."""

    value: Fraction
    after: bool


class Interval(NamedTuple):
    """All numbers between two cuts; None: there is no cut on that side."""

    low: Bound | None
    high: Bound | None


@attrs.frozen
class Numbers:
    """A set of numbers.

    >>> deep, shallow = Numbers.that(">", Fraction(15)), Numbers.that("<", Fraction(10))
    >>> deep.meet(shallow).is_empty, deep.complement() == Numbers.that("<=", Fraction(15))
    (True, True)
    """

    intervals: tuple[Interval, ...]

    @classmethod
    def that(cls, operator: Operator, value: Fraction) -> Numbers:
        """Return the numbers that compare so with ``value``.

        >>> Numbers.that("!=", Fraction(0)).meet(Numbers.that("==", Fraction(0))).is_empty
        True
        """
        before, after = Bound(value, after=False), Bound(value, after=True)
        match operator:
            case "<":
                return cls((Interval(None, before),))
            case "<=":
                return cls((Interval(None, after),))
            case ">":
                return cls((Interval(after, None),))
            case ">=":
                return cls((Interval(before, None),))
            case "==":
                return cls((Interval(before, after),))
        return cls((Interval(None, before), Interval(after, None)))

    @property
    def is_empty(self) -> bool:
        """Whether there is no such number."""
        return not self.intervals

    def complement(self) -> Numbers:
        """Return the numbers that are not in it."""
        found, low, is_open = [], None, True
        for interval in self.intervals:
            if interval.low is not None:
                found.append(Interval(low, interval.low))
            low, is_open = interval.high, interval.high is not None
        return Numbers((*found, Interval(low, None)) if is_open else tuple(found))

    def meet(self, other: Numbers) -> Numbers:
        """Return the numbers that are in both."""
        pairs = (_overlap(left, right) for left in self.intervals for right in other.intervals)
        return Numbers(tuple(sorted((each for each in pairs if each is not None), key=_place)))

    def example(self) -> Fraction:
        """Return one of them, the smallest or roundest; the set is not empty.

        >>> Numbers.that(">", Fraction(15)).example()
        Fraction(16, 1)
        """
        low, high = self.intervals[0]
        if low is None:
            return Fraction(0) if high is None else min(Fraction(0), high.value if high.after else high.value - 1)
        if not low.after:
            return low.value
        above = low.value + 1
        if high is None or Bound(above, after=False) < high:
            return above
        return (low.value + high.value) / 2


@attrs.frozen
class Choices:
    """A set of texts or truth values: those listed, or all but those.

    >>> tanker, barge = Choices(frozenset({"tanker"})), Choices(frozenset({"barge"}))
    >>> tanker.meet(barge).is_empty, within(tanker, barge.complement())
    (True, True)
    """

    listed: frozenset[str | int | float | bool]
    all_but: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is no such value."""
        return not self.listed and not self.all_but

    def complement(self) -> Choices:
        """Return the values that are not in it."""
        return Choices(self.listed, not self.all_but)

    def meet(self, other: Choices) -> Choices:
        """Return the values that are in both."""
        if self.all_but and other.all_but:
            return Choices(self.listed | other.listed, all_but=True)
        if self.all_but or other.all_but:
            listed, excluded = (other, self) if self.all_but else (self, other)
            return Choices(listed.listed - excluded.listed)
        return Choices(self.listed & other.listed)

    def example(self) -> str | int | float | bool:
        """Return one of them; the set is not empty.

        >>> Choices(frozenset({"a"}), all_but=True).example()
        'other'
        """
        if not self.all_but:
            return min(self.listed, key=repr)
        return next(text for n in range(len(self.listed) + 1) if (text := f"other{n or ''}") not in self.listed)


Values: TypeAlias = Numbers | Choices


def meet(left: Values, right: Values) -> Values:
    """Return the values that are in both sets, which are of one kind.

    >>> meet(Choices(frozenset({True})), Choices(frozenset({False}))).is_empty
    True
    """
    return left.meet(right)  # type: ignore[arg-type]  # they are of one kind


def overlap(left: Values, right: Values) -> bool:
    """Whether two sets, which are of one kind, have a value in common: whether what they `meet` in is not empty.

    >>> overlap(Numbers.that("<=", Fraction(35)), Numbers.that(">", Fraction(35)))
    False
    """
    if isinstance(left, Numbers) and isinstance(right, Numbers):
        return any(
            not (_is_below(one, other) or _is_below(other, one)) for one in left.intervals for other in right.intervals
        )
    return not meet(left, right).is_empty


def within(left: Values, right: Values) -> bool:
    """Whether the values of the one set, which are of one kind with the other's, are all in the other.

    >>> within(Numbers.that("<=", Fraction(35)), Numbers.that("<=", Fraction(45)))
    True
    """
    return meet(left, right.complement()).is_empty


def _is_below(left: Interval, right: Interval) -> bool:
    return left.high is not None and right.low is not None and left.high <= right.low


def _overlap(left: Interval, right: Interval) -> Interval | None:
    lows = [each for each in (left.low, right.low) if each is not None]
    highs = [each for each in (left.high, right.high) if each is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    return None if low is not None and high is not None and low >= high else Interval(low, high)


def _place(interval: Interval) -> tuple[bool, Bound]:
    return interval.low is not None, interval.low or Bound(Fraction(0), after=False)
