"""The traffic: each rule about a ship and the others as rows of a table, and the run on last reports."""

from __future__ import annotations

from io import StringIO

import attrs
import pytest
from rich.console import Console

from examples.port.inputs import read_day
from examples.port.rules_page import rule_rows
from examples.port.traffic import last_reports, show_traffic, traffic_verdicts, tug_rows
from examples.port.traffic_rules import traffic_rules

from .conftest import DATA

PACK = traffic_rules()
SHIP = {
    "mmsi": 1, "name": "ANNA", "vessel_type": "cargo", "hazard": None, "length": 100.0, "beam": 20.0, "draught": 8.0,
    "speed": 8.0, "course": 0.0, "position": (40.60, -74.05), "destination": "elsewhere", "direction": "outbound",
}  # fmt: skip
NORTH_200_M, NORTH_310_M, NORTH_510_M = (40.6018, -74.05), (40.6028, -74.05), (40.6046, -74.05)
MOORED = {"direction": "moored", "destination": "red-hook", "speed": 0.0}
INBOUND = {"direction": "inbound", "destination": "red-hook"}
LONG, VERY_LONG = {"length": 200.0}, {"length": 300.0}


def ship(mmsi=1, **more):
    return {**SHIP, "mmsi": mmsi, **more}


def situation(vessel, *others, tugs=9, wind=10.0):
    return {
        "vessel": vessel,
        "other": [{**other, "mmsi": number} for number, other in enumerate(others, start=2)],
        "tug": [{"mmsi": 100 + number, "available": number < tugs} for number in range(9)],
        "wind": {"station": "EWR", "velocity": wind, "direction": 0.0, "gust": None, "visibility": 10.0},
    }


TANKER, FERRY = {"vessel_type": "tanker"}, {"vessel_type": "passenger"}
ELSEWHERE = {**INBOUND, "destination": "tremley-point"}
NEAR = (40.6001, -74.05)
PASSENGERS = "passengers and dangerous cargo"
FAR = (40.70, -74.05)
TABLE = [
    ("no two tankers at one berth", "holds", situation(ship(**MOORED, **TANKER), ship(**MOORED))),
    ("no two tankers at one berth", "fails", situation(ship(**MOORED, **TANKER), ship(**MOORED, **TANKER))),
    ("no two tankers at one berth", "holds", situation(ship(**MOORED, **TANKER), ship(**INBOUND, **TANKER))),
    ("no two tankers at one berth", "unknown", situation(ship(**MOORED, **TANKER), ship(**MOORED, vessel_type=None))),
    ("one at a time", "holds", situation(ship(**INBOUND), ship(**ELSEWHERE, position=FAR))),
    ("one at a time", "fails", situation(ship(**INBOUND), ship(**INBOUND, position=FAR))),
    ("one at a time", "holds", situation(ship(**INBOUND), ship(**MOORED, position=FAR))),
    ("one at a time", "unknown", situation(ship(**INBOUND), ship(**{**INBOUND, "direction": None}, position=FAR))),
    ("room at the quay", "holds", situation(ship(**MOORED, **VERY_LONG), ship(**MOORED, length=400.0))),
    ("room at the quay", "fails", situation(ship(**MOORED, **VERY_LONG), ship(**MOORED, length=400.1))),
    ("room at the quay", "holds", situation(ship(**MOORED, **VERY_LONG), ship(**INBOUND, length=401.0))),
    ("room at the quay", "unknown", situation(ship(**MOORED, **VERY_LONG), ship(**MOORED, length=None))),
    ("tugs from 200 m", "holds", situation(ship(**LONG), tugs=2)),
    ("tugs from 200 m", "fails", situation(ship(**LONG), tugs=1)),
    ("tugs from 200 m", "holds", situation(ship(length=199.9), tugs=1)),
    ("tugs from 200 m", "holds", situation(ship(**LONG, direction="still", speed=0.0), tugs=0)),
    ("tugs from 200 m", "unknown", situation(ship(length=None), tugs=1)),
    ("tugs from 300 m", "holds", situation(ship(**VERY_LONG), tugs=3)),
    ("tugs from 300 m", "fails", situation(ship(**VERY_LONG), tugs=2)),
    ("tugs from 300 m", "holds", situation(ship(**LONG), tugs=2)),
    ("tugs from 300 m", "unknown", situation(ship(length=None), tugs=2)),
    ("tugs from 300 m in a wind", "holds", situation(ship(**VERY_LONG), tugs=4, wind=20.1)),
    ("tugs from 300 m in a wind", "fails", situation(ship(**VERY_LONG), tugs=3, wind=20.1)),
    ("tugs from 300 m in a wind", "holds", situation(ship(**VERY_LONG), tugs=3, wind=20.0)),
    ("tugs from 300 m in a wind", "unknown", situation(ship(**VERY_LONG), tugs=3, wind=None)),
    ("passing distance", "holds", situation(ship(), ship(position=NORTH_310_M))),
    ("passing distance", "fails", situation(ship(), ship(position=NORTH_200_M))),
    ("passing distance", "holds", situation(ship(), ship(position=NORTH_200_M, length=79.0))),
    ("passing distance", "holds", situation(ship(), ship(position=NORTH_200_M, speed=0.9))),
    ("passing distance", "unknown", situation(ship(), ship(position=NORTH_200_M, length=None))),
    ("passing distance", "unknown", situation(ship(), ship(position=None))),
    ("small craft in her way", "holds", situation(ship(**LONG), ship(position=NORTH_310_M, length=9.0))),
    ("small craft in her way", "fails", situation(ship(**LONG), ship(position=(40.6017, -74.05), length=19.9))),
    ("small craft in her way", "holds", situation(ship(length=199.0), ship(position=NORTH_200_M, length=9.0))),
    ("small craft in her way", "unknown", situation(ship(**LONG), ship(position=NEAR, length=19.9, speed=None))),
    (PASSENGERS, "holds", situation(ship(hazard="A"), ship(position=NORTH_510_M, **FERRY))),
    (PASSENGERS, "fails", situation(ship(hazard="A"), ship(position=NORTH_310_M, **FERRY))),
    (PASSENGERS, "holds", situation(ship(), ship(position=NORTH_310_M, **FERRY))),
    (PASSENGERS, "unknown", situation(ship(hazard="A"), ship(position=NORTH_310_M, vessel_type=None))),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "expected", "rows"), TABLE)
