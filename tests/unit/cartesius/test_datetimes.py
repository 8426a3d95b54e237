"""Times given as datetimes: they are time units since the epoch inside, and datetimes where they are shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest

from cartesius import Engine, Event, Reactive, Update, Window, correlate, run, run_frames
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from cartesius.pictures import marble_diagram
from cartesius.show.recordings import recording_of
from cartesius.show.show_answers import Answers
from cartesius.transducers import Tracker
from restrictions import (
    as_table,
    cartesian,
    combine_latest,
    fixed,
    in_sequence,
    key_by,
    most_recently,
    sliding,
    tumbling,
    versioned,
    within,
    zip_,
)
from restrictions.tables import aggregate, count, filter_table

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
left, right = Reactive("left"), Reactive("right")
latest = combine_latest(left, right)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def html_of(shown: Any) -> str:
    html: str = shown._repr_html_()
    return html


@pytest.mark.parametrize("unit", [timedelta(microseconds=1), SECOND, timedelta(minutes=1)])
@pytest.mark.parametrize("tier", [None, "reference"])
def test_results_show_as_datetimes_if_times_came_so(unit, tier):
    engine = Engine(latest, unit=unit, tier=tier)
    assert engine.push(left, "L", at=NOON) == []
    for minute in (1, 2, 3):  # the later ones by a function of the input
        (event,) = engine.push(right, "R", at=after(60 * minute))
        assert (event.start, event.end) == (NOON, after(60 * minute))
    assert "datetime.datetime(2024, 5, 1, 12" in repr(event)
    assert (engine._world.latest, engine._world.clock) == (
        (after(180) - datetime(1970, 1, 1, tzinfo=UTC)) // unit,
        float("-inf"),
    )


def test_results_are_those_of_ints_at_the_same_times():
    near = correlate(
        x=left, y=right, yields=lambda x, y: (x, y), restrict=within(2 * SECOND, "x", "y") | tumbling(5 * SECOND)
    )
    trace = [(left, 1, 0), (right, 2, 1), (left, 3, 7), (right, 4, 2), (right, 5, 8), (left, 6, 20)]
    ints = run(near, trace, unit=SECOND, lateness=4, close=True)
    dated = run(near, [(r, v, after(t)) for r, v, t in trace], unit=SECOND, lateness=4, close=True)
    assert [(e.value, after(e.start), after(e.end)) for e in ints] == [(e.value, e.start, e.end) for e in dated] != []


def test_a_zone_is_only_a_way_to_write_a_time():
    engine = Engine(left)
    (event,) = engine.push(left, 1, at=NOON.astimezone(timezone(timedelta(hours=2))))
    assert event.start == NOON
    assert event.start.tzinfo is UTC


def test_an_interval_is_two_datetimes():
    (event,) = Engine(left).push(left, 1, at=(NOON, after(3)))
    assert (event.start, event.end) == (NOON, after(3))
    with pytest.raises(InvalidArgument, match="start ≤ end"):
        Engine(left).push(left, 1, at=(after(3), NOON))
    with pytest.raises(InvalidArgument, match="an interval of two datetimes, but got 3"):
        Engine(left).push(left, 1, at=(NOON, 3))


def test_without_a_time_an_event_comes_one_unit_after_the_latest():
    engine = Engine(left, unit=SECOND)
    engine.push(left, 1, at=NOON)
    assert [event.end for _ in range(2) for event in engine.push(left, 2)] == [after(1), after(2)]


def test_a_naive_datetime_is_refused_and_told_what_to_write():
    engine = Engine(latest)
    for call in (
        lambda: engine.push(left, 1, at=NOON.replace(tzinfo=None)),
        lambda: engine.advance(datetime(2024, 5, 1)),
    ):
        with pytest.raises(
            InvalidArgument, match=r"expected an aware datetime .* no zone; write time\.replace\(tzinfo="
        ):
            call()
    assert engine.stats.events == 0


def test_a_missing_time_of_pandas_is_refused():
    engine, missing = Engine(left), cast("Any", pd.NaT)
    with pytest.raises(InvalidArgument, match=r"expected a datetime, .*, but got NaT"):
        engine.push(left, 1, at=missing)
    with pytest.raises(InvalidArgument, match=r"but got NaT"):
        engine.advance(missing)
    assert engine.stats.events == 0


def test_a_reversed_interval_is_refused_as_it_was_given():
    engine = Engine(left)
    with pytest.raises(InvalidArgument, match=r"start ≤ end but got at=\(datetime.datetime\(2024, 5, 1, 12, 0, 1, "):
        engine.push(left, 1, at=(after(1), NOON))
    assert engine.stats.events == 0


def test_a_datetime_of_no_whole_unit_is_refused():
    engine = Engine(left, unit=SECOND)
    with pytest.raises(InvalidArgument, match=r"whole time units of 0:00:01 but got .*; round it"):
        engine.push(left, 1, at=after(0.5))


def test_ints_and_datetimes_are_not_mixed():
    engine = Engine(latest)
    engine.push(left, 1, at=3)
    for at in (NOON, (NOON, NOON)):
        with pytest.raises(InvalidArgument, match="given before, ints, but got at="):
            engine.push(left, 2, at=at)
    with pytest.raises(InvalidArgument, match=r"advance: .* ints, but got"):
        engine.advance(NOON)
    dated = Engine(latest)
    for value in (1, 2):
        dated.push(left, value, at=NOON)
        with pytest.raises(InvalidArgument, match="given before, datetimes, but got at=3; give it one kind"):
            dated.push(left, 2, at=3)
    with pytest.raises(InvalidArgument, match="datetimes, but got"):
        dated.advance(3)
    assert dated.stats.events == 2


def test_what_came_without_times_decides_nothing_unless_ints_came_after():
    engine = Engine(latest)
    for value in range(3):
        engine.push(left, value)
    (event,) = engine.push(right, "R", at=NOON)
    assert event.end == NOON
    mixed = Engine(latest)
    for at in (None, 10, 20):
        mixed.push(left, 1, at=at)
    with pytest.raises(InvalidArgument, match="ints, but got"):
        mixed.push(right, 1, at=NOON)


def test_a_call_that_fails_leaves_open_what_the_times_are():
    engine = Engine(correlate(x=left, yields=lambda x: 1 / x))
    with pytest.raises(ZeroDivisionError):
        engine.push(left, 0, at=NOON)
    assert [event.end for event in engine.push(left, 1, at=3)] == [3]


def test_the_clock_the_deadline_and_what_is_late_are_datetimes():
    near = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=within(5 * SECOND, "x", "y"))
    engine = Engine(near, unit=SECOND)
    engine.push(left, 1, at=NOON)
    assert engine.advance(after(2)) == []
    assert engine.clock == after(2)
    assert engine.next_deadline >= after(5)
    engine.push(right, 2, at=NOON)
    ((event, _, reason),) = engine.late
    assert event.end == NOON
    assert reason == f"its end {NOON} is before the clock {after(2)}"
    assert engine.take_late()[0][0].end == NOON


def test_what_is_there_already_may_be_events_at_datetimes():
    pairs = zip_(Reactive.of([Event(1, NOON, NOON), Event(2, after(1), after(1))]), right)
    assert [(e.value, e.start) for e in run(pairs, [(right, "a", after(3)), (right, "b", after(4))])] == [
        ((1, "a"), NOON),
        ((2, "b"), after(1)),
    ]


def test_tables_are_asked_and_show_their_changes_by_datetimes():
    depth = Reactive("depth", table=True)
    deep = filter_table(depth, lambda metres: metres > 10, restrict=versioned("x"))
    engine = Engine(deep, unit=SECOND)
    (change,) = engine.push(depth, Update("A", 12), at=after(5))
    assert (change.value, change.end) == (Update("A", 12), after(5))
    engine.push(depth, Update("A", 14), at=after(9))
    assert list(engine.versions(deep)) == [after(5), after(9)]
    assert engine.query(deep, at=after(7)) == {"A": 12}
    assert engine.lookup(deep, "A", at=after(9)) == 14
    with pytest.raises(InvalidArgument, match=r"query: .* datetimes, but got at=7"):
        engine.query(deep, at=7)


def test_why_knows_an_event_by_its_datetimes():
    engine = Engine(latest, trace=True)
    engine.push(left, "L", at=NOON)
    (event,) = engine.push(right, "R", at=after(1))
    assert engine.why(event).splitlines()[:2] == [
        "combine_latest(left, right) ('L', 'R') @ 2024-05-01 12:00:00+00:00..2024-05-01 12:00:01+00:00",
        "  left = left 'L' @ 2024-05-01 12:00:00+00:00",
    ]
    for said in (html_of(engine.why(event)), marble_diagram(engine), marble_diagram([event])):
        assert "at 2024-05-01 12:00:00+00:00" in said
        assert "1714564800" not in said
    assert engine.pushed[0].start == NOON
    assert "became: combine_latest" in engine.why(engine.pushed[0])


def test_subscribers_and_outputs_that_are_added_hear_datetimes():
    counts = correlate(x=left, yields=lambda x: x, restrict=key_by(x="id") | most_recently("x") | as_table("x"))
    engine, heard = Engine(latest, counts), []
    engine.subscribe(latest, heard.extend)
    engine.push(left, {"id": 1}, at=NOON)
    engine.push(right, 1, at=after(1))
    assert [event.end for event in heard] == [after(1)]
    again = filter_table(counts, lambda row: row.id > 0)
    assert [event.end for event in engine.add(again)] == [after(1)]


@pytest.mark.parametrize("batch", [False, True])
def test_a_snapshot_remembers_that_times_are_datetimes(batch):
    engine = Engine(latest)
    if batch:
        engine.push_many({left: {"value": ["L"], "at": [NOON]}})
    else:
        engine.push(left, "L", at=NOON)
    again = Engine.restore(engine.snapshot(), latest)
    (event,) = again.push(right, "R", at=after(1))
    assert (event.start, event.end) == (NOON, after(1))
    with pytest.raises(InvalidArgument, match="datetimes"):
        Engine.restore(engine.snapshot(), latest).push(right, "R", at=5)


@pytest.mark.parametrize("tier", [None, "reference"])  # in columns, and row by row
@pytest.mark.parametrize("type_", [pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Amsterdam"), None])
def test_a_batch_takes_and_gives_timestamps(tier, type_):
    engine = Engine(latest, unit=SECOND, tier=tier)
    times = [[NOON, after(2)], [after(1)]]
    ats = [pa.array(one, type_) if type_ else one for one in times]
    batch = {left: {"value": [1, 2], "at": ats[0], "order": [0, 2]}, right: {"value": [7], "at": ats[1], "order": [1]}}
    table = engine.push_many(batch)
    assert table.schema.field("start").type == table.schema.field("end").type == pa.timestamp("us", "UTC")
    assert table.column("end").to_pylist() == [after(1), after(2)]
    assert [(e.value, e.start, e.end) for e in events_of(table)] == [
        ((1, 7), NOON, after(1)),
        ((2, 7), after(1), after(2)),
    ]
    (event,) = engine.push(right, 8, at=after(3))
    assert (event.start, event.end) == (after(2), after(3))


def test_a_batch_is_held_to_the_same_rules():
    cases = [
        (
            pa.array([NOON.replace(tzinfo=None)]),
            r"aware datetimes in 'at' .*timestamp\[us\]; give the timestamps a time zone",
        ),
        (pa.array([after(0.5)]), "whole time units of 0:00:01 in 'at'"),
        (pa.array([NOON, None]), "with nulls; leave nulls out"),
        (pa.array([2**62], pa.timestamp("us", "UTC")), "of the years 1 to 9999 in 'at' .* in row 0"),
        ([NOON, 5], "ints in 'at' for 'left' but got what no 64 bits hold, or values of several types"),
    ]
    for at, message in cases:
        engine = Engine(left, latest, unit=SECOND)
        with pytest.raises(InvalidArgument, match=message):
            engine.push_many({left: {"value": [1] * len(at), "at": at}})
        engine.push(left, 1, at=3)  # nothing was changed: it may be told ints
    engine = Engine(latest)
    engine.push_many({left: {"value": [1], "at": [3]}})
    with pytest.raises(InvalidArgument, match="ints, but got a column of datetimes"):
        engine.push_many({left: {"value": [1], "at": [NOON]}})


def test_a_batch_shows_the_times_that_pushes_show_also_where_they_are_no_datetimes():
    far = 2**62 // 10**6  # of seconds: in the year 146138514344
    engine, other = Engine(latest, unit=SECOND), Engine(latest, unit=SECOND)
    for one in (engine, other):
        one.push(left, "L", at=after(0))
        one._world.calendar.is_dated = False
        one.push(left, "M", at=far)
        one._world.calendar.is_dated = True
    (event,) = other.push(right, 1, at=after(3))
    table = engine.push_many({right: {"value": [1], "at": [after(3)]}})
    assert event.end == far
    assert table.column("end").to_pylist() == [far]


def test_a_program_may_name_times_as_datetimes_whatever_the_unit():
    trace = [(left, 0, -1), (left, 1, 0), (right, 2, 3), (right, 3, 9), (left, 4, 12), (right, 5, 31)]
    for restriction, found in [
        (fixed(NOON, after(30)), {(1, 2), (1, 3), (4, 2), (4, 3)}),
        (sliding(10 * SECOND, 10 * SECOND, t0=NOON), {(1, 2), (1, 3)}),
    ]:
        within_it = cartesian(left, right, restrict=restriction)
        for unit in (timedelta(microseconds=1), SECOND):
            for tier in (None, "reference"):
                given = run(within_it, [(r, v, after(t)) for r, v, t in trace], unit=unit, tier=tier)
                assert {event.value for event in given} == found
            engine = Engine(within_it, unit=unit)
            batch = {
                reactive: {
                    "value": [v for r, v, _ in trace if r is reactive],
                    "at": [after(t) for r, _, t in trace if r is reactive],
                    "order": [place for place, (r, _, _) in enumerate(trace) if r is reactive],
                }
                for reactive in (left, right)
            }
            assert {event.value for event in events_of(engine.push_many(batch))} == found
            Engine.restore(engine.snapshot(), within_it, unit=unit)
    assert repr(fixed(NOON, after(30))).startswith("fixed(datetime(2024, 5, 1, 12, 0, tzinfo=timezone.utc)")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fixed(NOON, 3), "expected two times of one kind"),
        (
            lambda: fixed(NOON.replace(tzinfo=None), NOON),
            "an int of time units or a datetime with a zone, but got start=",
        ),
        (lambda: fixed(NOON, NOON), "expected start < end"),
        (lambda: sliding(5, 5, t0=NOON.replace(tzinfo=None)), "a datetime with a zone, but got t0="),
        (lambda: Engine(cartesian(left, right, restrict=fixed(NOON, after(0.5))), unit=SECOND), "whole time units"),
        (lambda: Window(NOON, 3), "expected two times of one kind"),
        (lambda: Window(NOON, NOON), "expected start < end"),
    ],
)
def test_a_time_that_a_program_names_is_held_to_the_same_rules(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()


def test_the_bounds_of_a_window_compare_as_instants_also_in_the_hour_that_comes_twice():
    first = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    second, quarter = first.replace(fold=1), first.replace(minute=45)
    assert Window(first, second) != Window(first, quarter)
    engine = Engine(cartesian(left, restrict=fixed(first, second)))
    assert [len(engine.push(left, 1, at=at)) for at in (first, quarter, second)] == [1, 1, 0]
    for make in (Window, fixed):
        with pytest.raises(InvalidArgument, match="expected start < end"):
            make(second, quarter)


def test_windows_in_results_and_keys_show_as_datetimes_in_pushes_queries_batches_and_frames():
    totals = aggregate(left, count, by="k", restrict=tumbling(10 * SECOND, lateness=5 * SECOND))
    minute = Window(NOON, after(10))
    engine = Engine(totals, trace=True, unit=SECOND)
    assert engine.push(left, {"k": "a"}, at=NOON)[0].value == Update(("a", minute), 1)
    (event,) = engine.push(left, {"k": "a"}, at=after(3))
    assert event.value == Update(("a", minute), 2)
    assert engine.query(totals) == engine.query(totals, at=NOON) == {("a", minute): 2}
    assert engine.lookup(totals, ("a", minute)) == 2
    assert engine.lookup(totals, ("a", Window(after(10), after(20)))) is None
    assert "12, 0, 10, tzinfo" in engine.why(event)
    batch = {left: {"k": ["a", "a"], "at": [NOON, after(3)]}}
    table = Engine(totals, unit=SECOND).push_many(batch)
    assert events_of(table)[-1].value == Update(("a", minute), 2)
    frame = pa.table({"k": ["a", "a"], "time": pa.array([NOON, after(3)], pa.timestamp("us"))})
    found = run_frames(totals, {"left": frame}, at="time").to_pylist()[-1]
    assert found["key"] == {"0": "a", "1": {"start": NOON.replace(tzinfo=None), "end": after(10).replace(tzinfo=None)}}


@pytest.mark.parametrize("tier", [None, "reference"])
def test_a_window_that_a_body_yields_shows_as_datetimes(tier):
    @correlate(x=left, restrict=tumbling(10 * SECOND))
    def tagged(x, *, window):
        yield {"x": x, "window": window}

    (event,) = Engine(tagged, tier=tier).push(left, 1, at=after(3))
    (same,) = events_of(Engine(tagged, tier=tier).push_many({left: {"value": [1], "at": [after(3)]}}))
    assert event.value["window"] == same.value["window"] == Window(NOON, after(10))


def test_a_tracker_takes_and_shows_datetimes():
    tracker = Tracker(
        correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=in_sequence("x", "y", contiguity="strict"))
    )
    assert tracker.push(left, 1, at=NOON) == []
    (event,) = tracker.push(right, 2, at=after(2))
    assert (event.start, event.end) == (NOON, after(2))
    with pytest.raises(InvalidArgument, match="datetimes, but got at=3"):
        tracker.push(left, 1, at=3)


def test_the_picture_of_a_running_program_has_datetimes_and_takes_events_without_times_as_well():
    engine = Engine(latest, trace=True, lateness=SECOND)
    engine.push(left, "K")
    engine.push(left, "L", at=NOON)
    engine.push(right, "R", at=after(1))
    engine.push(right, "S", at=after(-9))
    engine.advance(after(60))
    answers = Answers([recording_of(engine, "test")], 0, "test")
    step = answers.step({"run": 0, "step": 3})
    assert step["call"] == f"right 'R' comes, at {after(1)}."
    assert step["given"][0]["text"] == f"combine_latest(left, right) ('L', 'R') @ {NOON}..{after(1)}"
    assert step["clock"] == str(NOON)
    assert answers.step({"run": 0, "step": 4})["aside"][0]["why"] == f"its end {after(-9)} is before the clock {NOON}"
    assert answers.step({"run": 0, "step": 5})["call"] == f"The clock is advanced to {after(60)}."
    assert answers.open({"run": 0, "off": [0]})["counts"] is not None


@pytest.mark.parametrize("at", [datetime(9999, 12, 31, 1, tzinfo=UTC), datetime(1, 1, 1, 23, tzinfo=UTC)])
@pytest.mark.parametrize("width", [1, 2, 10])
def test_a_window_of_which_one_bound_has_no_year_is_shown_in_time_units(at, width):
    """To show it failed after the push had been done, and the engine was broken for good."""
    totals = aggregate(left, count, restrict=tumbling(timedelta(days=width)))
    engine = Engine(totals)
    engine.push(left, 1, at=NOON)
    (event,) = engine.push(left, 1, at=at)
    (window,) = [window for window in engine.query(totals) if window == event.value.key]
    assert engine.query(totals)[window] == 1
    first = Engine(totals)
    first.push(left, 1, at=0)
    (inside,) = first.push(left, 1, at=(at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    if isinstance(window.start, datetime):
        assert window.holds(at, at)
    else:
        assert window == inside.value.key
    again = Engine.restore(engine.snapshot(), totals)
    assert again.query(totals) == engine.query(totals)
    assert [one.value for one in again.push(left, 1, at=at)] == [Update(window, 2)]


@pytest.mark.parametrize(
    "at",
    [
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
        datetime.max.replace(tzinfo=timezone(timedelta(minutes=1) - timedelta(days=1))),
    ],
)
def test_a_datetime_that_has_no_year_in_utc_is_noted_and_saved(at):
    engine = Engine(latest)
    before, mark = engine.snapshot(), engine.mark()
    for source in left, right, left:
        engine.push(source, 1, at=(NOON, NOON) if at.year == 1 and source is right else at)
    again = Engine.restore(before, latest, changes=[engine.changes_since(mark)])
    assert again.snapshot() == engine.snapshot()


@pytest.mark.parametrize("at", [datetime(9999, 12, 30, tzinfo=UTC), datetime(1, 1, 1, 23, tzinfo=UTC)])
def test_a_batch_shows_such_a_window_as_a_push_does(at):
    totals = aggregate(left, count, restrict=tumbling(timedelta(days=10)))
    many, one = Engine(totals), Engine(totals)
    assert events_of(many.push_many({left: {"value": [1], "at": [at]}})) == one.push(left, 1, at=at)
    assert many.query(totals) == one.query(totals)
