"""aligning: a gate; what it holds is invisible to everyone (SEMANTICS 1.7)."""

from __future__ import annotations

import itertools

import pytest

from cartesius import Engine, Reactive, correlate, run
from restrictions import affinely, aligning, cartesian, key_by, most_recently, zip_
from restrictions.streams import map_concat


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def test_zip_in_any_order_of_composition(left, right):
    trace = [(left, 1), (left, 2), (right, "a"), (right, "b"), (right, "c"), (left, 3)]
    layers = [most_recently("left"), most_recently("right"), aligning("left", "right")]
    for one, two, three in itertools.permutations(layers):
        output = cartesian(left, right, restrict=one | two | three)
        assert values(run(output, trace)) == [(1, "a"), (2, "b"), (3, "c")]


def test_aligning_alone_is_the_lock_step_product(left, right):
    output = cartesian(left, right, restrict=aligning("left", "right"))
    trace = [(left, 1), (left, 2), (right, "a"), (right, "b")]
    assert values(run(output, trace)) == [(1, "a"), (2, "b"), (2, "a"), (1, "b")]


def test_a_row_is_released_even_if_where_then_fails(left, right):
    output = correlate(
        x=left,
        y=right,
        where=lambda x, y: x == y,
        yields=lambda x, y: x,
        restrict=most_recently("x", "y") | aligning("x", "y"),
        name="out",
    )
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(left, 2)
    assert engine.push(right, 7) == []
    assert engine.stats.slots["out", "x"] == (1, 1)
    assert values(engine.push(right, 2)) == [2]


def test_held_events_are_invisible_to_a_free_slot(left, right):
    free = Reactive("free")
    output = cartesian(left, right, free, restrict=most_recently("left", "right", "free") | aligning("left", "right"))
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(right, "a")
    assert values(engine.push(free, "f")) == [(1, "a", "f")]
    engine.push(left, 2)
    assert values(engine.push(free, "g")) == [(1, "a", "g")]
    assert values(engine.push(right, "b")) == [(2, "b", "g")]


def test_two_disjoint_alignments_are_two_zips():
    a, b, c, d = (Reactive(name) for name in "abcd")
    restrict = most_recently("a", "b", "c", "d") | aligning("a", "b") | aligning("c", "d")
    output = cartesian(a, b, c, d, restrict=restrict)
    trace = [(a, 1), (c, 5), (c, 6), (d, 7), (b, 2), (d, 8)]
    assert values(run(output, trace)) == [(1, 2, 5, 7), (1, 2, 6, 8)]


def test_a_queue_is_first_in_first_out(left, right):
    output = zip_(left, right)
    trace = [*((left, n) for n in range(5)), *((right, n) for n in range(5))]
    assert values(run(output, trace)) == [(n, n) for n in range(5)]


def test_uses_of_a_row_that_meets_memory(left, right):
    output = cartesian(left, right, restrict=affinely("left", "right") | aligning("left", "right"))
    assert values(run(output, [(left, 1), (left, 2), (right, "a"), (right, "b")])) == [(1, "a"), (2, "b")]


def test_rows_released_in_one_step_are_steps_of_their_own(left, right):
    """Several events arrive in one batch of a nested correlation: each row is a batch, so zip stays zip."""
    pairs = correlate(x=left, y=left, yields=lambda x, y: (x, y), name="pairs")
    output = correlate(
        p=pairs, y=right, yields=lambda p, y: (p, y), restrict=most_recently("p", "y") | aligning("p", "y")
    )
    engine = Engine(output)
    for value in "abcd":
        engine.push(right, value)
    assert values(engine.push(left, 1)) == [((1, 1), "a")]
    assert values(engine.push(left, 2)) == [((2, 2), "b"), ((2, 1), "c"), ((1, 2), "d")]


def test_rows_of_several_keys_that_one_step_releases_are_one_batch():
    """A key's copy is a gate of its own: its second row in a step begins a batch, another key's first does not."""
    xs, ys = Reactive("xs"), Reactive("ys")
    pairs = correlate(
        x=map_concat(xs, list),
        y=map_concat(ys, list),
        yields=lambda x, y: x + y,
        restrict=key_by(x=lambda x: x[0], y=lambda y: y[0]) | most_recently("x", "y") | aligning("x", "y"),
    )
    engine = Engine(pairs)
    assert engine.push(xs, ["a1", "b1"]) == []
    assert [event.value for event in engine.push(ys, ["a2", "b2"])] == ["b1b2", "a1a2"]
    assert [event.value for event in engine.push(xs, ["a3", "a5"]) + engine.push(ys, ["a4", "a6"])] == ["a3a4", "a5a6"]
