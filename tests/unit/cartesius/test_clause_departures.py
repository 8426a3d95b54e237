"""What a clause may do with events: let them expire, set them aside, let them in again (SEMANTICS 1.13, 1.14)."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import (
    Engine,
    Restriction,
    Slot,
    arrive,
    correlate,
    displace,
    expire,
    forward,
    handles,
    memory,
    notify_at,
    push,
    run,
    set_aside,
    state,
    tick,
)
from restrictions import affinely, most_recently, retracting
from tests.unit.cartesius.clause_examples import Broken, through, values


def weighted(events):
    return [(event.value, event.weight) for event in events]


# --------------------------------------------------------------------------------------------- expire, set_aside, again


class expiring(Restriction):
    """Let every event leave that is older than ``n`` events."""

    slot: Slot
    n: int

    @handles(push, "slot")
    def let_go(self, slot, entry):
        for old in memory(slot)[self.n :]:
            expire(slot, old)
            expire(slot, old)  # twice is once
        forward(slot, entry)


def test_what_expires_leaves_at_the_end_of_the_batch_and_is_still_met_in_it(a, b):
    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=expiring("x", 1), name="both")
    engine = Engine(both)
    engine.push(b, "p")
    assert values(engine.push(a, 1)) == [(1, "p")]
    assert values(engine.push(a, 2)) == [(2, "p")]
    assert values(engine.push(b, "q")) == [(2, "q")]
    assert engine.stats.slots["both", "x"] == (1, 0)
    engine._check_invariants()


def test_an_event_that_expires_in_the_batch_of_its_partner_meets_it(a):
    pairs = correlate(x=a, y=a, yields=lambda x, y: (x, y), restrict=expiring("x", 1), name="pairs")
    engine = Engine(pairs)
    assert values(engine.push(a, 1)) == [(1, 1)]
    assert values(engine.push(a, 2)) == [(2, 2), (2, 1), (1, 2)]  # 1 leaves x after the batch of 2
    assert values(engine.push(a, 3)) == [(3, 3), (3, 2), (3, 1), (2, 3)]


def test_expiry_is_not_displacement(a, b):
    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | expiring("x", 1))
    trace = [(b, "p"), (a, 1), (a, 2)]
    assert [(e.value, e.weight) for e in run(both, trace)] == [((1, "p"), 1), ((2, "p"), 1)]


def test_an_entry_that_expires_and_is_displaced_in_one_batch_is_displaced(a, b):
    for restrict in (expiring("x", 1) | most_recently("x"), most_recently("x") | expiring("x", 1)):
        both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | restrict)
        engine = Engine(both)
        engine.push(b, "p")
        engine.push(a, 1)
        assert sorted(weighted(engine.push(a, 2))) == [((1, "p"), -1), ((2, "p"), 1)]
        engine._check_invariants()
        assert engine.stats.retained == 2


def test_a_failed_push_expires_nothing(a, b):
    def yields(x, y):
        return 1 // x, y

    both = correlate(x=a, y=b, yields=yields, restrict=expiring("x", 1), name="both")
    engine = Engine(both)
    engine.push(a, 1)
    engine.push(b, "p")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            engine.push(a, 0)
        engine._check_invariants()
        assert engine.stats.slots["both", "x"] == (1, 0)
    assert values(engine.push(b, "q")) == [(1, "q")]


class displacing_all(Restriction):
    """Displace all but the newest, and again what has left already."""

    slot: Slot
    gone: Any = state(())

    @handles(push, "slot")
    def replace(self, slot, entry):
        for old in (*memory(slot)[1:], *self.gone):
            displace(slot, old)
            displace(slot, old)
        self.gone = (*self.gone, entry)
        forward(slot, entry)


def test_displacing_what_has_left_does_nothing(a, b):
    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | displacing_all("x"))
    engine = Engine(both)
    engine.push(b, "p")
    assert weighted(engine.push(a, 1)) == [((1, "p"), 1)]
    assert weighted(engine.push(a, 2)) == [((1, "p"), -1), ((2, "p"), 1)]
    assert weighted(engine.push(a, 3)) == [((2, "p"), -1), ((3, "p"), 1)]
    engine._check_invariants()


def test_a_new_event_that_is_displaced_at_once_is_neither_new_nor_gone(a, b):
    class refusing(Restriction):
        slot: Slot

        @handles(push, "slot")
        def refuse(self, slot, entry):
            if entry.value < 0:
                displace(slot, entry)
                displace(slot, entry)
            forward(slot, entry)

    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=retracting() | refusing("x"))
    engine = Engine(both)
    engine.push(b, "p")
    assert engine.push(a, -1) == []
    assert values(engine.push(a, 1)) == [(1, "p")]
    assert engine.stats.retained == 2


def test_an_event_that_a_gate_lets_through_twice_is_two_events(a, b):
    class twice(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def double(self, slot, event):
            forward(slot, event)
            forward(slot, event)

    both = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=affinely("x", "y") | twice("x"))
    engine = Engine(both)
    engine.push(a, 1)
    engine._check_invariants()
    assert engine.stats.retained == 2
    engine = Engine.restore(engine.snapshot(), both)
    assert values(engine.push(b, "p")) == [(1, "p")]
    assert values(engine.push(b, "q")) == [(1, "q")]
    assert values(engine.push(b, "r")) == []


def test_an_event_that_is_kept_and_let_through_again_later_is_another_event(a):
    class repeating(Restriction):
        """Let each event through at once, and again ten units later."""

        slot: Slot
        kept: Any = state(())

        @handles(arrive, "slot")
        def keep(self, slot, event):
            self.kept = (*self.kept, event)
            notify_at(event.end + 10)
            forward(slot, event)

        @handles(tick)
        def repeat(self, now):
            due = [event for event in self.kept if event.end + 10 < now]
            self.kept = tuple(event for event in self.kept if event not in due)
            for event in due:
                arrive(self.slot, event)

    output = through(a, retracting() | most_recently("x", n=2) | repeating("x"))
    engine = Engine(output)
    got = weighted(engine.push(a, 1, at=0)) + weighted(engine.push(a, 2, at=1))
    engine = Engine.restore(engine.snapshot(), output)
    got += weighted(engine.advance(11))
    engine._check_invariants()
    got += weighted(engine.advance(12))
    assert got == [(1, 1), (2, 1), (1, -1), (1, 1), (2, -1), (2, 1)]
    assert engine.stats.waiting == 0


def test_what_is_set_aside_is_named_with_its_slot_and_the_reason_and_survives_a_restore(a):
    class positive(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def let_through(self, slot, event):
            if event.value > 0:
                forward(slot, event)
            else:
                set_aside(slot, event, "not positive")

    output = through(a, positive("x"))
    engine = Engine(output)
    assert engine.push(a, -3, at=(4, 6)) == []
    assert values(engine.push(a, 3)) == [3]
    ((event, slot, reason),) = engine.late
    assert (event.value, event.start, event.end, event.weight, event.reactive) == (-3, 4, 6, 1, "a")
    assert (slot, reason) == ("x", "not positive")
    assert Engine.restore(engine.snapshot(), output).late == engine.late


def test_a_failed_push_sets_nothing_aside(a):
    class complaining(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def complain(self, slot, event):
            set_aside(slot, event, "first")
            if event.value == 0:
                raise Broken

    engine = Engine(through(a, complaining("x")))
    engine.push(a, 1)
    with pytest.raises(Broken):
        engine.push(a, 0)
    assert [event.value for event, _, _ in engine.late] == [1]
