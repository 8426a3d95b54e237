"""New York harbour: the program against `examples/port/RULES.md`, computed a second time with plain pandas."""

from __future__ import annotations

import csv
import difflib
import gzip
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from tests.oracle.port_oracle import (
    COLUMNS,
    distance_km,
    kleene_all,
    kleene_implies,
    records,
    verdict_changes,
    vessel_type,
)

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "port" / "data"
GUNVOR_MAERSK = 220413000
CARGO, TANKER = "70", "80"
HIGH = "gusts on high sides"
MOORED, UNDER_WAY = "5", "0"

# ------------------------------------------------------------------------------------------- a harbour by hand

HEADERS = {
    "berths.csv": "id,name,lat,lon,depth_m",
    "tide_predicted_6min.csv.gz": "time_utc,station_id,station_name,lat,lon,predicted_m_mllw",
    "current_predicted_6min.csv.gz": (
        "time_utc,station_id,station_name,lat,lon,along_axis_kn_flood_positive,speed_kn,toward_deg_true"
    ),
    "wind_2013_selected_days.csv": "time_utc,station,wind_from_deg,wind_kn,gust_kn,visibility_mi,pressure_hpa",
    "ais_2020-06-30_00h.csv.gz": (
        "time_utc,mmsi,lat,lon,sog_kn,cog_deg,heading_deg,name,imo,callsign,ship_type,nav_status,length_m,beam_m,"
        "draught_m,cargo"
    ),
}


def at(clock, day="2020-06-30"):
    return f"{day}T{clock}Z"


def berth(name="pier", lat=40.70, lon=-74.02, depth=15.0):
    return {"id": name, "name": name, "lat": lat, "lon": lon, "depth_m": depth}


def tide(clock, height, sensor="8518750", day="2020-06-30"):
    place = {"8518750": (40.70, -74.01), "8530882": (40.70, -74.02), "8531680": (40.47, -74.01)}[sensor]
    return {
        "time_utc": at(clock, day),
        "station_id": sensor,
        "lat": place[0],
        "lon": place[1],
        "predicted_m_mllw": height,
    }


def stream(clock, rate, towards, station="n1"):
    return {
        "time_utc": at(clock),
        "station_id": station,
        "lat": 40.70,
        "lon": -74.03,
        "speed_kn": rate,
        "toward_deg_true": towards,
    }


def wind(clock, knots, station="EWR", day="2013-06-30"):
    return {"time_utc": at(clock, day), "station": station, "wind_kn": knots, "visibility_mi": 10}


def ship(
    clock, *, mmsi=1, status=MOORED, speed=0.0, course="", kind=CARGO, length=100, draught=10.0, lat=40.70, **more
):
    cells = {
        "time_utc": at(clock),
        "mmsi": mmsi,
        "lat": lat,
        "lon": -74.02,
        "sog_kn": speed,
        "cog_deg": course,
        "name": "ANNA",
        "ship_type": kind,
        "nav_status": status,
        "length_m": length,
        "beam_m": 20,
        "draught_m": draught,
    }
    return {**cells, **more}


def inbound(clock, **more):
    """10 km south of the pier and heading for it."""
    return ship(clock, **{"status": UNDER_WAY, "lat": 40.61, "speed": 8.0, "course": 0.0, **more})


@pytest.fixture
def changes(tmp_path):
    """Judge ships in a harbour of one pier (depth 15 m), a calm wind, a tide of 0 m and a slack stream."""

    def changes_of(reports, *, berths=None, tides=None, streams=None, winds=None, **options):
        rows = [
            [berth()] if berths is None else berths,
            [tide("00:00:00", 0.0)] if tides is None else tides,
            [stream("00:00:00", 0.0, 90)] if streams is None else streams,
            [wind("00:00:00", 0.0)] if winds is None else winds,
            reports,
        ]
        for (name, header), content in zip(HEADERS.items(), rows, strict=True):
            opened = gzip.open if name.endswith(".gz") else open
            with opened(tmp_path / name, "wt", newline="") as file:
                writer = csv.DictWriter(file, header.split(","), restval="")
                writer.writeheader()
                writer.writerows(content)
        return verdict_changes(tmp_path, **options)

    return changes_of


