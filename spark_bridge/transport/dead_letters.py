"""Dead letters: the rows that could not be used, and why. Nothing is lost in silence.

A row is set aside before it can move the watermark if its time, or a key that the bridge needs, is missing or absurd;
later if its payload cannot be read, if the program refuses it, or, where the caller chose that, if the program raises
on it (`row_errors`; a push is atomic, so the program goes on without it). So is a row without a key that the program
matches or groups by: the engine sets it aside, alike in one bucket and in many. A late row, one that came after the
engine's clock had passed it, is reported in the same shape. What every bucket has alike is reported once, a row of a
source that is broadcast or an event derived of such; but a row by each bucket in which the program raised on it.

Of a derived event that is set aside, or does not fit the columns of results, the letter has the reactive that gave it
in place of the source, and its value: the row that had come by then may be another one, which was used.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f

from cartesius.data.null_values import IS_NULL
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from pyspark.sql import Column

NO_TIME: Final = -(2**63)
"""Stands for a missing event time in the tagged frame, so that the column has no nulls."""

_TOMORROW: Final = 1  # day from today


class Plausible:
    """The event times that are believed.

    Args:
        bounds: The earliest and the latest, both inclusive, as aware datetimes; None for either: no bound, but nothing
            is believed that is later than tomorrow, by the session's calendar.

    Raises:
        InvalidArgument: It is not a pair of those.
    """

    def __init__(self, bounds: tuple[datetime | None, datetime | None] | None) -> None:
        pair = (None, None) if bounds is None else bounds
        good = isinstance(pair, tuple) and len(pair) == 2
        good = good and all(b is None or (isinstance(b, datetime) and b.tzinfo is not None) for b in pair)
        if not good:
            message = (
                "correlate_frames: expected two aware datetimes (or None for either) but got"
                f" plausible={bounds!r}; write plausible=(datetime(2020, 1, 1, tzinfo=UTC), None)"
            )
            raise InvalidArgument(message)
        self.earliest, self.latest = pair

    def objection(self, time: Column) -> Column:
        """Return why ``time``, a timestamp, is not believed; null if it is."""
        if self.latest is None:
            # By the day: Spark writes the moment of a micro-batch into its code, which it would compile for each anew.
            is_beyond = f.to_date(time) > f.date_add(f.current_date(), _TOMORROW)
        else:
            is_beyond = time > f.lit(self.latest)
        shown = time.cast("string")
        found = f.when(time.isNull(), f.lit("its event time is null"))
        if self.earliest is not None:
            found = found.when(
                time < f.lit(self.earliest), f.concat(f.lit("its event time "), shown, f.lit(" is absurdly early"))
            )
        return found.when(is_beyond, f.concat(f.lit("its event time "), shown, f.lit(" is absurdly late")))


def kind_of_late(reason: str) -> str:
    """Return which letter tells what an engine has set aside: what has no key was not late, and never can be used."""
    return "dead" if reason.startswith(IS_NULL) else "late"


def unreadable(error: Exception | str) -> str:
    """Return the reason of a row whose payload cannot be read."""
    return f"its payload cannot be read: {error}"
