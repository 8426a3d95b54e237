"""Monitoring: a running program compared with a second implementation, with what that costs, over time.

Invariant: a `Monitor` never disturbs what it watches: a difference is reported once, and then nothing is kept any more;
the same if one stream is further ahead than ``limit``, or if a relation raises.

Source: DiffStream's case study of a running application (SOURCES E4).
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, final

import attrs

from cartesius.data.records import Record
from cartesius.equivalence.matching import Equivalence, Matcher, failure
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from cartesius.equivalence.matching import Relation

_MEASURED: Final = 100  # of the unmatched items of a stream; the others are taken to be as large
_PLACE: Final = 150  # bytes that a matcher needs for an item besides the item, about


@final
@attrs.frozen
class Sample:
    """What a monitor had, and needed, after one batch of items.

    >>> from cartesius.testing import Monitor
    >>> monitor = Monitor()
    >>> _ = monitor.take(1, ["a", "b"])
    >>> (sample,) = monitor.samples
    >>> sample.stream, sample.items, sample.unmatched
    (1, 2, (2, 0))

    Args:
        at: When the batch had been matched, in seconds since the monitor was made.
        stream: Whose batch: 1 or 2.
        items: How many items it had, dimensionless.
        unmatched: How many items of stream 1, and of stream 2, had no equal then.
        size: What those took, in bytes: the first hundred of each stream are measured, the others taken to be alike.
        seconds: How long that took, reading the items and waiting for another thread's batch included.
    """

    at: float
    stream: int
    items: int
    unmatched: tuple[int, int]
    size: int
    seconds: float


@final
class Monitor:
    """Compares the outputs of two running programs batch by batch, and measures itself. It may be used by two threads.

    >>> from cartesius.testing import Monitor, same_key
    >>> monitor = Monitor(same_key("taxi"), on_difference=lambda answer: print(answer.reason))
    >>> _ = monitor.take(1, [{"taxi": 1, "fare": 9}, {"taxi": 2, "fare": 5}])
    >>> _ = monitor.take(2, [{"taxi": 2, "fare": 5}])
    >>> monitor.unmatched
    (1, 0)
    >>> _ = monitor.take(2, [{"taxi": 1, "fare": 8}])
    item 1 of stream 2 ({'taxi': 1, 'fare': 8}) depends on item 0 of stream 1 ({'taxi': 1, 'fare': 9}), which has no \
equal before it
    >>> bool(monitor.answer), len(monitor.samples)
    (False, 3)

    Args:
        dependent: As for `streams_equivalent`.
        equal: Likewise.
        limit: How many items of one stream may be without an equal after a batch, dimensionless; an int ≥ 1. With more
            of them, the monitor gives up. Its answer then says so: it is no certain difference.
        on_difference: Is called once, with the answer, when it is no longer yes, by the thread that handed the batch
            over; also if the monitor gives up, as it does when a relation raises. What it raises goes to whoever called
            `take`.
        samples: How many samples are kept, the newest; an int ≥ 1, dimensionless.

    Raises:
        InvalidArgument: A limit below 1.
    """

    def __init__(
        self,
        dependent: Relation = None,
        equal: Relation = None,
        *,
        limit: int = 100_000,
        on_difference: Callable[[Equivalence], object] | None = None,
        samples: int = 100_000,
    ) -> None:
        for name, value in (("limit", limit), ("samples", samples)):
            if not isinstance(value, int) or value < 1:
                message = f"Monitor: expected {name}, an int >= 1, but got {value!r} (type={type(value).__name__})"
                raise InvalidArgument(message)
        self._matcher: Matcher | None = Matcher(dependent, equal)
        self._limit, self._on_difference = limit, on_difference
        self._samples: deque[Sample] = deque(maxlen=samples)
        self._answer = Equivalence()
        self._unmatched = (0, 0)
        self._lock = Lock()
        self._start = time.monotonic()

    def __repr__(self) -> str:
        """Show how many items have no equal yet, and whether a difference was found."""
        first, second = self._unmatched
        state = "no difference so far" if self._answer else "ended"
        return f"<monitor: {state}; {first} and {second} items without an equal>"

    @property
    def answer(self) -> Equivalence:
        """Whether the streams can still be equivalent, as far as they have come."""
        return self._answer

    @property
    def unmatched(self) -> tuple[int, int]:
        """How many items of stream 1, and of stream 2, have no equal; when a difference was found, if one was."""
        return self._unmatched

    @property
    def samples(self) -> tuple[Sample, ...]:
        """What was measured, a sample a batch, the newest last."""
        return tuple(self._samples)

    def take(self, stream: int, items: Iterable[Any]) -> Equivalence:
        """Take the next items of a stream, all of them before any of another thread's.

        Args:
            stream: 1 or 2.
            items: The items, in order. After a difference they are not looked at, and there are no more samples.

        Raises:
            InvalidArgument: There is no such stream.
        """
        if stream not in (1, 2):
            message = f"Monitor.take: expected stream 1 or 2 but got {stream=!r}"
            raise InvalidArgument(message)
        begun, count = time.monotonic(), 0
        with self._lock:
            matcher = self._matcher
            if matcher is None:
                return self._answer
            for item in items:
                count += 1
                self._answer = _fed(matcher, stream, item)
                if not self._answer:
                    break
            self._unmatched = matcher.counts[1], matcher.counts[2]
            for ahead in (1, 2):
                if self._answer and matcher.counts[ahead] > self._limit:
                    self._answer = _too_far_behind(matcher, ahead)
            if not self._answer:
                self._matcher = None  # and all that it keeps
            now = time.monotonic()
            self._samples.append(Sample(now - self._start, stream, count, self._unmatched, _size(matcher), now - begun))
            answer = self._answer
        if not answer and self._on_difference is not None:
            self._on_difference(answer)
        return answer

    def finish(self) -> Equivalence:
        """Answer for two streams that have ended; of the items that are left, name the earliest."""
        with self._lock:
            return self._answer if self._matcher is None else self._matcher.finish()


def _fed(matcher: Matcher, stream: int, item: Any) -> Equivalence:
    """Feed an item; if a relation raises, that is the answer, as what is watched must go on."""
    try:
        return matcher.feed(stream, item)
    except Exception as error:
        why = f"could not be compared: {type(error).__name__}: {error}; monitoring has been given up"
        return failure(stream, matcher.fed[stream], item, why)


def _too_far_behind(matcher: Matcher, ahead: int) -> Equivalence:
    (index, item), count = matcher.unmatched[ahead][0], matcher.counts[ahead]
    behind = f"monitoring has been given up, as stream {3 - ahead} is that far behind"
    return failure(ahead, index, item, f"and {count - 1} after it have no equal yet; {behind}")


def _size(matcher: Matcher) -> int:
    """Return how many bytes the unmatched items take, about."""
    total = 0
    for stream, count in matcher.counts.items():
        measured = list(islice(matcher.each_unmatched(stream), _MEASURED))
        if measured:
            total += count * (_PLACE + sum(map(_bytes, measured)) // len(measured))
    return total


def _bytes(value: Any) -> int:
    """Return the size of a value with its parts; what is shared counts as often as it is met."""
    size = sys.getsizeof(value)
    if isinstance(value, Record | Mapping):
        return size + sum(_bytes(name) + _bytes(value[name]) for name in value)
    if isinstance(value, tuple | list | set | frozenset):
        return size + sum(map(_bytes, value))
    if attrs.has(type(value)):
        return size + sum(_bytes(getattr(value, field.name)) for field in attrs.fields(type(value)))
    return size
