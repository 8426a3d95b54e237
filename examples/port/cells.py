"""Cells: texts of a file as values, or `BadCell` with the reason. A blank cell is None: a missing field."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

from examples.port.dead_letters import reason
from examples.port.geography import on_earth

_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class BadCell(ValueError):
    """A cell cannot be used; the message is the reason for a dead letter."""


class Cells:
    """The cells of one row, with a reader for each kind of value.

    >>> cells = Cells({"draught_m": "12.1", "name": " "})
    >>> cells.number("draught_m", low=0), cells.text("name")
    (12.1, None)
    >>> Cells({"draught_m": "-3"}).number("draught_m", low=0)
    Traceback (most recent call last):
        ...
    examples.port.cells.BadCell: draught_m: expected 0 or more but got -3
    """

    def __init__(self, cells: dict[str, str]) -> None:
        """Read from ``cells``, by column."""
        self._cells = cells

    def text(self, column: str) -> str | None:
        """Return the text, without blanks around it."""
        return self._cells[column].strip() or None

    def key(self, column: str) -> str:
        """Return the text, which must not be blank."""
        text = self.text(column)
        if text is None:
            raise BadCell(reason(column, "a key", "a blank"))
        return text

    def number(self, column: str, *, low: float = -math.inf, high: float = math.inf, unit: str = "") -> float | None:
        """Return the number, from ``low`` to ``high``."""
        text = self.text(column)
        if text is None:
            return None
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(value):
            raise BadCell(reason(column, "a number", text))
        if low <= value <= high:
            return value
        bounds = f"{low:g} or more" if high == math.inf else f"{low:g} to {high:g}"
        raise BadCell(reason(column, f"{bounds} {unit}".rstrip(), text))

    def whole(self, column: str, *, low: float = -math.inf) -> int | None:
        """Return the whole number, at least ``low``."""
        value = self.number(column, low=low)
        if value is not None and value != int(value):
            raise BadCell(reason(column, "a whole number", self.text(column)))
        return None if value is None else int(value)

    def position(self, latitude: str, longitude: str) -> tuple[float, float] | None:
        """Return the position, in degrees; None if a coordinate is blank."""
        north = self.number(latitude, low=-90, high=90, unit="degrees")
        east = self.number(longitude, low=-180, high=180, unit="degrees")
        return None if north is None or east is None else (north, east)

    def reported(self, latitude: str, longitude: str) -> tuple[float, float] | None:
        """Return the position that a ship reports, in degrees; None also where it is none, as 91 and 181."""
        return on_earth(self.number(latitude), self.number(longitude))

    def direction(self, column: str) -> float | None:
        """Return the direction, in degrees true."""
        return self.number(column, low=0, high=360, unit="degrees")

    def time(self, column: str) -> int:
        """Return the time, in microseconds since the epoch, UTC; one without a zone is taken as UTC."""
        text = self.text(column)
        if text is None:
            raise BadCell(reason(column, "a time", "a blank"))
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise BadCell(reason(column, "a time", text)) from None
        return microseconds(time if time.tzinfo is not None else time.replace(tzinfo=UTC))


def microseconds(time: datetime) -> int:
    """Return ``time``, which knows its zone, in microseconds since the epoch.

    >>> microseconds(datetime(1970, 1, 1, 0, 1, tzinfo=UTC))
    60000000
    """
    return (time - _EPOCH) // _MICROSECOND


def moment(time: int) -> datetime:
    """Return microseconds since the epoch as a time in UTC.

    >>> moment(60_000_000).isoformat()
    '1970-01-01T00:01:00+00:00'
    """
    return _EPOCH + time * _MICROSECOND
