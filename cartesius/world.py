"""What the correlations of one engine share: the clock, arrival numbers, deadlines, and the journal of a push.

The journal makes a push atomic: whoever changes the state adds how to undo it; if a body fails, the undos run
backwards.

Source: SEMANTICS 1.12 and 3.10.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import deque
from datetime import timedelta
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.errors import InvalidArgument
from cartesius.events import EARLIEST, LATEST
from cartesius.journals import Journal
from cartesius.provenance import Provenance

if TYPE_CHECKING:
    from collections.abc import Collection

    from cartesius.events import Time
    from cartesius.failures import Failure
    from cartesius.installations import Installed
    from cartesius.join_shape import Join
    from cartesius.reactives import Reactive


Deadline: TypeAlias = "tuple[int, tuple[int, int], int, Installed, tuple[Any, ...]]"
"""When, in which place of the program, the number of the request, who, and the key of the copy."""


class Deadlines:
    """Who wants a tick when: a heap, of which only what is due is visited.

    Of those at one time the first that was asked for is due first, correlation by correlation; but gates come before
    what lets go or decides, by which events may still come; then what decides on absence; and windows last.

    Invariant: outside a push the first of the heap is wanted; what is not wanted any more may lie behind it.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.heap: list[Deadline] = []
        self.number = 0
        self.cancelled = 0  # how many of the heap nobody wants any more
        self.present: int | None = None  # the one that is being met
        self.floored: list[Installed] = []  # whose deadlines wait for floors, not for the clock: in the same order
        self.soon: deque[tuple[Installed, tuple[Any, ...]]] = deque()  # who wants a tick after the present step

    def add(self, time: int, installed: Installed, key: tuple[Any, ...]) -> None:
        """Ask for a tick once the clock is past ``time``; asking twice is asking once."""
        if time in installed.due.get(key, ()):
            return
        self.number += 1
        item = _item(installed, time, self.number, key)
        self.journal.change(lambda: self._put_back(item), lambda: self._discard(item))

    def cancel(self, time: int, installed: Installed, key: tuple[Any, ...]) -> None:
        """Take back what was asked for, if it was; the heap is cleaned later."""
        number = installed.due.get(key, {}).get(time)
        if number is None:
            return
        if installed.floor_slots:
            item = _item(installed, time, number, key)
            self.journal.change(lambda: self._discard(item), lambda: self._put_back(item))
            return

        def do() -> None:
            self._count_down(time, installed, key)
            self.cancelled += 1

        def undo() -> None:
            installed.due.setdefault(key, {})[time] = number
            self.cancelled -= 1

        self.journal.change(do, undo)

    def clean(self) -> None:
        """Drop from the heap what nobody wants any more, as far as it is in the way. Between pushes."""
        if self.cancelled > len(self.heap) // 2:
            self.heap = [item for item in self.heap if _is_wanted(item)]
            heapq.heapify(self.heap)
            self.cancelled = 0
        while self.heap and not _is_wanted(self.heap[0]):
            heapq.heappop(self.heap)
            self.cancelled -= 1

    def ask(self, installed: Installed, key: tuple[Any, ...]) -> None:
        """Ask for a tick after the present step; asking twice is asking once."""
        if (installed, key) not in self.soon:
            self.soon.append((installed, key))

    def take(self, copies: Collection[tuple[Installed, tuple[Any, ...]]]) -> list[Deadline]:
        """Return what some copies asked for, in order, and forget it."""
        waiting = {(installed, key) for installed, key in copies if key in installed.due}
        mine = [item for item in (*self.heap, *self._asked()) if (item[3], item[4]) in waiting] if waiting else []
        found = sorted(filter(_is_wanted, mine))
        for item in found:
            self.journal.change(partial(self._discard, item), partial(self._put_back, item))
        return found

    def pop(self, before: Time) -> Deadline | None:
        """Return the earliest deadline below ``before`` that waits for the clock and drop it, or None."""
        while self.heap and self.heap[0][0] < before:
            item = self.heap[0]
            if _is_wanted(item):
                self.journal.change(self._take_first, partial(self._put_back, item))
                return item
            self.journal.change(self._drop_first, partial(self._leave, item))
        return None

    def add_floored(self, installed: Installed) -> None:
        """Let the deadlines of a restriction wait for floors from now on."""
        self.floored.append(installed)
        self.floored.sort(key=lambda one: (one.join.number, one.turn, one.number))

    def pop_passed(self) -> Deadline | None:
        """Return the earliest of the deadlines that floors have passed and drop it, or None."""
        passed = [item for one in self.floored if (item := self._first_passed(one)) is not None]
        item = min(passed, default=None, key=lambda item: item[:3])
        if item is not None:
            self.journal.change(partial(self._discard, item), partial(self._put_back, item))
        return item

    def _first_passed(self, one: Installed) -> Deadline | None:
        floors = one.join.floors
        for time, number, key in one.asked:
            if floors.let_tick(one, time, key):
                return _item(one, time, number, key)
            if not one.restriction.absent:  # of what must not come one may wait for less than one before
                return None
        return None

    def next_stop(self, clock: Time) -> Time:
        """Return the earliest time, from ``clock`` on, past which floors may let something happen."""
        times: list[Time] = [LATEST]
        for one in self.floored:
            if one.lag is not None:
                place = bisect_left(one.asked, (clock - one.lag,))
                times += [time + one.lag for time, _, _ in one.asked[place : place + 1]]
        return min(times)

    def next(self, clock: Time) -> int | None:
        """Return the earliest clock at which something is due, or may be, or None."""
        first = min([self.next_stop(clock), *[item[0] for item in self.heap[:1]]])
        return None if first == LATEST else int(first) + 1

    def wanted(self) -> list[Deadline]:
        """Return all that is due some time, in order."""
        return sorted([*filter(_is_wanted, self.heap), *self._asked()], key=lambda item: item[:3])

    def forget_all(self, join: Join) -> None:
        """Drop what a correlation has asked for, which is at work no longer."""
        self.heap = [item for item in self.heap if item[3].join is not join and _is_wanted(item)]
        heapq.heapify(self.heap)
        self.cancelled = 0
        self.floored = [one for one in self.floored if one.join is not join]

    def _asked(self) -> list[Deadline]:
        return [_item(one, *asked) for one in self.floored for asked in one.asked]

    def _count_down(self, time: int, installed: Installed, key: tuple[Any, ...]) -> None:
        del installed.due[key][time]
        if not installed.due[key]:
            del installed.due[key]

    def _discard(self, item: Deadline) -> None:
        time, _, number, installed, key = item
        if installed.floor_slots:
            del installed.asked[bisect_left(installed.asked, (time, number))]
        else:
            self.heap.remove(item)
            heapq.heapify(self.heap)
        self._count_down(time, installed, key)

    def _put_back(self, item: Deadline) -> None:
        time, _, number, installed, key = item
        if installed.floor_slots:
            insort(installed.asked, (time, number, key), key=itemgetter(0, 1))
        else:
            heapq.heappush(self.heap, item)
        installed.due.setdefault(key, {})[time] = number

    def _take_first(self) -> None:
        time, _, _, installed, key = heapq.heappop(self.heap)
        self._count_down(time, installed, key)

    def _drop_first(self) -> None:
        heapq.heappop(self.heap)
        self.cancelled -= 1

    def _leave(self, item: Deadline) -> None:
        heapq.heappush(self.heap, item)
        self.cancelled += 1


