"""Held values: Python objects of which columns hold only the references, for kernels that look at them themselves.

Rows that are collected from streams are such values: they never leave as columns, but from one kernel to another.

Source: DESIGN 4.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columnar.stages import rows_of
from cartesius.columnar.vectors import Leaf, NotColumnar
from cartesius.phases import collected_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.rows import Rows
    from cartesius.columnar.vectors import Indices, Mask
    from cartesius.families import Slot
    from cartesius.phases import Collected

_HELD: Final = "held"


class Held(Leaf):
    """References to Python objects."""

    def __init__(self, objects: NDArray[Any]) -> None:
        super().__init__(pa.nulls(len(objects)), _HELD)
        self.objects = objects

    @classmethod
    def of(cls, values: Sequence[Any]) -> Held:
        """Hold values."""
        objects = np.empty(len(values), object)
        for place, value in enumerate(values):  # numpy would look into some of them
            objects[place] = value
        return cls(objects)

    @cached_property
    def valid(self) -> Mask:
        """Which are there; None if all are."""
        valid = np.array([one is not None for one in self.objects], np.bool_)
        return None if valid.all() else valid

    def take(self, indices: Indices, *, may_miss: bool = False) -> Held:
        """Return those at ``indices``, None at `MISSING` if some ``may_miss``."""
        return Held((np.concatenate([self.objects, [None]]) if may_miss else self.objects)[indices])

    def slice(self, first: int, last: int) -> Held:
        """Return those from ``first`` up to ``last``."""
        return Held(self.objects[first:last])

    def to_list(self) -> list[Any]:
        """Return the objects."""
        return list(self.objects)

    def to_arrow(self) -> pa.Array:
        """Refuse: they are no columns."""
        reason = "rows that are collected are given as they are"
        raise NotColumnar(reason)

    def followed_by(self, others: Sequence[Leaf]) -> Leaf:
        """Return these and others."""
        return Held(np.concatenate([self.objects, *[one.objects for one in others if isinstance(one, Held)]]))

    @property
    def nbytes(self) -> int:
        """How many bytes the references take."""
        return int(self.objects.nbytes)


def collected(slot: Slot) -> Collected | None:
    """Return how the rows that come to a slot are collected by another correlation; None if they are not."""
    pattern = slot.reactive.pattern
    lives = [] if pattern is None else [one.configuration.get("life") for one in pattern.restrictions]
    return next((found for life in lives if (found := collected_of(life)) is not None), None)


def load_held(slot: Slot) -> Rows | None:
    """Return the rows in the memory of a slot, as `stages.load_rows`, with their values as they are."""
    entries = list(slot.memory.all())
    bare = [entry.with_value(None) for entry in entries]
    for one, entry in zip(bare, entries, strict=True):
        one.number = entry.number
    rows = rows_of(slot, bare, None)
    return None if rows is None else attrs.evolve(rows, payload=Held.of([entry.value for entry in entries]))
