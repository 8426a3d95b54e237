"""Derived fields, by cases computed by hand (a degree of latitude is 111.195 km)."""

from __future__ import annotations

import pytest

from examples.port.derive import called, vessel_type, whereabouts
from examples.port.geography import angle_between, bearing, distance_km

KM = 1 / 111.19508  # degrees of latitude in a kilometre
QUAY = (40.0, -74.0)


def where(position, **given):
    report = {"nav_status": 0, "speed": 0.0, "course": None, "length": None, "berths": {"quay": QUAY}, **given}
    return whereabouts(position=position, **report)


def south(km, of=QUAY):
    return (of[0] - km * KM, of[1])


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (30, "fishing"), (31, "tug"), (32, "tug"), (33, "other"), (36, "sailing"), (37, "pleasure"), (52, "tug"),
        (59, "other"), (60, "passenger"), (69, "passenger"), (70, "cargo"), (79, "cargo"), (80, "tanker"),
        (89, "tanker"), (90, "other"), (0, "other"), (None, None),
    ],
)  # fmt: skip
def test_the_type_of_a_ship_follows_from_her_code(code, kind):
    assert vessel_type(code) == kind


def test_a_ship_without_a_name_is_called_by_her_number():
    assert called("EVA", 7) == "EVA"
    assert called(None, 7) == "MMSI 7"
    assert called("", 7) == "MMSI 7"


def test_distances_and_bearings_are_great_circle():
    assert distance_km((0.0, 0.0), (0.0, 90.0)) == pytest.approx(6371.0088 * 3.141592653589793 / 2)
    assert distance_km((40.0, -74.0), (40.0, -74.0)) == 0
    # Along the parallel of 60 degrees, initially north of east: the great circle bends towards the pole.
    assert bearing((60.0, 0.0), (60.0, 90.0)) == pytest.approx(49.1066, abs=1e-4)
    assert bearing((41.0, -74.0), (40.0, -74.0)) == 180
    assert bearing((0.0, 0.0), (0.0, -1.0)) == 270


def test_angles_are_measured_the_short_way():
    assert angle_between(359.0, 1.0) == 2
    assert angle_between(1.0, 359.0) == 2
    assert angle_between(90.0, 270.0) == 180


def test_a_moored_ship_is_at_the_nearest_berth_within_600_metres():
    assert where(south(0.599), nav_status=5) == ("quay", "moored")
    assert where(south(0.601), nav_status=5) == ("elsewhere", "still")
    near = {"far": south(0.5), "near": south(0.2)}
    assert where(QUAY, nav_status=5, berths=near) == ("near", "moored")


def test_a_tie_of_distance_goes_to_the_smallest_id():
    assert where(QUAY, nav_status=5, berths={"b": QUAY, "a": QUAY}) == ("a", "moored")


def test_only_a_ship_that_says_moored_and_lies_still_is_at_a_berth():
    assert where(QUAY, nav_status=1) == ("elsewhere", "still")
    assert where(QUAY, nav_status=None) == ("elsewhere", "still")
    assert where(QUAY, nav_status=5, speed=0.5) == ("elsewhere", "still")
    assert where(QUAY, nav_status=5, speed=0.4) == ("quay", "moored")
    assert where(QUAY, nav_status=5, speed=None) == ("quay", "moored")


def test_a_ship_is_inbound_if_a_berth_lies_ahead():
    under_way = {"speed": 8.0, "course": 0.0, "length": 80.0}
    assert where(south(14.9), **under_way) == ("quay", "inbound")
    assert where(south(15.1), **under_way) == ("elsewhere", "outbound")
    assert where(south(10), **{**under_way, "course": 20.0}) == ("quay", "inbound")
    assert where(south(10), **{**under_way, "course": 340.0}) == ("quay", "inbound")
    assert where(south(10), **{**under_way, "course": 20.1}) == ("elsewhere", "outbound")
    assert where(south(10), **{**under_way, "course": None}) == ("elsewhere", "outbound")
    assert where(south(10), **{**under_way, "length": 79.9}) == ("elsewhere", "outbound")
    assert where(south(10), **{**under_way, "length": None}) == ("elsewhere", "outbound")
    assert where(south(10), **{**under_way, "speed": 0.9}) == ("elsewhere", "still")
    assert where(south(10), **{**under_way, "speed": 1.0}) == ("quay", "inbound")


def test_the_nearest_of_the_berths_ahead_is_the_destination_not_the_nearest_of_all():
    berths = {"ahead": QUAY, "farther": (40.01, -74.0), "behind": south(11)}
    assert where(south(10), speed=8.0, course=0.0, length=200.0, berths=berths) == ("ahead", "inbound")


def test_a_ship_without_a_position_is_elsewhere():
    assert where(None, nav_status=5) == ("elsewhere", "still")
    assert where(None, speed=8.0, course=0.0, length=200.0) == ("elsewhere", "outbound")