def stated(frame):
    return [
        (row.time.strftime("%H:%M:%S"), row.status, row.because, row.missing) for row in frame.itertuples(index=False)
    ]


# ------------------------------------------------------------------------------------- the oracle is itself right


def test_kleene_s_tables():
    assert [kleene_all([left, right]) for left in (True, None, False) for right in (True, None, False)] == (
        [True, None, False, None, None, False, False, False, False]
    )
    assert [kleene_implies(left, right) for left in (True, None, False) for right in (True, None, False)] == (
        [True, None, False, True, None, None, True, True, True]
    )


def test_a_ship_with_room_enough_is_allowed_and_nothing_more_is_said(changes):
    assert stated(changes([ship("00:00:05"), ship("00:00:06")])) == [("00:00:05", "allowed", [], [])]


@pytest.mark.parametrize(
    ("knots", "length", "expected"),
    [
        (45, 100, ("allowed", [], [])),
        (45.1, 100, ("restricted", ["wind limit"], [])),
        (36, 199, ("allowed", [], [])),
        (36, 200, ("restricted", ["wind limit from 200 m"], [])),
        (46, 300, ("restricted", ["wind limit", "wind limit from 200 m", "wind limit from 300 m", HIGH], [])),
        (30, "", ("unknown", [], ["vessel.length"])),  # the wind is low enough; the berth may be too short
        (31, "", ("unknown", [], ["vessel.length"])),
        (46, "", ("restricted", ["wind limit"], ["vessel.length"])),
        ("", 100, ("unknown", [], ["wind.gust", "wind.velocity"])),
        ("", "", ("unknown", [], ["vessel.length", "wind.gust", "wind.velocity"])),
    ],
)
def test_wind_limits_by_length(changes, knots, length, expected):
    assert stated(changes([ship("00:00:05", length=length)], winds=[wind("00:00:00", knots)])) == [
        ("00:00:05", *expected)
    ]


def test_a_source_without_a_row_is_missing_as_a_whole(changes):
    frame = changes([ship("00:00:05", kind=TANKER)], tides=[tide("00:06:00", 0.0)], winds=[wind("01:00:00", 0.0)])
    assert stated(frame) == [
        ("00:00:05", "unknown", [], ["tide", "wind"]),
        ("00:06:00", "unknown", [], ["wind"]),
        ("01:00:00", "allowed", [], []),
    ]


def test_a_blank_draught_matters_only_where_it_is_compared(changes):
    blank = ship("00:00:05", draught="")
    assert stated(changes([blank])) == [("00:00:05", "unknown", [], ["vessel.draught"])]
    assert stated(changes([{**blank, "nav_status": UNDER_WAY}])) == [("00:00:05", "allowed", [], [])]


def test_a_blank_cell_takes_back_what_an_earlier_report_said(changes):
    frame = changes([ship("00:00:05"), ship("00:00:06", draught=""), ship("00:00:07")])
    assert [status for _, status, _, _ in stated(frame)] == ["allowed", "unknown", "allowed"]


def test_the_clearance_adds_before_it_subtracts(changes):
    # 15.24 - 14.8 + 0.06 is 0.4999999999999995.
    frame = changes([ship("00:00:05", draught=14.8)], berths=[berth(depth=15.24)], tides=[tide("00:00:00", 0.06)])
    assert stated(frame) == [("00:00:05", "allowed", [], [])]


def test_a_tanker_needs_a_metre(changes):
    assert stated(changes([ship("00:00:05", draught=14.2)])) == [("00:00:05", "allowed", [], [])]
    assert stated(changes([ship("00:00:05", draught=14.2, kind=TANKER)])) == [
        ("00:00:05", "restricted", ["tanker clearance at pier"], [])
    ]
    assert stated(changes([ship("00:00:05", draught=14.2, kind="")])) == [
        ("00:00:05", "unknown", [], ["vessel.vessel_type"])
    ]
    assert stated(changes([ship("00:00:05", draught="", kind="")])) == [
        ("00:00:05", "unknown", [], ["vessel.draught", "vessel.vessel_type"])
    ]


