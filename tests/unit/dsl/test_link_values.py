"""What a link leads to, computed for many rows at once: the same as one by one, also where fields are missing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dsl
from cartesius.columns.vectors.conversions import of_values
from dsl import Source, known_or, nearest
from dsl.tables.lowering import Computed
from dsl.terms.terms import observations
from dsl.units import metres

ship = Source("ship", key="id", id=int, deck=dsl.optional(int), length=metres, position=dsl.position, name=str)
numbers = st.none() | st.integers(-5, 5)
lengths = st.none() | st.sampled_from([-0.0, 0.0, 1.5, math.nan, 300.0])
degrees = st.none() | st.sampled_from([0.0, -0.0, 40.7, 90.0, math.nan])
FIELDS = {
    "id": numbers,
    "deck": numbers,
    "length": lengths,
    "position": st.none() | st.tuples(degrees, degrees),
    "name": st.none() | st.sampled_from(["a", "b"]),
}
PLACES = {"b": (40.7, 0.0), "a": (-40.7, 0.0), "c": (90.0, 90.0)}
TERMS = {
    "a sum of ints": ship.id * 10 + ship.deck,
    "a quotient": ship.id / ship.deck,
    "a length": ship.length * 2 + 1 * metres,
    "a default": known_or(ship.deck, 7),
    "the nearest": nearest(PLACES, ship.position),
    "the only place": nearest({3: (0.0, 0.0)}, ship.position),
    "a negative": -ship.id,
}


def shown(value):
    return repr(value), type(value)


@pytest.mark.parametrize("name", TERMS)
@given(data=st.data())
def test_many_rows_at_once_give_what_each_gives(name, data):
    computed = Computed(TERMS[name].term)
    fields = [FIELDS[each.field] for each in observations(TERMS[name].term)]
    rows = data.draw(st.lists(st.tuples(*fields), min_size=1, max_size=6))
    found = computed.of_vectors(*[of_values(column) for column in zip(*rows, strict=True)])
    if found is not None:  # else they are asked one by one
        assert list(map(shown, found.to_list())) == [shown(computed(*row)) for row in rows]


def test_positions_are_taken_at_once():
    rows = [((40.0, 1.0),), ((90.0, 0.0),), ((-1.0, 0.0),)]
    found = Computed(TERMS["the nearest"].term).of_vectors(of_values([position for (position,) in rows]))
    assert found is not None
    assert found.to_list() == ["b", "c", "a"]


def test_equal_terms_of_an_int_and_of_a_float_are_told_apart():
    for factor in (1, 1.0):
        found = Computed((ship.id * factor).term).of_vectors(of_values([7]))
        assert found is not None
        assert list(map(shown, found.to_list())) == [shown(Computed((ship.id * factor).term)(7))]
