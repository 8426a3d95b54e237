"""The 24 vectors: results, order, times, memory and waiting after each step, also through snapshots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import affinely, aligning, at_most, most_recently

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "cartesius.json").read_text())["vectors"]
HELPERS = {"start": lambda time: time.start, "end": lambda time: time.end, "abs": abs, "min": min, "max": max}


def restriction_of(name, slots, *count):
    names = [f"s{index}" for index in (slots if isinstance(slots, list) else [slots])]
    if name == "affinely":
        return affinely(*names) if count == (1,) else at_most(*count, *names)
    return {"mostRecently": most_recently, "aligning": aligning}[name](*names)


def program_of(vector):
    names = [f"s{index}" for index in range(vector["n"])]
    inputs = [Reactive(f"in{index}") for index in range(vector["n"])]
    times = [f"time_{name}" for name in names]
    where = None
    if vector["where"]:
        body = f"(lambda v, t: {vector['where']})(({', '.join(names)},), ({', '.join(times)},))"
        where = eval(f"lambda {', '.join(names)}, *, {', '.join(times)}: {body}", dict(HELPERS))
    restrict = None
    for layer in vector["restriction"]:
        restriction = restriction_of(*layer)
        restrict = restriction if restrict is None else restrict | restriction
    yields = eval(f"lambda {', '.join(names)}: ({', '.join(names)},)")
    output = correlate(
        slots=dict(zip(names, inputs, strict=True)), where=where, yields=yields, restrict=restrict, name="out"
    )
    return inputs, output


def expected_of(vector, step):
    return [(tuple(result["tuple"]), *result["time"], 1) for result in vector["expected"] if result["step"] == step]


def play(vector, restore_before):
    inputs, output = program_of(vector)
    engine = Engine(output)
    for step, (slot, value, time) in enumerate(vector["trace"], start=1):
        if restore_before(step):
            engine = Engine.restore(engine.snapshot(), output)
        at = tuple(time) if isinstance(time, list) else time
        emitted = engine.push(inputs[slot], value, at=at)
        assert [(e.value, e.start, e.end, e.weight) for e in emitted] == expected_of(vector, step), f"step {step}"
        assert {e.reactive for e in emitted} <= {"out"}
        held = [engine.stats.slots["out", f"s{index}"] for index in range(vector["n"])]
        assert [retained for retained, _ in held] == vector["memory_after_step"][step - 1], f"memory at step {step}"
        assert [waiting for _, waiting in held] == vector["waiting_after_step"][step - 1], f"waiting at step {step}"
        assert engine.stats.events == step
        assert engine.stats.retained == sum(vector["memory_after_step"][step - 1])
        assert engine.stats.waiting == sum(vector["waiting_after_step"][step - 1])


def test_there_are_24_vectors():
    assert len({vector["name"] for vector in VECTORS}) == 24


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_vector_gives_its_results(vector):
    play(vector, lambda step: False)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_vector_survives_a_restore_before_every_push(vector):
    play(vector, lambda step: True)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_vector_survives_a_restore_at_any_single_point(vector):
    for point in range(1, len(vector["trace"]) + 1):
        play(vector, lambda step, point=point: step == point)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_restored_snapshot_gives_the_same_snapshot(vector):
    inputs, output = program_of(vector)
    engine = Engine(output)
    for slot, value, time in vector["trace"]:
        engine.push(inputs[slot], value, at=tuple(time) if isinstance(time, list) else time)
        blob = engine.snapshot()
        assert Engine.restore(blob, output).snapshot() == blob
