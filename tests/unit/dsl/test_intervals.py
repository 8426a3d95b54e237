"""Sets of values: every operation against membership, number by number."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dsl.terms.intervals import Choices, Interval, Numbers, meet, within
from tests.unit.dsl.test_judges import OPERATORS

PROBES = [Fraction(number, 2) for number in range(-9, 10)]  # the bounds below, and between and beyond them

simple = st.builds(
    lambda symbol, value: (Numbers.that(symbol, Fraction(value)), {x for x in PROBES if OPERATORS[symbol](x, value)}),
    st.sampled_from(sorted(OPERATORS)),
    st.integers(-3, 3),
)


def joined(one: Any, other: Any) -> Any:
    return meet(one.complement(), other.complement()).complement()


def combined(inner: Any) -> Any:
    return st.one_of(
        st.builds(lambda one, other: (one[0].meet(other[0]), one[1] & other[1]), inner, inner),
        st.builds(lambda one, other: (joined(one[0], other[0]), one[1] | other[1]), inner, inner),
        st.builds(lambda one: (one[0].complement(), set(PROBES) - one[1]), inner),
    )


sets = st.recursive(simple, combined, max_leaves=6)


def contains(numbers: Numbers, value: Fraction) -> bool:
    return not numbers.meet(Numbers.that("==", value)).is_empty


def is_between(interval: Interval, value: Fraction) -> bool:
    low, high = interval
    above = low is None or (value > low.value if low.after else value >= low.value)
    return above and (high is None or (value <= high.value if high.after else value < high.value))


@given(sets)
def test_membership_is_that_of_sets(case):
    numbers, members = case
    assert {x for x in PROBES if contains(numbers, x)} == members
    assert {x for x in PROBES if any(is_between(interval, x) for interval in numbers.intervals)} == members
    assert numbers.is_empty == (not members)


@given(sets)
def test_intervals_ascend_and_do_not_touch(case):
    intervals = case[0].intervals
    assert all(low is None or high is None or low < high for low, high in intervals)
    for one, other in pairwise(intervals):
        assert one.high is not None
        assert other.low is not None
        assert one.high < other.low


@given(sets, sets)
def test_equal_sets_are_equal_data_and_subsets_are_within(case, other):
    (numbers, members), (others, other_members) = case, other
    assert (numbers == others) == (members == other_members)
    assert within(numbers, others) == (members <= other_members)


@given(sets)
def test_an_example_is_in_the_set(case):
    numbers, members = case
    if members:
        assert contains(numbers, numbers.example())


VALUES = ["a", "b", "c"]
choices = st.builds(
    lambda listed, all_but: (
        Choices(frozenset(listed), all_but),
        set(VALUES) - set(listed) | {"z"} if all_but else set(listed),
    ),
    st.sets(st.sampled_from(VALUES)),
    st.booleans(),
)


@given(choices, choices)
def test_choices_are_sets_of_values(case, other):
    (one, members), (two, others) = case, other
    assert members_of(meet(one, two)) == members & others
    assert members_of(joined(one, two)) == members | others
    assert members_of(one.complement()) == {*VALUES, "z"} - members
    assert within(one, two) == (members <= others)
    assert one.is_empty == (not members)
    if members:
        assert one.example() in members or one.example() not in VALUES


def members_of(values: Any) -> set[str]:
    return {x for x in [*VALUES, "z"] if (x in values.listed) != values.all_but}
