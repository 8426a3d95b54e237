"""Between batches the clock moves, and an engine tells what it holds and waits for, while columns own the state."""

import random
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, Update
from cartesius.columns.batches import keyed_state, single_rows
from cartesius.columns.results import events_of
from restrictions.tables import aggregate, foreign_join, left_join, map_table, sum_
from restrictions.windows import final, on_close, session, sliding, tumbling
from tests.conservation import agree
from tests.unit.cartesius.columns import stream_traces, table_traces, test_keyed_state
from tests.unit.cartesius.columns.test_keyed_state import TIMED, WINDOWED

A, B = test_keyed_state.A, test_keyed_state.B
LOCKSTEP = {name: make for name, make in test_keyed_state.STREAMS.items() if "lock-step" in name}
TOTALS = {
    "totals": lambda: aggregate(A, sum_.of("v"), by="id", restrict=tumbling(8)),
    "totals that wait": lambda: aggregate(A, sum_.of("v"), by="id", restrict=sliding(6, 3, report=on_close)),
    "totals that wait for the end": lambda: aggregate(A, sum_.of("v"), restrict=tumbling(8, lateness=2, report=final)),
    "totals of sessions": lambda: aggregate(A, sum_.of("v"), by="id", restrict=session(3)),
}
PROGRAMS = {
    **{name: make for name, make in test_keyed_state.STREAMS.items() if name not in LOCKSTEP},
    **TIMED,
    **WINDOWED,
    **TOTALS,
}


@pytest.fixture(autouse=True, scope="module")
def _free_of_rent():
    """However little is held, columns keep it."""
    with mock.patch.multiple(single_rows, ROW=0, LOOK=1 << 60):
        yield


