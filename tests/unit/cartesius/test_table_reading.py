"""Reading tables between pushes: what is there, what it costs, and what is refused."""

from __future__ import annotations

import math
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slot,
    Update,
    correlate,
    forward,
    handles,
    pause,
    play,
    push,
)
from cartesius.errors import InvalidArgument, WrongThread
from cartesius.plan import Node, Opaque
from restrictions import as_table, most_recently, only, retracting, take, versioned
from restrictions.streams import stream_table_join
from restrictions.tables import (
    combine_updates,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    reduce,
    to_table,
)

t, u = Reactive("t", table=True), Reactive("u", table=True)
r, s = Reactive("r"), Reactive("s")


def itself(value):
    return value


TABLES = {
    "map_table": lambda **options: map_table(t, itself, **options),
    "filter_table": lambda **options: filter_table(t, lambda v: v > 0, **options),
    "reduce": lambda **options: reduce(t, count, by=lambda v: v % 3, **options),
    "inner_join": lambda **options: inner_join(t, t, **options),
    "outer_join": lambda **options: outer_join(t, u, **options),
    "left_join": lambda **options: left_join(t, u, **options),
    "foreign_join": lambda **options: foreign_join(t, u, on=itself, how="left", **options),
}
KEPT = {**TABLES, "combine_updates": lambda: combine_updates(t, 0, max), "to_table": lambda: to_table(s, key=itself)}
each_table = pytest.mark.parametrize("name", TABLES)


def versions_of(name):
    slots = ("left", "right") if "join" in name else ("x",)
    return TABLES[name](restrict=versioned(*slots, retention=10))


def visited(engine):
    return sum(slot.memory.visited for join in engine._program.joins for slot in join.slots)


# -------------------------------------------------------------------------------------------------------- what is there


@pytest.mark.parametrize("name", KEPT)
@given(trace=st.lists(st.tuples(st.integers(0, 4), st.none() | st.integers(0, 4)), max_size=12))
def test_query_and_lookup_agree_with_the_changes_that_came_out(name, trace):
    engine, seen, pushed = Engine(output := KEPT[name]()), {}, {}
    for key, value in trace:
        source = t if t in engine.inputs.values() else s
        if source is s:
            emitted = engine.push(s, key)
        else:
            emitted = engine.push(t, Delete(key) if value is None else Update(key, value))
            pushed.pop(key, None)
            pushed |= {} if value is None else {key: value}
            assert engine.query(t) == pushed
            assert [engine.lookup(t, one, "none") for one in range(5)] == [pushed.get(one, "none") for one in range(5)]
        for event in emitted:
            seen.pop(event.value.key, None)
            seen |= {event.value.key: event.value.value} if isinstance(event.value, Update) else {}
        assert engine.query(output) == seen
        assert [engine.lookup(output, one, "none") for one in range(5)] == [seen.get(one, "none") for one in range(5)]


def test_what_is_read_is_a_copy_and_the_default_is_ones_own():
    for output in (map_table(t, itself), inner_join(t, t), reduce(t, count, by=itself), combine_updates(t, 0, max)):
        engine = Engine(output)
        engine.push(t, Update(1, 5))
        engine.query(output).clear()
        engine.query(t).clear()
        assert list(engine.query(output)) in ([1], [5])
        assert engine.query(t) == {1: 5}
        assert engine.lookup(output, "nobody", default := object()) is default
    engine = Engine(map_table(t, lambda v: None))
    engine.push(t, Update(1, 5))
    assert engine.lookup(engine.outputs[0], 1, "none") is None  # a row of None is a row


def test_a_table_in_between_can_be_read_too():
    positive = filter_table(t, lambda v: v > 0)
    engine = Engine(reduce(positive, count))
    for key, value in ((1, 5), (2, -5)):
        engine.push(t, Update(key, value))
    assert engine.query(positive) == {1: 5}
    assert engine.lookup(positive, 2) is None


def test_before_anything_has_come_there_is_nothing():
    for name, make in TABLES.items():
        engine = Engine(output := make())
        assert engine.query(output) == engine.query(t) == {}
        engine = Engine(output := versions_of(name))
        assert engine.versions(output) == {}
        assert engine.query(output, at=5) == {}


