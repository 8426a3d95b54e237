"""What a clause may ask of the clock, by `notify_at`, and of memory (SEMANTICS 1.12, 3.10)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cartesius import (
    Duration,
    Engine,
    Operation,
    Restriction,
    Slot,
    arrive,
    correlate,
    forward,
    handles,
    memory,
    notify_at,
    push,
    run,
    start,
    tick,
)
from cartesius.effects.resumptions import running
from cartesius.errors import InvalidArgument, UnhandledOperation
from restrictions import cartesian, key_by, most_recently
from restrictions.streams import map_concat
from tests.unit.cartesius.clause_examples import TICKS, Broken, through, waking

# ---------------------------------------------------------------------------------------------------------- notify_at


@pytest.fixture(autouse=True)
def _no_ticks_yet():
    TICKS.clear()


@pytest.mark.parametrize("wrong", [1.0, 1.5, True, False, None, "5", float("inf"), float("-inf"), timedelta(1), (1,)])
def test_a_time_that_is_none_is_refused_and_nothing_has_happened(a, wrong):
    engine = Engine(through(a, waking("x", lambda event: [7, wrong])))
    with pytest.raises(InvalidArgument, match="notify_at: expected a time"):
        engine.push(a, 1)
    assert engine.next_deadline is None
    assert engine.stats.events == 0


def test_asking_twice_is_asking_once(a):
    output = through(a, waking("x", lambda event: [10, 10, 10]))
    engine = Engine(output)
    engine.push(a, 1)
    engine.push(a, 2)
    engine = Engine.restore(engine.snapshot(), output)
    engine.push(a, 3)
    engine.advance(100)
    assert TICKS == [11]
    assert engine.next_deadline is None


def test_each_key_has_a_deadline_of_its_own(a):
    engine = Engine(through(a, key_by(x=lambda x: x) | waking("x", lambda event: [10])))
    engine.push(a, 1)
    engine.push(a, 2)
    engine.push(a, 1)
    engine.advance(11)
    assert TICKS == [11, 11]


def test_deadlines_come_in_order_of_time_whatever_the_order_of_asking(a):
    engine = Engine(through(a, waking("x", lambda event: [30, 10, 20])))
    engine.push(a, 1)
    assert engine.next_deadline == 11
    engine.advance(20)
    assert TICKS == [11]
    engine.advance(21)
    assert TICKS == [11, 21]
    engine.advance(31)
    assert TICKS == [11, 21, 31]


def test_a_deadline_that_has_passed_already_is_due_at_the_next_advance_even_to_the_same_time(a):
    engine = Engine(through(a, waking("x", lambda event: [event.start])))
    engine.advance(50)
    engine.push(a, 1, at=(3, 60))
    engine.advance(50)
    assert TICKS == [4]
    assert engine.clock == 50


def test_a_tick_may_ask_again(a):
    class ticking(Restriction):
        slot: Slot
        every: Duration

        @handles(arrive, "slot")
        def begin(self, slot, event):
            notify_at(event.end + self.every)
            forward(slot, event)

        @handles(tick)
        def again(self, now):
            TICKS.append(now)
            if len(TICKS) < 4:
                notify_at(now - 1 + self.every)

    output = through(a, ticking("x", 10))
    engine = Engine(output)
    engine.push(a, 1, at=0)
    for time in (5, 15, 25, 35, 45, 55):
        engine.advance(time)
        engine = Engine.restore(engine.snapshot(), output)
    assert TICKS == [11, 21, 31, 41]


def test_a_failed_push_asks_for_nothing_and_forgets_no_deadline(a):
    broken = []

    def where(x):
        if broken:
            raise Broken
        return True

    engine = Engine(correlate(x=a, where=where, yields=lambda x: x, restrict=waking("x", lambda e: [e.end + 10])))
    engine.push(a, 1, at=5)
    blob = engine.next_deadline
    broken.append(True)
    for _ in range(2):
        with pytest.raises(Broken):
            engine.push(a, 2, at=1)
        assert engine.next_deadline == blob == 16
    broken.clear()
    engine.push(a, 2, at=1)
    assert engine.next_deadline == 12


def test_forward_in_a_clause_for_tick_is_refused_with_a_hint(a):
    class slipping(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def hold(self, slot, event):
            notify_at(event.end)

        @handles(tick)
        def slip(self, now):
            forward(now)

    engine = Engine(through(a, slipping("x")))
    engine.push(a, 1, at=3)
    with pytest.raises(InvalidArgument, match=r"arrive\(slot, event\)"):
        engine.advance(10)
    assert engine.next_deadline == 4


def test_forward_in_a_clause_for_start_is_refused(a):
    class slipping(Restriction):
        slot: Slot

        @handles(start)
        def slip(self):
            forward()

    running().__dict__["performing"] = Operation("left")  # as a signal leaves it that comes while a clause returns
    try:
        with pytest.raises((UnhandledOperation, InvalidArgument), match="forward"):
            Engine(through(a, slipping("x")))
    finally:
        del running().__dict__["performing"]


# --------------------------------------------------------------------------------------------------------------- memory


def test_memory_in_a_tick_is_of_the_key_of_the_copy(a):
    class counting(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def ask(self, slot, event):
            notify_at(event.value[1])
            forward(slot, event)

        @handles(tick)
        def count(self, now):
            TICKS.append((now, [entry.value for entry in memory(self.slot)]))

    engine = Engine(through(a, key_by(x=lambda x: x[0]) | counting("x")))
    for value in (("p", 10), ("q", 20), ("p", 30)):
        engine.push(a, value)
    engine.advance(25)
    assert TICKS == [(11, [("p", 30), ("p", 10)]), (21, [("q", 20)])]


def test_memory_shows_what_was_stored_before_in_the_same_step(a):
    class looking(Restriction):
        slot: Slot

        @handles(push, "slot")
        def look(self, slot, entry):
            TICKS.append([stored.value for stored in memory(slot)])
            forward(slot, entry)

    run(through(map_concat(a, list), looking("x") | most_recently("x")), [(a, "pq"), (a, "r")])
    assert TICKS == [["p"], ["q"], ["r"]]
    TICKS.clear()
    run(through(map_concat(a, list), most_recently("x") | looking("x")), [(a, "pq"), (a, "r")])
    assert TICKS == [["p"], ["q", "p"], ["r", "q"]]


def test_the_answer_of_memory_is_the_clauses_own_list(a, b):
    class clearing(Restriction):
        slot: Slot

        @handles(push, "slot")
        def clear(self, slot, entry):
            memory(slot).clear()
            forward(slot, entry)

    assert len(run(cartesian(a, b, restrict=clearing("a")), [(a, 1), (a, 2), (b, 3)])) == 2
