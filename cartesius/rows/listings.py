"""Listings: how the lists of a slot that `repeated` binds are chosen, as if each position were a slot of its own.

A list has n different events of one memory, in ascending order of arrival. The conditions that say something of a list
before it is complete (`each`, `successive`, an item by its index) are checked as soon as they can be; what a check
cannot tell, as it raises, is left to the body, which asks all of them once more.

Invariant: of the positions left there are at least as many events left, so a list is begun that cannot be completed
only if a condition fails.

Source: ICFP 2018, doi:10.1145/3236762, section 2.6 (``reviews(5)``); SEMANTICS 1.3 and 1.4.
"""

from __future__ import annotations

import operator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.data.entries import is_spent
from cartesius.expressions.expressions import Apply, Constant, Every, KeyOf, Part, TimeOf, children, evaluator, slots_of
from cartesius.rows.enumeration import ALWAYS, Link
from cartesius.storage.memories import NOWHERE, hashable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cartesius.data.entries import Candidate, Entry
    from cartesius.expressions.expressions import Evaluate, Expression
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern
    from cartesius.storage.memories import Memory

Check: TypeAlias = "tuple[frozenset[int], Evaluate]"  # the slots that must be bound, and the condition


@attrs.frozen
class Choice:
    """What is known while lists are chosen: the event that they must have, and what else is bound."""

    pinned: Entry | None
    row: Candidate
    checks: Mapping[int, Sequence[Evaluate]]
    neighbours: Sequence[Evaluate]
    is_newest_first: bool


class Listing:
    """The lists of one slot.

    Args:
        name: The name of the slot.
        n: How many events a list has.
        memory: The memory of the slot.
        conditions: The conditions of the correlation.
        index: The index of each slot.
    """

    def __init__(
        self, name: str, n: int, memory: Memory, conditions: Sequence[Expression], index: Mapping[Any, int]
    ) -> None:
        self.n = n
        self.alike: dict[int, bool] = {}  # the computed values that are equal in a list: whether null is none
        self._memory = memory
        self._slot = index[name]
        self._width = len(index)
        self._alone: list[Evaluate] = []
        self._each: list[Check] = []
        self._neighbours: list[Check] = []
        self._items: dict[int, list[Check]] = {}
        for condition in conditions:
            if name in slots_of(condition):
                self._sort(condition, name, index)
        self.passing: int | None = None  # the computed value that says whether an event satisfies what it alone must
        if self._alone:
            memory.probes.append(self._passes)
            self.passing = len(memory.probes) - 1

    def _sort(self, condition: Expression, name: str, index: Mapping[Any, int]) -> None:
        if isinstance(condition, Every) and condition.items == Part(name) and name not in slots_of(condition.condition):
            places = {element: self._width + place for place, element in enumerate(condition.elements)}
            check = evaluator(condition.condition, {**index, **places})
            needs = frozenset([index[other] for other in slots_of(condition.condition)])
            if len(condition.elements) > 1:
                self._neighbours.append((needs, check))
            elif needs:
                self._each.append((needs, check))
            else:
                self._alone.append(check)
            return
        last = _last_item(condition, name, self.n)
        if last is not None:
            needs = frozenset([index[other] for other in slots_of(condition) if other != name])
            self._items.setdefault(last, []).append((needs, evaluator(condition, index)))

    def _passes(self, entry: Entry) -> bool:
        return all(_may_hold(check, [*[None] * self._width, entry.value]) for check in self._alone)

    def links(self, index: int) -> list[Link]:
        """Return what links the events of a list to each other, and to nothing: what each alone must be."""
        links = [Link(index, p, index, p, is_key=False, skips_null=skips) for p, skips in self.alike.items()]
        if self.passing is not None:
            links.append(Link(index, self.passing, ALWAYS, 0, is_key=False, skips_null=False))
        return links

    def takes(self, entry: Entry) -> bool:
        """Whether ``entry`` may be in a list at all, by the conditions on it alone."""
        return self.passing is None or bool(self._memory.probes[self.passing](entry))

    def choices(
        self, entries: Sequence[Entry], pinned: Entry | None, row: Candidate, known: frozenset[int], *, newest: bool
    ) -> Iterator[list[Entry]]:
        """Yield the lists of n of ``entries``, lazily; position 0 is outermost.

        Args:
            entries: What there is, oldest first.
            pinned: The event that each list must have; None if any may do.
            row: What is bound.
            known: The slots that are bound.
            newest: Whether each position takes the newest first.
        """
        each = _known(self._each, known)
        found = [
            entry
            for entry in entries
            if not is_spent((entry,)) and all(_may_hold(check, [*row, entry.value]) for check in each)
        ]
        if self.passing is not None:
            found = [entry for entry in found if self.takes(entry)]
        if pinned is not None and pinned not in found:
            return iter(())
        checks = {last: _known(items, known) for last, items in self._items.items()}
        choice = Choice(pinned, row, checks, _known(self._neighbours, known), newest)
        return self._extended([], found, choice, is_pinned=pinned is None)

    def _extended(
        self, chosen: list[Entry], rest: list[Entry], choice: Choice, *, is_pinned: bool
    ) -> Iterator[list[Entry]]:
        """Yield the lists that begin with ``chosen`` and go on with ``rest``, all of which are newer."""
        left = self.n - len(chosen) - 1
        places: Sequence[int] = range(len(rest) - left)
        if not is_pinned:  # nothing newer than what must come, and at the end that itself
            place = rest.index(choice.pinned) if choice.pinned in rest else -1
            places = range(place if left == 0 else 0, min(place + 1, len(places))) if place >= 0 else ()
        for place in reversed(places) if choice.is_newest_first else places:
            entry = rest[place]
            if is_spent((entry,)) or not self._may_follow(chosen, entry, choice):
                continue
            longer = [*chosen, entry]
            if left == 0:
                yield longer
            else:
                newer = [e for e in rest[place + 1 :] if not is_spent((e,)) and (chosen or self._are_alike(entry, e))]
                yield from self._extended(longer, newer, choice, is_pinned=is_pinned or entry is choice.pinned)
            if is_spent(chosen):
                return

    def _may_follow(self, chosen: list[Entry], entry: Entry, choice: Choice) -> bool:
        """Whether, as far as can be told, the conditions on neighbours and on items hold with ``entry`` next."""
        if chosen:
            row = [*choice.row, chosen[-1].value, entry.value]
            if not all(_may_hold(check, row) for check in choice.neighbours):
                return False
        checks = choice.checks.get(len(chosen), ())
        if not checks:
            return True
        values = [e.value for e in (*chosen, entry)]
        rest: Any = SimpleNamespace(value=[*values, *[None] * (self.n - len(values))])
        row = [*choice.row[: self._slot], rest, *choice.row[self._slot + 1 :]]
        return all(_may_hold(check, row) for check in checks)

    def _are_alike(self, one: Entry, other: Entry) -> bool:
        """Whether two events agree in what links them."""
        for position, skips_null in self.alike.items():
            value = hashable(self._memory.probes[position](one))
            if value is NOWHERE or (skips_null and value is None):
                return False
            if value != hashable(self._memory.probes[position](other)):
                return False
        return True


