"""Statements: the rules of a pack as a frozen tree, nested freely.

`require(c)` means c; `when(a){r…}` means a ⇒ ⋀r; `location(l){r…}` means (the subject's location = l) ⇒ ⋀r;
`against(o, where=a){r…}` means ∀o ≠ subject: a ⇒ ⋀r; an empty body means nothing. `otherwise` is a second `When` with
the opposite condition. Statements are written with `blocks` and `relating`.

Source: thesis, Listing 4 and Table 2.2.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from dsl.terms.dimensions import TRUTH
from dsl.terms.terms import Constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsl.terms.terms import Declaration, Term

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


@attrs.frozen
class Against:
    """Statements about each pair of a subject and another one, where a condition holds of the pair."""

    other: Declaration
    condition: Term
    body: tuple[Statement, ...]
    written: Written | None = attrs.field(default=None, eq=False, repr=False)


Block: TypeAlias = Conditional | Located | Against
"""Statements under a condition."""
Statement: TypeAlias = Requirement | Block

EVERY_PAIR = Constant(True, TRUTH)
"""The condition of statements about all pairs."""


def walked(
    statements: Iterable[Statement], around: tuple[Block, ...] = ()
) -> Iterator[tuple[tuple[Block, ...], Statement]]:
    """Yield every statement with the blocks around it, the outermost first: outer before inner, in the order written.

    >>> [(len(around), type(each).__name__) for around, each in walked([Conditional(EVERY_PAIR, ())])]
    [(0, 'Conditional')]
    """
    for statement in statements:
        yield around, statement
        if not isinstance(statement, Requirement):
            yield from walked(statement.body, (*around, statement))


def requirements(statements: Iterable[Statement]) -> Iterator[tuple[tuple[Block, ...], Requirement]]:
    """Yield every requirement in the statements with the blocks around it, as `walked` does."""
    return ((around, each) for around, each in walked(statements) if isinstance(each, Requirement))


def alone(around: tuple[Block, ...], requirement: Requirement) -> Statement:
    """Return a requirement as it stands under the blocks around it, without what else is in them.

    >>> alone((Conditional(EVERY_PAIR, ()),), Requirement(EVERY_PAIR, "so", None)).body[0].name
    'so'
    """
    found: Statement = requirement
    return reduce(lambda inner, block: attrs.evolve(block, body=(inner,)), reversed(around), found)


def conditions(statements: tuple[Statement, ...], of_pairs: bool = True) -> Iterator[Term]:
    """Yield every condition in the statements, outer before inner, in the order written; also those about pairs.

    >>> list(conditions(()))
    []
    """
    for around, statement in walked(statements):
        if of_pairs or not any(isinstance(each, Against) for each in (*around, statement)):
            yield statement.condition


def requirement_names(statements: Iterable[Statement]) -> tuple[str, ...]:
    """Return the names of all requirements in the statements, in the order written.

    >>> requirement_names(())
    ()
    """
    return tuple(each.name for _, each in requirements(statements))
