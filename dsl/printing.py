"""A pack as the text that `dsl.reading` reads back: the canonical form of its declarations and rules.

A condition with one requirement under it, and so on inwards, becomes one sentence; several requirements under one
condition become a block, indented. A second `when` with the opposite condition is written `otherwise` where Python
would allow that.

Invariant: what is returned parses, and reads back as the same declarations, links and statements; what could not, such
as two expressions of one name, is refused.

Source: issue 6, "Rules as text".
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, final

from dsl.dimensions import INSTANT, NUMBER, POSITION, TEXT, TRUTH, Measure
from dsl.errors import InvalidRule, refusal
from dsl.parsing import Page
from dsl.statements import Conditional, Located, Requirement, conditions
from dsl.terms import (
    Arithmetic,
    Between,
    Coalesce,
    Comparison,
    Constant,
    Distance,
    Junction,
    Known,
    Named,
    Nearest,
    Not,
    Now,
    Observation,
    Sign,
    parts,
)
from dsl.texts import text
from dsl.unit_words import UNITS, unit_words
from dsl.vocabulary import Vocabulary, identifier, is_words, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsl.dimensions import Kind
    from dsl.links import Link
    from dsl.statements import Statement
    from dsl.terms import Declaration, Term

_CONDITION, _NEGATION, _COMPARISON, _SUM, _PRODUCT, _SIGNED, _ATOM = range(7)
_PHRASES: Final = {"==": "", "!=": "not ", "<": "below ", "<=": "at most ", ">": "above ", ">=": "at least "}
_TYPES: Final = {TEXT: "text", TRUTH: "yes or no", POSITION: "position", INSTANT: "instant"}
_INDENT: Final = "    "


def printed(
    name: str,
    place: Term | None,
    sources: tuple[Declaration, ...],
    links: tuple[Link, ...],
    statements: tuple[Statement, ...],
) -> str:
    """Return the text of a pack.

    Args:
        name: Its name.
        place: What a subject's location is.
        sources: Those that it uses, the subject's first.
        links: How the rows of the others are found.
        statements: Its rules.

    Raises:
        InvalidRule: It cannot be written: two expressions of one name, a unit that has no name, …
    """
    return Printer(sources, links, place, statements).whole(name)


@final
class Printer:
    """Writes the parts of one pack."""

    def __init__(
        self,
        sources: tuple[Declaration, ...],
        links: tuple[Link, ...] = (),
        place: Term | None = None,
        statements: tuple[Statement, ...] = (),
    ) -> None:
        """Give names to the tables of places, and find the named expressions."""
        self.sources, self.links, self.place, self.statements = sources, links, place, statements
        terms = [*(link.value for link in links), *([] if place is None else [place]), *conditions(statements)]
        self.places = self._named_places(terms)
        self.vocabulary = Vocabulary(sources[0], sources, _definitions(terms))

    def whole(self, name: str) -> str:
        """Return the whole text.

        Raises:
            InvalidRule: It cannot be written.
        """
        lines = [f"pack: {_free(name)}", f"subject: {identifier(self.sources[0].name)}"]
        if self.place is not None:
            lines.append(f"location: {self.term(self.place)}")
        for source in self.sources:
            lines += ["", *self._source(source)]
        for table, called in self.places.items():
            lines += ["", f"places {title(called)}:"]
            lines += [f"{_INDENT}{_literal(id_)}: {latitude!r}, {longitude!r}" for id_, latitude, longitude in table]
        if self.links:
            keys = [(Observation(link.source, link.source.key or ""), link.value) for link in self.links]
            lines += ["", "links:", *(f"{_INDENT}{self._is(Comparison('==', *pair))}" for pair in keys)]
        lines += [""] * bool(self.vocabulary.definitions)
        lines += [f"define {title(each.name)}: {self.term(each.operand)}" for each in self.vocabulary.definitions]
        for number, statement in enumerate(self.statements):
            shown = list(self.statement(statement, self.statements[number - 1] if number else None))
            lines += ([""] if len(shown) > 1 or not number or len(lines[-1].lstrip()) < len(lines[-1]) else []) + shown
        whole = "\n".join(lines) + "\n"
        Page.parsed(whole, f"to_text of {name}")
        return whole

    def term(self, term: Term, level: int = _CONDITION) -> str:
        """Return an expression, in parentheses where it stands among others that bind as strongly as ``level``.

        Raises:
            InvalidRule: It cannot be written.
        """
        written, own = self._rendered(term)
        return written if own >= level else f"({written})"

    def statement(self, statement: Statement, above: Statement | None = None, depth: int = 0) -> Iterator[str]:
        """Yield the lines of a statement that stands below the statement ``above``.

        Raises:
            InvalidRule: It cannot be written.
        """
        guards: list[str] = []
        margin = _INDENT * depth
        while not isinstance(statement, Requirement):
            guards.append(self._guard(statement, None if guards else above))
            if len(statement.body) != 1 or (guards == ["otherwise"] and _is_when(statement.body[0])):
                break
            statement = statement.body[0]
        head = margin + ", ".join(guards) + (": " if guards else "")
        if isinstance(statement, Requirement):
            yield head + self._requirement(statement.condition)
            yield from (f"{margin}{_INDENT}{line}" for line in self._properties(statement))
        elif not statement.body:
            yield f"{head}nothing"
        else:
            yield head.rstrip()
            before: Statement | None = None
            for each in statement.body:
                yield from self.statement(each, before, depth + 1)
                before = each

    def _guard(self, statement: Conditional | Located, above: Statement | None) -> str:
        if isinstance(statement, Located):
            place = statement.place
            return f"at {place if isinstance(place, str) and is_words(place) else _literal(place)}"
        if _follows(statement, above):
            return "otherwise"
        return f"when {self.term(statement.condition)}"

    def _requirement(self, condition: Term) -> str:
        match condition:
            case Comparison(operator, left, right):
                must = "must not be" if operator == "!=" else "must be"
                phrase = "" if operator == "!=" else _PHRASES[operator]
                return f"{self.term(left, _SUM)} {must} {phrase}{self.term(right, _SUM)}"
            case Between(operand, low, high):
                return f"{self.term(operand, _SUM)} must be between {self.term(low, _SUM)} and {self.term(high, _SUM)}"
            case Known(operand):
                return f"{self.term(operand)} must be known"
        return f"it must hold that {self.term(condition)}"

    def _properties(self, requirement: Requirement) -> Iterator[str]:
        if requirement.name != text(requirement.condition):
            yield f"name: {_free(requirement.name)}"
        if requirement.because is not None:
            yield f"because: {_free(requirement.because)}"
        if requirement.severity != "major":
            yield f"severity: {requirement.severity}"
        if requirement.reference is not None:
            yield f"reference: {_free(requirement.reference)}"

    def _is(self, term: Comparison) -> str:
        return f"{self.term(term.left, _SUM)} is {_PHRASES[term.operator]}{self.term(term.right, _SUM)}"

    def _rendered(self, term: Term) -> tuple[str, int]:
        match term:
            case Observation() | Named():
                return self.vocabulary.written(term), _ATOM
            case Constant():
                return _constant(term), _ATOM
            case Arithmetic(operator, left, right):
                level = _SUM if operator in "+-" else _PRODUCT
                return f"{self.term(left, level)} {operator} {self.term(right, level + 1)}", level
            case Sign("abs", operand):
                return f"absolute value of {self.term(operand, _ATOM)}", _ATOM
            case Sign(_, operand):
                inner = self.term(operand, _ATOM)
                return f"-({inner})" if isinstance(operand, Constant) else f"-{inner}", _SIGNED
            case Comparison():
                return self._is(term), _COMPARISON
            case Junction(operator, left, right):
                same = isinstance(left, Junction) and left.operator == operator
                first = self.term(left, _CONDITION if same else _NEGATION)
                return f"{first} {operator} {self.term(right, _NEGATION)}", _CONDITION
            case Not(operand):
                return f"not {self.term(operand, _NEGATION)}", _NEGATION
            case Between(operand, low, high):
                first = self.term(operand, _SUM)
                return f"{first} is between {self.term(low, _SUM)} and {self.term(high, _SUM)}", _COMPARISON
            case Known(operand):
                return f"{self.term(operand)} is known", _COMPARISON
            case Coalesce(operand, default):
                return f"({self.term(operand)} if known else {self.term(default, _SUM)})", _ATOM
            case Distance(left, right):
                return f"distance from {self.term(left, _ATOM)} to {self.term(right, _ATOM)}", _ATOM
            case Now():
                return "now", _ATOM
            case Nearest(places, position):
                return f"nearest {title(self.places[places])} to {self.term(position, _ATOM)}", _ATOM

    def _source(self, source: Declaration) -> Iterator[str]:
        key = "" if source.key is None else f" by {identifier(source.key)}"
        yield f"source {identifier(source.name)}{key}:"
        for field, kind in source.fields:
            optional = ", optional" if field in source.optional else ""
            yield f"{_INDENT}{identifier(field)}: {_type(kind)}{optional}"

    def _named_places(self, terms: Iterable[Term]) -> dict[tuple[tuple[str | int, float, float], ...], str]:
        """Call each table of places after the key that it is linked to; further ones by letters."""
        found: dict[tuple[tuple[str | int, float, float], ...], str] = {}
        for link in self.links:
            if isinstance(link.value, Nearest) and link.value.places not in found:
                found[link.value.places] = f"{link.source.name} {link.source.key}".replace("_", " ")
        others = (part.places for term in terms for part in parts(term) if isinstance(part, Nearest))
        for places in others:
            found.setdefault(places, f"mark {_letters(len(found))}")
        return found


def _definitions(terms: Iterable[Term]) -> tuple[Named, ...]:
    """The named expressions, each after those that it is made of."""
    found: dict[Named, None] = {}
    for term in terms:
        for part in reversed(list(parts(term))):
            if isinstance(part, Named):
                found.setdefault(part)
    names = [named.name for named in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        fix = [("fix", "give two expressions two names")]
        raise InvalidRule(refusal(f"to_text: expected one expression named {twice!r} but there are two", fix))
    return tuple(found)


def _letters(number: int) -> str:
    return ("" if number < 26 else _letters(number // 26 - 1)) + chr(ord("a") + number % 26)


def _is_when(statement: Statement) -> bool:
    return isinstance(statement, Conditional)


def _follows(statement: Conditional, above: Statement | None) -> bool:
    """Whether ``statement`` is the `otherwise` of ``above``, whose line shows that condition alone."""
    if not isinstance(above, Conditional) or statement.condition != Not(above.condition):
        return False
    return len(above.body) != 1 or isinstance(above.body[0], Requirement)


def _type(kind: Kind) -> str:
    if not isinstance(kind, Measure):
        return _TYPES[kind]
    words = unit_words(kind)
    if kind == NUMBER or not words:
        return "number"
    names = (name for name, unit in UNITS.items() if unit.measure == kind and name != words)
    return next(names, words)


def _constant(constant: Constant) -> str:
    if not isinstance(constant.kind, Measure):
        return _literal(constant.value)
    words = unit_words(constant.kind)
    return f"{constant.value!r}{'' if words in {'', '°', '%'} else ' '}{words}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _free(written: str) -> str:
    plain = written and written == written.strip() and not written.startswith('"') and written.isprintable()
    return written if plain else _literal(written)
