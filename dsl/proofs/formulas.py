"""Formulas: conditions as and/or of literals, each of which says in which set the value of one thing lies.

Negations are pushed to the literals, where a set has its complement. Comparisons of one linear form with constants,
whatever their units, speak of one thing; so do a text's equalities, and a truth value and its opposite.

A formula has two truth values: it says what holds of situations of which all is known. So it serves for advice
(`linting`) and not for judging; what holds in Kleene's logic too is in `simplifying`.

Source: thesis, Table 2.2 and section 2.4 (propositional logic).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import attrs

from dsl.proofs.linear_forms import is_linear, linear
from dsl.terms.dimensions import TRUTH, Choice, is_text, turn
from dsl.terms.intervals import MIRRORED, OPPOSITE, Choices, Numbers, within
from dsl.terms.terms import Between, Comparison, Constant, Junction, Named, Not

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsl.terms.dimensions import Kind
    from dsl.terms.intervals import Operator, Values
    from dsl.terms.terms import Term


@attrs.frozen
class Literal:
    """The value of ``subject`` lies in a set.

    >>> Literal("x", Choices(frozenset({True})), ()).subject
    'x'
    """

    subject: str
    """What it speaks of: equal texts mean equal values."""
    values: Values
    variables: tuple[Term, ...] = attrs.field(eq=False)
    """The terms whose values make the subject's value: one if the value is that of the term, in base units."""


@attrs.frozen
class All:
    """Every part holds; without parts it is true."""

    parts: tuple[Formula, ...] = ()


@attrs.frozen
class Some:
    """Some part holds; without parts it is false."""

    parts: tuple[Formula, ...] = ()


Formula: TypeAlias = Literal | All | Some


def formula(condition: Term, holds: bool = True) -> Formula:
    """Return the formula of ``condition``, or of its opposite.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres)
    >>> deep, long = vessel.draught > 15 * metres, vessel.length > 200 * metres
    >>> formula((deep & long).term, False) == formula((~deep | (vessel.length <= 200 * metres)).term)
    True
    """
    match condition:
        case Constant(value):
            return All() if bool(value) == holds else Some()
        case Not(operand):
            return formula(operand, not holds)
        case Named(_, operand):
            return formula(operand, holds)
        case Junction(operator, left, right):
            parts = (formula(left, holds), formula(right, holds))
            return All(parts) if (operator == "and") == holds else Some(parts)
        case Between(operand, low, high) if turn(operand.kind) is None:
            return formula(Junction("and", Comparison("<=", low, operand), Comparison("<=", operand, high)), holds)
        case Comparison(operator, left, right):
            return _compared(operator if holds else OPPOSITE[operator], left, right)
    return _opaque(condition, holds)


def literals(of: Formula) -> Iterator[Literal]:
    """Yield the literals of a formula, left to right.

    >>> list(literals(All()))
    []
    """
    if isinstance(of, Literal):
        yield of
        return
    for part in of.parts:
        yield from literals(part)


def _compared(operator: Operator, left: Term, right: Term) -> Formula:
    if is_linear(left.kind):
        return _linear(operator, left, right)
    if isinstance(left, Constant):
        left, right = right, left  # only == and != are left
    if isinstance(right, Constant):
        if isinstance(left, Constant):
            return All() if (left.value == right.value) == (operator == "==") else Some()
        values = Choices(frozenset({right.value}), all_but=operator == "!=")
        return _literal(repr(left), _listed(values, left.kind), (left,))
    return _opaque(Comparison("==", left, right), operator == "==")  # one subject for an equality and its opposite


def _linear(operator: Operator, left: Term, right: Term) -> Formula:
    form = linear(left).plus(linear(right), -1)
    if not form.coefficients:
        is_so = within(Numbers.that("==", form.constant), Numbers.that(operator, Fraction(0)))
        return All() if is_so else Some()
    leading = form.coefficients[0][1]
    scaled = form.times(1 / leading)
    values = Numbers.that(operator if leading > 0 else MIRRORED[operator], -scaled.constant)
    if scaled.is_never_negative:
        values = values.meet(Numbers.that(">=", Fraction(0)))
    return _literal(repr(scaled.coefficients), values, scaled.variables)


def _opaque(condition: Term, holds: bool) -> Formula:
    return Literal(repr(condition), Choices(frozenset({holds})), (condition,))


def _listed(values: Choices, kind: Kind) -> Choices:
    """List the values where the kind has few."""
    members: tuple[str | bool, ...] = ()
    if kind == TRUTH:
        members = (True, False)
    elif isinstance(kind, Choice) and is_text(kind):
        members = kind.members
    return Choices(frozenset(members) - values.listed) if members and values.all_but else values


def _literal(subject: str, values: Values, variables: tuple[Term, ...]) -> Formula:
    return Some() if values.is_empty else Literal(subject, values, variables)
