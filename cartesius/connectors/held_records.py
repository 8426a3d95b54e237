"""Held records: those of several partitions, given in the order of time, as far as each partition has it.

The earliest of the partitions' first records is given when each partition has one, or is known to be at its end. What
is read of a partition that is ahead of the others is held, up to a bound, at which it is not read on.

Invariant: the records of one partition are given in its order.

Source: Kafka Streams' choice of the next record (KIP-353, KIP-695).
"""

from __future__ import annotations

from collections import deque
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

    >>> records = HeldRecords([0, 1])
    >>> records.add(0, Held(5, 0, "a"))
    >>> records.take() is None  # the other one may have an earlier one
    True
    >>> records.add(1, Held(3, 0, "b"))
    >>> records.take()
    (1, Held(time=3, offset=0, content='b'))

    Args:
        partitions: Their numbers.
    """

    def __init__(self, partitions: Iterable[int]) -> None:
        self._held: dict[int, deque[Held]] = {partition: deque() for partition in sorted(partitions)}
        self._ended: set[int] = set()
        self._lacking = set(self._held)  # nothing is held of them, and they may have more
        self._full: set[int] = set()

    def add(self, partition: int, record: Held) -> None:
        """Take the next record of a partition."""
        self._held[partition].append(record)
        self._lacking.discard(partition)
        self._ended.discard(partition)

    def end(self, partition: int) -> None:
        """Take note that nothing more is there of a partition now."""
        self._ended.add(partition)
        self._lacking.discard(partition)

    def take(self, *, waits: bool = True) -> tuple[int, Held] | None:
        """Return the earliest record and its partition; None: there is none, or it waits for what is to be read."""
        heads = [(held[0].time, partition) for partition, held in self._held.items() if held]
        if not heads or (waits and self._lacking):
            return None
        _, partition = min(heads)
        found = self._held[partition].popleft()
        if not self._held[partition] and partition not in self._ended:
            self._lacking.add(partition)
        return partition, found

    def full(self) -> set[int]:
        """Return the partitions that are not to be read on: until half of what is held of them is given."""
        self._full = {
            partition
            for partition, held in self._held.items()
            if len(held) >= (_MOST // 2 if partition in self._full else _MOST)
        }
        return self._full
