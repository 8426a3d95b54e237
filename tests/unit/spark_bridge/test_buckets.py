"""One bucket, without Spark: order, state, late rows, dead letters, and nothing left behind."""

from __future__ import annotations

import gc
import itertools
import json

import greenlet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.cloudpickle import dumps, loads
from pyspark.sql import types as t

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import SnapshotMismatch
from restrictions import aligning, as_table, cartesian, key_by, most_recently, retracting, tumbling
from restrictions.tables import aggregate, count
from spark_bridge.columns.schemas import result_schema
from spark_bridge.columns.values import to_arrow
from spark_bridge.running.buckets import Buckets
from spark_bridge.transport.arrivals import Input
from tests.unit.spark_bridge.bucket_rows import Row, layout_of, letters, results, run, shown
from tests.unit.spark_bridge.bucket_rows import buckets_of as program_of
from tests.unit.spark_bridge.typed_values import typed

SHIP = t.StructType([t.StructField("mmsi", t.LongType()), t.StructField("berth", t.StringType())])
BERTH = t.StructType([t.StructField("id", t.StringType()), t.StructField("depth", t.DoubleType())])
GONE = t.StructType([*BERTH, t.StructField("gone", t.BooleanType())])
ship = Reactive("ship", table=True, key="mmsi")
berth = Reactive("berth", table=True, key="id")


def moored_where(minimum):
    return correlate(
        ship=ship,
        berth=berth,
        where=lambda ship, berth: (ship.berth == berth.id) & (1 / berth.depth < minimum),
        yields=lambda ship, berth: (ship.mmsi, berth.depth),
        restrict=retracting() | as_table("ship"),
        name="moored",
    )


moored = moored_where(1.0)
INPUTS = (
    Input("ship", SHIP, ("mmsi", "berth"), True, "mmsi", is_split=True),
    Input("berth", GONE, ("id", "depth"), True, "id", "gone"),
)


def buckets_of(*outputs, inputs=INPUTS, everywhere=()):
    return program_of(*outputs, inputs=inputs, everywhere=everywhere)


def at_ship(time, mmsi, berth, **rest):
    return Row(0, time, 0, {"mmsi": mmsi, "berth": berth}, **rest)


def at_berth(time, name, depth, gone=False):
    return Row(0, time, 1, {"id": name, "depth": depth, "gone": gone})


def dead(outcome):
    return [(row["kind"], row["source"], row["reason"]) for row in letters(outcome)]


ROWS = [
    at_ship(1, 7, "A"),
    at_berth(2, "A", 15.0),
    at_ship(3, 2**53 + 1, "A"),
    at_berth(4, "A", 14.0),
    at_ship(5, 7, "B"),
    at_berth(6, "A", 14.0, gone=True),
]


def test_a_call_gives_what_the_engine_gives():
    engine = Engine(moored)
    expected = []
    for row in ROWS:
        value = dict(row.columns)
        gone = value.pop("gone", False)
        key = value["mmsi" if row.source == 0 else "id"]
        reactive = (ship, berth)[row.source]
        expected += engine.push(reactive, Delete(key) if gone else Update(key, value), at=row.time)
    found = shown(run(buckets_of(moored), 0, None, ROWS))
    assert [(kind, key, end) for kind, key, _, end in found] == [
        (type(e.value).__name__.lower(), e.value.key, e.end) for e in expected
    ]
    assert found[0] == ("update", 7, {"mmsi": 7, "depth": 15.0}, 2)
    assert found[-1] == ("delete", 2**53 + 1, None, 6)


@given(st.permutations(ROWS))
def test_the_order_of_the_rows_does_not_matter(rows):
    assert results(run(buckets_of(moored), 0, None, rows)) == results(run(buckets_of(moored), 0, None, ROWS))


@given(st.integers(1, 4))
def test_how_rows_are_packed_does_not_matter(size):
    assert results(run(buckets_of(moored), 0, None, ROWS, size=size)) == results(run(buckets_of(moored), 0, None, ROWS))


