"""Leaving: what deadlines do when a push moves the clock, for functions of pushes.

Those of bands do nothing but let entries leave, and their rows out where parts are missing (`direct_bands.Unmatched`);
those of what must not come decide rows as well (`direct_absences.Undecided`), and those of windows give totals
(`closing.Closing`) or what is joined in them (`direct_held.Joining`). So they are met without handlers, before what the
push computes, whatever correlation it comes to, and can be taken back, as that may fail.

Invariant: what has been met and taken back leaves everything as it was.

Source: SEMANTICS 3.1, 3.3, 3.8 and 3.10.
"""

from __future__ import annotations

import heapq
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs

from cartesius.batching.deadlines import turn_of
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
    from cartesius.direct.direct_places import DirectPlaces
    from cartesius.language.families import Slot

Place: TypeAlias = "tuple[Slot, Callable[..., None], int]"
"""A slot, what takes an entry out of it, and where it is counted that it has left."""
Found: TypeAlias = "tuple[Callable[[Any], Any], Place]"
"""What finds what an index has of a slot under the key of a copy and a time; where that is."""
Left: TypeAlias = "tuple[Entry, Place]"
"""An entry that is due to leave."""
Item: TypeAlias = "tuple[Deadline[Any], Due, list[Left]]"
"""A deadline that is met, what it does, and what leaves."""


def found_by(one: Installed, places: Mapping[int, DirectPlaces]) -> list[Found]:
    """Return where the entries are found that a restriction lets leave."""
    return [found_in(slot, places[slot.index], one.dues[slot]) for slot in one.named]


def found_in(slot: Slot, places: DirectPlaces, by: tuple[int, ...] | Callable[[Any], Any]) -> Found:
    """Return what finds the entries of a slot that are due: an index of it on key and time, or a function of these."""
    index = by if isinstance(by, tuple) else ()
    find = slot.memory.parts()[1][index].get if isinstance(by, tuple) else by
    return find, (slot, places.taking(index), slot.ledger.base + Fate.EXPIRED)


def given(join: Join, parts: Candidate, part: Entry, values: Sequence[Any]) -> list[Event]:
    """Return what a row gives that has one part, and none of the others."""
    identities = tuple([one and one.identity for one in parts])
    times = part.start, part.end
    return [made(value, *times, join.name, (join.number, identities, n)) for n, value in enumerate(values)]


class Deciding(Protocol):
    """What deadlines decide, besides which entries leave."""

    def decide(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left], out: list[Event]) -> None:
        """Let out what one deadline decides, and what is leaving by it."""
        ...

    def done(self, time: int, key: tuple[Any, ...], leaving: Sequence[Left]) -> bool:
        """Forget what one deadline has decided: nothing can fail any more; return whether the copy has more."""
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

    def leaves(self, under: Any) -> list[Left]:
        """Return what leaves by the deadline of a copy, under its key and the time, as an index has these."""
        leaving: list[Left] = []
        for find, place in self.found:
            found = find(under)
            if found is not None:
                for entry in found.values() if type(found) is dict else (found,):
                    leaving.append((entry, place))
        return leaving


class Met:
    """The deadlines that one push has met, what they do, and what has left by them."""

    __slots__ = ("_before", "_world", "dropped", "items", "n_ticks")

    def __init__(self, world: World) -> None:
        self._world = world
        self.items: list[Item] = []
        self.dropped: list[Deadline[Any]] = []  # which nobody wanted any more
        self.n_ticks = 0  # how many steps that is
        self._before = world.number

    def finish(self) -> None:
        """Count what has left; forget copies that wait for nothing, once the push has asked for its own."""
        world = self._world
        fates = world.fates
        for (time, _, _, installed, key), due, leaving in self.items:
            for _, (_, _, expired) in leaving:
                fates[expired] += 1
            has_more = due.deciding is not None and due.deciding.done(time, key, leaving)
            if not has_more and key not in installed.due:
                installed.copies.pop(key, None)

    def undo(self) -> None:
        """Take all back, and close the journal, which was opened when the first was met."""
        deadlines = self._world.deadlines
        heap, asked = deadlines.entered, deadlines.asked
        for waiting in (heap, asked):
            if waiting and self.items and waiting[0] is self.items[-1][0]:  # an error came before it was taken
                self.items.pop()
        if heap and self.dropped and heap[0] is self.dropped[-1]:  # likewise
            self.dropped.pop()
        for _, due, _ in self.items:  # each has changed entries of its own correlation alone
            if due.deciding is not None:
                due.deciding.undo()
        gone = [(slot.memory, entry) for _, _, leaving in self.items for entry, (slot, _, _) in leaving]
        for memory, entry in gone:
            if entry.number not in memory.parts()[0]:
                memory.put_back(entry)
        for memory, _ in gone:
            memory.restore_order()
        for item, _, _ in self.items:
            deadlines.enter(item)
        for item in self.dropped:
            heapq.heappush(heap, item)
        self._world.number = self._before
        self._world.journal.is_open = False