def test_an_input_is_read_as_it_was_pushed_whatever_is_done_with_it():
    dropping = correlate(x=t, yields=lambda x: x, restrict=retracting() | as_table("x") | only("x", lambda v: v > 5))
    newest = correlate(x=t, yields=lambda x: x, restrict=retracting() | as_table("x") | most_recently("x"))
    for output in (dropping, newest, combine_updates(t, 0, max)):
        engine = Engine(output)
        for key, value in ((1, 9), (2, 1), (1, 2)):
            engine.push(t, Update(key, value))
        assert engine.query(t) == {1: 2, 2: 1}
        assert engine.lookup(t, 2) == 1


def test_an_input_with_versions_is_read_as_it_was_pushed_whatever_a_gate_drops():
    layers = retracting() | as_table("x") | versioned("x") | only("x", lambda v: v > 5)
    engine = Engine(output := correlate(x=t, yields=lambda x: x, restrict=layers))
    engine.push(t, Update(1, 9), at=1)
    engine.push(t, Update(1, 2), at=3)
    assert engine.query(output) == {}
    assert engine.query(t) == {1: 2}


@pytest.mark.parametrize("end", [lambda engine: engine.push(t, Update(0, 0)), lambda engine: engine.end(s)])
def test_an_input_is_read_as_it_was_pushed_also_after_its_reader_has_completed(end):
    output = stream_table_join(s, t, on=itself)
    if end.__code__.co_names[0] == "push":
        output = correlate(x=t, yields=lambda x: x, restrict=take(1))
    engine = Engine(output)
    end(engine)
    assert engine.done
    before = engine.query(t)
    engine.push(t, Update(1, 5))
    assert engine.query(t) == {**before, 1: 5}


class shutting(Restriction):
    """Pause a table while the last event of another slot says so."""

    table: Slot
    signal: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(self.table,)),)

    @handles(push, "signal")
    def obey(self, slot, entry):
        (pause if entry.value else play)(self.table)
        forward(slot, entry)


def test_an_input_that_waits_at_a_door_has_been_pushed_but_is_no_part_of_a_result():
    layers = retracting() | most_recently("s") | shutting("x", "s") | as_table("x")
    output = correlate(x=t, s=s, yields=lambda x, s: x, restrict=layers)
    engine = Engine(output)
    engine.push(t, Update(1, "a"))
    engine.push(s, True)
    assert engine.push(t, Update(1, "b")) == engine.push(t, Delete(1)) == engine.push(t, Update(1, "c")) == []
    assert engine.query(output) == {1: "a"}
    played = [event.value for event in engine.push(s, False)]
    assert played == [Update(1, "b"), Delete(1), Update(1, "c")]
    assert engine.query(output) == engine.query(t) == {1: "c"}


# ------------------------------------------------------------------------------------------------------------ versions


@each_table
def test_the_versions_are_what_holds_at_each_time(name):
    engine = Engine(output := versions_of(name))
    for value, time in ((1, 5), (4, 9), (2, 7)):
        engine.push(t, Update(1, value), at=time)
    found = engine.versions(output)
    assert list(found) == [5, 7, 9]
    for when, rows in found.items():
        assert engine.query(output, at=when) == rows
        assert all(engine.lookup(output, key, at=when) == row for key, row in rows.items())
    assert engine.query(output, at=8) == found[7]
    assert engine.query(output, at=4) == {}
    assert engine.query(output) == found[9]
    assert engine.lookup(output, next(iter(found[9]))) == next(iter(found[9].values()))
    assert engine.versions(t) == {5: {1: 1}, 7: {1: 2}, 9: {1: 4}}
    assert engine.lookup(t, 1, at=6) == 1


def test_after_everything_the_newest_rows_hold():
    engine = Engine(output := versions_of("map_table"))
    engine.push(t, Update(1, 5), at=3)
    try:
        assert engine.query(output, at=math.inf) == {1: 5}
    except InvalidArgument:
        return


