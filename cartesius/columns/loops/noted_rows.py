"""Noted rows: what a loop notes of the rows in memory, as columns of theirs, so that they are taken apart by key.

Invariant: rows and what is noted of them are of one length, and in one order.

Source: SEMANTICS 1.5 and 1.14.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.vectors import Leaf, Struct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows

    Ints = NDArray[np.int64]


def noted(rows: Rows | None, uses: Ints | None, met: bytes) -> Rows | None:
    """Return rows with their uses left (0 if they are not limited), and whether they have met a partner that left."""
    if rows is None:
        return None
    left = np.zeros(len(rows), np.int64) if uses is None else uses
    notes = [Leaf(pa.array(column)) for column in (left, np.frombuffer(met, np.uint8))]
    return attrs.evolve(rows, payload=Struct("", ("payload", "uses", "met"), [rows.payload, *notes], len(rows)))


def plain(rows: Rows | None) -> tuple[Rows | None, Ints, bytes]:
    """Return what `noted` was given."""
    if rows is None:
        return None, np.zeros(0, np.int64), b""
    assert isinstance(rows.payload, Struct)  # Invariant: it is as `noted` has made it
    payload, uses, met = rows.payload.items
    assert isinstance(uses, Leaf)
    assert isinstance(met, Leaf)
    return attrs.evolve(rows, payload=payload), uses.numbers, met.numbers.tobytes()
