"""Figure 2.3 of the thesis: the timeline of Listing 11, event by event (SOURCES B5)."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Engine, Update
from dsl import RulePack, location, require, when
from dsl.units import knots, metres
from tests.unit.dsl.harbour import berth, tide, vessel, wind

BERTH = {"id": "A", "depth": 15.0, "position": (51.9, 4.1)}
A, B = 1, 2


def ship(mmsi: int, draught: float) -> dict[str, Any]:
    unknown = dict.fromkeys(("length", "beam", "vessel_type", "direction", "has_pilot", "name"))
    return {**unknown, "mmsi": mmsi, "draught": draught, "destination": "A"}


def gauge(height: float) -> dict[str, Any]:
    return {"sensor": "A", "height": height, "low_water": None}


def blow(velocity: float) -> dict[str, Any]:
    return {"velocity": velocity, "direction": None}


EVENTS: list[tuple[int, str, dict[str, Any]]] = [
    (0, "berth", BERTH),
    (0, "wind", blow(50.0)),
    (0, "tide", gauge(1.0)),
    (1, "vessel", ship(A, 6.0)),
    (2, "wind", blow(20.0)),
    (3, "tide", gauge(-0.5)),
    (4, "vessel", ship(B, 15.5)),
    (5, "wind", blow(50.0)),
    (6, "tide", gauge(2.0)),
    (7, "wind", blow(20.0)),
]

STATUS_CHANGES = [
    (1, A, "restricted"),
    (2, A, "allowed"),
    (4, B, "restricted"),
    (5, A, "restricted"),
    (7, A, "allowed"),
    (7, B, "allowed"),
]

TABLE_CHANGES = [
    (1, A, "restricted", {"wind"}),
    (2, A, "allowed", set()),
    (4, B, "restricted", {"clearance"}),
    (5, A, "restricted", {"wind"}),
    (5, B, "restricted", {"wind", "clearance"}),
    (6, B, "restricted", {"wind"}),
    (7, A, "allowed", set()),
    (7, B, "allowed", set()),
]


@pytest.fixture
def port() -> RulePack:
    made = RulePack(
        "port",
        subject=vessel,
        location=vessel.destination,
        links=[berth.id == vessel.destination, tide.sensor == berth.id],
    )
    with made, location("A"):
        require(wind.velocity <= 45 * knots, name="wind")
        with when(vessel.draught >= 15 * metres):
            require(berth.depth + tide.height - vessel.draught >= 0.5 * metres, name="clearance")
    return made


def test_judged_event_by_event(port):
    latest: dict[str, dict[str, Any] | None] = {"berth": None, "tide": None, "wind": None}
    ships: dict[int, dict[str, Any]] = {}
    shown: dict[int, Any] = {}
    changes = []
    for at, source, row in EVENTS:
        if source == "vessel":
            ships[row["mmsi"]] = row
        else:
            latest[source] = row
        for mmsi, each in ships.items():
            verdict = port.check({"vessel": each, **latest})
            if verdict != shown.get(mmsi):
                shown[mmsi] = verdict
                changes.append((at, mmsi, verdict.status, {reason.name for reason in verdict.because}))
    assert changes == TABLE_CHANGES


def test_the_values_of_the_story(port):
    rows = {"vessel": ship(B, 15.5), "berth": BERTH, "wind": blow(20.0)}
    [reason] = port.check({**rows, "tide": gauge(-0.5)}).because
    assert ("berth.depth + tide.height - vessel.draught", -1.0, "m") in reason.values
    assert port.check({**rows, "tide": gauge(2.0)}).because == ()


def run(port: RulePack, *, restoring: bool) -> tuple[list[Any], list[Any]]:
    table, warnings = port.table(), port.warnings()
    engine = Engine(table, warnings)
    rows, changes = [], []
    for at, source, row in EVENTS:
        for event in engine.push(port.sources[source], row, at=at):
            assert isinstance(event.value, Update)
            key, verdict = event.value.key, event.value.value
            assert verdict.subject == key
            if event.reactive == table.name:
                rows.append((at, key, verdict.status, {reason.name for reason in verdict.because}))
            else:
                changes.append((at, key, verdict.status))
        if restoring:
            engine = Engine.restore(engine.snapshot(), table, warnings)
    return rows, changes


@pytest.mark.parametrize("restoring", [False, True])
def test_the_table_shows_also_the_reasons_that_change_and_the_warnings_only_the_status(port, restoring):
    rows, changes = run(port, restoring=restoring)
    # Of what happens at one time, the order between ships is the engine's.
    assert sorted(rows, key=lambda row: row[:2]) == TABLE_CHANGES
    assert sorted(changes) == STATUS_CHANGES
    assert [at for at, *_ in rows] == sorted(at for at, *_ in rows)
