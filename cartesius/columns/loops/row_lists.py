"""Lists of row numbers, which ascend: the memories of a loop, each in one list or in one a key."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
