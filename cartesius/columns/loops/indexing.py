"""Indexes of rows: by what a loop finds the rows of a slot, as codes of the values that its links and keys compare.

A *bundle* is all equalities between the same slots, taken together as one key. A restriction that has a copy a key
counts under the codes of a bundle, if that is its key alone, or under codes of the slot's own.

Invariant: two slots have one code only if their rows meet; what meets nothing has a negative code, another one in each
slot.

Source: SEMANTICS 1.4 and 1.13.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.computed import Equals, Keys
    from cartesius.columns.stages.rows import Rows


@attrs.frozen(eq=False)
class Bundle:
    """All equalities between the same slots.

    Args:
        slots: The slots.
        equalities: What is equal of them.
    """

    slots: tuple[int, ...]
    equalities: tuple[Equals, ...]

    @property
    def space(self) -> int | None:
        """The key space that it is, if it is one alone."""
        return self.equalities[0].space if len(self.equalities) == 1 else None

    def codes(self, rows: Sequence[Rows | None]) -> dict[int, NDArray[np.int64]]:
        """Return the codes of the rows of each of its slots.

        Raises:
            NotColumnar: There are no codes for such values.
        """
        present = {slot: mine for slot in self.slots if (mine := rows[slot]) is not None}
        found: list[list[NDArray[np.int64]]] = []
        for one in self.equalities:
            sides = [one.columns[slot](mine) for slot, mine in present.items()]
            codes, _ = encoded([[side] for side in sides], skips_null=one.skips_null)
            for side, code in zip(sides, codes, strict=True):
                _check(has_strange=isinstance(side, Struct) and bool((code == NEVER).any()))
            found.append(codes)
        codes = found[0]
        if len(found) > 1:
            columns = [[Leaf(pa.array(one, mask=one == NEVER)) for one in side] for side in zip(*found, strict=True)]
            codes, _ = encoded(columns, skips_null=True)
        by_slot = dict(zip(present, codes, strict=True))
        every = {slot: by_slot.get(slot, np.zeros(0, np.int64)) for slot in self.slots}
        return {slot: np.where(code == NEVER, -1 - slot, code) for slot, code in every.items()}


def bundles_of(keys: Keys) -> tuple[Bundle, ...]:
    """Return the equalities of a correlation, by the slots that they are between."""
    found: dict[tuple[int, ...], list[Equals]] = {}
    for one in keys.equalities():
        found.setdefault(tuple(sorted(one.columns)), []).append(one)
    return tuple([Bundle(slots, tuple(some)) for slots, some in sorted(found.items())])


def own_codes(keys: Keys, space: int, slot: int, rows: Rows | None) -> NDArray[np.int64]:
    """Return the codes of the keys of a slot in a key space; None is one of them."""
    if rows is None:
        return np.zeros(0, np.int64)
    side = keys.in_space(space, slot, rows)
    ((codes,), _) = encoded([[side]], skips_null=False)
    _check(has_strange=bool((codes == NEVER).any()))
    return codes


def _check(*, has_strange: bool) -> None:
    if has_strange:
        raise NotColumnar("a key has something in it that does not equal itself")


def drop(rows: list[int], row: int) -> bool:
    """Remove a row from those in a list, which ascend; return whether it was there."""
    place = bisect_left(rows, row)
    if place == len(rows) or rows[place] != row:
        return False
    del rows[place]
    return True


def index_of(columns: Sequence[Sequence[int]], n: int) -> Any:
    """Return the rows below ``n``, by what columns say of them; in one list if there are no columns."""
    if not columns:
        return list(range(n))
    found: dict[Any, list[int]] = {}
    for row, key in enumerate(columns[0] if len(columns) == 1 else zip(*columns, strict=True)):
        found.setdefault(key, []).append(row)
    return found


def contents_of(index: Any) -> NDArray[np.int64]:
    """Return the rows in an index, in order."""
    if isinstance(index, list):
        return np.array(index, np.int64)
    return np.sort(np.array([row for rows in index.values() for row in rows], np.int64))
