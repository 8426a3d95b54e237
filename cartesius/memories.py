"""Memory: what a slot retains, newest first, found by key or by value.

An `Entry` is an event inside a correlation. A `Memory` holds entries by arrival number, with one index for every
combination of computed values that the enumeration or a restriction asks for. During a batch it holds the old *and*
the new
memory: a fresh entry is not yet in the old one, a gone entry no longer in the new one.

Invariant: outside a batch every entry is live, and each index holds exactly the entries.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, final

from cartesius.codec import pack
from cartesius.errors import NotStorable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cartesius.events import Time
    from cartesius.families import Slot

LIVE: Final = 0
FRESH: Final = 1
GONE: Final = 2
UNLIMITED: Final = float("inf")
ABSENT: Final = ("absent",)
_UNHASHABLE: Final = ("unhashable",)


@final
class Entry:
    """An event inside a correlation, as clauses receive it.

    >>> from cartesius import Entry
    >>> def urgency(event: Entry) -> int:
    ...     return (
    ...         event.value.priority
    ...     )  # also: .start, .end, .uses (how often it may still be used), .number (of arrival)
    """

    __slots__ = (
        "cause", "deletes", "end", "identity", "keys", "number", "probe", "row_key", "slot", "start", "state", "uses",
        "value", "weight", "withdrawn",
    )  # fmt: skip

    def __init__(self, value: Any, start: Time, end: Time, identity: Any, *, weight: int = 1) -> None:
        self.value = value
        self.start = start
        self.end = end
        self.identity = identity
        self.weight = weight
        self.uses: float = UNLIMITED
        self.keys: tuple[Any, ...] = ()
        self.row_key: Any = ABSENT
        self.deletes = False
        self.slot = ""  # the name of the slot that it came to
        self.withdrawn = False  # its source took it back while a gate held it: it does not reach memory any more
        self.number = -1  # arrival number in memory; -1 while held before it
        self.probe: tuple[Any, ...] = ()
        self.state = LIVE
        self.cause: tuple[Time, Time] | None = None

    def as_deletion(self) -> Entry:
        """Return the deletion of this row, at the same time."""
        entry = Entry(None, self.start, self.end, self.identity)
        entry.row_key, entry.keys, entry.deletes, entry.slot = self.row_key, self.keys, True, self.slot
        return entry

    def with_value(self, value: Any, start: Time | None = None, end: Time | None = None) -> Entry:
        """Return the same event with another value (and times): what a gate that transforms lets through."""
        start = self.start if start is None else start
        entry = Entry(value, start, self.end if end is None else end, self.identity, weight=self.weight)
        entry.uses, entry.keys, entry.row_key, entry.deletes = self.uses, self.keys, self.row_key, self.deletes
        entry.slot, entry.withdrawn = self.slot, self.withdrawn
        return entry

    def again(self) -> Entry:
        """Return another event that equals this one."""
        entry = Entry(self.value, self.start, self.end, ("again", self.identity, self.number), weight=self.weight)
        entry.keys, entry.row_key, entry.slot = self.keys, self.row_key, self.slot
        return entry

    def own_key(self) -> Any:
        """The key of the row, or else the first key given by a `key_by`."""
        if self.row_key is not ABSENT:
            return self.row_key
        return next((key for key in self.keys if key is not ABSENT), None)

    def __repr__(self) -> str:
        """Show value and time."""
        return f"Entry({self.value!r} @ {self.start}..{self.end})"


@final
class Memory:
    """The entries of one slot."""

    __slots__ = ("_identities", "_indexes", "_is_disordered", "entries", "journal", "probes", "rows")

    def __init__(self, journal: list[Callable[[], None]], *, finds: bool = False) -> None:
        # Where a source may take events back. A fresh entry and the gone one that it replaces may share an identity.
        self._identities: dict[Any, list[Entry]] | None = {} if finds else None
        self.entries: dict[int, Entry] = {}
        self.rows: dict[Any, Entry] = {}  # of a table: the present row of each key
        self.probes: list[Callable[[Entry], Any]] = []
        self._indexes: dict[tuple[int, ...], dict[Any, dict[int, Entry]]] = {}
        self.journal = journal
        self._is_disordered = False

    def index(self, positions: tuple[int, ...]) -> None:
        """Keep an index on the computed values at ``positions``. Before the first entry."""
        if positions:
            self._indexes.setdefault(positions, {})

    def store(self, entry: Entry) -> None:
        """Add a fresh entry; it has its number already."""
        entry.probe = tuple([hashable(probe(entry)) for probe in self.probes])
        entry.state = FRESH
        uses = entry.uses
        self._insert(entry)

        def undo() -> None:
            self._delete(entry)
            entry.uses = uses
            entry.number = -1  # a gate may hold it again

        self.journal.append(undo)

    def remove(self, entry: Entry) -> None:
        """Take an entry out for good."""
        self._delete(entry)
        state = entry.state

        def undo() -> None:
            entry.state = state
            self._insert(entry)
            self._is_disordered = True

        self.journal.append(undo)

    def _insert(self, entry: Entry) -> None:
        self.entries[entry.number] = entry
        for positions, table in self._indexes.items():
            table.setdefault(_at(entry.probe, positions), {})[entry.number] = entry
        if entry.row_key is not ABSENT:
            self.rows.setdefault(entry.row_key, entry)
        if self._identities is not None:
            self._identities.setdefault(entry.identity, []).append(entry)

    def _delete(self, entry: Entry) -> None:
        del self.entries[entry.number]
        for positions, table in self._indexes.items():
            key = _at(entry.probe, positions)
            found = table[key]
            del found[entry.number]
            if not found:
                del table[key]
        if self.rows.get(entry.row_key) is entry:
            del self.rows[entry.row_key]
        if self._identities is not None:
            alike = self._identities[entry.identity]
            alike.remove(entry)
            if not alike:
                del self._identities[entry.identity]

    def restore_order(self) -> None:
        """Sort, after a roll-back, what it has put back."""
        if not self._is_disordered:
            return
        self._is_disordered = False
        self.entries = dict(sorted(self.entries.items()))
        for table in self._indexes.values():
            for key in table:
                table[key] = dict(sorted(table[key].items()))

    def replace_row(self, entry: Entry | None, key: Any) -> None:
        """Make ``entry`` (or nothing) the present row of ``key``."""
        before = self.rows.pop(key, None)
        if entry is not None:
            self.rows[key] = entry

        def undo() -> None:
            self.rows.pop(key, None)
            if before is not None:
                self.rows[key] = before

        self.journal.append(undo)

    def find(self, identity: Any) -> Entry | None:
        """Return the present entry of that identity."""
        alike = self._identities.get(identity, ()) if self._identities is not None else ()
        return next((entry for entry in reversed(alike) if entry.state != GONE), None)

    def lookup(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> dict[int, Entry]:
        """Return the entries whose computed values at ``positions`` equal ``key``; oldest first, gone ones included."""
        if not positions:
            return self.entries
        return self._indexes[positions].get(key, _NONE)

    def under(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> list[Entry]:
        """Return the present entries under a key, newest first."""
        return [e for e in reversed(self.lookup(positions, key).values()) if e.state != GONE]

    def settle(self, entries: Iterable[Entry]) -> None:
        """End a batch for ``entries``: what was fresh is live."""
        for entry in entries:
            entry.state = LIVE

    def check_invariants(self) -> None:
        """Raise AssertionError if an index disagrees with the entries."""
        numbers = list(self.entries)
        assert numbers == sorted(numbers)
        for positions, table in self._indexes.items():
            indexed = sorted(n for found in table.values() for n in found)
            assert indexed == numbers, (positions, indexed, numbers)
        assert all(entry.state == LIVE for entry in self.entries.values())
        assert all(self.entries.get(entry.number) is entry for entry in self.rows.values())
        if self._identities is not None:
            assert sorted(e.number for alike in self._identities.values() for e in alike) == numbers

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries, newest first."""
        return iter(reversed(self.entries.values()))

    def __len__(self) -> int:
        """The number of entries retained."""
        return len(self.entries)


