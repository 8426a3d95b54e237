"""Memory: what a slot retains, newest first, found by key or by value.

A `Memory` holds the entries of a stream by arrival number; `row_memories` has tables, `version_memories` history. Each
has one index for every combination of computed values that the enumeration or a restriction asks for; an entry that is
alone under its key is in it itself. During a batch a memory holds the old *and* the new one: a fresh entry is not yet
in the old memory, a gone entry no longer in the new one.

Invariant: outside a batch every entry is live, and each index holds exactly the entries that can be found by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cartesius.data.entries import FRESH, GONE, LIVE
from cartesius.data.null_values import found_again, has_no_number, is_no_number, is_null
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from cartesius.data.entries import Entry
    from cartesius.data.journals import Journal

Places: TypeAlias = "list[tuple[dict[Any, Any], Any]]"
NOWHERE: Final = ("nowhere",)
"""What an index has no place for: a value that equals nothing, itself included."""
_UNHASHABLE: Final = ("unhashable",)


class Memory:
    """The entries of one slot, a stream's."""

    __slots__ = ("_entries", "_identities", "_indexes", "_is_disordered", "journal", "probes", "visited")

    def __init__(self, journal: Journal, *, finds: bool = False) -> None:
        # Where a source may take events back. A fresh entry and the gone one that it replaces may share an identity.
        self._identities: dict[Any, list[Entry]] | None = {} if finds else None
        self._entries: dict[Any, Entry] = {}
        self.probes: list[Callable[[Entry], Any]] = []  # how the values are computed that it is indexed by
        self._indexes: dict[tuple[int, ...], dict[Any, Entry | dict[int, Entry]]] = {}
        self.journal = journal
        self._is_disordered = False
        self.visited = 0  # how many entries have been looked at

    @property
    def finds(self) -> bool:
        """Whether entries can be found by identity, as their source may take them back."""
        return self._identities is not None

    def index(self, positions: tuple[int, ...]) -> None:
        """Keep an index on the computed values at ``positions``. Before the first entry."""
        if positions:
            self._indexes.setdefault(positions, {})

    # -- changing ------------------------------------------------------------------------------------------------------

    def store(self, entry: Entry) -> None:
        """Add a fresh entry; it has its number already."""
        places = self.places(entry)
        state, more = entry.state, entry.more

        def undo() -> None:
            self.take(entry, places)
            entry.state, entry.more = state, more
            entry.number = -1  # a gate may hold it again

        def do() -> None:
            entry.state = FRESH
            self.put(entry, places)

        self.journal.change(do, undo)

    def remove(self, entry: Entry) -> None:
        """Take an entry out for good."""
        places = self.places_of(entry)
        state = entry.state

        def undo() -> None:
            entry.state = state
            self.put(entry, places)
            self._is_disordered = True

        self.journal.change(lambda: self.take(entry, places), undo)

    def _enter(self, entry: Entry, places: Places) -> None:
        for table, key in places:
            found = table.setdefault(key, entry)
            if found is not entry:
                alike = found if isinstance(found, dict) else {found.number: found}
                alike[entry.number] = entry
                table[key] = alike
        if self._identities is not None:
            self._identities.setdefault(entry.identity, []).append(entry)

    def _leave(self, entry: Entry, places: Places) -> None:
        for table, key in places:
            found = table[key]
            if found is entry:
                del table[key]
            else:
                del found[entry.number]
                if len(found) == 1:
                    (table[key],) = found.values()
        if self._identities is not None:
            alike = self._identities[entry.identity]
            alike.remove(entry)
            if not alike:
                del self._identities[entry.identity]

    # -- changing for good: what can fail is found out before ----------------------------------------------------------

    def places(self, entry: Entry) -> Places:
        """Return where an entry is to be in the indexes: the tables, and the key in each."""
        places = []
        for positions, table in self._indexes.items():
            key = self.values(positions, entry)
            if key is not NOWHERE:
                table.get(key)  # a key whose == raises does so here, before anything changes
                places.append((table, key))
        return places

    def places_of(self, entry: Entry) -> Places:
        """Return where an entry that is there is in the indexes; raise `InvalidArgument` if its value has changed."""
        places = self.places(entry)
        for table, key in places:
            found = table.get(key)
            if found is not entry and not (isinstance(found, dict) and entry.number in found):
                _refuse_changed(entry)
        return places

    def put(self, entry: Entry, places: Places) -> None:
        """Add a live entry, of which it is known where it is to be. There is no way back."""
        self._entries[entry.number] = entry
        self._enter(entry, places)

    def take(self, entry: Entry, places: Places) -> None:
        """Take an entry out, of which it is known where it is. There is no way back."""
        del self._entries[entry.number]
        self._leave(entry, places)

    def put_back(self, entry: Entry) -> None:
        """Add an entry that was taken out for good, if only in part; `restore_order` once all are there."""
        if self._identities is not None and entry in (alike := self._identities.get(entry.identity, [])):
            alike.remove(entry)
        self.put(entry, self.places(entry))
        self._is_disordered = True

    def parts(self) -> tuple[dict[Any, Entry], dict[tuple[int, ...], dict[Any, Any]]]:
        """Return the entries by number, and the indexes: the same dicts as long as it lives, of a stream's memory."""
        return self._entries, self._indexes

    def restore_order(self) -> None:
        """Sort, after a roll-back, what it has put back."""
        if not self._is_disordered:
            return
        self._is_disordered = False
        entries = sorted(self._entries.items(), key=_number)
        self._entries.clear()
        self._entries.update(entries)
        for table in self._indexes.values():
            for key, found in table.items():
                if isinstance(found, dict):
                    table[key] = dict(sorted(found.items()))

    def settle(self, entries: Iterable[Entry]) -> None:
        """End a batch for ``entries``: what was fresh is live."""
        for entry in entries:
            entry.state = LIVE

    # -- reading -------------------------------------------------------------------------------------------------------

    def values(self, positions: tuple[int, ...], entry: Entry) -> Any:
        """Return what ``entry`` is found by in the index on ``positions``; `NOWHERE` if it is not."""
        if len(positions) == 1:
            return hashable(self.probes[positions[0]](entry))
        found = tuple([hashable(self.probes[p](entry)) for p in positions])
        return NOWHERE if NOWHERE in found else found

    def all(self) -> Collection[Entry]:
        """Return all entries, oldest first, gone ones included; `reversed` gives the newest first."""
        return self._entries.values()

    def lookup(self, positions: tuple[int, ...], key: Any) -> Collection[Entry]:
        """Return the entries found by ``key`` in the index on ``positions``, oldest first, gone ones included."""
        if not positions:
            return self.all()
        found = self._indexes[positions].get(key)
        if found is None:
            return ()
        return found.values() if isinstance(found, dict) else (found,)

    def under(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> list[Entry]:
        """Return the present entries under a key, a tuple of one value a position, newest first."""
        found: Any = self.lookup(positions, key[0] if len(positions) == 1 else key)
        return [e for e in reversed(found) if e.state != GONE]

    def keyed(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> Collection[Entry]:
        """Return the entries under a key, a tuple of one value a position, oldest first, gone ones included."""
        return self.lookup(positions, key[0] if len(positions) == 1 else key)

    def find(self, identity: Any) -> Entry | None:
        """Return the present entry of that identity."""
        alike = self._identities.get(identity, ()) if self._identities is not None else ()
        return next((entry for entry in reversed(alike) if entry.state != GONE), None)

    def row(self, key: Any) -> Entry | None:
        """Return the present row of a table, by its key."""
        return None

    def holds(self, entry: Entry) -> bool:
        """Whether an entry is there, be it gone."""
        return self._entries.get(entry.number) is entry

    def check_invariants(self) -> None:
        """Raise AssertionError if an index disagrees with the entries."""
        numbers = [entry.number for entry in self.all()]
        assert numbers == sorted(numbers)
        assert len(self) == len(numbers)
        for positions, table in self._indexes.items():
            found = [e for one in table.values() for e in (one.values() if isinstance(one, dict) else (one,))]
            expected = [e.number for e in self.all() if self.values(positions, e) is not NOWHERE]
            assert sorted(e.number for e in found) == expected, (positions, found, expected)
        assert all(entry.state == LIVE and self.holds(entry) for entry in self.all())
        if self._identities is not None:
            assert sorted(e.number for alike in self._identities.values() for e in alike) == numbers

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries, newest first."""
        return reversed(self.all())  # type: ignore[call-overload,no-any-return]  # all of them can be reversed

    def __len__(self) -> int:
        """The number of entries retained."""
        return len(self._entries)


def _refuse_changed(entry: Entry) -> None:
    message = (
        f"push: expected payloads that do not change but {entry.value!r} has been changed since it was pushed, so that"
        " an index does not find it any more; push a new value instead"
    )
    raise InvalidArgument(message)


def is_exact(key: Any) -> bool:
    """Whether an index finds exactly what is equal to ``key``: not if something in it cannot be hashed."""
    return key is not _UNHASHABLE and not (type(key) is tuple and any(part is _UNHASHABLE for part in key))


def hashable(value: Any) -> Any:
    """Return ``value``, or one stand-in for all values that cannot be hashed: the full condition decides then.

    A value that equals nothing, itself included, is `NOWHERE`, and so is a tuple, list or record of one: an index, and
    Python's comparison of these, would find it by identity.
    """
    if type(value) is int or type(value) is str:
        return value
    try:
        hash(value)
        if is_no_number(value):
            return NOWHERE
    except TypeError:
        if has_no_number(value):
            return NOWHERE
        # A set equals a frozenset, and a bytearray bytes: they must be found under the same key.
        if isinstance(value, set):
            return frozenset(value)
        return bytes(value) if isinstance(value, bytearray) else _UNHASHABLE
    return value


def checked_key(key: Any, call: str, what: str = "") -> Any:
    """Return a key, None for one that is null; raise `InvalidArgument` if it cannot be hashed."""
    try:
        hash(key)
    except TypeError:
        message = (
            f"{call}: expected a key that can be hashed{what} but got {key!r} (type={type(key).__name__}); turn it into"
            " a tuple or a string"
        )
        raise InvalidArgument(message) from None
    return None if is_null(key) else key


def checked_row_key(key: Any, call: str, what: str = "") -> Any:
    """Return the key of a row, which may be any value; raise `InvalidArgument` if it cannot be hashed."""
    return found_again(key) if checked_key(key, call, what) is None else key


def _number(item: tuple[Any, Entry]) -> int:
    """Return when an entry came: what it is kept by may be a key, and keys may have no order."""
    return item[1].number
