"""The engine: completion, the clock, lateness, refused calls, atomic failure, threads, counts."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Event, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument, WrongThread
from restrictions import (
    affinely,
    aligning,
    as_table,
    cartesian,
    combine_latest,
    key_by,
    most_recently,
    retracting,
    zip_,
)


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


# -------------------------------------------------------------------------------------------------------- completion


def test_cartesian_completes_when_all_inputs_have(left, right):
    engine = Engine(cartesian(left, right))
    assert not engine.done
    engine.end(left)
    assert not engine.done
    engine.end(right)
    assert engine.done


def test_zip_completes_as_soon_as_an_input_has_ended_with_nothing_waiting(left, right):
    engine = Engine(zip_(left, right))
    engine.push(left, 1)
    engine.push(left, 2)
    engine.end(left)
    assert not engine.done
    assert values(engine.push(right, "a")) == [(1, "a")]
    assert not engine.done
    assert values(engine.push(right, "b")) == [(2, "b")]
    assert engine.done
    assert engine.push(right, "c") == []


def test_zip_completes_at_once_if_nothing_waits(left, right):
    engine = Engine(zip_(left, right))
    engine.push(left, 1)
    engine.end(right)
    assert engine.done


COMBINED = st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=14)


def rx_combine_latest(steps, count):
    """RxPY's rule: per step whether it has completed; emissions as tuples."""
    values, ended, has_completed, out = {}, set(), False, []
    for number, (source, is_end) in enumerate(steps):
        emitted = []
        if source in ended:
            pass
        elif is_end:
            ended.add(source)
            has_completed = has_completed or len(ended) == count
        elif not has_completed:
            values[source] = number
            if len(values) == count:
                emitted = [tuple(values[i] for i in range(count))]
            elif len(ended - {source}) == count - 1:
                has_completed = True
        out.append((emitted, has_completed))
    return out


@given(steps=COMBINED, count=st.integers(1, 3), is_restored=st.booleans())
def test_combine_latest_completes_as_in_rxpy(steps, count, is_restored):
    steps = [(source % count, is_end) for source, is_end in steps]
    inputs = [Reactive(f"in{n}") for n in range(count)]
    output = combine_latest(*inputs)
    engine = Engine(output)
    ended = set()
    for number, ((source, is_end), (emitted, is_done)) in enumerate(
        zip(steps, rx_combine_latest(steps, count), strict=True)
    ):
        if source in ended:
            continue
        if is_end:
            ended.add(source)
            assert engine.end(inputs[source]) == []
        else:
            assert values(engine.push(inputs[source], number)) == emitted
        assert engine.done == is_done
        if is_restored:
            engine = Engine.restore(engine.snapshot(), output)
            assert engine.done == is_done


def test_combine_latest_is_rxpys(left, right):
    reactivex = pytest.importorskip("reactivex", reason="the extra dev is not installed")
    from reactivex.subject import Subject

    subjects = {left: Subject(), right: Subject()}
    seen = []
    reactivex.combine_latest(*subjects.values()).subscribe(seen.append, on_completed=lambda: seen.append("done"))
    engine = Engine(combine_latest(left, right))
    ours = []
    for reactive, value in [(left, 1), (left, 2), (right, "a"), (left, 3), (left, None), (right, "b"), (right, None)]:
        if value is None:
            subjects[reactive].on_completed()
            ours += values(engine.end(reactive))
        else:
            subjects[reactive].on_next(value)
            ours += values(engine.push(reactive, value))
        assert ("done" in seen) == engine.done
    assert ours == seen[:-1]


