"""Coding: keys of rows as small numbers, one code for equal keys.

Invariant: codes are equal where the values are equal in Python's sense; what has no key has the last one.

Source: SEMANTICS 1.4 and 1.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Equals
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Vector


def codes_of(sides: Sequence[Vector]) -> tuple[list[NDArray[np.int64]], int]:
    """Return the codes of keys in one space, side by side, and that of what is no key, which is the highest."""
    codes, count = encoded([[side] for side in sides], skips_null=True)
    for side, mine in zip(sides, codes, strict=True):
        if (never := mine == NEVER).any():
            if isinstance(side, Struct):
                raise NotColumnar("a key has something in it that does not equal itself")
            mine[never] = count
    return codes, count


def codes_under(components: Sequence[Equals], rows: Sequence[Rows | None]) -> tuple[list[NDArray[np.int64]], int]:
    """Return the codes of the key that components are together, of the rows of each slot, and how many there are.

    What meets nothing has the highest code; without components all have one key.
    """
    if not components:
        return [np.zeros(0 if mine is None else len(mine), np.int64) for mine in rows], 2
    present = [index for index, mine in enumerate(rows) if mine is not None]
    found = []
    count = 1
    for component in components:
        sides = [[component.columns[index](mine)] for index in present if (mine := rows[index]) is not None]
        codes, count = encoded(sides, skips_null=component.skips_null)
        found.append(codes)
    if len(found) != 1:
        codes, count = encoded(
            [[Leaf(pa.array(one, mask=one == NEVER)) for one in side] for side in zip(*found, strict=True)],
            skips_null=True,
        )
    by_slot = dict(zip(present, codes, strict=True))
    every = [by_slot.get(index, np.zeros(0, np.int64)) for index in range(len(rows))]
    return [np.where(mine == NEVER, count, mine) if mine.min(initial=0) < 0 else mine for mine in every], count + 1
