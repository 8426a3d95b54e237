"""Held records: those of several partitions, given in the order of time, as far as each partition has it.

The earliest of the partitions' first records is given when each partition has one, or is at its end: it has been read
as far as it goes, by what its broker has said last. What is read of a partition that is ahead of the others is held, up
to a bound, at which it is not read on.

Invariant: the records of one partition are given in its order.

Source: Kafka Streams' choice of the next record (KIP-353, KIP-695).
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST: Final = 10_000
"""How many records of a partition are held, about, before it is not read on."""


class Held(NamedTuple):
    """A record."""

    time: float
    """In time units; minus infinity: it is given right behind the one before it in its partition."""
    offset: int
    content: Any


@final
class HeldRecords:
    """What was read of partitions, and not given yet.

    >>> records = HeldRecords([0, 1], follow=True)
    >>> records.add(0, Held(5, 0, "a"))
    >>> records.take() is None  # the other one may have an earlier one
    True
    >>> records.add(1, Held(3, 0, "b"))
    >>> records.take()
    (1, Held(time=3, offset=0, content='b'))

    Args:
        partitions: Their numbers.
        follow: Whether a partition that had ended and has more is waited for again; False: its first end is its last.
    """

    def __init__(self, partitions: Iterable[int], *, follow: bool) -> None:
        self._held: dict[int, deque[Held]] = {partition: deque() for partition in sorted(partitions)}
        self._follow = follow
        self._read = dict.fromkeys(self._held, -1)  # the offset that each was read to; -1: nothing is known of it
        self._ended: set[int] = set()
        self._full: set[int] = set()
        self._firsts: list[tuple[float, int]] = []  # a heap: the time of the first record that is held of a partition
        self._awaited = set(self._held)  # of which nothing is held, and which have not ended

    def add(self, partition: int, record: Held) -> None:
        """Take the next record of a partition."""
        held = self._held[partition]
        if not held:
            heappush(self._firsts, (record.time, partition))
            self._awaited.discard(partition)
        held.append(record)
        self._read[partition] = record.offset + 1

    def end(self, partition: int, offset: int) -> None:
        """Take note that a partition was read to an offset, at which there was nothing more."""
        self._read[partition] = offset
        self._ended.add(partition)
        self._awaited.discard(partition)

    def reaches(self, partition: int, offset: int) -> None:
        """Take note of the offset that the next record written to a partition has, by the last that is known."""
        if 0 <= offset <= self._read[partition]:
            self.end(partition, self._read[partition])
        elif self._follow:  # it has grown since its end was reported
            self._ended.discard(partition)
            if not self._held[partition]:
                self._awaited.add(partition)

    def have_ended(self) -> bool:
        """Return whether all partitions are at their ends."""
        return len(self._ended) == len(self._held)

    def take(self) -> tuple[int, Held] | None:
        """Return the earliest record and its partition; None: there is none, or it waits for what is to be read."""
        if self._awaited or not self._firsts:
            return None
        _, partition = heappop(self._firsts)
        held = self._held[partition]
        found = held.popleft()
        if held:
            heappush(self._firsts, (held[0].time, partition))
        elif partition not in self._ended:
            self._awaited.add(partition)
        return partition, found

    def full(self) -> set[int]:
        """Return the partitions that are not to be read on: until half of what is held of them is given."""
        self._full = {
            partition
            for partition, held in self._held.items()
            if len(held) >= (_MOST // 2 if partition in self._full else _MOST)
        }
        return self._full