@given(steps=COMBINED, count=st.integers(1, 3))
def test_zip_completes_when_no_row_can_come_any_more(steps, count):
    inputs = [Reactive(f"in{n}") for n in range(count)]
    engine = Engine(zip_(*inputs))
    queues, ended = [[] for _ in inputs], set()
    for number, (drawn, is_end) in enumerate(steps):
        source = drawn % count
        if source in ended:
            continue
        if is_end:
            ended.add(source)
            engine.end(inputs[source])
        else:
            queues[source].append(number)
            emitted = values(engine.push(inputs[source], number))
            row = [tuple(queue.pop(0) for queue in queues)] if all(queues) else []
            assert emitted == row
        assert engine.done == any(not queues[ended_source] for ended_source in ended)


def test_a_nested_correlation_completes_with_its_inputs(left, right):
    rows = zip_(left, right)
    outer = correlate(p=rows, yields=lambda p: p)
    both = correlate(p=rows, x=right, yields=lambda p, x: p)
    engine, second = Engine(outer), Engine(both)
    engine.end(left)
    assert engine.done
    second.end(left)
    assert not second.done
    second.end(right)
    assert second.done


def test_an_engine_is_done_when_all_its_outputs_are(left, right):
    engine = Engine(zip_(left, right), cartesian(left, right))
    engine.end(left)
    assert not engine.done
    engine.end(right)
    assert engine.done


def test_close_ends_all_inputs_and_moves_the_clock_past_everything(left, right):
    engine = Engine(cartesian(left, right))
    engine.close()
    assert engine.done
    assert engine.clock == float("inf")
    with pytest.raises(InvalidArgument):
        engine.push(left, 1)


@pytest.mark.parametrize(
    "composed", [lambda a, b: a and b, lambda a, b: (a | b) or a, lambda a, b: a & b, lambda a, b: [a, b]]
)
def test_what_is_not_composed_by_bars_is_refused_with_how_to_write_it(left, composed):
    with pytest.raises(InvalidArgument, match=r"composed by \|.*write .* \| "):
        correlate(x=left, yields=lambda x: x, restrict=composed(key_by(x="k"), most_recently("x")))


@pytest.mark.parametrize("given_", [most_recently("x"), key_by(x="k") | most_recently("x")], ids=repr)
def test_a_misspelt_restrict_is_told(left, given_):
    wrong: Any = {"restict": given_}
    with pytest.raises(InvalidArgument, match=r"got restict=.*; give restrictions by restrict="):
        correlate(x=left, yields=lambda x: x, **wrong)


@pytest.mark.parametrize("step", [{"k": 1}, (1,)])
def test_run_says_what_a_trace_is_made_of(left, step):
    with pytest.raises(InvalidArgument, match=r"\(reactive, value, at\) but got .* as its item 0"):
        run(correlate(x=left, yields=lambda x: x), [step])


def test_run_does_not_close_unless_told_to(left, right):
    trace = [(left, 1), (right, "a")]
    assert values(run(cartesian(left, right), trace)) == values(run(cartesian(left, right), trace, close=True))


def test_a_push_after_the_end_is_refused_and_names_the_input(left, right):
    engine = Engine(cartesian(left, right))
    engine.end(left)
    with pytest.raises(InvalidArgument, match="left"):
        engine.push(left, 1)
    engine.push(right, 1)


# ------------------------------------------------------------------------------------------------------ clock and late


def test_the_clock_moves_by_advance_alone_and_never_back(left):
    engine = Engine(correlate(x=left, yields=lambda x: x))
    engine.push(left, 1, at=100)
    assert engine.clock == float("-inf")
    engine.advance(10)
    engine.advance(5)
    assert engine.clock == 10
    assert engine.next_deadline is None


def test_an_event_at_the_clock_is_used_an_earlier_one_is_late(left):
    engine = Engine(correlate(x=left, yields=lambda x: x, name="out"))
    engine.advance(10)
    assert values(engine.push(left, "on time", at=10)) == ["on time"]
    assert values(engine.push(left, "straddles", at=(3, 12))) == ["straddles"]
    assert engine.push(left, "late", at=9) == []
    ((event, _, reason),) = engine.late
    assert (event.value, event.start, event.end) == ("late", 9, 9)
    assert isinstance(event, Event)
    assert reason
    assert engine.stats.retained == 2


