"""Reading the files of a day: what is used, what becomes a dead letter, and what stops it."""

from __future__ import annotations

from datetime import date

import pytest

from examples.port.cells import microseconds, moment
from examples.port.inputs import SOURCES, read_day
from examples.port.places import AIRPORTS, GAUGES, STATIONS
from examples.port.tables import UnusableFile

from .conftest import AIS, BERTHS, DATA, STREAM, TIDE, WIND


@pytest.fixture(scope="module")
def whole():
    return read_day(DATA)


def of(day, source):
    return [reading for reading in day.readings if reading.source == source]


def letters(day):
    return [(letter.source, letter.file, letter.reason) for letter in day.dead]


def test_all_rows_of_the_day_are_read_and_none_is_dead(whole):
    assert {source: len(of(whole, source)) for source in SOURCES} == {
        "berth": 12, "tide": 4 * 240, "stream": 7 * 240, "wind": 3 * 24, "vessel": 8689,
    }  # fmt: skip
    assert whole.dead == ()
    assert whole.untimely == ()


def test_readings_are_in_order_of_time_source_and_line(whole):
    order = [(reading.time, SOURCES.index(reading.source), reading.line) for reading in whole.readings]
    assert order == sorted(order)
    assert order[0][0] == whole.start == microseconds(moment(whole.start))
    assert f"{moment(whole.start):%Y-%m-%d %H:%M}" == "2020-06-30 00:00"


def test_the_written_places_are_those_of_the_files(whole):
    assert whole.gauges == GAUGES
    assert whole.stations == STATIONS
    assert set(AIRPORTS) == {reading.values["station"] for reading in of(whole, "wind")}


def test_a_row_becomes_bare_values_in_the_units_of_the_rules(whole):
    gunvor = [reading for reading in of(whole, "vessel") if reading.values["mmsi"] == 220413000]
    assert gunvor[-1].values == {
        "mmsi": 220413000, "name": "GUNVOR MAERSK", "vessel_type": "cargo", "hazard": None,
        "length": 367.0, "beam": 42.0,
        "draught": 15.0, "speed": 0.0, "course": 171.7, "position": (40.66461, -74.14489),
        "destination": "elizabeth-east", "direction": "moored",
    }  # fmt: skip
    tide = of(whole, "tide")[1].values
    assert tide == {"sensor": "8519483", "height": 0.687, "highest": 0.716, "low_water": 0.07}
    heights = [reading.values["height"] for reading in of(whole, "tide") if reading.values["sensor"] == "8519483"]
    assert min(heights) == tide["low_water"]


def test_the_wind_is_that_of_another_year_with_its_clock_shifted(whole):
    assert of(whole, "wind")[0].time == whole.start
    other = of(read_day(DATA, wind_day=date(2013, 1, 31)), "wind")
    assert [reading.values["velocity"] for reading in other if reading.values["station"] == "EWR"][14] == 28.0
    assert moment(other[-1].time or 0).isoformat() == "2020-06-30T23:00:00+00:00"


