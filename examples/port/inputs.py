"""The files of a day, read, checked and completed: a `Day` of readings, and the dead letters.

A reading is an update of one row of a source, in the units that `rules` declares, at a time. Whether a row can be used,
and what is made of it, is in `RULES.md`.

Invariant: readings are in order of (time, source, place in the file), sources in the order of `SOURCES`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

import attrs

from examples.port.cells import BadCell, Cells, microseconds
from examples.port.dead_letters import DeadLetter, reason
from examples.port.derive import whereabouts
from examples.port.input_files import FILES, ONE_DAY
from examples.port.places import GAUGES, STATIONS
from examples.port.samples import until_next
from examples.port.tables import UnusableFile, cut_off, read_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from examples.port.input_files import InputFile, Values
    from examples.port.places import Position
    from examples.port.tables import TableRow

SOURCES: Final = ("berth", "tide", "stream", "wind", "vessel")
"""The sources, in the order in which events of one time are used."""
DAY: Final = date(2020, 6, 30)
"""The day that is judged."""
WIND_DAY: Final = date(2013, 6, 30)
"""The day whose winds are used, with their clock shifted to the day that is judged."""
_PREDICTED: Final = {"tide": "sensor", "stream": "station"}
"""The sources that are predictions, each with its key."""


@attrs.frozen
class Reading:
    """An update of a row: of which source, when (microseconds since the epoch; None: not known), from which line."""

    source: str
    time: int | None
    line: int
    values: Values = attrs.field(hash=False)


@attrs.frozen
class Day:
    """What is known of a day.

    Args:
        day: Which one.
        readings: What can be used, in order.
        untimely: Readings that lack nothing but a time on the day: each is also a dead letter.
        dead: What cannot be used.
        damaged: What is wrong with files that end before their time: their rows are judged as far as they are good.
        berths: The ids of the berths, in the order of their file.
        gauges: Where the gauges are that berths are referred to.
        stations: Where the stations of the stream are.
    """

    day: date
    readings: tuple[Reading, ...]
    untimely: tuple[Reading, ...]
    dead: tuple[DeadLetter, ...]
    berths: tuple[str, ...]
    gauges: Mapping[str, Position]
    stations: Mapping[str, Position]
    damaged: tuple[str, ...] = ()

    @property
    def start(self) -> int:
        """Its first microsecond."""
        return microseconds(_midnight(self.day))


def read_day(folder: Path, *, day: date = DAY, wind_day: date = WIND_DAY, sources: Collection[str] = SOURCES) -> Day:
    """Read the files in ``folder``.

    Args:
        folder: Where the five files are.
        day: The day to judge.
        wind_day: The day whose winds are used.
        sources: Those that are wanted; the files of the others are not read. Without berths no ship is at one.

    Raises:
        UnusableFile: A file is missing, or a column of it, or there is no wind of that day; or a berth is not usable:
            a ship that lies there would be judged as one that lies nowhere.
    """
    dead: list[DeadLetter] = []
    found: dict[str, list[Reading]] = {source: [] for source in SOURCES}
    untimely: list[Reading] = []
    damaged: list[str] = []
    for source, file in FILES.items():
        if source not in sources:
            continue
        shift = _midnight(day) - _midnight(wind_day) if source == "wind" else timedelta()
        rows = _Rows(source, file, day, shift)
        rows.read(folder / file.name)
        found[source] = _between(rows.good, rows.end) if source in _PREDICTED else rows.good
        dead += rows.dead
        damaged += rows.damaged
        untimely += rows.untimely
        if source == "berth" and (rows.dead or not rows.good):
            why = f"in line {rows.dead[0].line}, {rows.dead[0].reason}" if rows.dead else "it has none"
            message = f"{folder / file.name}: expected berths at which ships can be judged but {why}; mend the file"
            raise UnusableFile(message)
        if source == "wind" and not rows.good and (rows.untimely or not rows.dead):
            message = f"{folder / file.name}: expected winds of {wind_day} but it has none; choose another --wind-day"
            raise UnusableFile(message)
    berths = {row.values["id"]: row.values["position"] for row in found["berth"]}
    places = {id_: place for id_, place in berths.items() if place is not None}
    gauges = {**GAUGES, **{id_: place for id_, place in _places(found["tide"]).items() if id_ in GAUGES}}
    stations = {**STATIONS, **_places(found["stream"])}
    low_water = _lowest(found["tide"])
    for reading in (*(each for readings in found.values() for each in readings), *untimely):
        _complete(reading, places, low_water)
    readings = [each for source in SOURCES for each in found[source]]
    readings.sort(key=lambda reading: reading.time or 0)  # stable: sources and lines are in order already
    return Day(day, tuple(readings), tuple(untimely), tuple(dead), tuple(berths), gauges, stations, tuple(damaged))


class _Rows:
    """The rows of one file, sorted into good, untimely and dead."""

    def __init__(self, source: str, file: InputFile, day: date, shift: timedelta) -> None:
        self.source, self.file, self.day = source, file, day
        self.shift = shift // timedelta(microseconds=1)
        self.start = microseconds(_midnight(day))
        self.end = self.start + ONE_DAY // timedelta(microseconds=1)
        self.good: list[Reading] = []
        self.untimely: list[Reading] = []
        self.dead: list[DeadLetter] = []
        self.damaged: list[str] = []

    def read(self, path: Path) -> None:
        """Read all that can be read."""
        time = () if self.file.time is None else (self.file.time,)
        table = read_table(path, (*time, *self.file.columns))
        for row in table.rows:
            try:
                self._read(row)
            except BadCell as error:
                self._bury(row.line, str(error), row.text)
        if table.damage is not None:
            self._bury(table.lines + 1, f"the rest is lost: {table.damage}", "")
            self.damaged.append(cut_off(path, table.damage, table.lines))

    def _read(self, row: TableRow) -> None:
        if row.problem is not None:
            raise BadCell(row.problem)
        cells = Cells(row.cells)
        try:
            time = self._time(cells)
        except _Untimely as error:
            self.untimely.append(Reading(self.source, error.time, row.line, self.file.read(cells)))
            raise
        if time is not None:
            self.good.append(Reading(self.source, time, row.line, self.file.read(cells)))

    def _time(self, cells: Cells) -> int | None:
        """Return the time on the day that is judged, for predictions up to midnight after it; None on another day."""
        column = self.file.time
        if column is None:
            return self.start
        try:
            time = cells.time(column) + self.shift
        except BadCell as error:
            raise _Untimely(str(error), None) from None
        if self.start <= time < self.end or (time == self.end and self.source in _PREDICTED):
            return time
        reach = self.file.reach // timedelta(microseconds=1)
        if not self.start - reach <= time < self.end + reach:
            near = "a day" if self.file.reach == ONE_DAY else "ten years"
            day = self.day if not self.shift else f"{_midnight(self.day) - timedelta(microseconds=self.shift):%Y-%m-%d}"
            raise _Untimely(reason(column, f"a time within {near} of {day}", cells.text(column)), time)
        return None

    def _bury(self, line: int, why: str, text: str) -> None:
        self.dead.append(DeadLetter(self.source, self.file.name, line, why, text))


class _Untimely(BadCell):
    """The time of a row is not known, or absurd."""

    def __init__(self, message: str, time: int | None) -> None:
        super().__init__(message)
        self.time = time


def _between(readings: list[Reading], end: int) -> list[Reading]:
    """Return the predictions before ``end``, each with what counts until the next one of its key."""
    latest: defaultdict[str, dict[int, Values]] = defaultdict(dict)
    for each in readings:
        latest[_key(each)][each.time or 0] = each.values
    times = {key: sorted(rows) for key, rows in latest.items()}
    found = []
    for each in readings:
        key, time = _key(each), each.time or 0
        place = bisect_right(times[key], time)
        if time >= end:
            continue
        if place < len(times[key]):
            following = latest[key][times[key][place]]
            found.append(attrs.evolve(each, values=until_next(each.source, each.values, following)))
        else:
            found.append(each)
    return found


def _key(reading: Reading) -> str:
    key: str = reading.values[_PREDICTED[reading.source]]
    return key


def _complete(reading: Reading, berths: Mapping[str, Position], low_water: Mapping[str, float]) -> None:
    """Add what is derived, and drop what was needed for it alone."""
    values = reading.values
    match reading.source:
        case "tide":
            del values["position"]
            values["low_water"] = low_water.get(values["sensor"])
        case "stream":
            del values["position"]
        case "vessel":
            values["destination"], values["direction"] = whereabouts(
                position=values["position"],
                nav_status=values.pop("nav_status"),
                speed=values["speed"],
                course=values["course"],
                length=values["length"],
                berths=berths,
            )


def _places(readings: list[Reading]) -> dict[str, Position]:
    """Where the gauges or stations are, as their file says last."""
    return {_key(each): each.values["position"] for each in readings if each.values["position"] is not None}


def _lowest(readings: list[Reading]) -> dict[str, float]:
    lowest: dict[str, float] = {}
    for values in (each.values for each in readings):
        sensor, height = values["sensor"], values["height"]
        if height is not None:
            lowest[sensor] = min(height, lowest.get(sensor, height))
    return lowest


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