class Leaving:
    """Meets the deadlines of all correlations of a program.

    Args:
        world: Where they wait.
        due_of: What the deadlines of a restriction do; None: only its clauses know. It is asked once, until `forget`.
    """

    def __init__(self, world: World, due_of: Callable[[Installed], Due | None]) -> None:
        self._world = world
        self._due_of = due_of
        self._dues: dict[Installed, Due | None] = {}
        self._gives_rows = False  # whether one of them does

    def forget(self) -> None:
        """Ask anew what deadlines do: functions have become others."""
        self._dues.clear()

    def meet(self, before: Time, out: list[Event]) -> Met | None:
        """Let leave, and out, what is due before a time; None, and nothing has changed, if something else is due.

        Raises:
            Exception: Something has failed, such as that a payload has been changed: nothing has changed, either.
        """
        met, given = Met(self._world), len(out)
        try:
            self._world.journal.is_open = True  # what has left is gone, until it is taken back
            is_known = self._meet(met, before, out)
        except BaseException:  # also where somebody interrupts what it calls
            met.undo()
            raise
        if is_known:
            return met
        met.undo()  # once: who is interrupted in it finds that the journal is open
        del out[given:]
        return None

    def _meet(self, met: Met, before: Time, out: list[Event]) -> bool:
        """Meet what is due before a time; return False, and it must be undone, if functions know too little of it."""
        deadlines, dues, items = self._world.deadlines, self._dues, met.items
        heap, asked = deadlines.entered, deadlines.asked
        seen: set[tuple[Any, ...]] = set()
        while heap or asked:
            is_entered = not asked or (heap and heap[0] < asked[0])
            item = heap[0] if is_entered else asked[0]
            time, _, number, installed, key = item
            if time >= before:
                break
            if installed not in dues:
                dues[installed] = self._due_of(installed)
                self._gives_rows = self._gives_rows or installed.gives_rows
            due = dues[installed]
            if due is None or installed.join.is_done:
                return False
            if not is_entered:
                if items:  # asking twice is asking once
                    seen = seen or {(one[0], *one[3:]) for one, _, _ in items}
                    if (time, installed, key) in seen:
                        asked.popleft()
                        continue
                    seen.add((time, installed, key))
                items.append((item, due, []))  # before it is taken: so `undo` knows, wherever somebody interrupts
                asked.popleft()
                continue
            times = installed.due.get(key)
            if times is None or times.get(time) != number:
                met.dropped.append(item)  # before it is taken: so `undo` knows, wherever somebody interrupts
                heapq.heappop(heap)
                continue
            items.append((item, due, []))  # likewise
            heapq.heappop(heap)
            del times[time]
            if not times:
                del installed.due[key]
        in_turn = _in_turn(items) if self._gives_rows and len(items) > 1 else items
        for (time, _, _, installed, key), due, leaving in in_turn:  # now that all are known: to put back sorts memories
            under = (*key, time) if key else time
            leaving.extend(due.leaves(under))
            met.n_ticks += 2 * (bool(leaving) or not installed.lets_go_alone)
            if due.deciding is not None:
                given = len(out)
                due.deciding.decide(time, key, leaving, out)
                if due.goes_on and len(out) > given:
                    return False  # rows that are let out go on
            for entry, (_, take, _) in leaving:
                take(entry, under)
        return True


def _in_turn(items: Sequence[Item]) -> Iterator[Item]:
    """Iterate over what is met, one after the other: where rows come, what asked first may have left."""
    for _, some in groupby(items, key=_time_of):
        together = [*some]
        if len(together) > 1 and together[0][0][3].gives_rows:
            together.sort(key=lambda one: turn_of(one[0]))
        yield from together


def _time_of(item: Item) -> tuple[int, tuple[int, int, int]]:
    time, place, *_ = item[0]
    return time, place


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
