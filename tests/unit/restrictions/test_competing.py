"""`either`: alternatives over shared memory, tried in the order written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import (
    Engine,
    Reactive,
    Restriction,
    Slot,
    Update,
    arrive,
    correlate,
    forward,
    handles,
    notify_at,
    pause,
    play,
    run,
    start,
    state,
    tick,
)
from cartesius.errors import InvalidArgument
from cartesius.language.families import withdraw
from cartesius.plan import Node, Opaque
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    first_match,
    key_by,
    most_recently,
    optionally,
    retracting,
    sliding,
    tumbling,
    versioned,
    zip_,
)
from restrictions.streams import either, map_, merge
from restrictions.windows import on_close

wait, finished, timeout = Reactive("wait"), Reactive("finished"), Reactive("timeout")
FEWER = settings(max_examples=settings().max_examples // 3)


def pair(other, restrict=None, **options):
    """A pattern of `wait` and another channel, both consumed."""
    restrict = affinely("w", "o") if restrict is None else restrict
    return correlate(w=wait, o=other, yields=lambda w, o: (w, o), restrict=restrict, **options)


def values(events):
    return [event.value for event in events]


def held(engine):
    """What each slot retains and has waiting, but for the union."""
    return {key: found for key, found in engine.stats.slots.items() if not key[0].startswith("either")}


# ----------------------------------------------------------------------------------------------------- the source


def test_the_join_patterns_of_jocaml_share_the_channel_wait():
    """`wait() & finished(r) = reply Some r` or `wait() & timeout() = reply None`."""
    some = correlate(w=wait, f=finished, yields=lambda w, f: (w, f), restrict=affinely("w", "f"))
    none = correlate(w=wait, t=timeout, yields=lambda w, t: (w, None), restrict=affinely("w", "t"))
    engine = Engine(either(some, none))
    assert values(engine.push(wait, "W1")) == []
    assert values(engine.push(timeout, "T1")) == [("W1", None)]
    assert values(engine.push(finished, "F1")) == []
    assert engine.stats.retained == 1  # F1 stays
    assert values(engine.push(wait, "W2")) == [("W2", "F1")]
    assert engine.stats.retained == 0


def test_merge_of_the_same_patterns_answers_one_wait_twice():
    trace = [(wait, "W1"), (timeout, "T1"), (finished, "F1")]
    assert values(run(merge(pair(finished), pair(timeout)), trace)) == [("W1", "T1"), ("W1", "F1")]
    assert values(run(either(pair(finished), pair(timeout)), trace)) == [("W1", "T1")]


@pytest.mark.parametrize("first", [finished, timeout])
def test_an_event_that_several_could_use_goes_to_the_first_written(first):
    second = timeout if first is finished else finished
    trace = [(timeout, "T"), (finished, "F"), (wait, "W")]
    expected = ("W", "F") if first is finished else ("W", "T")
    assert values(run(either(pair(first), pair(second)), trace)) == [expected]


def test_the_results_of_one_event_come_in_the_order_written():
    once_each = [pair(finished, affinely("o")), pair(timeout, affinely("o"))]
    trace = [(timeout, "T"), (finished, "F"), (wait, "W")]
    assert values(run(either(*once_each), trace)) == [("W", "F"), ("W", "T")]


# ------------------------------------------------------------------------------------------------------- what is gone


def test_what_is_used_up_leaves_the_memory_of_the_others():
    engine = Engine(either(pair(finished), pair(timeout)))
    for number in range(3):
        engine.push(wait, number)
    engine.push(timeout, "T")
    assert [retained for (_, slot), (retained, _) in held(engine).items() if slot == "w"] == [2, 2]


def test_what_is_used_up_leaves_the_gates_of_the_others():
    engine = Engine(either(pair(finished, affinely("w", "o") | aligning("w", "o")), pair(timeout)))
    engine.push(wait, "W1")
    assert engine.stats.waiting == 1
    assert values(engine.push(timeout, "T1")) == [("W1", "T1")]
    assert engine.stats.waiting == 0
    engine.push(finished, "F1")
    assert values(engine.push(wait, "W2")) == [("W2", "F1")]


class debouncing(Restriction):
    """Holds each event for a while, and has no clause for `withdraw`."""

    slot: Slot
    quiet: int
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.held = (*self.held, event)
        notify_at(event.end + self.quiet)

    @handles(tick)
    def let_through(self, now):
        due = [event for event in self.held if event.end + self.quiet < now]
        self.held = tuple(event for event in self.held if event not in due)
        for event in due:
            arrive(self.slot, event)


def test_a_gate_that_knows_nothing_of_withdrawal_does_not_let_it_through():
    engine = Engine(either(pair(finished, affinely("w", "o") | debouncing("w", 5)), pair(timeout)))
    engine.push(wait, "W1", at=1)
    engine.push(finished, "F1", at=2)
    assert values(engine.push(timeout, "T1", at=3)) == [("W1", "T1")]
    assert engine.advance(20) == []


def test_what_a_deadline_uses_up_is_gone_for_the_others():
    engine = Engine(either(pair(finished, affinely("w", "o") | debouncing("w", 5)), pair(timeout)))
    engine.push(finished, "F1", at=1)
    engine.push(wait, "W1", at=2)
    assert values(engine.advance(20)) == [("W1", "F1")]
    assert engine.push(timeout, "T1", at=21) == []


class barrier(Restriction):
    """Holds `slot` back at its door; each event of `signal` lets everything through."""

    slot: Slot
    signal: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(self.slot, self.signal)),)

    @handles(start)
    def close(self):
        pause(self.slot)

    @handles(arrive, "signal")
    def open(self, slot, event):
        forward(slot, event)
        play(self.slot)


def test_what_is_used_up_leaves_the_doors_of_the_others():
    engine = Engine(either(pair(finished, affinely("w", "o") | barrier("w", "o")), pair(timeout)))
    engine.push(wait, "W1")
    engine.push(wait, "W2")
    assert engine.stats.waiting == 2
    assert values(engine.push(timeout, "T1")) == [("W2", "T1")]
    assert engine.stats.waiting == 1
    assert values(engine.push(finished, "F1")) == [("W1", "F1")]


def test_what_is_released_at_a_door_and_used_up_is_gone_for_the_others():
    engine = Engine(either(pair(timeout), pair(finished, affinely("w", "o") | barrier("w", "o"))))
    engine.push(wait, "W1")
    assert values(engine.push(finished, "F1")) == [("W1", "F1")]
    assert engine.push(timeout, "T1") == []


class releasing(Restriction):
    """Holds the events of `slot` until one of them is taken back; then lets the others through."""

    slot: Slot
    held = state(())

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.held = (*self.held, event)

    @handles(withdraw, "slot")
    def let_the_others_through(self, slot, event):
        others, self.held = [one for one in self.held if one.identity != event.identity], ()
        for other in others:
            arrive(slot, other)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_gate_may_let_others_through_because_one_is_gone(is_first):
    holding = pair(finished, affinely("w", "o") | releasing("w"))
    patterns = [holding, pair(timeout)] if is_first else [pair(timeout), holding]
    engine = Engine(either(*patterns))
    engine.push(finished, "F")
    engine.push(wait, "W1")
    engine.push(wait, "W2")
    emitted = values(engine.push(timeout, "T1"))
    assert sorted(emitted) == [("W1", "F"), ("W2", "T1")]
    assert engine.push(timeout, "T2") == []  # what followed was used up as well
    assert engine.stats.retained == 1


def test_an_alternative_completes_when_what_it_held_is_gone():
    zipped = correlate(
        w=wait, f=finished, yields=lambda w, f: (w, f), restrict=most_recently("w", "f") | aligning("w", "f")
    )
    engine = Engine(either(zipped, pair(timeout)))
    engine.push(wait, "W1")
    engine.end(wait)
    engine.push(timeout, "T1")
    engine.end(timeout)
    assert engine.done  # although `finished` goes on


def test_an_event_bound_to_two_slots_is_gone_from_both():
    twins = correlate(x=wait, y=wait, where=lambda x, y: x < y, yields=lambda x, y: (x, y), restrict=affinely("x", "y"))
    engine = Engine(either(pair(timeout), twins))
    engine.push(timeout, "T")
    assert values(engine.push(wait, 1)) == [(1, "T")]
    assert engine.push(wait, 2) == []
    assert values(engine.push(wait, 3)) == [(2, 3)]


def test_a_pattern_of_twins_uses_each_of_its_slots_by_itself_and_takes_the_event_from_the_others():
    twins = correlate(x=wait, y=wait, where=lambda x, y: x < y, yields=lambda x, y: (x, y), restrict=affinely("x", "y"))
    engine = Engine(either(twins, pair(timeout)))
    for number in (1, 2, 3):
        engine.push(wait, number)
    assert values(engine.push(timeout, "T")) == []  # 2 was used as x and as y, 1 as x, 3 as y


# -------------------------------------------------------------------------------------------------- how often, and keys


def test_each_alternative_counts_the_uses_by_itself_and_the_last_takes_the_event_from_all():
    engine = Engine(either(pair(finished, at_most(2, "w")), pair(timeout, at_most(3, "w"))))
    engine.push(wait, "W")
    engine.push(finished, "F1")
    engine.push(timeout, "T1")
    engine.push(timeout, "T2")
    assert values(engine.push(finished, "F2")) == [("W", "F2")]  # the second use in the first
    assert engine.push(timeout, "T3") == []
    assert engine.push(finished, "F3") == []


def test_an_alternative_that_does_not_limit_uses_takes_nothing_from_the_others():
    engine = Engine(either(pair(finished, most_recently("w", "o")), pair(timeout)))
    trace = [(wait, "W"), (finished, "F"), (timeout, "T"), (finished, "G")]
    assert [values(engine.push(*step)) for step in trace] == [[], [("W", "F")], [("W", "T")], []]


def test_consumption_is_shared_under_every_key():
    keyed = key_by(w=lambda w: w[0], o=lambda o: o[0])
    patterns = [pair(finished, keyed | affinely("w", "o")), pair(timeout, affinely("w", "o"))]
    engine = Engine(either(*patterns))
    trace = [(wait, "a1"), (wait, "b1"), (finished, "a2"), (timeout, "t1"), (timeout, "t2"), (finished, "b2")]
    assert [values(engine.push(*step)) for step in trace] == [[], [], [("a1", "a2")], [("b1", "t1")], [], []]


def test_a_used_up_event_leaves_the_gate_of_its_key():
    keyed = key_by(w=lambda w: w[0], o=lambda o: o[0])
    patterns = [pair(finished, keyed | affinely("w", "o") | aligning("w", "o")), pair(timeout)]
    engine = Engine(either(*patterns))
    trace = [(wait, "a1"), (wait, "b1"), (timeout, "t1"), (finished, "b2"), (finished, "a2")]
    assert [values(engine.push(*step)) for step in trace] == [[], [], [("b1", "t1")], [], [("a1", "a2")]]


# ------------------------------------------------------------------------------------------------------- windows


TIMED = st.lists(st.tuples(st.sampled_from([wait, finished, timeout]), st.integers(0, 9)), max_size=8)
SHAPES = [(4, 4), (4, 2), (2, 3)]


def contents(trace, size, period):
    """The events of each window, as they come."""
    for first in (first for first in range(-8, 12) if first % period == 0):
        mine = [(reactive, value) for reactive, value, time in trace if first <= time < first + size]
        if mine:
            yield mine


def numbered(steps):
    return [(reactive, (number, time), time) for number, (reactive, time) in enumerate(steps)]


@FEWER
@given(TIMED, st.sampled_from(SHAPES), st.integers(0, 8), st.booleans())
def test_in_windows_alternatives_compete_window_by_window(steps, shape, restored_at, is_keyed):
    """What comes is, window by window, what the alternatives give for the events of that window."""
    restricts: list[Any] = [affinely("w", "o"), affinely("w", "o") | aligning("w", "o")]
    if is_keyed:
        keyed = key_by(w=lambda w: w[0] % 2, o=lambda o: o[0] % 2)
        restricts = [keyed | restrict for restrict in restricts]
    plain = either(pair(finished, restricts[0]), pair(timeout, restricts[1]))
    opened = sliding(*shape)
    windowed = either(pair(finished, opened | restricts[0]), pair(timeout, opened | restricts[1]))
    engine, got = Engine(windowed), []
    trace = numbered(steps)
    for number, step in enumerate(trace):
        if number == restored_at:
            engine = Engine.restore(engine.snapshot(), windowed)
        got += values(engine.push(*step))
        engine._check_invariants()
    expected = [value for mine in contents(trace, *shape) for value in values(run(plain, mine))]
    assert sorted(got) == sorted(expected)


@FEWER
@given(TIMED, st.sampled_from(SHAPES), st.integers(0, 8))
def test_of_windows_that_are_reported_when_they_close_the_first_pattern_sees_all_first(steps, shape, restored_at):
    opened = sliding(*shape, report=on_close)
    windowed = either(*(pair(other, opened | affinely("w", "o")) for other in (finished, timeout)))
    engine = Engine(windowed)
    trace = numbered(steps)
    for number, step in enumerate(trace):
        if number == restored_at:
            engine = Engine.restore(engine.snapshot(), windowed)
        assert engine.push(*step) == []
    got = values(engine.advance(50))
    expected = []
    for mine in contents(trace, *shape):
        first = values(run(pair(finished), [step for step in mine if step[0] is not timeout]))
        used = {value for result in first for value in result}
        rest = [(reactive, value) for reactive, value in mine if value not in used and reactive is not finished]
        expected += first + values(run(pair(timeout), rest))
    assert sorted(got) == sorted(expected)
    assert engine.stats.retained == engine.stats.waiting == 0


def test_windows_in_some_alternatives_only_are_refused():
    text = refused(pair(finished, tumbling(4) | affinely("w", "o"), name="in windows"), pair(timeout, name="without"))
    assert text == (
        "either: expected alternatives that all have windows, or none, as 'in windows' consumes, but 'without' and"
        " 'in windows' differ: uses are counted in each window"
    )


# ---------------------------------------------------------------------------------------------------- laws


PUSHES = st.lists(st.tuples(st.sampled_from([wait, finished, timeout]), st.integers(0, 3)), max_size=10)


def emitted(output, trace):
    engine = Engine(output)
    known = set(engine.inputs.values())
    return [values(engine.push(*step)) for step in trace if step[0] in known]


@FEWER
@given(PUSHES)
def test_if_nothing_is_consumed_it_is_merge(trace):
    patterns = [pair(finished, most_recently("w", "o")), cartesian(wait, timeout), map_(wait, lambda w: w)]
    assert emitted(either(*patterns), trace) == emitted(merge(*patterns), trace)


@FEWER
@given(PUSHES)
def test_of_one_pattern_it_is_that_pattern(trace):
    assert emitted(either(pair(finished)), trace) == emitted(pair(finished), trace)


@FEWER
@given(PUSHES)
def test_it_is_associative(trace):
    p, q, r = pair(finished), pair(timeout), correlate(w=wait, yields=lambda w: w, restrict=affinely("w"))
    expected = emitted(either(p, q, r), trace)
    assert emitted(either(p, either(q, r)), trace) == expected
    assert emitted(either(either(p, q), r), trace) == expected


@FEWER
@given(PUSHES)
def test_a_pattern_used_elsewhere_takes_nothing_and_loses_nothing(trace):
    alone, other = pair(finished), pair(timeout)
    both = Engine(either(alone, other), alone)
    shared, apart = [], []
    for step in trace:
        events = both.push(*step)
        shared.append([event.value for event in events if event.reactive.startswith("either")])
        apart += [event.value for event in events if not event.reactive.startswith("either")]
    assert shared == emitted(either(alone, other), trace)
    assert apart == [value for step in emitted(alone, trace) for value in step]


# ------------------------------------------------------------------------------------- nesting, failure, snapshots


def test_alternatives_nest_over_derived_streams():
    """The results of a correlation are consumed by identity, as pushed events are."""
    doubled = map_(wait, lambda w: w * 2)
    with_f = correlate(w=doubled, o=finished, yields=lambda w, o: (w, o), restrict=affinely("w", "o"))
    with_t = correlate(w=doubled, o=timeout, yields=lambda w, o: (w, o), restrict=affinely("w", "o"))
    trace = [(wait, 1), (timeout, "T"), (finished, "F"), (wait, 2)]
    assert values(run(either(with_f, with_t), trace)) == [(2, "T"), (4, "F")]


def test_the_results_can_be_correlated_further():
    answered = either(pair(finished), pair(timeout))
    assert values(run(zip_(answered, wait), [(wait, 1), (timeout, "T")])) == [((1, "T"), 1)]


def test_a_body_that_fails_undoes_what_an_earlier_alternative_consumed():
    failing = correlate(w=wait, o=finished, yields=lambda w, o: 1 // o, restrict=affinely("w"))
    engine = Engine(either(pair(timeout), failing))
    engine.push(wait, "W1")
    engine.push(wait, "W2")
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(finished, 0)
    assert engine.snapshot() == before
    engine._check_invariants()
    assert values(engine.push(timeout, "T")) == [("W2", "T")]
    assert values(engine.push(finished, 1)) == [1]
    assert engine.stats.retained == 1  # what came on `finished` is not used up


def test_a_failure_after_the_loss_undoes_the_loss():
    last = correlate(o=timeout, yields=lambda o: 1 // o)
    patterns = [pair(timeout, affinely("w")), pair(finished, affinely("w", "o") | aligning("w", "o")), last]
    engine = Engine(either(*patterns))
    engine.push(wait, "W")
    before = engine.snapshot()
    with pytest.raises(ZeroDivisionError):
        engine.push(timeout, 0)
    assert engine.snapshot() == before
    assert values(engine.push(finished, "F")) == [("W", "F")]


@FEWER
@given(PUSHES, st.integers(0, 10))
def test_a_restore_anywhere_agrees(trace, at):
    aligned = pair(finished, affinely("w", "o") | aligning("w", "o"))
    output = either(aligned, pair(timeout, at_most(2, "w")), pair(finished, affinely("w", "o")))
    engine = Engine(output)
    out = []
    for number, step in enumerate(trace):
        if number == at:
            engine = Engine.restore(engine.snapshot(), output)
        out.append(values(engine.push(*step)))
    assert out == emitted(output, trace)


def test_a_snapshot_tells_alternatives_from_a_union():
    patterns = [pair(finished), pair(timeout)]
    blob = Engine(either(*patterns)).snapshot()
    Engine.restore(blob, either(*patterns))
    for other in (merge(*patterns), either(*reversed(patterns)), either(*patterns, pair(finished))):
        with pytest.raises(ValueError, match="belongs to another one"):
            Engine.restore(blob, other)


def test_explain_names_the_alternatives():
    text = Engine(either(pair(finished, name="first"), pair(timeout, name="second"))).explain()
    assert "first\n  alternative   1 of 2: what it uses up is gone for the others" in text
    assert "second\n  alternative   2 of 2: what it uses up is gone for the others" in text
    assert "either(first, second)" in text


# ---------------------------------------------------------------------------------------------------- refusals


def refused(*patterns):
    with pytest.raises(InvalidArgument) as caught:
        either(*patterns)
    return str(caught.value)


def test_what_is_no_pattern_is_refused():
    table = Reactive("table", table=True)
    rows = correlate(t=table, yields=lambda t: t, restrict=retracting() | as_table("t"), name="rows")
    assert refused() == "either: expected one or more patterns but got none; write either(first, second)"
    assert refused(wait) == (
        "either: expected streams made by correlate but 'wait' is an input; correlate it, or use merge"
    )
    assert refused(rows) == (
        "either: expected streams made by correlate but 'rows' is a table; correlate it, or use merge"
    )
    assert "expected" in refused("wait")


def test_what_takes_results_back_is_refused_beside_what_consumes():
    kept = pair(timeout, name="answers")
    for restrict in (retracting(), retracting() | optionally("o"), retracting() | versioned("w")):
        text = refused(kept, pair(finished, restrict, name="kept"))
        assert text.startswith(
            "either: expected alternatives that take nothing back, as 'answers' consumes, but 'kept' is restricted by"
        )
    either(pair(finished, retracting()), pair(timeout, first_match()))  # nothing is spent


def test_consuming_the_rows_of_a_table_is_refused():
    table = Reactive("table", table=True)
    rows = correlate(w=wait, t=table, yields=lambda w, t: (w, t), restrict=affinely("w", "t"), name="rows")
    assert refused(rows) == (
        "either: expected streams where events are consumed but 't' of 'rows' is bound to the table 'table', whose rows"
        " stay until they are replaced; leave it out of affinely('w', 't')"
    )


def test_a_table_may_be_looked_up_by_alternatives():
    table = Reactive("table", table=True)
    row = correlate(w=wait, t=table, yields=lambda w, t: (w, t), restrict=affinely("w"))
    trace = [(wait, "W1"), (table, Update("k", 1)), (timeout, "T"), (wait, "W2")]
    assert values(run(either(row, pair(timeout)), trace)) == [("W1", 1), ("W2", 1)]