def test_rules_that_are_broken_are_named_in_order(changes):
    frame = changes(
        [ship("00:00:05", draught=14.7, kind="85", length=200)],
        berths=[berth("red-hook")],
        winds=[wind("00:00:00", 50)],
    )
    assert stated(frame) == [
        (
            "00:00:05",
            "restricted",
            [
                "wind limit",
                "wind limit from 200 m",
                "clearance at red-hook",
                "tanker clearance at red-hook",
                "no tankers at red-hook",
                "gusts of a storm",
                "gusts at the loading arms",
            ],
            [],
        )
    ]


@pytest.mark.parametrize(
    ("draught", "rate", "towards", "expected"),
    [
        (12, 1.0, 180, ("allowed", [])),
        (12, 1.1, 180, ("restricted", ["tidal stream"])),
        (12, 1.1, 179, ("allowed", [])),
        (11.9, 1.1, 180, ("allowed", [])),
        (15, 0.5, 180, ("restricted", ["tidal stream, deep draught"])),
        (15, 2.0, 180, ("restricted", ["tidal stream", "tidal stream, deep draught"])),
        (15, 2.0, 179, ("allowed", [])),
    ],
)
def test_inbound_ships_look_at_the_stream(changes, draught, rate, towards, expected):
    frame = changes(
        [inbound("00:00:05", draught=draught)], berths=[berth(depth=18)], streams=[stream("00:00:00", rate, towards)]
    )
    assert stated(frame) == [("00:00:05", *expected, [])]


def test_a_stream_that_settles_the_question_needs_no_draught(changes):
    def judged(rate, towards):
        ((_, status, _, missing),) = stated(
            changes([inbound("00:00:05", draught="")], tides=[], streams=[stream("00:00:00", rate, towards)])
        )
        return status, missing

    assert judged(2.0, 90) == ("unknown", ["tide", "vessel.draught"])
    assert judged("", "") == (
        "unknown",
        ["stream.direction", "stream.next_direction", "stream.rate", "tide", "vessel.draught"],
    )


@pytest.mark.parametrize(
    ("report", "is_at_the_pier"),
    [
        (ship("00:00:05", speed=0.4), True),
        (ship("00:00:05", speed=""), True),
        (ship("00:00:05", speed=0.5), False),
        (ship("00:00:05", status="1"), False),
        (ship("00:00:05", lat=40.7053), True),  # 589 m
        (ship("00:00:05", lat=40.7055), False),  # 612 m
        (inbound("00:00:05", length=80), True),
        (inbound("00:00:05", length=79), False),
        (inbound("00:00:05", length=""), False),
        (inbound("00:00:05", speed=0.9), False),
        (inbound("00:00:05", course=""), False),
        (inbound("00:00:05", course=340.0), True),
        (inbound("00:00:05", course=339.9), False),
        (inbound("00:00:05", course=20.0), True),
        (inbound("00:00:05", course=20.1), False),
        (inbound("00:00:05", lat=40.566), True),  # 14.9 km
        (inbound("00:00:05", lat=40.564), False),  # 15.1 km
    ],
)
def test_where_a_ship_is_bound(changes, report, is_at_the_pier):
    frame = changes([{**report, "draught_m": 14.9}])
    assert ("clearance at pier" in stated(frame)[0][2]) == is_at_the_pier


def test_of_two_berths_as_near_the_smaller_id_is_meant(changes):
    frame = changes([ship("00:00:05")], berths=[berth("b", depth=15), berth("a", depth=9), berth("c", depth=8)])
    assert stated(frame) == [("00:00:05", "restricted", ["clearance at a"], [])]


def test_the_gauge_is_the_berth_s_and_never_port_elizabeth(changes):
    frame = changes(
        [ship("00:00:05", draught=14.8)],
        tides=[tide("00:00:00", 9.0, "8530882"), tide("00:00:00", 9.0, "8531680"), tide("00:00:00", 0.3)],
    )
    assert stated(frame) == [("00:00:05", "allowed", [], [])]
    assert stated(changes([ship("00:00:05", draught=14.8)], tides=[tide("00:00:00", 9.0, "8530882")]))[0][3] == ["tide"]


