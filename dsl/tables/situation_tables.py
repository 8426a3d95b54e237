"""Situations of packs with relations: lists of rows beside the one row a source, and what they say of each other.

The rows of what is counted, and of the other subjects, are given as lists: all there are. A source that is observed and
counted may be given as a list too; the row that is observed is the one that is linked, and of the subject the first.

Invariant: what is not given is not known; an empty list says that there are none.

Source: DESIGN.md, section 6 (missing data never reads as safe).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.errors import InvalidArgument
from dsl.meaning.evaluation import Situation, compiled
from dsl.meaning.raising import AS_WRITTEN, LENIENT
from dsl.refusals.errors import refusal
from dsl.tables.situations import complete, complete_row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cartesius.language.lenience import OnError
    from dsl.judgements.related import Related
    from dsl.meaning.evaluation import Row
    from dsl.meaning.raising import Compilation
    from dsl.terms.links import Link
    from dsl.terms.terms import Declaration

Given: TypeAlias = "Mapping[str, object] | Sequence[Mapping[str, object]] | None"
"""What is given of a source: its row, or all its rows; None as if it were left out."""
Tables: TypeAlias = "dict[str, list[Row] | None]"
"""The rows of tables by source; None, or none at all: it is not known which there are."""


def complete_tables(
    call: str,
    sources: tuple[Declaration, ...],
    links: Iterable[Link],
    related: Related | None,
    given: Mapping[str, Given],
    *,
    on_error: OnError = "fail",
) -> tuple[list[Row], Tables]:
    """Return one row a source, in their order, and the rows of each table of the relations; None: not known.

    Args:
        call: What was called, for messages.
        sources: What the pack observes, the subject first.
        links: How the rows of the others are found.
        related: The relations of the pack.
        given: Source name → row, or list of rows.
        on_error: What becomes of a bare value that does not fit its field, and of a link that raises: ``"unknown"``,
            the value is judged as it is, and nothing is linked.

    Raises:
        InvalidArgument: What `situations.complete` refuses, a list where there is one row, one row where there are
            many, the other subjects given twice, or rows of other subjects that are none.
        DimensionMismatch: A value that does not fit its field.
    """
    lists = _lists(sources[0], related, given)
    if related is None:
        return [*complete(call, sources, given, on_error=on_error)], {}
    known = {source.name: source for source in (*sources, *related.tables)}
    tables: Tables = {
        name: [complete_row(call, known[name], row, on_error) for row in rows] for name, rows in lists.items()
    }
    single = {name: row for name, row in given.items() if name not in lists}
    if sources[0].name in lists:
        single[sources[0].name] = next(iter(lists[sources[0].name]), None)
    rows: list[Row] = [*complete(call, known.values(), single, on_error=on_error)]
    for source, row in zip(list(known.values())[len(sources) :], rows[len(sources) :], strict=True):
        if row is not None:
            fix = [("fix", f'"{source.name}": [{{…}}, …], all the rows that there are')]
            raise InvalidArgument(refusal(f"{call}: expected a list of rows of {source.name!r} but got one row", fix))
    compilation = LENIENT if on_error == "unknown" else AS_WRITTEN
    rows = _linked(sources, links, rows[: len(sources)], tables, compilation)
    return rows, _with_others(call, sources[0], related, rows[0], tables)


def _lists(subject: Declaration, related: Related | None, given: object) -> dict[str, Sequence[Any]]:
    """The lists of rows among what is given; a list of what nobody counts is left to be refused as a row."""
    if related is None or not isinstance(given, Mapping):
        return {}
    names = {source.name for source in related.tables} | {source.another_of for source in related.tables}
    listed = {name: rows for name, rows in given.items() if name in names and isinstance(rows, Sequence)}
    return {name: rows for name, rows in listed.items() if not isinstance(rows, str)}


def _linked(
    sources: Sequence[Declaration],
    links: Iterable[Link],
    rows: list[Row],
    tables: Tables,
    compilation: Compilation,
) -> list[Row]:
    """Find the rows that are linked, and those without a key, in the lists that they were given in."""
    slots = {source.name: number for number, source in enumerate(sources)}
    for source in sources[1:]:
        if source.key is None and tables.get(source.name):
            rows[slots[source.name]] = (tables[source.name] or [None])[0]
    for link in links:
        if link.source.name in tables:
            value = compilation.value(compiled(link.value, slots))(Situation(rows))
            key_of = compiled(link.key, {link.source.name: 0})
            found = (row for row in tables[link.source.name] or () if key_of(Situation([row])) == value)
            rows[slots[link.source.name]] = None if value is None else next(found, None)
    return rows


def _with_others(call: str, subject: Declaration, related: Related, row: Row, tables: Tables) -> Tables:
    """Add the other subjects, or the subject's whole table, whichever was not given; refuse others that are none."""
    assert row is not None
    fleet = tables.get(subject.name)
    for other in related.tables:
        if other.another_of is None:
            continue
        if fleet is not None and other.name in tables:
            summary = f"{call}: expected the other subjects once but got them as {subject.name!r} and as {other.name!r}"
            raise InvalidArgument(refusal(summary, [("fix", f'"{subject.name}": {{…}}, the row that is judged')]))
        others = tables.get(other.name) if fleet is None else fleet[1:]
        if others is None:
            continue
        tables[other.name] = others
        tables.setdefault(subject.name, [row, *others])
        keys = [None if each is None else each[subject.key or ""] for each in [row, *others]]
        twice = next((key for key, number in Counter(keys).items() if number > 1), None)
        if None in keys[1:] or twice is not None:
            got = f"{subject.key}={twice!r} twice, the subject included" if twice is not None else "a row without it"
            fix = [("fix", f"leave the subject itself out of {other.name!r}, and give each row its key")]
            summary = f"{call}: expected each of {other.name!r} to have a {subject.key} of its own but got {got}"
            raise InvalidArgument(refusal(summary, fix))
    return tables
