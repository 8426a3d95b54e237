"""Batches beside everything else that an engine does: subscribers, listeners, ends, errors, threads."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pyarrow as pa
import pytest

from cartesius import Engine, Reactive, Update, correlate, storable
from cartesius.columns.batches.running import compiled_of
from cartesius.columns.results import events_of, table_of
from cartesius.data.events import Delete, Event
from cartesius.errors import EngineBroken, InvalidArgument, NotStorable, WrongThread
from restrictions import combine_latest, key_by, most_recently, optionally, retracting, take, zip_
from restrictions.streams import map_, scan
from restrictions.tables import map_table

LEFT, RIGHT = Reactive("left"), Reactive("right")
LATEST = combine_latest(LEFT, RIGHT)
BATCH = {LEFT: {"value": [1, 2, 3], "order": [0, 2, 4]}, RIGHT: {"value": ["a", "b"], "order": [1, 3]}}
PAIRS = [(1, "a"), (2, "a"), (2, "b"), (3, "b")]


def values(table):
    return [event.value for event in events_of(table)]


def emitted(error: Any) -> Any:
    return error.emitted


def is_compiled(engine):
    return engine._compiled is not None and engine._compiled.states is not None


# --------------------------------------------------------------------------------------------------- who else listens


def test_subscribers_are_told_as_if_each_row_were_pushed():
    engine, heard = Engine(LATEST), []
    subscription = engine.subscribe(LATEST, lambda events: heard.append([event.value for event in events]))
    assert values(engine.push_many(BATCH)) == PAIRS
    assert heard == [[pair] for pair in PAIRS]
    subscription.cancel()
    assert values(engine.push_many({LEFT: {"value": [4]}})) == [(4, "b")]
    assert is_compiled(engine)
    assert len(heard) == 4


def test_an_iteration_over_events_hears_batches():
    async def show():
        engine = Engine(LATEST)
        heard = []

        async def hear():
            async for event in engine.events():
                heard.append(event.value)

        task = asyncio.create_task(hear())
        await asyncio.sleep(0)
        engine.push_many(BATCH)
        engine.close()
        await task
        return heard

    assert asyncio.run(show()) == PAIRS


def test_what_an_input_has_already_comes_first():
    left, right = Reactive.of([1, 2]), Reactive("right")
    output = zip_(left, right)
    engine, other = Engine(output), Engine(output, tier="reference")
    found = events_of(engine.push_many({right: {"value": ["a", "b", "c"]}}))
    assert found == [event for value in "abc" for event in other.push(right, value)]
    assert [event.value for event in found] == [(1, "a"), (2, "b")]


# ------------------------------------------------------------------------------------------------ mixing, and the state


def test_every_other_call_sees_what_a_batch_has_left():
    engine = Engine(LATEST)
    engine.push_many(BATCH)
    assert is_compiled(engine)
    assert (engine.stats.events, engine.stats.tuples, engine.stats.retained) == (5, 4, 2)
    assert is_compiled(engine)
    assert engine.pull() == []
    assert not is_compiled(engine)  # the objects own the state
    engine.push_many({LEFT: {"value": [4]}})
    assert is_compiled(engine)
    assert [event.value for event in engine.push(RIGHT, "c")] == [(4, "c")]
    engine.push_many({LEFT: {"value": [5]}})
    restored = Engine.restore(engine.snapshot(), LATEST, tier="reference")
    assert [event.value for event in restored.push(RIGHT, "d")] == [(5, "d")]
    assert values(engine.push_many({RIGHT: {"value": ["d"]}})) == [(5, "d")]


def test_an_output_may_come_and_go_between_batches():
    keyed = correlate(
        left=LEFT,
        right=RIGHT,
        yields=lambda left, right: (left, right),
        restrict=key_by(left="k", right="k") | most_recently("left", "right"),
    )
    doubled = map_(LEFT, lambda left: left.k * 2)
    engine = Engine(keyed)
    engine.push_many({RIGHT: {"k": [1, 2]}})
    assert engine.add(doubled) == []
    found = events_of(engine.push_many({LEFT: {"k": [1, 3]}}))
    assert [event.reactive for event in found] == [keyed.name, doubled.name, doubled.name]
    engine.remove(doubled)
    assert len(values(engine.push_many({LEFT: {"k": [2]}}))) == 1


def test_a_durable_engine_takes_columns_and_its_snapshot_holds_them():
    engine = Engine(LATEST, durable=True)
    engine.push_many(BATCH)
    restored = Engine.restore(engine.snapshot(), LATEST, durable=True)
    assert [event.value for event in restored.push(LEFT, 9)] == [(9, "b")]


def test_results_go_into_another_engine_as_they_are():
    first = Engine(correlate(left=LEFT, right=RIGHT, yields=lambda left, right: {"l": left, "r": (right, {"n": left})},
                             restrict=most_recently("left", "right")))  # fmt: skip
    table = first.push_many(BATCH)
    single = correlate(left=LEFT, yields=lambda left: left, restrict=most_recently("left"))
    other = Engine(single, tier="reference")
    expected = [repr(found.value) for value in values(table) for found in other.push(LEFT, value)]
    assert [repr(value) for value in values(Engine(single).push_many({LEFT: table.select(["value"])}))] == expected


def test_an_ended_input_lets_the_others_go_on():
    engine, other = Engine(LATEST), Engine(LATEST, tier="reference")
    for one in (engine, other):
        one.push(LEFT, 1)
        one.end(LEFT)
    found = events_of(engine.push_many({RIGHT: {"value": ["a", "b"]}}))
    assert found == [*other.push(RIGHT, "a"), *other.push(RIGHT, "b")]
    assert engine.done == other.done


def test_what_is_pinned_traced_or_unknown_runs_row_by_row():
    engine: Any
    for engine in (Engine(LATEST, tier="in_place"), Engine(LATEST, tier="reference"), Engine(LATEST, trace=True)):
        assert values(engine.push_many(BATCH)) == PAIRS
        assert not is_compiled(engine)
    counted = correlate(left=LEFT, yields=lambda left: left, restrict=take(2, "left"))
    engine = Engine(counted)
    assert values(engine.push_many({LEFT: {"value": [1, 2, 3]}})) == [1, 2]
    assert "take(2, 'left')" in compiled_of(engine).reason


def test_an_engine_without_outputs_keeps_its_views():
    rows = Reactive("rows", table=True)
    view = map_table(rows, lambda row: row + 1)
    engine = Engine(pulled=[view])
    assert engine.push_many({rows: {"key": [1, 2], "value": [5, 6]}}).num_rows == 0
    assert engine.query(view) == {1: 6, 2: 7}


def test_a_column_that_changes_its_type_is_still_right():
    engine, other = Engine(LATEST), Engine(LATEST, tier="reference")
    other.push(RIGHT, "a", at=0)
    engine.push(RIGHT, "a", at=0)
    for at, value in enumerate([1, 1.5, "x", None, {"a": 1}, {"b": 2.5}, (1,), True, 2**70], 1):
        found = events_of(engine.push_many({LEFT: {"value": [value], "at": [at]}}))
        assert list(map(repr, found)) == list(map(repr, other.push(LEFT, value, at=at)))
        assert engine.push(RIGHT, at, at=at) == other.push(RIGHT, at, at=at)


# -------------------------------------------------------------------------------------------------------------- errors


def picky(left, right):
    if left == 2:
        message = "two"
        raise RuntimeError(message)
    return (left, right)


def test_an_error_leaves_the_rows_before_and_what_they_gave():
    output = correlate(left=LEFT, right=RIGHT, yields=picky, restrict=most_recently("left", "right"))
    engine, other = Engine(output), Engine(output, tier="reference")
    engine.push_many({RIGHT: {"value": ["z"]}})
    other.push(RIGHT, "z")
    with pytest.raises(RuntimeError, match="two") as caught:
        engine.push_many({LEFT: {"value": [0, 1, 2, 3]}})
    assert events_of(emitted(caught.value)) == [*other.push(LEFT, 0), *other.push(LEFT, 1)]
    notes = "\n".join(caught.value.__notes__)
    assert "in push_many, at row 2 of 4 in the order of arrival; those before it stand" in notes
    assert "while pushing 2 at 4 into 'left'" in notes
    assert engine.stats == other.stats
    assert values(engine.push_many({LEFT: {"value": [4]}})) == [(4, "z")]


def test_an_error_that_cannot_be_changed_leaves_all_the_same():
    class Frozen(Exception):
        __slots__ = ()

        def __setattr__(self, name, value):
            if name == "emitted":
                raise AttributeError(name)
            super().__setattr__(name, value)

    def fails(left):
        raise Frozen

    with pytest.raises(Frozen):
        Engine(correlate(left=LEFT, yields=fails)).push_many({LEFT: {"value": [1]}})


def test_results_that_are_no_plain_data_are_nothing_that_columns_hold():
    engine = Engine(correlate(left=LEFT, yields=lambda left: object(), restrict=most_recently("left")))
    with pytest.raises(NotStorable) as caught:
        engine.push_many({LEFT: {"value": [1, 2]}})
    assert "all rows were pushed" in "\n".join(caught.value.__notes__)
    assert engine.stats.events == 2


ENGINES = []
"""The one that a body uses."""


@pytest.mark.parametrize("call", ["push", "push_many", "query", "snapshot", "stats"])
@pytest.mark.parametrize("is_caught", [True, False])
def test_a_body_that_uses_its_own_engine_does_what_it_does_from_push(call, is_caught):
    found = []
    for tier in (None, "reference"):

        def body(left):
            (engine,) = ENGINES
            uses = {
                "push": lambda: engine.push(LEFT, 1), "push_many": lambda: engine.push_many({LEFT: {"value": [1]}}),
                "query": lambda: engine.query(LEFT), "snapshot": engine.snapshot,
                "stats": lambda: engine.stats.retained,
            }  # fmt: skip
            try:
                uses[call]()
            except Exception as error:
                if not is_caught:
                    raise
                return (left, type(error).__name__)
            return (left, "nothing")

        output = correlate(left=LEFT, yields=body, restrict=most_recently("left"))
        ENGINES[:] = [Engine(output, tier=tier)]
        try:
            found.append(values(ENGINES[0].push_many({LEFT: {"value": [1, 2]}})))
        except Exception as error:  # of any kind: both must raise the same
            found.append((type(error), str(error)))
        assert ENGINES[0].stats.events in (0, 2)
    assert found[0] == found[1]


def test_another_thread_is_refused():
    engine, caught = Engine(LATEST), []

    def use():
        try:
            engine.push_many(BATCH)
        except WrongThread as error:
            caught.append(str(error))

    thread = threading.Thread(target=use, name="other")
    thread.start()
    thread.join()
    assert len(caught) == 1
    assert "'other'" in caught[0]
    assert engine.stats.events == 0


def test_a_wrong_key_leaves_as_from_push():
    rows = Reactive("rows", table=True)
    engine = Engine(map_table(rows, lambda row: row))
    with pytest.raises(InvalidArgument, match="expected a key that can be hashed") as caught:
        engine.push_many({rows: {"key": [1, [2]], "value": [5, 6]}})
    assert values(emitted(caught.value)) == [Update(1, 5)]


# ------------------------------------------------------------------------------------------------------------- results


@storable
class Position(tuple[int, int]):
    """A named tuple."""

    __slots__ = ()
    _fields = ("x", "y")

    @classmethod
    def _make(cls, items):
        return cls(items)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [Event(1, 1, 2, 1, "s"), Event("x", 2, 3, -1, "s"), Event(None, 2, 3, 1, "s")],
        [Event((1, "x"), float("-inf"), 3, 1, "s"), Event((1, None), 2, float("inf"), 1, "s")],
        [Event(Update("k", 1), 1, 1, 1, "t"), Event(Delete("k"), 1, 1, 1, "t"), Event(5, 1, 1, 1, "s")],
        [Event(Update(None, None), 1, 1, 1, "t"), Event(Update((1, 2), {"a": 1}), 1, 1, 1, "t")],
        [Event(Position((1, 2)), 1, 1, 1, "s"), Event({"a": {"b": (1,)}}, 1, 1, 1, "s")],
        [Event(2**80, 2**53 + 1, 2**62, 1, "s"), Event(1.5, 1, 1, 1, "s")],
    ],
)
def test_events_go_into_a_table_and_come_back(events):
    table = table_of(events, [("s", False), ("t", True)])
    assert list(map(repr, events_of(table))) == list(map(repr, events))
    assert table.column_names == ["reactive", "value", "start", "end", "weight", "key", "deleted"]
    again = pa.ipc.open_stream(written(table)).read_all()
    assert list(map(repr, events_of(again))) == list(map(repr, events))


def written(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_what_is_taken_back_has_weight_minus_one():
    restrict = most_recently("left", "right") | optionally("right") | retracting()
    output = correlate(left=LEFT, right=RIGHT, yields=lambda left, right: (left, right), restrict=restrict)
    table = Engine(output).push_many({LEFT: {"value": [1], "order": [0]}, RIGHT: {"value": ["a"], "order": [1]}})
    assert table.column("weight").to_pylist() == [1, -1, 1]
    assert values(table) == [(1, None), (1, None), (1, "a")]


def test_outputs_take_turns_step_by_step():
    pairs = zip_(LEFT, RIGHT)
    engine, other = Engine(LATEST, pairs), Engine(LATEST, pairs, tier="reference")
    pushes = [(LEFT, 1), (RIGHT, "a"), (LEFT, 2), (RIGHT, "b"), (LEFT, 3)]
    expected = [event for reactive, value in pushes for event in other.push(reactive, value)]
    assert events_of(engine.push_many(BATCH)) == expected
    assert len({event.reactive for event in expected}) == 2


def test_what_a_body_raises_that_fails_for_a_while_comes_out_and_the_engine_says_that_it_is_broken():
    """A body of which one part was computed in columns, and that raises as they are computed anew."""
    calls = [0]

    def lookup(value):
        calls[0] += 1
        if calls[0] >= 4:
            message = "down"
            raise OSError(message)
        return value

    x, y = Reactive("x"), Reactive("y")
    latest = map_(combine_latest(x, y), lambda pair: lookup(pair[0].v))
    engine = Engine(latest, scan(x, lambda total, row: total + lookup(row.v), initial=0))
    with pytest.raises(OSError, match="down"):
        engine.push_many({y: {"v": [0], "order": [0]}, x: {"v": [1, 2], "order": [1, 2]}})
    calls[0] = 0
    with pytest.raises(EngineBroken):
        engine.push(x, {"v": 1})
