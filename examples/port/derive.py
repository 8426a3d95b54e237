"""What the reports do not say and the rules need: the kind of a ship, and where she lies or is bound for.

Source: RULES.md, "What is derived".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from examples.port.geography import angle_between, bearing, distance_km

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.port.input_files import Values
    from examples.port.places import Position

MOORED: Final = 5
"""AIS: the navigational status "moored"."""
NO_SPEED_KN: Final = 102.3
"""AIS: the speed over ground "not available", in knots."""
NO_COURSE: Final = 360
"""AIS: the course over ground "not available", in degrees."""
ELSEWHERE: Final = "elsewhere"
"""The destination of a ship that is neither at a berth nor bound for one."""

_KINDS: Final = {30: "fishing", 31: "tug", 32: "tug", 52: "tug", 36: "sailing", 37: "pleasure"}
_KINDS_BY_TEN: Final = {6: "passenger", 7: "cargo", 8: "tanker"}
_HAZARDS: Final = {1: "A", 2: "B", 3: "C", 4: "D"}
_AT_BERTH_KM, _LYING_KN = 0.6, 0.5
_BOUND_KM, _UNDER_WAY_KN, _SHIP_M, _HEADING_DEGREES = 15.0, 1.0, 80.0, 20.0


def below(value: float | None, unavailable: float) -> float | None:
    """Return what AIS says, or None where that is its code for "not available", or more.

    >>> below(101.9, 102.3), below(102.3, 102.3)
    (101.9, None)
    """
    return value if value is not None and value < unavailable else None


def available(ship: Values) -> Values:
    """Return a report without AIS's codes for "not available": of what a ship measures, 0.

    >>> available({"length": 80.0, "beam": 0.0, "draught": 0.0, "speed": 0.0, "course": 360.0})
    {'length': 80.0, 'beam': None, 'draught': None, 'speed': 0.0, 'course': None}
    """
    sizes = {name: ship[name] or None for name in ("length", "beam", "draught")}
    return {**ship, **sizes, "speed": below(ship["speed"], NO_SPEED_KN), "course": below(ship["course"], NO_COURSE)}


def vessel_type(code: int | None) -> str | None:
    """Return the kind of a ship from her AIS code; None if there is none.

    >>> [vessel_type(code) for code in (52, 37, 80, 89, 90, None)]
    ['tug', 'pleasure', 'tanker', 'tanker', 'other', None]
    """
    if code is None:
        return None
    return _KINDS.get(code) or _KINDS_BY_TEN.get(code // 10, "other")


def hazard(code: int | None) -> str | None:
    """Return the category of dangerous goods or pollutants that an AIS code of ship and cargo states; None if none.

    >>> [hazard(code) for code in (71, 84, 70, 89, 31, None)]
    ['A', 'D', None, None, None, None]
    """
    return _HAZARDS.get(code % 10) if code is not None and 40 <= code <= 99 and code // 10 != 5 else None


def called(name: str | None, mmsi: int) -> str:
    """Return what a ship is called.

    >>> called("GUNVOR MAERSK", 220413000), called(None, 220413000)
    ('GUNVOR MAERSK', 'MMSI 220413000')
    """
    return name or f"MMSI {mmsi}"


def whereabouts(
    *,
    position: Position | None,
    nav_status: int | None,
    speed: float | None,
    course: float | None,
    length: float | None,
    berths: Mapping[str, Position],
) -> tuple[str, str]:
    """Return the destination and the direction of a ship.

    >>> berths = {"quay": (40.0, -74.0)}
    >>> whereabouts(position=(40.001, -74.0), nav_status=5, speed=0.0, course=None, length=None, berths=berths)
    ('quay', 'moored')
    >>> whereabouts(position=(39.95, -74.0), nav_status=0, speed=8.0, course=10.0, length=200.0, berths=berths)
    ('quay', 'inbound')
    >>> whereabouts(position=(39.95, -74.0), nav_status=0, speed=8.0, course=190.0, length=200.0, berths=berths)
    ('elsewhere', 'outbound')

    Args:
        position: Where she is; None if not known.
        nav_status: The AIS navigational status.
        speed: Over ground, in knots; None counts as 0.
        course: Over ground, in degrees true.
        length: In metres.
        berths: The berths' positions, by id.
    """
    knots = speed or 0.0
    distances = {} if position is None else {id_: distance_km(position, place) for id_, place in berths.items()}
    if nav_status == MOORED and knots < _LYING_KN:
        berth = _closest(distances)
        if berth is not None and distances[berth] <= _AT_BERTH_KM:
            return berth, "moored"
    if position is not None and course is not None and (length or 0.0) >= _SHIP_M and knots >= _UNDER_WAY_KN:
        ahead = _closest(
            {
                id_: distance
                for id_, distance in distances.items()
                if distance <= _BOUND_KM and angle_between(bearing(position, berths[id_]), course) <= _HEADING_DEGREES
            }
        )
        if ahead is not None:
            return ahead, "inbound"
    return ELSEWHERE, "outbound" if knots >= _UNDER_WAY_KN else "still"


def _closest(distances: Mapping[str, float]) -> str | None:
    return min(distances, key=lambda id_: (distances[id_], id_), default=None)
