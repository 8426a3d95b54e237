"""Forecasts in rules: `wind.at(vessel.eta).velocity`, and `throughout(first, last)(condition)`.

The fields of a forecast have values at instants only. So they are read through `at`, which says for which, or bare
inside `throughout`, which means every instant of a span; anywhere else they are refused.

Source: thesis, chapter 1 (planned at a time when the wind is predicted to exceed 45 knots); DESIGN.md, section 6.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, final

from dsl.judgements.clocks import mentions_clock
from dsl.refusals.errors import DimensionMismatch, InvalidRule, UnknownField, refusal
from dsl.terms.dimensions import INSTANT, MICROSECONDS, Measure, described
from dsl.terms.terms import Arithmetic, Named, Observation, Prediction, Throughout, is_constant, parts
from dsl.terms.texts import label, text
from dsl.writing.checking import condition as checked
from dsl.writing.checking import exact_in
from dsl.writing.fluent import Expression

if TYPE_CHECKING:
    from fractions import Fraction

    from dsl.terms.terms import Declaration, Term


@final
class Predicted:
    """The predictions of a forecast for an instant: its attributes are the fields. Made by `Source.at`."""

    __slots__ = ("_at", "_source")

    def __init__(self, source: Declaration, at: Term) -> None:
        """Look ``source`` up at the instant ``at``."""
        object.__setattr__(self, "_source", source)
        object.__setattr__(self, "_at", at)

    def __getattribute__(self, name: str) -> Expression:
        """Return what is predicted of the field ``name``."""
        if name.startswith("__"):
            return object.__getattribute__(self, name)  # type: ignore[no-any-return]  # what is no field is as it is
        return _predicted(self, name)

    def __getitem__(self, name: str) -> Expression:
        """Return what is predicted of the field ``name``; for names that are no attributes, such as ``class``."""
        return _predicted(self, name)

    def __repr__(self) -> str:
        """Show source and instant."""
        source, at = _looked_up(self)
        return f"<{source.name} at {text(at)}>"


def _looked_up(predicted: Predicted) -> tuple[Declaration, Term]:
    return object.__getattribute__(predicted, "_source"), object.__getattribute__(predicted, "_at")


def _predicted(predicted: Predicted, name: str) -> Expression:
    source, at = _looked_up(predicted)
    names = [field for field, _ in source.fields]
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        known = f"the source {source.name!r} ({', '.join(names)})"
        summary = f"{source.name}.at(…).{name}: expected a field of {known}{hint}"
        raise UnknownField(refusal(summary))
    return Expression(Prediction(source, name, at))


@final
class Quantifier:
    """What `throughout` returns: call it with the condition that must hold."""

    __slots__ = ("_first", "_last")

    def __init__(self, first: Term, last: Term) -> None:
        """Quantify over the instants from ``first`` to ``last``."""
        self._first, self._last = first, last

    def __call__(self, condition: Expression) -> Expression:
        """Return the condition that ``condition`` holds at every instant of the span.

        Raises:
            DimensionMismatch: ``condition`` is no condition.
            InvalidRule: It observes no forecast, or depends on the clock.
        """
        call = repr(self)
        if not isinstance(condition, Expression):
            fix = [("fix", f"{call.replace('…', 'tide.height >= 1 * metres')}")]
            got = f"{condition!r} (type={type(condition).__name__})"
            raise InvalidRule(refusal(f"{call}: expected a condition over a forecast but got {got}", fix))
        term = checked(call, condition.term)
        _refuse_clock(call, term)
        if not any(isinstance(each, Observation) and each.source.forecast for each in parts(term)):
            fix = [("fix", "name a field of a forecast without at(…); what does not change in the span needs no span")]
            raise InvalidRule(refusal(f"{call}: expected a condition over a forecast but got {text(term)}", fix))
        return Expression(Throughout(self._first, self._last, term))

    def __repr__(self) -> str:
        """Show the span."""
        return f"throughout({text(self._first)}, {text(self._last)})(…)"


def throughout(first: Expression, last: Expression) -> Quantifier:
    """Make a condition hold at every instant: ``throughout(first, last)(condition)``, both ends included.

    Inside, the fields of forecasts are read bare: at each instant they are what is predicted for it. A gap in the
    predictions makes the condition unknown, unless it fails at another instant. Where the last instant is before the
    first, there is none at which the condition could fail: it holds.

    >>> from dsl import Source, instant, throughout
    >>> from dsl.units import hours, metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
    >>> tide = Source("tide", key=None, height=metres, forecast=True)
    >>> throughout(vessel.eta, vessel.eta + 2 * hours)(tide.height >= 1 * metres)
    throughout(vessel.eta, vessel.eta + 2 h)(tide.height >= 1 m)

    Args:
        first: An instant.
        last: An instant.

    Raises:
        DimensionMismatch: One of the two is no instant.
        InvalidRule: One depends on the clock, or on a forecast that is not looked up; or the last is always before the
            first.
    """
    bounds = moment("throughout", first), moment("throughout", last)
    (base, start), (other, end) = map(offset, bounds)
    if base == other and end < start:
        fix = [("fix", f"throughout({text(bounds[1])}, {text(bounds[0])})")]
        summary = f"throughout({text(bounds[0])}, {text(bounds[1])}): expected the first instant first"
        raise InvalidRule(refusal(summary, fix))
    return Quantifier(*bounds)


def moment(call: str, given: object) -> Term:
    """Return an instant that ``call`` looks forecasts up at.

    Raises:
        DimensionMismatch: It is no instant.
        InvalidRule: It depends on the clock, or on a forecast that is not looked up.
    """
    term = given.term if isinstance(given, Expression) else None
    if term is None or term.kind != INSTANT:
        got = f"{given!r} (type={type(given).__name__})" if term is None else f"{text(term)}, {described(term.kind)}"
        fix = [("fix", "give an instant, such as vessel.eta or vessel.eta + 2 * hours")]
        raise DimensionMismatch(refusal(f"{call}: expected an instant but got {got}", fix))
    _refuse_clock(call, term)
    refuse_bare(term)
    return term


def _refuse_clock(call: str, term: Term) -> None:
    if mentions_clock(term):
        fix = [
            ("fix", "give the subject an instant of its own, such as vessel.eta, or observe a source of present values")
        ]
        summary = f"{call}: expected what the clock does not change but got {text(term)}"
        raise InvalidRule(refusal(summary, fix))


def refuse_bare(term: Term) -> None:
    """Refuse a field of a forecast that is read without an instant; the key is none, it has no instant.

    Raises:
        InvalidRule: There is one.
    """
    for part in parts(term):
        if isinstance(part, Observation) and part.source.forecast and part.field != part.source.key:
            name = part.source.name
            fix = (
                f"say for when: {name}.at(vessel.eta).{part.field}; or, for a span, throughout(…, …)(… {label(part)} …)"
            )
            summary = f"{label(part)}: expected an instant, as {name!r} is a forecast, but got none"
            raise InvalidRule(refusal(summary, [("fix", fix)]))


def offset(term: Term) -> tuple[Term, Fraction | int]:
    """Return an instant as another one and a constant time from it, in microseconds.

    >>> from dsl import Source, instant
    >>> from dsl.units import minutes
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, eta=instant)
    >>> offset((vessel.eta + 30 * minutes - 1 * minutes).term)
    (Observation(source='vessel', field='eta'), Fraction(1740000000, 1))
    """
    match term:
        case Named(_, operand):
            return offset(operand)
        case Arithmetic("+" | "-" as operator, left, right) if left.kind == INSTANT and is_constant(right):
            base, away = offset(left)
            assert isinstance(right.kind, Measure)
            return base, away + (1 if operator == "+" else -1) * exact_in(right, MICROSECONDS)
        case Arithmetic("+", left, right) if right.kind == INSTANT and is_constant(left):
            base, away = offset(right)
            return base, away + exact_in(left, MICROSECONDS)
    return term, 0
