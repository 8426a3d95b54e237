"""Proving that conditions cannot hold together: a tableau over formulas, with sets of values as its theory.

A branch of the tableau collects what each thing's value must lie in; it closes when that is empty. If all branches
close, no situation makes the formulas true: that is a proof, whatever the rows are. If one stays open, they may hold
together, or not: relations between different linear forms are not looked at.

Source: R. M. Smullyan, First-Order Logic, 1968 (analytic tableaux).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import attrs

from dsl.proofs.formulas import All, Literal
from dsl.terms.intervals import meet, overlap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dsl.proofs.formulas import Formula
    from dsl.terms.intervals import Values
    from dsl.terms.terms import Term

    Branch: TypeAlias = Mapping[str, tuple[Values, tuple[Term, ...]]]

BRANCHES = 2_000
"""How many branches are followed before the search gives up without a proof."""
FEW = 40
"""How many open branches of a formula are kept."""


def cannot_hold(*formulas: Formula) -> bool:
    """Whether it is proved that the formulas do not hold together.

    >>> from fractions import Fraction
    >>> from dsl.proofs.formulas import Some
    >>> from dsl.terms.intervals import Numbers
    >>> deep, shallow = (Literal("draught", Numbers.that(sign, Fraction(15)), ()) for sign in (">", "<"))
    >>> cannot_hold(deep, shallow), cannot_hold(Some((deep, shallow)))
    (True, False)
    """
    return next(branches(formulas), None) is None


@attrs.frozen
class Opened:
    """A formula with its open branches, made once to be compared with those of many others.

    >>> from fractions import Fraction
    >>> from dsl.terms.intervals import Numbers
    >>> deep, shallow = (Opened.of(Literal("draught", Numbers.that(sign, Fraction(15)), ())) for sign in (">", "<"))
    >>> deep.excludes(shallow), deep.excludes(deep)
    (True, False)
    """

    formula: Formula
    branches: tuple[Branch, ...] | None
    """None: they are many, or were not all found; the formula that it is compared with may close most at once."""

    @classmethod
    def of(cls, formula: Formula) -> Opened:
        """Open a formula."""
        found = tuple(islice(branches([formula]), FEW + 1))
        return cls(formula, found if len(found) <= FEW and all(found) else None)

    def excludes(self, other: Opened) -> bool:
        """Whether it is proved that the two do not hold together, as by `cannot_hold`."""
        if self.branches is None or other.branches is None:
            return cannot_hold(self.formula, other.formula)
        return not any(
            all(overlap(values, others[subject][0]) for subject, (values, _) in own.items() if subject in others)
            for own in self.branches
            for others in other.branches
        )


def branches(formulas: Iterable[Formula]) -> Iterator[Branch]:
    """Yield the open branches: for each thing mentioned a set of values, and its variables; if too many, an empty one.

    >>> list(branches([All()]))
    [{}]
    """
    # Literals first: they close branches before alternatives multiply them.
    waiting: list[tuple[tuple[Formula, ...], Branch]] = [(tuple(formulas), {})]
    for _ in range(BRANCHES):
        if not waiting:
            return
        pending, known = waiting.pop()
        step = _decided(pending, dict(known))
        if step is None:
            continue
        alternatives, branch = step
        if not alternatives:
            yield branch
            continue
        first, *others = alternatives
        assert not isinstance(first, Literal)
        waiting.extend(((part, *others), branch) for part in reversed(first.parts))
    yield {}


def _decided(
    pending: tuple[Formula, ...], known: dict[str, tuple[Values, tuple[Term, ...]]]
) -> tuple[list[Formula], Branch] | None:
    """Add all literals and conjunctions to what is known, and return the alternatives left; None if it closes."""
    alternatives: list[Formula] = []
    open_ = list(pending)
    while open_:
        part = open_.pop(0)
        if isinstance(part, Literal):
            before = known.get(part.subject)
            values = part.values if before is None else meet(before[0], part.values)
            if values.is_empty:
                return None
            known[part.subject] = (values, part.variables)
        elif isinstance(part, All) or len(part.parts) == 1:
            open_.extend(part.parts)
        elif part.parts:
            alternatives.append(part)
        else:
            return None
    return sorted(alternatives, key=lambda each: len(each.parts)), known  # type: ignore[union-attr]  # literals are no alternatives
