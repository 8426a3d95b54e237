"""pause and play: queues at the door of a slot, under a key; the barrier by hand (SEMANTICS 1.8)."""

from __future__ import annotations

import pytest

from cartesius import (
    Duration,
    Engine,
    Restriction,
    Slot,
    Slots,
    Update,
    arrive,
    correlate,
    forward,
    handles,
    notify_at,
    pause,
    play,
    push,
    run,
    select,
    start,
    state,
    tick,
)
from cartesius.errors import InvalidArgument
from cartesius.plan import Node, Opaque
from restrictions import (
    as_table,
    key_by,
    momentarily,
    most_recently,
    retracting,
)
from restrictions.streams import map_, map_concat, merge
from tests.unit.cartesius.pause_examples import barrier, dam, each_alone, met, values, waiting_of, weighted

# ------------------------------------------------------------------------------------------------ the barrier by hand


def test_each_signal_lets_one_event_of_each_slot_through(a, b, go):
    engine = Engine(each_alone(a, b, go, barrier("x", "y", signal="go")))
    for value in ("a1", "a2", "a3"):
        assert engine.push(a, value) == []
    assert engine.push(b, "b1") == []
    assert values(engine.push(go, "g1")) == ["g1", "a1", "b1"]
    assert values(engine.push(go, "g2")) == ["g2", "a2"]
    assert values(engine.push(b, "b2")) == ["b2"]  # the second signal was its own
    assert engine.push(b, "b3") == []
    assert values(engine.push(go, "g3")) == ["g3", "a3", "b3"]
    assert engine.stats.waiting == 0


def test_what_is_released_comes_after_the_results_of_the_step_in_slot_order(a, b, go):
    engine = Engine(each_alone(a, b, go, dam("x", "y", signal="go")))
    for reactive, value in [(b, "b1"), (a, "a1"), (b, "b2"), (a, "a2")]:
        assert engine.push(reactive, value) == []
    assert values(engine.push(go, "g")) == ["g", "a1", "a2", "b1", "b2"]
    assert values(engine.push(b, "b3")) == ["b3"]


def test_queued_events_wait_and_are_not_retained(a, b, go):
    engine = Engine(each_alone(a, b, go, barrier("x", "y", signal="go")))
    engine.push(a, "a1")
    engine.push(a, "a2")
    engine.push(b, "b1")
    assert (engine.stats.waiting, engine.stats.retained) == (3, 0)
    assert waiting_of(engine) == {"x": 2, "y": 1, "go": 0}
    engine.push(go, "g")
    assert (engine.stats.waiting, engine.stats.retained) == (1, 0)


def test_other_keys_pass(a, go):
    def k(value):
        return value[0]

    engine = Engine(met(a, go, key_by(x=k, go=k) | barrier("x", signal="go")))
    for value in ("p1", "q1", "p2", "q2"):
        assert engine.push(a, value) == []
    assert values(engine.push(go, "pA")) == [("p1", "pA")]
    assert values(engine.push(go, "qA")) == [("q1", "qA")]
    assert values(engine.push(go, "qB")) == [("q2", "qB")]
    assert values(engine.push(go, "qC")) == []
    assert values(engine.push(a, "q3")) == [("q3", "qC")]
    assert engine.push(a, "q4") == []
    assert values(engine.push(go, "pB")) == [("p2", "pB")]
    assert waiting_of(engine) == {"x": 1, "go": 0}


def test_left_of_key_by_one_barrier_is_common_to_all_keys(a, go):
    def k(value):
        return value[0]

    engine = Engine(met(a, go, barrier("x", signal="go") | key_by(x=k, go=k)))
    for value in ("p1", "q1", "p2"):
        assert engine.push(a, value) == []
    assert values(engine.push(go, "pA")) == [("p1", "pA")]
    assert values(engine.push(go, "qA")) == [("q1", "qA")]


def test_a_released_event_keeps_its_time(a, go):
    engine = Engine(met(a, go, barrier("x", signal="go")))
    engine.push(a, "a1", at=(3, 5))
    (event,) = engine.push(go, "g", at=4)
    assert (event.value, event.start, event.end) == (("a1", "g"), 3, 5)


# ------------------------------------------------------------------------------------------------------ from anywhere


