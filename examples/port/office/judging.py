"""A pack at work in this process, for the feeds that judge: a reading goes in, and what it changes comes out.

Which rows a verdict reads is as `observations.links` says: her berth's, and those nearest to it, or to her.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

from cartesius import Engine, Update
from examples.port.geography import distance_km
from examples.port.office.records import GONE, KEYS, Change, Seen, change_of
from examples.port.places import AIRPORTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsl import RulePack
    from examples.port.input_files import Values
    from examples.port.inputs import Day, Reading
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


class Judging:
    """A pack, and the readings that have been used.

    Args:
        pack: The rules.
        links: Which rows a verdict reads.
    """

    def __init__(self, pack: RulePack, links: Links) -> None:
        self._pack = pack
        self._engine, self._inputs = Engine(pack.table()), pack.sources
        self._used = Used(links)

    def use(self, reading: Reading) -> list[Change]:
        """Use a reading, and return the verdicts that it changes, in order."""
        self._used.add([reading])
        if reading.source not in self._inputs:
            return []
        found = []
        for event in self._engine.push(self._inputs[reading.source], reading.values, at=reading.time):
            time, mmsi = int(event.end), int(event.value.key)
            if isinstance(event.value, Update):
                verdict = event.value.value
                found.append(change_of(time, self._used.name(mmsi, time), verdict, self._used.read(mmsi, time)))
            else:
                found.append(Change(time, mmsi, self._used.name(mmsi, time), GONE, pack=self._pack.version))
        return found


class Used:
    """The readings that have been used, to say which of them a verdict read: of one instant, the last that there is.

    Args:
        links: Which rows a verdict reads.
    """

    def __init__(self, links: Links) -> None:
        self._links = links
        self._times: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        self._ships: defaultdict[int, list[Values]] = defaultdict(list)

    def add(self, readings: Iterable[Reading]) -> None:
        """Take note of readings, in order of time."""
        for each in readings:
            self._times[each.source, str(each.values[KEYS[each.source]])].append(each.time or 0)
            if each.source == "vessel":
                self._ships[each.values["mmsi"]].append(each.values)

    def name(self, mmsi: int, time: int) -> str:
        """Return what a ship was called at a time."""
        return str(self._report(mmsi, time)["name"])

    def read(self, mmsi: int, time: int) -> dict[str, tuple[str, int]]:
        """Return, by source, the key of the row that a ship's verdict read at a time, and that row's time."""
        found = {}
        for source, key in {"vessel": str(mmsi), **self._links.keys(self._report(mmsi, time))}.items():
            times = self._times.get((source, key), [])
            if place := bisect_right(times, time):
                found[source] = key, times[place - 1]
        return found

    def _report(self, mmsi: int, time: int) -> Values:
        return self._ships[mmsi][max(0, bisect_right(self._times["vessel", str(mmsi)], time) - 1)]


def seen_of(reading: Reading) -> Seen:
    """Return a reading as the store keeps it."""
    return Seen(reading.source, str(reading.values[KEYS[reading.source]]), reading.time or 0, reading.values)
