"""take and every_nth: the first n, and every n-th, of results or of the events of slots (SEMANTICS 1.13, 1.14)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    every_nth,
    fifo,
    first_match,
    key_by,
    most_recently,
    only,
    optionally,
    ordered_by,
    retracting,
    take,
)
from restrictions.streams import map_concat


class Broken(Exception):
    """What a user's code raises."""


def values(events):
    return [event.value for event in events]


def through(source, restrict):
    return correlate(x=source, yields=lambda x: x, restrict=restrict, name="out")


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


both_kinds = pytest.mark.parametrize("count", [take, every_nth])


@both_kinds
@pytest.mark.parametrize("n", [0, -1, True, False, 1.0, "2", None, "x"])
@pytest.mark.parametrize("slots", [(), ("x",)])
def test_n_must_be_an_int_of_one_or_more(count, n, slots):
    with pytest.raises(InvalidArgument, match="n="):
        count(n, *slots)


@both_kinds
def test_the_error_names_what_was_written(count):
    with pytest.raises(InvalidArgument, match=rf"^{count.__name__}: "):
        count(0, "x")


@both_kinds
def test_events_of_a_table_are_not_counted(a, count):
    table = Reactive("t", table=True)
    with pytest.raises(InvalidArgument, match="table"):
        Engine(correlate(x=table, y=a, yields=lambda x: x, restrict=count(2, "x")))
    Engine(correlate(x=table, y=a, yields=lambda x: x, restrict=count(2, "y")))
    Engine(correlate(x=table, y=a, yields=lambda x: x, restrict=count(2)))


@both_kinds
@pytest.mark.parametrize("beside", [retracting(), retracting() | optionally("y")])
def test_counting_results_beside_retraction_is_refused_and_counting_events_is_not(a, b, count, beside):
    def build(restrict):
        return Engine(correlate(x=a, y=b, where=lambda x, y: x == y, yields=lambda x, y: x, restrict=restrict))

    for restrict in (beside | count(2), count(2) | beside):
        with pytest.raises(InvalidArgument, match=count.__name__):
            build(restrict)
    build(beside | count(2, "x"))


@both_kinds
def test_an_unknown_slot_is_refused(a, count):
    with pytest.raises(InvalidArgument, match="'z'"):
        Engine(through(a, count(2, "z")))


# ------------------------------------------------------------------------------------------------------ events of slots


def test_take_lets_the_first_events_of_each_slot_through(a, b):
    output = cartesian(a, b, restrict=take(2, "a", "b"))
    trace = [(a, 1), (a, 2), (a, 3), (b, "p"), (b, "q"), (b, "r")]
    assert values(run(output, trace)) == [(2, "p"), (1, "p"), (2, "q"), (1, "q")]


def test_what_is_not_taken_never_reaches_memory(a):
    engine = Engine(through(a, take(2, "x") | most_recently("x")))
    assert [values(engine.push(a, number)) for number in range(4)] == [[0], [1], [], []]
    assert engine.stats.retained == 1
    assert engine.stats.tuples == 2


def test_right_of_key_by_events_are_counted_by_key_and_left_of_it_together(a):
    vessels = ["p1", "p2", "p3", "p4", "q1", "q2", "q3", "q4"]

    def k(value):
        return value[0]

    common = through(a, take(3, "x") | key_by(x=k))
    keyed = through(a, key_by(x=k) | take(3, "x"))
    assert values(run(common, [(a, v) for v in vessels])) == ["p1", "p2", "p3"]
    assert values(run(keyed, [(a, v) for v in vessels])) == ["p1", "p2", "p3", "q1", "q2", "q3"]


def test_every_nth_event_by_slot_and_key(a, b):
    output = cartesian(a, b, restrict=most_recently("a", "b") | every_nth(2, "a", "b"))
    trace = [(a, 1), (b, "p"), (a, 2), (b, "q"), (a, 3), (a, 4), (b, "r"), (b, "s")]
    assert values(run(output, trace)) == [(2, "q"), (4, "q"), (4, "s")]
    keyed = through(a, key_by(x=lambda value: value[0]) | every_nth(2, "x"))
    assert values(run(keyed, [(a, v) for v in ("p1", "q1", "p2", "p3", "q2", "q3", "p4")])) == ["p2", "q2", "p4"]


