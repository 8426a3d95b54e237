"""Positions on a sphere, as columns: which of some places is closest to each.

Invariant: where rounding could change the answer, it is the given function's.

Source: R. W. Sinnott, Virtues of the Haversine, 1984.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from cartesius.columnar.vectors import Leaf, Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cartesius.columnar.vectors import Vector

_DOUBT: Final = 1e-9
"""Haversines that differ by less, relative to them and to their roots, do not say which distance is smaller."""


def closest_places(
    places: Sequence[tuple[Any, float, float]], positions: Vector, one_by_one: Callable[[Any], Any]
) -> Leaf | None:
    """Return the ids of the places that are closest to positions; None if those are no pairs of numbers.

    Args:
        places: Id, latitude and longitude of each, in degrees; at least one.
        positions: Latitudes and longitudes, in degrees.
        one_by_one: Gives the id for one position, also where places are equally close.
    """
    items = positions.items if isinstance(positions, Struct) and positions.valid is None else ()
    columns = [_radians(item) for item in items]
    if len(columns) != 2 or columns[0] is None or columns[1] is None:
        return None
    haversines = np.array([_haversines(columns[0], columns[1], place) for place in places])
    closest = haversines.argmin(axis=0)
    if len(places) > 1:
        first, second = np.partition(haversines, 1, axis=0)[:2]
        doubtful = np.flatnonzero(~(second - first > _DOUBT * (second + np.sqrt(second))))
        number = {id_: place for place, (id_, _, _) in enumerate(places)}
        closest[doubtful] = [number[one_by_one(position)] for position in positions.take(doubtful).to_list()]
    return Leaf(pa.array([id_ for id_, _, _ in places]).take(pa.array(closest)))


def _radians(item: Vector) -> NDArray[np.float64] | None:
    if not isinstance(item, Leaf) or item.kind or not item.is_number or item.valid is not None:
        return None
    return np.radians(item.numbers.astype(np.float64))


def _haversines(
    latitude: NDArray[np.float64], longitude: NDArray[np.float64], place: tuple[Any, float, float]
) -> NDArray[np.float64]:
    """Return sin² of half the angle between positions, in radians, and a place: it grows with the distance."""
    other, meridian = np.radians(place[1]), np.radians(place[2])
    height, width = np.sin((other - latitude) / 2), np.sin((meridian - longitude) / 2)
    found: NDArray[np.float64] = height**2 + np.cos(latitude) * np.cos(other) * width**2
    return found
