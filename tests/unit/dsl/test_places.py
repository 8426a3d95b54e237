"""Nearest places: by great circle, ties to the smallest id, missing positions to no place."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl import DimensionMismatch, InvalidRule, nearest
from dsl.evaluation import Situation, compiled
from dsl.places import finder, great_circle
from tests.unit.dsl.harbour import berth

degrees_north = st.floats(-90, 90)
degrees_east = st.floats(-180, 180)
points = st.tuples(degrees_north, degrees_east)


def angle(first: tuple[float, float], second: tuple[float, float]) -> float:
    """The angle between two points as vectors from the centre: another way to the same order."""

    def vector(point: tuple[float, float]) -> tuple[float, float, float]:
        north, east = map(math.radians, point)
        return math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)

    return math.dist(vector(first), vector(second))


@given(st.dictionaries(st.integers(), points, min_size=1, max_size=8), points)
def test_no_place_is_closer_than_the_nearest(places, point):
    found = finder(tuple((id_, *place) for id_, place in sorted(places.items())))(point)
    assert found in places
    best = min(angle(point, place) for place in places.values())
    assert angle(point, places[found]) <= best + 1e-6


def test_the_distance_on_a_meridian_and_between_antipodes():
    assert great_circle((40.0, -74.0), (41.0, -74.0)) == pytest.approx(111_195, abs=1)
    assert great_circle((0.0, 0.0), (0.0, 180.0)) == pytest.approx(math.pi * 6_371_008.8)
    assert great_circle((40.7, -74.0), (40.7, -74.0)) == 0


def test_the_date_line_is_no_border():
    find = finder((("far", 0.0, 170.0), ("near", 0.0, -179.0)))
    assert find((0.0, 179.5)) == "near"


def test_of_equally_close_places_the_smallest_id_wins():
    places = {"b": (0.0, 1.0), "a": (0.0, -1.0), "c": (0.0, 1.0)}
    evaluate = compiled(nearest(places, berth.position).term, {"berth": 0})
    assert evaluate(Situation([{"position": (0.0, 0.0)}])) == "a"
    assert evaluate(Situation([{"position": (0.0, 0.5)}])) == "b"


@pytest.mark.parametrize("missing", [None, (None, 3.0), (3.0, None), (math.nan, 3.0), (3.0, math.nan)])
def test_a_missing_position_has_no_nearest_place(missing):
    evaluate = compiled(nearest({1: (0.0, 0.0)}, berth.position).term, {"berth": 0})
    assert evaluate(Situation([{"position": missing}])) is None
    assert evaluate(Situation([None])) is None


def test_a_position_may_be_a_list():
    assert compiled(nearest({1: (0.0, 0.0)}, berth.position).term, {"berth": 0})(Situation([{"position": [1, 2]}])) == 1


@pytest.mark.parametrize(
    "places",
    [
        {},
        {"a": (0.0, 0.0), 1: (1.0, 1.0)},
        {2.5: (0.0, 0.0)},
        {True: (0.0, 0.0)},
        {"a": (91.0, 0.0)},
        {"a": (0.0, 181.0)},
        {"a": (math.nan, 0.0)},
        {"a": (0.0,)},
        {"a": None},
        {"a": ("north", "east")},
    ],
)
def test_places_that_make_no_sense_are_refused(places: Any):
    with pytest.raises(InvalidRule, match=r"^nearest: expected"):
        nearest(places, berth.position)


def test_the_position_is_a_position():
    with pytest.raises(DimensionMismatch, match=r"declare the field as dsl\.position"):
        nearest({"a": (0.0, 0.0)}, berth.depth)
