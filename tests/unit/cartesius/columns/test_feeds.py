"""What `push_many` takes and what it refuses: each refusal says what to do, and nothing has changed."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.results import events_of
from cartesius.errors import InvalidArgument
from restrictions import combine_latest, most_recently
from restrictions.tables import map_table

LEFT, RIGHT = Reactive("left"), Reactive("right")
ROWS = Reactive("rows", table=True)
SHIPS = Reactive("ships", table=True, key="name")
ONE = Reactive("one", table=True, key=None)


def joined():
    return Engine(combine_latest(LEFT, RIGHT))


def of_table(table):
    return Engine(map_table(table, lambda row: row))


NS = pa.array([1], pa.timestamp("ns"))
REFUSED = [
    (joined, [1, 2], "expected columns for each input, as in {left: table, right: table}, but got [1, 2] (type=list); inputs are left, right"),
    (joined, pa.table({"value": [1]}), "expected columns for each input, as in {left: table, right: table}"),
    (joined, {"middle": {"value": [1]}}, "expected an input of this engine but got 'middle'; the inputs are left, right"),
    (joined, {Reactive("left"): {"value": [1]}}, "that of the same name is another object"),
    (joined, {LEFT: {"value": [1]}, "left": {"value": [2]}}, "expected columns for each input once but 'left' is there twice"),
    (joined, {LEFT: [{"value": 1}]}, "expected columns for 'left' but got [{'value': 1}] (type=list); give a pyarrow table, or a mapping"),
    (joined, {LEFT: 5}, "expected columns for 'left' but got 5 (type=int)"),
    (joined, {LEFT: {"value": 5}}, "expected a column in 'value' for 'left' but got 'int' object is not iterable; give an array"),
    (joined, {LEFT: {"value": "text"}}, "expected a column in 'value' for 'left' but got the one value 'text'; give an array"),
    (joined, {LEFT: {"a": [1, 2], "b": [1]}}, "expected columns of one length for 'left' but got the lengths {'a': 2, 'b': 1}"),
    (joined, {LEFT: {"value": np.zeros((2, 2))}}, "expected a column in 'value' for 'left' but got only handle 1-dim"),
    (joined, {LEFT: pa.table([[1], [2]], names=["a", "a"])}, "expected columns of different names for 'left' but got the names ['a', 'a']; rename"),
    (joined, {LEFT: {"at": [1]}}, "expected the columns of a payload for 'left' but got none; name the fields of the payload, or the one column `value`"),
    (joined, {LEFT: {"value": [1]}, RIGHT: {"value": [2]}}, "but 'left' has no column 'order'; add one to each"),
    (joined, {LEFT: {"value": [1], "order": [1]}, RIGHT: {"value": [2], "order": [1]}}, "expected distinct ints in 'order' but 1 is there twice"),
    (joined, {LEFT: {"value": [1, 2], "order": [3, 3]}}, "expected distinct ints in 'order' but 3 is there twice"),
    (joined, {LEFT: {"value": [1], "order": [1.0]}}, "expected ints in 'order' for 'left' but got double"),
    (joined, {LEFT: {"value": [1], "order": [1], "at": [1]}, RIGHT: {"value": [2], "order": [2]}}, "expected times in all inputs or in none"),
    (joined, {LEFT: {"value": [1], "at": [2**63]}}, "expected ints in 'at' for 'left' but got what no 64 bits hold, or values"),
    (joined, {LEFT: {"value": [1], "order": [1.5]}}, "expected ints in 'order' for 'left' but got double; number the rows"),
    (joined, {LEFT: {"value": [1], "at": [1.5]}}, "expected ints in 'at' for 'left' but got double; times are ints of time units"),
    (joined, {LEFT: {"value": [1], "at": [None]}}, "expected ints in 'at' for 'left' but got null"),
    (joined, {LEFT: {"value": [1, 2], "at": [1, None]}}, "expected ints in 'at' for 'left' but got int64 with nulls"),
    (joined, {LEFT: {"value": [1], "at": [True]}}, "expected ints in 'at' for 'left' but got bool"),
    (joined, {LEFT: {"value": [1], "at": [2**63]}}, "expected ints in 'at' for 'left' but got"),
    (joined, {LEFT: {"value": [1], "at": np.array([1], np.uint64)}}, "expected ints in 'at' for 'left' but got uint64"),
    (joined, {LEFT: {"value": [1], "at": [dt.datetime(2026, 1, 1)]}}, "expected aware datetimes in 'at' for 'left' but got timestamp[us]; give the timestamps a time zone"),
    (joined, {LEFT: {"value": [1], "start": [1]}}, "expected `at`, or `start` and `end` for 'left' but got start"),
    (joined, {LEFT: {"value": [1], "at": [1], "start": [1], "end": [1]}}, "expected `at`, or `start` and `end` for 'left' but got at and start and end"),
    (joined, {LEFT: {"value": [1, 2], "start": [1, 5], "end": [1, 4]}}, "expected intervals with start ≤ end for 'left' but got 5..4 in row 1; swap them"),
    (joined, {LEFT: {"value": NS}}, "expected values of Python for 'left' but got timestamp[ns] in 'value'"),
    (lambda: of_table(ROWS), {ROWS: {"value": [1]}}, "expected a column 'key' for 'rows' but got the columns ['value']; each row of a table has its key"),
    (lambda: of_table(ROWS), {ROWS: {"value": [1], "key": [1], "deleted": [0]}}, "expected Booleans in 'deleted' for 'rows' but got int64"),
    (lambda: of_table(ROWS), {ROWS: {"value": [1, 2], "key": [1, 2], "deleted": [True, None]}}, "expected Booleans in 'deleted' for 'rows' but got bool"),
    (lambda: of_table(SHIPS), {SHIPS: {"draught": [9]}}, "expected a column 'name' for 'ships' but got the columns ['draught']; the reactive declares it as its key"),
    (lambda: of_table(SHIPS), {SHIPS: {"name": ["EVA", None]}}, "expected a value for the key 'name' in each row for 'ships' but got a null; it matches nothing"),
    (lambda: of_table(SHIPS), {SHIPS: {"value": [{"name": "EVA"}, None]}}, "expected a value for the key 'name' in each row for 'ships' but got a null"),
    (lambda: of_table(SHIPS), {SHIPS: {"value": [{"name": "EVA"}, 5]}}, "expected a column 'name' for 'ships'"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "batch", "said"), REFUSED, ids=[said[:60] for _, _, said in REFUSED])
def test_what_is_no_batch_is_refused_and_nothing_has_changed(make, batch, said):
    engine = make()
    before = engine.snapshot()
    with pytest.raises(InvalidArgument) as caught:
        engine.push_many(batch)
    assert str(caught.value).startswith("push_many: ")
    assert said in str(caught.value)
    assert engine.snapshot() == before
    assert engine.stats.events == 0


def test_what_is_derived_or_has_ended_is_no_input():
    engine = joined()
    (output,) = engine.outputs
    with pytest.raises(InvalidArgument, match="is derived by a correlation"):
        engine.push_many({output: {"value": [1]}})
    engine.end(LEFT)
    with pytest.raises(InvalidArgument, match="push_many: expected an input that goes on but 'left' has ended"):
        engine.push_many({RIGHT: {"value": [1], "order": [0]}, LEFT: {"value": [1], "order": [1]}})
    assert engine.stats.events == 0
    assert engine.push_many({LEFT: {"value": []}}).num_rows == 0  # of which there is no row


# ---------------------------------------------------------------------------------------------------- what it takes


PAIRS = Engine(combine_latest(LEFT, RIGHT), tier="reference")
PAIRS.push(RIGHT, "r", at=1)
EXPECTED = [event for n in (1, 2) for event in PAIRS.push(LEFT, {"a": n}, at=n + 1)]
COLUMNS = {"a": [1, 2], "at": [2, 3]}
FORMS = {
    "lists": COLUMNS,
    "tuples": {"a": (1, 2), "at": range(2, 4)},
    "numpy": {name: np.array(column) for name, column in COLUMNS.items()},
    "narrow": {"a": np.array([1, 2], np.int8), "at": np.array([2, 3], np.uint32)},
    "arrow": {name: pa.array(column) for name, column in COLUMNS.items()},
    "table": pa.table(COLUMNS),
    "record batch": pa.RecordBatch.from_pydict(COLUMNS),
    "chunks": {"a": pa.chunked_array([[1], [2]]), "at": pa.chunked_array([[2, 3], []], pa.int64())},
    "sliced": pa.table({"a": [0, 1, 2, 3], "at": [1, 2, 3, 4]}).slice(1, 2),
    "records": {"value": [{"a": 1}, {"a": 2}], "at": [2, 3]},
    "structs": {"value": pa.array([{"a": 1}, {"a": 2}]), "at": [2, 3]},
    "interval": {"a": [1, 2], "start": [2, 3], "end": [2, 3]},
    "in order": {"a": [2, 1], "at": [3, 2], "order": [7, -1]},
    "dictionary": {"a": pa.array([1, 2]).dictionary_encode(), "at": [2, 3]},
    "read only": {"a": np.frombuffer(np.array([1, 2]).tobytes(), np.int64), "at": [2, 3]},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", [LEFT, "left"], ids=["reactive", "name"])
def test_columns_come_in_many_forms(form, key):
    engine = joined()
    engine.push(RIGHT, "r", at=1)
    found = events_of(engine.push_many({key: FORMS[form]}))
    assert list(map(repr, found)) == list(map(repr, EXPECTED))


def test_without_times_each_comes_one_after_the_latest():
    engine, other = joined(), joined()
    engine.push(RIGHT, "r", at=10)
    other.push(RIGHT, "r", at=10)
    found = engine.push_many({LEFT: {"value": [1, 2], "order": [0, 2]}, RIGHT: {"value": ["s"], "order": [1]}})
    assert events_of(found) == [*other.push(LEFT, 1), *other.push(RIGHT, "s"), *other.push(LEFT, 2)]


def test_a_batch_may_be_empty_and_so_may_an_input():
    engine = joined()
    for batch in (
        {},
        {LEFT: {"value": []}},
        {LEFT: {"value": []}, RIGHT: pa.table({"value": pa.array([], pa.int64())})},
    ):
        table = engine.push_many(batch)
        assert table.num_rows == 0
        assert table.column_names == ["reactive", "value", "start", "end", "weight"]
    engine.push_many({LEFT: {"value": []}, RIGHT: {"value": [1], "at": [4]}})
    assert [event.value for event in engine.push(LEFT, 2, at=5)] == [(2, 1)]


TYPES = [
    pa.array([1, None], pa.int16()), pa.array([2**64 - 1], pa.uint64()), pa.array([0.5, float("nan"), None], pa.float32()),
    pa.array([0.5], pa.float16()), pa.array(["a", None], pa.large_string()), pa.array(["a"], pa.string_view()),
    pa.array([b"abc"], pa.binary(3)), pa.array([True, None]), pa.array([1000], pa.timestamp("ns")),
    pa.array([1], pa.timestamp("s", "Europe/Berlin")), pa.array([1], pa.timestamp("ms", "+02:00")), pa.array([5], pa.duration("s")),
    pa.array([dt.date(2026, 1, 1)]), pa.array([86_400_000], pa.date64()), pa.array([1000], pa.time64("ns")),
    pa.array(["1.50"]).cast(pa.decimal128(5, 2)), pa.array([[1, 2], None]), pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    pa.array([{"x": 1, "y": {"z": None}}, None]), pa.array([b"a" * 16], pa.uuid()), pa.nulls(2), pa.array([{}]),
    pa.array([["a", "b"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))), pa.array([[1500]], pa.list_(pa.duration("us"))),
    pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]),
]  # fmt: skip


@pytest.mark.parametrize("array", TYPES, ids=lambda array: str(array.type))
def test_values_are_those_that_arrow_shows_whatever_the_type(array):
    single = correlate(left=LEFT, yields=lambda left: left, restrict=most_recently("left"))
    fields = correlate(left=LEFT, yields=lambda left: (left.a,), restrict=most_recently("left"))
    expected = [value.to_pytimedelta() if hasattr(value, "to_pytimedelta") else value for value in shown(array)]
    reference = Engine(single, tier="reference")
    pushed = [repr(event.value) for value in expected for event in reference.push(LEFT, value)]
    assert [repr(event.value) for event in events_of(Engine(single).push_many({LEFT: {"value": array}}))] == pushed
    found = events_of(Engine(fields).push_many({LEFT: {"a": array}}))
    assert [repr(event.value[0]) for event in found] == pushed


def shown(array):
    """The values as Python has them: no type of pandas for nanoseconds, and a mapping for a map."""
    kind = array.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        array = array.cast(pa.timestamp("us"))
    return [dict(pairs) for pairs in array.to_pylist()] if pa.types.is_map(kind) else array.to_pylist()


def test_a_map_in_a_struct_or_a_list_is_a_mapping_too():
    words = pa.map_(pa.string(), pa.int64())
    array = pa.array(
        [{"m": [("a", 1)], "l": [[("b", 2)], None]}, None], pa.struct([("m", words), ("l", pa.list_(words))])
    )
    fields = correlate(left=LEFT, yields=lambda left: (left.a.m.a, left.a.l[0]["b"]), restrict=most_recently("left"))
    assert [event.value for event in events_of(Engine(fields).push_many({LEFT: {"a": array[:1]}}))] == [(1, 2)]
    odd = pa.array([[({"k": 1}, 2)]], pa.map_(pa.struct([("k", pa.int64())]), pa.int64()))  # no mapping has such a key
    same = correlate(left=LEFT, yields=lambda left: left, restrict=most_recently("left"))
    assert [event.value for event in events_of(Engine(same).push_many({LEFT: {"value": odd}}))] == [[({"k": 1}, 2)]]


def test_lists_are_their_values_type_for_type():
    mixed = [1, 2.5, True, None, "x", {"b": {"c": 1}}, (1, {"d": 2}), [1], 2**70, float("nan"), -0.0]
    single = correlate(left=LEFT, yields=lambda left: left, restrict=most_recently("left"))
    reference = Engine(single, tier="reference")
    expected = [repr(event) for n, value in enumerate(mixed) for event in reference.push(LEFT, value, at=n)]
    found = events_of(Engine(single).push_many({LEFT: {"value": mixed, "at": range(len(mixed))}}))
    assert list(map(repr, found)) == expected


def test_scalars_of_numpy_in_a_list_are_taken_as_arrow_takes_them():
    engine = joined()
    engine.push(RIGHT, "r")
    (event,) = events_of(engine.push_many({LEFT: {"value": [np.float64(1.5)]}}))
    assert repr(event.value) == "(1.5, 'r')"


# ----------------------------------------------------------------------------------------------------------- tables


def changes(table):
    return [event.value for event in events_of(table)]


def test_a_table_takes_keys_and_deletions():
    engine = of_table(ROWS)
    found = engine.push_many({ROWS: {"key": [1, 2, 1], "value": ["a", "b", None], "deleted": [False, False, True]}})
    assert changes(found) == [Update(1, "a"), Update(2, "b"), Delete(1)]
    assert changes(engine.push_many({ROWS: {"key": [2], "deleted": [True]}})) == [Delete(2)]
    assert changes(engine.push_many({ROWS: {"key": [None], "value": [5]}})) == [Update(None, 5)]


def test_a_declared_key_is_a_field_and_stays_one():
    for batch in (
        {"name": ["EVA"], "n": [1]},
        {"value": [{"name": "EVA", "n": 1}]},
        {"value": pa.array([{"name": "EVA", "n": 1}])},
    ):
        assert changes(of_table(SHIPS).push_many({SHIPS: batch})) == [Update("EVA", {"name": "EVA", "n": 1})]


def test_a_table_of_one_row_needs_no_key():
    engine = of_table(ONE)
    assert changes(engine.push_many({ONE: {"value": [5, 6]}})) == [Update((), 5), Update((), 6)]
    assert engine.query(engine.outputs[0]) == {(): 6}


def test_columns_called_key_and_deleted_are_fields_of_a_stream():
    engine = joined()
    engine.push(RIGHT, "r")
    (event,) = events_of(engine.push_many({LEFT: {"key": [1], "deleted": [True]}}))
    assert event.value == ({"key": 1, "deleted": True}, "r")
