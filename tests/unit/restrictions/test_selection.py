"""fifo, lifo, first_match, randomly, ordered_by: which of the possible matches, in which order (SEMANTICS 1.3)."""

from __future__ import annotations

import collections
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    as_table,
    at_most,
    cartesian,
    fifo,
    first_match,
    key_by,
    lifo,
    most_recently,
    optionally,
    ordered_by,
    randomly,
    retracting,
)
from restrictions.streams import map_concat


class Broken(Exception):
    """What a user's code raises."""


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


def by_left(match):
    return match.value[0]


def by_right(match):
    return match.value[1]


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


@pytest.mark.parametrize("cut", [first_match(), randomly(3)])
@pytest.mark.parametrize("beside", [retracting(), retracting() | optionally("y")])
def test_a_selector_that_cuts_is_refused_beside_retraction(a, b, cut, beside):
    for restrict in (cut | beside, beside | cut):
        with pytest.raises(InvalidArgument, match=type(cut).__name__):
            Engine(correlate(x=a, y=b, where=lambda x, y: x == y, yields=lambda x, y: x, restrict=restrict))


@pytest.mark.parametrize("order", [fifo(), lifo(), ordered_by(by_left)])
def test_an_order_stands_beside_retraction(a, b, order):
    for restrict in (order | retracting(), retracting() | optionally("y") | order):
        Engine(correlate(x=a, y=b, where=lambda x, y: x == y, yields=lambda x, y: (x, y), restrict=restrict))


@pytest.mark.parametrize("seed", [None, 1.5, "7", True, (1,)])
def test_a_seed_must_be_an_int(seed):
    with pytest.raises(InvalidArgument, match="seed="):
        randomly(seed)


@pytest.mark.parametrize("key", [None, 3, "value"])
def test_a_key_must_be_a_function(key):
    with pytest.raises(InvalidArgument, match="key="):
        ordered_by(key)


# -------------------------------------------------------------------------------------------------------- fifo and lifo


def test_oldest_first_with_uses(a, b):
    trace = [(a, 1), (a, 2), (b, "p"), (b, "q")]
    assert values(run(cartesian(a, b, restrict=affinely("a", "b") | fifo()), trace)) == [(1, "p"), (2, "q")]
    assert values(run(cartesian(a, b, restrict=affinely("a", "b")), trace)) == [(2, "p"), (1, "q")]


def test_the_right_most_order_wins(a, b):
    trace = [(a, 1), (a, 2), (b, "p")]
    oldest, newest = [(1, "p"), (2, "p")], [(2, "p"), (1, "p")]
    cases: list[tuple[Any, Any]] = [
        (fifo(), oldest),
        (lifo(), newest),
        (fifo() | lifo(), newest),
        (lifo() | fifo(), oldest),
        (fifo() | fifo(), oldest),
    ]
    for restrict, expected in cases:
        assert values(run(cartesian(a, b, restrict=restrict), trace)) == expected


PUSHES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=10)


