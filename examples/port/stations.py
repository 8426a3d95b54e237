"""Stations that send AIS messages: the newest that each has said of itself, and whether she is Rotterdam's.

A message says part of what is known of a ship: where she is, or what she is and where she is bound for. So a reading is
the ship as she stands after a message, her newest static and dynamic data together. Destinations are typed by hand;
`destination` reads them.

Invariant: readings are in order of (time of receipt, line), so an older message never takes a newer one's place.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from examples.port.cells import microseconds, moment
from examples.port.derive import ELSEWHERE, called, vessel_type
from examples.port.geography import distance_km
from examples.port.inputs import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from examples.port.input_files import Values
    from examples.port.nmea import Message
    from examples.port.places import Position

_LYING_KN, _AT_BASIN_KM = 0.5, 4.0
_CLOSE: Final = 0.84  # one slip in eight letters
_FROM_TO: Final = re.compile(r"=?-*>+|<+>|/|=")


def destination(typed: str | None, names: Mapping[str, str]) -> str | None:
    """Return the place that a destination means, as it was typed by hand; None if it means none of them.

    Of "from > to" the last counts; blanks and points do not; a slip of the finger is forgiven.

    >>> names = {"ROTTERDAM": "rotterdam", "RTM": "rotterdam", "NLRTM": "rotterdam", "EUROPOORT": "europoort"}
    >>> [destination(typed, names) for typed in ("NL RTM", "ANTWERP>ROTTERDAM", "Roterdam", "EUROPOORT 8E PET")]
    ['rotterdam', 'rotterdam', 'rotterdam', 'europoort']
    >>> [destination(typed, names) for typed in ("ROTTERDAM>EEMSHAVEN", "NEW AMSTERDAM", "", None)]
    [None, None, None, None]

    Args:
        typed: What the crew typed, at most twenty characters.
        names: Spellings in capital letters and figures alone, and the place that each means.
    """
    last = _FROM_TO.split((typed or "").upper())[-1]
    words = re.findall(r"[A-Z0-9]+", last.replace("'", ""))
    if not words:
        return None
    together = "".join(words)
    for spelling in (together, *words):
        if spelling in names:
            return names[spelling]
    found = [place for spelling, place in names.items() if len(spelling) >= 5 and together.startswith(spelling)]
    close = get_close_matches(together, [spelling for spelling in names if len(spelling) >= 7], n=1, cutoff=_CLOSE)
    return found[0] if found else names[close[0]] if close else None


def arrival(said: tuple[int, int, int, int] | None, near: int) -> int | None:
    """Return an estimated time of arrival in microseconds since the epoch; AIS says no year: it is the nearest one.

    >>> moment(arrival((1, 2, 6, 30), microseconds(datetime(2010, 12, 30, tzinfo=UTC)))).isoformat()
    '2011-01-02T06:30:00+00:00'
    >>> arrival((0, 0, 24, 60), 0), arrival((2, 30, 6, 0), 0)
    (None, None)

    Args:
        said: Month, day, hour, minute (UTC); 0, 0, 24 and 60 are "not available", for the time of day as for the date.
        near: The time to be near to, in microseconds since the epoch.
    """
    if said is None:
        return None
    month, day, hour, minute = said
    year = moment(near).year
    found = []
    for each in (year - 1, year, year + 1):
        try:
            found.append(microseconds(datetime(each, month, day, hour, minute, tzinfo=UTC)))
        except ValueError:  # no such date, or not available
            continue
    return min(found, key=lambda time: (abs(time - near), time), default=None)


def ship_readings(
    messages: Iterable[Message], names: Mapping[str, str], basins: Mapping[str, Position]
) -> list[Reading]:
    """Return what each ship is after each of her messages, in order.

    Args:
        messages: In any order.
        names: How destinations are spelled, as `destination` wants them.
        basins: Where the basins are.
    """
    known: dict[int, dict[str, Any]] = {}
    readings = []
    for message in sorted(messages, key=lambda each: (each.time, each.line)):
        ship = known.setdefault(message.mmsi, {})
        ship.update(message.values)
        readings.append(Reading("vessel", message.time, message.line, _row(message, ship, names, basins)))
    return readings


def _row(message: Message, ship: Mapping[str, Any], names: Mapping[str, str], basins: Mapping[str, Position]) -> Values:
    place, direction = _whereabouts(ship, names, basins)
    return {
        "mmsi": message.mmsi,
        "name": called(ship.get("name"), message.mmsi),
        "vessel_type": vessel_type(ship.get("ship_type")),
        "length": ship.get("length"),
        "beam": ship.get("beam"),
        "draught": ship.get("draught"),
        "speed": ship.get("speed"),
        "position": ship.get("position"),
        "destination": place,
        "direction": direction,
        "bound_for": ship.get("bound_for"),
        "eta": arrival(ship.get("eta"), message.time),
    }


def _whereabouts(
    ship: Mapping[str, Any], names: Mapping[str, str], basins: Mapping[str, Position]
) -> tuple[str | None, str | None]:
    """Where she lies or is bound for, and her direction; None: under way in the port, and nobody said where to."""
    position, speed, typed = ship.get("position"), ship.get("speed"), ship.get("bound_for")
    bound = destination(typed, names)
    if position is not None:
        basin = min(basins, key=lambda id_: (distance_km(position, basins[id_]), id_))
        if distance_km(position, basins[basin]) <= _AT_BASIN_KM:
            if speed is not None and speed < _LYING_KN:
                return basin, "moored"
            if typed is None:
                return None, None
    return (ELSEWHERE, "outbound") if bound is None else (bound, "inbound")
