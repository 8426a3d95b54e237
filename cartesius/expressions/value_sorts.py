"""Sorts of values: which types may stand in a field that was declared as numbers, texts, truth values or instants.

Of positions, which are pairs of numbers: which there are on Earth.

Invariant: a value is of one sort at most, but for ints, which may be instants.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

ValueSort: TypeAlias = Literal["number", "text", "truth", "instant"]
"""Of what sort the values of a field are."""
PLAIN: Final[Mapping[ValueSort, frozenset[type]]] = {
    "number": frozenset({int, float}),
    "text": frozenset({str}),
    "truth": frozenset({bool}),
    "instant": frozenset({int, datetime}),
}
"""The types of most values of a sort."""
POLE: Final = 90
DATE_LINE: Final = 180
"""The greatest latitude and longitude there are, in degrees."""
CALLED: Final = {"number": "a number", "text": "a text", "truth": "true or false", "instant": "an instant"}
"""What one value of a sort is called."""


def is_of_sort(value: Any, sort: ValueSort) -> bool:
    """Whether a value is of a sort; what is true or false is no number.

    >>> is_of_sort(3, "number"), is_of_sort("no", "truth"), is_of_sort(1.5, "number")
    (True, False, True)
    """
    if type(value) in PLAIN[sort]:
        return True
    is_truth = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    match sort:
        case "truth":
            return is_truth
        case "text":
            return isinstance(value, str)
        case "instant" if isinstance(value, datetime):
            return True
    return isinstance(value, Real | Decimal) and not is_truth


def is_on_earth(latitude: float, longitude: float) -> bool:
    """Whether there is a place of that latitude and longitude.

    >>> is_on_earth(51.9, 4.5), is_on_earth(91.0, 181.0)
    (True, False)
    """
    return abs(latitude) <= POLE and abs(longitude) <= DATE_LINE


def position_of(value: Any) -> Any:
    """Return a position; missing if a coordinate is, or is no number, or none on Earth: AIS has (91, 181) for none.

    >>> position_of((51.9, 4.5)), position_of((51.9, None)), position_of((91.0, 181.0))
    ((51.9, 4.5), None, None)
    """
    latitude, longitude = value
    return None if latitude is None or longitude is None or not is_on_earth(latitude, longitude) else value
