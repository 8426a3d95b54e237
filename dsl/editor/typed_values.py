"""Typed values: what people type for the fields of an example situation, as values of their kinds."""

from __future__ import annotations

import re
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from cartesius.errors import InvalidArgument
from cartesius.expressions.value_sorts import is_on_earth
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TRUTH, Choice, Measure
from dsl.terms.instants import instant_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsl.terms.dimensions import Kind

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def row(name: str, kinds: Mapping[str, Kind], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a source of what was typed for its fields.

    Raises:
        InvalidArgument: As for `value`.
    """
    texts = {field: str(given) for field, given in typed.items() if field in kinds}
    return {field: value(f"{name} {field}".replace("_", " "), kinds[field], given) for field, given in texts.items()}


def value(label: str, kind: Kind, typed: str) -> Any:
    """Return a value of what was typed for it; None: nothing was.

    >>> from dsl.terms.dimensions import TRUTH
    >>> value("the pilot", TRUTH, "yes"), value("the pilot", TRUTH, "")
    (True, None)

    Args:
        label: What it is called, for messages.
        kind: The kind that it must be of.
        typed: What was typed.

    Raises:
        InvalidArgument: It is none of that kind.
    """
    typed = typed.strip()
    if not typed:
        return None
    try:
        return _typed(kind, typed)
    except ValueError:
        message = f"the example situation: {label}: {_needed(kind)}, but got {typed!r}"
        raise InvalidArgument(message) from None


def _needed(kind: Kind) -> str:
    if isinstance(kind, Measure):
        return "a number is needed, such as 15"
    if isinstance(kind, Choice):
        return f"one of {', '.join(kind.members)} is needed"
    return {
        POSITION: "a position is needed, latitude up to 90 and longitude up to 180, such as 51.95, 4.14",
        TRUTH: "yes or no is needed",
        INSTANT: "a time with its zone is needed, such as 2026-05-01 14:30Z",
    }[kind]


def _typed(kind: Kind, typed: str) -> Any:
    if isinstance(kind, Measure):
        if not _NUMBER.fullmatch(typed):  # `float` also takes nan, infinity, 1_000
            raise ValueError(typed)
        if kind == NUMBER and typed.lstrip("-").isdigit():
            return int(typed)
        if not isfinite(float(typed)):
            raise ValueError(typed)
        return float(typed)
    if kind == TRUTH:
        return bool(("no", "yes").index(typed))
    if kind == INSTANT:
        instant = instant_of(datetime.fromisoformat(typed))
        if instant is None:
            raise ValueError(typed)
        return instant
    if kind == POSITION:
        latitude, longitude = map(float, typed.split(","))
        if not is_on_earth(latitude, longitude):
            raise ValueError(typed)
        return latitude, longitude
    if isinstance(kind, Choice) and typed not in kind.members:
        raise ValueError(typed)
    return typed
