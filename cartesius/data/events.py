"""Events, their times, and the changes of tables.

An `Event` has an occurrence interval over a totally ordered, discrete time: ints, by default microseconds since the
epoch, UTC, with the bounds ``-inf`` and ``+inf``. A result's interval is the convex hull of its parts'. Weight -1
retracts.

Source: ICFP 2018, doi:10.1145/3236762, Figure 8; SEMANTICS 1.9 and 1.10.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeAlias

import attrs

from cartesius.data.codec import storable
from cartesius.errors import InvalidArgument

if (
    TYPE_CHECKING
):  # a default is for type checkers alone: at run time it would need typing_extensions before Python 3.13
    from typing_extensions import TypeVar

    Payload = TypeVar("Payload", default=Any)
    Row = TypeVar("Row", default=Any)
else:
    from typing import TypeVar

    Payload = TypeVar("Payload")
    Row = TypeVar("Row")

Time: TypeAlias = int | float
Shown: TypeAlias = (
    Any  # an int, or a datetime if its engine was given such: a union would have to be told apart each time
)
EARLIEST: Final = float("-inf")
LATEST: Final = float("inf")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(time: Shown) -> Any:
    """Return what compares as the instants of times do: Python compares datetimes of one zone by the wall clock."""
    return time - EPOCH if isinstance(time, datetime) and time.tzinfo else time


class EventDraft:
    """An event in the making: who has filled in its fields sets ``__class__``, in a fifth of the time of `Event`.

    >>> draft = EventDraft()
    >>> draft.value, draft.start, draft.end, draft.weight, draft.reactive = "tide", 3, 5, 1, ""
    >>> draft.identity, draft.span, draft.before = None, None, ()
    >>> draft.__class__ = Event
    >>> draft
    Event(value='tide', start=3, end=5, weight=1, reactive='')
    """

    __slots__ = ("__weakref__", "before", "end", "identity", "reactive", "span", "start", "value", "weight")


@storable
@attrs.define(frozen=True, slots=True)
class Event(EventDraft, Generic[Payload]):
    """Something that happened: a value, when, and on which output.

    >>> Event("tide", 3, 5)
    Event(value='tide', start=3, end=5, weight=1, reactive='')

    Args:
        value: The payload; of a table, an `Update` or a `Delete`.
        start: First instant of the occurrence, in time units; or a `datetime`, if the engine was given such.
        end: Last instant of the occurrence, likewise.
        weight: 1, or -1 for an event that takes an earlier one back.
        reactive: The name of the output that it belongs to.
    """

    value: Payload
    start: Shown
    end: Shown
    weight: int = 1
    reactive: str = ""
    identity: Any = attrs.field(default=None, eq=False, repr=False)
    span: tuple[Time, Time] | None = attrs.field(default=None, eq=False, repr=False)  # when a change by version holds
    before: tuple[Any, ...] = attrs.field(default=(), eq=False, repr=False)  # of a change: the row that it replaces

    def _repr_html_(self) -> str:
        from cartesius.data.event_tables import events_html  # noqa: PLC0415 - only notebooks need it

        return events_html([self])


def made(value: Any, start: Time, end: Time, reactive: str, identity: Any) -> Event:
    """Return an event of a correlation, which takes nothing back, in a third of the time of `Event`.

    >>> made("tide", 3, 5, "tides", None) == Event("tide", 3, 5, 1, "tides")
    True
    """
    event: Any = _new(EventDraft)
    event.value, event.start, event.end, event.weight = value, start, end, 1
    event.reactive, event.identity, event.span, event.before = reactive, identity, None, ()
    event.__class__ = Event
    return event  # type: ignore[no-any-return]  # its class was set


_new = object.__new__


@storable
@attrs.define(frozen=True, slots=True)
class Update(Generic[Row]):
    """The row of ``key`` is now ``value``.

    >>> Update("EVA", 9.5).key
    'EVA'
    """

    key: Any
    value: Row


@storable
@attrs.define(frozen=True, slots=True)
class Delete:
    """There is no row of ``key`` any more.

    >>> Delete("EVA").key
    'EVA'

    Args:
        key: Of the row.
        row: What came with the deletion, if something did, such as its offset: of changes of one time it may say which
            one holds (`versioned` with ``ties=``). Deletions of one key are equal, whatever that is.
    """

    key: Any
    row: Any = attrs.field(default=None, eq=False, repr=False)


@storable
@attrs.define(frozen=True, slots=True)
class Interval:
    """The time of one part, as ``time_x`` gives it: ``start`` and ``end``, in time units."""

    start: Time
    end: Time


class _Span(NamedTuple):
    start: Shown
    end: Shown


@storable
class Window(_Span):
    """A span of time ``[start, end)``; without ``end`` it is open, until somebody knows when it ends.

    Times are in time units; in results they are datetimes, if the engine was given such.

    >>> from cartesius import Window
    >>> Window(0, 10).holds(3, 9), Window(0, 10).holds(3, 10)
    (True, False)
    """

    __slots__ = ()

    if TYPE_CHECKING:  # its bounds are as typed as those of an event

        def __init__(self, start: Shown, end: Shown = LATEST) -> None: ...

    def __new__(cls, start: Shown, end: Shown = LATEST) -> Window:
        """Check the bounds."""
        if not all(isinstance(time, int | float | datetime) and not isinstance(time, bool) for time in (start, end)):
            message = f"Window: expected times, in time units or as datetimes, but got start={start!r}, end={end!r}"
            raise InvalidArgument(message)
        if isinstance(start, datetime) and end == LATEST:
            return super().__new__(cls, start, end)
        if isinstance(start, datetime) != isinstance(end, datetime):
            message = f"Window: expected two times of one kind but got start={start!r}, end={end!r}"
            raise InvalidArgument(message)
        if not instant(start) < instant(end):
            message = f"Window: expected start < end but got start={start!r}, end={end!r}; the end is not in it"
            raise InvalidArgument(message)
        return super().__new__(cls, start, end)

    def holds(self, start: Time, end: Time) -> bool:
        """Whether it wholly contains an occurrence."""
        return bool(self.start <= start and end < self.end)
