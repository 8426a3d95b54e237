"""Terms as expressions that columns can compute: the same operations as in `evaluation`, in the same order.

Invariant: an expression gives, for the same rows, what the closure of its term gives.

Source: DESIGN.md, section 4.
"""

from __future__ import annotations

import operator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from cartesius.expressions.expressions import Apply, Constant, Part
from cartesius.expressions.missing_values import (
    SUBJECT,
    Lifted,
    Observed,
    Turning,
    Unmarked,
    Valid,
    both,
    complete,
    either,
    first_known,
    greatest,
    is_missing,
    least,
    opposite,
    where_there,
)
from dsl.meaning.evaluation import constant_in
from dsl.meaning.margins import around, unit_of_distance
from dsl.meaning.schedules import SCHEDULE
from dsl.terms.dimensions import INSTANT, POSITION, TRUTH, Choice, Measure
from dsl.terms.instants import instant_of
from dsl.terms.points import measures_of_operands
from dsl.terms.ranges import slack, turn
from dsl.terms.terms import (
    Arithmetic,
    Between,
    Coalesce,
    Comparison,
    Distance,
    Junction,
    Known,
    Named,
    Nearest,
    Not,
    Now,
    Observation,
    Sign,
    is_constant,
)
from dsl.terms.terms import Constant as Written
from dsl.terms.texts import text
from dsl.terms.timed_terms import Prediction
from dsl.writing.checking import common
from dsl.writing.places import Closest, great_circle

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.expressions.expressions import Expression
    from dsl.terms.terms import Declaration, Term

STALE: Final = "@stale"
"""The field of a row that is too old."""
NOW: Final = "@now"
"""The field of a subject's row that says when it is judged."""
_EXACT: Final = 2**53
_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class InexpressibleError(Exception):
    """A term looks at something else than the rows linked: a control signal that stays in `dsl`."""


def lifted(function: Callable[..., Any], *arguments: Expression, name: str = "", keeps_nan: bool = False) -> Apply:
    """Return a function of values that is missing where one of them is.

    >>> lifted(operator.neg, Constant(3)).function(3)
    -3
    """
    return Apply(Lifted(function, keeps_nan), arguments, name or getattr(function, "__name__", "function"))


def expressed(term: Term, measure: Measure | None = None) -> Expression:
    """Return the expression of ``term``, in ``measure``, by default its own.

    >>> from cartesius.expressions.expressions import show
    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> show(expressed((berth.depth >= 2 * metres).term).arguments[1])
    '2'

    Raises:
        InexpressibleError: It looks at something else than rows.
    """
    if isinstance(term.kind, Measure):
        target = measure or term.kind
        if is_constant(term) and not isinstance(term, Nearest):
            return Constant(constant_in(term, target))
        return _converted(_expressed(term), term.kind, target)
    return _expressed(term)


def row_of(source: Declaration) -> Expression:
    """Return the row of a source, which is missing if it is too old."""
    row = Part(source.name)
    return row if source.stale_after is None else Apply(Unmarked(STALE), (row,), f"fresh {source.name}")


def _expressed(term: Term) -> Expression:
    match term:
        case Observation():
            return _observed(term, row_of(term.source))
        case Written(value):
            return Constant(value)
        case Arithmetic(symbol, left, right, kind):
            first, second = measures_of_operands(symbol, left, right, kind)
            function = _instant_sum(symbol) if kind == INSTANT else _OPERATORS[symbol]
            return lifted(function, expressed(left, first), expressed(right, second), name=symbol)
        case Sign(symbol, operand):
            return lifted(operator.neg if symbol == "-" else operator.abs, expressed(operand))
        case Comparison(symbol, left, right):
            shared = common(left, right) if isinstance(left.kind, Measure) else None
            return lifted(_OPERATORS[symbol], expressed(left, shared), expressed(right, shared), name=text(term))
        case Junction(symbol, left, right):
            return Apply(both if symbol == "and" else either, (expressed(left), expressed(right)), text(term))
        case Not(operand):
            return Apply(opposite, (expressed(operand),), text(term))
        case Between(operand, low, high):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            return _between(term, expressed(operand), expressed(low, shared), expressed(high, shared))
        case Known(operand):
            is_there = Apply(opposite, (Apply(is_missing, (expressed(operand),), "missing"),), "known")
            return Apply(where_there, (row_of(operand.source), is_there), text(term))
        case Coalesce(operand, default):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            known = Apply(first_known, (expressed(operand), expressed(default, shared)), "coalesce")
            return Apply(where_there, (row_of(operand.source), known), text(term))
        case Named(_, operand):
            return expressed(operand)
        case Distance(left, right):
            return lifted(great_circle, expressed(left), expressed(right))
        case Nearest(places, position, _):
            return lifted(Closest(places), expressed(position), name="nearest")
        case Prediction(source, field, at):
            valid = Apply(Valid(SCHEDULE), (row_of(source), expressed(at)), f"{source.name} at {text(at)}")
            return _observed(Observation(source, field), valid)
        case Now():
            return Apply(Observed(NOW, is_optional=True), (Part(SUBJECT),), "now")
    message = f"it looks at {text(term)}"
    raise InexpressibleError(message)


