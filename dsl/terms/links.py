"""Links: how the row of each source is found from the subject, as a tree rooted there.

A link is an equality of one source's key with a term over another source: `berth.id == vessel.destination`. Where
both sides are keys (`tide.sensor == berth.id`), the direction follows from the tree. A source without a key needs no
link, and can have none.

Invariant: the links that `oriented` returns are in order: a source is linked before it is used in another link.

Source: thesis, chapter 5 (vessel → berth → closest sensor → tide: foreign joins).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.terms import Comparison, Declaration, Observation, Term, operands, sources
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@attrs.frozen
class Link:
    """The row of ``source`` is the one whose key equals ``value``."""

    source: Declaration
    value: Term

    @property
    def key(self) -> Observation:
        """The key of the row."""
        return Observation(self.source, self.source.key or "")


def oriented(subject: Declaration, links: Iterable[Term]) -> tuple[Link, ...]:
    """Direct the equalities away from ``subject``, in the order in which rows are found.

    Raises:
        InvalidRule: A link is no equality with a key, a source is linked twice, or there is no way from the subject.
    """
    waiting = [(link, _readings(link)) for link in links]
    known, found = {subject.name: subject}, []
    while waiting:
        for item in waiting:
            link = next((reading for reading in item[1] if _fits(reading, known)), None)
            if link is not None:
                break
        else:
            raise InvalidRule(_no_way(subject, known, [link for link, _ in waiting]))
        waiting.remove(item)
        known[link.source.name] = link.source
        found.append(link)
    return tuple(found)


def followed(term: Term, links: Sequence[Link]) -> Term:
    """Return a term in which the key of a linked row is what it is linked to, its value wherever there is a row.

    >>> from dsl.terms.dimensions import TRUTH
    >>> from dsl.terms.terms import Constant
    >>> followed(Constant(True, TRUTH), ())
    Constant(value=True, kind=Sort(name='truth value'))
    """
    if isinstance(term, Observation):
        value = next((link.value for link in links if link.key == term), None)
        return term if value is None else followed(value, links)
    inner = operands(term)
    fields = {field.name: getattr(term, field.name) for field in attrs.fields(type(term))}
    changed = {name: followed(value, links) for name, value in fields.items() if any(value is each for each in inner)}
    return attrs.evolve(term, **changed)  # type: ignore[arg-type]  # each node has its own fields


def _readings(link: Term) -> tuple[Link, ...]:
    """The ways to read an equality as a link: the left side as the key first."""
    if isinstance(link, Comparison) and link.operator == "==":
        readings = tuple(
            Link(key.source, value)
            for key, value in ((link.left, link.right), (link.right, link.left))
            if isinstance(key, Observation) and key.field == key.source.key and key.source not in sources(value)
        )
        if readings and all(len(sources(reading.value)) <= 1 for reading in readings):
            return readings
    fix = [("fix", "link the key of one source to a term over one other: berth.id == vessel.destination")]
    summary = f"a link: expected <source>.<key> == <term over one other source> but got {text(link)}"
    raise InvalidRule(refusal(summary, fix))


def _fits(link: Link, known: dict[str, Declaration]) -> bool:
    return link.source.name not in known and all(known.get(source.name) == source for source in sources(link.value))


def _no_way(subject: Declaration, known: dict[str, Declaration], left: list[Term]) -> str:
    twice = next((link for link in left if {source.name for source in sources(link)} <= known.keys()), None)
    if twice is not None:
        names = " or ".join(repr(each.source.name) for each in _readings(twice) if each.source != subject)
        summary = f"a link: expected one way to each source but {text(twice)} leads to {names} again"
        return refusal(summary, [("fix", "leave it out, or require it; links form a tree rooted at the subject")])
    shown = ", ".join(text(link) for link in left)
    summary = f"a link: expected a way from the subject {subject.name!r} but found none to {shown}"
    return refusal(summary, [("known", ", ".join(known)), ("fix", f"start at {subject.name}, and break cycles")])
