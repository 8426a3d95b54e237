"""Terms: the expressions of a rule as frozen data, without behaviour.

Rules are written with the fluent face (`fluent`), which checks and builds these nodes; evaluation, lowering, and
whatever comes later read them. They are plain and comparable, pickle, and their `repr` is deterministic: it is part
of the fingerprint of a saved state.

Invariant: a term is well typed: it was built by `checking`.

This module is over 300 lines because the nodes, and the walks over all of them, are read together.

Source: thesis, section 2.2 and Listing 8 (an expression tree typed by its result), and L23 (reduce); ibis (nodes apart
from their face); DESIGN.md, section 6; C. Baier and J.-P. Katoen, Principles of Model Checking, 2008, section 5.1
(globally); the aggregate of relational algebra with grouping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from dsl.terms.dimensions import INSTANT, TRUTH, Kind
from dsl.terms.intervals import MIRRORED, Operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@attrs.frozen
class Declaration:
    """What a `Source` declares: its name, its key field (None: one row for the whole port), and its fields."""

    name: str
    key: str | None
    fields: tuple[tuple[str, Kind], ...]
    optional: tuple[str, ...] = ()
    """The fields that a row may lack."""
    stale_after: int | None = None
    """From which age on, in microseconds, a row counts as missing."""
    forecast: bool = False
    """Whether its rows are predictions, each with a validity (`schedules`)."""
    retention: int = 0
    """How long after its end, in microseconds, a prediction is kept."""
    another_of: str | None = None
    """The source, a pack's subject, whose rows these are under a second name: those of the other subjects."""

    def kind(self, field: str) -> Kind:
        """Return the kind of ``field``, which is declared.

        >>> from dsl.terms.dimensions import NUMBER
        >>> Declaration("tugs", None, (("available", NUMBER),)).kind("available") == NUMBER
        True
        """
        return dict(self.fields)[field]


def _name(declaration: Declaration) -> str:
    return repr(declaration.name)


class _Condition:
    __slots__ = ()

    @property
    def kind(self) -> Kind:
        """A truth value."""
        return TRUTH


class _AsOperand:
    __slots__ = ()
    operand: Term

    @property
    def kind(self) -> Kind:
        """That of the operand."""
        return self.operand.kind


@attrs.frozen
class Observation:
    """The value of a field in the row of a source."""

    source: Declaration = attrs.field(repr=_name)
    field: str

    @property
    def kind(self) -> Kind:
        """The declared kind of the field."""
        return self.source.kind(self.field)


@attrs.frozen
class Constant:
    """A value written in the rule, in the unit written there."""

    value: str | int | float | bool
    kind: Kind


@attrs.frozen
class Arithmetic:
    """Sum, difference, product or quotient. The result's measure is that of the left operand, for + and -."""

    operator: Literal["+", "-", "*", "/"]
    left: Term
    right: Term
    kind: Kind = attrs.field(repr=False)


@attrs.frozen
class Sign(_AsOperand):
    """Negation or absolute value of a quantity."""

    operator: Literal["-", "abs"]
    operand: Term


@attrs.frozen
class Comparison(_Condition):
    """Two terms of one kind compared."""

    operator: Operator
    left: Term
    right: Term


@attrs.frozen
class Junction(_Condition):
    """Conjunction or disjunction."""

    operator: Literal["and", "or"]
    left: Term
    right: Term


@attrs.frozen
class Not(_Condition):
    """The opposite of a condition."""

    operand: Term


@attrs.frozen
class Between(_Condition):
    """Whether a quantity lies between two others, both included; for angles clockwise from the first to the second."""

    operand: Term
    low: Term
    high: Term


@attrs.frozen
class Known(_Condition):
    """Whether an optional field has a value: never unknown itself, unless its row is missing."""

    operand: Observation


@attrs.frozen
class Coalesce(_AsOperand):
    """The value of an optional field, or that of another term where the field has none."""

    operand: Observation
    default: Term


@attrs.frozen
class Named(_AsOperand):
    """A term with a name of its own, by which people read it."""

    name: str
    operand: Term


@attrs.frozen
class Distance:
    """The great-circle distance of two positions."""

    left: Term
    right: Term
    kind: Kind


@attrs.frozen
class Now:
    """The instant at which a situation is judged: the clock of the engine."""

    @property
    def kind(self) -> Kind:
        """An instant."""
        return INSTANT


@attrs.frozen
class Nearest:
    """The id, of a fixed table of positions (id, latitude, longitude), that is closest to a position."""

    places: tuple[tuple[str | int, float, float], ...]
    position: Term
    kind: Kind


@attrs.frozen
class Prediction:
    """The value of a field of a forecast, as it is predicted for an instant.

    It is a leaf: it reads the schedule of the forecast by itself, so that it is compared by its value.
    """

    source: Declaration = attrs.field(repr=_name)
    field: str
    at: Term

    @property
    def kind(self) -> Kind:
        """The declared kind of the field."""
        return self.source.kind(self.field)


@attrs.frozen
class Throughout(_Condition):
    """Whether a condition holds at every instant from the first to the last, both included.

    The condition is read at instants of its own, where the fields of forecasts are bare; it is no part of the situation
    around it, and so no operand.
    """

    first: Term
    last: Term
    condition: Term


