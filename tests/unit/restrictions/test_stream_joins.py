"""The joins and groups of streams, by example; `tests/oracle/test_streams.py` compares them with RxPY."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, run
from cartesius.errors import InvalidArgument
from restrictions import streams
from restrictions.streams import interval_join
from tests.unit.restrictions.stream_examples import fails, values

# --------------------------------------------------------------------------------- join, group_join, interval_join


def at_ticks(output, trace, *, until):
    """(tick, value) of all that comes out while the clock is advanced to every tick; a payload of None is the end."""
    engine = Engine(output)
    out = []
    for tick in range(until + 1):
        out += [(tick, event.value) for event in engine.advance(tick)]
        for reactive, payload, time in trace:
            if time == tick:
                events = engine.end(reactive) if payload is None else engine.push(reactive, payload, at=time)
                out += [(tick, event.value) for event in events]
    return out, engine


def test_join_pairs_what_is_live_together_both_ends_included(xs, ys):
    trace = [(xs, "x", 2), (ys, "a", 0), (ys, "b", 1), (ys, "c", 5), (ys, "d", 6)]
    out, _ = at_ticks(streams.join(xs, ys, 3, 1), trace, until=10)
    assert out == [(2, ("x", "b")), (5, ("x", "c"))]


def test_join_gives_the_pairs_of_one_arrival_in_the_order_in_which_the_others_came(xs, ys):
    trace = [(xs, 1, 0), (xs, 2, 1), (xs, 3, 2), (ys, "y", 3)]
    out, _ = at_ticks(streams.join(xs, ys, 9, 9), trace, until=4)
    assert [value for _, value in out] == [(1, "y"), (2, "y"), (3, "y")]


def test_what_has_expired_leaves_the_memory_of_a_join(xs, ys):
    _, engine = at_ticks(streams.join(xs, ys, 2, 0), [(xs, 1, 0), (ys, 2, 1), (xs, 3, 2)], until=4)
    assert engine.stats.retained == 1
    engine.advance(5)
    assert engine.stats.retained == 0


def test_what_has_expired_leaves_the_memory_of_a_group_join(xs, ys):
    _, engine = at_ticks(streams.group_join(xs, ys, 2, 1), [(xs, 1, 0), (ys, 2, 1), (ys, 3, 4)], until=4)
    assert engine.stats.retained <= 1
    engine.advance(6)
    assert engine.stats.retained == 0


def test_join_completes_when_a_side_has_ended_and_nothing_of_it_is_live(xs, ys):
    _, engine = at_ticks(streams.join(xs, ys, 2, 2), [(xs, 1, 0), (xs, None, 1)], until=2)
    assert not engine.done
    engine.advance(3)
    assert engine.done
    _, engine = at_ticks(streams.join(xs, ys, 2, 2), [(ys, None, 0)], until=0)
    assert engine.done


def test_join_completes_when_both_sides_have_ended(xs, ys):
    _, engine = at_ticks(streams.join(xs, ys, 9, 9), [(xs, 1, 0), (ys, 1, 0), (xs, None, 1), (ys, None, 2)], until=2)
    assert engine.done


def test_group_join_gives_each_left_with_all_the_rights_that_were_live_with_it(xs, ys):
    trace = [(ys, "a", 0), (xs, 1, 1), (ys, "b", 2), (xs, 2, 3), (ys, "c", 4), (ys, "d", 9)]
    out, _ = at_ticks(streams.group_join(xs, ys, 2, 1), trace, until=12)
    assert out == [(4, (1, ["a", "b"])), (6, (2, ["b", "c"]))]


def test_group_join_gives_an_empty_list_to_a_left_that_was_alone(xs, ys):
    out, _ = at_ticks(streams.group_join(xs, ys, 2, 1), [(xs, 1, 0), (ys, "a", 3)], until=4)
    assert out == [(3, (1, []))]


def test_group_join_ends_when_the_left_has_and_all_groups_have_been_given(xs, ys):
    engine = Engine(streams.group_join(xs, ys, 2, 2))
    engine.push(xs, 1, at=0)
    engine.push(ys, "a", at=0)
    engine.end(xs)
    assert not engine.done
    assert values(engine.advance(3)) == [(1, ["a"])]
    assert engine.done


def test_closing_the_engine_gives_the_groups_that_are_open(xs, ys):
    engine = Engine(streams.group_join(xs, ys, 9, 9))
    engine.push(xs, 1, at=0)
    engine.push(ys, "a", at=1)
    assert values(engine.close()) == [(1, ["a"])]
    assert engine.done


def test_interval_join_pairs_within_the_bounds_inclusive(xs, ys):
    output = streams.interval_join(xs, ys, -1, 2)
    trace = [(xs, "x", 5), *((ys, time, time) for time in range(3, 9))]
    assert sorted(values(run(output, trace))) == [("x", 4), ("x", 5), ("x", 6), ("x", 7)]


def test_interval_join_does_not_mind_the_order_of_arrival(xs, ys):
    output = streams.interval_join(xs, ys, -1, 2)
    trace = [*((ys, time, time) for time in (8, 3, 7, 4)), (xs, "x", 5), (ys, 6, 6), (ys, 5, 5), (ys, 9, 9)]
    assert sorted(values(run(output, trace))) == [("x", 4), ("x", 5), ("x", 6), ("x", 7)]


def test_interval_join_compares_ends_and_gives_the_hull_of_the_two(xs, ys):
    (event,) = run(streams.interval_join(xs, ys, 0, 1), [(xs, "x", (1, 9)), (ys, "y", (2, 10)), (ys, "z", (2, 4))])
    assert (event.value, event.start, event.end) == (("x", "y"), 1, 10)


@pytest.mark.parametrize(("lower", "upper"), [(1, 2), (-2, -1), (0, 0), (-3, 3)])
def test_entries_of_an_interval_join_expire_with_the_clock_and_not_before_they_may(xs, ys, lower, upper):
    engine = Engine(streams.interval_join(xs, ys, lower, upper))
    engine.push(xs, "x", at=10)
    engine.advance(max(10, 10 + upper))
    paired = engine.push(ys, "y", at=10 + upper) if upper >= 0 else []
    assert values(paired) == ([("x", "y")] if upper >= 0 else [])
    engine.advance(10 + max(upper, 0) - min(lower, 0) + max(upper, 0) + 1)
    assert engine.stats.retained == 0


# ------------------------------------------------------------------------------------------ group_by, stream_table_join


def folded(trace, key, combine, initial):
    """What a dict and a loop make of a stream: the fold of each key, after each event."""
    folds, changes = {}, []
    for value in trace:
        before = folds.get(key(value), initial)
        folds[key(value)] = combine(before, value)
        if folds[key(value)] != before or key(value) not in {change.key for change in changes}:
            changes.append(Update(key(value), folds[key(value)]))
    return changes


@given(trace=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=12))
def test_group_by_folds_the_values_of_each_key(trace):
    xs = Reactive("xs")
    totals = streams.group_by(xs, lambda x: x[0], combine=lambda total, x: total + x[1], initial=0)
    expected = folded(trace, lambda x: x[0], lambda total, x: total + x[1], 0)
    assert values(run(totals, [(xs, value) for value in trace])) == expected


@given(trace=st.lists(st.integers(0, 5), max_size=10))
def test_group_by_gathers_lists_without_a_function_and_can_be_queried(trace):
    xs = Reactive("xs")
    groups = streams.group_by(xs, lambda x: x % 2)
    engine = Engine(groups)
    for value in trace:
        engine.push(xs, value)
    assert engine.query(groups) == {
        key: [value for value in trace if value % 2 == key] for key in (0, 1) if any(v % 2 == key for v in trace)
    }


def test_several_events_of_one_step_change_each_group_once_in_order():
    xs = Reactive("xs")
    groups = streams.group_by(streams.map_concat(xs, list), lambda x: x, combine=lambda n, _: n + 1, initial=0)
    engine = Engine(groups)
    assert values(engine.push(xs, "aab")) == [Update("a", 2), Update("b", 1)]
    assert values(engine.push(xs, "ba")) == [Update("b", 2), Update("a", 3)]


def test_group_by_refuses_an_initial_fold_without_a_function_and_a_key_that_is_none():
    xs = Reactive("xs")
    fails("group_by", lambda: streams.group_by(xs, "k", initial=0))
    seven: Any = 7
    fails("group_by", lambda: streams.group_by(xs, seven))
    fails("group_by", lambda: streams.group_by(xs, "k", combine=seven))


def on_text(value):
    return str(value["k"])


@given(
    trace=st.lists(st.tuples(st.sampled_from(["push", "update", "delete"]), st.integers(0, 2)), max_size=14),
    how=st.sampled_from(["inner", "left"]),
    on=st.sampled_from(["k", lambda value: value.k, on_text]),
)
def test_stream_table_join_looks_the_row_up_as_it_is_now(trace, how, on):
    xs, table = Reactive("xs"), Reactive("table", table=True)
    engine = Engine(streams.stream_table_join(xs, table, on=on, how=how))
    rows: dict[object, int] = {}
    for number, (what, k) in enumerate(trace):
        key = str(k) if on is on_text else k
        if what == "push":
            got = [(x["n"], row) for x, row in values(engine.push(xs, {"k": k, "n": number}))]
            assert got == ([(number, rows.get(key))] if how == "left" or key in rows else [])
        elif what == "update":
            rows[key] = number
            assert engine.push(table, Update(key, number)) == []
        else:
            rows.pop(key, None)
            assert engine.push(table, Delete(key)) == []
        assert engine.stats.retained == len(rows)


@pytest.mark.parametrize("how", ["outer", None, ["left"], {"left"}])
def test_interval_join_refuses_a_side_that_is_none(xs, ys, how):
    fails("interval_join", lambda: streams.interval_join(xs, ys, 0, 1, how=how))


def test_stream_table_join_refuses_what_it_cannot_join():
    xs, table = Reactive("xs"), Reactive("table", table=True)
    fails("stream_table_join", lambda: streams.stream_table_join(xs, xs, on="k"))
    fails("stream_table_join", lambda: streams.stream_table_join(table, table, on="k"))
    fails("stream_table_join", lambda: streams.stream_table_join(xs, table, on="k", how="outer"))
    seven: Any = 7
    fails("stream_table_join", lambda: streams.stream_table_join(xs, table, on=seven))


def test_bounds_of_two_kinds_are_compared_once_the_unit_is_known():
    """An hour was taken for microseconds before any engine was made, so that -5 … -1 in hours were refused."""
    hour, left, right = timedelta(hours=1), Reactive("left"), Reactive("right")
    pairs = interval_join(left, right, -5, -hour)
    engine = Engine(pairs, unit=hour)
    trace = [(left, "a", 10), (right, "b", 7), (right, "c", 9), (right, "d", 10)]
    events = [event for source, value, at in trace for event in engine.push(source, value, at=at)]
    assert [event.value for event in events] == [("a", "b"), ("a", "c")]
    assert Engine.restore(engine.snapshot(), pairs, unit=hour).snapshot() == engine.snapshot()
    with pytest.raises(InvalidArgument, match="expected lower ≤ upper but got lower=3600000000, upper=5"):
        Engine(interval_join(left, right, hour, 5))


@pytest.mark.parametrize("is_left", [True, False])
def test_what_has_always_been_so_opens_no_group_and_is_in_none(xs, ys, is_left):
    always = streams.merge(streams.now("always"), xs)
    grouped = streams.group_join(always, ys, 2, 1) if is_left else streams.group_join(ys, always, 2, 1)
    with pytest.raises(InvalidArgument, match=r"grouping.*: expected events of a time"):
        Engine(grouped).push(ys, 1, at=1)
