"""The rules of the harbour, as a port officer reads them. All figures are for demonstration.

A verdict about a ship looks at the berth that it lies at or is bound for, the tide at the gauge nearest to that berth,
and the tidal stream and the wind nearest to the ship. What is not known makes a verdict unknown, never allowed.

Source: RULES.md; the last block has the nested shape of the thesis's program C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dsl import RulePack, Source, location, nearest, position, require, when
from dsl.units import centimetres, degrees, knots, metres
from examples.port.places import AIRPORTS, GAUGES, STATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsl import Expression
    from examples.port.places import Position

# ------------------------------------------------------------------------------------------------ what is observed

vessel = Source(
    "vessel", key="mmsi",
    mmsi=int, name=str, vessel_type=str, length=metres, beam=metres, draught=metres, speed=knots, course=degrees,
    position=position, destination=str, direction=str,
)  # fmt: skip
berth = Source("berth", key="id", id=str, depth=metres, position=position)
tide = Source("tide", key="sensor", sensor=str, height=metres, low_water=metres)
stream = Source("stream", key="station", station=str, rate=knots, direction=degrees)
wind = Source("wind", key="station", station=str, velocity=knots, direction=degrees, gust=knots)

NO_TANKERS: Final = ("red-hook", "brooklyn-navy-yard")
"""The berths where tankers may not lie."""


def links(
    gauges: Mapping[str, Position] = GAUGES, stations: Mapping[str, Position] = STATIONS
) -> dict[str, Expression]:
    """Return, by source, how the row is found that a ship's verdict looks at."""
    return {
        "berth": berth.id == vessel.destination,
        "tide": tide.sensor == nearest(dict(gauges), berth.position),
        "stream": stream.station == nearest(dict(stations), vessel.position),
        "wind": wind.station == nearest(AIRPORTS, vessel.position),
    }


# ------------------------------------------------------------------------------------------------ what is required


def port_rules(
    berths: Iterable[str],
    gauges: Mapping[str, Position] = GAUGES,
    stations: Mapping[str, Position] = STATIONS,
) -> RulePack:
    """Return the rules of the harbour.

    >>> port_rules(["red-hook"])
    <rule pack port over vessel, 5 statements>

    Args:
        berths: The ids of the berths, in the order of their table.
        gauges: The tide gauges that berths are referred to, and where they are.
        stations: The stations of the tidal stream, and where they are.
    """
    by_source = links(gauges, stations)
    port = RulePack("port", subject=vessel, location=vessel.destination, links=by_source.values())
    clearance = berth.depth + tide.height - vessel.draught
    with port:
        require(wind.velocity <= 45 * knots, name="wind limit", because="no ship moves or lies safely above 45 kn")
        with when(vessel.length >= 200 * metres):
            require(wind.velocity <= 35 * knots, name="wind limit from 200 m", because="her side catches the wind")
        with when(vessel.length >= 300 * metres):
            require(wind.velocity <= 30 * knots, name="wind limit from 300 m", because="tugs cannot hold her above it")

        for each in berths:
            with location(each):
                require(clearance >= 50 * centimetres, name=f"clearance at {each}", because="she must stay afloat")
                with when(vessel.vessel_type == "tanker"):
                    require(
                        clearance >= 100 * centimetres,
                        name=f"tanker clearance at {each}",
                        because="a tanker aground may spill",
                    )
                if each in NO_TANKERS:
                    require(
                        vessel.vessel_type != "tanker",
                        name=f"no tankers at {each}",
                        because="homes are too near",
                    )

        with when(vessel.direction == "inbound"):
            with when(vessel.draught >= 12 * metres), when(stream.direction >= 180 * degrees):
                require(stream.rate <= 1 * knots, name="tidal stream", because="she must be able to stop and turn")
            with when(vessel.draught >= 15 * metres):
                require(
                    stream.direction < 180 * degrees,
                    name="tidal stream, deep draught",
                    because="the deepest ships come in on the flood alone",
                )
    return port
