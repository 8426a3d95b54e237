"""Correlations in windows against one engine a window, after every single push and advance.

The law: what a correlation in windows gives is what the correlation without them gives for the events of each window.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.errors import InvalidArgument
from tests.oracle.restriction_oracle import Row
from tests.oracle.window_oracle import (
    BREAKS,
    LOG_OUT,
    ORDINARY,
    Advance,
    Broken,
    Kind,
    Program,
    Push,
    Reference,
    Step,
    programs,
    traces,
)

fewer = settings(max_examples=settings().max_examples // 2)


def is_accepted(program):
    try:
        Engine(program.build()[1])
        Engine(program.build_without()[1])
    except InvalidArgument:
        return False
    return True


def is_known_to_fail(program):
    """What `tests/unit/restrictions/test_windows.py` shows one by one, as expected failures."""
    return program.kind.name == "by value" and program.period is not None


@st.composite
def cases(draw: st.DrawFn, names: tuple[str, ...] = ORDINARY) -> tuple[Program, list[Step]]:
    program = draw(programs(names))
    assume(is_accepted(program))
    return program, draw(traces(program))


def apply(engine, inputs, step):
    if step is None:
        return engine.close()
    if isinstance(step, Push):
        return engine.push(inputs[step.source], step.row, at=(step.start, step.end))
    return engine.advance(step.time)


def check_state(engine, reference):
    program = reference.program
    engine._check_invariants()
    assert sorted((event.value.n, slot) for event, slot, _ in engine.late) == sorted(reference.late)
    assert engine.stats.retained + engine.stats.waiting <= reference.contained
    if "take results" not in program.enclosed:  # without windows it ends the join, and so all memory
        assert (engine.stats.retained, engine.stats.waiting) == (reference.retained, reference.waiting)
    if "take results" not in program.enclosed:
        assert engine.stats.tuples == reference.all_tuples
    if program.kind.name != "session" or reference.next_deadline is None:
        assert engine.next_deadline == reference.next_deadline
    else:  # it may ask again when a session that has been longer since would have ended
        assert engine.next_deadline is not None
        assert engine.clock < engine.next_deadline <= reference.next_deadline


def compare(program, trace, *, is_restored=False, is_broken=False):
    inputs, output = program.build()
    engine, reference = Engine(output), Reference(program)
    for step in [*trace, None]:
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
        emitted = (apply_twice if is_broken else apply)(engine, inputs, step)
        assert all(event.reactive == "out" for event in emitted)
        expected = reference.step(step) if step else reference.advance(math.inf)
        same([(event.value, event.weight) for event in emitted], expected, program)
        check_state(engine, reference)
    assert engine.stats.retained == engine.stats.waiting == 0


def apply_twice(engine, inputs, step):
    """Let the body fail, if the step asks it; nothing may have changed, and then it goes as if nothing had been."""
    before, stats, late = engine.snapshot(), engine.stats, engine.late
    BREAKS.append(True)
    try:
        return apply(engine, inputs, step)
    except Broken:
        assert engine.snapshot() == before
        assert (engine.stats, engine.late) == (stats, late)
    finally:
        BREAKS.clear()
    return apply(engine, inputs, step)


def same(found, expected, program):
    """In order, window by window; between events of several keys to the left no order is said."""
    if program.left or any("retracting" in name for name in program.enclosed):
        assert Counter(found) == Counter(expected)
    else:
        assert found == expected


@given(case=cases())
def test_each_step_gives_what_the_join_gives_for_the_events_of_each_window(case):
    assume(not is_known_to_fail(case[0]))
    compare(*case)


@fewer
@given(case=cases())
def test_an_engine_that_is_restored_between_any_two_steps_gives_the_same(case):
    assume(not is_known_to_fail(case[0]))
    compare(*case, is_restored=True)


@fewer
@given(case=cases())
def test_a_body_that_fails_leaves_nothing_changed(case):
    program, trace = case
    assume(len(program.sources) == 2 and not is_known_to_fail(program))
    compare(replace(program, where="breakable"), trace, is_broken=True)


@fewer
@given(case=cases(("logged in",)))
def test_windows_that_open_with_one_event_and_close_with_another(case):
    program, trace = case
    assume(not is_known_to_fail(program))
    all_out = [Push(0, Row(100 + key, key, LOG_OUT), 50, 50) for key in range(3)]
    compare(program, [*trace, *all_out])


@fewer
@given(case=cases(("session",)))
def test_sessions_are_what_their_events_say_if_none_comes_late(case):
    program, trace = case
    compare(replace(program, lateness=0), trace)


@fewer
@given(case=cases(("session",)))
def test_what_stands_is_what_the_sessions_say_if_some_come_late(case):
    program, trace = case
    assume("retracting" not in program.enclosed and "retracting earlier" not in program.enclosed)
    program = replace(program, enclosed=(*program.enclosed, "taken back"))
    assume(is_accepted(program))
    inputs, output = program.build()
    engine, reference, stands, expected = Engine(output), Reference(program), Counter(), Counter()
    for step in [*trace, None]:
        for event in apply(engine, inputs, step):
            stands[event.value] += event.weight
        come = reference.step(step) if step else reference.advance(math.inf)
        expected.subtract(reference.withdrawn)
        for value, weight in come:
            expected[value] += weight
        assert +stands == +expected
        assert min(stands.values(), default=0) >= 0
        assert sorted((event.value.n, slot) for event, slot, _ in engine.late) == sorted(reference.late)
    assert engine.stats.retained == engine.stats.waiting == 0


def test_the_reference_itself_on_an_example():
    reference = Reference(Program(Kind("sliding", 10, 5), report="on_close"))
    assert reference.step(Push(0, Row(0, 0, 0), 3, 3)) == []
    assert reference.step(Push(1, Row(1, 0, 0), 6, 6)) == []
    assert [window.span for window in reference.windows] == [(-5, 5), (0, 10), (5, 15)]
    assert (reference.next_deadline, reference.waiting, reference.retained) == (5, 2, 0)
    assert reference.step(Advance(12)) == [((0, 1, 0, 10), 1)]
    assert reference.step(Push(0, Row(2, 0, 0), 9, 10)) == []
    assert reference.step(Push(0, Row(3, 0, 0), 4, 4)) == []
    assert reference.late == [(3, "x")]
    assert reference.step(Advance(20)) == [((2, 1, 5, 15), 1)]
    assert reference.windows == []
