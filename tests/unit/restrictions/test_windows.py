"""Windows, one sentence at a time: which there are, one join a window, and keys (SEMANTICS 3.2, 3.4 and 3.9)."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from cartesius import Engine, Reactive, Update, Window, correlate, run
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    every_nth,
    first_match,
    fixed,
    in_event_time,
    key_by,
    most_recently,
    only,
    optionally,
    retracting,
    sliding,
    take,
    tumbling,
    windowed,
)
from restrictions.windows import (
    accumulated,
    final,
    on_close,
    on_content_change,
    periodic,
)
from tests.unit.restrictions.window_examples import do, follow, left, level, of, pairs_in, right, seen_in, values


def windows_of(restrict, at):
    return [(start, end) for _, start, end in values(Engine(seen_in(restrict)).push(level, "a", at=at))]


# ---------------------------------------------------------------------------------------------- which windows there are


@pytest.mark.parametrize(
    ("restrict", "at", "windows"),
    [
        (tumbling(10), 0, [(0, 10)]),
        (tumbling(10), 9, [(0, 10)]),
        (tumbling(10), 10, [(10, 20)]),
        (tumbling(10), -1, [(-10, 0)]),
        (tumbling(10), -10, [(-10, 0)]),
        (tumbling(10, offset=3), 2, [(-7, 3)]),
        (tumbling(10, offset=3), 3, [(3, 13)]),
        (tumbling(10, offset=-25), 4, [(-5, 5)]),
        (sliding(10, 5), 12, [(5, 15), (10, 20)]),
        (sliding(10, 5), -3, [(-10, 0), (-5, 5)]),
        (sliding(10, 4), 0, [(-8, 2), (-4, 6), (0, 10)]),
        (sliding(10, 5, offset=2), 1, [(-8, 2), (-3, 7)]),
        (sliding(10, 5, t0=3), 2, []),
        (sliding(10, 5, t0=3), 3, [(3, 13)]),
        (sliding(10, 5, t0=3), 9, [(3, 13), (8, 18)]),
        (sliding(5, 10), 4, [(0, 5)]),
        (sliding(5, 10), 5, []),
        (sliding(5, 10), 9, []),
        (fixed(3, 7), 2, []),
        (fixed(3, 7), 3, [(3, 7)]),
        (fixed(3, 7), 6, [(3, 7)]),
        (fixed(3, 7), 7, []),
        (fixed(-7, -3), -4, [(-7, -3)]),
        (windowed(lambda event: [Window(event.start - 1, event.end + 1)]), 5, [(4, 6)]),
        (windowed(lambda event: [(event.start, event.end + 3), (0, 99)]), 5, [(0, 99), (5, 8)]),
        (windowed(lambda event: []), 5, []),
    ],
    ids=repr,
)
def test_an_event_is_in_the_windows_whose_start_is_not_after_it_and_whose_end_is(restrict, at, windows):
    assert windows_of(restrict, at) == windows


@pytest.mark.parametrize(
    ("interval", "windows"),
    [
        ((3, 9), [(0, 10)]),
        ((0, 9), [(0, 10)]),
        ((3, 10), []),
        ((-1, 3), []),
        ((0, 0), [(0, 10)]),
        ((-10, -1), [(-10, 0)]),
    ],
)
def test_an_interval_is_in_a_window_that_wholly_contains_it_and_ends_after_it(interval, windows):
    assert windows_of(tumbling(10), interval) == windows


def test_an_interval_is_in_those_of_the_sliding_windows_that_contain_all_of_it():
    assert windows_of(sliding(10, 5), (6, 11)) == [(5, 15)]
    assert windows_of(sliding(10, 5), (4, 11)) == []


def test_durations_may_be_timedeltas():
    day = timedelta(days=1)
    seen = seen_in(sliding(2 * day, day, offset=timedelta(hours=12)))
    engine = Engine(seen, unit=timedelta(hours=1))
    assert values(engine.push(level, "a", at=13)) == [("a", -12, 36), ("a", 12, 60)]


def test_a_sliding_window_whose_period_is_its_size_is_a_tumbling_one():
    for at in range(-12, 12):
        assert windows_of(sliding(7, 7), at) == windows_of(tumbling(7), at)


def test_the_windows_of_tumbling_given_by_a_function_are_tumbling():
    def tens(event):
        start = event.start // 10 * 10
        return [(start, start + 10)] if event.end < start + 10 else []

    for at in [*range(-12, 12), (3, 9), (3, 10)]:
        assert windows_of(windowed(tens), at) == windows_of(tumbling(10), at)


def test_fixed_sees_what_only_lets_through_whose_time_is_in_it():
    trace = [
        (left, "a", 0),
        (right, "p", 1),
        (left, "b", 1),
        (right, "x", (3, 30)),
        (right, "y", (3, 31)),
        (left, "c", 31),
    ]
    seen = values(run(cartesian(left, right, restrict=fixed(1, 31)), trace))
    assert seen == [("b", "p"), ("b", "x")]


# ---------------------------------------------------------------------------------------------------- one join a window


def test_events_meet_only_in_a_window_and_in_each_that_they_share():
    trace = [(left, "a", 4), (right, "x", 6), (left, "b", 11)]
    assert values(run(pairs_in(tumbling(5)), trace)) == []
    assert values(run(pairs_in(sliding(10, 5)), trace)) == [("a", "x", 0), ("b", "x", 5)]


def test_what_one_event_gives_comes_window_by_window_ascending():
    seen = correlate(x=level, y=level, yields=lambda x, y, window: (window.start, x, y), restrict=sliding(10, 5))
    assert follow(seen, (level, "a", 7), (level, "b", 6)) == [
        [(0, "a", "a"), (5, "a", "a")],
        [(0, "b", "b"), (0, "b", "a"), (0, "a", "b"), (5, "b", "b"), (5, "b", "a"), (5, "a", "b")],
    ]


def test_candidates_come_newest_first_as_without_windows():
    trace = [(left, 1, 1), (left, 2, 2), (left, 3, 3), (right, "x", 4)]
    assert values(run(cartesian(left, right, restrict=tumbling(10)), trace)) == [(3, "x"), (2, "x"), (1, "x")]
    assert values(run(cartesian(left, right, restrict=tumbling(10, report=on_close)), trace, close=True)) == [
        (3, "x"),
        (2, "x"),
        (1, "x"),
    ]


def test_uses_are_counted_in_each_window():
    trace = [(left, "a", 6), (right, "x", 7), (right, "y", 8), (right, "z", 12)]
    assert values(run(pairs_in(sliding(10, 5) | affinely("x")), trace)) == [("a", "x", 0), ("a", "x", 5)]


def test_the_most_recent_event_is_that_of_each_window():
    trace = [(left, "a", 6), (left, "b", 11), (right, "x", 8)]
    assert values(run(pairs_in(sliding(10, 5) | most_recently("x")), trace)) == [("a", "x", 0), ("b", "x", 5)]


def test_a_gate_holds_the_events_of_each_window_apart():
    zipped = pairs_in(tumbling(10) | most_recently("x", "y") | aligning("x", "y"))
    assert follow(zipped, (left, "a", 1), (left, "b", 11), (right, "x", 12), (right, "y", 2)) == [
        [],
        [],
        [("b", "x", 10)],
        [("a", "y", 0)],
    ]


def test_what_is_held_by_a_gate_in_a_window_goes_with_it():
    engine = Engine(pairs_in(tumbling(10) | aligning("x", "y")))
    engine.push(left, "a", at=1)
    engine.push(left, "b", at=11)
    assert (engine.stats.retained, engine.stats.waiting) == (0, 2)
    assert engine.advance(10) == []
    assert (engine.stats.retained, engine.stats.waiting) == (0, 1)


@pytest.mark.parametrize("report", [on_content_change, on_close])
def test_restrictions_without_slots_have_a_copy_a_window_right_of_it_and_are_common_left_of_it(report):
    trace = [(level, n, n) for n in (1, 2, 3, 11, 12, 13)]
    for inside, seen in [(take(2), [1, 2, 11, 12]), (every_nth(3), [3, 13]), (take(2, "x"), [1, 2, 11, 12])]:
        output = correlate(x=level, yields=lambda x: x, restrict=tumbling(10, report=report) | inside)
        assert values(run(output, trace, close=True)) == seen
    output = correlate(x=level, yields=lambda x: x, restrict=take(2, "x") | tumbling(10, report=report))
    assert values(run(output, trace, close=True)) == [1, 2]


def test_first_match_gives_one_a_window():
    trace = [(left, "a", 6), (left, "b", 7), (right, "x", 8)]
    assert values(run(pairs_in(sliding(10, 5) | first_match()), trace)) == [("b", "x", 0), ("b", "x", 5)]


def test_first_match_asks_no_more_candidates_than_without_windows():
    """SEMANTICS 1.4: enumeration is lazy."""
    engine = Engine(pairs_in(sliding(10, 5) | first_match()))
    for n in range(10):
        engine.push(left, n, at=6)
    engine.push(right, "x", at=7)
    assert engine.stats.tuples == 2


def test_a_self_join_in_a_window_takes_one_event_as_one_batch():
    for report in (on_content_change, on_close, final, periodic(5)):
        restrict = tumbling(10, report=report) | most_recently("x", "y")
        twice = correlate(x=level, y=level, yields=lambda x, y: (x, y), restrict=restrict)
        assert values(run(twice, [(level, 1, 1), (level, 2, 2)], close=True)) == [(1, 1), (2, 2)]


def test_a_missing_part_is_missing_in_its_window():
    pairs = correlate(
        x=left,
        y=right,
        yields=lambda x, y, window: (x, y, window.start),
        restrict=tumbling(10) | optionally("y") | retracting(),
    )
    engine = Engine(pairs)
    seen = [
        [(event.value, event.weight) for event in engine.push(source, value, at=at)]
        for source, value, at in [(left, "a", 1), (left, "b", 11), (right, "x", 12)]
    ]
    assert seen == [[(("a", None, 0), 1)], [(("b", None, 10), 1)], [(("b", None, 10), -1), (("b", "x", 10), 1)]]


# --------------------------------------------------------------------------------------------------------- the variable


def test_the_window_is_an_implicit_variable_of_where_yields_and_bodies():
    @correlate(x=level, restrict=tumbling(10))
    def direct(x, *, window):
        yield x, window.start, window.end

    traced = correlate(
        x=level,
        where=lambda x, *, window: window.start == 0,
        yields=lambda x, window: (x, window.start, window.end),
        restrict=tumbling(10),
    )
    trace = [(level, "a", 4), (level, "b", 14)]
    assert values(run(direct, trace)) == [("a", 0, 10), ("b", 10, 20)]
    assert values(run(traced, trace)) == [("a", 0, 10)]
    assert "(x, window.start, window.end,)" in Engine(traced).explain()


def test_the_window_is_part_of_a_results_identity():
    """Two equal results of one event in two windows are two: what one takes back the other keeps."""
    inner = correlate(x=level, yields=lambda x: x, restrict=sliding(10, 5, on_leave="displace") | retracting())
    outer = correlate(y=inner, yields=lambda y: y, restrict=retracting())
    engine = Engine(outer)
    assert [(event.value, event.weight) for event in engine.push(level, "a", at=7)] == [("a", 1), ("a", 1)]
    assert [(event.value, event.weight) for event in engine.advance(10)] == [("a", -1)]
    assert engine.stats.slots[inner.name, "x"] == (1, 0)
    assert [(event.value, event.weight) for event in engine.advance(15)] == [("a", -1)]


def test_a_window_holds_what_it_wholly_contains():
    assert (Window(0, 10).holds(0, 9), Window(0, 10).holds(0, 10), Window(0, 10).holds(-1, 9)) == (True, False, False)
    assert Window(3).holds(3, 10**9)


# ----------------------------------------------------------------------------------------------------------------- keys


def test_keyed_windows_are_the_same_spans_for_each_key():
    pairs = correlate(
        x=left,
        y=left,
        where=lambda x, y: x.n < y.n,
        yields=lambda x, y, window: (x.n, y.n, window.start),
        restrict=key_by(x="user", y="user") | tumbling(10),
    )
    trace = [of("A", 1, 1), of("B", 2, 2), of("A", 3, 3), of("B", 4, 11), of("B", 5, 12)]
    assert values(run(pairs, trace)) == [(1, 3, 0), (4, 5, 10)]


def test_slots_keyed_differently_meet_freely_in_a_window():
    vessels = correlate(
        v=left,
        w=right,
        yields=lambda v, w, window: (v.n, w.n, window.start),
        restrict=key_by(v="user") | key_by(w="user") | tumbling(10) | most_recently("v", "w"),
    )
    trace = [of("A", 1, 1), of("B", 2, 2), (right, {"user": "C", "n": 3}, 3), (right, {"user": "C", "n": 4}, 4)]
    assert Counter(values(run(vessels, trace))) == Counter([(1, 3, 0), (2, 3, 0), (1, 4, 0), (2, 4, 0)])


def test_a_slot_without_a_key_meets_all_keys_in_a_window():
    for restrict in (key_by(x=lambda x: x) | tumbling(10), tumbling(10) | key_by(x=lambda x: x)):
        pairs = pairs_in(restrict | most_recently("x", "y"))
        trace = [(left, 1, 1), (left, 2, 2), (right, "a", 3), (right, "b", 4), (right, "c", 12)]
        assert Counter(values(run(pairs, trace))) == Counter([(1, "a", 0), (2, "a", 0), (1, "b", 0), (2, "b", 0)])


def test_a_key_by_right_of_the_windows_keys_in_each_window():
    recent = pairs_in(tumbling(10, report=on_close) | key_by(x=lambda x: x, y=lambda y: y) | most_recently("x", "y"))
    trace = [(left, 1, 1), (left, 2, 2), (right, 1, 3), (left, 1, 4), (right, 2, 14)]
    assert values(run(recent, trace, close=True)) == [(1, 1, 0), (1, 1, 0)]


def test_a_slot_bound_to_a_table_is_in_no_window_and_its_rows_meet_all():
    ships = Reactive("ships", table=True)
    pairs = correlate(
        x=level,
        s=ships,
        yields=lambda x, s, window: (x, s, window.start),
        restrict=tumbling(10),
    )
    engine = Engine(pairs)
    engine.push(ships, Update("A", 1), at=0)
    assert values(engine.push(level, "a", at=5)) == [("a", 1, 0)]
    assert values(engine.push(ships, Update("B", 2), at=8)) == [("a", 2, 0)]
    engine.advance(40)
    assert values(engine.push(level, "b", at=41)) == [("b", 2, 40), ("b", 1, 40)]
    assert values(engine.push(ships, Update("B", 3), at=55)) == [("b", 3, 40)]
    engine.advance(60)
    assert engine.stats.slots[pairs.name, "s"] == (2, 0)
    assert engine.stats.slots[pairs.name, "x"] == (0, 0)


# --------------------------------------------------------------------------------------------------------- compositions


def test_windows_over_the_results_of_other_windows_of_the_same_size_lose_none():
    counted = cartesian(level, restrict=tumbling(10, content=accumulated(0, lambda n, _: n + 1), report=on_close))
    again = correlate(n=counted, yields=lambda n, window: (n[0], window.start), restrict=tumbling(10, report=on_close))
    for clocks in ([10, 20], [25], [9, 10], [11, 25]):
        engine = Engine(again)
        engine.push(level, "a", at=3)
        engine.push(level, "b", at=9)
        seen = [value for clock in clocks for value in values(engine.advance(clock))]
        assert Counter(seen) == Counter([(1, 0), (2, 0)])
        assert engine.late == []


def test_windows_over_a_combination_of_two_correlations():
    numbers = correlate(x=left, yields=lambda x: x + 1, restrict=only("x", lambda x: x > 0))
    sums = correlate(x=numbers, y=right, yields=lambda x, y, window: (x + y, window.start), restrict=tumbling(10))
    assert values(run(sums, [(left, 1, 1), (left, 0, 2), (right, 10, 3), (right, 20, 13), (left, 5, 14)])) == [
        (12, 0),
        (26, 10),
    ]


def test_what_a_source_takes_back_leaves_its_windows():
    table = Reactive("table", table=True)
    rows = correlate(r=table, yields=lambda r: r, restrict=retracting())
    pairs = correlate(
        x=rows, y=right, yields=lambda x, y, window: (x, y, window.start), restrict=sliding(10, 5) | retracting()
    )
    engine = Engine(pairs)
    steps = [(table, Update("k", 1), 6), (right, "a", 7), (table, Update("k", 2), 11), (right, "b", 12)]
    seen = [[(event.value, event.weight) for event in do(engine, step)] for step in steps]
    assert seen[:2] == [[], [((1, "a", 0), 1), ((1, "a", 5), 1)]]
    assert Counter(seen[2]) == Counter([((1, "a", 0), -1), ((1, "a", 5), -1), ((2, "a", 5), 1)])
    assert seen[3] == [((2, "b", 5), 1), ((2, "b", 10), 1)]
    assert engine.stats.slots[pairs.name, "x"] == (2, 0)


def test_what_a_source_takes_back_before_the_report_is_never_seen():
    table = Reactive("table", table=True)
    rows = correlate(r=table, yields=lambda r: r, restrict=retracting())
    seen = correlate(x=rows, yields=lambda x, window: (x, window.start), restrict=tumbling(10, report=on_close))
    engine = Engine(seen)
    engine.push(table, Update("k", 1), at=3)
    engine.push(table, Update("k", 2), at=5)
    assert values(engine.advance(10)) == [(2, 0)]


def test_what_a_source_takes_back_after_the_window_is_freed_changes_nothing():
    table = Reactive("table", table=True)
    rows = correlate(r=table, yields=lambda r: r, restrict=retracting())
    seen = correlate(x=rows, yields=lambda x, window: (x, window.start), restrict=tumbling(10) | retracting())
    engine = Engine(seen)
    engine.push(table, Update("k", 1), at=3)
    engine.advance(10)
    assert [(event.value, event.weight) for event in engine.push(table, Update("k", 2), at=12)] == [((2, 10), 1)]
    assert engine.late == []


# --------------------------------------------------------------------------------------- tables beside what windows see


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_a_row_that_a_gate_holds_is_in_no_window_and_keeps_none_open(tier):
    ship, report = Reactive("ship", table=True), Reactive("report")
    near = correlate(r=report, s=ship, yields=lambda r, s: (r, s), restrict=tumbling(10) | in_event_time(5))
    engine = Engine(near, tier=tier)
    engine.push(ship, Update("EVA", 9), at=1)
    engine.push(report, 1, at=2)
    assert values(engine.push(ship, Update("EVA", 8), at=11)) == [(1, 9)]  # it is held itself
    assert engine.advance(10) == []
    assert values(engine.push(report, 2, at=12) + engine.close()) == [(2, 8)]
    assert engine.stats.waiting == 0


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_a_row_of_a_table_that_waits_for_a_windows_event_is_a_row_of_no_window(tier):
    ship, report = Reactive("ship", table=True), Reactive("report")
    stack = tumbling(10) | optionally("r") | retracting() | as_table("s")
    engine = Engine(correlate(s=ship, r=report, yields=lambda s, r: (s, r), restrict=stack), tier=tier)
    assert values(engine.push(ship, Update("EVA", 9), at=1)) == [Update("EVA", (9, None))]
    assert values(engine.push(report, "moored", at=2)) == [Update("EVA", (9, "moored"))]
