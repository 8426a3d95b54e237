"""Sax et al.'s table of operators, cell by cell: what each makes of streams and tables."""

from __future__ import annotations

from typing import Any

from cartesius import Engine, Reactive, Update, correlate
from restrictions import optionally, retracting, versioned, within
from restrictions.streams import filter_, group_by, map_, map_concat
from restrictions.tables import (
    count,
    filter_table,
    map_table,
    reduce,
    to_table,
)
from tests.oracle.version_checks import (
    FIGURE_5,
    FIGURE_5_INPUTS,
    as_changes,
    as_results,
    equivalent,
    feed,
    joined,
    lookup,
    table,
)
from tests.oracle.version_oracle import (
    Item,
)

# -------------------------------------------------------------------------- the operator table (SOURCES C7), by cell


def check_stateless(output_of, expected_of):
    """Definition 4.3: equivalent inputs give equivalent outputs, which inherit the timestamps."""
    records = [(5, 1), (3, 2), (9, 3), (3, 1), (4, 2)]
    outputs = []
    for arrivals in (records, sorted(records), records[::-1]):
        stream = Reactive("s")
        engine = Engine(output_of(stream))
        outputs.append([(e.end, e.value) for time, value in arrivals for e in engine.push(stream, value, at=time)])
    expected = [(time, value) for time, record in records for value in expected_of(record)]
    assert outputs[0] == expected
    assert all(equivalent(output, expected) for output in outputs)


def test_filter_of_a_stream_is_a_stream():
    check_stateless(lambda s: filter_(s, lambda v: v != 2), lambda v: [v] if v != 2 else [])


def test_map_values_of_a_stream_is_a_stream():
    check_stateless(lambda s: map_(s, lambda v: v * 10), lambda v: [v * 10])


def test_map_of_a_stream_is_a_stream():
    check_stateless(lambda s: map_(s, lambda v: (v % 2, v)), lambda v: [(v % 2, v)])


def test_flat_map_of_a_stream_is_a_stream():
    check_stateless(lambda s: map_concat(s, lambda v: [v] * v), lambda v: [v] * v)


def run_table(output, source, *arrivals):
    engine = Engine(output)
    return feed(engine, source, *arrivals), engine.versions(output)


def test_filter_of_a_table_is_a_table():
    """A late row that fails deletes, from its time on; one that holds comes late as well."""
    source = table()
    output = filter_table(source, lambda value: value > 0, restrict=versioned("x"))
    emitted, found = run_table(output, source, (1, 0, 1), (6, 0, 6), (3, 0, -3), (4, 0, 4), (2, 1, -2))
    assert emitted == [(1, 0, 1), (6, 0, 6), (3, 0, None), (4, 0, 4)]
    assert found == {1: {0: 1}, 3: {}, 4: {0: 4}, 6: {0: 6}}


def test_map_values_of_a_table_is_a_table():
    source = table()
    output = map_table(source, lambda value: value * 10, restrict=versioned("x"))
    emitted, found = run_table(output, source, (1, 0, 1), (6, 0, None), (3, 0, 3))
    assert emitted == [(1, 0, 10), (6, 0, None), (3, 0, 30)]
    assert found == {1: {0: 10}, 3: {0: 30}, 6: {}}


def test_group_by_and_aggregate_of_a_stream_is_a_table():
    """Each record is a row of its own."""
    stream = Reactive("s")
    rows = to_table(stream, key="n", restrict=versioned("x"))
    output = reduce(rows, count, by="k", restrict=versioned("x"))
    engine = Engine(output)
    emitted = []
    for time, k, n in ((3, "a", 1), (7, "a", 2), (5, "b", 3), (4, "a", 4)):
        emitted += as_changes(engine.push(stream, {"k": k, "n": n}, at=time))
    assert emitted == [(3, "a", 1), (7, "a", 2), (5, "b", 1), (4, "a", 2), (7, "a", 3)]
    assert engine.versions(output) == {
        3: {"a": 1}, 4: {"a": 2}, 5: {"a": 2, "b": 1}, 7: {"a": 3, "b": 1},
    }  # fmt: skip


def test_group_by_and_window_by_and_aggregate_of_a_stream_is_a_table():
    """Of Figure 7: a click counts in five windows of five minutes, a minute apart; the key is (region, window)."""
    click = Reactive("click")
    in_windows = map_concat(
        click, lambda click: [(click["region"].lower(), start) for start in range(click["at"] - 4, click["at"] + 1)]
    )
    output = group_by(in_windows, lambda pair: pair, combine=lambda number, _: number + 1, initial=0)
    engine = Engine(output)
    assert len(engine.push(click, {"region": "North", "at": 10}, at=10)) == 5
    engine.push(click, {"region": "NORTH", "at": 12}, at=12)
    engine.push(click, {"region": "north", "at": 7}, at=7)  # late by order of arrival: it counts all the same
    assert engine.query(output) == {
        **{("north", start): 1 for start in (3, 4, 5, 11, 12)},
        **{("north", start): 2 for start in (6, 7, 8, 9, 10)},
    }


