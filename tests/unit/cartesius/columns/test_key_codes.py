"""Codes are equal exactly where Python says that the values are; what equals nothing has none."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.key_codes import NEVER, encoded
from cartesius.columns.vectors.vectors import Leaf, NotColumnar
from cartesius.data.records import Record
from cartesius.errors import InvalidArgument
from restrictions import key_by
from tests.unit.cartesius.columns.values import SCALARS

small = st.integers(-2, 2)
DOMAINS = {
    "ints": small,
    "wide ints": st.integers(-(2**63), 2**63 - 1) | small,
    "floats": st.sampled_from([0.0, -0.0, 1.0, float("nan"), float("inf"), 0.5]),
    "bools": st.booleans(),
    "texts": st.sampled_from(["", "a", "b", "ä"]),
    "bytes": st.sampled_from([b"", b"a"]),
    "dates": SCALARS["date"],
    "pairs": st.tuples(small, st.sampled_from(["a", None])),
    "nothing": st.tuples(),
}


def equals(left, right, *, skips_null):
    """Whether two keys meet, part by part: a null meets nothing, or a null."""
    return all(
        (not skips_null and a is b is None) or (a is not None and a == b) for a, b in zip(left, right, strict=True)
    )


def check(sides, columns, *, skips_null):
    codes, count = encoded(sides, skips_null=skips_null)
    rows = [list(zip(*side, strict=True)) for side in columns]
    assert [len(side) for side in codes] == [len(side) for side in rows]
    found = [
        (int(code), row) for side, mine in zip(codes, rows, strict=True) for code, row in zip(side, mine, strict=True)
    ]
    for code, row in found:
        assert NEVER <= code < count
        for other, another in found:
            assert (code == other != NEVER) == equals(row, another, skips_null=skips_null)


@given(data=st.data(), n_sides=st.integers(1, 3), n_parts=st.integers(1, 2), skips_null=st.booleans())
def test_codes_are_equal_where_the_values_are(data, n_sides, n_parts, skips_null):
    kinds = [data.draw(st.sampled_from(sorted(DOMAINS))) for _ in range(n_parts)]
    columns = []
    for _ in range(n_sides):
        n = data.draw(st.integers(0, 4))
        domains = [DOMAINS[kind] | st.none() for kind in kinds]
        columns.append([data.draw(st.lists(domain, min_size=n, max_size=n)) for domain in domains])
    check([[of_values(part) for part in side] for side in columns], columns, skips_null=skips_null)


@given(data=st.data(), skips_null=st.booleans())
def test_tuples_meet_nothing_but_tuples(data, skips_null):
    """A side of tuples beside one of texts or numbers, as where a rule links a position to a name."""
    other = data.draw(st.sampled_from(["texts", "ints", "bools", "floats"]))
    kinds = [data.draw(st.sampled_from(["pairs", other])) for _ in range(3)]
    columns = [[data.draw(st.lists(DOMAINS[kind] | st.none(), max_size=4))] for kind in kinds]
    check([[of_values(part) for part in side] for side in columns], columns, skips_null=skips_null)


@given(data=st.data(), skips_null=st.booleans())
def test_numbers_of_several_types_meet_as_in_python(data, skips_null):
    kinds = ["ints", "floats", "bools", "wide ints"]
    columns = [[data.draw(st.lists(DOMAINS[data.draw(st.sampled_from(kinds))], max_size=4))] for _ in range(2)]
    try:
        sides = [[of_values(part) for part in side] for side in columns]
        check(sides, columns, skips_null=skips_null)
    except NotColumnar as why:
        assert str(why) in ("ints beyond 2**53 are compared with floats", "keys are of several types")  # noqa: PT017 - what an error says, if there is one


NARROW = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("kind", NARROW, ids=str)
def test_narrow_ints_at_both_ends_of_their_range_are_told_apart(kind):
    low, high = np.iinfo(kind.to_pandas_dtype()).min, np.iinfo(kind.to_pandas_dtype()).max
    values = [low, high, 0, 1, low + 1, high - 1, low, high]
    check([[Leaf(pa.array(values, kind))]], [[values]], skips_null=True)


@pytest.mark.parametrize(("one", "other"), list(pairwise([*NARROW, pa.float32(), pa.float64(), pa.bool_()])), ids=str)
def test_two_types_of_numbers_meet(one, other):
    left, right = pa.array([0, 1]).cast(one), pa.array([1, 0]).cast(other)
    check([[Leaf(left)], [Leaf(right)]], [[[0, 1]], [[1, 0]]], skips_null=True)


def test_numbers_that_no_type_holds_exactly_are_refused():
    with pytest.raises(NotColumnar):
        encoded([[of_values([2**53 + 1])], [of_values([2.0**53])]], skips_null=True)
    with pytest.raises(NotColumnar):
        encoded([[Leaf(pa.array([2**64 - 1], pa.uint64()))], [of_values([-1])]], skips_null=True)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ([1, "a"], "several types"), ([{"a": 1}], "have fields"), ([Record({"a": 1})], "have fields"),
        ([[1]], "several types"),
    ],
)  # fmt: skip
def test_what_has_no_codes_is_refused(column, why):
    with pytest.raises(NotColumnar, match=why):
        encoded([[of_values(column)]], skips_null=True)


def test_one_column_may_be_on_several_sides():
    pairs, none = of_values([(1, "a"), None, (2, "b")]), of_values([None, None])
    columns: list[list[list[Any]]] = [[[(1, "a"), None, (2, "b")]]] * 2 + [[[None, None]]]
    check([[pairs], [pairs], [none]], columns, skips_null=True)
    check([[pairs], [pairs], [none]], columns, skips_null=False)


def test_a_list_of_arrow_is_no_key():
    with pytest.raises(NotColumnar, match="keys are of the type list"):
        encoded([[Leaf(pa.array([[1]]))]], skips_null=True)


def test_tuples_meet_part_by_part_and_not_with_those_of_another_length():
    columns: list[list[list[Any]]] = [[[(1, "a"), (2, "a")]], [[(1.0, "a"), (2.0, "b")]]]
    check([[of_values(part) for part in side] for side in columns], columns, skips_null=True)
    with pytest.raises(NotColumnar):
        encoded([[of_values([(1,)])], [of_values([(1, 2)])]], skips_null=True)


@pytest.mark.parametrize("key", [[1], {"a": 1}, (1, [2]), {1}])
def test_a_key_that_cannot_be_hashed_is_refused_in_a_batch_as_by_itself_though_nothing_uses_it(key):
    source = Reactive("a", fields=("n", "k"))
    output = correlate(x=source, yields=lambda x: x.n, restrict=key_by(x="k"))
    engine = Engine(output)
    with pytest.raises(InvalidArgument, match="a key that can be hashed"):
        engine.push_many({source: {"n": [1], "k": [key], "at": [1]}})
    with pytest.raises(InvalidArgument, match="a key that can be hashed"):
        engine.push(source, {"n": 1, "k": key}, at=1)
    assert engine.stats.events == 0
