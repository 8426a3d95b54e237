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
from math import isnan
from typing import TYPE_CHECKING, Any

from cartesius.expressions.expressions import Apply, Constant
from cartesius.expressions.missing_values import exactly, greatest, least, sector
from dsl.meaning.evaluation import closure
from dsl.meaning.term_expressions import expression_of, lifted
from dsl.terms.dimensions import INSTANT, KELVIN, MICROSECONDS, Measure, alike, slack, turn
from dsl.terms.points import is_point
from dsl.terms.terms import Between, Comparison, Junction, Named, Not, Observation, is_constant, operands, parts
from dsl.terms.terms import Constant as Written
from dsl.units import hours
from dsl.writing.checking import common

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from cartesius.expressions.expressions import Expression
    from dsl.meaning.evaluation import Evaluate
    from dsl.terms.terms import Term

    Distance: TypeAlias = tuple[Expression, Measure]


def margin(condition: Term, slots: Mapping[str, int]) -> tuple[Evaluate, Measure] | None:
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
    found = distanced(condition)
    return None if found is None else (closure(found[0], slots), found[1])


def distanced(condition: Term) -> Distance | None:
    """Return the margin of ``condition`` as an expression, and its unit; None if it has no margin.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> distanced((berth.depth >= 2 * metres).term)[1].symbol
    'm'
    """
    match condition:
        case Named(_, operand):
            return distanced(operand)
        case Not(operand):
            inner = distanced(operand)
            return None if inner is None else (_raw(operator.neg, inner[0]), inner[1])
        case Junction(symbol, left, right):
            return _joined(least if symbol == "and" else greatest, distanced(left), distanced(right))
        case Comparison(symbol, left, right) if isinstance(left.kind, Measure) or left.kind == INSTANT:
            shared = common(left, right) if isinstance(left.kind, Measure) else None
            between = _compared(symbol, _side(left, shared), _side(right, shared))
            return _in_the_rules_unit(between, shared, left, right)
        case Between(operand, low, high):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            value, first, last = _side(operand, None), _side(low, shared), _side(high, shared)
            inside = _raw(least, _raw(operator.sub, value, first), _raw(operator.sub, last, value))
            if (whole := turn(operand.kind)) is not None:
                inside = _raw(around(whole, slack(operand.kind, low.kind, high.kind)), value, first, last)
            return _in_the_rules_unit(inside, shared, operand, low)
    return None


def written_measure(left: Term, right: Term) -> Measure:
    """Return the unit that a rule compares two quantities in: that of the constant written there, if there is one.

    >>> from dsl.terms.dimensions import NUMBER
    >>> written_measure(Written(1, NUMBER), Written(2, NUMBER)) == NUMBER
    True
    """
    constants = [side for side in (right, left) if is_constant(side)]
    chosen = constants[0].kind if len(constants) == 1 else common(left, right)
    assert isinstance(chosen, Measure)
    return chosen


def compared(term: Term) -> Iterator[tuple[Term, Measure | None, str]]:
    """Yield what a comparison compares and no observation is, the unit that the rule is written in, and its symbol.

    >>> from dsl.terms.dimensions import NUMBER
    >>> [side.value for side, _, _ in compared(Comparison("<", Written(1, NUMBER), Written(2, NUMBER)))]
    [1, 2]
    """
    if isinstance(term, Comparison | Between):
        first, second, *_ = sides = operands(term)
        measure = written_measure(first, second) if isinstance(first.kind, Measure) else None
        symbol = measure.symbol if measure else ""
        yield from ((side, measure, symbol) for side in sides if not isinstance(side, Observation))


def _in_the_rules_unit(distance: Expression, shared: Measure | None, left: Term, right: Term) -> Distance:
    """Convert a distance, which is in ``shared`` (of instants: in microseconds), to the unit of the rule."""
    if shared is None:
        times = (part.kind for side in (left, right) for part in parts(side) if isinstance(part, Written))
        unit = next((kind for kind in times if isinstance(kind, Measure) and alike(kind, MICROSECONDS)), hours.measure)
        ratio = MICROSECONDS.ratio(unit)
    else:
        # The distance of two points is a difference: no offset takes part in it.
        written = written_measure(left, right)
        unit = KELVIN if is_point(shared) or is_point(written) else written
        ratio = shared.ratio(unit)
    above, below = Constant(ratio.numerator), Constant(ratio.denominator)
    return _raw(float, _raw(operator.truediv, _raw(operator.mul, distance, above), below)), unit


def _raw(function: Callable[..., Any], *arguments: Expression) -> Apply:
    return lifted(function, *arguments, keeps_nan=True)


def _side(term: Term, measure: Measure | None) -> Expression:
    return _raw(exactly, expression_of(term, measure))


def _joined(choose: Callable[..., Any], left: Distance | None, right: Distance | None) -> Distance | None:
    if left is None or right is None or left[1].dimension != right[1].dimension:
        return None
    (first, unit), (second, other) = left, right
    return _raw(choose, first, _raw(operator.mul, second, Constant(float(other.ratio(unit))))), unit


def _compared(symbol: str, left: Expression, right: Expression) -> Expression:
    match symbol:
        case "<" | "<=":
            return _raw(operator.sub, right, left)
        case ">" | ">=":
            return _raw(operator.sub, left, right)
    distance = _raw(operator.abs, _raw(operator.sub, left, right))
    return _raw(operator.neg, distance) if symbol == "==" else distance


def around(whole: float, on_a_bound: float = 0) -> Callable[[Any, Any, Any], Any]:
    """Return the distance of an angle, around a circle, to the nearer of two others that it lies between.

    >>> around(360)(350, 340, 20), around(360)(30, 340, 20)
    (10, -10)

    Args:
        whole: A whole turn.
        on_a_bound: How far beyond a bound still counts as on it.
    """

    def distance(at: Any, first: Any, last: Any) -> Any:
        along, span = sector(at, first, last, whole)
        if span == whole or isnan(along):  # an infinite angle is nowhere on the circle
            return None
        if along <= span:
            return min(along, span - along)
        beyond = min(whole - along, along - span)
        return 0 if beyond <= on_a_bound else -beyond

    return distance
