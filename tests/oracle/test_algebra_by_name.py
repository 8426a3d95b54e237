"""The algebra of tables, one case at a time: changes, keys, foreign keys, reductions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Update
from restrictions.streams import filter_
from restrictions.tables import (
    Group,
    changelog,
    combine_updates,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    mean,
    outer_join,
    reduce,
    sum_,
)
from tests.oracle.algebra_checks import as_mapping, emitted, t, u, values
from tests.oracle.algebra_draws import KEYS, build
from tests.oracle.algebra_oracle import (
    apply,
    exact,
    is_same,
)
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
)

# --------------------------------------------------------------------------------------------------- cases by name


T, U = Source(0), Source(1)
ROW = Item(0, 1)

OPERATORS = {
    "map": Mapped(T, "number"),
    "filter": Filtered(T, "odd"),
    "inner": Joined(T, U, "inner"),
    "left": Joined(T, U, "left"),
    "outer": Joined(T, U, "outer"),
    "foreign": Foreign(T, U, "inner"),
    "foreign left": Foreign(T, U, "left"),
    "reduce": Reduced(Mapped(T, "ints"), "items", "k"),
    "fold": Folded(T, "sum"),
    "relogged": Relogged(T),
    "merged": Merged(T, U),
}
each_operator = pytest.mark.parametrize("program", OPERATORS.values(), ids=OPERATORS)
odd = filter_table(t, lambda v: v % 2 == 1)


def is_odd_update(change):
    return isinstance(change, Update) and change.value % 2 == 1


def test_figure_4_3_a_filtered_changelog_has_no_deletes_and_a_filtered_table_has():
    trace = [(t, Update("k", 1)), (t, Update("k", 2)), (t, Update("k", 3))]
    filtered = filter_(changelog(t), is_odd_update)
    assert emitted(filtered, *trace) == [[Update("k", 1)], [], [Update("k", 3)]]
    assert emitted(changelog(odd), *trace) == [[Update("k", 1)], [Delete("k")], [Update("k", 3)]]


@each_operator
def test_to_delete_what_never_was_is_no_change(program):
    inputs, output = build(program)
    engine = Engine(output)
    for source in (*inputs, *inputs):
        assert engine.push(inputs[source], Delete(0)) == []
        engine.push(inputs[source], Update(1, ROW))
    for source in inputs:
        engine.push(inputs[source], Delete(1))
        assert engine.push(inputs[source], Delete(1)) == []
    assert engine.query(output) == {}


@each_operator
def test_a_row_that_comes_back_is_as_new(program):
    inputs, output = build(program)
    engine = Engine(output)
    for reactive in inputs.values():
        engine.push(reactive, Update(0, ROW))
    once = dict(engine.query(output))
    assert once
    for _ in range(2):
        assert values(engine.push(inputs[0], Delete(0)))
        assert values(engine.push(inputs[0], Update(0, ROW))) == [Update(0, once[0])]
        assert engine.query(output) == once


@each_operator
def test_an_update_to_an_equal_value_is_no_change_but_to_a_fold(program):
    inputs, output = build(program)
    engine = Engine(output)
    for reactive in inputs.values():
        engine.push(reactive, Update(0, ROW))
    for reactive in reversed(inputs.values()):
        expected = [Update(0, 2)] if isinstance(program, Folded) else []
        assert values(engine.push(reactive, Update(0, Item(0, 1)))) == expected


def test_the_input_of_a_fold_is_queried_as_it_was_pushed():
    folded = combine_updates(t, 0, lambda times, _: times + 1)
    engine = Engine(folded)
    engine.push(t, Update("k", "x"))
    assert engine.query(folded) == {"k": 1}
    assert engine.query(t) == {"k": "x"}


def test_a_fold_of_a_derived_table_sees_real_changes_only():
    folded = combine_updates(odd, 0, lambda total, value: total + value)
    trace = [Update("k", 1), Update("k", 1), Update("k", 3), Update("k", 2), Update("k", 4), Update("k", 1)]
    assert emitted(folded, *((t, change) for change in trace)) == [
        [Update("k", 1)],
        [],
        [Update("k", 4)],
        [Delete("k")],
        [],
        [Update("k", 1)],
    ]


def test_a_fold_that_stays_equal_is_no_change():
    highest = combine_updates(t, 0, max)
    trace = [(t, Update("k", 3)), (t, Update("k", 2)), (t, Update("k", 3)), (t, Update("k", 4))]
    assert emitted(highest, *trace) == [[Update("k", 3)], [], [], [Update("k", 4)]]


def test_one_and_true_and_1_0_are_different_values_and_nan_is_equal_to_itself():
    trace = [1, True, True, 1.0, 1, math.nan, -math.nan]
    steps = emitted(map_table(t, lambda v: v), *((t, Update("k", value)) for value in trace))
    assert [exact(step) for step in steps] == [
        exact([Update("k", v)] * n) for v, n in zip(trace, [1, 1, 0, 1, 1, 1, 0], strict=True)
    ]


def test_1_and_true_are_the_key_of_one_row():
    engine = Engine(inner_join(t, u))
    engine.push(t, Update(1, "old"))
    engine.push(u, Update(1.0, "x"))
    (change,) = values(engine.push(t, Update(True, "new")))
    assert (change.key, change.value) == (1, ("new", "x"))
    (change,) = values(engine.push(t, Delete(1.0)))
    assert change == Delete(1)


@pytest.mark.parametrize(("how", "expected"), [("inner", Delete("EVA")), ("left", Update("EVA", (9, None)))])
@pytest.mark.parametrize("elsewhere", [9, None])
def test_a_foreign_key_moved_to_one_without_a_partner_leaves_no_stale_row(how, expected, elsewhere):
    joined = foreign_join(t, u, on=lambda berth: berth, how=how)
    engine = Engine(joined)
    engine.push(u, Update(4, "deep"))
    assert values(engine.push(t, Update("EVA", 4))) == [Update("EVA", (4, "deep"))]
    if isinstance(expected, Update):
        expected = Update("EVA", (elsewhere, None))
    assert values(engine.push(t, Update("EVA", elsewhere))) == [expected]
    assert engine.push(u, Update(4, "shallow")) == []
    assert values(engine.push(t, Update("EVA", 4))) == [Update("EVA", (4, "shallow"))]
    assert values(engine.push(t, Delete("EVA"))) == [Delete("EVA")]
    assert engine.push(t, Delete("EVA")) == []


def test_a_foreign_key_without_a_partner_gets_it_later_and_loses_it():
    joined = foreign_join(t, u, on=lambda berth: berth)
    steps = emitted(
        joined, (t, Update("A", 4)), (t, Update("B", 4)), (u, Update(4, "x")), (u, Delete(4)), (u, Delete(4))
    )
    assert [sorted(step, key=lambda change: change.key) for step in steps] == [
        [],
        [],
        [Update("A", (4, "x")), Update("B", (4, "x"))],
        [Delete("A"), Delete("B")],
        [],
    ]


def test_a_foreign_key_of_another_type_meets_the_equal_key():
    joined = foreign_join(t, u, on=lambda berth: berth)
    steps = emitted(joined, (u, Update(1, "x")), *((t, Update("A", k)) for k in (1, True, 1.0, math.nan, None)))
    assert exact(steps) == exact(
        [[], [Update("A", (1, "x"))], [Update("A", (True, "x"))], [Update("A", (1.0, "x"))], [Delete("A")], []]
    )


def test_the_missing_side_of_a_joined_row_is_none():
    trace = [(t, Update("k", 1)), (u, Update("k", 2)), (t, Delete("k")), (u, Delete("k"))]
    assert emitted(inner_join(t, u), *trace) == [[], [Update("k", (1, 2))], [Delete("k")], []]
    assert emitted(left_join(t, u), *trace) == [[Update("k", (1, None))], [Update("k", (1, 2))], [Delete("k")], []]
    assert emitted(outer_join(t, u), *trace) == [
        [Update("k", (1, None))],
        [Update("k", (1, 2))],
        [Update("k", (None, 2))],
        [Delete("k")],
    ]


def test_a_table_joined_with_what_is_made_of_it_changes_once():
    trace = [(t, Update("k", 1)), (t, Update("k", 3)), (t, Update("k", 2)), (t, Update("k", 5)), (t, Delete("k"))]
    assert emitted(inner_join(odd, t), *trace) == [
        [Update("k", (1, 1))],
        [Update("k", (3, 3))],
        [Delete("k")],
        [Update("k", (5, 5))],
        [Delete("k")],
    ]
    assert emitted(outer_join(odd, t), *trace)[2] == [Update("k", (None, 2))]
    assert emitted(left_join(t, t), *trace)[1] == [Update("k", (3, 3))]


# ----------------------------------------------------------------------------------------------------------- reduce


def test_the_thesis_s_sum_of_wind_speeds():
    """Over none it is null (SEMANTICS 1.18), where the thesis has 0."""
    trace = [Update("N", 5), Update("S", 7), Update("N", 1), Update("N", 1), Delete("W"), Delete("S"), Delete("N")]
    assert emitted(reduce(t, sum_), *((t, change) for change in trace)) == [
        [5],
        [12],
        [8],
        [],
        [],
        [1],
        [None],
    ]  # SEMANTICS 1.18: over none it is null
    assert emitted(reduce(t, count), *((t, change) for change in trace)) == [[1], [2], [2], [], [], [1], [0]]


def test_the_thesis_s_average_is_a_group_of_sum_and_count():
    average = Group((0, 0), lambda one, other: (one[0] + other[0], one[1] + other[1]), lambda one: (-one[0], -one[1]))
    rows = map_table(t, lambda speed: (speed, 1))
    trace = [(t, Update("N", 4)), (t, Update("S", 6)), (t, Update("N", 8)), (t, Delete("S"))]
    assert emitted(reduce(rows, average), *trace) == [[(4, 1)], [(10, 2)], [(14, 2)], [(8, 1)]]
    assert emitted(reduce(t, mean), *trace) == [[4], [5], [7], [8]]


def test_an_update_moves_its_row_between_groups_without_a_transient():
    totals = reduce(t, sum_, by=lambda n: n % 10)
    trace = [
        Update("A", 11),
        Update("B", 21),
        Update("A", 2),
        Update("B", 31),
        Update("B", 12),
        Delete("A"),
        Delete("A"),
    ]
    steps = emitted(totals, *((t, change) for change in trace))
    assert [as_mapping(step) for step in steps] == [
        as_mapping(step)
        for step in (
            [Update(1, 11)],
            [Update(1, 32)],
            [Update(1, 21), Update(2, 2)],
            [Update(1, 31)],
            [Delete(1), Update(2, 14)],
            [Update(2, 12)],
            [],
        )
    ]


def test_a_group_whose_total_stays_does_not_change():
    totals = reduce(t, count, by=lambda n: n % 2)
    assert emitted(totals, (t, Update("A", 1)), (t, Update("A", 3)), (t, Update("B", 1))) == [
        [Update(1, 1)],
        [],
        [Update(1, 2)],
    ]


def test_a_group_that_sums_to_nothing_is_there_as_long_as_its_rows():
    totals = reduce(t, sum_, by=lambda n: "all")
    trace = [(t, Update("A", 3)), (t, Update("B", -3)), (t, Delete("A")), (t, Delete("B"))]
    assert emitted(totals, *trace) == [[Update("all", 3)], [Update("all", 0)], [Update("all", -3)], [Delete("all")]]


SUMMANDS = st.sampled_from(
    [0.1, 0.3, -0.3, 1e16, -1e16, 1.0, 1e-9, 5e-324, math.inf, -math.inf, math.nan, 3, 2**60 + 1]
)


def exact_sum(summands):
    """Of ints an int; else the float that is nearest to the true sum, if there is one."""
    if all(isinstance(n, int) for n in summands) or not all(map(math.isfinite, summands)):
        return sum(summands)
    return float(sum(map(Fraction, summands)))


@given(trace=st.lists(st.one_of(st.builds(Update, KEYS, SUMMANDS), st.builds(Delete, KEYS)), max_size=20))
def test_a_sum_is_that_of_the_rows_that_are_there_whatever_was_there(trace):
    totals = reduce(t, sum_, by=lambda n: "all")
    engine, rows = Engine(totals), {}
    for change in trace:
        engine.push(t, change)
        apply(rows, change)
        assert is_same(engine.query(totals), {"all": exact_sum(rows.values())} if rows else {})
