"""Null keys: what becomes of an event that has one at the door.

It equals no key, another null included, so the event can meet nobody: it is set aside with the reason. Only where parts
may be missing it may be wanted all the same: then it goes on, comes out unmatched, and leaves as soon as nothing can
complete its row.

Source: SEMANTICS 1.18; Kafka Streams (KIP-962, null keys of left and outer joins).
"""

from __future__ import annotations

from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.entries import ABSENT
from cartesius.data.events import Event, Update
from cartesius.data.null_values import IS_NULL, is_null
from cartesius.expressions.value_functions import of_value
from cartesius.plan import facts
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from cartesius.batching.batches import Batch
    from cartesius.batching.bindings import Bindings
    from cartesius.data.entries import Entry
    from cartesius.language.families import Slot
    from cartesius.language.restriction_base import Restriction


@attrs.frozen(eq=False, slots=False)
class Needed:
    """A key that the events of a slot must have.

    Args:
        space: The key space that it is in; None: it is only looked at.
        key: How it is computed: a field's name, or a function of the value.
        by: The restriction that asks for it, as it is shown.
    """

    space: int | None
    key: str | Callable[[Any], Any]
    by: str

    @cached_property
    def compute(self) -> Callable[[Any], Any]:
        """The key, as a function of the value."""
        return attrgetter(self.key) if isinstance(self.key, str) else of_value(self.key)

    @property
    def reason(self) -> str:
        """Why an event is set aside that has none."""
        return f"{IS_NULL}, by {self.by}"


def aside(slot: Slot, value: Any, times: tuple[Any, Any], identity: Any, reason: str) -> tuple[Event, str, str]:
    """Return what ``engine.late`` tells of an event that has no key."""
    return Event(value, *times, 1, slot.source, identity), slot.name, reason


class NullKeys:
    """Says which events of one correlation are set aside, as a key of theirs is null."""

    def __init__(self, bindings: Bindings, batch: Batch) -> None:
        self._bindings = bindings
        self._batch = batch

    def missing(self, slot: Slot, entry: Entry) -> list[Needed]:
        """Return the keys that an event lacks."""
        return [
            one
            for one in self._bindings.needed[slot.index]
            if (entry.keys[one.space] is None if one.space is not None else is_null(one.compute(entry.value)))
        ]

    def let_in(self, slot: Slot, entry: Entry) -> bool:
        """Whether an event may go on; it is set aside if it lacks a key without which nobody wants it."""
        if entry.deletes or not (missing := self.missing(slot, entry)):
            return True
        if self.is_wanted(slot, missing):
            return True
        if entry.weight > 0:
            self.set_aside(slot, entry, missing[0].reason)
        return False

    def set_aside(self, slot: Slot, entry: Entry, reason: str) -> None:
        """Put an event beside the late ones; slots that share the memory do it as well."""
        value = entry.value if entry.row_key is ABSENT else Update(entry.row_key, entry.value)
        found = aside(slot, value, (entry.start, entry.end), entry.identity, reason)
        self._batch.world.set_aside(found, self._batch.number)
        if slot.shared is None or slot.shared.leader is slot:
            slot.ledger.deliver(Fate.SET_ASIDE)
        if slot.shared is not None and slot.shared.leader is slot:
            slot.shared.aside.append((entry, reason))

    def leaves(self, slot: Slot, entry: Entry) -> bool:
        """Whether no event that comes can complete the rows of an event: nothing equals its key."""
        if self._batch.partial is None or slot.is_table:
            return False
        null = _spaces(self.missing(slot, entry))
        return bool(null) and self._batch.partial.rows.met_without(slot.index, null) == {slot.index}

    def is_wanted(self, slot: Slot, missing: Collection[Needed]) -> bool:
        """Whether an event that lacks these keys comes out unmatched, as a preserved side of an outer join."""
        null = _spaces(missing)
        is_joined = all(one.space is not None and len(self._bindings.spaces[one.space]) > 1 for one in missing)
        absent = self._bindings.pattern.absent.names
        present = {other.index for other in self._bindings.slots if other.name not in absent}
        if not is_joined or slot.index not in present or self._gives_key(slot, null):
            return False
        if self._batch.partial is None:
            return not any(set(self._bindings.spaces[space]) & present - {slot.index} for space in null)
        met = self._batch.partial.rows.met_without(slot.index, null)
        return all(other in met for other in present if not self._batch.partial.rows.optional[other])

    def _gives_key(self, slot: Slot, null: Collection[int]) -> bool:
        """Whether the key of a slot in one of some key spaces is that of the rows of a table that it is in."""
        if slot.is_table or set(self._bindings.key_spaces(slot)[:1]).isdisjoint(null):
            return False
        tables = [one for one in self._bindings.pattern.restrictions if facts.makes_table(one)]
        keys = [(one, facts.table_key(one)) for one in tables]
        named = [(one, name) for one, key in keys for name in (key if isinstance(key, tuple) else (key,))]
        return any(isinstance(name, str) and slot in self._bindings.find(name, one) for one, name in named)


def note_needed(bindings: Bindings, restriction: Restriction) -> None:
    """Note the keys that a restriction, the last that has been looked at, asks for."""
    space = len(bindings.spaces) - 1 if facts.key_space(restriction) else None
    for name, key in facts.needed_keys(restriction).items():
        for slot in bindings.find(name, restriction):
            bindings.needed[slot.index].append(Needed(space, key, repr(restriction)))


def _spaces(missing: Collection[Needed]) -> set[int]:
    return {one.space for one in missing if one.space is not None}
