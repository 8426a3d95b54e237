"""Compositions of restrictions on streams against the naive reference, after every single push."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.errors import InvalidArgument
from tests.oracle.restriction_oracle import (
    GATES,
    KINDS,
    MEMORY,
    SELECTORS,
    SLOTS,
    Layer,
    Program,
    Push,
    Reference,
    Row,
    build,
    programs,
    traces,
)

OF_BATCHES = (*MEMORY, "momentarily", "earliest", "keys", "keys", "fifo", *GATES, "first_match", "take_results")


def is_accepted(program):
    try:
        Engine(build(program)[1])
    except InvalidArgument:
        return False
    return True


@st.composite
def cases(draw, kinds=KINDS, *, is_batched=False):
    program = draw(programs(kinds, is_batched=is_batched))
    kinds_drawn = {layer.kind for layer in program.layers}
    is_self_join = len(set(program.sources)) < len(program.sources)
    assume(
        not (is_batched or is_self_join) or not {"align", "keys"} <= kinds_drawn
    )  # which rows of several keys are one batch is not said
    assume(is_accepted(program))
    return program, draw(traces(program))


def compare(program, trace, *, is_restored=False):
    inputs, output = build(program)
    engine, reference = Engine(output), Reference(program)
    for push in trace:
        if is_restored:
            before = engine.stats
            engine = Engine.restore(engine.snapshot(), output)
            assert engine.stats == before
        value = push.rows if program.is_batched else push.rows[0]
        emitted = engine.push(inputs[push.source], value, at=(push.start, push.end))
        engine._check_invariants()
        assert all(event.weight == 1 and event.reactive == "out" for event in emitted)
        expected = reference.push(push, [event.value for event in emitted])
        assert [(event.value, event.start, event.end) for event in emitted] == expected
        held = [engine.stats.slots["out", name] for name in program.names]
        assert [retained for retained, _ in held] == reference.retained
        assert [waiting for _, waiting in held] == reference.waiting
        of_one_source = len(set(program.sources)) < len(program.sources)  # slots that are alike share a memory
        kept = sum(reference.retained)  # an intermediate map_concat keeps nothing
        assert engine.stats.retained == kept or (of_one_source and engine.stats.retained < kept)
        assert sorted(event.value.n for event, _, _ in engine.late) == sorted(reference.dropped + reference.aside)
        assert engine.done == reference.is_done
    return engine


@given(case=cases())
def test_each_push_gives_what_the_reference_gives(case):
    compare(*case)


@pytest.mark.parametrize("kinds", [MEMORY, GATES, SELECTORS], ids=["memory", "gates", "selectors"])
@given(data=st.data())
def test_each_push_gives_what_the_reference_gives_within_one_layer(kinds, data):
    compare(*data.draw(cases((*kinds, "keys", "limit", "fifo"))))


@given(case=cases())
def test_an_engine_that_is_restored_between_any_two_pushes_gives_the_same(case):
    program, trace = case
    restored = compare(program, trace, is_restored=True)
    assert restored.snapshot() == compare(program, trace).snapshot()


@given(case=cases(OF_BATCHES, is_batched=True))
def test_several_events_of_one_step_are_one_batch(case):
    """SEMANTICS 1.2: all are stored and restricted before any is combined; what is displaced meanwhile is never new."""
    compare(*case)


@given(case=cases(OF_BATCHES, is_batched=True))
def test_an_engine_that_is_restored_between_batches_gives_the_same(case):
    compare(*case, is_restored=True)


def test_most_drawn_compositions_are_accepted():
    accepted = []

    @given(program=programs())
    def draw(program):
        accepted.append(is_accepted(program))

    draw()
    assert sum(accepted) > 0.75 * len(accepted)


def rows_of(program, *steps):
    """Return the numbers of the parts of each result, push by push, for steps (source, (k, j), …), as both say them."""
    inputs, output = build(program)
    engine, reference, number, out = Engine(output), Reference(program), 0, []
    for source, *brought in steps:
        rows = tuple(Row(number + i, k, j) for i, (k, j) in enumerate(brought))
        number += len(rows)
        emitted = engine.push(inputs[source], rows if program.is_batched else rows[0], at=0)
        values = [value for value, _, _ in reference.push(Push(source, rows, 0, 0), [])]
        assert [event.value for event in emitted] == values
        out.append(["".join(f"{name}{p[0]}" for name, p in zip(SLOTS, v, strict=False) if p) for v in values])
    return out


def test_the_reference_itself_on_examples_from_the_sources():
    """SOURCES A2, and SEMANTICS 1.3 and 1.5: numbers are those of the rows, so x0 y1 x2 y3 is L1 R1 L2 R2."""
    both, alternating = (0, 1), [(0, (0, 0)), (1, (0, 0)), (0, (0, 0)), (1, (0, 0))]
    latest = (Layer("recent", (0,)), Layer("recent", (1,)))
    assert rows_of(Program(both, ()), *alternating) == [[], ["x0y1"], ["x2y1"], ["x2y3", "x0y3"]]
    assert rows_of(Program(both, latest), *alternating) == [[], ["x0y1"], ["x2y1"], ["x2y3"]]
    zipped = (*latest, Layer("align", both))
    assert rows_of(Program(both, zipped), *alternating) == [[], ["x0y1"], [], ["x2y3"]]
    affine = (Layer("limit", (0,)), *latest)
    assert rows_of(Program(both, affine), *alternating) == [[], ["x0y1"], ["x2y1"], []]
    lefts_first = [(0, (0, 0)), (0, (1, 0)), (1, (0, 0)), (1, (1, 0))]
    assert rows_of(Program(both, ()), *lefts_first) == [[], [], ["x1y2", "x0y2"], ["x1y3", "x0y3"]]
    once = (Layer("limit", both),)
    assert rows_of(Program(both, once), *lefts_first) == [[], [], ["x1y2"], ["x0y3"]]
    assert rows_of(Program(both, once, "equal"), *lefts_first) == [[], [], ["x0y2"], ["x1y3"]]
