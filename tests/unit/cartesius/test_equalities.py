"""Items that are equal have one form, which is hashable; otherwise a matcher would not find them."""

from __future__ import annotations

import dataclasses
from array import array
from collections import OrderedDict, UserDict, UserList, UserString, namedtuple
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Event, Update
from cartesius.data.records import Record
from cartesius.equivalence.equalities import as_equality, form_of
from cartesius.errors import InvalidArgument
from cartesius.testing import equal_by, none_depend, streams_equivalent

Point = namedtuple("Point", "x y")


@attrs.frozen
class Ship:
    draught: float


@dataclasses.dataclass
class Berth:
    depth: float


class Hold:
    """Hashed by a buffer, which may change."""

    def __init__(self, content):
        self.content = memoryview(bytearray(content))

    def __eq__(self, other):
        return self.content == other.content

    def __hash__(self):
        return hash(self.content)


NAN, OTHER_NAN = float("nan"), float("-nan")
NOON = datetime(2024, 6, 30, 12, tzinfo=UTC)
BY_PYTHON = [
    (1, 1.0), (1, True), (1, Decimal(1)), ([1, 2.0], [1.0, 2]), (Point(1, 2), (1, 2)),
    ({"a": [1]}, Record({"a": [1]})), (OrderedDict(a=1, b=2), {"b": 2, "a": 1}), ({1, 2}, frozenset({2, 1})),
    (b"a", bytearray(b"a")), (NOON, NOON.astimezone(timezone(timedelta(hours=2)))), (Ship(1), Ship(1.0)),
    (Berth(1), Berth(1.0)), (Update("E", [1]), Update("E", [1.0])), (Delete("E"), Delete("E")),
    (UserList([1]), [1.0]), (UserString("a"), "a"), (UserDict(a=[1]), {"a": [1]}), ({"a": 1}.keys(), {"a"}),
    ({"a": 1}.items(), {("a", 1)}), (memoryview(b"a"), b"a"), (memoryview(bytearray(b"a")), b"a"),
    (memoryview(array("i", [97])), b"a"), (memoryview(array("i", [97])), array("d", [97])),
    (memoryview(bytes(4)).cast("B", (2, 2)), memoryview(bytearray(4)).cast("B", (2, 2))), (Hold(b"a"), Hold(b"a")),
]  # fmt: skip
BY_EVENTS = [
    (NAN, OTHER_NAN), ((1, NAN), (1, OTHER_NAN)), (Ship(NAN), Ship(OTHER_NAN)), (Berth(NAN), Berth(OTHER_NAN)),
    (Decimal("NaN"), Decimal("-NaN")), ({"a": NAN}, {"a": OTHER_NAN}),
    (Update("E", NAN), Update("E", OTHER_NAN)), (Record({"a": NAN}), Record({"a": OTHER_NAN})), ({NAN}, {OTHER_NAN}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), BY_PYTHON)
def test_items_that_python_calls_equal_meet(one, other):
    assert one == other
    assert form_of(one) == form_of(other)
    assert streams_equivalent(["x", one], [other, "x"], none_depend())


@pytest.mark.parametrize(("one", "other"), BY_EVENTS)
def test_events_whose_values_are_the_same_meet(one, other):
    assert streams_equivalent([Event("x", 1, 1), Event(one, 1, 1)], [Event(other, 1, 1), Event("x", 1, 1)])


VALUES = st.recursive(
    st.one_of(st.integers(0, 2), st.booleans(), st.sampled_from([0.0, -0.0, 1.0, NAN, "a", b"a", None])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(st.sampled_from("ab"), inner),
        st.dictionaries(st.sampled_from("ab"), inner),
    ),
    max_leaves=4,
)


@given(one=VALUES, other=VALUES, data=st.data())
def test_equal_items_have_one_form_whatever_they_are_made_of(one, other, data):
    equality = as_equality(None)
    for a, b in [(one, other), (Event(one, 1, 1), Event(other, 1, 1))]:
        hash(equality.form(a))
        if equality(a, b):
            assert equality.form(a) == equality.form(b)


def test_a_form_of_ones_own_is_compared_as_python_does():
    by_parts = equal_by(lambda text: sorted(text.split("@")))
    assert by_parts("a@b", "b@a")
    assert not by_parts("a@b", "b")
    assert not by_parts("a@a", "a")
    assert streams_equivalent(["a@b", "c"], ["c", "b@a"], none_depend(), by_parts)
    assert not streams_equivalent(["a@b", "c"], ["c", "b@b"], none_depend(), by_parts)


def test_what_is_no_function_is_refused():
    with pytest.raises(InvalidArgument, match="equal_by: expected a function of an item but got 'x'"):
        equal_by("x")  # type: ignore[arg-type]  # as callers without types do