# ------------------------------------------------------------------------------------------------------------ refusals


def calls(engine):
    yield engine.query
    yield lambda table, **options: engine.lookup(table, 1, **options)


@pytest.mark.parametrize("wrong", [r, s, Reactive("t", table=True), reduce(t, count)], ids=repr)
def test_what_is_no_table_of_the_engine_is_refused(wrong):
    engine = Engine(map_table(t, itself), correlate(r=r, yields=lambda r: r))
    for name, call in zip(("query", "lookup", "versions"), [*calls(engine), engine.versions], strict=True):
        with pytest.raises(InvalidArgument) as error:
            call(wrong)
        assert str(error.value).startswith(f"{name}: expected a table of this engine but got {wrong!r}")


@pytest.mark.parametrize("wrong", ["t", 5, None, ["t"], {}, {1}], ids=repr)
def test_what_is_no_reactive_is_refused(wrong):
    engine = Engine(map_table(t, itself))
    for name, call in zip(("query", "lookup", "versions"), [*calls(engine), engine.versions], strict=True):
        with pytest.raises(InvalidArgument, match=re.escape(f"{name}: expected a Reactive but got table={wrong!r}")):
            call(wrong)


def test_a_table_of_newest_rows_has_no_others():
    engine = Engine(output := map_table(t, itself))
    said = "expected a table that keeps versions but {name!r} knows its newest rows alone; restrict it by versioned"
    for table in (output, t):
        for call in calls(engine):
            with pytest.raises(InvalidArgument) as error:
                call(table, at=3)
            assert said.format(name=table.name) in str(error.value)
        with pytest.raises(InvalidArgument, match="versions: expected a table that keeps versions"):
            engine.versions(table)


@pytest.mark.parametrize("at", ["3", True, None.__class__, [3], (1, 2), math.nan], ids=repr)
def test_a_time_is_a_number_of_units(at):
    engine = Engine(output := versions_of("map_table"))
    for call in calls(engine):
        with pytest.raises(InvalidArgument, match="expected a time, an int of time units, but got at="):
            call(output, at=at)


@each_table
def test_a_time_that_is_forgotten_is_refused_and_the_first_that_is_not_is_not(name):
    engine = Engine(output := versions_of(name))
    for time in range(1, 31):
        engine.push(t, Update(1, time), at=time)
    engine.advance(30)
    for call in calls(engine):
        with pytest.raises(InvalidArgument, match="expected a time from 20 on, as older versions are forgotten"):
            call(output, at=19)
        call(output, at=20)
    assert min(engine.versions(output)) == 20


def test_another_thread_is_refused():
    engine, found = Engine(output := versions_of("map_table")), []

    def read():
        for call in (engine.query, engine.versions, lambda table: engine.lookup(table, 1)):
            try:
                call(output)
            except WrongThread as error:
                found.append(str(error))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert len(found) == 3
    assert all("was called by" in text for text in found)


# ----------------------------------------------------------------------------------------------------- consistent reads


def refusing(left, right):
    if "bad" in (left, right):
        raise ValueError("bad")
    return left, right


@pytest.mark.parametrize(
    "layers", [retracting() | as_table("left"), versioned("left", "right") | retracting() | as_table("left")]
)
def test_after_a_push_that_failed_everything_is_read_as_before(layers):
    joined = correlate(
        left=t, right=u, where=lambda key_left, key_right: key_left == key_right, yields=refusing, restrict=layers
    )
    copy = map_table(t, itself)
    engine = Engine(copy, joined, reduce(joined, count, by=lambda pair: pair[0]))
    for key in (1, 2):
        engine.push(t, Update(key, "a"), at=key)
        engine.push(u, Update(key, "b"), at=key)
    tables = (t, u, copy, joined, engine.outputs[2])
    before, snapshot = [list(engine.query(table).items()) for table in tables], engine.snapshot()
    for source, time in ((t, 5), (u, 5), (t, 1)):
        with pytest.raises(ValueError, match="bad"):
            engine.push(source, Update(1, "bad"), at=time)
        assert [engine.query(table) for table in tables] == [dict(rows) for rows in before]
        engine._check_invariants()
    assert [event.value for event in engine.push(u, Delete(1), at=9)][:1] == [Delete(1)]
    again = Engine.restore(snapshot, *engine.outputs)
    again.push(u, Delete(1), at=9)
    assert [again.query(table) for table in tables] == [engine.query(table) for table in tables]


