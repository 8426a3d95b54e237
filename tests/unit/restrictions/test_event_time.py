"""`in_event_time` (SEMANTICS 3.3, 3.5, 3.9): what it holds, when it lets go, and what is late."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    cartesian,
    combine_latest,
    in_event_time,
    key_by,
    most_recently,
    only,
    retracting,
    tumbling,
    within,
)
from restrictions.tables import to_table

LEFT, RIGHT = Reactive("left"), Reactive("right")


def values(events):
    return [event.value for event in events]


def test_an_event_is_let_go_once_the_clock_is_past_it_not_at_its_time():
    engine = Engine(cartesian(LEFT, restrict=in_event_time(100)))
    assert engine.push(LEFT, "a", at=5) == []
    assert (engine.stats.waiting, engine.stats.retained, engine.next_deadline) == (1, 0, 6)
    assert engine.advance(5) == []
    assert values(engine.advance(6)) == [("a",)]
    assert engine.next_deadline is None


def test_its_own_clock_is_the_latest_end_on_any_of_its_slots_less_the_lateness():
    engine = Engine(cartesian(LEFT, RIGHT, restrict=in_event_time(3)))
    engine.push(LEFT, "a", at=1)
    assert values(engine.push(RIGHT, "x", at=4)) == []
    assert engine.stats.waiting == 2
    engine.push(RIGHT, "y", at=5)  # 5 - 3 is past 1
    assert engine.stats.waiting == 2
    assert values(engine.push(RIGHT, "z", at=8)) == [("a", "x")]  # 8 - 3 is past 4, not past 5


def test_equal_times_go_by_slot_and_then_by_arrival():
    seen = []

    @correlate(x=LEFT, y=RIGHT, restrict=most_recently("x", "y") | in_event_time(0))
    def pairs(x, y):
        yield x, y

    engine = Engine(pairs)
    for reactive, value in ((RIGHT, "x"), (LEFT, 1), (RIGHT, "y"), (LEFT, 2)):
        engine.push(reactive, value, at=7)
    seen = values(engine.close())
    assert seen == [(2, "x"), (2, "y")]  # 1, 2, then x, then y


def test_each_is_a_step_of_its_own_also_downstream():
    latest = combine_latest(LEFT, RIGHT)
    ordered = correlate(x=LEFT, yields=lambda x: x, restrict=in_event_time(0))
    table = to_table(ordered, key=lambda value: "k")
    engine = Engine(table, latest)
    engine.push(LEFT, 1, at=3)
    engine.push(LEFT, 2, at=3)
    assert values(engine.push(LEFT, 3, at=4)) == [Update("k", 1), Update("k", 2)]  # two changes, not the last alone


def test_what_is_late_is_set_aside_with_the_reason_and_an_event_at_the_clock_is_not():
    engine = Engine(cartesian(LEFT, restrict=in_event_time(5)))
    engine.push(LEFT, "a", at=15)
    engine.push(LEFT, "b", at=10)
    engine.push(LEFT, "c", at=9)
    assert [(event.value, slot, reason) for event, slot, reason in engine.late] == [
        ("c", "left", "its end 9 is before 10, the latest time seen, 15, less the lateness of in_event_time(5)")
    ]
    assert values(engine.close()) == [("b",), ("a",)]


def test_the_engines_own_clock_counts_too():
    engine = Engine(cartesian(LEFT, restrict=in_event_time(100)), lateness=2)
    engine.push(LEFT, "a", at=5)
    assert values(engine.push(LEFT, "b", at=8)) == [("a",)]
    engine.push(LEFT, "c", at=5)
    assert [reason for _, _, reason in engine.late] == ["its end 5 is before the clock 6"]


def test_it_goes_by_the_end_of_an_interval():
    engine = Engine(cartesian(LEFT, restrict=in_event_time(0)))
    engine.push(LEFT, "long", at=(1, 9))
    engine.push(LEFT, "short", at=(9, 9))
    assert values(engine.advance(9)) == []
    assert values(engine.advance(10)) == [("long",), ("short",)]


def test_its_clock_is_that_of_all_keys_on_either_side_of_a_key_by():
    trace = [(LEFT, {"k": "a", "n": 1}, 1), (LEFT, {"k": "b", "n": 2}, 9), (LEFT, {"k": "a", "n": 3}, 2)]
    inside = cartesian(LEFT, restrict=key_by(left="k") | in_event_time(0))
    outside = cartesian(LEFT, restrict=in_event_time(0) | key_by(left="k"))
    for pattern in (inside, outside):
        assert [event.value[0].n for event in run(pattern, trace)] == [1]  # and a quiet key is not held for ever
        assert [event.value[0].n for event in run(pattern, trace, close=True)] == [1, 2]


def test_what_it_has_let_go_asks_for_nothing_any_more():
    engine = Engine(cartesian(LEFT, restrict=in_event_time(0)))
    for time in range(100):
        engine.push(LEFT, time, at=time)
    assert engine.next_deadline == 100
    assert len(engine._world.deadlines.heap) < 10


def test_filters_to_its_right_see_events_first_and_their_times_do_not_count():
    early = cartesian(LEFT, restrict=in_event_time(0) | only("left", lambda n: n < 5))
    assert values(run(early, [(LEFT, 1, 1), (LEFT, 7, 9), (LEFT, 2, 2)])) == [(1,)]


def test_changes_of_a_table_are_ordered_too():
    ship = Reactive("ship", table=True)
    rows = correlate(x=ship, yields=lambda x: x, restrict=retracting() | in_event_time(10))
    trace = [(ship, Update("E", "new"), 5), (ship, Update("E", "old"), 3), (ship, Delete("E"), 4)]
    events = run(rows, trace, close=True)
    assert [(event.value, event.weight) for event in events] == [("old", 1), ("old", -1), ("new", 1)]


def test_what_its_source_takes_back_is_dropped_if_it_is_held_and_taken_back_if_it_has_gone():
    ship = Reactive("ship", table=True)
    names = correlate(x=ship, yields=lambda x: x, restrict=retracting())
    ordered = correlate(x=names, yields=lambda x: x, restrict=retracting() | in_event_time(0))
    engine = Engine(ordered)
    engine.push(ship, Update("E", "held"), at=5)
    engine.push(ship, Update("E", "gone"), at=5)
    assert [(event.value, event.weight) for event in engine.advance(6)] == [("gone", 1)]
    assert [(event.value, event.weight) for event in engine.push(ship, Delete("E"), at=7)] == [("gone", -1)]


def test_a_body_that_fails_at_a_deadline_leaves_everything_as_it_was():
    fails = [True]

    def body(x):
        if fails[0]:
            raise ZeroDivisionError
        return x

    engine = Engine(correlate(x=LEFT, yields=body, restrict=in_event_time(0)))
    engine.push(LEFT, "a", at=1)
    with pytest.raises(ZeroDivisionError):
        engine.push(LEFT, "b", at=5)
    assert (engine.stats.waiting, engine.stats.events) == (1, 1)
    fails[0] = False
    assert values(engine.push(LEFT, "b", at=5)) == ["a"]


@pytest.mark.parametrize("lateness", [-1, "5", None])
def test_a_lateness_that_is_none_is_refused(lateness):
    with pytest.raises(InvalidArgument, match="in_event_time: expected a duration"):
        in_event_time(lateness)


TIMES = st.lists(st.tuples(st.sampled_from("LR"), st.integers(0, 20)), max_size=12, unique=True)


@given(TIMES, st.integers(0, 6), st.integers(0, 12))
@example([("L", 5), ("L", 3), ("R", 4)], 1, 1)
def test_by_a_from_scratch_sort(trace, lateness, cut):
    """What goes, in which order and when, and what is late, from all that has been pushed; restored anywhere."""
    both = cartesian(LEFT, RIGHT, restrict=most_recently("left", "right") | in_event_time(lateness))
    ordered = cartesian(LEFT, RIGHT, restrict=most_recently("left", "right"))
    engine, reference = Engine(both), Engine(ordered)
    reactive = {"L": LEFT, "R": RIGHT}
    held, late, seen = [], [], float("-inf")
    for number, (slot, time) in enumerate(trace):
        if number == cut:
            engine = Engine.restore(engine.snapshot(), both)
        got = values(engine.push(reactive[slot], (slot, time), at=time))
        if time < seen - lateness:
            late.append((slot, time))
        else:
            held.append((slot, time))
            seen = max(seen, time)
        going = sorted([one for one in held if one[1] < seen - lateness], key=lambda one: (one[1], one[0]))
        held = [one for one in held if one not in going]
        expected = [pair for one in going for pair in values(reference.push(reactive[one[0]], one, at=one[1]))]
        assert got == expected
        assert engine.stats.waiting == len(held)
        assert not held or engine.next_deadline <= min(one[1] for one in held) + 1
    assert [event.value for event, _, _ in engine.late] == late
    rest = sorted(held, key=lambda one: (one[1], one[0]))
    assert values(engine.close()) == [
        p for one in rest for p in values(reference.push(reactive[one[0]], one, at=one[1]))
    ]


@given(st.permutations(range(8)), st.permutations(range(8)))
def test_the_order_of_arrival_does_not_matter_within_the_lateness(one, other):
    both = cartesian(LEFT, restrict=in_event_time(8))
    found = [values(run(both, [(LEFT, n, n) for n in order], close=True)) for order in (one, other)]
    assert found[0] == found[1] == [(n,) for n in range(8)]


def test_a_table_beside_windows_is_put_in_order_by_its_keys_alone():
    x, t = Reactive("x"), Reactive("t", table=True, key="k")
    restrict = key_by(a="k", b="k") | tumbling(10) | in_event_time(5)
    engine = Engine(correlate(a=x, b=t, yields=lambda a, b: (a.v, b.v), restrict=restrict))
    assert engine.push(t, Update(0, {"k": 0, "v": 1}), at=2) == []
    assert engine.push(x, {"k": 0, "v": 7}, at=3) == []
    assert [event.value for event in engine.close()] == [(7, 1)]


def test_explain_says_that_what_a_gate_holds_keeps_memory():
    restrict = within(3, "left", "right")
    assert "but not while" not in Engine(cartesian(LEFT, RIGHT, restrict=restrict)).explain()
    text = Engine(cartesian(LEFT, RIGHT, restrict=restrict | in_event_time(5))).explain()
    assert "memory O(window), by within(3, 'left', 'right'), but not while what may meet it" in text