def test_group_by_and_aggregate_of_a_table_is_a_table():
    """A row that moves leaves its group and enters the other; an emptied group is deleted; late moves correct both."""
    source = table()
    output = reduce(source, count, by="k", restrict=versioned("x"))
    engine = Engine(output)
    rows = {name: {"k": name} for name in "ab"}
    assert feed(engine, source, (1, 1, rows["a"]), (2, 2, rows["a"])) == [(1, "a", 1), (2, "a", 2)]
    assert sorted(feed(engine, source, (6, 1, rows["b"]))) == [(6, "a", 1), (6, "b", 1)]
    late = [(4, "a", 1), (4, "b", 1), (6, "a", None), (6, "b", 2)]
    assert set(feed(engine, source, (4, 2, rows["b"]))) == set(late)
    assert engine.versions(output) == {1: {"a": 1}, 2: {"a": 2}, 4: {"a": 1, "b": 1}, 6: {"b": 2}}


def pair_of_numbers(x, y):
    return (None if x is None else x.n, None if y is None else y.n)


def band(*optional, is_eager=False):
    x, y = Reactive("x"), Reactive("y")
    restrict: Any = within(2, "x", "y")
    if optional:
        restrict |= optionally(*optional)
    if is_eager:
        restrict |= retracting()
    output = correlate(x=x, y=y, where=lambda x, y: x.k == y.k, yields=pair_of_numbers, restrict=restrict)
    return x, y, output


def run_band(x, y, output):
    """Record 1 of x at 1 meets 3 of y at 3 (the band is inclusive); 2 at 4 and 5 at 9 stay alone."""
    engine = Engine(output)
    out: list[Any] = []
    for source, time, k, n in ((y, 4, 1, 2), (x, 1, 0, 1), (y, 3, 0, 3), (x, 9, 0, 5)):
        out += [(e.value, e.end, e.weight) for e in engine.push(source, Item(k, 0, n), at=time)]
    for time in (6, 7, 11, 12):
        out += [(time, e.value, e.end, e.weight) for e in engine.advance(time)]
    return out


def test_inner_join_of_two_streams_is_a_stream():
    assert run_band(*band()) == [((1, 3), 3, 1)]


def test_left_join_of_two_streams_is_a_stream():
    assert run_band(*band("y")) == [((1, 3), 3, 1), (12, (5, None), 9, 1)]
    assert run_band(*band("y", is_eager=True)) == [
        ((1, None), 1, 1), ((1, None), 1, -1), ((1, 3), 3, 1), ((5, None), 9, 1),
    ]  # fmt: skip


def test_outer_join_of_two_streams_is_a_stream():
    assert run_band(*band("x", "y")) == [((1, 3), 3, 1), (7, (None, 2), 4, 1), (12, (5, None), 9, 1)]
    assert run_band(*band("x", "y", is_eager=True)) == [
        ((None, 2), 4, 1), ((1, None), 1, 1), ((1, None), 1, -1), ((1, 3), 3, 1), ((5, None), 9, 1),
    ]  # fmt: skip


def check_table_join(kind, expected):
    """Figure 5's tables, and rows of B alone: 7 from 2 to 4."""
    a, b = table("a"), table("b")
    output = joined(kind, a, b)
    engine = Engine(output)
    feed(engine, a, *reversed(FIGURE_5_INPUTS[0]))
    feed(engine, b, *FIGURE_5_INPUTS[1], (4, 7, None), (2, 7, "B2'"))
    assert list(engine.versions(output).items()) == list(expected.items())


def test_inner_join_of_two_tables_is_a_table():
    check_table_join("inner", {time: {0: pair} for time, pair in FIGURE_5["inner"].items()})


def test_left_join_of_two_tables_is_a_table():
    check_table_join("left", {time: {0: pair} for time, pair in FIGURE_5["left"].items()})


def test_outer_join_of_two_tables_is_a_table():
    rows = {time: {0: pair} for time, pair in FIGURE_5["outer"].items()}
    rows[2][7] = rows[3][7] = (None, "B2'")
    rows[4] = {0: ("A1", "B3")}
    check_table_join("outer", dict(sorted(rows.items())))


def test_inner_join_of_a_stream_and_a_table_is_a_stream():
    stream, rows, output = lookup("inner")
    engine = Engine(output)
    record = {"k": "A"}
    assert engine.push(stream, record, at=6) == []
    assert as_results(engine.push(rows, Update("A", "a"), at=2)) == [((record, "a"), 6, 1)]
    assert as_results(engine.push(rows, Update("A", "b"), at=6)) == [
        ((record, "a"), 6, -1),
        ((record, "b"), 6, 1),
    ]


def test_left_join_of_a_stream_and_a_table_is_a_stream():
    """Exactly one current result a record."""
    stream, rows, output = lookup("left")
    engine = Engine(output)
    record = {"k": "A"}
    assert as_results(engine.push(stream, record, at=6)) == [((record, None), 6, 1)]
    assert engine.push(rows, Update("A", "z"), at=7) == []
    assert as_results(engine.push(rows, Update("A", "a"), at=2)) == [
        ((record, None), 6, -1),
        ((record, "a"), 6, 1),
    ]
