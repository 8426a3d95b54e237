"""What a correlation binds: its slots with their operations, their keys, and the equalities between them.

Each correlation owns its operations, one of every slot family a slot (generativity). A *key space* is opened by each
`key_by`; the key of an event in each space travels with it as data.

Source: ICFP 2018, doi:10.1145/3236762, section 7; SEMANTICS 1.13.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from cartesius.enumeration import Link
from cartesius.errors import InvalidArgument
from cartesius.expressions import evaluator
from cartesius.families import FAMILIES, Slot
from cartesius.memories import ABSENT, Memory
from cartesius.operations import Operation
from cartesius.pauses import Door

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cartesius.enumeration import Candidate
    from cartesius.memories import Entry
    from cartesius.patterns import Pattern
    from cartesius.reactives import Reactive
    from cartesius.restriction_base import Restriction
    from cartesius.world import World


class Bindings:
    """The slots of one correlation in one engine."""

    def __init__(self, pattern: Pattern, world: World) -> None:
        self.pattern = pattern
        self.operations: dict[Any, Operation[..., Any]] = {
            family: Operation(family.name) for family in FAMILIES if not family.of_slot
        }
        self.slots = [
            Slot(
                slot,
                index,
                reactive,
                Memory(world.journal, finds=reactive.pattern is not None and not reactive.table),
                Door(world.journal),
                {family: Operation(f"{family.name}_{slot}") for family in FAMILIES if family.of_slot},
                reactive.name,
            )
            for index, (slot, reactive) in enumerate(pattern.slots.items())
        ]
        self.spaces: list[dict[int, Callable[[Any], Any]]] = []
        self.prefixes: list[dict[int, tuple[int, ...]]] = []  # of each restriction: the spaces to its left, by slot
        self._spaces_of: dict[int, list[int]] = {slot.index: [] for slot in self.slots}
        for restriction in pattern.restrictions:
            self.prefixes.append({index: tuple(spaces) for index, spaces in self._spaces_of.items()})
            self._open_space(restriction)
        for slot in self.slots:
            slot.memory.probes.extend(_key_probe(space) for space in range(len(self.spaces)))
        self.links = self._key_links() + self._value_links()

    def find(self, name: str | Reactive, restriction: Restriction) -> list[Slot]:
        """Return the slots that a variable name or a reactive means; raise `InvalidArgument` if there is none."""
        found = [slot for slot in self.slots if name in (slot.name, slot.reactive)]
        if not found:
            found = [slot for slot in self.slots if slot.reactive.name == name]
        if not found:
            raise InvalidArgument(self.pattern.unknown_slot(name, f"{restriction!r}"))
        return found

    def _open_space(self, restriction: Restriction) -> None:
        space = restriction.key_space()
        if not space:
            return
        by_slot = {slot.index: extract for name, extract in space.items() for slot in self.find(name, restriction)}
        for index in by_slot:
            self._spaces_of[index].append(len(self.spaces))
        self.spaces.append(by_slot)

    def _key_links(self) -> list[Link]:
        links = []
        for position, space in enumerate(self.spaces):
            concerned = sorted(space)
            links += [Link(a, position, b, position, True) for i, a in enumerate(concerned) for b in concerned[i + 1 :]]
        return links

    def _value_links(self) -> list[Link]:
        index = {slot.name: slot.index for slot in self.slots}
        links = []
        for (left_slot, left), (right_slot, right) in self.pattern.equalities:
            ends = []
            for name, side in ((left_slot, left), (right_slot, right)):
                probes = self.slots[index[name]].memory.probes
                probes.append(_value_probe(evaluator(side, {name: 0})))
                ends += [index[name], len(probes) - 1]
            links.append(Link(ends[0], ends[1], ends[2], ends[3], False))
        return links

    def add_keys(self, slot: Slot, entry: Entry, held: Callable[[], Iterable[Entry]]) -> bool:
        """Give an event at the door its key in each space; what takes back or deletes goes where its target is.

        Return whether it concerns anything: not so a deletion of a keyed row that is neither at the door, nor among
        what gates have ``held``, nor in memory.
        """
        if not self.spaces:
            return True
        if entry.weight < 0:
            present = slot.memory.find(entry.identity)
        elif entry.deletes:
            present = slot.door.waiting_row(entry) or slot.memory.rows.get(entry.row_key)
            if present is None and self._spaces_of[slot.index]:
                mine = (other for other in held() if other.identity == entry.identity)
                present = next(iter(deque(mine, maxlen=1)), None)  # the latest change of the row
                if present is None:
                    return False
        else:
            present = None
        if present is not None:
            entry.keys = present.keys
            return True
        entry.keys = tuple(
            [
                _checked_key(space[slot.index](entry.value), slot)
                if slot.index in space and not entry.deletes
                else ABSENT
                for space in self.spaces
            ]
        )
        return True

    def is_spoke(self, link: Link, missing: Sequence[bool]) -> bool:
        """Whether a link of a key space leads from its first mandatory slot: that is always there, so those suffice."""
        concerned = sorted(self.spaces[link.left_position])
        hub = next((slot for slot in concerned if not missing[slot]), None)
        if hub is None and len(concerned) > 2:
            names = ", ".join(self.slots[slot].name for slot in concerned)
            message = f"optionally: expected a slot that may not be missing among those of one key_by but got {names}"
            raise InvalidArgument(message)
        return hub is None or hub in (link.left, link.right)

    def row_keys(self, key: Any) -> Callable[[Candidate, Any], Any]:
        """Return how the table key of a result is computed from its parts and its value."""
        if key is None:
            return lambda parts, value: None
        if callable(key):
            by: Callable[[Any], Any] = key
            return lambda parts, value: by(value)
        restriction = next(r for r in self.pattern.restrictions if r.makes_table)
        (slot, *_) = self.find(key, restriction)
        if not slot.reactive.table and not self._spaces_of[slot.index]:
            message = (
                f"{restriction!r}: expected a slot with a key (of a table, or keyed by key_by) but {slot.name!r}"
                " has none; use a function of the yielded value"
            )
            raise InvalidArgument(message)

        def row_key(parts: Candidate, value: Any) -> Any:
            part = parts[slot.index]
            return None if part is None else part.own_key()

        return row_key


def _checked_key(key: Any, slot: Slot) -> Any:
    try:
        hash(key)
    except TypeError:
        message = (
            f"key_by: expected a key that can be hashed for slot {slot.name!r} but got {key!r}"
            f" (type={type(key).__name__}); turn it into a tuple or a string"
        )
        raise InvalidArgument(message) from None
    return None if key is None or key != key else key  # noqa: PLR0124 - NaN is no key


def _key_probe(space: int) -> Callable[[Entry], Any]:
    return lambda entry: entry.keys[space]


def _value_probe(evaluate: Callable[[Any], Any]) -> Callable[[Entry], Any]:
    return lambda entry: evaluate((entry,))
