"""Evaluation: terms compiled once to nested closures over bare rows, in Kleene's three-valued logic.

A closure takes a `Situation`: the rows of a combination (one a slot, None where there is no row) and the time. It
returns the bare value in the term's unit, or None: *missing*. A row that is not there, a field that is None, and NaN
are missing; so is what cannot be computed (a division by zero). Missing flows through arithmetic and comparisons;
`and` and `or` decide without it where they can. Constants were converted, exactly, to the unit they are compared in; a
quantity in another unit is converted by a factor. No unit and no pint is left here. Sums go in the order written.

Invariant: a closure of a condition returns something true, something false, or None; never NaN.

This module is over 300 lines because what each term means is read together; schedules are looked up in `lookups`.

Source: thesis, section 5.1; S. C. Kleene, Introduction to Metamathematics, 1952, § 64.
"""

from __future__ import annotations

import operator
from datetime import datetime
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, final

from dsl.meaning.lookups import Span, predicted
from dsl.meaning.shared_terms import once
from dsl.terms.aggregates import Total
from dsl.terms.dimensions import INSTANT, POSITION, TRUTH, Choice, Measure
from dsl.terms.instants import instant_of
from dsl.terms.points import measures_of_operands
from dsl.terms.ranges import lies_between
from dsl.terms.terms import (
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
    sources,
)
from dsl.terms.timed_terms import Prediction, Throughout
from dsl.writing.checking import common, exact_in
from dsl.writing.places import Closest, great_circle

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Term

Row: TypeAlias = "Mapping[str, Any] | None"
Evaluate: TypeAlias = "Callable[[Situation], Any]"

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NONE: Mapping[str, str] = MappingProxyType({})
_EXACT = 2**53  # the integers up to here are floats


@final
class Situation:
    """What is judged: one row a source, in the order of the slots (None: there is none), and the time of judging.

    >>> Situation(({"depth": 15.0}, None)).rows[1]
    """

    __slots__ = ("cells", "now", "raised", "rows", "stale")

    def __init__(self, rows: Sequence[Row], now: int | None = None, stale: Collection[str] = ()) -> None:
        self.rows, self.now, self.stale = rows, now, stale  # of the sources without a row, those that have an old one
        self.cells: dict[str, Any] = {}  # of shared terms, by their repr
        self.raised: Mapping[str, str] = _NONE  # of the sources without a row, what their links raised


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
        return _converted(once(term, slots, _compiled(term, slots)), term.kind, target)
    return once(term, slots, _compiled(term, slots))


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
            return _observed(slots[source.name], field, term.kind, field in source.optional)
        case Constant(value):
            return _always(value)
        case Arithmetic(symbol, left, right, kind):
            first, second = measures_of_operands(symbol, left, right, kind)
            function = _instant_sum(_OPERATORS[symbol]) if kind == INSTANT else _OPERATORS[symbol]
            return _calculated(function, compiled(left, slots, first), compiled(right, slots, second))
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
            low_, high_ = compiled(low, slots, shared), compiled(high, slots, shared)
            return _ranged(lies_between(operand.kind), compiled(operand, slots), low_, high_)
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
            return _placed(Closest(places), compiled(position, slots))
        case Total():
            return _observed(slots[repr(term)], "value", term.kind, False)
        case Prediction(source, field, at):
            read = compiled(Observation(source, field), {source.name: 0})
            return predicted(slots[source.name], compiled(at, slots), lambda row: read(Situation((row,))))
        case Throughout():
            return span(term, slots).holds


def span(term: Throughout, slots: Mapping[str, int]) -> Span:
    """Return a condition over a span of instants, compiled."""
    forecasts = {slots[source.name]: source for source in sources(term.condition) if source.forecast}
    first, last = compiled(term.first, slots), compiled(term.last, slots)
    return Span(first, last, compiled(term.condition, slots), forecasts, Situation)


def _always(value: object) -> Evaluate:
    return lambda _: value


def _observed(slot: int, field: str, kind: Kind, is_optional: bool) -> Evaluate:
    def observe(situation: Situation) -> Any:
        row = situation.rows[slot]
        if row is None or (is_optional and field not in row):
            return None
        value = row[field]
        return value if value == value else None  # noqa: PLR0124 - NaN

    def observe_truth(situation: Situation) -> Any:
        value = observe(situation)
        return None if value is None else bool(value)

    def observe_position(situation: Situation) -> Any:
        position = observe(situation)
        return None if position is None or any(degrees is None or isnan(degrees) for degrees in position) else position

    def observe_instant(situation: Situation) -> Any:
        value = observe(situation)
        return instant_of(value) if isinstance(value, datetime) else value

    def observe_choice(situation: Situation) -> Any:
        # What is no member is not known to be another one: "Tanker" must not pass for no tanker.
        value = observe(situation)
        return value if value in kind.members else None  # type: ignore[union-attr]  # asked of choices alone

    if isinstance(kind, Measure):
        return observe
    if isinstance(kind, Choice):
        return observe_choice
    return {TRUTH: observe_truth, POSITION: observe_position, INSTANT: observe_instant}.get(kind, observe)


def _converted(evaluate: Evaluate, own: Measure, target: Measure) -> Evaluate:
    ratio = own.ratio(target)
    if own.offset != target.offset:
        factor, shift = float(ratio), float(own.shift(target))
        return _signed(lambda value: value * factor + shift, evaluate)
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


def _instant_sum(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], int]:
    """An instant plus or minus a time, in whole microseconds: as a float it would lose some after the year 2255."""
    return lambda left, right: function(round(left), round(right))


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


def _ranged(test: Callable[[Any, Any, Any], bool | None], operand: Evaluate, low: Evaluate, high: Evaluate) -> Evaluate:
    return lambda situation: test(operand(situation), low(situation), high(situation))


def _known(slot: int, operand: Evaluate) -> Evaluate:
    return lambda situation: None if situation.rows[slot] is None else operand(situation) is not None


def _first(slot: int, operand: Evaluate, default: Evaluate) -> Evaluate:
    def choose(situation: Situation) -> Any:
        if situation.rows[slot] is None:
            return None
        value = operand(situation)
        return default(situation) if value is None else value

    return choose


def _opposite(operand: Evaluate) -> Evaluate:
    def negate(situation: Situation) -> Any:
        value = operand(situation)
        return None if value is None else not value

    return negate


def _placed(closest: Closest, position: Evaluate) -> Evaluate:
    def place(situation: Situation) -> Any:
        found = position(situation)
        return None if found is None else closest(found)

    return place
