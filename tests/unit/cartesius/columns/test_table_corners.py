"""Corners of tables in columns: keys, types, deletions, views, and what no kernel computes."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.columns.batches.plans import plan
from cartesius.columns.batches.running import compiled_of
from cartesius.columns.results import events_of
from restrictions import as_table, key_by, most_recently, optionally, retracting
from restrictions.tables import (
    Monoid,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    min_,
    outer_join,
    reduce,
    sum_,
    to_table,
)

LEFT, RIGHT, STREAM = Reactive("left", table=True), Reactive("right", table=True), Reactive("stream")


def exactly(events):
    """Return events as what must be the same in all tiers, NaN as equal to itself."""
    return [(repr(event), event.weight) for event in events]


def same(output, *batches, compiles=True, options=()):
    """Compare batches, as tuples (table, key, value or Delete, time), with pushes into the reference."""
    reference, engine = Engine(output, tier="reference", **dict(options)), Engine(output, **dict(options))
    for batch in batches:
        expected, columns = [], {}
        for order, (table, key, value, at) in enumerate(batch):
            gone = value is Delete
            expected += reference.push(table, Delete(key) if gone else Update(key, value), at)
            rows = columns.setdefault(table, {"key": [], "value": [], "deleted": [], "at": [], "order": []})
            for name, item in zip(rows, (key, None if gone else value, gone, at, order), strict=True):
                rows[name].append(item)
        found = events_of(engine.push_many({table: pa.table(rows) for table, rows in columns.items()}))
        assert exactly(found) == exactly(expected)
        if compiles:
            assert engine._why_row_by_row == compiled_of(engine).reason == ""
        assert sorted(map(repr, engine.query(output).items())) == sorted(map(repr, reference.query(output).items()))
        assert engine.stats.tuples == reference.stats.tuples
    return engine


@pytest.mark.parametrize("join", [inner_join, left_join])
def test_a_null_key_matches_nothing_and_is_a_row_nevertheless(join):
    trace = [(LEFT, None, 1, 1), (RIGHT, None, 2, 2), (LEFT, 0, 3, 3), (RIGHT, 0, 4, 4), (RIGHT, None, Delete, 5)]
    same(join(LEFT, RIGHT), trace, [(LEFT, None, 5, 6), (LEFT, None, Delete, 7)])


def test_null_keys_on_both_sides_of_an_outer_join_are_pushed_one_by_one():
    trace = [(LEFT, None, 1, 1), (RIGHT, None, 2, 2), (LEFT, None, Delete, 3)]
    engine = same(outer_join(LEFT, RIGHT), trace, compiles=False)
    assert engine._why_row_by_row == "keys are null on both sides of an outer join"


def test_a_null_foreign_key_names_nothing():
    trace = [(RIGHT, None, 1, 1), (LEFT, 0, None, 2), (LEFT, 1, 1, 3), (RIGHT, 1, 5, 4), (LEFT, 1, None, 5)]
    for how in ("inner", "left"):
        same(foreign_join(LEFT, RIGHT, on=lambda value: value, how=how), trace)


def test_deletions_alone_have_no_types():
    both = outer_join(LEFT, RIGHT)
    same(
        both,
        [(LEFT, 0, 1.5, 1), (RIGHT, 0, "a", 2)],
        [(LEFT, 0, Delete, 3)],
        [(RIGHT, 0, Delete, 4), (LEFT, 7, Delete, 5)],
    )
    same(both, [(LEFT, 0, Delete, 1)], [(LEFT, 0, 3, 2)])


def test_values_are_compared_type_exactly_and_nan_equals_itself():
    nan = math.nan
    trace = [(LEFT, 0, value, at) for at, value in enumerate([nan, nan, 0.0, -0.0, 1.0, 1.0, nan])]
    same(map_table(LEFT, lambda x: x), trace, trace)
    same(inner_join(LEFT, LEFT), trace, trace)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "a", "b", None, None, "b"],
        [True, True, False, None],
        [[1], [1], [1, 2], None],
        [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": 2, "b": None}, None],
        [1, None, None, 2],
    ],
)
def test_values_of_many_types_are_compared(values):
    trace = [(LEFT, at % 2, value, at) for at, value in enumerate(values)]
    same(filter_table(LEFT, lambda x: x != 3), trace, trace)
    same(outer_join(LEFT, RIGHT), trace, [(RIGHT, 0, 1, 50), (LEFT, 0, Delete, 51)])


def test_ints_beyond_64_bits_are_pushed_one_by_one():
    trace = [(LEFT, 0, 2**62, 1), (LEFT, 1, 2**62, 2), (LEFT, 2, 2**62, 3)]
    engine = same(reduce(LEFT, sum_, by=lambda x: 0), trace, [(LEFT, 0, 1, 4)], compiles=False)
    assert "64 bits" in engine._why_row_by_row


def test_a_table_that_is_only_asked_for_counts_no_candidates():
    pairs, rest = inner_join(LEFT, RIGHT), filter_table(LEFT, lambda x: x > 1)
    reference, engine = (Engine(rest, pulled=[pairs], tier=tier) for tier in ("reference", None))
    for table, key, value in ((LEFT, 0, 1), (RIGHT, 0, 2), (LEFT, 1, 3), (RIGHT, 1, 4)):
        reference.push(table, Update(key, value))
    columns = {"key": [0, 1], "value": [1, 3], "order": [0, 2]}
    engine.push_many({LEFT: columns, RIGHT: {"key": [0, 1], "value": [2, 4], "order": [1, 3]}})
    assert compiled_of(engine).reason == engine._why_row_by_row == ""
    assert engine.query(pairs) == reference.query(pairs) == {0: (1, 2), 1: (3, 4)}
    assert engine.stats.tuples == reference.stats.tuples


def test_a_stream_becomes_a_table_by_a_function_and_null_keys_are_set_aside_one_by_one():
    ships = to_table(STREAM, key=lambda x: x.name)
    reference, engine = Engine(ships, tier="reference"), Engine(ships)
    names = ["EVA", "BO", "EVA"]
    expected = [e for at, name in enumerate(names) for e in reference.push(STREAM, {"name": name, "v": at}, at)]
    batch = {"name": names, "v": [0, 1, 2], "at": [0, 1, 2]}
    assert exactly(events_of(engine.push_many({STREAM: batch}))) == exactly(expected)
    assert compiled_of(engine).reason == engine._why_row_by_row == ""
    engine.push_many({STREAM: {"name": ["EVA", None], "v": [7, 8]}})
    assert engine._why_row_by_row == "a key is null"
    assert [event.value.v for event, _, _ in engine.late] == [8]


def test_a_body_that_fails_leaves_as_from_push_and_the_rows_before_stand():
    ratio = map_table(LEFT, lambda x: 6 // x)
    engine = Engine(ratio)
    with pytest.raises(ZeroDivisionError) as caught:
        engine.push_many({LEFT: {"key": [0, 1, 2], "value": [3, 0, 2]}})
    assert [event.value for event in events_of(vars(caught.value)["emitted"])] == [Update(0, 2)]
    assert engine.query(ratio) == {0: 2}
    assert engine.query(LEFT) == {0: 3}


def test_late_changes_are_set_aside():
    reference, engine = (Engine(inner_join(LEFT, RIGHT), lateness=2, tier=tier) for tier in ("reference", None))
    trace = [(LEFT, 0, 1, 10), (RIGHT, 0, 2, 5), (RIGHT, 0, 3, 9), (LEFT, 0, Delete, 7)]
    expected = [e for t, k, v, at in trace for e in reference.push(t, Delete(k) if v is Delete else Update(k, v), at)]
    left = {"key": [0, 0], "value": [1, None], "deleted": [False, True], "at": [10, 7], "order": [0, 3]}
    right = {"key": [0, 0], "value": [2, 3], "at": [5, 9], "order": [1, 2]}
    assert exactly(events_of(engine.push_many({LEFT: left, RIGHT: right}))) == exactly(expected)
    assert engine._why_row_by_row == ""
    assert [(e.value, reason) for e, _, reason in engine.late] == [(e.value, reason) for e, _, reason in reference.late]
    assert engine.query(LEFT) == reference.query(LEFT) == {0: 1}


def rows(where, key, *others, **slots):
    """Return a correlation of two tables that gives the rows of a slot."""
    restrict = as_table(key) | retracting()
    for other in others:
        restrict = restrict | other
    slots = slots or {"x": LEFT, "y": RIGHT}
    return correlate(slots=slots, where=where, yields=lambda x: x, restrict=restrict)


SEVERAL = "its rows have several candidates"
OTHERS = "there is no kernel for its restrictions together"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (to_table(STREAM), "its events are changes"),
        (reduce(LEFT, Monoid("", max)), "of Monoid(…) it is not known what it totals"),
        (to_table(correlate(x=STREAM, yields=lambda x: x), key="v"), "rows are made of events that may be taken back"),
        (rows(None, "x", x=LEFT, y=STREAM), "a slot has no rows"),
        (rows(None, "x"), SEVERAL),
        (rows(lambda x, y: x == y, "x"), SEVERAL),
        (rows(lambda x, key_y: x == key_y, "y"), SEVERAL),
        (
            rows(lambda x, y, key_y: (x == key_y) & (y > 1), "x", optionally("y")),
            "parts may be missing by more than the keys of tables",
        ),
        (rows(lambda x, key_y: x == key_y, ("x", "y"), optionally("x", "y")), "parts may be missing that name others"),
        (rows(None, lambda x: x, x=LEFT), "its results are no rows by the key of a slot"),
        (rows(None, "x", key_by(x=lambda x: x), x=LEFT), OTHERS),
        (rows(None, "x", most_recently("x"), x=LEFT), OTHERS),
    ],
)
def test_what_no_kernel_of_tables_computes_says_why(output, reason):
    found = plan(Engine(output))
    assert reason in (found.reason or str(found.written))


def test_of_equal_keys_a_group_keeps_the_one_that_it_was_made_with():
    """0.0 equals -0.0; a group that was empty in between is made anew."""
    totals = reduce(LEFT, count, by=lambda x: x.k)
    reference, engine = Engine(totals, tier="reference"), Engine(totals)
    for ks in ([0.0, -0.0, 0.0], [-0.0, -0.0, -0.0], [None, None, None], [-0.0, 0.0, None], [None, 0.0, 0.0]):
        for key, k in enumerate(ks):
            reference.push(LEFT, Update(key, {"k": k}) if k is not None else Delete(key), 1)
        deleted = [k is None for k in ks]
        engine.push_many({LEFT: {"key": [0, 1, 2], "k": pa.array(ks, "f8"), "deleted": deleted, "at": [1, 1, 1]}})
        assert compiled_of(engine).states is not None
        assert repr(engine.query(totals)) == repr(reference.query(totals)), ks


def test_a_group_keeps_its_place_when_its_only_row_changes():
    """By pushes and by a batch after them, which has nothing in it."""
    least = reduce(LEFT, min_.of("v"), by=lambda x: x.k)
    engine = Engine(least)
    for key, k, v in ((0, "a", 1), (1, "b", 2), (0, "a", 3)):
        engine.push(LEFT, Update(key, {"k": k, "v": v}), 1)
    assert list(engine.query(least).items()) == [("a", 3), ("b", 2)]
    engine.push_many({LEFT: {"key": pa.array([], "i8"), "k": pa.array([], "string"), "v": pa.array([], "i8")}})
    assert compiled_of(engine).states is not None
    assert list(engine.query(least).items()) == [("a", 3), ("b", 2)]


@pytest.mark.parametrize("steps", [["push", "push", "delete", "batch"], ["batch", "push", "delete", "batch"]], ids=str)
def test_a_row_that_was_deleted_comes_last_when_it_comes_again(steps):
    """A push that deletes keeps the place of its row until the next call, in case it fails."""
    engines = Engine(reduce(LEFT, count, by=lambda x: x), tier="reference"), Engine(reduce(LEFT, count, by=lambda x: x))
    for place, step in enumerate(steps):
        key = 7 if place != 1 else 2
        for engine in engines:
            if step == "batch" and engine is engines[1]:
                engine.push_many({LEFT: {"key": [key], "value": [place]}})
            else:
                engine.push(LEFT, Delete(key) if step == "delete" else Update(key, place))
    reference, batches = [list(engine.query(LEFT).items()) for engine in engines]
    assert batches == reference == [(2, 1), (7, 3)]
