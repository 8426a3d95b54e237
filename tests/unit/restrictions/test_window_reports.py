"""When windows are reported, evaluated and freed, and what is late for them (SEMANTICS 3.9; SOURCES D)."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from cartesius import Engine, Reactive, Update, Window, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    as_table,
    fixed,
    in_event_time,
    key_by,
    most_recently,
    retracting,
    session,
    sliding,
    tumbling,
    windowed,
    without,
)
from restrictions.streams import map_
from restrictions.tables import max_, reduce, update_stream
from restrictions.windows import (
    dstream,
    final,
    istream,
    non_empty,
    on_close,
    on_content_change,
    periodic,
    rstream,
)
from tests.unit.restrictions.window_examples import do, follow, left, level, of, pairs_in, right, seen_in, values

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
def test_a_table_over_windows_is_what_its_changes_say_until_the_window_is_freed(on_leave, left_over):
    restrict = tumbling(10, on_leave=on_leave) | retracting() | as_table(lambda value: value[0])
    table = correlate(x=level, yields=lambda x: (x, 1), restrict=restrict)
    engine, replayed = Engine(table), {}
    for step in [(level, "a", 3), 10, (level, "a", 13), (level, "b", 14), 20]:
        for event in do(engine, step):
            replayed.pop(event.value.key, None)
            if isinstance(event.value, Update):
                replayed[event.value.key] = event.value.value
        assert engine.query(table) == (replayed if engine.clock != step else {})  # what is freed is not known any more
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


@pytest.mark.parametrize("tick", [2, "time"])
def test_a_batch_that_is_full_at_a_multiple_reports_no_window_once_more(tick):
    every = correlate(x=level, yields=lambda x: x, restrict=tumbling(8, tick=tick, report=periodic(4)) | rstream())
    steps = [(level, "a", 0), (level, "b", 1), 4, (level, "c", 4), (level, "d", 5), (level, "e", 3), (level, "f", 3), 8]
    assert [sorted(seen) for seen in follow(every, *steps)] == [[], [], ["a", "b"], [], [], [], [], list("abcdef")]


def test_a_window_that_is_closed_after_its_end_is_reported_at_once_if_that_is_a_multiple():
    def until_out(event, present):
        if event.value == "out":
            return [Window(window.start, event.end + 1) for window in present]
        return present or [Window(event.start)]

    seen = correlate(x=level, yields=lambda x: x, restrict=windowed(until_out, lateness=9, report=periodic(4)))
    steps = [(level, "a", 1), 9, (level, "out", 7), 12, (level, "b", 3)]
    assert follow(seen, *steps) == [[], [], ["a", "out"], [], ["b"]]


@pytest.mark.parametrize("report", [on_content_change, on_close, final, periodic(3)])
@pytest.mark.parametrize("tick", ["tuple", "time", 2])
def test_the_next_deadline_is_after_the_clock_whatever_comes_late(report, tick):
    engine = Engine(seen_in(sliding(6, 3, lateness=6, report=report, tick=tick)))
    for step in [10, (level, "a", 4), (level, "b", 1), 12, (level, "c", 3), (level, "d", 11), (level, "e", 9)]:
        do(engine, step)
        assert engine.next_deadline is None or engine.next_deadline > engine.clock


def test_an_advance_past_many_windows_reports_them_in_the_order_of_their_time():
    seen = correlate(x=level, yields=lambda x, window: (x, window.start), restrict=sliding(10, 5, report=on_close))
    engine = Engine(seen)
    for value, at in [("c", 12), ("a", 2), ("b", 7)]:
        engine.push(level, value, at=at)
    assert values(engine.advance(100)) == [("a", -5), ("a", 0), ("b", 0), ("c", 5), ("b", 5), ("c", 10)]


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


@pytest.mark.parametrize("report", [on_content_change, on_close])
def test_a_window_may_be_opened_and_closed_within_a_batch(report):
    def until_out(event, present):
        if event.value == "out":
            return [Window(window.start, event.end + 1) for window in present]
        return present or [Window(event.start)]

    seen = seen_in(windowed(until_out, report=report, tick=3))
    steps = [(level, "in", 1), (level, "buy", 2), (level, "out", 4), 5]
    visits = [("out", 1, 5), ("buy", 1, 5), ("in", 1, 5)]
    assert follow(seen, *steps) == [[], [], *([visits, []] if report is on_content_change else [[], visits])]


@pytest.mark.parametrize("report", [on_content_change, on_close, final])
@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_a_window_that_is_closed_by_its_last_event_has_all_that_comes_in_that_instant(report, tier):
    """As a gate before lets one event go after the other: the window is not freed between two of them."""

    def until_out(event, present):
        if event.value == "out":
            return [Window(window.start, event.end + 1) for window in present]
        return present or [Window(event.start)]

    released = correlate(x=level, yields=lambda x: x, restrict=in_event_time(0))
    visit = correlate(
        x=released, yields=lambda x, window: (x, window.start, window.end), restrict=windowed(until_out, report=report)
    )
    engine = Engine(visit, tier=tier)
    given_ = []
    for value, at in [("in", 3), ("out", 9), ("buy", 9), ("go", 9)]:
        given_ += values(engine.push(level, value, at=at))
    assert given_ + values(engine.close()) == [(value, 3, 10) for value in ("in", "out", "buy", "go")]
    assert not engine.late


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
    seen = correlate(x=level, yields=lambda x: x, restrict=windows if relation is None else windows | relation)
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


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_changes_of_one_row_and_totals_of_one_table_are_events_of_their_own(tier):
    """Each has the identity of the row, or of the total; reports tell results by their identity."""
    rows = Reactive("rows", table=True)
    for changes in (update_stream(rows), changes_of_total(rows)):
        engine = Engine(
            correlate(x=changes, yields=lambda x: x.n, restrict=fixed(2, 16, report=final) | rstream()), tier=tier
        )
        for value, at in [(5, 7), (17, 9), (9, 10)]:
            engine.push(rows, Update(1, {"n": value}), at=at)
        assert [event.value for event in engine.close()] == [9, 17, 5]


def changes_of_total(rows):
    return map_(reduce(rows, max_.of("n")), lambda total: {"n": total})


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_versions_of_a_row_that_have_waited_for_one_deadline_are_events_of_their_own(tier):
    row, answer = Reactive("row", table=True), Reactive("answer")
    unanswered = correlate(row=row, yields=lambda row: row, restrict=without(answer, after="row", within=2))
    reported = correlate(x=unanswered, yields=lambda x: x, restrict=fixed(2, 16, report=final) | rstream())
    engine = Engine(reported, lateness=0, tier=tier)
    for value in 5, 6:
        engine.push(row, Update(1, value), at=3)
    engine.push(answer, 0, at=9)
    assert sorted(event.value for event in engine.close()) == [5, 6]


def test_conditions_are_joined_by_an_ampersand():
    """`on_close and non_empty` is `non_empty` alone."""
    with pytest.raises(InvalidArgument, match=r"joined by & but on_close was asked whether it is true; write a & b"):
        tumbling(10, report=on_close and non_empty)


@pytest.mark.parametrize(
    "made",
    [lambda x: x, lambda x: (x, "m"), lambda x: ((x,), 1), lambda x: frozenset((x,))],
    ids=["a number", "a pair", "a pair of a tuple", "a set"],
)
@pytest.mark.parametrize("of", [istream(), dstream()], ids=repr)
@pytest.mark.parametrize("goes_on", ["at once", "restored"])
def test_a_number_that_is_none_is_one_result_in_the_next_window_as_well(made, of, goes_on):
    program = correlate(x=left, yields=made, restrict=tumbling(10, report=on_close) | of)
    engine = Engine(program)
    given = engine.push(left, float("nan"), at=2) + engine.advance(10)
    if goes_on == "restored":
        engine = Engine.restore(engine.snapshot(), program)
    given += engine.push(left, float("nan"), at=12) + engine.advance(20)
    assert len(given) == (1 if "istream" in repr(of) else 0)


@pytest.mark.parametrize("tier", ["reference", None])
@pytest.mark.parametrize("tick", [2, "time"])
@pytest.mark.parametrize("windows", [partial(tumbling, 10), partial(sliding, 10, 5), partial(session, 5)])
def test_a_call_that_fails_leaves_what_waits_for_its_batch_as_it_was(windows, tick, tier):
    """Else what comes next comes in other batches than if the call had not been made."""

    def body(x):
        if x.depth < 0:
            raise ValueError(x.depth)
        return x.depth

    program = correlate(x=level, yields=body, restrict=windows(tick=tick, report=on_close))
    engine = Engine(program, tier=tier, lateness=0)
    for at, depth in ((1, 1), (2, 2), (3, -1)):
        engine.push(level, {"depth": depth}, at=at)
    before = engine.snapshot()
    for at in (30, 31, 40):
        with pytest.raises(ValueError, match="-1"):
            engine.push(level, {"depth": 5}, at=at)
        assert engine.snapshot() == before
