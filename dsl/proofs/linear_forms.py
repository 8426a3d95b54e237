"""Linear forms: a quantity as a sum of multiples of what is observed, exactly, in base units.

`berth.depth + tide.height - vessel.draught` and the same in feet are one form, so their comparisons with constants are
comparable. What is not linear (a product of two observations, an absolute value, …) is a variable of its own.

Invariant: a form has no variable with coefficient zero, and its variables are in order of their names.

The forms are exact where evaluation rounds (a conversion by 1.852 in floats): what they prove holds but for the last
bit, so they serve to advise (`linting`), never to judge.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from dsl.terms.dimensions import INSTANT, MICROSECONDS, Measure
from dsl.terms.terms import Arithmetic, Constant, Distance, Named, Sign

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Term


@attrs.frozen
class Linear:
    """A sum of variables, each with a coefficient, and a constant.

    >>> from dsl import Source
    >>> from dsl.units import centimetres, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> form = linear((2 * vessel.draught + 50 * centimetres).term)
    >>> form.coefficients, form.constant
    ((("Observation(source='vessel', field='draught')", Fraction(2, 1)),), Fraction(1, 2))
    """

    coefficients: tuple[tuple[str, Fraction], ...]
    constant: Fraction
    variables: tuple[Term, ...] = attrs.field(eq=False)
    """The terms that are the variables."""

    def plus(self, other: Linear, factor: int) -> Linear:
        """Return the sum of this and a multiple of ``other``.

        >>> one = Linear((), Fraction(1), ())
        >>> one.plus(one, -3).constant
        Fraction(-2, 1)
        """
        coefficients = dict(self.coefficients)
        for name, coefficient in other.coefficients:
            coefficients[name] = coefficients.get(name, Fraction(0)) + factor * coefficient
        known = {repr(variable): variable for variable in (*self.variables, *other.variables)}
        kept = sorted((name, coefficient) for name, coefficient in coefficients.items() if coefficient)
        constant = self.constant + factor * other.constant
        return Linear(tuple(kept), constant, tuple(known[name] for name, _ in kept))

    def times(self, factor: Fraction) -> Linear:
        """Return the multiple of it.

        >>> Linear((), Fraction(1), ()).times(Fraction(3)).constant
        Fraction(3, 1)
        """
        if not factor:
            return Linear((), Fraction(0), ())
        multiples = tuple((name, coefficient * factor) for name, coefficient in self.coefficients)
        return Linear(multiples, self.constant * factor, self.variables)

    @property
    def is_never_negative(self) -> bool:
        """Whether it is one absolute value or distance."""
        return len(self.variables) == 1 and isinstance(self.variables[0], Sign | Distance)


def base_units(kind: Kind) -> tuple[Fraction, Fraction]:
    """Return how many base units make one of ``kind``, and what its zero is in base units.

    >>> from dsl.units import kilometres
    >>> base_units(kilometres.measure)
    (Fraction(1000, 1), Fraction(0, 1))
    """
    if kind == INSTANT:
        return MICROSECONDS.factor, Fraction(0)
    assert isinstance(kind, Measure)
    return kind.factor, kind.offset


def is_linear(kind: Kind) -> bool:
    """Whether terms of the kind have a linear form: quantities and instants.

    >>> is_linear(INSTANT)
    True
    """
    return kind == INSTANT or isinstance(kind, Measure)


def linear(term: Term) -> Linear:
    """Return the linear form of ``term``, a quantity or an instant.

    >>> from dsl import Source
    >>> tugs = Source("tugs", key=None, free=int, busy=int)
    >>> linear((tugs.free - tugs.free).term) == linear(Constant(0, (1 * tugs.free).term.kind))
    True
    """
    match term:
        case Constant(value, kind):
            factor, offset = base_units(kind)
            return Linear((), Fraction(str(value)) * factor + offset, ())
        case Named(_, operand):
            return linear(operand)
        case Sign("-", operand):
            return linear(operand).times(Fraction(-1))
        case Arithmetic("+" | "-" as operator, left, right):
            return linear(left).plus(linear(right), 1 if operator == "+" else -1)
        case Arithmetic("*", left, right):
            first, second = linear(left), linear(right)
            if not first.coefficients:
                return second.times(first.constant)
            if not second.coefficients:
                return first.times(second.constant)
        case Arithmetic("/", left, right):
            divisor = linear(right)
            if not divisor.coefficients and divisor.constant:
                return linear(left).times(1 / divisor.constant)
    return Linear(((repr(term), Fraction(1)),), Fraction(0), (term,))
