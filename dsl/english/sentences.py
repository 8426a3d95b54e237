"""Packs in plain English: one sentence a requirement, complete in itself, for people to read and to sign.

A sentence says whom it is about, under which conditions, what must be so, why, and in parentheses the requirement's
name, severity and reference. Sentences stand under their location; names, sources and the columns of the table of
verdicts are explained below them. The text form for editing is another one (`RulePack.to_text`).

This module is over 300 lines because it has every part of a description, so that one place says how all are named.

Source: DESIGN.md, section 6.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, final

import attrs

from dsl.english.naming import ARTICLES, Names, called
from dsl.english.phrases import clauses, listed, noun, phrase, plural, together
from dsl.terms.dimensions import TRUTH, Choice, Measure
from dsl.terms.negations import conjuncts, positive
from dsl.terms.statements import EVERY_PAIR, Against, Located, conditions, requirements
from dsl.terms.terms import Comparison, Junction, Named, Observation, Prediction, Total, all_parts
from dsl.terms.texts import text
from dsl.writing.durations import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dsl.terms.links import Link
    from dsl.terms.statements import Block, Requirement, Statement
    from dsl.terms.terms import Declaration, Term

COLUMNS = (
    ("subject", "the key of the {subject} that the verdict is about"),
    (
        "status",
        "restricted where a requirement fails; unknown where none fails but one is undecided; else allowed",
    ),
    ("pack", "the version of the rules that gave the verdict"),
    ("because", "one entry for each requirement that fails, then for each that cannot be decided:"),
)
"""The columns of the table of verdicts, explained."""
ENTRIES = (
    ("name", "what the requirement is called"),
    ("text", "its condition, as it was written"),
    ("location", "the location that it is about, if it is about one"),
    ("because", "why it is required"),
    ("missing", "what is not known; empty where the requirement fails"),
    ("stale", "those of the missing whose last row is too old to count"),
    ("values", "the values that were judged, and what they were compared with, in the units of the rule"),
    ("severity", "how grave it is: minor, major or critical"),
    ("reference", "the regulation that it comes from"),
    ("margin", "how far the values are from the limit, in the unit of the rule; negative is beyond the limit"),
    ("others", "the other subjects with which a requirement about pairs failed, or is not decided"),
)
"""The fields of an entry of the column `because`, explained."""

_SHOWN = {"position": "latitude and longitude", "truth value": "yes or no"}


@final
@attrs.frozen
class Describer:
    """The sentences of a pack.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> vessel = declaration(Source("vessel", key="mmsi", mmsi=int))
    >>> print(Describer("port", (vessel,), ()).text().splitlines()[2])
    There are no requirements: every vessel is allowed.
    """

    pack: str
    sources: tuple[Declaration, ...]
    """What the pack observes, the subject first."""
    links: tuple[Link, ...]
    statements: tuple[Statement, ...] = ()
    only: Term | None = None
    """Which subjects are considered."""
    names: Names = attrs.field(init=False)
    """How fields and named terms are called."""

    @names.default
    def _of_all(self) -> Names:
        return names_of(self.sources, self._terms)

    @property
    def _terms(self) -> tuple[Term, ...]:
        """All that is said something of."""
        considered = () if self.only is None else (self.only,)
        return (*conditions(self.statements), *(link.value for link in self.links), *considered)

    def text(self) -> str:
        """Return the whole description."""
        blocks = [[f'The rules "{self.pack}" for each {self._subject}'], self._considered(), *self._rules()]
        blocks += [self._meanings(), self._origins(), self._columns()]
        return "\n\n".join("\n".join(map(_one_line, block)) for block in blocks if block) + "\n"

    @property
    def _subject(self) -> str:
        return self.sources[0].name.replace("_", " ")

    def _considered(self) -> list[str]:
        if self.only is None:
            return []
        said = phrase(self.only, "is", self.names).text("is")
        return [f"A {self._subject} is considered unless it is known to be otherwise: {said}."]

    def _rules(self) -> list[list[str]]:
        groups: dict[str, list[str]] = {}
        for guards, requirement in requirements(self.statements):
            located = [guard for guard in guards if isinstance(guard, Located)]
            place = self._place(located[-1]) if located else "everywhere"
            groups.setdefault(place, []).append(self.sentence(guards, requirement))
        if not groups:
            return [[f"There are no requirements: every {self._subject} is allowed."]]
        numbers = count(1)
        return [
            [place[:1].upper() + place[1:], *(f"  {next(numbers)}. {sentence}" for sentence in sentences)]
            for place, sentences in groups.items()
        ]

    def sentence(self, guards: tuple[Block, ...], requirement: Requirement) -> str:
        """Return the sentence of one requirement under its conditions, outer first."""
        subject = self.sources[0]
        about = [self._bound(guard) for guard in guards if isinstance(guard, Located)]
        others = [guard.other.name.replace("_", " ") for guard in guards if isinstance(guard, Against)]
        plain = [
            guard.condition for guard in guards if not isinstance(guard, Located) and guard.condition != EVERY_PAIR
        ]
        met = [phrase(each, "is", self.names) for condition in plain for each in conjuncts(positive(condition))]
        said = together(met, "and")
        own = [each for each in said if each.own is not None and each.own.source == subject]
        whose = [f"whose {(each.thing or '').removeprefix('the ')} {each.predicate('is')}" for each in own]
        circumstances = clauses([each for each in said if each not in own], "is")
        who = f"For {plural(subject.name)}" if about or whose else f"For every {self._subject}"
        if about:
            who += f" {listed(about, 'and')}"
        if whose:
            who += f" {listed(whose, 'and')}"
        if others:
            who += f"{',' if about or whose else ''} and each other one (the {', the '.join(others)})"
        if circumstances:
            who += f", when {listed(circumstances, ', and')}"
        must = phrase(requirement.condition, "must", self.names).text("must")
        reason = (requirement.because or "").strip().rstrip(".")
        because = f", because {reason}" if reason else ""
        name = None if requirement.name == text(requirement.condition) else requirement.name
        notes = [note for note in (name, requirement.severity, requirement.reference) if note and note.strip()]
        return f"{who}: {must}{because}. ({'; '.join(notes)})"

    def _place(self, located: Located) -> str:
        """Return what a location is called: the row that the subject is linked to, and its id."""
        place, where = str(located.place).strip(), _where(located)
        kind = next((link.source.name for link in self.links if link.value == where), None)
        if kind is None or place.lower().startswith(kind.lower()):
            return place
        return f"{kind.replace('_', ' ')} {place}"

    def _bound(self, located: Located) -> str:
        place, where = self._place(located), _where(located)
        if not (isinstance(where, Observation) and where.source == self.sources[0]):
            return f"for which {noun(where, self.names)} is {place}"
        if where.field == "destination":
            return f"bound for {place}"
        said = noun(where, self.names, article=False)
        return f"at {place}" if where.field in {"location", "berth", "place"} else f"whose {said} is {place}"

    def _meanings(self) -> list[str]:
        """Explain the named expressions that the rules use."""
        named = dict.fromkeys(part for term in self._terms for part in all_parts(term) if isinstance(part, Named))
        lines = [f"  {called(each.name)}: {self._meaning(each.operand)}" for each in named]
        return ["What the names mean", *lines] if lines else []

    def _meaning(self, operand: Term) -> str:
        if operand.kind != TRUTH or isinstance(operand, Observation):
            return noun(operand, self.names, article=False)
        said = phrase(operand, "is", self.names).text("is")
        return said if isinstance(operand, Junction) else said.removeprefix("the ")

    def _origins(self) -> list[str]:
        """Say which row of each source is looked at, and in which units its figures are."""
        used = dict.fromkeys(
            (part.source, part.field)
            for term in self._terms
            for part in all_parts(term)
            if isinstance(part, Observation | Prediction)
        )
        looked_at = {(source.another_of or source.name, field) for source, field in used}
        counted = (source for source, _ in used if source.another_of is None)
        lines = []
        for source in dict.fromkeys((*self.sources, *counted)):
            fields = [
                f"{field.replace('_', ' ')} ({_unit(source, field)})"
                for field, _ in source.fields
                if (source.name, field) in looked_at
            ]
            age = "" if source.stale_after is None else f", missing when older than {duration_text(source.stale_after)}"
            name = source.name.replace("_", " ")
            lines.append(f"  {name}: {self._rows(source)}{age}{'; ' if fields else ''}{', '.join(fields)}")
        return ["Where the figures come from", *lines]

    def _rows(self, source: Declaration) -> str:
        """Say which row of a source is looked at."""
        key = (source.key or "").replace("_", " ")
        if source == self.sources[0]:
            return f"one row each, by {key}"
        link = next((link for link in self.links if link.source == source), None)
        if link is not None:
            return f"the row whose {key} is {noun(link.value, self.names)}"
        return f"one row for every {self._subject}" if source.key is None else "all rows"

    def _columns(self) -> list[str]:
        lines = [f"  {name}: {meaning.format(subject=self._subject)}" for name, meaning in COLUMNS]
        lines += [f"    {name}: {meaning}" for name, meaning in ENTRIES]
        return ["The columns of the table of verdicts", *lines]


def names_of(sources: Sequence[Declaration], terms: Iterable[Term]) -> Names:
    """Return how what ``terms`` read is called.

    >>> from dsl import Source
    >>> from dsl.declarations.sources import declaration
    >>> names_of((declaration(Source("vessel", key="mmsi", mmsi=int)),), ()).subject
    'vessel'

    Args:
        sources: The sources of the pack, the subject first.
        terms: Its conditions, and whatever else is said.
    """
    subject, *others = sources
    said = {f"{source.name}_{field}" for source in others for field, _ in source.fields}
    # The subject's fields get its name where one of them would be called like that of another source.
    spoken = Names(subject.name if said.isdisjoint(field for field, _ in subject.fields) else "")
    words: dict[tuple[str, str], set[Term]] = {}
    for term in terms:
        for part, names in _said(term, spoken):
            plain = noun(part, names, article=False).lower()
            article = next((each for each in ARTICLES if plain.startswith(each)), "")
            words.setdefault((names.subject, plain.removeprefix(article)), set()).add(part)
    alike = [group for group in words.values() if len(set(map(_meant, group))) > 1]
    named = [[each for each in group if isinstance(each, Named)] for group in alike]
    several = (each for group in named if len(set(map(_meant, group))) > 1 for each in group)
    return attrs.evolve(spoken, alike=frozenset(each for group in alike for each in group), several=frozenset(several))


def _said(term: Term, names: Names) -> Iterator[tuple[Term, Names]]:
    """Yield all values that are said in a term, with how things are called there: in a total also otherwise."""
    for part in all_parts(term):
        if part.kind != TRUTH or isinstance(part, Observation | Named):
            yield part, names
        if isinstance(part, Prediction):
            yield Observation(part.source, part.field), names
        if isinstance(part, Total):
            of_rows = attrs.evolve(names, subject=part.source.name), attrs.evolve(names, subject="")
            for each, called_so in zip((part.value, part.condition), of_rows, strict=True):
                if each is not None:
                    yield from _said(each, called_so)


def _meant(term: Term) -> Term:
    return _meant(term.operand) if isinstance(term, Named) else term


def _where(located: Located) -> Term:
    """Return the term that says where a subject is."""
    assert isinstance(located.condition, Comparison)
    return located.condition.left


def _unit(source: Declaration, field: str) -> str:
    kind = source.kind(field)
    match kind:
        case Measure():
            shown = f"in {kind.symbol}" if kind.symbol else "a number"
        case Choice(members=members):
            shown = listed([json.dumps(each, ensure_ascii=False) for each in members], "or")
        case _:
            shown = _SHOWN.get(kind.name, kind.name)
    return f"{shown}, optional" if field in source.optional else shown


def _one_line(said: str) -> str:
    """Return a line without the line breaks of names and reasons in it: what follows would be taken for a rule."""
    first, *others = [each for each in said.splitlines() if each.strip()] or [""]
    return " ".join([first.rstrip(), *map(str.strip, others)])
