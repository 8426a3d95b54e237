"""Predictions between their times: the less favourable of the two neighbours counts.

A table of predictions has a value every six minutes, and says nothing of the time between. Where a limit is a matter of
safety, nobody may count on water that is yet to come: from one prediction until just before the next, the water is as
low, and as high, as either of them, the stream and the wind are as strong, the sight is as short, and the stream runs
in both directions. What is missing in one of the two is missing.

Source: RULES.md, "What is read".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from examples.port.input_files import Values


def _tide(row: Values, following: Values) -> Values:
    return {
        "height": _worse(min, row["height"], following["height"]),
        "highest": _worse(max, row["highest"], following["highest"]),
    }


def _stream(row: Values, following: Values) -> Values:
    return {"rate": _worse(max, row["rate"], following["rate"]), "next_direction": following["direction"]}


def _wind(row: Values, following: Values) -> Values:
    # A report without a gust had none to speak of: there the wind itself is the strongest.
    gusts = [each["velocity"] if each["gust"] is None else each["gust"] for each in (row, following)]
    return {
        "velocity": _worse(max, row["velocity"], following["velocity"]),
        "gust": _worse(max, *gusts),
        "visibility": _worse(min, row["visibility"], following["visibility"]),
    }


def _worse(choose: Callable[[float, float], float], first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else choose(first, second)


_BETWEEN: Final = {"tide": _tide, "stream": _stream, "wind": _wind}


def until_next(source: str, row: Values, following: Values) -> Values:
    """Return what counts from a prediction until just before the next one.

    >>> until_next("tide", {"height": 0.494, "highest": 0.494}, {"height": 0.511, "highest": 0.511})
    {'height': 0.494, 'highest': 0.511}

    Args:
        source: tide, stream or wind.
        row: The prediction.
        following: The next prediction of the same gauge, station or airport.
    """
    return {**row, **_BETWEEN[source](row, following)}
