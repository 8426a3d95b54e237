"""Positions on a sphere, as columns: which of some places is closest to each.

Invariant: where rounding could change the answer, it is the given function's.

Source: R. W. Sinnott, Virtues of the Haversine, 1984; a haversine is the square of half the chord.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.vectors import TUPLE, Leaf, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Vector

_DOUBT: Final = 1e-9
"""Squares of chords that differ by less, relative to them and to their roots, do not say which distance is smaller."""


def closest_places(
    places: Sequence[tuple[Any, float, float]], positions: Vector, one_by_one: Callable[[Any], Any]
) -> Leaf | None:
    """Return the ids of the places that are closest to positions; None if those are no pairs of numbers.

    Args:
        places: Id, latitude and longitude of each, in degrees; at least one.
        positions: Latitudes and longitudes, in degrees.
        one_by_one: Gives the id for one position, also where places are equally close.
    """
    if not isinstance(positions, Struct) or positions.kind != TUPLE or positions.valid is not None:
        return None
    columns = [_radians(item) for item in positions.items]
    if len(columns) != 2 or columns[0] is None or columns[1] is None:
        return None
    points = _points(columns[0], columns[1])
    closest = np.zeros(len(positions), np.int64)
    first, second = np.full((2, len(positions)), np.inf)
    for number, (_, latitude, longitude) in enumerate(places):
        place = _points(np.radians(float(latitude)), np.radians(float(longitude)))
        chords = sum((mine - its) ** 2 for mine, its in zip(points, place, strict=True))
        second = np.minimum(second, np.maximum(first, chords))
        closest[chords < first] = number
        first = np.minimum(first, chords)
    is_sure = np.isfinite(first) & (np.abs(columns[0]) <= np.pi / 2)  # else the function may raise
    if len(places) > 1:
        is_sure &= second - first > _DOUBT * (second + np.sqrt(second))
    if len(doubtful := np.flatnonzero(~is_sure)):
        number_of = {id_: place for place, (id_, _, _) in enumerate(places)}
        closest[doubtful] = [number_of[one_by_one(position)] for position in positions.take(doubtful).to_list()]
    return Leaf(pa.array([id_ for id_, _, _ in places]).take(pa.array(closest)))


def _radians(item: Vector) -> NDArray[np.float64] | None:
    if not isinstance(item, Leaf) or item.kind or not item.is_number or item.valid is not None:
        return None
    return np.radians(item.numbers.astype(np.float64))


def _points(latitude: Any, longitude: Any) -> tuple[Any, Any, Any]:
    """Return where positions, in radians, are on the unit sphere; the squares of chords grow with the distance."""
    with np.errstate(invalid="ignore"):  # of infinite ones, which are nowhere
        width = np.cos(latitude)
        return width * np.cos(longitude), width * np.sin(longitude), np.sin(latitude)
