"""The equivalence of two whole streams: decided online, asserted in tests, and streams to try it on.

Invariant: streams are read alternately, and no further than the answer takes.

Source: DiffStream (SOURCES E4); SEMANTICS 4.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Mapping
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

from cartesius.equivalence.dependences import FREE, as_dependence
from cartesius.equivalence.equalities import as_equality
from cartesius.equivalence.matching import Equivalence, Matcher, left_over, shown
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from cartesius.equivalence.matching import Relation

_LISTED: Final = 5  # unmatched items of a stream in a message
_LONGEST: Final = 1_000  # items of which a diff is made, which takes the square of their number at worst
_OF_FRAMES: Final = ("columns", "column_names")  # attributes that frames have, and columns do not
_AROUND: Final = 5  # items before and after the one in question, where there is no diff


def streams_equivalent(
    s1: Iterable[Any], s2: Iterable[Any], dependent: Relation = None, equal: Relation = None
) -> Equivalence:
    """Decide, online, whether two streams are the same up to swaps of adjacent independent items.

    >>> from cartesius.testing import streams_equivalent
    >>> bool(streams_equivalent("ab#c", "ba#c", dependent=lambda a, b: "#" in (a, b)))
    True
    >>> streams_equivalent("ab", "ba", dependent=lambda a, b: True).reason
    "item 0 of stream 2 ('b') depends on item 0 of stream 1 ('a'), which has no equal before it"

    Args:
        s1: Items: events, or anything; a retraction is an item. They are read alternately, until the answer is certain.
        s2: The other items.
        dependent: Whether two items may not be swapped (in one order of arguments at least): a ready relation, such as
            `same_key`, or any predicate. By default the changes of a table's row may not, other items may: they are
            compared as multisets.
        equal: Whether an item of ``s1`` and one of ``s2`` are the same: an equivalence, under which equal items depend
            on the same items (`check_relations`). By default events of equal value, times and weight, type-exactly;
            others by ``==``.

    Returns:
        An `Equivalence`: truthy, or with ``.reason``, ``.stream`` (1 or 2), ``.index`` and ``.item``.

    Raises:
        InvalidArgument: A frame or a mapping instead of a stream, or a relation that is no function.

    Law:
        True exactly if the one is a linearisation of the other; by brute force in
        ``tests/laws/test_stream_equivalence.py``.

    Source:
        DiffStream (SOURCES E4); SEMANTICS 4.
    """
    _check_streams(s1, s2)
    return _matched(s1, s2, dependent, equal, to_the_end=False)[1]


def _check_streams(s1: object, s2: object) -> None:
    for stream, items in enumerate((s1, s2), 1):
        if isinstance(items, Mapping) or (
            hasattr(items, "__arrow_c_stream__") and any(hasattr(items, name) for name in _OF_FRAMES)
        ):
            message = (
                f"streams: expected an iterable of items but got stream {stream} (type={type(items).__name__}), of"
                " which the names alone would be compared; give its rows (frames of Spark: spark_bridge.testing)"
            )
            raise InvalidArgument(message)


def _matched(
    s1: Iterable[Any], s2: Iterable[Any], dependent: Relation, equal: Relation, *, to_the_end: bool
) -> tuple[Matcher, Equivalence]:
    matcher, nothing = Matcher(dependent, equal), object()
    for pair in zip_longest(s1, s2, fillvalue=nothing):
        if not all(matcher.feed(stream, item) for stream, item in enumerate(pair, 1) if item is not nothing):
            break
        over = [stream for stream, item in enumerate(pair, 1) if item is nothing and matcher.counts[3 - stream]]
        if over and not to_the_end:  # what is left of the other one, be it endless, has no equal
            other = 3 - over[0]
            return matcher, left_over(other, *matcher.unmatched[other][0])
    return matcher, matcher.finish()


def assert_streams_equivalent(
    s1: Iterable[Any], s2: Iterable[Any], dependent: Relation = None, equal: Relation = None
) -> None:
    """Assert that two finite streams are equivalent; arguments and source are those of `streams_equivalent`.

    >>> from cartesius.testing import assert_streams_equivalent
    >>> assert_streams_equivalent("abx", "bay")
    Traceback (most recent call last):
    AssertionError: item 2 of stream 1 ('x') has no equal left in stream 2
    without an equal:
      stream 1: 2 ('x')
      stream 2: 2 ('y')
    --- stream 1
    +++ stream 2
    @@ -1,3 +1,3 @@
    +  'b'
       'a'
    -  'b'
    -> 'x'
    +  'y'

    Under pytest the failure is shown at the line of the test that calls it.

    Raises:
        InvalidArgument: As `streams_equivalent`.
        AssertionError: They are not: the reason, what has met no equal by then, and a unified diff of the streams, in
            which ``>`` marks the item, and ``*`` the one that it must not pass. Of streams of more than 1,000 items
            what is around the item is shown instead of a diff.
    """
    __tracebackhide__ = True
    _check_streams(s1, s2)
    streams = (list(s1), list(s2))
    matcher, verdict = _matched(*streams, dependent, equal, to_the_end=True)
    if verdict:
        return
    lines = [verdict.reason, "without an equal:"]
    lines += [f"  stream {stream}: {_listed(left)}" for stream, left in matcher.unmatched.items() if left]
    lines += _drawn(streams, verdict) if max(map(len, streams)) <= _LONGEST else _excerpts(streams, verdict)
    raise AssertionError("\n".join(lines))


def _listed(left: Sequence[tuple[int, Any]]) -> str:
    some = ", ".join(f"{index} ({shown(item)})" for index, item in left[:_LISTED])
    return f"{some} and {len(left) - _LISTED} more" if len(left) > _LISTED else some


def _marked(stream: int, items: Iterable[tuple[int, Any]], verdict: Equivalence) -> list[str]:
    marks = {(verdict.stream, verdict.index): "> "}
    if verdict.stream is not None and verdict.behind is not None:
        marks[3 - verdict.stream, verdict.behind] = "* "
    return [marks.get((stream, index), "  ") + shown(item) for index, item in items]


def _drawn(streams: tuple[list[Any], list[Any]], verdict: Equivalence) -> Iterable[str]:
    one, other = (_marked(stream, enumerate(items), verdict) for stream, items in enumerate(streams, 1))
    return difflib.unified_diff(one, other, "stream 1", "stream 2", lineterm="")


def _excerpts(streams: tuple[list[Any], list[Any]], verdict: Equivalence) -> Iterable[str]:
    for stream, items in enumerate(streams, 1):
        place = verdict.index if stream == verdict.stream else verdict.behind
        if place is not None:
            first = max(place - _AROUND, 0)
            yield f"stream {stream}, from item {first}:"
            yield from _marked(stream, islice(enumerate(items), first, place + _AROUND + 1), verdict)


def reordered(items: Iterable[Any], dependent: Relation = None, *, seed: int) -> list[Any]:
    """Return the items in an equivalent order, drawn at random: swaps of adjacent independent items lead to it.

    >>> from cartesius.testing import end_of_day, reordered
    >>> "".join(reordered("abcd#ef#g", end_of_day(lambda item: item == "#"), seed=7))
    'cabd#ef#g'

    It is for tests of this shape: run a program on ``items`` and on ``reordered(items, …)``, and assert that the
    outputs are equivalent.

    Args:
        items: A finite stream.
        dependent: As for `streams_equivalent`.
        seed: What the order is drawn by.

    Returns:
        Each order that is possible is so with some probability; not all with the same.
    """
    dependence, draw = as_dependence(dependent), random.Random(seed)
    found = list(items)
    waits, followers = [0] * len(found), [[] for _ in found]  # type: tuple[list[int], list[list[int]]]
    places: dict[Hashable, list[int]] = {}
    for number, item in enumerate(found):
        place = dependence.apart(item) if dependence.apart else None
        if place is FREE:
            continue
        for earlier in places.setdefault(place, []):
            if dependence(found[earlier], item):
                waits[number] += 1
                followers[earlier].append(number)
        places[place].append(number)
    ready, order = [number for number, count in enumerate(waits) if not count], []
    while ready:
        place_in_ready = draw.randrange(len(ready))
        ready[place_in_ready], ready[-1] = ready[-1], ready[place_in_ready]
        chosen = ready.pop()
        order.append(found[chosen])
        for number in followers[chosen]:
            waits[number] -= 1
            if not waits[number]:
                ready.append(number)
    return order


def check_relations(items: Iterable[Any], dependent: Relation = None, equal: Relation = None) -> None:
    """Check, on a sample, what `streams_equivalent` relies on: an equivalence, and a dependence that goes with it.

    >>> from cartesius.testing import check_relations
    >>> check_relations([0.0, 0.6, 1.2], equal=lambda a, b: abs(a - b) < 1)
    Traceback (most recent call last):
    cartesius.errors.InvalidArgument: check_relations: expected an equivalence but 0.0 equals 0.6, which equals 1.2, \
