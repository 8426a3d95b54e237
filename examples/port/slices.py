"""The readings of a day as files that a stream replays: one a source and slice of event time, in Parquet.

A file stream takes one file a micro-batch, in order of modification time; every source has a file for every slice, also
an empty one, so that one micro-batch takes the same slice of every source.
"""

from __future__ import annotations

import os
from math import isfinite
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from examples.port.dead_letters import reason

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from examples.port.inputs import Day, Reading

_TEXT, _WHOLE, _NUMBER, _PAIR = pa.string(), pa.int64(), pa.float64(), pa.list_(pa.float64())
_SPARK_TYPES: Final = {_TEXT: "string", _WHOLE: "bigint", _NUMBER: "double", _PAIR: "array<double>"}
_WORDS: Final = {_TEXT: "a text", _WHOLE: "a whole number", _NUMBER: "a number", _PAIR: "two numbers"}
FIELDS: Final = {
    "berth": {"id": _TEXT, "depth": _NUMBER, "position": _PAIR},
    "tide": {"sensor": _TEXT, "height": _NUMBER, "highest": _NUMBER, "low_water": _NUMBER},
    "stream": {"station": _TEXT, "rate": _NUMBER, "direction": _NUMBER, "next_direction": _NUMBER},
    "wind": {"station": _TEXT, "velocity": _NUMBER, "direction": _NUMBER, "gust": _NUMBER, "visibility": _NUMBER},
    "vessel": {
        "mmsi": _WHOLE, "name": _TEXT, "vessel_type": _TEXT, "hazard": _TEXT, "length": _NUMBER, "beam": _NUMBER,
        "draught": _NUMBER,
        "speed": _NUMBER, "course": _NUMBER, "position": _PAIR, "destination": _TEXT, "direction": _TEXT,
    },
}  # fmt: skip
"""The columns of each source."""
TIME: Final = "at"
"""The column of the event time."""
PLACE: Final = "place"
"""The column of a reading's place in the order of the day."""
_START: Final = 1_600_000_000  # seconds since the epoch: any time in the past will do
_DAY_MINUTES: Final = 24 * 60


def number_of_slices(minutes: int) -> int:
    """Return how many slices of ``minutes`` a day has.

    >>> number_of_slices(60), number_of_slices(50)
    (24, 29)
    """
    return -(-_DAY_MINUTES // minutes)


def slice_of(day: Day, reading: Reading, minutes: int) -> int:
    """Return the number of the slice of event time that a reading is in; 0 if its time is none of the day's."""
    passed = 0 if reading.time is None else reading.time - day.start
    return passed // (minutes * 60_000_000) if 0 <= passed < _DAY_MINUTES * 60_000_000 else 0


def fields_of(source: str) -> tuple[str, ...]:
    """Return the names of a source's fields.

    >>> fields_of("tide")
    ('sensor', 'height', 'highest', 'low_water')
    """
    return tuple(FIELDS[source])


def misfit(source: str, row: object, key: str) -> str:
    """Return why a record is no row of a source, as the reason for a dead letter; empty if it is one.

    >>> misfit("tide", {"sensor": "8518750", "height": "high"}, "sensor")
    'height: expected a number but got high'

    Args:
        source: Which one.
        row: What came, of JSON.
        key: The field that the row must have.
    """
    if not isinstance(row, dict):
        return reason("record", "an object", row)
    if row.get(key) is None:
        return reason(key, "a key", "nothing")
    for name, kind in FIELDS[source].items():
        value = row.get(name)
        if value is not None and not _is_of(kind, value):
            return reason(name, _WORDS[kind], value)
    return ""


def _is_of(kind: pa.DataType, value: object) -> bool:
    if kind == _TEXT:
        return isinstance(value, str)
    if kind == _PAIR:
        return isinstance(value, list | tuple) and len(value) == 2 and all(_is_of(_NUMBER, each) for each in value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return is_number and (kind == _NUMBER or isinstance(value, int))


def spark_schema(source: str) -> str:
    """Return the columns of a source's files, as Spark writes them.

    >>> spark_schema("tide")
    '`sensor` string, `height` double, `highest` double, `low_water` double, `at` timestamp, `place` bigint'
    """
    fields = {
        **{name: _SPARK_TYPES[kind] for name, kind in FIELDS[source].items()},
        TIME: "timestamp",
        PLACE: "bigint",
    }
    return ", ".join(f"`{name}` {kind}" for name, kind in fields.items())


def write_slices(day: Day, source: str, minutes: int, folder: Path) -> None:
    """Write the readings of a source, untimely ones in the first slice, into ``folder``.

    Args:
        day: The readings.
        source: Which of them.
        minutes: The length of a slice.
        folder: An empty folder.
    """
    slices: list[list[tuple[int, Reading]]] = [[] for _ in range(number_of_slices(minutes))]
    for place, reading in enumerate((*day.readings, *day.untimely)):
        if reading.source == source:
            slices[slice_of(day, reading, minutes)].append((place, reading))
    folder.mkdir(parents=True)
    for number, readings in enumerate(slices):
        path = folder / f"slice-{number:05}.parquet"
        pq.write_table(_table(source, readings), path)
        os.utime(path, (_START + number, _START + number))


def _table(source: str, readings: Iterable[tuple[int, Reading]]) -> pa.Table:
    schema = pa.schema([*FIELDS[source].items(), (TIME, pa.timestamp("us", tz="UTC")), (PLACE, _WHOLE)])
    rows = [{**reading.values, TIME: reading.time, PLACE: place} for place, reading in readings]
    return pa.Table.from_pylist(rows, schema=schema)
