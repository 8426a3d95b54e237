"""separately and momentarily: parts that never meet, and events that are there for one batch (SEMANTICS 1.2)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    fifo,
    key_by,
    momentarily,
    most_recently,
    optionally,
    retracting,
    separately,
)
from restrictions.streams import map_concat


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


def pairs(a, b, restrict):
    return correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=restrict, name="out")


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


# ---------------------------------------------------------------------------------------------------------- separately


def test_each_event_is_a_result_of_its_own_once(a, b):
    engine = Engine(pairs(a, b, separately()))
    trace = [(a, 1), (b, "p"), (a, 2), (b, "q")]
    assert [values(engine.push(*step)) for step in trace] == [[(1, None)], [(None, "p")], [(2, None)], [(None, "q")]]
    assert engine.stats.tuples == 4


def test_a_result_has_the_time_of_its_event_alone(a, b):
    engine = Engine(pairs(a, b, separately()))
    engine.push(a, 1, at=1)
    (event,) = engine.push(b, "p", at=(5, 8))
    assert (event.start, event.end) == (5, 8)


def test_events_of_one_step_come_slot_by_slot_in_the_order_of_memory(a):
    items = map_concat(a, list)
    assert values(run(pairs(items, items, separately()), [(a, "pq")])) == [
        ("q", None),
        ("p", None),
        (None, "q"),
        (None, "p"),
    ]
    assert values(run(pairs(items, items, separately() | fifo()), [(a, "pq")])) == [
        ("p", None),
        ("q", None),
        (None, "p"),
        (None, "q"),
    ]


def test_alone_an_event_may_leave_with_its_batch(a, b):
    engine = Engine(pairs(a, b, separately() | momentarily("x", "y")))
    for number in range(5):
        engine.push((a, b)[number % 2], number)
    assert engine.stats.retained == 0


def test_a_union_takes_back_what_one_of_its_inputs_takes_back(a, b):
    newest = correlate(x=a, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="newest")
    engine = Engine(pairs(newest, b, separately() | retracting()))
    engine.push(a, 1)
    engine.push(b, "p")
    assert weighted(engine.push(a, 2)) == [((1, None), -1), ((2, None), 1)]


def test_a_union_may_be_a_table(a, b):
    def yields(x, y):
        return x or y

    output = correlate(
        x=a, y=b, yields=yields, restrict=separately() | most_recently("x", "y") | as_table(lambda value: value[0])
    )
    engine = Engine(output)
    for reactive, value in [(a, "p1"), (b, "q1"), (b, "p2"), (a, "q2")]:
        engine.push(reactive, value)
    assert engine.query(output) == {"p": "p2", "q": "q2"}


@pytest.mark.parametrize("beside", [key_by(x="k", y="k"), optionally("y") | retracting()])
def test_what_speaks_of_parts_that_meet_is_refused_and_named(a, b, beside):
    for restrict in (separately() | beside, beside | separately()):
        with pytest.raises(InvalidArgument, match=r"separately\(\): expected no restriction on parts that meet"):
            Engine(pairs(a, b, restrict))


def test_keys_of_one_slot_are_no_matter(a, b):
    engine = Engine(pairs(a, b, separately() | key_by(x=lambda x: x % 2) | key_by(y="k") | most_recently("x")))
    for number in range(4):
        engine.push(a, number)
    assert engine.stats.slots["out", "x"] == (2, 0)


def test_separately_is_idempotent_and_commutes(a, b):
    trace = [(a, 1), (b, "p"), (a, 2), (b, "q"), (a, 3)]
    layers = [separately(), separately(), most_recently("x"), affinely("y"), fifo()]
    results = {
        tuple(values(run(pairs(a, b, one | two | three | four | five), trace)))
        for one, two, three, four, five in itertools.permutations(layers)
    }
    assert len(results) == 1


# --------------------------------------------------------------------------------------------------------- momentarily


def test_what_comes_later_does_not_find_it(a, b):
    engine = Engine(cartesian(a, b, restrict=momentarily("a")))
    assert engine.push(a, 1) == []
    assert engine.push(b, "p") == []
    assert values(engine.push(a, 2)) == [(2, "p")]
    assert values(engine.push(b, "q")) == []
    assert values(engine.push(a, 3)) == [(3, "q"), (3, "p")]
    assert engine.stats.retained == 2


def test_two_that_are_there_for_a_moment_meet_in_one_step_alone(a, b):
    items = map_concat(a, list)
    apart = Engine(cartesian(a, b, restrict=momentarily("a", "b")))
    together = Engine(pairs(items, items, momentarily("x", "y")))
    assert apart.push(a, 1) == apart.push(b, 2) == []
    assert sorted(values(together.push(a, "pq"))) == [("p", "p"), ("p", "q"), ("q", "p"), ("q", "q")]
    assert values(together.push(a, "r")) == [("r", "r")]
    assert together.stats.retained == 0


def test_its_results_stand(a, b):
    newest = correlate(x=a, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="newest")
    engine = Engine(pairs(newest, b, retracting() | momentarily("x")))
    engine.push(b, "p")
    assert weighted(engine.push(a, 1)) == [((1, "p"), 1)]
    assert weighted(engine.push(a, 2)) == [((2, "p"), 1)]  # what has left is not found any more (1.9)


def test_a_row_that_has_left_is_not_deleted(a):
    table = Reactive("t", table=True)
    engine = Engine(pairs(table, a, retracting() | momentarily("x")))
    engine.push(a, 1)
    assert weighted(engine.push(table, Update("k", "v"))) == [(("v", 1), 1)]
    assert engine.push(table, Delete("k")) == []
    assert weighted(engine.push(table, Update("k", "w"))) == [(("w", 1), 1)]
    engine._check_invariants()


def test_explain_says_that_nothing_is_retained(a, b):
    assert "O(0)" in Engine(cartesian(a, b, restrict=momentarily("a"))).explain()


def test_a_failed_push_leaves_memory_as_it_was(a, b):
    def where(x, y):
        return 10 // x > y

    engine = Engine(correlate(x=a, y=b, where=where, yields=lambda x, y: (x, y), restrict=momentarily("x")))
    engine.push(b, 1)
    blob = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(a, 0)
    engine._check_invariants()
    assert engine.snapshot() == blob
    assert values(engine.push(a, 2)) == [(2, 1)]


LAYERS = {
    "most_recently": most_recently("a", "b"),
    "at_most": at_most(2, "b"),
    "aligning": aligning("a", "b"),
    "itself": momentarily("a"),
}


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=settings().max_examples * 30 // 100)
@given(steps=st.lists(st.sampled_from("aab"), max_size=10), is_restored=st.booleans())
def test_momentarily_commutes(name, steps, is_restored):
    inputs = {letter: Reactive(letter) for letter in "ab"}
    other, mine = LAYERS[name], momentarily("a")
    engines = [Engine(cartesian(*inputs.values(), restrict=restrict)) for restrict in (other | mine, mine | other)]
    if name == "itself":
        engines.append(Engine(cartesian(*inputs.values(), restrict=mine)))
    for number, letter in enumerate(steps):
        got = [values(engine.push(inputs[letter], number)) for engine in engines]
        assert all(one == got[0] for one in got)
        for engine in engines:
            engine._check_invariants()
        assert len({(engine.stats.retained, engine.stats.waiting) for engine in engines}) == 1
        if is_restored:
            engines = [Engine.restore(engine.snapshot(), *engine.outputs) for engine in engines]


def test_a_condition_on_parts_that_never_meet_is_refused_and_one_on_a_single_part_is_asked_of_that_alone():
    xs, ys = Reactive("xs"), Reactive("ys")

    def united(where):
        return correlate(
            x=xs, y=ys, where=where, yields=lambda x, y: (x, y), restrict=separately() | momentarily("x", "y")
        )

    with pytest.raises(InvalidArgument, match="separately: expected conditions on one slot"):
        united(lambda x, y: x.k == y.k)
    engine = Engine(united(lambda x: x > 2))
    assert [event.value for event in engine.push(xs, 1) + engine.push(xs, 3) + engine.push(ys, 0)] == [
        (3, None),
        (None, 0),
    ]
