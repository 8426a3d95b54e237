"""The merge of a band: two slots whose events come in the order of their times, as they mostly do.

All rows are sorted by key, stably, once; so they are by time, too, and what a row meets of the other slot is a run of
what came before it, of which one binary search finds the beginning. The results are laid out by step, without a sort.

Invariant: what is found is what `band_pairs.near` and `band_pairs.counted` find.

Source: SEMANTICS 1.17 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columnar.band_pairs import FAR
from cartesius.columnar.rows import BEFORE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.band_pairs import Bound
    from cartesius.columnar.rows import Rows

    Ints = NDArray[np.int64]


@attrs.frozen(eq=False)
class Met:
    """What has met.

    Args:
        position: The steps of the candidates, ascending.
        rows: Their rows, of both slots, in the order in which they are enumerated.
        tuples: How many candidates there were.
    """

    position: Ints
    rows: tuple[Ints, Ints]
    tuples: int


def merged(
    rows: Sequence[Rows],
    codes: Sequence[Ints],
    nobody: int,
    gone: Sequence[Ints],
    bounds: Sequence[Bound],
    steps: int,
    *,
    is_oldest_first: bool,
) -> Met | None:
    """Return what meets of two slots; None if their events do not come in the order of their times, key by key.

    Args:
        rows: The rows of both.
        codes: Their keys.
        nobody: The code of what meets nothing.
        gone: Before which step they leave.
        bounds: What must hold.
        steps: How many steps there are.
        is_oldest_first: Whether memories are visited so.
    """
    if any(bound.from_start for bound in bounds) and any((one.start != one.end).any() for one in rows):
        return None
    order = _by_key(rows, codes, nobody + 1, steps)
    code, end, position = (_both(column)[order] for column in (codes, [one.end for one in rows], _positions(rows)))
    low, n_left = int(end.min(initial=0)), len(rows[0])
    span = int(end.max(initial=0)) - low + 1
    if span * (nobody + 2) > FAR:
        return None
    places = code * span + (end - low)
    if (places[1:] < places[:-1]).any():
        return None
    is_right = order >= n_left
    rights = np.concatenate([[0], np.cumsum(is_right)])
    before = (np.arange(len(order) + 1) - rights, rights)  # how many rows of each slot come before
    tuples = _counted(code, position, _both(gone)[order], is_right, before, nobody, steps)
    of_slot = (order[~is_right], order[is_right] - n_left)
    begin, n_each = np.zeros(steps, np.int64), np.zeros(steps, np.int64)
    is_fresh = (position != BEFORE) & (code != nobody)
    for slot, other in ((0, 1), (1, 0)):
        mine = np.flatnonzero(is_fresh & (is_right == bool(slot)))
        since, until = _run(mine, slot, places, span, bounds)
        at = position[mine]
        begin[at] = before[other][since]
        n_each[at] = np.maximum(before[other][until] - before[other][since], 0)
    return _laid_out(rows, of_slot, begin, n_each, tuples, is_oldest_first=is_oldest_first)


def _both(columns: Sequence[Ints]) -> Ints:
    return np.concatenate(columns)


def _positions(rows: Sequence[Rows]) -> list[Ints]:
    return [one.position for one in rows]


def _by_key(rows: Sequence[Rows], codes: Sequence[Ints], count: int, steps: int) -> Ints:
    """Return the order of all rows, those of the left slot counted first, by key and arrival."""
    n_before = [int(np.searchsorted(one.position, 0)) for one in rows]
    firsts = (0, len(rows[0]))
    at = np.full(steps, -1, np.int64)
    for one, n, first in zip(rows, n_before, firsts, strict=True):
        at[one.position[n:]] = np.arange(first + n, first + len(one))
    retained = np.concatenate([first + np.arange(n) for n, first in zip(n_before, firsts, strict=True)])
    number = np.concatenate([one.number[:n] for one, n in zip(rows, n_before, strict=True)])
    arrival = np.concatenate([retained[np.argsort(number, kind="stable")], at[at >= 0] if (at < 0).any() else at])
    if count <= 2:
        code = _both(codes)[arrival]
        return arrival if (code == 0).all() else arrival[np.argsort(code.astype(np.uint8), kind="stable")]
    code = _both(codes)[arrival]
    return arrival[np.argsort(code.astype(np.uint16) if count <= 1 << 16 else code, kind="stable")]


def _run(mine: Ints, slot: int, places: Ints, span: int, bounds: Sequence[Bound]) -> tuple[Ints, Ints]:
    """Return from where, and until where, what each of ``mine`` meets lies among all rows."""
    key = places[mine] // span * span
    since, until = key, None
    for bound in bounds:
        if bound.of == slot and bound.since != slot:
            since = np.maximum(since, places[mine] - bound.most)
        elif bound.since == slot and bound.of != slot and bound.most < 0:
            found = places[mine] + bound.most
            until = found if until is None else np.minimum(until, found)
    begin = np.searchsorted(places, since)
    if until is None:
        return begin, mine
    return begin, np.minimum(np.searchsorted(places, np.maximum(until, key - 1), side="right"), mine)


def _counted(
    code: Ints,
    position: Ints,
    gone: Ints,
    is_right: NDArray[np.bool_],
    before: tuple[Ints, Ints],
    nobody: int,
    steps: int,
) -> int:
    """Return how many candidates there are: for each row, those of the other slot that come while it is there."""
    ends = np.cumsum(np.bincount(code, minlength=nobody + 1))
    until = ends[code]  # where the rows of the key end
    here = np.arange(len(code))
    if (gone < steps).any() or position.min(initial=0) == BEFORE:
        times = code * (steps + 1) + (position + 1)
        if (gone < steps).any():
            until = np.searchsorted(times, code * (steps + 1) + np.minimum(gone, steps - 1) + 1)
            until = np.where(gone < steps, until, ends[code])
        if position.min(initial=0) == BEFORE:  # what was there before meets what is fresh
            fresh = np.searchsorted(times, np.arange(nobody + 1) * (steps + 1) + 1)
            here = np.maximum(here, fresh[code])
    total = 0
    for side, other in ((~is_right, 1), (is_right, 0)):
        mine = side & (code != nobody)
        total += int((before[other][until[mine]] - before[other][here[mine]]).sum())
    return total


def _laid_out(
    rows: Sequence[Rows], of_slot: tuple[Ints, Ints], begin: Ints, n_each: Ints, tuples: int, *, is_oldest_first: bool
) -> Met:
    """Return the candidates, step by step, given where the partners of each begin, and how many they are."""
    n = int(n_each.sum())
    position = np.repeat(np.arange(len(n_each)), n_each)
    within = np.arange(n) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    chosen = np.repeat(begin, n_each)
    chosen += within if is_oldest_first else np.repeat(n_each, n_each) - 1 - within
    comes = np.zeros(len(n_each), np.int64)  # which row comes in each step
    is_left = np.zeros(len(n_each), np.bool_)
    for slot, one in enumerate(rows):
        first = int(np.searchsorted(one.position, 0))
        comes[one.position[first:]] = np.arange(first, len(one))
        is_left[one.position[first:]] = slot == 0
    mine, side = comes[position], is_left[position]
    left, right = mine.copy(), mine
    left[~side] = of_slot[0][chosen[~side]]
    right[side] = of_slot[1][chosen[side]]
    return Met(position, (left, right), tuples)
