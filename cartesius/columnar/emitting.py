"""Emissions: which combinations a batch gives and takes back, in order; and as changes of a table, where it is one.

Source: SEMANTICS 1.2, 1.3, 1.9, 1.10 and 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columnar.candidates import hull
from cartesius.columnar.differences import differing
from cartesius.columnar.keys import encoded
from cartesius.columnar.overlap import FOREVER, NONE
from cartesius.columnar.rows import Flow
from cartesius.columnar.vectors import MISSING, NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.candidates import Parts
    from cartesius.columnar.chaining import Combinations
    from cartesius.columnar.vectorising import ColumnarBody
    from cartesius.columnar.vectors import Indices, Vector


@attrs.frozen(eq=False)
class Emissions:
    """What is given and taken back, in the order of steps and within them.

    Args:
        parts: The parts of each, by slot.
        position: The step of each.
        weight: 1, or -1 where it is taken back; None: all are given.
        since: Of changes of a table: when what caused it began.
        until: When that ended.
    """

    parts: Sequence[Parts]
    position: NDArray[np.int64]
    weight: NDArray[np.int8] | None = None
    since: NDArray[np.int64] | None = None
    until: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.position)


def in_order(
    found: Combinations, sizes: Sequence[int], *, oldest_first: bool, takes_back: bool
) -> tuple[Indices, NDArray[np.int64], NDArray[np.int8] | None]:
    """Return what is emitted, in order: which combination, in which step, and its weight.

    Args:
        found: The combinations.
        sizes: How many rows each slot has.
        oldest_first: Whether memories are visited so.
        takes_back: Whether those that end are taken back.
    """
    given = np.flatnonzero(found.born >= 0)
    which, position, is_given = given, found.born[given], np.ones(len(given), np.int64)
    if takes_back:
        ended = np.flatnonzero(found.died != FOREVER)
        which = np.concatenate([ended, given])
        position = np.concatenate([found.died[ended], position])
        is_given = np.concatenate([np.zeros(len(ended), np.int64), is_given])
    columns: list[tuple[NDArray[np.int64], int]] = [(position, int(position.max()) + 1 if len(position) else 1)]
    if takes_back:
        columns.append((is_given, 2))
    for slot, size in enumerate(sizes):
        row = found.rows[slot][which]
        rank = row if oldest_first else size - 1 - row
        columns.append((np.where(row == NONE, size, rank), size + 1))
    order = _sorted(columns)
    weight = (2 * is_given[order] - 1).astype(np.int8) if takes_back else None
    return which[order], position[order], weight


def _sorted(columns: Sequence[tuple[NDArray[np.int64], int]]) -> Indices:
    """Return the indices of rows by columns, each of which has values below its bound."""
    bits = sum((bound - 1).bit_length() for _, bound in columns)
    if bits >= 63:
        return np.lexsort([column for column, _ in reversed(columns)])
    packed = columns[0][0]
    for column, bound in columns[1:]:
        packed = (packed << (bound - 1).bit_length()) | column
    if len(packed) < 2 or (packed[1:] > packed[:-1]).all():
        return np.arange(len(packed))
    return np.argsort(packed)


def as_events(emissions: Emissions, body: ColumnarBody) -> Flow:
    """Return emissions as events."""
    value, counts = body.values(emissions.parts)
    start, end = hull(emissions.parts)
    position, weight = emissions.position, emissions.weight
    if counts is not None:
        position, start, end = (np.repeat(one, counts) for one in (position, start, end))
        weight = None if weight is None else np.repeat(weight, counts)
    return Flow(position, value, start, end, weight)


def as_changes(emissions: Emissions, body: ColumnarBody, key: Vector) -> Flow:
    """Return emissions as changes of a table, one for each key and step; at most one row of a key is there at a time.

    Args:
        emissions: What is given and taken back.
        body: What makes values of it.
        key: The key of each.

    Raises:
        NotColumnar: A key does not equal itself.
    """
    value, counts = body.values(emissions.parts)
    start, end = hull(emissions.parts)
    position, weight, since, until = emissions.position, emissions.weight, emissions.since, emissions.until
    assert weight is not None  # Invariant: what is not taken back is no table here
    assert since is not None
    assert until is not None
    if counts is not None:
        some = np.flatnonzero(counts)
        first = (np.cumsum(counts) - counts)[some]
        value, key = value.take(first), key.take(some)
        start, end, position, since, until = (column[some] for column in (start, end, position, since, until))
        weight = weight[some]
    (codes,), count = encoded([[key]], skips_null=False)
    if (codes < 0).any():
        reason = "a key does not equal itself"
        raise NotColumnar(reason)
    # The emissions of a key alternate: each step takes one back, or gives one, or both, in this order.
    packed = position * count + codes
    order = np.arange(len(packed)) if (packed[1:] >= packed[:-1]).all() else np.argsort(packed, kind="stable")
    alike = _neighbours(position[order], codes[order])
    head = np.flatnonzero(~alike)
    last = np.append(head[1:], len(order)) - 1
    first, final = order[head], order[last]
    since, until = np.minimum(since[first], since[final]), np.maximum(until[first], until[final])
    deletes = weight[final] < 0
    start = np.where(deletes, since, np.minimum(start[final], since))
    end = np.where(deletes, until, np.maximum(end[final], until))
    is_change = np.ones(len(first), np.bool_)
    both = np.flatnonzero(first != final)
    is_change[both] = differing(value, first[both], final[both])
    mentioned = np.flatnonzero(is_change)
    mentioned = mentioned[np.argsort(first[mentioned])]
    chosen = final[mentioned]
    gone = deletes[mentioned]
    return Flow(
        position[chosen],
        value.take(np.where(gone, MISSING, chosen), may_miss=True) if gone.any() else value.take(chosen),
        start[mentioned],
        end[mentioned],
        None,
        key.take(chosen),
        gone if gone.any() else None,
    )


def _neighbours(*columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows equal the one before them."""
    alike = np.zeros(len(columns[0]), np.bool_)
    if len(alike) > 1:
        alike[1:] = True
        for column in columns:
            alike[1:] &= column[1:] == column[:-1]
    return alike