def test_at_one_time_the_tide_and_the_wind_go_before_the_ship(changes):
    frame = changes(
        [ship("00:00:00", draught=14.7), ship("00:06:00", draught=14.4)],
        tides=[tide("00:00:00", 0.0), tide("00:06:00", 0.5)],
        winds=[wind("00:00:00", 0), wind("00:06:00", 46)],
    )
    assert stated(frame) == [
        ("00:00:00", "restricted", ["clearance at pier"], []),
        ("00:06:00", "allowed", [], []),  # the tide
        ("00:06:00", "restricted", ["wind limit"], []),  # the wind; the ship's own report then changes nothing
    ]


def test_of_one_time_and_source_the_place_in_the_file_decides(changes):
    frame = changes(
        [
            ship("00:00:05", mmsi=2),
            ship("00:00:05", mmsi=1, draught=14.8, name=""),
            ship("00:00:05", mmsi=1, draught=12, name="BERTA"),
            ship("00:00:04", mmsi=3),
        ]
    )
    assert list(zip(frame.mmsi, frame.name, frame.status, strict=True)) == [
        (3, "ANNA", "allowed"),
        (1, "MMSI 1", "restricted"),
        (1, "BERTA", "allowed"),
        (2, "ANNA", "allowed"),
    ]


def test_between_two_predictions_the_less_favourable_counts(changes):
    """While the water falls and while it rises, while the stream grows and slackens, and where it turns."""
    reports = [ship("00:00:05", mmsi=1, draught=14.7), inbound("00:00:05", mmsi=2, draught=12)]
    heights = [1.0, 0.0, 0.0, 1.0, 1.0]
    tides = [tide(f"00:{6 * n:02}:00", height) for n, height in enumerate(heights)]
    streams = [
        stream(f"00:{6 * n:02}:00", *each) for n, each in enumerate([(0.5, 180), (2.0, 180), (2.0, 90), (0.5, 90)])
    ]
    winds = [wind("00:00:00", 0), wind("00:20:00", 46)]  # no prediction: from its own time on
    frame = changes(reports, tides=tides, streams=streams, winds=winds)
    assert stated(frame[frame.mmsi == 1]) == [
        ("00:00:05", "restricted", ["clearance at pier"], []),
        ("00:18:00", "allowed", [], []),  # not at 12 minutes, when the water is yet to come
        ("00:20:00", "restricted", ["wind limit"], []),
    ]
    assert stated(frame[frame.mmsi == 2]) == [
        ("00:00:05", "restricted", ["tidal stream"], []),
        ("00:12:00", "allowed", [], []),  # from 6 to 12 minutes it runs outwards still
        ("00:20:00", "restricted", ["wind limit"], []),
    ]


def test_of_the_quay_the_higher_water_counts(changes):
    tides = [tide("00:00:00", 0.0), tide("00:06:00", 2.6), tide("00:12:00", 0.0), tide("00:18:00", 0.0)]
    assert [row[:3] for row in stated(changes([ship("00:00:05")], tides=tides))] == [
        ("00:00:05", "restricted", ["quay awash"]),
        ("00:12:00", "allowed", []),
    ]


def test_the_neighbour_of_a_prediction_is_the_last_row_of_the_next_time_of_its_gauge(changes):
    tides = [
        tide("00:00:00", 1.0),
        tide("00:12:00", 0.0),
        tide("00:06:00", 0.0),
        tide("00:06:00", 1.0),
        tide("00:03:00", 0.0, "8531680"),
    ]
    frame = changes([ship("00:00:05", draught=14.7)], tides=tides)
    assert [row[:2] for row in stated(frame)] == [("00:00:05", "allowed"), ("00:06:00", "restricted")]


