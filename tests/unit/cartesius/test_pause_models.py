"""The barrier, drawn, is a plain loop; and a release that fails leaves everything as it was (SEMANTICS 1.8, 1.12)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import (
    Engine,
    Reactive,
    Restriction,
    Slot,
    correlate,
    handles,
    notify_at,
    pause,
    play,
    start,
    tick,
)
from cartesius.plan import Node, Opaque
from restrictions import (
    affinely,
    key_by,
    momentarily,
    separately,
)
from tests.unit.cartesius.pause_examples import barrier, dam, each_alone, met, values, waiting_of


class Broken(Exception):
    """What a body raises."""


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

        def plan(self) -> tuple[Node, ...]:
            return (Opaque(pauses=(self.slot,)),)

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
