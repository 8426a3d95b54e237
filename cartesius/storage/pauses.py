"""Pausing: the door of a slot, where events wait while the slot is paused under their key.

Invariant: the queue holds, in order of arrival, only events that a pause holds back, or whose row waits already, or
that have been released and follow once the present step is over.

Source: ICFP 2018, doi:10.1145/3236762, section 4.4.2 (play, pause), as SEMANTICS 1.8 settles it per key.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

from cartesius.data.entries import ABSENT
from cartesius.data.queues import Queue

if TYPE_CHECKING:
    from cartesius.data.entries import Entry
    from cartesius.data.journals import Journal

Pauses: TypeAlias = "dict[tuple[int, ...], set[tuple[Any, ...]]]"  # of key spaces, the keys in them


@final
class Door:
    """The door of one slot: its pauses, and what waits."""

    __slots__ = ("journal", "paused", "played", "queue")

    def __init__(self, journal: Journal) -> None:
        self.paused: Pauses = {}
        self.played: Pauses = {}  # whose events follow once the present step is over
        self.queue = Queue()
        self.journal = journal

    def pause(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> None:
        """Hold back the events that have ``key`` in the key spaces at ``positions``."""
        self._move(self.played, positions, key, self.paused)

    def play(self, positions: tuple[int, ...], key: tuple[Any, ...]) -> bool:
        """Let them through again, in order; return whether they were held back."""
        if key not in self.paused.get(positions, ()):
            return False
        self._move(self.paused, positions, key, self.played)
        return True

    def _move(self, source: Pauses, positions: tuple[int, ...], key: tuple[Any, ...], target: Pauses) -> None:
        was_there, is_here = key in source.get(positions, ()), key in target.get(positions, ())

        def undo() -> None:
            _put(source, positions, key, present=was_there)
            _put(target, positions, key, present=is_here)

        self.journal.append(undo)
        _put(source, positions, key, present=False)
        _put(target, positions, key, present=True)

    def holds_back(self, entry: Entry) -> bool:
        """Queue ``entry`` if it must wait, or would overtake what waits; return whether it does."""
        if not self.paused and not self.queue:
            return False
        is_under = _is_under(self.paused, entry) or _is_under(self.played, entry)
        if not is_under and self.waiting_row(entry) is None:
            return False
        self._replace(self.queue.append(entry))
        return True

    def drop(self, identity: Any) -> int:
        """Drop the waiting events of that identity, which their source takes back; return how many there were."""
        rest = self.queue.without(identity) if self.queue else self.queue
        dropped = len(self.queue) - len(rest)
        if dropped:
            self._replace(rest)
        return dropped

    def close(self, space: int, window: Any, positions: tuple[int, ...], key: tuple[Any, ...]) -> int:
        """Drop what waits in a window under a key, and what is paused there; return how much waited."""
        for pauses in (self.paused, self.played):
            for mine in [mine for mine in pauses if space in mine]:
                place = mine.index(space)
                of_window = {k for k in pauses[mine] if k[place] == window and k[: len(key)] == key}
                for one in of_window:
                    self.journal.append(partial(_put, pauses, mine, one, present=True))
                    _put(pauses, mine, one, present=False)
        rest = [entry for entry in self.queue if not _is_in(entry, space, window, positions, key)]
        dropped = len(self.queue) - len(rest)
        if dropped:
            self._replace(Queue(rest))
        return dropped

    def release(self) -> Entry | None:
        """Return the first waiting event that nothing holds back any more, and drop it here; None if there is none."""
        if not self.played:
            return None
        blocked = set()
        entry: Entry
        for entry in self.queue:
            if _is_under(self.paused, entry) or entry.row_key in blocked:
                blocked.add(entry.row_key)
                blocked.discard(ABSENT)
                continue
            is_head = entry is self.queue.head
            rest = self.queue.rest() if is_head else Queue([other for other in self.queue if other is not entry])
            self._replace(rest)
            return entry
        self.journal.append(partial(setattr, self, "played", self.played))
        self.played = {}
        return None

    def waiting_row(self, entry: Entry) -> Entry | None:
        """Return the latest waiting change of the same row of a table."""
        if entry.row_key is ABSENT:
            return None
        return next((other for other in reversed(list(self.queue)) if other.row_key == entry.row_key), None)

    def _replace(self, queue: Queue) -> None:
        before = self.queue
        self.journal.append(lambda: setattr(self, "queue", before))
        self.queue = queue


def _put(pauses: Pauses, positions: tuple[int, ...], key: tuple[Any, ...], *, present: bool) -> None:
    keys = pauses.setdefault(positions, set())
    (keys.add if present else keys.discard)(key)
    if not keys:
        pauses.pop(positions, None)


def _is_in(entry: Entry, space: int, window: Any, positions: tuple[int, ...], key: tuple[Any, ...]) -> bool:
    return entry.keys[space] == window and tuple([entry.keys[p] for p in positions]) == key


def _is_under(pauses: Pauses, entry: Entry) -> bool:
    return any(tuple([entry.keys[p] for p in positions]) in keys for positions, keys in pauses.items())
