"""Linting: flaws of a pack that follow from the rules alone, each proved.

A finding is about situations of which all is known, in exact arithmetic: what is said to be impossible has no
counterexample there (`dsl.proving`). What is not proved is not reported, so that there are flaws that are not found,
but no false alarm. A contradiction comes with an example of a situation that both rules apply to, which was evaluated.

Source: thesis, section 2.4; SOURCES B4; R. M. Smullyan, First-Order Logic, 1968.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import attrs

from dsl.findings import Finding
from dsl.formulas import All, Some, formula, literals
from dsl.proving import cannot_hold
from dsl.statements import Against, Located, Requirement, requirement_names
from dsl.texts import text
from dsl.witnesses import witness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsl.findings import Flaw
    from dsl.formulas import Formula
    from dsl.statements import Statement
    from dsl.terms import Term


@attrs.frozen(eq=False)
class _Rule:
    """A requirement, with the conditions around it."""

    requirement: Requirement
    guards: tuple[Term, ...]
    place: str | int | None
    applies: All
    kept: All
    """It applies and holds."""
    met: Some
    """It does not apply, or holds."""
    violated: All
    """It applies and fails."""
    subjects: frozenset[str]
    """What its condition speaks of."""

    @classmethod
    def of(
        cls, requirement: Requirement, guards: tuple[Term, ...], place: str | int | None, holds: Formula, fails: Formula
    ) -> _Rule:
        applies = All(tuple(formula(guard) for guard in guards))
        met = Some((*(formula(guard, holds=False) for guard in guards), holds))
        subjects = frozenset(literal.subject for literal in literals(holds))
        return cls(requirement, guards, place, applies, All((applies, holds)), met, All((applies, fails)), subjects)


def flaws(statements: Sequence[Statement], considered: Term | None = None) -> tuple[Finding, ...]:
    """Return what is wrong with the statements by themselves, in the order written.

    >>> flaws(())
    ()

    Args:
        statements: The rules of a pack.
        considered: The condition under which a subject is judged at all; None: always.
    """
    around = () if considered is None else (considered,)
    live: list[_Rule] = []
    found = list(_each(statements, around, None, live))
    return (*found, *_pairs(live), *_names(live))


def _each(
    statements: Sequence[Statement], guards: tuple[Term, ...], place: str | int | None, live: list[_Rule]
) -> Iterator[Finding]:
    """Look at each condition and requirement by itself; collect in ``live`` the requirements that can fail and hold."""
    outer = All(tuple(formula(guard) for guard in guards))
    for statement in statements:
        if isinstance(statement, Against):
            continue  # what is proved of a pair says little where there may be no other
        condition = statement.condition
        holds, fails = formula(condition), formula(condition, holds=False)
        if isinstance(statement, Requirement):
            if cannot_hold(outer, fails):
                yield _finding(
                    "never fails", statement, f"{text(condition)} holds{_where(guards) or ', whatever is observed'}"
                )
            elif cannot_hold(outer, holds) and (example := witness(guards)) is not None:
                said = (
                    f"{text(condition)} cannot hold{_where(guards)}{_such_as(example)}: each such subject is restricted"
                )
                yield _finding("always fails", statement, said)
            else:
                live.append(_Rule.of(statement, guards, place, holds, fails))
            continue
        if cannot_hold(outer, holds):
            yield _finding(
                "never applies", statement, f"{text(condition)} cannot hold{_where(guards) or ', whatever is observed'}"
            )
            continue
        if cannot_hold(outer, fails):
            yield _finding(
                "always applies", statement, f"{text(condition)} holds{_where(guards) or ', whatever is observed'}"
            )
        inner = statement.place if isinstance(statement, Located) else place
        yield from _each(statement.body, (*guards, condition), inner, live)


def _pairs(rules: list[_Rule]) -> Iterator[Finding]:
    """Look at each two requirements that speak of something in common."""
    pairs = [(one, other) for one, other in combinations(rules, 2) if one.subjects & other.subjects]
    redundant: list[_Rule] = []
    for one, other in pairs:
        if one in redundant or other in redundant:
            continue
        if cannot_hold(other.violated, one.met):
            redundant.append(other)
            yield _subsumed(other, one)
        elif cannot_hold(one.violated, other.met):
            redundant.append(one)
            yield _subsumed(one, other)
    for one, other in pairs:
        if one in redundant or other in redundant or not cannot_hold(one.kept, other.kept):
            continue
        guards = tuple(dict.fromkeys((*one.guards, *other.guards)))
        example = witness(guards)
        if example is not None:
            yield _contradiction(one, other, guards, example)


def _subsumed(weak: _Rule, strong: _Rule) -> Finding:
    said = (
        f"wherever {text(weak.requirement.condition)} fails{_where(weak.guards)},"
        f" {_called(strong)} fails too: {text(strong.requirement.condition)}{_where(strong.guards)}"
    )
    fix = "leave it out, unless its own reason is wanted in verdicts"
    names = weak.requirement.name, strong.requirement.name
    return Finding("subsumed", weak.requirement.name, said, names, weak.requirement.written, fix)


def _contradiction(one: _Rule, other: _Rule, guards: tuple[Term, ...], example: str) -> Finding:
    said = (
        f"{text(one.requirement.condition)} and {text(other.requirement.condition)} cannot both hold{_where(guards)}"
        f"{_such_as(example)}: each such subject is restricted"
    )
    fix = f"change one of them, or the conditions around {_called(other)}, so that they do not meet"
    names = one.requirement.name, other.requirement.name
    return Finding("contradiction", one.requirement.name, said, names, one.requirement.written, fix)


def _names(rules: list[_Rule]) -> Iterator[Finding]:
    seen: dict[tuple[str, str | int | None], Requirement] = {}
    for rule in rules:
        requirement = rule.requirement
        if requirement.name == text(requirement.condition):
            continue
        first = seen.setdefault((requirement.name, rule.place), requirement)
        if first is not requirement and first.condition != requirement.condition:
            said = f"it names {text(requirement.condition)} as well as {text(first.condition)}"
            fix = "give each requirement a name of its own"
            yield Finding("duplicate name", first.name, said, (first.name,), requirement.written, fix)


_FIXES: dict[Flaw, str] = {
    "never applies": "leave it out with all that is inside, or correct the condition",
    "always applies": "write what is inside without it, or correct the condition",
    "never fails": "leave it out, or correct the limit",
    "always fails": "correct the limit, or the conditions around it",
}


def _finding(kind: Flaw, statement: Statement, said: str) -> Finding:
    return Finding(kind, _title(statement), said, requirement_names([statement]), statement.written, _FIXES[kind])


def _title(statement: Statement) -> str:
    if isinstance(statement, Requirement):
        return statement.name
    if isinstance(statement, Located):
        return f"location({statement.place!r})"
    return f"when({text(statement.condition)})"


def _called(rule: _Rule) -> str:
    name = rule.requirement.name
    return "another" if name == text(rule.requirement.condition) else repr(name)


def _where(guards: tuple[Term, ...]) -> str:
    return f" where {' and '.join(text(guard) for guard in guards)}" if guards else ""


def _such_as(example: str) -> str:
    return f", such as {example}" if example else ""
