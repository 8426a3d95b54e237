"""Windows that events make: sessions, a user's own, and what a window keeps (SEMANTICS 3.4; SOURCES A12)."""

from __future__ import annotations

from collections import Counter

import pytest

from cartesius import Engine, Window, correlate, run
from restrictions import (
    earliest,
    fifo,
    key_by,
    retracting,
    session,
    tumbling,
    windowed,
)
from restrictions.windows import (
    accumulated,
    filtered,
    final,
    first,
    keeping,
    last,
    on_close,
)
from tests.unit.restrictions.window_examples import (
    NUMBERS,
    do,
    follow,
    left,
    level,
    of,
    pairs_in,
    right,
    seen_in,
    values,
)

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


@pytest.mark.parametrize("lateness", [0, 4])
def test_a_session_is_closed_once_the_clock_is_past_its_gap_and_freed_the_lateness_later(lateness):
    engine = Engine(seen_in(session(10, lateness=lateness)), lateness=0)
    engine.push(level, "a", at=0)
    engine.push(level, "b", at=10)  # exactly a gap after the last one: it still belongs to it
    assert engine.advance(20) == []
    assert engine.stats.waiting == 2
    assert values(engine.advance(21)) == [("a", 0, 20), ("b", 0, 20)]
    engine.advance(21 + lateness - 1)
    assert engine.stats.retained == (2 if lateness else 0)
    engine.advance(21 + lateness)
    assert engine.stats.retained == 0


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
    for step in [(level, "a", 0), 6, (level, "b", 4), 8, 10]:
        for event in do(engine, step):
            shown[event.value] += event.weight
        if step == 6:
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
