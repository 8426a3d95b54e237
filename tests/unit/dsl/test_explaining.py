"""What `RulePack.explain` says: the plan of one pack in full, and the costs it names beside those that are counted."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Engine
from cartesius.data.records import Record
from dsl import RulePack, Source, against, another, location, nearest, now, number_of, position, require, when
from dsl.declarations.sources import instant
from dsl.units import hours, knots, metres
from tests.unit.dsl.harbour import berth, tide, tugs, vessel, wind
from tests.unit.dsl.test_reevaluation import record, spent

PLAN = """\
port: judges each vessel by 4 requirements under 3 conditions

sources
  vessel: the subject, by mmsi; one row in memory for each mmsi; rules read draught, destination
  berth: the row whose id is vessel.destination, by index; one row in memory for each id; rules read depth
  tide: the row whose sensor is berth.id, by index; one row in memory for each sensor; rules read height
  wind: one row for all; one row in memory; rules read velocity
  tugs: one row for all; one row in memory; rules read available

rules, with what each reads
  at 'A'  <- vessel.destination
    wind: wind.velocity <= 45 kn  <- wind.velocity
    when vessel.draught >= 15 m  <- vessel.draught
      clearance: berth.depth + tide.height - vessel.draught >= 0.5 m  <- berth.depth, tide.height, vessel.draught
  at 'Z'  <- vessel.destination
    small clearance: berth.depth + tide.height - vessel.draught >= 0.2 m  <- berth.depth, tide.height, vessel.draught
  tugs.available >= 1  <- tugs.available

shared expressions, computed once a judgement
  berth.depth + tide.height - vessel.draught

cost of an event
  vessel: one vessel, its own
    if draught changes: 1 condition and 2 requirements (clearance, small clearance) and, where it turns out otherwise, \
what is inside
    if destination changes: 2 conditions and, where it turns out otherwise, what is inside; another row of berth is \
found, by index
    if another field changes: no rule is evaluated
  berth: each vessel linked to it, by 1 index: berth.id == vessel.destination
    if depth changes: 2 requirements (clearance, small clearance)
    if another field changes: no rule is evaluated
  tide: each vessel linked to it, by 2 indexes: tide.sensor == berth.id, berth.id == vessel.destination
    if height changes: 2 requirements (clearance, small clearance)
    if another field changes: no rule is evaluated
  wind: every vessel
    if velocity changes: 1 requirement (wind)
    if another field changes: no rule is evaluated
  tugs: every vessel
    if available changes: 1 requirement (tugs.available >= 1)
    if another field changes: no rule is evaluated

engine
  port (table)
