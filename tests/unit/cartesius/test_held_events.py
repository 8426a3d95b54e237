"""Events that gates hold: taken back meanwhile, failing when they come, abandoned with their strand (SEMANTICS 1.9)."""

from __future__ import annotations

import pytest

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Slots,
    Update,
    arrive,
    controls,
    correlate,
    forward,
    handles,
    notify_at,
    push,
    state,
    tick,
)
from cartesius.errors import InvalidArgument, NotStorable, SnapshotMismatch
from restrictions import cartesian, key_by, most_recently, optionally, retracting
from restrictions.streams import buffer, fork_join, join, map_, sample, skip_until, take_until
from tests.unit.cartesius.test_restriction_base import debouncing


class once(Restriction):
    """Spend, without saying so."""

    slots: Slots

    @handles(push, "slots")
    def limit(self, slot, entry):
        entry.uses = 1
        forward(slot, entry)


class heart(Restriction):
    """Ask for the next deadline at each one."""

    slot: Slot

    @handles(arrive, "slot")
    def begin(self, slot, event):
        notify_at(event.end + 9)
        forward(slot, event)

    @handles(tick)
    def beat(self, now):
        notify_at(now + 9)


class abandoning(Restriction):
    """Abandon the strand at each second event."""

    slot: Slot
    count = state(0)

    @controls(arrive, "slot")
    def some(self, slot, event, resume):
        self.count += 1
        if self.count % 2:
            forward(slot, event)
            return resume.tail()
        return None


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def values(events):
    return [event.value for event in events]


def rows(table):
    return correlate(t=table, yields=lambda t: t, restrict=retracting(), name="rows")


@pytest.mark.parametrize("is_restored", [False, True])
def test_a_held_event_that_its_source_takes_back_never_comes(is_restored):
    table = Reactive("table", table=True)
    output = correlate(x=rows(table), yields=lambda x: x, restrict=debouncing("x", 3))
    engine = Engine(output)
    engine.push(table, Update("k", 5), at=0)
    engine.push(table, Delete("k"), at=1)
    if is_restored:
        engine = Engine.restore(engine.snapshot(), output)
    assert engine.advance(20) == []
    assert engine.stats.retained == 0


def test_operators_that_hold_an_event_let_go_of_it_when_it_is_taken_back(right):
    table = Reactive("table", table=True)
    engine = Engine(fork_join(rows(table), right))
    for reactive, value in ((table, Update("k", 1)), (table, Delete("k")), (right, "r")):
        engine.push(reactive, value)
    assert engine.close() == []
    engine = Engine(sample(rows(table), right))
    for reactive, value in ((table, Update("k", 1)), (table, Delete("k"))):
        engine.push(reactive, value)
    assert engine.push(right, "now") == []


def test_a_list_has_only_what_was_not_taken_back_meanwhile():
    table = Reactive("table", table=True)
    engine = Engine(buffer(rows(table), 3))
    changes = (Update("a", 1), Update("b", 2), Delete("b"), Update("c", 3))
    assert [values(engine.push(table, change)) for change in changes] == [[], [], [], [[1, 3]]]


def test_a_push_that_fails_after_it_took_a_held_event_back_is_undone():
    table = Reactive("table", table=True)
    out = correlate(x=rows(table), yields=lambda x: x, restrict=debouncing("x", 3), name="out")

    def where(row):
        if row == "bad":
            raise ZeroDivisionError
        return True

    bad = correlate(row=table, where=where, yields=lambda row: row)
    engine = Engine(out, bad)
    engine.push(table, Update("k", 5), at=0)
    with pytest.raises(ZeroDivisionError):
        engine.push(table, Update("k", "bad"), at=1)
    assert values(engine.advance(20)) == [5]


@pytest.mark.parametrize("beside", [retracting(), optionally("x") | retracting()])
def test_a_restriction_that_spends_without_saying_so_is_refused_beside_retraction_as_it_does(left, right, beside):
    output = correlate(
        x=left, y=right, where=lambda x, y: x == y, yields=lambda x, y: (x, y), restrict=once("x") | beside
    )
    with pytest.raises(InvalidArgument, match=r"the uses of an event of 'x' have become 1; leave one out"):
        Engine(output).push(left, 1)


