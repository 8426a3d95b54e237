"""A persistent first-in-first-out queue: what a gate holds, as plain data that is replaced and never mutated.

Versions share one list; each sees its own span of it. Appending to the newest version and dropping from the front take
constant time (amortised), and older versions, kept for a failed push, stay as they were.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@final
class Queue:
    """An immutable queue.

    >>> queue = Queue([1]).append(2)
    >>> queue.head, list(queue.rest()), list(queue)
    (1, [2], [1, 2])
    """

    __slots__ = ("_from", "_items", "_to")

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items = list(items)
        self._from = 0
        self._to = len(self._items)

    def append(self, item: Any) -> Queue:
        """Return a queue with ``item`` at the end."""
        if self._to != len(self._items) or self._from > len(self) + 16:
            return Queue((*self, item))
        self._items.append(item)
        return self._span(self._from, self._to + 1)

    @property
    def head(self) -> Any:
        """The first item; the queue must not be empty."""
        return self._items[self._from]

    def rest(self) -> Queue:
        """Return a queue without the first item."""
        return self._span(self._from + 1, self._to)

    def since(self, before: Queue) -> tuple[list[Any], list[Any]] | None:
        """Return what was dropped from the front, and appended, since an earlier version; None if it is none."""
        if self._items is not before._items or before._from > self._from or before._to > self._to:
            return None
        dropped = islice(before._items, before._from, min(self._from, before._to))
        return list(dropped), list(islice(self._items, max(before._to, self._from), self._to))

    def without(self, identity: Any) -> Queue:
        """Return a queue without the entry of that identity."""
        return Queue(item for item in self if item.identity != identity)

    def _span(self, since: int, until: int) -> Queue:
        queue = object.__new__(Queue)
        queue._items, queue._from, queue._to = self._items, since, until
        return queue

    def __iter__(self) -> Iterator[Any]:
        """Iterate from the head."""
        return islice(self._items, self._from, self._to)

    def __len__(self) -> int:
        """The number of items."""
        return self._to - self._from

    def __eq__(self, other: object) -> bool:
        """Equal items in the same order."""
        return isinstance(other, Queue) and list(self) == list(other)

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(len(self))

    def __repr__(self) -> str:
        """Show the items."""
        return f"Queue({list(self)!r})"
