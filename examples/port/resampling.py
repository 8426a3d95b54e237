"""Many days made of the day: ships, tides, streams, winds and berths drawn anew for each, by a seed, day by day.

How a day is made, so that its counts differ from those of any other:

- *calls*: their number is drawn (Poisson). Each is a ship of the day, of a fleet that has every ship several times,
  drawn without repetition; her reports of the hour are sent from a second of the day on that is drawn. Then, after a
  stay that is drawn, she leaves: a last report, bound elsewhere.
- *berths*: a ship at a berth, or bound for one, gets a berth that is drawn, and all her positions move by as much as
  the one berth is from the other.
- *tides and streams*: those predicted for a day that is drawn, of the six that the files have; a surge of the day,
  drawn (normal, standard deviation 0.15 m), is added to all heights. So there is a step at midnight.
- *winds*: those observed on a day that is drawn, of the ten that the file has.

It is no forecast of anything: it has the shapes of the day, and as many rows as are wanted.

Invariant: a day depends on the seed and its number alone; nothing but one day is held at a time.

Source: B. Efron, "Bootstrap methods", Annals of Statistics 7 (1979), doi:10.1214/aos/1176344552.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from examples.port.history import history_tables
from examples.port.inputs import SOURCES, read_day

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from examples.port.inputs import Day

TIDE_DAYS: Final = tuple(date(*each) for each in [(2020, 6, 29), (2020, 6, 30), (2020, 7, 1), (2022, 1, 2),
                                                  (2022, 1, 3), (2022, 1, 4)])  # fmt: skip
"""The days of which the files have tides and streams."""
FIRST: Final = date(2021, 1, 1)
"""The first day that is made."""
_DAY_US: Final = 86_400_000_000
_SECOND: Final = 1_000_000
_LAST_START: Final = 82_000
"""The last second of a day at which a call begins: her hour ends on it."""
_STAY: Final = 6.0 * 3600
"""How long a ship stays after her hour, on average, in seconds (exponential)."""
_SURGE: Final = 0.15
_COPY: Final = 1_000_000_000
"""What is added to an MMSI for each copy of a ship: such a number is nobody's."""


class Resampled:
    """Days made of the days in the data.

    Args:
        data: The folder with the five input files.
        seed: Of all that is drawn.
        reports: How many reports of ships a day has, on average.
    """

    def __init__(self, data: Path, seed: int, reports: int) -> None:
        """Read the data."""
        day = read_day(data)
        self.seed = seed
        self.ships = _Ships(day)
        self.number = reports / (self.ships.sizes.mean() + 1)  # calls a day; each has a last report as well
        self.copies = int(self.number + 8 * self.number**0.5) // len(self.ships.sizes) + 1
        self.tides = [_read(data, ("tide", "stream"), day=each) for each in TIDE_DAYS]
        winds = sorted({each[:10] for each in _first_column(data / "wind_2013_selected_days.csv")})
        self.winds = [_read(data, ("wind",), wind_day=date.fromisoformat(each)) for each in winds]
        self.berths = _of_day(day, ("berth",))

    def day(self, number: int) -> dict[str, pa.Table]:
        """Return a day, a table for each source, as `dsl.histories` reads them.

        Args:
            number: Which one, from 0.
        """
        draw = np.random.default_rng([self.seed, number])
        start = (datetime.combine(FIRST, datetime.min.time(), UTC) + timedelta(days=number)).timestamp()
        found = dict(self.berths)
        found |= self.tides[draw.integers(len(self.tides))]
        found |= self.winds[draw.integers(len(self.winds))]
        found["tide"] = _risen(found["tide"], float(draw.normal(0.0, _SURGE)))
        calls = min(int(draw.poisson(self.number)), self.copies * len(self.ships.sizes))
        found["vessel"] = self.ships.calls(draw, calls, self.copies)
        return {source: _at(found[source], int(start) * _SECOND) for source in SOURCES}


def write_days(made: Resampled, days: int, folder: Path, progress: Callable[[int, int], object]) -> int:
    """Write days as a history, a file a source and day; return how many reports of ships they have.

    Args:
        made: What makes them.
        days: How many.
        folder: An empty folder, or none.
        progress: Called with the number of days and reports written.
    """
    reports = 0
    for source in SOURCES:
        (folder / f"{source}.parquet").mkdir(parents=True, exist_ok=True)
    for number in range(days):
        for source, table in made.day(number).items():
            pq.write_table(table, folder / f"{source}.parquet" / f"day-{number + 1:04}.parquet", compression="zstd")
            reports += table.num_rows if source == "vessel" else 0
        progress(number + 1, reports)
    return reports


