"""Margins: how far the values are from the limit of a condition, in the unit that the rule was written in.

Zero is the limit itself; a positive margin is to spare, a negative one beyond the limit. A comparison of quantities has
one: the distance of its sides (for == the opposite of that, since any distance is too much). So has `between`: the
distance to the nearer bound, around the circle for angles. `not` turns it round, `and` has the least and `or` the
greatest of its parts, where all of them have one dimension. Nothing else has a margin: texts, truth values, a whole
circle, and a condition of which a value is missing.

Invariant: a condition that failed has no positive margin, one that holds no negative one; the quantity that is compared
satisfies the condition, or is at its limit, if it moves by the margin.

Source: the robustness of signal temporal logic: A. Donzé and O. Maler, FORMATS 2010 (min for and, max for or).
"""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dsl.meaning.evaluation import compiled
from dsl.terms.dimensions import INSTANT, KELVIN, MICROSECONDS, Dimension, Measure
from dsl.terms.points import is_point
from dsl.terms.ranges import turn
from dsl.terms.terms import Between, Comparison, Constant, Junction, Named, Not, is_constant, parts
from dsl.units import hours
from dsl.writing.checking import common

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from dsl.meaning.evaluation import Evaluate
    from dsl.terms.terms import Term

    Margin: TypeAlias = tuple[Evaluate, Measure]


def margin(condition: Term, slots: Mapping[str, int]) -> Margin | None:
    """Return the function from a situation to the margin of ``condition``, and its unit; None if it has no margin.

    >>> from dsl import Source
    >>> from dsl.meaning.evaluation import Situation
    >>> from dsl.units import centimetres, metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> evaluate, unit = margin((berth.depth >= 50 * centimetres).term, {"berth": 0})
    >>> evaluate(Situation([{"depth": 0.25}])), unit.symbol
    (-25.0, 'cm')

    Args:
        condition: A term that is true or false.
        slots: The position of each source's row among the rows.
    """
    match condition:
        case Named(_, operand):
            return margin(operand, slots)
        case Not(operand):
            inner = margin(operand, slots)
            return None if inner is None else (_mapped(operator.neg, inner[0]), inner[1])
        case Junction(symbol, left, right):
            return _joined(min if symbol == "and" else max, margin(left, slots), margin(right, slots))
        case Comparison(symbol, left, right) if isinstance(left.kind, Measure) or left.kind == INSTANT:
            shared = common(left, right) if isinstance(left.kind, Measure) else None
            sides = _exactly(compiled(left, slots, shared)), _exactly(compiled(right, slots, shared))
            return _in_the_rules_unit(_compared(symbol, *sides), shared, left, right)
        case Between(operand, low, high):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            operands = compiled(operand, slots), compiled(low, slots, shared), compiled(high, slots, shared)
            values = _exactly(operands[0]), _exactly(operands[1]), _exactly(operands[2])
            whole = turn(operand.kind)
            inside = _on_a_line(*values) if whole is None else _around(whole, *values)
            return _in_the_rules_unit(inside, shared, operand, low)
    return None


def written_measure(left: Term, right: Term) -> Measure:
    """Return the unit that a rule compares two quantities in: that of the constant written there, if there is one.

    >>> from dsl.terms.dimensions import NUMBER
    >>> written_measure(Constant(1, NUMBER), Constant(2, NUMBER)) == NUMBER
    True
    """
    constants = [side for side in (right, left) if is_constant(side)]
    chosen = constants[0].kind if len(constants) == 1 else common(left, right)
    assert isinstance(chosen, Measure)
    return chosen


def unit_of_distance(shared: Measure | None, left: Term, right: Term) -> tuple[Fraction, Measure]:
    """Return the unit in which a rule gives distances, and how many of it make one of ``shared``.

    >>> from dsl.terms.dimensions import NUMBER
    >>> unit_of_distance(NUMBER, Constant(1, NUMBER), Constant(2, NUMBER))[0]
    Fraction(1, 1)

    Args:
        shared: What the distance is computed in; None of instants, which is in microseconds.
        left: One side of the comparison.
        right: The other.
    """
    if shared is None:
        times = (part.kind for side in (left, right) for part in parts(side) if isinstance(part, Constant))
        unit = next((kind for kind in times if isinstance(kind, Measure) and _is_time(kind)), hours.measure)
        return MICROSECONDS.ratio(unit), unit
    # The distance of two points is a difference: no offset takes part in it.
    written = written_measure(left, right)
    unit = KELVIN if is_point(shared) or is_point(written) else written
    return shared.ratio(unit), unit


def _in_the_rules_unit(distance: Evaluate, shared: Measure | None, left: Term, right: Term) -> Margin:
    """Convert a distance, which is in ``shared`` (of instants: in microseconds), to the unit of the rule."""
    ratio, unit = unit_of_distance(shared, left, right)
    above, below = ratio.numerator, ratio.denominator
    return _mapped(lambda value: float(value * above / below), distance), unit


def _is_time(kind: Measure) -> bool:
    return kind.dimension == Dimension.of(time=1)


def _mapped(function: Callable[[Any], Any], evaluate: Evaluate) -> Evaluate:
    def apply(situation: Any) -> Any:
        value = evaluate(situation)
        return None if value is None else function(value)

    return apply


def _exactly(evaluate: Evaluate) -> Evaluate:
    """Decimals can be compared with floats, but not subtracted from them; fractions can."""

    def number(value: Any) -> Any:
        if not isinstance(value, Decimal):
            return value
        return Fraction(value) if value.is_finite() else float(value)

    return _mapped(number, evaluate)


def _joined(choose: Callable[..., Any], left: Margin | None, right: Margin | None) -> Margin | None:
    if left is None or right is None or left[1].dimension != right[1].dimension:
        return None
    (first, unit), (second, other) = left, right
    factor = float(other.ratio(unit))

    def evaluate(situation: Any) -> Any:
        one, two = first(situation), second(situation)
        return None if one is None or two is None else choose(one, two * factor)

    return evaluate, unit


def _compared(symbol: str, left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(situation: Any) -> Any:
        first, second = left(situation), right(situation)
        if first is None or second is None:
            return None
        match symbol:
            case "<" | "<=":
                return second - first
            case ">" | ">=":
                return first - second
            case "==":
                return -abs(first - second)
        return abs(first - second)

    return evaluate


def _on_a_line(value: Evaluate, low: Evaluate, high: Evaluate) -> Evaluate:
    def evaluate(situation: Any) -> Any:
        at, first, last = value(situation), low(situation), high(situation)
        return None if at is None or first is None or last is None else min(at - first, last - at)

    return evaluate


def around(whole: float) -> Callable[[Any, Any, Any], Any]:
    """Return the distance of an angle, around a circle, to the nearer of two others that it lies between.

    >>> around(360)(350, 340, 20), around(360)(30, 340, 20)
    (10, -10)

    Args:
        whole: A whole turn.
    """

    def distance(at: Any, first: Any, last: Any) -> Any:
        span, along = (last - first) % whole, (at - first) % whole
        if last != first and not span:
            return None
        return min(along, span - along) if along <= span else -min(whole - along, along - span)

    return distance


def _around(whole: float, value: Evaluate, low: Evaluate, high: Evaluate) -> Evaluate:
    distance = around(whole)

    def evaluate(situation: Any) -> Any:
        at, first, last = value(situation), low(situation), high(situation)
        return None if at is None or first is None or last is None else distance(at, first, last)

    return evaluate
