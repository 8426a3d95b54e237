"""A changed rule goes on with the memory there is: as if it had been there from the beginning, where tables are."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import Delete, Engine, Reactive, correlate
from cartesius.errors import InvalidArgument, SnapshotMismatch
from dsl import RulePack, Source, require, when
from dsl.units import metres
from restrictions import affinely, as_table, key_by, most_recently, optionally, retracting, within
from restrictions.tables import map_table
from spark_bridge import migrate
from spark_bridge.state.bucket_states import BucketStates
from spark_bridge.state.checkpoints import objection
from spark_bridge.transport.arrivals import Input
from tests.unit.spark_bridge import bucket_rows
from tests.unit.spark_bridge.bucket_rows import Row, results, run, shown
from tests.unit.spark_bridge.test_bucket_states import buckets_of, left, make_rows, right
from tests.unit.spark_bridge.test_buckets import INPUTS, at_berth, at_ship, berth, ship

SHIPS = [at_ship(1, 7, "A"), at_berth(2, "A", 15.0), at_ship(3, 8, "B"), at_berth(4, "B", 3.0), at_ship(5, 9, "B")]


def moored(least, restrict=None, name="moored"):
    return correlate(
        ship=ship,
        berth=berth,
        where=lambda ship, berth: (ship.berth == berth.id) & (berth.depth > least),
        yields=lambda ship, berth: {"mmsi": ship.mmsi, "depth": berth.depth},
        restrict=retracting() | as_table("ship") if restrict is None else restrict,
        name=name,
    )


def program(reactive, inputs=INPUTS):
    """Buckets of a program, which may be a migration."""
    outputs = getattr(reactive, "outputs", (reactive,))
    made = buckets_of(*outputs, inputs=inputs)
    made.states = BucketStates(outputs, made.inputs, before=getattr(reactive, "before", {}))
    return made


def test_new_rules_are_applied_to_what_is_there():
    state = run(program(moored(10)), 0, None, SHIPS).state
    outcome = run(program(migrate(moored(1), moored(10))), 0, state, [])
    assert shown(outcome) == [
        ("update", 8, {"mmsi": 8, "depth": 3.0}, 5),
        ("update", 9, {"mmsi": 9, "depth": 3.0}, 5),
    ]
    assert shown(
        run(program(migrate(moored(20), moored(1))), 0, run(program(moored(1)), 0, None, SHIPS).state, [])
    ) == [
        ("delete", 7, None, 5),
        ("delete", 8, None, 5),
        ("delete", 9, None, 5),
    ]


def test_it_is_carried_over_once():
    state = run(program(moored(10)), 0, None, SHIPS).state
    carried = program(migrate(moored(1), moored(10)))
    state = run(carried, 0, state, []).state
    assert shown(run(carried, 0, state, [])) == []
    assert shown(run(program(moored(1)), 0, state, [])) == []  # it is the state of the new program
    with pytest.raises(SnapshotMismatch, match=r"spark_bridge\.migrate"):
        run(program(moored(10)), 0, state, [])


def test_a_bucket_may_still_be_two_programs_behind():
    oldest, older = (run(program(moored(least)), 0, None, SHIPS).state for least in (20, 10))
    carried = program(migrate(moored(1), moored(10), moored(20)))
    assert [len(shown(run(carried, 0, state, []))) for state in (oldest, older)] == [3, 2]


rows = st.lists(
    st.one_of(
        st.tuples(st.just("ship"), st.integers(1, 4), st.sampled_from("AB")),
        st.tuples(st.just("berth"), st.sampled_from("AB"), st.sampled_from([1.0, 5.0, 12.0])),
    ),
    max_size=20,
)


@settings(max_examples=40)
@given(rows, rows, st.sampled_from([0, 4, 11]), st.sampled_from([0, 4, 11]))
def test_tables_are_those_of_a_program_that_was_there_from_the_beginning(first, then, old, new):
    def pushed(engine, some, time):
        out = []
        for number, (source, key, value) in enumerate(some):
            row = {"mmsi": key, "berth": value} if source == "ship" else {"id": key, "depth": value}
            out += engine.push(engine.inputs[source], row, at=time + number)
        return out

    fresh = Engine(moored(new))
    pushed(fresh, first, 0)
    there = fresh.query(fresh.outputs[0])
    expected = [
        ("delete", event.value.key, None, event.end)
        if isinstance(event.value, Delete)
        else ("update", event.value.key, dict(event.value.value), event.end)
        for event in pushed(fresh, then, 100)
    ]

    def as_rows(some, time):
        return [
            at_ship(time + n, key, value) if source == "ship" else at_berth(time + n, key, value)
            for n, (source, key, value) in enumerate(some)
        ]

    state = run(program(moored(old)), 0, None, as_rows(first, 0)).state
    carried = program(migrate(moored(new), moored(old)))
    outcome = run(carried, 0, state, [])
    was = Engine(moored(old))
    pushed(was, first, 0)
    known = was.query(was.outputs[0])
    for kind, key, value, _ in shown(outcome):
        if kind == "update":
            known[key] = value
        else:
            del known[key]
    assert known == there
    assert shown(run(carried, 0, outcome.state, as_rows(then, 100))) == expected


def test_results_of_a_stream_hold_from_the_next_event_on():
    def pairs(least):
        return correlate(
            left=left,
            right=right,
            where=lambda left, right: left.n >= least,
            yields=lambda left, right: {"l": left.n, "r": right.n},
            restrict=key_by(left="k", right="k") | most_recently("left", "right"),
            name="pairs",
        )

    inputs = buckets_of(pairs(0)).inputs
    call, more = make_rows(1, 80), [attrs.evolve(row, time=row.time + 100) for row in make_rows(2, 80)]
    old, new = program(pairs(0), inputs), program(migrate(pairs(5), pairs(0)), inputs)
    state = run(old, 0, None, call).state
    assert results(run(new, 0, state, [])) == []
    found, without = results(run(new, 0, state, more)), results(run(old, 0, state, more))
    assert found == [row for row in without if row[3]["l"] >= 5]
    assert 0 < len(found) < len(without)


vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, destination=str)
pier = Source("pier", key="id", id=str, depth=metres)
LENGTHS = t.StructType([t.StructField(name, kind) for name, kind in (
    ("mmsi", t.LongType()), ("draught", t.DoubleType()), ("length", t.DoubleType()), ("destination", t.StringType()),
)])  # fmt: skip
DEPTHS = t.StructType([t.StructField("id", t.StringType()), t.StructField("depth", t.DoubleType())])
HARBOUR = (
    Input("vessel", LENGTHS, tuple(LENGTHS.names), True, "mmsi", is_split=True),
    Input("pier", DEPTHS, tuple(DEPTHS.names), True, "id"),
)
BY_COUNT = {"table": lambda pack: pack.table(), "warnings": lambda pack: pack.warnings()}


def pack(requirements):
    """A rule pack with the first of three requirements."""
    made = RulePack("port", subject=vessel, links=[pier.id == vessel.destination])
    with made:
        require(pier.depth - vessel.draught >= 1 * metres, name="clearance")
        if requirements > 1:
            require(vessel.length <= 100 * metres, name="length")
        if requirements > 2:
            with when(vessel.draught >= 5 * metres):
                require(pier.depth >= 9 * metres, name="depth")
    return made


def some_rows(some, time):
    for number, (source, key, value) in enumerate(some):
        if source == "vessel":
            columns = {"mmsi": key, "draught": float(value % 9), "length": 20.0 * value, "destination": "AB"[value % 2]}
        else:
            columns = {"id": "AB"[key % 2], "depth": float(value)}
        yield Row(0, time + number, ("vessel", "pier").index(source), columns)


def meaning(because):
    """What failed, and what is missing: by that verdicts differ."""
    reasons = list(because)
    failed = {name for name, missing in reasons if not missing}
    return sorted(failed), sorted({part for _, missing in reasons for part in missing})


def over_harbour(reactive, on_error="fail"):
    """Buckets of a pack, which may be a migration."""
    outputs = getattr(reactive, "outputs", (reactive,))
    made = bucket_rows.buckets_of(*outputs, inputs=HARBOUR)
    made.states = BucketStates(outputs, HARBOUR, before=getattr(reactive, "before", {}), on_error=on_error)
    return made


calls = st.lists(
    st.tuples(st.sampled_from(["vessel", "vessel", "pier"]), st.integers(1, 5), st.integers(1, 12)), max_size=20
)


def test_a_rule_that_raises_on_what_came_when_it_could_be_undecided_is_mended():
    texts = Source("vessel", key="mmsi", mmsi=int, draught=metres, length=metres, destination=metres)  # no metres come
    raising, mended = (RulePack("port", subject=texts) for _ in range(2))
    with raising:
        require(texts.destination <= 5 * metres, name="raises")
    with mended:
        require(texts.length <= 100 * metres, name="length")
    ships = [*some_rows([("vessel", 1, 9)], 0)]
    state = bucket_rows.run(over_harbour(raising.table(), "unknown"), 0, None, ships).state
    outcome = bucket_rows.run(over_harbour(migrate(mended.table(), raising.table())), 0, state, [])
    assert [value["status"] for _, _, value, _ in shown(outcome)] == ["restricted"]


@settings(max_examples=30)
@given(calls, calls, st.integers(1, 3), st.integers(1, 3), st.sampled_from(sorted(BY_COUNT)))
def test_a_new_requirement_of_a_rule_pack(first, then, old, new, output):
    check_a_new_requirement(first, then, old, new, output)


def test_in_which_order_warnings_of_one_step_come_is_not_carried_over():
    """They come by when a verdict changed last: under the new rules that of 1 did later, which no memory can tell."""
    first, then = [("vessel", 1, 6), ("vessel", 2, 1), ("vessel", 1, 1)], [("pier", 1, 1)]
    for output in BY_COUNT:
        check_a_new_requirement(first, then, 1, 2, output)


def check_a_new_requirement(first, then, old, new, output):
    """From then on it says, step by step, what an engine says that had the requirement from the beginning.

    The table of verdicts also in its order; a table that is made of it in that of its keys (SEMANTICS 1.2, 1.3: a step
    tells the newest first, and how new a verdict is depends on the rules that were there before).
    """
    before, after = BY_COUNT[output](pack(old)), BY_COUNT[output](pack(new))
    fresh, was = Engine(BY_COUNT[output](pack(new))), Engine(BY_COUNT[output](pack(old)))

    def pushed(engine, some, time):
        return [
            (event.value.key, None if isinstance(event.value, Delete) else event.value.value)
            for row in some_rows(some, time)
            for event in engine.push(engine.inputs[HARBOUR[row.source].name], row.columns, at=row.time)
        ]

    def told(outcome):
        return [
            (key, value and (value["status"], meaning((one["name"], one["missing"]) for one in value["because"])))
            for _, key, value, _ in shown(outcome)
        ]

    def flat(changes):
        return [
            (key, verdict and (verdict.status, meaning((one.name, one.missing) for one in verdict.because)))
            for key, verdict in changes
        ]

    for engine in (fresh, was):
        pushed(engine, first, 0)
    state = run(over_harbour(before), 0, None, list(some_rows(first, 0))).state
    carried = over_harbour(migrate(after, before))
    outcome = run(carried, 0, state, [])
    known = dict(flat(was.query(was.outputs[0]).items()))
    for key, verdict in told(outcome):
        assert known.get(key) != verdict  # nothing is told twice
        known[key] = verdict
    assert known == dict(flat(fresh.query(fresh.outputs[0]).items()))
    state = outcome.state
    for number, one in enumerate(then):
        outcome = run(carried, 0, state, list(some_rows([one], 100 + number)))
        state, mine, theirs = outcome.state, told(outcome), flat(pushed(fresh, [one], 100 + number))
        in_order = sorted if output == "warnings" else list
        assert in_order(mine) == in_order(theirs)


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (
            moored(1, optionally("berth") | retracting() | as_table("ship")),
            r"the restriction optionally\('berth'\) is new",
        ),
        (moored(1, name="other"), "the outputs were 'moored' and are 'other'"),
        (map_table(moored(1), lambda row: row), "the outputs were"),
    ],
)
def test_another_memory_is_refused(new, told):
    with pytest.raises(InvalidArgument, match=f"so that the same is in memory, but.*{told}"):
        migrate(new, moored(1))


@pytest.mark.parametrize("new", [moored(9, retracting()), moored(1, name="other"), moored(9)])
def test_a_state_is_sent_to_migrate_only_if_that_takes_it(new):
    """By what a checkpoint says as a query is started, and by what a state says by itself."""
    state = run(program(moored(1)), 0, None, SHIPS).state
    with pytest.raises(SnapshotMismatch) as caught:
        run(program(new), 0, state, [])
    before, now = (program(one).states.note(waits=True, has_watermark=True) for one in (moored(1), new))
    try:
        migrate(new, moored(1))
        way = "; carry it over with spark_bridge.migrate"
    except InvalidArgument:
        way = "; write outputs, inputs and restrictions as they were (spark_bridge.migrate is for other rules alone)"
    assert f"{way}, run the program that wrote it, or" in str(caught.value)
    assert objection(before, now, {}).endswith(way)


def test_results_that_are_part_of_the_state_are_refused():
    def taken_back(n):
        return correlate(left=left, right=right, restrict=within(n and 9, "left", "right") | retracting(),
                         yields=lambda left, right: left.n + n, name="sums")  # fmt: skip

    with pytest.raises(InvalidArgument, match="'sums' takes results back"):
        migrate(taken_back(1), taken_back(2))

    def kept(n):
        return correlate(left=left, right=right, restrict=affinely("left", "right") | as_table(lambda left: left.k),
                         yields=lambda left, right: left.n + n, name="sums")  # fmt: skip

    with pytest.raises(InvalidArgument, match="'sums' keeps what it has given"):
        migrate(kept(1), kept(2))


def test_results_that_another_correlation_keeps_are_refused():
    def counted(n):
        sums = correlate(left=left, yields=lambda left: left.n + n, restrict=most_recently("left"), name="sums")
        return correlate(x=sums, yields=lambda x: x, restrict=most_recently("x"), name="z")

    with pytest.raises(InvalidArgument, match="'sums' gives results that another correlation keeps"):
        migrate(counted(1), counted(2))


def test_rules_that_change_one_on_top_of_the_other_are_refused():
    def shallow(least, most):
        return correlate(
            x=moored(least),
            where=lambda x: x.depth < most,
            yields=lambda x: x.depth,
            restrict=retracting() | as_table("x"),
            name="shallow",
        )

    assert len(migrate(shallow(1, 20), shallow(1, 30)).before) == 1
    with pytest.raises(InvalidArgument, match="'moored' gives rows to 'shallow', whose rules change, too: change one"):
        migrate(shallow(1, 20), shallow(2, 30))


def test_what_is_no_program():
    with pytest.raises(InvalidArgument, match=r"write migrate\(new, old\)"):
        migrate(moored(1))
    with pytest.raises(InvalidArgument, match="expected programs"):
        migrate(moored(1), "old")  # type: ignore[arg-type]  # that is what it tests
    with pytest.raises(InvalidArgument, match="expected programs"):
        migrate([], Reactive("x"))


def test_rows_that_wait_are_judged_by_the_new_rules():
    """Carried over between their arrival and the moment when the clock passes them."""
    state = run(program(moored(10)), 0, None, SHIPS, 0, holds=True).state
    carried = program(migrate(moored(1), moored(10)))
    outcome = run(carried, 0, state, [], 5, holds=True)
    assert [row[:3] for row in shown(outcome)] == [
        ("update", 7, {"mmsi": 7, "depth": 15.0}),
        ("update", 8, {"mmsi": 8, "depth": 3.0}),
    ]
    assert [row[1] for row in shown(run(program(moored(1)), 0, outcome.state, [], 6, holds=True))] == [9]
