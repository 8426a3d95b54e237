"""A pack as the text that `reading` reads back: the canonical form of its declarations and rules.

A condition with one requirement under it, and so on inwards, becomes one sentence; several requirements under one
condition become a block, indented. A second `when` with the opposite condition is written `otherwise` where Python
would allow that.

Invariant: what is returned parses, and reads back as the same declarations, links and statements; what could not, such
as two expressions of one name, is refused.

Source: issue 6, "Rules as text".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from dsl.declarations.sources import RETENTION
from dsl.meaning.schedules import VALIDITY
from dsl.refusals.errors import InvalidRule, refusal
from dsl.refusals.quoting import free
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TEXT, TRUTH, Choice, Measure
from dsl.terms.statements import EVERY_PAIR, Against, Conditional, Located, Requirement, conditions, walked
from dsl.terms.terms import Comparison, Named, Nearest, Not, Total, all_parts
from dsl.terms.texts import text
from dsl.text.phrasing import Phrasing, literal
from dsl.text.unit_names import UNITS, unit_words
from dsl.text.vocabulary import Vocabulary, identifier, is_words, title
from dsl.writing.durations import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsl.terms.dimensions import Kind
    from dsl.terms.links import Link
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Declaration, Term

_TYPES: Final = {TEXT: "text", TRUTH: "yes or no", POSITION: "position", INSTANT: "instant"}
_INDENT: Final = "    "


@final
class Printer:
    """Writes the parts of one pack.

    Args:
        place: What a subject's location is.
        only: Which subjects are considered.
        sources: Those that it uses, the subject's first.
        links: How the rows of the others are found.
        statements: Its rules.
    """

    def __init__(
        self,
        place: Term | None,
        only: Term | None,
        sources: tuple[Declaration, ...],
        links: tuple[Link, ...],
        statements: tuple[Statement, ...],
    ) -> None:
        """Give names to the tables of places, and find the named expressions."""
        self.place, self.only, self.links, self.statements = place, only, links, statements
        heads = [term for term in (place, only) if term is not None]
        terms = [*(link.value for link in links), *heads, *conditions(statements)]
        self.sources = tuple(dict.fromkeys((*sources, *_related(terms, statements))))
        self.vocabulary = Vocabulary(sources[0], self.sources, _definitions(terms))
        self.places = self._named_places(terms)
        self.phrasing = Phrasing(self.vocabulary, self.places)

    def whole(self, name: str) -> str:
        """Return the whole text; that it parses is for the caller to see.

        Raises:
            InvalidRule: It cannot be written.
        """
        lines = self.head(name)
        for number, (statement, above) in enumerate(_with_above(self.statements)):
            shown = list(self.statement(statement, above))
            apart = len(shown) > 1 or not number or lines[-1].startswith(_INDENT)
            lines += [*([""] * apart), *shown]
        return "\n".join(lines) + "\n"

    def head(self, name: str) -> list[str]:
        """Return the lines before the rules.

        Raises:
            InvalidRule: It cannot be written.
        """
        lines = [f"pack: {free(name)}", f"subject: {identifier(self.sources[0].name)}"]
        if self.place is not None:
            lines.append(f"location: {self.phrasing.term(self.place)}")
        if self.only is not None:
            lines.append(f"only: {self.phrasing.term(self.only)}")
        for source in self.sources:
            lines += ["", *self._source(source)]
        for table, called in self.places.items():
            lines += ["", f"places {title(called)}:"]
            lines += [f"{_INDENT}{literal(id_)}: {latitude!r}, {longitude!r}" for id_, latitude, longitude in table]
        if self.links:
            keys = [(link.key, link.value) for link in self.links]
            lines += ["", "links:", *(f"{_INDENT}{self.phrasing.term(Comparison('==', *pair))}" for pair in keys)]
        lines += [""] * bool(self.vocabulary.definitions)
        lines += [
            f"define {title(each.name)}: {self.phrasing.term(each.operand)}" for each in self.vocabulary.definitions
        ]
        return lines

    def statement(self, statement: Statement, above: Statement | None = None, depth: int = 0) -> Iterator[str]:
        """Yield the lines of a statement that stands below the statement ``above``.

        Raises:
            InvalidRule: It cannot be written.
        """
        guards: list[str] = []
        margin = _INDENT * depth
        while not isinstance(statement, Requirement):
            guards.append(self._guard(statement, None if guards else above))
            if len(statement.body) != 1:
                break
            statement = statement.body[0]
        head = margin + ", ".join(guards) + (": " if guards else "")
        if isinstance(statement, Requirement):
            yield head + self.phrasing.requirement(statement.condition)
            yield from (f"{margin}{_INDENT}{line}" for line in self._properties(statement))
        elif not statement.body:
            yield f"{head}nothing"
        else:
            yield head.rstrip()
            for each, before in _with_above(statement.body):
                yield from self.statement(each, before, depth + 1)

    def _guard(self, statement: Conditional | Located | Against, above: Statement | None) -> str:
        if isinstance(statement, Against):
            where = "" if statement.condition == EVERY_PAIR else f" where {self.phrasing.term(statement.condition)}"
            return f"for every {identifier(statement.other.name)}{where}"
        if isinstance(statement, Located):
            place = statement.place
            return f"at {place if isinstance(place, str) and is_words(place) else literal(place)}"
        if _follows(statement, above):
            return "otherwise"
        return f"when {self.phrasing.term(statement.condition)}"

    def _properties(self, requirement: Requirement) -> Iterator[str]:
        if requirement.name != text(requirement.condition):
            yield f"name: {free(requirement.name)}"
        if requirement.because is not None:
            yield f"because: {free(requirement.because)}"
        if requirement.severity != "major":
            yield f"severity: {requirement.severity}"
        if requirement.reference is not None:
            yield f"reference: {free(requirement.reference)}"

    def _source(self, source: Declaration) -> Iterator[str]:
        key = "" if source.key is None else f" by {identifier(source.key)}"
        if source.another_of is not None:
            yield f"source {identifier(source.name)} is another {identifier(source.another_of)}"
            return
        stale = "" if source.stale_after is None else f", stale after {duration_text(source.stale_after)}"
        forecast = ", forecast" if source.forecast else ""
        kept = (
            f", kept for {duration_text(source.retention)}" if source.forecast and source.retention != RETENTION else ""
        )
        yield f"source {identifier(source.name)}{key}{stale}{forecast}{kept}:"
        for field, kind in source.fields[: -len(VALIDITY)] if source.forecast else source.fields:
            optional = ", optional" if field in source.optional else ""
            yield f"{_INDENT}{identifier(field)}: {_type(kind)}{optional}"

    def _named_places(self, terms: Iterable[Term]) -> dict[tuple[tuple[str | int, float, float], ...], str]:
        """Call each table of places after the key that it is linked to; further ones by letters."""
        found: dict[tuple[tuple[str | int, float, float], ...], str] = {}
        for link in self.links:
            if isinstance(link.value, Nearest) and link.value.places not in found:
                found[link.value.places] = f"{link.source.name} {link.source.key}".replace("_", " ")
        others = (part.places for term in terms for part in all_parts(term) if isinstance(part, Nearest))
        for places in others:
            found.setdefault(places, f"mark {_letters(len(found))}")
        return found


def _definitions(terms: Iterable[Term]) -> tuple[Named, ...]:
    """The named expressions, each after those that it is made of."""
    found: dict[Named, None] = {}
    for term in terms:
        for part in reversed(list(all_parts(term))):
            if isinstance(part, Named):
                found.setdefault(part)
    names = [named.name for named in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        fix = [("fix", "give two expressions two names")]
        raise InvalidRule(refusal(f"to_text: expected one expression named {twice!r} but there are two", fix))
    return tuple(found)


def _related(terms: Iterable[Term], statements: Iterable[Statement]) -> Iterator[Declaration]:
    """The sources that are not linked: those that are counted, and the other subjects."""
    for term in terms:
        yield from (part.source for part in all_parts(term) if isinstance(part, Total))
    yield from (each.other for _, each in walked(statements) if isinstance(each, Against))


def _letters(number: int) -> str:
    return ("" if number < 26 else _letters(number // 26 - 1)) + chr(ord("a") + number % 26)


def _with_above(statements: tuple[Statement, ...]) -> Iterator[tuple[Statement, Statement | None]]:
    """Each statement with the one above it, unless an `otherwise` cannot follow that."""
    above: Statement | None = None
    for statement in statements:
        yield statement, above
        above = None if isinstance(statement, Conditional) and _follows(statement, above) else statement


def _follows(statement: Statement, above: Statement | None) -> bool:
    """Whether ``statement`` is the `otherwise` of ``above``, whose line shows that condition alone."""
    if not isinstance(above, Conditional) or statement.condition != Not(above.condition):
        return False
    return len(above.body) != 1 or isinstance(above.body[0], Requirement)


def _type(kind: Kind) -> str:
    if isinstance(kind, Choice):
        return f"one of {', '.join(map(literal, kind.members))}"
    if not isinstance(kind, Measure):
        return _TYPES[kind]
    words = unit_words(kind)
    if kind == NUMBER or not words:
        return "number"
    names = (name for name, unit in UNITS.items() if unit.measure == kind and name != words)
    return next(names, words)
