"""Totals in windows, compiled: what `aggregate` gives of batches is what it gives of one event after the other.

The oracle is the reference tier, event by event, on random programs and traces; what it may differ in is how often the
state goes from columns to objects and back, so batches are cut and mixed with pushes, clock moves and snapshots.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update, Window, correlate
from cartesius.columns.batches import keyed_state
from cartesius.columns.batches.keyed_state import KeyedState
from cartesius.columns.groups.fixed_point import as_fixed, of_floats, quotients, rounded, running
from cartesius.columns.results import events_of
from cartesius.columns.vectors.ordering import Segments
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.columns.windows.window_totals import WindowTotals
from restrictions import (
    combine_latest,
    fixed,
    key_by,
    most_recently,
    only,
    retracting,
    session,
    sliding,
    tumbling,
    without,
)
from restrictions.streams import filter_, interval_join, map_, merge
from restrictions.tables import Group, Monoid, aggregate, count, filter_table, max_, mean, min_, sum_
from restrictions.windows import final, last, non_empty, on_close, periodic
from tests.laws.catalogue_tiers import often_by_key
from tests.unit.cartesius.columns import stream_traces

READ = Reactive("read")
LONGEST = Monoid("", lambda a, b: max(a, b, key=lambda text: len(text or "")))
GROUPS = (
    count, sum_.of("n"), mean.of("n"), min_.of("n"), max_.of("n"), sum_.of("f"), mean.of("f"), max_.of("f"),
    min_.of(lambda read: read.n * 2 + 1), max_.of("key"), count.of("f"),
    LONGEST.of("key"), Group(1, lambda a, b: a * b, lambda a: 1 / a).of("n"),
)  # fmt: skip
KEYS = (None, "key", lambda read: read.n % 2, lambda read: str(read.n > 0), "n")
REPORTS = ({}, {"report": on_close}, {"report": final}, {"report": on_close & non_empty})


@st.composite
def tables(draw, keys=KEYS, reports=REPORTS):
    windows = draw(
        st.sampled_from([
            lambda **options: tumbling(5, **options),
            lambda **options: tumbling(4, offset=-1, **options),
            lambda **options: sliding(6, 4, **options),
            lambda **options: sliding(3, 5, t0=2, **options),
            lambda **options: sliding(5, 1, **options),
        ])
    )  # fmt: skip
    options = draw(st.sampled_from(reports)) | {"lateness": draw(st.sampled_from([0, 0, 3]))}
    restrict = windows(**options)
    if draw(st.integers(0, 3)) == 0:
        restrict |= only("x", lambda read: read.n != 1)
    return aggregate(READ, draw(st.sampled_from(GROUPS)), by=draw(st.sampled_from(keys)), restrict=restrict)


NUMBERS = st.one_of(st.integers(-4, 4).map(float), st.floats(-1e3, 1e3), st.sampled_from([0.1, 1e-9, 2.0**40]))
VALUES = st.builds(
    lambda n, f, key: {"n": n, "f": f, "key": key}, st.integers(-3, 3), NUMBERS, st.sampled_from(["a", "bb", "ccc"])
)
EVENTS = st.lists(st.tuples(VALUES, st.integers(-4, 4), st.integers(0, 1)), max_size=7)
KINDS = st.sampled_from(["batch", "batch", "batch", "push", "advance", "snapshot", "query"])
CALLS = st.lists(st.tuples(KINDS, EVENTS), max_size=4)
HELD = [({"n": n, "f": n / 8, "key": key}, n % 2, 0) for n in range(-2, 3) for key in ("a", "bb", "ccc", None)]
FEW = st.lists(st.tuples(VALUES, st.integers(-4, 4), st.integers(0, 1)), min_size=1, max_size=3)
FEW_CALLS = st.lists(
    st.tuples(st.sampled_from(["batch"] * 5 + ["push", "advance", "snapshot", "query"]), FEW), min_size=3, max_size=9
)


def shown(events):
    """Type-exactly, as `==` takes 1 for True and 0.0 for -0.0."""
    return [(repr(e.value), repr(e.start), repr(e.end), e.weight, e.reactive) for e in events]


def compiled(engine):
    assert engine._compiled is not None
    return engine._compiled


def late(engine):
    return [(repr(event), event.identity, slot, reason) for event, slot, reason in engine.late]


def batch_of(events, now):
    ends = [now + shift for _, shift, _ in events]
    starts = [end - length for end, (_, _, length) in zip(ends, events, strict=True)]
    return {
        READ: pa.table({
            **{name: pa.array([value[name] for value, _, _ in events]) for name in ("n", "f", "key")},
            "start": pa.array(starts, pa.int64()),
            "end": pa.array(ends, pa.int64()),
        })
    }  # fmt: skip


@settings(print_blob=True)
@given(st.lists(tables(), min_size=1, max_size=2), st.sampled_from([None, None, 0, 2]), CALLS)
def test_batches_give_what_pushes_give(outputs, lateness, calls):
    check(outputs, lateness, calls)


@settings(print_blob=True)
@given(tables(keys=KEYS[1:], reports=({}, {}, {}, {"report": on_close})), st.sampled_from([None, 0, 2]), FEW_CALLS)
def test_likewise_where_a_small_batch_touches_the_totals_of_its_keys_alone(output, lateness, calls):
    with often_by_key():
        check([output], lateness, [("batch", HELD), *calls, ("query", [])], step=2)


@settings(print_blob=True)
@given(tables(reports=REPORTS[1:]), st.sampled_from([0, 2]), FEW_CALLS)
def test_likewise_where_what_waits_is_of_keys_or_by_itself(output, lateness, calls):
    with often_by_key():
        check([output], lateness, [("batch", HELD), *calls, ("query", [])], step=2)


TWICE = "several results are due at one time, which go to several outputs"
SESSIONS = st.builds(
    lambda group, by, gap: aggregate(READ, group, by=by, restrict=session(gap)),
    st.sampled_from(GROUPS), st.sampled_from(KEYS), st.integers(1, 6),
)  # fmt: skip


@settings(print_blob=True)
@given(st.lists(st.one_of(SESSIONS, SESSIONS, tables()), min_size=1, max_size=2), st.sampled_from([None, 0, 2]),
       CALLS)  # fmt: skip
def test_batches_of_sessions_give_what_pushes_give(outputs, lateness, calls):
    check(outputs, lateness, calls)


@settings(print_blob=True)
@given(SESSIONS, st.sampled_from([None, 0, 2]), FEW_CALLS)
def test_likewise_where_a_small_batch_touches_the_sessions_of_its_keys_alone(output, lateness, calls):
    with often_by_key():
        check([output], lateness, [("batch", HELD), *calls, ("query", [])], step=2)


def check(outputs, lateness, calls, step=4):
    reference = Engine(*outputs, lateness=lateness, tier="reference")
    engine = Engine(*outputs, lateness=lateness)
    now = 0
    for call, events in calls:
        now += step
        expected = [
            event
            for value, shift, length in events
            if call in ("batch", "push")
            for event in reference.push(READ, value, at=(now + shift - length, now + shift))
        ]
        if call == "batch":
            assert shown(events_of(engine.push_many(batch_of(events, now)))) == shown(expected)
            assert compiled(engine).reason == ""
            assert engine._why_row_by_row in ("", TWICE)
        elif call == "push":
            found = [
                event
                for value, shift, length in events
                for event in engine.push(READ, value, at=(now + shift - length, now + shift))
            ]
            assert shown(found) == shown(expected)
        elif call == "advance":
            assert shown(engine.advance(now - 2)) == shown(reference.advance(now - 2))
        elif call == "snapshot":
            engine = Engine.restore(engine.snapshot(), *outputs, lateness=lateness)
            reference = Engine.restore(reference.snapshot(), *outputs, lateness=lateness, tier="reference")
        else:
            assert engine.stats == reference.stats
            assert engine.next_deadline == reference.next_deadline
            for table in outputs:
                assert list(engine.query(table).items()) == list(reference.query(table).items())
                assert engine.query(table, at=now) == reference.query(table, at=now)
        assert engine.clock == reference.clock
        assert late(engine) == late(reference)
    assert engine.stats == reference.stats
    assert shown(engine.close()) == shown(reference.close())
    assert late(engine) == late(reference)


@pytest.mark.parametrize(
    "group", [sum_.of("n"), mean.of("n"), sum_.of("f"), mean.of("f"), max_.of("n"), count], ids=repr
)
def test_a_small_batch_touches_the_totals_of_its_keys_alone(group):
    totals = aggregate(READ, group, by="key", restrict=sliding(100, 50))
    engine = Engine(totals, lateness=0)
    held, few = 20_000, 20
    touched = []

    def running(stage, state, arriving, moment):
        touched.append(state.n_retained)
        return run(stage, state, arriving, moment)

    run = WindowTotals.run
    with mock.patch.object(WindowTotals, "run", running):
        engine.push_many(readings(range(held), 60))
        for number in range(60):
            assert len(engine.push_many(readings(range(few), 61 + number // 2, number + 1))) == 2 * few
            if number % 20 == 9:
                assert engine.push(READ, {"n": 1, "f": 0.5, "key": held + number}, at=61 + number // 2)
    first, second, *others = touched
    assert (first, second) == (0, 2 * held)
    assert max(others) == 2 * few
    (state,) = compiled(engine).states
    assert isinstance(state, KeyedState)
    engine.push_many(readings([0], 160))  # windows are freed
    assert len(engine.query(totals)) == 2


def test_floats_of_very_different_sizes_in_several_keys_are_totalled_apart():
    totals = aggregate(READ, mean.of("f"), by="key", restrict=tumbling(100))
    engine, reference = Engine(totals), Engine(totals, tier="reference")
    with often_by_key():
        for at, (key, f) in enumerate([(0, 1.0), (1, 1.0), (2, 1.0), (3, 1e-290), (4, 1e290)]):  # each by itself
            expected = reference.push(READ, {"n": 0, "f": f, "key": key}, at=at)
            found = events_of(engine.push_many({READ: {"n": [0], "f": [f], "key": [key], "at": [at]}}))
            assert shown(found) == shown(expected)
    assert engine.query(totals) == reference.query(totals)


@pytest.fixture
def touched(monkeypatch):
    """How many events that wait each batch is given."""
    run, found = WindowTotals.run, []

    def running(stage, state, arriving, moment):
        found.append(0 if state.retained[0] is None else len(state.retained[0]))
        return run(stage, state, arriving, moment)

    monkeypatch.setattr(WindowTotals, "run", running)
    monkeypatch.setattr(keyed_state, "LEAST", 1 << 9)
    return found


@pytest.mark.parametrize("report", [on_close, final])
def test_a_small_batch_touches_what_waits_of_its_keys_alone(report, touched):
    engine = Engine(aggregate(READ, sum_.of("n"), by="key", restrict=tumbling(1000, report=report)), lateness=0)
    for at, keys in ((1, range(3000)), (2, range(5)), (3, range(5, 10)), (4, range(5))):
        assert engine.push_many(readings(keys, at, 1)).num_rows == 0
    assert touched == [0, 3000, 5, 10]
    assert engine.push_many(readings([7], 1001, 1)).num_rows == 3000
    assert touched[-1] == 3015


@pytest.mark.parametrize("report", [on_close, final])
def test_likewise_in_windows_that_overlap_when_the_next_of_them_is_due(report, touched):
    engine = Engine(aggregate(READ, sum_.of("n"), by="key", restrict=sliding(1000, 500, report=report)), lateness=0)
    for at, keys in ((1, range(3000)), (2, range(5)), (3, range(5, 10)), (4, range(5))):
        assert engine.push_many(readings(keys, at, 1)).num_rows == 0
    assert touched == [0, 3000, 5, 10]
    assert engine.push_many(readings([7], 501, 1)).num_rows == 3000  # of those that began at -500
    assert touched[-1] == 3015
    for at in (502, 503):
        assert engine.push_many(readings([7], at, 1)).num_rows == 0
    assert touched[-2:] == [3, 4]
    assert engine.push_many(readings([7], 1001, 1)).num_rows == 3000
    assert touched[-1] == 3018


def test_without_a_key_a_small_batch_touches_nothing_that_waits_before_it_is_due(touched):
    engine = Engine(aggregate(READ, sum_.of("n"), restrict=sliding(1000, 500, report=on_close)), lateness=0)
    for at, keys in ((1, range(3000)), (2, range(5)), (3, range(5))):
        assert engine.push_many(readings(keys, at, 1)).num_rows == 0
    (change,) = events_of(engine.push_many(readings([7], 502, 1)))
    assert change.value == Update(Window(-500, 500), 3010)
    for at in (503, 504):
        assert engine.push_many(readings([7], at, 1)).num_rows == 0
    assert touched == [0, 3000, 0, 3010, 0, 0]
    (change,) = events_of(engine.push_many(readings([7], 1001, 1)))
    assert change.value == Update(Window(0, 1000), 3013)


def test_a_clock_that_frees_windows_frees_the_totals_that_are_held_by_key():
    totals = aggregate(READ, sum_.of("n"), by="key", restrict=tumbling(10))
    engine = Engine(totals, lateness=None)
    with often_by_key():
        for at in (1, 2, 3, 12):
            engine.push_many(readings(range(4 if at < 9 else 2), at, at))
        (state,) = compiled(engine).states
        assert isinstance(state, KeyedState)
        engine.advance(11)
        assert [key for key, _ in engine.query(totals)] == [0, 1]
        assert engine.push_many(readings([0], 5)).num_rows == 0
        assert len(engine.late) == 1


def readings(keys, at, n=0):
    values = {"n": [n] * len(keys), "f": [n / 8 + 2.0 ** (n % 9 - 20)] * len(keys), "key": list(keys)}
    return {READ: {**values, "at": [at] * len(keys)}}


def test_a_window_closes_inside_a_batch_before_the_event_that_moves_the_clock():
    totals = aggregate(READ, sum_, restrict=tumbling(10, report=on_close, lateness=5))
    engine = Engine(totals, lateness=0)
    batch = {READ: {"value": [1, 2, 4, 8, 16], "at": [3, 9, 10, 9, 15]}}
    changes = [(event.value, event.start, event.end) for event in events_of(engine.push_many(batch))]
    assert changes == [(Update(Window(0, 10), 3), 3, 9), (Update(Window(0, 10), 11), 9, 9)]
    assert engine.clock == 15
    assert engine.push_many({READ: {"value": [1], "at": [9]}}).num_rows == 0
    ((event, slot, reason),) = engine.late
    assert (event.value, slot, reason) == (1, "x", "its last window, (0, 10), was freed when the clock reached 15")


def test_windows_of_two_tables_that_close_at_one_event_close_by_time_and_then_by_table():
    first, second = (aggregate(READ, group, restrict=tumbling(10, report=on_close)) for group in (count, sum_))
    engine = Engine(first, second, lateness=0)
    engine.push_many({READ: {"value": [5, 7], "at": [15, 5]}})  # the second is late: its window is freed
    closed = events_of(engine.push_many({READ: {"value": [1, 1], "at": [21, 45]}}))
    assert [(event.value.key.start, event.value.value, event.reactive) for event in closed] == [
        (10, 1, "aggregate(read)"),
        (10, 5, "aggregate(read)#2"),
        (20, 1, "aggregate(read)"),
        (20, 1, "aggregate(read)#2"),
    ]


def test_a_table_of_totals_is_an_input_of_other_tables():
    totals = aggregate(READ, sum_, by=lambda n: n % 2, restrict=tumbling(10))
    large = filter_table(totals, lambda total: total > 4)
    engine, reference = Engine(large), Engine(large, tier="reference")
    values, at = [1, 3, 2, 5, 4, -9], [1, 2, 3, 4, 5, 6]
    expected = [e for value, time in zip(values, at, strict=True) for e in reference.push(READ, value, at=time)]
    assert shown(events_of(engine.push_many({READ: {"value": values, "at": at}}))) == shown(expected)
    assert engine.query(totals) == reference.query(totals)


@pytest.mark.parametrize(
    "values",
    [
        [2**62, 2**62, 2**62, -(2**63)],
        [0.1, float("inf"), 1.0, float("-inf"), 2.0],
        [1e308, 1e308, -1e308, 1e-308, 5e-324],
        [1.0, float("nan"), 2.0, -0.0],
        [-0.0, 0.0, -0.0],
        [Decimal("0.10"), Decimal("0.200"), Decimal("-3")],
        [True, False, True],
        [2**63, 1, 2**64 - 1],
    ],
    ids=str,
)
@pytest.mark.parametrize("group", [sum_, mean, min_, max_], ids=repr)
def test_numbers_that_columns_cannot_add_are_combined_one_by_one(values, group):
    totals = aggregate(READ, group, restrict=tumbling(10))
    engine, reference = Engine(totals), Engine(totals, tier="reference")
    for part in (values[:2], values[2:]):
        expected = [event for value in part for event in reference.push(READ, value, at=1)]
        table = engine.push_many({READ: {"value": part, "at": [1] * len(part)}})
        assert shown(events_of(table)) == shown(expected)
    assert compiled(engine).reason == ""
    assert repr(engine.query(totals)) == repr(reference.query(totals))


@pytest.mark.parametrize(
    ("group", "totals"), [(min_, [None, 3, 2]), (sum_, [None, 3, 5]), (mean, [None, 3.0, 2.5]), (count, [1, 2, 3, 4])]
)
def test_a_null_counts_for_nothing_in_a_total(group, totals):
    engine = Engine(aggregate(READ, group, restrict=tumbling(10)))
    found = events_of(engine.push_many({READ: {"value": [None, 3, None, 2], "at": [1, 1, 2, 3]}}))
    assert [event.value.value for event in found] == totals
    assert compiled(engine).reason == ""
    assert engine._why_row_by_row == ""


def test_what_a_sum_cannot_add_is_raised_as_from_a_push():
    engine = Engine(aggregate(READ, sum_.of(lambda n: n if n == 1 else "a"), restrict=tumbling(10)))
    with pytest.raises(ValueError, match="expected numbers but got 'a'") as caught:
        engine.push_many({READ: {"value": [1, 2], "at": [1, 1]}})
    assert [event.value.value for event in events_of(vars(caught.value)["emitted"])] == [1]


@pytest.mark.parametrize(
    ("restrict", "reason"),
    [
        (tumbling(10, report=periodic(5)), "windows are reported from time to time"),
        (tumbling(10, tick="time"), "what comes to windows comes in batches"),
        (tumbling(10, content=last()), "is run as written"),
        (tumbling(10, on_leave="displace"), "kept, as they may be taken back"),
        (session(5, lateness=1), "merged once they are over"),
        (session(5, on_leave="displace"), "keep what is in them otherwise"),
        (session((1 << 63) - 1), "very long"),
        (session(5) | only("x", lambda n: n > 0), "is kept otherwise"),
        (key_by(x=lambda n: n) | session(5), "not by session"),
        (fixed(0, 9), "is run as written"),
        (key_by(x=lambda n: n) | tumbling(10), "kept, as they may be taken back"),
        (tumbling(1 << 61), "its windows are very large"),
    ],
    ids=str,
)
def test_other_windows_are_refused_with_a_reason_and_run_in_place(restrict, reason):
    totals = aggregate(READ, sum_, restrict=restrict)
    engine, reference = Engine(totals), Engine(totals, tier="reference")
    expected = [event for value, at in ((1, 1), (2, 3), (4, 12)) for event in reference.push(READ, value, at=at)]
    assert shown(events_of(engine.push_many({READ: {"value": [1, 2, 4], "at": [1, 3, 12]}}))) == shown(expected)
    assert reason in compiled(engine).reason


@pytest.mark.parametrize(
    ("derived", "is_compiled"),
    [
        (filter_(READ, lambda x: x > 0), True),
        (merge(READ, Reactive("other")), True),
        (map_(merge(READ, Reactive("other")), lambda x: x), True),
        (merge(READ, map_(READ, abs)), False),  # two in one step
        (interval_join(READ, Reactive("other"), -1, 1), False),
        (correlate(x=READ, yields=lambda x: x, restrict=retracting() | most_recently("x")), False),  # it is taken back
    ],
    ids=lambda given: given.name if isinstance(given, Reactive) else "",
)
def test_results_are_totalled_where_none_is_taken_back_and_one_comes_a_step(derived, is_compiled):
    engine = Engine(aggregate(derived, count, restrict=tumbling(10)))
    engine.push_many({READ: {"value": [1], "at": [1]}})
    assert any(isinstance(stage, WindowTotals) for stage in compiled(engine).stages) == is_compiled


A, B = Reactive("a"), Reactive("b")
SOURCES = [
    filter_(A, lambda x: x.v != 2),
    merge(A, B),
    map_(interval_join(A, B, -4, 3, key="id"), lambda both: both[0]),
    map_(interval_join(A, B, -2, 2), lambda both: {"id": both[0].id, "v": both[1].v}),
    correlate(x=A, yields=lambda x: x, restrict=without(B, after="x", within=2)),
]
WAYS = [{}, {}, {"report": on_close}, {"report": final, "lateness": 2}, {"lateness": 2}]
RESULTS = st.builds(
    lambda source, group, by, restrict: aggregate(source, group, by=by, restrict=restrict),
    st.sampled_from(SOURCES),
    st.sampled_from([count, sum_.of("v"), max_.of("v")]),
    st.sampled_from(["id", "id", None]),
    st.one_of(
        st.builds(lambda size, options: tumbling(size, **options), st.integers(2, 5), st.sampled_from(WAYS)),
        st.builds(lambda size, options: sliding(size, 2, **options), st.integers(2, 5), st.sampled_from(WAYS)),
        st.builds(session, st.integers(1, 3)),
    ),
)


@given(
    RESULTS, stream_traces.traces(2, most=40), st.lists(st.integers(1, 6), max_size=8), st.sampled_from([0, 2, None])
)
def test_batches_of_results_give_what_pushes_give(output, trace, cuts, lateness):
    engine, reference = Engine(output, lateness=lateness), Engine(output, tier="reference", lateness=lateness)
    used = [row for row in trace if (A, B)[row[0]].name in engine.inputs]
    while used:
        size = cuts.pop() if cuts else 5
        here, used = used[:size], used[size:]
        columns = stream_traces.batch_of((A, B), here)
        batch = {one: columns[one] for one in (A, B) if one.name in engine.inputs}
        expected = stream_traces.push(reference, (A, B), here)
        assert stream_traces.exactly(events_of(engine.push_many(batch))) == stream_traces.exactly(expected)
    assert stream_traces.exactly(engine.close()) == stream_traces.exactly(reference.close())
    assert stream_traces.counts(engine.stats) == stream_traces.counts(reference.stats)


def test_what_has_no_key_is_set_aside_and_the_rest_is_totalled():
    totals = aggregate(READ, sum_.of("n"), by="key", restrict=tumbling(10))
    engine, reference = Engine(totals), Engine(totals, tier="reference")
    rows = [{"n": 1, "key": float("nan")}, {"n": 2, "key": 0.5}]
    expected = [event for row in rows for event in reference.push(READ, row, at=1)]
    batch = {READ: {"n": [1, 2], "key": [float("nan"), 0.5], "at": [1, 1]}}
    assert shown(events_of(engine.push_many(batch))) == shown(expected)
    assert engine._why_row_by_row == ""
    assert (
        [(event.value.n, reason) for event, _, reason in engine.late]
        == [(event.value.n, reason) for event, _, reason in reference.late]
        != []
    )


def test_the_source_shows_key_value_and_pattern():
    totals = aggregate(READ, sum_.of("n"), by=lambda read: read.n % 2, restrict=tumbling(10))
    engine = Engine(totals)
    engine.push_many({READ: {"n": [1], "at": [1]}})
    text = compiled(engine).source()
    assert "restrict tumbling(10) | retracting() | totalling_by(" in text
    assert "mod(p0.field('n'), Lane(c0))" in text
    assert "return p0.field('n')" in text
    assert "running sum" in text


def test_a_monoid_keeps_no_elements_where_nothing_is_taken_back():
    totals = aggregate(READ, max_, restrict=tumbling(10))
    engine = Engine(totals, tier="reference")
    sizes = []
    for _ in range(3):
        for value in range(200):
            engine.push(READ, value % 7, at=1)
        sizes.append(len(engine.snapshot()))
    assert max(sizes) - min(sizes) < 40  # counters grow by a digit


FLOATS = st.floats(-(2.0**20), 2.0**20).filter(lambda x: x == 0 or abs(x) > 2.0**-8)


@given(st.lists(st.tuples(st.integers(0, 3), FLOATS), min_size=1, max_size=40), st.integers(1, 1 << 30))
@example([(0, 0.1)] * 10, 3)
@example([(0, 2.0**20), (0, 2.0**-7), (0, -(2.0**20))], 1)
@example([(0, 1.0), (0, 2.0**-30), (0, 2.0**-24), (0, 2.0**-23), (1, 1 + 2.0**-52)], 1 << 20)
def test_running_sums_and_means_of_floats_are_the_exact_ones_rounded_once(rows, divisor):
    codes, numbers = np.array([code for code, _ in rows]), np.array([x for _, x in rows])
    segments = Segments(codes, 4, 0)
    sums = running(segments, None, numbers)
    shown_sums, shown_means = rounded(sums), quotients(sums, np.full(len(rows), divisor))
    for row, place in enumerate(segments.places.tolist()):
        exact = sum((Fraction(x) for code, x in rows[: row + 1] if code == rows[row][0]), Fraction())
        assert shown_sums[place] == float(exact)
        assert not (shown_sums[place] == 0 and math.copysign(1, shown_sums[place]) < 0)
        assert shown_means[place] == float(exact / divisor)


@given(st.lists(st.integers(-(2**100), 2**100), min_size=1, max_size=8), st.integers(-60, 0))
def test_a_fixed_point_number_is_rounded_to_even(numbers, exponent):
    exact = [Fraction(number) * Fraction(2) ** exponent for number in numbers]
    fixed = as_fixed(exact)
    assert fixed.exact() == exact
    assert rounded(fixed).tolist() == [float(one) for one in exact]
    for divisor in (1, 2, 3, 1 << 20, 1_000_003):
        assert quotients(fixed, np.full(len(exact), divisor)).tolist() == [float(one / divisor) for one in exact]


def test_floats_of_very_different_sizes_are_refused():
    with pytest.raises(NotColumnar, match="very different sizes"):
        of_floats(np.array([1e300, 1e-300]), None)
    with pytest.raises(NotColumnar, match="not finite"):
        of_floats(np.array([1.0, np.inf]), None)


def one_by_one(engine, rows):
    return [event for reactive, value, at in rows for event in engine.push(reactive, value, at=at)]


def columns(rows):
    batch = {}
    for order, (reactive, value, at) in enumerate(rows):
        of = batch.setdefault(reactive, {"value": [], "at": [], "order": []})
        for name, item in (("value", value), ("at", at), ("order", order)):
            of[name].append(item)
    return batch


def test_what_is_late_is_set_aside_input_by_input_where_only_windows_keep_it():
    tide = Reactive("tide")
    outputs = aggregate(READ, sum_, restrict=tumbling(10, lateness=5)), combine_latest(tide)
    engine, reference = (Engine(*outputs, lateness=0, tier=tier) for tier in (None, "reference"))
    rows = [(READ, 1, 8), (tide, "a", 12), (tide, "b", 3), (READ, 2, 7), (READ, 3, 20), (READ, 4, 9)]
    assert shown(events_of(engine.push_many(columns(rows)))) == shown(one_by_one(reference, rows))
    assert engine._why_row_by_row == ""
    assert late(engine) == late(reference)
    assert [slot for _, _, slot, _ in late(engine)] == ["tide", "x"]


def test_what_is_late_for_one_slot_alone_is_left_to_the_objects():
    outputs = aggregate(READ, sum_, restrict=tumbling(10, lateness=5)), combine_latest(READ)
    engine, reference = (Engine(*outputs, lateness=0, tier=tier) for tier in (None, "reference"))
    rows = [(READ, 1, 8), (READ, 2, 12), (READ, 3, 9)]
    assert shown(events_of(engine.push_many(columns(rows)))) == shown(one_by_one(reference, rows))
    assert engine._why_row_by_row == "late events count for some time"
    assert late(engine) == late(reference)


def test_what_closes_comes_in_a_step_of_its_own_so_that_it_and_tables_of_it_are_left_to_the_objects():
    totals = aggregate(READ, sum_, by=lambda n: n % 2, restrict=tumbling(10, report=on_close))
    large = filter_table(totals, lambda total: total > 4)
    engine, reference = (Engine(large, lateness=0, tier=tier) for tier in (None, "reference"))
    rows = [(READ, 5, 3), (READ, 6, 4), (READ, 1, 12), (READ, 9, 13), (READ, 2, 31)]
    assert shown(events_of(engine.push_many(columns(rows)))) == shown(one_by_one(reference, rows))
    assert "what is due comes in steps of its own" in compiled(engine).reason


@pytest.mark.parametrize(
    "keys",
    [[None, "a", None, "a"], [None] * 4, [1, 2, None, 1], [0.5, -0.0, 0.0, 0.5], [True, None, False, True]],
    ids=str,
)
@pytest.mark.parametrize("report", REPORTS[:2], ids=str)
def test_a_key_may_be_missing_and_is_shown_as_it_came(keys, report):
    totals = aggregate(READ, sum_.of("n"), by="key", restrict=tumbling(10, **report))
    engine, reference = (Engine(totals, lateness=0, tier=tier) for tier in (None, "reference"))
    for since in (0, 2, 10):
        rows = [(READ, {"n": n, "key": key}, since + n) for n, key in enumerate(keys)]
        batch = {READ: {"n": list(range(4)), "key": keys, "at": [since + n for n in range(4)]}}
        assert shown(events_of(engine.push_many(batch))) == shown(one_by_one(reference, rows))
        assert engine._why_row_by_row == ""
        assert repr(engine.query(totals)) == repr(reference.query(totals))


def test_a_durable_engine_leaves_totals_of_ones_own_to_the_objects():
    totals = aggregate(READ, Monoid(None, lambda a, b: object()), restrict=tumbling(10))
    engine = Engine(totals, durable=True)
    with pytest.raises(TypeError, match="expected plain data"):
        engine.push_many({READ: {"value": [1], "at": [1]}})
    assert "its totals may be what no snapshot can hold" in compiled(engine).reason
    engine = Engine(aggregate(READ, sum_, restrict=tumbling(10)), durable=True)
    assert engine.push_many({READ: {"value": [1], "at": [1]}}).num_rows == 1
    assert compiled(engine).reason == ""


def test_totals_are_known_in_the_order_in_which_their_windows_close():
    totals = aggregate(READ, count, by="key", restrict=sliding(5, 1, report=on_close, lateness=3))
    engine, reference = (Engine(totals, lateness=0, tier=tier) for tier in (None, "reference"))
    rows = [(READ, {"key": key}, at) for key, at in (("b", 28), ("a", 28), ("b", 30), ("a", 31), ("a", 32))]
    assert shown(events_of(engine.push_many(columns(rows)))) == shown(one_by_one(reference, rows))
    assert list(engine.query(totals)) == list(reference.query(totals))
