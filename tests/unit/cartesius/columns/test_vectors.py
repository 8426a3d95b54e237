"""Vectors stand for Python values, type for type, whatever is taken of them or put after them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import storable
from cartesius.columns.vectors.conversions import of_values, repeated
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct, concatenated, from_arrow
from cartesius.data.records import Record
from tests.unit.cartesius.columns.values import all_told, columns, told, values


@given(column=columns())
def test_a_vector_gives_back_the_values_that_it_is_of(column):
    vector = of_values(column)
    assert len(vector) == len(column)
    assert all_told(vector.to_list()) == all_told(column)
    assert vector.nbytes >= 0


@given(column=columns())
def test_it_is_the_same_after_a_way_through_arrow(column):
    vector = of_values(column)
    again = from_arrow(vector.to_arrow(), vector.field("value"))
    assert all_told(again.to_list()) == all_told(column)
    assert again.type == vector.type == vector.to_arrow().type
    table = pa.table([vector.to_arrow()], schema=pa.schema([vector.field("value")]))
    assert all_told(from_arrow(table.column(0), table.schema.field(0)).to_list()) == all_told(column)


@given(column=columns(), data=st.data())
def test_taking_is_that_of_lists(column, data):
    vector = of_values(column)
    indices = data.draw(st.lists(st.integers(0, len(column) - 1), max_size=5)) if column else []
    assert all_told(vector.take(np.array(indices, np.int64)).to_list()) == all_told([column[i] for i in indices])
    if column:
        some = [*indices, MISSING]
        found = vector.take(np.array(some, np.int64), may_miss=True).to_list()
        assert all_told(found) == all_told([None if i == MISSING else column[i] for i in some])


@given(left=columns(), right=columns())
def test_vectors_one_after_the_other_are_lists_one_after_the_other_or_none_at_all(left, right):
    try:
        vector = concatenated([of_values(left), of_values(right)])
    except NotColumnar:
        assert left
        assert right
        return
    assert all_told(vector.to_list()) == all_told(left + right)


@given(left=columns(), right=columns())
def test_retained_values_take_the_type_of_those_that_come_or_are_refused(left, right):
    like = of_values(left)
    try:
        vector = of_values(right, like)
    except NotColumnar:
        return
    assert all_told(vector.to_list()) == all_told(right)
    assert is_of(vector.type, like.type)


def is_of(found, like):
    """Whether a type is the other one, but where that says nothing, as all values were None."""
    if pa.types.is_null(like) or found == like:
        return True
    if not (pa.types.is_struct(found) and pa.types.is_struct(like)) or len(found) != len(like):
        return False
    return all(one.name == other.name and is_of(one.type, other.type) for one, other in zip(found, like, strict=True))


@pytest.mark.parametrize("retained", [5, "ab", [1, 2], None, 1.5, (1,), {"a": 1}, Record({"a": 1}), Record({"b": 1})])
@pytest.mark.parametrize("come", [(1, 2), Record({"a": 1}), 7, "x", None, [1], {"a": 1}])
def test_what_is_retained_never_changes_its_type(retained, come):
    try:
        vector = of_values([retained], of_values([come]))
    except NotColumnar:
        assert type(retained) is not type(come) or isinstance(come, Record | tuple)
        return
    assert all_told(vector.to_list()) == all_told([retained])


@given(value=values, length=st.integers(0, 3))
def test_a_constant_is_repeated(value, length):
    assert all_told(repeated(value, length).to_list()) == [told(value)] * length


def put(*parts):
    return concatenated([Leaf(pa.array(values, kind)) for values, kind in parts]).to_list()


def test_ints_of_several_widths_are_put_together_and_floats():
    assert put(([1, None], pa.int8()), ([2], pa.uint32()), ([3], pa.int64())) == [1, None, 2, 3]
    assert put(([2**64 - 1], pa.uint64()), ([1], pa.uint8())) == [2**64 - 1, 1]
    assert put(([0.5], pa.float32()), ([0.1], pa.float64())) == [0.5, 0.1]
    assert put((["a"], pa.string()), (["b"], pa.large_string())) == ["a", "b"]
    assert put(([None], pa.null()), ([1], pa.int16())) == [None, 1]


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ([1], [1.5], "values of the types double, int64 are mixed"),
        ([1], [True], "values of the types bool, int64 are mixed"),
        ([1], [(1,)], "values with fields and without are mixed"),
        ([(1,)], [(1, 2)], "values with different fields are mixed"),
        ([{"a": 1}], [Record({"a": 1})], "values with different fields are mixed"),
    ],
)
def test_types_that_mix_are_refused(one, other, why):
    with pytest.raises(NotColumnar, match=why):
        concatenated([of_values(one), of_values(other)])


@pytest.mark.parametrize(
    ("kept", "coming"),
    [
        ([None, Decimal("0.00")], pa.array([Decimal("0.5"), None], pa.decimal128(9, 2))),
        ([Decimal("0.00")], pa.array([None], pa.decimal128(9, 2))),
        ([2**64], pa.array([-1, None])),
        ([2**64], pa.array([None, None])),
    ],
)
def test_what_a_snapshot_has_packed_goes_with_what_comes_as_columns(kept, coming):
    before, after = of_values(kept), Leaf(coming)
    assert all_told(concatenated([before, after]).to_list()) == all_told([*kept, *coming.to_pylist()])
    assert all_told(concatenated([after, before]).to_list()) == all_told([*coming.to_pylist(), *kept])


def test_a_struct_has_its_fields_by_name():
    vector = of_values([Record({"a": 1, "b": "x"}), Record({"a": 2, "b": None})])
    assert isinstance(vector, Struct)
    assert (found := vector.item("a")) is not None
    assert found.to_list() == [1, 2]
    assert vector.item("c") is None


def test_sliced_and_chunked_arrays_are_taken_as_they_are_seen():
    whole = pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "z"}, {"a": 4, "b": "w"}])
    part = from_arrow(whole.slice(1, 2))
    assert part.to_list() == [None, Record({"a": None, "b": "z"})]
    chunks = pa.chunked_array([whole.slice(0, 1), whole.slice(2, 2)])
    assert from_arrow(chunks).to_list() == [whole[0].as_py(), Record({"a": None, "b": "z"}), Record({"a": 4, "b": "w"})]
    assert from_arrow(pa.chunked_array([], whole.type)).to_list() == []
    assert from_arrow(pa.array([1, 2, 3, None]).slice(1)).take(np.array([0, 2])).to_list() == [2, None]


@storable
class _Pair(tuple[int, int]):
    """Two ints."""

    __slots__ = ()
    _fields = ("x", "y")

    @classmethod
    def _make(cls, items):
        return cls(items)


def test_a_registered_type_comes_back_as_such():
    (found,) = of_values([_Pair((1, 2))]).to_list()
    assert type(found) is _Pair
    assert found == (1, 2)


def test_nothing_can_be_taken_of_no_values():
    gone = np.array([MISSING, MISSING])
    none = of_values([{"id": 1}, None]).take(np.zeros(0, np.int64))
    assert none.take(gone, may_miss=True).to_list() == [None, None]
    assert of_values([]).take(gone, may_miss=True).to_list() == [None, None]
