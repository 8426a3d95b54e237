"""Leaving: what deadlines of bands let go when a push moves the clock, for functions of pushes.

A deadline of such a restriction does nothing but let entries leave, so it is met without handlers. It comes before what
the push computes, and can be taken back, as that may fail.

Invariant: what has been met and taken back leaves everything as it was.

Source: SEMANTICS 3.1, 3.8 and 3.10.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cartesius.batching.deadlines import Deadline
    from cartesius.batching.world import World
    from cartesius.correlations.installations import Installed
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot

Found: TypeAlias = "tuple[dict[Any, Any], Slot, Callable[[Entry], None]]"
"""Where the entries of a slot that are due are found; the slot; and what takes one out."""
_EXPIRED: Final = int(Fate.EXPIRED)


class Met:
    """The deadlines that one push has met, and what has left by them."""

    __slots__ = ("_emptied", "_gone", "_items", "_world")

    def __init__(self, world: World) -> None:
        self._world = world
        self._items: list[Deadline[Any]] = []
        self._gone: list[tuple[Slot, Entry]] = []
        self._emptied: list[tuple[Installed, tuple[Any, ...]]] = []

    def meet(self, item: Deadline[Any], found: Sequence[Found]) -> None:
        """Meet the first deadline of all."""
        time, _, _, installed, key = item
        self._items.append(item)  # `undo` knows it then, wherever somebody interrupts
        heapq.heappop(self._world.deadlines.heap)
        times = installed.due[key]
        del times[time]
        if not times:
            del installed.due[key]
            self._emptied.append((installed, key))
        sought = (*key, time) if key else time
        for table, slot, take in found:
            due = table.get(sought)
            if due is None:
                continue
            for entry in tuple(due.values()) if type(due) is dict else (due,):
                self._gone.append((slot, entry))
                take(entry)

    def finish(self) -> None:
        """Count steps and what has left; forget copies that wait for nothing, once the push has asked for its own."""
        self._world.steps += 2 * len(self._items)
        fates = self._world.fates
        for slot, _ in self._gone:
            fates[slot.ledger.base + _EXPIRED] += 1
        for installed, key in self._emptied:
            if key not in installed.due:
                del installed.copies[key]

    def undo(self) -> None:
        """Take all back, and close the journal, which was opened when the first was met."""
        heap = self._world.deadlines.heap
        if self._items and heap and heap[0] is self._items[-1]:  # an error came before it was taken
            self._items.pop()
        if self._gone and self._gone[-1][1].number in self._gone[-1][0].memory.parts()[0]:  # likewise
            self._gone.pop()
        for slot, entry in self._gone:
            slot.memory.put_back(entry)
        for slot, _ in self._gone:
            slot.memory.restore_order()
        for item in self._items:
            time, _, number, installed, key = item
            heapq.heappush(heap, item)
            installed.due.setdefault(key, {})[time] = number
        self._world.journal.is_open = False


class Leaving:
    """Meets the deadlines of the bands of one correlation."""

    def __init__(self, world: World, found: dict[Installed, list[Found]]) -> None:
        self._world = world
        self._found = found

    def meet(self, before: Time) -> Met | None:
        """Let leave what is due before a time; None, and nothing has changed, if something else is due as well."""
        deadlines = self._world.deadlines
        if deadlines.cancelled:
            return None
        met = Met(self._world)
        heap = deadlines.heap
        self._world.journal.is_open = True  # what has left is gone, until it is taken back
        try:
            while heap and heap[0][0] < before:
                found = self._found.get(heap[0][3])
                if found is None:
                    met.undo()
                    return None
                met.meet(heap[0], found)
        except Exception:  # a payload has been changed: as written it fails again, and says where
            met.undo()
            return None
        return met


class Ascent:
    """How far the times of what a memory holds are from ascending, as far as is known.

    Entries are looked at once, when somebody asks after they have come.
    """

    __slots__ = ("_entries", "_latest_end", "_latest_start", "_number", "end", "start")

    def __init__(self, slot: Slot) -> None:
        self._entries, _ = slot.memory.parts()
        self._number = -1  # of the newest entry seen
        self._latest_start: Time = float("-inf")
        self._latest_end: Time = float("-inf")
        self.start: Time = 0  # by how much the start of an older entry may exceed that of a newer one, at most
        self.end: Time = 0  # likewise, of ends

    def look(self) -> None:
        """Look at what is new."""
        new = []
        for entry in reversed(self._entries.values()):
            if entry.number <= self._number:
                break
            new.append(entry)
        for entry in reversed(new):
            self._latest_start = max(self._latest_start, entry.start)
            self._latest_end = max(self._latest_end, entry.end)
            self.start = max(self.start, self._latest_start - entry.start)
            self.end = max(self.end, self._latest_end - entry.end)
        if new:
            self._number = new[0].number
