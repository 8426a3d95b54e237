"""Aggregates by key and window: Figure 7 of Sax et al. (SOURCES C7), corrections, final results, bounded state."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, Window, correlate
from cartesius.errors import InvalidArgument
from restrictions import fixed, retracting, session, sliding, tumbling, versioned
from restrictions.tables import Group, Monoid, aggregate, count, max_, mean, min_, reduce, sum_
from restrictions.windows import final, on_close

MINUTE = timedelta(minutes=1)
CLICK = Reactive("click")


def updates(events):
    return {event.value.key: event.value.value for event in events}


def figure_7():
    counts = aggregate(
        CLICK,
        count,
        by=lambda click: click.region.lower(),
        restrict=sliding(5 * MINUTE, MINUTE, lateness=60 * MINUTE),
    )
    return counts, Engine(counts, unit=MINUTE)


def test_figure_7_a_click_counts_in_five_windows():
    _, engine = figure_7()
    found = updates(engine.push(CLICK, {"region": "EU"}, at=7))
    assert found == {("eu", Window(start, start + 5)): 1 for start in (3, 4, 5, 6, 7)}
    assert updates(engine.push(CLICK, {"region": "eu"}, at=9)) == {
        ("eu", Window(5, 10)): 2, ("eu", Window(6, 11)): 2, ("eu", Window(7, 12)): 2,
        ("eu", Window(8, 13)): 1, ("eu", Window(9, 14)): 1,
    }  # fmt: skip


def test_figure_7_a_click_59_minutes_late_corrects_and_one_after_60_changes_nothing():
    counts, engine = figure_7()
    engine.push(CLICK, {"region": "EU"}, at=7)
    engine.advance(12 + 59)  # 59 minutes after the end of the last window of minute 7
    assert updates(engine.push(CLICK, {"region": "Eu"}, at=7)) == {("eu", Window(7, 12)): 2}  # the others are final
    assert updates(engine.push(CLICK, {"region": "EU"}, at=11)) == {
        ("eu", Window(7, 12)): 3, **{("eu", Window(start, start + 5)): 1 for start in (8, 9, 10, 11)}
    }  # fmt: skip
    assert engine.late == []
    engine.advance(12 + 60)
    before = engine.query(counts)
    assert engine.push(CLICK, {"region": "EU"}, at=7) == []
    ((event, slot, reason),) = engine.late
    assert (event.end, slot, reason) == (7, "x", "its last window, (7, 12), was freed when the clock reached 72")
    assert engine.query(counts) == before


def test_a_row_can_be_asked_for_by_a_time_in_its_window_until_it_is_freed():
    counts, engine = figure_7()
    for minute in (7, 9):
        engine.push(CLICK, {"region": "EU"}, at=minute)
    assert engine.query(counts, at=8) == {
        ("eu", Window(4, 9)): 1, ("eu", Window(5, 10)): 2, ("eu", Window(6, 11)): 2, ("eu", Window(7, 12)): 2,
        ("eu", Window(8, 13)): 1,
    }  # fmt: skip
    assert engine.lookup(counts, ("eu", Window(7, 12)), at=8) == 2
    assert engine.lookup(counts, ("eu", Window(7, 12)), at=12) is None
    engine.advance(72)
    assert set(engine.query(counts)) == {("eu", Window(8, 13)), ("eu", Window(9, 14))}
    with pytest.raises(InvalidArgument, match="query: expected a time"):
        engine.query(counts, at="noon")


def test_on_close_gives_one_row_a_window_and_key_and_what_is_late_corrects_it():
    counts = aggregate(CLICK, sum_, by=lambda n: n % 2, restrict=tumbling(10, lateness=5, report=on_close))
    engine = Engine(counts)
    for value, at in ((1, 1), (2, 2), (3, 3)):
        assert engine.push(CLICK, value, at=at) == []
    assert updates(engine.advance(10)) == {(1, Window(0, 10)): 4, (0, Window(0, 10)): 2}
    assert updates(engine.push(CLICK, 5, at=9)) == {(1, Window(0, 10)): 9}


def test_final_gives_each_row_once_when_nothing_can_change_it():
    counts = aggregate(CLICK, sum_, restrict=tumbling(10, lateness=5, report=final))
    engine = Engine(counts)
    engine.push(CLICK, 1, at=1)
    assert engine.advance(14) == []
    assert engine.push(CLICK, 2, at=2) == []
    assert updates(engine.advance(15)) == {Window(0, 10): 3}
    assert engine.query(counts) == {}


def test_groups_and_monoids_of_ones_own():
    longest = Monoid("", lambda a, b: max(a, b, key=len))
    product = Group(1, lambda a, b: a * b, lambda a: 1 / a, lift=float)
    trace = [("ab", 1), ("abc", 2), ("a", 3)]
    for group, expected in (
        (count, 3), (sum_.of(len), 6), (mean.of(len), 2.0), (min_.of(len), 1), (max_.of(len), 3), (longest, "abc"),
        (product.of(len), 6.0),
    ):  # fmt: skip
        table = aggregate(CLICK, group, restrict=fixed(0, 10))
        engine = Engine(table)
        for value, at in trace:
            engine.push(CLICK, value, at=at)
        assert engine.query(table) == {Window(0, 10): expected}


def test_what_a_source_takes_back_leaves_the_total_also_of_a_monoid_and_an_empty_one_is_deleted():
    ship = Reactive("ship", table=True)
    draughts = correlate(x=ship, yields=lambda x: x, restrict=retracting())
    deepest = aggregate(draughts, max_, restrict=fixed(0, 100))
    engine = Engine(deepest)
    engine.push(ship, Update("EVA", 9), at=1)
    assert updates(engine.push(ship, Update("BO", 12), at=2)) == {Window(0, 100): 12}
    engine = Engine.restore(engine.snapshot(), deepest)
    assert updates(engine.push(ship, Update("BO", 7), at=3)) == {Window(0, 100): 9}
    assert updates(engine.push(ship, Delete("EVA"), at=4)) == {Window(0, 100): 7}
    assert [event.value for event in engine.push(ship, Delete("BO"), at=5)] == [Delete(Window(0, 100))]


def test_min_and_max_total_tables_too():
    ship = Reactive("ship", table=True)
    deepest = reduce(ship, max_, by=lambda draught: draught > 10)
    engine = Engine(deepest)
    for key, draught in (("A", 12), ("B", 15), ("C", 3), ("B", 4)):
        engine.push(ship, Update(key, draught))
    assert engine.query(deepest) == {True: 12, False: 4}


def test_sessions_are_totalled_when_they_are_over():
    visits = aggregate(CLICK, count, restrict=session(10, lateness=30))
    engine = Engine(visits)
    for at in (3, 10, 30):
        engine.push(CLICK, at, at=at)
    assert updates(engine.advance(45)) == {Window(3, 20): 2, Window(30, 40): 1}
    merged = [event.value for event in engine.push(CLICK, 20, at=20)]  # it touches both
    assert merged == [Delete(Window(3, 20)), Delete(Window(30, 40)), Update(Window(3, 40), 4)]


def test_a_monoid_beside_versions_is_refused():
    depth = Reactive("depth", table=True)
    with pytest.raises(InvalidArgument, match="expected a Group beside versioned"):
        reduce(depth, max_, by=lambda x: x, restrict=versioned("x"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": "count", "restrict": tumbling(5)}, "expected a Group, or a Monoid"),
        ({"group": count, "restrict": retracting()}, "expected windows"),
        ({"group": count, "restrict": tumbling(5), "by": 3}, "expected a field's name or a function"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        aggregate(CLICK, **arguments)


def test_only_the_totals_of_windows_that_are_not_freed_are_kept():
    counts = aggregate(CLICK, count, by=lambda n: n % 3, restrict=sliding(10, 5, lateness=5))
    engine = Engine(counts, lateness=0)
    for at in range(2_000):
        engine.push(CLICK, at, at=at)
        assert engine.stats.retained == 0
        assert len(engine.query(counts)) <= 3 * 4  # those of three windows, and the one that is just over
    blob = len(engine.snapshot())
    for at in range(2_000, 4_000):
        engine.push(CLICK, at, at=at)
    assert len(engine.snapshot()) <= 1.1 * blob


EVENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 3)), max_size=15)


@given(
    EVENTS, st.integers(1, 8), st.integers(1, 8), st.sampled_from([count, sum_, mean, min_, max_]), st.integers(0, 15)
)
def test_by_a_from_scratch_evaluation_and_whatever_the_order(events, size, period, group, cut):
    table = aggregate(CLICK, group, by=lambda n: n % 2, restrict=sliding(size, period))
    engine = Engine(table)
    applied = {}
    for number, (at, value) in enumerate(events):
        if number == cut:
            engine = Engine.restore(engine.snapshot(), table)
        for event in engine.push(CLICK, value, at=at):
            applied[event.value.key] = event.value.value
    rows = {}
    for at, value in events:
        for start in range(-10 * period, 50, period):
            if start <= at < start + size:
                rows.setdefault((value % 2, Window(start, start + size)), []).append(value)
    totals: dict[str, Any] = {
        "count": len, "sum_": sum, "min_": min, "max_": max, "mean": lambda found: sum(found) / len(found)
    }  # fmt: skip
    of = totals[group.name]
    assert applied == engine.query(table) == {key: of(found) for key, found in rows.items()}
    assert Counter(type(value) for value in applied.values()).keys() <= {int, float}
