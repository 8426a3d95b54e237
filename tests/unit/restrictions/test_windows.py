"""Windows, one sentence at a time: SEMANTICS 3.2, 3.4 and 3.9, SOURCES A10, A12 and D, in small examples."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any, cast

import pytest

from cartesius import Engine, Reactive, Update, Window, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    earliest,
    every_nth,
    fifo,
    first_match,
    fixed,
    key_by,
    most_recently,
    only,
    optionally,
    retracting,
    session,
    sliding,
    take,
    tumbling,
    versioned,
    windowed,
)
from restrictions.windows import (
    accumulated,
    dstream,
    filtered,
    final,
    first,
    istream,
    keeping,
    last,
    non_empty,
    on_close,
    on_content_change,
    periodic,
    rstream,
)

left, right, level = Reactive("left"), Reactive("right"), Reactive("level")


def seen_in(restrict, *sources):
    """Each event with the window that it is seen in: (value, start, end)."""
    return correlate(x=level, yields=lambda x, window: (x, window.start, window.end), restrict=restrict)


def pairs_in(restrict):
    return correlate(x=left, y=right, yields=lambda x, y, window: (x, y, window.start), restrict=restrict)


def values(events):
    return [event.value for event in events]


def windows_of(restrict, at):
    return [(start, end) for _, start, end in values(Engine(seen_in(restrict)).push(level, "a", at=at))]


def follow(output, *steps):
    """Push (input, value, at), and advance to a time; return the values of each step."""
    engine = Engine(output)
    return [values(do(engine, step)) for step in steps]


def do(engine, step):
    if isinstance(step, int):
        return engine.advance(step)
    source, value, at = step
    return engine.push(source, value, at=at)


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


# --------------------------------------------------------------------------------------------------- reported and freed


def test_a_window_is_closed_at_its_end_and_final_and_freed_when_the_lateness_is_over():
    steps = [(level, "a", 3), 9, 10, (level, "b", 4), 12, 13, (level, "c", 5)]
    for report, seen in [
        (on_content_change, [["a"], [], [], ["b"], [], [], []]),
        (on_close, [[], [], ["a"], ["b"], [], [], []]),
        (final, [[], [], [], [], [], ["a", "b"], []]),
    ]:
        output = correlate(x=level, yields=lambda x: x, restrict=tumbling(10, lateness=3, report=report))
        assert follow(output, *steps) == seen


@pytest.mark.parametrize("report", [on_content_change, on_close, final, on_close & non_empty])
def test_a_window_is_freed_exactly_when_its_lateness_is_over(report):
    engine = Engine(seen_in(tumbling(10, lateness=3, report=report)))
    engine.push(level, "a", at=3)
    assert engine.next_deadline == (13 if report in {on_content_change, final} else 10)
    engine.advance(12)
    assert (engine.stats.retained + engine.stats.waiting, engine.next_deadline) == (1, 13)
    engine.advance(13)
    assert engine.stats.retained + engine.stats.waiting == 0
    assert engine.next_deadline is None


def test_expiry_takes_no_result_back_unless_asked():
    for on_leave, taken in [("expire", []), ("displace", [("a", -1)])]:
        restrict = tumbling(10, on_leave=on_leave) | retracting()
        engine = Engine(correlate(x=level, yields=lambda x: x, restrict=restrict))
        engine.push(level, "a", at=3)
        assert [(event.value, event.weight) for event in engine.advance(10)] == taken


@pytest.mark.parametrize(("on_leave", "left_over"), [("expire", {"a": ("a", 1)}), ("displace", {})])
def test_a_table_over_windows_is_what_its_changes_say_also_when_a_window_is_freed(on_leave, left_over):
    restrict = tumbling(10, on_leave=on_leave) | retracting() | as_table(lambda value: value[0])
    table = correlate(x=level, yields=lambda x: (x, 1), restrict=restrict)
    engine, replayed = Engine(table), {}
    for step in [(level, "a", 3), 10, (level, "a", 13), (level, "b", 14), 20]:
        for event in do(engine, step):
            replayed.pop(event.value.key, None)
            if isinstance(event.value, Update):
                replayed[event.value.key] = event.value.value
        assert engine.query(table) == replayed
        if step == 10:
            assert replayed == left_over


def test_an_event_is_late_only_for_the_windows_that_are_freed():
    engine = Engine(seen_in(sliding(10, 5)))
    engine.advance(12)
    assert values(engine.push(level, "a", at=7)) == [("a", 5, 15)]
    assert engine.late == []
    assert engine.push(level, "b", at=4) == []
    ((event, slot, reason),) = engine.late
    assert (event.value, slot) == ("b", "x")
    assert "window" in reason


def test_a_late_event_that_opens_a_window_that_has_closed_is_seen_at_once():
    engine = Engine(seen_in(tumbling(5, report=on_close, lateness=3)))
    engine.advance(6)
    assert values(engine.push(level, "a", at=3)) == [("a", 0, 5)]
    assert engine.next_deadline == 8


def test_an_event_outside_all_windows_is_not_seen_and_not_late():
    engine = Engine(seen_in(fixed(3, 7)))
    engine.push(level, "a", at=2)
    engine.push(level, "b", at=7)
    assert (engine.stats.retained, engine.stats.waiting, engine.late) == (0, 0, [])


def test_windows_follow_the_clock_that_stays_behind_by_the_engines_lateness():
    engine = Engine(seen_in(tumbling(10, report=on_close)), lateness=2)
    assert values(engine.push(level, "a", at=3)) == []
    assert values(engine.push(level, "b", at=11)) == []
    assert values(engine.push(level, "c", at=9)) == []
    assert values(engine.push(level, "d", at=12)) == [("a", 0, 10), ("c", 0, 10)]


def test_the_end_reports_and_frees_all_windows_also_those_that_are_open():
    def open_for_ever(event):
        return [Window(event.start)]

    for restrict in (tumbling(10), tumbling(10, report=final, lateness=5), session(5), windowed(open_for_ever)):
        engine = Engine(seen_in(restrict))
        seen = values(engine.push(level, "a", at=3))
        assert [value for value, *_ in seen + values(engine.close())] == ["a"]
        assert (engine.stats.retained, engine.stats.waiting, engine.next_deadline) == (0, 0, None)
        assert engine.done


def test_periodic_reports_at_the_multiples_what_ended_before():
    seen = correlate(x=level, yields=lambda x, window: (x, window.start), restrict=tumbling(10, report=periodic(4)))
    steps = [(level, "a", 3), (level, "b", 4), 3, 4, 7, 8, (level, "c", 9), 20]
    assert follow(seen, *steps) == [[], [], [], [("a", 0)], [], [("b", 0)], [], []]


def test_an_advance_past_many_windows_reports_them_in_the_order_of_their_time():
    seen = correlate(x=level, yields=lambda x, window: (x, window.start), restrict=sliding(10, 5, report=on_close))
    engine = Engine(seen)
    for value, at in [("c", 12), ("a", 2), ("b", 7)]:
        engine.push(level, value, at=at)
    assert values(engine.advance(100)) == [("a", -5), ("a", 0), ("b", 0), ("c", 5), ("b", 5), ("c", 10)]


# ----------------------------------------------------------------------------------------------------------------- keys


def of(user, n, at):
    return (left, {"user": user, "n": n}, at)


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


# ------------------------------------------------------------------------------------------------------------- sessions


def sessions_of(events, restrict=None, *, until=1000):
    restrict = restrict or session(5)
    engine = Engine(seen_in(restrict))
    out = []
    for value, at in events:
        out += engine.push(level, value, at=at)
    return values([*out, *engine.advance(until)])


def test_a_session_ends_when_nothing_has_come_for_the_gap():
    assert sessions_of([("a", 0), ("b", 4), ("c", 20)]) == [("a", 0, 9), ("b", 0, 9), ("c", 20, 25)]


def test_sessions_that_touch_are_one():
    assert sessions_of([("a", 0), ("b", 5)]) == [("a", 0, 10), ("b", 0, 10)]
    assert sessions_of([("a", 0), ("b", 6)]) == [("a", 0, 5), ("b", 6, 11)]
    assert sessions_of([("a", (0, 3)), ("b", 8)]) == [("a", 0, 13), ("b", 0, 13)]


def test_an_event_between_two_sessions_makes_them_one():
    assert sessions_of([("a", 0), ("c", 9), ("b", 5)]) == [("a", 0, 14), ("c", 0, 14), ("b", 0, 14)]


def test_the_sessions_of_a_key_are_its_own():
    clicks = correlate(
        x=left,
        yields=lambda x, window: (x.n, window.start, window.end),
        restrict=key_by(x="user") | session(5),
    )
    trace = [of("A", 1, 0), of("B", 2, 3), of("A", 3, 7), of("B", 4, 8)]
    assert Counter(values(run(clicks, trace, close=True))) == Counter([(1, 0, 5), (2, 3, 13), (3, 7, 12), (4, 3, 13)])


def test_a_late_event_is_saved_by_a_session_that_is_not_freed():
    engine = Engine(seen_in(session(5, report=final)))
    engine.push(level, "b", at=10)
    engine.advance(12)
    engine.push(level, "a", at=5)
    engine.push(level, "c", at=4)  # it touches the session that "a" has made longer
    engine.advance(30)
    assert engine.late == []
    engine.push(level, "d", at=11)
    assert [event.value for event, _, _ in engine.late] == ["d"]


def test_results_of_a_session_that_changes_are_taken_back_and_it_is_reported_anew():
    engine = Engine(seen_in(session(5, lateness=10) | retracting()))
    shown = Counter()
    for step in [(level, "a", 0), 5, (level, "b", 4), 8, 9]:
        for event in do(engine, step):
            shown[event.value] += event.weight
        if step == 5:
            assert +shown == Counter([("a", 0, 5)])
        if step == 8:
            assert +shown == Counter()
    assert +shown == Counter([("a", 0, 9), ("b", 0, 9)])


# ------------------------------------------------------------------------------------------------- a user's own windows


def while_logged_in(event, present):
    if event.value.act == "in":
        return [Window(event.start)]
    if event.value.act == "out":
        return [Window(window.start, event.end + 1) for window in present]
    return present


def visits_of(*acts, keyed=True):
    restrict = windowed(while_logged_in)
    visits = correlate(
        x=left,
        yields=lambda x, window: (x.n, window.start, window.end),
        restrict=key_by(x="user") | restrict if keyed else restrict,
    )
    engine = Engine(visits)
    out = []
    for n, (user, act, at) in enumerate(acts):
        out.append(values(engine.push(left, {"user": user, "act": act, "n": n}, at=at)))
    return out


def test_a_window_from_log_in_to_log_out_is_seen_when_it_is_known_when_it_ends():
    assert visits_of(("A", "in", 3), ("A", "buy", 5), ("A", "out", 8), ("A", "buy", 9), keyed=False) == [
        [],
        [],
        [(0, 3, 9), (1, 3, 9), (2, 3, 9)],
        [],
    ]


def test_the_windows_of_a_user_are_the_users():
    seen = visits_of(("A", "in", 3), ("B", "in", 4), ("A", "buy", 5), ("B", "out", 6), ("A", "buy", 7), ("A", "out", 8))
    assert seen == [[], [], [], [(1, 4, 7), (3, 4, 7)], [], [(0, 3, 9), (2, 3, 9), (4, 3, 9), (5, 3, 9)]]


def test_a_function_of_one_argument_is_not_asked_about_the_present():
    asked = []
    engine = Engine(seen_in(windowed(lambda event: asked.append((event.value, event.start, event.end)) or [(0, 99)])))
    engine.push(level, "a", at=(3, 4))
    assert asked == [("a", 3, 4)]


def test_the_present_windows_are_those_that_contain_the_event_and_are_not_freed():
    asked = []

    def note(event, present):
        asked.append([(window.start, window.end) for window in present])
        return [(event.start, event.end + 10)]

    engine = Engine(seen_in(windowed(note)))
    for at in (0, 5, 9, 10):
        engine.push(level, at, at=at)
    engine.advance(15)
    engine.push(level, "late for one", at=12)
    assert [sorted(present) for present in asked] == [
        [],
        [(0, 10)],
        [(0, 10), (5, 15)],
        [(5, 15), (9, 19)],
        [(9, 19), (10, 20)],
    ]


# ------------------------------------------------------------------------------------------------------------- contents

NUMBERS = [(level, n, at) for n, at in ((3, 1), (5, 2), (4, 3), (2, 4), (9, 11), (8, 12))]


@pytest.mark.parametrize(
    ("content", "inside"),
    [
        (first(2), [3, 5, 9, 8]),
        (last(2), [4, 2, 9, 8]),
        (last(), [2, 8]),
        (filtered(lambda n: n % 2 == 1), [3, 5, 9]),
        (keeping(lambda events: sorted(events, key=lambda event: event.value)[-2:]), [5, 4, 9, 8]),
        (accumulated(0, lambda total, n: total + n), [14, 17]),
        (accumulated((), lambda all_, n: (*all_, n), show=len), [4, 2]),
        (None, [3, 5, 4, 2, 9, 8]),
        (earliest("x"), [3, 9]),
    ],
    ids=["first", "last", "the last", "filtered", "keeping", "accumulated", "shown", "all", "a user's"],
)
def test_a_content_is_what_a_window_keeps(content, inside):
    """What is kept of x is what meets the one event of y that comes last in the window."""
    meeting = correlate(x=level, y=right, yields=lambda x, y: x, restrict=fifo() | tumbling(10, content=content))
    engine = Engine(meeting)
    for step in NUMBERS[:4]:
        do(engine, step)
    seen = values(engine.push(right, 1, at=8))
    for step in NUMBERS[4:]:
        do(engine, step)
    seen += values(engine.push(right, 1, at=18))
    assert seen == inside
    assert engine.stats.slots[meeting.name, "x"] == (len(inside), 0)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (first(2), [[3], [5], [], [], [9], [8]]),
        (last(2), [[3], [5], [4], [2], [9], [8]]),
        (filtered(lambda n: n % 2 == 1), [[3], [5], [], [], [9], []]),
        (accumulated(0, lambda total, n: total + n), [[3], [8], [12], [14], [9], [17]]),
        (accumulated((), lambda all_, n: (*all_, n), show=len), [[1], [2], [3], [4], [1], [2]]),
        (keeping(lambda events: sorted(events, key=lambda event: event.value)[-2:]), [[3], [5], [4], [], [9], [8]]),
    ],
    ids=["first", "last", "filtered", "accumulated", "shown", "keeping"],
)
def test_what_is_new_in_a_content_is_seen_as_it_comes(content, seen):
    kept = correlate(x=level, yields=lambda x: x, restrict=tumbling(10, content=content))
    assert follow(kept, *NUMBERS) == seen


def test_the_last_of_each_slot_meet():
    trace = [(left, 1, 1), (left, 2, 2), (right, "a", 3), (right, "b", 4), (left, 3, 14), (right, "c", 15)]
    pairs = pairs_in(tumbling(10, content=last(), report=on_close))
    assert values(run(pairs, trace, close=True)) == [(2, "a", 0), (2, "b", 0), (3, "c", 10)]


def test_a_content_is_of_each_key_under_keys():
    trace = [of("A", 1, 1), of("B", 2, 2), of("A", 3, 3), of("B", 4, 4)]
    kept = correlate(x=left, yields=lambda x: x.n, restrict=key_by(x="user") | tumbling(10, content=first()))
    assert values(run(kept, trace)) == [1, 2]


# ----------------------------------------------------------------------------------------------- tick, report, relation


def test_by_time_all_events_of_one_time_are_one_batch_as_soon_as_it_is_over():
    steps = [(left, 1, 1), (left, 2, 1), (right, "a", 1), (right, "b", 1), (left, 3, 2), 3]
    pairs = pairs_in(tumbling(10, tick="time") | most_recently("x", "y"))
    assert follow(pairs, *steps) == [[], [], [], [], [(2, "b", 0)], [(3, "b", 0)]]


def test_by_number_so_many_events_are_one_batch():
    pairs = pairs_in(tumbling(10, tick=3) | most_recently("x", "y"))
    steps = [(left, 1, 1), (left, 2, 1), (right, "a", 2), (left, 3, 4), (right, "b", 5), 9, 10]
    assert follow(pairs, *steps) == [[], [], [(2, "a", 0)], [], [], [], [(3, "b", 0)]]


def test_a_batch_that_is_not_full_is_one_when_its_window_is_freed():
    engine = Engine(pairs_in(tumbling(10, tick=3)))
    engine.push(left, 1, at=1)
    engine.push(right, "a", at=2)
    assert engine.next_deadline == 10
    assert values(engine.advance(10)) == [(1, "a", 0)]
    assert engine.stats.retained + engine.stats.waiting == 0


def test_an_event_of_two_slots_is_one_of_the_events_of_a_batch():
    twice = correlate(x=level, y=level, yields=lambda x, y: (x, y), restrict=tumbling(10, tick=2))
    assert follow(twice, (level, 1, 1), (level, 2, 2)) == [[], [(2, 2), (2, 1), (1, 2), (1, 1)]]


def test_a_window_has_its_part_of_a_batch_at_once_when_another_is_freed_first():
    restrict = sliding(6, 2, offset=-5, lateness=3, tick=4) | most_recently("x")
    trace = [(right, "a", 0), (left, 1, 3), (left, 2, 4)]
    assert values(run(pairs_in(restrict), trace, close=True)) == [(2, "a", -1)]


def test_what_is_late_is_known_to_be_when_it_comes_whatever_the_batch():
    engine = Engine(seen_in(tumbling(5, tick=2)))
    engine.advance(10)
    engine.push(level, "a", at=3)
    assert [event.value for event, _, _ in engine.late] == ["a"]
    assert engine.stats.waiting == 0


def test_all_of_a_batch_comes_when_one_of_its_windows_is_freed():
    engine = Engine(seen_in(tumbling(5, tick=3)))
    engine.push(level, "a", at=3)
    engine.push(level, "b", at=6)
    assert values(engine.advance(5)) == [("a", 0, 5), ("b", 5, 10)]
    assert (engine.stats.retained, engine.stats.waiting) == (1, 0)


SECRET = [(level, "a", 1), 5, (level, "b", 6), 10, (level, "c", 12), 15, 20]
"""Windows of 10 every 5: -5: a; 0: a, b; 5: b, c; 10: c. What comes at a @ 1, 5, b @ 6, 10, c @ 12, 15, 20, by hand."""


@pytest.mark.parametrize(
    ("report", "relation", "given_"),
    [
        (on_content_change, None, ["aa", "", "bb", "", "cc", "", ""]),
        (on_content_change, rstream(), ["aa", "", "abb", "", "bcc", "", ""]),
        (on_content_change, istream(), ["a", "", "b", "", "c", "", ""]),
        (on_content_change, dstream(), ["", "", "a", "", "b", "", ""]),
        (on_close, None, ["", "a", "", "ab", "", "bc", "c"]),
        (on_close, rstream(), ["", "a", "", "ab", "", "bc", "c"]),
        (on_close, istream(), ["", "a", "", "b", "", "c", ""]),
        (on_close, dstream(), ["", "", "", "", "", "a", "b"]),
        (final, None, ["", "a", "", "ab", "", "bc", "c"]),
        (final, rstream(), ["", "a", "", "ab", "", "bc", "c"]),
        (final, istream(), ["", "a", "", "b", "", "c", ""]),
        (final, dstream(), ["", "", "", "", "", "a", "b"]),
        (on_close & non_empty, istream(), ["", "a", "", "b", "", "c", ""]),
        (on_close & non_empty, dstream(), ["", "", "", "", "", "a", "b"]),
        (periodic(5), None, ["", "aa", "", "bb", "", "cc", ""]),
        (periodic(5), rstream(), ["", "aa", "", "abb", "", "bcc", "c"]),
        (periodic(5), istream(), ["", "a", "", "b", "", "c", ""]),
        (periodic(5), dstream(), ["", "", "", "a", "", "b", ""]),
        (periodic(10), None, ["", "", "", "abb", "", "", "c"]),
        (periodic(10), istream(), ["", "", "", "ab", "", "", "c"]),
        (periodic(10), dstream(), ["", "", "", "a", "", "", "b"]),
        (periodic(5) & on_close, None, ["", "a", "", "ab", "", "bc", "c"]),
        (periodic(10) & on_close, None, ["", "", "", "ab", "", "", "c"]),
        (periodic(10) & on_close, istream(), ["", "", "", "ab", "", "", "c"]),
        (periodic(10) & on_close, dstream(), ["", "", "", "", "", "", "ab"]),
        (on_content_change & non_empty, rstream(), ["aa", "", "abb", "", "bcc", "", ""]),
    ],
    ids=repr,
)
def test_the_dimensions_of_secret_by_hand(report, relation, given_):
    windows = sliding(10, 5, report=report)
    seen = correlate(x=level, yields=lambda x: x, restrict=windows | relation if relation else windows)
    assert ["".join(sorted(step)) for step in follow(seen, *SECRET)] == ["".join(sorted(step)) for step in given_]


def test_relations_are_compared_as_bags_not_as_sets():
    for relation, given_ in [(istream(), ["aa", "a"]), (dstream(), ["", ""]), (rstream(), ["aa", "aaa"])]:
        seen = correlate(x=level, yields=lambda x: "a", restrict=tumbling(10, report=on_close) | relation)
        steps = [(level, 1, 1), (level, 2, 2), 10, (level, 3, 11), (level, 4, 12), (level, 5, 13), 20]
        assert ["".join(step) for step in follow(seen, *steps) if step] == [step for step in given_ if step]


@pytest.mark.parametrize("report", [on_close, on_close & non_empty])
def test_what_a_report_consumes_is_in_the_evaluation(report):
    restrict = tumbling(10, report=report) | affinely("x", "y") | istream()
    twice = correlate(x=level, y=level, yields=lambda x, y: (x, y), restrict=restrict)
    assert values(run(twice, [(level, 1, 1), (level, 2, 12)], close=True)) == [(1, 1), (2, 2)]


def test_windows_reported_at_one_time_are_reported_in_ascending_order():
    restrict = windowed(
        lambda event: [(event.start, event.end + 1), (event.start - 2, event.end + 4)], report=periodic(1)
    )
    engine = Engine(seen_in(restrict))
    engine.push(level, "a", at=0)
    assert values(engine.advance(1)) == [("a", -2, 4), ("a", 0, 1)]


def test_the_evaluation_before_is_that_under_the_same_key():
    seen = correlate(
        x=left,
        yields=lambda x: (x.user, x.n),
        restrict=key_by(x="user") | tumbling(10, report=on_close) | dstream(),
    )
    trace = [of("A", 1, 1), of("B", 2, 2), of("A", 3, 11), of("B", 2, 12)]
    assert values(run(seen, trace, close=True)) == [("A", 1)]


def test_what_istream_has_given_without_what_dstream_has_is_the_last_evaluation():
    restrict = sliding(10, 5, report=on_close)
    new = correlate(x=level, yields=lambda x: x, restrict=restrict | istream())
    gone = correlate(x=level, yields=lambda x: x, restrict=restrict | dstream())
    every = correlate(x=level, yields=lambda x: x, restrict=restrict | rstream())
    engines = [Engine(new), Engine(gone), Engine(every)]
    total = Counter()
    for value, at in [("a", 1), ("b", 6), ("a", 7), ("c", 12), ("a", 13), ("d", 31)]:
        for engine in engines:
            engine.push(level, value, at=at)
    for time in range(5, 45, 5):
        came, went, all_ = (values(engine.advance(time)) for engine in engines)
        total.update(came)
        total.subtract(went)
        if all_:
            assert +total == Counter(all_)


# ------------------------------------------------------------------------------------------------------- cost and words


def test_explain_says_that_memory_is_bounded_by_a_window():
    explained = Engine(pairs_in(tumbling(10))).explain()
    assert explained.count("O(window)") == 2
    assert "tumbling(10)" in explained


@pytest.mark.parametrize("before", [10, 1000])
def test_the_work_of_an_event_is_that_of_its_windows_however_many_there_have_been(before):
    """Twelve windows of 60 every 5 have each event: so many deliveries, and no other event is looked at."""
    engine = Engine(pairs_in(sliding(60, 5)))
    for n in range(before):
        engine.push(left, n, at=60 * n)
        engine.advance(60 * n)
    engine.advance(60 * before)
    visited, tuples = engine.stats.visited, engine.stats.tuples
    engine.push(left, "a", at=60 * before + 30)
    engine.push(right, "x", at=60 * before + 31)
    assert engine.stats.retained == 24
    assert engine.stats.tuples - tuples == 12
    assert engine.stats.visited - visited <= 3 * 12


@pytest.mark.parametrize("windows", [1, 2, 4, 8])
def test_deliveries_grow_with_the_windows_that_an_event_is_in(windows):
    engine = Engine(pairs_in(sliding(8 * windows, 8)))
    engine.push(left, "a", at=100)
    assert engine.stats.retained == windows
    before = engine.stats.visited
    engine.push(right, "x", at=100)
    assert engine.stats.tuples == windows
    assert engine.stats.visited - before <= 3 * windows


# -------------------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: tumbling(0), r"tumbling: expected a duration > 0 but got size=0"),
        (lambda: tumbling(-3), r"tumbling: expected a duration > 0 but got size=-3"),
        (lambda: tumbling("ten"), r"tumbling: expected a duration, .* but got size='ten'"),
        (lambda: tumbling(True), r"tumbling: expected a duration, .* but got size=True"),
        (lambda: tumbling(10, lateness=-1), r"tumbling: expected a duration ≥ 0 but got lateness=-1"),
        (lambda: tumbling(10, offset="x"), r"tumbling: expected a duration, .* but got offset='x'"),
        (lambda: tumbling(10, report="on_close"), r"tumbling: expected a Report, .* but got report='on_close'"),
        (lambda: tumbling(10, content="all"), r"tumbling: expected a content, .* but got content='all'"),
        (lambda: tumbling(10, tick="batch"), r"tumbling: expected tick to be .* but got tick='batch'"),
        (lambda: tumbling(10, tick=0), r"tumbling: expected tick to be .* but got tick=0"),
        (lambda: tumbling(10, on_leave="keep"), r"tumbling: expected on_leave to be .* but got on_leave='keep'"),
        (lambda: tumbling(10, color=1), r"tumbling: expected the arguments .* but got color= besides; remove it"),
        (lambda: sliding(10), r"sliding: expected the arguments .* but period is missing"),
        (lambda: sliding(10, 0), r"sliding: expected a duration > 0 but got period=0"),
        (lambda: sliding(10, 5, t0="x"), r"sliding: expected a time, .* but got t0='x'"),
        (lambda: session(0), r"session: expected a duration > 0 but got gap=0"),
        (lambda: session(5, report=on_content_change), r"session: expected on_close or final but got report="),
        (lambda: session(5, report=periodic(3)), r"session: expected on_close or final but got report="),
        (lambda: fixed(5, 5), r"fixed: expected start < end but got start=5, end=5"),
        (lambda: fixed("a", 3), r"fixed: expected a time, .* but got start='a'"),
        (lambda: windowed(3), r"windowed: expected a function but got assigner=3"),
        (lambda: periodic(0), r"periodic: expected a duration > 0, .* but got period=0"),
        (lambda: on_close & cast("Any", 3), r"Report: expected another report but got 3"),
        (lambda: periodic(3) & periodic(5), r"Report: expected one period but got periodic\(3\) and periodic\(5\)"),
        (lambda: filtered(3), r"filtered: expected a function but got predicate=3"),
        (lambda: accumulated(0, 3), r"accumulated: expected a function but got add=3"),
        (lambda: keeping(3), r"keeping: expected a function but got keep=3"),
        (lambda: first(0), r"^first: expected an int ≥ 1 but got n=0"),
        (lambda: last(cast("Any", "x")), r"^last: expected an int ≥ 1 but got n='x'"),
        (lambda: pairs_in(tumbling(10) | session(5)), r"session\(5\): expected one kind of windows"),
        (lambda: pairs_in(tumbling(10) | tumbling(5)), r"tumbling\(5\): expected one kind of windows"),
        (
            lambda: pairs_in(tumbling(10) | versioned("x")),
            r"tumbling\(10\): expected windows, or versions",
        ),
        (lambda: pairs_in(key_by(x="id") | session(5)), r"session\(5\): expected streams keyed in the same key_by"),
        (
            lambda: pairs_in(key_by(x="id") | tumbling(5, report=on_close)),
            r"tumbling\(5, report=on_close\): expected streams keyed in the same key_by",
        ),
        (lambda: cartesian(left, restrict=istream()), r"istream\(\): expected windows beside it"),
        (lambda: cartesian(left, restrict=dstream()), r"dstream\(\): expected windows beside it"),
        (lambda: cartesian(left, restrict=rstream()), r"rstream\(\): expected windows beside it"),
        (
            lambda: cartesian(left, restrict=tumbling(10) | istream() | dstream()),
            r"expected one of istream, dstream and rstream but there is another",
        ),
        (
            lambda: cartesian(left, restrict=tumbling(10) | istream() | as_table(lambda value: value)),
            r"istream\(\): expected results that are events but they are rows of a table",
        ),
        (lambda: cartesian(left, restrict=first()), r"first\(\): expected windows whose content it is"),
        (lambda: cartesian(left, restrict=filtered(bool)), r"filtered\(.*\): expected windows whose content it is"),
        (
            lambda: correlate(x=left, yields=lambda x, window: window.start),
            r"expected windows, of which 'window' is one, but there are none",
        ),
    ],
)
def test_what_does_not_fit_is_refused_where_it_is_written(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        wrong()


@pytest.mark.parametrize(
    "returned",
    [
        [(5, 9)],
        [7],
        [(1,)],
        [(1, 3)],
        [(3, 3)],
        7,
        None,
    ],
    ids=repr,
)
def test_what_an_assigner_returns_must_be_windows_that_contain_the_event(returned):
    engine = Engine(seen_in(windowed(lambda event: returned)))
    with pytest.raises(InvalidArgument, match=r"windowed.*: expected windows that contain the event at 3\.\.3"):
        engine.push(level, "a", at=3)


def test_an_assigner_that_fails_leaves_nothing_changed():
    engine = Engine(seen_in(windowed(lambda event: [(event.start, 10 // event.value)])))
    engine.push(level, 1, at=1)
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(level, 0, at=2)
    assert engine.snapshot() == before
