"""Checks: a requirement compiled to a function from a situation to the reason for which it does not hold, if so.

A reason shows every observation of the condition in its unit, and what is compared in the unit that the rule is written
in; `accounts` shows the same of requirements that hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl.columns.simplifying import simplified
from dsl.meaning import foreseen
from dsl.meaning.evaluation import as_it_is, compiled
from dsl.meaning.margins import compared, margin
from dsl.meaning.verdicts import Reason, folded
from dsl.terms.terms import observations, parts
from dsl.terms.texts import label, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from dsl.meaning.evaluation import Evaluate, Situation
    from dsl.meaning.raising import Compilation
    from dsl.meaning.reevaluation import Check, Doubt
    from dsl.terms.statements import Requirement
    from dsl.terms.terms import Term

    Describe: TypeAlias = Callable[[Situation, tuple[str, ...]], Reason]


def required(
    statement: Requirement, slots: Mapping[str, int], place: str | int | None, compilation: Compilation
) -> Check:
    """Check a requirement, inside the innermost location ``place``."""
    condition = statement.condition
    holds, own_doubt = compilation.condition(simplified(condition), slots), compilation.doubt(condition, slots)
    describe = described(statement, slots, place, compilation)

    def check(situation: Situation, doubts: tuple[Doubt, ...]) -> Reason | None:
        answer = holds(situation)
        if answer:
            return None
        if answer is None:
            doubts = (*doubts, own_doubt)
        return describe(situation, missing_of(situation, doubts))

    return check


def described(
    statement: Requirement, slots: Mapping[str, int], place: str | int | None, compilation: Compilation
) -> Describe:
    """Return the function that says of a requirement what is compared, and by how much, given what is missing."""
    condition = statement.condition
    shown = tuple((name, compilation.shown(value), symbol) for name, value, symbol in shown_values(condition, slots))
    name, written, because, distance = statement.name, text(condition), statement.because, margin(condition, slots)
    by_how_much = None if distance is None else compilation.shown(distance[0])
    unit = "" if distance is None else distance[1].symbol
    severity, reference = statement.severity, statement.reference

    def describe(situation: Situation, missing: tuple[str, ...]) -> Reason:
        values = tuple([(each, evaluate(situation), symbol) for each, evaluate, symbol in shown])
        by = None if by_how_much is None else by_how_much(situation)
        limit = None if by is None else (by, unit)
        stale = tuple([name for name in missing if name in situation.stale])
        return Reason(name, written, place, because, missing, values, severity, reference, limit, stale)

    return describe


def paired(slot: int, place: str | int | None) -> Check:
    """Check a requirement about pairs, of which it was found with which others it does not hold."""

    def check(situation: Situation, doubts: tuple[Doubt, ...]) -> Reason | None:
        findings = (situation.rows[slot] or {})["findings"]
        if not findings:
            return None
        missing = missing_of(situation, doubts)
        return folded(findings, missing, tuple(name for name in missing if name in situation.stale), place)

    return check


def missing_of(situation: Situation, doubts: tuple[Doubt, ...]) -> tuple[str, ...]:
    """Return what is missing where some conditions are unknown."""
    names = (name for doubt in doubts for name in doubt(situation))
    return tuple(dict.fromkeys(situation.raised.get(name, name) for name in names))


def shown_values(condition: Term, slots: Mapping[str, int]) -> tuple[tuple[str, Evaluate, str], ...]:
    """Return what a reason shows: every observation in its unit, then what is compared, in that of the rule."""
    shown = {label(each): (as_it_is(each, slots), each.kind.symbol) for each in observations(condition)}
    shown.update(foreseen.shown(condition, slots))
    for part in parts(condition):
        for side, measure, symbol in compared(part):
            shown[text(side)] = (compiled(side, slots, measure), symbol)
    return tuple((name, evaluate, symbol) for name, (evaluate, symbol) in shown.items())