def test_lateness_moves_the_clock_behind_the_latest_end_seen(left):
    engine = Engine(correlate(x=left, yields=lambda x: x), lateness=5)
    assert values(engine.push(left, "a", at=20)) == ["a"]
    assert engine.clock == 15
    assert values(engine.push(left, "b", at=15)) == ["b"]
    assert engine.push(left, "c", at=14) == []
    assert values(event for event, _, _ in engine.late) == ["c"]
    assert engine.clock == 15


def test_late_events_are_in_the_snapshot(left):
    output = correlate(x=left, yields=lambda x: x)
    engine = Engine(output)
    engine.advance(10)
    engine.push(left, "late", at=1)
    assert Engine.restore(engine.snapshot(), output).late == engine.late


def test_the_default_time_is_one_after_the_latest_seen(left, right):
    engine = Engine(cartesian(left, right))
    engine.push(left, 1, at=(5, 9))
    (event,) = engine.push(right, "a")
    assert (event.start, event.end) == (5, 10)
    engine.push(left, 2, at=3)
    assert engine.push(right, "b")[0].end == 11


def test_the_default_time_is_never_late(left):
    engine = Engine(correlate(x=left, yields=lambda x: x))
    engine.advance(100)
    assert values(engine.push(left, 1)) == [1]
    assert engine.late == []


@pytest.mark.parametrize("at", [1.5, "1", (5, 3), (1,), (1, 2, 3), (1.0, 2), float("nan"), [], {"at": 1}])
def test_a_time_that_is_none_is_refused(left, at):
    engine = Engine(correlate(x=left, yields=lambda x: x))
    with pytest.raises(InvalidArgument, match="at"):
        engine.push(left, 1, at=at)
    assert engine.stats.events == 0


# ----------------------------------------------------------------------------------------------------------- refused


def test_an_unknown_input_is_refused_and_the_inputs_are_named(left, right):
    output = cartesian(left, right)
    engine = Engine(output)
    strangers: tuple[Any, ...] = (Reactive("lefty"), Reactive("left"), output, "left", None)
    for wrong in strangers:
        with pytest.raises(InvalidArgument, match="left"):
            engine.push(wrong, 1)
        with pytest.raises(InvalidArgument):
            engine.end(wrong)
    assert engine.stats.events == 0


@pytest.mark.parametrize("outputs", [(), ("out",), (None,), (3,)])
def test_an_engine_needs_outputs(outputs):
    with pytest.raises(InvalidArgument):
        Engine(*outputs)


def test_two_inputs_of_one_name_are_refused():
    with pytest.raises(InvalidArgument, match="same"):
        Engine(correlate(x=Reactive("same"), y=Reactive("same"), yields=lambda x, y: x))


@pytest.mark.parametrize("value", [1, {"key": 1}, None, ("k", 1)])
def test_a_table_takes_changes_only(value):
    table = Reactive("t", table=True)
    engine = Engine(correlate(x=table, yields=lambda x: x))
    with pytest.raises(InvalidArgument, match="t"):
        engine.push(table, value)


def test_a_table_that_declares_its_key_takes_rows():
    table = Reactive("t", table=True, key="id")
    engine = Engine(correlate(x=table, yields=lambda x, key_x: (key_x, x.v), restrict=retracting()))
    assert [(e.value, e.weight) for e in engine.push(table, {"id": 7, "v": 1})] == [((7, 1), 1)]
    assert [(e.value, e.weight) for e in engine.push(table, {"id": 7, "v": 2})] == [((7, 1), -1), ((7, 2), 1)]
    assert [(e.value, e.weight) for e in engine.push(table, Delete(7))] == [((7, 2), -1)]


