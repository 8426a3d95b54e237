"""What a plan means, read from its nodes alone: a correlation of streams, from scratch, with nested loops over lists.

It knows no clause, no index and no engine. What it reads are the docstrings of `cartesius/plan/nodes.py`, and what
SEMANTICS 1.1 to 1.13, 3.8 and 3.11 say of slots, batches and uses. No clock moves: what expires could meet nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

from cartesius.plan import (
    Apart,
    Choose,
    InSequence,
    KeyBy,
    Lasting,
    Let,
    Lockstep,
    Newest,
    Node,
    Now,
    Oldest,
    TakeBack,
    Transduce,
    Uses,
    Visit,
    Within,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = dict[str, Any]
Result = tuple[tuple[int, ...], int, int, int]
"""The field ``n`` of its parts, from when, until when, and 1, or -1 if it is taken back."""


@dataclass(eq=False)
class Part:
    """An event in a slot."""

    row: Row
    start: int
    end: int
    number: int
    keys: dict[int, Any]  # by the place of the key space in the plan
    uses: float = math.inf


@dataclass
class Reading:
    """A plan at work.

    Args:
        slots: By variable, the input that it is bound to.
        nodes: The plan, outermost first.
        where: A condition on the rows of all slots, by their names.
        states: What the variables of transducers are in the beginning, by their names.
    """

    slots: dict[str, str]
    nodes: Sequence[Node]
    where: Callable[[dict[str, Row]], bool]
    states: dict[str, Any] = field(default_factory=dict)
    present: dict[tuple[int, Any], Any] = field(default_factory=dict)  # the state of each transducer, by key
    memory: dict[str, list[Part]] = field(default_factory=dict)  # newest first
    held: dict[tuple[int, Any], dict[str, list[Part]]] = field(default_factory=dict)
    standing: list[tuple[tuple[Part, ...], Result]] = field(default_factory=list)

    def push(self, source: str, row: Row, start: int, end: int, number: int) -> list[Result]:
        """Push an event; return what comes."""
        batch: list[tuple[str, Part]] = []
        for slot, its in self.slots.items():
            if its == source:
                keys = {at: row[node.keys[slot]] for at, node in self._of(KeyBy) if slot in node.keys}
                self._pass(slot, Part(row, start, end, number, keys), len(self.nodes), batch)
        order = list(self.slots)
        batch.sort(key=lambda one: order.index(one[0]))
        out: list[Result] = []
        for slot, part in batch:
            self.memory.setdefault(slot, []).insert(0, part)
            for at, node in reversed(list(enumerate(self.nodes))):
                out += self._store(at, node, slot, part)
        fresh = {id(part) for slot, part in batch if any(part is one for one in self.memory[slot])}
        is_oldest_first = next((node.oldest_first for _, node in reversed(self._of(Visit))), False)
        memories = [self.memory.get(slot, [])[:: -1 if is_oldest_first else 1] for slot in self.slots]
        for parts in product(*memories):
            if any(id(part) in fresh for part in parts) and all(part.uses > 0 for part in parts) and self._meet(parts):
                since, until = min(part.start for part in parts), max(part.end for part in parts)
                result = (tuple(part.row["n"] for part in parts), since, until, 1)
                self.standing.append((parts, result))
                out.append(result)
                for part in parts:
                    part.uses -= 1
                if any(node.first for _, node in self._of(Choose)):
                    break
        for slot, parts_of in self.memory.items():
            if any(slot in node.slots for _, node in self._of(Now)):
                self._taken_back(parts_of)  # it expires: its results stand, and nothing takes them back any more
                self.memory[slot] = []
            self.memory[slot] = [part for part in self.memory[slot] if part.uses > 0]
        return out

    def _of(self, kind: Any) -> list[tuple[int, Any]]:
        return [(at, node) for at, node in enumerate(self.nodes) if isinstance(node, kind)]

    def _scope(self, part: Part, at: int) -> tuple[Any, ...]:
        """The keys of the spaces to the left of a node."""
        return tuple(key for space, key in sorted(part.keys.items()) if space < at)

    def _pass(self, slot: str, part: Part, behind: int, batch: list[tuple[str, Part]]) -> None:
        """Let an event come to the gates to the left of a place, the right-most first."""
        for at in reversed(range(behind)):
            node = self.nodes[at]
            if isinstance(node, Let) and node.slot == slot and not node.predicate(part.row):
                return
            if isinstance(node, Transduce) and node.slot == slot:
                under = (at, self._scope(part, at))
                before = self.present.get(under, self.states[node.variable])
                self.present[under], goes = node.step(before, part.row)
                if not goes:
                    return
                (value,) = goes
                part = Part(value, part.start, part.end, part.number, part.keys)
            if isinstance(node, Lockstep) and slot in node.slots:
                queues = self.held.setdefault((at, self._scope(part, at)), {one: [] for one in node.slots})
                queues[slot].append(part)
                if all(queues.values()):
                    for one in node.slots:
                        self._pass(one, queues[one].pop(0), at, batch)
                return
        batch.append((slot, part))

    def _store(self, at: int, node: Node, slot: str, part: Part) -> list[Result]:
        """Do to the memory of a slot what a node says of an event that has been stored."""
        if isinstance(node, Uses) and slot in node.slots:
            part.uses = min(part.uses, node.n)
        if isinstance(node, Newest | Oldest) and slot in node.slots:
            alike = [one for one in self.memory[slot] if self._scope(one, at) == self._scope(part, at)]
            gone = alike[node.n :] if isinstance(node, Newest) else alike[: max(0, len(alike) - node.n)]
            self.memory[slot] = [one for one in self.memory[slot] if not any(one is other for other in gone)]
            return self._taken_back(gone) if self._of(TakeBack) else []
        return []

    def _taken_back(self, gone: list[Part]) -> list[Result]:
        """Forget the results of some parts; return what takes them back."""
        lost = [one for one in self.standing if any(part is other for part in one[0] for other in gone)]
        self.standing = [one for one in self.standing if one not in lost]
        return [(*result[:3], -1) for _, result in lost]

    def _meet(self, parts: tuple[Part, ...]) -> bool:
        by = dict(zip(self.slots, parts, strict=True))
        for space, _ in self._of(KeyBy):
            keys = [part.keys[space] for part in parts if space in part.keys]
            if any(key != keys[0] for key in keys):
                return False
        return self.where({slot: part.row for slot, part in by.items()}) and all(
            _admits(node, by) for node in self.nodes
        )


def _admits(node: Node, by: dict[str, Part]) -> bool:
    match node:
        case Within(slots, duration):
            named = [by[slot] for slot in slots]
            return max(part.end for part in named) - min(part.start for part in named) <= int(duration)
        case Lasting(slot, duration):
            return all(part.end <= by[slot].end + int(duration) for part in by.values())
        case Apart(left, right, lower, upper):
            return int(lower) <= by[right].end - by[left].end <= int(upper)
        case InSequence(slots, "any", None):
            parts = [by[slot] for slot in slots]
            return all(_precedes(one, other) for one, other in pairwise(parts))
    return True


def _precedes(one: Part, other: Part) -> bool:
    """What ends before the other starts; of two points of one time, what came first."""
    are_tied = one.start == one.end == other.start == other.end
    return one.end < other.start or (are_tied and one.number < other.number)
