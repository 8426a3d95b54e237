"""Laws of tables and streams, and streams as tables of one row (SOURCES B7, B8)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, run
from restrictions import streams
from restrictions.streams import combine_latest, filter_, map_
from restrictions.tables import (
    changelog,
    combine_updates,
    foreign_join,
    inner_join,
    map_table,
    table_of_latest,
    to_table,
    update_stream,
)
from tests.oracle.algebra_checks import emitted, key_by, t, values
from tests.oracle.algebra_draws import KEYS
from tests.oracle.algebra_oracle import (
    apply,
    exact,
    is_same,
)

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
