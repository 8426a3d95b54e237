"""Under-keel clearances over the day, of the deepest ships at a berth: what the picture shows beside the verdicts.

They are computed from the readings alone, not by the rules, so that the picture shows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from examples.port.geography import distance_km

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from examples.port.input_files import Values
    from examples.port.inputs import Day

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


def clearances_at_berth(day: Day) -> list[Clearance]:
    """Return the clearances of the ships that lie at a berth at the end of ``day``, the deepest first."""
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
    lying = [ship for ship in ships.values() if ship["direction"] == "moored" and ship["draught"]]
    lying.sort(key=lambda ship: (-ship["draught"], ship["mmsi"]))
    found = [_clearance(day, ship, berths[ship["destination"]], since[ship["mmsi"]]) for ship in lying]
    return [each for each in found if each.points]


def chosen(clearances: Sequence[Clearance], changing: Collection[int], count: int) -> list[Clearance]:
    """Return ``count`` of the deepest ships: half of them the deepest of all, half of those whose verdict changes.

    Args:
        clearances: To choose from, the deepest ship first.
        changing: The ships whose verdict changes.
        count: How many; the rest is filled with the next deepest.
    """
    first = list(clearances[: count // 2])
    second = [each for each in clearances if each.mmsi in changing and each not in first][: count - len(first)]
    third = [each for each in clearances if each not in first and each not in second]
    found = [*first, *second, *third][:count]
    return [each for each in clearances if each in found]


def clearance_points(day: Day, berth: Values, draught: float, gauge: str | None = None) -> list[tuple[int, float]]:
    """Return the clearance over the day of a draught at a berth: (microseconds since the epoch, metres), in order.

    Args:
        day: The predictions of the tide.
        berth: The berth; without a position or a depth there are none.
        draught: In metres.
        gauge: Whose predictions count; None: those of the gauge that is nearest to the berth.
    """
    position, depth = berth["position"], berth["depth"]
    if position is None or depth is None:
        return []
    gauge = gauge or min(day.gauges, key=lambda id_: (distance_km(position, day.gauges[id_]), id_))
    return [
        (each.time or day.start, depth + each.values["height"] - draught)
        for each in day.readings
        if each.source == "tide" and each.values["sensor"] == gauge and each.values["height"] is not None
    ]


def _clearance(day: Day, ship: Values, berth: Values, since: int) -> Clearance:
    points = clearance_points(day, berth, ship["draught"])
    first = max((time for time, _ in points if time <= since), default=since)
    return Clearance(
        ship["mmsi"],
        ship["name"],
        ship["draught"],
        berth["id"],
        berth["depth"] or 0.0,
        TANKER_LIMIT_M if ship["vessel_type"] == "tanker" else LIMIT_M,
        tuple((max(time, since), metres) for time, metres in points if time >= first),
    )
