"""Deep ships and what they are about to do: leave the berth where they lie, or come in from sea.

The reports of New York carry no time of arrival, and none of a deep ship on her way in. So it is derived, and said to
be: a ship at a berth may leave from now on; one bound for a berth arrives when the distance to it is run at her speed;
one that lies still outside is taken to weigh anchor now and to run to the deepest berth for her kind. Distances are
those of the great circle, which no channel follows: arrivals are early.

Source: RULES.md, "Arrivals".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from examples.port.berth_rules import LENGTHS_M, LONGEST_M
from examples.port.geography import distance_km
from examples.port.observations import TANKERS_ONLY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.port.input_files import Values
    from examples.port.inputs import Day

DEEP_M: Final = 12.0
"""From which draught on a ship is shown, in metres."""
ASSUMED_KN: Final = 8.0
"""The speed at which a ship that lies outside is taken to come in, in knots."""
_SHIP_M: Final = 80.0
_KM_PER_NAUTICAL_MILE: Final = 1.852
_HOUR: Final = 3_600_000_000


@attrs.frozen
class Call:
    """What a ship is about to do.

    Args:
        mmsi: The ship.
        name: What she is called.
        vessel_type: Her kind; None: not known.
        length: In metres; None: not known.
        draught: In metres.
        berth: The id of the berth that she leaves or comes to.
        position: That of the berth.
        direction: inbound or outbound.
        eta: When she is there, or may leave, in microseconds since the epoch.
        derived: How that is known, in words.
    """

    mmsi: int
    name: str
    vessel_type: str | None
    length: float | None
    draught: float
    berth: str
    position: tuple[float, float]
    direction: str
    eta: int
    derived: str


def deep_calls(day: Day) -> tuple[int, list[Call]]:
    """Return the time of the last report of ``day``, and what the deep ships do from then on, the deepest first."""
    berths = {each.values["id"]: each.values for each in day.readings if each.source == "berth"}
    ships: dict[int, Values] = {}
    now = day.start
    for each in day.readings:
        if each.source == "vessel" and each.time is not None:
            ships[each.values["mmsi"]] = each.values
            now = max(now, each.time)
    deep = [ship for ship in ships.values() if (ship["draught"] or 0.0) >= DEEP_M]
    deep.sort(key=lambda ship: (-ship["draught"], ship["mmsi"]))
    found = [call_of(ship, berths, now) for ship in deep]
    return now, [call for call in found if call is not None]


def call_of(ship: Values, berths: Mapping[str, Values], now: int) -> Call | None:
    """Return what a ship is about to do; None: nothing, or it is not known.

    Args:
        ship: Her last report.
        berths: The berths, by id.
        now: The time, in microseconds since the epoch.
    """
    direction, berth = ship["direction"], berths.get(ship["destination"])
    if direction == "moored":
        return _made(ship, berth, "outbound", now, "lies there")
    if direction == "inbound":
        return _made(ship, berth, "inbound", _after(ship, berth, ship["speed"], now), f"{ship['speed']:.1f} kn")
    if direction == "still" and (ship["length"] or 0.0) >= _SHIP_M:
        berth = _fitting(ship, berths)
        return _made(ship, berth, "inbound", _after(ship, berth, ASSUMED_KN, now), f"{ASSUMED_KN:g} kn, if she comes")
    return None


def _made(ship: Values, berth: Values | None, direction: str, eta: int | None, derived: str) -> Call | None:
    if berth is None or berth["position"] is None or eta is None:
        return None
    kept = {name: ship[name] for name in ("mmsi", "name", "vessel_type", "length", "draught")}
    return Call(**kept, berth=berth["id"], position=berth["position"], direction=direction, eta=eta, derived=derived)


def _after(ship: Values, berth: Values | None, knots: float, now: int) -> int | None:
    if berth is None or berth["position"] is None or ship["position"] is None:
        return None
    miles = distance_km(ship["position"], berth["position"]) / _KM_PER_NAUTICAL_MILE
    return now + round(miles / knots * _HOUR)


def _fitting(ship: Values, berths: Mapping[str, Values]) -> Values | None:
    """The deepest berth for a ship's kind and length; of equally deep ones the nearest, then the smallest id."""
    is_tanker, position = ship["vessel_type"] == "tanker", ship["position"]
    fitting = [
        each
        for id_, each in berths.items()
        if (id_ in TANKERS_ONLY) == is_tanker
        and ship["length"] <= LENGTHS_M.get(id_, LONGEST_M)
        and each["depth"] is not None
        and each["position"] is not None
    ]
    if position is None or not fitting:
        return None
    return min(fitting, key=lambda each: (-each["depth"], distance_km(position, each["position"]), each["id"]))
