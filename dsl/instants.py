"""Instants as whole microseconds since the epoch, UTC, as everywhere in this library.

A row may also give a datetime with a time zone. The difference of two instants is a time; an instant and a time give
an instant. Rules with durations in them need an engine whose time unit is the microsecond, the default.

Source: DESIGN.md, section 3 (events and time).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from cartesius.errors import InvalidArgument
from dsl.dimensions import Dimension, Measure, Part

if TYPE_CHECKING:
    from collections.abc import Callable

MICROSECONDS: Final = Measure((Part('units.unit("microsecond")', "µs", 1),), Dimension.of(time=1), Fraction(1, 10**6))
"""The measure of a difference of instants."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def microseconds(value: Any, label: str) -> int | None:
    """Return an instant, as a row gives it, in microseconds; None as it is.

    >>> microseconds(datetime(1970, 1, 1, 0, 1, tzinfo=UTC), "vessel.eta"), microseconds(7, "vessel.eta")
    (60000000, 7)

    Args:
        value: A whole number of microseconds, a datetime with a time zone, or None.
        label: What it is called in messages.

    Raises:
        InvalidArgument: It is none of these.
    """
    if type(value) is int or value is None:
        return value  # type: ignore[no-any-return]
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH) // _MICROSECOND
    if isinstance(value, float) and (value != value or value.is_integer()):  # noqa: PLR0124 - NaN
        return int(value) if value.is_integer() else None
    message = (
        f"{label}: expected an instant, a whole number of microseconds since the epoch or a datetime with a time zone,"
        f" but got {value!r} (type={type(value).__name__})"
    )
    raise InvalidArgument(message)


def moving(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return ``function`` of an instant and a time with its result, an instant, whole again.

    >>> moving(lambda instant, time: instant + time)(7, 2.4)
    9
    """

    def move(first: Any, second: Any) -> Any:
        moved = function(first, second)
        return moved if type(moved) is int or not isfinite(moved) else round(moved)

    return move
