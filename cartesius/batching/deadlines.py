"""Deadlines: who wants a tick when, for all correlations of an engine.

This module is over 300 lines because the heap, its queue, and how both are undone keep one order.

Source: SEMANTICS 3.10 and 3.12.
"""

from __future__ import annotations

import heapq
from collections import deque
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from cartesius.batching.floored_deadlines import FEW, FlooredDeadlines, Waiting
from cartesius.data.events import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from cartesius.data.events import Time
    from cartesius.data.journals import Journal


class Asking(Waiting, Protocol):
    """Who asks for ticks: a restriction at work in one correlation."""

    copies: dict[tuple[Any, ...], Any]
    until: Time  # the latest that it has had in the heap

    @property
    def due(self) -> dict[tuple[Any, ...], dict[int, int]]:
        """By the key of a copy and the time, the number of the request."""
        ...

    @property
    def floored(self) -> FlooredDeadlines:
        """Those that wait for floors."""
        ...

    @property
    def floor_slots(self) -> Sequence[Any]:
        """The slots whose floors they wait for; none: they wait for the clock."""
        ...

    @property
    def number(self) -> int:
        """Its number in its correlation."""
        ...

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place in the program: the wave and the number of its correlation, and its turn there."""
        ...

    @property
    def lets_go_alone(self) -> bool:
        """Whether its deadlines let go what is in memory, and do nothing else."""
        ...

    @property
    def gives_rows(self) -> bool:
        """Whether rows come with its deadlines: of one time in the order of what is in memory, whoever has left."""
        ...

    def first_awaiting(self, time: int, key: tuple[Any, ...]) -> int | None:
        """Return the number of the first in memory that waits for a time; None: nothing does."""
        ...

    def newest(self) -> int:
        """Return the number of what has come to memory last."""
        ...

    def forget(self, key: tuple[Any, ...], copy: Any) -> None:
        """Drop a copy that has nothing to remember."""
        ...

    def spare(self) -> Any:
        """Return a copy that is not at work."""
        ...


A = TypeVar("A", bound=Asking)

MANY: Final = 4_096
"""As many wait in the queue, at least, before what is asked for again and again is looked for."""
BY_ROWS: Final = 40
"""Where rows come, the number of a request has above so many bits that of an entry, at most the first that waits."""
Deadline: TypeAlias = tuple[int, tuple[int, int, int], int, A, tuple[Any, ...]]
"""When, in which place of the program, the number of the request, who, and the key of the copy."""


class Deadlines(Generic[A]):
    """Who wants a tick when: a heap, of which only what is due is visited.

    Of those at one time the first that was asked for is due first, correlation by correlation; but gates come before
    what lets go or decides, by which events may still come; then what decides on absence; and windows last. Where rows
    come as entries are let go, whose entry in memory is the first: one that leaves before that leaves no trace.

    Functions of pushes mostly ask in order of time. What they ask for waits in a queue, `asked`, and costs next to
    nothing there; it goes into the heap before anybody else looks (`settle`).

    What was taken back, or asked for an entry that has left otherwise, stays in the heap or the queue until its turn
    comes, or until there is twice as much as was wanted when somebody last looked.

    Invariant: the times in the queue ascend, and of one time the places; those of one restriction are behind all that
    it has had in the heap. Of one time the queue may hold doubles, but not once it is longer than `MANY`.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.entered: list[Deadline[A]] = []  # the heap, without what waits in the queue
        self.asked: deque[Deadline[A]] = deque()
        self._entering: Deadline[A] | None = None  # the last one that has left, or was to leave, the queue
        self.number = 0
        self.most = FEW  # once more are there than this, somebody looks for those that nobody wants any more
        self.present: int | None = None  # the one that is being met
        self.floored: list[A] = []  # whose deadlines wait for floors, not for the clock: in the same order
        self.soon: deque[tuple[A, tuple[Any, ...]]] = deque()  # who wants a tick after the present step

    @property
    def heap(self) -> list[Deadline[A]]:
        """The heap, with all that was asked for."""
        self.settle()
        return self.entered

    def settle(self) -> None:
        """Put what waits in the queue into the heap. Who is interrupted in it may begin again."""
        while self.asked:
            item = self.asked[0]
            if item[3].still_awaits(item[0], item[4]) and (item is not self._entering or item not in self.entered):
                self._entering = item
                self._enter(item)
            self.asked.popleft()

    def enter(self, item: Deadline[A]) -> bool:
        """Ask, for good, for a tick that the queue cannot take, as it is due too early, or waits for floors.

        Return whether nobody has asked for it before.
        """
        self.settle()
        return self._enter(item)

    def _enter(self, item: Deadline[A]) -> bool:
        time, _, number, installed, key = item
        if key not in installed.copies:
            installed.copies[key] = installed.spare()
        if installed.due.setdefault(key, {}).setdefault(time, number) != number:
            return False  # asking twice is asking once
        installed.until = max(installed.until, time)
        if installed.floor_slots:
            installed.floored.add((time, number, key))
        else:
            heapq.heappush(self.entered, item)
        return True

    def forget_floored(self, item: Deadline[A]) -> None:
        """Take back what was asked of floors, and the copy that waits for nothing else."""
        self._discard(item)
        if item[4] not in item[3].due:
            item[3].copies.pop(item[4], None)

    def add(self, time: int, installed: A, key: tuple[Any, ...]) -> None:
        """Ask for a tick once the clock is past ``time``; asking twice is asking once."""
        if time in installed.due.get(key, ()):
            return
        self.number += 1
        number = self.number
        if installed.gives_rows:
            first = installed.first_awaiting(time, key)
            number |= (installed.newest() + 1 if first is None else first) << BY_ROWS
        item = _item(installed, time, number, key)
        self.journal.change(lambda: self._put_back(item), lambda: self._discard(item))

    def cancel(self, time: int, installed: A, key: tuple[Any, ...]) -> None:
        """Take back what was asked for, if it was; the heap has it still."""
        number = installed.due.get(key, {}).get(time)
        if number is None:
            return
        if installed.floor_slots:
            item = _item(installed, time, number, key)
            self.journal.change(lambda: self._discard(item), lambda: self._put_back(item))
            return

        def undo() -> None:
            installed.due.setdefault(key, {})[time] = number

        self.journal.change(partial(self._count_down, time, installed, key), undo)

    def clean(self) -> None:
        """Drop what nobody wants any more, if there may be as much of that as of what is wanted. Between pushes."""
        if len(self.asked) + len(self.entered) > self.most:
            self._keep(lambda item: True)
            self.most = max(FEW, 2 * len(self.entered))
        for one in self.floored:
            for time, number, key in one.floored.clean(one):
                self._forget(_item(one, time, number, key))

    def _keep(self, is_kept: Callable[[Deadline[A]], bool]) -> None:
        """Keep in the heap what is wanted of some."""
        kept = []
        for item in [one for one in self.heap if _is_asked(one)]:
            if not _is_wanted(item):
                self._forget(item)  # before it leaves the heap, so that who is interrupted can ask for it anew
            elif is_kept(item):
                kept.append(item)
        heapq.heapify(kept)
        self.entered = kept

    def _forget(self, item: Deadline[A]) -> None:
        time, _, _, installed, key = item
        self._count_down(time, installed, key)
        if key in installed.copies:
            installed.forget(key, installed.copies[key])

    def ask(self, installed: A, key: tuple[Any, ...]) -> None:
        """Ask for a tick after the present step; asking twice is asking once."""
        if (installed, key) not in self.soon:
            self.soon.append((installed, key))

    def asked_by(self, copies: Iterable[tuple[A, tuple[Any, ...]]]) -> list[Deadline[A]]:
        """Return what some copies asked for, in order."""
        found = [_item(one, *asked, key) for one, key in copies for asked in one.due.get(key, {}).items()]
        return sorted(found, key=turn_of)

    def is_later(self, item: Deadline[A], number: int) -> bool:
        """Whether a deadline was asked for after so many requests."""
        return _request_of(item[2]) > number

    def take(self, item: Deadline[A]) -> bool:
        """Forget a deadline, to meet it now; return whether it is still asked for."""
        if not _is_asked(item):
            return False
        self.journal.change(partial(self._discard, item), partial(self._put_back, item))
        return item[3].still_awaits(item[0], item[4])

    def pop(self, before: Time) -> Deadline[A] | None:
        """Return the earliest deadline below ``before`` that waits for the clock and drop it, or None."""
        while self.entered and self.entered[0][0] < before:
            item = self.entered[0]
            if not _is_asked(item):
                self.journal.change(partial(heapq.heappop, self.entered), partial(heapq.heappush, self.entered, item))
            elif self._take(item):
                return item
        return None

    def _take(self, item: Deadline[A]) -> bool:
        """Drop a deadline that is asked for; return whether it is to be met now, or nobody wants it, or only later."""
        self.journal.change(partial(self._discard, item), partial(self._put_back, item))
        if not item[3].still_awaits(item[0], item[4]):
            return False
        turn = turn_of(item)
        if turn == item[:3]:
            return True
        later = (*turn, *item[3:])
        self.journal.change(partial(self._put_back, later), partial(self._discard, later))
        return False

    def due_by(self, time: int) -> Iterator[Deadline[A]]:
        """Iterate over those that wait for the clock and are due by ``time``; no others are looked at."""
        places = [0]
        while places:
            place = places.pop()
            if place < len(self.entered) and self.entered[place][0] <= time:
                yield self.entered[place]
                places += (2 * place + 1, 2 * place + 2)

    def add_floored(self, installed: A) -> None:
        """Let the deadlines of a restriction wait for floors from now on."""
        self.floored.append(installed)
        self.floored.sort(key=lambda one: (one.place, one.number))

    def pop_passed(self) -> Deadline[A] | None:
        """Return the earliest of the deadlines that floors have passed and drop it, or None."""
        while True:
            found = [(one, one.floored.passed(one)) for one in self.floored]
            passed = [_item(one, *item) for one, item in found if item is not None]
            item = min(passed, default=None, key=lambda item: item[:3])
            if item is None or self._take(item):
                return item

    def next_stop(self, clock: Time) -> Time:
        """Return the earliest time, from ``clock`` on, past which floors may let something happen."""
        return min([one.floored.first_stop(one, clock) for one in self.floored], default=LATEST)

    def next(self, clock: Time) -> int | None:
        """Return the earliest clock at which something is due, or may be, or None."""
        while self.heap and not _is_wanted(self.entered[0]):
            if _is_asked(self.entered[0]):
                self._forget(self.entered[0])
            heapq.heappop(self.entered)
        first = min([self.next_stop(clock), *[item[0] for item in self.entered[:1]]])
        return None if first == LATEST else int(first) + 1

    def wanted(self) -> list[Deadline[A]]:
        """Return all that is due some time, in order; where turns say nothing, in that of memory, whoever has left."""
        items = sorted([*filter(_is_wanted, self.heap), *self._asked()], key=turn_of)
        return [item for _, together in groupby(items, key=itemgetter(0, 1)) for item in _by_memory([*together])]

    def of_others(self, correlations: Collection[int]) -> list[Deadline[A]]:
        """Return what correlations of other numbers have asked for, wanted or not."""
        return [item for item in self.heap if item[1][1] not in correlations]

    def leave_out(self, items: Sequence[Deadline[A]]) -> None:
        """Leave out some of what was asked for, for the time of some steps."""
        if items:
            left = {item[:3] for item in items}
            self.entered = [item for item in self.heap if item[:3] not in left]
            heapq.heapify(self.entered)

    def take_in(self, items: Sequence[Deadline[A]]) -> None:
        """Take in what was left out."""
        if items:
            self.entered += items
            heapq.heapify(self.entered)

    def drop(self, gone: Collection[A]) -> None:
        """Drop from the heap what some restrictions have asked for, and what nobody wants any more."""
        self._keep(lambda item: item[3] not in gone)

    def forget_all(self, gone: Collection[A]) -> None:
        """Drop what the restrictions of a correlation have asked for, which is at work no longer."""
        self.drop(gone)
        self.floored = [one for one in self.floored if one not in gone]

    def _asked(self) -> list[Deadline[A]]:
        items = [_item(one, *asked) for one in self.floored for asked in one.floored.items]
        return [*filter(_is_wanted, items)]

    def _count_down(self, time: int, installed: A, key: tuple[Any, ...]) -> None:
        del installed.due[key][time]
        if not installed.due[key]:
            del installed.due[key]

    def _discard(self, item: Deadline[A]) -> None:
        time, _, number, installed, key = item
        if installed.floor_slots:
            installed.floored.discard((time, number, key))
        elif self.entered[0] is item:
            heapq.heappop(self.entered)
        else:
            self.entered.remove(item)
            heapq.heapify(self.entered)
        self._count_down(time, installed, key)

    def _put_back(self, item: Deadline[A]) -> None:
        time, _, number, installed, key = item
        if installed.floor_slots:
            installed.floored.add((time, number, key))
        else:
            heapq.heappush(self.entered, item)
        installed.until = max(installed.until, time)
        installed.due.setdefault(key, {})[time] = number


def _item(installed: A, time: int, number: int, key: tuple[Any, ...]) -> Deadline[A]:
    return time, installed.place, number, installed, key


def _is_asked(item: Deadline[A]) -> bool:
    time, _, number, installed, key = item
    return installed.due.get(key, {}).get(time) == number


def _is_wanted(item: Deadline[A]) -> bool:
    return _is_asked(item) and item[3].still_awaits(item[0], item[4])


def turn_of(item: Deadline[A]) -> tuple[int, tuple[int, int, int], int]:
    """Return when it is met: where rows come, what asked for it first may have left."""
    time, place, number, installed, key = item
    first = installed.first_awaiting(time, key) if installed.gives_rows else None
    return time, place, number if first is None else first << BY_ROWS | _request_of(number)


def _by_memory(items: list[Deadline[A]]) -> list[Deadline[A]]:
    """Return those of one time by the first that each lets go, if that is all they do."""
    if len(items) == 1 or not all(item[3].lets_go_alone and not item[3].gives_rows for item in items):
        return items
    return sorted(items, key=lambda item: (item[3].first_awaiting(item[0], item[4]), item[3].number))


def _request_of(number: int) -> int:
    return number & (1 << BY_ROWS) - 1
