"""key_by: key spaces, copies, null keys (SEMANTICS 1.13)."""

from __future__ import annotations

import re

import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.errors import InvalidArgument
from restrictions import affinely, aligning, as_table, cartesian, key_by, most_recently, retracting
from restrictions.basics.keys import having_key


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def first(value):
    return value[0]


def pushed(output, trace):
    engine = Engine(output)
    return [["".join(value) for value in values(engine.push(*step))] for step in trace]


def test_a_keyed_slot_with_an_unkeyed_one(left, right):
    output = cartesian(left, right, restrict=key_by(left=first) | most_recently("left", "right"))
    trace = [(left, "a1"), (left, "b1"), (right, "r1"), (left, "a2"), (right, "r2")]
    assert pushed(output, trace) == [[], [], ["b1r1", "a1r1"], ["a2r1"], ["a2r2", "b1r2"]]


@pytest.mark.parametrize("order", [lambda m, a: m | a, lambda m, a: a | m])
def test_zip_by_key(left, right, order):
    restrict = key_by(left=first, right=first) | order(most_recently("left", "right"), aligning("left", "right"))
    trace = [(left, "k1"), (left, "j1"), (right, "j2"), (right, "k2")]
    assert pushed(cartesian(left, right, restrict=restrict), trace) == [[], [], ["j1j2"], ["k1k2"]]


def test_an_equi_join_meets_under_equal_keys_only(left, right):
    output = cartesian(left, right, restrict=key_by(left="id", right="id"))
    engine = Engine(output)
    got = []
    for reactive, row in [
        (left, {"id": 1}),
        (right, {"id": 2}),
        (right, {"id": 1}),
        (right, {"id": True}),
        (left, {"id": 2.0}),
    ]:
        got.append([(x.id, y.id) for x, y in values(engine.push(reactive, row))])
    assert got == [[], [], [(1, 1)], [(1, True)], [(2.0, 2)]]
    assert engine.stats.tuples == 3


def test_slots_keyed_in_different_key_bys_meet_freely_so_foreign_keys_are_a_condition():
    vessel, berth = Reactive("vessel"), Reactive("berth")
    output = correlate(
        v=vessel,
        b=berth,
        where=lambda v, b: v.destination == b.id,
        yields=lambda v, b: (v.mmsi, b.id, b.depth),
        restrict=key_by(v="mmsi") | key_by(b="id") | most_recently("v", "b"),
    )
    engine = Engine(output)
    steps = [
        (vessel, {"mmsi": 1, "destination": "A"}, []),
        (vessel, {"mmsi": 2, "destination": "B"}, []),
        (berth, {"id": "A", "depth": 10}, [(1, "A", 10)]),
        (berth, {"id": "B", "depth": 12}, [(2, "B", 12)]),
        (vessel, {"mmsi": 1, "destination": "B"}, [(1, "B", 12)]),
        (berth, {"id": "A", "depth": 11}, []),
        (berth, {"id": "B", "depth": 13}, [(1, "B", 13), (2, "B", 13)]),
    ]
    for reactive, value, expected in steps:
        assert values(engine.push(reactive, value)) == expected


def test_a_null_key_matches_nothing(left, right):
    output = cartesian(left, right, restrict=key_by(left="k", right="k") | most_recently("left", "right"))
    engine = Engine(output)
    nan = float("nan")
    for value in (None, nan):
        assert engine.push(left, {"k": value}) == []
        assert engine.push(right, {"k": value}) == []
    engine.push(left, {"k": 1})
    assert len(engine.push(right, {"k": 1})) == 1
    assert Engine.restore(engine.snapshot(), output).stats == engine.stats


def test_a_null_key_is_released_by_no_gate(left, right):
    output = cartesian(left, right, restrict=key_by(left="k", right="k") | aligning("left", "right"))
    engine = Engine(output)
    assert engine.push(left, {"k": None}) == []
    assert engine.push(right, {"k": None}) == []


def test_a_key_cannot_be_hashed_or_it_can(left, right):
    """Keys are compared by ==; one that cannot be hashed is either a key or refused by name, never a bare TypeError."""
    output = cartesian(left, right, restrict=key_by(left="k", right="k"))
    engine = Engine(output)
    try:
        engine.push(left, {"k": [1]})
    except ValueError as error:
        assert "key_by" in str(error)  # noqa: PT017 - what an error says, if there is one
    else:
        assert len(engine.push(right, {"k": [1]})) == 1


def test_several_key_spaces_narrow_each_other(left, right):
    restrict = key_by(left="a", right="a") | key_by(left="b", right="b")
    engine = Engine(cartesian(left, right, restrict=restrict))
    engine.push(left, {"a": 1, "b": 1})
    assert engine.push(right, {"a": 1, "b": 2}) == []
    assert engine.push(right, {"a": 2, "b": 1}) == []
    assert len(engine.push(right, {"a": 1, "b": 1})) == 1


def test_newest_first_is_over_all_keys(left, right):
    output = cartesian(left, right, restrict=key_by(left=first) | most_recently("left"))
    trace = [(left, "a1"), (left, "b1"), (left, "c1"), (left, "b2"), (left, "a2"), (right, "r")]
    assert pushed(output, trace)[-1] == ["a2r", "b2r", "c1r"]


def test_uses_are_the_entrys_under_any_key(left, right):
    output = cartesian(left, right, restrict=key_by(left=first, right=first) | affinely("left"))
    trace = [(left, "a1"), (left, "b1"), (right, "a"), (right, "b"), (right, "a")]
    assert pushed(output, trace) == [[], [], ["a1a"], ["b1b"], []]


def test_a_key_on_a_table_slot_is_that_of_the_row():
    """An update that moves its row displaces it under the old key; a delete goes where its row is."""
    vessel, berth = Reactive("vessel", table=True), Reactive("berth", table=True)
    output = correlate(
        v=vessel,
        b=berth,
        yields=lambda v, b: (v.berth, b.depth),
        restrict=as_table("v") | retracting() | key_by(v="berth", b="name"),
    )
    engine = Engine(output)
    engine.push(berth, Update(1, {"name": "A", "depth": 10}))
    engine.push(berth, Update(2, {"name": "B", "depth": 12}))
    assert values(engine.push(vessel, Update("EVA", {"berth": "A"}))) == [Update("EVA", ("A", 10))]
    assert values(engine.push(vessel, Update("EVA", {"berth": "B"}))) == [Update("EVA", ("B", 12))]
    assert values(engine.push(vessel, Update("EVA", {"berth": "C"}))) == [Delete("EVA")]
    assert values(engine.push(vessel, Update("EVA", {"berth": "B"}))) == [Update("EVA", ("B", 12))]
    assert values(engine.push(berth, Delete(2))) == [Delete("EVA")]
    assert values(engine.push(vessel, Delete("EVA"))) == []
    assert engine.stats.retained == 1


@pytest.mark.parametrize("restriction", [key_by, having_key])
def test_a_key_without_its_slot_is_refused_in_words(restriction):
    message = f"{restriction.__name__}: expected a key for each slot, by its name, but got 'mmsi'; write"
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        restriction("mmsi")
