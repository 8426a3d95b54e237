"""Equality of shown values: type-exact, NaN equal to itself, as `as_table` compares what it shows.

Source: SEMANTICS 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columnar.vectors import Leaf, Struct
from cartesius.outputs import is_unchanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columnar.vectors import Indices, Vector


def differing(vector: Vector, left: Indices, right: Indices) -> NDArray[np.bool_]:
    """Return in which pairs of values of one vector the right one differs from the left one.

    >>> differing(Leaf(pa.array([1.5, float("nan"), None])), np.array([0, 1, 1, 2]), np.array([0, 1, 2, 2])).tolist()
    [False, False, True, False]
    """
    found = np.zeros(len(left), np.bool_)
    if vector.valid is not None:
        found |= vector.valid[left] != vector.valid[right]
    if isinstance(vector, Struct):
        inner = np.zeros(len(left), np.bool_)
        for item in vector.items:
            inner |= differing(item, left, right)
        if vector.valid is not None:
            inner &= vector.valid[left] & vector.valid[right]  # a struct that is not there has no fields
        return found | inner
    return found | _leaves_differ(vector, left, right)


def _leaves_differ(leaf: Leaf, left: Indices, right: Indices) -> NDArray[np.bool_]:
    if leaf.kind == "" and leaf.is_number:
        one, other = leaf.numbers[left], leaf.numbers[right]
        differs: NDArray[np.bool_] = one != other
        if one.dtype.kind == "f":
            differs &= ~(np.isnan(one) & np.isnan(other))
        return differs
    if leaf.kind == "" and any(test(leaf.type) for test in _COMPARED):
        array = leaf.array
        found: NDArray[np.bool_] = pc.fill_null(
            pc.not_equal(array.take(pa.array(left)), array.take(pa.array(right))), fill_value=False
        ).to_numpy(zero_copy_only=False)
        return found
    pairs = zip(leaf.take(left).to_list(), leaf.take(right).to_list(), strict=True)
    return np.array([not is_unchanged(before, now) for before, now in pairs], np.bool_)


_COMPARED = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
