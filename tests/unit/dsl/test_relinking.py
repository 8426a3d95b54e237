"""Links that are pure functions of linked fields: what is linked follows each change of each link, event by event."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Delete, Engine
from dsl import RulePack, Source, choice, instant, nearest, position, require
from dsl.units import metres

GAUGES = {"east": (0.0, 1.0), "west": (0.0, -1.0)}
EAST, WEST = (0.0, 0.9), (0.0, -0.9)

vessel = Source("vessel", key="mmsi", mmsi=int, berth=str)
berth = Source("berth", key="id", id=str, position=position)
gauge = Source("gauge", key="id", id=str, station=str)
tide = Source("tide", key="station", station=str, height=metres)


def harbour() -> tuple[RulePack, Engine]:
    links = [berth.id == vessel.berth, gauge.id == nearest(GAUGES, berth.position), tide.station == gauge.station]
    pack = RulePack("harbour", subject=vessel, links=links)
    with pack:
        require(tide.height >= 1 * metres, "tide")
    return pack, Engine(pack.table())


def told(pack: RulePack, engine: Engine, source: str, row: Any) -> list[Any]:
    """Who is what now, and because of what is missing."""
    found = []
    for event in engine.push(pack.sources[source], row):
        verdict = None if isinstance(event.value, Delete) else event.value.value
        missing = [name for reason in verdict.because for name in reason.missing] if verdict else []
        found.append((event.value.key, verdict and verdict.status, *missing))
    return found


def test_a_chain_of_links_is_followed_event_by_event():
    pack, engine = harbour()
    story: list[tuple[str, Any, list[Any]]] = [
        ("vessel", {"mmsi": 1, "berth": "A"}, [(1, "unknown", "tide")]),
        ("tide", {"station": "high", "height": 2.0}, []),
        ("tide", {"station": "low", "height": 0.0}, []),
        ("berth", {"id": "A", "position": EAST}, []),  # there is no gauge yet
        ("gauge", {"id": "east", "station": "high"}, [(1, "allowed")]),
        ("gauge", {"id": "west", "station": "low"}, []),  # nobody is near it
        ("berth", {"id": "A", "position": WEST}, [(1, "restricted")]),  # the berth moves, the sensor is another
        ("berth", {"id": "A", "position": None}, [(1, "unknown", "tide")]),  # it loses its position
        ("tide", {"station": "low", "height": 2.0}, []),  # so that tide is nothing to it
        ("berth", {"id": "A", "position": (0.0, None)}, []),  # half a position is none
        ("berth", {"id": "A", "position": WEST}, [(1, "allowed")]),
        ("gauge", {"id": "west", "station": "none"}, [(1, "unknown", "tide")]),  # the gauge reports elsewhere
        ("gauge", {"id": "west", "station": "high"}, [(1, "allowed")]),
        ("tide", {"station": "high", "height": 0.5}, [(1, "restricted")]),
        ("vessel", {"mmsi": 1, "berth": "B"}, [(1, "unknown", "tide")]),  # the ship is bound elsewhere
        ("berth", {"id": "B", "position": EAST}, [(1, "restricted")]),
        ("gauge", Delete("east"), [(1, "unknown", "tide")]),
        ("gauge", {"id": "east", "station": "low"}, [(1, "allowed")]),
        ("berth", Delete("B"), [(1, "unknown", "tide")]),
        ("vessel", {"mmsi": 1, "berth": "A"}, [(1, "restricted")]),
        ("tide", Delete("high"), [(1, "unknown", "tide")]),
        ("vessel", Delete(1), [(1, None)]),
        ("berth", {"id": "A", "position": EAST}, []),
    ]
    for number, (source, row, expected) in enumerate(story):
        assert told(pack, engine, source, row) == expected, f"event {number}: {source} {row}"
        if number % 5 == 0:
            engine = Engine.restore(engine.snapshot(), pack.table())


def test_a_change_of_one_link_looks_at_the_subjects_behind_it_only():
    pack, engine = harbour()
    for number in range(30):
        place = "east" if number % 3 == 0 else "west"
        told(pack, engine, "berth", {"id": f"B{number}", "position": EAST if place == "east" else WEST})
        told(pack, engine, "vessel", {"mmsi": number, "berth": f"B{number}"})
    for place in GAUGES:
        told(pack, engine, "gauge", {"id": place, "station": place})
        told(pack, engine, "tide", {"station": place, "height": 2.0})
    before = engine.stats.tuples
    assert len(told(pack, engine, "tide", {"station": "east", "height": 0.0})) == 10
    assert engine.stats.tuples - before == 10
    assert told(pack, engine, "berth", {"id": "B1", "position": EAST}) == [(1, "restricted")]
    assert engine.stats.tuples - before == 11


def test_a_forecast_is_linked_by_the_position_of_the_berth_as_well():
    ship = Source("ship", key="id", id=int, berth=str, eta=instant)
    level = Source("level", key="station", station=str, height=metres, forecast=True)
    links = [berth.id == ship.berth, level.station == nearest(GAUGES, berth.position)]
    pack = RulePack("harbour", subject=ship, links=links)
    with pack:
        require(level.at(ship.eta).height >= 1 * metres, "tide")
    engine = Engine(pack.table())
    predicted = {"issued": 0, "start": 0, "end": 9}
    assert told(pack, engine, "level", {"station": "east", "height": 2.0, **predicted}) == []
    assert told(pack, engine, "level", {"station": "west", "height": 0.0, **predicted}) == []
    assert told(pack, engine, "ship", {"id": 1, "berth": "A", "eta": 5}) == [(1, "unknown", "level")]
    assert told(pack, engine, "berth", {"id": "A", "position": EAST}) == [(1, "allowed")]
    assert told(pack, engine, "berth", {"id": "A", "position": WEST}) == [(1, "restricted")]
    assert told(pack, engine, "ship", {"id": 1, "berth": "A", "eta": 9}) == [(1, "unknown", "level at ship.eta")]


SIZES = choice("S", "M")


@pytest.mark.parametrize("tier", [None, "reference", "columns"])
@pytest.mark.parametrize(
    ("wanted", "own", "value", "status"),
    [
        (SIZES, str, "s", "unknown"),
        (SIZES, str, "S", "allowed"),
        (str, SIZES, "s", "unknown"),
        (str, SIZES, "S", "allowed"),
        (SIZES, SIZES, "s", "unknown"),
        (SIZES, SIZES, "M", "allowed"),
    ],
)
def test_a_value_that_is_no_member_of_its_choice_leads_nowhere(tier, wanted, own, value, status):
    """It counts as missing, as it does where it is compared; else a row would be found by what is none of its keys."""
    caller, lock = Source("caller", key="id", id=int, size=wanted), Source("lock", key="size", size=own, depth=metres)
    made = RulePack("p", subject=caller, links=[lock.size == caller.size])
    with made:
        require(lock.depth >= 10 * metres)
    engine = Engine(made.table(), tier=None if tier == "columns" else tier)
    lock_row, caller_row = {"size": value, "depth": 15.0}, {"id": 1, "size": value}
    if tier == "columns":
        rows = {"lock": lock_row | {"order": 0}, "caller": caller_row | {"order": 1}}
        engine.push_many({name: {field: [item] for field, item in row.items()} for name, row in rows.items()})
    else:
        engine.push(made.sources["lock"], lock_row)
        engine.push(made.sources["caller"], caller_row)
    assert engine.query(made.table())[1].status == status
