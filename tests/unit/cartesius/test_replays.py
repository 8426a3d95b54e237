"""A recording made again: what it gives is what a plain run gives, and what it says is there is there."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.errors import InvalidArgument
from cartesius.show.rebuilding import Rebuilding
from cartesius.show.recordings import recording_of
from cartesius.show.replays import Replay
from cartesius.show.show_steps import Place
from restrictions import affinely, cartesian, key_by, most_recently, only, within, without, zip_
from tests.unit.cartesius.show_programs import PROGRAMS


def replay_of(engine):
    recording = recording_of(engine, "test")
    return Replay(recording, (*recording.outputs, *recording.options["pulled"]), 10_000)


values = st.fixed_dictionaries({"k": st.integers(0, 1), "n": st.integers(0, 6)})
calls = st.lists(st.tuples(st.sampled_from(["a", "a", "b", "b", "advance"]), values, st.integers(0, 3)), max_size=14)


def runs(output, inputs, calls, **options):
    """Iterate over an engine, after each call, and what that gave."""
    engine = Engine(output, **options)
    yield engine, []
    time = 0
    for name, value, later in calls:
        time += later
        yield engine, engine.advance(time) if name == "advance" else engine.push(inputs[name], value, at=time)
    yield engine, engine.close()


@example("absence", [("a", {"k": 0, "n": 0}, 0)] * 2)  # two rows that wait for one time
@given(st.sampled_from(sorted(PROGRAMS)), calls)
def test_a_replay_gives_what_a_plain_run_gives_and_has_what_it_has(name, calls):
    inputs = {"a": Reactive("a"), "b": Reactive("b")}
    output = PROGRAMS[name](*inputs.values())
    *_, (traced, _) = runs(output, inputs, calls, trace=True)
    replay = replay_of(traced)
    plain = runs(output, inputs, calls, tier="in_place")
    for step, (engine, emitted) in zip(replay.steps, plain, strict=True):
        assert [one.event for one in step.given] == emitted
        assert step.clock == engine.clock
        assert step.deadline == engine.next_deadline
        for (join, slot), counted in engine.stats.slots.items():
            there = [stay for p in replay.stays if p[:2] == (join, slot) for stay in replay.present(p, step.number)]
            waiting = {id(stay.entry) for stay in there if stay.place.kind != "memory"}
            assert (sum(stay.place.kind == "memory" for stay in there), len(waiting)) == counted
        dropped = sum(sum(fates.dropped.values()) for fates in engine.stats.fates.values())
        assert bool(step.dropped) <= bool(dropped)


def texts(replay, step, *place):
    return [replay.provenance.text(replay.provenance.records[stay.key]) for stay in replay.present(Place(*place), step)]


def test_memories_and_queues_after_each_step():
    """Against what stands in the docstrings: the newest first; one of each key; lock-step holds what comes first."""
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(cartesian(a, b, restrict=key_by(a="k") | most_recently("a")), trace=True)
    for n in (1, 2, 3):
        engine.push(a, {"k": n % 2, "n": n}, at=n)
    replay = replay_of(engine)
    assert [
        [text[text.index("'n'") : -1] for text in texts(replay, step, "cartesian(a, b)", "a", "memory")]
        for step in range(4)
    ] == [
        [],
        ["'n': 1}) @ "],
        ["'n': 2}) @ ", "'n': 1}) @ "],
        ["'n': 3}) @ ", "'n': 2}) @ "],
    ]
    engine = Engine(zip_(a, b), trace=True)
    engine.push(a, 1, at=1)
    engine.push(a, 2, at=2)
    engine.push(b, "B", at=3)
    replay, gate = replay_of(engine), ("zip_(a, b)", "a", "gate", "aligning('a', 'b')")
    assert [texts(replay, step, *gate) for step in range(4)] == [[], ["a 1 @ 1"], ["a 2 @ 2", "a 1 @ 1"], ["a 2 @ 2"]]
    assert texts(replay, 3, "zip_(a, b)", "a", "memory") == ["a 1 @ 1"]


def test_a_step_says_what_was_given_set_aside_and_not_let_through():
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(cartesian(a, b, restrict=only("a", lambda n: n > 0) | within(3, "a", "b")), lateness=2, trace=True)
    engine.push(a, -1, at=1)
    engine.push(a, 1, at=10)
    engine.push(b, "late", at=2)
    engine.push(b, "B", at=11)
    steps = replay_of(engine).steps
    assert [len(step.given) for step in steps] == [0, 0, 0, 0, 1]
    assert [[place.slot for place in step.dropped] for step in steps] == [[], ["a"], [], [], []]
    assert [[why for _, _, why in step.late] for step in steps] == [[], [], [], ["its end 2 is before the clock 8"], []]
    assert [step.clock for step in steps][1:] == [-1, 8, 8, 9]
    assert [step.deadline for step in steps] == [None, None, 14, 14, 14]


def test_why_is_as_it_was_after_the_step_and_as_the_engine_says_in_the_end():
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(cartesian(a, b, restrict=most_recently("a") | affinely("b")), trace=True)
    for reactive, value in [(a, 1), (a, 2), (b, "B"), (b, "C")]:
        engine.push(reactive, value)
    replay = replay_of(engine)
    first = replay.pushed(1)
    assert replay.why(first, 1).splitlines() == [
        "a 1 @ 1",
        "  seen by a: push most_recently('a')",
        "  is in the memory of a",
        "  became: nothing so far",
    ]
    assert "left" not in replay.why(first, 1)
    assert "  left a: displaced by most_recently('a')" in replay.why(first, 2)
    for step, event in enumerate(engine.pushed, 1):
        assert replay.why(replay.pushed(step), 4) == engine.why(event)
        assert "became: cartesian" not in replay.why(replay.pushed(step), step - 1)


def test_what_inputs_have_already_is_pushed_again_in_the_same_steps():
    left = Reactive.of(iter([1, 2]), name="left")
    right = Reactive("right")
    engine = Engine(zip_(left, right), trace=True)
    results = [engine.push(right, n) for n in "xy"]
    replay = replay_of_rebuilt(engine)
    assert [step.call.event.reactive for step in replay.steps[1:]] == ["left", "left", "right", "right"]
    assert [[one.event for one in step.given] for step in replay.steps[3:]] == results


def replay_of_rebuilt(engine):
    recording = recording_of(engine, "test")
    return Replay(recording, Rebuilding(recording.names, frozenset(), recording.outputs).outputs, 10_000)


def test_a_call_that_failed_is_no_step():
    a = Reactive("a")
    engine = Engine(correlate(x=a, yields=lambda x: 1 / x), trace=True)
    with pytest.raises(ZeroDivisionError):
        engine.push(a, 0)
    engine.push(a, 1)
    assert [step.call and step.call.event.value for step in replay_of(engine).steps] == [None, 1]


def test_a_replay_that_fails_stops_there_and_says_why():
    a = Reactive("a")
    output = correlate(x=a, yields=lambda x: 1 / x, restrict=only("x", lambda n: n))
    engine = Engine(output, trace=True)
    for n in (1, 0, 2):
        engine.push(a, n)
    recording = recording_of(engine, "test")
    replay = Replay(recording, Rebuilding({}, frozenset({0}), [output]).outputs, 10)
    assert len(replay.steps) == 2
    assert replay.failure.startswith("ZeroDivisionError: division by zero\n")
    assert "while pushing 0" in replay.failure


def test_an_input_that_nobody_reads_any_more_is_a_step_in_which_nothing_happens():
    a, b = Reactive("a"), Reactive("b")
    output = correlate(x=a, yields=lambda x: x, restrict=without(b, after="x", within=2))
    engine = Engine(output, trace=True)
    engine.push(b, "B", at=1)
    engine.push(a, 1, at=2)
    engine.end(b)
    recording = recording_of(engine, "test")
    replay = Replay(recording, Rebuilding({}, frozenset({0}), [output]).outputs, 10)
    assert [[one.event.value for one in step.given] for step in replay.steps] == [[], [], [1], []]
    assert replay.provenance.text(replay.provenance.records[replay.pushed(1)]) == "b 'B' @ 1"


def test_who_has_no_whole_record_is_refused():
    a, b = Reactive("a"), Reactive("b")
    plain = Engine(zip_(a, b))
    with pytest.raises(InvalidArgument, match=r"test: expected an engine that records events .* trace=True"):
        recording_of(plain, "test")
    plain.push(a, 1)
    restored = Engine.restore(plain.snapshot(), zip_(a, b), trace=True)
    with pytest.raises(InvalidArgument, match=r"test: expected .* restored from a snapshot"):
        recording_of(restored, "test")


def test_no_more_calls_are_made_than_asked_for():
    a = Reactive("a")
    engine = Engine(correlate(x=a, yields=lambda x: x), trace=True)
    for n in range(9):
        engine.push(a, n)
    recording = recording_of(engine, "test")
    assert len(Replay(recording, recording.outputs, 4).steps) == 5
