"""What a correlation binds: its slots with their operations, their keys, and the equalities between them.

Each correlation owns its operations, one of every slot family a slot (generativity). A *key space* is opened by each
`key_by`; the key of an event in each space travels with it as data. What is computed of an entry, so that a memory can
find it, is a *probe*.

This module is over 300 lines because slots, keys and links are found in one walk through the restrictions.

Source: ICFP 2018, doi:10.1145/3236762, section 7; SEMANTICS 1.4 and 1.13.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.batching.null_keys import Needed, note_needed
from cartesius.data.entries import ABSENT
from cartesius.data.records import wrap
from cartesius.data.window_spans import window_of
from cartesius.effects.operations import Operation
from cartesius.errors import InvalidArgument
from cartesius.expressions.expressions import KeyOf, evaluator
from cartesius.language.families import FAMILIES, Slot
from cartesius.language.patterns import check_has_versions
from cartesius.plan import facts
from cartesius.rows.enumeration import Link
from cartesius.rows.following import must_note_doors
from cartesius.rows.listings import listings_of
from cartesius.storage.conservation import Ledger
from cartesius.storage.memories import Memory, checked_key, checked_row_key
from cartesius.storage.pauses import Door
from cartesius.storage.row_memories import RowMemory
from cartesius.storage.version_memories import Kind, VersionMemory, ties_of
from cartesius.storage.versions_in_order import Moment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from cartesius.batching.world import World
    from cartesius.data.entries import Candidate, Entry
    from cartesius.expressions.expressions import Expression
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction

Shown: TypeAlias = "Callable[[Sequence[Entry | None]], list[Entry | None]]"


def no_key_yet(value: Any) -> Any:
    """A window is known only when an event is delivered to it."""
    return ABSENT


def key_probe(space: int) -> Callable[[Entry], Any]:
    """Return what reads the key of an entry in a key space."""
    return lambda entry: entry.keys[space]


def value_probe(evaluate: Callable[[Any], Any], shown: Shown | None) -> Callable[[Entry], Any]:
    """Return what computes a value of an entry, as it is shown."""
    return (lambda entry: evaluate((entry,))) if shown is None else lambda entry: evaluate(shown((entry,)))


def showing(show: Callable[[Any], Any]) -> Shown:
    """Return what shows the parts that are in a window."""

    def shown(parts: Sequence[Entry | None]) -> list[Entry | None]:
        return [
            part if part is None or window_of(part) is None else part.with_value(wrap(show(part.value)))
            for part in parts
        ]

    return shown


_OF_SLOT = tuple(family for family in FAMILIES if family.of_slot)
_OF_NONE = tuple(family for family in FAMILIES if not family.of_slot)


class Bindings:
    """The slots of one correlation in one engine."""

    def __init__(self, pattern: Pattern, world: World, share: Callable[[Bindings], None] | None = None) -> None:
        self.pattern = pattern
        self.operations: dict[Any, Operation[..., Any]] = {family: Operation(family.name) for family in _OF_NONE}
        self._ties: dict[str, Any] = {}
        self._retentions = self._versioned(world)
        self.moment = Moment() if self._retentions else None
        self.slots = [self._slot(index, name, world) for index, name in enumerate(pattern.slots)]
        self.spaces: list[dict[int, Callable[[Any], Any]]] = []
        self.prefixes: list[dict[int, tuple[int, ...]]] = []  # of each restriction: the spaces to its left, by slot
        self.needed: list[list[Needed]] = [[] for _ in self.slots]  # the keys that an event must have, by slot
        self.window_space: int | None = None
        self._spaces_of: dict[int, list[int]] = {slot.index: [] for slot in self.slots}
        for restriction in pattern.restrictions:
            self.prefixes.append({index: tuple(spaces) for index, spaces in self._spaces_of.items()})
            self._open_space(restriction)
            note_needed(self, restriction)
            if facts.opens_windows(restriction):
                self._open_windows(restriction)
            self._allow_lateness(restriction, world)
        if share is not None:
            share(self)
        for slot in self.slots:
            if not slot.memory.probes:  # a shared one has them already
                slot.memory.probes.extend(key_probe(space) for space in range(len(self.spaces)))
        shows = [show for restriction in pattern.restrictions if (show := restriction.shows()) is not None]
        self.shown = showing(shows[0]) if shows else None
        self.linked: dict[tuple[int, int], Expression] = {}  # what the probes of slots compute, of what they hold
        self.links = self._key_links() + self._value_links()
        self.lists = listings_of(pattern, self.slots, self._spaces_of, self.links)
        self.links += [link for index, listing in self.lists.items() for link in listing.links(index)]

    def _slot(self, index: int, name: str, world: World) -> Slot:
        reactive = self.pattern.slots[name]
        is_table = reactive.table or any(
            named in (name, reactive, reactive.name)
            for restriction in self.pattern.restrictions
            for named in facts.row_slots(restriction)
        )
        finds = not reactive.table and (reactive.pattern is not None or self.pattern.alternative is not None)
        memory: Memory
        if self.moment is not None:
            (kind, retention), keeps = self._kept(name, is_table=is_table), self._longest()
            memory = VersionMemory(world.journal, self.moment, kind, retention=retention, keeps=keeps, finds=finds)
            memory.ties = self._ties.get(name)
        else:
            memory = (RowMemory if is_table else Memory)(world.journal, finds=finds)
        return Slot(
            name,
            index,
            reactive,
            memory,
            Door(world.journal),
            {family: Operation(f"{family.name}_{name}") for family in _OF_SLOT},
            reactive.name,
            Ledger(world.fates),
            is_table,
            notes_door=must_note_doors(self.pattern, reactive),
            n=self.pattern.lists.get(name),
        )

    def _versioned(self, world: World) -> dict[str, int | None]:
        """Return, for each slot that keeps versions, for how long."""
        found: dict[str, int | None] = {}
        for restriction in self.pattern.restrictions:
            versions = facts.versions(restriction)
            if versions is None:
                continue
            duration = versions.retention
            retention = None if duration is None else world.units(duration, restriction, "retention")
            for named in versions.slots:
                bound = self.pattern.slots.items()
                slots = [s for s, r in bound if named in (s, r)] or [s for s, r in bound if named == r.name]
                found.update(dict.fromkeys(slots, retention))
                self._ties.update(dict.fromkeys(slots, ties_of(versions.ties)))
                for slot in slots:
                    check_has_versions(restriction, slot, self.pattern.slots[slot])
        return found

    def _kept(self, name: str, *, is_table: bool) -> tuple[Kind, int | None]:
        """Return how the entries of a slot are valid beside versions, and for how long they are kept."""
        if name in self._retentions:
            return Kind.VERSIONS, self._retentions[name]
        if is_table:
            return Kind.ALWAYS, None
        return Kind.POINTS, self._longest()

    def _longest(self) -> int | None:
        known = [retention for retention in self._retentions.values() if retention is not None]
        return max(known) if len(known) == len(self._retentions) else None

    def find(self, name: str | Reactive, restriction: Restriction) -> list[Slot]:
        """Return the slots that a variable name or a reactive means; raise `InvalidArgument` if there is none."""
        found = [slot for slot in self.slots if name in (slot.name, slot.reactive)]
        found = found or [slot for slot in self.slots if slot.reactive.name == name]
        if not found:
            raise InvalidArgument(self.pattern.unknown_slot(name, f"{restriction!r}"))
        return found

    def _allow_lateness(self, restriction: Restriction, world: World) -> None:
        late = facts.late(restriction)
        if late is None:
            return
        lateness = world.units(late.lateness, restriction, "lateness")
        for named in late.slots:
            for slot in self.find(named, restriction):
                slot.lateness = max(slot.lateness, lateness)

    def _open_space(self, restriction: Restriction) -> None:
        space = facts.key_space(restriction)
        if not space:
            return
        by_slot = {slot.index: extract for name, extract in space.items() for slot in self.find(name, restriction)}
        for index in by_slot:
            self._spaces_of[index].append(len(self.spaces))
        self.spaces.append(by_slot)

    def _open_windows(self, restriction: Restriction) -> None:
        if self.window_space is not None:
            message = (
                f"{restriction!r}: expected one kind of windows in a correlation but there are others to its left;"
                " correlate in windows of one kind, and bind the result to a correlation in those of the other"
            )
            raise InvalidArgument(message)
        if self.moment is not None:
            message = (
                f"{restriction!r}: expected windows, or versions, but got both; correlate under versioned, and bind the"
                " result to a correlation in windows"
            )
            raise InvalidArgument(message)
        self.window_space = len(self.spaces)
        streams = [slot for slot in self.slots if not slot.reactive.table]
        if not streams:
            message = f"{restriction!r}: expected a stream to be in windows but all slots are bound to tables"
            raise InvalidArgument(message)
        for slot in streams:
            slot.has_windows = True
            self._spaces_of[slot.index].append(self.window_space)
        self.spaces.append({slot.index: no_key_yet for slot in streams})

    def _key_links(self) -> list[Link]:
        links = []
        for position, space in enumerate(self.spaces):
            concerned = sorted(space)
            pairs = [(a, b) for i, a in enumerate(concerned) for b in concerned[i + 1 :]]
            links += [Link(a, position, b, position, is_key=True, skips_null=True) for a, b in pairs]
        return links

    def _value_links(self) -> list[Link]:
        index = {slot.name: slot.index for slot in self.slots}
        links = []
        for (left_slot, left), (right_slot, right) in self.pattern.equalities:
            ends = []
            for name, side in ((left_slot, left), (right_slot, right)):
                slot = self.slots[index[name]]
                slot.memory.probes.append(value_probe(evaluator(side, {name: 0}), self.shown))
                ends += [slot.index, len(slot.memory.probes) - 1]
                if self.shown is None:
                    self.linked[slot.index, ends[-1]] = side
                if isinstance(slot.memory, RowMemory) and isinstance(side, KeyOf):
                    slot.memory.finds_rows_at(ends[-1])
            links.append(Link(ends[0], ends[1], ends[2], ends[3], is_key=False, skips_null=True))
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
            present = slot.door.waiting_row(entry) or self._deleted(slot, entry)
            if present is None and self._spaces_of[slot.index]:
                mine = (other for other in held() if other.identity == entry.identity)
                present = next(iter(deque(mine, maxlen=1)), None)  # the latest change of the row
                if present is None and not slot.keeps_versions:
                    return False
        else:
            present = None
        entry.keys = self.keys_of(slot, entry) if present is None else present.keys
        return True

    def _deleted(self, slot: Slot, entry: Entry) -> Entry | None:
        """Return the row that is deleted, with its keys."""
        for before in entry.noted("before", ()):
            row = entry.as_row(entry.row_key, wrap(before))
            row.keys = self.keys_of(slot, row)
            return row
        if isinstance(slot.memory, VersionMemory):
            return slot.memory.row_at(entry)
        return slot.memory.row(entry.row_key)

    def keys_of(self, slot: Slot, entry: Entry) -> tuple[Any, ...]:
        """Return the key of an event in each space; what has no value has none."""
        return tuple(
            [
                checked_key(space[slot.index](entry.value), "key_by", f" for slot {slot.name!r}")
                if slot.index in space and not entry.deletes
                else ABSENT
                for space in self.spaces
            ]
        )

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
            call = next((repr(r) for r in self.pattern.restrictions if facts.makes_table(r)), "")
            return lambda parts, value: checked_row_key(by(value), call)
        indexes = [slot.index for slot in self.keyed_slots(key)]

        def row_key(parts: Candidate, value: Any) -> Any:
            return next((part.own_key() for index in indexes if (part := parts[index]) is not None), None)

        return row_key

    def keyed_slots(self, key: str | tuple[str, ...]) -> list[Slot]:
        """Return the slots of which the first that is present gives a result its key; index them by their keys."""
        restriction = next(r for r in self.pattern.restrictions if facts.makes_table(r))
        slots = []
        for name in (key,) if isinstance(key, str) else key:
            (slot, *_) = self.find(name, restriction)
            if slot.n is not None:
                message = (
                    f"{restriction!r}: expected a slot of which a result has one event but {slot.name!r} is repeated;"
                    " use a function of the yielded value"
                )
                raise InvalidArgument(message)
            if not slot.is_table and not self.key_spaces(slot):
                message = (
                    f"{restriction!r}: expected a slot with a key (of a table, or keyed by key_by) but {slot.name!r}"
                    " has none; use a function of the yielded value"
                )
                raise InvalidArgument(message)
            if not slot.is_table:
                slot.memory.index(self.key_spaces(slot)[:1])
            slots.append(slot)
        return slots

    def keeps(self, slot: Slot, key: Any) -> bool:
        """Whether a slot keeps anything of a key, be it a deletion."""
        if slot.is_table and isinstance(slot.memory, VersionMemory):
            return (key,) in slot.memory.histories
        return bool(self.of_key(slot, key))

    def of_key(self, slot: Slot, key: Any) -> Collection[Entry]:
        """Return the entries of a slot that give their results the key ``key``, oldest first, gone ones included."""
        if slot.is_table:
            return slot.memory.rows_of(key)  # type: ignore[attr-defined,no-any-return]  # of a table
        return slot.memory.lookup(self.key_spaces(slot)[:1], key)

    def key_spaces(self, slot: Slot) -> tuple[int, ...]:
        """Return the key spaces that a slot is in, without the windows."""
        return tuple([space for space in self._spaces_of[slot.index] if space != self.window_space])
