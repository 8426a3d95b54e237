"""The five input files: their names, their columns, and what is read from a row, in the units of the rules.

Source: RULES.md, "What is read".
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from examples.port.derive import available, called, hazard, vessel_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from examples.port.cells import Cells

Values: TypeAlias = dict[str, Any]
"""A row: bare values by field, in the declared units; None: missing."""

ONE_DAY: Final = timedelta(days=1)
"""How far from the day judged a report of a ship may be before it is a dead letter."""
_DECADE: Final = timedelta(days=3653)


@attrs.frozen
class InputFile:
    """A file: its name, the columns used, how a row is read, how far its other days may be, and its column of time."""

    name: str
    columns: tuple[str, ...]
    read: Callable[[Cells], Values]
    reach: timedelta = _DECADE
    time: str | None = "time_utc"


def _berth(cells: Cells) -> Values:
    return {
        "id": cells.key("id"),
        "depth": cells.number("depth_m", low=0, unit="m"),
        "position": cells.position("lat", "lon"),
    }


def _tide(cells: Cells) -> Values:
    height = cells.number("predicted_m_mllw")
    return {
        "sensor": cells.key("station_id"),
        "height": height,
        "highest": height,
        "low_water": None,
        "position": cells.position("lat", "lon"),
    }


def _stream(cells: Cells) -> Values:
    direction = cells.direction("toward_deg_true")
    return {
        "station": cells.key("station_id"),
        "rate": cells.number("speed_kn", low=0, unit="kn"),
        "direction": direction,
        "next_direction": direction,
        "position": cells.position("lat", "lon"),
    }


def _wind(cells: Cells) -> Values:
    return {
        "station": cells.key("station"),
        "velocity": cells.number("wind_kn", low=0, high=200, unit="kn"),
        "direction": cells.direction("wind_from_deg"),
        "gust": cells.number("gust_kn", low=0, high=200, unit="kn"),
        "visibility": cells.number("visibility_mi", low=0, unit="mi"),
    }


def _vessel(cells: Cells) -> Values:
    cells.key("mmsi")
    mmsi = cells.whole("mmsi", low=0)
    assert mmsi is not None
    report = {
        "mmsi": mmsi,
        "name": called(cells.text("name"), mmsi),
        "vessel_type": vessel_type(cells.whole("ship_type") or None),  # 0: not available
        "hazard": hazard(cells.whole("cargo")),
        "length": cells.number("length_m", low=0, unit="m"),
        "beam": cells.number("beam_m", low=0, unit="m"),
        "draught": cells.number("draught_m", low=0, unit="m"),
        "speed": cells.number("sog_kn", low=0, unit="kn"),
        "course": cells.direction("cog_deg"),
        "position": cells.reported("lat", "lon"),
        "nav_status": cells.whole("nav_status"),
    }
    return available(report)


_AIS_COLUMNS = (
    "mmsi", "lat", "lon", "sog_kn", "cog_deg", "name", "ship_type", "nav_status", "length_m", "beam_m", "draught_m",
    "cargo",
)  # fmt: skip
_WIND_COLUMNS = ("station", "wind_from_deg", "wind_kn", "gust_kn", "visibility_mi")
FILES: Final = {
    "berth": InputFile("berths.csv", ("id", "lat", "lon", "depth_m"), _berth, time=None),
    "tide": InputFile("tide_predicted_6min.csv.gz", ("station_id", "lat", "lon", "predicted_m_mllw"), _tide),
    "stream": InputFile(
        "current_predicted_6min.csv.gz", ("station_id", "lat", "lon", "speed_kn", "toward_deg_true"), _stream
    ),
    "wind": InputFile(
        "wind_2013_selected_days.csv", ("station", "wind_from_deg", "wind_kn", "gust_kn", "visibility_mi"), _wind
    ),
    "vessel": InputFile("ais_2020-06-30_00h.csv.gz", _AIS_COLUMNS, _vessel, reach=ONE_DAY),
}
"""The file of each source, in the order in which they are read."""
