"""Affine terms: how much a term grows as one instant does, where that is known when the rule is written.

Source: ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl.refusals.errors import InvalidRule, refusal
from dsl.terms.terms import Arithmetic, Named, Sign, parts
from dsl.terms.texts import text
from dsl.terms.timed_terms import Prediction

if TYPE_CHECKING:
    from dsl.terms.terms import Term


def slope(term: Term, moved: Term) -> int:
    """Return how much ``term`` grows as ``moved`` grows by one: 0 where it does not depend on it, or jumps.

    >>> from dsl import Source, instant
    >>> ship = Source("ship", key="id", id=int, eta=instant, etd=instant)
    >>> slope((ship.etd - ship.eta).term, ship.eta.term)
    -1

    Raises:
        InvalidRule: It depends on it in another way than by sums and differences.
    """
    if term == moved:
        return 1
    match term:
        case Arithmetic("+" | "-" as operator, left, right):
            return slope(left, moved) + (1 if operator == "+" else -1) * slope(right, moved)
        case Sign("-", operand):
            return -slope(operand, moved)
        case Named(_, operand):
            return slope(operand, moved)
        case Prediction():
            return 0  # it is the same until another prediction is valid
    if any(part == moved for part in _direct(term)):
        fix = [("fix", f"write it as a comparison of {text(moved)}, or of a time from or to it, with the other terms")]
        summary = f"{text(term)}: expected a sum or a difference of {text(moved)}, so that its next change is known"
        raise InvalidRule(refusal(summary, fix))
    return 0


def _direct(term: Term) -> list[Term]:
    """The parts of ``term`` that are not inside a lookup."""
    hidden = {id(part) for each in parts(term) if isinstance(each, Prediction) for part in parts(each.at)}
    return [part for part in parts(term) if id(part) not in hidden]
