"""Evaluation: terms compiled once to nested closures over bare rows, in Kleene's three-valued logic.

A closure takes a `Situation`: the rows of a combination (one a slot, None where there is no row) and the time. It
returns the bare value in the term's unit, or None: *missing*. A row that is not there, a field that is None, and NaN
are missing; so is what cannot be computed (a division by zero). Missing flows through arithmetic and comparisons;
`and` and `or` decide without it where they can. Constants were converted, exactly, to the unit they are compared in; a
quantity in another unit is converted by a factor. No unit and no pint is left here. Sums are evaluated in the order
written.

Invariant: a closure of a condition returns something true, something false, or None; never NaN.

Source: thesis, section 5.1; S. C. Kleene, Introduction to Metamathematics, 1952, § 64.
"""

from __future__ import annotations

import operator
from math import isnan, pi
from typing import TYPE_CHECKING, Any, TypeAlias, final

from dsl.checking import common, exact_in
from dsl.dimensions import INSTANT, POSITION, TRUTH, Dimension, Measure
from dsl.instants import MICROSECONDS, microseconds, moving
from dsl.places import finder, great_circle
from dsl.terms import (
    Arithmetic,
    Between,
    Coalesce,
    Comparison,
    Constant,
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

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dsl.dimensions import Kind
    from dsl.terms import Term

Row: TypeAlias = "Mapping[str, Any] | None"
Evaluate: TypeAlias = "Callable[[Situation], Any]"

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_EXACT = 2**53  # the integers up to here are floats


@final
class Situation:
    """What is judged: one row a source, in the order of the slots (None: there is none), and the time of judging.

    Of the sources without a row, ``stale`` are those that have one that is too old.

    >>> Situation(({"depth": 15.0}, None)).rows[1]
    """

    __slots__ = ("now", "rows", "stale")

    def __init__(self, rows: Sequence[Row], now: int | None = None, stale: Collection[str] = ()) -> None:
        self.rows, self.now, self.stale = rows, now, stale


def compiled(term: Term, slots: Mapping[str, int], measure: Measure | None = None) -> Evaluate:
    """Return the function from rows to the value of ``term``.

    >>> from dsl import Source
    >>> from dsl.units import centimetres, metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> evaluate = compiled((berth.depth >= 50 * centimetres).term, {"berth": 0})
    >>> [evaluate(Situation([row])) for row in ({"depth": 0.5}, {"depth": None}, None)]
    [True, None, None]

    Args:
        term: What to evaluate.
        slots: The position of each source's row among the rows.
        measure: The unit of the result, for a quantity; default: the term's own.
    """
    if isinstance(term.kind, Measure):
        target = measure or term.kind
        if is_constant(term) and not isinstance(term, Nearest):
            return _always(constant_in(term, target))
        return _converted(_compiled(term, slots), term.kind, target)
    return _compiled(term, slots)


def constant_in(term: Term, measure: Measure) -> int | float:
    """Return the magnitude of a constant quantity in ``measure``, converted exactly before it becomes a float.

    >>> from dsl.units import centimetres, metres
    >>> constant_in((50 * centimetres).term, metres.measure), constant_in((15 * metres).term, metres.measure)
    (0.5, 15)
    """
    if isinstance(term, Constant) and not isinstance(term.value, str) and term.kind == measure:
        return term.value
    return float(exact_in(term, measure))


def _compiled(term: Term, slots: Mapping[str, int]) -> Evaluate:
    match term:
        case Observation(source, field):
            return _observed(slots[source.name], field, term.kind)
        case Constant(value):
            return _always(value)
        case Arithmetic(symbol, left, right, kind) if INSTANT in (left.kind, right.kind):
            first, second = compiled(left, slots, MICROSECONDS), compiled(right, slots, MICROSECONDS)
            return _calculated(moving(_OPERATORS[symbol]) if kind == INSTANT else _OPERATORS[symbol], first, second)
        case Arithmetic(symbol, left, right, kind):
            assert isinstance(kind, Measure)
            shared = kind if symbol in "+-" else None
            return _calculated(_OPERATORS[symbol], compiled(left, slots, shared), compiled(right, slots, shared))
        case Sign(symbol, operand):
            return _signed(operator.neg if symbol == "-" else abs, compiled(operand, slots))
        case Comparison(symbol, left, right):
            shared = common(left, right) if isinstance(left.kind, Measure) else None
            return _compared(_OPERATORS[symbol], compiled(left, slots, shared), compiled(right, slots, shared))
        case Junction("and", left, right):
            return _both(compiled(left, slots), compiled(right, slots))
        case Junction(_, left, right):
            return _either(compiled(left, slots), compiled(right, slots))
        case Not(operand):
            return _opposite(compiled(operand, slots))
        case Between(operand, low, high):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            first, last = compiled(low, slots, shared), compiled(high, slots, shared)
            return _ranged(compiled(operand, slots), first, last, _turn(operand.kind))
        case Known(operand):
            return _known(slots[operand.source.name], compiled(operand, slots))
        case Coalesce(operand, default):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            return _first(slots[operand.source.name], compiled(operand, slots), compiled(default, slots, shared))
        case Named(_, operand):
            return compiled(operand, slots)
        case Distance(left, right):
            return _calculated(great_circle, compiled(left, slots), compiled(right, slots))
        case Now():
            return lambda situation: situation.now
        case Nearest(places, position, _):
            return _placed(finder(places), compiled(position, slots))


def _always(value: object) -> Evaluate:
    return lambda _: value


def _observed(slot: int, field: str, kind: Kind) -> Evaluate:
    def observe(situation: Situation) -> Any:
        row = situation.rows[slot]
        if row is None:
            return None
        value = row[field]
        return value if value == value else None  # noqa: PLR0124 - NaN

    def observe_truth(situation: Situation) -> Any:
        value = observe(situation)
        return None if value is None else bool(value)

    def observe_position(situation: Situation) -> Any:
        position = observe(situation)
        return None if position is None or any(degrees is None or isnan(degrees) for degrees in position) else position

    if kind == INSTANT:
        return _signed(lambda value: microseconds(value, field), observe)
    return observe_truth if kind == TRUTH else observe_position if kind == POSITION else observe


def _converted(evaluate: Evaluate, own: Measure, target: Measure) -> Evaluate:
    ratio = own.ratio(target)
    if ratio == 1:
        return evaluate
    above, below = ratio.numerator, ratio.denominator
    if max(above, below) > _EXACT:
        rounded = float(ratio)
        return _signed(lambda value: value * rounded, evaluate)
    if below == 1:
        return _signed(lambda value: value * above, evaluate)
    return _signed(lambda value: value * above / below, evaluate)


def _signed(function: Callable[[Any], Any], operand: Evaluate) -> Evaluate:
    def apply(situation: Situation) -> Any:
        value = operand(situation)
        return None if value is None else function(value)

    return apply


def _calculated(function: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    def calculate(situation: Situation) -> Any:
        first = left(situation)
        if first is None:
            return None
        second = right(situation)
        if second is None:
            return None
        try:
            value = function(first, second)
        except ArithmeticError:
            return None
        return value if value == value else None  # noqa: PLR0124 - NaN

    return calculate


def _compared(function: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    def compare(situation: Situation) -> Any:
        first = left(situation)
        if first is None:
            return None
        second = right(situation)
        return None if second is None else function(first, second)

    return compare


def _both(left: Evaluate, right: Evaluate) -> Evaluate:
    def conjoin(situation: Situation) -> Any:
        first = left(situation)
        if first is not None and not first:
            return False
        second = right(situation)
        if second is not None and not second:
            return False
        return None if first is None or second is None else True

    return conjoin


def _either(left: Evaluate, right: Evaluate) -> Evaluate:
    def disjoin(situation: Situation) -> Any:
        first = left(situation)
        if first:
            return True
        second = right(situation)
        if second:
            return True
        return None if first is None or second is None else False

    return disjoin


def _turn(kind: Kind) -> float | None:
    """A whole turn in the measure of an angle; None for what does not wrap around."""
    if not isinstance(kind, Measure) or kind.dimension != Dimension.of(angle=1):
        return None
    return round(2 * pi / float(kind.factor), 9)


def _ranged(operand: Evaluate, low: Evaluate, high: Evaluate, turn: float | None) -> Evaluate:
    def range_(situation: Situation) -> Any:
        value, first, last = operand(situation), low(situation), high(situation)
        if turn is None:
            return _conjunction(
                None if value is None or first is None else first <= value,
                None if value is None or last is None else value <= last,
            )
        if value is None or first is None or last is None:
            return None
        return (value - first) % turn <= (last - first) % turn

    return range_


def _known(slot: int, operand: Evaluate) -> Evaluate:
    return lambda situation: None if situation.rows[slot] is None else operand(situation) is not None


def _first(slot: int, operand: Evaluate, default: Evaluate) -> Evaluate:
    def choose(situation: Situation) -> Any:
        if situation.rows[slot] is None:
            return None
        value = operand(situation)
        return default(situation) if value is None else value

    return choose


def _conjunction(first: bool | None, second: bool | None) -> bool | None:
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def _opposite(operand: Evaluate) -> Evaluate:
    def negate(situation: Situation) -> Any:
        value = operand(situation)
        return None if value is None else not value

    return negate


def _placed(find: Callable[[Any], Any], position: Evaluate) -> Evaluate:
    return lambda situation: find(position(situation))
