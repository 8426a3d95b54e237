"""Guards over columns: what stops a condition for a row keeps those behind it from being asked of that row.

All conditions are asked of all rows at once. Only where one of them then cannot be computed, as where it divides by
zero, is it asked of the rows that those before it have not decided; what it still raises for these is an error.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.vectors.arithmetic import apply, is_truth
from cartesius.columns.vectors.lanes import (
    NEVER,
    chosen,
    first_known,
    is_there,
    lane,
    opposite,
    placed,
    spread,
    truth,
    vector_of,
)
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.nulls import first_there

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.columns.stages.candidates import Parts
    from cartesius.columns.vectors.lanes import Given, Truth


def lazily(function: Any, n: int, parts: Sequence[Parts], *asked: Callable[..., Given]) -> Given:
    """Return what a function that asks its arguments from left to right gives of ``n`` candidates.

    Args:
        function: ``&``, ``|``, or what takes the first value that is there.
        n: How many candidates there are.
        parts: Their parts, by slot.
        asked: What computes each argument, of a number and as many parts.

    Raises:
        NotColumnar: An argument cannot be computed for a candidate of which it must be asked.
    """
    found = asked[0](n, *parts)
    for ask in asked[1:]:
        try:
            other = ask(n, *parts)
        except NotColumnar:
            found = _where_open(function, found, n, parts, ask)
            continue
        found = _together(function, found, other)
    return found


def _where_open(function: Any, found: Given, n: int, parts: Sequence[Parts], ask: Callable[..., Given]) -> Given:
    """Return the same, the next argument asked only of candidates that are not decided."""
    decided = spread(_decided(function, found).true, n)
    rest = np.flatnonzero(~decided)
    if len(rest) == n:
        raise NotColumnar("a condition raises where no other one stops it")
    if not len(rest):
        return found
    other = ask(len(rest), *[part.chosen(rest) for part in parts])
    answer = vector_of(_together(function, vector_of(found, n).take(rest), other), len(rest))
    return chosen(decided, lane(found), lane(placed(answer, rest, n)))


def _decided(function: Any, found: Given) -> Truth:
    """Return of which candidates the arguments so far say all."""
    if function is first_there:
        return is_there(found)
    if not is_truth(found):
        return NEVER
    return opposite(found) if function is operator.and_ else truth(found)


def _together(function: Any, found: Given, other: Given) -> Given:
    return first_known(found, other) if function is first_there else apply(function, found, other)
