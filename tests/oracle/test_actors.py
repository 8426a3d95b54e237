"""The algebra on actors: under every order of delivery it ends in the tables of the plain operators, and in ours."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Update
from tests.oracle.actors import (
    EMPTY,
    Changelog,
    Filter,
    Map,
    MapConcat,
    Merge,
    Never,
    Now,
    Running,
    System,
    Totals,
    counter,
    is_confluent,
    is_sequential,
    sink,
)
from tests.oracle.algebra_draws import EVERY, OF_ONE, build, cases, programs, traces
from tests.oracle.algebra_oracle import DictProgram, DictTotals, apply, exact, is_same
from tests.oracle.algebra_programs import (
    Filtered,
    Folded,
    Foreign,
    Item,
    Joined,
    Mapped,
    Merged,
    Reduced,
    Relogged,
    Source,
    in_order,
)

T, U = Source(0), Source(1)
SEEDS = st.integers(0, 2**16)


def received(term, *pushes, seed=0):
    """What a term's output receives, push by push; a push is (source, message), delivered before the next."""
    running, steps, n = Running(term, Random(seed)), [], 0
    for push in pushes:
        running.send(*push)
        steps.append(running.deliver()[n:])
        n = len(running.received)
    return steps


def table_of(changes):
    table = {}
    for change in changes:
        apply(table, change)
    return table


# -------------------------------------------------------------------------------------------------------- the language


def test_a_sink_takes_everything():
    system = System()
    address = system.outside.create(sink)
    for message in range(3):
        system.outside.send(address, message)
    system.run(Random(0))


def test_a_counter_replies_with_how_many_came_before():
    system = System()
    address = system.outside.create(counter(0))
    asker, replies = system.external()
    for _ in range(3):
        system.outside.send(address, asker)
    system.run(Random(0))
    assert replies == [0, 1, 2]


def test_an_actor_that_becomes_nothing_is_finished():
    system = System()
    address = system.outside.create(lambda act, message: act.skip())
    system.outside.send(address, "first")
    system.run(Random(0))
    system.outside.send(address, "second")
    with pytest.raises(AssertionError, match="finished"):
        system.run(Random(0))


def test_an_actor_may_create_others():
    system = System()
    out, replies = system.external()

    def parent(act, message):
        child = act.create(lambda act, message: act.send(out, message))
        act.send(child, message)

    system.outside.send(system.outside.create(parent), "hello")
    system.run(Random(0))
    assert replies == ["hello"]


def test_messages_between_two_actors_keep_their_order_and_others_do_not():
    orders = set()
    for seed in range(20):
        running = Running(Merge(T, U), Random(seed))
        for number in range(3):
            running.send(0, ("T", number))
            running.send(1, ("U", number))
        out = running.deliver()
        for name in "TU":
            assert [number for sender, number in out if sender == name] == [0, 1, 2]
        orders.add(tuple(out))
    assert len(orders) > 1


def test_a_table_is_persistent():
    one = EMPTY.update("k", 1)
    two = one.update("k", 2).update("j", 3)
    assert (one.get("k"), two.get("k"), two.get("j"), one.contains("j")) == (1, 2, 3, False)
    assert list(two.delete("k")) == [("j", 3)]
    assert list(EMPTY) == []


# ----------------------------------------------------------------------------------------------------------- operators


def test_map_of_now():
    assert Running(Map(lambda i: i + 1, Now(1)), Random(0)).deliver() == [2]


def test_never_emits_nothing():
    assert Running(Merge(Never(), Now(1)), Random(0)).deliver() == [1]


def test_streams_are_filtered_concatenated_and_merged():
    odd = Filter(lambda i: i % 2, MapConcat(range, T))
    assert received(Merge(odd, U), (0, 4), (1, 8), (0, 1), (0, 2)) == [[1, 3], [8], [], [1]]


def test_filter_table_deletes_what_no_longer_satisfies():
    pushes = [(0, Update("k", Item(0, n))) for n in (1, 2, 2, 3)]
    assert received(Filtered(T, "odd"), *pushes, (0, Delete("k")), (0, Delete("k"))) == [
        [Update("k", Item(0, 1))],
        [Delete("k")],
        [],
        [Update("k", Item(0, 3))],
        [Delete("k")],
        [],
    ]


def test_reduce_emits_totals():
    pushes = [Update("N", Item(0, 5)), Update("S", Item(0, 7)), Update("N", Item(0, 1)), Delete("W"), Delete("S")]
    totals = Totals(Mapped(T, "whole"), "sum")
    assert received(totals, *((0, change) for change in pushes)) == [[5], [12], [8], [], [1]]


def test_reduce_by_moves_a_row_between_groups():
    pushes = [Update("A", Item(0, 1)), Update("B", Item(0, 3)), Update("A", Item(0, 2)), Update("B", Item(0, 4))]
    totals = Reduced(Mapped(T, "whole"), "sum", "v % 2")
    assert received(totals, *((0, change) for change in pushes)) == [
        [Update(1, 1)],
        [Update(1, 4)],
        [Update(1, 3), Update(0, 2)],
        [Delete(1), Update(0, 6)],
    ]


