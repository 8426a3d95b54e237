"""Forms: what a judge computes, said in expressions that an engine can run over columns.

Reasons are made of the same parts as in `judges`, and what is missing as in `raising`. A pack that looks at
a span of predictions or at other rows than those linked has no form, and is judged row by row.

Invariant: the expressions, evaluated on one combination of rows, give the verdict that the judge gives.

Source: DESIGN.md, sections 4 and 6.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import attrs

from cartesius.expressions.expressions import Apply, Constant, Part
from cartesius.expressions.made_values import Chained, FirstCase, Labelled, Made, Names, Noted, Present, only_if
from cartesius.expressions.missing_values import Form, Observed, both, either, is_missing, is_true, opposite
from dsl.columns.simplifying import simplified
from dsl.meaning.margins import compared, distanced
from dsl.meaning.term_expressions import InexpressibleError, as_it_is, expressed, row_of
from dsl.meaning.verdicts import Reason, Verdict
from dsl.terms.statements import Against, Located, Requirement, walked
from dsl.terms.terms import (
    Coalesce,
    Junction,
    Known,
    Now,
    Observation,
    Prediction,
    observations,
    operands,
    parts,
)
from dsl.terms.terms import sources as observed_sources
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cartesius.expressions.expressions import Expression
    from dsl.terms.links import Link
    from dsl.terms.statements import Block, Statement
    from dsl.terms.terms import Declaration, Term

    Doubt = tuple[str, Expression]  # a name, and where it is missing

REASON = tuple(field.name for field in attrs.fields(Reason))
VERDICT = tuple(field.name for field in attrs.fields(Verdict))


def form_of_pack(
    sources: tuple[Declaration, ...], statements: tuple[Statement, ...], version: str = "", told: Iterable[Link] = ()
) -> Form | str:
    """Return the form of the judgement of ``statements`` over rows of ``sources``, or why there is none.

    The verdicts carry the ``version`` of the pack. What a link of ``told`` raises it raises, too: a judge tells it.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> vessel = declaration(Source("vessel", key="mmsi", mmsi=int))
    >>> form_of_pack((vessel,), ()).meaning
    ()
    """
    try:
        reasons = list(_reasons(statements))
        asked = tuple(_both(Constant(False), _missing(expressed(link.value))) for link in told)
    except InexpressibleError as error:
        return str(error)
    subject, *_ = sources
    key = Apply(Observed(subject.key or ""), (Part(subject.name),), "key")
    failed = [each.failed for each in reasons]
    undecided = [each.undecided for each in reasons]
    status = Apply(FirstCase(("restricted", "unknown", "allowed")), (_any(failed), _any(undecided)), "status")
    names = _distinct([each.statement.name for each in reasons])
    because = Apply(
        Chained(("failed", "undecided")),
        (
            Apply(Present(names), tuple(each.reason(is_failed=True) for each in reasons), "failed"),
            Apply(Present(names), tuple(each.reason(is_failed=False) for each in reasons), "undecided"),
        ),
        "because",
    )
    value = Apply(Made(Verdict, VERDICT), (key, status, because, Constant(version)), "verdict")
    return Form((*_meaning(reasons), *asked), value)


def form_of_considered(form: Form, only: tuple[Term, ...]) -> Form | str:
    """Return the form of the value of another in a tuple, or None where one of the conditions ``only`` is false."""
    try:
        answers = [expressed(each) for each in only]
    except InexpressibleError as error:
        return str(error)
    is_out = _any([Apply(is_true, (_not(each),), "is false") for each in answers])
    meaning = (is_out, *[_both(_not(is_out), each) for each in form.meaning])
    result = Apply(Present(("result",)), (form.value,), "result")
    return Form(meaning, Apply(only_if, (_not(is_out), result), "considered"))


def form_of_status(version: str) -> Form:
    """Return the form of `lowering.StatusOnly`: of verdicts, which the rules of a version gave.

    >>> len(form_of_status("3f2a9c01be77").meaning)
    1
    """
    part = Part("verdict")
    subject, status = (Apply(Observed(name), (part,), name) for name in ("subject", "status"))
    items = subject, status, Constant(()), Constant(version)
    return Form((status,), Apply(Made(Verdict, VERDICT), items, "verdict"))


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Return names of which none is there twice: the second ``wind`` is ``wind (2)``."""
    found: dict[str, None] = {}
    for name in names:
        number, unique = 1, name
        while unique in found:
            number += 1
            unique = f"{name} ({number})"
        found[unique] = None
    return tuple(found)


