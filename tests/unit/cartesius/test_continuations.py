"""Restrictions with ctl clauses: continuations of strands, resumed at once, later, or never; and what they forbid."""

from __future__ import annotations

import gc

import greenlet
import pytest

from cartesius import (
    Engine,
    Handler,
    Operation,
    Reactive,
    Restriction,
    Slot,
    Slots,
    arrive,
    controls,
    correlate,
    forward,
    handle,
    handles,
    notify_at,
    select,
    state,
    tick,
)
from cartesius.core import direct_pushes
from cartesius.errors import EngineBroken, InvalidArgument, NotStorable, UnhandledOperation
from restrictions import aligning, cartesian, key_by, momentarily, most_recently, session, sliding, take, tumbling
from restrictions.streams import map_
from restrictions.windows import final, on_close


class stalling(Restriction):
    """Let one event of `slot` through and suspend its strand until the next of `signal`."""

    slot: Slot
    signal: Slot
    held = state(None)

    @controls(arrive, "slot")
    def hold(self, slot, event, resume):
        forward(slot, event)
        self.held = resume

    @handles(arrive, "signal")
    def go_on(self, slot, event):
        forward(slot, event)
        held, self.held = self.held, None
        if held is not None:
            held()


class at_once(Restriction):
    """Do with a ctl clause what a fun clause would do."""

    slots: Slots
    tail: bool

    @controls(arrive, "slots")
    def let_through(self, slot, event, resume):
        forward(slot, event)
        return resume.tail() if self.tail else resume()


class waiting_until(Restriction):
    """Suspend the strand until the clock has passed."""

    slot: Slot
    held = state(None)

    @controls(arrive, "slot")
    def wait(self, slot, event, resume):
        self.held = (event, resume)
        notify_at(event.end + 5)

    @handles(tick)
    def go_on(self, now):
        (event, resume), self.held = self.held, None
        arrive(self.slot, event)
        resume()


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def values(events):
    return [event.value for event in events]


def pairs(left, right, restrict):
    return correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=restrict, name="pairs")


def live_greenlets():
    gc.collect()
    return sum(isinstance(thing, greenlet.greenlet) for thing in gc.get_objects())


def test_what_comes_while_a_strand_is_suspended_waits_and_comes_in_order(left, right):
    engine = Engine(pairs(left, right, momentarily("x") | most_recently("y") | stalling("x", "y")))
    engine.push(right, "r0")
    assert values(engine.push(left, 1)) == [(1, "r0")]
    assert [values(engine.push(left, n)) for n in (2, 3)] == [[], []]
    assert values(engine.push(right, "r1")) == [(2, "r1")]
    assert values(engine.push(right, "r2")) == [(3, "r2")]
    assert values(engine.push(right, "r3")) == []
    assert values(engine.push(left, 4)) == [(4, "r3")]


def test_the_rest_of_a_strand_runs_under_the_handlers_outside_its_clause(left, right):
    """The memory restriction and an outer gate are outside the ctl clause: they see what comes later as well."""
    restrict = most_recently("x", "y") | at_once("x", tail=True) | stalling("x", "y")
    engine = Engine(pairs(left, right, restrict))
    for value in (1, 2, 3):
        engine.push(left, value)
    assert values(engine.push(right, "r1")) == [(2, "r1")]
    assert values(engine.push(right, "r2")) == [(3, "r2")]
    assert engine.stats.retained == 2


@pytest.mark.parametrize("tail", [True, False])
def test_a_ctl_clause_that_resumes_at_once_is_a_fun_clause(left, right, tail):
    trace = [(left, 1), (right, "a"), (left, 2), (right, "b"), (right, "c")]
    plain = Engine(pairs(left, right, most_recently("x")))
    controlled = Engine(pairs(left, right, most_recently("x") | at_once("x", "y", tail=tail)))
    assert [controlled.push(*step) for step in trace] == [plain.push(*step) for step in trace]


def test_a_strand_may_wait_for_the_clock(left, right):
    engine = Engine(pairs(left, right, most_recently("y") | waiting_until("x")))
    engine.push(right, "r", at=0)
    assert engine.push(left, 1, at=1) == engine.push(left, 2, at=2) == []
    assert values(engine.advance(7)) == [(1, "r")]
    assert engine.next_deadline == 8
    assert values(engine.advance(8)) == [(2, "r")]


def test_a_snapshot_says_who_holds_a_continuation_and_is_fine_again_once_it_is_resumed(left, right):
    output = pairs(left, right, most_recently("x", "y") | stalling("x", "y"))
    engine = Engine(output)
    engine.push(left, 1)
    with pytest.raises(NotStorable, match=r"stalling\('x', 'y'\) holds a continuation in pairs"):
        engine.snapshot()
    engine.push(right, "r")
    restored = Engine.restore(engine.snapshot(), output)
    assert values(restored.push(left, 2)) == [(2, "r")]


def test_a_push_that_fails_while_nothing_is_held_is_undone(left, right):
    output = correlate(x=left, y=right, yields=lambda x, y: x / y, restrict=most_recently("x") | stalling("x", "y"))
    engine = Engine(output)
    with pytest.raises(ZeroDivisionError):
        [engine.push(right, 0), engine.push(left, 1)]
    assert engine.stats.retained == 1
    with pytest.raises(ZeroDivisionError):
        engine.push(left, 1)
    assert values(engine.push(right, 2)) == []