def listings_of(
    pattern: Pattern, slots: Sequence[Slot], spaces: Mapping[int, Sequence[int]], links: Sequence[Link]
) -> dict[int, Listing]:
    """Return the lists of each slot that has some.

    Args:
        pattern: What is correlated.
        slots: Its slots.
        spaces: The key spaces of each slot.
        links: The equalities between slots. In what links them, and in their keys, the events of a list are alike.
    """
    index: dict[str, int] = {slot.name: slot.index for slot in slots}
    found = {}
    for slot in slots:
        if slot.n is not None:
            found[slot.index] = listing = Listing(slot.name, slot.n, slot.memory, pattern.conditions, index)
            if slot.n > 1:
                ends = ((link, link.seen_from(slot.index)) for link in links)
                listing.alike = {seen[0]: link.skips_null for link, seen in ends if seen is not None}
                listing.alike.update(dict.fromkeys(spaces[slot.index], True))
    return found


def _known(checks: Sequence[Check], known: frozenset[int]) -> list[Evaluate]:
    return [check for needs, check in checks if needs <= known]


def _may_hold(check: Evaluate, row: Any) -> bool:
    """Whether a condition may hold; so where it is unknown, or raises: the body is asked, and says what is wrong."""
    try:
        found = check(row)
        return found is None or bool(found)
    except Exception:
        return True


def _last_item(expression: Expression, name: str, n: int) -> int | None:
    """Return the last position of the list that a condition mentions; None if it needs the whole list."""
    match expression:
        case Apply(function=operator.getitem, arguments=(Part(slot=slot), Constant(value=int(place)))) if slot == name:
            return place % n if -n <= place < n else None
        case Part(slot=slot) | TimeOf(slot=slot) | KeyOf(slot=slot) if slot == name:
            return None
    found = [_last_item(child, name, n) for child in children(expression) if name in slots_of(child)]
    return None if None in found or not found else max([place for place in found if place is not None])
