"""Emissions: which combinations a batch gives and takes back, in order; and as changes of a table, where it is one.

Source: SEMANTICS 1.2, 1.3, 1.9, 1.10 and 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.lifetimes.overlap import FOREVER, NONE
from cartesius.columns.stages.candidates import hull
from cartesius.columns.stages.rows import Flow
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import begins, sorted_rows
from cartesius.columns.vectors.sameness import unchanged
from cartesius.columns.vectors.vectors import MISSING, NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.bodies.vectorising import ColumnarBody
    from cartesius.columns.lifetimes.chaining import Combinations
    from cartesius.columns.lifetimes.lifetimes import Lifetimes
    from cartesius.columns.stages.candidates import Parts
    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices, Vector


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
) -> tuple[list[Indices], NDArray[np.int64], NDArray[np.int8] | None]:
    """Return what is emitted, in order: the row of each slot, in which step, and the weight.

    Args:
        found: The combinations.
        sizes: How many rows each slot has.
        oldest_first: Whether memories are visited so.
        takes_back: Whether those that end are taken back.
    """
    which = np.flatnonzero(found.born >= 0)
    position, is_given = found.born[which], np.ones(len(which), np.int64)
    if takes_back:
        ended = np.flatnonzero(found.died != FOREVER)
        which = np.concatenate([ended, which])
        position = np.concatenate([found.died[ended], position])
        is_given = np.concatenate([np.zeros(len(ended), np.int64), is_given])
    columns = [(position, int(position.max()) + 1 if len(position) else 1), (is_given, 2)]
    for slot, size in enumerate(sizes):
        row = found.rows[slot][which]
        rank = row if oldest_first else size - 1 - row
        columns.append((np.where(row == NONE, size, rank), size + 1))
    position, is_given, *ranks = sorted_rows(columns)
    rows = [rank if oldest_first else size - 1 - rank for rank, size in zip(ranks, sizes, strict=True)]
    if oldest_first:
        rows = [np.where(row == size, NONE, row) for row, size in zip(rows, sizes, strict=True)]
    return rows, position, (2 * is_given - 1).astype(np.int8) if takes_back else None


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
        raise NotColumnar("a key does not equal itself")
    # The emissions of a key alternate: each step takes one back, or gives one, or both, in this order.
    packed = position * count + codes
    order = np.arange(len(packed)) if (packed[1:] >= packed[:-1]).all() else np.argsort(packed, kind="stable")
    head = np.flatnonzero(begins(packed[order]))
    last = np.append(head[1:], len(order)) - 1
    first, final = order[head], order[last]
    since, until = np.minimum(since[first], since[final]), np.maximum(until[first], until[final])
    deletes = weight[final] < 0
    start = np.where(deletes, since, np.minimum(start[final], since))
    end = np.where(deletes, until, np.maximum(end[final], until))
    is_change = np.ones(len(first), np.bool_)
    both = np.flatnonzero(first != final)
    is_change[both] = ~unchanged(value.take(first[both]), value.take(final[both]))
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
        key.take(first[mentioned]),  # as it was mentioned first: equal keys may differ in form
        gone if gone.any() else None,
    )


def causes(
    rows: Sequence[Rows],
    lifetimes: Sequence[Lifetimes],
    parts: Sequence[Parts],
    position: NDArray[np.int64],
    weight: NDArray[np.int8] | None,
    steps: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the times of what caused emissions: of parts that came, or what displaced them; or else of the step."""
    assert weight is not None  # Invariant: what is shown is taken back
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    since, until = np.full(len(position), most), np.full(len(position), least)
    step_since, step_until = np.full(steps, most), np.full(steps, least)
    given = weight > 0
    for mine, life, part in zip(rows, lifetimes, parts, strict=True):
        if not len(mine):
            continue
        came = given & (life.born[part.indices] == position)
        left = ~given & (life.died[part.indices] == position) & (life.by[part.indices] != NONE)
        cause = np.where(came, part.indices, life.by[part.indices])
        known = (came | left) & (part.indices != NONE)
        since = np.where(known, np.minimum(since, mine.start[cause]), since)
        until = np.where(known, np.maximum(until, mine.end[cause]), until)
        lives = life.born < life.died
        new = np.flatnonzero(lives & (life.born >= 0))
        gone = np.flatnonzero(lives & (life.by != NONE))
        for at, row in ((life.born[new], new), (life.died[gone], life.by[gone])):
            np.minimum.at(step_since, at, mine.start[row])
            np.maximum.at(step_until, at, mine.end[row])
    nothing_known = since > until
    since = np.where(nothing_known, step_since[position], since)
    until = np.where(nothing_known, step_until[position], until)
    return since, until
