"""The pack `arrivals`: rules on a ship's passage between sea and berth, judged on what is predicted for it.

Source: RULES.md, "Arrivals".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dsl import RulePack, Source, instant, named, nearest, require, when
from dsl.units import centimetres, degrees, knots, metres
from examples.port.observations import berth, directions, gust, kinds, stream, tide, wind
from examples.port.places import AIRPORTS, GAUGES, STATIONS
from examples.port.water_rules import PROGRAM_C
from examples.port.weather_rules import BEAUFORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.port.places import Position

vessel = Source(
    "vessel", key="mmsi",
    mmsi=int, name=str, vessel_type=kinds, length=metres, draught=metres, destination=str, direction=directions,
    eta=instant,
)  # fmt: skip
clearance = named("under-keel clearance", berth.depth + tide.height - vessel.draught)


def arrival_rules(gauges: Mapping[str, Position] = GAUGES, stations: Mapping[str, Position] = STATIONS) -> RulePack:
    """Return the rules of a passage.

    >>> arrival_rules()
    <rule pack arrivals over vessel, 6 statements>

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
    with arrivals:
        require(
            clearance >= 50 * centimetres,
            name="clearance on passage",
            because="she must stay afloat until she is through",
            severity="critical",
        )
        with when(vessel.vessel_type == "tanker"):
            require(
                clearance >= 100 * centimetres,
                name="tanker clearance on passage",
                because="a tanker aground may spill",
                severity="critical",
            )
        deep_inbound = (vessel.direction == "inbound") & (vessel.draught >= 12 * metres)
        with when(deep_inbound & (stream.direction >= 180 * degrees)):
            require(
                stream.rate <= 1 * knots,
                name="tidal stream on passage",
                because="she must be able to stop and turn",
                reference=PROGRAM_C,
            )
        with when(vessel.length >= 200 * metres):
            require(wind.velocity <= 35 * knots, name="wind on passage from 200 m", because="her side catches it")
        with when(vessel.length >= 300 * metres):
            require(wind.velocity <= 30 * knots, name="wind on passage from 300 m", because="tugs cannot hold her")
        require(
            gust < 34 * knots,
            name="gusts on passage",
            because="a pilot neither boards nor leaves in a gale",
            reference=f"{BEAUFORT}: force 8 from 34 kn",
        )
    return arrivals
