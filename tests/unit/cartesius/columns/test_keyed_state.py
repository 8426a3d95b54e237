"""A small batch touches the rows of the keys that come in it, and gives what it would give if all were looked at."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.batches import keyed_state, shelves, single_rows
from cartesius.columns.batches.keyed_state import KeyedState
from cartesius.columns.results import events_of
from cartesius.columns.stages.rows import Rows, joined
from restrictions import (
    affinely,
    aligning,
    at_most,
    earliest,
    key_by,
    most_recently,
    optionally,
    retracting,
    within,
    without,
)
from restrictions.basics.separation import momentarily
from restrictions.streams import interval_join
from restrictions.tables import inner_join, left_join, outer_join, to_table
from restrictions.windows import final, on_close, sliding, tumbling
from tests.laws.catalogue_tiers import often_by_key
from tests.unit.cartesius.columns import stream_traces, table_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cartesius.columns.stages.stages import Moment, Outcome, Stage, State

A, B, C = map(Reactive, "abc")
SAME = key_by(x="id", y="id")


def pair(restrict: Any, where: Any = None) -> Reactive:
    found: Reactive = correlate(x=A, y=B, where=where, yields=lambda x, y: (x, y.v), restrict=restrict)
    return found


STREAMS: dict[str, Callable[[], Reactive]] = {
    "near": lambda: pair(within(6, "x", "y"), lambda x, y: x.id == y.id),
    "near, with a condition": lambda: pair(SAME | within(4, "x", "y"), lambda x, y: x.v <= y.v),
    "interval join": lambda: interval_join(A, B, -1, 4, key="id"),
    "latest": lambda: pair(SAME | most_recently("x", "y")),
    "the two latest": lambda: pair(SAME | most_recently("x", "y", n=2), lambda x, y: x.v <= y.v),
    "the earliest": lambda: pair(SAME | earliest("x") | most_recently("y")),
    "latest, two keys": lambda: pair(SAME | key_by(x="v", y="v") | most_recently("x", "y")),
    "used once": lambda: pair(SAME | affinely("x", "y")),
    "the latest, used once": lambda: pair(SAME | most_recently("x", "y") | affinely("x", "y"), lambda x, y: x.v <= y.v),
    "the latest, used twice": lambda: pair(SAME | most_recently("x", n=3) | at_most(2, "x")),
    "in lock-step": lambda: pair(SAME | aligning("x", "y") | most_recently("x", "y")),
    "in lock-step, under a condition": lambda: pair(
        SAME | aligning("x", "y") | most_recently("x", "y"), lambda x, y: x.v <= y.v
    ),
    "in lock-step, used once": lambda: pair(SAME | aligning("x", "y") | affinely("x", "y")),
    "in lock-step, the two latest": lambda: pair(SAME | aligning("x", "y", limit=40) | most_recently("x", "y", n=2)),
    "the latest, or none": lambda: correlate(
        x=A,
        y=B,
        where=lambda x, y: x.v <= y.v,
        yields=lambda x, y: (x and x.v, y and y.v),
        restrict=retracting() | optionally("x", "y") | SAME | most_recently("x", "y"),
    ),
}
TIMED: dict[str, Callable[[], Reactive]] = {
    "near, used once": lambda: pair(SAME | within(4, "x", "y") | affinely("x", "y")),
    "near, or none": lambda: interval_join(A, B, -1, 4, key="id", how="left"),
    "near, or none, both": lambda: interval_join(A, B, 0, 3, key="id", how="full"),
    "near, or none, under a condition": lambda: pair(
        optionally("y") | SAME | within(4, "x", "y"), lambda x, y: x.v <= y.v
    ),
    "none after it": lambda: correlate(
        x=A, yields=lambda x: x.v, restrict=key_by(x="id", b="id") | without(B, after="x", within=3)
    ),
    "none after it, of any key": lambda: correlate(
        x=A, yields=lambda x: x.v, restrict=without(B, after="x", within=3) | key_by(x="id", b="id")
    ),
    "in windows that wait": lambda: pair(SAME | tumbling(8, report=on_close)),
    "in windows that wait and overlap": lambda: pair(
        SAME | sliding(26, 13, lateness=2, report=on_close) | most_recently("x", "y"), lambda x, y: x.v <= y.v
    ),
    "in windows of all keys that wait": lambda: pair(tumbling(8, lateness=2, report=final) | SAME | affinely("x", "y")),
    "in windows that wait, at most twice": lambda: pair(SAME | tumbling(8, report=on_close) | at_most(2, "y")),
}
"""Of these the clock decides."""
WINDOWED: dict[str, Callable[[], Reactive]] = {
    "all in windows": lambda: pair(SAME | tumbling(4)),
    "all in windows of all keys": lambda: pair(tumbling(4, lateness=3) | SAME, lambda x, y: x.v <= y.v),
    "the latest in windows": lambda: pair(SAME | tumbling(4, lateness=3) | most_recently("x", "y")),
    "the latest in windows that overlap": lambda: pair(sliding(6, 3) | SAME | most_recently("x", "y") | retracting()),
    "used once in windows": lambda: pair(SAME | tumbling(8) | affinely("x", "y")),
    "used once in windows, where equal": lambda: pair(tumbling(8) | affinely("x", "y"), lambda x, y: x.id == y.id),
    "used once in windows of all keys": lambda: pair(tumbling(8, lateness=2) | SAME | affinely("x", "y")),
    "the latest in windows that wait": lambda: pair(
        SAME | tumbling(4, lateness=3, report=on_close) | most_recently("x", "y")
    ),
    "the latest in windows that wait and overlap": lambda: pair(
        sliding(6, 3, report=on_close) | SAME | most_recently("x", "y") | retracting()
    ),
    "used once in windows, under a condition": lambda: pair(
        SAME | tumbling(8, lateness=2) | affinely("x", "y"), lambda x, y: x.v <= y.v
    ),
    "used twice in windows": lambda: pair(SAME | tumbling(8) | at_most(2, "x", "y")),
    "the three latest in windows, used twice, under a condition": lambda: pair(
        SAME | tumbling(4) | most_recently("x", "y", n=3) | at_most(2, "y"), lambda x, y: x.v <= y.v
    ),
    "used once in windows of all keys that overlap": lambda: pair(
        sliding(6, 3) | SAME | affinely("x", "y"), lambda x, y: x.v <= y.v
    ),
}
THREE: dict[str, Callable[[], Reactive]] = {
    "near": lambda: correlate(
        x=A,
        y=B,
        z=C,
        yields=lambda x, y, z: (x.v, y.v, z.v),
        restrict=key_by(x="id", y="id", z="id") | within(9, "x", "y", "z"),
    ),
    "two in lock-step, and the latest of a third": lambda: correlate(
        x=A,
        y=B,
        z=C,
        yields=lambda x, y, z: (x.v, y.v, z.v),
        restrict=key_by(x="id", y="id", z="id") | aligning("x", "y") | most_recently("x", "y", "z"),
    ),
    "the latest of the latest": lambda: correlate(
        x=pair(SAME | most_recently("x", "y")),
        z=C,
        yields=lambda x, z: (x, z),
        restrict=key_by(x=lambda x: x[0].id, z="id") | most_recently("x", "z"),
    ),
}
HELD = [(number, key, key, 0) for key in range(6) for number in range(3)]
FEW = st.lists(st.integers(1, 2), min_size=6, max_size=12)
TABLES: dict[str, Callable[..., Reactive]] = {
    "inner": inner_join,
    "left": left_join,
    "outer": outer_join,
    "three": table_traces.triple,
}


@pytest.fixture(autouse=True, scope="module")
def _looks_at_keys() -> Iterator[None]:
    """However little is held: in these tests that is little; and a push between batches is one of one row."""
    with often_by_key():
        yield


@given(st.sampled_from(sorted(STREAMS)), stream_traces.traces(2, most=60), stream_traces.cuts(), st.none() | st.just(3))
def test_streams_give_what_they_give_one_by_one(program, trace, cut, lateness):
    late = {} if "latest" in program or "earliest" in program else {"lateness": lateness}
    stream_traces.check(STREAMS[program], (A, B), trace, cut, **late)


@pytest.mark.parametrize("gates", [lambda: aligning("x", "y") | SAME, lambda: SAME | tumbling(8) | aligning("x", "y")])
@pytest.mark.parametrize("rest", [most_recently("x", "y"), most_recently("x", "y", n=2)])
@given(stream_traces.traces(2, most=18, ids=3), FEW)
def test_what_other_gates_hold_is_looked_at_whole(gates, rest, trace, cut):
    """Of gates over all keys, and in windows."""
    ways = [("many", 6), *(("many", n) for n in cut)]
    stream_traces.check(lambda: pair(gates() | rest), (A, B), [*[(0, n // 2, 2, 0) for n in range(6)], *trace], ways)


@given(st.sampled_from(sorted(TIMED)), stream_traces.traces(2, most=60), stream_traces.cuts(), st.sampled_from([0, 3]))
def test_what_is_due_is_looked_at_with_what_comes(program, trace, cut, lateness):
    stream_traces.check(TIMED[program], (A, B), trace, cut, lateness=lateness)


@given(
    st.sampled_from(sorted(WINDOWED)), stream_traces.traces(2, most=60), stream_traces.cuts(), st.sampled_from([0, 3])
)
def test_likewise_what_meets_in_windows(program, trace, cut, lateness):
    stream_traces.check(WINDOWED[program], (A, B), trace, cut, lateness=lateness)


BY_TIME = TIMED | WINDOWED | {name: make for name, make in STREAMS.items() if name.startswith(("near", "interval"))}
BY_TIME["interval join, of which some are due when they come"] = lambda: interval_join(A, B, 2, 4, key="id")


@pytest.mark.parametrize("program", sorted(BY_TIME))
@given(st.integers(0, 2**32), st.sampled_from([None, 0, 3]))
def test_the_clock_moves_between_batches(program, seed, lateness):
    draw = random.Random(seed)
    engine: Any = Engine(BY_TIME[program](), lateness=lateness)
    reference = Engine(BY_TIME[program](), tier="reference", lateness=lateness)
    now = 0
    for _ in range(draw.randint(4, 12)):
        here = []
        for _ in range(draw.randint(1, 3)):
            now += draw.randint(0, 2)
            key = None if draw.random() < 0.02 else draw.randint(0, 2)
            here.append((draw.randint(0, 1), key, draw.randint(0, 4), max(now - draw.choice([0, 0, 2]), 0)))
        expected = stream_traces.exactly(stream_traces.push(reference, (A, B), here))
        found = events_of(engine.push_many(stream_traces.batch_of((A, B), here)))
        assert stream_traces.exactly(found) == expected
        if draw.random() < 0.3:
            now += draw.randint(0, 9)
            assert stream_traces.exactly(engine.advance(now)) == stream_traces.exactly(reference.advance(now))
        assert engine.clock == reference.clock
        assert draw.random() < 0.8 or engine.next_deadline == reference.next_deadline  # to ask moves the state
    assert stream_traces.exactly(engine.close()) == stream_traces.exactly(reference.close())
    assert stream_traces.counts(engine.stats) == stream_traces.counts(reference.stats)


@pytest.mark.parametrize("seed", range(40))
def test_what_windows_that_are_freed_hold_is_gone_whatever_the_numbers_of_what_waits(seed):
    """What waits is numbered by steps, what meets by deliveries: of one number one of them stayed."""
    draw = random.Random(seed)
    make, lateness = WINDOWED["the latest in windows that wait"], draw.choice([0, 3])
    engine, reference = (Engine(make(), lateness=lateness, tier=tier) for tier in (None, "reference"))
    now = 0
    for _ in range(25):
        here = []
        for _ in range(draw.randint(1, 3)):
            now += draw.randint(0, 2)
            here.append((draw.randint(0, 1), draw.randint(0, 5), draw.randint(0, 4), max(now - draw.choice([0, 2]), 0)))
        expected = stream_traces.exactly(stream_traces.push(reference, (A, B), here))
        assert stream_traces.exactly(events_of(engine.push_many(stream_traces.batch_of((A, B), here)))) == expected
    assert stream_traces.counts(engine.stats) == stream_traces.counts(reference.stats)


@given(st.sampled_from(sorted(THREE)), stream_traces.traces(3, most=60), stream_traces.cuts())
def test_likewise_three_streams(program, trace, cut):
    stream_traces.check(THREE[program], (A, B, C), trace, cut)


@given(st.sampled_from(sorted(TABLES)), table_traces.traces(most=60, keys=5), stream_traces.cuts())
def test_tables_give_what_they_give_change_by_change(name, trace, cut):
    tables = [table_traces.LEFT, table_traces.RIGHT, to_table(table_traces.STREAM, key="key")]
    table_traces.check([TABLES[name](*tables[: 3 if name == "three" else 2])], trace, cut)


@pytest.mark.parametrize("name", STREAMS)
@given(stream_traces.traces(2, most=18, ids=6), FEW)
def test_few_events_come_where_much_is_held(name, trace, cut):
    ways = [("many", 12), *(("many", n) for n in cut)]
    stream_traces.check(STREAMS[name], (A, B), [*[(n % 2, n // 2, 2, 0) for n in range(12)], *trace], ways)


@given(table_traces.programs(), table_traces.traces(most=60, keys=4), stream_traces.cuts())
def test_programs_of_tables_give_what_they_give_change_by_change(tree, trace, cut):
    table_traces.check([table_traces.built(tree)], trace, cut)


@pytest.mark.parametrize("name", sorted(table_traces.BINARY | table_traces.TERNARY))
@given(table_traces.traces(most=18, keys=6), FEW)
def test_few_changes_come_where_much_is_held(name, trace, cut):
    tables = ("left", "right", "stream") if name in table_traces.TERNARY else ("left", "right")
    ways = [("many", len(HELD)), *(("many", n) for n in cut)]
    table_traces.check([table_traces.built((name, *tables))], [*HELD, *trace], ways)


def batch(source: Reactive, keys: Any, at: int = 1, v: Any = 0) -> dict[Any, Any]:
    rows = {"id": [*keys], "v": [v] * len(keys), "at": [at] * len(keys)}
    return {source: rows if not source.table else {"key": rows["id"], "value": rows["v"], "at": rows["at"]}}


def of_tables(name: str) -> tuple[Callable[[], Reactive], Reactive, Reactive]:
    left, right = table_traces.LEFT, table_traces.RIGHT
    return lambda: TABLES[name](left, right), left, right


CASES = {
    name: (make, A, B) for name, make in (STREAMS | WINDOWED).items() if not {"overlap", "wait"} & {*name.split()}
} | {f"tables, {name}": of_tables(name) for name in ("inner", "left", "outer")}


def by_key(engine: Any) -> KeyedState:
    (state,) = engine._compiled.states
    assert isinstance(state, KeyedState)
    return state


@pytest.mark.parametrize("name", CASES)
def test_a_small_batch_touches_its_keys_alone(name):
    make, left, right = CASES[name]
    engine: Any = Engine(make())
    held, few, batches = 30_000, 20, 200
    engine.push_many(batch(left, range(held)))
    kernel = type(engine._compiled.stages[0])
    run = kernel.run
    touched: list[int] = []
    moved: list[int] = []

    def running(stage: Stage, state: State, arriving: dict[int, Rows], moment: Moment) -> Outcome:
        touched.append(state.n_retained)
        return run(stage, state, arriving, moment)

    def joining(parts: list[Rows]) -> Rows:
        moved.append(sum(map(len, parts)) if len(parts) > 1 else 0)
        return joined(parts)

    as_it_is = mock.patch.multiple(keyed_state, LEAST=1 << 11, SMALL=8)
    given = 2 * few if "none" in name else few  # the row without a partner is taken back
    with as_it_is, mock.patch.object(shelves, "joined", joining), mock.patch.object(kernel, "run", running):
        for first in range(0, batches * few, few):
            assert len(engine.push_many(batch(right, range(first, first + few)))["value"]) == given
    windows = [one for one in by_key(engine)._shelves[2:3] if name in WINDOWED and one.held]  # of each key, or of all
    assert by_key(engine).n_retained - sum(one.held for one in windows) == held + batches * few * (
        -1 if "used once" in name else 1
    )
    assert all(one.held == held for one in windows)
    a_key = 1 + len(windows)
    first, _, *others = touched  # all is looked at, then the keys are found, then touched
    assert first == held * a_key
    assert max(others) == few * a_key
    assert sum(moved) < 20 * batches * few * a_key  # a row is moved when a part becomes some times as long


@pytest.mark.parametrize("name", TIMED)
def test_a_small_batch_touches_its_keys_and_what_is_due(name):
    """Also where all is due at one time."""
    engine: Any = Engine(TIMED[name](), lateness=0)
    held, few = 3_000, 10
    engine.push_many(batch(A, range(held), at=10))
    kernel = type(engine._compiled.stages[0])
    run = kernel.run
    touched: list[int] = []

    def running(stage: Stage, state: State, arriving: dict[int, Rows], moment: Moment) -> Outcome:
        touched.append(state.n_retained)
        return run(stage, state, arriving, moment)

    found = shelves.Chain.of

    def short(chain: shelves.Chain, codes: Any, is_held: Any) -> Any:
        numbers = found(chain, codes, is_held)
        assert not len(numbers) or np.bincount(chain._code[numbers]).max() <= 4  # each link is a step of its own
        return numbers

    as_it_is = mock.patch.multiple(keyed_state, LEAST=1 << 9, SMALL=8)
    with as_it_is, mock.patch.object(kernel, "run", running), mock.patch.object(shelves.Chain, "of", short):
        for time in (10, 11, 12):  # nothing is due
            engine.push_many(batch(B, range(time * few, (time + 1) * few), at=time))
        assert max(touched[1:]) <= 3 * few
        given = engine.push_many(batch(B, range(few), at=30))  # all is
        engine.push_many(batch(B, range(few), at=31))
    assert touched[-2] > held // 2
    assert touched[-1] <= 3 * few
    assert engine.stats.retained <= 4 * few
    is_told = "none" in name
    assert (given.num_rows > held // 2) == is_told


@pytest.mark.parametrize("deep", [0, 2, shelves.DEEP])
@given(st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 4), min_size=1, max_size=6))))
def test_the_rows_of_a_code_are_found_however_many_there_are(deep, calls):
    """By a chain, or, where that is long, all at once: what is put, and what is put away again."""
    chain, codes = shelves.Chain(), list[int]()
    held = np.zeros(0, np.int8)
    with mock.patch.object(shelves, "DEEP", deep):
        for puts, some in calls:
            if puts:
                chain.put(np.array(some), len(codes))
                codes += some
                held = np.append(held, np.ones(len(some), np.int8))
            else:
                chain.forget(np.unique(some))
                held[np.isin(np.array(codes, int), some)] = 0
            for code in range(6):
                expected = [number for number, one in enumerate(codes) if one == code and held[number]]
                assert sorted(chain.of(np.array([code]), held).tolist()) == expected


@pytest.mark.parametrize("held", [100, 30_000])
def test_pushes_between_batches_move_nothing_until_they_have_cost_as_much(held):
    engine: Any = Engine(STREAMS["latest"]())
    pushed = 0
    with mock.patch.multiple(keyed_state, LEAST=1 << 14, SMALL=8), mock.patch.multiple(single_rows, ROW=64, LOOK=64):
        engine.push_many(batch(A, range(held)))
        for time in range(2, 20):
            given = engine.push_many(batch(B, [3, 4], time))
            assert len(given) == 2
            assert [event.value for event in engine.push(B, {"id": 3, "v": time}, at=time)] == [
                ({"id": 3, "v": 0}, time)
            ]
            assert engine._compiled.states is not None
        while engine._compiled.states is not None:
            engine.push(B, {"id": 5, "v": 9}, at=30)
            pushed += 1
    assert held // 128 <= pushed <= held // 64 + 2


@pytest.mark.parametrize(
    "value", [{"id": 3, "v": "x"}, {"id": 3, "v": 2**70}, {"id": 3}, {"id": 3, "v": None}, (3, 1), 7]
)
def test_what_columns_do_not_hold_is_pushed_as_ever(value):
    engine, pushed = Engine(STREAMS["latest"]()), Engine(STREAMS["latest"]())
    for one in (engine, pushed):
        one.push_many(batch(A, range(9)))
    pushed._settle()
    assert told(engine, value) == told(pushed, value)
    assert told(engine, {"id": 4, "v": 5}) == told(pushed, {"id": 4, "v": 5})
    assert stream_traces.counts(engine.stats) == stream_traces.counts(pushed.stats)


def told(engine: Engine, value: Any) -> Any:
    try:
        return stream_traces.exactly(engine.push(B, value, at=5))
    except Exception as error:  # whatever it is
        return type(error), str(error), getattr(error, "__notes__", None)


def test_what_has_left_and_keys_that_are_gone_take_no_memory():
    engine: Any = Engine(STREAMS["near"](), lateness=0)
    for time in range(2_000):
        assert not events_of(engine.push_many(batch((A, B)[time % 2], [time, time + 1, time + 2], time, v=time)))[99:]
    state = by_key(engine)
    assert len(state._codes) < 500
    assert sum(shelf.n for shelf in state._shelves) < 500
    assert engine.stats.retained < 25


def test_keys_under_which_nothing_is_kept_take_no_memory():
    engine: Any = Engine(pair(SAME | most_recently("y") | momentarily("x")))
    engine.push_many(batch(B, range(9)))
    for key in range(1_000):
        engine.push_many(batch(A, [key, key + 1], key))
    assert len(by_key(engine)._codes) < 30


@pytest.mark.parametrize("values", [(1, 2.5), (1, "one"), (None, 3), ((1, 2), "a")], ids=repr)
def test_rows_of_other_types_lie_beside_what_is_there(values):
    engine: Any = Engine(STREAMS["latest"]())
    pushed = Engine(STREAMS["latest"]())
    for time, (source, v) in enumerate([(A, 0), (A, 1), (B, 2), *((A, value) for value in values), (B, 1), (A, 7)]):
        given = events_of(engine.push_many(batch(source, [1, 2, 3], time, v=v)))
        expected = [event for key in (1, 2, 3) for event in pushed.push(source, {"id": key, "v": v}, at=time)]
        assert stream_traces.exactly(given) == stream_traces.exactly(expected)
    assert stream_traces.counts(engine.stats) == stream_traces.counts(pushed.stats)