def test_query_gives_the_rows_of_inputs_and_outputs(left):
    table = Reactive("t", table=True)
    output = correlate(x=table, yields=lambda x: x.a, restrict=retracting() | as_table("x"))
    engine = Engine(output)
    engine.push(table, Update("k", {"a": 1}))
    assert engine.query(output) == {"k": 1}
    assert {key: row.a for key, row in engine.query(table).items()} == {"k": 1}
    engine.query(output)["k"] = 3
    assert engine.query(output) == {"k": 1}
    with pytest.raises(InvalidArgument):
        engine.query(left)


def test_a_second_thread_is_refused_by_name(left):
    engine = Engine(correlate(x=left, yields=lambda x: x))
    caught = []

    def use(method):
        try:
            method()
        except WrongThread as error:
            caught.append(str(error))

    methods = [
        lambda: engine.push(left, 1),
        lambda: engine.advance(1),
        lambda: engine.end(left),
        engine.close,
        engine.snapshot,
        lambda: engine.stats,  # it may have to make objects of columns first
        lambda: engine.next_deadline,
    ]
    for number, method in enumerate(methods):
        thread = threading.Thread(target=use, args=(method,), name=f"stranger-{number}")
        thread.start()
        thread.join()
    assert len(caught) == len(methods)
    for number, text in enumerate(caught):
        assert f"stranger-{number}" in text
        assert threading.current_thread().name in text
    assert values(engine.push(left, 1)) == [1]


def test_a_body_may_not_push(left):
    engines = []

    def where(x):
        engines[0].push(left, x + 1)
        return True

    engines.append(Engine(correlate(x=left, where=where, yields=lambda x: x)))
    with pytest.raises(InvalidArgument, match="a body that is pure"):
        engines[0].push(left, 1)
    assert engines[0].stats.events == 0
    with pytest.raises(InvalidArgument, match="a body that is pure"):  # the engine is as it was, not stuck
        engines[0].push(left, 1)


# --------------------------------------------------------------------------------------------------- atomic failures


def failing(*names):
    def where(x):
        return 1 // x.a > 0

    return correlate(x=names[0], where=where, yields=lambda x: x.a, name="failing")


def test_a_failure_has_notes_naming_reactive_event_and_slot(left):
    engine = Engine(failing(left))
    with pytest.raises(ZeroDivisionError) as caught:
        engine.push(left, {"a": 0, "mark": "4711"}, at=(3, 5))
    notes = "\n".join(caught.value.__notes__)
    assert "'left'" in notes
    assert "4711" in notes
    assert "failing" in notes
    assert "'x'" in notes


