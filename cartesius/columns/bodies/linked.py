"""Linked rows: those of one slot in each of many combinations, and their fields as lanes.

Invariant: the index of a row that is not there is `MISSING`.

Source: DESIGN 4; `missing_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.stages.candidates import Parts
from cartesius.columns.vectors.arithmetic import is_text
from cartesius.columns.vectors.lanes import Lane, lane, truth, without_nan
from cartesius.columns.vectors.vectors import MISSING, PACKED, Leaf, NotColumnar, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.expressions.missing_values import Observed
    from cartesius.expressions.value_sorts import ValueSort


class Linked(Parts):
    """The rows of one slot, in each of many combinations.

    Args:
        rows: The rows that they are taken from.
        indices: Which row each combination has, `MISSING` for none; None: all of them, in order.
    """

    def __init__(self, rows: Rows, indices: Indices | None = None) -> None:
        super().__init__(rows, np.arange(len(rows)) if indices is None else indices, may_miss=indices is not None)
        self._is_all = indices is None
        self._observed: dict[Observed, Lane] = {}
        self._unmarked: dict[str, Linked] = {}

    def chosen(self, places: Indices | NDArray[np.bool_]) -> Linked:
        """Return those of some combinations."""
        return Linked(self.rows, self.indices[places])

    def unmarked(self, mark: str) -> Linked:
        """Return those that have no such mark, `MISSING` in the place of others."""
        if mark not in self._unmarked:
            payload = self.rows.payload
            item = payload.item(mark) if isinstance(payload, Struct) else None
            without = None if item is None or item.valid is None else ~item.valid
            found = self
            if item is not None and (without is None or not without.all()):
                is_marked = np.True_ if without is None else ~without[self.indices]
                found = Linked(self.rows, np.where((self.indices == MISSING) | is_marked, MISSING, self.indices))
            self._unmarked[mark] = found
        return self._unmarked[mark]

    def observe(self, function: Observed) -> Lane:
        """Return the values of a field."""
        if function not in self._observed:
            self._observed[function] = self._read(function)
        return self._observed[function]

    def item(self, function: Observed) -> Vector | None:
        """Return the values of a field as they are; None if it is missing everywhere."""
        payload = self.rows.payload
        if not len(payload):
            return None
        item = payload.item(function.field) if isinstance(payload, Struct) else None
        if item is None:
            if function.is_optional and isinstance(payload, Struct):
                return None
            raise NotColumnar(f"rows have no field {function.field!r}")
        return item if self._is_all else item.take(self.indices, may_miss=self.missing is not None)

    def _read(self, function: Observed) -> Lane:
        item = self.item(function)
        if item is None:
            return Lane(None)
        found = without_nan(lane(item))
        if function.members is not None:
            found = _member(found, function.members)
        if function.sort is not None and not _is_of_sort(item, function.sort):
            raise NotColumnar(f"a value of {function.field!r} may be of another sort than {function.sort}")
        return lane(truth(found)) if function.sort == "truth" else found


def _is_of_sort(values: Vector, sort: ValueSort) -> bool:
    """Whether each value that is there is of a sort."""
    if not isinstance(values, Leaf) or values.kind == PACKED:
        return False
    if pa.types.is_null(values.type):
        return True
    if sort in ("text", "truth"):
        return is_text(values.type) if sort == "text" else bool(pa.types.is_boolean(values.type))
    is_dated = sort == "instant" and pa.types.is_timestamp(values.type)
    is_number = (values.is_number and not pa.types.is_boolean(values.type)) or pa.types.is_decimal(values.type)
    return bool(is_dated or is_number)


def _member(given: Lane, members: Sequence[str]) -> Lane:
    """Return values, of which those that are none of ``members`` are missing."""
    values = given.values
    if values is None:
        return given
    if not isinstance(values, Leaf) or not is_text(values.type):
        raise NotColumnar("a choice is no text")
    is_member = pc.is_in(values.array, pa.array(members, values.type)).to_numpy(zero_copy_only=False)
    return given if is_member.all() else given.where(is_member)