@given(st.data())
def test_values_of_every_type_go_through_a_bucket_as_they_are(data):
    """However few or many rows there are: by push, and as a batch for the compiled tier."""
    kind, values = data.draw(typed())
    schema = t.StructType([t.StructField("n", t.LongType()), t.StructField("x y", kind)])
    thing = Reactive("thing", table=True, key="n")
    same = correlate(thing=thing, yields=lambda thing: thing, restrict=as_table("thing"), name="same")
    program = buckets_of(same, inputs=[Input("thing", schema, ("n", "x y"), True, "n", is_split=True)])
    drawn = data.draw(st.lists(st.none() | values, min_size=1, max_size=4))
    many = [(drawn * 40)[place] for place in range(40)]
    for some in (drawn, many):
        column = to_arrow(some, kind, "x").to_pylist()
        rows = [Row(0, n, 0, {"n": n, "x y": value}) for n, value in enumerate(column)]
        found = [value for _, _, value, _ in shown(run(program, 0, None, rows, size=7))]
        expected = to_arrow([{"n": n, "x y": value} for n, value in enumerate(some)], schema, "x").to_pylist()
        assert repr(found) == repr(expected)


ROUND_NUMBERS = t.StructType([t.StructField("k", t.LongType()), t.StructField("n", t.LongType())])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 3), st.integers(0, 99)), max_size=90))
@settings(max_examples=30)
def test_a_batch_of_columns_gives_what_pushes_give_with_late_rows_and_a_clock(drawn):
    left, right = Reactive("left"), Reactive("right")
    latest = cartesian(left, right, restrict=key_by(left="k", right="k") | most_recently("left", "right"))
    inputs = [Input(name, ROUND_NUMBERS, ("k", "n"), is_split=True) for name in ("left", "right")]
    program = buckets_of(latest, inputs=inputs)
    rows = [Row(0, time, source, {"k": k, "n": n}) for source, time, k, n in drawn]
    engine = Engine(latest, tier="in_place")
    engine.advance(4)
    ordered = sorted(rows, key=lambda row: (row.time, row.source, row.columns["k"], row.columns["n"]))
    expected = [e for row in ordered for e in engine.push((left, right)[row.source], row.columns, at=row.time)]
    outcome = run(program, 0, None, rows, 4)
    assert [(value["_1"], value["_2"], end) for _, _, value, end in shown(outcome)] == [
        (dict(event.value[0]), dict(event.value[1]), event.end) for event in expected
    ]
    late = [json.dumps(event.value._fields, separators=(",", ":")) for event, _, _ in engine.late]
    assert [letter["payload"] for letter in letters(outcome)] == late
    assert {letter["reason"].split(" is ")[1] for letter in letters(outcome)} <= {"before the clock 4"}


@given(st.lists(st.integers(0, len(ROWS)), max_size=4))
def test_it_does_not_matter_where_micro_batches_are_cut(cuts):
    program, state, rows = buckets_of(moored), None, []
    places = [0, *sorted(cuts), len(ROWS)]
    for first, last in itertools.pairwise(places):
        outcome = run(program, 0, state, ROWS[first:last])
        state = outcome.state
        rows += results(outcome)
    assert rows == results(run(program, 0, None, ROWS))


def test_a_sequence_comes_before_the_event_time():
    left, right = Reactive("left"), Reactive("right")
    latest = cartesian(left, right, restrict=most_recently("left", "right"))
    number = t.StructType([t.StructField("n", t.LongType())])
    program = buckets_of(latest, inputs=[Input("left", number, ("n",)), Input("right", number, ("n",))])
    rows = [Row(3, 10, 0, {"n": 1}), Row(1, 30, 0, {"n": 2}), Row(2, 20, 1, {"n": 3})]
    assert [value for _, _, value, _ in shown(run(program, 0, None, rows))] == [
        {"_1": {"n": 2}, "_2": {"n": 3}},
        {"_1": {"n": 1}, "_2": {"n": 3}},
    ]


def test_rows_of_one_time_go_by_source_then_payload():
    rows = [at_berth(1, "A", 2.0), at_ship(1, 8, "A"), at_ship(1, 7, "A")]
    assert [(key, end) for _, key, _, end in shown(run(buckets_of(moored), 0, None, rows))] == [(8, 1), (7, 1)]


def test_an_unreadable_row_is_a_dead_letter_told_once():
    day = t.StructType([t.StructField("day", t.DateType()), t.StructField("id", t.StringType())])
    left, right = Reactive("left"), Reactive("right")
    program = buckets_of(
        cartesian(left, right),
        inputs=[Input("left", day, ("day",), is_split=True), Input("right", day, ("day",))],
    )
    beyond = 3_000_000  # days since the epoch: the year 10183, which Spark has
    rows = [Row(0, 1, source, {"day": beyond, "id": "A"}) for source in (0, 1)]
    found = [letters(run(program, bucket, None, rows)) for bucket in (0, 1)]
    assert [len(one) for one in found] == [2, 1]  # the right row is in every bucket
    reason = "its payload cannot be read: day is beyond the years 1 to 9999"
    assert {(one["reason"], one["payload"]) for one in found[0]} == {(reason, '{"day":"10183-09-21","id":"A"}')}


