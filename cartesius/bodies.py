"""The body of a correlation at work: which candidates satisfy it, and what it yields for them.

A body is pure; what clauses of restrictions may do, it may not.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10 (trigger).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.errors import add_place
from cartesius.families import admit
from cartesius.matches import Match
from cartesius.resumptions import running

if TYPE_CHECKING:
    from cartesius.batches import Batch
    from cartesius.enumeration import Candidate
    from cartesius.patterns import Pattern


class Body:
    """Where and yields of one correlation."""

    def __init__(self, pattern: Pattern, batch: Batch) -> None:
        self.batch = batch
        self.name = batch.name
        self.where, self.yields = pattern.body({slot.name: slot.index for slot in batch.slots})
        shown = batch.bindings.shown
        if shown is not None:
            where, yields = self.where, self.yields
            self.where = None if where is None else lambda parts: where(shown(parts))
            self.yields = lambda parts: yields(shown(parts))
        self.is_filtered = False  # restrictions say which candidates reach it

    def admits(self, parts: Candidate) -> bool:
        """Whether a candidate may reach the body, by what restrictions say."""
        return not self.is_filtered or bool(self.batch.operations[admit](parts))

    def evaluate(self, parts: Candidate) -> Match | None:
        """Return what a candidate yields, if it satisfies the condition."""
        if not self.admits(parts):
            return None
        here = running()
        copy, here.copy = here.__dict__.get("copy"), None  # what clauses may do, a body may not
        try:
            if self.batch.partial is None and self.where is not None and not self.where(parts):
                return None
            values = self.yields(parts)
        except Exception as error:
            add_place(error, f"in the body of {self.name}")
            raise
        finally:
            here.copy = copy
        if not values:
            return None
        if not parts:  # the product of no inputs has one candidate, and has always had it
            return Match(parts, float("-inf"), float("-inf"), values)
        start = min([part.start for part in parts if part is not None])
        end = max([part.end for part in parts if part is not None])
        return Match(parts, start, end, values)
