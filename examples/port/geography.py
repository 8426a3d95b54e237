"""Distances and bearings on a sphere, as `RULES.md` says.

Source: R. W. Sinnott, Virtues of the Haversine, 1984; the sphere has the Earth's mean radius (IUGG).
"""

from __future__ import annotations

from math import asin, atan2, cos, degrees, radians, sin, sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from examples.port.places import Position

EARTH_RADIUS_KM: Final = 6_371.0088


def on_earth(latitude: float | None, longitude: float | None) -> Position | None:
    """Return a position, or None where it is none: 91 and 181 are what AIS says for "not available".

    >>> on_earth(40.7, -74.0), on_earth(91.0, 181.0), on_earth(40.7, None)
    ((40.7, -74.0), None, None)
    """
    if latitude is None or longitude is None or not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        return None
    return latitude, longitude


def distance_km(here: Position, there: Position) -> float:
    """Return the great-circle distance, in kilometres.

    >>> round(distance_km((0.0, 0.0), (0.0, 1.0)), 3)
    111.195
    """
    north, other_north = radians(here[0]), radians(there[0])
    half_height, half_width = (other_north - north) / 2, radians(there[1] - here[1]) / 2
    haversine = sin(half_height) ** 2 + cos(north) * cos(other_north) * sin(half_width) ** 2
    return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(haversine)))


def bearing(here: Position, there: Position) -> float:
    """Return the initial great-circle bearing, in degrees true from 0 to below 360.

    >>> bearing((40.0, -74.0), (41.0, -74.0)), round(bearing((0.0, 0.0), (0.0, -1.0)))
    (0.0, 270)
    """
    north, other_north, east = radians(here[0]), radians(there[0]), radians(there[1] - here[1])
    across = sin(east) * cos(other_north)
    along = cos(north) * sin(other_north) - sin(north) * cos(other_north) * cos(east)
    return degrees(atan2(across, along)) % 360


def angle_between(first: float, second: float) -> float:
    """Return the smaller angle between two directions, in degrees from 0 to 180.

    >>> angle_between(350.0, 15.0), angle_between(15.0, 350.0), angle_between(0.0, 180.0)
    (25.0, 25.0, 180.0)
    """
    return abs((first - second + 180) % 360 - 180)
