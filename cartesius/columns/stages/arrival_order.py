"""Arrivals: the rows of all slots of a correlation in one order, those of slot 0 counted first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows

    Ints = NDArray[np.int64]


def arrival(rows: Sequence[Rows], steps: int) -> Ints:
    """Return the order of arrival of all rows; what was there before the batch comes first."""
    n_before = [int(np.searchsorted(one.position, 0)) for one in rows]
    firsts = np.cumsum([0, *[len(one) for one in rows[:-1]]]).tolist()
    at = np.full(steps, -1, np.int64)
    for one, n, first in zip(rows, n_before, firsts, strict=True):
        at[one.position[n:]] = np.arange(first + n, first + len(one))
    fresh = at[at >= 0] if (at < 0).any() else at
    if not any(n_before):
        return fresh
    retained = np.concatenate([first + np.arange(n) for n, first in zip(n_before, firsts, strict=True)])
    number = np.concatenate([one.number[:n] for one, n in zip(rows, n_before, strict=True)])
    return np.concatenate([retained[np.argsort(number, kind="stable")], fresh])


def by_key(order: Ints, code: Ints, count: int) -> Ints:
    """Return an order of rows sorted by key, stably, given the code of each row, below ``count``."""
    if not code.any():
        return order
    small = code.astype(np.uint16) if count <= 1 << 16 else code
    return order[np.argsort(small[order], kind="stable")]