def test_combine_updates_folds_equal_values_of_an_external_table():
    pushes = [Update("k", Item(0, 1)), Update("k", Item(0, 1)), Delete("k"), Delete("k"), Update("k", Item(0, 1))]
    expected = [[Update("k", 1)], [Update("k", 2)], [Delete("k")], [], [Update("k", 1)]]
    assert received(Folded(T, "sum"), *((0, change) for change in pushes)) == expected
    expected[1] = []
    assert received(Folded(Relogged(T), "sum"), *((0, change) for change in pushes)) == expected


ONE, TWO = Item(0, 1), Item(7, 2)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("inner", [[], [], [Update(0, (TWO, ONE))], [Delete(0)], [], [Update(0, (ONE, ONE))], [Delete(0)]]),
        (
            "left",
            [[], [], [Update(0, (TWO, ONE))], [Delete(0)], [], [Update(0, (ONE, ONE))], [Update(0, (ONE, None))]],
        ),
        (
            "outer",
            [
                [Update(0, (None, ONE))],
                [],
                [Update(0, (TWO, ONE))],
                [Update(0, (None, ONE))],
                [],
                [Update(0, (ONE, ONE))],
                [Update(0, (ONE, None))],
            ],
        ),
    ],
)
def test_joins(how, expected):
    left = [(0, Delete(0)), (0, Update(0, TWO)), (0, Delete(0)), (0, Delete(0)), (0, Update(0, ONE))]
    assert received(Joined(T, U, how), (1, Update(0, ONE)), *left, (1, Delete(0))) == expected


@pytest.mark.parametrize(("how", "is_left"), [("inner", False), ("left", True)])
def test_a_foreign_join_leaves_no_stale_row(how, is_left):
    pushes = [(1, Update(0, ONE)), (0, Update("A", ONE)), (0, Update("A", TWO)), (0, Delete("A")), (0, Delete("A"))]
    pushes += [(0, Update("A", ONE)), (1, Delete(0)), (1, Delete(0))]
    assert received(Foreign(T, U, how), *pushes) == [
        [],
        [Update("A", (ONE, ONE))],
        [Update("A", (TWO, None)) if is_left else Delete("A")],
        [Delete("A")] * is_left,
        [],
        [Update("A", (ONE, ONE))],
        [Update("A", (ONE, None)) if is_left else Delete("A")],
        [],
    ]


def test_changelog_and_to_table_are_nothing():
    pushes = [(0, Update("k", ONE)), (1, Update("k", TWO)), (1, Update("k", TWO)), (0, Delete("k"))]
    expected = [[Update("k", ONE)], [Update("k", TWO)], [], [Delete("k")]]
    assert received(Changelog(Merged(T, U)), *pushes) == received(Merged(T, U), *pushes) == expected


# ----------------------------------------------------------------------------------------------------- random programs

CONFLUENT = tuple(kind for kind in EVERY if kind != "merge")


@st.composite
def confluent_cases(draw):
    program = draw(programs(kinds=CONFLUENT).filter(lambda program: is_confluent(in_order(program))))
    return program, draw(traces(program))


@given(case=confluent_cases(), seed=SEEDS)
def test_under_random_delivery_a_program_ends_in_the_table_of_the_plain_operators_and_in_ours(case, seed):
    program, trace = case
    running, plain = Running(program, Random(seed)), DictProgram(program)
    inputs, output = build(program)
    engine = Engine(output)
    for source, change in trace:
        running.send(source, change)
        plain.push(source, change)
        engine.push(inputs[source], change)
    table = table_of(running.deliver())
    assert is_same(table, plain.table)
    assert is_same(table, engine.query(output))


@given(case=confluent_cases(), seed=SEEDS)
def test_delivered_after_every_push_its_table_is_always_that_of_the_plain_operators(case, seed):
    program, trace = case
    running, plain = Running(program, Random(seed)), DictProgram(program)
    for push in trace:
        running.send(*push)
        plain.push(*push)
        assert is_same(table_of(running.deliver()), plain.table)


def by_key(changes):
    """The changes of each key, in order."""
    found = {}
    for change in changes:
        found.setdefault(change.key, []).append(exact(change))
    return found


@given(case=cases(kinds=OF_ONE, n_sources=1).filter(lambda case: is_sequential(case[0])), seed=SEEDS)
def test_of_a_chain_on_one_input_all_changes_are_the_same_in_order(case, seed):
    program, trace = case
    running, plain, ours = Running(program, Random(seed)), [], []
    oracle = DictProgram(program)
    inputs, output = build(program)
    engine = Engine(output)
    for source, change in trace:
        running.send(source, change)
        plain += oracle.push(source, change)
        ours += [event.value for event in engine.push(inputs[source], change)]
    changes = running.deliver()
    assert by_key(changes) == by_key(plain) == by_key(ours)
    if not any(isinstance(node, Reduced) for node in in_order(program)):  # then a push makes one change at most
        assert exact(changes) == exact(plain) == exact(ours)


@given(
    case=cases(kinds=("map", "filter", "fold", "relog"), n_sources=1),
    group=st.sampled_from(["count", "sum", "mean"]),
    seed=SEEDS,
)
def test_of_a_chain_on_one_input_all_totals_are_the_same_in_order(case, group, seed):
    program, trace = case
    program = Mapped(program, "whole")
    running, plain = Running(Totals(program, group), Random(seed)), DictTotals(program, group)
    expected = []
    for push in trace:
        running.send(*push)
        expected += plain.push(*push)
    over_none = 0 if group == "sum" else None  # L41; null in the library (SEMANTICS 1.18)
    assert running.deliver() == [over_none if total is None else total for total in expected]
