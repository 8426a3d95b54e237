"""retracting and as_table: what is taken back, rows, and the times of changes (SEMANTICS 1.9, 1.10, 1.14, 2.1, 2.2)."""

from __future__ import annotations

import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import affinely, as_table, at_most, cartesian, most_recently, optionally, retracting


def shown(events):
    return [(event.value, event.start, event.end, event.weight) for event in events]


def values(events):
    return [event.value for event in events]


@pytest.fixture
def table():
    return Reactive("t", table=True)


@pytest.fixture
def left():
    return Reactive("left")


def copy_of(table, **options):
    return correlate(r=table, yields=lambda r: r, restrict=retracting() | as_table("r"), name="copy", **options)


def test_a_retraction_has_value_and_times_of_the_result_that_it_takes_back(left):
    right = Reactive("right")
    engine = Engine(cartesian(left, right, restrict=retracting() | most_recently("left", "right")))
    engine.push(left, 1, at=1)
    engine.push(right, "a", at=(5, 7))
    assert shown(engine.push(left, 2, at=9)) == [((1, "a"), 1, 7, -1), ((2, "a"), 5, 9, 1)]


def test_all_retractions_precede_all_results(left):
    right = Reactive("right")
    output = cartesian(left, right, restrict=retracting() | most_recently("left"))
    engine = Engine(output)
    engine.push(right, "a")
    engine.push(right, "b")
    engine.push(left, 1)
    assert [(e.value, e.weight) for e in engine.push(left, 2)] == [
        ((1, "b"), -1),
        ((1, "a"), -1),
        ((2, "b"), 1),
        ((2, "a"), 1),
    ]


def test_only_what_was_a_result_is_retracted(left):
    output = correlate(
        x=left, where=lambda x: x % 2 == 0, yields=lambda x: x, restrict=retracting() | most_recently("x")
    )
    engine = Engine(output)
    assert [[(e.value, e.weight) for e in engine.push(left, n)] for n in (1, 2, 3, 4)] == [
        [],
        [(2, 1)],
        [(2, -1)],
        [(4, 1)],
    ]


def test_each_of_several_yields_is_taken_back(left):
    @correlate(x=left, restrict=retracting() | most_recently("x"))
    def output(x):
        yield from range(x)

    engine = Engine(output)
    engine.push(left, 2)
    assert [(e.value, e.weight) for e in engine.push(left, 1)] == [(0, -1), (1, -1), (0, 1)]


def test_without_retracting_results_are_facts(table):
    engine = Engine(correlate(r=table, yields=lambda r: r))
    assert values(engine.push(table, Update("k", 1))) == [1]
    assert values(engine.push(table, Update("k", 2))) == [2]
    assert engine.push(table, Delete("k")) == []
    assert engine.stats.retained == 0


def test_a_delete_never_reaches_the_body_and_an_absent_key_is_no_change(table):
    engine = Engine(copy_of(table))
    assert engine.push(table, Delete("k")) == []
    engine.push(table, Update("k", 1))
    assert values(engine.push(table, Delete("k"))) == [Delete("k")]
    assert engine.push(table, Delete("k")) == []


def test_the_times_of_changes(table):
    other = Reactive("u", table=True)
    output = correlate(
        x=table, y=other, where=lambda x, y: x == y, yields=lambda x, y: (x, y), restrict=retracting() | as_table("x")
    )
    engine = Engine(output)
    engine.push(table, Update("k", 1), at=5)
    assert shown(engine.push(other, Update("a", 1), at=2)) == [(Update("k", (1, 1)), 2, 5, 1)]
    # The cause belongs to the hull, the row that leaves does not.
    engine.push(other, Update("b", 1), at=30)
    assert shown(engine.push(other, Delete("a"), at=40)) == []
    assert shown(engine.push(other, Delete("b"), at=(50, 51))) == [(Delete("k"), 50, 51, 1)]


def test_an_update_that_a_delete_causes_carries_the_hull_of_its_parts_and_of_the_delete(table):
    output = correlate(x=table, yields=lambda x: x, restrict=retracting() | as_table(lambda value: value % 2))
    engine = Engine(output)
    engine.push(table, Update("a", 1), at=3)
    assert shown(engine.push(table, Update("b", 3), at=4)) == [(Update(1, 3), 4, 4, 1)]
    assert shown(engine.push(table, Delete("b"), at=9)) == [(Update(1, 1), 3, 9, 1)]


@pytest.mark.parametrize(
    ("first", "second", "is_change"),
    [
        (1, 1, False),
        (1, True, True),
        (1, 1.0, True),
        (float("nan"), float("nan"), False),
        (float("nan"), 1.0, True),
        ((1, "a"), (1, "a"), False),
        ((1, "a"), (True, "a"), True),
        ([1], [1.0], True),
        ({"a": 1}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, True),
        ({"a": float("nan")}, {"a": float("nan")}, False),
        (2**53, float(2**53), True),
        (None, 0, True),
        (None, None, False),
    ],
)
def test_changed_compares_to_the_type(table, first, second, is_change):
    copy = copy_of(table)
    engine = Engine(copy)
    assert len(engine.push(table, Update("k", first))) == 1
    engine = Engine.restore(engine.snapshot(), copy)
    assert len(engine.push(table, Update("k", second))) == is_change
    assert len(engine.push(table, Update("k", first))) == is_change


