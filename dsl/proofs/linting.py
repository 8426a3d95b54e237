"""Linting: flaws of a pack that follow from the rules alone, each proved.

A finding is about situations of which all is known, in exact arithmetic: what is said to be impossible has no
counterexample there (`proving`). What is not proved is not reported, so that there are flaws that are not found,
but no false alarm. A contradiction comes with an example of a situation that both rules apply to, found by trying: each
open branch of a tableau says in which set the value of each thing lies; one value of each is tried for the fields that
are such a thing, and a few plain ones for the others.

A linked row may be missing. So a link is made use of only where a condition must be true: then there is a row, and its
key is what it is linked to. What may be left out, or written without a condition, is so whether there is a row or not.

This module is over 300 lines because each flaw is looked for, and told, in terms of what is around a statement.

Invariant: of an example all was evaluated, and every condition was true.

Source: thesis, section 2.4; SOURCES B4; R. M. Smullyan, First-Order Logic, 1968.
"""

from __future__ import annotations

from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import attrs

from dsl.judgements.dependencies import leaves
from dsl.meaning.evaluation import Situation, compiled
from dsl.proofs.findings import Finding
from dsl.proofs.formulas import All, Some, formula, literals
from dsl.proofs.linear_forms import base_units
from dsl.proofs.proving import Opened, branches, cannot_hold
from dsl.terms.dimensions import INSTANT, POSITION, TRUTH, Choice, Measure
from dsl.terms.links import followed
from dsl.terms.statements import EVERY_PAIR, Against, Located, Requirement, requirement_names
from dsl.terms.terms import Comparison, Observation, parts, sources
from dsl.terms.texts import constant, label, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dsl.proofs.findings import Flaw
    from dsl.proofs.formulas import Formula
    from dsl.terms.dimensions import Kind
    from dsl.terms.links import Link
    from dsl.terms.statements import Conditional, Statement
    from dsl.terms.terms import Term


@attrs.frozen
class _Around:
    """What is around a statement."""

    considered: tuple[Term, ...]
    """The condition under which a subject is judged; it need not be true, but must not be false."""
    guards: tuple[Term, ...] = ()
    """Conditions that must be true, the outermost first."""
    links: Sequence[Link] = ()
    """How the rows of other sources are found, in order."""
    place: str | int | None = None
    is_of_pairs: bool = False
    """Whether it is about a subject and another one."""

    @property
    def applies(self) -> All:
        return All((*map(formula, self.considered), *map(self.certain, self.guards)))

    @property
    def applies_for_certain(self) -> All:
        """What of that is so even where linked rows are missing, for then a subject is judged."""
        linked = {link.source for link in self.links}
        considered = tuple(each for each in self.considered if linked.isdisjoint(sources(each)))
        return attrs.evolve(self, considered=considered).applies

    def certain(self, condition: Term) -> Formula:
        """Return the formula of a condition that is true, so of rows that are there: and of what they are linked to."""
        linked = followed(condition, self.links)
        plain = formula(condition)
        return plain if linked == condition else All((plain, formula(linked)))

    def witness(self) -> str | None:
        """Return a situation in which all conditions hold, as `witness` does."""
        return witness([followed(each, self.links) for each in (*self.considered, *self.guards)])

    def where(self, *conditions: Term) -> str:
        """Return where something is so, with the links that are needed to see why."""
        around = (*self.considered, *self.guards)
        read = {part for each in (*around, *conditions) for part in parts(each)}
        linked: list[Term] = []
        for link in reversed(self.links):  # the last first: it may lead to the key of one before
            if link.key in read:
                read.update(parts(link.value))
                linked.insert(0, Comparison("==", link.key, link.value))
        return _where((*around, *linked))

    def inside(self, statement: Conditional | Located | Against) -> _Around:
        """Return what is around the statements in the block of ``statement``."""
        guards = self.guards if statement.condition == EVERY_PAIR else (*self.guards, statement.condition)
        place = statement.place if isinstance(statement, Located) else self.place
        is_of_pairs = self.is_of_pairs or isinstance(statement, Against)
        return attrs.evolve(self, guards=guards, place=place, is_of_pairs=is_of_pairs)


