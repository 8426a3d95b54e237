"""The body of a correlation at work: which candidates satisfy it, and what it yields for them.

A body is pure; what clauses of restrictions may do, it may not.

A traced ``where`` is a list of conditions, each on some slots, and a `key_by` of several slots is one more: they meet
under equal keys alone. So it can be asked of a few parts whether they go together as far as it is known yet. Of what
runs as written nothing is known until all parts are there.

Invariant: parts that satisfy the body satisfy every condition that can be asked of some of them.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10 (trigger); Flink CEP (iterative conditions read the events bound so
far).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.data.entries import GONE
from cartesius.data.events import EARLIEST, LATEST
from cartesius.effects.resumptions import running
from cartesius.errors import add_place, block
from cartesius.expressions.expressions import evaluator, slots_of
from cartesius.expressions.nulls import all_hold
from cartesius.language.families import admit
from cartesius.language.matches import Match

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from cartesius.batching.batches import Batch
    from cartesius.batching.bindings import Bindings
    from cartesius.data.entries import Candidate
    from cartesius.data.events import Time
    from cartesius.language.patterns import Pattern

Check: TypeAlias = "Callable[[Candidate], object]"


class Conditions:
    """The conditions of one correlation, by slot."""

    def __init__(self, pattern: Pattern, bindings: Bindings) -> None:
        index = {slot.name: slot.index for slot in bindings.slots}
        self._of: list[list[tuple[frozenset[int], Check]]] = [[] for _ in bindings.slots]
        self._every: list[tuple[frozenset[int], Check]] = []
        for condition in pattern.conditions:
            self._every.append((frozenset(index[name] for name in slots_of(condition)), evaluator(condition, index)))
            self._add(*self._every[-1])
        for link in bindings.links:
            if link.is_key:
                self._add(frozenset((link.left, link.right)), _same_key(link.left, link.right, link.left_position))

    def _add(self, slots: frozenset[int], check: Check) -> None:
        for slot in slots:
            self._of[slot].append((slots, check))

    def hold(self, parts: Candidate, slot: int) -> bool:
        """Whether all conditions hold that are on ``slot`` and on nothing that is missing.

        One that raises is asked in its turn, behind those on other parts that are there: they may guard it.
        """
        try:
            return all_hold(_known(self._of[slot], parts), parts)
        except Exception:
            if all_hold(_known(self._every, parts), parts):
                raise
            return False


def _known(conditions: list[tuple[frozenset[int], Check]], parts: Candidate) -> list[Check]:
    """Return the conditions on nothing that is missing."""
    return [check for slots, check in conditions if not any(parts[concerned] is None for concerned in slots)]


def _same_key(left: int, right: int, space: int) -> Check:
    def check(parts: Candidate) -> bool:
        one, other = parts[left], parts[right]
        assert one is not None  # Invariant: a condition is asked of what is there
        assert other is not None
        return one.keys[space] is not None and bool(one.keys[space] == other.keys[space])

    return check


class Body:
    """Where and yields of one correlation."""

    def __init__(self, pattern: Pattern, batch: Batch) -> None:
        self.batch = batch
        self.name = batch.name
        self.where, self.yields = pattern.body
        shown = batch.bindings.shown
        if shown is not None:
            where, yields = self.where, self.yields
            self.where = None if where is None else lambda parts: where(shown(parts))
            self.yields = lambda parts: yields(shown(parts))
        self._present = [slot.index for slot in batch.slots if slot.name not in pattern.absent.names]
        self.is_relative = False  # what they say depends on what else is in memory
        self.is_filtered = False  # restrictions say which candidates reach it
        self.admitted = 0  # how many have reached it
        self.skip = GONE  # what clauses do not see of the memories: in the new ones, what is gone
        self.noted: dict[Any, Any] = {}  # what clauses have found out about the memories as they are
        self.conditions = Conditions(pattern, batch.bindings)
        self._is_generator = pattern.is_generator
        self._is_known = self.where is None or pattern.has_traced_where

    @block
    def looking(self, skip: int) -> Generator[None]:
        """Let clauses see the memories without what is in a state, while combinations there are asked for."""
        before = self.skip, self.noted
        self.skip, self.noted = skip, {}
        try:
            yield
        finally:
            self.skip, self.noted = before

    def admits(self, parts: Candidate) -> bool:
        """Whether a candidate may reach the body, by what restrictions say."""
        return not self.is_filtered or bool(self.batch.operations[admit](parts))

    def evaluate(self, parts: Candidate) -> Match | None:
        """Return what a candidate yields, if it may reach the body and satisfies the condition."""
        if not self.admits(parts):
            return None
        self.admitted += 1
        return self.result(parts)

    def fits(self, parts: Candidate, slot: int) -> bool:
        """Whether parts, some of which may be missing, satisfy what is known of ``slot`` and of those that are there.

        Where none is missing, a body of which nothing is known is asked.
        """
        here = running().__dict__
        copy, here["copy"] = here.get("copy"), None
        try:
            if not self.conditions.hold(parts, slot):
                return False
            if any(parts[index] is None for index in self._present):
                return True
            holds = self._is_known or self.where is None or bool(self.where(parts))
            return holds and (not self._is_generator or bool(self.yields(parts)))
        except Exception as error:
            add_place(error, f"in the body of {self.name}")
            raise
        finally:
            here["copy"] = copy

    def result(self, parts: Candidate) -> Match | None:
        """Return what a combination yields, if it satisfies the condition, whatever restrictions say."""
        return self._match(parts, is_checked=True)

    def again(self, parts: Candidate) -> Match | None:
        """Return what a candidate yields that has satisfied the condition before."""
        return self._match(parts, is_checked=False)

    def _match(self, parts: Candidate, *, is_checked: bool) -> Match | None:
        here = running().__dict__
        copy, here["copy"] = here.get("copy"), None  # what clauses may do, a body may not
        try:
            is_checked = is_checked and self.batch.partial is None
            if is_checked and self.where is not None and not self.where(parts):
                return None
            values = self.yields(parts)
        except Exception as error:
            add_place(error, f"in the body of {self.name}")
            raise
        finally:
            here["copy"] = copy
        if not values:
            return None
        if not parts:  # the product of no inputs has one candidate, and has always had it
            return Match(parts, float("-inf"), float("-inf"), values)
        return Match(parts, *_hull(parts), values)


def _hull(parts: Candidate) -> tuple[Time, Time]:
    start: Time = LATEST
    end: Time = EARLIEST
    for part in parts:
        if part is not None:
            start = part.start if part.start < start else start
            end = part.end if part.end > end else end
    return start, end
