"""Alignment of columns: which rows a gate releases, and in which step; what it holds back; its state in the objects.

A row is released when each aligned slot has as many events under its key: so those of one row have the same ordinal
within the key, and come in the step of the last of them. That is an equality join on the ordinal.

Source: SEMANTICS 1.7; DESIGN 4 (zip per key is an equality join on the ordinal within the key).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE
from cartesius.columns.stages.stored_rows import entries_of, rows_of
from cartesius.columns.vectors.ordering import by_code, by_position, ranges
from cartesius.data.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.vectors.vectors import Indices
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join


@attrs.frozen(eq=False)
class Released:
    """What a gate lets through, one row of each slot at a time, in the order of release.

    Args:
        rows: Of each aligned slot: the indices of the rows released.
        position: The step of each release, ascending.
        code: The code of its key.
    """

    rows: tuple[Indices, ...]
    position: NDArray[np.int64]
    code: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.position)


def released(positions: Sequence[NDArray[np.int64]]) -> Released:
    """Return what is released of slots without keys, given the positions of their rows."""
    n = min(map(len, positions))
    position = positions[0][:n]
    for other in positions[1:]:
        position = np.maximum(position, other[:n])
    return Released((np.arange(n),) * len(positions), position, np.zeros(n, np.int64))


def released_by_key(
    positions: Sequence[NDArray[np.int64]], codes: Sequence[NDArray[np.int64]], count: int, steps: int
) -> Released:
    """Return what is released under each key.

    >>> import numpy as np
    >>> k, j = 0, 1
    >>> left, right = np.array([k, j]), np.array([j, k])
    >>> found = released_by_key([np.array([0, 1]), np.array([2, 3])], [left, right], 2, 4)
    >>> [rows.tolist() for rows in found.rows], found.position.tolist()
    ([[1, 0], [0, 1]], [2, 3])

    Args:
        positions: The positions of the rows of each slot, ascending.
        codes: The codes of their keys.
        count: How many codes there are.
        steps: How many steps the batch has.
    """
    counts = [np.bincount(mine, minlength=count) for mine in codes]
    least = counts[0]
    for other in counts[1:]:
        least = np.minimum(least, other)
    code, ordinal = ranges(np.zeros(count, np.int64), least)
    rows: list[Indices] = []
    position = np.full(len(code), BEFORE, np.int64)
    for mine, n, at in zip(codes, counts, positions, strict=True):
        by_key = by_code(mine, count)
        chosen = by_key[(np.cumsum(n) - n)[code] + ordinal]
        rows.append(chosen)
        np.maximum(position, at[chosen], out=position)
    order = by_position(position, steps)
    assert order is not None  # Invariant: a step has one release
    return Released(tuple([one[order] for one in rows]), position[order], code[order])


def the_rest(rows: Rows, taken: Indices) -> Rows:
    """Return the rows that are not taken, in their order."""
    held = np.ones(len(rows), np.bool_)
    held[taken] = False
    return rows.take(np.flatnonzero(held))


def load_held(installed: Installed, arriving: Mapping[int, Rows]) -> dict[int, Rows | None]:
    """Return what a gate holds of each of its slots, in the order of arrival."""
    found = {}
    for slot in installed.slots["slots"]:
        held = [entry for copy in installed.copies.values() for entry in copy.held.get(slot.name, ())]
        held.sort(key=lambda entry: _ordinal(entry.identity))
        found[slot.index] = rows_of(slot, held, arriving.get(slot.index))
    return found


def _ordinal(identity: Any) -> int:
    return identity[1] if type(identity) is tuple and len(identity) == 2 and type(identity[1]) is int else 0


def store_held(join: Join, installed: Installed, held: Mapping[int, Rows | None]) -> None:
    """Let the copies of a gate hold these rows, and nothing else."""
    installed.copies.clear()
    for slot in installed.slots["slots"]:
        rows = held.get(slot.index)
        if rows is None:
            continue
        queues: dict[Any, list[Any]] = {}
        for entry in entries_of(join, slot, rows):
            entry.number = -1
            queues.setdefault(installed.key_of(slot, entry), []).append(entry)
        for key, entries in queues.items():
            copy = installed.copies.get(key)
            if copy is None:
                copy = installed.make(key)
            copy.held = {**copy.held, slot.name: Queue(entries)}