def test_every_first_event_is_every_event(a):
    assert values(run(through(a, every_nth(1, "x")), [(a, n) for n in range(4)])) == [0, 1, 2, 3]
    assert values(run(through(a, every_nth(1)), [(a, n) for n in range(4)])) == [0, 1, 2, 3]


SLOT_LAWS: dict[str, Any] = {
    "take": (lambda n, m: take(n, "x") | take(m, "x"), lambda n, m: take(min(n, m), "x")),
    "every_nth": (lambda n, m: every_nth(n, "x") | every_nth(m, "x"), lambda n, m: every_nth(n * m, "x")),
    "take results": (lambda n, m: take(n) | take(m), lambda n, m: take(min(n, m))),
    "every_nth results": (lambda n, m: every_nth(n) | every_nth(m), lambda n, m: every_nth(n * m)),
}


@pytest.mark.parametrize("law", SLOT_LAWS)
@settings(max_examples=settings().max_examples * 30 // 100)
@given(n=st.integers(1, 4), m=st.integers(1, 4), count=st.integers(0, 20), is_restored=st.booleans())
def test_two_counts_are_one(law, n, m, count, is_restored):
    a = Reactive("a")
    engines = [Engine(through(a, make(n, m))) for make in SLOT_LAWS[law]]
    for number in range(count):
        one, other = [values(engine.push(a, number)) for engine in engines]
        assert one == other
        assert engines[0].done == engines[1].done
        if is_restored:
            engines = [Engine.restore(engine.snapshot(), *engine.outputs) for engine in engines]


def test_a_failed_push_is_not_counted(a):
    broken: list[bool] = []

    def where(x):
        if broken:
            raise Broken
        return True

    for restrict in (take(2, "x"), take(2)):
        engine = Engine(correlate(x=a, where=where, yields=lambda x: x, restrict=restrict))
        engine.push(a, 1)
        broken.append(True)
        for _ in range(3):
            with pytest.raises(Broken):
                engine.push(a, 2)
        broken.clear()
        assert [values(engine.push(a, number)) for number in (2, 3)] == [[2], []]


def test_a_result_that_is_taken_back_upstream_does_not_count_back(a):
    newest = correlate(x=a, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="newest")
    engine = Engine(through(newest, retracting() | take(2, "x")))
    got = [[(e.value, e.weight) for e in engine.push(a, number)] for number in range(4)]
    assert got == [[(0, 1)], [(0, -1), (1, 1)], [(1, -1)], []]


# ------------------------------------------------------------------------------------------------------------- results


def test_take_counts_results_and_completes_with_the_last(a, b):
    engine = Engine(cartesian(a, b, restrict=take(3)))
    engine.push(a, 1)
    engine.push(a, 2)
    assert values(engine.push(b, "p")) == [(2, "p"), (1, "p")]
    assert not engine.done
    assert values(engine.push(b, "q")) == [(2, "q")]
    assert engine.done
    assert engine.push(b, "r") == engine.push(a, 3) == []


def test_several_values_of_one_match_are_counted_each(a):
    @correlate(x=a, restrict=take(4))
    def thrice(x):
        for number in range(3):
            yield x, number

    engine = Engine(thrice)
    assert values(engine.push(a, "A")) == [("A", 0), ("A", 1), ("A", 2)]
    assert values(engine.push(a, "B")) == [("B", 0)]
    assert engine.done

    @correlate(x=a, restrict=every_nth(2))
    def thrice_halved(x):
        for number in range(3):
            yield x, number

    assert values(run(thrice_halved, [(a, "A"), (a, "B")])) == [("A", 1), ("B", 0), ("B", 2)]


def test_a_match_whose_values_are_all_left_out_spends_nothing(a, b):
    engine = Engine(cartesian(a, b, restrict=affinely("a") | every_nth(2)))
    engine.push(a, 1)
    assert engine.push(b, "p") == []
    assert values(engine.push(b, "q")) == [(1, "q")]
    assert engine.stats.slots[engine._program.joins[0].name, "a"] == (0, 0)


def test_take_cuts_within_a_batch_and_spends_nothing_of_the_rest(a, b):
    engine = Engine(cartesian(a, b, restrict=affinely("a") | take(1)))
    engine.push(a, 1)
    engine.push(a, 2)
    assert values(engine.push(b, "p")) == [(2, "p")]
    assert engine.stats.slots[engine._program.joins[0].name, "a"] == (1, 0)


def test_what_an_outer_selector_leaves_is_not_counted(a, b):
    engine = Engine(cartesian(a, b, restrict=first_match() | take(2)))
    for number in range(3):
        engine.push(a, number)
    assert [values(engine.push(b, value)) for value in "pqr"] == [[(2, "p")], [(2, "q")], []]
    assert engine.done


def test_what_an_inner_selector_leaves_out_is_not_counted(a, b):
    engine = Engine(cartesian(a, b, restrict=take(2) | first_match()))
    for number in range(3):
        engine.push(a, number)
    assert [values(engine.push(b, value)) for value in "pqr"] == [[(2, "p")], [(2, "q")], []]


def offers(a, b, restrict):
    """Three offers; each wish takes one. Sorting lists all matches before the first of them is used up."""
    cheapest = ordered_by(lambda match: match.value[0])
    engine = Engine(cartesian(a, b, restrict=affinely("a", "b") | restrict | cheapest))
    for price in (30, 20, 25, 40):
        engine.push(a, price)
    return [values(engine.push(b, value)) for value in "pqrs"]


def test_take_counts_results_and_not_matches_whose_part_was_used_up_before(a, b):
    """take(n): let the first n results through."""
    assert offers(a, b, take(2)) == [[(20, "p")], [(25, "q")], [], []]
    assert offers(a, b, take(3)) == [[(20, "p")], [(25, "q")], [(30, "r")], []]


def test_results_of_all_keys_are_counted_together(a):
    keyed = through(a, key_by(x=lambda value: value[0]) | take(2))
    assert values(run(keyed, [(a, v) for v in ("p1", "q1", "p2")])) == ["p1", "q1"]


def test_take_of_results_counts_across_the_batches_of_one_step(a, b):
    items = map_concat(a, list)
    output = correlate(
        x=items,
        y=b,
        yields=lambda x, y: x + y,
        restrict=take(2) | fifo() | most_recently("x", "y") | aligning("x", "y"),
    )
    engine = Engine(output)
    for value in "123":
        engine.push(b, value)
    assert values(engine.push(a, "pqr")) == ["p1", "q2"]
    assert engine.done


def test_take_of_a_table_keeps_what_was_shown(a):
    output = correlate(x=a, yields=lambda x: x.v, restrict=key_by(x="k") | take(2) | as_table("x"))
    engine = Engine(output)
    for k, v in (("p", 1), ("q", 2), ("p", 3)):
        engine.push(a, {"k": k, "v": v})
    assert engine.query(output) == {"p": 1, "q": 2}


def test_a_count_is_kept_by_a_snapshot(a):
    for restrict, expected in ((take(3), [0, 1, 2]), (every_nth(3), [2, 5]), (take(3, "x"), [0, 1, 2])):
        output = through(a, restrict)
        engine, got = Engine(output), []
        for number in range(7):
            got += values(engine.push(a, number))
            engine = Engine.restore(engine.snapshot(), output)
        assert got == expected


def test_counting_does_not_commute_with_filtering(a):
    trace = [(a, number) for number in range(8)]
    before = through(a, take(3, "x") | only("x", lambda n: n % 2 == 0))
    after = through(a, only("x", lambda n: n % 2 == 0) | take(3, "x"))
    assert values(run(before, trace)) == [0, 2, 4]
    assert values(run(after, trace)) == [0, 2]
