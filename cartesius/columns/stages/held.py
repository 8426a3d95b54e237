"""Held values: Python objects of which columns hold only the references, for kernels that look at them themselves.

Rows that are collected from streams are such values: they never leave as columns, but from one kernel to another.

Source: DESIGN 4.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa

from cartesius.columns.stages.stored_rows import load_bare
from cartesius.columns.vectors.objects import Objects
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.expressions.phases import collected_of
from cartesius.plan import facts

if TYPE_CHECKING:
    from cartesius.columns.stages.rows import Rows
    from cartesius.expressions.phases import Collected
    from cartesius.language.families import Slot


class Held(Objects):
    """References to Python objects."""

    kind = "held"

    @cached_property
    def array(self) -> pa.Array:
        """As many nulls."""
        return pa.nulls(len(self))

    def to_arrow(self) -> pa.Array:
        """Refuse: they are no columns."""
        reason = "rows that are collected are given as they are"
        raise NotColumnar(reason)


def collected(slot: Slot) -> Collected | None:
    """Return how the rows that come to a slot are collected by another correlation; None if they are not."""
    pattern = slot.reactive.pattern
    lives = [] if pattern is None else facts.lives(pattern.restrictions)
    return next((found for life in lives if (found := collected_of(life)) is not None), None)


def load_held(slot: Slot) -> Rows | None:
    """Return the rows in the memory of a slot, as `stages.load_rows`, with their values as they are."""
    rows, values = load_bare(slot)
    return None if rows is None else attrs.evolve(rows, payload=Held(values))
