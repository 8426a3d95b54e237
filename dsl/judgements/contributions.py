"""Contributions: what rows add to a total, as elements of a commutative group, so that a row can be taken out again.

Invariant: multiplicities are never zero, so that equal contributions are equal data.

Source: thesis, L23 and L25 (Group: empty, combine, inverse).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, final

import attrs

from cartesius import storable
from dsl.meaning.evaluation import compiled
from restrictions.table_operators.groups import Sum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.meaning.evaluation import Evaluate, Situation
    from dsl.meaning.raising import Compilation
    from dsl.meaning.reevaluation import Doubt
    from dsl.terms.terms import Operation, Total


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


@final
class Part:
    """What a row adds to one total.

    Args:
        total: The total.
        slots: The place of the row.
        compilation: How its terms are compiled.
    """

    def __init__(self, total: Total, slots: Mapping[str, int], compilation: Compilation) -> None:
        """Compile the terms."""
        condition, value = total.condition, total.value
        self._holds = compilation.condition(condition, slots) if condition is not None else lambda _: True
        self._open = compilation.doubt(condition, slots) if condition is not None else nothing_missing
        self._adds: Evaluate = lambda _: Contribution(1)
        self._lacking: Doubt = nothing_missing
        if value is not None:
            element = _candidate if total.operation in ("min", "max") else _summand
            as_written = element(compiled(value, slots))
            self._adds, self._lacking = compilation.value(as_written), compilation.why(value, as_written, slots)

    def contribution(self, situation: Situation, missing: tuple[str, ...]) -> Contribution:
        """Return it; ``missing`` is what keeps the row's group unknown."""
        answer = self._holds(situation)
        if answer is None:
            missing = (*missing, *self._open(situation))
        elif not answer:
            return Contribution()
        added: Contribution | None = None if missing else self._adds(situation)
        if added is None:
            missing = missing or self._lacking(situation)
            return Contribution(missing=tuple((name, 1) for name in sorted(set(missing))))
        return added


def _summand(evaluate: Evaluate) -> Evaluate:
    def summand(situation: Situation) -> Contribution | None:
        number = evaluate(situation)
        return None if number is None else Contribution(1, Sum.of(number))

    return summand


def _candidate(evaluate: Evaluate) -> Evaluate:
    def candidate(situation: Situation) -> Contribution | None:
        number = evaluate(situation)
        if number is None:
            return None
        return Contribution(1, values=((_ordered(number), 1),))

    return candidate


def _ordered(number: Any) -> Any:
    _ = number < 0  # what is no number raises
    return number


def nothing_missing(_: Situation) -> tuple[str, ...]:
    """Say that nothing keeps a value unknown."""
    return ()


def _added(left: tuple[tuple[Any, int], ...], right: tuple[tuple[Any, int], ...]) -> tuple[tuple[Any, int], ...]:
    if not left or not right:
        return left or right
    counted = Counter[Any](dict(left))
    for each, number in right:
        counted[each] += number
    return tuple(sorted((each, number) for each, number in counted.items() if number))


def _opposite(items: tuple[tuple[Any, int], ...]) -> tuple[tuple[Any, int], ...]:
    return tuple((each, -number) for each, number in items)
