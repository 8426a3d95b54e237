"""Correlations in windows against one engine a window, after every single push and advance.

The law: what a correlation in windows gives is what the correlation without them gives for the events of each window.
"""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.errors import InvalidArgument
from tests.oracle.restriction_oracle import Row
from tests.oracle.window_oracle import ORDINARY, Advance, Kind, Program, Push, Reference, programs, traces

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
    return (
        (program.report.startswith("on_close") and program.lateness > 0)
        or (program.left == (0,) and len(program.sources) > 1 and program.report != "on_content_change")
        or bool({"take results", "first match", "ordered"} & set(program.enclosed))
    )


@st.composite
def cases(draw: st.DrawFn, names=ORDINARY, **options):
    program = draw(programs(names))
    assume(is_accepted(program))
    return program, draw(traces(program, **options))


def apply(engine, inputs, step):
    if isinstance(step, Push):
        return engine.push(inputs[step.source], step.row, at=(step.start, step.end))
    return engine.advance(step.time)


def check_state(engine, reference):
    engine._check_invariants()
    assert sorted((event.value.n, slot) for event, slot, _ in engine.late) == sorted(reference.late)
    assert engine.stats.retained == reference.retained
    assert engine.stats.waiting == reference.waiting
    assert engine.stats.tuples == reference.all_tuples
    assert engine.next_deadline == reference.next_deadline


def compare(program, trace, *, is_restored=False):
    inputs, output = program.build()
    engine, reference = Engine(output), Reference(program)
    for step in trace:
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
        emitted = apply(engine, inputs, step)
        assert all(event.weight == 1 and event.reactive == "out" for event in emitted)
        same([event.value for event in emitted], reference.step(step), program)
        check_state(engine, reference)
    last = engine.close()
    same([event.value for event in last], reference.advance(math.inf), program)
    check_state(engine, reference)
    assert engine.stats.retained == engine.stats.waiting == 0
    return engine


def same(found, expected, program):
    """In order, window by window; between events of several keys to the left no order is said."""
    if program.left:
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


def test_the_reference_itself_on_an_example():
    reference = Reference(Program(Kind("sliding", 10, 5), report="on_close"))
    assert reference.step(Push(0, Row(0, 0, 0), 3, 3)) == []
    assert reference.step(Push(1, Row(1, 0, 0), 6, 6)) == []
    assert [window.span for window in reference.windows] == [(-5, 5), (0, 10), (5, 15)]
    assert (reference.next_deadline, reference.waiting, reference.retained) == (5, 2, 0)
    assert reference.step(Advance(12)) == [(0, 1, 0, 10)]
    assert reference.step(Push(0, Row(2, 0, 0), 9, 10)) == []
    assert reference.step(Push(0, Row(3, 0, 0), 4, 4)) == []
    assert reference.late == [(3, "x")]
    assert reference.step(Advance(20)) == [(2, 1, 5, 15)]
    assert reference.windows == []
