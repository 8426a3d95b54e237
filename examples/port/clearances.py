"""Under-keel clearances over the day, of the deepest ships at a berth: what the picture shows beside the verdicts.

They are computed from the readings alone, not by the rules, so that the picture shows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from examples.port.geography import distance_km

if TYPE_CHECKING:
    from examples.port.inputs import Day, Values

LIMIT_M: Final = 0.5
"""The least clearance, in metres."""
TANKER_LIMIT_M: Final = 1.0
"""The least clearance of tankers, in metres."""


@attrs.frozen
class Clearance:
    """The clearance of a ship at a berth.

    Args:
        mmsi: The ship.
        name: What she is called.
        draught: Hers, in metres.
        berth: The id of the berth.
        depth: The berth's, in metres.
        limit: The least clearance she must have, in metres.
        points: (microseconds since the epoch, metres), in order; each holds until the next.
    """

    mmsi: int
    name: str
    draught: float
    berth: str
    depth: float
    limit: float
    points: tuple[tuple[int, float], ...]


def deepest_at_berth(day: Day, count: int) -> list[Clearance]:
    """Return the clearances of the ``count`` deepest ships that lie at a berth at the end of ``day``."""
    berths = {each.values["id"]: each.values for each in day.readings if each.source == "berth"}
    ships: dict[int, Values] = {}
    since: dict[int, int] = {}
    for each in day.readings:
        if each.source == "vessel":
            ship = each.values
            before = ships.get(ship["mmsi"])
            if before is None or before["destination"] != ship["destination"]:
                since[ship["mmsi"]] = each.time or day.start
            ships[ship["mmsi"]] = ship
    lying = [
        ship
        for ship in ships.values()
        if ship["direction"] == "moored" and ship["draught"] and berths[ship["destination"]]["depth"] is not None
    ]
    lying.sort(key=lambda ship: (-ship["draught"], ship["mmsi"]))
    found = [_clearance(day, ship, berths[ship["destination"]], since[ship["mmsi"]]) for ship in lying[:count]]
    return [each for each in found if each.points]


def _clearance(day: Day, ship: Values, berth: Values, since: int) -> Clearance:
    position = berth["position"]
    gauge = min(day.gauges, key=lambda id_: (distance_km(position, day.gauges[id_]), id_))
    heights = [
        (each.time or day.start, each.values["height"])
        for each in day.readings
        if each.source == "tide" and each.values["sensor"] == gauge and each.values["height"] is not None
    ]
    first = max((time for time, _ in heights if time <= since), default=since)
    return Clearance(
        ship["mmsi"],
        ship["name"],
        ship["draught"],
        berth["id"],
        berth["depth"],
        TANKER_LIMIT_M if ship["vessel_type"] == "tanker" else LIMIT_M,
        tuple(
            (max(time, since), berth["depth"] + height - ship["draught"]) for time, height in heights if time >= first
        ),
    )