_NONE: Final[dict[int, Entry]] = {}


def _at(probe: tuple[Any, ...], positions: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple([probe[p] for p in positions])


def is_spent(parts: Iterable[Entry | None]) -> bool:
    """Whether a part of a candidate has no use left."""
    return any([part is not None and part.uses <= 0 for part in parts])


def is_exact(value: Any) -> bool:
    """Whether an index finds exactly the equal values: not for NaN, nor for what cannot be hashed."""
    return value is not _UNHASHABLE and value == value  # noqa: PLR0124 - NaN


def hashable(value: Any) -> Any:
    """Return ``value``, or one stand-in for all values that cannot be hashed: the full condition decides then.

    A value that equals nothing, itself included, gets a stand-in of its own: an index would find it by identity.
    """
    try:
        hash(value)
        if isinstance(value, float | Decimal) and value != value:  # noqa: PLR0124 - NaN
            return object()
    except TypeError:
        # A set equals a frozenset, and a bytearray bytes: they must be found under the same key.
        if isinstance(value, set):
            return frozenset(value)
        return bytes(value) if isinstance(value, bytearray) else _UNHASHABLE
    return value


def check_storable(slot: Slot, entry: Entry) -> None:
    """Raise `NotStorable`, naming the slot, if no snapshot could hold the value of ``entry``."""
    try:
        pack(entry.value)
    except NotStorable as error:
        error.add_note(f"in the memory of slot {slot.name!r} ({slot.source}), in a durable engine; nothing was changed")
        raise