@pytest.mark.parametrize("make", [lambda: map_table(t, lambda v: 10 // v), lambda: correlate(
    left=t, right=t, where=lambda key_left, key_right: key_left == key_right,
    yields=lambda left, right: 10 // left, restrict=retracting() | as_table("left"),
)], ids=["gate", "join"])  # fmt: skip
def test_a_push_that_failed_leaves_the_same_snapshot(make):
    """SEMANTICS 1.12: memory, rows, … are as before."""
    engine = Engine(make())
    for key in (1, 2):
        engine.push(t, Update(key, 5))
    before, rows = engine.snapshot(), list(engine.query(t).items())
    with pytest.raises(ZeroDivisionError):
        engine.push(t, Update(1, 0))
    assert list(engine.query(t).items()) == rows
    assert engine.snapshot() == before


# ------------------------------------------------------------------------------------------------------- what it costs


@pytest.mark.parametrize("rows", [10, 1000])
@pytest.mark.parametrize("name", ["inner_join", "left_join", "outer_join", "foreign_join", "to_table"])
def test_a_lookup_visits_its_own_row_alone(name, rows):
    engine = Engine(output := KEPT[name]())
    for key in range(rows):
        for source in engine.inputs.values():
            engine.push(source, key if source is s else Update(key, key))
    before = visited(engine)
    assert engine.lookup(output, 5) in (5, (5, 5))
    assert engine.lookup(output, rows) is None
    assert visited(engine) - before <= 4


@pytest.mark.parametrize("rows", [10, 1000])
@pytest.mark.parametrize("options", [{}, {"restrict": versioned("x")}], ids=["newest", "versions"])
def test_a_lookup_runs_the_body_for_its_own_row_alone(rows, options):
    ran = []

    def body(value):
        ran.append(value)
        return str(value)

    engine = Engine(output := map_table(t, body, **options))
    for key in range(rows):
        engine.push(t, Update(key, key))
    ran.clear()
    assert engine.lookup(output, 5) == "5"
    assert engine.lookup(output, rows) is None
    if options:
        assert engine.lookup(output, 5, at=7) == "5"
    assert 1 <= len(ran) <= 2
    assert set(ran) == {5}


@pytest.mark.parametrize("call", ["query", "lookup", "versions"])
def test_a_body_that_reads_its_own_engine_is_refused_and_changes_nothing(call):
    """A read is between pushes; a body in the middle of one would see half of it."""
    arguments = {"query": (t,), "lookup": (t, 1), "versions": (t,)}[call]
    output = map_table(t, lambda v: getattr(engines[0], call)(*arguments) if v > 1 else v)
    engines = [Engine(output)]
    engines[0].push(t, Update(1, 1))
    with pytest.raises(InvalidArgument, match=f"{call}: expected a body that is pure but it reads its own engine"):
        engines[0].push(t, Update(1, 2))
    assert engines[0].query(output) == {1: 1}


@pytest.mark.parametrize("key", [math.nan, (math.nan, 1), None, (None, 1)])
def test_a_row_of_any_key_is_looked_up(key):
    """SEMANTICS 1.18: it is found again, be it not a number or null."""
    for output in (t, map_table(t, str), filter_table(t, lambda v: v > 0, restrict=versioned("x"))):
        engine = Engine(map_table(t, str) if output is t else output)
        engine.push(t, Update(key, 1))
        assert str(engine.lookup(output, key)) == "1"
        engine.push(t, Delete(key))
        assert engine.lookup(output, key, "none") == "none"


def test_a_key_that_cannot_be_hashed_is_refused_by_lookup():
    with pytest.raises(InvalidArgument, match="lookup: expected a key that can be hashed but got"):
        Engine(map_table(t, str)).lookup(t, [1])
