"""Enumeration of a batch: which combinations of entries contain something new, each once, in order.

Slot 0 is outermost and each memory is visited newest first (oldest first under `fifo`), so candidates come in the
order of their arrival numbers, slot by slot. Equalities (of keys, or in ``where``) are *links*: where a link leads
from what is bound to the next slot, only the entries found in an index are visited; where it leads there by way of
slots that come later, those are walked first to find what can be reached. The order is the same either way, and
candidates are made one at a time. Where parts must follow each other by time, what does not is left out on the way.

Invariant: every candidate contains an entry of the state asked for, satisfies every link, and comes once.

Source: ICFP 2018, doi:10.1145/3236762, Figure 10 (reify); SEMANTICS 1.2 to 1.4.
"""

from __future__ import annotations

import heapq
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import attrs

from cartesius.data.entries import ABSENT, FRESH, GONE, Several, singly
from cartesius.rows.following import precedes
from cartesius.storage.memories import NOWHERE, hashable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from cartesius.data.entries import Candidate, Entry
    from cartesius.storage.memories import Memory

ALWAYS: Final = -1
"""In a link, in the place of another slot: the value must be True."""


@attrs.frozen
class Rank:
    """The sort key of candidates: newest first by slot, or oldest first; a missing part last; ascending by window."""

    is_oldest_first: bool = False
    window_space: int | None = None
    has_lists: bool = False

    def __call__(self, row: Candidate) -> tuple[float, ...]:
        """Return the key of one."""
        sign = 1 if self.is_oldest_first else -1
        parts = _flat(row) if self.has_lists else row
        numbers = [math.inf if entry is None else sign * entry.number for entry in parts]
        if self.window_space is None:
            return tuple(numbers)
        windows = (entry.keys[self.window_space] for entry in row if entry is not None)
        start, end = next((window for window in windows if window is not ABSENT), (math.inf, math.inf))
        return (start, end, *numbers)


newest_first: Final = Rank()


@attrs.frozen
class Link:
    """The computed value ``left_position`` of slot ``left`` must equal ``right_position`` of slot ``right``."""

    left: int
    left_position: int
    right: int
    right_position: int
    is_key: bool  # of a key space
    skips_null: bool  # a null key matches nothing

    def seen_from(self, slot: int) -> tuple[int, int, int] | None:
        """Return (own position, other slot, its position), or None if the link does not touch ``slot``."""
        if slot == self.left:
            return self.left_position, self.right, self.right_position
        if slot == self.right:
            return self.right_position, self.left, self.left_position
        return None


@attrs.frozen
class Step:
    """How the entries of one slot are found: by index from slots bound before, or among those that can be reached."""

    slot: int
    positions: tuple[int, ...]
    sources: tuple[tuple[int, int, bool], ...]  # (bound slot, its position, whether null matches nothing)
    reached: bool = False
    earlier: tuple[int, ...] = ()  # the slots bound before it whose events must end before those of this one start
    later: tuple[int, ...] = ()  # those whose events must start after those of this one end

    def in_time(self, row: Candidate, found: Collection[Entry]) -> Collection[Entry]:
        """Return those of ``found`` that are in order with what ``row`` has bound."""
        if not self.earlier and not self.later:
            return found
        before = [part for slot in self.earlier if (part := row[slot]) is not None]
        after = [part for slot in self.later if (part := row[slot]) is not None]
        since = max([part.end for part in before], default=float("-inf"))
        until = min([part.start for part in after], default=float("inf"))
        return [
            entry
            for entry in found
            if (not before or since < entry.start or (since == entry.start and _all_precede(before, (entry,))))
            and (not after or entry.end < until or (entry.end == until and _all_precede((entry,), after)))
        ]


def _all_precede(before: Iterable[Entry], after: Iterable[Entry]) -> bool:
    return all(precedes(one, other) for one in before for other in after)


def step_to(slot: int, bound: Iterable[int], links: Sequence[Link]) -> Step:
    """Return how ``slot`` is found by index from the ``bound`` slots."""
    bound = set(bound)
    found: dict[int, tuple[int, int, bool]] = {}
    for link in links:
        seen = link.seen_from(slot)
        if seen and seen[1] in bound:
            found.setdefault(seen[0], (seen[1], seen[2], link.skips_null))
    positions = tuple(sorted(found))
    return Step(slot, positions, tuple(found[p] for p in positions))


def visit(step: Step, memories: Sequence[Memory], row: Candidate) -> Collection[Entry]:
    """Return the entries of a step, oldest first, for what ``row`` has bound."""
    found = look_up(step, memories, row)
    memories[step.slot].visited += len(found)
    return found


def look_up(step: Step, memories: Sequence[Memory], row: Candidate) -> Collection[Entry]:
    """Return the entries of a step as `visit` does, but not to go through them."""
    key = key_of(step, memories, row)
    return () if key is NOWHERE else memories[step.slot].lookup(step.positions, key)


def key_of(step: Step, memories: Sequence[Memory], row: Candidate) -> Any:
    """Return what the entries of a step are found by, for what ``row`` has bound; `NOWHERE` if there are none."""
    key = []
    for slot, position, skips_null in step.sources:
        if slot == ALWAYS:
            key.append(True)
            continue
        entry = row[slot]
        if isinstance(entry, Several):
            entry = entry.entries[0]  # they are all alike in what links them
        assert entry is not None  # Invariant: the sources of a step are bound before it
        value = hashable(memories[slot].probes[position](entry))
        if value is NOWHERE or (skips_null and value is None):
            return NOWHERE
        key.append(value)
    return key[0] if len(key) == 1 else tuple(key)


