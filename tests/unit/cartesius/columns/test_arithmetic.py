"""On vectors an operator does what it does on each pair of values, or `NotColumnar` says that it does not."""

from __future__ import annotations

import math
import operator
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius.columns.vectors import lanes
from cartesius.columns.vectors.arithmetic import apply, lifted
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.lanes import Lane, holds, vector_of
from cartesius.columns.vectors.vectors import Leaf, NotColumnar
from cartesius.expressions.missing_values import Lifted, Turning, exactly, first_known, greatest, least
from cartesius.expressions.nulls import null_aware
from tests.unit.cartesius.columns.values import SCALARS, all_told, columns

BINARY = [
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.add, operator.sub,
    operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor,
]  # fmt: skip
UNARY = [operator.neg, operator.pos, abs, operator.abs, operator.not_]
NUMBERS = {
    "small": st.integers(-4, 4),
    "wide": st.sampled_from([2**63 - 1, -(2**63), 2**62, 2**53 + 1, -(2**53) - 1, 2**32, 0, 1, -1]),
    "bool": st.booleans(),
    "float": st.sampled_from([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf"), -float("inf"), 2.0**53, 1e308, 5e-324]),
    "none": st.none(),
}


def by_hand(function, *arguments):
    """What Python gives for each row, and SQL where there is a null; None if it raises for one."""
    try:
        return [null_aware(function)(*row) for row in zip(*arguments, strict=True)]
    except Exception:  # of any kind: it is what a body would raise
        return None


def applied(function, *sides):
    return vector_of(apply(function, *sides), len(sides[0])).to_list()


def check(function, *arguments):
    expected = by_hand(function, *arguments)
    try:
        with np.errstate(all="ignore"):
            found = applied(function, *map(of_values, arguments))
    except NotColumnar:
        return False
    assert expected is not None
    assert all_told(found) == all_told(expected)
    return True


@st.composite
def pairs(draw, domains):
    n = draw(st.integers(1, 4))
    names = [draw(st.sampled_from(sorted(domains))) for _ in range(2)]
    may_be_null = draw(st.booleans())
    return [
        draw(st.lists(domains[name] | st.none() if may_be_null else domains[name], min_size=n, max_size=n))
        for name in names
    ]


@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
@given(sides=pairs(NUMBERS))
def test_two_numbers(function, sides):
    check(function, *sides)


@given(function=st.sampled_from(BINARY), sides=pairs(SCALARS))
def test_two_of_any_types(function, sides):
    check(function, *sides)


@pytest.mark.parametrize("function", UNARY, ids=lambda one: one.__name__)
@given(side=pairs(NUMBERS))
def test_one_number(function, side):
    check(function, side[0])


def agree(ask, meaning, *arguments):
    """Compare what columns give of a function that never raises with what it gives row by row."""
    n = len(arguments[0])
    try:
        with np.errstate(all="ignore"):
            found = vector_of(ask(*map(of_values, arguments)), n).to_list()
    except NotColumnar:
        return
    assert all_told(found) == all_told([meaning(*row) for row in zip(*arguments, strict=True)])


@pytest.mark.parametrize("keeps_nan", [False, True])
@pytest.mark.parametrize("function", [*BINARY[:12], operator.xor, least, greatest], ids=lambda one: one.__name__)
@given(sides=pairs(NUMBERS))
def test_what_cannot_be_computed_is_missing(function, keeps_nan, sides):
    agree(lambda *columns: lifted(function, keeps_nan, *columns), Lifted(function, keeps_nan), *sides)


@pytest.mark.parametrize("function", [operator.neg, operator.abs, exactly, float], ids=lambda one: one.__name__)
@given(side=pairs({name: NUMBERS[name] for name in ("small", "wide", "float", "none")}))
def test_one_number_that_may_be_missing(function, side):
    agree(lambda column: lifted(function, True, column), Lifted(function, True), side[0])


@given(sides=pairs(SCALARS))
def test_a_default_is_given_where_a_value_is_missing(sides):
    agree(lanes.first_known, first_known, *sides)


@given(sides=pairs(NUMBERS), constant=st.sampled_from([None, 0, 1, 2.5, float("nan"), True, "a", 2**70, -(2**63)]))
@pytest.mark.parametrize("function", [*BINARY[:12], operator.xor], ids=lambda one: one.__name__)
def test_a_constant_is_one_value_for_all_rows(function, sides, constant):
    side, n = sides[0], len(sides[0])
    for given_constant, values in (
        ((side, Lane(constant)), (side, [constant] * n)),
        ((Lane(constant), side), ([constant] * n, side)),
    ):
        expected = by_hand(function, *values)
        try:
            with np.errstate(all="ignore"):
                found = vector_of(
                    apply(function, *[one if isinstance(one, Lane) else of_values(one) for one in given_constant]), n
                )
        except NotColumnar:
            continue
        assert expected is not None
        assert all_told(found.to_list()) == all_told(expected)


@given(st.lists(st.tuples(*[st.integers(-400, 400).map(float)] * 3), min_size=1, max_size=4))
def test_what_is_met_on_the_way_around_a_circle(rows):
    turning = Turning(360)
    agree(lambda *columns: lifted(turning, True, *columns), Lifted(turning, True), *zip(*rows, strict=True))


A_TURN = [0.0, 0.5, math.nextafter(0.5, 1), math.nextafter(0.5, 0), 2 * math.pi, math.nextafter(2 * math.pi, 7), 3.0]


@pytest.mark.parametrize("turning", [Turning(2 * math.pi, 2e-12 * math.pi), Turning(360)])
def test_bounds_that_are_equal_but_for_rounding_are_one_direction_in_columns_too(turning):
    columns = zip(*product(A_TURN, repeat=3), strict=True)
    agree(lambda *columns: lifted(turning, True, *columns), Lifted(turning, True), *columns)


@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
def test_what_fits_is_computed(function):
    sides = (
        ([True, False], [True, True]) if function in (operator.and_, operator.or_, operator.xor) else ([7, -7], [2, 2])
    )
    assert check(function, *sides)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32()], ids=str
)
@pytest.mark.parametrize("function", BINARY, ids=lambda one: one.__name__)
def test_narrow_types_do_not_overflow(kind, function):
    values = [1.5, 3e38] if pa.types.is_floating(kind) else [1, np.iinfo(kind.to_pandas_dtype()).max]
    leaf = Leaf(pa.array(values, kind))
    values = leaf.to_list()
    for other in (leaf, of_values([2, 3]), of_values([0.5, 2.5])):
        expected = by_hand(function, values, other.to_list())
        try:
            found = applied(function, leaf, other)
        except NotColumnar:
            continue
        assert all_told(found) == all_told(expected)


@given(column=columns())
def test_truth_is_that_of_if(column):
    assert holds(of_values(column), len(column)).tolist() == [bool(value) for value in column]


def test_a_function_that_is_not_known_is_called_value_by_value():
    assert applied(max, of_values([1, 5]), of_values([3, 2])) == [3, 5]
    with pytest.raises(NotColumnar, match="max raises TypeError"):
        apply(max, of_values([1]), of_values(["a"]))


@pytest.mark.parametrize(
    ("function", "sides"),
    [
        (operator.truediv, ([1], [0])), (operator.floordiv, ([1], [0])), (operator.mod, ([1.0], [0.0])),
        (operator.lt, ([1], ["a"])), (operator.add, (["a"], [1])),
    ],
)  # fmt: skip
def test_what_raises_is_left_to_python(function, sides):
    with pytest.raises(NotColumnar, match="raises"):
        apply(function, *map(of_values, sides))


def test_ints_leave_64_bits_as_ints_or_not_at_all():
    try:
        found = applied(operator.mul, of_values([2**62]), of_values([4]))
    except NotColumnar:
        return
    assert found == [2**64]
