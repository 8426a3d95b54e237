"""Sharing: a term that occurs twice in a pack is computed once a situation, in a cell that is filled when asked for.

A term is known by its `repr`, because terms may be equal whose values read differently, as 1 and 1.0 do.

Invariant: a cell is filled with what its term evaluates to in that situation, missing values included.

Source: A. V. Aho et al., Compilers, 2nd ed., 2006, section 6.1 (a directed acyclic graph for common subexpressions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from dsl.terms.terms import Constant, Named, Now, Observation, is_constant, operands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsl.meaning.evaluation import Evaluate, Situation
    from dsl.terms.terms import Term


@final
class Slots(dict[str, int]):
    """The position of each source's row, and the terms that get a cell.

    >>> from dsl import Source
    >>> tugs = Source("tugs", key=None, free=int, busy=int)
    >>> in_port = tugs.free + tugs.busy
    >>> len(Slots({"tugs": 0}, [(in_port > 3).term, (in_port < tugs.free).term]).shared)
    1

    Args:
        positions: Source name → position.
        conditions: What is evaluated in one situation.
    """

    def __init__(self, positions: Mapping[str, int], conditions: Iterable[Term]) -> None:
        super().__init__(positions)
        self.shared: dict[str, Term] = {}
        """The terms with a cell, by their repr, in the order in which they recur."""
        seen: set[str] = set()
        waiting = list(conditions)[::-1]
        while waiting:
            term = waiting.pop()
            if isinstance(term, Observation | Constant | Now) or is_constant(term):
                continue  # as cheap as a cell
            if not isinstance(term, Named):  # which is computed as what it names
                name = repr(term)
                if name in seen:
                    self.shared[name] = term
                    continue  # its parts are computed with it
                seen.add(name)
            waiting.extend(operands(term)[::-1])


def once(name: str, evaluate: Evaluate) -> Evaluate:
    """Return a function that runs ``evaluate`` once a situation, whose cell has that name."""

    def read(situation: Situation) -> Any:
        cells = situation.cells
        value = cells.get(name, cells)
        if value is cells:
            value = cells[name] = evaluate(situation)
        return value

    return read
