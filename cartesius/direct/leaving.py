"""Leaving: what deadlines do when a push moves the clock, for functions of pushes.

Those of bands do nothing but let entries leave; those of what must not come decide rows as well. So they are met
without handlers, before what the push computes, and can be taken back, as that may fail.

Invariant: what has been met and taken back leaves everything as it was.

Source: SEMANTICS 3.1, 3.3, 3.8 and 3.10.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cartesius.data.events import EARLIEST, Event
from cartesius.plan.nodes import Never
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cartesius.batching.deadlines import Deadline
    from cartesius.batching.world import World
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot

Found: TypeAlias = "tuple[dict[Any, Any], Slot, Callable[[Entry], None]]"
"""Where the entries of a slot that are due are found; the slot; and what takes one out."""
_EXPIRED: Final = int(Fate.EXPIRED)


class Undecided:
    """The rows of which something must not come, and which the deadlines of one restriction decide."""

    def __init__(self, join: Join, never: Installed) -> None:
        assert isinstance(never.node, Never)  # Invariant: it says what must not come
        self._join = join
        self._never = never
        self._absent: Slot = never.node.slot
        self._anchor: int = never.node.anchor.index

    def decide(self, time: int, key: tuple[Any, ...], out: list[Event]) -> None:
        """Let out the rows whose time this is, if they are not forbidden; they wait until all is done."""
        rows = self._never.copies[key].held.get(time, ())
        batch, forbids = self._join.batch, self._never.stateless.forbids
        absences: Any = batch.absences
        for parts, count in rows if len(rows) < 2 else sorted(rows, key=lambda row: batch.rank(row[0])):
            if absences.has(self._absent, parts, partial(forbids, parts)):
                continue
            part = parts[self._anchor]
            identities = tuple([one and one.identity for one in parts])
            for number, value in enumerate(batch.body.yields(parts)[:count]):
                identity = (self._join.number, identities, number)
                out.append(Event(value, part.start, part.end, 1, self._join.name, identity))

    def done(self, items: Sequence[Deadline[Any]], gone: Sequence[tuple[Slot, Entry]]) -> None:
        """Forget the rows that are decided, and take note of which events are forgotten."""
        for time, _, _, never, key in items:
            never.copies[key].held.pop(time, None)
        if gone:
            before = self._absent.forgotten.get((), EARLIEST)
            self._absent.forgotten = {(): max(before, *[entry.end for _, entry in gone])}


class Met:
    """The deadlines that one push has met, and what has left by them."""

    __slots__ = ("_emptied", "_gone", "_undecided", "_world", "items")

    def __init__(self, world: World, undecided: Undecided | None) -> None:
        self._world = world
        self._undecided = undecided
        self.items: list[Deadline[Any]] = []
        self._gone: list[tuple[Slot, Entry]] = []
        self._emptied: list[tuple[Installed, tuple[Any, ...]]] = []

    def meet(self, found: Mapping[Installed, Sequence[Found]], out: list[Event]) -> None:
        """Meet what has been taken."""
        undecided, gone = self._undecided, self._gone
        for time, _, _, installed, key in self.items:
            times = installed.due[key]
            del times[time]
            if not times:
                del installed.due[key]
                self._emptied.append((installed, key))
            if undecided is not None:
                undecided.decide(time, key, out)
            sought = (*key, time) if key else time
            for table, slot, take in found[installed]:
                due = table.get(sought)
                if due is None:
                    continue
                for entry in tuple(due.values()) if type(due) is dict else (due,):
                    gone.append((slot, entry))
                    take(entry)

    def finish(self) -> None:
        """Count steps and what has left; forget copies that wait for nothing, once the push has asked for its own."""
        self._world.steps += 2 * len(self.items)
        fates = self._world.fates
        for slot, _ in self._gone:
            fates[slot.ledger.base + _EXPIRED] += 1
        if self._undecided is not None:
            self._undecided.done(self.items, self._gone)
        for installed, key in self._emptied:
            if key not in installed.due:
                del installed.copies[key]

    def undo(self) -> None:
        """Take all back, and close the journal, which was opened when the first was met."""
        heap = self._world.deadlines.heap
        if self.items and heap and heap[0] is self.items[-1]:  # an error came before it was taken
            self.items.pop()
        if self._gone and self._gone[-1][1].number in self._gone[-1][0].memory.parts()[0]:  # likewise
            self._gone.pop()
        for slot, entry in self._gone:
            slot.memory.put_back(entry)
        for slot, _ in self._gone:
            slot.memory.restore_order()
        for item in self.items:
            time, _, number, installed, key = item
            heapq.heappush(heap, item)
            installed.due.setdefault(key, {})[time] = number
        self._world.journal.is_open = False


class Leaving:
    """Meets the deadlines of one correlation.

    Args:
        world: Where they wait.
        found: Where what is due is found, of each restriction whose deadlines it knows.
        undecided: The rows that these decide.
    """

    def __init__(self, world: World, found: dict[Installed, list[Found]], undecided: Undecided | None = None) -> None:
        self._world = world
        self._found = found
        self._undecided = undecided

    def meet(self, before: Time, out: list[Event]) -> Met | None:
        """Let leave, and out, what is due before a time; None, and nothing has changed, if something else is due.

        Raises:
            Exception: Something has failed, such as that a payload has been changed: nothing has changed, either.
        """
        deadlines = self._world.deadlines
        if deadlines.cancelled:
            return None
        met = Met(self._world, self._undecided)
        heap, items = deadlines.heap, met.items
        self._world.journal.is_open = True  # what has left is gone, until it is taken back
        try:
            while heap and (item := heap[0])[0] < before:
                if item[3] not in self._found:
                    met.undo()
                    return None
                items.append(item)  # `undo` knows it then, wherever somebody interrupts
                heapq.heappop(heap)
            met.meet(self._found, out)
        except Exception:
            met.undo()
            raise
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