def test_a_wind_of_1048_miles_an_hour_is_a_dead_letter():
    day = read_day(DATA, wind_day=date(2013, 2, 12))
    assert letters(day) == [("wind", WIND, "wind_kn: expected 0 to 200 kn but got 911.0")]
    assert len(of(day, "wind")) == 71
    assert day.dead[0].row.startswith("2013-02-12T08:00:00Z,EWR,260.0,911.0")


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        (AIS, {"draught_m": "-3"}, "draught_m: expected 0 or more m but got -3"),
        (AIS, {"length_m": "-1"}, "length_m: expected 0 or more m but got -1"),
        (AIS, {"beam_m": "-1"}, "beam_m: expected 0 or more m but got -1"),
        (AIS, {"sog_kn": "-0.1"}, "sog_kn: expected 0 or more kn but got -0.1"),
        (AIS, {"draught_m": "deep"}, "draught_m: expected a number but got deep"),
        (AIS, {"draught_m": "nan"}, "draught_m: expected a number but got nan"),
        (AIS, {"draught_m": "1_0"}, "draught_m: expected a number but got 1_0"),
        (TIDE, {"lat": "91"}, "lat: expected -90 to 90 degrees but got 91"),
        (TIDE, {"lon": "-181"}, "lon: expected -180 to 180 degrees but got -181"),
        (AIS, {"cog_deg": "361"}, "cog_deg: expected 0 to 360 degrees but got 361"),
        (AIS, {"mmsi": " "}, "mmsi: expected a key but got a blank"),
        (AIS, {"mmsi": "1.5"}, "mmsi: expected a whole number but got 1.5"),
        (AIS, {"ship_type": "cargo"}, "ship_type: expected a number but got cargo"),
        (AIS, {"time_utc": ""}, "time_utc: expected a time but got a blank"),
        (AIS, {"time_utc": "noon"}, "time_utc: expected a time but got noon"),
        (
            AIS,
            {"time_utc": "2100-01-01T00:00:00Z"},
            "time_utc: expected a time within a day of 2020-06-30 but got 2100-01-01T00:00:00Z",
        ),
        (TIDE, {"predicted_m_mllw": "high"}, "predicted_m_mllw: expected a number but got high"),
        (TIDE, {"station_id": ""}, "station_id: expected a key but got a blank"),
        (
            TIDE,
            {"time_utc": "2100-01-01T00:00:00Z"},
            "time_utc: expected a time within ten years of 2020-06-30 but got 2100-01-01T00:00:00Z",
        ),
        (STREAM, {"speed_kn": "-1"}, "speed_kn: expected 0 or more kn but got -1"),
        (STREAM, {"toward_deg_true": "-1"}, "toward_deg_true: expected 0 to 360 degrees but got -1"),
        (WIND, {"time_utc": "2013-06-30T23:00:00Z", "gust_kn": "201"}, "gust_kn: expected 0 to 200 kn but got 201"),
        (
            WIND,
            {"time_utc": "2100-06-30T23:00:00Z"},
            "time_utc: expected a time within ten years of 2013-06-30 but got 2100-06-30T23:00:00Z",
        ),
    ],
)
def test_a_bad_row_is_a_dead_letter_and_the_good_ones_are_used(few, name, cells, why):
    before = read_day(few.path)
    few.add(name, **cells)
    after = read_day(few.path)
    assert after.readings == before.readings
    (letter,) = after.dead
    assert (letter.file, letter.reason) == (name, why)
    assert letter.line == len(few.lines(name))
    assert next(iter(cells.values())) in letter.row


@pytest.mark.parametrize(
    ("cells", "why"), [({"id": ""}, "id: expected a key"), ({"depth_m": "-1"}, "depth_m: expected 0 or more m")]
)
def test_a_berth_that_cannot_be_used_is_refused(few, cells, why):
    """A ship that lies there would be judged as one that lies nowhere, and allowed."""
    few.add(BERTHS, **cells)
    line = len(few.lines(BERTHS))
    with pytest.raises(UnusableFile, match=f"{BERTHS}: expected berths .* but in line {line}, {why} but got .*; mend"):
        read_day(few.path)


def test_a_table_without_berths_is_refused(few):
    few.path.joinpath(BERTHS).write_text(few.lines(BERTHS)[0] + "\n")
    with pytest.raises(UnusableFile, match=f"{BERTHS}: expected berths .* but it has none; mend the file"):
        read_day(few.path)


def test_a_row_without_a_usable_time_is_kept_apart_for_who_wants_to_see_it(few):
    few.add(AIS, time_utc="2100-01-01T00:00:00Z")
    few.add(AIS, time_utc="")
    first, second = read_day(few.path).untimely
    assert first.time is not None
    assert f"{moment(first.time):%Y}" == "2100"
    assert second.time is None
    assert first.values["destination"] is not None


def test_rows_of_other_days_are_not_read(few):
    few.add(AIS, time_utc="2020-06-29T23:59:59Z")
    few.add(AIS, time_utc="2020-07-01T00:00:00Z")
    few.add(TIDE, time_utc="2022-01-02T00:00:00Z", predicted_m_mllw="unreadable")
    day = read_day(few.path)
    assert day.dead == ()
    assert (day.readings[-1].time or 0) < day.start + 86_400_000_000


