"""Nearest places: by great circle, ties to the smallest id, missing positions to no place."""

from __future__ import annotations

import math
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine
from cartesius.columns.vectors.calling import at_once
from cartesius.columns.vectors.vectors import RECORD, TUPLE, Leaf, NotColumnar, Struct
from dsl import DimensionMismatch, InvalidRule, RulePack, Source, distance, nearest, position, require
from dsl.meaning.evaluation import Situation, compiled
from dsl.units import metres
from dsl.writing.places import Closest, great_circle
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
    found = Closest(tuple((id_, *place) for id_, place in sorted(places.items())))(point)
    assert found in places
    best = min(angle(point, place) for place in places.values())
    assert angle(point, places[found]) <= best + 1e-6


near_by = st.sampled_from([0.0, -0.0, 1e-12, 5e-10, 1e-3, 90.0, -90.0])
some_places = st.dictionaries(st.integers(0, 9), points | st.tuples(near_by, near_by), min_size=1, max_size=5)


@given(some_places, st.lists(points | st.tuples(near_by, near_by), max_size=8))
def test_many_positions_at_once_are_placed_as_one_by_one(places, positions):
    """Also where places are equally close, or nearly, or one on the other, and at the poles."""
    closest = Closest(tuple((id_, *place) for id_, place in sorted(places.items())))
    positions += [(latitude + 1e-13, longitude) for latitude, longitude in places.values()]
    columns = [Leaf(pa.array(list(column), pa.float64())) for column in zip(*positions, strict=True)]
    found = closest.of_vectors(Struct(TUPLE, ("0", "1"), columns, len(positions)))
    assert found is not None
    assert found.to_list() == [closest(position) for position in positions]


def test_half_way_between_two_places_rounding_decides_as_it_does_one_by_one():
    """Drawn evenly: on round numbers, which hypothesis prefers, nothing is rounded."""
    draw = random.Random(1)
    for _ in range(20):
        north, east, apart = draw.uniform(-60, 60), draw.uniform(-100, 100), draw.uniform(0.001, 20)
        far = ("c", -north, east + 90)  # that a third place is far off says nothing of the other two
        closest = Closest((("a", north, east - apart), ("b", north, east + apart), far))
        latitudes = [draw.uniform(-60, 60) for _ in range(20)]
        columns = [Leaf(pa.array(column)) for column in (latitudes, [east] * len(latitudes))]
        found = closest.of_vectors(Struct(TUPLE, ("0", "1"), columns, len(latitudes)))
        assert found is not None
        assert found.to_list() == [closest((latitude, east)) for latitude in latitudes]


def test_what_is_no_pair_of_numbers_is_left_to_python():
    closest = Closest((("a", 0.0, 1.0),))
    texts, numbers = Leaf(pa.array(["x"])), Leaf(pa.array([1.0]))
    assert closest.of_vectors(Struct(TUPLE, ("0", "1"), [numbers, texts], 1)) is None
    assert closest.of_vectors(Struct(TUPLE, ("0", "1"), [numbers, Leaf(pa.array([None], pa.float64()))], 1)) is None
    assert closest.of_vectors(numbers) is None
    assert closest.of_vectors(Struct(RECORD, ("0", "1"), [numbers, numbers], 1)) is None


@pytest.mark.parametrize("places", [(("a", 40.0, 60.5),), (("a", 40.0, 60.5), ("b", 0.0, 0.0))], ids=["one", "two"])
@pytest.mark.parametrize("strange", [(math.inf, 0.0), (0.0, -math.inf), (140.0, 240.5)])
def test_a_position_that_is_nowhere_raises_at_once_what_it_raises_alone(places, strange):
    closest = Closest(places)
    alone: Any
    try:
        alone = closest(strange)
    except ValueError as error:
        alone = type(error)
    columns = [Leaf(pa.array([1.0, value])) for value in strange]
    positions = Struct(TUPLE, ("0", "1"), columns, 2)
    if alone is ValueError:
        with pytest.raises(ValueError, match="math domain error"):
            closest.of_vectors(positions)
        with pytest.raises(NotColumnar, match="ValueError"):
            at_once(closest, [positions])
    else:
        found = closest.of_vectors(positions)
        assert found is not None
        assert found.to_list() == [closest((1.0, 1.0)), alone]


def test_the_distance_on_a_meridian_and_between_antipodes():
    assert great_circle((40.0, -74.0), (41.0, -74.0)) == pytest.approx(111_195, abs=1)
    assert great_circle((0.0, 0.0), (0.0, 180.0)) == pytest.approx(math.pi * 6_371_008.8)
    assert great_circle((40.7, -74.0), (40.7, -74.0)) == 0


def test_the_date_line_is_no_border():
    find = Closest((("far", 0.0, 170.0), ("near", 0.0, -179.0)))
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


@pytest.mark.parametrize("at", [(91.0, 181.0), (500.0, 0.0), (0.0, -180.5), (math.nan, 0.0), (None, 4.0), (91, 181)])
@pytest.mark.parametrize("is_batch", [False, True])
def test_what_is_no_place_on_earth_is_not_known_and_near_nothing(at, is_batch):
    ship = Source("ship", key="id", id=int, place=position)
    buoy = Source("buoy", key=None, place=position)
    pack = RulePack("far", subject=ship)
    with pack:
        require(distance(ship.place, buoy.place) >= 5000 * metres, "far away")
        require(nearest({"A": (51.9, 4.5), "B": (0.0, 0.0)}, ship.place) != "A", "not at A")
    engine = Engine(pack.table())
    engine.push(pack.sources["buoy"], {"place": (51.9, 4.5)})
    rows = [{"id": id_, "place": place} for id_, place in enumerate([at, (0.0, 0.0), (51.9, 4.5)])]
    if is_batch:
        engine.push_many({pack.sources["ship"]: {name: [row[name] for row in rows] for name in ("id", "place")}})
    for row in () if is_batch else rows:
        engine.push(pack.sources["ship"], row)
    statuses = {key: verdict.status for key, verdict in engine.query(pack.table()).items()}
    assert statuses == {0: "unknown", 1: "allowed", 2: "restricted"}
