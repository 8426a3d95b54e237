"""Maximal partial rows: what `optionally` enumerates.

The pairwise conditions of ``where`` make a forest over the slots. In each tree a row is a connected set of present
slots that satisfies all conditions among them, contains every mandatory slot, and cannot be extended: next to a
missing slot no entry matches. Trees are independent of each other.

A batch changes the rows that contain a fresh or gone entry, and those in which such an entry could stand for a missing
part. They are enumerated in the old and in the new memory, and compared.

This module is over 300 lines because which rows there are, and which of them a batch changes, are one search.

Source: SEMANTICS 2.6; outer joins as left-deep chains.
"""

from __future__ import annotations

from copy import copy
from itertools import product as cartesian_product
from typing import TYPE_CHECKING

from cartesius.data.entries import FRESH, GONE, Candidate
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import Expression, equality, evaluator, show, slots_of
from cartesius.expressions.nulls import all_hold
from cartesius.rows.enumeration import Link, Step, key_of, newest_first, step_to
from cartesius.storage.memories import NOWHERE, is_exact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot
    from cartesius.rows.enumeration import Rank
    from cartesius.storage.memories import Memory

MAX_SLOTS = 2


def has_met(row: Candidate) -> bool:
    """Whether a part has met one that is missing beside it, which has left since: it has not missed it."""
    missing = [slot for slot, part in enumerate(row) if part is None]
    return any(slot in part.noted("met", ()) for part in row if part is not None for slot in missing)


