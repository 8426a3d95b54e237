"""What a term means, once: an expression over the rows of its sources, in Kleene's three-valued logic.

The judge evaluates it (`evaluation`), columns compute it (`judgement_forms`), and margins are made of it (`margins`). A
row that is not there, a field that is None, and NaN are missing; so is what cannot be computed (a division by zero).
Missing flows through arithmetic and comparisons; `and` and `or` decide without it where they can. Constants are
converted, exactly, to the unit they are compared in; a quantity in another unit is converted by a factor. No unit and
no pint is left here. Sums go in the order written.

Source: thesis, section 5.1; S. C. Kleene, Introduction to Metamathematics, 1952, § 64.
"""

from __future__ import annotations

import operator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from cartesius.expressions.expressions import Apply, Constant, Expression, Part
from cartesius.expressions.missing_values import (
    SUBJECT,
    Lifted,
    Observed,
    Turning,
    Unmarked,
    Valid,
    both,
    either,
    first_known,
    is_missing,
    opposite,
    where_there,
)
from cartesius.expressions.value_sorts import position_of
from dsl.meaning.schedules import SCHEDULE, START
from dsl.terms.dimensions import INSTANT, POSITION, TEXT, TRUTH, Choice, Measure, slack, turn
from dsl.terms.instants import instant_of
from dsl.terms.points import measures_of_operands
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
    Prediction,
    Sign,
    Throughout,
    Total,
    is_constant,
    parts,
)
from dsl.terms.terms import Constant as Written
from dsl.terms.texts import text
from dsl.writing.checking import common, exact_in
from dsl.writing.places import Closest, great_circle

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from cartesius.expressions.value_sorts import ValueSort
    from dsl.terms.dimensions import Kind
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
_SORTS: Final[Mapping[Kind, ValueSort]] = {TEXT: "text", TRUTH: "truth", INSTANT: "instant"}


class InexpressibleError(Exception):
    """A term looks at something else than the rows linked: a control signal that stays in `dsl`."""


def lifted(function: Callable[..., Any], *arguments: Expression, name: str = "", keeps_nan: bool = False) -> Apply:
    """Return a function of values that is missing where one of them is.

    >>> lifted(operator.neg, Constant(3)).function(3)
    -3
    """
    return Apply(Lifted(function, keeps_nan), arguments, name or getattr(function, "__name__", "function"))


@attrs.frozen
class Cell(Expression):
    """A value that several conditions of one situation need: computed once, under a name."""

    name: str
    value: Expression


@attrs.frozen
class Spanned(Expression):
    """A condition over a span of instants, which looks at the rows of forecasts at each of them."""

    term: Throughout


def expressed(term: Term, measure: Measure | None = None) -> Expression:
    """Return the expression of ``term`` if columns can compute it: it looks at linked rows alone, one at a time.

    >>> from cartesius.expressions.expressions import show
    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> berth = Source("berth", key="id", id=str, depth=metres)
    >>> show(expressed((berth.depth >= 2 * metres).term).arguments[1])
    '2'

    Raises:
        InexpressibleError: It looks at something else than rows.
    """
    other = next((part for part in parts(term) if isinstance(part, Total | Throughout)), None)
    if other is not None:
        message = f"it looks at {text(other)}"
        raise InexpressibleError(message)
    return expression_of(term, measure)


def expression_of(term: Term, measure: Measure | None = None, cells: Collection[str] = ()) -> Expression:
    """Return the expression of ``term``.

    Args:
        term: What is meant.
        measure: The unit of the result, for a quantity; default: the term's own.
        cells: The terms that are computed once a situation, by their repr.
    """
    if isinstance(term.kind, Measure):
        target = measure or term.kind
        if is_constant(term) and not isinstance(term, Nearest):
            return Constant(constant_in(term, target))
        return _converted(_once(term, cells), term.kind, target)
    return _once(term, cells)


def constant_in(term: Term, measure: Measure) -> int | float:
    """Return the magnitude of a constant quantity in ``measure``, converted exactly before it becomes a float.

    >>> from dsl.units import centimetres, metres
    >>> constant_in((50 * centimetres).term, metres.measure), constant_in((15 * metres).term, metres.measure)
    (0.5, 15)
    """
    if isinstance(term, Written) and not isinstance(term.value, str) and term.kind == measure:
        return term.value
    return float(exact_in(term, measure))


def row_of(source: Declaration) -> Expression:
    """Return the row of a source, which is missing if it is too old."""
    row = Part(source.name)
    return row if source.stale_after is None else Apply(Unmarked(STALE), (row,), f"fresh {source.name}")


