"""The memory of a slot of a table: the present row of each key, found by that without an index.

Invariant: outside a batch there is one entry a key.

Source: SEMANTICS 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from cartesius.data.entries import GONE
from cartesius.storage.memories import Memory

if TYPE_CHECKING:
    from collections.abc import Collection

    from cartesius.data.entries import Entry
    from cartesius.data.journals import Journal
    from cartesius.storage.memories import Places


@final
class RowMemory(Memory):
    """The entries of one slot, a table's: the present row of each key, and, during a batch, those that it replaces."""

    __slots__ = ("_is_shuffled", "_others", "_row_positions")

    def __init__(self, journal: Journal, *, finds: bool = False) -> None:
        super().__init__(journal, finds=finds)
        self._others: dict[Any, list[Entry]] = {}  # by key, oldest first: what has a successor and is still there
        self._row_positions: set[int] = set()
        self._is_shuffled = False  # a row that is replaced keeps its place, so that the dict does not grow

    def finds_rows_at(self, position: int) -> None:
        """Say that the computed value at ``position`` is the key of the row: it needs no index."""
        self._row_positions.add(position)

    def index(self, positions: tuple[int, ...]) -> None:
        """Keep an index on the computed values at ``positions``, unless that is the key of the row."""
        if len(positions) != 1 or positions[0] not in self._row_positions:
            super().index(positions)

    def put(self, entry: Entry, places: Places) -> None:
        """Add an entry, of which it is known where it is to be."""
        before = self._entries.get(entry.row_key)
        if before is None:
            self._entries[entry.row_key] = entry
        elif before.number < entry.number:
            self._entries[entry.row_key] = entry
            self._others.setdefault(entry.row_key, []).append(before)
            self._is_shuffled = True
        else:  # it comes back, by a roll-back
            self._others[entry.row_key] = sorted([*self._others.get(entry.row_key, ()), entry], key=_number)
        self._enter(entry, places)

    def take(self, entry: Entry, places: Places) -> None:
        """Take an entry out, of which it is known where it is."""
        key = entry.row_key
        others = self._others.get(key)
        if others is not None:
            if self._entries[key] is entry:
                self._entries[key] = others.pop()
                self._is_shuffled = True  # by a roll-back, an older one in the place of a newer
            else:
                others.remove(entry)
            if not others:
                del self._others[key]
        else:
            del self._entries[key]
        self._leave(entry, places)

    def restore_order(self) -> None:
        """Sort, after a roll-back, what it has put back."""
        self._is_shuffled = self._is_shuffled or self._is_disordered
        super().restore_order()

    def all(self) -> Collection[Entry]:
        """Return all entries, oldest first, gone ones included."""
        if self._is_shuffled:
            self._entries = dict(sorted(self._entries.items(), key=lambda item: item[1].number))
            self._is_shuffled = False
        if not self._others:
            return self._entries.values()
        others = [entry for found in self._others.values() for entry in found]
        return sorted([*self._entries.values(), *others], key=_number)

    def lookup(self, positions: tuple[int, ...], key: Any) -> Collection[Entry]:
        """Return the entries found by ``key``, oldest first, gone ones included."""
        if len(positions) != 1 or positions[0] not in self._row_positions:
            return super().lookup(positions, key)
        return self.rows_of(key)

    def rows_of(self, key: Any) -> Collection[Entry]:
        """Return the entries of one key, oldest first, gone ones included."""
        entry = self._entries.get(key)
        if entry is None:
            return ()
        return (*self._others[key], entry) if key in self._others else (entry,)

    def row(self, key: Any) -> Entry | None:
        """Return the present row, by its key."""
        entry = self._entries.get(key)
        return None if entry is None or entry.state == GONE else entry

    def holds(self, entry: Entry) -> bool:
        """Whether an entry is there, be it gone."""
        return any(other is entry for other in self.rows_of(entry.row_key))

    def __len__(self) -> int:
        """The number of entries retained."""
        return len(self._entries) + sum(map(len, self._others.values()))


def _number(entry: Entry) -> int:
    return entry.number
