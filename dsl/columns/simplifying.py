"""Simplifying conditions to what means the same in Kleene's three-valued logic: what the judge evaluates.

A condition is brought into conjunctive normal form, and loses what the rest implies: in `wind <= 45 kn and wind <= 35
kn` the first, in `a and (a or b)` the second; a constant comparison is true or false. It is used only if fewer
literals are left. Distribution, De Morgan's laws, absorption and the comparison of one term with two constants hold in
Kleene's logic; `a or not a` and `a and not a` do not simplify there, because they are unknown where a is. (What holds
in two-valued logic only is for advice: `formulas`.)

So a verdict, its reasons and what they say is missing stay as they were: reasons are made from conditions as written.

Invariant: a simplified condition has the same value as the condition, true, false or missing, for the same rows.

Source: thesis, section 2.4 (normal forms as optimisation); S. C. Kleene, 1952, § 64; W. V. Quine, The Problem of
Simplifying Truth Functions, 1952 (subsumption).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial, reduce
from itertools import product
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import attrs

from dsl.meaning.term_expressions import constant_in
from dsl.terms.dimensions import TRUTH, Measure
from dsl.terms.intervals import OPPOSITE, Choices, Numbers, within
from dsl.terms.terms import Comparison, Constant, Junction, Named, Not, is_constant, limit_last, operands, parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsl.terms.intervals import Values
    from dsl.terms.terms import Term

T = TypeVar("T")

CLAUSES = 64
"""A condition with more clauses is left as it is."""


@attrs.frozen
class _Literal:
    """A condition without `and`, `or` and `not`, or the opposite of one; and in which set it wants what value."""

    term: Term
    subject: str
    values: Values

    def implies(self, other: _Literal) -> bool:
        """Whether it is false, or missing, where ``other`` is: for one subject, both are missing where it is."""
        return self.subject == other.subject and within(self.values, other.values)


_Clause: TypeAlias = tuple[_Literal, ...]


def simplified(condition: Term) -> Term:
    """Return a condition that is true, false and missing where ``condition`` is, with as few literals or fewer.

    >>> from dsl import Source
    >>> from dsl.terms.texts import text
    >>> from dsl.units import knots, metres
    >>> wind = Source("wind", key=None, velocity=knots, gust=knots)
    >>> calm = wind.velocity <= 35 * knots
    >>> text(simplified((calm & (wind.velocity <= 45 * knots) & (calm | (wind.gust < 50 * knots))).term))
    'wind.velocity <= 35 kn'
    >>> text(simplified((calm | ~calm).term))
    'wind.velocity <= 35 kn or not wind.velocity <= 35 kn'
    """
    if not any(isinstance(part, Junction) for part in parts(condition)):
        return condition
    clauses = _clauses(condition, holds=True)
    if clauses is None:
        return condition
    if sum(len(clause) for clause in clauses) >= _size(condition):
        return condition
    if not clauses:
        return Constant(True, TRUTH)
    if () in clauses:
        return Constant(False, TRUTH)
    terms = [reduce(partial(Junction, "or"), (literal.term for literal in clause)) for clause in clauses]
    return reduce(partial(Junction, "and"), terms)


def _clauses(condition: Term, holds: bool) -> tuple[_Clause, ...] | None:
    """The conjunctive normal form of ``condition`` or of its opposite, without what is implied; None: too large."""
    match condition:
        case Named(_, operand):
            return _clauses(operand, holds)
        case Not(operand):
            return _clauses(operand, not holds)
        case Junction(operator, left, right):
            first, second = _clauses(left, holds), _clauses(right, holds)
            if first is None or second is None or len(first) * len(second) > CLAUSES:
                return None
            if (operator == "and") == holds:
                return _without_needless((*first, *second), _is_implied)
            weakened = (_without_needless((*one, *other), _Literal.implies) for one, other in product(first, second))
            return _without_needless(tuple(weakened), _is_implied)
    truth = _truth(condition)
    if truth is not None:
        return () if truth == holds else ((),)
    return ((_literal(condition, holds),),)


def _without_needless(parts: tuple[T, ...], is_needless: Callable[[T, T], bool]) -> tuple[T, ...]:
    """Leave out each part that is needless beside another one; of two that are so beside each other, the later."""
    kept: list[T] = []
    for number, part in enumerate(parts):
        later = (other for other in parts[number + 1 :] if is_needless(part, other) and not is_needless(other, part))
        if not any(is_needless(part, other) for other in kept) and next(later, None) is None:
            kept.append(part)
    return tuple(kept)


def _is_implied(clause: _Clause, other: _Clause) -> bool:
    return all(any(literal.implies(weaker) for weaker in clause) for literal in other)


def _truth(condition: Term) -> bool | None:
    """The truth value of what observes nothing, as far as it is simple; None for all else."""
    match condition:
        case Constant(value):
            return bool(value)
        case Comparison(operator, left, right) if is_constant(condition) and isinstance(left.kind, Measure):
            sides = _evaluated(left, left.kind), _evaluated(right, left.kind)
            return within(Numbers.that("==", sides[0]), Numbers.that(operator, sides[1]))
    return None


def _literal(condition: Term, holds: bool) -> _Literal:
    term = condition if holds else Not(condition)
    if isinstance(condition, Comparison):
        compared = limit_last(condition)
        left, right = compared.left, compared.right
        operator = compared.operator if holds else OPPOSITE[compared.operator]
        if is_constant(right) and not is_constant(left):
            if isinstance(left.kind, Measure):
                return _Literal(term, repr(left), Numbers.that(operator, _evaluated(right, left.kind)))
            if isinstance(right, Constant) and operator in ("==", "!="):  # instants are ordered, too
                values = Choices(frozenset({right.value}), all_but=operator == "!=")
                return _Literal(term, repr(left), values)
    return _Literal(term, repr(condition), Choices(frozenset({holds})))


def _evaluated(constant: Term, measure: Measure) -> Fraction:
    """The constant with which a comparison is evaluated: converted, and rounded as floats are."""
    return Fraction(constant_in(constant, measure))


def _size(condition: Term) -> int:
    """The number of literals."""
    if isinstance(condition, Junction | Not | Named):
        return sum(_size(operand) for operand in operands(condition))
    return 1