def test_a_tick_may_pause_and_play(a):
    class off_and_on(Restriction):
        """Ten units after an event the slot closes, ten later it opens."""

        slot: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

        after: Duration

        @handles(arrive, "slot")
        def note(self, slot, event):
            if event.value == "first":
                notify_at(event.end + self.after)
                notify_at(event.end + 2 * self.after)
            forward(slot, event)

        @handles(tick)
        def switch(self, now):
            if now == self.after + 1:
                pause(self.slot)
            else:
                play(self.slot)

    output = correlate(x=a, yields=lambda x: x, restrict=off_and_on("x", 10))
    engine = Engine(output)
    assert values(engine.push(a, "first", at=0)) == ["first"]
    assert values(engine.push(a, "second", at=5)) == ["second"]
    assert engine.advance(11) == []
    assert engine.push(a, "third", at=12) == []
    assert engine.push(a, "fourth", at=13) == []
    engine = Engine.restore(engine.snapshot(), output)
    assert engine.stats.waiting == 2
    assert engine.advance(20) == []
    assert values(engine.advance(21)) == ["third", "fourth"]
    assert values(engine.push(a, "fifth", at=22)) == ["fifth"]


@pytest.mark.parametrize("family", [push, arrive])
def test_a_clause_for_a_stored_event_may_pause_and_play(a, b, family):
    class first_only(Restriction):
        slot: Slot
        signal: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot, self.signal)),)

        @handles(family, "slot")
        def shut(self, slot, entry):
            pause(self.slot)
            forward(slot, entry)

        @handles(family, "signal")
        def open(self, slot, entry):
            play(self.slot)
            forward(slot, entry)

    engine = Engine(met(a, b, first_only("x", "go")))
    engine.push(b, "g1")
    assert values(engine.push(a, "a1")) == [("a1", "g1")]
    assert engine.push(a, "a2") == []
    assert engine.push(a, "a3") == []
    assert values(engine.push(b, "g2")) == [("a2", "g2")]
    assert engine.stats.waiting == 1


def test_a_clause_for_select_may_pause_and_play(a, go):
    class until_asked(Restriction):
        """After a result nothing more comes, until a signal meets nothing."""

        slot: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

        @handles(select)
        def choose(self, matches):
            found = list(matches)
            forward(iter(found))
            if any(match.value[1] == "open" for match in found):
                play(self.slot)
            elif found:
                pause(self.slot)

    engine = Engine(
        correlate(
            x=a,
            go=go,
            yields=lambda x, go: (x, go),
            restrict=most_recently("x", "go") | until_asked("x"),
        )
    )
    engine.push(go, "shut")
    assert values(engine.push(a, 1)) == [(1, "shut")]
    assert engine.push(a, 2) == []
    assert engine.push(a, 3) == []
    assert engine.stats.waiting == 2
    assert values(engine.push(go, "open")) == [(1, "open"), (2, "open"), (3, "open")]
    assert engine.stats.waiting == 0


def test_pausing_another_slot_holds_its_next_event_also_one_of_the_same_step(a, go):
    class shutting(Restriction):
        """An event of ``first`` shuts ``second``."""

        first: Slot
        second: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.first, self.second)),)

        @handles(arrive, "first")
        def shut(self, slot, event):
            pause(self.second)
            forward(slot, event)

    output = correlate(
        x=a, y=a, yields=lambda x, y: (x, y), restrict=most_recently("x", "y") | shutting("x", "y"), name="out"
    )
    engine = Engine(output)
    assert engine.push(a, 1) == []
    assert waiting_of(engine) == {"x": 0, "y": 1}


def test_closing_behind_the_first_holds_the_second_event_of_the_same_step(a, b, go):
    engine = Engine(each_alone(map_concat(a, list), b, go, barrier("x", signal="go")))
    assert engine.push(a, "pqr") == []
    assert values(engine.push(go, "g1")) == ["g1", "p"]
    assert values(engine.push(go, "g2")) == ["g2", "q"]
    assert engine.stats.waiting == 1


def test_pausing_twice_is_pausing_once(a, b, go):
    class thrice(Restriction):
        slot: Slot
        signal: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot, self.signal)),)

        @handles(start)
        def close(self):
            pause(self.slot)
            pause(self.slot)

        @handles(arrive, "signal")
        def open(self, slot, event):
            play(self.slot)
            play(self.slot)

    engine = Engine(each_alone(a, b, go, thrice("x", "go")))
    assert engine.push(a, 1) == []
    assert values(engine.push(go, "g")) == [1]
    assert values(engine.push(a, 2)) == [2]


def test_play_on_a_slot_that_is_not_paused_does_nothing(a, b, go):
    class playing(Restriction):
        slots: Slots

        @handles(arrive, "slots")
        def let_on(self, slot, event):
            play(slot)
            forward(slot, event)
            play(slot)

    engine = Engine(each_alone(a, b, go, playing("x", "y", "go")))
    trace = [(a, 1), (go, "g"), (b, 2), (a, 3)]
    assert [value for step in trace for value in values(engine.push(*step))] == [1, "g", 2, 3]
    assert engine.stats.waiting == 0


def test_a_pause_that_is_taken_back_in_the_same_step_holds_nothing(a, b, go):
    class hesitating(Restriction):
        slot: Slot

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

        @handles(arrive, "slot")
        def hesitate(self, slot, event):
            pause(slot)
            play(slot)
            forward(slot, event)

    assert values(run(each_alone(a, b, go, hesitating("x")), [(a, 1), (a, 2), (a, 3)])) == [1, 2, 3]


