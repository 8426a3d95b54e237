"""Arrivals and windows: what deep ships are taken to do next, and when they may."""

from __future__ import annotations

import attrs
import pytest

from examples.port.arrival_rules import arrival_rules
from examples.port.arrivals import deep_calls
from examples.port.arrivals_report import arrival_notes
from examples.port.cells import moment
from examples.port.geography import distance_km
from examples.port.inputs import read_day
from examples.port.windows import PASSAGE, outlooks
from examples.port.windows_picture import draw_windows, telling_outlooks

from .conftest import DATA

STEP = 360_000_000
GUNVOR = 220413000


@pytest.fixture(scope="module")
def day():
    return read_day(DATA)


@pytest.fixture(scope="module")
def ahead(day):
    now, calls = deep_calls(day)
    return now, {outlook.call.name: outlook for outlook in outlooks(day, calls)}


def clock(time):
    return f"{moment(time):%H:%M}"


def spans(outlook):
    return [(clock(start), clock(end)) for start, end in outlook.windows]


# --------------------------------------------------------------------------------------------------- what they do


def test_a_ship_at_a_berth_may_leave_from_the_last_report_on(day, ahead):
    now, found = ahead
    assert now == max(each.time for each in day.readings if each.source == "vessel")
    call = found["GUNVOR MAERSK"].call
    assert (call.mmsi, call.draught, call.berth, call.direction, call.eta) == (
        GUNVOR,
        15.0,
        "elizabeth-east",
        "outbound",
        now,
    )


def test_a_ship_that_lies_outside_comes_to_the_deepest_berth_for_her_kind_at_8_knots(day, ahead):
    now, found = ahead
    call = found["TARGALE"].call
    assert (call.berth, call.direction, call.derived) == ("tremley-point", "inbound", "8 kn, if she comes")
    (ship,) = [r.values for r in day.readings if r.source == "vessel" and r.values["name"] == "TARGALE"][-1:]
    hours = distance_km(ship["position"], call.position) / 1.852 / 8
    assert call.eta == pytest.approx(now + hours * 3.6e9, abs=1)


def test_a_ship_bound_for_a_berth_arrives_at_her_own_speed(day):
    under_way = {"position": (40.61, -74.05), "direction": "inbound", "speed": 12.0}
    readings = tuple(
        attrs.evolve(each, values={**each.values, **under_way})
        if each.source == "vessel" and each.values["mmsi"] == GUNVOR
        else each
        for each in day.readings
    )
    now, calls = deep_calls(attrs.evolve(day, readings=readings))
    call = next(call for call in calls if call.mmsi == GUNVOR)
    miles = distance_km((40.61, -74.05), (40.6648, -74.1448)) / 1.852
    assert (call.direction, call.derived) == ("inbound", "12.0 kn")
    assert call.eta == pytest.approx(now + miles / 12 * 3.6e9, abs=1)


def test_only_deep_ships_are_shown_and_only_those_that_a_berth_takes(ahead):
    _, found = ahead
    draughts = [outlook.call.draught for outlook in found.values()]
    assert min(draughts) >= 10.0
    assert draughts == sorted(draughts, reverse=True)
    assert "BEIJING SPIRIT" not in found  # 274 m: longer than the tankers' berths


# -------------------------------------------------------------------------------------------------------- windows


def test_gunvor_maersk_waits_for_the_tide(ahead):
    """Her verdict at the berth turns at 01:54, 03:30, 13:18 and 16:06; the last hour before a turn is too short."""
    _, found = ahead
    outlook = found["GUNVOR MAERSK"]
    assert spans(outlook) == [("03:30", "12:12"), ("16:06", "22:54")]
    assert outlook.blocked == ("clearance on passage",)


def test_a_ship_too_deep_for_her_berth_has_no_window_and_it_is_said_why(ahead):
    outlook = ahead[1]["SCF PIONEER"]
    assert outlook.windows == ()
    assert {"clearance on passage", "tanker clearance on passage"} <= {*outlook.blocked}


def test_windows_are_the_times_from_which_an_hour_is_clear(ahead):
    """By clearance alone, for ships that nothing else forbids: counted from the curve and nothing else."""
    for outlook in ahead[1].values():
        if outlook.call.direction == "inbound":
            continue
        times = [time for time, _ in outlook.points if time >= outlook.call.eta]
        depths = dict(outlook.points)
        good = [
            time
            for time in times
            if time + PASSAGE <= times[-1]
            and all(depths[each] >= outlook.limit for each in times if time <= each <= time + PASSAGE)
        ]
        expected = {time for start, end in outlook.windows for time in range(start, end + 1, STEP)}
        assert expected == {*good}, outlook.call.name


def test_where_the_predictions_end_no_window_is_promised(day):
    cut = max(each.time for each in day.readings if each.source == "tide") - 20 * 3_600_000_000
    short = attrs.evolve(
        day, readings=tuple(each for each in day.readings if each.source != "tide" or each.time <= cut)
    )
    (gunvor,) = [o for o in outlooks(short, deep_calls(short)[1]) if o.call.mmsi == GUNVOR]
    assert spans(gunvor) == []
    assert all(end + PASSAGE <= cut for o in outlooks(short, deep_calls(short)[1]) for _, end in o.windows)


def test_without_a_stream_inbound_deep_ships_have_no_window(day):
    readings = tuple(each for each in day.readings if each.source != "stream")
    found = outlooks(attrs.evolve(day, readings=readings), deep_calls(day)[1])
    targale = next(outlook for outlook in found if outlook.call.name == "TARGALE")
    assert targale.windows == ()
    assert "tidal stream on passage" in targale.blocked


# --------------------------------------------------------------------------------------------------- rules and picture


CALM = {
    "vessel": {
        "mmsi": 1, "name": "ANNA", "vessel_type": "cargo", "length": 100.0, "draught": 8.0, "destination": "b",
        "direction": "inbound", "eta": 0,
    },
    "berth": {"id": "b", "depth": 15.0, "position": (40.66, -74.14)},
    "tide": {"sensor": "s", "height": 0.0, "low_water": 0.0},
    "stream": {"station": "s", "rate": 0.5, "direction": 200.0},
    "wind": {"station": "s", "velocity": 10.0, "direction": 0.0, "gust": None, "visibility": 10.0},
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "change", "failed"),
    [
        ("vessel", {}, []),
        ("vessel", {"draught": 14.5}, []),
        ("vessel", {"draught": 14.75}, ["clearance on passage"]),
        ("vessel", {"draught": 14.0, "vessel_type": "tanker"}, []),
        ("vessel", {"draught": 14.25, "vessel_type": "tanker"}, ["tanker clearance on passage"]),
        ("wind", {"velocity": 30.0, "gust": 33.9}, []),
        ("wind", {"velocity": 30.0, "gust": 34.0}, ["gusts on passage"]),
    ],
)
def test_rules_of_a_passage(source, change, failed):
    verdict = arrival_rules().check({**CALM, source: {**CALM[source], **change}})
    assert [reason.name for reason in verdict.failed] == failed


def test_the_picture_shows_first_who_may_not_pass_at_all_times(day, ahead, tmp_path):
    now, found = ahead
    shown = telling_outlooks([*found.values()], 6)
    assert [outlook.call.name for outlook in shown] == [
        "GUNVOR MAERSK",
        "SCF PIONEER",
        "DENAK VOYAGER",
        "TARGALE",
        "OVERSEAS HOUSTON",
        "CHEMICAL PIONEER",
    ]
    path = tmp_path / "windows.png"
    draw_windows(day, now, shown[:3], arrival_notes(now), path)
    assert path.read_bytes().startswith(b"\x89PNG")
