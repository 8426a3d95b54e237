"""Linked rows: those of one slot in each of many combinations, and their fields as lanes.

Invariant: the index of a row that is not there is `MISSING`.

Source: DESIGN 4; `missing_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.bodies import lanes
from cartesius.columns.bodies.lanes import Lane, Truth
from cartesius.columns.vectors.vectors import MISSING, NotColumnar, Struct

if TYPE_CHECKING:
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.expressions.missing_values import Observed


class Linked:
    """The rows of one slot, in each of many combinations.

    Args:
        rows: The rows that they are taken from; None: there are none.
        indices: Which row each combination has, `MISSING` for none; None: all of them, in order.
        n: How many combinations there are.
    """

    def __init__(self, rows: Rows | None, indices: Indices | None, n: int) -> None:
        self.rows = rows
        self.indices = indices
        self.n = n
        missing = None if indices is None else indices == MISSING
        self.missing = missing if missing is not None and missing.any() else None
        self._observed: dict[Observed, Lane] = {}
        self._unmarked: dict[str, Linked] = {}

    def chosen(self, places: Indices) -> Linked:
        """Return those of some combinations."""
        return Linked(self.rows, places if self.indices is None else self.indices[places], len(places))

    def unmarked(self, mark: str) -> Linked:
        """Return those that have no such mark, `MISSING` in the place of others."""
        if mark not in self._unmarked:
            payload = None if self.rows is None else self.rows.payload
            item = payload.item(mark) if isinstance(payload, Struct) else None
            without = None if item is None or item.valid is None else ~item.valid
            found = self
            if item is not None and (without is None or not without.all()):
                indices = np.arange(self.n) if self.indices is None else self.indices
                is_marked = np.True_ if without is None else ~without[indices]
                found = Linked(self.rows, np.where((indices == MISSING) | is_marked, MISSING, indices), self.n)
            self._unmarked[mark] = found
        return self._unmarked[mark]

    @property
    def absence(self) -> Truth:
        """Where there is no row."""
        return lanes.NEVER if self.missing is None else Truth(self.missing)

    def observe(self, function: Observed) -> Lane:
        """Return the values of a field."""
        if function not in self._observed:
            self._observed[function] = self._read(function)
        return self._observed[function]

    def item(self, function: Observed) -> Vector | None:
        """Return the values of a field as they are; None if it is missing everywhere."""
        payload = None if self.rows is None else self.rows.payload
        if payload is None or not len(payload):
            return None
        item = payload.item(function.field) if isinstance(payload, Struct) else None
        if item is None:
            if function.is_optional and isinstance(payload, Struct):
                return None
            reason = f"rows have no field {function.field!r}"
            raise NotColumnar(reason)
        return item if self.indices is None else item.take(self.indices, may_miss=self.missing is not None)

    def _read(self, function: Observed) -> Lane:
        item = self.item(function)
        if item is None:
            return Lane(None)
        found = lanes.without_nan(lanes.of_vector(item))
        if function.members is not None:
            found = lanes.member(found, function.members)
        return lanes.lane(lanes.truth(found)) if function.is_truth else found
