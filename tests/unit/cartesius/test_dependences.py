"""The ready dependence relations say of each pair of items whether they may be swapped."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from cartesius import Delete, Event, Update
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from cartesius.testing import (
    Dependence,
    all_depend,
    end_of_day,
    end_of_month,
    none_depend,
    punctuation,
    same_key,
    streams_equivalent,
)


def kind(name):
    return lambda item: item["kind"] == name


RIDE_1 = {"kind": "ride", "taxi": 1, "fare": 9}
RIDE_2 = {"kind": "ride", "taxi": 2, "fare": 5}
AGAIN_1 = {"kind": "ride", "taxi": 1, "fare": 4}
DAY, MONTH = {"kind": "day", "taxi": None}, {"kind": "month", "taxi": None}


def table_of(relation, items):
    return {(a, b) for a, b in itertools.product(range(len(items)), repeat=2) if relation(items[a], items[b])}


def test_the_extended_taxis_of_diffstream():
    """SOURCES E4: the end of a day depends on everything, that of a month on its like, rides on those of their taxi."""
    relation = end_of_day(kind("day")) | end_of_month(kind("month")) | same_key("taxi")
    items = [RIDE_1, RIDE_2, AGAIN_1, MONTH, DAY]
    with_day = {(4, n) for n in range(5)} | {(n, 4) for n in range(5)}
    rides = {(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)}
    assert table_of(relation, items) == with_day | {(3, 3)} | rides


def test_all_and_none():
    items = [1, "a", None]
    assert len(table_of(all_depend(), items)) == 9
    assert table_of(none_depend(), items) == set()


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: Event(v, 1, 1), Record, lambda v: Event(Record(v), 1, 1)])
def test_a_key_is_a_field_of_a_mapping_or_of_the_value_of_an_event(wrap):
    by_field, by_function = same_key("taxi"), same_key(lambda ride: ride["taxi"])
    for relation in (by_field, by_function):
        assert relation(wrap(RIDE_1), wrap(AGAIN_1))
        assert not relation(wrap(RIDE_1), wrap(RIDE_2))
        assert not relation(wrap(DAY), wrap(MONTH))  # no key


def test_a_key_is_an_attribute_of_what_has_no_items_by_name():
    class Ride:
        def __init__(self, taxi):
            self.taxi = taxi

    assert same_key("taxi")(Ride(1), Ride(1))
    assert not same_key("taxi")(Ride(1), Ride(2))
    assert same_key("real")(1, 1 + 2j)


def test_a_change_has_the_key_of_its_row_whatever_else_is_said():
    for relation in (same_key(), same_key("taxi"), same_key(lambda value: value["taxi"])):
        assert relation(Update("E", RIDE_1), Delete("E"))
        assert relation(Event(Update("E", RIDE_1), 1, 1), Update("E", RIDE_2))
        assert not relation(Update("E", RIDE_1), Update("F", RIDE_1))
    assert not same_key()(Event("a", 1, 1), Event("a", 1, 1))


def test_a_retraction_depends_on_what_has_its_key():
    """A retraction is an item; two items of one key depend."""
    given, taken_back, other = Event(RIDE_1, 1, 1), Event(RIDE_1, 1, 1, -1), Event(RIDE_2, 1, 1)
    relation = same_key("taxi")
    assert relation(given, taken_back)
    assert streams_equivalent([given, other, taken_back], [other, given, taken_back], relation)
    assert not streams_equivalent([given, other, taken_back], [taken_back, other, given], relation)


@pytest.mark.parametrize("key", [[1, 2], {"a": 1}, (1, [2]), {3}, 1.5, Decimal("1.5")])
def test_a_key_need_not_be_hashable(key):
    one, other = Update(key, 1), Update(key, 2)
    assert not streams_equivalent([one, other], [other, one])
    assert streams_equivalent([one, Update("x", 0), other], [one, other, Update("x", 0)])


def test_what_lacks_the_field_is_named():
    with pytest.raises(InvalidArgument, match=r"expected a field 'taxi' but got \{'a': 1\}; give a function"):
        same_key("taxi")({"a": 1}, {"a": 1})


def test_an_older_item_may_not_cross_a_punctuation_and_a_younger_one_may():
    relation = punctuation(kind("mark"), "at")
    mark, later = {"kind": "mark", "at": 5}, {"kind": "mark", "at": 8}
    old, same, young = ({"kind": "item", "at": at} for at in (4, 5, 6))
    assert table_of(relation, [mark, old, same, young]) == {(0, 1), (1, 0)}
    assert relation(mark, later)  # the earlier one is an event older than the later one
    assert table_of(relation, [later, old, same, young]) == {(0, n) for n in (1, 2, 3)} | {(n, 0) for n in (1, 2, 3)}


def test_the_time_of_an_event_is_its_end():
    relation = punctuation(lambda value: value == "mark")
    assert relation(Event("mark", 5, 5), Event("x", 1, 4))
    assert not relation(Event("mark", 5, 5), Event("x", 4, 5))
    assert not relation(Event("x", 1, 4), Event("y", 5, 5))


def test_any_predicate_is_a_relation_in_both_directions_and_may_be_joined_to_others():
    near = Dependence(lambda a, b: 0 <= b["x"] - a["x"] < 1)
    one, other, far = {"x": 0.5, "k": 1}, {"x": 1.2, "k": 2}, {"x": 9, "k": 1}
    assert near(one, other)
    assert near(other, one)
    assert not near(one, far)
    for joined in (
        near | same_key("k"),
        (lambda a, b: a["k"] == b["k"]) | near,
        near | (lambda a, b: a["k"] == b["k"]),
    ):
        assert joined(one, other)
        assert joined(other, one)
        assert joined(one, far)
        assert not joined(other, far)


@pytest.mark.parametrize(
    ("make", "wrong", "message"),
    [
        (same_key, (3,), "same_key: expected a field's name or a function but got 3"),
        (punctuation, ("mark",), "punctuation: expected a function of an item but got 'mark'"),
        (punctuation, (kind("mark"), 3), "punctuation: expected a field's name or a function but got 3"),
        (end_of_day, (None,), "end_of_day: expected a function of an item but got None"),
        (end_of_month, ("x",), "end_of_month: expected a function of an item but got 'x'"),
    ],
)
def test_what_is_no_function_is_refused_where_it_is_written(make, wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        make(*wrong)
