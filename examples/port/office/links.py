"""Which rows a ship's verdict reads, as `observations.links` says: her berth's, and those nearest to it, or to her."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.port.geography import distance_km
from examples.port.places import AIRPORTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from examples.port.input_files import Values
    from examples.port.inputs import Day
    from examples.port.places import Position


class Links:
    """The keys of rows.

    Args:
        day: The berths, and where gauges and stations are.
    """

    def __init__(self, day: Day) -> None:
        self._berths = {each.values["id"]: each.values["position"] for each in day.readings if each.source == "berth"}
        self._gauges = day.gauges
        self._places = {"stream": day.stations, "wind": AIRPORTS}

    def keys(self, ship: Values) -> dict[str, str]:
        """Return the keys of the rows that count for a ship, by source, as far as there are some."""
        keys = {}
        if ship["destination"] in self._berths:
            keys["berth"] = str(ship["destination"])
            if (berth := self._berths[keys["berth"]]) is not None:
                keys["tide"] = _nearest(self._gauges, berth)
        if ship["position"] is not None:
            keys |= {source: _nearest(places, ship["position"]) for source, places in self._places.items()}
        return keys


def _nearest(places: Mapping[str, Position], here: Position) -> str:
    return min(places, key=lambda id_: (distance_km(here, places[id_]), id_))
