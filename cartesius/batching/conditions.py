"""Conditions: what ``where`` says of some of the parts, before all are there.

A traced ``where`` is a list of conditions, each on some slots, and a `key_by` of several slots is one more: they meet
under equal keys alone. So it can be asked of a few parts whether they go together as far as it is known yet. Of what
runs as written nothing is known until all parts are there.

Invariant: parts that satisfy the body satisfy every condition that can be asked of some of them.

Source: Flink CEP (iterative conditions read the events bound so far).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from cartesius.expressions.expressions import evaluator, slots_of
from cartesius.expressions.nulls import all_hold

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.batching.bindings import Bindings
    from cartesius.data.entries import Candidate
    from cartesius.language.patterns import Pattern

Check: TypeAlias = "Callable[[Candidate], object]"


class Conditions:
    """The conditions of one correlation, by slot."""

    def __init__(self, pattern: Pattern, bindings: Bindings) -> None:
        index = {slot.name: slot.index for slot in bindings.slots}
        self._of: list[list[tuple[frozenset[int], Check]]] = [[] for _ in bindings.slots]
        for condition in pattern.conditions():
            self._add(frozenset(index[name] for name in slots_of(condition)), evaluator(condition, index))
        for link in bindings.links:
            if link.is_key:
                self._add(frozenset((link.left, link.right)), _same_key(link.left, link.right, link.left_position))

    def _add(self, slots: frozenset[int], check: Check) -> None:
        for slot in slots:
            self._of[slot].append((slots, check))

    def hold(self, parts: Candidate, slot: int) -> bool:
        """Whether all conditions hold that are on ``slot`` and on nothing that is missing."""
        known = [check for slots, check in self._of[slot] if not any(parts[concerned] is None for concerned in slots)]
        return all_hold(known, parts)


def _same_key(left: int, right: int, space: int) -> Check:
    def check(parts: Candidate) -> bool:
        one, other = parts[left], parts[right]
        assert one is not None  # Invariant: a condition is asked of what is there
        assert other is not None
        return one.keys[space] is not None and bool(one.keys[space] == other.keys[space])

    return check
