"""Meetings: which rows of two tables are there at the same time, found step by step.

Invariant: two rows meet once, in the step in which the later one comes; those that were both there before the batch,
in the step in which one of them goes, and if none does, not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.stages.rows import BEFORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.lifetimes.link_changes import Changes
    from cartesius.columns.vectors.vectors import Indices


@attrs.frozen(eq=False)
class Side:
    """The changes of one table, in order of arrival.

    Args:
        row: The row of each change.
        key: The code of its key.
        position: When it happens.
        is_there: Whether it is a row, and no deletion.
        until: Of each row when it goes.
        equated: Of each row the code of what must be equal; negative: it meets nothing.
        first: How many of the rows were there before the batch.
    """

    row: list[int]
    key: list[int]
    position: list[int]
    is_there: list[bool]
    until: NDArray[np.int64]
    equated: list[int]
    first: int

    @classmethod
    def empty(cls) -> Side:
        """Return the changes of a table that has none."""
        return cls([], [], [], [], np.zeros(0, np.int64), [], 0)

    @classmethod
    def of(cls, changes: Changes, equated: list[int], position: NDArray[np.int64]) -> Side:
        """Return the changes of a table whose rows, those that are deletions included, have these positions."""
        order = np.argsort(changes.row)
        until = np.zeros(len(position), np.int64)
        until[changes.row] = changes.until
        columns = (changes.row, changes.code, changes.position, changes.is_there)
        row, key, at, is_there = (one[order].tolist() for one in columns)
        return cls(row, key, at, is_there, until, equated, int(np.searchsorted(position, 0)))


@attrs.frozen(eq=False)
class Meetings:
    """Pairs of rows.

    Args:
        left: The rows of the first table.
        right: Those of the second.
        since: When they meet; `BEFORE`: they had met before the batch.
    """

    left: Indices
    right: Indices
    since: NDArray[np.int64]

    @classmethod
    def together(cls, parts: Sequence[Meetings]) -> Meetings:
        """Return all pairs."""
        return cls(*[np.concatenate(each) for each in zip(*[(p.left, p.right, p.since) for p in parts], strict=True)])

    def chosen(self, places: Indices) -> Meetings:
        """Return some of the pairs."""
        return Meetings(self.left[places], self.right[places], self.since[places])

    def entries(self, sides: Sequence[Side], steps: int) -> Iterator[tuple[int, bool, int]]:
        """Yield the steps in which pairs are given, and taken back, each with whether it is given, and which it is.

        In a step, what is taken back comes first; both are in order of the first rows, and then of the second, the
        newest first.
        """
        until = np.minimum(sides[0].until[self.left], sides[1].until[self.right])
        comes, goes = np.flatnonzero(self.since != BEFORE), np.flatnonzero(until < steps)
        place = np.concatenate([goes, comes])
        step = np.concatenate([until[goes], self.since[comes]])
        is_given = np.repeat([False, True], [len(goes), len(comes)])
        order = np.lexsort((-self.right[place], -self.left[place], is_given, step))
        return zip(step[order].tolist(), is_given[order].tolist(), place[order].tolist(), strict=True)


def met(left: Side, right: Side, chunk: int) -> Iterator[Meetings]:
    """Yield the pairs, some ``chunk`` at a time."""
    present = _Present(left, right)
    at = [0, 0]
    while at[0] < len(left.row) or at[1] < len(right.row):
        step = min(side.position[place] for side, place in zip((left, right), at, strict=True) if place < len(side.row))
        coming: tuple[list[int], list[int]] = ([], [])
        for number, side in enumerate((left, right)):
            place = at[number]
            while place < len(side.row) and side.position[place] == step:
                present.leave(number, side.key[place])
                if side.is_there[place]:
                    coming[number].append(place)
                place += 1
            at[number] = place
        for number, places in enumerate(coming):
            for place in places:
                present.come(number, place, step)
        if len(present.left) >= chunk:
            yield present.taken()
    if present.left:
        yield present.taken()


class _Present:
    """The rows of both tables that are there, and the pairs that have been found."""

    def __init__(self, left: Side, right: Side) -> None:
        self.sides = left, right
        self.left: list[int] = []
        self.right: list[int] = []
        self.since: list[int] = []
        # Of each side: the row of each key, and by what is equated and by key the rows that can meet others.
        self._rows: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._groups: tuple[dict[int, dict[int, int]], dict[int, dict[int, int]]] = ({}, {})

    def leave(self, number: int, key: int) -> None:
        """Take the row of a key away; pairs that it was in before the batch end."""
        side, other = self.sides[number], self.sides[1 - number]
        row = self._rows[number].pop(key, None)
        if row is None or (code := side.equated[row]) < 0:
            return
        del self._groups[number][code][key]
        if row < side.first:
            others = self._groups[1 - number].get(code, {}).values()
            self._add(number, row, [one for one in others if one < other.first], BEFORE)

    def come(self, number: int, place: int, step: int) -> None:
        """Put a row there; it meets those of the other table."""
        side = self.sides[number]
        row, key = side.row[place], side.key[place]
        self._rows[number][key] = row
        code = side.equated[row]
        if code < 0:
            return
        self._groups[number].setdefault(code, {})[key] = row
        if step != BEFORE:
            self._add(number, row, list(self._groups[1 - number].get(code, {}).values()), step)

    def taken(self) -> Meetings:
        """Return the pairs that have been found since the last time."""
        found = Meetings(*[np.array(one, np.int64) for one in (self.left, self.right, self.since)])
        self.left, self.right, self.since = [], [], []
        return found

    def _add(self, number: int, row: int, others: list[int], since: int) -> None:
        mine = [row] * len(others)
        self.left += others if number else mine
        self.right += mine if number else others
        self.since += [since] * len(others)