@attrs.frozen(eq=False)
class _Rule:
    """A requirement that can hold and fail, with what is around it."""

    requirement: Requirement
    around: _Around
    applies: Opened
    """It applies."""
    kept: Opened
    """It applies and holds."""
    met: Opened
    """It does not apply, or holds."""
    violated: Opened
    """It applies and fails."""
    subjects: frozenset[str]
    """What its condition speaks of."""

    @classmethod
    def of(cls, requirement: Requirement, around: _Around) -> _Rule:
        condition, guards = requirement.condition, around.guards
        met = Some((*(formula(guard, holds=False) for guard in guards), formula(condition)))
        violated = All((*map(formula, guards), formula(condition, holds=False)))
        subjects = frozenset(literal.subject for literal in literals(around.certain(condition)))
        kept = All((around.applies, around.certain(condition)))
        opened = Opened.of(around.applies), Opened.of(kept), Opened.of(met), Opened.of(violated)
        return cls(requirement, around, *opened, subjects)

    def implies(self, other: _Rule) -> bool:
        """Whether it is proved that wherever this one fails, the other does."""
        if other.around.is_of_pairs and not self.around.is_of_pairs:
            return False  # there need not be another one
        return self.violated.excludes(other.met)


def flaws(
    statements: Sequence[Statement], links: Sequence[Link] = (), considered: Term | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong with the statements by themselves, in the order written.

    >>> flaws(())
    ()

    Args:
        statements: The rules of a pack.
        links: How the rows of sources are found.
        considered: The condition under which a subject is judged at all; None: always.
    """
    live: list[_Rule] = []
    found = list(_each(statements, _Around(() if considered is None else (considered,), links=links), live))
    return (*found, *_pairs(live), *_names(live))


def _each(statements: Sequence[Statement], around: _Around, live: list[_Rule]) -> Iterator[Finding]:
    """Look at each condition and requirement by itself; collect in ``live`` the requirements that can fail and hold."""
    outer = around.applies
    for statement in statements:
        written, where = text(statement.condition), around.where(statement.condition)
        never = cannot_hold(outer, around.certain(statement.condition))
        always = cannot_hold(around.applies_for_certain, formula(statement.condition, holds=False))
        if isinstance(statement, Requirement):
            if always:
                yield _finding("never fails", statement, f"{written} holds{where or _ANYWHERE}")
            elif never and (example := around.witness()) is not None:
                said = f"{written} cannot hold{where}{_so(example, around)}"
                yield _finding("always fails", statement, said)
            elif not never:
                live.append(_Rule.of(statement, around))
        elif never:
            yield _finding("never applies", statement, f"{written} cannot hold{where or _ANYWHERE}")
        else:
            if always and statement.condition != EVERY_PAIR:
                yield _finding("always applies", statement, f"{written} holds{where or _ANYWHERE}")
            yield from _each(statement.body, around.inside(statement), live)


def _pairs(rules: list[_Rule]) -> Iterator[Finding]:
    """Look at each two requirements that speak of something in common."""
    pairs = [
        (one, other)
        for one, other in combinations(rules, 2)
        # At two places they never apply together: neither do they contradict each other, nor does one imply the other.
        if len({one.around.place, other.around.place} - {None}) < 2 and one.subjects & other.subjects
    ]
    redundant: set[_Rule] = set()
    for one, other in pairs:
        if one in redundant or other in redundant:
            continue
        for weak, strong in ((other, one), (one, other)):
            if weak.implies(strong):
                redundant.add(weak)
                yield _subsumed(weak, strong)
                break
    for one, other in pairs:
        if one in redundant or other in redundant or one.around.is_of_pairs != other.around.is_of_pairs:
            continue
        if not one.kept.excludes(other.kept) or one.applies.excludes(other.applies):
            continue
        both = attrs.evolve(one.around, guards=tuple(dict.fromkeys((*one.around.guards, *other.around.guards))))
        if (example := both.witness()) is not None:
            yield _contradiction(one, other, both, example)


def _subsumed(weak: _Rule, strong: _Rule) -> Finding:
    said = (
        f"wherever {text(weak.requirement.condition)} fails{_where(weak.around.guards)},"
        f" {_called(strong)} fails too: {text(strong.requirement.condition)}{_where(strong.around.guards)}"
    )
    fix = "leave it out, unless its own reason is wanted in verdicts"
    names = weak.requirement.name, strong.requirement.name
    return Finding("subsumed", weak.requirement.name, said, names, weak.requirement.written, fix)


def _contradiction(one: _Rule, other: _Rule, both: _Around, example: str) -> Finding:
    first, second = one.requirement.condition, other.requirement.condition
    said = f"{text(first)} and {text(second)} cannot both hold{both.where(first, second)}{_so(example, both)}"
    fix = f"change one of them, or the conditions around {_called(other)}, so that they do not meet"
    names = one.requirement.name, other.requirement.name
    return Finding("contradiction", one.requirement.name, said, names, one.requirement.written, fix)


def _names(rules: list[_Rule]) -> Iterator[Finding]:
    seen: dict[tuple[str, str | int | None], Requirement] = {}
    for rule in rules:
        requirement = rule.requirement
        if requirement.name == text(requirement.condition):
            continue
        first = seen.setdefault((requirement.name, rule.around.place), requirement)
        if first is not requirement and first.condition != requirement.condition:
            said = f"it names {text(requirement.condition)} as well as {text(first.condition)}"
            fix = "give each requirement a name of its own"
            yield Finding("duplicate name", first.name, said, (first.name,), requirement.written, fix)


_ANYWHERE = ", whatever is observed"
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
    if isinstance(statement, Against):
        return f"against({statement.other.name}, where={text(statement.condition)})"
    return f"when({text(statement.condition)})"


def _called(rule: _Rule) -> str:
    name = rule.requirement.name
    return "another" if name == text(rule.requirement.condition) else repr(name)


def _where(guards: Sequence[Term]) -> str:
    return f" where {' and '.join(text(guard) for guard in guards)}" if guards else ""


def _so(example: str, around: _Around) -> str:
    return f"{f', such as {example}' if example else ''}: each such {'pair' if around.is_of_pairs else 'subject'} fails"


_TRIED = (0, 1, 10, 100, 1000)
_BRANCHES = 20


def witness(conditions: Sequence[Term]) -> str | None:
    """Return a situation in which all conditions hold, as text; "" if there are none, None if none was found.

    >>> from dsl import Source
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, vessel_type=str)
    >>> witness([(vessel.draught > 15 * metres).term, (vessel.vessel_type != "tanker").term])
    'vessel.draught = 16 m, vessel.vessel_type = "other"'
    """
    observed = tuple(dict.fromkeys(leaf for condition in conditions for leaf in leaves(condition)))
    fields = [leaf for leaf in observed if isinstance(leaf, Observation)]
    if len(fields) < len(observed):
        return None  # of clocks, forecasts and totals no situation is made up
    for branch in islice(branches([formula(condition) for condition in conditions]), _BRANCHES):
        for plain in _TRIED:
            values = {field: _plain(field.kind, plain) for field in fields}
            for wanted, variables in branch.values():
                if len(variables) == 1 and isinstance(variables[0], Observation):
                    values[variables[0]] = _example(wanted.example(), variables[0].kind)
            if _hold(conditions, values):
                return ", ".join(f"{label(field)} = {_shown(values[field], field.kind)}" for field in fields)
    return None


def _hold(conditions: Sequence[Term], values: Mapping[Observation, Any]) -> bool:
    rows: dict[str, dict[str, Any]] = {}
    for field, value in values.items():
        rows.setdefault(field.source.name, {})[field.field] = value
    slots = {name: number for number, name in enumerate(rows)}
    situation = Situation(list(rows.values()))
    return all(compiled(condition, slots)(situation) for condition in conditions)


def _plain(kind: Kind, number: int) -> Any:
    if kind == TRUTH:
        return number % 2 == 0
    if kind == POSITION:
        return (0.0, 0.0)
    if isinstance(kind, Choice):
        return kind.members[0]
    return number if isinstance(kind, Measure) or kind == INSTANT else "other"


def _example(value: Any, kind: Kind) -> Any:
    """Bring an example from base units to the unit of the field."""
    if not (isinstance(kind, Measure) or kind == INSTANT) or isinstance(value, str | bool):
        return value
    factor, offset = base_units(kind)
    exact = (value - offset) / factor
    return int(exact) if exact.denominator == 1 else float(exact)


def _shown(value: Any, kind: Kind) -> str:
    return f"{value}" if isinstance(value, tuple) else constant(value, kind)
