"""lasting, apart, grouping: by event time who meets whom, by the clock who may be forgotten (SEMANTICS 1.14, 3.8)."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import (
    Engine,
    Reactive,
    Restriction,
    Slot,
    arrive,
    correlate,
    forward,
    handles,
    pause,
    play,
    run,
    start,
)
from cartesius.errors import InvalidArgument
from cartesius.plan import Node, Opaque
from restrictions import aligning, key_by, most_recently, retracting, separately
from restrictions.streams import group_join, interval_join, join, now
from restrictions.time.duration import apart, lasting
from restrictions.time.gathering import grouping


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def met(left, right, restrict):
    return correlate(left=left, right=right, yields=lambda left, right: (left, right), restrict=restrict, name="out")


class waiting_for(Restriction):
    """Hold ``slot`` back until the first event of ``signal``."""

    slot: Slot
    signal: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(self.slot, self.signal)),)

    @handles(start)
    def close(self):
        pause(self.slot)

    @handles(arrive, "signal")
    def open(self, slot, event):
        play(self.slot)
        forward(slot, event)


# ------------------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize("wrong", [-1, timedelta(seconds=-1), 1.5, True, None, "5"])
@pytest.mark.parametrize(
    "make",
    [
        lambda wrong: join(Reactive("left"), Reactive("right"), wrong, 1),
        lambda wrong: join(Reactive("left"), Reactive("right"), 1, wrong),
        lambda wrong: group_join(Reactive("left"), Reactive("right"), wrong, 1),
        lambda wrong: group_join(Reactive("left"), Reactive("right"), 1, wrong),
        lambda wrong: interval_join(Reactive("left"), Reactive("right"), 0, 1, lateness=-1 if wrong is None else wrong),
    ],
)
def test_a_duration_must_be_one_and_not_negative(make, wrong):
    with pytest.raises(InvalidArgument, match="duration"):
        make(wrong)


@pytest.mark.parametrize("wrong", [1.5, True, None, "5"])
def test_a_bound_must_be_a_duration(wrong):
    with pytest.raises(InvalidArgument, match="lower="):
        apart("left", "right", wrong, 5)
    with pytest.raises(InvalidArgument, match="upper="):
        apart("left", "right", 5, wrong)


@pytest.mark.parametrize(
    ("lower", "upper"), [(2, 1), (-1, -2), (timedelta(1), timedelta(0)), (timedelta(seconds=1), 5), (0, timedelta(-1))]
)
def test_a_lower_bound_above_the_upper_is_refused_at_the_latest_when_the_unit_is_known(left, right, lower, upper):
    with pytest.raises(InvalidArgument, match="lower"):
        Engine(met(left, right, apart("left", "right", lower, upper)))


def test_bounds_of_two_kinds_that_fit_are_taken(left, right):
    output = met(left, right, apart("left", "right", 3, timedelta(seconds=5)))
    trace = [(left, 1, 0), (right, "a", 2), (right, "b", 3), (right, "c", 5), (right, "d", 6)]
    assert values(run(output, trace, unit=timedelta(seconds=1))) == [(1, "b"), (1, "c")]


def test_groups_of_tables_are_refused(left):
    table = Reactive("t", table=True)
    for slots in ({"left": table, "right": left}, {"left": left, "right": table}):
        with pytest.raises(InvalidArgument, match="table"):
            Engine(
                correlate(
                    slots=slots,
                    yields=lambda left, right: left,
                    restrict=separately() | grouping("left", "right", 1, 1),
                )
            )


# ------------------------------------------------------------------------------------------------------------- lasting


def test_the_bound_is_inclusive_and_of_ends(left, right):
    engine = Engine(met(left, right, lasting("left", 10)))
    engine.push(left, "a", at=(0, 5))
    assert values(engine.push(right, "x", at=(1, 15))) == [("a", "x")]
    assert values(engine.push(right, "y", at=(1, 16))) == []
    assert values(engine.push(right, "z", at=2)) == [("a", "z")]  # earlier is not later


def test_an_entry_leaves_when_the_clock_is_past_its_duration_and_not_before(left, right):
    engine = Engine(met(left, right, lasting("left", 10)))
    engine.push(left, "a", at=0)
    engine.push(left, "b", at=3)
    assert engine.next_deadline == 11
    engine.advance(10)
    assert engine.stats.retained == 2
    engine.advance(11)
    assert engine.stats.retained == 1
    assert engine.next_deadline == 14
    engine.advance(100)
    assert engine.stats.retained == 0
    assert engine.next_deadline is None
    engine._check_invariants()


def test_a_late_one_that_ends_earlier_is_due_earlier(left, right):
    engine = Engine(met(left, right, lasting("left", 10)))
    engine.push(left, "a", at=9)
    engine.push(left, "b", at=2)
    assert engine.next_deadline == 13
    engine.advance(13)
    assert engine.stats.retained == 1


def test_leaving_is_not_displacement(left, right):
    engine = Engine(met(left, right, retracting() | lasting("left", 10)))
    engine.push(left, "a", at=0)
    assert len(engine.push(right, "x", at=1)) == 1
    assert engine.advance(100) == []


def test_a_duration_of_nothing_lasts_for_its_own_instant(left, right):
    engine = Engine(met(left, right, lasting("left", 0)))
    engine.push(left, "a", at=5)
    assert values(engine.push(right, "x", at=5)) == [("a", "x")]
    assert values(engine.push(right, "y", at=6)) == []


def test_a_timedelta_is_in_the_unit_of_the_engine(left, right):
    output = met(left, right, lasting("left", timedelta(minutes=1)))
    trace = [(left, "a", 0), (right, "x", 60), (right, "y", 61)]
    assert values(run(output, trace, unit=timedelta(seconds=1))) == [("a", "x")]
    assert values(run(output, trace)) == [("a", "x"), ("a", "y")]


def test_under_keys_each_is_forgotten_in_its_own_time(left, right):
    keys = key_by(left=lambda value: value[0], right=lambda value: value[0])
    engine = Engine(met(left, right, keys | lasting("left", 10)))
    engine.push(left, "p1", at=0)
    engine.push(left, "q1", at=5)
    engine.advance(11)
    assert engine.stats.retained == 1
    assert engine.push(right, "p!", at=11) == []
    assert values(engine.push(right, "q!", at=15)) == [("q1", "q!")]
    engine.advance(16)
    assert engine.stats.slots["out", "left"] == (0, 0)


TIMES = st.lists(st.tuples(st.booleans(), st.integers(0, 20)), max_size=8)


@settings(max_examples=settings().max_examples * 50 // 100)
@given(events=TIMES, d=st.integers(0, 8), e=st.integers(0, 8), order=st.randoms(use_true_random=False))
def test_who_meets_whom_depends_on_times_alone(events, d, e, order):
    left, right = Reactive("left"), Reactive("right")
    events = list(enumerate(events))
    expected = sorted(
        (n, m)
        for (n, (is_left, at)), (m, (other_is_left, other)) in itertools.product(events, events)
        if is_left and not other_is_left and other <= at + min(d, e)
    )
    order.shuffle(events)
    for restrict in (lasting("left", d) | lasting("left", e), lasting("left", min(d, e))):
        trace = [(left if is_left else right, n, at) for n, (is_left, at) in events]
        assert sorted(values(run(met(left, right, restrict), trace))) == expected


STEPS = st.lists(st.tuples(st.sampled_from(("left", "right", "clock")), st.integers(0, 6)), max_size=14)


@settings(max_examples=settings().max_examples * 60 // 100)
@given(steps=STEPS, d=st.integers(0, 6), is_restored=st.booleans())
def test_forgetting_changes_no_result_and_leaves_nothing_that_cannot_match(steps, d, is_restored):
    inputs = {side: Reactive(side) for side in ("left", "right")}
    output = met(inputs["left"], inputs["right"], lasting("left", d))
    engine, clock, seen, got, expected = Engine(output), 0, {"left": [], "right": []}, [], []
    engine.advance(0)
    for number, (what, gap) in enumerate(steps):
        if what == "clock":
            clock += gap
            got += values(engine.advance(clock))
        else:
            at = clock + gap
            got += values(engine.push(inputs[what], number, at=at))
            expected += [
                (number, other) if what == "left" else (other, number)
                for other, time in seen["right" if what == "left" else "left"]
                if (time <= at + d if what == "left" else at <= time + d)
            ]
            seen[what].append((number, at))
        assert sorted(got) == sorted(expected)
        alive = [at for _, at in seen["left"] if at + d >= clock]
        assert engine.stats.slots["out", "left"] == (len(alive), 0)
        assert engine.next_deadline == (min(alive) + d + 1 if alive else None)
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)


def test_it_completes_when_the_slot_has_ended_and_nothing_of_it_is_left(left, right):
    engine = Engine(met(left, right, lasting("left", 10)))
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "x", at=3)) == [("a", "x")]
    engine.advance(11)
    assert engine.done


def test_it_does_not_complete_while_a_gate_holds_something_of_it(left, right):
    """Completes when the slot has ended and nothing of it is left."""
    engine = Engine(met(left, right, lasting("left", 10) | aligning("left", "right")))
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "x", at=3)) == [("a", "x")]


def test_it_does_not_complete_while_something_of_it_waits_at_the_door(left, right):
    engine = Engine(met(left, right, lasting("left", 10) | waiting_for("left", "right")))
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "x", at=3)) == [("a", "x")]


def test_it_does_not_complete_under_keys_while_something_of_a_key_is_left(left, right):
    keys = key_by(left=lambda value: value[0], right=lambda value: value[0])
    engine = Engine(met(left, right, keys | lasting("left", 10)))
    engine.push(left, "p1", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "p!", at=3)) == [("p1", "p!")]


def test_what_has_always_been_there_does_not_last_for_what_comes(right):
    """Time has bounds -inf and +inf: what ends at -inf has ended more than ten units ago, whenever that is."""
    engine = Engine(
        correlate(left=now("a"), right=right, yields=lambda left, right: left, restrict=lasting("left", 10))
    )
    assert engine.push(right, "x", at=3) == []


# --------------------------------------------------------------------------------------------------------------- apart


def test_both_bounds_are_inclusive(left, right):
    engine = Engine(met(left, right, apart("left", "right", -2, 3)))
    engine.push(left, "a", at=10)
    got = {at: values(engine.push(right, at, at=at)) for at in range(6, 16)}
    assert [at for at, found in got.items() if found] == [8, 9, 10, 11, 12, 13]


@settings(max_examples=settings().max_examples * 60 // 100)
@given(steps=STEPS, lower=st.integers(-5, 5), width=st.integers(0, 5), is_restored=st.booleans())
def test_apart_is_what_a_comparison_of_ends_says_and_forgets_in_time(steps, lower, width, is_restored):
    upper = lower + width
    inputs = {side: Reactive(side) for side in ("left", "right")}
    output = met(inputs["left"], inputs["right"], apart("left", "right", lower, upper))
    engine, clock, seen, got = Engine(output), 0, {"left": [], "right": []}, []
    engine.advance(0)
    for number, (what, gap) in enumerate(steps):
        if what == "clock":
            clock += gap
            got += values(engine.advance(clock))
        else:
            seen[what].append((number, clock + gap))
            got += values(engine.push(inputs[what], number, at=clock + gap))
        assert sorted(got) == sorted(
            (n, m) for (n, x), (m, y) in itertools.product(seen["left"], seen["right"]) if lower <= y - x <= upper
        )
        alive = {
            "left": [at for _, at in seen["left"] if at + upper >= clock],
            "right": [at for _, at in seen["right"] if at - lower >= clock],
        }
        # What could not match any more when it came is forgotten with the next step of the clock at the latest.
        if what == "clock" and gap:
            assert {side: engine.stats.slots["out", side][0] for side in alive} == {
                side: len(ends) for side, ends in alive.items()
            }
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)


def test_apart_completes_when_one_side_has_ended_and_nothing_of_it_is_left(left, right):
    engine = Engine(met(left, right, apart("left", "right", 0, 5)))
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    engine.advance(6)
    assert engine.done


def test_apart_does_not_complete_while_a_gate_holds_something(left, right):
    engine = Engine(met(left, right, apart("left", "right", 0, 5) | aligning("left", "right")))
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "x", at=3)) == [("a", "x")]


def test_apart_does_not_complete_under_keys_while_something_is_left(left, right):
    keys = key_by(left=lambda value: value[0], right=lambda value: value[0])
    engine = Engine(met(left, right, keys | apart("left", "right", 0, 5)))
    engine.push(left, "p1", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "p!", at=3)) == [("p1", "p!")]


def test_an_event_without_a_beginning_is_apart_from_all_that_have_one(right):
    output = correlate(
        left=now("a"), right=right, yields=lambda left, right: left, restrict=apart("left", "right", 0, 10)
    )
    assert Engine(output).push(right, "x", at=3) == []


# ------------------------------------------------------------------------------------------------------------ grouping


def grouped(left, right, restrict):
    return correlate(
        left=left, right=right, yields=lambda left, right: left, restrict=separately() | restrict, name="out"
    )


def test_a_group_comes_when_its_time_is_over_with_all_that_was_live_together_with_it(left, right):
    engine = Engine(grouped(left, right, grouping("left", "right", 10, 5)))
    engine.push(right, "too early", at=4)
    engine.push(right, "just", at=5)
    assert engine.push(left, "a", at=10) == []
    engine.push(right, "last", at=20)
    engine.push(right, "too late", at=21)
    engine.push(right, "between", at=12)
    assert engine.advance(20) == []
    (event,) = engine.advance(21)
    assert event.value == ("a", ["just", "last", "between"])
    assert (event.start, event.end) == (5, 20)


def test_groups_that_close_together_come_in_the_order_of_their_ends(left, right):
    engine = Engine(grouped(left, right, grouping("left", "right", 10, 0)))
    engine.push(left, "b", at=5)
    engine.push(left, "a", at=3)
    assert values(engine.advance(100)) == [("a", []), ("b", [])]


@settings(max_examples=settings().max_examples * 60 // 100)
@given(steps=STEPS, d=st.integers(0, 5), e=st.integers(0, 5), is_restored=st.booleans())
def test_groups_are_what_a_comparison_of_times_says(steps, d, e, is_restored):
    inputs = {side: Reactive(side) for side in ("left", "right")}
    output = grouped(inputs["left"], inputs["right"], grouping("left", "right", d, e))
    engine, clock, seen, got = Engine(output), 0, {"left": [], "right": []}, []
    engine.advance(0)
    for number, (what, gap) in enumerate(steps):
        if what == "clock":
            clock += gap
            got += values(engine.advance(clock))
        else:
            seen[what].append((number, clock + gap))
            assert engine.push(inputs[what], number, at=clock + gap) == []
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
        assert sorted(n for n, _ in got) == sorted(n for n, at in seen["left"] if at + d < clock)
    got += values(engine.close())
    assert engine.stats.waiting == engine.stats.retained - len(got) == 0
    assert dict(got) == {n: [m for m, y in seen["right"] if y <= x + d and x <= y + e] for n, x in seen["left"]}


def test_under_keys_each_key_has_its_groups_and_they_end_in_their_time(left, right):
    keys = key_by(left=lambda value: value[0], right=lambda value: value[0])
    output = correlate(
        left=left,
        right=right,
        third=Reactive("third"),
        yields=lambda left: left,
        restrict=keys | grouping("left", "right", 10, 10) | most_recently("third"),
        name="out",
    )
    engine = Engine(output)
    for value in ("p!", "q!", "p?"):
        engine.push(right, value, at=1)
    engine.push(left, "p1", at=2)
    engine.push(left, "q1", at=2)
    assert engine.stats.waiting == 5
    engine.end(left)
    assert not engine.done
    engine.advance(13)
    assert engine.stats.slots["out", "left"][0] == 2
    memory = engine._program.joins[0].slots[0].memory
    assert sorted(entry.value for entry in memory) == [("p1", ["p!", "p?"]), ("q1", ["q!"])]


def test_grouping_completes_when_the_left_has_ended_and_no_group_is_open(left, right):
    engine = Engine(grouped(left, right, grouping("left", "right", 10, 0)))
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    assert values(engine.advance(11)) == [("a", [])]
    assert engine.done


def test_grouping_goes_on_while_an_opening_event_waits_at_the_door(left, right):
    go = Reactive("go")
    output = correlate(
        left=left,
        right=right,
        go=go,
        where=lambda left, right, go: left is not None,
        yields=lambda left, right, go: left,
        restrict=separately() | grouping("left", "right", 10, 0) | waiting_for("left", "go"),
        name="out",
    )
    engine = Engine(output)
    engine.push(left, "a", at=0)
    engine.end(left)
    assert not engine.done
    engine.push(go, "!", at=1)
    assert values(engine.advance(11)) == [("a", [])]


def test_what_its_source_takes_back_is_in_no_group(left, right):
    newest = correlate(x=right, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="newest")
    engine = Engine(grouped(left, newest, grouping("left", "right", 10, 10)))
    engine.push(left, "a", at=0)
    engine.push(right, 1, at=1)
    engine.push(right, 2, at=2)
    assert values(engine.advance(11)) == [("a", [2])]
