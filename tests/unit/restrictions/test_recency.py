"""most_recently: the newest n stay, by order of storing, in all or in each key."""

from __future__ import annotations

import pytest

from cartesius import Engine, Reactive, correlate, run
from restrictions import affinely, cartesian, key_by, most_recently, retracting


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_the_newest_n_stay(left, right, n):
    output = cartesian(left, right, restrict=most_recently("left", n=n))
    assert (
        values(run(output, [*((left, i) for i in range(5)), (right, "a")])) == [(i, "a") for i in range(4, -1, -1)][:n]
    )


def test_older_entries_go_even_if_where_then_fails(left, right):
    output = correlate(
        x=left, y=right, where=lambda x, y: x == y, yields=lambda x, y: x, restrict=most_recently("x"), name="out"
    )
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(left, 2)
    assert engine.push(right, 1) == []
    assert engine.stats.slots["out", "x"] == (1, 0)


def test_dropping_older_entries_does_not_give_uses_back(left, right):
    for restrict in (affinely("left") | most_recently("left"), most_recently("left") | affinely("left")):
        output = cartesian(left, right, restrict=restrict)
        trace = [(left, 1), (right, "a"), (right, "b"), (left, 2), (right, "c")]
        assert values(run(output, trace)) == [(1, "a"), (2, "b")]


def test_left_of_key_by_it_is_common_right_of_it_it_is_by_key(left, right):
    trace = [(left, "a1"), (left, "a2"), (left, "b1"), (left, "a3"), (right, 0)]
    by_key = key_by(left=lambda value: value[0]) | most_recently("left")
    common = most_recently("left", n=2) | key_by(left=lambda value: value[0])
    assert values(run(cartesian(left, right, restrict=by_key), trace)) == [("a3", 0), ("b1", 0)]
    assert values(run(cartesian(left, right, restrict=common), trace)) == [("a3", 0), ("b1", 0)]
    assert values(run(cartesian(left, right, restrict=most_recently("left", n=2)), trace)) == [("a3", 0), ("b1", 0)]
    both = most_recently("left", n=2) | key_by(left=lambda value: value[0]) | most_recently("left")
    trace = [(left, "a1"), (left, "b1"), (left, "c1"), (left, "c2"), (right, 0)]
    # c1 drops a1 (common); c2 drops c1 (by key) first, then two are left: b1 stays.
    assert values(run(cartesian(left, right, restrict=both), trace)) == [("c2", 0), ("b1", 0)]


def test_retracting_the_newest_leaves_nothing(left, right):
    """The predecessor does not come back."""
    latest = correlate(
        x=left, yields=lambda x: x, where=lambda x: x > 0, restrict=retracting() | most_recently("x"), name="a"
    )
    downstream = correlate(p=latest, y=right, yields=lambda p, y: (p, y), restrict=most_recently("p"), name="b")
    engine = Engine(downstream)
    engine.push(left, 1)
    engine.push(left, 2)
    engine.push(left, -1)  # takes 2 back
    assert engine.push(right, "r") == []
    assert engine.stats.slots["b", "p"] == (0, 0)
