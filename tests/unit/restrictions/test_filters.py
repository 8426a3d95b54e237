"""only: events that never reach memory; on a table, rows that leave when they fail (SEMANTICS 2.4)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import aligning, as_table, cartesian, key_by, most_recently, only, retracting


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


def is_even(value):
    return value % 2 == 0


def is_small(value):
    return value < 5


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


@pytest.mark.parametrize("wrong", [None, 3, "level > 3", True])
def test_a_predicate_must_be_a_function(wrong):
    with pytest.raises(InvalidArgument, match="predicate="):
        only("a", wrong)


def test_what_fails_never_reaches_memory(a):
    engine = Engine(correlate(x=a, yields=lambda x: x, restrict=only("x", is_even)))
    assert [values(engine.push(a, number)) for number in range(4)] == [[0], [], [2], []]
    assert (engine.stats.retained, engine.stats.tuples, engine.late) == (2, 2, [])


def test_what_fails_does_not_replace_the_latest(a, b):
    trace = [(a, 2), (a, 3), (b, "p")]
    for restrict in (most_recently("a") | only("a", is_even), only("a", is_even) | most_recently("a")):
        assert values(run(cartesian(a, b, restrict=restrict), trace)) == [(2, "p")]


def test_only_its_own_slot_is_concerned_also_in_a_self_join(a):
    output = correlate(x=a, y=a, yields=lambda x, y: (x, y), restrict=only("x", is_even))
    assert values(run(output, [(a, 1), (a, 2), (a, 3)])) == [(2, 2), (2, 1), (2, 3)]


def test_what_is_asked_is_the_value_with_its_fields(a):
    output = correlate(x=a, yields=lambda x: x.n, restrict=only("x", lambda x: x.n > 1))
    assert values(run(output, [(a, {"n": 1}), (a, {"n": 2})])) == [2]


@pytest.mark.parametrize("answer", [1, "yes", [0], object()])
def test_any_true_value_lets_through(a, answer):
    assert values(run(correlate(x=a, yields=lambda x: x, restrict=only("x", lambda x: answer)), [(a, 1)])) == [1]


@pytest.mark.parametrize("answer", [0, "", None, []])
def test_any_false_value_does_not(a, answer):
    assert run(correlate(x=a, yields=lambda x: x, restrict=only("x", lambda x: answer)), [(a, 1)]) == []


def test_filters_are_one_filter_in_any_order(a, b):
    trace = [(a, number) for number in range(8)] + [(b, "p")]
    both = only("a", lambda n: is_even(n) and is_small(n))
    results = [values(run(cartesian(a, b, restrict=both | most_recently("a", n=2)), trace))]
    layers = [only("a", is_even), only("a", is_small), most_recently("a", n=2)]
    for one, two, three in itertools.permutations(layers):
        results.append(values(run(cartesian(a, b, restrict=one | two | three), trace)))
    assert all(result == [(4, "p"), (2, "p")] for result in results)


def test_before_and_behind_a_gate_that_holds(a, b):
    trace = [(a, 1), (a, 2), (b, "p"), (b, "q")]
    before = cartesian(a, b, restrict=aligning("a", "b") | only("a", is_even))
    behind = cartesian(a, b, restrict=only("a", is_even) | aligning("a", "b"))
    assert values(run(before, trace)) == [(2, "p")]
    assert values(run(behind, trace)) == [(2, "q"), (2, "p")]  # 1 was let go with p, and then dropped


def test_an_error_of_the_predicate_names_the_restriction_and_changes_nothing(a):
    engine = Engine(correlate(x=a, yields=lambda x: x, restrict=only("x", lambda x: 1 // x > 0)))
    blob = engine.snapshot()
    with pytest.raises(ZeroDivisionError) as caught:
        engine.push(a, 0)
    assert "only('x'" in "\n".join(caught.value.__notes__)
    assert engine.snapshot() == blob
    assert values(engine.push(a, 1)) == [1]


def test_a_retraction_goes_through_and_one_of_what_was_dropped_does_nothing(a):
    newest = correlate(x=a, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="newest")
    engine = Engine(correlate(x=newest, yields=lambda x: x, restrict=retracting() | only("x", is_even)))
    got = [weighted(engine.push(a, number)) for number in (2, 3, 5, 4)]
    assert got == [[(2, 1)], [(2, -1)], [], [(4, 1)]]


# -------------------------------------------------------------------------------------------------------------- tables


def shown(predicate, restrict=None):
    """A table filtered, and what remains of it, as a table."""
    table = Reactive("t", table=True)
    rest = retracting() | as_table("x") | only("x", predicate)
    output = correlate(x=table, yields=lambda x: x, restrict=rest if restrict is None else restrict | rest, name="out")
    return table, output


def test_a_row_that_stops_satisfying_it_leaves_and_may_come_back():
    table, output = shown(is_even)
    engine = Engine(output)
    assert values(engine.push(table, Update("k", 2))) == [Update("k", 2)]
    assert values(engine.push(table, Update("k", 4))) == [Update("k", 4)]
    assert values(engine.push(table, Update("k", 5))) == [Delete("k")]
    assert engine.push(table, Update("k", 7)) == []
    assert engine.query(output) == {}
    assert engine.query(table) == {"k": 7}  # the table itself is what was pushed
    assert values(engine.push(table, Update("k", 6))) == [Update("k", 6)]
    assert values(engine.push(table, Delete("k"))) == [Delete("k")]


def test_a_row_that_never_did_is_not_seen():
    table, output = shown(is_even)
    engine = Engine(output)
    for change in (Update("k", 1), Update("k", 3), Delete("k"), Delete("k")):
        assert engine.push(table, change) == []
    assert engine.stats.retained == 0
    assert engine.stats.tuples == 0


def test_the_predicate_is_not_asked_of_a_deletion():
    def careful(value):
        assert value is not None
        return True

    table, output = shown(careful)
    engine = Engine(output)
    engine.push(table, Update("k", 1))
    assert values(engine.push(table, Delete("k"))) == [Delete("k")]


def test_without_retraction_the_results_of_a_row_that_left_stand(a):
    table = Reactive("t", table=True)
    engine = Engine(correlate(x=table, y=a, yields=lambda x, y: (x, y), restrict=only("x", is_even)))
    engine.push(table, Update("k", 2))
    assert values(engine.push(a, "p")) == [(2, "p")]
    assert engine.push(table, Update("k", 3)) == []
    assert engine.push(a, "q") == []


def test_the_time_of_the_deletion_is_that_of_the_row_that_failed():
    table, output = shown(is_even)
    engine = Engine(output)
    engine.push(table, Update("k", 2), at=3)
    (event,) = engine.push(table, Update("k", 3), at=(7, 9))
    assert (event.value, event.start, event.end) == (Delete("k"), 7, 9)


def test_a_row_that_fails_and_moves_leaves_the_key_where_it_was(a):
    table = Reactive("t", table=True)
    output = correlate(
        x=table,
        y=a,
        yields=lambda x, y: (x.v, y),
        restrict=retracting() | key_by(x="k", y=lambda value: value[0]) | only("x", lambda x: x.v > 0),
    )
    engine = Engine(output)
    engine.push(a, "p!")
    engine.push(a, "q!")
    assert weighted(engine.push(table, Update("r", {"k": "p", "v": 1}))) == [((1, "p!"), 1)]
    assert weighted(engine.push(table, Update("r", {"k": "q", "v": 0}))) == [((1, "p!"), -1)]
    assert weighted(engine.push(table, Update("r", {"k": "q", "v": 2}))) == [((2, "q!"), 1)]
    engine._check_invariants()


CHANGES = st.lists(st.tuples(st.sampled_from("kl"), st.one_of(st.none(), st.integers(0, 9))), max_size=12)


@settings(max_examples=settings().max_examples * 60 // 100)
@given(changes=CHANGES, is_twice=st.booleans(), is_restored=st.booleans())
def test_the_changes_build_the_table_of_the_rows_that_satisfy_it(changes, is_twice, is_restored):
    def both(value):
        return is_even(value) and is_small(value)

    table, output = shown(is_even, only("x", is_small)) if is_twice else shown(both)
    engine, rows, built = Engine(output), {}, {}
    for key, value in changes:
        rows.pop(key, None)
        if value is not None:
            rows[key] = value
        before = dict(built)
        for change in values(engine.push(table, Delete(key) if value is None else Update(key, value))):
            if isinstance(change, Delete):
                del built[change.key]  # never one that was not there
            else:
                built[change.key] = change.value
            assert built != before  # never a change that is none
        assert built == {k: v for k, v in rows.items() if both(v)} == engine.query(output)
        engine._check_invariants()
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