def _events(draw: random.Random, n: int, since: int) -> list[tuple[int, int, int, int]]:
    return [(draw.randrange(2), draw.randrange(4), draw.randrange(9), since + step // 2) for step in range(n)]


@pytest.mark.parametrize("lateness", [None, 0, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_decide_and_tell(name: str, lateness: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if lateness != 3:  # by key
        monkeypatch.setattr(keyed_state, "LEAST", 0)
        monkeypatch.setattr(keyed_state, "SMALL", 1)
    draw, program = random.Random(f"between batches/{name}"), PROGRAMS[name]()
    engine: Any
    engine, reference = (Engine(program, lateness=lateness, tier=tier) for tier in (None, "reference"))
    inputs = [one for one in (A, B) if one in engine.inputs.values()]
    for turn in range(3):
        events = [event for event in _events(draw, 120 - 90 * (turn > 0), 70 * turn) if event[0] < len(inputs)]
        expected = stream_traces.exactly(stream_traces.push(reference, inputs, events))
        found = events_of(engine.push_many(stream_traces.batch_of(inputs, events)))
        assert stream_traces.exactly(found) == expected
        for clock in (70 * turn + 58, 70 * turn + 64):
            assert engine._compiled.states is not None
            assert engine.stats == reference.stats
            assert agree(reference.stats.fates, engine.stats.fates)
            assert engine.next_deadline == reference.next_deadline
            assert stream_traces.exactly(engine.advance(clock)) == stream_traces.exactly(reference.advance(clock))
            assert engine.clock == reference.clock
    assert engine._compiled.states is not None
    assert stream_traces.exactly(engine.close()) == stream_traces.exactly(reference.close())


@given(
    table_traces.programs(),
    table_traces.traces(most=40, keys=4),
    st.lists(st.integers(1, 12), max_size=5),
    st.randoms(),
    st.booleans(),
)
def test_tables_are_read_as_columns_own_them(tree, trace, cuts, draw, is_pulled):
    output = table_traces.built(tree)
    is_pulled &= output.table
    outputs, pulled = ((), (output,)) if is_pulled else ((output,), ())
    engine, reference = Engine(*outputs, pulled=pulled), Engine(*outputs, pulled=pulled, tier="reference")
    for many in [*cuts, len(trace)]:
        some, trace = trace[:many], trace[many:]
        table_traces.push_many(engine, some)
        table_traces.push(reference, some)
        for table in draw.sample([output, *engine.inputs.values()], 2):
            if not table.table:
                continue
            assert draw.random() < 0.5 or engine.stats == reference.stats
            for key in (*draw.sample(range(4), 2), *draw.sample([None, "1", 1.0, True, (0, 1), float("nan")], 2)):
                assert engine.lookup(table, key, "none") == reference.lookup(table, key, "none")
                assert not engine._journal
            if draw.random() < 0.3:
                assert engine.query(table) == reference.query(table)
                assert list(engine.query(table)) == list(reference.query(table))
    assert engine.stats == reference.stats
    assert agree(reference.stats.fates, engine.stats.fates)


STAFF = Reactive("staff", table=True)
BOSSES = foreign_join(STAFF, STAFF, on=lambda row: row.boss, how="left")
OF_THEMSELVES = {
    "bosses": BOSSES,
    "known bosses": foreign_join(STAFF, STAFF, on=lambda row: row.boss),
    "their bosses": foreign_join(BOSSES, STAFF, on=lambda pair: pair[0].boss, how="left"),
    "bosses, changed": map_table(BOSSES, lambda pair: (pair[1], 1)),
    "both": left_join(STAFF, STAFF),
}


@pytest.mark.parametrize("name", OF_THEMSELVES)
def test_a_table_that_names_itself_is_read_as_columns_own_it(name):
    draw, program = random.Random(f"themselves/{name}"), OF_THEMSELVES[name]
    engine: Any
    engine, reference = (Engine(program, tier=tier) for tier in (None, "reference"))
    for turn in range(6):
        keys = [draw.randrange(6) for _ in range(4)]
        rows = {"key": keys, "boss": [draw.randrange(7) for _ in keys], "at": [turn] * len(keys)}
        for each in (engine, reference):
            each.push_many({STAFF: rows})
        assert engine._compiled.states is not None
        for key in range(7):
            assert engine.lookup(program, key, "none") == reference.lookup(program, key, "none")


@pytest.mark.parametrize("name", TOTALS)
def test_totals_are_read_as_columns_own_them(name):
    draw, program = random.Random(f"read/{name}"), TOTALS[name]()
    engine: Any
    engine, reference = (Engine(program, lateness=2, tier=tier) for tier in (None, "reference"))
    keys: set[Any] = set()
    for turn in range(4):
        events = [(0, *rest) for _, *rest in _events(draw, 30, 12 * turn)]
        found = events_of(engine.push_many(stream_traces.batch_of([A], events)))
        assert stream_traces.exactly(found) == stream_traces.exactly(stream_traces.push(reference, [A], events))
        keys |= {event.value.key for event in found}
        for key in [*sorted(keys, key=repr), 1, None, (1,), ()]:
            assert engine.lookup(program, key, "none") == reference.lookup(program, key, "none")
        assert engine.query(program) == reference.query(program)
    assert engine._compiled.states is not None
    assert engine.stats == reference.stats


READS = {
    "query": lambda engine, table: engine.query(table),
    "lookup": lambda engine, table: engine.lookup(table, 2),
    "snapshot": lambda engine, table: Engine.restore(engine.snapshot(), table).query(table),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("name", ["bosses", "both"])
def test_who_is_interrupted_as_it_reads_may_read_again(name, read):
    program = OF_THEMSELVES[name]
    engine: Any
    engine, twin = Engine(program), Engine(program)
    for turn in range(3):
        for each in (engine, twin):
            each.push_many({STAFF: {"key": [1, 2, turn], "boss": [turn, 1, 2], "at": [turn] * 3}})
        (stage,) = engine._compiled.stages
        with mock.patch.object(stage, "store", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            READS[read](engine, program)
        assert READS[read](engine, program) == READS[read](twin, program)
    assert engine.push(STAFF, Update(1, {"boss": 1})) == twin.push(STAFF, Update(1, {"boss": 1}))
    assert engine.snapshot() == twin.snapshot()
