"""Accounts: how a verdict comes about: every requirement, also those that hold, with the rows that it was decided from.

A judge makes reasons only for what does not hold, as it judges often; an account is made when somebody asks.

Invariant: an account's verdict is the judge's, for the same rows and the same instant.

Source: W3C PROV (what an answer was derived from); DESIGN.md, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

import attrs

from dsl.judgements.presence import situated
from dsl.judgements.requirement_checks import described, missing_of, paired
from dsl.meaning.evaluation import compiled
from dsl.meaning.margins import written_measure
from dsl.meaning.verdicts import Reason
from dsl.terms.dimensions import INSTANT, Measure
from dsl.terms.related_rows import slot_of, totals
from dsl.terms.related_rows import slots as slots_of
from dsl.terms.statements import Against, Located, Requirement, alone, requirements
from dsl.terms.terms import Between, Comparison, Named, limit_last, parts, sources
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dsl.judgements.judges import Judge
    from dsl.meaning.evaluation import Row, Situation
    from dsl.meaning.raising import Compilation
    from dsl.meaning.reevaluation import Doubt
    from dsl.meaning.verdicts import Shown, Verdict
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Declaration, Term

Outcome: TypeAlias = Literal["holds", "fails", "undecided", "does not apply"]
_BOUNDS: Final = {"<": "less than", "<=": "at most", ">": "more than", ">=": "at least", "==": "", "!=": "other than"}
_MOMENTS: Final = {"<": "before", "<=": "at or before", ">": "after", ">=": "at or after", "==": "", "!=": "other than"}


@attrs.frozen
class Bound:
    """What a requirement compares: the value, and how it must lie to the limit.

    >>> Bound(("draught", 15.2, "m"), "at most", (("15 m", 15, "m"),)).how
    'at most'
    """

    value: Shown
    how: str
    """In words: at most, at least, …, between; nothing for equal to."""
    limits: tuple[Shown, ...]
    """One, or the two that the value must lie between."""


@attrs.frozen
class Accounted:
    """A requirement in one situation."""

    statement: Requirement
    reason: Reason
    """Its name and text, the values, and the margin, whether or not it holds."""
    outcome: Outcome
    """It does not apply where a condition around it is false."""
    bound: Bound | None
    """None where its condition is more than one comparison."""
    conditions: tuple[tuple[Term, bool | None], ...]
    """What stands around it, the outer first, and whether that is so; None: that is unknown."""
    reads: tuple[str, ...]
    """The sources that it and what stands around it observe."""

    @property
    def instants(self) -> frozenset[str]:
        """What of its values are times, in microseconds since the epoch, as they are called there."""
        times = [part for part in parts(self.statement.condition) if part.kind == INSTANT]
        return frozenset([text(time) for time in times])


@attrs.frozen
class Account:
    """A verdict, with all that led to it."""

    verdict: Verdict
    requirements: tuple[Accounted, ...]
    """All of the pack, in the order of the rules."""
    rows: Mapping[str, Row]
    """By source, the row that was looked at; None: there was none."""


@final
@attrs.frozen
class Gathered:
    """In place of a judge: the rows that one would be given, and nothing made of them."""

    sources: tuple[Declaration, ...]
    statements: tuple[Statement, ...]

    def __call__(self, *rows: Row) -> tuple[Row, ...]:
        """Return the rows."""
        return rows


def account(judge: Judge, rows: Sequence[Any], now: int) -> Account:
    """Return how the verdict about a subject comes about.

    >>> from dsl import RulePack, Source, require
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> port = RulePack("port", subject=vessel)
    >>> with port:
    ...     require(vessel.draught <= 15 * metres, name="depth")
    >>> rows = [(port.sources["vessel"], {"mmsi": 7, "draught": 14.0}, 0)]
    >>> found = port.account(rows, 7, at=5)
    >>> found.requirements[0].outcome, found.requirements[0].reason.margin
    ('holds', (1.0, 'm'))

    Args:
        judge: The judge.
        rows: What it would be given: one row a source, and those of its relations.
        now: When.
    """
    verdict = judge(*rows, now=now)
    width = len(judge.sources)
    derived = () if judge.related is None else judge.related(rows)
    situation = situated(judge.sources, rows[:width], now, derived)
    walk = _Walk(situation, slots_of(judge.sources, judge.statements), judge.compilation)
    found = tuple(walk.over(judge.statements, _Around()))
    seen = {source.name: row for source, row in zip(judge.sources, rows, strict=False)}
    return Account(verdict, found, seen)


@attrs.frozen
class _Around:
    """What stands around a requirement: the conditions, what keeps those undecided that are, what they read; where."""

    conditions: tuple[tuple[Term, bool | None], ...] = ()
    doubts: tuple[Doubt, ...] = ()
    reads: tuple[str, ...] = ()
    place: str | int | None = None

    @property
    def applies(self) -> bool:
        return all(holds is not False for _, holds in self.conditions)


@attrs.frozen
class _Walk:
    """All requirements of the statements, one after the other."""

    situation: Situation
    slots: Mapping[str, int]
    compilation: Compilation

    def over(self, statements: Sequence[Statement], around: _Around) -> Iterator[Accounted]:
        for each in statements:
            if isinstance(each, Requirement):
                yield self.required(each, around)
            elif isinstance(each, Against):
                for blocks, requirement in requirements(each.body):
                    yield self.paired(each, alone(blocks, requirement), requirement, around)
            else:
                answer, doubts = self.decided(each.condition, around)
                inner = _Around(
                    (*around.conditions, (each.condition, answer)),
                    doubts,
                    _observed(each.condition, around.reads),
                    each.place if isinstance(each, Located) else around.place,
                )
                yield from self.over(each.body, inner)

    def decided(self, condition: Term, around: _Around) -> tuple[bool | None, tuple[Doubt, ...]]:
        """Return whether a condition holds, and the doubts there are then."""
        answer = self.compilation.condition(condition, self.slots)(self.situation)
        if answer is None:
            return None, (*around.doubts, self.compilation.doubt(condition, self.slots))
        return bool(answer), around.doubts

    def required(self, statement: Requirement, around: _Around) -> Accounted:
        condition = statement.condition
        answer, doubts = self.decided(condition, around)
        missing = missing_of(self.situation, doubts) if around.applies and not answer else ()
        reason = described(statement, self.slots, around.place, self.compilation)(self.situation, missing)
        outcome = _outcome(around, None if answer else reason)
        reads = _observed(condition, around.reads)
        return Accounted(statement, reason, outcome, self.bound(condition), around.conditions, reads)

    def paired(self, block: Against, rule: Statement, statement: Requirement, around: _Around) -> Accounted:
        """Account for a requirement about pairs: with which others it does not hold."""
        place = around.place
        found = paired(self.slots[slot_of(block, rule)], place)(self.situation, around.doubts)
        name, because, written = statement.name, statement.because, text(statement.condition)
        nothing = Reason(name, written, place, because, severity=statement.severity, reference=statement.reference)
        reason = nothing if found is None or not around.applies else found
        reads = _observed(statement.condition, (*around.reads, block.other.name))
        return Accounted(statement, reason, _outcome(around, found), None, around.conditions, reads)

    def bound(self, condition: Term) -> Bound | None:
        match condition:
            case Named(_, operand):
                return self.bound(operand)
            case Comparison():
                found = limit_last(condition)
                left, right = found.left, found.right
                how = (_MOMENTS if left.kind == INSTANT else _BOUNDS)[found.operator]
                return Bound(self.shown(left, left, right), how, (self.shown(right, left, right),))
            case Between(operand, low, high):
                limits = self.shown(low, operand, low), self.shown(high, operand, high)
                return Bound(self.shown(operand, operand, low), "between", limits)
        return None

    def shown(self, side: Term, left: Term, right: Term) -> Shown:
        """Return a side of a comparison in the unit that the rule is written in."""
        measure = written_measure(left, right) if isinstance(left.kind, Measure) else None
        value = self.compilation.shown(compiled(side, self.slots, measure))(self.situation)
        return text(side), value, measure.symbol if measure else ""


def _outcome(around: _Around, reason: Reason | None) -> Outcome:
    if not around.applies:
        return "does not apply"
    if reason is None:
        return "holds"
    return "undecided" if reason.missing else "fails"


def _observed(condition: Term, reads: tuple[str, ...]) -> tuple[str, ...]:
    names = [source.name for source in sources(condition)] + [total.source.name for total in totals(condition)]
    return tuple(dict.fromkeys((*reads, *names)))