# ------------------------------------------------------------------------------------------------- steps of their own


def test_each_released_event_is_a_step_of_its_own(a, go):
    newest = correlate(
        x=a, go=go, yields=lambda x: x, restrict=retracting() | most_recently("x", "go") | dam("x", signal="go")
    )
    engine = Engine(newest)
    for value in (1, 2, 3):
        assert engine.push(a, value) == []
    assert weighted(engine.push(go, "g")) == [(1, 1), (1, -1), (2, 1), (2, -1), (3, 1)]


def test_a_table_changes_once_for_each_released_event(a, go):
    latest = correlate(
        x=a,
        go=go,
        yields=lambda x: x,
        restrict=most_recently("x", "go") | retracting() | as_table(lambda value: "k") | dam("x", signal="go"),
    )
    engine = Engine(latest)
    for value in (1, 2, 3):
        engine.push(a, value)
    assert values(engine.push(go, "g")) == [Update("k", 1), Update("k", 2), Update("k", 3)]
    assert engine.query(latest) == {"k": 3}


def test_two_slots_that_are_released_together_do_not_meet_in_one_batch(a, b, go):
    engine = Engine(
        correlate(
            x=a,
            y=b,
            go=go,
            yields=lambda x, y: (x, y),
            restrict=most_recently("x", "y", "go") | dam("x", "y", signal="go"),
        )
    )
    engine.push(a, 1)
    engine.push(a, 2)
    engine.push(b, "p")
    engine.push(b, "q")
    assert values(engine.push(go, None)) == [(2, "p"), (2, "q")]


def test_what_waits_is_not_overtaken_by_an_event_of_the_step_that_plays(a, b):
    """1.8: later events of the key queue at the door, in order; play releases after the current step."""
    output = correlate(
        go=map_(a, lambda value: value),
        x=merge(a, b),
        yields=lambda x: x,
        restrict=most_recently("go") | momentarily("x") | barrier("x", signal="go"),
        name="out",
    )
    engine = Engine(output)
    assert engine.push(b, "b1") == []
    assert engine.push(b, "b2") == []
    assert values(engine.push(a, "a1")) == ["b1"]
    assert values(engine.push(a, "a2")) == ["b2"]
    assert values(engine.push(a, "a3")) == ["a1"]


def test_what_a_release_upstream_brings_does_not_overtake_what_waits_downstream(a, b, go):
    """One signal opens two doors in a chain; at the second some wait already."""
    inner = correlate(
        x=a,
        go=go,
        yields=lambda x: x,
        restrict=momentarily("x") | most_recently("go") | barrier("x", signal="go"),
        name="inner",
    )
    outer = correlate(
        x=merge(inner, b),
        go=go,
        yields=lambda x: x,
        restrict=momentarily("x") | most_recently("go") | barrier("x", signal="go"),
        name="outer",
    )
    engine = Engine(outer)
    for reactive, value in [(a, "a1"), (b, "b1"), (b, "b2"), (a, "a2")]:
        assert engine.push(reactive, value) == []
    got = [values(engine.push(go, None)) for _ in range(6)]
    assert [value for step in got for value in step] == ["b1", "b2", "a1", "a2"]


def test_a_slot_that_a_restriction_does_not_say_it_pauses_is_not_paused(a):
    class closing(Restriction):
        slot: Slot

        @handles(arrive, "slot")
        def close(self, slot, event):
            forward(slot, event)
            pause(slot)

    engine = Engine(correlate(a=a, yields=lambda a: a, restrict=closing("a")))
    with pytest.raises(InvalidArgument, match=r"closing\('a'\) says it may pause but got 'a'; say it .*pauses="):
        engine.push(a, 1)
    assert engine.stats.events == 0


@pytest.mark.parametrize("tier", ["reference", "in_place"])
def test_what_waits_when_all_is_over_goes_on_waiting(a, b, tier):
    """Its clock plays once the correlation has completed: nobody would take the event, and is counted."""

    class closing_after_two(Restriction):
        slot: Slot
        seen = state(0)

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

        @handles(arrive, "slot")
        def hold(self, slot, event):
            self.seen += 1
            if self.seen == 2:
                pause(slot)
                notify_at(event.end + 2)
            forward(slot, event)

        @handles(tick)
        def let_go(self, now):
            play(self.slot)

    out = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=closing_after_two("y"), name="out")
    engine = Engine(out, tier=tier)
    engine.end(a)
    for at in range(3):
        engine.push(b, at, at=at)
    engine.end(b)
    engine.close()
    assert engine.stats.slots["out", "y"] == (2, 1)
    engine._check_invariants()
