"""The merge of a band: two slots whose events come in the order of their times, as they mostly do.

All rows are sorted by key, stably, once; so they are by time, too, and what a row sees of the other slot is a run of
what came before it. The results are laid out by step, without another sort.

Invariant: what is found is what `band_pairs.near` and `band_pairs.counted` find.

Source: SEMANTICS 1.17 and 3.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE, arrival, by_key
from cartesius.columns.streams.band_pairs import FAR, extent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Ints
    from cartesius.plan.facts import Bound

_FEW: Final = 8


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


@attrs.frozen(eq=False)
class _Seen:
    """Rows that see others: which, and of how many of the other slot, from which of those on."""

    who: Ints
    since: Ints
    n_each: Ints


class Merge:
    """Two slots, merged.

    Args:
        rows: The rows of both.
        codes: Their keys.
        nobody: The code of what meets nothing.
        steps: How many steps there are.
    """

    def __init__(self, rows: Sequence[Rows], codes: Sequence[Ints], nobody: int, steps: int) -> None:
        self.rows = rows
        self.steps = steps
        self.n_left = len(rows[0])
        ends, code = _both([one.end for one in rows]), _both(codes)
        self.low, span = extent([ends])
        self.is_possible = span * (nobody + 2) <= FAR
        if not self.is_possible:
            return
        self.order = by_key(arrival(rows, steps), code, nobody + 1)
        n_each = np.bincount(code, minlength=nobody + 1)
        n = int(n_each[:nobody].sum())  # the rest meets nothing, and comes last
        self.order = self.order[:n]
        self.key = np.repeat(np.arange(nobody) * span, n_each[:nobody])
        self.places = self.key + (ends[self.order] - self.low)
        self.is_possible = not (self.places[1:] < self.places[:-1]).any()
        self.is_right = self.order >= self.n_left
        self.rights = np.zeros(n + 1, np.int64)  # how many rows of the right slot come before
        np.cumsum(self.is_right, out=self.rights[1:])
        self.position = _both([one.position for one in rows])[self.order]

    def of_side(self, left: int, right: int) -> Any:
        """Return a number for each row, that of its slot."""
        return left if left == right else np.where(self.is_right, right, left)

    def seen(self, back: Any, least: Any = 0) -> _Seen:
        """Return what fresh rows see of the other slot: what ends at most ``back`` before them, at least ``least``."""
        begin, who = _reached_back(self.places, np.maximum(self.places - back, self.key))
        end = who
        if np.any(least):
            latest = self.places[who] - (least if isinstance(least, int) else least[who])
            found = np.searchsorted(self.places, np.maximum(latest, self.key[who] - 1), side="right")
            end = np.minimum(found, who)
        keep = (self.position[who] != BEFORE) & (begin < end)
        who, begin, end = who[keep], begin[keep], end[keep]
        is_right, n_before, n_until = self.is_right[who], self.rights[begin], self.rights[end]
        since = np.where(is_right, begin - n_before, n_before)
        return _Seen(who, since, np.where(is_right, end - n_until, n_until) - since)

    def counted(self, clock: Ints | None, delays: Sequence[int | None], most: Any, found: _Seen | None) -> int:
        """Return how many candidates there are, given what is ``found`` ``most`` back, if that is all it asks."""
        if clock is None or delays[0] is delays[1] is None:
            is_before = self.position == BEFORE
            return _pairs(self.key, self.is_right) - _pairs(self.key[is_before], self.is_right[is_before])
        back = self.of_side(*[FAR if one is None else one for one in reversed(delays)])
        lags = [one.end - clock[one.position] for one in self.rows]  # of what is not fresh it is of no use
        if any(lag[one.position != BEFORE].any() for lag, one in zip(lags, self.rows, strict=True)):
            found, back = None, back + _both(lags)[self.order]
        if found is None or not np.array_equal(back, most):
            found = self.seen(back)
        return int(found.n_each.sum())

    def laid_out(self, found: _Seen, tuples: int, *, is_oldest_first: bool) -> Met:
        """Return the candidates, step by step."""
        at = np.full(self.steps, -1, np.int64)
        at[self.position[found.who]] = np.arange(len(found.who))
        by_step = at[at >= 0]
        who, since, n_each = (column[by_step] for column in (found.who, found.since, found.n_each))
        within = np.arange(int(n_each.sum())) - np.repeat(np.cumsum(n_each) - n_each, n_each)
        partner = np.repeat(since if is_oldest_first else since + n_each - 1, n_each)
        partner += within if is_oldest_first else -within
        now = np.repeat(self.order[who], n_each)
        is_right = now >= self.n_left
        left, right = now.copy(), now - self.n_left
        left[is_right] = self.order[~self.is_right][partner[is_right]]
        right[~is_right] = self.order[self.is_right][partner[~is_right]] - self.n_left
        return Met(np.repeat(self.position[who], n_each), (left, right), tuples)


def merged(
    rows: Sequence[Rows],
    codes: Sequence[Ints],
    nobody: int,
    bounds: Sequence[Bound],
    clock: Ints | None,
    delays: Sequence[int | None],
    steps: int,
    *,
    is_oldest_first: bool,
) -> Met | None:
    """Return what meets of two slots; None if their events do not come in the order of their times, key by key.

    Args:
        rows: The rows of both.
        codes: Their keys.
        nobody: The code of what meets nothing.
        bounds: What must hold.
        clock: The clock in each step, if rows leave when it has passed them; None: all stay.
        delays: How long after their end the clock has passed the rows of each slot; None: never.
        steps: How many steps there are.
        is_oldest_first: Whether memories are visited so.
    """
    if any(bound.from_start for bound in bounds) and any((one.start != one.end).any() for one in rows):
        return None
    merge = Merge(rows, codes, nobody, steps)
    if not merge.is_possible:
        return None
    most = merge.of_side(*[_most(bounds, slot) for slot in (0, 1)])
    least = merge.of_side(*[_least(bounds, slot) for slot in (0, 1)])
    found = merge.seen(most, least)
    tuples = merge.counted(clock, delays, most, None if np.any(least) else found)
    return merge.laid_out(found, tuples, is_oldest_first=is_oldest_first)


def _most(bounds: Sequence[Bound], slot: int) -> int:
    """Return how long before a row of ``slot`` the other may end."""
    return min([bound.most for bound in bounds if bound.of == slot != bound.since], default=FAR)


def _least(bounds: Sequence[Bound], slot: int) -> int:
    """Return how long before a row of ``slot`` the other must end; as they come in order, 0 says nothing."""
    least: int = max([0, *[-bound.most for bound in bounds if bound.since == slot != bound.of]])
    return least


def _both(columns: Sequence[Ints]) -> Ints:
    return np.concatenate(columns)


def _reached_back(places: Ints, since: Ints) -> tuple[Ints, Ints]:
    """Return from where each row sees those before it, by ``since``, and which rows those are that see any.

    Few rows see many: so it is looked at the rows before, one by one, and only what sees more is searched for.
    """
    active = np.flatnonzero(places[:-1] >= since[1:]) + 1
    who, begin = active, active - 1
    left = np.arange(len(active))
    for back in range(2, _FEW):
        more = active >= back
        more &= places[active - back] >= since[active]
        active, left = active[more], left[more]
        if not len(active):
            return begin, who
        begin[left] = active - back
    begin[left] = np.searchsorted(places, since[active])
    return begin, who


def _pairs(key: Ints, is_right: NDArray[np.bool_]) -> int:
    """Return how many pairs of equal keys there are, given the keys in order."""
    if not len(key):
        return 0
    begins = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    n_right = np.add.reduceat(is_right.astype(np.int64), begins)
    return int((n_right * (np.diff(begins, append=len(key)) - n_right)).sum())
