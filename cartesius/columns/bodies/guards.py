"""Guards over columns: what stops a condition for a row keeps those behind it from being asked of that row.

All conditions are asked of all rows at once. Only where one of them then cannot be computed, as where it divides by
zero, is it asked of the rows that those before it have not decided; what it still raises for these is an error.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.arithmetic import apply
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, concatenated
from cartesius.expressions.nulls import first_there

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.candidates import Parts
    from cartesius.columns.vectors.vectors import Indices, Mask, Vector

_STOPS: Final = {operator.and_: False, operator.or_: True}


def lazily(function: Any, n: int, parts: Sequence[Parts], *asked: Callable[..., Vector]) -> Vector:
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
            found = _where_open(function, found, parts, ask)
            continue
        found = _together(function, found, other)
    return found


def _where_open(function: Any, found: Vector, parts: Sequence[Parts], ask: Callable[..., Vector]) -> Vector:
    """Return the same, the next argument asked only of candidates that are not decided."""
    is_open = ~_decided(function, found)
    if is_open.all():
        raise NotColumnar(_REASON)
    rest = np.flatnonzero(is_open)
    if not len(rest):
        return found
    other = ask(len(rest), *[part.chosen(is_open) for part in parts])
    return _merged(found, _together(function, found.take(rest), other), is_open)


def _decided(function: Any, found: Vector) -> NDArray[np.bool_]:
    """Return of which candidates the arguments so far say all."""
    if function is first_there:
        return _there(found)
    if not isinstance(found, Leaf) or found.kind or found.type != pa.bool_():
        return np.zeros(len(found), np.bool_)
    decided: NDArray[np.bool_] = _there(found) & (found.numbers == _STOPS[function])
    return decided


def _together(function: Any, found: Vector, other: Vector) -> Vector:
    if function is not first_there:
        return apply(function, found, other)
    there = _there(found)
    return found if there.all() else _merged(found, other.take(np.flatnonzero(~there)), ~there)


def _merged(found: Vector, others: Vector, are_others: NDArray[np.bool_]) -> Vector:
    """Return ``found``, with ``others`` in the places that are theirs."""
    kept = np.flatnonzero(~are_others)
    places = np.empty(len(found), np.int64)
    places[kept] = np.arange(len(kept))
    places[are_others] = len(kept) + np.arange(len(others))
    return concatenated([found.take(kept), others]).take(places)


def _there(vector: Vector) -> NDArray[np.bool_]:
    if isinstance(vector, Leaf) and vector.type == pa.null():
        return np.zeros(len(vector), np.bool_)
    return np.ones(len(vector), np.bool_) if vector.valid is None else vector.valid


def indices_of(there: Mask) -> Indices:
    """Return the places of what is there, and `MISSING` elsewhere."""
    assert there is not None  # Invariant: asked only where something is null
    return np.where(there, np.arange(len(there)), MISSING)


_REASON: Final = "a condition raises where no other one stops it"
