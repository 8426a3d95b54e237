"""Columns of objects and tuples become arrays as their values do; the values, one by one, are the oracle."""

from __future__ import annotations

import json

import attrs
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as t

from cartesius import storable
from cartesius.columns.bodies.column_functions import Absent
from cartesius.columns.vectors.making import constant, constant_kind, made, named, noted
from cartesius.columns.vectors.vectors import Leaf, Struct
from cartesius.errors import InvalidArgument
from cartesius.expressions.made_values import Chained, Labelled, Made, Names, Noted, Present
from spark_bridge.columns.result_columns import array_of
from spark_bridge.columns.values import to_arrow

TEXT = t.StringType()
TEXTS = t.ArrayType(TEXT)
SHOWN = t.StructType([t.StructField(name, TEXT) for name in ("_1", "_2", "_3")])
MARGIN = t.StructType([t.StructField("_1", t.DoubleType()), t.StructField("_2", TEXT)])


@storable
@attrs.frozen
class Found:
    """What is made, and where it is found."""

    name: str
    missing: tuple[str, ...]
    values: tuple[tuple[str, object, str], ...]
    margin: tuple[float, str] | None


@storable
@attrs.frozen
class Doubled:
    """A class whose objects have other fields than they are made of."""

    name: str = attrs.field(converter=lambda text: text + text)


FOUND = t.StructType(
    [
        t.StructField("name", TEXT),
        t.StructField("missing", TEXTS),
        t.StructField("values", t.ArrayType(SHOWN)),
        t.StructField("margin", MARGIN),
    ]
)
ROW = t.StructType([t.StructField("at", t.LongType()), t.StructField("because", t.ArrayType(FOUND))])


def texts(n):
    return st.lists(st.sampled_from(["a", "b", "ä"]) | st.none(), min_size=n, max_size=n).map(
        lambda values: Leaf(pa.array(values, pa.string()))
    )


def names(n):
    """Tuples of names: always the same ones, or of those conditions that hold."""
    masks = st.lists(st.lists(st.booleans(), min_size=n, max_size=n).map(np.array), min_size=2, max_size=2)
    several = st.sampled_from([("tide", "wind"), ("tide", "tide")])
    return st.sampled_from([(), ("tide",), ("tide", "wind.speed")]).map(
        lambda value: constant(constant_kind(value), n)
    ) | st.builds(lambda both, masks: named(Names(both), n, masks), several, masks)


def numbers(n):
    value = st.floats(width=32) | st.none()
    whole = st.integers(-(2**53), 2**53)
    return st.lists(value, min_size=n, max_size=n).map(lambda values: Leaf(pa.array(values, pa.float64()))) | st.lists(
        whole, min_size=n, max_size=n
    ).map(lambda values: Leaf(pa.array(values, pa.int64())))


@st.composite
def objects(draw, n, *, everywhere=False):
    """Objects, in some of ``n`` rows, in all, or in none."""
    name = draw(texts(n) | st.sampled_from(["x", None]).map(lambda value: constant(constant_kind(value), n)))
    shown = draw(st.lists(numbers(n) | texts(n), max_size=2))
    labels = tuple((f"l{place}", "kn") for place in range(len(shown)))
    values = made(Labelled(labels), n, shown) if shown else constant(constant_kind(()), n)
    margin = draw(numbers(n).map(lambda leaf: noted(Noted("m"), leaf)) | st.just(constant(constant_kind(None), n)))
    found = made(Made(Found, tuple(FOUND.names)), n, [name, draw(names(n)), values, margin])
    how = draw(st.sampled_from(["all", "some", "none"]))
    if how == "none" and not everywhere:
        return Absent(found, n)
    if how == "all" or everywhere:
        return found
    valid = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), np.bool_)
    return Struct(found.kind, found.names, found.items, n, valid)


@st.composite
def tuples(draw, n):
    """Tuples of those objects that are there, one after the other."""
    both = [draw(st.lists(objects(n), max_size=3)) for _ in range(2)]
    parts = [made(Present(tuple(f"p{place}" for place in range(len(some)))), n, some) for some in both]
    return draw(st.sampled_from([parts[0], made(Chained(("failed", "undecided")), n, parts)]))


def shown(array):
    return [repr(value) for value in array.to_pylist()]  # by which nan is itself


def agrees(vector, kind):
    """Compare the two ways."""
    array = array_of(vector, kind, "x")
    array.validate(full=True)
    values = to_arrow(vector.to_list(), kind, "x")
    assert array.type == values.type
    assert shown(array) == shown(values)


@given(st.integers(0, 5).flatmap(lambda n: st.tuples(st.just(n), tuples(n))))
def test_tuples_of_objects_become_what_their_values_become(drawn):
    n, because = drawn
    agrees(because, t.ArrayType(FOUND))
    agrees(Struct("record", ("at", "because"), [Leaf(pa.array(range(n), pa.int64())), because], n), ROW)


@given(st.integers(0, 5).flatmap(objects))
def test_objects_become_what_their_values_become(vector):
    agrees(vector, FOUND)


@given(st.integers(1, 5).flatmap(lambda n: objects(n, everywhere=True)))
def test_what_is_behind_a_value_that_is_not_there_is_never_looked_at(vector):
    strange = [*vector.items[:3], Leaf(pa.array(["no margin"] * len(vector)))]
    nowhere = Struct(vector.kind, vector.names, strange, len(vector), np.zeros(len(vector), np.bool_))
    assert array_of(nowhere, FOUND, "x").null_count == len(vector)


def test_an_object_that_changes_what_it_is_made_of_is_asked_for_its_fields():
    vector = made(Made(Doubled, ("name",)), 2, [Leaf(pa.array(["a", "b"]))])
    kind = t.StructType([t.StructField("name", TEXT)])
    assert array_of(vector, kind, "x").to_pylist() == [{"name": "aa"}, {"name": "bb"}]


@pytest.mark.parametrize(
    ("vector", "kind"),
    [
        pytest.param(
            made(Present(("a",)), 1, [made(Made(Doubled, ("name",)), 1, [Leaf(pa.array(["a"]))])]),
            t.ArrayType(t.StructType([t.StructField("name", t.LongType())])),
            id="a field of an item",
        ),
        pytest.param(constant(constant_kind(("a", 1)), 3), t.ArrayType(t.LongType()), id="a constant"),
        pytest.param(noted(Noted("m"), Leaf(pa.array(["a"]))), MARGIN, id="a value with a note"),
    ],
)
def test_what_does_not_fit_is_named_as_one_by_one(vector, kind):
    with pytest.raises(InvalidArgument) as one_by_one:
        to_arrow(vector.to_list(), kind, "x")
    with pytest.raises(InvalidArgument) as columns:
        array_of(vector, kind, "x")
    assert str(columns.value) == str(one_by_one.value)


def test_constants_take_no_work_for_each_row(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "spark_bridge.columns.result_columns.to_arrow", lambda *given: asked.append(given) or to_arrow(*given)
    )
    text = json.dumps("a constant of this test alone")[1:-1]
    vector = constant(constant_kind(text), 1000)
    assert array_of(vector, TEXT, "x").to_pylist() == [text] * 1000
    assert [len(values) for values, *_ in asked] == [1]
