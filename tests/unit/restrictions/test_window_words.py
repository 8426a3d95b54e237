"""What windows cost, what is said of them, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from cartesius import Engine, Window, correlate
from cartesius.errors import InvalidArgument
from restrictions import (
    as_table,
    cartesian,
    fixed,
    key_by,
    session,
    sliding,
    tumbling,
    versioned,
    windowed,
)
from restrictions.windows import (
    accumulated,
    dstream,
    filtered,
    first,
    istream,
    keeping,
    last,
    on_close,
    on_content_change,
    periodic,
    rstream,
)
from tests.unit.restrictions.window_examples import left, level, pairs_in, right, seen_in

# ------------------------------------------------------------------------------------------------------- cost and words


def test_explain_says_that_memory_is_bounded_by_a_window():
    explained = Engine(pairs_in(tumbling(10))).explain()
    assert explained.count("O(window)") == 2
    assert "tumbling(10)" in explained


def test_explain_says_that_windows_which_a_function_leaves_open_bound_nothing():
    stays_open = windowed(lambda event: [Window(event.start)])
    engine = Engine(correlate(x=left, yields=lambda x: x, restrict=stays_open))
    bound = "O(window) if each window is given an end"
    assert f"memory {bound}, by {stays_open!r}; queue {bound}, held by {stays_open!r}" in engine.explain()
    for n in range(100):
        engine.push(left, n, at=n)
    assert engine.stats.retained + engine.stats.waiting >= 100


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
        (lambda: sliding(2**70, 2), r"sliding: expected an event to be in at most 1,000,000 windows but size=1180"),
        (lambda: sliding(timedelta(days=30), timedelta(seconds=1)), r"at most 1,000,000 windows but size=.*30"),
        (lambda: sliding(10, 5, t0="x"), r"sliding: expected a time, .* but got t0='x'"),
        (lambda: sliding(10, 5, offset=2, t0=3), r"sliding: expected offset= or t0=, .* but got sliding\(10, 5"),
        (lambda: session(5, report=on_close & periodic(3)), r"session: expected on_close or final but got report="),
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


def test_what_has_a_default_is_given_by_its_name():
    with pytest.raises(InvalidArgument, match=r"besides; give what has a default by its name, as in show=…"):
        accumulated(0, max, min)
