"""Sharing: slots of one program that are bound to one source and restricted alike keep its entries once.

The slots may be of different correlations, or of one. The first of them to run in a step stores, and restricts what is
there; the others take over what that has done to the memory, as part of their own batch. So what is fresh or gone
stays marked until all of them have run, and garbage is collected at the end of the step. Who is first follows from the
order of the correlations alone: there is no leader to be replaced when one is removed, or completes.

Each correlation has its own indexes on the memory: it appends its computed values to those that are there.

Invariant: a correlation that shares has one batch a step, as nothing in it waits, asks for a tick, or spends; and its
restrictions do to a slot what depends on that slot's own events alone (`Restriction.shares`).

Source: SEMANTICS 1.1 and 1.2; Madden, Shah, Hellerstein, Raman, Continuously Adaptive Continuous Queries over Streams,
SIGMOD 2002 (state modules shared by queries).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from cartesius.errors import NotStorable
from cartesius.language.families import (
    admit,
    arrive,
    completes,
    displace,
    first_is_oldest,
    optional,
    push,
    row_key,
    select,
)
from cartesius.language.fingerprints import describe
from cartesius.language.restriction_base import slot_families
from cartesius.plan import facts
from cartesius.storage.shared_memories import SharedMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cartesius.batching.bindings import Bindings
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.patterns import Pattern
    from cartesius.language.reactives import Reactive
    from cartesius.language.restriction_base import Restriction

_STORING = (arrive, push)
_KNOWN = (*_STORING, displace, select, admit, optional, row_key, first_is_oldest, completes)


@final
class SharedMemories:
    """Finds, while a program is built, which slots can share a memory.

    Args:
        saved: Of each correlation and slot of a saved program, the number of the memory that it shared, if it did: only
            what was shared then has the same entries now. None: there is no saved program.
    """

    def __init__(self, saved: Sequence[Sequence[int | None]] | None = None) -> None:
        self._saved = saved
        self._found: dict[tuple[str, int | None], SharedMemory] = {}

    def share(self, sources: Mapping[Reactive, str], place: int, bindings: Bindings) -> None:
        """Give the slots of a correlation the memories of slots that are like them.

        Args:
            sources: The names of what slots are bound to, in the program.
            place: That of the correlation in the program.
            bindings: Its slots; nothing has been computed of their memories yet.
        """
        if not _is_plain(bindings.pattern):
            return
        for slot in bindings.slots:
            likeness, group = _likeness(bindings, slot, sources), self._group(place, slot)
            if likeness is None or (group is None and self._saved is not None):
                continue
            slot.shared = self._found.setdefault((likeness, group), SharedMemory(slot.memory, slot.ledger))
            slot.memory, slot.ledger = slot.shared.memory, slot.shared.ledger

    def _group(self, place: int, slot: Slot) -> int | None:
        if self._saved is None or place >= len(self._saved) or slot.index >= len(self._saved[place]):
            return None
        return self._saved[place][slot.index]


def shared_by(joins: Iterable[Join]) -> dict[SharedMemory, list[tuple[Join, Slot]]]:
    """Return the memories that are shared, and by whom, in the order in which they run."""
    found: dict[SharedMemory, list[tuple[Join, Slot]]] = {}
    for join in joins:
        for slot in join.slots:
            if slot.shared is not None:
                found.setdefault(slot.shared, []).append((join, slot))
    return found


def settled(joins: Iterable[Join]) -> list[SharedMemory]:
    """Return the memories that are shared by ``joins``; what only one slot has is its own from now on."""
    found = shared_by(joins)
    for users in found.values():
        if len(users) == 1:
            users[0][1].shared = None
    return [shared for shared, users in found.items() if len(users) > 1]


def _is_plain(pattern: Pattern) -> bool:
    """Whether all that happens in a correlation depends, slot by slot, on the slot's own events in the same step."""
    if pattern.alternative is not None or pattern.lists or pattern.absent.names:
        return False
    families = {family for one in pattern.restrictions for _, family, _, _ in slot_families(one)}
    if optional in families and any(facts.key_space(one) for one in pattern.restrictions):
        return False  # what has no key goes on there, and nowhere else
    if completes in families and any(facts.makes_table(one) for one in pattern.restrictions):
        return False  # once it has completed its rows stay as they are, while other slots store on
    return all(facts.shares(one) and not one._states for one in pattern.restrictions) and families <= set(_KNOWN)


def _likeness(bindings: Bindings, slot: Slot, sources: Mapping[Reactive, str]) -> str | None:
    """Return a text that slots share whose entries, keys included, are the same; None: there is no other such slot."""
    told = []
    for one, prefixes in zip(bindings.pattern.restrictions, bindings.prefixes, strict=True):
        mine = [field for field in one._fields if slot in _slots_in(one, field, bindings)]
        if any(
            family in _STORING and (not fields or not set(mine).isdisjoint(fields))
            for _, family, fields, _ in slot_families(one)
        ):
            rest = {field: one.configuration[field] for field, kind in one._fields.items() if kind not in _SLOT_KINDS}
            told.append((type(one), rest, mine, prefixes[slot.index]))
    keys: list[Any] = [[space[slot.index]] if slot.index in space else [] for space in bindings.spaces]
    keys += [one.compute for one in bindings.needed[slot.index] if one.space is None]
    try:
        return describe((sources[slot.reactive], slot.is_table, keys, told), by_identity=True)
    except NotStorable:
        return None


def _slots_in(restriction: Restriction, field: str, bindings: Bindings) -> list[Slot]:
    value, kind = restriction.configuration[field], restriction._fields[field]
    named = {"slot": (value,), "slots": value}.get(kind, ())
    return [slot for name in named for slot in bindings.find(name, restriction)]


_SLOT_KINDS = ("slot", "slots")
