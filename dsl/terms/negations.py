"""Conditions with their negations pushed inwards, and the parts that they are the conjunction of.

Only equivalences of Kleene's logic are used: De Morgan's, the double negation, and the opposite comparison (of values
that are both there; without one of them both are unknown).

Source: S. C. Kleene, Introduction to Metamathematics, 1952, § 64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl.terms.intervals import OPPOSITE
from dsl.terms.terms import Comparison, Junction, Not

if TYPE_CHECKING:
    from dsl.terms.terms import Term


def positive(condition: Term) -> Term:
    """Push negations inwards, as far as they go; equivalent in Kleene's logic.

    >>> from dsl.terms.dimensions import TRUTH
    >>> from dsl.terms.terms import Constant
    >>> positive(Not(Not(Constant(True, TRUTH))))
    Constant(value=True, kind=Sort(name='truth value'))
    """
    match condition:
        case Not(Not(inner)):
            return positive(inner)
        case Not(Junction(operator, left, right)):
            return Junction("or" if operator == "and" else "and", positive(Not(left)), positive(Not(right)))
        case Not(Comparison(operator, left, right)):
            return Comparison(OPPOSITE[operator], left, right)
        case Junction(operator, left, right):
            return Junction(operator, positive(left), positive(right))
    return condition


def conjuncts(condition: Term) -> tuple[Term, ...]:
    """Return the conditions that ``condition`` is the conjunction of, left to right.

    >>> from dsl.terms.dimensions import TRUTH
    >>> from dsl.terms.terms import Constant
    >>> conjuncts(Constant(True, TRUTH))
    (Constant(value=True, kind=Sort(name='truth value')),)
    """
    return operands_of("and", condition)


def operands_of(operator: str, term: Term) -> tuple[Term, ...]:
    """Return the parts of nested junctions with ``operator``, left to right; of any other term itself.

    >>> from dsl.terms.dimensions import TRUTH
    >>> from dsl.terms.terms import Constant
    >>> operands_of("and", Constant(True, TRUTH))
    (Constant(value=True, kind=Sort(name='truth value')),)
    """
    if isinstance(term, Junction) and term.operator == operator:
        return (*operands_of(operator, term.left), *operands_of(operator, term.right))
    return (term,)