class PartialRows:
    """The maximal partial rows over ``memories`` under ``links`` and ``conditions``."""

    def __init__(
        self,
        names: Sequence[str],
        memories: Sequence[Memory],
        links: Sequence[Link],
        conditions: Sequence[Expression],
        optional: Sequence[bool],
        rank: Rank,
        admits: Callable[[Candidate], bool],
        together: Sequence[Sequence[Slot]],
        asked: Collection[Slot],
    ) -> None:
        self.memories = memories
        self.optional = optional
        self.rank = rank
        self.admits = admits
        index = {name: i for i, name in enumerate(names)}
        self.never = False  # a condition on no slot fails
        self.alone: dict[int, list[Callable[[Candidate], object]]] = {}
        self.pairs: dict[frozenset[int], list[Callable[[Candidate], object]]] = {}
        self.equalities: dict[frozenset[int], list[Callable[[Candidate], object]]] = {}
        edges = {frozenset((link.left, link.right)) for link in links}
        edges |= {frozenset(slot.index for slot in slots) for slots in together if len(slots) == MAX_SLOTS}
        for condition in conditions:
            slots = frozenset(index[name] for name in slots_of(condition))
            if len(slots) > MAX_SLOTS:
                message = f"optionally: expected conditions between two slots but got {show(condition)}; split it"
                raise InvalidArgument(message)
            check = evaluator(condition, index)
            if len(slots) == MAX_SLOTS:
                checks = self.pairs if equality(condition) is None else self.equalities
                checks.setdefault(slots, []).append(check)
                edges.add(slots)
            elif slots:
                self.alone.setdefault(min(slots), []).append(check)
            elif not check([None] * len(names)):
                self.never = True
        for one in asked:  # a clause of a user's own may say of one event alone that it is in no row
            self.alone.setdefault(one.index, []).append(admits)
        self.neighbours: list[list[Step]] = [[] for _ in names]
        for edge in edges:
            left, right = sorted(edge)
            for slot, other in ((left, right), (right, left)):
                step = step_to(other, [slot], links)
                memories[other].index(step.positions)
                self.neighbours[slot].append(step)
        for steps in self.neighbours:
            steps.sort(key=lambda step: step.slot)
        self.trees = self._forest(names)

    def admitting(self, admits: Callable[[Candidate], bool]) -> PartialRows:
        """Return the same rows, of which another function says which may be."""
        other = copy(self)
        other.admits = admits
        return other

    def _forest(self, names: Sequence[str]) -> list[list[int]]:
        trees, seen = [], set[int]()
        for root in range(len(names)):
            if root in seen:
                continue
            tree, queue = [root], [(root, -1)]
            seen.add(root)
            while queue:
                slot, origin = queue.pop()
                for step in self.neighbours[slot]:
                    if step.slot == origin:
                        continue
                    if step.slot in seen:
                        message = (
                            f"optionally: expected conditions without a cycle but {names[slot]} and {names[step.slot]}"
                            " are connected in two ways; drop the condition that follows from the others"
                        )
                        raise InvalidArgument(message)
                    seen.add(step.slot)
                    tree.append(step.slot)
                    queue.append((step.slot, slot))
            trees.append(sorted(tree))
        return trees

    def changes(
        self, fresh: Sequence[Sequence[Entry]], gone: Sequence[Sequence[Entry]]
    ) -> tuple[list[Candidate], list[Candidate]]:
        """Return the rows that a batch takes away and those that it adds, each in order."""
        if self.never:
            return [], []
        touched = [(slot, e) for entries in (fresh, gone) for slot, found in enumerate(entries) for e in found]
        old = self._affected(touched, FRESH)
        new = self._affected(touched, GONE)
        return (
            sorted((row for key, row in old.items() if key not in new), key=self.rank),
            sorted((row for key, row in new.items() if key not in old), key=self.rank),
        )

    def containing(self, pins: Mapping[int, Entry | None], skip: int) -> list[Candidate]:
        """Return the rows that have what is pinned, without what is in state ``skip``, in order."""
        return [] if self.never else sorted(self._rows(pins, skip), key=self.rank)

    def partners(self, slot: int, entry: Entry) -> list[Entry]:
        """Return the entries that match one of ``slot``; none, if a condition on that alone fails."""
        if slot in self.alone and not self._alone(slot, entry):
            return []
        found = [other for step in self.neighbours[slot] for other in self._matches(slot, entry, step, GONE)]
        if len(self.trees) == 1:
            return found
        return found + [one for tree in self.trees if slot not in tree for s in tree for one in self._present(s, GONE)]

    def met_without(self, slot: int, spaces: Collection[int]) -> set[int]:
        """Return the slots that may have a part in a row of an event of ``slot`` that has no key in some spaces."""
        met = {slot}.union(*(tree for tree in self.trees if slot not in tree))
        queue = [s.slot for s in self.neighbours[slot] if not any(position in spaces for _, position, _ in s.sources)]
        while queue:
            further = queue.pop()
            met.add(further)
            queue += [step.slot for step in self.neighbours[further] if step.slot not in met]
        return met

    def _affected(self, touched: Sequence[tuple[int, Entry]], skip: int) -> dict[tuple[float, ...], Candidate]:
        rows: dict[tuple[float, ...], Candidate] = {}
        for slot, entry in touched:
            for pins in self._pins(slot, entry, skip):
                for row in self._rows(pins, skip):
                    rows[newest_first(row)] = row
        return rows

    def _pins(self, slot: int, entry: Entry, skip: int) -> Iterator[Mapping[int, Entry | None]]:
        if entry.state != skip:
            yield {slot: entry}
        if not self.optional[slot] or not self._alone(slot, entry):
            return
        for step in self.neighbours[slot]:
            back = next(other for other in self.neighbours[step.slot] if other.slot == slot)
            for partner in self._matches(slot, entry, step, skip):
                if not self._matches(step.slot, partner, back, skip):  # a partner of another entry misses nothing
                    yield {slot: None, step.slot: partner}
        tree = next(tree for tree in self.trees if slot in tree)
        if len(self.trees) > 1 and all(self.optional[s] for s in tree):  # beside others, a tree may be empty
            yield dict.fromkeys(tree)

    def _rows(self, pins: Mapping[int, Entry | None], skip: int) -> Iterator[Candidate]:
        parts = [list(self._tree_rows(tree, pins, skip)) for tree in self.trees]
        for combination in cartesian_product(*parts):
            row: Candidate = [None] * len(self.memories)
            for part in combination:
                for slot, entry in part.items():
                    row[slot] = entry
            if any(entry is not None for entry in row) and not has_met(row):
                yield row

    def _tree_rows(self, tree: list[int], pins: Mapping[int, Entry | None], skip: int) -> Iterator[dict[int, Entry]]:
        pinned = next((s for s in tree if pins.get(s) is not None), None)
        mandatory = next((s for s in tree if not self.optional[s]), None)
        if pinned is not None:
            entry = pins[pinned]
            assert entry is not None
            if entry.state != skip and self._alone(pinned, entry):
                yield from self._grow(pinned, entry, -1, pins, skip)
        elif mandatory is not None:
            for entry in self._present(mandatory, skip):
                yield from self._grow(mandatory, entry, -1, pins, skip)
        elif all(slot in pins for slot in tree):
            if not any(True for slot in tree for _ in self._present(slot, skip)):
                yield {}
        else:
            empty = True
            for place, slot in enumerate(tree):
                for entry in self._present(slot, skip):
                    empty = False
                    if slot in pins:
                        continue
                    for row in self._grow(slot, entry, -1, pins, skip):
                        if not any(earlier in row for earlier in tree[:place]):
                            yield row
            if empty:
                yield {}

    def _grow(
        self, slot: int, entry: Entry, origin: int, pins: Mapping[int, Entry | None], skip: int
    ) -> Iterator[dict[int, Entry]]:
        """Yield the rows of the tree behind ``slot``, seen from ``origin``, in which ``entry`` is present."""
        if slot in pins and pins[slot] is not entry:
            return
        branches = []
        # What is pinned comes first: most often it shows at once that there is no such row.
        for step in sorted(self.neighbours[slot], key=lambda step: step.slot not in pins):
            if step.slot == origin:
                continue
            matches = self._matches(slot, entry, step, skip)
            if matches:
                branch = [row for match in matches for row in self._grow(step.slot, match, slot, pins, skip)]
            else:
                branch = [{}] if self._may_miss(step.slot, slot, pins) else []
            if not branch:
                return
            branches.append(branch)
        for combination in cartesian_product(*branches):
            row = {slot: entry}
            for part in combination:
                row.update(part)
            yield row

    def _may_miss(self, slot: int, origin: int, pins: Mapping[int, Entry | None]) -> bool:
        if not self.optional[slot] or pins.get(slot) is not None:
            return False
        return all(self._may_miss(s.slot, slot, pins) for s in self.neighbours[slot] if s.slot != origin)

    def _matches(self, slot: int, entry: Entry, step: Step, skip: int) -> list[Entry]:
        row: Candidate = [None] * len(self.memories)
        row[slot] = entry
        key, memory = key_of(step, self.memories, row), self.memories[step.slot]
        if key is NOWHERE:
            return []
        pair = frozenset((slot, step.slot))
        checks = self.pairs.get(pair, [])
        if not is_exact(key):
            checks = [*checks, *self.equalities.get(pair, ())]  # the index finds more than what is equal
        others = memory.lookup(step.positions, key)
        memory.visited += len(others)
        is_alone = self.alone.get(step.slot)
        found = []
        for other in others:
            if other.state == skip or (is_alone and not self._alone(step.slot, other)):
                continue
            row[step.slot] = other
            if (not checks or all_hold(checks, row)) and self.admits(row):
                found.append(other)
        return found

    def _present(self, slot: int, skip: int) -> Iterator[Entry]:
        memory = self.memories[slot]
        for entry in memory.all():
            memory.visited += 1
            if entry.state != skip and self._alone(slot, entry):
                yield entry

    def _alone(self, slot: int, entry: Entry) -> bool:
        checks = self.alone.get(slot)
        if not checks:
            return True
        row: Candidate = [None] * len(self.memories)
        row[slot] = entry
        return all_hold(checks, row)
