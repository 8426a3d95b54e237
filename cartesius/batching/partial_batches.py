"""Batches of a correlation of which parts may be missing.

A row with a missing part is taken back when a partner comes; or, where results are facts, it is given once, when
nothing that may come can match its event any more. As that leaves, its partners note that they have met it.

Source: SEMANTICS 2.6 and 3.8.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cartesius.data.entries import GONE
from cartesius.results.outputs import hull

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cartesius.batching.batches import Batch
    from cartesius.data.entries import Candidate, Entry
    from cartesius.language.families import Slot
    from cartesius.rows.asked_rows import MaximalRows


class PartialBatch:
    """The present batch of one correlation of which parts may be missing."""

    def __init__(self, batch: Batch, rows: MaximalRows) -> None:
        self.batch = batch
        self.rows = rows
        self._final: list[tuple[Slot, Entry]] = []

    @property
    def has_finals(self) -> bool:
        """Whether nothing can match some entries any more, from this batch on."""
        return bool(self._final)

    def commit(self, fresh: Sequence[Sequence[Entry]], gone: Sequence[Sequence[Entry]]) -> None:
        """Take back the rows that are no more, and give the new ones."""
        batch = self.batch
        old, new = self.rows.changes(fresh, gone)
        if not batch.is_pure:
            old, new = [], [row for row in new if None not in row] + self._final_rows()
        touched = [e for entries in (*fresh, *gone) for e in entries]
        causes = [e.cause if e.state == GONE else (e.start, e.end) for e in touched]
        default = hull(causes) if causes else batch.cause
        for parts in old:
            batch.take_back(parts, batch.cause_of(parts, GONE, default))
        before, batch.cause = batch.cause, default
        batch.choose(new)
        batch.cause = before
        for slot, entry in self._final:
            self.let_go(slot, entry)
        self._final.clear()

    def finalise(self, slot: Slot, entry: Entry) -> None:
        """Note that nothing can match an entry any more."""
        self._final.append((slot, entry))

    def _final_rows(self) -> list[Candidate]:
        """Return the rows with missing parts that nothing can complete any more."""
        found = {
            self.batch.rank(row): row
            for slot, entry in self._final
            for row in self.rows.containing({slot.index: entry}, GONE)
            if None in row
        }
        return [found[rank] for rank in sorted(found)]

    def let_go(self, slot: Slot, entry: Entry) -> None:
        """Note with whom an entry has been matched, before it leaves: those have not missed it."""
        found = self.rows.partners(slot.index, entry) if self.rows.optional[slot.index] else ()
        for partner, met in news(slot.index, found):
            self.batch.world.journal.append(partial(setattr, partner, "more", partner.more))
            partner.note(met=met)

    def clear(self) -> None:
        """Forget a batch that failed; the journal has undone what it did."""
        self._final.clear()


def news(slot: int, partners: Iterable[Entry]) -> Iterator[tuple[Entry, tuple[int, ...]]]:
    """Iterate over those of the partners of an entry that are to note that they have met it, each with the note."""
    for partner in partners:
        met = partner.noted("met", ())
        if slot not in met:
            yield partner, (*met, slot)
