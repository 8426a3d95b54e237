"""The events of a batch one by one: what is enumerated where the parts of a correlation never meet.

Invariant: every candidate has one part; they come in the order of their arrival, slot by slot.

Source: SEMANTICS 1.2 to 1.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from cartesius.data.entries import Candidate, Entry
    from cartesius.rows.enumeration import Rank


class Alone:
    """The events of a batch, each a candidate of its own: what is enumerated where parts come alone."""

    def __init__(self, rank: Rank, absent: Collection[int] = ()) -> None:
        self.rank = rank
        self.absent = absent

    def candidates(self, marked: Sequence[Sequence[Entry]], mark: int) -> Iterator[Candidate]:
        """Yield one candidate for each entry of state ``mark``, in order: all other parts are missing."""
        for slot, entries in enumerate(marked):
            if slot in self.absent:
                continue
            rows = [
                [entry if s == slot else None for s in range(len(marked))] for entry in entries if entry.state == mark
            ]
            yield from sorted(rows, key=self.rank)
