"""The engine against the naive reference, after every single push."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine
from tests.oracle.core_oracle import (
    ARMED,
    SPELLINGS,
    build,
    held,
    is_equality_of_two_slots,
    outcomes,
    plain_results,
    programs,
    traces,
)


@st.composite
def cases(draw, *, is_direct=False, max_size=14):
    program = draw(programs(is_direct=is_direct))
    return program, draw(traces(program, max_size=max_size))


def push_all(engine, inputs, trace):
    results = []
    for push in trace:
        results.append(plain_results(engine.push(inputs[push.source], push.value, at=(push.start, push.end))))
        engine._check_invariants()
    return results


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(data=st.data())
def test_each_push_gives_what_the_reference_gives(spelling, data):
    program, trace = data.draw(cases(is_direct=spelling == "direct"))
    inputs, output = build(program, spelling)
    engine = Engine(output)
    for push, expected in zip(trace, outcomes(program, trace), strict=True):
        emitted = engine.push(inputs[push.source], push.value, at=(push.start, push.end))
        engine._check_invariants()
        assert plain_results(emitted) == expected.results
        assert held(engine, program) == (expected.retained, expected.waiting)


@given(case=cases())
def test_candidates_that_reach_the_body_are_those_that_keys_and_indexes_leave(case):
    program, trace = case
    plain_inputs, plain_output = build(program, "plain")
    traced_inputs, traced_output = build(program, "traced")
    plain, traced = Engine(plain_output), Engine(traced_output)
    push_all(plain, plain_inputs, trace)
    push_all(traced, traced_inputs, trace)
    expected = outcomes(program, trace)
    assert plain.stats.tuples == sum(outcome.tuples for outcome in expected)
    least = sum(outcome.equal_tuples for outcome in expected)
    if len(program.sources) == 2 or not any(is_equality_of_two_slots(text) for _, text in program.conditions):
        assert traced.stats.tuples == least
    assert least <= traced.stats.tuples <= plain.stats.tuples


@given(case=cases(), spellings=st.permutations(SPELLINGS), is_injected=st.booleans())
def test_all_spellings_agree_and_so_does_an_injected_restriction(case, spellings, is_injected):
    program, trace = case
    first_inputs, first = build(program, spellings[0])
    other_inputs, other = build(program, spellings[1], is_injected=is_injected)
    one, two = Engine(first), Engine(other)
    for push in trace:
        at = (push.start, push.end)
        emitted = one.push(first_inputs[push.source], push.value, at=at)
        assert emitted == two.push(other_inputs[push.source], push.value, at=at)
        assert one.stats.slots == two.stats.slots


@given(case=cases(), spelling=st.sampled_from(SPELLINGS), data=st.data())
def test_a_restored_engine_goes_on_as_if_nothing_had_happened(case, spelling, data):
    program, trace = case
    inputs, output = build(program, spelling)
    point = data.draw(st.integers(0, len(trace)))
    engine = Engine(output)
    before = push_all(engine, inputs, trace[:point])
    restored = Engine.restore(engine.snapshot(), output)
    assert restored.stats == engine.stats
    after = push_all(restored, inputs, trace[point:])
    assert before + after == [outcome.results for outcome in outcomes(program, trace)]
    push_all(engine, inputs, trace[point:])
    assert restored.stats == engine.stats
    assert restored.snapshot() == engine.snapshot()


@given(case=cases(), spelling=st.sampled_from(["plain", "direct"]), data=st.data())
def test_a_failing_body_leaves_everything_as_before(case, spelling, data):
    program, trace = case
    inputs, output = build(program, spelling, has_bomb=True)
    point = data.draw(st.integers(0, len(trace)))
    engine = Engine(output)
    expected = outcomes(program, trace)
    for number, push in enumerate(trace):
        at = (push.start, push.end)
        if number >= point and expected[number].tuples:
            calls = data.draw(st.integers(0, expected[number].tuples - 1), label="calls before the failure")
            before = engine.stats
            ARMED[:] = [calls]
            try:
                with pytest.raises(RuntimeError, match="boom") as caught:
                    engine.push(inputs[push.source], push.value, at=at)
            finally:
                ARMED.clear()
            engine._check_invariants()
            assert engine.stats == before
            notes = "\n".join(caught.value.__notes__)
            assert f"in{push.source}" in notes
            assert "out" in notes
        emitted = engine.push(inputs[push.source], push.value, at=at)
        assert plain_results(emitted) == expected[number].results
        assert held(engine, program) == (expected[number].retained, expected[number].waiting)
    assert engine.stats.events == len(trace)
    assert engine.stats.tuples == sum(outcome.tuples for outcome in expected)


@given(case=cases(), spelling=st.sampled_from(SPELLINGS))
def test_two_engines_of_one_program_do_not_see_each_other(case, spelling):
    program, trace = case
    inputs, output = build(program, spelling)
    one, two = Engine(output), Engine(output)
    for push in trace:
        at = (push.start, push.end)
        assert one.push(inputs[push.source], push.value, at=at) == two.push(inputs[push.source], push.value, at=at)
