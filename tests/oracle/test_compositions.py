"""Windows, sequences, absence, lists and alternatives together: each works inside and beside the others unchanged.

The law of windows: what a correlation in windows gives is what the enclosed correlation gives for the events of each
window, whatever the enclosed restrictions are. In front of all, `in_event_time` gives what sorted input gives.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Window, correlate, repeated, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    cartesian,
    fixed,
    in_event_time,
    in_sequence,
    session,
    sliding,
    tumbling,
    windowed,
    within,
    without,
)
from restrictions.streams import either, now
from restrictions.tables import aggregate, count
from restrictions.windows import final, on_close, on_content_change
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
    spans_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

fewer = settings(max_examples=settings().max_examples // 2)


def is_accepted(built):
    try:
        Engine(built()[1])
    except InvalidArgument:
        return False
    return True


def maybe(restrictions: Iterable[str]) -> st.SearchStrategy[list[str]]:
    return st.sampled_from([[], *([name] for name in restrictions)])


STACKS = st.tuples(maybe(SEQUENCES), maybe(ABSENCES), maybe(OTHERS)).map(lambda drawn: [*chain(*drawn)])


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
    # One window, like one key, connects all slots, which is one connection too many beside others (SEMANTICS 2.6).
    assume(len(program.sources) == 2 or not any("optionally" in name for name in program.enclosed))
    # What lay between is forgotten when a window expires, which `in_sequence` refuses beside `retracting`.
    assume("retracting" not in program.enclosed or not SEQUENCES.keys() & set(program.enclosed))
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


@fewer
@for_all(program=programs(), trace=traces(is_in_order=True), broken=st.integers(0, 14))
def test_a_body_that_fails_inside_a_window_leaves_nothing_changed(program, trace, broken):
    program = replace(program, where="breakable")
    assume(is_accepted(program.build_without))
    check(program, trace, broken=broken)


# ------------------------------------------------------------------------------------------------- in front of all else


@st.composite
def shuffled(draw: st.DrawFn) -> tuple[list[Push], list[Push], int]:
    """Events of different ends, in order and in another one, and how far one is behind another at most."""
    times = sorted(draw(st.sets(st.integers(0, 14), min_size=3, max_size=8)))
    drawn = draw(st.lists(st.tuples(st.sampled_from("AABBC"), st.integers(0, 1), st.integers(0, 2)), min_size=8))
    lengths = draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=8, max_size=8))
    ordered = [
        Push(source, number, key, size, time - length, time)
        for number, (time, (source, key, size), length) in enumerate(zip(times, drawn, lengths, strict=False))
    ]
    other = draw(st.permutations(ordered))
    latest = [max(push.end for push in other[: place + 1]) for place in range(len(other))]
    return ordered, other, max(seen - push.end for seen, push in zip(latest, other, strict=True))


def results(build, pushes):
    inputs, output = build()
    engine = Engine(output)
    emitted = [event for push in pushes for event in apply(engine, inputs, push)]
    assert not engine.late
    return [(event.value, event.weight) for event in emitted + engine.close()]


@for_all(program=programs(), given=shuffled(), has_windows=st.booleans())
def test_a_gate_in_front_makes_any_order_as_good_as_sorted(program, given, has_windows):
    program = replace(program, report="at once", lateness=0)
    ordered, other, lateness = given
    if any(one.endswith("before") for one in program.enclosed):  # there an interval that began long ago is set aside
        ordered, other = ([push._replace(start=push.end) for push in pushes] for pushes in (ordered, other))
    gated = replace(program, gate=lateness)
    build, build_gated = (program.build, gated.build) if has_windows else (program.build_without, gated.build_without)
    expected = results(build_gated, ordered)
    assert Counter(results(build_gated, other)) == Counter(expected)
    if len(program.enclosed) == 1 or not ABSENCES.keys() & set(program.enclosed):  # what chooses depends on the clock
        # Of an event in two slots a gate lets one part go after the other: what comes between is taken back.
        counted = net if len({*program.sources}) < len(program.sources) else Counter
        assert counted(results(build, ordered)) == counted(expected)


def net(found):
    weights = Counter()
    for value, weight in found:
        weights[value] += weight
    return {value: weight for value, weight in weights.items() if weight}


# ------------------------------------------------------------------------------------------- examples of what was wrong


A, B, C = Reactive("a"), Reactive("b"), Reactive("c")


def pairs(restrict, **options):
    return correlate(a=A, b=B, yields=lambda a, b: (a, b), restrict=restrict, **options)


def values(output, trace):
    return [event.value for event in run(output, trace, close=True)]


@pytest.mark.parametrize("report", [on_close, final])
@pytest.mark.parametrize(
    ("absence", "c_at"),
    [
        (without(C, after="a", within=3), 3),
        (without(C, before="b", within=3), 4),
        (without(C, between=("a", "b")), 3),
    ],
)
def test_what_a_window_holds_back_is_decided_when_all_of_it_is_there(report, absence, c_at):
    windows = tumbling(10, report=report)
    assert values(pairs(windows | absence), [(A, 1, 1), (B, 2, 5), (C, 3, c_at)]) == []
    assert values(pairs(windows | absence), [(A, 1, 1), (B, 2, 5), (C, 3, 9)]) == [(1, 2)]


def test_what_is_forgotten_in_one_window_concerns_no_other():
    output = pairs(sliding(10, 5, report=on_close) | without(C, before="b", within=3))
    trace = [(C, 0, 6), (A, 1, 7), (B, 2, 8), (A, 3, 11), (B, 4, 12)]
    engine = Engine(output)
    emitted = [event for input_, value, at in trace for event in engine.push(input_, value, at=at)]
    emitted += engine.close()
    assert sorted(event.value for event in emitted) == [(1, 4), (3, 4), (3, 4)]
    assert not engine.late


@pytest.mark.parametrize("report", [on_content_change, on_close, final])
def test_what_a_sequence_withholds_comes_with_the_end_of_its_window(report):
    sequence = in_sequence("a", "b", after_match="past_last")
    engine = Engine(pairs(tumbling(10, report=report) | sequence, where=lambda a, b: a <= b))
    for input_, value, at in [(A, 9, 0), (A, 1, 1), (B, 2, 2)]:
        assert engine.push(input_, value, at=at) == []
    assert [event.value for event in engine.advance(10)] == [(1, 2)]
    assert engine.stats.retained == engine.stats.waiting == 0


def test_what_is_absent_is_not_waited_for_by_a_sequence():
    engine = Engine(pairs(in_sequence("a", "b", after_match="past_last") | without(C, after="a", within=2)))
    assert [engine.push(*push) for push in [(A, 1, 1), (B, 2, 2)]] == [[], []]
    assert [event.value for event in engine.advance(4)] == [(1, 2)]


def test_a_gate_comes_before_what_lets_go_at_the_same_time():
    assert values(pairs(in_event_time(0) | within(4, "a", "b")), [(A, 1, 3), (B, 2, 7)]) == [(1, 2)]


def test_a_row_that_waits_loses_what_another_alternative_uses_up():
    patient = pairs(without(C, after="a", within=3) | affinely("a", "b"))
    assert values(either(patient, pairs(affinely("a", "b"))), [(A, 1, 1), (B, 2, 1)]) == [(1, 2)]


@pytest.mark.parametrize(
    "absence",
    [
        without(C, after="a", within=3),
        without(C, before="a", within=3),
        without(C, between=("a", "b")),
    ],
)
def test_nothing_is_too_late_for_what_has_always_been(absence):
    output = correlate(a=now("k"), b=B, yields=lambda a, b: (a, b), restrict=absence)
    assert values(output, [(B, 1, 2), (C, 0, 3)]) == [("k", 1)]


@pytest.mark.parametrize("windows", [tumbling(10), sliding(10, 5), session(3), fixed(0, 10)])
def test_what_has_always_been_is_in_no_window(windows):
    output = correlate(a=now("k"), b=B, yields=lambda a, b: (a, b), restrict=windows)
    assert values(output, [(B, 1, 2)]) == []


def test_a_strategy_refuses_lists_of_which_many_start_alike():
    sequence = in_sequence("a", "b", after_match="past_last")
    with pytest.raises(InvalidArgument, match="'a' is repeated, and many lists start with one event"):
        correlate(a=repeated(A, 2), b=B, yields=lambda a: a, restrict=sequence)


def test_a_sequence_refuses_a_part_that_is_absent():
    with pytest.raises(InvalidArgument, match="a slot that has a part in each row but 'b' is absent itself"):
        pairs(in_sequence("a", "b", after_match="past_last") | without("b", after="a", within=2))


def test_windows_have_bounds_in_time_units():
    with pytest.raises(InvalidArgument, match="both in time units, but the assigner gave"):
        run(pairs(windowed(lambda event: [(0.5, 9.5)])), [(A, 1, 1)])
    with pytest.raises(InvalidArgument, match="return a list of windows"):
        run(pairs(windowed(lambda event: Window(0, 10))), [(A, 1, 1)])


# ------------------------------------------------------------------------------------------- alternatives, and outputs


ALONE = ("no C after", "no C before", "no C between", "relaxed", "past last", "strict", "within", "recently")


@fewer
@for_all(program=programs(st.sampled_from([[name] for name in ALONE])), trace=traces(), other=st.sampled_from(ALONE))
def test_alternatives_that_use_nothing_up_are_a_merge_inside_windows_too(program, trace, other):
    first, second = program, replace(program, enclosed=(other,))
    assume(is_accepted(second.build_without))
    inputs, one = first.build()
    another = second.build_on(inputs)
    together, apart = Engine(either(one, another)), Engine(one, another)
    for step in trace:
        emitted = [apply(engine, inputs, step) for engine in (together, apart)]
        merged, single = [Counter((event.value, event.weight) for event in events) for events in emitted]
        assert merged == single
        together._check_invariants()


@fewer
@for_all(program=programs(), trace=traces(), added=st.integers(0, 10), removed=st.integers(0, 10))
def test_an_output_goes_on_unmoved_while_others_come_and_go(program, trace, added, removed):
    inputs, output = program.build()
    other = correlate(a=inputs["A"], yields=lambda a: a.n, restrict=sliding(6, 3, report=on_close), name="other")
    totals = aggregate(inputs["A"], count, by="k", restrict=tumbling(5))
    alone, engine = Engine(output), Engine(output)
    for place, step in enumerate(trace):
        if place == added:
            engine.add(other)
            engine.add(totals, pulled=True)
        if place == added + removed + 1:
            engine = Engine.restore(engine.snapshot(), output, other, pulled=[totals])
            engine.remove(other)
            engine.remove(totals)
        emitted = [event for event in apply(engine, inputs, step) if event.reactive == "out"]
        assert [e.value for e in emitted] == [e.value for e in apply(alone, inputs, step)]
        engine._check_invariants()


@for_all(trace=traces())
def test_a_pulled_total_is_that_of_the_events_of_its_windows(trace):
    totals = aggregate(A, count, by="k", restrict=sliding(6, 3))
    engine = Engine(cartesian(B), pulled=[totals])
    pushed: list[Push] = []
    for step in trace[:-1]:
        if isinstance(step, Advance):
            engine.advance(step.time)
        elif step.source == "A":
            pushed.append(step)
            engine.push(A, step.row, at=(step.start, step.end))
        expected = Counter(
            (push.key, Window(*span))
            for push in pushed
            for span in spans_of("sliding", 6, 3, push)
            if span[1] > engine.clock
        )
        assert engine.query(totals) == expected
        at = max(engine.clock, 0)
        present = {key: n for key, n in expected.items() if key[1].start <= at < key[1].end}
        assert engine.query(totals, at=at) == present
