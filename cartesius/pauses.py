"""Pausing: the door of a slot, where events wait while the slot is paused under their key.

Invariant: the queue holds, in order of arrival, only events that a pause holds back, or whose row waits already, or
that have been released and follow once the present step is over.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.2 (play, pause), as SEMANTICS 1.8 settles it per key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, final

from cartesius.memories import ABSENT
from cartesius.queues import Queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.memories import Entry

Pause: TypeAlias = "tuple[tuple[int, ...], tuple[Any, ...]]"  # the key spaces, and the key in each


@final
class Door:
    """The door of one slot: its pauses, and what waits."""

    __slots__ = ("journal", "paused", "queue")

    def __init__(self, journal: list[Callable[[], None]]) -> None:
        self.paused: frozenset[Pause] = frozenset()
        self.queue = Queue()
        self.journal = journal

    def pause(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> None:
        """Hold back the events that have ``key`` in the key spaces at ``positions``."""
        self._change(self.paused | {(positions, key)}, self.queue)

    def play(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> bool:
        """Let them through again; return whether they were held back."""
        if (positions, key) not in self.paused:
            return False
        self._change(self.paused - {(positions, key)}, self.queue)
        return True

    def holds_back(self, entry: Entry) -> bool:
        """Queue ``entry`` if it must wait; return whether it does."""
        if not self.paused and not self.queue:
            return False
        if not self._is_paused(entry) and not self._waits_already(entry):
            return False
        self._change(self.paused, self.queue.append(entry))
        return True

    def drop(self, identity: Any) -> bool:
        """Drop the waiting event of that identity, which its source takes back; return whether there was one."""
        if not self.queue:
            return False
        rest = self.queue.without(identity)
        if len(rest) == len(self.queue):
            return False
        self._change(self.paused, rest)
        return True

    def release(self) -> Entry | None:
        """Return the first waiting event that nothing holds back any more, and drop it here; None if there is none."""
        blocked = set()
        entry: Entry
        for entry in self.queue:
            if self._is_paused(entry) or entry.row_key in blocked:
                blocked.add(entry.row_key)
                blocked.discard(ABSENT)
                continue
            self._change(self.paused, Queue([other for other in self.queue if other is not entry]))
            return entry
        return None

    def _is_paused(self, entry: Entry) -> bool:
        return any(tuple([entry.keys[p] for p in positions]) == key for positions, key in self.paused)

    def _waits_already(self, entry: Entry) -> bool:
        """Whether an earlier change of the same row of a table waits."""
        return entry.row_key is not ABSENT and any(other.row_key == entry.row_key for other in self.queue)

    def _change(self, paused: frozenset[Pause], queue: Queue) -> None:
        before = (self.paused, self.queue)

        def undo() -> None:
            self.paused, self.queue = before

        self.journal.append(undo)
        self.paused, self.queue = paused, queue
