"""Leaving: what deadlines do when a push moves the clock, for functions of pushes.

Those of bands do nothing but let entries leave, and their rows out where parts are missing (`direct_bands.Unmatched`);
those of what must not come decide rows as well (`direct_absences.Undecided`), and those of windows give totals
(`closing.Closing`). So they are met without handlers, before what the push computes, whatever correlation it comes to,
and can be taken back, as that may fail.

Invariant: what has been met and taken back leaves everything as it was.

Source: SEMANTICS 3.1, 3.3, 3.8 and 3.10.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs

from cartesius.data.events import made
from cartesius.storage.conservation import Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cartesius.batching.deadlines import Deadline
    from cartesius.batching.world import World
    from cartesius.correlations.installations import Installed
    from cartesius.correlations.join_shape import Join
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Event, Time
    from cartesius.language.families import Slot

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


def given(join: Join, parts: Candidate, part: Entry, values: Sequence[Any]) -> Iterator[Event]:
    """Iterate over what a row gives that has one part, and none of the others."""
    identities = tuple([one and one.identity for one in parts])
    for number, value in enumerate(values):
        yield made(value, part.start, part.end, join.name, (join.number, identities, number))


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


@attrs.frozen(eq=False)
class Due:
    """What the deadlines of one restriction do: which entries leave, and what else they decide."""

    found: Sequence[Found]
    deciding: Deciding | None = None
    goes_on: bool = False  # whether other correlations are made of the rows that it lets out


class Met:
    """The deadlines that one push has met, and what has left by them."""

    __slots__ = ("_cancelled", "_decided", "_dropped", "_emptied", "_gone", "_number", "_world", "items")

    def __init__(self, world: World) -> None:
        self._world = world
        self.items: list[Deadline[Any]] = []
        self._dropped: list[Deadline[Any]] = []  # which nobody wanted any more
        self._cancelled, self._number = world.deadlines.cancelled, world.number
        self._gone: list[tuple[Slot, Entry]] = []
        self._emptied: list[tuple[Installed, tuple[Any, ...]]] = []
        self._decided: dict[Deciding, tuple[list[Deadline[Any]], list[tuple[Slot, Entry]]]] = {}  # by who decides

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

    def meet(self, dues: Mapping[Installed, Due | None], out: list[Event]) -> bool:
        """Meet what has been taken; return False, and it must be undone, if rows that are let out go on."""
        for item in self.items:
            time, _, _, installed, key = item
            due = dues[installed]
            assert due is not None  # Invariant: else it would not have been taken
            times = installed.due[key]
            del times[time]
            if not times:
                del installed.due[key]
                self._emptied.append((installed, key))
            gone = None
            if due.deciding is not None:
                items, gone = self._decided.setdefault(due.deciding, ([], []))
                items.append(item)
                given = len(out)
                due.deciding.decide(time, key, due.found, out)
                if due.goes_on and len(out) > given:
                    return False
            for find, slot, take in due.found:
                for entry in find(time, key):
                    self._gone.append((slot, entry))
                    if gone is not None:
                        gone.append((slot, entry))
                    take(entry)
        return True

    def finish(self) -> None:
        """Count what has left; forget copies that wait for nothing, once the push has asked for its own."""
        fates = self._world.fates
        for slot, _ in self._gone:
            fates[slot.ledger.base + _EXPIRED] += 1
        for deciding, (items, gone) in self._decided.items():
            deciding.done(items, gone)
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
        for deciding in self._decided:  # each has changed entries of its own correlation alone
            deciding.undo()
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
        self._world.deadlines.cancelled, self._world.number = self._cancelled, self._number
        self._world.journal.is_open = False


class Leaving:
    """Meets the deadlines of all correlations of a program.

    Args:
        world: Where they wait.
        due_of: What the deadlines of a restriction do; None: only its clauses know. It is asked once.
    """

    def __init__(self, world: World, due_of: Callable[[Installed], Due | None]) -> None:
        self._world = world
        self._due_of = due_of
        self._dues: dict[Installed, Due | None] = {}

    def meet(self, before: Time, out: list[Event]) -> Met | None:
        """Let leave, and out, what is due before a time; None, and nothing has changed, if something else is due.

        Raises:
            Exception: Something has failed, such as that a payload has been changed: nothing has changed, either.
        """
        met, given = Met(self._world), len(out)
        try:
            self._world.journal.is_open = True  # what has left is gone, until it is taken back
            is_known = self._take(met, before) and met.meet(self._dues, out)
        except BaseException:  # also where somebody interrupts what it calls
            met.undo()
            raise
        if is_known:
            return met
        met.undo()  # once: who is interrupted in it finds that the journal is open
        del out[given:]
        return None

    def _take(self, met: Met, before: Time) -> bool:
        """Take what is due before a time; return whether it is known what all of it does."""
        heap, dues = self._world.deadlines.heap, self._dues
        while heap and heap[0][0] < before:
            installed = heap[0][3]
            if installed not in dues:
                dues[installed] = self._due_of(installed)
            if dues[installed] is None or installed.join.is_done:
                return False
            met.take(heap)
        return True


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
