"""DiffStream's matcher: decides, item by item, whether two streams are the same up to swaps of independent items.

The published algorithm matches an item with an equal one if both are minimal among the unmatched items of their
streams. That comes to one walk along the unmatched items of the other stream, to the first that is equal or dependent:
no unmatched item depends on one of the other stream, as that would have been the end, so an item with an equal there is
minimal in its own.

Invariant: a `Matcher` holds the items that have not met their equal, and nothing else that grows. No item of one stream
that it holds is equal to, or depends on, one of the other.

Law: it answers as the algorithm that is printed, and as soon (`tests/laws/test_stream_equivalence.py`).
Source: DiffStream (SOURCES E4); SEMANTICS 4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, final

import attrs

from cartesius.data.events import Event
from cartesius.equivalence.dependences import FREE, as_dependence
from cartesius.equivalence.equalities import as_equality
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Relation: TypeAlias = Callable[[Any, Any], bool] | None  # None: the default
Numbered: TypeAlias = tuple[int, Any]


@final
@attrs.frozen
class Equivalence:
    """Whether two streams are equivalent: truthy if so; otherwise which item cannot be matched, and why.

    >>> from cartesius.testing import streams_equivalent
    >>> answer = streams_equivalent("ab", "a")
    >>> bool(answer), answer.stream, answer.index, answer.item
    (False, 1, 1, 'b')
    >>> answer.reason
    "item 1 of stream 1 ('b') has no equal left in stream 2"

    Args:
        reason: Why not; empty if they are.
        stream: Which stream has the item: 1 or 2; None if they are equivalent.
        index: The item's number in its stream, from 0.
        item: The item.
        behind: The number, in the other stream, of the item that it must not pass; None if it lacks an equal alone.
    """

    reason: str = ""
    stream: int | None = None
    index: int | None = None
    item: Any = None
    behind: int | None = None

    def __bool__(self) -> bool:
        return self.stream is None


@final
class Matcher:
    """DiffStream's matcher: is fed the items of streams 1 and 2 in any interleaving; keeps those without an equal.

    >>> from cartesius.testing import Matcher, end_of_day
    >>> matcher = Matcher(end_of_day(lambda item: item == "#"))
    >>> [bool(matcher.feed(stream, item)) for stream, item in [(1, "a"), (1, "b"), (2, "b")]]
    [True, True, True]
    >>> matcher.counts, matcher.unmatched
    ({1: 1, 2: 0}, {1: [(0, 'a')], 2: []})
    >>> matcher.feed(2, "#").reason
    "item 1 of stream 2 ('#') depends on item 0 of stream 1 ('a'), which has no equal before it"

    Time for an item: what there is unmatched that it might be equal to, or depend on. That is little where the relation
    is a ready one of items by key, or of none; for any other predicate it is all that the other stream is ahead by.

    Args:
        dependent: As for `streams_equivalent`.
        equal: Likewise.
    """

    def __init__(self, dependent: Relation = None, equal: Relation = None) -> None:
        dependence, equality = as_dependence(dependent), as_equality(equal)
        self._depends, self._equal = dependence, equality.equal
        self._apart, self._form = dependence.apart, equality.form
        # What is in different places is neither equal nor dependent.
        self._waiting: Mapping[int, dict[Hashable, list[Numbered]]] = {1: {}, 2: {}}
        self._fed, self._counts = {1: 0, 2: 0}, {1: 0, 2: 0}
        self._verdict = Equivalence()

    def __repr__(self) -> str:
        """Show how many items have no equal yet."""
        return f"<matcher: {self._counts[1]} and {self._counts[2]} items without an equal>"

    @property
    def counts(self) -> dict[int, int]:
        """How many items of each stream have no equal yet."""
        return dict(self._counts)

    @property
    def fed(self) -> dict[int, int]:
        """How many items of each stream have been matched or kept."""
        return dict(self._fed)

    @property
    def unmatched(self) -> dict[int, list[Numbered]]:
        """The items of each stream that have no equal yet, numbered, in order of arrival."""
        return {stream: sorted(self.each_unmatched(stream), key=lambda one: one[0]) for stream in self._waiting}

    def each_unmatched(self, stream: int) -> Iterator[Numbered]:
        """Return the items of a stream that have no equal yet, numbered, in no order; it may be left off anywhere."""
        return chain.from_iterable(self._waiting[stream].values())

    def feed(self, stream: int, item: Any) -> Equivalence:
        """Take the next item of a stream; a falsy answer is certain, and stays: later items are not looked at.

        Args:
            stream: 1 or 2.
            item: The item.

        Raises:
            InvalidArgument: There is no such stream.
        """
        if stream not in self._fed:
            message = f"Matcher.feed: expected stream 1 or 2 but got {stream=!r}"
            raise InvalidArgument(message)
        if not self._verdict:
            return self._verdict
        index = self._fed[stream]
        where, other_stream = self._place(item), 3 - stream
        others = self._waiting[other_stream].get(where, [])
        for place, (number, other) in enumerate(others):
            if self._equal(item, other) if stream == 1 else self._equal(other, item):
                del others[place]
                if not others:
                    del self._waiting[other_stream][where]
                self._counts[other_stream] -= 1
                break
            if self._depends(item, other):
                what = f"item {number} of stream {other_stream} ({shown(other)})"
                why = f"depends on {what}, which has no equal before it"
                self._verdict = failure(stream, index, item, why, number)
                return self._verdict
        else:
            self._waiting[stream].setdefault(where, []).append((index, item))
            self._counts[stream] += 1
        self._fed[stream] += 1
        return self._verdict

    def finish(self) -> Equivalence:
        """Answer for the streams as fed so far; of the items that are left, name the earliest."""
        left = [(index, stream, item) for stream, found in self.unmatched.items() for index, item in found[:1]]
        if not self._verdict or not left:
            return self._verdict
        index, stream, item = min(left, key=lambda found: found[:2])
        return left_over(stream, index, item)

    def _place(self, item: Any) -> Hashable:
        where = self._apart(item) if self._apart else None
        return (FREE, self._form(item)) if where is FREE else where


def failure(stream: int, index: int, item: Any, why: str, behind: int | None = None) -> Equivalence:
    """Return the answer that an item cannot be matched."""
    return Equivalence(f"item {index} of stream {stream} ({shown(item)}) {why}", stream, index, item, behind)


def left_over(stream: int, index: int, item: Any) -> Equivalence:
    """Return the answer that the other stream has no equal of an item."""
    return failure(stream, index, item, f"has no equal left in stream {3 - stream}")


def shown(item: Any) -> str:
    """Return an item as it is shown in messages."""
    event = isinstance(item, Event)
    return f"{'!' * (item.weight < 0)}{item.value!r} at {item.start}..{item.end}" if event else repr(item)
