"""What a pack says of things outside its rules: locations that no berth has, and sources that no rule observes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.errors import InvalidArgument
from dsl.proofs.findings import Finding
from dsl.terms.statements import Located, conditions, requirement_names, walked
from dsl.terms.terms import sources
from dsl.terms.texts import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsl.terms.links import Link
    from dsl.terms.statements import Statement
    from dsl.terms.terms import Term

Places: TypeAlias = "Mapping[str, Iterable[Mapping[str, Any]]] | Iterable[str | int]"
"""Where subjects can be: rows by source, or ids."""


def unused_sources(statements: Sequence[Statement], links: Sequence[Link], observed: Sequence[Term]) -> list[Finding]:
    """Return a finding for each linked source that neither a rule observes nor the way to another one needs.

    >>> unused_sources((), (), ())
    []

    Args:
        statements: The rules.
        links: How the rows of sources are found.
        observed: What the pack observes besides, such as the location.
    """
    used = {source.name for term in (*conditions(tuple(statements)), *observed) for source in sources(term)}
    for link in reversed(links):
        if link.source.name in used:
            used.update(source.name for source in sources(link.value))
    fix = "leave out the link, or write the rules that need it"
    return [
        Finding("unused source", link.source.name, "it is linked, but no rule observes it", (), None, fix)
        for link in links
        if link.source.name not in used
    ]


def nothing_required(name: str) -> Finding:
    """Return the finding for a pack that has no requirement."""
    fix = "write what must be so, as in: wind velocity must be at most 45 kn"
    return Finding("no requirement", name, "it allows every subject, whatever happens", (), None, fix)


def unknown_locations(
    statements: Sequence[Statement], place: Term | None, links: Sequence[Link], given: Places
) -> list[Finding]:
    """Return a finding for each location that is not among the places given.

    >>> unknown_locations((), None, (), ["A"])
    []

    Args:
        statements: The rules.
        place: What locations are compared with.
        links: How the rows of sources are found.
        given: The ids, or the rows of the source whose key is linked to ``place``.

    Raises:
        InvalidArgument: The rows are of another source, or have no key.
    """
    known = {*_ids(place, links, given)}
    shown = ", ".join(map(repr, sorted(known, key=repr)[:5])) or "none"
    fix = f"correct the id, or leave the block out; known: {shown}{', …' if len(known) > 5 else ''}"
    said = "there is no such place"
    wrong = [each for _, each in walked(statements) if isinstance(each, Located) and each.place not in known]
    return [
        Finding("unknown location", f"location({each.place!r})", said, requirement_names([each]), each.written, fix)
        for each in wrong
    ]


def _ids(place: Term | None, links: Sequence[Link], given: Places) -> Iterator[str | int]:
    if not isinstance(given, Mapping):
        if not isinstance(given, Iterable) or isinstance(given, str):
            message = f"lint: expected a list of places, or the rows of their source, but got {given!r}"
            raise InvalidArgument(message)
        yield from given
        return
    linked = [link.source for link in links if link.value == place]
    names = ", ".join(repr(source.name) for source in linked) or "none"
    if not linked or set(given) != {linked[0].name}:
        where = "no location" if place is None else text(place)
        message = f"lint: expected rows of the source linked to {where} ({names}) but got rows of {sorted(given)}"
        raise InvalidArgument(message)
    key = linked[0].key or ""
    for row in given[linked[0].name]:
        if key not in row:
            message = f"lint: expected rows of {linked[0].name!r} with their key {key!r} but got {row!r}"
            raise InvalidArgument(message)
        yield row[key]