@settings(max_examples=settings().max_examples * 50 // 100)
@given(steps=PUSHES)
def test_orders_change_the_order_of_the_results_of_a_step_alone(steps):
    inputs = {name: Reactive(name) for name in "ab"}
    restricts: list[Any] = [None, fifo(), lifo(), ordered_by(by_left), ordered_by(by_right) | ordered_by(by_left)]
    plain, *others = [Engine(cartesian(*inputs.values(), restrict=restrict)) for restrict in restricts]
    for name, value in steps:
        expected = values(plain.push(inputs[name], value))
        oldest, newest, by_key, twice = [values(engine.push(inputs[name], value)) for engine in others]
        assert oldest == expected[::-1]
        assert newest == expected
        assert by_key == sorted(expected, key=lambda pair: pair[0])
        # To the right chooses first: ordered by left, and then, stably, by right.
        assert twice == sorted(by_key, key=lambda pair: pair[1])


def test_the_oldest_of_all_is_shown_by_a_table_under_fifo(a):
    for order, expected in ((fifo(), 1), (lifo(), 3)):
        output = correlate(x=a, yields=lambda x: x, restrict=retracting() | order | as_table(lambda x: "k"))
        engine = Engine(output)
        for number in (1, 2, 3):
            engine.push(a, number)
        assert engine.query(output) == {"k": expected}


def test_fifo_orders_what_comes_in_one_step(a):
    items = map_concat(a, list)
    output = correlate(x=items, yields=lambda x: x, restrict=fifo())
    assert values(run(output, [(a, "pqr")])) == ["p", "q", "r"]
    assert values(run(correlate(x=items, yields=lambda x: x), [(a, "pqr")])) == ["r", "q", "p"]


# ---------------------------------------------------------------------------------------------------------- first_match


def test_one_match_a_batch_and_nothing_of_the_others_is_spent(a, b):
    engine = Engine(cartesian(a, b, restrict=first_match() | affinely("a", "b")))
    engine.push(a, 1)
    engine.push(a, 2)
    assert values(engine.push(b, "p")) == [(2, "p")]
    assert values(engine.push(b, "q")) == [(1, "q")]
    assert engine.push(b, "r") == []
    assert engine.stats.retained == 1


def test_only_what_satisfies_the_body_is_a_match(a, b):
    output = correlate(x=a, y=b, where=lambda x, y: x < y, yields=lambda x, y: (x, y), restrict=first_match())
    assert values(run(output, [(a, 3), (a, 5), (a, 9), (b, 6), (b, 1)])) == [(5, 6)]


def test_the_body_is_asked_no_further(a, b):
    asked = []

    def where(x, y):
        asked.append(x)
        return x != 3

    run(
        correlate(x=a, y=b, where=where, yields=lambda x, y: x, restrict=first_match()),
        [(a, 1), (a, 2), (a, 3), (b, 0)],
    )
    assert asked == [3, 2]


def test_first_match_is_idempotent(a, b):
    trace = [(a, 1), (a, 2), (b, "p"), (a, 3), (b, "q")]
    once, twice = (run(cartesian(a, b, restrict=r), trace) for r in (first_match(), first_match() | first_match()))
    assert values(once) == values(twice) == [(2, "p"), (3, "p"), (3, "q")]


def test_all_values_of_the_first_match_come(a, b):
    @correlate(x=a, y=b, restrict=first_match())
    def twice(x, y):
        yield x
        yield y

    assert values(run(twice, [(a, 1), (a, 2), (b, "p")])) == [2, "p"]


def test_left_of_an_order_it_takes_the_first_in_that_order(a, b):
    trace = [(a, 30), (a, 20), (a, 25), (b, "p")]
    assert values(run(cartesian(a, b, restrict=first_match() | ordered_by(by_left)), trace)) == [(20, "p")]
    assert values(run(cartesian(a, b, restrict=ordered_by(by_left) | first_match()), trace)) == [(25, "p")]


# ------------------------------------------------------------------------------------------------------------- randomly


def drawn(seed, steps=200, choices=4, is_restored=False):
    a, b = Reactive("a"), Reactive("b")
    output = cartesian(a, b, restrict=randomly(seed))
    engine = Engine(output)
    for number in range(choices):
        engine.push(a, number)
    got = []
    for step in range(steps):
        got += [x for x, _ in values(engine.push(b, step))]
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
    return got


def test_the_same_seed_gives_the_same_choices_and_another_seed_others():
    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_a_restored_engine_goes_on_choosing_alike():
    assert drawn(7, steps=20, is_restored=True) == drawn(7, steps=20)


def test_each_match_is_as_likely_as_the_others():
    counts = collections.Counter(itertools.chain.from_iterable(drawn(seed) for seed in range(10)))
    assert sum(counts.values()) == 2000
    assert set(counts) == {0, 1, 2, 3}
    assert all(abs(count - 500) < 100 for count in counts.values())  # more than five standard deviations


def test_successive_choices_do_not_depend_on_each_other():
    got = drawn(3, steps=800, choices=2)
    pairs = collections.Counter(itertools.pairwise(got))
    assert all(abs(count - 200) < 75 for count in pairs.values())


def test_one_of_one_is_chosen_and_none_of_none(a, b):
    engine = Engine(cartesian(a, b, restrict=randomly(1)))
    assert engine.push(a, 1) == []
    assert values(engine.push(b, "p")) == [(1, "p")]


def test_a_choice_spends_what_is_chosen_alone(a, b):
    engine = Engine(cartesian(a, b, restrict=affinely("a", "b") | randomly(5)))
    for number in range(4):
        engine.push(a, number)
    chosen = [x for step in range(5) for x, _ in values(engine.push(b, step))]
    assert sorted(chosen) == [0, 1, 2, 3]


def test_a_failed_push_does_not_use_a_choice_up(a, b):
    broken: list[bool] = []

    def where(x, y):
        if broken:
            raise Broken
        return True

    def build():
        engine = Engine(correlate(x=a, y=b, where=where, yields=lambda x, y: x, restrict=randomly(3)))
        for number in range(5):
            engine.push(a, number)
        return engine

    straight, failing = build(), build()
    for step in range(10):
        broken.append(True)
        with pytest.raises(Broken):
            failing.push(b, step)
        broken.clear()
        assert values(failing.push(b, step)) == values(straight.push(b, step))


# ----------------------------------------------------------------------------------------------------------- ordered_by


def test_equal_ones_stay_in_the_order_of_enumeration(a, b):
    output = cartesian(a, b, restrict=ordered_by(lambda match: match.value[0] % 2))
    trace = [(a, number) for number in range(1, 6)]
    assert values(run(output, [*trace, (b, 0)])) == [(4, 0), (2, 0), (5, 0), (3, 0), (1, 0)]


def test_the_key_may_ask_for_times_and_parts(a, b):
    trace = [(a, 1, (1, 9)), (a, 2, (5, 6)), (a, 3, (4, 4)), (b, "p", 6)]
    keys: dict[str, Any] = {
        "length": lambda match: match.end - match.start,
        "start": lambda match: match.start,
        "end": lambda match: (match.end, match.parts[0].number),
        "part": lambda match: -match.parts[0].value,
    }
    orders = {
        name: [x for x, _ in values(run(cartesian(a, b, restrict=ordered_by(key)), trace))]
        for name, key in keys.items()
    }
    assert orders == {"length": [2, 3, 1], "start": [1, 3, 2], "end": [2, 3, 1], "part": [3, 2, 1]}


def test_the_first_in_order_is_used_first(a, b):
    engine = Engine(cartesian(a, b, restrict=at_most(1, "a", "b") | ordered_by(by_left)))
    for number in (3, 1, 2):
        engine.push(a, number)
    assert [values(engine.push(b, step)) for step in range(4)] == [[(1, 0)], [(2, 1)], [(3, 2)], []]


def test_the_order_is_of_the_yields_and_retractions_come_first(a, b):
    output = cartesian(a, b, restrict=retracting() | most_recently("b") | ordered_by(by_left))
    engine = Engine(output)
    for number in (2, 1, 3):
        engine.push(a, number)
    assert weighted(engine.push(b, "p")) == [((1, "p"), 1), ((2, "p"), 1), ((3, "p"), 1)]
    got = weighted(engine.push(b, "q"))
    assert [weight for _, weight in got] == [-1, -1, -1, 1, 1, 1]
    assert [value for value, weight in got if weight > 0] == [(1, "q"), (2, "q"), (3, "q")]


def test_an_error_of_the_key_names_the_restriction_and_changes_nothing(a, b):
    engine = Engine(cartesian(a, b, restrict=ordered_by(lambda match: 1 // match.value[0])))
    engine.push(a, 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            engine.push(b, "p")
        assert "ordered_by" in "\n".join(caught.value.__notes__)
        assert engine.stats.events == 1


def test_selectors_without_slots_choose_among_all_keys(a):
    items = map_concat(a, lambda step: step)
    output = correlate(x=items, yields=lambda x: x, restrict=key_by(x=lambda value: value[0]) | first_match())
    assert values(run(output, [(a, ["p1", "q1", "p2"])])) == ["p2"]


def test_one_selector_serves_several_engines(a, b):
    restrict = randomly(3)
    first, second = (Engine(cartesian(a, b, restrict=restrict)) for _ in range(2))
    for engine in (first, second):
        for number in range(5):
            engine.push(a, number)
    assert [values(first.push(b, n)) for n in range(9)] == [values(second.push(b, n)) for n in range(9)]
