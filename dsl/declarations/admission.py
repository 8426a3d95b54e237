"""Admission: what of relations a rule may mention where it is written, and what it is told otherwise.

A second name for the subject's rows is observed only inside `against` of it; a total stands wherever an observation of
the subject may, outside of `against`; neither can link a source.

Source: STYLE.md, section 2.4 (raise at the line that wrote the rule).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.related_rows import totals
from dsl.terms.terms import Named, Throughout, inside, parts, sources
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.terms.terms import Declaration, Term


LARGEST: Final = 5_000
DEEPEST_NAMED: Final = 100
"""How many parts an expression may have, and how deep, named expressions written out."""


def refuse_endless(pack: str, term: Term) -> None:
    """Refuse a term of too many parts, or that lie too deep in one another: what reads it goes down its parts.

    Raises:
        InvalidRule: It is one.
    """
    size, deepest = 0, 0
    waiting = [(term, 1)]
    while waiting and size <= LARGEST:
        part, depth = waiting.pop()
        size, deepest = size + 1, max(deepest, depth)
        for inner in inside(part):
            is_level = not isinstance(part, Named) or isinstance(inner, Named)
            waiting.append((inner, depth + is_level))
    check_extent(f"pack {pack!r}", size, deepest)


def check_extent(whole: str, size: int, deepest: int) -> None:
    """Check how many parts an expression of ``whole`` has, and how deep.

    Raises:
        InvalidRule: They are too many, or too deep.
    """
    if size > LARGEST or deepest > DEEPEST_NAMED:
        expected = f"at most {LARGEST} parts, {DEEPEST_NAMED} in one another, named expressions written out"
        fix = [("fix", "split it into several rules, or declare a field for what is computed so often")]
        raise InvalidRule(refusal(f"{whole}: expected {expected}, but got {size}, {deepest}", fix))


def admit_other(subject: Declaration, other: Declaration) -> None:
    """Refuse a second name that is not for the rows of the pack's subject.

    Raises:
        InvalidRule: It is one for those of another source.
    """
    if (other.another_of, other.fields, other.key) != (subject.name, subject.fields, subject.key):
        summary = (
            f"{other.name}: expected another of the subject {subject.name!r} but got another of {other.another_of!r}"
        )
        fix = f'{other.name} = another({subject.name}, "{other.name}")'
        raise InvalidRule(refusal(summary, [("fix", fix)]))


def admit_pairs(subject: Declaration, term: Term, other: Declaration | None) -> None:
    """Refuse what only a rule about pairs may mention, or what such a rule may not.

    Args:
        subject: That of the pack.
        term: What is written.
        other: Whom the surrounding block is against; None: nobody.

    Raises:
        InvalidRule: An observation of another outside of `against`, or a total inside.
    """
    for source in sources(term):
        if source.another_of is None or source == other:
            continue
        admit_other(subject, source)
        inside = "" if other is None else f"; this block is against {other.name!r}"
        summary = f"{text(term)}: expected {source.name!r} to be observed inside against({source.name}){inside}"
        fix = f"with against({source.name}): … ; or number_of(…, where=…) for how many there are"
        raise InvalidRule(refusal(summary, [("fix", fix)]))
    if other is not None and totals(term):
        summary = f"{text(term)}: expected observations inside against({other.name}) but got {text(totals(term)[0])}"
        notes = [
            ("reason", "a total is the same for every other, so it belongs around the pairs"),
            ("fix", f"with when(…): with against({other.name}): …"),
        ]
        raise InvalidRule(refusal(summary, notes))


def admit_totals(subject: Declaration, term: Term, known: Mapping[str, Declaration]) -> tuple[Declaration, ...]:
    """Return the sources that are counted in ``term``; refuse those that are not what their names are in the pack.

    Raises:
        InvalidRule: One has the name of another source of the pack, is another of something else than the subject, or
            is counted throughout a span.
    """
    for part in parts(term):
        if isinstance(part, Throughout) and totals(part.condition):
            summary = f"{text(part)}: expected a condition without totals, which are known for the present only"
            raise InvalidRule(refusal(summary, [("fix", "write it beside throughout(…)(…): … & (number_of(…) >= 2)")]))
    counted = tuple(dict.fromkeys(total.source for total in totals(term)))
    for source in counted:
        if source.another_of is not None:
            admit_other(subject, source)
        if known.get(source.name, source) != source:
            summary = f"{text(term)}: expected the source {source.name!r} that the pack knows but got another"
            raise InvalidRule(refusal(summary, [("fix", "give two sources two names")]))
    return counted


def refuse_relations(call: str, term: Term) -> None:
    """Refuse a link, or a location, that is no function of one row each.

    Raises:
        InvalidRule: It mentions another subject, or a total.
    """
    for source in sources(term):
        if source.another_of is not None:
            name = source.name
            summary = f"{call}: expected terms over the subject and what it links but got {text(term)}"
            notes = [
                ("reason", f"{name!r} stands for every other subject, and each would be linked to a row of its own"),
                ("fix", f"let the rows of {source.another_of!r} have the field themselves, and compare {name}.<field>"),
            ]
            raise InvalidRule(refusal(summary, notes))
    if totals(term):
        summary = f"{call}: expected terms over single rows but got {text(term)}"
        raise InvalidRule(refusal(summary, [("fix", "use totals in require and when")]))