def test_the_first_prediction_of_the_next_day_is_the_last_neighbour(changes):
    reports, last = [ship("00:00:05", draught=14.7)], tide("00:00:00", 0.0, day="2020-07-01")
    beyond = tide("00:06:00", 9.0, day="2020-07-01")
    frame = changes(reports, tides=[tide("00:00:00", 1.0), tide("23:54:00", 1.0), last, beyond])
    assert [row[:2] for row in stated(frame)] == [("00:00:05", "allowed"), ("23:54:00", "restricted")]


@pytest.mark.parametrize(
    "cells",
    [
        {"draught_m": "-1"},
        {"draught_m": "deep"},
        {"length_m": "-1"},
        {"sog_kn": "-0.1"},
        {"lat": "north"},
        {"lon": "east"},
        {"cog_deg": "361"},
        {"mmsi": ""},
        {"time_utc": ""},
        {"time_utc": "noon"},
        {"time_utc": "2020-06-29T23:59:59Z"},
        {"time_utc": "2020-07-01T00:00:00Z"},
    ],
)
def test_a_row_that_cannot_be_used_says_nothing(changes, cells):
    assert stated(changes([ship("00:00:05"), {**ship("00:00:06", draught=16), **cells}])) == [
        ("00:00:05", "allowed", [], [])
    ]


def test_the_wind_is_another_year_s_and_absurd_winds_are_left_out(changes):
    winds = [
        wind("00:00:00", 50, day="2013-06-29"),
        wind("00:00:00", 10),
        wind("01:00:00", 201),
        wind("02:00:00", 50),
        wind("00:00:00", 60, day="2013-01-31"),
    ]
    assert [row[:2] for row in stated(changes([ship("00:00:05")], winds=winds))] == [
        ("00:00:05", "allowed"),
        ("02:00:00", "restricted"),
    ]
    assert [row[:2] for row in stated(changes([ship("00:00:05")], winds=winds, wind_day="2013-01-31"))] == [
        ("00:00:05", "restricted")
    ]


def test_ships_and_hours_can_be_chosen(changes):
    tides = [tide("00:00:00", 0.0), tide("01:00:00", 1.0)]
    reports = [ship("00:00:05", mmsi=mmsi, draught=14.8) for mmsi in (1, 2)]
    assert len(changes(reports, tides=tides)) == 4
    assert set(changes(reports, tides=tides, ships={2}).mmsi) == {2}
    assert len(changes(reports, tides=tides, until=1)) == 2
    assert len(changes(reports, tides=tides, until=1.01)) == 4


def test_vessel_types():
    codes = [None, 29, 30, 31, 32, 33, 36, 37, 52, 59, 60, 69, 70, 79, 80, 89, 90, 0]
    assert " ".join(str(vessel_type(code)) for code in codes) == (
        "None other fishing tug tug other sailing pleasure tug other passenger passenger cargo cargo tanker tanker "
        "other other"
    )


def test_a_degree_of_latitude():
    assert distance_km((40.0, -74.0), (41.0, -74.0)) == pytest.approx(111.195, abs=0.001)


# ------------------------------------------------------------------------------------------------- the known fact


def test_gunvor_maersk_changes_four_times():
    """She draws 15.0 m and lies where the assumed depth is 15.24 m: the tide at Bayonne Bridge must be 0.26 m."""
    restricted = ("restricted", ["clearance at elizabeth-east"], [])
    allowed = ("allowed", [], [])
    expected = [("00:01:19", *allowed)]
    clocks = ["01:54", "03:36", "13:18", "16:12"]  # the last that is enough, and the first that is again
    for clock, verdict in zip(clocks, [restricted, allowed, restricted, allowed], strict=True):
        expected.append((f"{clock}:00", *verdict))
    assert stated(verdict_changes(DATA, ships={GUNVOR_MAERSK})) == expected