"""


@pytest.fixture
def port() -> RulePack:
    links = [berth.id == vessel.destination, tide.sensor == berth.id]
    made = RulePack("port", subject=vessel, location=vessel.destination, links=links)
    ukc = berth.depth + tide.height - vessel.draught
    with made:
        with location("A"):
            require(wind.velocity <= 45 * knots, name="wind")
            with when(vessel.draught >= 15 * metres):
                require(ukc >= 0.5 * metres, name="clearance")
        with location("Z"):
            require(ukc >= 0.2 * metres, name="small clearance")
        require(tugs.available >= 1)
    return made


def test_the_plan_of_a_pack(port):
    assert port.explain().startswith(PLAN)


def test_it_ends_with_the_engines_account_of_one_correlation(port):
    engine = port.explain().partition("\nengine\n")[2]
    assert engine.count("(table)") == 1  # however many sources and rules
    assert [line.split()[-3:] for line in engine.splitlines() if line.startswith("    index")] == [
        ["berth.id", "==", "vessel.destination"],
        ["tide.sensor", "==", "berth.id"],
    ]
    assert "Declaration(" not in engine


def test_explaining_leaves_the_pack_open(port):
    port.explain()
    with port:
        require(vessel.length <= 300 * metres)
    assert "5 requirements" in port.explain()


DEEP = {"draught": 20.0, "destination": "A"}
CALM, HIGH = {"velocity": 5.0, "direction": None}, {"sensor": "A", "height": 3.0, "low_water": None}


@pytest.mark.parametrize(
    ("source", "changed", "evaluated"),
    [
        ("vessel", {"draught": 20.5}, (1, 1)),  # the small clearance is that of another place
        ("vessel", {"destination": "Z"}, (1, 2)),  # left A, came to Z
        ("vessel", {"name": "EVA"}, (0, 0)),
        ("berth", {"depth": 22.0}, (1, 0)),
        ("tide", {"height": 4.0}, (1, 0)),
        ("tide", {"low_water": 4.0}, (0, 0)),
        ("wind", {"velocity": 6.0}, (1, 0)),
        ("tugs", {"available": 0}, (1, 0)),
    ],
)
def test_the_costs_it_names_are_bounds_of_what_is_counted(port, source, changed, evaluated):
    rows: dict[str, Any] = {
        "vessel": record(**DEEP),
        "berth": Record({"id": "A", "depth": 21.0, "position": None}),
        "tide": Record(HIGH),
        "wind": Record(CALM),
        "tugs": Record({"available": 2}),
    }
    judge = port._judgement()
    judge(*(rows[name] for name in port.sources))
    after = {**rows, source: Record({**rows[source], **changed})}
    assert spent(port, lambda: judge(*(after[name] for name in port.sources))) == evaluated


def test_the_clock_links_by_computation_and_what_is_considered():
    eta = Source("ship", key="id", id=int, eta=instant, spot=position)
    gauge = Source("gauge", key="id", id=str, height=metres)
    port = RulePack(
        "port",
        subject=eta,
        links=[gauge.id == nearest({"N": (1.0, 1.0), "S": (0.0, 1.0)}, eta.spot)],
        only=eta.eta - now <= 24 * hours,
    )
    with port, when(eta.eta - now <= 2 * hours):
        require(gauge.height >= 1 * metres, "height")
    shown = port.explain()
    assert "considered unless false: ship.eta - now <= 24 h" in shown
    assert "gauge: the row whose id is nearest(2 places, ship.spot), by index" in shown
    assert "when ship.eta - now <= 2 h  <- ship.eta, now" in shown
    assert "if spot changes: another row of gauge is found, by index" in shown
    assert "it may be considered or not" in shown
    assert "as time passes: each ship when a comparison of its fields with now changes: 1 condition" in shown


def test_predictions_are_read_where_they_are_looked_up():
    ship = Source("ship", key="id", id=int, eta=instant)
    gale = Source("gale", key=None, force=knots, forecast=True)
    port = RulePack("port", subject=ship)
    with port:
        require(gale.at(ship.eta).force <= 45 * knots, "gale")
    shown = port.explain()
    assert "gale: one row for all; the newest predictions in memory; rules read force" in shown
    assert "    if force changes: 1 requirement (gale)" in shown
    assert "    if eta changes: 1 requirement (gale)" in shown


def test_totals_and_pairs():
    other = another(vessel, "other")
    port = RulePack("port", subject=vessel)
    with port:
        require(number_of(tugs, where=tugs.available > 0) >= 1, "tugs")
        with against(other, where=other.destination == vessel.destination):
            require(vessel.length + other.length <= 500 * metres, "room")
    shown = port.explain()
    assert "  tugs: count(tugs where tugs.available > 0) >= 1  <- count(tugs where tugs.available > 0)" in shown
    assert "  against each other where other.destination == vessel.destination  <- other.destination," in shown
    assert "a row of tugs: each vessel that reads a total which it changes" in shown
    assert "    if count(tugs where tugs.available > 0) changes: 1 requirement (tugs)" in shown
    assert "    and each vessel that is paired with it" in shown
    assert "  port.pairs-1 (table)" in shown


def test_two_packs_of_one_harbour_keep_each_row_once(port):
    """Their correlations share the memories of their sources."""
    links = [berth.id == vessel.destination, tide.sensor == berth.id]
    other = RulePack("other", subject=vessel, links=links)
    with other:
        require(tide.height + wind.velocity * 0 * hours >= 0 * metres)
        require(tugs.available >= 0)
    retained = []
    for tables in ([port.table()], [port.table(), other.table()]):
        engine = Engine(*tables)
        for name, row in (("wind", CALM), ("tide", HIGH), ("tugs", {"available": 2})):
            engine.push(port.sources[name], row)
        for number in range(5):
            engine.push(port.sources["vessel"], {**record(**DEEP), "mmsi": number})
        retained.append(engine.stats.retained)
    assert retained == [8, 8]
