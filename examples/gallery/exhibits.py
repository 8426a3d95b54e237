"""What hangs in the gallery: a task, the program for it, and the events of a day to run it on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from cartesius import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius import Reactive
    from cartesius.data.events import Time

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Arrival(NamedTuple):
    """An event, as it arrives: when it happened (in microseconds since 1970), of which source, and what it says."""

    at: int
    source: Reactive
    value: Mapping[str, Any]


@attrs.frozen(eq=False)
class Exhibit:
    """A task, and the program for it.

    Args:
        task: What is wanted, in words.
        outputs: The program.
        lateness: How far an event may come behind the latest.
        arrivals: Events, in the order in which they come.
    """

    task: str
    outputs: tuple[Reactive, ...]
    lateness: timedelta
    arrivals: tuple[Arrival, ...]

    @property
    def sources(self) -> tuple[Reactive, ...]:
        """The inputs, in the order in which the program names them."""
        return tuple(Engine(*self.outputs).inputs.values())


def on(day: str, *arrivals: tuple[str, Reactive, Mapping[str, Any]]) -> tuple[Arrival, ...]:
    """Return events with the time of day written out; one day may have gone by: ``"+1 09:00"``.

    >>> from cartesius import Reactive
    >>> [arrival.at for arrival in on("1970-01-01", ("00:01", Reactive("x"), {}), ("+1 00:00:00", Reactive("x"), {}))]
    [60000000, 86400000000]
    """
    return tuple(Arrival(_microseconds(day, time), source, value) for time, source, value in arrivals)


def moment(at: Time) -> datetime:
    """Return the moment of a time in microseconds.

    >>> f"{moment(60_000_000):%d %H:%M}"
    '01 00:01'
    """
    return _EPOCH + at * _MICROSECOND


def _microseconds(day: str, time: str) -> int:
    later, _, clock = time.rpartition(" ")
    when = datetime.fromisoformat(f"{day}T{clock}+00:00") + timedelta(days=int(later or 0))
    return (when - _EPOCH) // _MICROSECOND
