"""Arrivals and windows: what deep ships are taken to do next, and when they may."""

from __future__ import annotations

import io

import attrs
import pytest

from examples.port.arrival_rules import arrival_rules
from examples.port.arrivals import deep_calls
from examples.port.arrivals_report import arrival_notes, show_outlooks
from examples.port.cells import moment
from examples.port.geography import distance_km
from examples.port.inputs import read_day
from examples.port.outside import PlainConsole
from examples.port.rules_page import rule_rows
from examples.port.windows import _predictions, outlooks
from examples.port.windows_picture import draw_windows, telling_outlooks

from .conftest import DATA

STEP, PASSAGE = 360_000_000, 3_600_000_000
GUNVOR = 220413000
SOME = {"GUNVOR MAERSK", "SCF PIONEER", "DENAK VOYAGER", "TARGALE"}


@pytest.fixture(scope="module")
def day():
    return read_day(DATA)


@pytest.fixture(scope="module")
def ahead(day):
    now, calls = deep_calls(day)
    few = [call for call in calls if call.name in SOME]
    return now, {outlook.call.name: outlook for outlook in outlooks(day, now, few)}


def clock(time):
    return f"{moment(time):%H:%M}"


def spans(outlook):
    return [(clock(window.start), clock(window.end)) for window in outlook.windows]


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


def test_only_deep_ships_are_shown_and_only_those_that_a_berth_takes(day):
    _, calls = deep_calls(day)
    draughts = [call.draught for call in calls]
    assert min(draughts) >= 12.0
    assert draughts == sorted(draughts, reverse=True)
    assert "BEIJING SPIRIT" not in {call.name for call in calls}  # 274 m: longer than the tankers' berths
    assert {call.name for call in calls} > SOME


# -------------------------------------------------------------------------------------------------------- windows


def test_gunvor_maersk_waits_for_the_tide(ahead):
    """Her verdict at the berth turns at 01:54, 03:36, 13:18 and 16:12; an hour before a turn it is too late."""
    _, found = ahead
    outlook = found["GUNVOR MAERSK"]
    assert spans(outlook) == [("03:36", "12:18"), ("16:12", "23:00")]
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
        found = [time for time in times if any(each.start <= time < each.end for each in outlook.windows)]
        assert found == good, outlook.call.name


def test_where_the_predictions_end_no_window_is_promised(day):
    cut = max(each.time for each in day.readings if each.source == "tide") - 20 * 3_600_000_000
    short = attrs.evolve(
        day, readings=tuple(each for each in day.readings if each.source != "tide" or each.time <= cut)
    )
    now, calls = deep_calls(short)
    gunvor, chicago = outlooks(short, now, calls[:2])
    assert spans(gunvor) == []
    assert spans(chicago) == [(clock(now), clock(cut + STEP - PASSAGE))]


def test_of_several_reports_of_one_time_the_last_counts_whichever_way_it_is_read():
    """The strongest of a time counted for what is before it, and the last for what is after."""

    def foreseen(*reports):
        rows = [(time, {"velocity": speed, "gust": None, "visibility": 10}) for time, speed in reports]
        return list(_predictions("wind", rows, 0))

    once = [(0, 10), (10, 12), (20, 11)]
    for place, (time, _) in enumerate(once):
        for other in (5, 50):
            assert foreseen(*once[:place], (time, other), *once[place:]) == foreseen(*once)


def test_without_a_stream_inbound_deep_ships_have_no_window(day):
    readings = tuple(each for each in day.readings if each.source != "stream")
    now, calls = deep_calls(day)
    (targale,) = outlooks(attrs.evolve(day, readings=readings), now, [call for call in calls if call.name == "TARGALE"])
    assert targale.windows == ()
    assert targale.blocked[-1].startswith("not predicted: stream")


def test_it_is_said_what_forbids_a_passage_before_and_after_each_window(ahead):
    _, found = ahead
    ends = "not predicted: tide, wind"
    first, second = found["GUNVOR MAERSK"].windows
    assert (first.before, first.after) == (("clearance on passage",), ("clearance on passage",))
    assert (second.before, second.after) == (("clearance on passage",), (ends,))
    first, second = found["DENAK VOYAGER"].windows
    assert (first.before, first.after) == ((), ("clearance on passage",))  # she is not ready before
    # What ended the first window of this one is not what kept the second from beginning.
    first, second = found["TARGALE"].windows
    assert (first.after, second.before) == (("tanker clearance on passage",), ("tidal stream on passage",))


def test_both_windows_are_printed_with_their_reasons(ahead):
    now, found = ahead
    console = PlainConsole(width=120, file=io.StringIO(), record=True)
    show_outlooks(console, list(found.values()), now)
    lines = [[each.strip() for each in line.split("│")[1:-1]] for line in console.export_text().splitlines()]
    rows = [line[1:] for line in lines if line and "-" in line[1]]
    assert ["16:12-23:00", "clearance on passage", "not predicted: tide, wind"] in rows
    assert ["18:24-23:00", "tidal stream on passage", "not predicted: stream, tide, wind"] in rows
    assert [line[1] for line in lines if line and line[0] == "SCF PIONEER"] == ["not at all"]


# --------------------------------------------------------------------------------------------------- rules and picture


