"""What is observed in New York harbour: the sources, and how the rows are found that a ship's verdict looks at.

A verdict about a ship looks at the berth that it lies at or is bound for, the tide at the gauge nearest to that berth,
and the tidal stream and the wind nearest to the ship. What is not known makes a verdict unknown, never allowed.

Source: RULES.md, "What is read" and "Links".
"""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING, Final

from dsl import Source, choice, known_or, named, nearest, optional, position
from dsl.units import degrees, knots, metres, miles
from examples.port.places import AIRPORTS, GAUGES, STATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl import Expression
    from examples.port.places import Position

kinds = choice("cargo", "tanker", "passenger", "tug", "fishing", "sailing", "pleasure", "other")
"""The kinds of ships."""
directions = choice("inbound", "outbound", "moored", "still")
"""What a ship is about."""
hazards = choice("A", "B", "C", "D")
"""AIS: the categories of dangerous goods and pollutants; A is the worst."""

vessel = Source(
    "vessel", key="mmsi",
    mmsi=int, name=str, vessel_type=kinds, hazard=optional(hazards), length=metres, beam=metres, draught=metres,
    speed=knots, course=degrees, position=position, destination=str, direction=directions,
)  # fmt: skip
berth = Source("berth", key="id", id=str, depth=metres, position=position)
tide = Source("tide", key="sensor", sensor=str, height=metres, highest=metres, low_water=metres)
stream = Source("stream", key="station", station=str, rate=knots, direction=degrees, next_direction=degrees)
wind = Source(
    "wind", key="station",
    station=str, velocity=knots, direction=degrees, gust=optional(knots), visibility=miles,
)  # fmt: skip

clearance = named("under-keel clearance", berth.depth + tide.height - vessel.draught)
"""The water beneath her keel at her berth."""
is_outward = named("stream outwards", (stream.direction >= 180 * degrees) | (stream.next_direction >= 180 * degrees))
"""Whether the stream sets outwards, before or after the next prediction."""
gust = named("gust", known_or(wind.gust, wind.velocity))
"""The strongest wind of a report: one without a gust had none to speak of."""

NEWARK_BAY: Final = (
    "elizabeth-north", "elizabeth-east", "elizabeth-south", "newark-south", "newark-west", "newark-north",
)  # fmt: skip
"""The berths that are reached through Newark Bay."""
PORT_JERSEY: Final = ("port-jersey", "port-jersey-cars")
"""The berths that are open to the Narrows."""
TANKERS_ONLY: Final = ("constable-hook", "tremley-point")
"""The berths where nobody but tankers and their tugs has business."""


def _at(*berths: str) -> Expression:
    return reduce(operator.or_, (vessel.destination == each for each in berths))


for_newark_bay = named("bound for Newark Bay", _at(*NEWARK_BAY))
"""Whether the ship lies at one of these berths, or is bound for it."""
for_port_jersey = named("bound for Port Jersey", _at(*PORT_JERSEY))
"""The same."""
for_tanker_berths = named("bound for a tanker berth", _at(*TANKERS_ONLY))
"""The same."""
is_yacht = named("a yacht", (vessel.vessel_type == "pleasure") | (vessel.vessel_type == "sailing"))
"""Whether the ship is pleasure craft."""


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
