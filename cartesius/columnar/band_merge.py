"""The merge of a band: two slots whose events come in the order of their times, as they mostly do.

All rows are sorted by key, stably, once; so they are by time, too, and what a row meets of the other slot is a run of
what came before it, of which one binary search finds the beginning. The results are laid out by step, without a sort.

Invariant: what is found is what `band_pairs.near` and `band_pairs.counted` find.

Source: SEMANTICS 1.17 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
    key = code * span
    places = key + (end - low)
    if (places[1:] < places[:-1]).any():
        return None
    is_right = order >= n_left
    rights = np.zeros(len(order) + 1, np.int64)  # how many rows of the right slot come before
    np.cumsum(is_right, out=rights[1:])
    tuples = _counted(code, position, _both(gone)[order], rights, nobody, steps)
    mosts = [_most(bounds, slot) for slot in (0, 1)]
    most = mosts[0] if mosts[0] == mosts[1] else np.where(is_right, mosts[1], mosts[0])
    begin, meets = _reached_back(places, np.maximum(places - most, key))
    until = meets
    if any(bound.most < 0 and bound.of != bound.since for bound in bounds):
        latest = places[meets] + np.where(is_right[meets], _least(bounds, 1), _least(bounds, 0))
        until = np.minimum(np.searchsorted(places, np.maximum(latest, key[meets] - 1), side="right"), meets)
    keep = (position[meets] != BEFORE) & (code[meets] != nobody) & (begin < until)
    meets, begin, until = meets[keep], begin[keep], until[keep]
    side = is_right[meets]
    since = np.where(side, begin - rights[begin], rights[begin])  # as places among the rows of the other slot
    n_each = np.where(side, until - rights[until], rights[until]) - since
    of_slot = (order[~is_right], order[is_right] - n_left)
    return _laid_out(order[meets], n_left, of_slot, position[meets], since, n_each, tuples, steps, is_oldest_first)


def _most(bounds: Sequence[Bound], slot: int) -> int:
    """Return how long before a row of ``slot`` the other may end."""
    return min([bound.most for bound in bounds if bound.of == slot != bound.since], default=FAR)


def _least(bounds: Sequence[Bound], slot: int) -> int:
    """Return how long before a row of ``slot`` the other must end, as a number that is not positive."""
    return min([0, *[bound.most for bound in bounds if bound.since == slot != bound.of]])


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


_FEW: Final = 8


def _reached_back(places: Ints, since: Ints) -> tuple[Ints, Ints]:
    """Return from where each row sees those before it, by ``since``, and which rows those are that see any.

    Few rows see many: so it is looked at the rows before, one by one, and only what sees more is searched for.
    """
    active = np.flatnonzero(places[:-1] >= since[1:]) + 1
    meets, begin = active, active - 1
    left = np.arange(len(active))
    for back in range(2, _FEW):
        more = active >= back
        more &= places[active - back] >= since[active]
        active, left = active[more], left[more]
        if not len(active):
            return begin, meets
        begin[left] = active - back
    begin[left] = np.searchsorted(places, since[active])
    return begin, meets


def _counted(code: Ints, position: Ints, gone: Ints, rights: Ints, nobody: int, steps: int) -> int:
    """Return how many candidates there are: for each row, those of the other slot that come while it is there."""
    is_right = rights[1:] > rights[:-1]
    is_before = position == BEFORE
    has_before = bool(is_before.any())
    if not (gone < steps).any():
        total = _pairs(code, is_right, nobody)
        return total - (_pairs(code[is_before], is_right[is_before], nobody) if has_before else 0)
    key = code * (steps + 2)
    times = key + position
    until = key + gone
    here = np.flatnonzero(times[1:] < until[:-1])  # who sees something after it
    end = here + 2
    active, left = here, np.arange(len(here))
    for ahead in range(2, _FEW):
        more = active < len(times) - ahead
        more[more] = times[active[more] + ahead] < until[active[more]]
        active, left = active[more], left[more]
        end[left] = active + ahead + 1
    end[left] = np.searchsorted(times, until[active])
    begin = here + 1
    if has_before:  # what was there before meets what is fresh
        begin = np.maximum(begin, np.searchsorted(times, key[here]))
        end = np.maximum(begin, end)
    n_rights = rights[end] - rights[begin]
    found = np.where(is_right[here], end - begin - n_rights, n_rights)
    return int(found[code[here] != nobody].sum())


def _pairs(code: Ints, is_right: NDArray[np.bool_], nobody: int) -> int:
    """Return how many pairs of equal keys there are."""
    n_right = np.bincount(code[is_right], minlength=nobody + 1)[:nobody]
    return int((n_right * np.bincount(code[~is_right], minlength=nobody + 1)[:nobody]).sum())


def _laid_out(
    comes: Ints,
    n_left: int,
    of_slot: tuple[Ints, Ints],
    position: Ints,
    since: Ints,
    n_each: Ints,
    tuples: int,
    steps: int,
    is_oldest_first: bool,
) -> Met:
    """Return the candidates, step by step.

    Args:
        comes: The rows that come, those of the left slot counted first.
        n_left: How many the left slot has.
        of_slot: The rows of each slot, by key and arrival.
        position: In which step each comes.
        since: Where its partners begin, among those.
        n_each: How many they are.
        tuples: How many candidates there were.
        steps: How many steps there are.
        is_oldest_first: Whether memories are visited so.
    """
    at = np.full(steps, -1, np.int64)
    at[position] = np.arange(len(position))
    in_order = at[at >= 0]
    comes, position, since, n_each = (column[in_order] for column in (comes, position, since, n_each))
    within = np.arange(int(n_each.sum())) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    partner = np.repeat(since if is_oldest_first else since + n_each - 1, n_each)
    partner += within if is_oldest_first else -within
    now = np.repeat(comes, n_each)
    side = now >= n_left
    left, right = now.copy(), now - n_left
    left[side] = of_slot[0][partner[side]]
    right[~side] = of_slot[1][partner[~side]]
    return Met(np.repeat(position, n_each), (left, right), tuples)
