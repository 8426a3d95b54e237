"""Evaluation: the expressions of terms as closures over a situation.

A closure takes a `Situation`: the rows of a combination (one a slot, None where there is no row) and the time. It
returns the bare value in the unit asked for, or None: *missing*. What a term means is in `term_expressions`; here is
only how that is asked of one situation: `and` and `or` look no further than they must, and a term that several
conditions share is computed once.

Invariant: a closure of a condition returns something true, something false, or None; never NaN.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, final

from cartesius.expressions.expressions import Apply, Constant, Part
from cartesius.expressions.missing_values import Lifted, Observed, Unmarked, both, either, first_known, where_there
from cartesius.expressions.value_sorts import PLAIN
from dsl.meaning import term_expressions
from dsl.meaning.lookups import Span
from dsl.meaning.shared_terms import Slots, once
from dsl.meaning.term_expressions import NOW, Cell, Spanned, expression_of
from dsl.terms.terms import sources

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from cartesius.expressions.expressions import Expression
    from dsl.terms.dimensions import Measure
    from dsl.terms.terms import Observation, Prediction, Term, Throughout

Row: TypeAlias = "Mapping[str, Any] | None"
Evaluate: TypeAlias = "Callable[[Situation], Any]"

_NONE: Mapping[str, str] = MappingProxyType({})


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
    return closure(expression_of(term, measure, slots.shared if isinstance(slots, Slots) else ()), slots)


def as_it_is(term: Observation | Prediction, slots: Mapping[str, int]) -> Evaluate:
    """Return the function from rows to the value of a field, of whatever sort it is; it raises nothing."""
    return closure(term_expressions.as_it_is(term), slots)


def span(term: Throughout, slots: Mapping[str, int]) -> Span:
    """Return a condition over a span of instants, compiled."""
    forecasts = {slots[source.name]: source for source in sources(term.condition) if source.forecast}
    first, last = compiled(term.first, slots), compiled(term.last, slots)
    return Span(first, last, compiled(term.condition, slots), forecasts)


def closure(expression: Expression, slots: Mapping[str, int]) -> Evaluate:
    """Return the function from a situation to the value of an expression of `term_expressions`.

    >>> closure(Constant(3), {})(Situation(()))
    3
    """
    match expression:
        case Constant(value):
            return lambda situation: value
        case Part(name):
            slot = slots[name]
            return lambda situation: situation.rows[slot]
        case Cell(name, inner):
            return once(name, closure(inner, slots))
        case Spanned(term):
            return span(term, slots).holds
        case Apply(Unmarked(), (row,)):
            return closure(row, slots)  # a situation has no row that is too old
        case Apply(Observed(field=field)) if field == NOW:
            return lambda situation: situation.now
        case Apply(Observed(is_optional=False, members=None) as function, (Part(name),)):
            return _observed(function, slots[name])
        case Apply(Lifted(function, keeps_nan), (left, Constant(value))):
            return _with_constant(function, closure(left, slots), value, keeps_nan=keeps_nan)
        case Apply(Lifted(function, keeps_nan), arguments):
            return _lifted(function, [closure(each, slots) for each in arguments], keeps_nan=keeps_nan)
        case Apply(function, arguments):
            given = [closure(each, slots) for each in arguments]
            lazy = _LAZY.get(function)
            return lazy(*given) if lazy else lambda situation: function(*[each(situation) for each in given])
    message = f"no term means {expression!r}"
    raise AssertionError(message)


def _observed(function: Observed, slot: int) -> Evaluate:
    field, plain = function.field, frozenset[type]() if function.sort is None else PLAIN[function.sort]

    def observe(situation: Situation) -> Any:  # as `Observed` does, for the most common of all terms
        row = situation.rows[slot]
        if row is None:
            return None
        value = row[field]
        if value.__class__ in plain:
            return value if value == value else None  # noqa: PLR0124 - NaN
        return function(row)

    return observe


def _with_constant(function: Callable[..., Any], left: Evaluate, right: Any, *, keeps_nan: bool) -> Evaluate:
    def one(situation: Situation) -> Any:
        first = left(situation)
        if first is None:
            return None
        try:
            found = function(first, right)
        except ArithmeticError:
            return None
        return found if keeps_nan or found == found else None  # noqa: PLR0124 - NaN

    return one


def _lifted(function: Callable[..., Any], given: Sequence[Evaluate], *, keeps_nan: bool) -> Evaluate:
    """As `Lifted` does, but what comes after a missing value is not asked for."""

    def several(situation: Situation) -> Any:
        values = []
        for each in given:
            value = each(situation)
            if value is None:
                return None
            values.append(value)
        try:
            found = function(*values)
        except ArithmeticError:
            return None
        return found if keeps_nan or found == found else None  # noqa: PLR0124 - NaN

    if len(given) != 2:
        return several
    left, right = given

    def two(situation: Situation) -> Any:
        first = left(situation)
        if first is None:
            return None
        second = right(situation)
        if second is None:
            return None
        try:
            found = function(first, second)
        except ArithmeticError:
            return None
        return found if keeps_nan or found == found else None  # noqa: PLR0124 - NaN

    return two


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


def _where_there(row: Evaluate, value: Evaluate) -> Evaluate:
    return lambda situation: None if row(situation) is None else value(situation)


def _first_known(value: Evaluate, default: Evaluate) -> Evaluate:
    def choose(situation: Situation) -> Any:
        found = value(situation)
        return default(situation) if found is None else found

    return choose


_LAZY: Mapping[Any, Callable[[Evaluate, Evaluate], Evaluate]] = {
    both: _both,
    either: _either,
    where_there: _where_there,
    first_known: _first_known,
}
"""What looks at its second argument only where the first does not decide."""
