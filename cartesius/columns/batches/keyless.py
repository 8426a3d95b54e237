"""Null keys of a batch: what comes to a correlation without a key that it needs is set aside before a kernel sees it.

A row of a table that has lost such a key is a deletion. What comes out unmatched, as a side of an outer join wants it,
is left to the rows one by one.

Source: SEMANTICS 1.18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.batching.null_keys import aside
from cartesius.columns.batches.row_by_row import payloads_of
from cartesius.columns.bodies.computed import of_function, taken
from cartesius.columns.vectors.key_codes import check_hashable, nulls
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.batching.null_keys import Needed
    from cartesius.columns.bodies.computed import Column
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Late
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot


class Keyless:
    """What comes to the slots of one correlation without a key that it needs."""

    def __init__(self, join: Join) -> None:
        self._join = join
        self._columns: dict[int, list[tuple[Column, Needed]]] = {
            slot.index: [(of_function(one.key, slot), one) for one in join.bindings.needed[slot.index]]
            for slot in join.slots
        }

    def set_aside(self, slot: Slot, rows: Rows) -> tuple[Rows, list[tuple[int, Late]]]:
        """Return what comes to a slot without what has no key, and that as ``engine.late`` has it, with its step.

        Raises:
            NotColumnar: It comes out unmatched, or what it came from is not known here; or a key cannot be hashed.
        """
        asked = np.arange(len(rows)) if rows.deletes is None else np.flatnonzero(~rows.deletes)
        present = rows if rows.deletes is None else rows.take(asked)
        keys = [(column(present), one) for column, one in self._columns[slot.index]]
        for key, one in keys:
            if one.space is not None:
                check_hashable(key)
        found = [(mask, one) for key, one in keys if (mask := nulls(key)) is not None]
        if not found or not len(asked):
            return rows, []
        is_gone = np.logical_or.reduce([mask for mask, _ in found])
        places = np.flatnonzero(is_gone)
        missing = [[one for mask, one in found if mask[place]] for place in places.tolist()]
        if any(self._join.null_keys.is_wanted(slot, one) for one in missing):
            raise NotColumnar("an event without a key comes out unmatched")
        late = self._told(slot, present.take(places), missing)
        if not slot.reactive.table:
            return taken(rows, np.flatnonzero(~is_gone)), late
        deletes = np.zeros(len(rows), np.bool_) if rows.deletes is None else rows.deletes.copy()
        deletes[asked[places]] = True
        return attrs.evolve(rows, deletes=deletes), late

    def _told(self, slot: Slot, rows: Rows, missing: Sequence[Sequence[Needed]]) -> list[tuple[int, Late]]:
        if slot.reactive.pattern is not None and not slot.reactive.table:
            raise NotColumnar("a result has no key, and of what it was made is not known")
        keys = [None] * len(rows) if rows.key is None else rows.key.to_list()
        columns = (rows.start.tolist(), rows.end.tolist(), rows.ordinal.tolist(), keys, rows.position.tolist())
        late = []
        for value, lacks, start, end, ordinal, key, position in zip(
            payloads_of(slot.reactive, rows), missing, *columns, strict=True
        ):
            identity = (slot.source, key if slot.reactive.table else ordinal)
            late.append((position, aside(slot, value, (start, end), identity, lacks[0].reason)))
        return late