Operation: TypeAlias = Literal["count", "sum", "mean", "min", "max"]


@attrs.frozen
class Total:
    """How many rows of a source there are, or the sum, mean, least or greatest of a term over them.

    It binds its source: what it says of the rows of that source is observed of no single row by the rule around it.
    What is left free is ``group``, a term over a linked source, which says whose total is meant.

    Invariant: ``value``, ``key`` and ``condition`` observe ``source`` alone, ``group`` one other source; ``key`` and
    ``group`` are both there or both not. `counted_rows` builds it so.
    """

    operation: Operation
    source: Declaration
    value: Term | None
    """What is summed up; None for a count."""
    key: Term | None
    """Of the rows only those count where this term over the row …"""
    group: Term | None
    """… equals this one over a linked source; both None: all rows do."""
    condition: Term | None
    """Of those, only the rows of which this holds count; None: all do."""
    kind: Kind = attrs.field(repr=False)


Term: TypeAlias = (
    Observation
    | Constant
    | Arithmetic
    | Sign
    | Comparison
    | Junction
    | Not
    | Between
    | Known
    | Coalesce
    | Named
    | Distance
    | Now
    | Nearest
    | Prediction
    | Throughout
    | Total
)


def operands(term: Term) -> tuple[Term, ...]:
    """Return the direct parts of ``term``, left to right.

    >>> operands(Not(Constant(True, TRUTH)))
    (Constant(value=True, kind=Sort(name='truth value')),)
    """
    match term:
        case Observation() | Constant() | Now():
            return ()
        case Arithmetic() | Comparison() | Junction() | Distance():
            return (term.left, term.right)
        case Sign() | Not() | Known() | Named():
            return (term.operand,)
        case Between():
            return (term.operand, term.low, term.high)
        case Coalesce():
            return (term.operand, term.default)
        case Nearest():
            return (term.position,)
        case Prediction():
            return (term.at,)
        case Throughout():
            return (term.first, term.last)
        case Total():
            return () if term.group is None else (term.group,)


def parts(term: Term) -> Iterator[Term]:
    """Yield ``term`` and everything in it, left to right, the whole before its parts.

    >>> [type(part).__name__ for part in parts(Not(Constant(True, TRUTH)))]
    ['Not', 'Constant']
    """
    return _walked(term, operands)


def all_parts(term: Term) -> Iterator[Term]:
    """Yield `parts`, and also what is about other instants or other rows: what is in a span, and in a total.

    >>> [type(part).__name__ for part in all_parts(Not(Constant(True, TRUTH)))]
    ['Not', 'Constant']
    """
    return _walked(term, inside)


def inside(term: Term) -> tuple[Term, ...]:
    """Return the operands of a term, and before them what it asks of other rows, or throughout a span.

    >>> inside(Constant(True, TRUTH))
    ()
    """
    if isinstance(term, Total):
        return tuple([each for each in (term.value, term.key, term.condition, term.group) if each is not None])
    return (term.condition, *operands(term)) if isinstance(term, Throughout) else operands(term)


def _walked(term: Term, below: Callable[[Term], tuple[Term, ...]]) -> Iterator[Term]:
    waiting = [term]
    while waiting:
        yield (part := waiting.pop())
        waiting += reversed(below(part))


def observations(term: Term) -> tuple[Observation, ...]:
    """Return the observations in ``term``, each once, in the order of their first mention; no predictions.

    >>> observations(Constant(True, TRUTH))
    ()
    """
    return tuple(dict.fromkeys(_observed(term)))


def _observed(term: Term) -> Iterator[Observation]:
    for part in parts(term):
        if isinstance(part, Observation):
            yield part
        elif isinstance(part, Throughout):
            yield from (each for each in _observed(part.condition) if not each.source.forecast)


def sources(term: Term) -> tuple[Declaration, ...]:
    """Return the sources that ``term`` observes, each once, in the order of their first mention.

    >>> sources(Constant(True, TRUTH))
    ()
    """
    return tuple(dict.fromkeys(_sources(term)))


def _sources(term: Term) -> Iterator[Declaration]:
    for part in parts(term):
        if isinstance(part, Observation | Prediction):
            yield part.source
        elif isinstance(part, Throughout):
            yield from _sources(part.condition)


def limit_last(comparison: Comparison) -> Comparison:
    """Return a comparison with what it observes on the left: ``draught <= 15`` for ``15 >= draught``.

    >>> from dsl.terms.dimensions import NUMBER
    >>> ten = Constant(10, NUMBER)
    >>> limit_last(Comparison(">=", ten, Now())) == Comparison("<=", Now(), ten)
    True
    """
    if not is_constant(comparison.left) or is_constant(comparison.right):
        return comparison
    return Comparison(MIRRORED[comparison.operator], comparison.right, comparison.left)


def is_constant(term: Term) -> bool:
    """Whether ``term`` observes nothing, not even the clock.

    >>> is_constant(Constant(True, TRUTH)), is_constant(Now())
    (True, False)
    """
    return not any(isinstance(part, Observation | Now | Prediction | Throughout | Total) for part in parts(term))