def test_a_push_that_fails_while_a_continuation_is_held_leaves_an_engine_that_says_it_is_broken(left, right):
    output = correlate(x=left, y=right, yields=lambda x, y: x / y, restrict=most_recently("x") | stalling("x", "y"))
    engine = Engine(output)
    engine.push(left, 1)
    with pytest.raises(ZeroDivisionError):
        engine.push(right, 0)
    for use in (lambda: engine.push(left, 2), lambda: engine.advance(9), engine.close):
        with pytest.raises(EngineBroken, match=r"stalling\('x', 'y'\) held a continuation"):
            use()


def test_an_abandoned_engine_leaves_no_greenlet_behind(left, right):
    before = live_greenlets()
    engine = Engine(pairs(left, right, stalling("x", "y")))
    for value in range(3):
        engine.push(left, value)
    del engine
    assert live_greenlets() == before


def test_each_key_may_hold_a_strand_of_its_own(left, right):
    """The strand of a slot is one: while it is suspended under one key, events of other keys wait for it as well."""
    restrict = key_by(x=lambda x: x[0], y=lambda y: y) | momentarily("x") | most_recently("y") | stalling("x", "y")
    engine = Engine(pairs(left, right, restrict))
    for signal in "ab":
        engine.push(right, signal)
    assert values(engine.push(left, "a1")) == [("a1", "a")]
    assert values(engine.push(left, "b1")) == []
    assert values(engine.push(right, "a")) == [("b1", "b")]


def test_only_what_a_strand_performs_can_be_controlled(left):
    class choosing(Restriction):
        @controls(select)
        def choose(self, matches, resume):
            resume()

    with pytest.raises(InvalidArgument, match=r"choosing\(\): expected handles\(select\) but got controls"):
        cartesian(left, restrict=choosing())


# ------------------------------------------------------------------------------------------------ operations of users

log: Operation[[object], None] = Operation("log")


class logging(Restriction):
    """Tell `log` of every event of `slot`."""

    slot: Slot
    performs = (log,)

    @handles(arrive, "slot")
    def tell(self, slot, event):
        log(event.value)
        forward(slot, event)


class keeping(Restriction):
    """Print what is logged, and how much has been before it."""

    count = state(0)

    @handles(log)
    def print_it(self, value):
        self.count += 1
        print(self.count, value)


def test_a_restriction_may_handle_what_another_to_its_right_performs(left, capsys):
    output = cartesian(left, restrict=keeping() | logging("left"))
    engine = Engine(output)
    engine.push(left, "a")
    engine = Engine.restore(engine.snapshot(), output)
    engine.push(left, "b")
    assert capsys.readouterr().out == "1 a\n2 b\n"


def test_a_correlation_is_refused_if_nobody_outside_handles_what_it_performs(left):
    for restrict in (logging("left"), logging("left") | keeping(), aligning("left", "left_2") | logging("left")):
        with pytest.raises(UnhandledOperation, match=r"outside logging\('left'\) for log"):
            cartesian(left, left, restrict=restrict)


def test_a_handler_around_the_engine_will_do(left):
    logged = []

    class appending(Handler):
        @handles(log)
        def append(self, value: object) -> None:
            logged.append(value)

    def program():
        engine = Engine(cartesian(map_(left, lambda x: x * 2), restrict=logging("map_(left)")))
        return values(engine.push(left, 21))

    assert handle(appending(), program) == [(42,)]
    assert logged == [42]


@pytest.mark.parametrize(
    "stack",
    [tumbling(4, report=on_close), sliding(4, 2, report=final), session(3), tumbling(4, tick="time")],
    ids=repr,
)
def test_what_would_suspend_the_release_of_what_waits_is_refused(left, right, stack):
    """The clock releases it: the next deadline would find the clock suspended, and what is released then lost."""
    with pytest.raises(InvalidArgument, match=r"suspend nothing, .* but stalling\('x', 'y'\) has a clause by controls"):
        pairs(left, right, stack | stalling("x", "y"))
    engine = Engine(pairs(left, right, tumbling(4) | stalling("x", "y")), lateness=0)
    engine.push(left, 0, at=0)
    assert [values(engine.push(right, time, at=time)) for time in (1, 2)] == [[(0, 1)], [(0, 2)]]


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_while_one_is_held_what_completes_elsewhere_breaks_nothing(left, right, tier, monkeypatch):
    monkeypatch.setattr(direct_pushes, "PUSHES_BEFORE", 0)  # a function that calls clauses gives up as it completes
    held = pairs(left, right, momentarily("x") | most_recently("y") | stalling("x", "y"))
    other = Reactive("other")
    engine = Engine(held, correlate(x=other, yields=lambda x: x, restrict=take(2)), lateness=0, tier=tier)
    engine.push(right, "r0", 0)
    engine.push(left, 1, 1)  # its strand is suspended from here on
    assert [values(engine.push(other, number, 2 + number)) for number in range(3)] == [[0], [1], []]
    engine.push(left, 2, 6)
    assert values(engine.push(right, "r1", 7)) == [(2, "r1")]
