"""The pack `arrivals`: rules on a ship's passage between sea and berth, judged on what is predicted for it.

Source: RULES.md, "Arrivals".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl import RulePack, Source, instant, known_or, named, nearest, not_, optional, require, throughout, when
from dsl.units import centimetres, degrees, hours, kilometres, knots, metres, miles
from examples.port.observations import berth, directions, kinds
from examples.port.places import AIRPORTS, GAUGES, STATIONS
from examples.port.water_rules import PROGRAM_C
from examples.port.weather_rules import BEAUFORT, FOG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.port.places import Position

PASSAGE_H: Final = 1
"""How long a passage takes, in hours."""

vessel = Source(
    "vessel", key="mmsi",
    mmsi=int, name=str, vessel_type=kinds, length=metres, draught=metres, destination=str, direction=directions,
    eta=instant,
)  # fmt: skip
tide = Source("tide", key="sensor", sensor=str, height=metres, forecast=True)
stream = Source(
    "stream", key="station", station=str, rate=knots, direction=degrees, next_direction=degrees, forecast=True
)
wind = Source(
    "wind", key="station",
    station=str, velocity=knots, gust=optional(knots), visibility=miles, forecast=True,
)  # fmt: skip
clearance = named("under-keel clearance", berth.depth + tide.height - vessel.draught)
gust = named("gust", known_or(wind.gust, wind.velocity))
is_outward = named("stream outwards", (stream.direction >= 180 * degrees) | (stream.next_direction >= 180 * degrees))


def arrival_rules(gauges: Mapping[str, Position] = GAUGES, stations: Mapping[str, Position] = STATIONS) -> RulePack:
    """Return the rules of a passage.

    >>> arrival_rules()
    <rule pack arrivals over vessel, 7 statements>

    Args:
        gauges: The tide gauges that berths are referred to, and where they are.
        stations: The stations of the tidal stream, and where they are.
    """
    arrivals = RulePack(
        "arrivals",
        subject=vessel,
        links=[
            berth.id == vessel.destination,
            tide.sensor == nearest(dict(gauges), berth.position),
            stream.station == nearest(dict(stations), berth.position),
            wind.station == nearest(AIRPORTS, berth.position),
        ],
    )
    on_passage = throughout(vessel.eta, vessel.eta + PASSAGE_H * hours)
    with arrivals:
        require(
            on_passage(clearance >= 50 * centimetres),
            name="clearance on passage",
            because="she must stay afloat until she is through",
            severity="critical",
        )
        with when(vessel.vessel_type == "tanker"):
            require(
                on_passage(clearance >= 100 * centimetres),
                name="tanker clearance on passage",
                because="a tanker aground may spill",
                severity="critical",
            )
        with when((vessel.direction == "inbound") & (vessel.draught >= 12 * metres)):
            require(
                on_passage(not_(is_outward) | (stream.rate <= 1 * knots)),
                name="tidal stream on passage",
                because="she must be able to stop and turn",
                reference=PROGRAM_C,
            )
        with when(vessel.length >= 200 * metres):
            require(
                on_passage(wind.velocity <= 35 * knots),
                name="wind on passage from 200 m",
                because="her side catches it",
            )
        with when(vessel.length >= 300 * metres):
            require(
                on_passage(wind.velocity <= 30 * knots),
                name="wind on passage from 300 m",
                because="tugs cannot hold her above it",
            )
        require(
            on_passage(gust < 34 * knots),
            name="gusts on passage",
            because="a pilot neither boards nor leaves in a gale",
            reference=f"{BEAUFORT}: force 8 from 34 kn",
        )
        require(
            wind.at(vessel.eta).visibility >= 1 * kilometres,
            name="fog at the start",
            because="no pilot starts in fog",
            reference=f"{FOG} is visibility below 1 km",
        )
    return arrivals
