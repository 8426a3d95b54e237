"""The fluent face of terms and units: Python's operators, with dimensions checked as they are applied.

An `Expression` wraps one frozen term and has an operator for each line of the thesis's Table 2.1. Every operator is
symmetric, so `15 * metres <= vessel.draught` works. What Python cannot overload (`and`, `or`, `not`, chained
comparison, `in`, truth, iteration) raises at once and shows the right spelling.

Source: thesis, Table 2.1; ibis (a fluent face over frozen nodes).
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral, Real
from typing import ClassVar, Literal, NoReturn, TypeAlias, final, overload

import attrs

from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.terms.dimensions import INSTANT, NUMBER, TEXT, TRUTH, Measure
from dsl.terms.instants import instant_of
from dsl.terms.terms import Constant, Term
from dsl.terms.texts import text
from dsl.writing.checking import arithmetic, comparison, junction, opposite, sign
from dsl.writing.wording import example, no_number, no_truth_value

Number: TypeAlias = float | Fraction | Decimal
"""A plain number, as a rule writes it; ints are floats to Python's type checkers."""
Liftable: TypeAlias = "Expression | str | bool | Number | Enum | datetime"
"""What a rule may use as an operand: an expression, or a constant that is lifted to one."""


@final
@attrs.frozen(eq=False, repr=False)
class Expression:
    """A part of a rule: an observation, a constant, or what operators make of them. Immutable and reusable.

    >>> from dsl import Source
    >>> from dsl.units import centimetres, metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> clearance = berth.depth - vessel.draught
    >>> (clearance >= 20 * centimetres) | (abs(clearance) < 1 * metres)
    berth.depth - vessel.draught >= 20 cm or abs(berth.depth - vessel.draught) < 1 m
    """

    __array_ufunc__: ClassVar[None] = None  # numpy's scalars must leave the operator to us
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # == builds a rule, so a hash would lie

    term: Term

    def __add__(self, other: Liftable) -> Expression:
        return Expression(arithmetic("+", self.term, lift(other)))

    def __radd__(self, other: Liftable) -> Expression:
        return Expression(arithmetic("+", lift(other), self.term))

    def __sub__(self, other: Liftable) -> Expression:
        return Expression(arithmetic("-", self.term, lift(other)))

    def __rsub__(self, other: Liftable) -> Expression:
        return Expression(arithmetic("-", lift(other), self.term))

    def __mul__(self, other: Liftable | Unit) -> Expression:
        if isinstance(other, Unit):
            return other._of(self.term, 1)
        return Expression(arithmetic("*", self.term, lift(other)))

    def __rmul__(self, other: Liftable | Unit) -> Expression:
        return Expression(arithmetic("*", lift(other), self.term))

    def __truediv__(self, other: Liftable | Unit) -> Expression:
        if isinstance(other, Unit):
            return other._of(self.term, -1)
        return Expression(arithmetic("/", self.term, lift(other)))

    def __rtruediv__(self, other: Liftable) -> Expression:
        return Expression(arithmetic("/", lift(other), self.term))

    def __neg__(self) -> Expression:
        return Expression(sign("-", self.term))

    def __abs__(self) -> Expression:
        return Expression(sign("abs", self.term))

    def __eq__(self, other: Liftable) -> Expression:  # type: ignore[override]  # it makes a condition
        return Expression(comparison("==", self.term, lift(other)))

    def __ne__(self, other: Liftable) -> Expression:  # type: ignore[override]  # likewise
        return Expression(comparison("!=", self.term, lift(other)))

    def __lt__(self, other: Liftable) -> Expression:
        return Expression(comparison("<", self.term, lift(other)))

    def __le__(self, other: Liftable) -> Expression:
        return Expression(comparison("<=", self.term, lift(other)))

    def __gt__(self, other: Liftable) -> Expression:
        return Expression(comparison(">", self.term, lift(other)))

    def __ge__(self, other: Liftable) -> Expression:
        return Expression(comparison(">=", self.term, lift(other)))

    def __and__(self, other: Liftable) -> Expression:
        return Expression(junction("and", self.term, lift(other)))

    def __rand__(self, other: Liftable) -> Expression:
        return Expression(junction("and", lift(other), self.term))

    def __or__(self, other: Liftable) -> Expression:
        return Expression(junction("or", self.term, lift(other)))

    def __ror__(self, other: Liftable) -> Expression:
        return Expression(junction("or", lift(other), self.term))

    def __invert__(self) -> Expression:
        return Expression(opposite(self.term))

    def __bool__(self) -> NoReturn:
        raise no_truth_value(self.term)

    def __iter__(self) -> NoReturn:
        raise no_truth_value(self.term, collection=True)

    def __len__(self) -> NoReturn:
        raise no_truth_value(self.term, collection=True)

    def __contains__(self, _: object) -> NoReturn:
        raise no_truth_value(self.term, collection=True)

    def __float__(self) -> NoReturn:
        raise no_number(self.term)

    def __int__(self) -> NoReturn:
        raise no_number(self.term)

    def __round__(self, digits: int = 0) -> NoReturn:
        raise no_number(self.term)

    def __format__(self, spec: str) -> str:
        if spec:
            raise no_number(self.term)
        return text(self.term)

    def __repr__(self) -> str:
        return text(self.term)


