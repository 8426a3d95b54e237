"""The words of a text of rules: how fields and named expressions are called in it, and what words mean.

A field is called by its name with spaces for underscores (`vessel_type` is *vessel type*), after that of its source
unless it is the subject's. What cannot be said in words unambiguously stands in
backticks, letter by letter: `` `vessel.is` ``.

Invariant: what `Vocabulary.written` returns is read back as what was given, or it refuses.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Final

import attrs

from dsl.refusals.errors import InvalidRule, UnknownField, refusal
from dsl.refusals.quoting import quoted, unquoted
from dsl.terms.terms import Named, Observation
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsl.terms.terms import Declaration, Term

RESERVED: Final = frozenset({
    "above", "and", "at", "below", "between", "by", "define", "false", "for", "from", "if", "is", "known", "must",
    "nearest", "nothing", "not", "now", "of", "or", "otherwise", "places", "predicted", "source", "throughout", "to",
    "true", "when", "where",
})  # fmt: skip
"""The words that the grammar keeps for itself: a name that contains one stands in backticks."""

LARGEST: Final = 1e300
"""No number of a text is as large: it is a slip, and a unit might turn it into no number at all."""
_WORD: Final = re.compile(r"[^\W\d]\w*(?:-\w+)*")


def is_words(name: str) -> bool:
    """Whether ``name`` can stand in a text as a run of words.

    >>> is_words("vessel type"), is_words("under-keel clearance"), is_words("is"), is_words("berth 2")
    (True, True, False, False)
    """
    words = name.split(" ")
    return all(_WORD.fullmatch(word) and word not in RESERVED and "_" not in word for word in words)


def identifier(name: str) -> str:
    """Return a source's or field's name as words or, where that would be read as another, in backticks.

    >>> identifier("vessel_type"), identifier("is")
    ('vessel type', '`is`')
    """
    words = name.replace("_", " ")
    return words if is_words(words) else quoted(name)


def title(name: str) -> str:
    """Return the name of an expression or of places, as words or in backticks.

    >>> title("under-keel clearance"), title("max_draught")
    ('under-keel clearance', '`max_draught`')
    """
    return name if is_words(name) else quoted(name)


@attrs.frozen
class Vocabulary:
    """What names mean in one text: the fields of its sources, the subject's first, and its named expressions."""

    subject: Declaration | None
    sources: tuple[Declaration, ...]
    definitions: tuple[Named, ...] = ()

    def defining(self, named: Term) -> Vocabulary:
        """Return this vocabulary with one more named expression."""
        assert isinstance(named, Named)
        return attrs.evolve(self, definitions=(*self.definitions, named))

    @cached_property
    def meanings(self) -> dict[str, tuple[Term, ...]]:
        """What each run of words means; more than one thing where it is ambiguous."""
        found: dict[str, tuple[Term, ...]] = {}
        for words, term in self._pairs():
            found[words] = (*found.get(words, ()), term)
        return found

    def _pairs(self) -> Iterable[tuple[str, Term]]:
        yield from ((named.name, named) for named in self.definitions)
        for source in self.sources:
            for field, _ in source.fields:
                observed, words = Observation(source, field), field.replace("_", " ")
                yield f"{source.name.replace('_', ' ')} {words}", observed
                if source == self.subject:
                    yield words, observed

    def resolved(self, name: str) -> Term:
        """Return what ``name``, words or backticked, means.

        Raises:
            UnknownField: Nothing is called so.
            InvalidRule: Two things are.
        """
        found = self._exactly(unquoted(name)) if name.startswith("`") else self.meanings.get(name, ())
        if len(found) == 1:
            return found[0]
        if found:
            ways = " or ".join(quoted(text(term)) for term in found)
            fix = [("fix", f"write {ways}")]
            raise InvalidRule(refusal(f"{name}: expected a name with one meaning but it has {len(found)}", fix))
        fix = [("fix", self._hint(name))]
        raise UnknownField(refusal(f"{name}: expected {self._choices()}", fix))

    def written(self, term: Observation | Named) -> str:
        """Return the shortest name of ``term`` that means it alone.

        Raises:
            InvalidRule: Another expression has the same name.
        """
        meanings = self.meanings
        for words in sorted((words for words, found in meanings.items() if found == (term,)), key=len):
            if is_words(words):
                return words
        if self._exactly(text(term)) != (term,):
            fix = [("fix", "give two expressions two names")]
            raise InvalidRule(refusal(f"to_text: expected one meaning of the name {text(term)!r}", fix))
        return quoted(text(term))

    def _exactly(self, letters: str) -> tuple[Term, ...]:
        terms = dict.fromkeys(term for _, term in self._pairs())
        found = tuple(term for term in terms if text(term) == letters)
        if found or self.subject is None or letters not in dict(self.subject.fields):
            return found
        return (Observation(self.subject, letters),)  # as in words, the subject's fields need no source

    def _choices(self) -> str:
        known = [named.name for named in self.definitions]
        own = [] if self.subject is None else [field.replace("_", " ") for field, _ in self.subject.fields]
        others = [
            f"{source.name} {field}".replace("_", " ")
            for source in self.sources
            if source != self.subject
            for field, _ in source.fields
        ]
        shown = [*known, *own, *others]
        most = 12
        return "a field or a named expression (" + ", ".join(shown[:most]) + (", …)" if len(shown) > most else ")")

    def _hint(self, name: str) -> str:
        close = get_close_matches(name, self.meanings, n=1) or get_close_matches(name.lower(), self.meanings, n=1)
        if close:
            return f"did you mean {close[0]}?"
        return f'write a text in quotes: "{name}"; or declare the field'
