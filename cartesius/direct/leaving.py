"""Leaving: what deadlines do when a push moves the clock, for functions of pushes.

Those of bands do nothing but let entries leave, and their rows out where parts are missing; those of what must not come
decide rows as well. So they are met without handlers, before what the push computes, and can be taken back, as that
may fail.

Invariant: what has been met and taken back leaves everything as it was.

Source: SEMANTICS 3.1, 3.3, 3.8 and 3.10.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from cartesius.batching.partial_batches import news
from cartesius.data.events import EARLIEST, Event
from cartesius.plan.nodes import Never
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cartesius.batching.deadlines import Deadline
    from cartesius.batching.world import World
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time
    from cartesius.language.families import Slot
    from cartesius.rows.partial_rows import PartialRows

Found: TypeAlias = "tuple[Callable[[int, tuple[Any, ...]], Sequence[Entry]], Slot, Callable[[Entry], None]]"
"""What finds the entries of a slot that are due, by the time and the key of a copy; the slot; what takes one out."""
_EXPIRED: Final = int(Fate.EXPIRED)
_NONE: Final[Mapping[int, int]] = {}


def found_by(one: Installed, takes: Mapping[int, Callable[[Entry], None]]) -> list[Found]:
    """Return where the entries are found that a restriction lets leave, given what takes one out of each slot."""
    return [(partial(due_under, slot.memory.parts()[1][one.dues[slot]]), slot, takes[slot.index]) for slot in one.named]


def due_under(table: dict[Any, Any], time: int, key: tuple[Any, ...]) -> tuple[Entry, ...]:
    """Return the entries that an index has under a key and a time."""
    found = table.get((*key, time) if key else time)
    if found is None:
        return ()
    return tuple(found.values()) if type(found) is dict else (found,)


def _given(join: Join, parts: Candidate, part: Entry, values: Sequence[Any]) -> Iterator[Event]:
    """Iterate over what a row gives that has one part, and none of the others."""
    identities = tuple([one and one.identity for one in parts])
    for number, value in enumerate(values):
        yield Event(value, part.start, part.end, 1, join.name, (join.number, identities, number))


class Deciding(Protocol):
    """What deadlines decide, besides which entries leave."""

    def decide(self, time: int, key: tuple[Any, ...], found: Sequence[Found], out: list[Event]) -> None:
        """Let out what one deadline decides; by it entries leave that are ``found`` under its key and time."""
        ...

    def done(self, items: Sequence[Deadline[Any]], gone: Sequence[tuple[Slot, Entry]]) -> None:
        """Forget what has been decided: nothing can fail any more."""
        ...

    def undo(self) -> None:
        """Take back what `decide` has changed."""
        ...


class Unmatched:
    """The rows without a partner, which come as their events leave."""

    def __init__(self, join: Join, rows: PartialRows) -> None:
        self._join = join
        self._rows = rows
        self._noted: list[tuple[Entry, dict[str, Any] | None]] = []
        self._n_given = 0

    def decide(self, time: int, key: tuple[Any, ...], found: Sequence[Found], out: list[Event]) -> None:
        """Let out the rows of what leaves, and let their partners know that they have met it."""
        rows, batch = self._rows, self._join.batch
        alone: list[Candidate] = []
        leaving = [(slot, entry) for find, slot, _ in found for entry in find(time, key)]
        for slot, entry in leaving:
            other = 1 - slot.index
            if rows.optional[other] and other not in entry.noted("met", ()) and not rows.partners(slot.index, entry):
                alone.append([entry if one is slot else None for one in self._join.slots])
        self._n_given += len(alone)
        for parts in alone if len(alone) < 2 else sorted(alone, key=batch.rank):
            (part,) = [part for part in parts if part is not None]
            out += _given(self._join, parts, part, batch.body.yields(parts))
        for slot, entry in leaving:
            for partner, met in news(rows, slot.index, entry):
                self._noted.append((partner, partner.more))
                partner.note(met=met)

    def done(self, items: Sequence[Deadline[Any]], gone: Sequence[tuple[Slot, Entry]]) -> None:
        """Count the rows that have come."""
        self._join.world.candidates += self._n_given
        self._n_given = 0
        self._noted.clear()

    def undo(self) -> None:
        """Let the partners not have met it."""
        for entry, more in reversed(self._noted):
            entry.more = more
        self._n_given = 0
        self._noted.clear()


class Undecided:
    """The rows of which something must not come, and which the deadlines of one restriction decide."""

    def __init__(self, join: Join, never: Installed) -> None:
        assert isinstance(never.node, Never)  # Invariant: it says what must not come
        self._join = join
        self._never = never
        self._absent: Slot = never.node.slot
        self._anchor: int = never.node.anchor.index

    def undo(self) -> None:
        """Nothing: it changes nothing until all is done."""

    def decide(self, time: int, key: tuple[Any, ...], found: Sequence[Found], out: list[Event]) -> None:
        """Let out the rows whose time this is, if they are not forbidden; they wait until all is done."""
        rows = self._never.copies[key].held.get(time, ())
        batch, forbids = self._join.batch, self._never.stateless.forbids
        absences: Any = batch.absences
        for parts, count in rows if len(rows) < 2 else sorted(rows, key=lambda row: batch.rank(row[0])):
            if absences.has(self._absent, parts, partial(forbids, parts)):
                continue
            out += _given(self._join, parts, parts[self._anchor], batch.body.yields(parts)[:count])

    def done(self, items: Sequence[Deadline[Any]], gone: Sequence[tuple[Slot, Entry]]) -> None:
        """Forget the rows that are decided, and take note of which events are forgotten."""
        for time, _, _, never, key in items:
            never.copies[key].held.pop(time, None)
        if gone:
            before = self._absent.forgotten.get((), EARLIEST)
            self._absent.forgotten = {(): max(before, *[entry.end for _, entry in gone])}


class Met:
    """The deadlines that one push has met, and what has left by them."""

    __slots__ = ("_cancelled", "_deciding", "_dropped", "_emptied", "_gone", "_world", "items")

    def __init__(self, world: World, deciding: Deciding | None) -> None:
        self._world = world
        self._deciding = deciding
        self.items: list[Deadline[Any]] = []
        self._dropped: list[Deadline[Any]] = []  # which nobody wanted any more
        self._cancelled = world.deadlines.cancelled
        self._gone: list[tuple[Slot, Entry]] = []
        self._emptied: list[tuple[Installed, tuple[Any, ...]]] = []

    @property
    def steps(self) -> int:
        """How many steps it takes."""
        return 2 * len(self.items)

    def take(self, heap: list[Deadline[Any]]) -> None:
        """Take the first of the deadlines."""
        item = heap[0]
        time, _, number, installed, key = item
        is_wanted = installed.due.get(key, _NONE).get(time) == number
        (self.items if is_wanted else self._dropped).append(item)  # so `undo` knows, wherever somebody interrupts
        heapq.heappop(heap)
        if not is_wanted:
            self._world.deadlines.cancelled -= 1

    def meet(self, found: Mapping[Installed, Sequence[Found]], out: list[Event]) -> None:
        """Meet what has been taken."""
        deciding, gone = self._deciding, self._gone
        for time, _, _, installed, key in self.items:
            times = installed.due[key]
            del times[time]
            if not times:
                del installed.due[key]
                self._emptied.append((installed, key))
            if deciding is not None:
                deciding.decide(time, key, found[installed], out)
            for find, slot, take in found[installed]:
                for entry in find(time, key):
                    gone.append((slot, entry))
                    take(entry)

    def finish(self) -> None:
        """Count steps and what has left; forget copies that wait for nothing, once the push has asked for its own."""
        self._world.steps += self.steps
        fates = self._world.fates
        for slot, _ in self._gone:
            fates[slot.ledger.base + _EXPIRED] += 1
        if self._deciding is not None:
            self._deciding.done(self.items, self._gone)
        for installed, key in self._emptied:
            if key not in installed.due:
                del installed.copies[key]
        if self._world.deadlines.cancelled:
            self._world.deadlines.clean()

    def undo(self) -> None:
        """Take all back, and close the journal, which was opened when the first was met."""
        heap = self._world.deadlines.heap
        for taken in (self.items, self._dropped):
            if taken and heap and heap[0] is taken[-1]:  # an error came before it was taken
                taken.pop()
        if self._gone and self._gone[-1][1].number in self._gone[-1][0].memory.parts()[0]:  # likewise
            self._gone.pop()
        if self._deciding is not None:
            self._deciding.undo()
        for slot, entry in self._gone:
            slot.memory.put_back(entry)
        for slot, _ in self._gone:
            slot.memory.restore_order()
        for item in self.items:
            time, _, number, installed, key = item
            heapq.heappush(heap, item)
            installed.due.setdefault(key, {})[time] = number
        for item in self._dropped:
            heapq.heappush(heap, item)
        self._world.deadlines.cancelled = self._cancelled
        self._world.journal.is_open = False


class Leaving:
    """Meets the deadlines of one correlation.

    Args:
        world: Where they wait.
        found: Where what is due is found, of each restriction whose deadlines it knows.
        deciding: What these decide besides.
    """

    def __init__(self, world: World, found: dict[Installed, list[Found]], deciding: Deciding | None = None) -> None:
        self._world = world
        self._found = found
        self._deciding = deciding

    def meet(self, before: Time, out: list[Event]) -> Met | None:
        """Let leave, and out, what is due before a time; None, and nothing has changed, if something else is due.

        Raises:
            Exception: Something has failed, such as that a payload has been changed: nothing has changed, either.
        """
        met = Met(self._world, self._deciding)
        heap = self._world.deadlines.heap
        try:
            self._world.journal.is_open = True  # what has left is gone, until it is taken back
            while heap and heap[0][0] < before:
                if heap[0][3] not in self._found:
                    met.undo()
                    return None
                met.take(heap)
            met.meet(self._found, out)
        except BaseException:  # also where somebody interrupts what it calls
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
