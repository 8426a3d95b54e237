"""Relations: what a pack says of other rows than those linked to its subject, gathered from its statements.

Two kinds: requirements about *pairs* of a subject and another one (`Against`), and *totals* over the rows of a source
(`Total`). A judge sees neither the pairs nor the rows: it has a slot for what each pair requirement, and each total,
comes to, after the slots of its sources. `pairs` and `tallies` say how that is found. Pair requirements with
one `where` share one relation, and so do totals over one source and one grouping.

Invariant: relations, and what is in them, are in the order in which the statements mention them first.

Source: thesis, L23 (reduce); issue 6 (relations between subjects, aggregates over other tables).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from dsl.terms.negations import conjuncts
from dsl.terms.statements import Against, alone, conditions, requirements, walked
from dsl.terms.terms import Comparison, Declaration, Term, Total, parts, sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsl.terms.statements import Statement


@attrs.frozen
class Pairing:
    """The requirements about the pairs of which one condition holds."""

    other: Declaration
    where: Term
    requirements: tuple[Statement, ...]
    """Each alone, under its own conditions."""


@attrs.frozen
class Tallying:
    """The totals over one source and one grouping."""

    source: Declaration
    key: Term | None
    group: Term | None
    totals: tuple[Total, ...]


def pairings(statements: Iterable[Statement]) -> tuple[Pairing, ...]:
    """Return the relations between subjects.

    >>> pairings(())
    ()
    """
    found: dict[tuple[Declaration, Term], dict[Statement, None]] = {}
    for _, block in walked(statements):
        if isinstance(block, Against):
            found.setdefault((block.other, block.condition), {}).update(dict.fromkeys(each_alone(block)))
    return tuple(Pairing(other, where, tuple(requirements)) for (other, where), requirements in found.items())


def tallyings(statements: Iterable[Statement]) -> tuple[Tallying, ...]:
    """Return the relations to what is totalled.

    >>> tallyings(())
    ()
    """
    found: dict[tuple[Declaration, Term | None, Term | None], dict[Total, None]] = {}
    for condition in conditions(tuple(statements)):
        for total in totals(condition):
            found.setdefault((total.source, total.key, total.group), {})[total] = None
    return tuple(Tallying(*grouping, tuple(each)) for grouping, each in found.items())


def totals(term: Term) -> tuple[Total, ...]:
    """Return the totals in ``term``, each once, in the order of their first mention.

    >>> from dsl.terms.dimensions import TRUTH
    >>> from dsl.terms.terms import Constant
    >>> totals(Constant(True, TRUTH))
    ()
    """
    return tuple(dict.fromkeys(part for part in parts(term) if isinstance(part, Total)))


def slots(sources: Iterable[Declaration], statements: tuple[Statement, ...]) -> dict[str, int]:
    """Return the slots of a judge: those of its sources by name, then of pair requirements, and of totals.

    >>> slots((Declaration("tugs", None, ()),), ())
    {'tugs': 0}
    """
    names = [source.name for source in sources] + pair_slots(statements)
    for tallying in tallyings(statements):
        names += map(repr, tallying.totals)
    return {name: number for number, name in enumerate(names)}


def pair_slots(statements: tuple[Statement, ...]) -> list[str]:
    """Name the slots of all requirements about pairs."""
    return [slot_of(pairing, each) for pairing in pairings(statements) for each in pairing.requirements]


def slot_of(block: Pairing | Against, requirement: Statement) -> str:
    """Name the slot of a requirement about pairs."""
    where = block.where if isinstance(block, Pairing) else block.condition
    return repr((block.other, where, requirement))


def each_alone(block: Against) -> Iterator[Statement]:
    """Yield the requirements of a block about pairs, each alone under its own conditions, in the order written."""
    return (alone(around, requirement) for around, requirement in requirements(block.body))


def equalities(pairing: Pairing) -> tuple[tuple[Term, Term], ...]:
    """Return what must be equal for ``where`` to hold: a term over the other alone, and one without it.

    >>> from dsl.terms.statements import EVERY_PAIR
    >>> equalities(Pairing(Declaration("other", "mmsi", ()), EVERY_PAIR, ()))
    ()
    """
    found = (sides_of(part, pairing.other) for part in conjuncts(pairing.where))
    return tuple(sides for sides in found if sides is not None)


def sides_of(part: Term, source: Declaration) -> tuple[Term, Term] | None:
    """Return the side of an equality that is over ``source`` alone, and the other, over sources without it."""
    if isinstance(part, Comparison) and part.operator == "==":
        for left, right in ((part.left, part.right), (part.right, part.left)):
            if sources(left) == (source,) and sources(right) and source not in sources(right):
                return left, right
    return None