@attrs.frozen(eq=False)
class _Reasons:
    """When a requirement fails or is undecided, and the reason that it gives then."""

    statement: Requirement
    place: str | int | None
    failed: Expression
    undecided: Expression
    doubts: tuple[Doubt, ...]
    stale: tuple[Doubt, ...]
    """Those of the doubts that are about rows that are too old."""

    @classmethod
    def of(cls, statement: Requirement, blocks: tuple[Block, ...]) -> _Reasons:
        guards = [block.condition for block in blocks]
        place = next((block.place for block in reversed(blocks) if isinstance(block, Located)), None)
        around = [expressed(simplified(guard)) for guard in guards]
        holds = expressed(simplified(statement.condition))
        fails = Apply(is_true, (reduce(_both, [*around, Apply(opposite, (holds,), "not")]),), "fails")
        # Nothing is said of it where a condition around it is false, or it holds itself.
        idle = _any([Apply(is_true, (each,), "is") for each in [*(_not(one) for one in around), holds]])
        undecided = _both(_not(idle), _not(fails))
        doubts: list[Doubt] = []
        for guard, answer in zip([*guards, statement.condition], [*around, holds], strict=True):
            unknown = _missing(answer)
            doubts += [(name, _both(unknown, absent)) for name, absent in _doubts(guard)]
        read = (source for each in (*guards, statement.condition) for source in observed_sources(each))
        aged = {source.name: source for source in read if source.stale_after is not None}
        too_old = {name: _both(_not(_missing(Part(name))), _missing(row_of(source))) for name, source in aged.items()}
        stale = [(name, _both(absent, too_old[name])) for name, absent in doubts if name in aged]
        return cls(statement, place, fails, undecided, tuple(doubts), tuple(stale))

    def reason(self, *, is_failed: bool) -> Expression:
        statement = self.statement
        written = text(statement.condition)
        found = distanced(statement.condition)
        margin = Constant(None) if found is None else Apply(Noted(found[1].symbol), (found[0],), "margin")
        shown = _shown(statement.condition)
        labels = tuple((name, symbol) for name, (_, symbol) in shown.items())
        missing = Constant(()) if is_failed else _names(self.doubts, "missing")
        stale = Constant(()) if is_failed or not self.stale else _names(self.stale, "stale")
        made = {
            "name": Constant(statement.name),
            "text": Constant(written),
            "location": Constant(self.place),
            "because": Constant(statement.because),
            "missing": missing,
            "values": Apply(Labelled(labels), tuple(value for value, _ in shown.values()), "values"),
            "severity": Constant(statement.severity),
            "reference": Constant(statement.reference),
            "margin": margin,
            "stale": stale,
            "others": Constant(()),
        }
        reason = Apply(Made(Reason, REASON), tuple(made[name] for name in REASON), written)
        return Apply(only_if, (self.failed if is_failed else self.undecided, reason), "only if")


def _reasons(statements: Iterable[Statement]) -> Iterator[_Reasons]:
    for around, statement in walked(statements):
        if isinstance(statement, Requirement):
            yield _Reasons.of(statement, around)
        elif isinstance(statement, Against):
            message = f"it compares each {statement.other.name!r} with the subject"
            raise InexpressibleError(message)


def _meaning(reasons: list[_Reasons]) -> tuple[Expression, ...]:
    """What makes two verdicts different: which requirements fail, and what is missing (see `verdicts`)."""
    marks: dict[tuple[str, str, str | int | None], list[Expression]] = {}
    names: dict[tuple[str, bool], list[Expression]] = {}
    for each in reasons:
        mark = (each.statement.name, text(each.statement.condition), each.place)
        marks.setdefault(mark, []).append(each.failed)
        for doubts in (each.doubts, each.stale):
            for name, absent in doubts:
                names.setdefault((name, doubts is each.stale), []).append(_both(each.undecided, absent))
    return tuple(_any(each) for each in (*marks.values(), *names.values()))


def _doubts(term: Term) -> Iterator[Doubt]:
    """Yield what keeps ``term`` undecided, where it is, as `doubts.doubt_of` does."""
    if any(isinstance(part, Junction) for part in parts(term)):
        for part in operands(term):
            unknown = _missing(expressed(part))
            yield from ((name, _both(unknown, absent)) for name, absent in _doubts(part))
        return
    absences = list(_absences(term))
    yield from absences
    yield text(term), _not(_any([absent for _, absent in absences]))


def _absences(term: Term) -> Iterator[Doubt]:
    if isinstance(term, Observation):
        row, value = _missing(row_of(term.source)), _missing(as_it_is(term))
        yield term.source.name, row
        yield label(term), _both(_not(row), value)
    if isinstance(term, Now):
        yield "now", _missing(expressed(term))
    if isinstance(term, Prediction):
        row, unknown = (
            _missing(row_of(term.source)),
            _both(_not(_missing(expressed(term.at))), _missing(as_it_is(term))),
        )
        yield term.source.name, row
        yield f"{term.source.name} at {text(term.at)}", _both(_not(row), unknown)
    for operand in operands(term):
        if isinstance(term, Coalesce | Known):
            unknown = _missing(expressed(term))
            yield from ((name, _both(unknown, absent)) for name, absent in _absences(operand))
        else:
            yield from _absences(operand)


def _shown(condition: Term) -> dict[str, tuple[Expression, str]]:
    """What a reason shows, by label: value, and symbol of the unit, as `judges` has it."""
    shown = {label(each): (as_it_is(each), each.kind.symbol) for each in observations(condition)}
    predicted = (part for part in parts(condition) if isinstance(part, Prediction))
    shown.update({text(each): (as_it_is(each), each.kind.symbol) for each in predicted})
    for part in parts(condition):
        for side, measure, symbol in compared(part):
            shown[text(side)] = (expressed(side, measure), symbol)
    return shown


def _names(doubts: tuple[Doubt, ...], name: str) -> Expression:
    return Apply(Names(tuple(one for one, _ in doubts)), tuple(absent for _, absent in doubts), name)


def _missing(value: Expression) -> Expression:
    return Apply(is_missing, (value,), "missing")


def _not(condition: Expression) -> Expression:
    return Apply(opposite, (condition,), "not")


def _both(left: Expression, right: Expression) -> Expression:
    return Apply(both, (left, right), "and")


def _any(conditions: list[Expression]) -> Expression:
    if not conditions:
        return Constant(False)
    if len(conditions) == 1:
        return conditions[0]
    # In halves, so that a hundred rules are no hundred expressions in one another.
    middle = len(conditions) // 2
    return Apply(either, (_any(conditions[:middle]), _any(conditions[middle:])), "or")