class _Ships:
    """The reports of the day, ship by ship: what is drawn from."""

    def __init__(self, day: Day) -> None:
        table = history_tables(day)["vessel"]
        times = table.column("time").cast(pa.int64()).to_numpy() - day.start
        table = table.drop_columns(["time"]).append_column("since", pa.array(times))
        self.table = table.sort_by([("mmsi", "ascending"), ("since", "ascending")]).combine_chunks()
        self.since = self.table.column("since").to_numpy()
        mmsi = self.table.column("mmsi").to_numpy()
        self.firsts = np.flatnonzero(np.append(True, np.diff(mmsi) != 0))
        self.sizes = np.diff(np.append(self.firsts, len(mmsi)))
        places = {
            reading.values["id"]: reading.values["position"] for reading in day.readings if reading.source == "berth"
        }
        self.berths = list(places)
        self.places = np.array([places[each] for each in self.berths])
        positions = self.table.column("position").to_pylist()
        self.positions = np.array([each or (np.nan, np.nan) for each in positions])
        bound = pc.index_in(self.table.column("destination"), pa.array(self.berths))
        self.bound = pc.fill_null(bound, -1).to_numpy()

    def calls(self, draw: np.random.Generator, number: int, copies: int) -> pa.Table:
        """Return the reports of so many calls, by time since midnight."""
        fleet = draw.choice(len(self.sizes) * copies, number, replace=False)
        ships, copy = fleet % len(self.sizes), fleet // len(self.sizes)
        begins = draw.integers(0, _LAST_START, number) * _SECOND
        leaves = begins + 3600 * _SECOND + (draw.exponential(_STAY, number) * _SECOND).astype(np.int64)
        berths = draw.integers(0, len(self.berths), number)
        call = np.repeat(np.arange(number), self.sizes[ships])
        within = np.arange(len(call)) - np.repeat(np.cumsum(self.sizes[ships]) - self.sizes[ships], self.sizes[ships])
        rows = self.firsts[ships][call] + within
        last = self.firsts[ships] + self.sizes[ships] - 1
        leaving = leaves < _DAY_US
        rows, call = np.append(rows, last[leaving]), np.append(call, np.arange(number)[leaving])
        is_last = np.append(np.zeros(len(within), bool), np.ones(int(leaving.sum()), bool))
        times = np.where(is_last, leaves[call], begins[call] + self.since[rows])
        order = np.lexsort((call, times))
        rows, call, is_last, times = rows[order], call[order], is_last[order], times[order]
        return self._reports(rows, call, is_last, times, copy, berths)

    def _reports(
        self,
        rows: NDArray[np.int64],
        call: NDArray[np.int64],
        is_last: NDArray[np.bool_],
        times: NDArray[np.int64],
        copy: NDArray[np.int64],
        berths: NDArray[np.int64],
    ) -> pa.Table:
        table = self.table.take(pa.array(rows)).drop_columns(["since"])
        at_berth = self.bound[rows] >= 0
        # Of one call every berth is moved to the one drawn: by as much as that is from the berth of the report.
        moved = np.where(at_berth[:, None], self.places[berths[call]] - self.places[self.bound[rows]], 0.0)
        positions = self.positions[rows] + moved
        unknown = np.isnan(positions).any(axis=1)
        offsets = np.append(0, np.cumsum(np.where(unknown, 0, 2)))
        pairs = pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), pa.array(positions[~unknown].ravel()), mask=pa.array(unknown)
        )
        drawn = pa.array(self.berths).take(pa.array(berths[call]))
        destination = pc.if_else(pa.array(at_berth), drawn, table.column("destination").combine_chunks())
        leaving = pa.array(is_last)
        new = {
            "mmsi": pc.add(table.column("mmsi"), pa.array(copy[call] * _COPY)),
            "position": pairs,
            "destination": pc.if_else(leaving, pa.scalar("elsewhere"), destination),
            "direction": pc.if_else(leaving, pa.scalar("outbound"), table.column("direction").combine_chunks()),
        }
        columns: dict[str, Any] = {"time": pa.array(times)}
        columns |= {name: new.get(name, table.column(name)) for name in table.column_names}
        return pa.table(columns)


def _read(data: Path, sources: tuple[str, ...], **which: date) -> dict[str, pa.Table]:
    return _of_day(read_day(data, sources=sources, **which), sources)


def _of_day(day: Day, sources: tuple[str, ...]) -> dict[str, pa.Table]:
    """Return the tables of some sources, by time since midnight."""
    tables = history_tables(day)
    return {
        source: tables[source].set_column(
            0, "time", pc.subtract(tables[source].column("time").cast(pa.int64()), pa.scalar(day.start))
        )
        for source in sources
    }


def _at(table: pa.Table, start: int) -> pa.Table:
    times = pc.add(table.column("time"), pa.scalar(start)).cast(pa.timestamp("us", "UTC"))
    return table.set_column(0, "time", times)


def _risen(table: pa.Table, metres: float) -> pa.Table:
    for name in ("height", "highest", "low_water"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pc.add(table.column(name), pa.scalar(metres)))
    return table


def _first_column(path: Path) -> list[str]:
    return [line.partition(",")[0] for line in path.read_text(encoding="utf-8").splitlines()[1:]]
