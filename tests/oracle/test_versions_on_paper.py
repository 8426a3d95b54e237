"""Sax et al.'s examples by name: what the oracle gives of them, and what the engine does."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal

import pytest

from cartesius import Delete, Engine, Reactive, Update
from restrictions import versioned
from restrictions.streams import filter_
from restrictions.tables import (
    reduce,
    sum_,
    to_table,
)
from tests.oracle.table_oracle import exact
from tests.oracle.version_checks import (
    FIGURE_5,
    FIGURE_5_INPUTS,
    as_results,
    equivalent,
    feed,
    joined,
    kept,
    lookup,
    table,
)
from tests.oracle.version_oracle import (
    Item,
    Leaf,
    Lookups,
    Program,
    Push,
    Reference,
    Two,
    evaluate,
    history,
    since,
    snapshot,
    versions,
)

# ------------------------------------------------------------------------------------- the oracle, on paper numbers


def changes(*arrivals):
    """A history of arrivals (time, key, value); a value of None deletes."""
    return history((time, Delete(key) if value is None else Update(key, value)) for time, key, value in arrivals)


FIGURE_1 = [(5, "A", 7.2), (6, "B", 14.7), (6, "A", 8.9), (3, "B", 12.1), (8, "B", 16.7)]
GENERATIONS = [
    {5: {"A": 7.2}},
    {5: {"A": 7.2}, 6: {"A": 7.2, "B": 14.7}},
    {5: {"A": 7.2}, 6: {"A": 8.9, "B": 14.7}},
    {3: {"B": 12.1}, 5: {"A": 7.2, "B": 12.1}, 6: {"A": 8.9, "B": 14.7}},
    {3: {"B": 12.1}, 5: {"A": 7.2, "B": 12.1}, 6: {"A": 8.9, "B": 14.7}, 8: {"A": 8.9, "B": 16.7}},
]


def test_the_oracle_gives_all_generations_of_example_3_1():
    for offset, generation in enumerate(GENERATIONS, start=1):
        table = changes(*FIGURE_1[:offset])
        assert versions(table.at, table.times()) == generation


@pytest.mark.parametrize("kind", FIGURE_5)
def test_the_oracle_gives_the_versions_of_example_4_6(kind):
    inputs = [changes(*arrivals) for arrivals in FIGURE_5_INPUTS]
    node = Two(kind, Leaf(0), Leaf(1))
    expected = {time: {0: value} for time, value in FIGURE_5[kind].items()}
    assert versions(lambda time: evaluate(node, snapshot(inputs, time)), range(8)) == expected


def test_the_oracle_gives_the_sums_of_example_4_5():
    def total(inputs, time):
        return {"sum": total} if (total := sum(inputs.at(time).values())) else {}

    arrivals = [(3, "r1", Decimal("2.3")), (7, "r2", Decimal("4.4")), (5, "r3", Decimal("6.1"))]
    table = changes(*arrivals)
    assert versions(lambda time: total(table, time), table.times()) == {
        3: {"sum": Decimal("2.3")},
        5: {"sum": Decimal("8.4")},
        7: {"sum": Decimal("12.8")},
    }
    prefix = changes(*arrivals[:2])
    assert total(prefix, 7) == {"sum": Decimal("6.7")}


def test_the_oracle_gives_the_lookups_of_example_4_7():
    table = Reference(Program(Leaf(0)))
    for time, key, value in FIGURE_1:
        table.push(Push(0, time, Update(key, value)))
    names = {"A": 0, "B": 1, "C": 2}
    table.inputs[0].changes = {names[key]: versions for key, versions in table.inputs[0].changes.items()}
    lookups = Lookups(table, "inner")
    records = [Item(1, 0, 35), Item(0, 0, 42), Item(2, 0, 64), Item(1, 0, 12)]
    for time, record in zip((2, 5, 6, 7), records, strict=True):
        lookups.push(time, record)
    assert lookups.current() == {(5, exact((records[1], 7.2))): 1, (7, exact((records[3], 14.7))): 1}
    lookups.how = "left"
    assert lookups.current() == {
        (2, exact((records[0], None))): 1,
        (5, exact((records[1], 7.2))): 1,
        (6, exact((records[2], None))): 1,
        (7, exact((records[3], 14.7))): 1,
    }


def test_the_oracle_lets_an_update_win_over_a_delete_of_the_same_time():
    for arrivals in ([(1, "a", 1), (1, "a", None)], [(1, "a", None), (1, "a", 1)]):
        assert changes(*arrivals).at(1) == {"a": 1}


def test_the_oracle_says_from_which_time_on_versions_are_exact():
    reference = Reference(Program(Leaf(0), retention=3))
    assert reference.horizon == -math.inf
    assert reference.push(Push(0, 1, Update(0, "a")))
    reference.advance(10)
    assert reference.horizon == 7
    assert not reference.push(Push(0, 6, Update(0, "b")))
    assert reference.push(Push(0, 7, Update(0, "c")))
    assert since(reference.versions(), 7) == since({7: {0: "c"}}, 7)


# ------------------------------------------------------------------------------------------------ the paper's examples


@pytest.mark.parametrize("wrap", ["output", "input", "stream of changes", "stream of values"])
def test_example_3_1_shows_all_five_generations(wrap):
    source = Reactive("T", table=wrap in {"output", "input"})
    options = {"key": "k", "restrict": versioned("x")} if wrap == "stream of values" else {"restrict": versioned("x")}
    output = kept(source) if wrap in {"output", "input"} else to_table(source, **options)
    engine = Engine(output)
    for (time, key, value), generation in zip(FIGURE_1, GENERATIONS, strict=True):
        engine.push(source, {"k": key, "v": value} if wrap == "stream of values" else Update(key, value), at=time)
        found = engine.versions(source if wrap == "input" else output)
        if wrap == "stream of values":
            found = {at: {key: row["v"] for key, row in rows.items()} for at, rows in found.items()}
        assert list(found.items()) == list(generation.items())


def test_example_3_1_corrects_the_versions_that_follow_in_its_changelog():
    """B is there at 5 because of the version of 3; only the change itself is told."""
    source = table()
    engine = Engine(kept(source))
    assert [feed(engine, source, arrival) for arrival in FIGURE_1] == [[arrival] for arrival in FIGURE_1]


def test_example_4_1_filters_of_equivalent_streams_are_equivalent():
    one, other = [("r", 1), ("s", 2), ("t", 3), ("v", 4)], [("r", 1), ("s", 2), ("v", 4), ("t", 3)]
    source = Reactive("records")
    found = []
    for stream in (one, other):
        engine = Engine(filter_(source, lambda value: value != "s"))
        found.append([(e.value, e.end) for value, time in stream for e in engine.push(source, value, at=time)])
    assert found == [[("r", 1), ("t", 3), ("v", 4)], [("r", 1), ("v", 4), ("t", 3)]]
    assert equivalent(*found)


RECORDS_4_5 = [(3, "r1", Decimal("2.3")), (7, "r2", Decimal("4.4")), (5, "r3", Decimal("6.1"))]


@pytest.mark.parametrize(
    ("arrivals", "changelog"),
    [
        (sorted(RECORDS_4_5), [(3, "2.3"), (5, "8.4"), (7, "12.8")]),
        (RECORDS_4_5, [(3, "2.3"), (7, "6.7"), (5, "8.4"), (7, "12.8")]),
    ],
    ids=["in order", "late"],
)
def test_example_4_5_a_late_record_gives_its_version_and_corrects_every_later_one(arrivals, changelog):
    source = table()
    total = reduce(source, sum_, by=lambda value: "all", restrict=versioned("x"))
    engine = Engine(total)
    assert feed(engine, source, *arrivals) == [(time, "all", Decimal(value)) for time, value in changelog]
    stream = Engine(reduce(source, sum_, restrict=versioned("x")))
    emitted = [event for time, key, value in arrivals for event in stream.push(source, Update(key, value), at=time)]
    assert as_results(emitted) == [(Decimal(value), time, 1) for time, value in changelog]
    assert list(engine.versions(total).items()) == [
        (time, {"all": Decimal(value)}) for time, value in ((3, "2.3"), (5, "8.4"), (7, "12.8"))
    ]


@pytest.mark.parametrize("kind", ["inner", "composed"])
@pytest.mark.parametrize("order", ["a first", "b first", "in order", "backwards"])
def test_example_4_6_tables_are_joined_by_version(kind, order):
    """R2, R3, R5 and R6: one version where both change, and no R1."""
    a, b = table("a"), table("b")
    result = joined(kind, a, b)
    engine = Engine(result)
    arrivals = [(a, *each) for each in FIGURE_5_INPUTS[0]] + [(b, *each) for each in FIGURE_5_INPUTS[1]]
    if order != "a first":
        arrivals.sort(key=lambda each: (each[0] is a) if order == "b first" else each[1], reverse=order == "backwards")
    for source, *arrival in arrivals:
        feed(engine, source, arrival)
    assert list(engine.versions(result).items()) == [(time, {0: pair}) for time, pair in FIGURE_5["inner"].items()]


RECORDS_4_7 = [
    (2, {"k": "B", "v": 3.5}),
    (5, {"k": "A", "v": 4.2}),
    (6, {"k": "C", "v": 6.4}),
    (7, {"k": "B", "v": 1.2}),
]


@pytest.mark.parametrize("is_table_first", [True, False], ids=["table first", "stream first"])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_example_4_7_a_record_finds_the_version_valid_at_its_own_time(how, is_table_first):
    stream, rows, output = lookup(how)
    engine = Engine(output)
    standing = Counter()
    pushes = [(rows, Update(key, value), time) for time, key, value in FIGURE_1]
    records = [(stream, record, time) for time, record in RECORDS_4_7]
    for reactive, value, time in (*pushes, *records) if is_table_first else (*records, *pushes):
        for event in engine.push(reactive, value, at=time):
            standing[event.end, event.value[0]["k"], event.value[0]["v"], event.value[1]] += event.weight
    # Figure 6's table has B's 12.1 from 3 on, so a record of B at 2 finds nothing.
    found = {(5, "A", 4.2, 7.2): 1, (7, "B", 1.2, 14.7): 1}
    missing = {(2, "B", 3.5, None): 1, (6, "C", 6.4, None): 1}
    assert +standing == (found if how == "inner" else found | missing)
    assert min(standing.values()) >= 0


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_late_table_update_corrects_the_result_that_it_should_have_touched(how):
    stream, rows, output = lookup(how)
    engine = Engine(output)
    record = {"k": "A", "v": "alpha"}
    engine.push(rows, Update("A", "a"), at=2)
    assert as_results(engine.push(stream, record, at=6)) == [((record, "a"), 6, 1)]
    assert as_results(engine.push(rows, Update("A", "a'"), at=5)) == [
        ((record, "a"), 6, -1),
        ((record, "a'"), 6, 1),
    ]
    assert engine.push(rows, Update("A", "a''"), at=7) == []
    assert engine.push(rows, Update("A", "b"), at=4) == []


def test_a_late_delete_takes_the_row_from_a_record():
    for how in ("inner", "left"):
        stream, rows, output = lookup(how)
        engine = Engine(output)
        record = {"k": "A", "v": "alpha"}
        engine.push(rows, Update("A", "a"), at=2)
        engine.push(stream, record, at=6)
        found = as_results(engine.push(rows, Delete("A"), at=6))
        assert found[0] == ((record, "a"), 6, -1)
        assert found[1:] == ([] if how == "inner" else [((record, None), 6, 1)])


def test_a_record_and_a_version_of_the_same_time_meet():
    for is_table_first in (True, False):
        stream, rows, output = lookup()
        engine = Engine(output)
        pushes = [(rows, Update("A", "a"), 3), (stream, {"k": "A"}, 3)]
        emitted = [engine.push(*push[:2], at=push[2]) for push in (pushes if is_table_first else pushes[::-1])]
        assert [event.value for event in emitted[1]] == [({"k": "A"}, "a")]
