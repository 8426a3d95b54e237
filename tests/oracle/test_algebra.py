"""The algebra of tables: four readings of a random program agree after every push; many tables in one pattern."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import as_table, most_recently, retracting
from restrictions.streams import combine_latest, map_
from restrictions.tables import (
    foreign_join,
    inner_join,
    map_table,
    reduce,
)
from tests.oracle.algebra_checks import as_mapping, emitted, key_by, values
from tests.oracle.algebra_draws import IN_SQL, build, build_each, cases, library_group, programs, traces
from tests.oracle.algebra_oracle import (
    DictProgram,
    DictTotals,
    ForeignJoining,
    FromScratch,
    Joining,
    apply,
    exact,
    is_same,
)
from tests.oracle.algebra_programs import (
    Mapped,
    Source,
    sources,
)
from tests.oracle.algebra_sql import as_floats, duckdb_rows


def check_changes(table, changes):
    """The law (SEMANTICS 2.8): each changed key once, no change without a change; then apply them."""
    assert len({change.key for change in changes}) == len(changes)
    for change in changes:
        if isinstance(change, Delete):
            del table[change.key]
        else:
            assert change.key not in table or exact(table[change.key]) != exact(change.value)
            table[change.key] = change.value


# ------------------------------------------------------------------------------------------- the references agree


@given(case=cases())
def test_the_plain_operators_give_what_a_full_evaluation_gives(case):
    program, trace = case
    plain, scratch, table = DictProgram(program), FromScratch(program), {}
    for push in trace:
        check_changes(table, plain.push(*push))
        assert is_same(table, plain.table)
        assert is_same(table, scratch.push(*push))


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")  # for tables of four rows
        yield connection


@settings(max_examples=25)
@given(case=cases(kinds=IN_SQL))
def test_the_plain_joins_give_what_a_database_gives(database, case):
    program, trace = case
    plain = DictProgram(program)
    for push in trace:
        plain.push(*push)
        present = {number: plain.tables[Source(number)] for number in sources(program)}
        found = duckdb_rows(database, program, present)
        assert {key: as_floats(value) for key, value in found.items()} == {
            key: as_floats(value) for key, value in plain.table.items()
        }


def test_the_thesis_s_slips_are_repaired():
    foreign = ForeignJoining(lambda k: k, "inner")
    messages = [*foreign.right(Update(1, "x")), *foreign.left(Update("a", 1)), *foreign.left(Update("a", 2))]
    assert messages == [Update("a", (1, "x")), Delete("a")]  # not left stale
    assert [*foreign.left(Delete("b")), *foreign.right(Delete(7))] == []
    for how in ("inner", "left", "outer"):
        join = Joining(how)
        list(join.right(Update("a", "x")))
        assert list(join.left(Delete("a"))) == []


# ------------------------------------------------------------------------------------------- and so does the library


@given(case=cases())
def test_a_program_changes_at_every_push_as_the_plain_operators_do(case):
    program, trace = case
    inputs, output = build(program)
    engine, plain, table = Engine(output), DictProgram(program), {}
    for source, change in trace:
        changes = values(engine.push(inputs[source], change))
        engine._check_invariants()
        assert as_mapping(changes) == as_mapping(plain.push(source, change))
        check_changes(table, changes)
        assert is_same(table, plain.table)
        assert is_same(engine.query(output), plain.table)


@settings(max_examples=25)
@given(case=cases(kinds=IN_SQL))
def test_joins_have_the_rows_that_a_database_finds(database, case):
    program, trace = case
    inputs, output = build(program)
    engine = Engine(output)
    present = {number: {} for number in inputs}
    for source, change in trace:
        engine.push(inputs[source], change)
        apply(present[source], change)
        found = duckdb_rows(database, program, present)
        assert {key: as_floats(value) for key, value in found.items()} == {
            key: as_floats(value) for key, value in engine.query(output).items()
        }


@given(case=cases())
def test_every_table_of_a_program_can_be_queried_between_pushes(case):
    program, trace = case
    built, plain = build_each(program), DictProgram(program)
    engine = Engine(*(table for node, table in built.items() if not isinstance(node, Source)))
    for source, change in trace:
        engine.push(built[Source(source)], change)
        plain.push(source, change)
        aside = [event.value for event, _, _ in engine.late]
        for node, table in built.items():
            found, rows = engine.query(table), plain.tables[node]
            if isinstance(node, Source):  # what is set aside is nowhere, unless somebody else is bound to it
                left = rows.keys() - found.keys()
                assert all(Update(key, rows[key]) in aside for key in left)
                rows = {key: row for key, row in rows.items() if key not in left}
            assert is_same(found, rows)


@given(data=st.data())
def test_a_reduction_emits_a_total_for_each_step_that_changes_its_table(data):
    group = data.draw(st.sampled_from(["items", "count", "sum", "mean"]))
    program = Mapped(data.draw(programs()), "ints" if group == "items" else "whole")
    inputs, table = build(program)
    output = reduce(table, library_group(group))
    engine, plain = Engine(output), DictTotals(program, group)
    for source, change in data.draw(traces(program)):
        assert exact(values(engine.push(inputs[source], change))) == exact(plain.push(source, change))


# ---------------------------------------------------------------------------------- many tables in one pattern


ints = st.integers(0, 2)
THREE = st.lists(
    st.tuples(ints, st.one_of(st.builds(Update, ints, st.sampled_from([0, 1, 2, None])), st.builds(Delete, ints))),
    max_size=16,
)


@given(trace=THREE)
def test_a_join_of_three_tables_is_one_pattern(trace):
    inputs = a, b, c = [Reactive(name, table=True) for name in "abc"]
    pattern = correlate(
        x=a,
        y=b,
        z=c,
        where=lambda x, y, z, *, key_x, key_y, key_z: (key_x == key_y) & (key_y == key_z),
        yields=lambda x, y, z: (x, y, z),
        restrict=retracting() | as_table("x"),
    )
    chain = inner_join(inner_join(a, b), c)
    engine, rows, table = Engine(pattern, chain), [{}, {}, {}], {}
    for number, change in trace:
        events = engine.push(inputs[number], change)
        apply(rows[number], change)
        expected = {key: tuple(row[key] for row in rows) for key in rows[0] if key in rows[1] and key in rows[2]}
        check_changes(table, [event.value for event in events if event.reactive == pattern.name])
        assert is_same(table, expected)
        assert is_same({key: (x, y, z) for key, ((x, y), z) in engine.query(chain).items()}, expected)


SENSORS = {0: 0.0, 1: 4.0, 2: 9.0}
"""Where each sensor is."""


def nearest_sensor(position):
    return min(SENSORS, key=lambda sensor: abs(SENSORS[sensor] - position))


def placed(trace):
    """The same trace, but berths (the second table) have positions."""
    positions = {0: 1.0, 1: 3.0, 2: 8.0, None: 5.0}
    return [
        (n, Update(change.key, positions[change.value])) if n == 1 and isinstance(change, Update) else (n, change)
        for n, change in trace
    ]


@given(trace=THREE.map(placed))
def test_a_chain_of_foreign_keys_is_one_pattern(trace):
    """Vessel → berth → its nearest sensor → tide; the sensor is made of the berth, so both change in one step."""
    inputs = vessels, berths, tides = [Reactive(name, table=True) for name in ("vessels", "berths", "tides")]
    nearest = map_table(berths, nearest_sensor)
    pattern = correlate(
        vessel=vessels,
        berth=berths,
        sensor=nearest,
        tide=tides,
        where=lambda vessel, berth, sensor, tide, *, key_berth, key_sensor, key_tide: (
            (vessel == key_berth) & (key_berth == key_sensor) & (sensor == key_tide)
        ),
        yields=lambda vessel, berth, sensor, tide: (vessel, berth, sensor, tide),
        restrict=retracting() | as_table("vessel"),
    )
    by_joins = foreign_join(vessels, foreign_join(nearest, tides, on=lambda sensor: sensor), on=lambda vessel: vessel)
    engine, rows, table = Engine(pattern, by_joins), [{}, {}, {}], {}
    for number, change in trace:
        events = engine.push(inputs[number], change)
        apply(rows[number], change)
        expected = {
            key: (berth, position, sensor, tide)
            for (key, berth), (at, position), (sensor, tide) in product(*(row.items() for row in rows))
            if berth == at and nearest_sensor(position) == sensor
        }
        check_changes(table, [event.value for event in events if event.reactive == pattern.name])
        assert is_same(table, expected)
        assert is_same(engine.query(pattern), expected)
        shown = {key: (berth, sensor, tide) for key, (berth, _, sensor, tide) in expected.items()}
        found = {key: (berth, sensor, tide) for key, (berth, (sensor, tide)) in engine.query(by_joins).items()}
        assert is_same(found, shown)


# ------------------------------------------------------------------------------------------------ Figure 3.1 (B6)


vessel, tide = Reactive("vessel", table=True), Reactive("tide")
FIGURE_3_1: list[tuple[Reactive, Any]] = [(tide, 2), (vessel, Update("A", 9)), (vessel, Update("B", 9)), (tide, -2)]


def test_figure_3_1_of_two_streams_the_last_ship_alone_is_warned():
    draught = Reactive("draught")
    allowed = map_(combine_latest(draught, tide), lambda pair: pair[0] - pair[1] < 10)
    assert emitted(allowed, (tide, 2), (draught, 9), (draught, 9), (tide, -2)) == [[], [True], [True], [False]]


@pytest.mark.parametrize("spelling", ["a pattern", "joins"])
def test_figure_3_1_of_a_table_of_ships_both_are_warned(spelling):
    if spelling == "a pattern":
        allowed = correlate(
            ship=vessel,
            height=tide,
            yields=lambda ship, height: ship - height < 10,
            restrict=retracting() | most_recently("height") | as_table("ship"),
        )
    else:  # L16: join and map
        only_tide = key_by(tide, lambda height: "tide")
        allowed = map_table(
            foreign_join(vessel, only_tide, on=lambda draught: "tide"), lambda pair: pair[0] - pair[1] < 10
        )
    steps = emitted(allowed, *FIGURE_3_1)
    assert steps[:3] == [[], [Update("A", True)], [Update("B", True)]]
    assert as_mapping(steps[3]) == as_mapping([Update("A", False), Update("B", False)])
    steps = emitted(allowed, *FIGURE_3_1, (vessel, Delete("A")), (tide, 2))
    assert steps[4:] == [[Delete("A")], [Update("B", True)]]  # a ship that has left is not warned any more
