"""Engines that a worker keeps between calls, so that a state need not be decoded to go on.

A worker is used again for other tasks, but which bucket it gets next is not known: another worker may have gone on with
the bucket meanwhile, or a call may have been repeated. So an engine is given only for the very blob that it wrote, told
by the digest in its header; any other blob is decoded. Nothing is ever lost by forgetting one.

Invariant: an engine is in the cache or at work, never both; one whose call failed is not put back.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Engine

T = TypeVar("T")

_MADE: Final[OrderedDict[str, Any]] = OrderedDict()
_QUERIES: Final = 8
"""What of so many queries a worker keeps."""


def once_a_worker(query: str, make: Callable[[], T]) -> T:
    """Return what belongs to a query: made once in this process, with all that was compiled for it since.

    A program travels with each task, and would be compiled for each anew.

    Args:
        query: What tells it from all others; empty: it is always made.
        make: Makes it.
    """
    found: T | None = _MADE.pop(query, None) if query else None
    if found is None:
        found = make()
    if query:
        _MADE[query] = found
        if len(_MADE) > _QUERIES:
            _MADE.popitem(last=False)
    return found


@attrs.frozen(eq=False)
class Kept:
    """An engine between calls.

    Args:
        digest: Of the blob that holds the same state.
        engine: The engine.
        held: The rows that wait.
        waiting: How many they are.
        size: How many bytes the blob has, by which the cache is bounded.
        text: The text of the program; None: the one that the query began with.
    """

    digest: str
    engine: Engine
    held: Any
    waiting: int
    size: int
    text: str | None = None


@final
class EngineCache:
    """The engines of one worker, by query and bucket; the least recently used are forgotten first.

    >>> from spark_bridge.state.engine_cache import EngineCache
    >>> EngineCache(limit=1000).take("query", 0, "digest") is None
    True

    Args:
        limit: How many bytes the blobs of all of them may have together.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self.size = 0  # of the blobs, in bytes
        self._kept: OrderedDict[tuple[str, int], Kept] = OrderedDict()

    def take(self, query: str, bucket: int, digest: str) -> Kept | None:
        """Return the engine whose state is that of the blob with this digest, and forget it; None if there is none."""
        if not query:
            return None
        found = self._forget((query, bucket))
        if found is None or found.digest != digest:
            self.misses += 1
            return None
        self.hits += 1
        return found

    def put(self, query: str, bucket: int, kept: Kept) -> None:
        """Keep an engine, unless the query has none to keep it for (an empty name) or it has strands suspended."""
        if not query or not all(join.is_in_place for join in kept.engine._program.joins):
            return
        self._forget((query, bucket))
        self._kept[query, bucket] = kept
        self.size += kept.size
        while len(self._kept) > 1 and self.size > self.limit:
            self._forget(next(iter(self._kept)))

    def clear(self) -> None:
        """Forget all engines, as a worker does that ends."""
        self._kept.clear()
        self.size = 0

    def _forget(self, place: tuple[str, int]) -> Kept | None:
        found = self._kept.pop(place, None)
        self.size -= 0 if found is None else found.size
        return found

    def __len__(self) -> int:
        return len(self._kept)


ENGINES: Final = EngineCache(limit=256 * 2**20)
"""Those of this process. Only the thread that runs the tasks of a worker uses it."""
