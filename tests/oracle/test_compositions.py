"""Windows, sequences, absence, lists and alternatives together: each works inside and beside the others unchanged.

The law of windows: what a correlation in windows gives is what the enclosed correlation gives for the events of each
window, whatever the enclosed restrictions are. In front of all, `in_event_time` gives what sorted input gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hypothesis import assume, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.errors import InvalidArgument
from tests.oracle.composition_oracle import (
    ABSENCES,
    BOUND,
    BREAKS,
    CLOSE,
    OTHERS,
    SEQUENCES,
    Advance,
    Broken,
    Program,
    Push,
    Reference,
    Step,
)

fewer = settings(max_examples=settings().max_examples // 2)


def is_accepted(built):
    try:
        Engine(built()[1])
    except InvalidArgument:
        return False
    return True


def maybe(restrictions: Iterable[str]) -> st.SearchStrategy[list[str]]:
    return st.sampled_from([[], *([name] for name in restrictions)])


STACKS = st.tuples(maybe(SEQUENCES), maybe(ABSENCES), maybe(OTHERS)).map(lambda drawn: sum(drawn, []))


@st.composite
def programs(draw: st.DrawFn, enclosed: st.SearchStrategy[list[str]] = STACKS) -> Program:
    kind = draw(st.sampled_from(["tumbling", "sliding", "fixed"]))
    size = draw(st.integers(3, 12))
    other = draw(st.integers(1, size)) if kind == "sliding" else draw(st.integers(-2, 3))
    program = Program(
        kind,
        size,
        other,
        tuple(draw(st.permutations(draw(enclosed)))),
        draw(st.sampled_from([("A", "B"), ("A", "B"), ("A", "A"), ("A", "B", "C"), ("A", "B", "C"), ("A", "B", "A")])),
        draw(st.sampled_from(["plain", "plain", "plain", *BOUND])),
        draw(st.sampled_from(["none", "ordered", "about c", "odd"])),
        draw(st.sampled_from(["none", "none", "left", "right"])),
        draw(st.sampled_from(["at once", "at once", "on close", "final"])),
        draw(st.sampled_from([0, 0, 3])),
    )
    assume(program.where != "ordered" or program.bound == "plain" or "cumulative" not in program.enclosed)
    assume(is_accepted(program.build_without))
    return program


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["A", "A", "B", "B", "C", "C", "clock"]),
        st.sampled_from([0, 1, 1, 1, 2, 4]),  # how much later
        st.sampled_from([0, 0, 0, 0, 1, 2]),  # how long
        st.integers(0, 1),
        st.integers(0, 2),
    ),
    min_size=3,
    max_size=14,
)


@st.composite
def traces(draw: st.DrawFn, *, is_in_order: bool = False) -> list[Step]:
    """Events, in the order of their ends or in any that the clock lets, and moves of the clock."""
    steps: list[Step] = []
    clock, time = -1, 0
    is_in_order = is_in_order or draw(st.booleans())
    for number, (source, later, length, key, size) in enumerate(draw(STEPS)):
        time = time + later if is_in_order or source == "clock" else max(time - 2, clock, 0) + later + size
        if source == "clock":
            clock = time
        steps.append(Advance(time) if source == "clock" else Push(source, number, key, size, time - length, time))
    return [*steps, CLOSE]


def apply(engine, inputs, step):
    if isinstance(step, Push):
        if step.source not in engine.inputs:
            return []
        return engine.push(inputs[step.source], step.row, at=(step.start, step.end))
    return engine.close() if step is CLOSE else engine.advance(step.time)


def check(program, trace, restored=frozenset(), broken=-1, **options):
    inputs, output = program.build()
    engine, reference = Engine(output), Reference(program, **options)
    for place, step in enumerate(trace):
        if place in restored:
            blob = engine.snapshot()
            engine = Engine.restore(blob, output)
            assert engine.snapshot() == blob
        expected = reference.step(step)
        if place == broken:
            before, stats = engine.snapshot(), engine.stats
            BREAKS.append(True)
            try:
                emitted = apply(engine, inputs, step)
            except Broken:
                assert engine.snapshot() == before
                assert engine.stats == stats
                emitted = apply(engine, inputs, step)
            BREAKS.clear()
        else:
            emitted = apply(engine, inputs, step)
        engine._check_invariants()
        assert Counter([(event.value, event.weight) for event in emitted]) == Counter(expected)
    assert engine.stats.retained == engine.stats.waiting == 0


@for_all(program=programs(), trace=traces(), restored=st.sets(st.integers(0, 14), max_size=2))
def test_each_window_is_an_instance_of_the_enclosed_join(program, trace, restored):
    assert is_accepted(program.build)
    check(program, trace, restored)