def test_a_failure_downstream_takes_everything_back(left, right):
    first = correlate(x=left, yields=lambda x: x, restrict=most_recently("x"), name="first")
    second = correlate(p=first, y=right, where=lambda p, y: p.a // y > 0, yields=lambda p, y: p.a, name="second")
    third = correlate(x=left, yields=lambda x: x.a, restrict=retracting() | as_table(lambda a: a), name="third")
    engine = Engine(second, third)
    engine.push(left, {"a": 1})
    before, rows, blob = engine.stats, engine.query(third), engine.snapshot()
    with pytest.raises(ZeroDivisionError) as caught:
        engine.push(right, 0)
    assert "second" in "\n".join(caught.value.__notes__)
    assert (engine.stats, engine.query(third), engine.snapshot()) == (before, rows, blob)
    assert values(engine.push(right, 1)) == [1]


@pytest.mark.parametrize("place", ["key_by", "yields", "as_table", "aligned"])
def test_wherever_it_fails_nothing_has_happened(left, right, place):
    def fail(value):
        return 1 // (value if isinstance(value, int) else value[0])

    restrict: Any = {
        "key_by": key_by(x=fail) | most_recently("x"),
        "yields": affinely("x"),
        "as_table": retracting() | as_table(fail),
        "aligned": aligning("x", "y"),
    }[place]
    yields = (lambda x, y: (fail(x), y)) if place in ("yields", "aligned") else (lambda x, y: (x, y))
    output = correlate(x=left, y=right, yields=yields, restrict=restrict, name="out")
    engine = Engine(output)
    engine.push(right, "a", at=1)
    blob, before = engine.snapshot() if place != "yields" else None, engine.stats
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            engine.push(left, 0, at=2)
        assert engine.stats == before
        if blob:
            assert engine.snapshot() == blob
    assert len(engine.push(left, 1, at=2)) == 1


def test_a_failure_in_an_advance_takes_the_advance_back(left):
    from tests.unit.cartesius.test_restriction_base import debouncing

    engine = Engine(correlate(x=left, where=lambda x: 1 // x > 0, yields=lambda x: x, restrict=debouncing("x", 5)))
    engine.push(left, 0, at=1)
    with pytest.raises(ZeroDivisionError):
        engine.advance(100)
    assert engine.clock == float("-inf")
    assert engine.next_deadline == 7
    with pytest.raises(ZeroDivisionError):
        engine.advance(100)


def test_a_keyboard_interrupt_in_a_body_is_not_swallowed_and_leaves_the_engine_usable(left):
    struck = [True]

    def where(x):
        if struck:
            struck.pop()
            raise KeyboardInterrupt
        return True

    engine = Engine(correlate(x=left, where=where, yields=lambda x: x))
    with pytest.raises(KeyboardInterrupt):
        engine.push(left, 1)
    assert engine.stats.events == 0
    assert values(engine.push(left, 1)) == [1]


# ------------------------------------------------------------------------------------------------------------- counts


@pytest.mark.parametrize(
    ("restrict", "expected"),
    [
        (lambda names: None, lambda n, m: m**n),
        (lambda names: most_recently(*names), lambda n, m: n * m - (n - 1)),
        (lambda names: affinely(*names), lambda n, m: m),
        (lambda names: most_recently(*names) | aligning(*names), lambda n, m: m),
    ],
)
@pytest.mark.parametrize(("n", "m"), [(2, 5), (3, 4)])
def test_the_counts_of_round_robin_input(restrict, expected, n, m):
    inputs = [Reactive(f"in{number}") for number in range(n)]
    engine = Engine(cartesian(*inputs, restrict=restrict([reactive.name for reactive in inputs])))
    emitted = sum(len(engine.push(inputs[number % n], number)) for number in range(n * m))
    assert emitted == engine.stats.tuples == expected(n, m)
    assert engine.stats.events == n * m


def test_the_mean_memory_of_round_robin_input_is_that_of_table_3():
    inputs = [Reactive(f"in{number}") for number in range(3)]
    names = [reactive.name for reactive in inputs]
    means = []
    for restrict in (affinely(*names), affinely(*names) | aligning(*names), most_recently(*names)):
        engine = Engine(cartesian(*inputs, restrict=restrict))
        held = []
        for number in range(60):
            engine.push(inputs[number % 3], number)
            held.append(engine.stats.retained + engine.stats.waiting)
        means.append(sum(held) / 60)
    assert means[:2] == [1.0, 1.0]
    assert means[2] == pytest.approx(3, abs=0.1)


def test_two_equal_events_are_two_events(left):
    engine = Engine(correlate(x=left, yields=lambda x: x))
    assert values(engine.push(left, 1, at=1) + engine.push(left, 1, at=1)) == [1, 1]
    assert engine.stats.retained == 2


def test_explain_names_restrictions_slots_bounds_and_indexes(left, right):
    output = correlate(
        x=left,
        y=right,
        where=lambda x, y: x.k == y.k,
        yields=lambda x, y: x,
        restrict=key_by(x="k") | most_recently("x"),
        name="out",
    )
    text = Engine(output).explain()
    for part in ("out", "key_by", "most_recently('x')", "left", "right", "O(keys)", "unbounded", "x.k == y.k"):
        assert part in text
