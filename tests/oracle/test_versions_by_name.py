"""Versioned tables, one case at a time: queries, equal and deleted rows, times that tie, failures, lookups."""

from __future__ import annotations

from decimal import Decimal

import pytest

from cartesius import Engine, Update
from restrictions import versioned
from restrictions.tables import (
    foreign_join,
    inner_join,
    map_table,
)
from tests.oracle.table_oracle import exact
from tests.oracle.version_checks import feed, kept, table

# ------------------------------------------------------------------------------------------------------------ by name


def test_a_query_at_a_time_gives_the_version_valid_then():
    source = table()
    output = kept(source)
    engine = Engine(output)
    feed(engine, source, (5, "a", 5), (3, "a", 3), (8, "a", None))
    for reactive in (output, source):
        assert [engine.query(reactive, at=time) for time in (2, 3, 4, 5, 7, 8, 9)] == [
            {}, {"a": 3}, {"a": 3}, {"a": 5}, {"a": 5}, {}, {},
        ]  # fmt: skip
        assert engine.query(reactive) == {}
        assert engine.versions(reactive) == {3: {"a": 3}, 5: {"a": 5}, 8: {}}


def test_the_newest_version_is_that_of_the_largest_time_not_of_the_last_arrival():
    source = table()
    output = kept(source)
    engine = Engine(output)
    feed(engine, source, (5, "a", "new"), (3, "a", "old"))
    assert engine.query(output) == engine.query(source) == {"a": "new"}


def test_without_changes_there_are_no_versions():
    source = table()
    output = kept(source)
    engine = Engine(output)
    assert engine.versions(output) == engine.query(output) == engine.query(output, at=3) == {}
    assert feed(engine, source, (3, "a", None)) == []
    assert engine.versions(output) == engine.versions(source) == {}


def test_an_equal_row_is_a_version_of_its_own_once_a_late_one_comes_between():
    """At 5 the row was a again; told only when it makes a difference."""
    source = table()
    output = kept(source)
    engine = Engine(output)
    assert feed(engine, source, (1, 0, "a"), (5, 0, "a")) == [(1, 0, "a")]
    assert engine.versions(output) == {1: {0: "a"}}
    assert feed(engine, source, (3, 0, "b")) == [(3, 0, "b"), (5, 0, "a")]
    assert engine.versions(output) == {1: {0: "a"}, 3: {0: "b"}, 5: {0: "a"}}


@pytest.mark.parametrize("is_advanced", [True, False])
def test_a_deletion_that_was_told_of_a_later_time_is_taken_back(is_advanced):
    """Of 13 a row was told, then its deletion; the row that comes at 12 is there at 13, too."""
    a, b = table("a"), table("b")
    over = versioned("left", "right", retention=0)
    engine = Engine(foreign_join(a, b, on=lambda value: value, how="left", restrict=over))
    assert feed(engine, a, (7, 0, "x")) == [(7, 0, ("x", None))]
    assert feed(engine, b, (13, "x", "X")) == [(13, 0, ("x", "X"))]
    assert feed(engine, a, (8, 0, None)) == [(8, 0, None), (13, 0, None)]
    if is_advanced:
        engine.advance(11)
    assert feed(engine, a, (12, 0, "y")) == [(12, 0, ("y", None)), (13, 0, ("y", None))]


@pytest.mark.parametrize("is_delete_first", [True, False])
def test_an_update_wins_over_a_delete_of_the_same_time(is_delete_first):
    source = table()
    output = kept(source)
    engine = Engine(output)
    arrivals = [(1, "a", 1), (1, "a", None)]
    feed(engine, source, *(arrivals[::-1] if is_delete_first else arrivals))
    assert engine.versions(output) == {1: {"a": 1}}


@pytest.mark.parametrize(
    "values",
    [
        (1, 2),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", 1),
        (None, 0),
        ((1,), (True,)),
        ({"a": 1}, {"a": 2}),
        (Decimal(1), 1),
    ],
    ids=repr,
)
def test_which_of_two_rows_of_one_time_wins_does_not_depend_on_their_order(values):
    found = []
    for order in (values, values[::-1]):
        source = table()
        output = kept(source)
        engine = Engine(output)
        for value in order:
            engine.push(source, Update("a", value), at=1)
        assert exact(engine.versions(output)) == exact(engine.versions(source))
        found.append(exact(engine.versions(output)))
    assert found[0] == found[1]


def test_a_table_joined_with_itself_never_has_halves_of_two_versions():
    source = table()
    output = inner_join(source, source, restrict=versioned("left", "right"))
    engine = Engine(output)
    feed(engine, source, (5, 0, "c"), (1, 0, "a"), (3, 0, "b"), (7, 0, None))
    assert engine.versions(output) == {1: {0: ("a", "a")}, 3: {0: ("b", "b")}, 5: {0: ("c", "c")}, 7: {}}


def test_a_push_that_fails_changes_no_version():
    def half(value):
        if value % 2:
            raise ValueError(value)
        return value // 2

    source = table()
    output = map_table(source, half, restrict=versioned("x", retention=10))
    engine = Engine(output)
    feed(engine, source, (5, "a", 6), (9, "a", 8))
    before = engine.snapshot()
    with pytest.raises(ValueError, match="7"):
        engine.push(source, Update("a", 7), at=7)
    assert engine.snapshot() == before
    assert engine.versions(output) == {5: {"a": 3}, 9: {"a": 4}}
    assert engine.versions(source) == {5: {"a": 6}, 9: {"a": 8}}
    assert feed(engine, source, (7, "a", 4)) == [(7, "a", 2)]


def test_a_lookup_gives_one_row_of_the_newest_version():
    source = table()
    output = kept(source)
    engine = Engine(output)
    feed(engine, source, (5, "a", 5), (3, "b", 3), (3, "a", 4), (6, "b", None))
    for reactive in (output, source):
        assert [engine.lookup(reactive, key) for key in "abc"] == [5, None, None]


def test_a_null_foreign_key_matches_nothing():
    a, b = table("a"), table("b")
    output = foreign_join(a, b, on=lambda value: value, how="left", restrict=versioned("left", "right"))
    engine = Engine(output)
    feed(engine, b, (1, None, "nobody"), (1, "x", "X"))
    feed(engine, a, (5, 0, "x"), (2, 0, None))
    engine.push(a, Update(0, None), at=3)
    assert engine.versions(output) == {3: {0: (None, None)}, 5: {0: ("x", "X")}}
