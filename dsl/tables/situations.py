"""Situations as people write them: the rows given to `RulePack.check`, made into the rows that rules are judged on.

A value may be bare, in the field's declared unit, or a quantity (`15 * metres`, `50 * feet`), which is converted
exactly. Names and types are checked, because a slip in a situation is a test of rules that tests nothing: a source or
field that does not exist, a length where a speed is meant, a text that is no member of a choice.

Invariant: what comes out has every declared field of its source, bare, or None: missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from cartesius.expressions.value_sorts import is_of_sort, is_on_earth
from dsl.meaning.schedules import Forecasting, Schedule, scheduled
from dsl.meaning.term_expressions import constant_in
from dsl.refusals.errors import DimensionMismatch, refusal
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TEXT, TRUTH, Choice, Measure, alike, described, named
from dsl.terms.instants import instant_of
from dsl.terms.terms import Constant, is_constant
from dsl.terms.texts import text
from dsl.writing.fluent import Expression, Unit
from dsl.writing.wording import example, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.language.lenience import OnError
    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Declaration


def complete(
    call: str, sources: Iterable[Declaration], given: Mapping[str, Any], *, on_error: OnError = "fail"
) -> list[Any]:
    """Return one row a source, in their order, with all declared fields; None where no row is given.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> from dsl.units import centimetres, metres
    >>> berth = declaration(Source("berth", key="id", id=str, depth=metres))
    >>> complete("port.check", [berth], {"berth": {"depth": 50 * centimetres}})
    [{'id': None, 'depth': 0.5}]

    Args:
        call: What was called, for messages.
        sources: What the pack observes, the subject first.
        given: Source name → row: field → a bare value in the field's unit, or a quantity.
        on_error: ``"unknown"``: a bare value that does not fit its field stays as it is, for the rules to raise on.

    Raises:
        InvalidArgument: A name that does not exist, no row of the subject, or what is no row or value.
        DimensionMismatch: A value that does not fit its field.
    """
    known = {source.name: source for source in sources}
    if not isinstance(given, Mapping):
        fix = f"{call}({_example_of(next(iter(known.values())))})"
        raise InvalidArgument(refusal(f"{call}: expected rows by source but got {given!r}", [("fix", fix)]))
    for name in given:
        if name not in known:
            summary = f"{call}: expected rows of its sources ({', '.join(known)}) but got {name!r}"
            _unknown(summary, name, list(known), "leave it out: no rule of this pack observes it")
    subject = next(iter(known))
    if given.get(subject) is None:
        fix = f"give the row that is judged: {call}({_example_of(known[subject])})"
        summary = f"{call}: expected a row of the subject {subject!r} but got none"
        raise InvalidArgument(refusal(summary, [("fix", fix)]))
    return [complete_row(call, source, given.get(source.name), on_error) for source in known.values()]


def bare_now(call: str, given: object) -> int | None:
    """Return the instant that ``call`` was given as now, as the bare value that rules are judged on.

    >>> bare_now("port.check", 7)
    7

    Raises:
        DimensionMismatch: It is no whole number and no datetime with a time zone.
    """
    value: int | None = _value(call, "now", INSTANT, given, "fail")
    return value


def complete_row(call: str, source: Declaration, given: object, on_error: OnError = "fail") -> Any:
    """Return one row with all declared fields, bare, as `complete` does, or the schedule of a forecast; None stays."""
    if given is None:
        return None
    if source.forecast:
        return _forecast(call, source, given, on_error)
    fields = dict(source.fields)
    if not isinstance(given, Mapping):
        others = [field for field in fields if field != source.key]
        shown = _shown(given)
        meant = others[0] if len(others) == 1 else next((each for each in others if _fits(given, fields[each])), "…")
        fix = f'"{source.name}": {{"{meant}": {shown}}}'
        raise InvalidArgument(
            refusal(f"{call}: expected a row of {source.name!r}, by field, but got {shown}", [("fix", fix)])
        )
    for name in given:
        if name not in fields:
            summary = f"{call}: expected fields of {source.name!r} ({', '.join(fields)}) but got {name!r}"
            _unknown(summary, name, list(fields), f"declare it in Source({source.name!r}, …), or leave it out")
    return {
        name: _value(call, f"{source.name}.{name}", kind, given.get(name), on_error) for name, kind in source.fields
    }


def _forecast(call: str, source: Declaration, given: object, on_error: OnError) -> Record:
    """Return the schedule of the predictions that are given: one, or a list of them."""
    listed = list(given) if isinstance(given, list | tuple) else [given]
    plain = attrs.evolve(source, forecast=False)
    predictions = [row for each in listed if (row := complete_row(call, plain, each, on_error)) is not None]
    for row in predictions:
        objection = Forecasting(attrs.evolve(source, key=None)).objection(row)
        if objection is not None:
            fix = [("fix", "give issued, start and end, each an instant, start before end")]
            raise InvalidArgument(refusal(f"{call}: expected predictions of {source.name!r} but {objection}", fix))
    key = None if source.key is None or not predictions else predictions[0][source.key]
    return scheduled(source, key, Schedule.of(map(Record, predictions)))


def _value(call: str, label: str, kind: Kind, given: Any, on_error: OnError) -> Any:
    """Return ``given`` bare, in the unit of ``kind``; None stays None."""
    if given is None or (isinstance(given, datetime) and given != given):  # noqa: PLR0124 - NaT of pandas
        return None
    if isinstance(given, Expression):
        return _converted(call, label, kind, given, on_error)
    if isinstance(given, Enum):
        given = given.value
    if not _fits(given, kind):
        if on_error == "unknown":
            return given
        notes = [("field", f"{label} is {described(kind)}"), ("fix", f"write it as {_example(kind)}")]
        summary = f"{call}: expected {named(kind)} for {label} but got {_shown(given)}"
        raise DimensionMismatch(refusal(summary, notes))
    if isinstance(given, datetime):
        return instant_of(given)
    return given


def _converted(call: str, label: str, kind: Kind, given: Expression, on_error: OnError) -> Any:
    term = given.term
    if not is_constant(term):
        summary = f"{call}: expected a value of {label} but got the observation {text(term)}"
        fix = f"give what is observed there, such as {_example(kind)}"
        raise InvalidArgument(refusal(summary, [("fix", fix)]))
    if not alike(term.kind, kind):
        notes = [
            ("field", f"{label} is {described(kind)}"),
            ("given", f"{text(term)} is {described(term.kind)}"),
            ("fix", f"write {_meant(term, kind)} if {named(kind)} is meant"),
        ]
        summary = f"{call}: expected {named(kind)} for {label} but got {named(term.kind)}"
        raise DimensionMismatch(refusal(summary, notes))
    if isinstance(kind, Measure):
        return constant_in(term, kind)
    return _value(call, label, kind, term.value if isinstance(term, Constant) else None, on_error)


def _fits(given: object, kind: Kind) -> bool:
    """Whether a bare value may stand in a field of ``kind``."""
    match kind:
        case Measure():
            return is_of_sort(given, "number")
        case Choice(members=members):
            return given in members
    if kind == TEXT:
        return is_of_sort(given, "text")
    if kind == TRUTH:
        return is_of_sort(given, "truth")
    if kind == INSTANT:
        is_aware = isinstance(given, datetime) and given.utcoffset() is not None
        return is_aware or (isinstance(given, Integral) and not isinstance(given, bool))
    if not (isinstance(given, tuple | list) and len(given) == 2):
        return False
    return all(isinstance(each, Real) for each in given) and is_on_earth(*given)


def _unknown(summary: str, name: object, known: list[str], otherwise: str) -> NoReturn:
    close = get_close_matches(str(name), known, n=1)
    fix = f"did you mean {close[0]!r}?" if close else otherwise
    raise InvalidArgument(refusal(summary, [("fix", fix)]))


def _example(kind: Kind) -> str:
    if isinstance(kind, Measure) and kind != NUMBER:
        return f"{spelled(Constant(15, kind))}, or 15 for short"
    return example(kind)


def _meant(term: Any, kind: Kind) -> str:
    if isinstance(kind, Measure) and isinstance(term, Constant) and isinstance(term.kind, Measure):
        return spelled(Constant(term.value, kind))
    return _example(kind)


def _example_of(source: Declaration) -> str:
    field, kind = source.fields[-1]
    return f'{{"{source.name}": {{"{field}": {_example(kind).partition(",")[0] if kind != POSITION else "…"}}}}}'


def _shown(given: object) -> str:
    if isinstance(given, Expression):
        term = given.term
        is_simple = isinstance(term, Constant) and isinstance(term.kind, Measure)
        return spelled(term) if is_simple and isinstance(term, Constant) else text(term)
    return f"the bare unit {given.symbol}" if isinstance(given, Unit) else repr(given)