def _observed(term: Observation, row: Expression) -> Expression:
    kind, is_optional = term.kind, term.field in term.source.optional
    members = kind.members if isinstance(kind, Choice) else None
    value = Apply(Observed(term.field, is_optional, members, kind == TRUTH), (row,), term.field)
    if kind == POSITION:
        return lifted(complete, value)
    return lifted(_instant, value) if kind == INSTANT else value


def _instant(value: Any) -> Any:
    return instant_of(value) if isinstance(value, datetime) else value


def _instant_sum(symbol: str) -> Callable[[Any, Any], int]:
    function = _OPERATORS[symbol]
    return lambda left, right: function(round(left), round(right))


def _between(term: Between, value: Expression, low: Expression, high: Expression) -> Expression:
    whole = turn(term.operand.kind)
    if whole is not None:
        return lifted(Turning(whole, slack(whole)), value, low, high, name=text(term))
    return Apply(both, (lifted(operator.le, low, value), lifted(operator.le, value, high)), text(term))


def _converted(value: Expression, own: Measure, target: Measure) -> Expression:
    ratio = own.ratio(target)
    if own.offset != target.offset:
        return lifted(
            operator.add, lifted(operator.mul, value, Constant(float(ratio))), Constant(float(own.shift(target)))
        )
    if ratio == 1:
        return value
    above, below = ratio.numerator, ratio.denominator
    if max(above, below) > _EXACT:
        return lifted(operator.mul, value, Constant(float(ratio)))
    scaled = lifted(operator.mul, value, Constant(above))
    return scaled if below == 1 else lifted(operator.truediv, scaled, Constant(below))


# -- margins -----------------------------------------------------------------------------------------------------------


def distanced(condition: Term) -> tuple[Expression, Measure] | None:
    """Return the margin of ``condition`` and its unit, as `margins.margin` has it; None if it has no margin.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> distanced((berth.depth >= 2 * metres).term)[1].symbol
    'm'

    Raises:
        InexpressibleError: It looks at something else than rows.
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
            between = _compared(symbol, expressed(left, shared), expressed(right, shared))
            return _in_the_rules_unit(between, shared, left, right)
        case Between(operand, low, high):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            values = expressed(operand), expressed(low, shared), expressed(high, shared)
            whole = turn(operand.kind)
            inside = _on_a_line(*values) if whole is None else _raw(around(whole), *values)
            return _in_the_rules_unit(inside, shared, operand, low)
    return None


def _raw(function: Callable[..., Any], *arguments: Expression) -> Apply:
    return lifted(function, *arguments, keeps_nan=True)


def _in_the_rules_unit(
    distance: Expression, shared: Measure | None, left: Term, right: Term
) -> tuple[Expression, Measure]:
    ratio, unit = unit_of_distance(shared, left, right)
    above, below = Constant(ratio.numerator), Constant(ratio.denominator)
    return _raw(operator.truediv, _raw(operator.mul, distance, above), below), unit


def _joined(
    choose: Callable[..., Any], left: tuple[Expression, Measure] | None, right: tuple[Expression, Measure] | None
) -> tuple[Expression, Measure] | None:
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


def _on_a_line(value: Expression, low: Expression, high: Expression) -> Expression:
    return _raw(least, _raw(operator.sub, value, low), _raw(operator.sub, high, value))
