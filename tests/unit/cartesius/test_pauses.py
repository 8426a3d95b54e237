"""pause and play: queues at the door of a slot, under a key; the barrier of DESIGN 3 as printed (SEMANTICS 1.8)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Duration,
    Engine,
    Reactive,
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
    tick,
)
from restrictions import (
    affinely,
    aligning,
    as_table,
    combine_latest,
    key_by,
    momentarily,
    most_recently,
    retracting,
    separately,
)
from restrictions.streams import map_, map_concat, merge


class barrier(Restriction):
    """Hold `slots` back; each event of `signal` lets one event of each through."""

    slots: Slots
    signal: Slot

    @handles(start)  # when the copy for a key is made
    def close(self):
        for slot in self.slots:
            pause(slot)

    @handles(arrive, "slots")
    def close_behind(self, slot, event):
        pause(slot)
        forward(slot, event)

    @handles(arrive, "signal")
    def open(self, slot, event):
        forward(slot, event)  # what is released follows after this step, in slot order
        for slot in self.slots:  # noqa: PLR1704 - as printed
            play(slot)


class dam(Restriction):
    """Hold `slots` back until the first event of `signal`; then let everything through, asking in reverse order."""

    slots: Slots
    signal: Slot

    @handles(start)
    def close(self):
        for slot in self.slots:
            pause(slot)

    @handles(arrive, "signal")
    def open(self, slot, event):
        for slot_ in reversed(self.slots):
            play(slot_)
        forward(slot, event)


class Broken(Exception):
    """What a body raises."""


def values(events):
    return [event.value for event in events]


def weighted(events):
    return [(event.value, event.weight) for event in events]


def waiting_of(engine):
    return {slot: waiting for (_, slot), (_, waiting) in engine.stats.slots.items()}


@pytest.fixture
def a():
    return Reactive("a")


@pytest.fixture
def b():
    return Reactive("b")


@pytest.fixture
def go():
    return Reactive("go")


def shown(x, y, go):
    return next(part for part in (x, y, go) if part is not None)


def each_alone(x, y, go, restrict):
    """Every event that gets through is a result of its own: results come in the order in which events got through."""
    return correlate(
        x=x, y=y, go=go, yields=shown, restrict=separately() | momentarily("x", "y", "go") | restrict, name="out"
    )


def met(x, go, restrict):
    """Every event of x that gets through meets the latest signal."""
    return correlate(
        x=x,
        go=go,
        yields=lambda x, go: (x, go),
        restrict=restrict | momentarily("x") | most_recently("go"),
        name="out",
    )


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


# -------------------------------------------------------------------------------------------------- the barrier, drawn

STEPS = st.lists(st.tuples(st.sampled_from(("a", "a", "b", "go", "go")), st.integers(0, 2)), max_size=16)


class Model:
    """A barrier for one key: queues, and whether the door is shut."""

    def __init__(self, names):
        self.queues = {name: [] for name in names}
        self.is_shut = dict.fromkeys(names, True)

    def push(self, name, value):
        if self.is_shut[name]:
            self.queues[name].append(value)
            return []
        self.is_shut[name] = True
        return [value]

    def signal(self):
        out = []
        for name, queue in self.queues.items():
            self.is_shut[name] = bool(queue)  # what is released closes the door behind itself
            out += [queue.pop(0)] if queue else []
        return out

    def waiting(self):
        return sum(map(len, self.queues.values()))


@settings(max_examples=settings().max_examples * 50 // 100)
@given(steps=STEPS, is_restored=st.booleans())
def test_a_barrier_is_what_a_plain_loop_says(steps, is_restored):
    inputs = {name: Reactive(name) for name in ("a", "b", "go")}
    output = each_alone(inputs["a"], inputs["b"], inputs["go"], barrier("x", "y", signal="go"))
    engine, model = Engine(output), Model("ab")
    for number, (name, _) in enumerate(steps, start=1):
        expected = [number, *model.signal()] if name == "go" else model.push(name, number)
        assert values(engine.push(inputs[name], number)) == expected
        engine._check_invariants()
        assert (engine.stats.waiting, engine.stats.retained) == (model.waiting(), 0)
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
            assert engine.stats.waiting == model.waiting()


@settings(max_examples=settings().max_examples * 50 // 100)
@given(steps=STEPS, is_restored=st.booleans())
def test_a_keyed_barrier_is_one_plain_loop_a_key(steps, is_restored):
    inputs = {"a": Reactive("a"), "go": Reactive("go")}
    output = met(inputs["a"], inputs["go"], key_by(x="k", go="k") | barrier("x", signal="go"))
    engine, models, signals = Engine(output), {}, {}
    for number, (drawn, k) in enumerate(steps):
        name = "go" if drawn == "go" else "a"
        model = models.setdefault(k, Model("a"))
        if name == "go":
            signals[k] = number
        passed = model.signal() if name == "go" else model.push("a", number)
        got = [(x.n, signal.n) for x, signal in values(engine.push(inputs[name], {"k": k, "n": number}))]
        assert got == [(n, signals[k]) for n in passed]
        assert engine.stats.waiting == sum(model.waiting() for model in models.values())
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
            engine._check_invariants()


@settings(max_examples=settings().max_examples * 50 // 100)
@given(steps=STEPS, data=st.data())
def test_a_snapshot_at_any_point_changes_nothing(steps, data):
    inputs = {name: Reactive(name) for name in ("a", "b", "go")}
    output = each_alone(inputs["a"], inputs["b"], inputs["go"], dam("x", signal="go") | barrier("y", signal="go"))
    straight, restored = Engine(output), Engine(output)
    cut = data.draw(st.integers(0, len(steps)))
    for number, (name, _) in enumerate(steps, start=1):
        if number == cut:
            restored = Engine.restore(restored.snapshot(), output)
        assert restored.push(inputs[name], number) == straight.push(inputs[name], number)
        assert restored.stats == straight.stats
        assert restored.snapshot() == straight.snapshot()


# ------------------------------------------------------------------------------------------------------ from anywhere


def test_a_tick_may_pause_and_play(a):
    class off_and_on(Restriction):
        """Ten units after an event the slot closes, ten later it opens."""

        slot: Slot
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


# --------------------------------------------------------------------------------------------- retraction, and tables


def test_a_retraction_of_a_queued_event_removes_it(a, go):
    newest = correlate(x=a, yields=lambda x: x, restrict=most_recently("x") | retracting(), name="newest")
    engine = Engine(met(newest, go, barrier("x", signal="go")))
    engine.push(a, 1)
    assert engine.stats.waiting == 1
    engine.push(a, 2)
    assert engine.stats.waiting == 1
    engine.push(a, 3)
    assert values(engine.push(go, "g1")) == [(3, "g1")]
    assert values(engine.push(go, "g2")) == []


def test_a_retraction_is_not_held_back(a, go):
    newest = correlate(x=a, yields=lambda x: x, restrict=most_recently("x") | retracting(), name="newest")
    output = correlate(
        x=newest, go=go, yields=lambda x: x, restrict=retracting() | most_recently("go") | barrier("x", signal="go")
    )
    engine = Engine(output)
    engine.push(a, 1)
    assert weighted(engine.push(go, "g")) == [(1, 1)]
    assert weighted(engine.push(a, 2)) == [(1, -1)]  # the second waits, that the first has gone does not
    assert weighted(engine.push(go, "h")) == [(2, 1)]


def rows_behind(restrict, go):
    table = Reactive("t", table=True)
    return table, correlate(
        x=table, go=go, yields=lambda x, key_x: (key_x, x.v), restrict=retracting() | restrict, name="out"
    )


def test_changes_of_a_row_keep_their_order_at_a_paused_door(go):
    table, output = rows_behind(most_recently("go") | barrier("x", signal="go"), go)
    engine = Engine(output)
    for change in (Update("r", {"v": 1}), Update("s", {"v": 9}), Update("r", {"v": 2}), Delete("r")):
        assert engine.push(table, change) == []
    assert engine.stats.waiting == 4
    got, standing = [], Counter()
    for number in range(5):
        for value, weight in weighted(engine.push(go, number)):
            standing[value] += weight
        engine = Engine.restore(engine.snapshot(), output)
        assert {key: row.v for key, row in engine.query(table).items()} == {"s": 9}  # as pushed, not as let through
        got.append(sorted(standing.elements()))
    assert got == [[("r", 1)], [("r", 1), ("s", 9)], [("r", 2), ("s", 9)], [("s", 9)], [("s", 9)]]


def test_a_row_that_moves_to_an_open_key_does_not_overtake_itself(go):
    table, output = rows_behind(
        key_by(x="k", go=lambda value: value[0]) | most_recently("go") | dam("x", signal="go"), go
    )
    engine = Engine(output)
    engine.push(go, "q0")  # opens q
    assert engine.push(table, Update("r", {"k": "p", "v": 1})) == []
    assert engine.push(table, Update("r", {"k": "q", "v": 2})) == []  # waits behind the one that p holds back
    assert weighted(engine.push(table, Update("s", {"k": "q", "v": 3}))) == [(("s", 3), 1)]
    assert engine.stats.waiting == 2
    assert weighted(engine.push(go, "p0")) == [(("r", 1), 1), (("r", 1), -1), (("r", 2), 1)]
    assert engine.stats.waiting == 0


def test_deleting_an_absent_row_is_no_change_at_a_keyed_door_either(go):
    """2.1. It has no key, so no signal of a key could let it through, nor what comes after it."""
    table, output = rows_behind(
        key_by(x="k", go=lambda value: value[0]) | most_recently("go") | barrier("x", signal="go"), go
    )
    engine = Engine(output)
    engine.push(table, Delete("r"))
    assert engine.stats.waiting == 0
    engine.push(table, Update("r", {"k": "p", "v": 1}))
    assert weighted(engine.push(go, "p0")) == [(("r", 1), 1)]


def test_a_deletion_waits_under_the_key_of_its_row_also_while_that_is_queued(go):
    """2.1: a `Delete` goes where its row is; 1.8: the door is paused again behind the row."""
    table, output = rows_behind(
        key_by(x="k", go=lambda value: value[0]) | most_recently("go") | barrier("x", signal="go"), go
    )
    engine = Engine(output)
    engine.push(table, Update("r", {"k": "p", "v": 1}))
    engine.push(table, Delete("r"))
    assert weighted(engine.push(go, "p0")) == [(("r", 1), 1)]
    assert engine.stats.waiting == 1
    assert weighted(engine.push(go, "p1")) == [(("r", 1), -1), (("r", 1), 1), (("r", 1), -1)]


# ----------------------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("is_restored", [False, True])
def test_a_body_that_fails_in_a_release_leaves_everything_as_it_was(a, b, go, is_restored):
    def body(x, y, go):
        if broken and x == "bad":
            raise Broken
        return x or y or go

    broken: list[bool] = []
    output = correlate(
        x=a,
        y=b,
        go=go,
        yields=body,
        restrict=separately() | momentarily("x", "y", "go") | dam("x", "y", signal="go") | affinely("x"),
        name="out",
    )
    engine = Engine(output)
    for reactive, value in [(a, "good"), (a, "bad"), (b, "late")]:
        engine.push(reactive, value)
    if is_restored:
        engine = Engine.restore(engine.snapshot(), output)
    broken.append(True)
    for _ in range(2):
        before = engine.stats
        with pytest.raises(Broken):
            engine.push(go, "g")
        assert engine.stats == before
        assert engine.push(a, "more") == []  # the pause has been restored
        assert waiting_of(engine)["x"] == before.slots["out", "x"][1] + 1
    broken.clear()
    assert values(engine.push(go, "g")) == ["g", "good", "bad", "more", "more", "late"]


def test_a_failed_release_does_not_change_the_snapshot(a, b, go):
    def body(x, y, go):
        return 1 // x if x is not None else 0

    output = correlate(
        x=a, y=b, go=go, yields=body, restrict=separately() | momentarily("x", "y", "go") | barrier("x", signal="go")
    )
    engine = Engine(output)
    engine.push(a, 0)
    blob = engine.snapshot()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            engine.push(go, "g")
        assert any("'go'" in note for note in caught.value.__notes__)
        assert engine.snapshot() == blob


def test_an_advance_whose_release_fails_may_be_repeated(a):
    class delaying(Restriction):
        slot: Slot

        @handles(start)
        def close(self):
            pause(self.slot)
            notify_at(10)

        @handles(tick)
        def open(self, now):
            play(self.slot)

    broken = [True]

    def body(x):
        if broken:
            raise Broken
        return x

    engine = Engine(correlate(x=a, yields=body, restrict=delaying("x")))
    engine.push(a, 1, at=1)
    for _ in range(2):
        with pytest.raises(Broken):
            engine.advance(20)
        assert engine.clock == float("-inf")
        assert (engine.next_deadline, engine.stats.waiting) == (11, 1)
    broken.clear()
    assert values(engine.advance(20)) == [1]


# ------------------------------------------------------------------------------------------- nested, ended and closed


def test_what_is_released_runs_through_the_correlations_downstream(a, b, go):
    inner = correlate(
        x=a,
        go=go,
        yields=lambda x: x,
        restrict=momentarily("x") | most_recently("go") | dam("x", signal="go"),
        name="inner",
    )
    engine = Engine(combine_latest(inner, b), inner)
    engine.push(a, 1)
    engine.push(a, 2)
    engine.push(b, "p")
    events = engine.push(go, None)
    assert [(e.reactive, e.value) for e in events] == [
        ("combine_latest(inner, b)", (1, "p")),
        ("inner", 1),
        ("combine_latest(inner, b)", (2, "p")),
        ("inner", 2),
    ]


def test_close_completes_though_events_wait(a, b, go):
    engine = Engine(each_alone(a, b, go, barrier("x", signal="go")))
    engine.push(a, 1)
    assert engine.close() == []
    assert engine.done
    assert engine.stats.waiting == 1


def test_close_lets_through_what_its_deadlines_play(a):
    class spacing(Restriction):
        """One event in ten units."""

        slot: Slot

        @handles(arrive, "slot")
        def close_behind(self, slot, event):
            pause(slot)
            notify_at(event.end + 10)
            forward(slot, event)

        @handles(tick)
        def open(self, now):
            play(self.slot)

    output = correlate(x=a, yields=lambda x: x, restrict=spacing("x"))
    trace = [(a, 1, 0), (a, 2, 1), (a, 3, 2)]
    assert values(run(output, trace)) == [1]
    assert values(run(output, trace, close=True)) == [1, 2, 3]


def test_events_of_an_ended_input_are_released_when_their_time_comes(a, go):
    engine = Engine(met(a, go, barrier("x", signal="go")))
    engine.push(a, 1)
    engine.push(a, 2)
    engine.end(a)
    assert not engine.done
    assert values(engine.push(go, "g1")) == [(1, "g1")]
    assert values(engine.push(go, "g2")) == [(2, "g2")]
    assert not engine.done
    engine.end(go)
    assert engine.done


def test_a_zip_goes_on_while_an_event_of_an_ended_input_waits_at_the_door(a, b, go):
    output = correlate(
        x=a,
        y=b,
        go=go,
        yields=lambda x, y: (x, y),
        restrict=most_recently("x", "y", "go") | aligning("x", "y") | barrier("x", signal="go"),
    )
    engine = Engine(output)
    engine.push(a, 1)
    engine.end(a)
    assert not engine.done
    assert engine.push(go, "g") == []
    assert not engine.done
    assert values(engine.push(b, "p")) == [(1, "p")]
    assert engine.done
