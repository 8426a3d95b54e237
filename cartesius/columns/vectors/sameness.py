"""Sameness: which rows of two vectors of one type are the same, as `is_unchanged` says of two values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.vectors.objects import Objects
from cartesius.columns.vectors.vectors import DICT, PACKED, RECORD, TUPLE, Leaf, Struct
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Mask, Vector

_BY_FIELDS = (RECORD, "marked", DICT, TUPLE, "interval", "window")


def unchanged(old: Vector, new: Vector) -> NDArray[np.bool_]:
    """Return where ``new`` is what ``old`` was; both come from one vector."""
    if isinstance(old, Struct) and isinstance(new, Struct) and old.kind in _BY_FIELDS:
        same = np.ones(len(old), np.bool_)
        for before, now in zip(old.items, new.items, strict=True):
            same &= unchanged(before, now)
        return _with_missing(same, old.valid, new.valid)
    if isinstance(old, Leaf) and isinstance(new, Leaf) and not isinstance(old, Objects):
        if old.kind == PACKED:
            return _of_values(old, new, _equal(old, new))
        if old.is_number:
            numbers = old.numbers, new.numbers
            same = np.equal(*numbers)
            if numbers[0].dtype.kind == "f":
                same &= np.signbit(numbers[0]) == np.signbit(numbers[1])
                same |= np.isnan(numbers[0]) & np.isnan(numbers[1])
            return _with_missing(same, old.valid, new.valid)
        if not pa.types.is_nested(old.type):
            return _with_missing(_equal(old, new), old.valid, new.valid)
    return _of_values(old, new, np.zeros(len(old), np.bool_))


def unchanged_since(vector: Vector) -> NDArray[np.bool_]:
    """Return which values are what the one before is; the first is not."""
    same = np.zeros(len(vector), np.bool_)
    if len(vector) > 1:
        same[1:] = unchanged(vector.slice(0, len(vector) - 1), vector.slice(1, len(vector)))
    return same


def _equal(old: Leaf, new: Leaf) -> NDArray[np.bool_]:
    if old.type == pa.null():
        return np.ones(len(old), np.bool_)
    found: NDArray[np.bool_] = pc.equal(old.array, new.array).fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _with_missing(same: NDArray[np.bool_], old: Mask, new: Mask) -> NDArray[np.bool_]:
    """Correct what holds of the values where one of them, or both, are None."""
    if old is None and new is None:
        return same
    old, new = (np.ones(len(same), np.bool_) if valid is None else valid for valid in (old, new))
    found: NDArray[np.bool_] = (same & old & new) | ~(old | new)
    return found


def _of_values(old: Vector, new: Vector, same: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Ask Python about the values that are not the ``same`` for certain."""
    same = same.copy()
    asked = np.flatnonzero(~same)
    pairs = zip(old.take(asked).to_list(), new.take(asked).to_list(), strict=True)
    same[asked] = [is_unchanged(before, now) for before, now in pairs]
    return same
