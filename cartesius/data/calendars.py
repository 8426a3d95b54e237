"""Datetimes in and out: a calendar turns aware datetimes into time units since the Unix epoch, UTC, and back.

An engine speaks one language, ints or datetimes: which, the first time that it is given decides, as an int that comes
among datetimes is most often a number of other units. A time that is none of whole units is refused, as a duration is.

Invariant: inside of an engine times are ints; datetimes are made of them where they are shown.

Source: SEMANTICS 1.9.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from operator import is_
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.events import EPOCH, LATEST, Delete, Event, Update, Window
from cartesius.data.records import Record, fields_of
from cartesius.drawing.marble_diagrams import plain_time
from cartesius.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable


def is_dated(at: Any) -> bool:
    """Whether a time, or an interval, is given by datetimes, at least in part."""
    return isinstance(at, datetime) or (isinstance(at, tuple) and any(isinstance(time, datetime) for time in at))


class Calendar:
    """What the times of one engine mean."""

    def __init__(self, unit: timedelta) -> None:
        self.unit = unit
        self.is_dated: bool | None = None  # whether times are datetimes; None: none has been given

    def units(self, at: Any, call: str, *, has_ints: bool = False) -> tuple[Any, bool | None]:
        """Return a time, or an interval, in time units, and whether it was given by datetimes; None: it was not given.

        Args:
            at: What was given; what is no time is left for others to refuse.
            call: In whose name an error is raised.
            has_ints: Whether the engine, though it was not told, has been given ints.

        Raises:
            InvalidArgument: A datetime without a zone, or none of whole units, or ints and datetimes mixed.
        """
        if at is None:
            return None, None
        dated = is_dated(at)
        self.check(dated, call, f"at={at!r}", has_ints=has_ints)
        if not dated:
            return at, False
        if isinstance(at, tuple):
            return tuple([self._unit(time, call) for time in at]), True
        return self._unit(at, call), True

    def check(self, dated: bool | None, call: str, got: str, *, has_ints: bool = False) -> None:
        """Raise `InvalidArgument` if times are given in the other language."""
        known = False if self.is_dated is None and has_ints else self.is_dated
        if dated is None or known is None or dated == known:
            return
        expected, other = ("datetimes", "ints") if known else ("ints", "datetimes")
        message = (
            f"{call}: expected times as this engine has been given before, {expected}, but got {got}; give it one kind,"
            f" not {other} as well"
        )
        raise InvalidArgument(message)

    def _unit(self, time: Any, call: str) -> int:
        if not isinstance(time, datetime) or time != time:  # noqa: PLR0124 - NaT of pandas
            message = (
                f"{call}: expected a datetime, or an interval of two datetimes, but got {time!r}"
                f" (type={type(time).__name__})"
            )
            raise InvalidArgument(message)
        if time.utcoffset() is None:
            message = (
                f"{call}: expected an aware datetime but got {time!r}, which has no zone; write"
                " time.replace(tzinfo=timezone.utc), or the zone that it is in"
            )
            raise InvalidArgument(message)
        count, rest = divmod(time - EPOCH, self.unit)
        if rest:
            message = (
                f"{call}: expected a datetime of whole time units of {self.unit} but got {time!r}; round it, or write"
                " Engine(…, unit=timedelta(microseconds=1))"
            )
            raise InvalidArgument(message)
        return count

    def plain(self, units: Any, *, dated: bool | None) -> Any:
        """Return a time, or an interval, in the language in which it was given; datetimes of Python's type, in UTC.

        One that has no year in UTC is in a zone in which it has one, as it had in the one that it was given in.
        """
        if not dated:
            return units
        if isinstance(units, tuple):
            return tuple([self.plain(one, dated=True) for one in units])
        try:
            return EPOCH + units * self.unit
        except OverflowError:
            offset = timedelta(minutes=1) - timedelta(days=1) if units > 0 else timedelta(days=1) - timedelta(minutes=1)
            return EPOCH.replace(tzinfo=timezone(offset)) + (units * self.unit + offset)

    def unit_of(self, time: Any, call: str) -> Any:
        """Return a time that a program names, in time units; what is no datetime as it is."""
        return self._unit(time, call) if isinstance(time, datetime) else time

    def time(self, units: Any) -> Any:
        """Return a time as it is shown; what no datetime can be, such as an infinite one, stays as it is."""
        if not self.is_dated or units is None or not isinstance(units, int):
            return units
        try:
            return EPOCH + units * self.unit
        except OverflowError:
            return units

    def text(self, units: Any, until: Any = None) -> str:
        """Return a time, or an interval, as it is written for people: in each text about an engine by this alone."""
        start = plain_time(self.time(units))
        return start if until is None or until == units else f"{start}..{plain_time(self.time(until))}"

    def shown(self, events: list[Event]) -> list[Event]:
        """Return events as they are shown."""
        if not self.is_dated:
            return events
        return [self._with(event, self.time) for event in events]

    def taken(self, event: Any) -> Any:
        """Return an event that was shown as it is inside."""
        if not isinstance(event, Event) or not is_dated((event.start, event.end)):
            return event
        return self._with(event, lambda time: self.unit_of(time, "why"))

    def shown_value(self, value: Any) -> Any:
        """Return a value, or a key, as it is shown: with the times of windows in it as they came."""
        return _with_windows(value, self.time) if self.is_dated else value

    def taken_value(self, value: Any) -> Any:
        """Return a value, or a key, that was shown and is looked up, as it is inside."""
        return _with_windows(value, lambda time: self.unit_of(time, "lookup")) if self.is_dated else value

    @staticmethod
    def _with(event: Event, time: Callable[[Any], Any]) -> Event:
        value = _with_windows(event.value, time)
        return attrs.evolve(event, value=value, start=time(event.start), end=time(event.end))


def _with_windows(value: Any, time: Callable[[Any], Any]) -> Any:
    """Return a value with other times in its windows; the value itself, if there are none in it."""
    if type(value) is Window:
        start, end = time(value.start), time(value.end)
        if isinstance(start, datetime) != isinstance(end, datetime) and value.end != LATEST:
            return value  # one of its bounds is no datetime: it goes on after the year 9999
        return Window(start, end)
    if isinstance(value, Update):
        key, row = _with_windows(value.key, time), _with_windows(value.value, time)
        return value if key is value.key and row is value.value else Update(key, row)
    if isinstance(value, Delete):
        key = _with_windows(value.key, time)
        return value if key is value.key else Delete(key, value.row)
    if type(value) is tuple:
        items = tuple([_with_windows(item, time) for item in value])
        return value if all(map(is_, items, value)) else items
    if isinstance(value, Record) or type(value) is dict:
        fields = fields_of(value) if isinstance(value, Record) else value
        found = {name: _with_windows(item, time) for name, item in fields.items()}
        return value if all(map(is_, found.values(), fields.values())) else type(value)(found)
    return value
