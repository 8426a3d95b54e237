"""Carrying: the candidates of slots that keep their newest event of one key common to all, by one sort.

At each event there is one combination of the newest rows of its key, which takes the place of the one before it under
that key. So nothing is looked up: rows are carried forward.

Invariant: no two rows come in one step.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.lifetimes.overlap import NONE, carried
from cartesius.columns.stages.rows import BEFORE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices


@attrs.frozen(eq=False)
class Places:
    """The rows of all slots in the order of their arrival, those from before the batch in front.

    Args:
        of_slot: Of each slot the place of each of its rows.
        position: The step of each place.
        before: How many places are from before the batch.
    """

    of_slot: list[Indices]
    position: NDArray[np.int64]
    before: int

    def __len__(self) -> int:
        return len(self.position)


def places_of(rows: Sequence[Rows], steps: int, *, is_distinct: bool) -> Places | None:
    """Return the places of rows; None if two of them come in one step, unless it is known that they do not."""
    old = [int(np.searchsorted(mine.position, 0)) for mine in rows]
    before, new = sum(old), sum(map(len, rows)) - sum(old)
    of_slot = [mine.position[n:] + before for n, mine in zip(old, rows, strict=True)]
    position = np.arange(-before, steps)
    if new < steps or not is_distinct:
        is_taken = np.zeros(steps, np.bool_)
        for n, mine in zip(old, rows, strict=True):
            is_taken[mine.position[n:]] = True
        taken = np.flatnonzero(is_taken)
        if len(taken) < new:
            return None
        position = np.concatenate([position[:before], taken])
        rank = np.cumsum(is_taken) + (before - 1)
        of_slot = [rank[mine.position[n:]] for n, mine in zip(old, rows, strict=True)]
    position[:before] = BEFORE
    ends = np.cumsum(old)
    of_slot = [
        mine if not n else np.concatenate([np.arange(end - n, end), mine])
        for n, end, mine in zip(old, ends.tolist(), of_slot, strict=True)
    ]
    return Places(of_slot, position, before)


@attrs.frozen(eq=False)
class Rule:
    """Which combinations are results.

    Args:
        mandatory: The slots whose part must be there.
        momentary: Those whose part must have come just now.
        takes_back: Whether results are taken back.
    """

    mandatory: tuple[int, ...]
    momentary: tuple[int, ...]
    takes_back: bool


@attrs.frozen(eq=False)
class Found:
    """What is emitted.

    Args:
        rows: The row of each slot; `NONE` where the part is missing.
        place: Where each is emitted.
        weight: As in `Emissions`.
        tuples: How many candidates there were.
    """

    rows: list[Indices]
    place: Indices
    weight: NDArray[np.int8] | None
    tuples: int


def find(
    places: Places,
    codes: Sequence[NDArray[np.int64]],
    count: int,
    rule: Rule,
    nobody: int | None,
    holds: Callable[[list[Indices]], tuple[NDArray[np.bool_] | None, NDArray[np.bool_] | None]],
    visible: Sequence[NDArray[np.bool_] | None],
) -> Found:
    """Return what is emitted in a batch, in order.

    Args:
        places: The places of the rows.
        codes: Of each slot the key of each row, as a code.
        count: How many codes there are.
        rule: Which combinations are results.
        nobody: The code of what has no key and meets nothing; None if there is none.
        holds: Returns of combinations which are candidates, and which of those are results; None: all.
        visible: Of each slot, which rows are seen as parts that may be missing; None: all.
    """
    newest = carried(places.of_slot, codes, count, with_previous=rule.takes_back)
    parts = [
        part if seen is None else np.where((part != NONE) & seen[part], part, NONE)
        for part, seen in zip(newest.parts, visible, strict=True)
    ]
    is_result = _complete(places, codes, parts, rule, nobody)
    first = places.before
    if not rule.takes_back:
        chosen = _true_from(is_result, first)
        rows = [part[chosen] for part in parts]
        candidates, results = holds(rows)
        place = np.arange(len(places))[chosen]
        if candidates is not None:
            rows, place = [part[candidates] for part in rows], place[candidates]
        tuples = len(place)
        if results is not None:
            rows, place = [part[results] for part in rows], place[results]
        return Found(rows, place, None, tuples)
    chosen_ = np.flatnonzero(is_result)
    candidates, results = holds([part[chosen_] for part in parts])
    if candidates is not None:
        chosen_ = chosen_[candidates]
    tuples = int(len(chosen_) - np.searchsorted(chosen_, first))
    if candidates is not None or results is not None:
        is_result[:] = False
        is_result[chosen_ if results is None else chosen_[results]] = True
    assert newest.previous is not None  # Invariant: it is asked for
    may_repeat = any(one is not None for one in visible)
    return _with_retractions(places, parts, newest.previous, is_result, tuples, may_repeat=may_repeat)


def _with_retractions(
    places: Places,
    parts: list[Indices],
    previous: Indices,
    is_result: NDArray[np.bool_],
    tuples: int,
    *,
    may_repeat: bool,
) -> Found:
    first, n = places.before, len(places) - places.before
    before = previous[first:]
    was_result = is_result[before] & (before != NONE)
    now = is_result[first:]
    if may_repeat:  # what comes may not be seen
        same = was_result & now
        for part in parts:
            same &= part[first:] == part[before]
        was_result, now = was_result & ~same, now & ~same
        tuples -= int(same.sum())
    which = np.empty(2 * n, np.int64)
    which[0::2], which[1::2] = before, np.arange(first, len(places))
    is_emitted = np.empty(2 * n, np.bool_)
    is_emitted[0::2], is_emitted[1::2] = was_result, now
    emitted = np.flatnonzero(is_emitted)
    which = which[emitted]
    weight = ((emitted & 1) * 2 - 1).astype(np.int8)
    return Found([part[which] for part in parts], first + (emitted >> 1), weight, tuples)


def _complete(
    places: Places,
    codes: Sequence[NDArray[np.int64]],
    parts: Sequence[Indices],
    rule: Rule,
    nobody: int | None,
) -> NDArray[np.bool_]:
    """Return in which places all parts are there that must be, of a key that meets anything."""
    found = np.full(len(places), bool(rule.mandatory))
    for slot in rule.mandatory:
        found &= parts[slot] != NONE
    if not rule.mandatory:
        for part in parts:
            found |= part != NONE
    for slot in rule.momentary:
        came = np.zeros(len(places), np.bool_)
        came[places.of_slot[slot]] = True
        found &= came
    if nobody is not None:
        for place, code in zip(places.of_slot, codes, strict=True):
            found[place[code == nobody]] = False
    return found


def _true_from(mask: NDArray[np.bool_], first: int) -> slice | Indices:
    """Return where a mask is true from an index on, as a slice if that is all of the rest from somewhere on."""
    rest = mask[first:]
    start = int(rest.argmax()) if len(rest) else 0
    if len(rest) and rest[start:].all():
        return slice(first + start, len(mask))
    return first + np.flatnonzero(rest)
