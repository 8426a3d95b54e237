"""Correlations in windows against one engine a window, after every single push and advance.

The law: what a correlation in windows gives is what the correlation without them gives for the events of each window.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import InvalidArgument
from restrictions import as_table, most_recently, retracting
from tests.oracle.restriction_oracle import Row
from tests.oracle.window_oracle import (
    BREAKS,
    LOG_IN,
    LOG_OUT,
    ORDINARY,
    REPORTS,
    RETRACTING,
    Advance,
    Broken,
    Kind,
    Program,
    Push,
    Reference,
    Step,
    kinds,
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
    if program.content is None:  # what is not kept may wait as well
        assert engine.stats.retained + engine.stats.waiting <= reference.contained
    if "take results" not in program.enclosed:  # without windows it ends the join, and so all memory
        if program.tick is None:
            assert engine.stats.tuples == reference.all_tuples
        if program.content is None:
            assert (engine.stats.retained, engine.stats.waiting) == (reference.retained, reference.waiting)
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
    stats, late, clock, deadline = engine.stats, engine.late, engine.clock, engine.next_deadline
    BREAKS.append(True)
    try:
        return apply(engine, inputs, step)
    except Broken:
        assert (engine.stats, engine.late, engine.clock, engine.next_deadline) == (stats, late, clock, deadline)
    finally:
        BREAKS.clear()
    return apply(engine, inputs, step)


def same(found, expected, program):
    """In order, window by window; between events of several keys to the left no order is said."""
    if program.left or RETRACTING & set(program.enclosed):
        assert Counter(found) == Counter(expected)
    else:
        assert found == expected


@given(case=cases())
def test_each_step_gives_what_the_join_gives_for_the_events_of_each_window(case):
    compare(*case)


@fewer
@given(case=cases())
def test_an_engine_that_is_restored_between_any_two_steps_gives_the_same(case):
    compare(*case, is_restored=True)


@fewer
@given(case=cases())
def test_a_body_that_fails_leaves_nothing_changed(case):
    program, trace = case
    assume(len(program.sources) == 2)
    compare(replace(program, where="breakable"), trace, is_broken=True)


def test_a_body_that_fails_leaves_the_snapshot_as_it_was():
    program = Program(Kind("by value", 1), (0, 0), ("take events",), "breakable", lateness=3, report="on_close")
    (source,), output = program.build()
    engine = Engine(output)
    engine.push(source, Row(0, 0, 1), at=-6)
    engine.advance(0)
    engine.push(source, Row(1, 0, 2), at=(-2, -1))
    before = engine.snapshot()
    BREAKS.append(True)
    with pytest.raises(Broken):
        engine.close()
    BREAKS.clear()
    assert engine.snapshot() == before


LOGGED_IN_TWICE = [  # at one time, and out in between
    *(Push(0, Row(n, 0, j), at, at) for n, (j, at) in enumerate([(LOG_IN, -1), (LOG_OUT, 2), (LOG_IN, -1), (0, 7)])),
    Push(1, Row(4, 0, 0), -1, -1),
]


OUT_TWICE = [  # so that two windows begin at one time, which a third end makes the same
    Push(0, Row(n, 0, j), start, end) for n, (j, start, end) in enumerate([(1, 0, 0), (2, 1, 2), (2, 1, 1), (2, 0, 0)])
]


@fewer
@given(case=cases(("logged in",)))
@example(case=(Program(Kind("logged in", 1), (0, 0, 1), lateness=3, report="on_close"), OUT_TWICE))
@example(case=(Program(Kind("logged in", 1), (0, 1), report="final"), LOGGED_IN_TWICE))
def test_windows_that_open_with_one_event_and_close_with_another(case):
    program, trace = case
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
    assume(not RETRACTING & set(program.enclosed))
    program = replace(program, enclosed=(*program.enclosed, "taken back"))
    assume(is_accepted(program))
    inputs, output = program.build()
    engine, reference, stands, expected = Engine(output), Reference(program), Counter(), Counter()
    for step in [*trace, None]:
        for event in apply(engine, inputs, step):
            stands[event.value] += event.weight
        come = reference.step(step) if step else reference.advance(math.inf)
        expected.subtract(reference.withdrawn if step else {})  # nothing is withdrawn at the end
        for value, weight in come:
            expected[value] += weight
        assert +stands == +expected
        assert min(stands.values(), default=0) >= 0
        assert sorted((event.value.n, slot) for event, slot, _ in engine.late) == sorted(reference.late)
    assert engine.stats.retained == engine.stats.waiting == 0


@fewer
@given(data=st.data())
def test_a_window_keeps_its_content(data):
    program, trace = data.draw(cases())
    content = data.draw(st.sampled_from([("first", 1), ("first", 2), ("last", 1), ("last", 2), ("filtered", 0)]))
    plain = set(program.enclosed) <= {"none", "fifo", "first match", "ordered", "taken back"}
    assume(plain and program.period is None)  # at each period the content is of what ended before, so by time
    compare(replace(program, content=content, left=(), right=()), trace)


@fewer
@given(data=st.data())
def test_so_many_events_are_a_batch_of_each_window(data):
    program = data.draw(programs(("tumbling",)))
    assume(len(set(program.sources)) == len(program.sources))  # a self-join has a test of its own
    tick = data.draw(st.integers(1, 4))
    program = replace(program, tick=tick, left=(), report="on_content_change", period=None)
    assume(is_accepted(program))
    steps = data.draw(traces(program, is_in_order=True))  # what is late waits for its batch, too
    # No windows that overlap, and no advances: what becomes of a batch when a window is freed has tests of its own.
    trace = [Push(step.source, step.row, step.end, step.end) for step in steps if isinstance(step, Push)]
    compare(program, trace)


@fewer
@given(data=st.data())
def test_a_relation_to_stream_compares_an_evaluation_with_the_one_before(data):
    program, trace = data.draw(cases())
    assume(program.period is None and len(program.left) in {0, len(program.sources)})
    consuming = {"affine one", "affine all", "fifo affine", "at most"}
    assume("non_empty" not in program.report or not consuming & set(program.enclosed))  # that has a test of its own
    relation = data.draw(st.sampled_from(["istream", "dstream", "rstream"]))
    related = replace(program, relation=relation)
    assume(is_accepted(related))
    inputs, output = related.build()
    engine, reference, before = Engine(output), Reference(program), {}
    for step in [*trace, None]:
        expected = Counter()
        if step:
            reference.step(step)
        else:
            reference.evaluations = []
            reference.advance(math.inf)
        for key, now in reference.evaluations:
            earlier = before.get(key, Counter())
            expected += {"istream": now - earlier, "dstream": earlier - now, "rstream": now}[relation]
            before[key] = now
        emitted = apply(engine, inputs, step)
        assert all(event.weight == 1 for event in emitted)
        assert Counter(event.value for event in emitted) == expected
    assert engine.stats.retained == engine.stats.waiting == 0


@st.composite
def changes(draw: st.DrawFn) -> list[tuple[str, int, int, int]]:
    """Updates and deletes of three rows, events beside them, and advances, in the order of time."""
    steps, time = [], draw(st.integers(-6, 2))
    for n in range(draw(st.integers(0, 12))):
        time += draw(st.sampled_from([0, 0, 1, 1, 3]))
        kind = draw(st.sampled_from(["update", "update", "delete", "event", "event", "advance"]))
        steps.append((kind, n, draw(st.integers(0, 2)), time))
    return steps


@fewer
@given(
    kind=kinds(),
    steps=changes(),
    report=st.sampled_from(["on_content_change", "on_close", "final"]),
    lateness=st.sampled_from([0, 4]),
    is_equal=st.booleans(),
)
def test_what_a_source_takes_back_leaves_the_windows_that_are_not_freed(kind, steps, report, lateness, is_equal):
    table, other = Reactive("table", table=True), Reactive("other")
    rows = correlate(r=table, yields=lambda r: r, restrict=retracting())
    pairs = correlate(
        x=rows,
        y=other,
        where=(lambda x, y: x.k == y.k) if is_equal else None,
        yields=lambda x, y, window: (x.n, y.n, window.start, window.end),
        restrict=kind.restriction(report=REPORTS[report], lateness=lateness) | retracting(),
    )
    engine, stands, final_ = Engine(pairs), Counter(), Counter()
    present, beside, freed, clock = {}, [], set(), -math.inf
    for what, n, k, time in steps:
        row = Row(n, k, 0)
        if what == "advance":
            clock, emitted = time, engine.advance(time)
        elif what == "event":
            beside.append(Push(1, row, time, time))
            emitted = engine.push(other, row, at=time)
        else:
            change = Update(k, row) if what == "update" else Delete(k)
            present.pop(k, None)
            if what == "update":
                present[k] = Push(0, row, time, time)
            emitted = engine.push(table, change, at=time)
        for event in emitted:
            stands[event.value] += event.weight
        contents = {}
        for push in [*present.values(), *beside]:
            for span in kind.spans(push, []):
                contents.setdefault(span, []).append(push)
        now = Counter()
        for (start, end), pushes in contents.items():
            results = Counter(
                (x.row.n, y.row.n, start, end)
                for x in pushes
                for y in pushes
                if (x.source, y.source) == (0, 1) and (not is_equal or x.row.k == y.row.k)
            )
            due = {"on_close": end, "final": end + lateness}.get(report, -math.inf)
            if clock < end + lateness:
                now += results if clock >= due else Counter()
            elif (start, end) not in freed:
                freed.add((start, end))
                final_ += results
        assert +stands == now + final_
        held = len([0 for (_, end), pushes in contents.items() if clock < end + lateness for _ in pushes])
        assert engine.stats.slots[pairs.name, "x"][0] + engine.stats.slots[pairs.name, "y"][0] <= held
        assert engine.late == []


@fewer
@given(data=st.data(), on_leave=st.sampled_from(["expire", "displace"]))
def test_a_table_in_windows_is_what_its_changes_say(data, on_leave):
    """Keyed by the event of x and the window, it shows the event of y that came last in it."""
    program = Program(
        data.draw(kinds()),
        lateness=data.draw(st.integers(0, 4)),
        report=data.draw(st.sampled_from(["final", "on_close"])),
    )
    trace = data.draw(traces(program))
    left, right = Reactive("left"), Reactive("right")
    options = {"lateness": program.lateness, "on_leave": on_leave}
    if data.draw(st.booleans()):
        options["report"] = REPORTS[program.report]
    else:
        program = replace(program, report="on_content_change")
    table = correlate(
        x=left,
        y=right,
        yields=lambda x, y, window: (x.n, y.n, window.start, window.end),
        restrict=program.kind.restriction(**options) | most_recently("y") | retracting() | as_table(without_y),
    )
    engine, reference, replayed, rows = Engine(table), Reference(program), {}, {}
    for step in [*trace, None]:
        for event in apply(engine, [left, right], step):
            assert event.value != Update(event.value.key, replayed.get(event.value.key))  # no change without a change
            replayed.pop(event.value.key, None)
            if isinstance(event.value, Update):
                replayed[event.value.key] = event.value.value
        assert engine.query(table) == {  # nobody knows the rows of the windows that are freed
            (n, start, end): row for (n, start, end), row in replayed.items() if engine.clock < end + program.lateness
        }
        _ = reference.step(step) if step else reference.advance(math.inf)
        if on_leave == "displace":
            rows = {}
        for window in reference.windows:
            ys = [push.row.n for push in window.given if push.source == 1]
            for push in window.given:
                if push.source == 0 and ys:
                    rows[push.row.n, *window.span] = (push.row.n, ys[-1], *window.span)
        if program.report != "final" and on_leave == "displace":
            assert replayed == rows
        else:  # what is seen and freed in one step, the reference does not show
            assert rows.items() <= replayed.items()


def without_y(value):
    return (value[0], *value[2:])


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