def _item(installed: Installed, time: int, number: int, key: tuple[Any, ...]) -> Deadline:
    return time, (installed.join.number, installed.turn), number, installed, key


def _is_wanted(item: Deadline) -> bool:
    time, _, number, installed, key = item
    return installed.due.get(key, {}).get(time) == number


class World:
    """The state that an engine's correlations share."""

    def __init__(
        self,
        unit: timedelta,
        *,
        durable: bool = False,
        trace: bool = False,
        is_reference: bool = False,
        is_lenient: bool = False,
    ) -> None:
        self.durable = durable
        self.is_lenient = is_lenient  # whether a rule that raises is undecided
        self.is_reference = is_reference  # whether every clause runs on coroutines, needed or not
        self.unit = unit
        self.clock: Time = EARLIEST
        self.events = 0  # how many have been pushed
        self.latest: Time = EARLIEST  # the latest end of those
        self.ended: frozenset[Reactive] = frozenset()
        self.number = 0
        self.steps = 0
        self.candidates = 0
        self.fates: list[int] = []  # what has become of the deliveries, of all slots: see `conservation`
        self.journal = Journal()
        self.touched: dict[tuple[Installed, tuple[Any, ...]], Any] = {}
        self.deadlines = Deadlines(self.journal)
        self.late: list[tuple[Any, str, str]] = []
        self.failure: Failure | None = None  # where the last call that failed raised
        self.provenance = Provenance(self.journal) if trace else None

    def next_number(self) -> int:
        """Return the next arrival number."""
        self.number += 1
        return self.number

    def is_past(self, time: Time) -> bool:
        """Whether all deadlines at ``time`` have been met: those of one time are, one after the other."""
        present = self.deadlines.present
        return time < (self.clock if present is None else present)

    def units(self, duration: Any, call: object, argument: str) -> Any:
        """Return a duration in time units, or each of several, in the name of ``call`` where it is none."""
        if isinstance(duration, tuple):
            return tuple([self.units(one, call, argument) for one in duration])
        if isinstance(duration, timedelta):
            count, rest = divmod(duration, self.unit)
            if rest:
                message = (
                    f"{call}: expected {argument} in whole time units of {self.unit} but got {duration!r}; round it"
                )
                raise InvalidArgument(message)
            return count
        if isinstance(duration, int) and not isinstance(duration, bool):
            return duration
        message = (
            f"{call}: expected a duration, an int of time units or a timedelta, but got {argument}={duration!r}"
            f" (type={type(duration).__name__})"
        )
        raise InvalidArgument(message)

    def begin(self) -> tuple[Any, ...]:
        """Start a push: nothing to undo yet."""
        self.journal.clear()
        self.touched.clear()
        self.failure = None
        counts = self.number, self.steps, self.candidates, self.deadlines.number, self.events
        return *counts, self.clock, self.latest, self.ended, len(self.late), self.fates.copy()

    def roll_back(self, before: tuple[Any, ...]) -> None:
        """Undo a push."""
        self.journal.roll_back()
        self.touched.clear()
        self.deadlines.soon.clear()
        self.deadlines.present = None
        self.number, self.steps, self.candidates, self.deadlines.number, self.events, *rest = before
        self.clock, self.latest, self.ended, late, self.fates[:] = rest
        del self.late[late:]

    def finish(self) -> None:
        """End a push: what it did stands."""
        self.journal.clear()
        for (installed, key), copy in self.touched.items():
            installed.forget(key, copy)
        self.touched.clear()
        self.deadlines.clean()