def test_a_time_with_another_zone_is_the_same_moment(few):
    few.add(AIS, time_utc="2020-06-30T02:30:00+02:00")
    day = read_day(few.path)
    (ship,) = [reading for reading in of(day, "vessel") if reading.line == len(few.lines(AIS))]
    assert ship.time == day.start + 30 * 60_000_000


def test_blank_cells_are_missing_fields(few):
    few.add(AIS, mmsi="1", name="", draught_m="", lat="", ship_type="", sog_kn="")
    ship = next(reading.values for reading in of(read_day(few.path), "vessel") if reading.values["mmsi"] == 1)
    assert ship["name"] == "MMSI 1"
    assert [ship[field] for field in ("draught", "position", "vessel_type", "speed")] == [None] * 4


def test_what_ais_says_for_not_available_is_a_missing_field(few):
    """A ship of draught 0 was allowed at any depth, and one of 102.3 kn did not lie at her berth."""
    few.add(AIS, mmsi="1", draught_m="0", length_m="0", beam_m="0", ship_type="0", sog_kn="102.3", cog_deg="360")
    few.add(AIS, mmsi="2", lat="91", lon="181")
    few.add(AIS, mmsi="3", lat="500", lon="0")
    day = read_day(few.path)
    ships = {reading.values["mmsi"]: reading.values for reading in of(day, "vessel")}
    fields = ("draught", "length", "beam", "vessel_type", "speed", "course")
    assert [ships[1][field] for field in fields] == [None] * 6
    assert (ships[2]["position"], ships[3]["position"], day.dead) == (None, None, ())


def test_a_row_with_too_few_or_too_many_cells_is_a_dead_letter(few):
    few.write(AIS, [*few.lines(AIS), "2020-06-30T00:30:00Z,1", "," * 20])
    assert [letter.reason for letter in read_day(few.path).dead] == [
        "row: expected 16 cells but got 2",
        "row: expected 16 cells but got 21",
    ]


def test_a_quotation_mark_that_is_not_closed_spoils_one_row(few):
    before = read_day(few.path)
    lines = few.lines(TIDE)
    few.write(TIDE, [*lines[:5], '2020-06-30T00:00:00Z,"8519483,x,1,1,1', *lines[5:]])
    day = read_day(few.path)
    assert len(day.dead) == 1
    assert len(of(day, "tide")) == len(of(before, "tide"))


def test_a_file_that_is_cut_off_gives_the_rows_before(few):
    path = few.path / AIS
    every = of(read_day(few.path), "vessel")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    day = read_day(few.path)
    ships = of(day, "vessel")
    assert 20 < len(ships) < len(every)
    assert ships == every[: len(ships)]
    (letter,) = day.dead
    assert letter.reason == "the rest is lost: a file that is cut off"
    assert letter.line == ships[-1].line + 1


def test_a_damaged_file_gives_the_rows_before(few):
    path = few.path / AIS
    content = bytearray(path.read_bytes())
    content[len(content) * 2 // 3] ^= 0xFF
    path.write_bytes(content)
    day = read_day(few.path)
    assert any("a damaged file" in letter.reason for letter in day.dead)
    assert of(day, "vessel")


@pytest.mark.parametrize("name", [AIS, TIDE, STREAM, WIND, BERTHS])
def test_a_missing_file_is_named(few, name):
    (few.path / name).unlink()
    with pytest.raises(UnusableFile, match=rf"{name}: expected a file but there is none; put it there, or say where"):
        read_day(few.path)


def test_a_missing_column_is_named_with_its_file(few):
    few.rename(AIS, "draught_m", "draft_m")
    with pytest.raises(UnusableFile, match=rf"{AIS}: expected a column 'draught_m'.*did you rename 'draft_m'\?"):
        read_day(few.path)


@pytest.mark.parametrize(("content", "said"), [(b"", "an empty file"), (b"no gzip", "a damaged file")])
def test_a_file_without_a_header_is_named(few, content, said):
    (few.path / AIS).write_bytes(content)
    with pytest.raises(UnusableFile, match=f"{AIS}: expected a header .* but got {said}"):
        read_day(few.path)


def test_a_day_without_winds_is_refused(tmp_path):
    with pytest.raises(UnusableFile, match="expected winds of 1999-01-01 but it has none; choose another --wind-day"):
        read_day(DATA, wind_day=date(1999, 1, 1))
