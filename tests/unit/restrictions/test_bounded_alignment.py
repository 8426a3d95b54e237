"""aligning with a limit: what is held is bounded, and nothing is dropped in silence (SEMANTICS 1.7, 1.12, 3.9)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.errors import CartesiusError, InvalidArgument, QueueFull
from restrictions import aligning, cartesian, key_by, most_recently, retracting

OVERFLOWS = ("fail", "drop_oldest", "drop_newest")


def values(events):
    return [event.value for event in events]


def dropped(engine):
    return [(event.value, slot) for event, slot, _ in engine.late]


def zipped(left, right, **options):
    return cartesian(left, right, restrict=most_recently("left", "right") | aligning("left", "right", **options))


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "2", (2,)])
def test_a_limit_must_be_an_int_of_one_or_more(limit):
    with pytest.raises(InvalidArgument, match="limit="):
        aligning("left", "right", limit=limit)


@pytest.mark.parametrize("overflow", ["drop", "", None, 3, "FAIL"])
def test_the_overflow_must_be_one_of_three_which_the_error_names(overflow):
    with pytest.raises(InvalidArgument) as caught:
        aligning("left", "right", limit=2, overflow=overflow)
    for name in OVERFLOWS:
        assert repr(name) in str(caught.value)


@pytest.mark.parametrize("overflow", OVERFLOWS)
def test_up_to_the_limit_nothing_is_different(left, right, overflow):
    engine = Engine(zipped(left, right, limit=3, overflow=overflow))
    for number in (1, 2, 3):
        engine.push(left, number)
    assert engine.stats.waiting == 3
    assert [values(engine.push(right, value)) for value in "abc"] == [[(1, "a")], [(2, "b")], [(3, "c")]]
    assert engine.late == []


def test_fail_is_the_default_and_leaves_everything_as_it_was(left, right):
    output = zipped(left, right, limit=2)
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(left, 2)
    blob, stats = engine.snapshot(), engine.stats
    for _ in range(2):
        with pytest.raises(QueueFull, match="'left'") as caught:
            engine.push(left, 3)
        assert isinstance(caught.value, CartesiusError)
        assert "limit=2" in str(caught.value)
        assert (engine.snapshot(), engine.stats, engine.late) == (blob, stats, [])
    assert values(engine.push(right, "a")) == [(1, "a")]
    assert engine.push(left, 3) == []
    assert values(engine.push(right, "b")) == [(2, "b")]
    assert values(engine.push(right, "c")) == [(3, "c")]


def test_dropping_the_oldest_sets_it_aside_with_slot_and_reason(left, right):
    engine = Engine(zipped(left, right, limit=2, overflow="drop_oldest"))
    for number in (1, 2, 3):
        assert engine.push(left, number, at=number) == []
    ((event, slot, reason),) = engine.late
    assert (event.value, event.start, event.end, event.reactive, slot) == (1, 1, 1, "left", "left")
    assert "aligning" in reason
    assert engine.stats.waiting == 2
    assert values(engine.push(right, "a")) == [(2, "a")]
    assert values(engine.push(right, "b")) == [(3, "b")]


def test_dropping_the_newest_sets_it_aside_with_slot_and_reason(left, right):
    engine = Engine(zipped(left, right, limit=2, overflow="drop_newest"))
    for number in (1, 2, 3):
        assert engine.push(left, number, at=number) == []
    ((event, slot, reason),) = engine.late
    assert (event.value, event.end, event.reactive, slot) == (3, 3, "left", "left")
    assert "aligning" in reason
    assert [values(engine.push(right, value)) for value in "abc"] == [[(1, "a")], [(2, "b")], []]


def test_what_is_dropped_names_its_input_as_a_late_event_does():
    """Of two sources without a name it is clear which one it was."""
    sources = [Reactive.of([1, 2]), Reactive.of([])]
    output = correlate(
        x=sources[1],
        y=sources[0],
        yields=lambda x, y: (x, y),
        restrict=aligning("x", "y", limit=1, overflow="drop_newest"),
    )
    engine = Engine(output, trace=True)
    engine.pull()
    ((event, slot, _),) = engine.late
    assert (event.value, slot) == (2, "y")
    assert event.reactive == engine.pushed[1].reactive == "of#2"


def test_the_limit_is_of_each_slot(left, right):
    third = Reactive("third")
    output = cartesian(left, right, third, restrict=aligning("left", "right", "third", limit=1))
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(right, "a")
    for reactive in (left, right):
        with pytest.raises(QueueFull):
            engine.push(reactive, "more")
    assert values(engine.push(third, "!")) == [(1, "a", "!")]
    engine.push(left, 2)


def test_right_of_key_by_the_limit_is_of_each_key(left, right):
    def build(restrict):
        return Engine(cartesian(left, right, restrict=restrict))

    def k(value):
        return value[0]

    keys = key_by(left=k, right=k)
    keyed = build(keys | aligning("left", "right", limit=1, overflow="drop_oldest"))
    common = build(aligning("left", "right", limit=1, overflow="drop_oldest") | keys)
    for engine in (keyed, common):
        for value in ("p1", "q1", "p2"):
            engine.push(left, value)
    assert dropped(keyed) == [("p1", "left")]
    assert dropped(common) == [("p1", "left"), ("q1", "left")]
    assert values(keyed.push(right, "q!")) == [("q1", "q!")]
    assert values(keyed.push(right, "p!")) == [("p2", "p!")]


def test_a_full_queue_of_one_key_lets_the_others_go_on(left, right):
    def k(value):
        return value[0]

    engine = Engine(cartesian(left, right, restrict=key_by(left=k, right=k) | aligning("left", "right", limit=1)))
    engine.push(left, "p1")
    with pytest.raises(QueueFull):
        engine.push(left, "p2")
    assert engine.push(left, "q1") == []
    assert values(engine.push(right, "q!")) == [("q1", "q!")]


def test_what_was_dropped_and_is_taken_back_later_does_nothing(left, right):
    newest = correlate(x=left, yields=lambda x: x, restrict=retracting() | most_recently("x", n=2), name="newest")
    output = correlate(
        x=newest,
        y=right,
        yields=lambda x, y: (x, y),
        restrict=retracting() | most_recently("x", "y") | aligning("x", "y", limit=1, overflow="drop_oldest"),
    )
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(left, 2)  # drops 1
    assert dropped(engine) == [(1, "x")]
    assert engine.push(left, 3) == []  # takes 1 back, drops 2
    assert dropped(engine) == [(1, "x"), (2, "x")]
    assert values(engine.push(right, "a")) == [(3, "a")]


def test_a_retraction_makes_room_again(left, right):
    newest = correlate(x=left, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="newest")
    engine = Engine(
        correlate(x=newest, y=right, yields=lambda x, y: (x, y), restrict=aligning("x", "y", limit=1), name="out")
    )
    for number in (1, 2, 3):
        engine.push(left, number)  # each takes back the one before, in the same step
    assert engine.stats.slots["out", "x"] == (0, 1)
    assert values(engine.push(right, "a")) == [(3, "a")]


def test_explain_gives_the_bound(left, right):
    assert "at most 5" in Engine(zipped(left, right, limit=5)).explain()
    assert "at most" not in Engine(zipped(left, right)).explain()


STEPS = st.lists(st.tuples(st.sampled_from(("left", "left", "right")), st.integers(0, 1)), max_size=14)


@pytest.mark.parametrize("overflow", OVERFLOWS)
@settings(max_examples=settings().max_examples * 50 // 100)
@given(steps=STEPS, limit=st.integers(1, 2), is_keyed=st.booleans(), is_restored=st.booleans())
def test_a_bounded_zip_is_what_plain_queues_say(overflow, steps, limit, is_keyed, is_restored):
    inputs = {side: Reactive(side) for side in ("left", "right")}
    restrict = most_recently("left", "right") | aligning("left", "right", limit=limit, overflow=overflow)
    output = cartesian(*inputs.values(), restrict=key_by(left="k", right="k") | restrict if is_keyed else restrict)
    engine, lost = Engine(output), []
    held: dict[Any, dict[str, list[int]]] = {}
    for n, (side, k) in enumerate(steps):
        queues = held.setdefault(k if is_keyed else None, {"left": [], "right": []})
        expected = []
        fails = len(queues[side]) == limit and overflow == "fail"
        if len(queues[side]) < limit:
            queues[side].append(n)
        elif overflow == "drop_newest":
            lost.append((n, side))
        elif overflow == "drop_oldest":
            lost.append((queues[side].pop(0), side))
            queues[side].append(n)
        if all(queues.values()):
            expected = [tuple(queue.pop(0) for queue in queues.values())]
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
        if fails:
            with pytest.raises(QueueFull):
                engine.push(inputs[side], {"k": k, "n": n})
        else:
            got = engine.push(inputs[side], {"k": k, "n": n})
            assert [(x.n, y.n) for x, y in values(got)] == expected
        assert [(event.value.n, slot) for event, slot, _ in engine.late] == lost
        assert engine.stats.waiting == sum(len(queue) for both in held.values() for queue in both.values())