@final
@attrs.frozen(repr=False)
class Unit:
    """A unit of measure: a field is declared in it, and a number times it is a constant quantity.

    >>> from dsl.units import hours, knots, metres
    >>> 15 * metres, metres / hours, 2.5 * (metres / hours)
    (15 m, <unit m/h, a speed>, 2.5 m/h)
    """

    __array_ufunc__: ClassVar[None] = None

    measure: Measure

    @property
    def symbol(self) -> str:
        """The symbol, such as m/s; "" for a plain number."""
        return self.measure.symbol

    @property
    def dimension(self) -> str:
        """What it measures, such as ``"length"`` or ``"speed"``."""
        return str(self.measure.dimension)

    @overload
    def __mul__(self, other: Unit) -> Unit: ...
    @overload
    def __mul__(self, other: Number | Expression) -> Expression: ...
    def __mul__(self, other: Unit | Number | Expression) -> Unit | Expression:
        if isinstance(other, Unit):
            return _product(self, other, 1)
        return self._of(lift(other), 1)

    def __rmul__(self, other: Number) -> Expression:
        return self._of(lift(other), 1)

    @overload
    def __truediv__(self, other: Unit) -> Unit: ...
    @overload
    def __truediv__(self, other: Number | Expression) -> Expression: ...
    def __truediv__(self, other: Unit | Number | Expression) -> Unit | Expression:
        if isinstance(other, Unit):
            return _product(self, other, -1)
        return Expression(Constant(1, self.measure)) / other

    def __rtruediv__(self, other: Number) -> Expression:
        return self._of(lift(other), -1)

    def __pow__(self, exponent: int) -> Unit:
        return self if exponent == 1 else _product(Unit(NUMBER), self, exponent)

    def __repr__(self) -> str:
        return f"<unit {self.symbol or '1'}, {'an' if self.dimension[0] in 'aeiou' else 'a'} {self.dimension}>"

    def _of(self, term: Term, power: Literal[1, -1]) -> Expression:
        """Give ``term`` this unit: a plain constant takes it on, anything else is multiplied by one of it."""
        has_zero = not self.measure.offset or (power == 1 and term.kind == NUMBER)
        if isinstance(term, Constant) and isinstance(term.kind, Measure) and has_zero and not term.kind.offset:
            return Expression(Constant(term.value, term.kind.times(self.measure, power)))
        return Expression(arithmetic("*" if power == 1 else "/", term, Constant(1, self.measure)))


def _product(left: Unit, right: Unit, power: int) -> Unit:
    """Multiply units; those with an offset have no products."""
    for each in (left, right):
        if each.measure.offset:
            whole = f"{left.symbol or 1} {'*' if power > 0 else '/'} {right.symbol}"
            notes = [
                ("why", "degrees have no natural zero, so nothing is measured in multiples of them"),
                ("fix", "use kelvin, which is as large as a degree Celsius: kelvin / hours"),
            ]
            raise InvalidRule(refusal(f"{whole}: expected units without an offset but got {each.symbol}", notes))
    return Unit(left.measure.times(right.measure, power))


def not_(condition: Liftable) -> Expression:
    """Return the opposite of ``condition``; also spelled ``~``.

    >>> from dsl import Source
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, vessel_type=str)
    >>> not_(vessel.vessel_type == "chemical")
    not vessel.vessel_type == "chemical"

    Raises:
        DimensionMismatch: ``condition`` is a quantity, a text or a position.
    """
    return Expression(opposite(lift(condition)))


def absolute(quantity: Liftable) -> Expression:
    """Return the absolute value of ``quantity``, in its unit; also spelled ``abs``.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> tide = Source("tide", key="sensor", sensor=str, height=metres)
    >>> absolute(tide.height) <= 2 * metres
    abs(tide.height) <= 2 m

    Raises:
        DimensionMismatch: ``quantity`` is a condition, a text or a position.
    """
    return Expression(sign("abs", lift(quantity)))


def lift(value: object) -> Term:
    """Return the term of an expression, or that of a constant.

    >>> lift(3)
    Constant(value=3, kind=<measure 1: 1 plain number>)

    Raises:
        DimensionMismatch: ``value`` can be no operand of a rule: None, a bare unit, a source, half a character, …
        InvalidRule: It is an infinite number or not a number.
    """
    match value:
        case Expression():
            return value.term
        case bool():
            return Constant(value, TRUTH)
        case Enum():
            return lift(value.value)
        case str() if value == value.encode(errors="ignore").decode():
            return Constant(str(value), TEXT)
        case str():  # no file and no hash takes it
            got, fix = f"{value!r}, with half a character", "write whole characters"
        case datetime():
            instant = instant_of(value)
            if instant is None:
                summary = f"a constant: expected an instant with a time zone but got {value!r}"
                raise InvalidRule(refusal(summary, [("fix", "say which zone it is in: datetime(…, tzinfo=UTC)")]))
            return Constant(instant, INSTANT)
        case Integral():
            return Constant(int(value), NUMBER)
        case Real() | Decimal():
            if not math.isfinite(value):
                raise InvalidRule(refusal(f"a constant: expected a finite number but got {value!r}"))
            return Constant(float(value), NUMBER)
        case Unit():
            got, fix = f"the bare unit {value.symbol}", f"write a quantity, such as {example(value.measure)}"
        case timedelta():
            got, fix = f"{value!r}", f"write a quantity: {value.total_seconds() / 3600:g} * hours"
        case None:
            got, fix = "None", "leave it out: a missing value is never compared; it makes the verdict unknown"
        case _:
            got = f"{value!r} (type={type(value).__name__})"
            fix = "use an observation (vessel.draught), a quantity (15 * metres), or a plain number or text"
    summary = f"an operand of a rule: expected an expression or a constant but got {got}"
    raise DimensionMismatch(refusal(summary, [("fix", fix)]))