def test_the_readings_about_gunvor_maersk_s_changes():
    """From the file and nothing else: the last reading before each change, and the first after it."""
    heights = {
        record["time_utc"][11:16]: float(record["predicted_m_mllw"])
        for record in records(DATA / "tide_predicted_6min.csv.gz")
        if record["station_id"] == "8519483" and record["time_utc"].startswith("2020-06-30")
    }
    clocks = sorted(heights)
    is_enough = {clock: (15.24 + heights[clock]) - 15.0 >= 0.5 for clock in clocks}
    turns = [(before, after) for before, after in pairwise(clocks) if is_enough[before] != is_enough[after]]
    assert turns == [("01:54", "02:00"), ("03:30", "03:36"), ("13:18", "13:24"), ("16:06", "16:12")]


# ---------------------------------------------------------------------------------------- the program and the oracle


def plain(frame):
    """One readable line a change, sorted by time, ship and order of occurrence."""
    assert list(frame.columns) == COLUMNS
    frame = frame.assign(time=pd.to_datetime(frame["time"], utc=True), mmsi=frame["mmsi"].astype("int64"))
    frame = frame.sort_values(["time", "mmsi"], kind="stable")
    return [
        f"{row.time.isoformat()} {row.mmsi} {row.name!r} {row.status} "
        f"because {as_list(row.because)} missing {as_list(row.missing)}"
        for row in frame.itertuples(index=False)
    ]


def as_list(cell):
    return None if cell is None else list(cell)


def differences(expected, actual, limit=20):
    """The first rows that differ; empty if none does."""
    lines = [line for line in difflib.ndiff(expected, actual) if line.startswith(("- ", "+ "))]
    shown = [*lines[:limit], f"... and {len(lines) - limit} more"] if len(lines) > limit else lines
    return "\n".join(shown)


def run(out, *arguments, timeout):
    environment = dict(os.environ)
    chosen_by_setup = ROOT / ".venv" / "java-home"
    if "JAVA_HOME" not in environment and chosen_by_setup.exists():
        environment["JAVA_HOME"] = chosen_by_setup.read_text().strip()
    command = [sys.executable, "-m", "examples.port", *arguments, "--out", str(out)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return pd.read_parquet(out / "verdicts.parquet")


def assert_same(actual, expected):
    found = differences(plain(expected), plain(actual))
    if found:
        raise AssertionError(f"{len(expected)} changes by RULES.md (-), {len(actual)} by the program (+):\n{found}")


def test_a_difference_is_shown_row_by_row():
    frame = verdict_changes(DATA, until=0.01)
    assert_same(frame.sample(frac=1, random_state=1), frame)
    wrong = frame.copy()
    wrong.loc[3, "status"] = "unknown"
    with pytest.raises(AssertionError, match=r"(?s)by the program \(\+\):\n- .* allowed .*\n\+ .* unknown "):
        assert_same(wrong, frame)
    with pytest.raises(AssertionError, match=r"\.\.\. and \d+ more"):
        assert_same(frame.iloc[:0], frame)


def test_of_every_tenth_ship_the_program_says_what_the_rules_say(tmp_path):
    data = Path(shutil.copytree(DATA, tmp_path / "data"))
    ais = data / "ais_2020-06-30_00h.csv.gz"
    reports = pd.read_csv(ais, dtype=str, keep_default_na=False)
    reports[reports["mmsi"].astype(int) // 10 % 10 == GUNVOR_MAERSK // 10 % 10].to_csv(ais, index=False)
    found = run(tmp_path / "out", "--in-process", "--data", str(data), timeout=600)
    assert {GUNVOR_MAERSK} < set(found.mmsi)
    assert_same(found, verdict_changes(data))


@pytest.mark.slow
@pytest.mark.parametrize("wind_day", ["2013-06-30", "2013-01-31"])
def test_the_program_says_what_the_rules_say(tmp_path, wind_day):
    found = run(tmp_path, "--in-process", "--wind-day", wind_day, timeout=600)
    assert_same(found, verdict_changes(DATA, wind_day=wind_day))


@pytest.mark.slow
@pytest.mark.spark
def test_the_program_on_spark_says_what_the_rules_say(tmp_path):
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None and not (ROOT / ".venv/java-home").exists():
        pytest.skip("no Java in JAVA_HOME or on the PATH; `make setup` finds or installs one")
    assert_same(run(tmp_path, timeout=3600), verdict_changes(DATA))
