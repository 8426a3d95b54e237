"""Positions: the closest of a table of places, by great-circle distance.

Links use it for what has no key in common: `tide.sensor == nearest(sensors, berth.position)`. A position is
(latitude, longitude), in degrees north and east; the distance is the haversine on a sphere, which orders places as
well as any ellipsoid at the distances of a port.

Source: thesis, chapter 5 (the closest sensor to the berth); R. W. Sinnott, Virtues of the Haversine, 1984.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.expressions.value_sorts import is_on_earth
from dsl.refusals.errors import DimensionMismatch, InvalidRule, refusal
from dsl.terms.dimensions import NUMBER, POSITION, TEXT, described
from dsl.terms.terms import Nearest
from dsl.terms.texts import text
from dsl.writing.fluent import Expression, lift

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.vectors.vectors import Vector

_EARTH_RADIUS = 6_371_008.8


def nearest(
    places: Mapping[str, tuple[float, float]] | Mapping[int, tuple[float, float]], position: Expression
) -> Expression:
    """Return the id of the place that is closest to ``position``; of equally close ones the smallest id.

    >>> from dsl import Source
    >>> import dsl
    >>> berth = Source("berth", key="id", id=str, position=dsl.position)
    >>> tide = Source("tide", key="sensor", sensor=str)
    >>> tide.sensor == nearest({"8518750": (40.70, -74.01), "8519483": (40.64, -74.14)}, berth.position)
    tide.sensor == nearest(2 places, berth.position)

    Args:
        places: Id → (latitude, longitude), in degrees; at least one; ids all texts or all whole numbers.
        position: An observation declared as `position`; where it is missing, so is the id.

    Raises:
        InvalidRule: No place, ids of two types, or coordinates out of range.
        DimensionMismatch: ``position`` is no position.
    """
    ids: list[Any] = list(places)
    if {type(id_) for id_ in ids} not in ({str}, {int}):
        raise InvalidRule(refusal(f"nearest: expected places by text or by whole number but got ids {ids!r}"))
    table = tuple((id_, *_coordinates(id_, dict(places)[id_])) for id_ in sorted(ids))
    term = lift(position)
    if term.kind != POSITION:
        notes = [("got", f"{text(term)} is {described(term.kind)}"), ("fix", "declare the field as dsl.position")]
        raise DimensionMismatch(refusal(f"nearest: expected a position but got {text(term)}", notes))
    return Expression(Nearest(table, term, TEXT if isinstance(ids[0], str) else NUMBER))


@attrs.frozen
class Closest:
    """The function from a position to the closest of some places: what `nearest` means.

    >>> closest = Closest((("east", 0.0, 10.0), ("west", 0.0, -10.0)))
    >>> closest((5.0, 1.0)), closest((5.0, 0.0))
    ('east', 'east')

    Args:
        places: Id, latitude and longitude of each, in degrees, by id.
    """

    places: tuple[tuple[str | int, float, float], ...]

    def __call__(self, position: tuple[float, float]) -> str | int:
        """Return the id of the closest, of equally close ones the smallest."""
        return _closest(self.places, *position)

    def of_vectors(self, positions: Vector) -> Vector | None:
        """Return the ids for many positions: by columns where one place is closer by far, one by one elsewhere."""
        from cartesius.columns.vectors.spheres import closest_places  # noqa: PLC0415 - with Arrow, which rules do without

        return closest_places(self.places, positions, self)


@lru_cache(maxsize=4096)
def _closest(places: tuple[tuple[str | int, float, float], ...], latitude: float, longitude: float) -> str | int:
    return min(places, key=lambda place: (great_circle((latitude, longitude), place[1:]), place[0]))[0]


def great_circle(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the great-circle distance of two positions, in metres.

    >>> round(great_circle((0.0, 0.0), (0.0, 1.0)))
    111195
    """
    latitude, other = math.radians(first[0]), math.radians(second[0])
    half_height, half_width = (other - latitude) / 2, math.radians(second[1] - first[1]) / 2
    haversine = math.sin(half_height) ** 2 + math.cos(latitude) * math.cos(other) * math.sin(half_width) ** 2
    return 2 * _EARTH_RADIUS * math.asin(min(1.0, math.sqrt(haversine)))


def _coordinates(id_: object, place: tuple[float, float]) -> tuple[float, float]:
    try:
        latitude, longitude = map(float, place)
    except (TypeError, ValueError):
        latitude = longitude = math.nan
    if not is_on_earth(latitude, longitude):
        summary = f"nearest: expected (latitude, longitude) in degrees but the place {id_!r} is at {place!r}"
        raise InvalidRule(refusal(summary, [("fix", "latitudes run from -90 to 90, longitudes from -180 to 180")]))
    return latitude, longitude
