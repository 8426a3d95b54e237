"""How long versions are kept: what is late, what is corrected, and what bounds the state."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Delete, Engine, Reactive, Update
from restrictions import versioned
from restrictions.streams import stream_table_join
from restrictions.tables import (
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
from tests.oracle.version_checks import as_changes, as_results, feed, joined, kept, lookup, overlapping, table
from tests.oracle.version_oracle import (
    Item,
)

# ----------------------------------------------------------------------------------------------------------- retention


def test_within_the_retention_a_late_change_is_used():
    source = table()
    output = kept(source, retention=10)
    engine = Engine(output)
    feed(engine, source, (20, "a", 20))
    engine.advance(25)
    assert feed(engine, source, (15, "a", 15)) == [(15, "a", 15)]
    assert list(engine.late) == []
    assert engine.versions(output) == {15: {"a": 15}, 20: {"a": 20}}


@pytest.mark.parametrize("operator", ["kept", "filter", "map", "reduce", "inner", "foreign", "to_table", "lookup"])
def test_beyond_the_retention_a_change_is_late_with_a_reason_and_changes_nothing(operator):
    source = Reactive("t", table=operator != "to_table")
    over = versioned("x", retention=10)
    output = {
        "kept": lambda: kept(source, retention=10),
        "filter": lambda: filter_table(source, lambda value: value > 0, restrict=over),
        "map": lambda: map_table(source, lambda value: value + 1, restrict=over),
        "reduce": lambda: reduce(source, count, by=lambda value: 0, restrict=over),
        "inner": lambda: joined("inner", source, table("u"), retention=10),
        "foreign": lambda: foreign_join(
            source, table("u"), on=lambda value: value, how="left", restrict=versioned("left", "right", retention=10)
        ),
        "to_table": lambda: to_table(source, restrict=over),
        "lookup": lambda: stream_table_join(Reactive("s"), source, on="k", retention=10),
    }[operator]()
    engine = Engine(output)
    engine.push(source, Update("a", 20), at=20)
    engine.advance(25)
    engine.push(source, Update("a", 15), at=15)  # a time equal to clock - retention is not late
    assert list(engine.late) == []
    after = None if operator == "lookup" else engine.versions(output)
    assert engine.push(source, Update("a", 14), at=14) == []
    ((event, where, reason),) = engine.late
    assert (event.value, event.end) == (Update("a", 14), 14)
    assert isinstance(where, str)
    assert "14" in reason
    if operator != "lookup":
        assert engine.versions(output) == after


def test_a_late_record_is_used_within_the_retention_and_late_beyond():
    stream, rows, output = lookup(retention=10)
    engine = Engine(output)
    feed(engine, rows, (1, "A", "a"), (14, "A", "b"), (18, "A", "c"))
    engine.advance(25)
    assert as_results(engine.push(stream, {"k": "A"}, at=15)) == [(({"k": "A"}, "b"), 15, 1)]
    assert list(engine.late) == []
    assert engine.push(stream, {"k": "A"}, at=14) == []
    assert [(event.end, bool(reason)) for event, _, reason in engine.late] == [(14, True)]


def test_a_record_older_than_the_retention_is_not_corrected_any_more():
    stream, rows, output = lookup(retention=2)
    engine = Engine(output)
    feed(engine, rows, (1, "A", "a"))
    engine.push(stream, {"k": "A"}, at=6)
    engine.advance(9)
    assert engine.push(rows, Update("A", "b"), at=6) == []
    assert len(engine.late) == 1
    assert engine.push(rows, Update("A", "b"), at=7) == []
    assert len(engine.late) == 1


def test_without_a_retention_nothing_is_ever_late():
    source = table()
    output = kept(source)
    engine = Engine(output)
    engine.advance(1_000_000)
    feed(engine, source, (1, "a", 1))
    assert list(engine.late) == []
    assert engine.versions(output) == {1: {"a": 1}}


def test_where_one_slot_has_versions_and_another_none_a_change_is_late_for_the_other_only():
    source = table()
    old = filter_table(source, lambda value: value > 0)
    new = filter_table(source, lambda value: value > 0, restrict=versioned("x", retention=10))
    engine = Engine(old, new)
    feed(engine, source, (20, "a", 20))
    engine.advance(25)
    emitted = engine.push(source, Update("a", 18), at=18)
    assert as_changes(emitted) == [(18, "a", 18)]
    assert [event.value for event, _, _ in engine.late] == [Update("a", 18)]
    assert engine.query(old) == {"a": 20}
    assert engine.versions(new) == {18: {"a": 18}, 20: {"a": 20}}


TABLE_RUNS = ["kept", "filter", "map", "reduce", "inner", "left", "outer", "foreign", "to_table", "chain"]
LONG_RUNS = [*TABLE_RUNS, "lookup", "facts"]


def long_run(name):
    a, b, s = table("a"), table("b"), Reactive("s")
    over, both = versioned("x", retention=10), versioned("left", "right", retention=10)
    return {
        "kept": lambda: (kept(a, retention=10), [a]),
        "filter": lambda: (filter_table(a, lambda row: row.j > 0, restrict=over), [a]),
        "map": lambda: (map_table(a, lambda row: row.j, restrict=over), [a]),
        "reduce": lambda: (reduce(a, count, by=lambda row: row.j, restrict=over), [a]),
        "inner": lambda: (inner_join(a, b, restrict=both), [a, b]),
        "left": lambda: (left_join(a, b, restrict=both), [a, b]),
        "outer": lambda: (outer_join(a, b, restrict=both), [a, b]),
        "foreign": lambda: (foreign_join(a, b, on=lambda row: row.j, how="left", restrict=both), [a, b]),
        "to_table": lambda: (to_table(s, key="k", restrict=over), [s]),
        "chain": lambda: (
            reduce(filter_table(a, lambda row: row.j > 0, restrict=over), count, by="j", restrict=over),
            [a],
        ),
        "lookup": lambda: (stream_table_join(s, a, on="k", how="left", retention=10), [s, a]),
        "facts": lambda: (overlapping(a, b, retention=10), [a, b]),
    }[name]()


@pytest.mark.parametrize("name", LONG_RUNS)
def test_the_retention_bounds_the_state(name):
    output, inputs = long_run(name)
    engine = Engine(output)
    retained, blobs = [], []
    for time in range(600):
        for source in inputs:
            item = Item(time % 3, time // 3 % 3, time)
            change: Any = item
            if source.name in {"a", "b"}:
                change = Delete(time % 3) if time % 7 == 0 else Update(time % 3, item)
            engine.push(source, change, at=time - 3 * time % 5)
        engine.advance(time - 4)
        if time % 100 == 99:
            retained.append(engine.stats.retained)
            blobs.append(len(engine.snapshot()))
            if name in TABLE_RUNS:
                assert len(engine.versions(output)) <= 20
    # Three keys, and 10 + 4 times of which each has a change; a chain has them at each stage.
    assert max(retained) <= 2 * len(inputs) * (3 + 15)
    assert max(retained) - min(retained) <= 10
    assert blobs[-1] <= 1.2 * blobs[0]
    engine.close()
    assert list(engine.late) == []


@pytest.mark.parametrize("name", [name for name in LONG_RUNS if name != "to_table"])
def test_a_key_that_is_deleted_is_forgotten_after_the_retention(name):
    output, inputs = long_run(name)
    engine = Engine(output)
    empty = len(engine.snapshot())
    for key in range(50):
        for source in inputs:
            if source.name == "s":
                engine.push(source, Item(key, 0, 0), at=2 * key)
            else:
                engine.push(source, Update(key, Item(key, key, 0)), at=2 * key)
                engine.push(source, Delete(key), at=2 * key + 1)
    engine.advance(10_000)
    assert engine.stats.retained == 0
    assert len(engine.snapshot()) <= empty + 200
    if name in TABLE_RUNS:
        assert engine.query(output) == {}
