"""Predictions: of held rows that have timelines, what is valid at an instant, in each of many combinations.

A timeline is an object with `segments`: instants, in order, and what is valid from each on, or None.

Invariant: each prediction that is found is in the pool once.

Source: DESIGN 6; `missing_values.Valid`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cartesius.columns.bodies.linked import Linked
from cartesius.columns.stages.held import Held
from cartesius.columns.stages.rows import no_rows
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import MISSING, NotColumnar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.vectors.lanes import Lane
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.expressions.missing_values import Observed


class Predicted(Linked):
    """The predictions that are valid in each of many combinations, out of a pool."""

    def __init__(self, pool: list[Any], indices: Indices) -> None:
        super().__init__(no_rows(), indices)
        self.pool = pool

    def chosen(self, places: Indices | NDArray[np.bool_]) -> Predicted:
        """Return those of some combinations."""
        return Predicted(self.pool, self.indices[places])

    def item(self, function: Observed) -> Vector | None:
        """Return the values of a field."""
        field = function.field
        if not self.pool or (function.is_optional and not any(field in one for one in self.pool)):
            return None
        if not function.is_optional and any(field not in one for one in self.pool):
            reason = f"predictions have no field {field!r}"
            raise NotColumnar(reason)
        values = of_values([one.get(field, None) for one in self.pool])
        return values.take(self.indices, may_miss=True)


def valid_at(part: Linked, field: str, given: Lane) -> Predicted:
    """Return what is valid at the instants that are ``given``, in the timelines in a field of held rows."""
    found = np.full(len(part), MISSING, np.int64)
    if not len(part.rows) or given.values is None:
        return Predicted([], found)
    payload = part.rows.payload
    if not isinstance(payload, Held) or given.whole is not None or np.asarray(given.values).dtype.kind != "i":
        reason = "what is looked up is no instant, or has no timeline"
        raise NotColumnar(reason)
    indices, there = part.indices, part.indices != MISSING
    if given.valid is not None:
        there &= given.valid
    places = np.flatnonzero(there)
    places = places[np.argsort(indices[places], kind="stable")]
    instants, rows = np.broadcast_to(given.values, (len(part),))[places], indices[places]
    pool: list[Any] = []
    if not len(places):
        return Predicted(pool, found)
    known: dict[int, int] = {}
    begins = np.flatnonzero(np.diff(rows, prepend=MISSING))
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(rows)], strict=True):
        times, valid = payload.values[rows[begin]][field].segments
        if not times:
            continue
        numbers = np.array([_number(one, pool, known) for one in valid] + [MISSING], np.int64)  # the last: before all
        found[places[begin:end]] = numbers[_segment(times, instants[begin:end])]
    return Predicted(pool, found)


def _number(one: Any, pool: list[Any], known: dict[int, int]) -> int:
    if one is None:
        return MISSING
    number = known.setdefault(id(one), len(pool))  # the timelines keep them all, so that identities are not used again
    if number == len(pool):
        pool.append(one)
    return number


def _segment(times: list[int], instants: NDArray[np.int64]) -> Indices:
    return np.searchsorted(np.array(times, np.int64), instants, side="right") - 1
