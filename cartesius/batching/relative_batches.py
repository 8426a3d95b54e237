"""Batches whose results depend on what else is in memory, and are taken back when that changes.

A restriction may say of a candidate, by `admit`, what depends on its neighbours: that nothing lies between its parts.
An event that comes between or leaves then changes results of which it is no part, so under `retracting` the results of
the old and of the new memory are compared. Where all that comes is later than what was there, nothing old changes.

Invariant: what is left of the results is what a from-scratch evaluation of the memory gives (the law of `retracting`).

Source: SEMANTICS 1.14; incremental view maintenance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.data.entries import FRESH, GONE, LIVE
from cartesius.data.events import LATEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.batching.batches import Batch
    from cartesius.data.entries import Candidate, Entry
    from cartesius.rows.enumeration import Product


class RelativeBatch:
    """How a batch is compared with the one before."""

    def __init__(self, batch: Batch, product: Product) -> None:
        self.batch = batch
        self.product = product

    def concerns(self, fresh: Sequence[Sequence[Entry]], gone: Sequence[Sequence[Entry]]) -> bool:
        """Whether something leaves, or comes that is not later than all that was there."""
        first = min([entry.end for entries in fresh for entry in entries], default=LATEST)
        return any(gone) or any(
            e.end > first for slot in self.batch.slots for e in slot.memory.all() if e.state == LIVE
        )

    def commit(self) -> None:
        """Take back what the old memories gave and the new ones do not; give what only the new ones do."""
        old, new = self._admitted(FRESH), self._admitted(GONE)
        for rank, parts in old.items():
            if rank not in new:
                self.batch.take_back(parts, self.batch.cause_of(parts, GONE))
        self.batch.choose([parts for rank, parts in new.items() if rank not in old])

    def _admitted(self, skip: int) -> dict[tuple[float, ...], Candidate]:
        """Return the candidates that may reach the body, in the memories without what is in a state, in order."""
        found = {}
        first = self.batch.slots[0].memory
        with self.batch.body.looking(skip):
            for entry in first.all():
                if entry.state != skip:
                    for parts in self.product.containing({0: entry}, skip):
                        if self.batch.body.admits(parts):
                            found[self.batch.rank(parts)] = parts
        return dict(sorted(found.items()))
