"""What rules say by name: `between`, `known`, `known_or`, `named`, `distance`, and the clock, `now`.

Each checks its operands as it is written, and makes one frozen term (`terms`). What they mean is in
`evaluation`.
"""

from __future__ import annotations

from typing import Final

from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.terms.dimensions import INSTANT, POSITION, Measure, Sort, described, turn
from dsl.terms.dimensions import named as called
from dsl.terms.terms import Between, Coalesce, Constant, Distance, Known, Named, Now, Observation, Term, is_constant
from dsl.terms.texts import text
from dsl.units import metres
from dsl.writing.checking import comparison, exact_in
from dsl.writing.fluent import Expression, Liftable, lift
from dsl.writing.wording import spelled

now: Final = Expression(Now())
"""The instant at which a situation is judged: ``vessel.eta - now <= 24 * hours``."""


def between(value: Expression, low: Liftable, high: Liftable) -> Expression:
    """Return the condition that ``value`` lies from ``low`` to ``high``, both included.

    Angles turn clockwise from ``low`` to ``high``, through north where that is on the way; 360° is 0°. From 0° to 360°
    is the whole circle, from 90° to 90° one direction.

    >>> from dsl import Source
    >>> from dsl.units import degrees, metres
    >>> wind = Source("wind", key=None, direction=degrees)
    >>> between(wind.direction, 340 * degrees, 20 * degrees)
    between(wind.direction, 340°, 20°)

    Args:
        value: A quantity or an instant.
        low: The lower bound, of the same dimension; for an angle where the span begins.
        high: The upper bound; for an angle where the span ends.

    Raises:
        DimensionMismatch: The three are of different dimensions, or have no order.
        InvalidRule: The bounds are constants, and nothing lies between them.
    """
    operand, first, last = lift(value), lift(low), lift(high)
    if isinstance(operand.kind, Sort) and operand.kind != INSTANT:
        notes = [("got", f"{text(operand)} is {described(operand.kind)}"), ("fix", "compare it with == or !=")]
        summary = f"between: expected a quantity or an instant but got {called(operand.kind)}"
        raise DimensionMismatch(refusal(summary, notes))
    comparison(">=", operand, first)
    comparison("<=", operand, last)
    _check_span(operand, first, last)
    return Expression(Between(operand, first, last))


def known(field: Expression) -> Expression:
    """Return the condition that an optional field has a value. Where there is no row at all, it is unknown.

    >>> from dsl import Source, instant, optional
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, eta=optional(instant))
    >>> known(vessel.eta)
    known(vessel.eta)

    Args:
        field: An observation declared with `optional`.

    Raises:
        InvalidRule: ``field`` is no observation, or is not declared as optional.
    """
    return Expression(Known(_optional("known", field)))


def known_or(field: Expression, default: Liftable) -> Expression:
    """Return the value of an optional field, or ``default`` where the field has none.

    >>> from dsl import Source, optional
    >>> from dsl.units import knots
    >>> wind = Source("wind", key=None, velocity=knots, gust=optional(knots))
    >>> known_or(wind.gust, wind.velocity) <= 40 * knots
    coalesce(wind.gust, wind.velocity) <= 40 kn

    Args:
        field: An observation declared with `optional`.
        default: A quantity of the same dimension, or a value of the same type.

    Raises:
        InvalidRule: ``field`` is no observation, or is not declared as optional.
        DimensionMismatch: ``default`` is of another dimension or type.
    """
    operand, other = _optional("known_or", field), lift(default)
    if operand.kind != POSITION or other.kind != POSITION:
        comparison("==", operand, other)
    return Expression(Coalesce(operand, other))


def named(name: str, expression: Expression) -> Expression:
    """Return ``expression`` with a name of its own, by which verdicts and descriptions call it.

    >>> from dsl import Source
    >>> from dsl.units import centimetres, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> ukc = named("under-keel clearance", berth.depth - vessel.draught)
    >>> ukc >= 50 * centimetres
    under-keel clearance >= 50 cm

    Args:
        name: What people call it.
        expression: What it stands for: a quantity, a condition, or anything else.

    Raises:
        InvalidRule: ``name`` is no text, or empty.
    """
    if not isinstance(name, str) or not name.strip():
        fix = [("fix", 'named("under-keel clearance", berth.depth - vessel.draught)')]
        raise InvalidRule(refusal(f"named: expected a name and then an expression but got name={name!r}", fix))
    return Expression(Named(name, lift(expression)))


def distance(first: Expression, second: Expression) -> Expression:
    """Return the great-circle distance of two positions: a length, in metres.

    >>> from dsl import Source, position
    >>> from dsl.units import nautical_miles
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, position=position)
    >>> berth = Source("berth", key="id", id=str, position=position)
    >>> distance(vessel.position, berth.position) <= 5 * nautical_miles
    distance(vessel.position, berth.position) <= 5 nmi

    Raises:
        DimensionMismatch: One of the two is no position.
    """
    terms = lift(first), lift(second)
    for term in terms:
        if term.kind != POSITION:
            notes = [("got", f"{text(term)} is {described(term.kind)}"), ("fix", "declare the field as dsl.position")]
            raise DimensionMismatch(refusal(f"distance: expected two positions but got {called(term.kind)}", notes))
    return Expression(Distance(*terms, metres.measure))


def _optional(call: str, given: Expression) -> Observation:
    term = lift(given)
    if not isinstance(term, Observation):
        fix = [("fix", f"name a field: {call}(vessel.eta{', …' if call == 'known_or' else ''})")]
        raise InvalidRule(refusal(f"{call}: expected an optional field but got {text(term)}", fix))
    if term.field not in term.source.optional:
        fix = [("fix", f"declare it so: Source({term.source.name!r}, …, {term.field}=optional(…))")]
        raise InvalidRule(refusal(f"{call}: expected an optional field but {text(term)} is in every row", fix))
    return term


def _check_span(operand: Term, first: Term, last: Term) -> None:
    """Refuse constant bounds between which nothing lies, or which are more than a turn apart."""
    if not (isinstance(operand.kind, Measure) and is_constant(first) and is_constant(last)):
        return
    low, high = exact_in(first, operand.kind), exact_in(last, operand.kind)
    shown = f"between({text(operand)}, {text(first)}, {text(last)})"
    whole = turn(operand.kind)
    if whole is not None:
        if abs(high - low) > whole * (1 + 1e-12):
            fix = [
                ("fix", f"give directions from 0 to {whole:g}: the span turns clockwise from the first to the second")
            ]
            raise InvalidRule(refusal(f"{shown}: expected bounds within one turn of each other", fix))
        return
    if low > high:
        swapped = "the lower bound, the higher bound"
        if isinstance(first, Constant) and isinstance(last, Constant):
            swapped = f"{spelled(last)}, {spelled(first)}"
        fix = [("fix", f"between({text(operand)}, {swapped})")]
        raise InvalidRule(refusal(f"{shown}: expected the lower bound first", fix))
