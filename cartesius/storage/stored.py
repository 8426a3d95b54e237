"""Entries as plain data, as a snapshot stores them, also inside the states of restrictions.

Source: SEMANTICS 1.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.codec import storable, text_of
from cartesius.data.entries import ABSENT, Entry, Several
from cartesius.data.queues import Queue
from cartesius.errors import NotStorable
from cartesius.storage.version_memories import Version

if TYPE_CHECKING:
    from collections.abc import Iterator


@storable
@attrs.frozen
class Stored:
    """An entry, as stored: keys hold None in a list where a key space does not name the slot."""

    value: Any
    start: Any
    end: Any
    identity: Any
    keys: Any
    row_key: Any
    number: int
    slot: str
    more: Any  # what only some entries have
    validity: Any  # of a version: when it holds
    place: int  # the same for all mentions of one entry


@storable
@attrs.frozen
class HeldSet:
    """A set of entries, as stored: entries are told apart by identity, which plain data are not."""

    items: tuple[Any, ...]


@storable
@attrs.frozen
class HeldList:
    """Entries that are bound together as a list, as stored."""

    items: tuple[Any, ...]


def save_entry(entry: Entry, places: dict[int, int]) -> Stored:
    """Turn an entry into plain data; ``places`` numbers the entries that have been met."""
    return Stored(
        entry.value,
        entry.start,
        entry.end,
        entry._identity,
        [[] if key is ABSENT else [key] for key in entry.keys],
        [] if entry.row_key is ABSENT else [entry.row_key],
        entry.number,
        entry.slot,
        entry.more,
        entry.validity if isinstance(entry, Version) else None,
        places.setdefault(id(entry), len(places)),
    )


def load_entry(stored: Stored) -> Entry:
    """Turn plain data back into an entry."""
    entry = Entry(stored.value, stored.start, stored.end, stored.identity)
    entry.more = stored.more
    entry.keys = tuple([key[0] if key else ABSENT for key in stored.keys])
    entry.row_key = stored.row_key[0] if stored.row_key else ABSENT
    entry.number = stored.number
    entry.slot = stored.slot
    if stored.validity is not None:
        return Version(entry, stored.validity)
    return entry


def save_fields(value: Any, places: dict[int, int]) -> Any:
    """Replace the entries in a copy's field by what is stored of them."""

    def save(entry: Entry) -> Any:
        if isinstance(entry, Several):
            return HeldList(tuple([save_entry(one, places) for one in entry.entries]))
        return save_entry(entry, places)

    return _map(value, Entry, save)


def load_fields(value: Any, known: dict[int, Entry]) -> Any:
    """Bring the entries of a copy's field back; those that are ``known``, by place, are the ones there."""

    def load(stored: Stored) -> Entry:
        if stored.place not in known:
            known[stored.place] = load_entry(stored)
        return known[stored.place]

    return _map(value, Stored, load)


def _map(value: Any, kind: type, change: Any) -> Any:
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, Queue):
        return Queue([_map(item, kind, change) for item in value])
    if type(value) in (tuple, list):
        return type(value)([_map(item, kind, change) for item in value])
    if type(value) is dict:
        return {key: _map(item, kind, change) for key, item in value.items()}
    if isinstance(value, HeldList):
        return Several([_map(item, kind, change) for item in value.items])
    if isinstance(value, HeldSet):
        return {_map(item, kind, change) for item in value.items}
    if type(value) in (set, frozenset) and any(isinstance(item, kind) for item in value):
        changed = [_map(item, kind, change) for item in value]
        return (
            HeldSet(tuple(sorted(changed, key=lambda stored: stored.place)))
            if isinstance(changed[0], Stored)
            else value
        )
    return value


def entries_in(value: Any) -> Iterator[Entry]:
    """Iterate over the entries that a copy's field holds."""
    if isinstance(value, Entry):
        yield value
    elif isinstance(value, Queue | tuple | list | set | frozenset):
        for item in value:
            yield from entries_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from entries_in(item)


def check_storable(entry: Entry, where: str) -> None:
    """Raise `NotStorable`, saying where it is, if no snapshot could hold the value of ``entry``."""
    try:
        text_of(entry.value)
    except NotStorable as error:
        error.add_note(where)
        raise