@pytest.mark.parametrize("n", [3, 100])
def test_a_map_with_a_key_that_no_record_has_is_a_dead_letter_of_its_own(n):
    kind = t.StructType([t.StructField("tags", t.ArrayType(t.MapType(t.StringType(), t.LongType())))])
    left = Reactive("left")
    program = buckets_of(correlate(left=left, yields=lambda left: left), inputs=[Input("left", kind, ("tags",))])
    rows = [Row(0, number, 0, {"tags": [[("__class__" if number == 1 else "", number)], None]}) for number in range(n)]
    outcome = run(program, 0, None, [*rows, Row(0, n, 0, {"tags": None})])
    reason = "its payload cannot be read: tags has a key that Python finds on any object, such as '__class__'"
    assert dead(outcome) == [("dead", "left", reason)]
    assert [end for *_, end in shown(outcome)] == [0, *range(2, n + 1)]


def test_a_row_that_was_set_aside_is_not_used():
    outcome = run(buckets_of(moored), 0, None, [at_ship(-(2**63), 7, "A", reason="its event time is null")])
    assert dead(outcome) == [("dead", "ship", "its event time is null")]
    assert letters(outcome)[0]["at"] is None


def test_late_rows_come_out_with_their_reason_and_are_not_kept():
    program = buckets_of(moored)
    outcome = run(
        program, 0, run(program, 0, None, ROWS[:1]).state, [at_berth(4, "A", 9.0), at_berth(10, "A", 8.0)], 10
    )
    assert dead(outcome) == [("late", "berth", "its end 4 is before the clock 10")]
    assert [value for _, _, value, _ in shown(outcome)] == [{"mmsi": 7, "depth": 8.0}]
    assert dead(run(program, 0, outcome.state, [])) == []
    other = run(program, 1, None, [], 10).state
    assert dead(run(program, 1, other, [at_berth(4, "A", 9.0)])) == []  # bucket 0 tells it


def test_the_clock_never_goes_back():
    program = buckets_of(moored)
    state = run(program, 0, None, [], 10).state
    assert dead(run(program, 0, state, [at_berth(4, "A", 9.0)], 2)) != []
    assert dead(run(program, 0, state, [at_berth(4, "A", 9.0)])) != []


def test_what_is_the_same_everywhere_comes_from_bucket_0_alone():
    depths = correlate(berth=berth, yields=lambda berth: (berth.depth,), restrict=retracting() | as_table("berth"))
    program = buckets_of(depths, inputs=INPUTS[1:], everywhere=[depths.name])
    rows = [Row(0, 1, 0, {"id": "A", "depth": 9.0})]
    assert [len(results(run(program, bucket, None, rows))) for bucket in (0, 1)] == [1, 0]


def test_closing_decides_what_is_left():
    program = buckets_of(moored)
    assert shown(run(program, 0, None, ROWS, close=True)) == shown(run(program, 0, None, ROWS))
    (refused,) = dead(run(program, 0, run(program, 0, None, ROWS, close=True).state, [at_ship(7, 1, "A")]))
    assert "expected an input that goes on but 'ship' has ended" in refused[2]


def test_a_changed_program_refuses_the_state():
    state = run(buckets_of(moored), 0, None, ROWS).state
    with pytest.raises(SnapshotMismatch, match="belongs to another one: in 'moored' where= differs"):
        run(buckets_of(moored_where(0.5)), 0, state, [])


def test_rows_that_wait_are_used_where_their_columns_come_in_another_order():
    """So they do where somebody selects them otherwise; then that order says which of equal times comes first."""
    call = Reactive("call")
    latest = correlate(call=call, yields=lambda call: {"a": call.a, "b": call.b}, restrict=most_recently("call"))
    schema = t.StructType([t.StructField(name, t.LongType()) for name in "ab"])
    before, after = (
        buckets_of(latest, inputs=[Input("call", t.StructType(columns), tuple("ab"), is_split=True)])
        for columns in (schema.fields, schema.fields[::-1])
    )
    state = run(before, 0, None, [Row(0, 5, 0, {"a": 1, "b": 9})], 1, holds=True).state
    rows = [Row(0, 5, 0, {"a": 2, "b": 0}), Row(0, 5, 0, {"a": 0, "b": 10})]
    state = run(after, 0, state, rows, 1, holds=True).state
    found = [value for _, _, value, _ in shown(run(after, 0, state, [], 9, holds=True))]
    assert found == [{"a": 2, "b": 0}, {"a": 1, "b": 9}, {"a": 0, "b": 10}]


