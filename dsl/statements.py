"""Statements: the rules of a pack as a frozen tree, nested freely.

`require(c)` means c; `when(a){r…}` means a ⇒ ⋀r; `location(l){r…}` means (the subject's location = l) ⇒ ⋀r; an empty
body means nothing. `otherwise` is a second `When` with the opposite condition. Statements are written with
`dsl.writing`.

Source: thesis, Listing 4 and Table 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsl.terms import Term

Written: TypeAlias = tuple[str, int]
"""Where a statement was written: a file and a line. It is no part of what the statement means."""
Severity: TypeAlias = Literal["minor", "major", "critical"]
"""How grave it is that a requirement fails, in this order. Any of them restricts: a pack is their conjunction."""


@attrs.frozen
class Requirement:
    """A condition that must hold, its name, its author's reason, and where the regulation says so."""

    condition: Term
    name: str
    because: str | None
    severity: Severity = "major"
    reference: str | None = None
    written: Written | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class Conditional:
    """Statements that apply where a condition holds."""

    condition: Term
    body: tuple[Statement, ...]
    written: Written | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class Located:
    """Statements that apply to subjects bound for, or at, a location."""

    place: str | int
    condition: Term
    body: tuple[Statement, ...]
    written: Written | None = attrs.field(default=None, eq=False, repr=False)


Statement: TypeAlias = Requirement | Conditional | Located


def conditions(statements: tuple[Statement, ...]) -> Iterator[Term]:
    """Yield every condition in the statements, outer before inner, in the order written.

    >>> list(conditions(()))
    []
    """
    for statement in statements:
        yield statement.condition
        if not isinstance(statement, Requirement):
            yield from conditions(statement.body)


def requirement_names(statements: Iterable[Statement]) -> tuple[str, ...]:
    """Return the names of all requirements in the statements, in the order written.

    >>> requirement_names(())
    ()
    """
    names: list[str] = []
    for statement in statements:
        names += [statement.name] if isinstance(statement, Requirement) else requirement_names(statement.body)
    return tuple(names)
