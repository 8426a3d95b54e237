"""Maximal partial rows of a body in direct style: the body itself is asked, with None for what is missing.

Nothing is known of such a body, so every combination is tried in the old and in the new memory, whatever has changed:
use it over memories that are bounded, or write ``where`` and ``yields``, whose conditions are indexed (`partial_rows`).

Source: SEMANTICS 2.6.
"""

from __future__ import annotations

from itertools import product as cartesian_product
from typing import TYPE_CHECKING, TypeAlias

import attrs

from cartesius.data.entries import FRESH, GONE, Candidate
from cartesius.rows.enumeration import Link, newest_first
from cartesius.rows.partial_rows import PartialRows, has_met

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from cartesius.data.entries import Entry
    from cartesius.rows.enumeration import Rank
    from cartesius.storage.memories import Memory


@attrs.frozen(eq=False)
class AskedRows:
    """The maximal partial rows over ``memories`` for which ``holds``."""

    memories: Sequence[Memory]
    links: Sequence[Link]
    optional: Sequence[bool]  # of each slot whether its part may be missing
    holds: Callable[[Candidate], bool]
    rank: Rank

    def changes(
        self, fresh: Sequence[Sequence[Entry]], gone: Sequence[Sequence[Entry]]
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Return the rows that a batch takes away and those that it adds, each in order."""
        old, new = self._rows(FRESH), self._rows(GONE)
        return (
            sorted((row for key, row in old.items() if key not in new), key=self.rank),
            sorted((row for key, row in new.items() if key not in old), key=self.rank),
        )

    def containing(self, pins: Mapping[int, Entry | None], skip: int) -> list[Candidate]:
        """Return the rows that have what is pinned, without what is in state ``skip``, in order."""
        rows = self._rows(skip).values()
        return sorted((row for row in rows if all(row[slot] is part for slot, part in pins.items())), key=self.rank)

    def partners(self, slot: int, entry: Entry) -> list[Entry]:
        """Return the entries that match one of ``slot``."""
        rows = self.containing({slot: entry}, GONE)
        return [part for row in rows for other, part in enumerate(row) if part is not None and other != slot]

    def met_without(self, slot: int, spaces: Collection[int]) -> set[int]:
        """Return the slots that may have a part in a row of an event of ``slot`` that has no key in some spaces."""
        keyed = {
            other
            for link in self.links
            for own, other in ((link.left, link.right), (link.right, link.left))
            if own == slot and link.left_position in spaces
        }
        return set(range(len(self.memories))) - keyed

    def _rows(self, skip: int) -> dict[tuple[float, ...], Candidate]:
        choices: list[list[Entry | None]] = []
        for memory, may_miss in zip(self.memories, self.optional, strict=True):
            memory.visited += len(memory)
            present: list[Entry | None] = [entry for entry in memory.all() if entry.state != skip]
            choices.append([*present, None] if may_miss else present)
        rows: dict[tuple[float, ...], Candidate] = {}
        for parts in cartesian_product(*choices):
            row = list(parts)
            if self._is_there(row) and self._are_linked(row) and self.holds(row):
                rows[newest_first(row)] = row
        for row in list(rows.values()):
            for slot, part in enumerate(row):
                if part is not None and self.optional[slot]:
                    rows.pop(newest_first([*row[:slot], None, *row[slot + 1 :]]), None)
        return rows

    @staticmethod
    def _is_there(row: Candidate) -> bool:
        return any(part is not None for part in row) and not has_met(row)

    def _are_linked(self, row: Candidate) -> bool:
        for link in self.links:
            left, right = row[link.left], row[link.right]
            if left is not None and right is not None:
                value = self.memories[link.left].probes[link.left_position](left)
                if value is None or value != self.memories[link.right].probes[link.right_position](right):
                    return False
        return True


MaximalRows: TypeAlias = AskedRows | PartialRows
"""What `optionally` enumerates, whether its conditions are asked or known."""