def test_rows_that_wait_are_refused_where_their_columns_have_changed():
    seen = correlate(ship=ship, yields=lambda ship: (ship.berth,), restrict=as_table("ship"), name="seen")
    before = buckets_of(seen, inputs=INPUTS[:1])
    state = run(before, 0, None, [at_ship(5, 7, "A")], 1, holds=True).state
    assert shown(run(before, 0, state, [], 9, holds=True)) == [("update", 7, {"berth": "A"}, 5)]
    keyed = t.StructType([*SHIP, t.StructField("imo", t.LongType())])
    after = buckets_of(seen, inputs=[Input("ship", keyed, ("mmsi", "berth"), True, "imo", is_split=True)])
    with pytest.raises(SnapshotMismatch, match=r"rows of 'ship' that wait to have .* imo int64 but they were stored"):
        run(after, 0, state, [], 9, holds=True)


def test_zip_per_key_goes_on_after_a_restart():
    left, right = Reactive("left"), Reactive("right")
    pairs = cartesian(
        left, right, restrict=key_by(left="k", right="k") | most_recently("left", "right") | aligning("left", "right")
    )
    schema = t.StructType([t.StructField("k", t.StringType()), t.StructField("n", t.LongType())])
    program = buckets_of(pairs, inputs=[Input("left", schema, ("k", "n")), Input("right", schema, ("k", "n"))])
    state = run(program, 0, None, [Row(0, i, 0, {"k": "ab"[i % 2], "n": i}) for i in range(4)]).state
    outcome = run(program, 0, state, [Row(0, 9, 1, {"k": "b", "n": 9})])
    assert shown(outcome) == [("event", None, {"_1": {"k": "b", "n": 1}, "_2": {"k": "b", "n": 9}}, 9)]


def test_values_of_a_declared_class_are_made_of_the_row():
    import attrs

    @attrs.frozen
    class Gauge:
        name: str
        level: float = attrs.field(validator=attrs.validators.ge(0.0))

        @property
        def double(self):
            return 2 * self.level

    gauge = Reactive("gauge", type=Gauge)

    @correlate(gauge=gauge)
    def doubled(gauge):
        yield {"level": gauge.double}

    schema = t.StructType([t.StructField("name", t.StringType()), t.StructField("level", t.DoubleType())])
    schema_out = result_schema(doubled, "doubled", {}, t.StructType([t.StructField("level", t.DoubleType())]))
    gauges = Input("gauge", schema, ("name", "level"), type=Gauge)
    program = Buckets((doubled,), (gauges,), layout_of({"doubled": schema_out}), frozenset())
    rows = [Row(0, time, 0, {"name": "x", "level": level}) for time, level in ((1, 2.0), (2, -2.0))]
    outcome = run(program, 0, None, rows)
    assert shown(outcome) == [("event", None, {"level": 4.0}, 1)]
    assert dead(outcome)[0][2].startswith("its payload cannot be read: ")


def test_totals_in_windows_have_the_window_in_their_key():
    level = Reactive("level")
    totals = aggregate(level, count, by="k", restrict=tumbling(10))
    value = t.StructType([t.StructField("value", t.LongType())])
    schema = result_schema(totals, "totals", {"level": ROUND_NUMBERS}, value)
    levels = Input("level", ROUND_NUMBERS, ("k", "n"), is_split=True)
    program = Buckets((totals,), (levels,), layout_of({totals.name: schema}), frozenset())
    rows = [Row(0, time, 0, {"k": 7, "n": time}) for time in (1, 2, 13)]
    found = shown(run(program, 0, None, rows))
    assert [(key["k"], key["window"]["start"], value["value"]) for _, key, value, _ in found] == [
        (7, 0, 1),
        (7, 0, 2),
        (7, 10, 1),
    ]


def test_a_program_travels():
    program = loads(dumps(buckets_of(moored)))
    state = run(buckets_of(moored), 0, None, ROWS[:3]).state
    assert results(run(program, 0, state, ROWS[3:])) == results(run(buckets_of(moored), 0, state, ROWS[3:]))


def test_no_greenlet_outlives_a_call():
    def living():
        return sum(isinstance(found, greenlet.greenlet) and not found.dead for found in gc.get_objects())

    program, state = buckets_of(moored), None
    state = run(program, 0, state, ROWS).state
    gc.collect()
    before = living()
    gc.disable()  # it does not take the collector
    try:
        for _ in range(3):
            state = run(program, 0, state, ROWS).state
        assert living() <= before
    finally:
        gc.enable()
