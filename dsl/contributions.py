"""Contributions: what rows add to a total, as elements of a commutative group, so that a row can be taken out again.

Invariant: multiplicities are never zero, so that equal contributions are equal data.

Source: thesis, L23 and L25 (Group: empty, combine, inverse).
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any

import attrs

from cartesius import storable
from restrictions.groups import Sum

if TYPE_CHECKING:
    from dsl.aggregates import Operation


@storable
@attrs.frozen
class Contribution:
    """What rows add to a total: an element of a commutative group.

    >>> one = Contribution(1, Sum.of(2.5))
    >>> one + one + -one == one
    True
    """

    number: int = 0
    """How many rows count."""
    sum: Sum = attrs.field(factory=Sum)
    """Of their values, for a sum or a mean."""
    values: tuple[tuple[int | float, int], ...] = ()
    """Their values in ascending order, each with its multiplicity, for the least and the greatest."""
    missing: tuple[tuple[str, int], ...] = ()
    """What is missing of rows that may count, each with how many lack it, in ascending order."""

    def __add__(self, other: Contribution) -> Contribution:
        """Add componentwise."""
        return Contribution(
            self.number + other.number,
            self.sum + other.sum,
            _added(self.values, other.values),
            _added(self.missing, other.missing),
        )

    def __neg__(self) -> Contribution:
        """Return what takes it back."""
        return Contribution(-self.number, -self.sum, _opposite(self.values), _opposite(self.missing))

    def result(self, operation: Operation) -> tuple[Any, tuple[str, ...]]:
        """Return the total, or None and what is missing; the mean, least or greatest of nothing is None as well."""
        missing = tuple(name for name, number in self.missing if number > 0)
        if missing:
            return None, missing
        match operation:
            case "count":
                value: Any = self.number
            case "sum":
                value = self.sum.value
            case "mean":
                value = self.sum.infinite
                if value is None and self.number:
                    value = float(self.sum.exact / self.number)
            case "min":
                value = self.values[0][0] if self.values else None
            case "max":
                value = self.values[-1][0] if self.values else None
        return (value if value == value else None), ()  # noqa: PLR0124 - NaN


def _added(left: tuple[tuple[Any, int], ...], right: tuple[tuple[Any, int], ...]) -> tuple[tuple[Any, int], ...]:
    if not left or not right:
        return left or right
    counted = reduce(_counted, (left, right), Counter[Any]())
    return tuple(sorted((each, number) for each, number in counted.items() if number))


def _counted(counter: Counter[Any], items: tuple[tuple[Any, int], ...]) -> Counter[Any]:
    for each, number in items:
        counter[each] += number
    return counter


def _opposite(items: tuple[tuple[Any, int], ...]) -> tuple[tuple[Any, int], ...]:
    return tuple((each, -number) for each, number in items)