class Search(NamedTuple):
    """The nested loops that find the candidates with one entry, and the candidate as far as it is bound."""

    row: Candidate
    steps: Sequence[Step]
    fixed: int
    mark: int
    skip: int
    reach: Mapping[int, list[Entry]]


class Product:
    """The cartesian product of ``memories`` under ``links``, enumerated from what is new."""

    def __init__(
        self,
        memories: Sequence[Memory],
        links: Sequence[Link],
        rank: Rank,
        sequences: Sequence[Sequence[int]] = (),
        absent: Collection[int] = (),
        lists: Collection[int] = (),
    ) -> None:
        self.memories = memories
        self.present = [slot for slot in range(len(memories)) if slot not in absent]  # the others have no part, ever
        self.links = [link for link in links if link.left not in absent and link.right not in absent]
        self.rank = rank
        self._visited: Any = iter if rank.is_oldest_first else reversed
        given = tuple(self.present), tuple(self.links), tuple([tuple(one) for one in sequences]), frozenset(lists)
        self.plans = {slot: _plan(slot, *given) for slot in self.present}
        for steps, walk in self.plans.values():
            for step in (*steps, *walk):
                memories[step.slot].index(step.positions)

    def candidates(self, marked: Sequence[Sequence[Entry]], mark: int) -> Iterator[Candidate]:
        """Yield each candidate with a part of state ``mark``, in order.

        Args:
            marked: The entries in that state, by slot.
            mark: ``FRESH`` asks for the new memory's candidates, ``GONE`` for the old memory's.
        """
        streams = [
            self._from(slot, entry, mark, GONE if mark == FRESH else FRESH)
            for slot in self.present
            for entry in marked[slot]
            if entry.state == mark
        ]
        if len(streams) == 1:
            return streams[0]
        return heapq.merge(*streams, key=self.rank)

    def containing(self, pins: Mapping[int, Entry | None], skip: int) -> Iterator[Candidate]:
        """Yield each candidate that has the entry pinned, without what is in state ``skip``, in order."""
        ((slot, entry),) = pins.items()
        assert entry is not None  # Invariant: no part of a product is missing
        return self._from(slot, entry, skip, skip)

    def _from(self, fixed: int, entry: Entry, mark: int, skip: int) -> Iterator[Candidate]:
        steps, walk = self.plans[fixed]
        row: Candidate = [None] * len(self.memories)
        row[fixed] = entry
        reach = self._reach(fixed, entry, walk, skip) if walk else {}
        return self._extend(Search(row, steps, fixed, mark, skip, reach), 0)

    def _extend(self, search: Search, level: int) -> Iterator[Candidate]:
        row, steps, fixed, mark, skip, reach = search
        if level == len(steps):
            yield row.copy()
            return
        step = steps[level]
        found = step.in_time(row, reach[step.slot] if step.reached else visit(step, self.memories, row))
        # A candidate with several marked parts belongs to the last of them: earlier slots take unmarked entries.
        also = mark if step.slot < fixed else skip
        last = level + 1 == len(steps)
        for entry in self._visited(found):
            if entry.state in (skip, also):
                continue
            row[step.slot] = entry
            if last:
                yield row.copy()
            else:
                yield from self._extend(search, level + 1)

    def _reach(self, fixed: int, entry: Entry, walk: Sequence[Step], skip: int) -> dict[int, list[Entry]]:
        reach: dict[int, list[Entry]] = {fixed: [entry]}
        row: Candidate = [None] * len(self.memories)
        for step in walk:
            source = step.sources[0][0]
            found: dict[int, Entry] = {}
            for origin in reach[source]:
                row[source] = origin
                for other in visit(step, self.memories, row):
                    if other.state != skip:
                        found[other.number] = other
            reach[step.slot] = [found[number] for number in sorted(found)]
        return reach


@lru_cache(maxsize=4096)  # engines are made by the thousand, of few shapes
def _plan(
    fixed: int,
    present: Sequence[int],
    links: Sequence[Link],
    sequences: Sequence[Sequence[int]],
    lists: frozenset[int],  # the slots of which a candidate has several events
) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the steps of the nested loops, ``fixed`` being bound, and the walk that finds what can be reached."""
    order = [slot for slot in present if slot != fixed or slot in lists]
    walk: list[Step] = []
    met = [fixed]
    while True:
        further = [step_to(s, met, links) for s in order if s not in met]
        linked = next((step for step in further if step.positions), None)
        if linked is None:
            break
        walk.append(Step(linked.slot, linked.positions[:1], linked.sources[:1]))
        met.append(linked.slot)
    steps, bound, needs_walk = [], [fixed], False
    for slot in order:
        step = step_to(slot, bound, links)
        if not step.positions and slot in met and slot != fixed:
            step = attrs.evolve(step, reached=True)
            needs_walk = True
        elif slot in lists:
            step = step_to(slot, [*bound, ALWAYS], links)
        earlier = tuple([s for s in bound if any(_is_before(s, slot, order) for order in sequences)])
        later = tuple([s for s in bound if any(_is_before(slot, s, order) for order in sequences)])
        steps.append(attrs.evolve(step, earlier=earlier, later=later))
        bound.append(slot)
    return tuple(steps), tuple(walk) if needs_walk else ()


def _is_before(slot: int, other: int, sequence: Sequence[int]) -> bool:
    return slot in sequence and other in sequence and sequence.index(slot) < sequence.index(other)


def _flat(row: Candidate) -> Candidate:
    """Return the events of a candidate, those of its lists one by one."""
    return [one for part in row for one in singly(part) or (None,)] if Several in map(type, row) else row
