"""Two streams in windows, compiled: batches give what one event after the other gives in the reference tier."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import (
    affinely,
    aligning,
    at_most,
    earliest,
    fifo,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    retracting,
    sliding,
    tumbling,
    within,
)
from restrictions.windows import final, non_empty, on_close

BID, ASK = Reactive("bid"), Reactive("ask")
KEYED = key_by(bid="key", ask=lambda ask: ask.key)


@st.composite
def correlations(draw):
    windows = draw(
        st.sampled_from([
            tumbling(5), tumbling(4, offset=1, lateness=3),
            sliding(6, 4), sliding(4, 2, lateness=2), sliding(3, 5, t0=1),
            tumbling(5, report=on_close), tumbling(4, lateness=4, report=on_close), sliding(6, 3, report=on_close),
            tumbling(3, lateness=2, report=final), sliding(4, 2, lateness=2, report=on_close & non_empty),
        ])
    )  # fmt: skip
    rest = draw(
        st.sampled_from([
            None, most_recently("bid"), most_recently("bid", "ask"), most_recently("ask", n=2), fifo(),
            most_recently("bid", "ask", n=3) | fifo(), KEYED, KEYED | most_recently("bid", "ask"),
            most_recently("bid", "ask") | KEYED, earliest("ask"), momentarily("ask"), retracting(),
            most_recently("bid", "ask") | retracting(), KEYED | most_recently("bid", n=2) | retracting(),
            KEYED | most_recently("bid", "ask") | optionally("ask") | retracting(),
            most_recently("bid", "ask") | optionally("bid", "ask") | retracting(),
            affinely("bid", "ask"), KEYED | at_most(2, "ask"), most_recently("bid") | affinely("ask"),
            fifo() | affinely("bid"), aligning("bid", "ask"),
            KEYED | most_recently("bid", "ask") | aligning("bid", "ask"),
        ])
    )  # fmt: skip
    where = draw(
        st.sampled_from(
            [
                None,
                lambda bid, ask: bid.n >= ask.n,
                lambda bid, ask: bid.key == ask.key,
                lambda bid, ask: (bid.key == ask.key) & (bid.n <= ask.n),
            ]
        )
    )
    yields = draw(
        st.sampled_from(
            [lambda bid, ask: (bid, ask), lambda bid, ask, window: (bid, window, ask)]
            if "optionally" in repr(rest)
            else [lambda bid, ask: (bid.n, ask.n), lambda bid, ask, window: (bid.n, ask.n, window.start, window)]
        )
    )
    restrict = windows if rest is None else windows | rest
    if draw(st.integers(0, 2)) == 0:
        restrict |= only(draw(st.sampled_from(["bid", "ask"])), lambda value: value.n != 1)
    if draw(st.integers(0, 3)) == 0 and "key_by" not in repr(restrict):
        restrict = KEYED | restrict
    note(repr(restrict))
    return correlate(bid=BID, ask=ASK, where=where, yields=yields, restrict=restrict)


EVENTS = st.lists(
    st.tuples(
        st.booleans(), st.integers(0, 3), st.sampled_from(["a", "b", None]), st.integers(-4, 4), st.integers(0, 1)
    ),
    max_size=7,
)
CALLS = st.lists(
    st.tuples(st.sampled_from(["batch", "batch", "batch", "push", "advance", "snapshot", "stats"]), EVENTS), max_size=4
)


NOT_EXACTLY = (
    "an event in a window has no key",  # where two things limit what is kept, by window and key
    "an event without a key comes out unmatched",
)


def shown(events):
    return [(repr(e.value), repr(e.start), repr(e.end), e.weight, e.reactive) for e in events]


def late(engine):
    return [(repr(event), event.identity, slot, reason) for event, slot, reason in engine.late]


def batch_of(events, now):
    batch = {}
    for reactive, is_bid in ((BID, True), (ASK, False)):
        mine = [(order, event) for order, event in enumerate(events) if event[0] is is_bid]
        if mine:
            batch[reactive] = {
                "n": [event[1] for _, event in mine],
                "key": pa.array([event[2] for _, event in mine], pa.string()),
                "end": [now + event[3] for _, event in mine],
                "start": [now + event[3] - event[4] for _, event in mine],
                "order": [order for order, _ in mine],
            }
    return batch


def pushed(engine, events, now):
    return [
        found
        for is_bid, n, key, shift, length in events
        for found in engine.push(BID if is_bid else ASK, {"n": n, "key": key}, at=(now + shift - length, now + shift))
    ]


@given(correlations(), st.sampled_from([None, None, 0, 2]), CALLS)
def test_batches_give_what_pushes_give(output, lateness, calls):
    reference = Engine(output, lateness=lateness, tier="reference")
    engine = Engine(output, lateness=lateness)
    for step, (call, events) in enumerate(calls):
        now = 4 * step
        if call == "batch":
            found = shown(events_of(engine.push_many(batch_of(events, now))))
            assert found == shown(pushed(reference, events, now))
            assert engine._compiled is not None
            assert engine._compiled.reason == ""
            assert engine._why_row_by_row in ("", *NOT_EXACTLY)
        elif call == "push":
            assert shown(pushed(engine, events, now)) == shown(pushed(reference, events, now))
        elif call == "advance":
            assert engine.advance(now - 2) == reference.advance(now - 2)
        elif call == "snapshot":
            engine = Engine.restore(engine.snapshot(), output, lateness=lateness)
            reference = Engine.restore(reference.snapshot(), output, lateness=lateness, tier="reference")
        else:
            assert engine.stats == reference.stats
            assert engine.next_deadline == reference.next_deadline
            engine._check_invariants()
        assert late(engine) == late(reference)
    assert engine.stats == reference.stats
    assert shown(engine.close()) == shown(reference.close())


WAITING = [
    tumbling(5, report=on_close),
    tumbling(6, lateness=3, report=on_close),
    sliding(8, 4, report=on_close),
    sliding(6, 3, lateness=3, report=on_close),
    tumbling(6, lateness=2, report=final),
]
INSIDE = [
    None,
    most_recently("bid", "ask"),
    affinely("bid", "ask"),
    at_most(2, "ask"),
    most_recently("bid", "ask", n=2) | fifo(),
    most_recently("bid", "ask") | optionally("ask") | retracting(),
    aligning("bid", "ask"),
    within(2, "bid", "ask"),
]


@given(st.sampled_from(WAITING), st.sampled_from(INSIDE), st.booleans(), st.sampled_from([0, 0, 2, 5]), st.randoms())
def test_windows_that_wait_are_reported_as_the_clock_moves(windows, rest, is_by_key, lateness, draw):
    """In one batch several of them are, of several keys: in the order in which these have asked for it."""
    restrict = KEYED | windows if is_by_key else windows | KEYED
    output = correlate(
        bid=BID, ask=ASK, yields=lambda bid, ask: (bid, ask), restrict=restrict if rest is None else restrict | rest
    )
    engine, reference = (Engine(output, lateness=lateness, tier=tier) for tier in (None, "reference"))
    now = 0
    for _ in range(4):
        events = []
        for n in range(draw.randint(1, 12)):
            now += draw.choice([0, 0, 1, 1, 2, 9])
            events.append((draw.random() < 0.5, n, draw.choice("abcd"), now - draw.choice([0, 0, 0, 2]), 0))
        assert shown(events_of(engine.push_many(batch_of(events, 0)))) == shown(pushed(reference, events, 0))
        assert late(engine) == late(reference)
        assert engine._why_row_by_row == ""
    assert engine.stats == reference.stats
    engine._check_invariants()
    assert shown(engine.close()) == shown(reference.close())


def test_windows_that_are_reported_in_one_batch_hold_what_they_show_in_its_order():
    windows = sliding(6, 3, lateness=20, report=on_close)
    output = correlate(bid=BID, ask=ASK, yields=lambda bid, ask: (bid.n, ask.n), restrict=windows)
    engine, reference = (Engine(output, lateness=8, tier=tier) for tier in (None, "reference"))
    for events in ([(True, n, "a", 4 + n, 0) for n in (0, 1)], [(False, 2, "a", 20, 0)], [(False, 3, "a", 12, 0)]):
        assert shown(events_of(engine.push_many(batch_of(events, 0)))) == shown(pushed(reference, events, 0))
    assert engine.stats == reference.stats
    engine._check_invariants()


def test_an_event_meets_the_newest_first_window_by_window():
    output = correlate(
        bid=BID, ask=ASK, yields=lambda bid, ask, window: (bid, ask, window.start), restrict=sliding(10, 5)
    )
    engine = Engine(output)
    batch = {
        BID: {"value": [1, 2, 3], "at": [4, 6, 7], "order": [0, 1, 3]},
        ASK: {"value": [9], "at": [8], "order": [2]},
    }
    assert [event.value for event in events_of(engine.push_many(batch))] == [
        (2, 9, 0), (1, 9, 0), (2, 9, 5), (3, 9, 0), (3, 9, 5)
    ]  # fmt: skip
    assert engine.stats.tuples == 5


def test_a_window_that_is_freed_inside_a_batch_lets_go_of_what_is_in_it():
    output = correlate(bid=BID, ask=ASK, yields=lambda bid, ask: (bid, ask), restrict=tumbling(10))
    engine = Engine(output, lateness=0)
    batch = {
        BID: {"value": [1, 2], "at": [3, 12], "order": [0, 1]},
        ASK: {"value": [7, 8], "at": [4, 13], "order": [2, 3]},
    }
    assert [event.value for event in events_of(engine.push_many(batch))] == [(2, 8)]
    assert [(event.value, slot) for event, slot, _ in engine.late] == [(7, "ask")]
    assert engine.stats.retained == 2


@pytest.mark.parametrize(
    ("restrict", "reason"),
    [
        (most_recently("bid") | tumbling(5, report=on_close), "what meets in its windows waits for their end"),
        (tumbling(5, report=on_close) | within(3, "bid", "ask"), "what meets in its windows waits for their end"),
        (
            optionally("ask") | tumbling(5) | within(3, "bid", "ask"),
            "only after some time",
        ),
        (key_by(bid="n") | tumbling(5), "not all its slots are in windows, under one key at most"),
        (aligning("bid", "ask") | tumbling(5), "what aligns is common to all windows"),
    ],
    ids=str,
)
def test_other_restrictions_are_refused_and_run_in_place(restrict, reason):
    output = correlate(bid=BID, ask=ASK, yields=lambda bid, ask: (bid.n, ask.n), restrict=restrict)
    engine, reference = Engine(output), Engine(output, tier="reference")
    events = [(True, 1, "a", 0, 0), (False, 1, "a", 1, 0), (True, 2, "a", 6, 0), (False, 2, "b", 7, 0)]
    assert shown(events_of(engine.push_many(batch_of(events, 0)))) == shown(pushed(reference, events, 0))
    assert engine._compiled is not None
    assert reason in engine._compiled.reason


@pytest.mark.parametrize("restrict", [sliding(5, 3), sliding(5, 3) | affinely("bid", "ask")], ids=str)
def test_a_body_that_does_not_trace_is_asked_in_each_window(restrict):
    @correlate(bid=BID, ask=ASK, restrict=restrict)
    def deals(bid, ask, *, window, key_bid):
        if bid.n > ask.n:
            yield bid.n, ask.n, window.start
            yield key_bid

    engine, reference = Engine(deals), Engine(deals, tier="reference")
    for events in ([(True, 3, "a", 0, 0), (False, 1, "a", 1, 0)], [(False, 4, "a", 1, 0), (True, 9, "a", 3, 0)]):
        assert shown(events_of(engine.push_many(batch_of(events, 0)))) == shown(pushed(reference, events, 0))
        assert engine._why_row_by_row == ""


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 12)), max_size=12),
    st.sampled_from([most_recently("a", "b", "c") | retracting(), affinely("a", "b", "c"), fifo(), at_most(2, "b")]),
    st.sampled_from([None, 1]),
    st.integers(0, 12),
    st.sampled_from([sliding(6, 4), sliding(6, 4, report=on_close), tumbling(4, lateness=2, report=final)]),
)
def test_three_streams_meet_in_windows(trace, restrict, lateness, cut, windows):
    inputs = tuple(Reactive(name) for name in "abc")
    output = correlate(
        slots=dict(zip("abc", inputs, strict=True)),
        where=lambda a, b: a <= b,
        yields=lambda a, b, c, window: (a, b, c, window),
        restrict=windows | restrict,
    )
    engine, reference = (Engine(output, lateness=lateness, tier=tier) for tier in (None, "reference"))
    expected = [event for slot, n, at in trace for event in reference.push(inputs[slot], n, at=at)]
    found = []
    for part in (trace[:cut], trace[cut:]):
        batch = {
            reactive: {
                "value": [n for slot, n, _ in part if slot == place],
                "at": [at for slot, _, at in part if slot == place],
                "order": [order for order, (slot, _, _) in enumerate(part) if slot == place],
            }
            for place, reactive in enumerate(inputs)
        }
        found += events_of(engine.push_many(batch))
        assert engine._why_row_by_row == ""
    assert shown(found) == shown(expected)
    assert engine.stats == reference.stats


def test_the_source_shows_the_body_and_its_pattern():
    output = correlate(bid=BID, ask=ASK, yields=lambda bid, ask, window: (bid.n, window), restrict=tumbling(5))
    engine = Engine(output)
    engine.push_many(batch_of([(True, 3, "a", 0, 0)], 0))
    assert engine._compiled is not None
    text = engine._compiled.source()
    assert "restrict tumbling(5)" in text
    assert "window(p0, p1)" in text