def test_a_restriction_that_asks_for_deadlines_without_end_is_named_and_closing_fails(left, monkeypatch):
    monkeypatch.setattr("cartesius.programs.steps.MOST_DEADLINES", 100)
    engine = Engine(cartesian(left, restrict=heart("left")))
    engine.push(left, 1, at=0)
    assert engine.advance(500) == []
    with pytest.raises(InvalidArgument, match=r"heart\('left'\): expected deadlines that come to an end"):
        engine.close()
    assert engine.advance(600) == []


def test_deadlines_that_were_asked_for_before_may_be_any_number(left, right, monkeypatch):
    monkeypatch.setattr("cartesius.programs.steps.MOST_DEADLINES", 100)
    engine = Engine(join(left, right, 1000, 1000))
    for time in range(300):
        engine.push(left, time, at=time)
    engine.close()
    assert (engine.stats.retained, engine.done) == (0, True)


def test_an_error_at_a_deadline_names_the_restriction_its_key_and_the_time(left):
    output = correlate(x=left, yields=lambda x: 1 / x["v"], restrict=key_by(x="k") | debouncing("x", 3))
    engine = Engine(output)
    engine.push(left, {"k": "p", "v": 0}, at=1)
    with pytest.raises(ZeroDivisionError) as caught:
        engine.advance(9)
    assert any(
        "while a deadline of debouncing('x', 3) under the key ('p',) was due, at 4" in n for n in caught.value.__notes__
    )


@pytest.mark.parametrize("is_restored", [False, True])
def test_an_abandoned_strand_loses_the_one_event_and_goes_on(left, is_restored):
    output = cartesian(left, restrict=abandoning("left"))
    engine = Engine(output)
    got = []
    for number in range(6):
        got += values(engine.push(left, number))
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
    assert got == [(0,), (2,), (4,)]


def test_two_clauses_for_one_operation_are_refused(left):
    class twice(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def one(self, slot, event):
            forward(slot, event)

        @handles(arrive, "slot")
        def two(self, slot, event):
            forward(slot, event)

    with pytest.raises(
        InvalidArgument, match=r"expected one clause for it but 'two' of twice\('left'\) is a second one"
    ):
        cartesian(left, restrict=twice("left"))


@pytest.mark.parametrize("name", ["plan", "nodes", "check", "validate", "due"])
def test_a_field_that_would_hide_a_method_is_refused(name):
    with pytest.raises(InvalidArgument, match=f"{name!r} is a method of Restriction"):
        type("hiding", (Restriction,), {name: state(0)})


def test_a_renamed_state_is_another_program(left):
    def version(name):
        fields = {"__annotations__": {"slot": "Slot"}, name: state(0), "__qualname__": "version"}
        return type("version", (Restriction,), fields)

    one, two = (cartesian(left, restrict=version(name)("left")) for name in ("a", "b"))
    with pytest.raises(SnapshotMismatch):
        Engine.restore(Engine(one).snapshot(), two)


def test_a_durable_engine_refuses_what_a_body_makes_and_no_snapshot_can_hold(left):
    made = map_(left, lambda value: object())
    engine = Engine(correlate(x=made, yields=lambda x: 1), durable=True)
    with pytest.raises(NotStorable):
        engine.push(left, 1)
    assert engine.stats.events == 0


@pytest.mark.parametrize(("operator", "slot"), [(take_until, "signal"), (skip_until, "signal"), (sample, "trigger")])
def test_explain_says_that_nothing_of_a_signal_is_retained(left, right, operator, slot):
    text = Engine(operator(left, right)).explain()
    (line,) = [line for line in text.splitlines() if line.split()[:2] == ["slot", slot]]
    assert "memory O(0), nothing of it gets past" in line


def test_explain_says_what_bounds_what_a_gate_holds_or_that_it_does_not_know(left, right):
    assert "queue O(1), held by at_end" in Engine(fork_join(left, right)).explain()
    text = Engine(cartesian(left, restrict=most_recently("left") | debouncing("left", 3))).explain()
    assert "queue unknown, debouncing('left', 3) may hold events" in text
