"""Deadlines that wait for floors: those that one restriction has asked for, in the order in which they are due.

Most are not over by the clock; those that are may be held up by what gates hold. What is held of one key holds up that
key alone, so its deadlines are *blocked*: set aside until a gate's copy for that key has changed, or until what all
keys have in common lets them, whatever that copy holds. A push looks at those keys only, however many are blocked.

Invariant: the earliest deadline of each key is among the heads, or, if it is blocked, among what is held up; others may
be there, too.

Source: SEMANTICS 3.12.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from cartesius.data.events import LATEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from cartesius.data.events import Time
    from cartesius.data.journals import Journal
    from cartesius.language.families import Slot


FEW: Final = 100
"""As many wait, at least, before what nobody wants any more is looked for."""
Deadline: TypeAlias = tuple[int, int, tuple[Any, ...]]
"""When, the number of the request, and the key of the copy."""
_Head: TypeAlias = tuple[int, int, int, Deadline]
_PLACE = itemgetter(0, 1)


class Waiting(Protocol):
    """Who waits: a restriction at work in one correlation."""

    def still_awaits(self, time: int, key: tuple[Any, ...]) -> bool:
        """Whether what was asked for is wanted, unless it was taken back."""
        ...

    def lags(self) -> Mapping[Slot, int | None]:
        """Return how far the floors of slots stay behind the clock where nothing is held; None: they never move."""
        ...

    def may_tick(self, time: int, key: tuple[Any, ...]) -> bool:
        """Whether floors have passed a deadline."""
        ...

    def awaited(self, time: int, key: tuple[Any, ...]) -> Collection[Slot]:
        """Return the slots whose floors a deadline waits for."""
        ...

    def bars(self, time: int) -> bool:
        """Whether a deadline that is not let bars those after it, of all keys."""
        ...

    def may_let_go(self, time: int) -> bool:
        """Whether a deadline may be let now though nothing has happened to its key."""
        ...

    def keys_let_go(self, blocked: Collection[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
        """Return of some keys those that may not be blocked any more."""
        ...


class FlooredDeadlines:
    """The deadlines of one restriction.

    Args:
        journal: Where it is noted how to undo.
        in_order: Whether those of one key are met in order, so that all wait for the first; otherwise each is asked.
    """

    def __init__(self, journal: Journal, *, in_order: bool) -> None:
        self._journal = journal
        self._in_order = in_order
        self.items: list[Deadline] = []  # in order
        self.most = FEW  # once there are more, somebody looks for those that nobody wants any more
        self._of_key: dict[tuple[Any, ...], list[Deadline]] = {}  # in order
        self._heads: list[_Head] = []  # a heap
        self._blocked: set[tuple[Any, ...]] = set()  # the keys whose first is held up
        self._held_up: list[_Head] = []  # a heap of these
        self._n = 0  # how many have been in a heap

    def add(self, item: Deadline) -> None:
        """Take one in."""
        insort(self.items, item, key=_PLACE)
        mine = self._of_key.setdefault(item[2], [])
        insort(mine, item, key=_PLACE)
        if mine[0] is item:
            self._unblock(item[2])

    def discard(self, item: Deadline) -> None:
        """Drop one."""
        del self.items[bisect_left(self.items, item[:2], key=_PLACE)]
        mine = self._of_key[item[2]]
        place = bisect_left(mine, item[:2], key=_PLACE)
        del mine[place]
        if not place:
            self._unblock(item[2])

    def clean(self, who: Waiting) -> list[Deadline]:
        """Drop what nobody wants any more, if there may be as much of that as of what is wanted, and return it."""
        if len(self.items) <= self.most:
            return []
        unwanted = [item for item in self.items if not who.still_awaits(item[0], item[2])]
        for item in unwanted:
            self.discard(item)
        self.most = max(FEW, 2 * len(self.items))
        return unwanted

    def clear(self) -> None:
        """Drop all."""
        self.items.clear()
        self._of_key.clear()
        self._heads.clear()
        self._blocked.clear()
        self._held_up.clear()

    def _unblock(self, key: tuple[Any, ...]) -> None:
        """Let the first deadline of a key be a head."""
        mine = self._of_key.get(key, [])
        if not mine:
            self._of_key.pop(key, None)
        elif self._in_order:
            if len(self._heads) > 2 * len(self._of_key) + 100:  # most of which nobody wants any more
                heads = [self._head(of[0]) for other, of in self._of_key.items() if of and other not in self._blocked]
                heapq.heapify(heads)
                self._heads = heads
            heapq.heappush(self._heads, self._head(mine[0]))
        self._blocked.discard(key)  # last: whatever interrupts this, the key is blocked, or has a head

    def _head(self, item: Deadline) -> _Head:
        """Return what stands in a heap: after an undone call a number comes again, and keys may have no order."""
        self._n += 1
        return item[0], item[1], self._n, item

    def passed(self, who: Waiting) -> Deadline | None:
        """Return the earliest that floors have passed, or None."""
        if not self._in_order:
            return self._first_passed(who)
        for key in [*who.keys_let_go(self._blocked)] if self._blocked else ():
            self._unblock(key)
        while self._blocked and self._held_up and who.may_let_go(self._held_up[0][0]):
            if (key := self._held_up[0][3][2]) in self._blocked:
                self._unblock(key)
            heapq.heappop(self._held_up)
        while self._heads:
            time, _, key = item = self._heads[0][3]
            if key in self._blocked or self._of_key.get(key, [None])[0] != item:
                heapq.heappop(self._heads)
            elif who.may_tick(time, key):
                return item
            elif who.bars(time):
                return None
            else:
                self._journal.append(partial(self._unblock, key))
                self._block(item)
        return None

    def _block(self, item: Deadline) -> None:
        """Set aside what is held up."""
        if len(self._held_up) > 2 * len(self._blocked) + 100:  # most of which are held up no longer
            held_up = [self._head(self._of_key[key][0]) for key in self._blocked]
            heapq.heapify(held_up)
            self._held_up = held_up
        heapq.heappush(self._held_up, self._head(item))
        self._blocked.add(item[2])

    def _first_passed(self, who: Waiting) -> Deadline | None:
        for item in self.items:
            if who.may_tick(item[0], item[2]):
                return item
            if who.bars(item[0]):
                return None
        return None

    def first_stop(self, who: Waiting, clock: Time) -> Time:
        """Return the earliest time, from ``clock`` on, past which floors may have passed one of them."""
        found: Time = LATEST
        lags = who.lags() if self.items else {}
        longest = max([lag for lag in lags.values() if lag is not None], default=0)
        for place in range(bisect_left(self.items, (clock - longest,)), len(self.items)):
            time, _, key = self.items[place]
            if time >= found:
                break
            if not who.still_awaits(time, key):
                continue
            lag = longest_of([lags.get(slot, 0) for slot in who.awaited(time, key)])
            if lag is not None and clock <= time + lag < found:
                found = time + lag
        return found


def longest_of(lags: Iterable[int | None]) -> int | None:
    """Return the longest lag; None, for ever, if one is."""
    found = list(lags)
    return None if None in found else max([lag for lag in found if lag is not None], default=0)
