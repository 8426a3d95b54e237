"""The algebra of tables: four readings of a random program agree after every push; and the laws and cases by name."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from restrictions import as_table, most_recently, retracting, streams
from restrictions.streams import combine_latest, filter_, map_
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
    table_of_latest,
    to_table,
    update_stream,
)
from tests.oracle.algebra_draws import IN_SQL, KEYS, build, build_each, cases, library_group, programs, traces
from tests.oracle.algebra_oracle import (
    DictProgram,
    DictTotals,
    ForeignJoining,
    FromScratch,
    Joining,
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
    sources,
)
from tests.oracle.algebra_sql import as_floats, duckdb_rows


def check_changes(table, changes):
    """The law (SEMANTICS 2.8): each changed key once, no change without a change; then apply them."""
    assert len({change.key for change in changes}) == len(changes)
    for change in changes:
        if isinstance(change, Delete):
            del table[change.key]
        else:
            assert change.key not in table or exact(table[change.key]) != exact(change.value)
            table[change.key] = change.value


def as_mapping(changes):
    """The changes of a step, in no order."""
    return {change.key: (type(change), exact(getattr(change, "value", None))) for change in changes}


def values(events):
    assert all(event.weight == 1 for event in events)
    return [event.value for event in events]


def emitted(output, *trace):
    """What an output emits, push by push; the pushes are (reactive, value)."""
    engine = Engine(output)
    steps = [values(engine.push(*push)) for push in trace]
    engine._check_invariants()
    return steps


# ------------------------------------------------------------------------------------------- the references agree


@given(case=cases())
def test_the_plain_operators_give_what_a_full_evaluation_gives(case):
    program, trace = case
    plain, scratch, table = DictProgram(program), FromScratch(program), {}
    for push in trace:
        check_changes(table, plain.push(*push))
        assert is_same(table, plain.table)
        assert is_same(table, scratch.push(*push))


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")  # for tables of four rows
        yield connection


@settings(max_examples=25)
@given(case=cases(kinds=IN_SQL))
def test_the_plain_joins_give_what_a_database_gives(database, case):
    program, trace = case
    plain = DictProgram(program)
    for push in trace:
        plain.push(*push)
        present = {number: plain.tables[Source(number)] for number in sources(program)}
        found = duckdb_rows(database, program, present)
        assert {key: as_floats(value) for key, value in found.items()} == {
            key: as_floats(value) for key, value in plain.table.items()
        }


def test_the_thesis_s_slips_are_repaired():
    foreign = ForeignJoining(lambda k: k, "inner")
    messages = [*foreign.right(Update(1, "x")), *foreign.left(Update("a", 1)), *foreign.left(Update("a", 2))]
    assert messages == [Update("a", (1, "x")), Delete("a")]  # not left stale
    assert [*foreign.left(Delete("b")), *foreign.right(Delete(7))] == []
    for how in ("inner", "left", "outer"):
        join = Joining(how)
        list(join.right(Update("a", "x")))
        assert list(join.left(Delete("a"))) == []


# ------------------------------------------------------------------------------------------- and so does the library


@given(case=cases())
def test_a_program_changes_at_every_push_as_the_plain_operators_do(case):
    program, trace = case
    inputs, output = build(program)
    engine, plain, table = Engine(output), DictProgram(program), {}
    for source, change in trace:
        changes = values(engine.push(inputs[source], change))
        engine._check_invariants()
        assert as_mapping(changes) == as_mapping(plain.push(source, change))
        check_changes(table, changes)
        assert is_same(table, plain.table)
        assert is_same(engine.query(output), plain.table)


@settings(max_examples=25)
@given(case=cases(kinds=IN_SQL))
def test_joins_have_the_rows_that_a_database_finds(database, case):
    program, trace = case
    inputs, output = build(program)
    engine = Engine(output)
    present = {number: {} for number in inputs}
    for source, change in trace:
        engine.push(inputs[source], change)
        apply(present[source], change)
        found = duckdb_rows(database, program, present)
        assert {key: as_floats(value) for key, value in found.items()} == {
            key: as_floats(value) for key, value in engine.query(output).items()
        }


@given(case=cases())
def test_every_table_of_a_program_can_be_queried_between_pushes(case):
    program, trace = case
    built, plain = build_each(program), DictProgram(program)
    engine = Engine(*(table for node, table in built.items() if not isinstance(node, Source)))
    for source, change in trace:
        engine.push(built[Source(source)], change)
        plain.push(source, change)
        for node, table in built.items():
            assert is_same(engine.query(table), plain.tables[node])


@given(data=st.data())
def test_a_reduction_emits_a_total_for_each_step_that_changes_its_table(data):
    group = data.draw(st.sampled_from(["items", "count", "sum", "mean"]))
    program = Mapped(data.draw(programs()), "ints" if group == "items" else "whole")
    inputs, table = build(program)
    output = reduce(table, library_group(group))
    engine, plain = Engine(output), DictTotals(program, group)
    for source, change in data.draw(traces(program)):
        assert exact(values(engine.push(inputs[source], change))) == exact(plain.push(source, change))


# --------------------------------------------------------------------------------------------------- cases by name

t, u = Reactive("s0", table=True), Reactive("s1", table=True)
T, U = Source(0), Source(1)
BOTH = {0: t, 1: u}
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
    trace = [Update("N", 5), Update("S", 7), Update("N", 1), Update("N", 1), Delete("W"), Delete("S"), Delete("N")]
    assert emitted(reduce(t, sum_), *((t, change) for change in trace)) == [[5], [12], [8], [], [], [1], [0]]
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


# --------------------------------------------------------------------------------- laws of streams and tables (B7)

CHANGES = st.lists(
    st.one_of(st.builds(Update, KEYS, st.sampled_from([0, 1, True, 1.0, math.nan])), st.builds(Delete, KEYS)),
    max_size=16,
)


def without_no_changes(changes):
    """The real changes of a stream of changes, step by step."""
    table, steps = {}, []
    for change in changes:
        before = dict(table)
        apply(table, change)
        steps.append([] if is_same(before, table) else [change])
    return steps


@given(changes=CHANGES)
def test_the_changelog_of_a_table_of_changes_is_the_changes(changes):
    xs = Reactive("xs")
    steps = emitted(changelog(to_table(xs)), *((xs, change) for change in changes))
    assert exact(steps) == exact(without_no_changes(changes))


@given(changes=CHANGES)
def test_the_table_of_a_table_s_changelog_is_the_table(changes):
    copy = to_table(changelog(t))
    assert exact(emitted(copy, *((t, change) for change in changes))) == exact(without_no_changes(changes))
    engine = Engine(copy)
    for change in changes:
        engine.push(t, change)
        assert is_same(engine.query(copy), engine.query(t))


@given(changes=CHANGES)
def test_to_map_a_table_is_to_map_its_changelog(changes):
    def mapped(change):
        return Update(change.key, (change.value, 0)) if isinstance(change, Update) else change

    trace = [(t, change) for change in changes]
    by_changelog = to_table(map_(changelog(t), mapped))
    assert exact(emitted(map_table(t, lambda v: (v, 0)), *trace)) == exact(emitted(by_changelog, *trace))


def test_a_constant_is_a_table_of_one_row():
    limit = to_table(map_(streams.now(45), lambda knots: Update("limit", knots)))
    checked = map_table(foreign_join(t, limit, on=lambda wind: "limit"), lambda pair: pair[0] <= pair[1])
    assert values(run(checked, [(t, Update("N", 50)), (t, Update("N", 45))])) == [Update("N", False), Update("N", True)]


@pytest.mark.parametrize("key", ["mmsi", lambda ship: ship.mmsi])
def test_a_table_of_plain_values_takes_their_key_from_them(key):
    xs = Reactive("xs")
    draughts = map_table(to_table(xs, key=key), lambda ship: ship.draught)
    trace = [("A", 9), ("B", 9), ("A", 9), ("A", 8)]
    steps = emitted(draughts, *((xs, {"mmsi": mmsi, "draught": draught}) for mmsi, draught in trace))
    assert steps == [[Update("A", 9)], [Update("B", 9)], [], [Update("A", 8)]]


# ------------------------------------------------------------------------ streams as tables of one row (B8)

xs, ys = Reactive("xs"), Reactive("ys")
STREAM = st.lists(st.sampled_from([0, 1, 2, 3, True]), max_size=14)


def scan(stream, initial, combine):
    return update_stream(combine_updates(table_of_latest(stream), initial, combine))


def zip_(one, other):
    return update_stream(inner_join(table_of_latest(one), table_of_latest(other)))


def skip_while(stream, predicate):
    # Some(x) is (x,): the state may be None, which is a row as any other.
    state = combine_updates(
        table_of_latest(stream), None, lambda some, x: None if some is None and predicate(x) else (x,)
    )
    return map_(filter_(update_stream(state), lambda some: some is not None), lambda some: some[0])


def rolling(stream, n):
    return scan(stream, [], lambda kept, x: [*kept, x][-n:])


def key_by(stream, key):
    return to_table(map_(stream, lambda x: Update(key(x), x)))


def group_by(stream, key, initial=(), combine=lambda kept, x: [*kept, x]):
    return combine_updates(key_by(stream, key), initial, combine)


def without_repeats(trace, key=lambda x: 0):
    """A trace without those that equal the last one of their key."""
    last, kept = {}, []
    for x in trace:
        if last.get(key(x)) != exact(x):
            kept.append(x)
            last[key(x)] = exact(x)
    return kept


def outputs(stream, trace, source=xs):
    return values(run(stream, [(source, x) for x in trace]))


def append(kept, x):
    return (*kept, x)


def add(total, x):
    return total + x


@given(trace=STREAM)
def test_table_of_latest_and_update_stream_are_inverses(trace):
    there_and_back = update_stream(table_of_latest(xs))
    assert exact(outputs(there_and_back, trace)) == exact(without_repeats(trace))
    # And of a table that has but the one row:
    singleton = combine_updates(table_of_latest(xs), (), append)
    back_and_there = table_of_latest(update_stream(singleton))
    assert exact(outputs(back_and_there, trace)) == exact(outputs(singleton, trace))
    engine = Engine(singleton, back_and_there)
    for x in trace:
        engine.push(xs, x)
        assert is_same(engine.query(back_and_there), engine.query(singleton))


@given(trace=STREAM.map(without_repeats))
def test_scan_is_a_fold_of_the_one_row(trace):
    assert exact(outputs(scan(xs, (), append), trace)) == exact(outputs(streams.scan(xs, append, initial=()), trace))
    # A fold may stay equal, which is no change of a table.
    sums = outputs(streams.scan(xs, add, initial=0), trace)
    assert outputs(scan(xs, 0, add), trace) == without_repeats(sums)


@given(trace=st.lists(st.tuples(st.sampled_from([xs, ys]), st.sampled_from([0, 1, True])), max_size=14))
def test_zip_is_a_join_of_the_two_rows(trace):
    trace = without_repeats(trace, key=lambda push: push[0])
    assert exact(values(run(zip_(xs, ys), trace))) == exact(values(run(combine_latest(xs, ys), trace)))


@given(trace=STREAM.map(without_repeats), n=st.integers(0, 3))
def test_skip_while_is_a_fold_filtered_and_mapped(trace, n):
    def is_small(x):
        return x < n

    assert exact(outputs(skip_while(xs, is_small), trace)) == exact(outputs(streams.skip_while(xs, is_small), trace))


@given(trace=STREAM.map(without_repeats), n=st.integers(1, 3))
def test_rolling_is_a_fold_that_drops_the_oldest(trace, n):
    assert exact(outputs(rolling(xs, n), trace)) == exact(outputs(streams.rolling(xs, n), trace))


@given(trace=st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 1, True])), max_size=14))
def test_group_by_is_key_by_and_a_fold(trace):
    trace = without_repeats(trace, key=lambda x: x[0])
    gathered = streams.group_by(xs, lambda x: x[0])
    assert exact(outputs(group_by(xs, lambda x: x[0]), trace)) == exact(outputs(gathered, trace))

    def total(so_far, x):
        return so_far + x[1]

    folded = streams.group_by(xs, lambda x: x[0], combine=total, initial=0)
    assert exact(outputs(group_by(xs, lambda x: x[0], 0, total), trace)) == exact(outputs(folded, trace))


def test_a_table_does_not_see_a_value_come_twice_where_a_stream_does():
    assert outputs(streams.scan(xs, add, initial=0), [1, 1, 2]) == [1, 2, 4]
    assert outputs(scan(xs, 0, add), [1, 1, 2]) == [1, 3]
    assert outputs(streams.rolling(xs, 2), [1, 1]) == [[1], [1, 1]]
    assert outputs(rolling(xs, 2), [1, 1]) == [[1]]
    assert outputs(streams.skip_while(xs, lambda x: x < 2), [1, 2, 2]) == [2, 2]
    assert outputs(skip_while(xs, lambda x: x < 2), [1, 2, 2]) == [2]
    assert values(run(combine_latest(xs, ys), [(xs, 1), (ys, 1), (xs, 1)])) == [(1, 1), (1, 1)]
    assert values(run(zip_(xs, ys), [(xs, 1), (ys, 1), (xs, 1)])) == [(1, 1)]
    assert outputs(streams.group_by(xs, lambda x: x % 2), [1, 1]) == [Update(1, [1]), Update(1, [1, 1])]
    assert outputs(group_by(xs, lambda x: x % 2), [1, 1]) == [Update(1, [1])]


def test_scan_emits_nothing_before_its_first_input():
    engine = Engine(scan(xs, 0, add))
    assert engine.advance(5) == []
    assert values(engine.push(xs, 0)) == [0]


# ---------------------------------------------------------------------------------- many tables in one pattern

ints = st.integers(0, 2)
THREE = st.lists(
    st.tuples(ints, st.one_of(st.builds(Update, ints, st.sampled_from([0, 1, 2, None])), st.builds(Delete, ints))),
    max_size=16,
)


@given(trace=THREE)
def test_a_join_of_three_tables_is_one_pattern(trace):
    inputs = a, b, c = [Reactive(name, table=True) for name in "abc"]
    pattern = correlate(
        x=a,
        y=b,
        z=c,
        where=lambda x, y, z, *, key_x, key_y, key_z: (key_x == key_y) & (key_y == key_z),
        yields=lambda x, y, z: (x, y, z),
        restrict=retracting() | as_table("x"),
    )
    chain = inner_join(inner_join(a, b), c)
    engine, rows, table = Engine(pattern, chain), [{}, {}, {}], {}
    for number, change in trace:
        events = engine.push(inputs[number], change)
        apply(rows[number], change)
        expected = {key: tuple(row[key] for row in rows) for key in rows[0] if key in rows[1] and key in rows[2]}
        check_changes(table, [event.value for event in events if event.reactive == pattern.name])
        assert is_same(table, expected)
        assert is_same({key: (x, y, z) for key, ((x, y), z) in engine.query(chain).items()}, expected)


SENSORS = {0: 0.0, 1: 4.0, 2: 9.0}
"""Where each sensor is."""


def nearest_sensor(position):
    return min(SENSORS, key=lambda sensor: abs(SENSORS[sensor] - position))


def placed(trace):
    """The same trace, but berths (the second table) have positions."""
    positions = {0: 1.0, 1: 3.0, 2: 8.0, None: 5.0}
    return [
        (n, Update(change.key, positions[change.value])) if n == 1 and isinstance(change, Update) else (n, change)
        for n, change in trace
    ]


@given(trace=THREE.map(placed))
def test_a_chain_of_foreign_keys_is_one_pattern(trace):
    """Vessel → berth → its nearest sensor → tide; the sensor is made of the berth, so both change in one step."""
    inputs = vessels, berths, tides = [Reactive(name, table=True) for name in ("vessels", "berths", "tides")]
    nearest = map_table(berths, nearest_sensor)
    pattern = correlate(
        vessel=vessels,
        berth=berths,
        sensor=nearest,
        tide=tides,
        where=lambda vessel, berth, sensor, tide, *, key_berth, key_sensor, key_tide: (
            (vessel == key_berth) & (key_berth == key_sensor) & (sensor == key_tide)
        ),
        yields=lambda vessel, berth, sensor, tide: (vessel, berth, sensor, tide),
        restrict=retracting() | as_table("vessel"),
    )
    by_joins = foreign_join(vessels, foreign_join(nearest, tides, on=lambda sensor: sensor), on=lambda vessel: vessel)
    engine, rows, table = Engine(pattern, by_joins), [{}, {}, {}], {}
    for number, change in trace:
        events = engine.push(inputs[number], change)
        apply(rows[number], change)
        expected = {
            key: (berth, position, sensor, tide)
            for (key, berth), (at, position), (sensor, tide) in product(*(row.items() for row in rows))
            if berth == at and nearest_sensor(position) == sensor
        }
        check_changes(table, [event.value for event in events if event.reactive == pattern.name])
        assert is_same(table, expected)
        assert is_same(engine.query(pattern), expected)
        shown = {key: (berth, sensor, tide) for key, (berth, _, sensor, tide) in expected.items()}
        found = {key: (berth, sensor, tide) for key, (berth, (sensor, tide)) in engine.query(by_joins).items()}
        assert is_same(found, shown)


# ------------------------------------------------------------------------------------------------ Figure 3.1 (B6)

vessel, tide = Reactive("vessel", table=True), Reactive("tide")
FIGURE_3_1: list[tuple[Reactive, Any]] = [(tide, 2), (vessel, Update("A", 9)), (vessel, Update("B", 9)), (tide, -2)]


def test_figure_3_1_of_two_streams_the_last_ship_alone_is_warned():
    draught = Reactive("draught")
    allowed = map_(combine_latest(draught, tide), lambda pair: pair[0] - pair[1] < 10)
    assert emitted(allowed, (tide, 2), (draught, 9), (draught, 9), (tide, -2)) == [[], [True], [True], [False]]


@pytest.mark.parametrize("spelling", ["a pattern", "joins"])
def test_figure_3_1_of_a_table_of_ships_both_are_warned(spelling):
    if spelling == "a pattern":
        allowed = correlate(
            ship=vessel,
            height=tide,
            yields=lambda ship, height: ship - height < 10,
            restrict=retracting() | most_recently("height") | as_table("ship"),
        )
    else:  # L16: join and map
        only_tide = key_by(tide, lambda height: "tide")
        allowed = map_table(
            foreign_join(vessel, only_tide, on=lambda draught: "tide"), lambda pair: pair[0] - pair[1] < 10
        )
    steps = emitted(allowed, *FIGURE_3_1)
    assert steps[:3] == [[], [Update("A", True)], [Update("B", True)]]
    assert as_mapping(steps[3]) == as_mapping([Update("A", False), Update("B", False)])
    steps = emitted(allowed, *FIGURE_3_1, (vessel, Delete("A")), (tide, 2))
    assert steps[4:] == [[Delete("A")], [Update("B", True)]]  # a ship that has left is not warned any more