def _present(source: Declaration) -> Expression:
    """Return what is missing where a source has no row; in a gap of a forecast the row is there, but no prediction."""
    row = row_of(source)
    return Apply(Observed(START, is_optional=True), (row,), f"{source.name} predicted") if source.forecast else row


def _once(term: Term, cells: Collection[str]) -> Expression:
    value = _expressed(term, cells)
    is_cell = cells and not isinstance(term, Observation | Written | Now) and (name := repr(term)) in cells
    return Cell(name, value) if is_cell else value


def _expressed(term: Term, cells: Collection[str]) -> Expression:
    def of(operand: Term, measure: Measure | None = None) -> Expression:
        return expression_of(operand, measure, cells)

    match term:
        case Observation():
            return _observed(term, row_of(term.source))
        case Written(value):
            return Constant(value)
        case Arithmetic(symbol, left, right, kind):
            first, second = measures_of_operands(symbol, left, right, kind)
            function = _instant_sum(symbol) if kind == INSTANT else _OPERATORS[symbol]
            return lifted(function, of(left, first), of(right, second), name=symbol)
        case Sign(symbol, operand):
            return lifted(operator.neg if symbol == "-" else operator.abs, of(operand))
        case Comparison(symbol, left, right):
            shared = common(left, right) if isinstance(left.kind, Measure) else None
            return lifted(_OPERATORS[symbol], of(left, shared), of(right, shared), name=text(term))
        case Junction(symbol, left, right):
            return Apply(both if symbol == "and" else either, (of(left), of(right)), symbol)
        case Not(operand):
            return Apply(opposite, (of(operand),), "not")
        case Between(operand, low, high):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            return _between(term, of(operand), of(low, shared), of(high, shared))
        case Known(operand):
            is_there = Apply(opposite, (Apply(is_missing, (of(operand),), "missing"),), "known")
            return Apply(where_there, (_present(operand.source), is_there), text(term))
        case Coalesce(operand, default):
            shared = operand.kind if isinstance(operand.kind, Measure) else None
            known = Apply(first_known, (of(operand), of(default, shared)), "coalesce")
            return Apply(where_there, (_present(operand.source), known), text(term))
        case Named(_, operand):
            return of(operand)
        case Distance(left, right):
            return lifted(great_circle, of(left), of(right))
        case Nearest(places, position, _):
            return lifted(Closest(places), of(position), name="nearest")
        case Prediction(source, _, at):
            valid = Apply(Valid(SCHEDULE), (row_of(source), of(at)), f"{source.name} at {text(at)}")
            return _observed(term, valid)
        case Now():
            return Apply(Observed(NOW, is_optional=True), (Part(SUBJECT),), "now")
        case Total():
            return _observed_value(Part(repr(term)), term.kind, "value", is_optional=False)
        case Throughout():
            return Spanned(term)


def as_it_is(term: Observation | Prediction) -> Expression:
    """Return the value of a field of whatever sort it is: what a reason shows of it, and whether it is there."""
    row = row_of(term.source)
    if isinstance(term, Prediction):
        row = Apply(Valid(SCHEDULE), (row, expression_of(term.at)), f"{term.source.name} at {text(term.at)}")
    return _observed(term, row, is_checked=False)


def _observed(term: Observation | Prediction, row: Expression, *, is_checked: bool = True) -> Expression:
    is_optional = term.field in term.source.optional
    return _observed_value(row, term.kind, term.field, is_optional=is_optional, is_checked=is_checked)


def _observed_value(
    row: Expression, kind: Kind, field: str, *, is_optional: bool, is_checked: bool = True
) -> Expression:
    # What is no member of a choice is not known to be another one: "Tanker" must not pass for no tanker.
    members = kind.members if isinstance(kind, Choice) else None
    sort: ValueSort | None = "number" if isinstance(kind, Measure) else _SORTS.get(kind)
    sort = sort if is_checked and members is None else None
    value = Apply(Observed(field, is_optional, members, sort), (row,), field)
    if kind == POSITION:
        return lifted(position_of, value)
    return lifted(_instant, value) if kind == INSTANT else value


def _instant(value: Any) -> Any:
    return instant_of(value) if isinstance(value, datetime) else value


def _instant_sum(symbol: str) -> Callable[[Any, Any], int]:
    """An instant plus or minus a time, in whole microseconds: as a float it would lose some after the year 2255."""
    function = _OPERATORS[symbol]
    return lambda left, right: function(round(left), round(right))


def _between(term: Between, value: Expression, low: Expression, high: Expression) -> Expression:
    whole = turn(term.operand.kind)
    if whole is not None:
        beyond = slack(term.operand.kind, term.low.kind, term.high.kind)
        return lifted(Turning(whole, beyond), value, low, high, name=text(term))
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
