"""The floor of the keyed latest join: numpy's stable argsort by key, the last of each side, and gathering the rows.

It is what any columnar join by key has to do at least, without an engine around it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.arrow_rows import struct

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.arrow_rows import Batch


def _joined(batch: Batch, code: Callable[[Any], Any]) -> pa.Table:
    left, right = batch.values()
    order, at, key, speed = (
        np.concatenate([left[name].to_numpy(), right[name].to_numpy()]) for name in ("order", "at", "ship", "speed")
    )
    n, n_left = len(order), left.num_rows
    arrival = np.empty(n, np.int64)
    arrival[order] = np.arange(n)  # the orders are 0, 1, …
    by_key = arrival[np.argsort(code(key[arrival]), kind="stable")]
    place, is_right, sorted_key = np.arange(n), by_key >= n_left, key[by_key]
    is_first = np.ones(n, bool)
    is_first[1:] = sorted_key[1:] != sorted_key[:-1]
    begin = np.maximum.accumulate(np.where(is_first, place, 0))
    last_left = np.maximum.accumulate(np.where(is_right, -1, place))
    last_right = np.maximum.accumulate(np.where(is_right, place, -1))
    found = np.flatnonzero((last_left >= begin) & (last_right >= begin))
    result = np.full(n, -1)
    result[order[by_key[found]]] = found  # so results come in the order of arrival
    found = result[result >= 0]
    lefts, rights = by_key[last_left[found]], by_key[last_right[found]]
    one, other = at[lefts], at[rights]
    value = struct(key[lefts], speed[lefts], speed[rights])
    return pa.table({"value": value, "start": np.minimum(one, other), "end": np.maximum(one, other)})


keyed_latest = partial(_joined, code=lambda key: key)
"""Sort the keys as they are."""
coded_latest = partial(_joined, code=lambda key: key.astype(np.int16))
"""Sort 16-bit codes, which numpy does by radix: for orientation, as few keys have one."""