def test_a_rule_in_a_situation(rule, expected, rows):
    verdict = PACK.check(rows)
    failed, undecided = ({reason.name for reason in found} for found in (verdict.failed, verdict.undecided))
    assert (rule in failed, rule in undecided) == (expected == "fails", expected == "unknown")
    assert failed <= {rule}


def test_every_rule_has_rows_where_it_holds_where_it_fails_and_where_data_are_missing():
    rules = {row.name for row in rule_rows(PACK.statements)}
    for wanted in ("holds", "fails", "unknown"):
        assert {rule for rule, expected, _ in TABLE if expected == wanted} == rules


def test_the_others_are_named():
    verdict = PACK.check(situation(ship(), ship(position=NORTH_200_M), ship(position=FAR), ship(position=NORTH_200_M)))
    assert verdict.failed[0].others == (2, 4)


def test_a_tug_that_lies_still_is_available_and_what_states_no_kind_is_no_tug():
    ships = [ship(1, vessel_type="tug", speed=0.4), ship(2, vessel_type="tug", speed=0.5), ship(3, vessel_type=None)]
    assert tug_rows(ships) == [{"mmsi": 1, "available": True}, {"mmsi": 2, "available": False}]


def test_the_run_judges_the_last_reports_of_ships_of_80_m_and_more():
    day = read_day(DATA)
    now, ships = last_reports(day)
    kept = {row["mmsi"] for row in ships.values() if (row["length"] or 0) >= 250 or row["vessel_type"] == "tug"}
    late = now - 60_000_000
    readings = tuple(
        each
        for each in day.readings
        if each.source != "vessel" or (each.values["mmsi"] in kept and (each.time or 0) > late)
    )
    judged, rows, verdicts = traffic_verdicts(attrs.evolve(day, readings=readings))
    assert judged == now
    assert {*verdicts} == {mmsi for mmsi, row in rows.items() if row["length"] is None or row["length"] >= 80}
    console = Console(width=100, record=True, file=StringIO())
    show_traffic(console, judged, rows, verdicts)
    said = " ".join(console.export_text().split())
    free = sum(row["vessel_type"] == "tug" and row["speed"] < 0.5 for row in rows.values())
    assert f"the {free} that lie still are taken to be available" in said
    unknown = sum(verdict.status == "unknown" for verdict in verdicts.values())
    assert f", {unknown} unknown" in said
    assert "other." not in said
