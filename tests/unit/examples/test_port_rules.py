"""Each rule of the harbour as rows of a table: at its limit, beyond it, where it does not apply, and with data missing.

A row changes some values of a calm situation, in which everything is allowed, and says what becomes of one rule: it
holds, it fails, or what is missing to decide it. Where it fails, so does nothing else, but what the row names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from dsl.terms.statements import Requirement
from dsl.units import feet, kilometres, metres
from examples.port.berth_rules import LENGTHS_M, NO_TANKERS
from examples.port.observations import NEWARK_BAY, PORT_JERSEY, TANKERS_ONLY
from examples.port.rules import port_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

BERTHS = (*NEWARK_BAY, *PORT_JERSEY, *TANKERS_ONLY, *NO_TANKERS)
PORT = port_rules(BERTHS)

CALM: dict[str, dict[str, Any]] = {
    "vessel": {
        "mmsi": 1, "name": "ANNA", "vessel_type": "cargo", "hazard": None, "length": 100.0, "beam": 20.0,
        "draught": 8.0, "speed": 8.0, "course": 0.0, "position": (40.60, -74.05), "destination": "elizabeth-east",
        "direction": "inbound",
    },
    "berth": {"id": "elizabeth-east", "depth": 15.24, "position": (40.6648, -74.1448)},
    "tide": {"sensor": "8519483", "height": 0.0, "highest": 0.0, "low_water": 0.0},
    "stream": {"station": "n03020", "rate": 0.5, "direction": 120.0, "next_direction": 120.0},
    "wind": {"station": "EWR", "velocity": 10.0, "direction": 0.0, "gust": None, "visibility": 10.0},
}  # fmt: skip
HOLDS, FAILS = "holds", "fails"


@attrs.frozen
class Row:
    """What becomes of a rule in a situation."""

    rule: str
    expected: str | tuple[str, ...]
    rows: dict[str, dict[str, Any] | None]
    also: tuple[str, ...] = ()


def row(rule, expected, also=(), /, **changes):
    situation: dict[str, dict[str, Any] | None] = {**CALM}
    for source in ("berth", "tide", "stream", "wind"):
        if source in changes:
            change = changes.pop(source)
            situation[source] = None if change is None else {**CALM[source], **change}
    situation["vessel"] = {**CALM["vessel"], **changes}
    return Row(rule, expected, situation, also)


def wind(velocity, **more):
    return {"velocity": velocity, **more}


LONGISH = {"length": 250.0, "beam": 40.0}
LONG, VERY_LONG = {"length": 200.0, "beam": 40.0}, {"length": 300.0, "beam": 40.0}
DEEP = {"draught": 12.0}
TANKER = {"vessel_type": "tanker"}
MOORED = {"direction": "moored", "speed": 0.0}
AT_CONSTABLE_HOOK = {"destination": "constable-hook"}
AT_PORT_JERSEY, AT_PORT_JERSEY_CARS = {"destination": "port-jersey"}, {"destination": "port-jersey-cars"}
FLOOD = {"rate": 1.6, "direction": 0.0}
YACHT = {"vessel_type": "sailing", "length": 19.9, "beam": 5.0, "direction": "outbound", "destination": "elsewhere"}
NEAR = (40.6648, -74.1407)  # 346 m from the berth

TABLE = [
    # ------------------------------------------------------------------------------------------------------- wind
    row("wind limit", HOLDS, wind=wind(45.0)),
    row("wind limit", FAILS, wind=wind(45.1)),
    row("wind limit", ("wind.velocity",), wind=wind(None)),
    row("wind limit", ("wind",), wind=None),
    row("wind limit from 200 m", HOLDS, wind=wind(35.0), **LONG),
    row("wind limit from 200 m", FAILS, wind=wind(35.1), **LONG),
    row("wind limit from 200 m", HOLDS, wind=wind(40.0), length=199.9),
    row("wind limit from 200 m", ("vessel.length",), wind=wind(40.0), length=None),
    row("wind limit from 300 m", HOLDS, wind=wind(30.0), **VERY_LONG),
    row("wind limit from 300 m", FAILS, wind=wind(30.1), **VERY_LONG),
    row("wind limit from 300 m", HOLDS, wind=wind(30.1), **LONG),
    row("wind limit from 300 m", ("wind.velocity",), wind=wind(None), **VERY_LONG),
    row("small craft", HOLDS, wind=wind(24.9), **YACHT),
    row("small craft", FAILS, wind=wind(25.0), **YACHT),
    row("small craft", FAILS, wind=wind(25.0), **{**YACHT, "vessel_type": "pleasure"}),
    row("small craft", HOLDS, wind=wind(25.0), **{**YACHT, "length": 20.0}),
    row("small craft", HOLDS, wind=wind(25.0), **{**YACHT, "vessel_type": "fishing"}),
    row("small craft", ("vessel.length",), wind=wind(25.0), **{**YACHT, "length": None}),
    row("wind across Newark Bay", HOLDS, wind=wind(25.0, direction=60.0), **LONGISH),
    row("wind across Newark Bay", FAILS, wind=wind(25.1, direction=60.0), **LONGISH),
    row("wind across Newark Bay", FAILS, wind=wind(25.1, direction=300.0), **LONGISH),
    row("wind across Newark Bay", HOLDS, wind=wind(25.1, direction=59.9), **LONGISH),
    row("wind across Newark Bay", HOLDS, wind=wind(25.1, direction=60.0), length=249.9, beam=40.0),
    row("wind across Newark Bay", HOLDS, wind=wind(25.1, direction=60.0), **LONGISH, **AT_PORT_JERSEY),
    row("wind across Newark Bay", ("wind.direction",), wind=wind(25.1, direction=None), **LONGISH),
    row("wind across Newark Bay", HOLDS, wind=wind(25.0, direction=None), **LONGISH),
    row("swell at Port Jersey", HOLDS, wind=wind(30.0, direction=170.0), **AT_PORT_JERSEY),
    row("swell at Port Jersey", FAILS, wind=wind(30.1, direction=170.0), **AT_PORT_JERSEY),
    row("swell at Port Jersey", FAILS, wind=wind(30.1, direction=110.0), **AT_PORT_JERSEY_CARS),
    row("swell at Port Jersey", HOLDS, wind=wind(30.1, direction=171.0), **AT_PORT_JERSEY),
    row("swell at Port Jersey", ("vessel.destination",), wind=wind(30.1, direction=170.0), destination=None),
    row("wind off Constable Hook", HOLDS, wind=wind(30.0, direction=330.0), **AT_CONSTABLE_HOOK),
    row("wind off Constable Hook", FAILS, wind=wind(30.1, direction=330.0), **AT_CONSTABLE_HOOK),
    row("wind off Constable Hook", FAILS, wind=wind(30.1, direction=360.0), **AT_CONSTABLE_HOOK),
    row("wind off Constable Hook", FAILS, wind=wind(30.1, direction=30.0), **AT_CONSTABLE_HOOK),
    row("wind off Constable Hook", HOLDS, wind=wind(30.1, direction=30.1), **AT_CONSTABLE_HOOK),
    row("wind off Constable Hook", ("wind.direction",), wind=wind(30.1, direction=None), **AT_CONSTABLE_HOOK),
    # ------------------------------------------------------------------------------------------------------ gusts
    row("gusts of a storm", HOLDS, wind=wind(40.0, gust=47.9)),
    row("gusts of a storm", FAILS, wind=wind(40.0, gust=48.0)),
    row("gusts of a storm", FAILS, ("wind limit",), wind=wind(48.0, gust=None)),
    row("gusts of a storm", ("wind.gust", "wind.velocity"), wind=wind(None, gust=None)),
    row("gusts of a storm", ("wind",), wind=None),
    row("gusts on high sides", HOLDS, wind=wind(35.0, gust=40.9), **LONG),
    row("gusts on high sides", FAILS, wind=wind(35.0, gust=41.0), **LONG),
    row("gusts on high sides", HOLDS, wind=wind(35.0, gust=41.0), **LONG | {"vessel_type": "passenger"}),
    row("gusts on high sides", HOLDS, wind=wind(35.0, gust=41.0), length=199.0, beam=40.0),
    row("gusts on high sides", ("vessel.vessel_type",), wind=wind(35.0, gust=41.0), **LONG | {"vessel_type": None}),
    row("gusts at the loading arms", HOLDS, wind=wind(20.0, gust=33.9), **TANKER, **MOORED),
    row("gusts at the loading arms", FAILS, wind=wind(20.0, gust=34.0), **TANKER, **MOORED),
    row("gusts at the loading arms", HOLDS, wind=wind(20.0, gust=34.0), **TANKER),
    row("gusts at the loading arms", ("vessel.direction",), wind=wind(20.0, gust=34.0), **TANKER, direction=None),
    row("gusts, dangerous cargo", HOLDS, wind=wind(20.0, gust=33.9), hazard="D"),
    row("gusts, dangerous cargo", FAILS, wind=wind(20.0, gust=34.0), hazard="D"),
    row("gusts, dangerous cargo", HOLDS, wind=wind(20.0, gust=34.0), hazard=None),
    row("gusts, dangerous cargo", ("wind",), wind=None, hazard="A"),
    # ------------------------------------------------------------------------------------------------- visibility
    row("fog", HOLDS, wind={"visibility": 1 * kilometres}),
    row("fog", FAILS, wind={"visibility": 0.99 * kilometres}),
    row("fog", HOLDS, wind={"visibility": 0.5}, **MOORED),
    row("fog", ("wind.visibility",), wind={"visibility": None}),
    row("visibility, deep draught", HOLDS, wind={"visibility": 1.16}, **DEEP),
    row("visibility, deep draught", FAILS, wind={"visibility": 1.14}, **DEEP),
    row("visibility, deep draught", HOLDS, wind={"visibility": 1.14}, draught=11.9),
    row("visibility, deep draught", ("vessel.draught",), wind={"visibility": 1.14}, draught=None),
    row("visibility, tankers", HOLDS, wind={"visibility": 2.31}, **TANKER),
    row("visibility, tankers", FAILS, wind={"visibility": 2.3}, **TANKER),
    row("visibility, tankers", HOLDS, wind={"visibility": 2.3}),
    row("visibility, tankers", ("wind",), wind=None, **TANKER),
    row("visibility from 300 m", HOLDS, wind={"visibility": 2.31}, **VERY_LONG),
    row("visibility from 300 m", FAILS, wind={"visibility": 2.3}, **VERY_LONG),
    row("visibility from 300 m", HOLDS, wind={"visibility": 2.3}, length=299.9, beam=40.0),
    row("visibility from 300 m", ("wind.visibility",), wind={"visibility": None}, **VERY_LONG),
    row("visibility, dangerous cargo", HOLDS, wind={"visibility": 2.31}, hazard="A"),
    row("visibility, dangerous cargo", FAILS, wind={"visibility": 2.3}, hazard="A"),
    row("visibility, dangerous cargo", HOLDS, wind={"visibility": 2.3}, hazard=None),
    row("visibility, dangerous cargo", ("wind.visibility",), wind={"visibility": None}, hazard="A"),
    row("safe speed in restricted visibility", HOLDS, wind={"visibility": 1.0}, speed=10.0),
    row("safe speed in restricted visibility", FAILS, wind={"visibility": 1.0}, speed=10.1),
    row("safe speed in restricted visibility", FAILS, wind={"visibility": 0.1}, speed=10.1, direction="outbound"),
    row("safe speed in restricted visibility", HOLDS, wind={"visibility": 1.16}, speed=10.1),
    row("safe speed in restricted visibility", HOLDS, wind={"visibility": 1.0}, **MOORED),
    row("safe speed in restricted visibility", ("vessel.speed",), wind={"visibility": 1.0}, speed=None),
    # --------------------------------------------------------------------------------------------- depth and tide
    row("clearance at elizabeth-east", HOLDS, berth={"depth": 15.0}, tide={"height": 0.5}, draught=15.0, **MOORED),
    row("clearance at elizabeth-east", FAILS, berth={"depth": 15.0}, tide={"height": 0.25}, draught=14.77, **MOORED),
    row("clearance at elizabeth-east", HOLDS, destination="elsewhere", berth=None),
    row("clearance at elizabeth-east", ("tide",), tide=None),
    row("clearance at elizabeth-east", ("vessel.draught",), draught=None),
    row("clearance at elizabeth-east", ("berth.depth", "tide.height"), berth={"depth": None}, tide={"height": None}),
    row("tanker clearance at elizabeth-east", HOLDS, berth={"depth": 9.0}, **TANKER, **MOORED),
    row("tanker clearance at elizabeth-east", FAILS, berth={"depth": 8.9}, **TANKER, **MOORED),
    row("tanker clearance at elizabeth-east", HOLDS, berth={"depth": 8.9}, **MOORED),
    row("tanker clearance at elizabeth-east", ("vessel.vessel_type",), berth={"depth": 8.9}, vessel_type=None),
    row("clearance under way", HOLDS, berth={"depth": 11.0}, draught=10.0),
    row("clearance under way", FAILS, berth={"depth": 10.9}, draught=10.0),
    row("clearance under way", HOLDS, berth={"depth": 10.9}, draught=10.0, **MOORED),
    row("clearance under way", ("tide.height",), tide={"height": None}),
    row("afloat at low water", HOLDS, berth={"depth": 12.5}, tide={"height": 1, "low_water": -0.29}, **DEEP, **MOORED),
    row("afloat at low water", FAILS, berth={"depth": 12.5}, tide={"height": 1, "low_water": -0.31}, **DEEP, **MOORED),
    row("afloat at low water", HOLDS, tide={"height": 4.0, "low_water": -9.0}, berth={"depth": 9.0}),
    row("afloat at low water", ("tide.low_water",), tide={"low_water": None}, **DEEP, **MOORED),
    row("quay awash", HOLDS, tide={"highest": 2.5}, **MOORED),
    row("quay awash", FAILS, tide={"highest": 2.51}, **MOORED),
    row("quay awash", HOLDS, tide={"highest": 2.51}),
    row("quay awash", ("tide",), tide=None, **MOORED),
    # ----------------------------------------------------------------------------------------------------- stream
    row("tidal stream", HOLDS, stream={"rate": 1.0, "direction": 180.0}, **DEEP),
    row("tidal stream", FAILS, stream={"rate": 1.1, "direction": 180.0}, **DEEP),
    row("tidal stream", FAILS, stream={"rate": 1.1, "next_direction": 180.0}, **DEEP),  # it turns
    row("tidal stream", HOLDS, stream={"rate": 1.1, "direction": 179.9}, **DEEP),
    row("tidal stream", HOLDS, stream={"rate": 1.1, "direction": 180.0}, draught=11.9),
    row("tidal stream", HOLDS, stream={"rate": 1.1, "direction": 180.0}, **DEEP, **MOORED),
    row("tidal stream", ("stream",), stream=None, **DEEP),
    row("tidal stream, deep draught", HOLDS, stream={"direction": 179.9}, berth={"depth": 18.0}, draught=15.0),
    row("tidal stream, deep draught", FAILS, stream={"direction": 180.0}, berth={"depth": 18.0}, draught=15.0),
    row("tidal stream, deep draught", FAILS, stream={"next_direction": 180.0}, berth={"depth": 18.0}, draught=15.0),
    row("tidal stream, deep draught", HOLDS, stream={"direction": 180.0}, berth={"depth": 18.0}, draught=14.9),
    row("tidal stream, deep draught", ("stream",), stream=None, draught=15.0, berth={"depth": 18.0}),
    row("tidal stream, tankers", HOLDS, stream={"rate": 1.5}, **TANKER),
    row("tidal stream, tankers", FAILS, stream={"rate": 1.6}, **TANKER),
    row("tidal stream, tankers", HOLDS, stream={"rate": 1.6}),
    row("tidal stream, tankers", ("stream.rate",), stream={"rate": None}, **TANKER),
    row("flood off Port Jersey", HOLDS, stream={"rate": 1.5, "direction": 0.0}, draught=10.0, **AT_PORT_JERSEY),
    row("flood off Port Jersey", FAILS, stream={"rate": 1.6, "direction": 300.0}, draught=10.0, **AT_PORT_JERSEY),
    row("flood off Port Jersey", FAILS, stream={**FLOOD, "next_direction": 60.0}, draught=10.0, **AT_PORT_JERSEY_CARS),
    row("flood off Port Jersey", HOLDS, stream={"rate": 1.6, "direction": 61.0}, draught=10.0, **AT_PORT_JERSEY),
    row("flood off Port Jersey", HOLDS, stream=FLOOD, draught=9.9, **AT_PORT_JERSEY),
    row("flood off Port Jersey", ("stream",), stream=None, draught=10.0, **AT_PORT_JERSEY),
    row("stream on the moorings", HOLDS, stream={"rate": 4.0}, **LONG, **MOORED),
    row("stream on the moorings", FAILS, stream={"rate": 4.1}, **LONG, **MOORED),
    row("stream on the moorings", HOLDS, stream={"rate": 4.1}, **MOORED),
    row("stream on the moorings", ("stream.rate",), stream={"rate": None}, **LONG, **MOORED),
    # ------------------------------------------------------------------------------------------------------- size
    row("length at elizabeth-east", HOLDS, length=400.0, beam=50.0),
    row("length at elizabeth-east", FAILS, length=400.1, beam=50.0),
    row("length at red-hook", HOLDS, length=230.0, destination="red-hook", beam=30.0),
    row("length at red-hook", FAILS, length=230.1, destination="red-hook", beam=30.0),
    row("length at red-hook", ("vessel.length",), length=None, destination="red-hook"),
    row("beam", HOLDS, length=300.0, beam=60.0),
    row("beam", FAILS, length=300.0, beam=60.1),
    row("beam", HOLDS, length=300.0, beam=60.1, **MOORED),
    row("beam", ("vessel.beam",), beam=None),
    row("turning basin", HOLDS, length=400.0, beam=55.0),
    row("turning basin", FAILS, length=400.0, beam=55.1),
    row("turning basin", HOLDS, length=400.0, beam=55.1, **AT_PORT_JERSEY),
    row("turning basin", ("vessel.beam",), beam=None),
    row("proportions", HOLDS, length=90.0, beam=30.0),
    row("proportions", FAILS, length=90.0, beam=30.1),
    row("proportions", HOLDS, length=79.0, beam=30.0),
    row("proportions", ("vessel.beam",), beam=None),
    # ------------------------------------------------------------------------------------------------------ cargo
    row("no tankers at red-hook", HOLDS, destination="red-hook"),
    row("no tankers at red-hook", FAILS, destination="red-hook", **TANKER),
    row("no tankers at red-hook", HOLDS, destination="constable-hook", **TANKER),
    row("no tankers at red-hook", ("vessel.vessel_type",), destination="red-hook", vessel_type=None),
    row("no dangerous cargo at red-hook", HOLDS, destination="red-hook", hazard=None),
    row("no dangerous cargo at red-hook", FAILS, destination="red-hook", hazard="D"),
    row("no dangerous cargo at red-hook", HOLDS, destination="constable-hook", hazard="D"),
    row("no dangerous cargo at red-hook", ("vessel.destination",), destination=None, hazard="D"),
    row("no passengers at tanker berths", HOLDS, **MOORED, **AT_CONSTABLE_HOOK, **TANKER),
    row("no passengers at tanker berths", FAILS, **MOORED, **AT_CONSTABLE_HOOK, vessel_type="passenger"),
    row("no passengers at tanker berths", HOLDS, **AT_CONSTABLE_HOOK, vessel_type="passenger"),
    row("no passengers at tanker berths", ("vessel.vessel_type",), **MOORED, **AT_CONSTABLE_HOOK, vessel_type=None),
    row("no pleasure craft at terminals", HOLDS, **MOORED),
    row("no pleasure craft at terminals", FAILS, **MOORED, vessel_type="pleasure"),
    row("no pleasure craft at terminals", FAILS, **MOORED, **AT_CONSTABLE_HOOK, vessel_type="sailing"),
    row("no pleasure craft at terminals", HOLDS, **MOORED, destination="red-hook", vessel_type="sailing"),
    row("no pleasure craft at terminals", ("vessel.vessel_type",), **MOORED, vessel_type=None),
    # ------------------------------------------------------------------------------------------------------ speed
    row("squat", HOLDS, speed=12.0, **DEEP),
    row("squat", FAILS, speed=12.1, **DEEP),
    row("squat", HOLDS, speed=12.1, draught=11.9),
    row("squat", ("vessel.speed",), speed=None, **DEEP),
    row("wash at the berths", HOLDS, position=NEAR, speed=6.0),
    row("wash at the berths", FAILS, position=NEAR, speed=6.1),
    row("wash at the berths", HOLDS, speed=6.1),
    row("wash at the berths", ("vessel.position",), position=None),
]  # fmt: skip


def requirements(statements) -> Iterator[Requirement]:
    for statement in statements:
        if isinstance(statement, Requirement):
            yield statement
        else:
            yield from requirements(statement.body)


def rule_of(name):
    """The rule that a requirement is an instance of: those of the berths are one each."""
    return re.sub(rf" at ({'|'.join(BERTHS)})$", " at ID", name)


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case.rule}-{case.expected}")
def test_a_rule_in_a_situation(case):
    verdict = PORT.check(case.rows)
    failed = {reason.name for reason in verdict.failed}
    missing = {reason.name: reason.missing for reason in verdict.undecided}
    if case.expected == HOLDS:
        assert case.rule not in failed | {*missing}
    elif case.expected == FAILS:
        assert verdict.status == "restricted"
        assert failed == {case.rule, *case.also}
    else:
        assert verdict.status in {"unknown", "restricted"}
        assert sorted(missing[case.rule]) == sorted(case.expected)


def test_in_the_calm_situation_everything_is_allowed():
    assert PORT.check(CALM).because == ()


def test_every_rule_has_rows_where_it_holds_where_it_fails_and_where_data_are_missing():
    expected = {rule_of(requirement.name) for requirement in requirements(PORT.statements)}
    for wanted in (lambda case: case == HOLDS, lambda case: case == FAILS, lambda case: isinstance(case, tuple)):
        assert {rule_of(case.rule) for case in TABLE if wanted(case.expected)} == expected


def test_every_rule_says_why_and_names_are_not_given_twice():
    found = [*requirements(PORT.statements)]
    assert all(requirement.because for requirement in found)
    assert len({requirement.name for requirement in found}) == len(found)


def test_lengths_are_of_berths_that_there_are():
    assert {*LENGTHS_M} <= {*BERTHS}


def test_quantities_in_other_units_do_as_well():
    shallow = {"berth": {**CALM["berth"], "depth": 27.8 * feet}, "vessel": {**CALM["vessel"], **MOORED}}  # 8.473 m
    assert [reason.name for reason in PORT.check({**CALM, **shallow}).failed] == ["clearance at elizabeth-east"]
    ship = {**CALM["vessel"], "length": 0.1 * kilometres, "beam": 20 * metres}
    assert PORT.check({**CALM, "vessel": ship}).because == ()
