"""A matcher keeps what has not met its equal, and compares with little else."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest

from cartesius import Event, Update
from cartesius.errors import InvalidArgument
from cartesius.testing import Matcher, all_depend, none_depend, same_key


def held(matcher, pairs):
    """How many bytes a matcher has more after these items than before them, at the end and at most."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for stream, item in pairs:
        assert matcher.feed(stream, item)
    now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return now - before, most - before


def lagging(count, lag, keys=None):
    """Items of two streams that are the same, the second one `lag` items behind; as many keys as items, or `keys`."""
    for number in range(count + lag):
        if number < count:
            yield 1, Update(("row", number % (keys or count)), number)
        if number >= lag:
            yield 2, Update(("row", (number - lag) % (keys or count)), number - lag)


@pytest.mark.parametrize(
    ("relation", "keys"),
    [(None, None), (none_depend(), 7), (same_key(lambda change: change.key), 7), (all_depend(), 7)],
)
def test_memory_grows_with_what_is_unmatched_and_not_with_what_has_been(relation, keys):
    matcher = Matcher(relation)
    assert all(matcher.feed(stream, item) for stream, item in lagging(2_500, 10, keys))  # fills Python's free lists
    small = held(matcher, lagging(200, 10, keys))
    large = held(matcher, lagging(2_000, 10, keys))  # ten times the items, and ten times as many keys
    wide = held(matcher, lagging(200, 200, keys))  # twenty times the lag
    assert matcher.counts == {1: 0, 2: 0}
    assert large[1] < 1.5 * small[1]
    assert wide[1] > 5 * small[1]
    assert large[0] - small[0] < 1_800  # of 1,800 items more not a byte each stays


def test_after_a_difference_nothing_more_is_kept():
    matcher = Matcher(all_depend())
    assert matcher.feed(1, "a")
    answer = matcher.feed(2, "b")
    assert not answer
    for number in range(100):
        assert matcher.feed(1, number) is answer
    assert matcher.unmatched == {1: [(0, "a")], 2: []}
    assert matcher.counts == {1: 1, 2: 0}


def test_what_is_unmatched_is_given_in_order_of_arrival():
    matcher = Matcher()
    for number, item in enumerate([Update("E", 1), Event("x", 1, 1), Update("F", 1), Event("x", 1, 1), Update("E", 2)]):
        matcher.feed(1, item)
        assert [index for index, _ in matcher.unmatched[1]] == list(range(number + 1))
    matcher.feed(2, Event("x", 1, 1))  # meets the first of its equals
    assert [index for index, _ in matcher.unmatched[1]] == [0, 2, 3, 4]
    assert matcher.counts == {1: 4, 2: 0}


@pytest.mark.parametrize("relation", [none_depend(), same_key(lambda number: number)])
def test_items_that_cannot_meet_are_not_compared(relation):
    compared = []

    class Number(int):
        def __eq__(self, other):
            compared.append((self, other))
            return int(self) == int(other)

        __hash__ = int.__hash__

    matcher = Matcher(relation)
    for number in range(300):
        assert matcher.feed(1, Number(number))
    for number in reversed(range(300)):
        assert matcher.feed(2, Number(number))
    assert matcher.finish()
    assert len(compared) < 5 * 300  # and not half of 300 times 300


def test_there_are_two_streams():
    with pytest.raises(InvalidArgument, match="expected stream 1 or 2 but got stream=0"):
        Matcher().feed(0, "a")


def test_any_interleaving_may_be_fed():
    for order in set(itertools.permutations([1, 1, 2, 2])):
        matcher, streams = Matcher(all_depend()), {1: iter("ab"), 2: iter("ab")}
        assert all(matcher.feed(stream, next(streams[stream])) for stream in order)
        assert matcher.finish()
