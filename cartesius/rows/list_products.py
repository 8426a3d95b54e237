"""Products with lists: candidates that have several events of some slots.

The lists of a slot are made at its place in the nested loops, from the entries that its links find. There may be very
many, so none is made if another part is missing, or has been used up.

Invariant: as of any product; a candidate has a `Several` for each slot in ``lists``.

Source: ICFP 2018, doi:10.1145/3236762, section 2.6 (``reviews(5)``); SEMANTICS 1.3 to 1.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.entries import Several, is_spent
from cartesius.rows.enumeration import ALWAYS, Product, look_up, visit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from cartesius.data.entries import Candidate, Entry
    from cartesius.rows.enumeration import Link, Rank, Search, Step
    from cartesius.rows.listings import Listing
    from cartesius.storage.memories import Memory


class ListProduct(Product):
    """A product that has, of each slot in ``lists``, several events, each of which satisfies the links."""

    def __init__(
        self,
        memories: Sequence[Memory],
        links: Sequence[Link],
        rank: Rank,
        lists: Mapping[int, Listing],
        sequences: Sequence[Sequence[int]] = (),
        absent: Collection[int] = (),
    ) -> None:
        super().__init__(memories, links, rank, sequences, absent, lists)
        self.lists = lists

    def _from(self, fixed: int, entry: Entry, mark: int, skip: int) -> Iterator[Candidate]:
        if fixed in self.lists and not self.lists[fixed].takes(entry):
            return iter(())
        return super()._from(fixed, entry, mark, skip)

    def _extend(self, search: Search, level: int) -> Iterator[Candidate]:
        is_of_list = level < len(search.steps) and search.steps[level].slot in self.lists
        return self._extend_by_lists(search, level) if is_of_list else super()._extend(search, level)

    def _extend_by_lists(self, search: Search, level: int) -> Iterator[Candidate]:
        row, steps, fixed, mark, skip, reach = search
        step, later = steps[level], steps[level + 1 :]
        slot, before = step.slot, [step.slot for step in steps[:level]]
        pinned = row[slot] if slot == fixed else None
        bound = [row[other] for other in (*before, fixed)]
        sources = {ALWAYS, *before, fixed}

        def may_go_on() -> bool:  # there may be very many lists: none is made that cannot be completed
            return not is_spent(bound) and all(self._has_any(other, search, sources) for other in later)

        if not may_go_on():
            return
        known = frozenset(before) if fixed in self.lists else frozenset((*before, fixed))
        found = step.in_time(row, reach[slot] if step.reached else visit(step, self.memories, row))
        # Of the marked entries of the list itself, the newest is the last: what is newer is unmarked.
        since = float("inf") if slot > fixed else float("-inf") if pinned is None else pinned.number
        entries = [e for e in found if e.state != skip and (e.state != mark or e.number <= since)]
        for chosen in self.lists[slot].choices(entries, pinned, row, known, newest=not self.rank.is_oldest_first):
            row[slot] = Several(chosen)
            if later:
                yield from self._extend(search, level + 1)
            else:
                yield row.copy()
            if not may_go_on():
                break
        row[slot] = pinned

    def _has_any(self, step: Step, search: Search, bound: set[int]) -> bool:
        """Whether there may be an entry for a later step, as far as that follows from what is ``bound``."""
        if step.reached:
            found: Iterable[Entry] = search.reach[step.slot]
        elif all(source in bound for source, _, _ in step.sources):
            found = look_up(step, self.memories, search.row)
        else:
            return True
        return any(entry.state != search.skip and not is_spent((entry,)) for entry in found)