HOUR = 3_600_000_000
SHIP = {
    "mmsi": 1, "name": "ANNA", "vessel_type": "cargo", "length": 100.0, "draught": 8.0, "destination": "b",
    "direction": "inbound", "eta": 10 * HOUR,
}  # fmt: skip


def predicted(key, **values):
    """What is predicted from 9:00 to 12:00, and what from 10:30 to 11:00 with a newer issue; nothing after."""
    usual = {
        key: "s",
        "issued": 0,
        "start": 9 * HOUR,
        "end": 12 * HOUR,
        **{name: each[0] for name, each in values.items()},
    }
    newer = {key: "s", "issued": 1, "start": 10 * HOUR + HOUR // 2, "end": 11 * HOUR}
    return [usual, {**newer, **{name: each[-1] for name, each in values.items()}}]


def situation(
    ship=None, tide=(0.0,), rate=(0.5,), towards=(200.0,), velocity=(10.0,), gust=(None,), visibility=(10.0,)
):
    return {
        "vessel": {**SHIP, **(ship or {})},
        "berth": {"id": "b", "depth": 15.0, "position": (40.66, -74.14)},
        "tide": predicted("sensor", height=tide),
        "stream": predicted("station", rate=rate, direction=towards, next_direction=towards),
        "wind": predicted("station", velocity=velocity, gust=gust, visibility=visibility),
    }


ENDED = [f"{source} from vessel.eta to vessel.eta + 1 h" for source in ("tide", "wind")]
LONG, VERY_LONG, DEEP = {"length": 200.0}, {"length": 300.0}, {"draught": 12.0}


@pytest.mark.parametrize(
    ("rows", "failed", "missing"),
    [
        (situation(), [], []),
        (situation({"draught": 14.5}), [], []),
        (situation({"draught": 14.75}), ["clearance on passage"], []),
        (situation({"draught": 14.5}, tide=(0.0, -0.25)), ["clearance on passage"], []),  # while she is on her way
        (situation({"draught": 14.5, "eta": 9 * HOUR}, tide=(0.0, -0.25)), [], []),  # she is through before
        (situation({"draught": 14.0, "vessel_type": "tanker"}), [], []),
        (situation({"draught": 14.25, "vessel_type": "tanker"}), ["tanker clearance on passage"], []),
        (situation(DEEP, rate=(0.5, 1.0)), [], []),
        (situation(DEEP, rate=(0.5, 1.1)), ["tidal stream on passage"], []),
        (situation(DEEP, rate=(0.5, 1.1), towards=(200.0, 179.0)), [], []),
        (situation({**DEEP, "direction": "outbound"}, rate=(1.1,)), [], []),
        (situation({"draught": 11.9}, rate=(1.1,)), [], []),
        (situation(LONG, velocity=(10.0, 33.9)), [], []),
        (situation(LONG, velocity=(10.0, 35.1), gust=(None, 33.0)), ["wind on passage from 200 m"], []),
        (situation(VERY_LONG, velocity=(30.1, 10.0)), ["wind on passage from 300 m"], []),
        (situation(velocity=(30.0,), gust=(10.0, 33.9)), [], []),
        (situation(velocity=(30.0,), gust=(10.0, 34.0)), ["gusts on passage"], []),
        (situation(velocity=(10.0, 34.0)), ["gusts on passage"], []),
        (situation(visibility=(0.7,)), [], []),
        (situation(visibility=(0.6, 10.0)), ["fog at the start"], []),
        (situation(visibility=(10.0, 0.1)), [], []),  # not where she starts
        (situation({"eta": 11 * HOUR}), [], ENDED),  # at 12:00 nothing is predicted any more
        (situation({"eta": None}), [], ["vessel.eta"]),
    ],
)
def test_rules_of_a_passage(rows, failed, missing):
    verdict = arrival_rules().check(rows)
    assert [reason.name for reason in verdict.failed] == failed
    assert sorted({name for reason in verdict.undecided for name in reason.missing}) == missing
    assert verdict.status == ("restricted" if failed else "unknown" if missing else "allowed")


def test_every_rule_of_a_passage_is_shown_to_fail():
    marks = test_rules_of_a_passage.pytestmark
    shown = {name for _, failed, _ in marks[0].args[1] for name in failed}
    assert shown == {row.name for row in rule_rows(arrival_rules().statements)}


def test_the_picture_shows_first_who_may_not_pass_at_all_times(day, ahead, tmp_path):
    now, found = ahead
    gunvor = found["GUNVOR MAERSK"]
    always = attrs.evolve(gunvor, call=attrs.evolve(gunvor.call, name="ALWAYS"), windows=gunvor.windows[:1], blocked=())
    shown = telling_outlooks([always, *found.values(), always], 4)
    assert [outlook.call.name for outlook in shown] == ["GUNVOR MAERSK", "SCF PIONEER", "DENAK VOYAGER", "TARGALE"]
    path = tmp_path / "windows.png"
    odd = attrs.evolve(gunvor, call=attrs.evolve(gunvor.call, name="$x_{$", berth="$\\frac$"))  # which is no formula
    draw_windows(day, now, [odd, *shown[:2]], arrival_notes(now), path)
    assert path.read_bytes().startswith(b"\x89PNG")
