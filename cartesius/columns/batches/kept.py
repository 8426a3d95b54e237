"""The rows of input tables that are kept for all correlations, while columns own the state: what has changed of them.

Source: SEMANTICS 2.3 (operators that add no state).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cartesius.columns.batches.shelves import LONGER
from cartesius.columns.stages.rows import Flow, Rows, joined
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import last_of_each
from cartesius.columns.vectors.vectors import MISSING
from cartesius.data.entries import ABSENT

if TYPE_CHECKING:
    from cartesius.storage.kept_rows import KeptRows

Parts: TypeAlias = "tuple[Rows, ...]"


def latest(before: Parts, coming: Rows) -> Parts:
    """Return the changes that matter in few parts, of which the later ones hold, each longer than the next."""
    parts = (*before, _of_each(coming))
    while len(parts) > 1 and len(parts[-2]) < LONGER * len(parts[-1]):
        parts = (*parts[:-2], _of_each(joined(parts[-2:])))
    return parts


def _of_each(rows: Rows) -> Rows:
    """Return, of each key, the last row, and what its place among the others follows from, as in a dict.

    That is its last deletion, and the first row after that.
    """
    assert rows.key is not None  # Invariant: rows of a table have keys
    (codes,), count = encoded([[rows.key]], skips_null=False)
    stays = np.zeros(len(codes) + 1, np.bool_)  # and one more place, for what is `MISSING`
    stays[last_of_each(codes, count)] = True
    since = np.arange(len(codes))
    if rows.deletes is not None:
        gone = np.full(count, MISSING)
        gone[codes[rows.deletes]] = np.flatnonzero(rows.deletes)
        stays[gone] = True
        since = since[since > gone[codes]]
    first = np.full(count, MISSING)
    first[codes[since[::-1]]] = since[::-1]
    stays[first] = True
    return rows.take(np.flatnonzero(stays[:-1]))


def keep(kept: KeptRows, parts: Parts) -> None:
    """Bring the rows that are kept up to date."""
    for changes in parts:
        assert changes.key is not None  # Invariant: rows of a table have keys
        deletes = [False] * len(changes) if changes.deletes is None else changes.deletes.tolist()
        for key, value, is_deleted in zip(changes.key.to_list(), changes.payload.to_list(), deletes, strict=True):
            kept.keep(key, ABSENT if is_deleted else value)


def as_flow(rows: Rows) -> Flow:
    """Return what an input gives that is an output as well."""
    return Flow(rows.position, rows.payload, rows.start, rows.end, None, rows.key, rows.deletes)