def test_rows_of_one_key_show_the_first_in_order(table):
    output = correlate(x=table, yields=lambda x: x.n, restrict=retracting() | as_table(lambda n: n % 2))
    engine = Engine(output)
    assert values(engine.push(table, Update("a", {"n": 1}))) == [Update(1, 1)]
    assert values(engine.push(table, Update("b", {"n": 3}))) == [Update(1, 3)]  # newest first
    assert values(engine.push(table, Update("a", {"n": 2}))) == [Update(0, 2)]
    assert values(engine.push(table, Update("a", {"n": 5}))) == [Delete(0), Update(1, 5)]
    assert values(engine.push(table, Delete("a"))) == [Update(1, 3)]
    assert values(engine.push(table, Delete("b"))) == [Delete(1)]


def test_without_retracting_a_table_keeps_the_first_row_of_the_latest_step(left):
    right = Reactive("right")
    output = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=as_table(lambda value: value[1]))
    engine = Engine(output)
    engine.push(left, 1)
    engine.push(left, 2)
    assert values(engine.push(right, "a")) == [Update("a", (2, "a"))]
    assert values(engine.push(left, 3)) == [Update("a", (3, "a"))]
    assert engine.query(output) == {"a": (3, "a")}


def test_changes_come_by_key_in_order_of_first_mention(left):
    right = Reactive("right")
    output = correlate(
        x=left,
        y=right,
        yields=lambda x, y: (x, y),
        restrict=retracting() | most_recently("y") | as_table(lambda v: v[0]),
    )
    engine = Engine(output)
    for n in (1, 2, 3):
        engine.push(left, n)
    assert [change.key for change in values(engine.push(right, "a"))] == [3, 2, 1]
    assert [change.key for change in values(engine.push(right, "b"))] == [3, 2, 1]


def test_the_key_of_a_slot_is_its_tables_key(table):
    engine = Engine(copy_of(table))
    assert values(engine.push(table, Update(("EVA", 1), 9))) == [Update(("EVA", 1), 9)]


@pytest.mark.parametrize("key", ["nobody", "x", 3, None])
def test_a_key_that_is_no_table_slot_and_no_function_is_refused(left, key):
    with pytest.raises(InvalidArgument, match="as_table"):
        Engine(correlate(x=left, yields=lambda x: x, restrict=retracting() | as_table(key)))


@pytest.mark.parametrize("other", [affinely("x"), at_most(2, "x")], ids=repr)
@pytest.mark.parametrize("order", [lambda a, b: a | b, lambda a, b: b | a])
def test_retracting_is_refused_with_consumption_and_says_why(left, other, order):
    with pytest.raises(InvalidArgument) as caught:
        Engine(correlate(x=left, yields=lambda x: x, restrict=order(retracting(), other)))
    assert type(other).__name__ in str(caught.value)


def test_a_table_that_two_slots_share_is_one_batch(table):
    output = correlate(
        x=table,
        y=table,
        where=lambda x, y: x.boss == y.name,
        yields=lambda x, y: (x.name, y.level),
        restrict=retracting() | as_table("x"),
    )
    engine = Engine(output)
    assert values(engine.push(table, Update(1, {"name": "a", "boss": "a", "level": 0}))) == [Update(1, ("a", 0))]
    assert values(engine.push(table, Update(2, {"name": "b", "boss": "a", "level": 1}))) == [Update(2, ("b", 0))]
    assert sorted(values(engine.push(table, Update(1, {"name": "a", "boss": "a", "level": 5}))), key=repr) == [
        Update(1, ("a", 5)),
        Update(2, ("b", 5)),
    ]
    assert sorted(values(engine.push(table, Delete(1))), key=repr) == [Delete(1), Delete(2)]


def test_a_view_of_an_outer_row_moves_without_a_transient(table):
    berth = Reactive("berth", table=True)
    output = correlate(
        v=table,
        b=berth,
        where=lambda v, b, key_b: v.berth == key_b,
        yields=lambda v, b: (v.berth, b),
        restrict=as_table("v") | retracting() | optionally("b"),
    )
    engine = Engine(output)
    assert values(engine.push(table, Update("EVA", {"berth": "A"}))) == [Update("EVA", ("A", None))]
    assert values(engine.push(berth, Update("A", 10))) == [Update("EVA", ("A", 10))]
    assert values(engine.push(berth, Update("A", 10))) == []
    assert values(engine.push(table, Update("EVA", {"berth": "B"}))) == [Update("EVA", ("B", None))]
    assert values(engine.push(berth, Delete("A"))) == []
    assert values(engine.push(table, Delete("EVA"))) == [Delete("EVA")]


def test_to_take_results_back_twice_is_to_take_them_back_once():
    source = Reactive("source")
    latest = correlate(x=source, yields=lambda x: x, restrict=retracting() | retracting() | most_recently("x"))
    events = run(latest, [(source, 1), (source, 2)])
    assert [(event.value, event.weight) for event in events] == [(1, 1), (1, -1), (2, 1)]