and 0.0 does not equal 1.2; compare what is rounded, say, by equal_by

    Args:
        items: A few items of both streams, n of them; time is O(n³).
        dependent: As for `streams_equivalent`.
        equal: Likewise.

    Raises:
        InvalidArgument: An item does not equal itself; equality goes one way only, or not on; or of two equal items one
            depends on an item and the other does not.
    """
    depends, same, sample = as_dependence(dependent), as_equality(equal), list(items)
    for one in sample:
        if not same(one, one):
            got = f"{one!r} does not equal itself"
            raise _not_an_equivalence(got, "let it")
        for other in (item for item in sample if same(one, item)):
            if not same(other, one):
                got = f"{one!r} equals {other!r}, which does not equal it"
                raise _not_an_equivalence(got, "let the order of the arguments not matter")
            for third in sample:
                if same(other, third) and not same(one, third):
                    got = f"{one!r} equals {other!r}, which equals {third!r}, and {one!r} does not equal {third!r}"
                    raise _not_an_equivalence(got, "compare what is rounded, say, by equal_by")
                if depends(one, third) != depends(other, third):
                    message = (
                        f"check_relations: expected equal items to depend on the same ones but {one!r} equals {other!r}"
                        f" and just one of them depends on {third!r}; let both relations look at the same"
                    )
                    raise InvalidArgument(message)


def _not_an_equivalence(got: str, do: str) -> InvalidArgument:
    return InvalidArgument(f"check_relations: expected an equivalence but {got}; {do}")
