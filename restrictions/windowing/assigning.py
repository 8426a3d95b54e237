"""Windows of fixed spans: to which an event belongs.

Source: ICFP 2018, doi:10.1145/3236762, Figure 15; Dindar et al., VLDB Journal 2013; SEMANTICS 3.2 and 3.4.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from cartesius import Window
from cartesius.data.events import instant
from cartesius.errors import InvalidArgument
from cartesius.plan.nodes import Regular, Single
from restrictions.windowing.window_base import windowing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius import Duration
    from cartesius.data.entries import Entry
    from cartesius.data.queues import Queue
    from cartesius.language.families import Instant
    from cartesius.plan.nodes import Node

MOST_WINDOWS: Final = 1_000_000
"""In how many an event may be: it is held in each."""


class _sliding(windowing):
    """Base: windows of one size, one every period."""

    def _all(self, event: Entry, size: int, period: int, offset: int) -> list[Window]:
        if not (math.isfinite(event.start) and math.isfinite(event.end)):
            return []  # what has always been so, or goes on for ever, is in none
        first = math.floor((event.end - size - offset) / period) + 1
        last = math.floor((event.start - offset) / period)
        if isinstance(event.start, int) and isinstance(event.end, int):  # exactly, however large
            first, last = (event.end - size - offset) // period + 1, (event.start - offset) // period
        return [Window(start, start + size) for start in (offset + n * period for n in range(first, last + 1))]


class tumbling(_sliding):
    """Let events meet in windows of one size, one after the other: ``[start, start + size)``. Never suspends.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import tumbling
    >>> bid, ask = Reactive("bid"), Reactive("ask")
    >>> @correlate(bid=bid, ask=ask, restrict=tumbling(10))
    ... def deals(bid, ask, *, window):
    ...     if bid >= ask:
    ...         yield bid, ask, window.start
    >>> [e.value for e in run(deals, [(bid, 5, 1), (ask, 4, 9), (ask, 3, 10), (bid, 4, 12)])]
    [(5, 4, 0), (4, 3, 10)]

    Args:
        size: Time units or a `timedelta`, > 0.
        lateness: How long after its end a window takes what is late: time units or a `timedelta`, ≥ 0. Then it is
            freed; what is later comes out of ``engine.late``.
        offset: Where a window starts, with all others in steps of the size: time units or a `timedelta`.
        report: When the content of a window becomes visible: `on_content_change`, at once; `on_close`, `final`,
            `periodic`; with ``& non_empty``.
        content: What a window keeps: all; or `first`, `last`, `filtered`, `keeping`, `accumulated`.
        tick: What is one batch: each ``"tuple"``, all of one ``"time"``, as soon as it is over, or n events, by a
            number. A batch that is not full is one when a window of it is reported or freed.
        on_leave: What happens to the events of a window that is freed: they ``"expire"``, and their results stand, or
            it is a ``"displace"``, so that `retracting` takes their results back.

    State: what a window holds until it is reported. Relies on no order. Does not commute: what is to its right has a
    copy a window, what is to its left is common. A slot bound to a table is in no window: its rows meet all.

    Raises:
        InvalidArgument: A size that is none, or an unknown option; when a correlation is built: two kinds of windows,
            or windows beside `versioned`; or, of windows that wait, a clause by `controls` beside them.

    Law:
        What it gives is what the correlation without it gives for the events of each window, window by window.

    Source:
        ICFP 2018, Figure 15; SEMANTICS 3.2.
    """

    size: Duration
    offset: Duration = 0

    def validate(self) -> None:
        """Check the size."""
        super().validate()
        _check_positive(self, "size", self.size)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Regular(self.size, self.size, self.offset, None, **self.delivery()),)

    def windows(self, event: Entry, present: Mapping[Window, Queue]) -> Iterable[Window]:
        """Return the one that contains it, if one does."""
        return self._all(event, self.size, self.size, self.offset)


class sliding(_sliding):
    """Let events meet in windows of one size that overlap: one starts every ``period``. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, sliding
    >>> left, right = Reactive("left"), Reactive("right")
    >>> near = cartesian(left, right, restrict=sliding(10, 5))
    >>> [e.value for e in run(near, [(left, "a", 4), (right, "x", 5), (right, "y", 9), (right, "z", 12)])]
    [('a', 'x'), ('a', 'y')]

    Two events that are in two windows together meet in each. If the period exceeds the size there are gaps.

    Args:
        size: Time units or a `timedelta`, > 0.
        period: Time units or a `timedelta`, > 0.
        t0: The start of the first window, in time units or as a `datetime` with a zone: there is none before; None:
            there are windows at all times.
        lateness: As for `tumbling`, and so are offset, report, content, tick and on_leave.

    State: as `tumbling`. Relies on no order. Does not commute: what is to its right has a copy a window.

    Raises:
        InvalidArgument: As for `tumbling`; or an event would be in more than a million windows, each of which holds it.

    Law:
        ``sliding(n, n) == tumbling(n)``.

    Source:
        ICFP 2018, Figure 15; SEMANTICS 3.2.
    """

    size: Duration
    period: Duration
    offset: Duration = 0
    t0: Instant | None = None

    def validate(self) -> None:
        """Check size and period."""
        super().validate()
        _check_positive(self, "size", self.size)
        _check_positive(self, "period", self.period)
        if type(self.size) is type(self.period) and self.size > MOST_WINDOWS * self.period:
            message = (
                f"sliding: expected an event to be in at most {MOST_WINDOWS:,} windows but size={self.size!r} is"
                f" more than so many times period={self.period!r}; take a longer period, or `within`"
            )
            raise InvalidArgument(message)
        if self.t0 is not None:
            _check_time(self, "t0", self.t0)
            if self.offset:
                message = f"sliding: expected offset= or t0=, as either says where windows start, but got {self!r}"
                raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Regular(self.size, self.period, self.offset, self.t0, **self.delivery()),)

    def windows(self, event: Entry, present: Mapping[Window, Queue]) -> Iterable[Window]:
        """Return those that contain it, the earliest first."""
        if self.t0 is None:
            return self._all(event, self.size, self.period, self.offset)
        return [w for w in self._all(event, self.size, self.period, self.t0) if w.start >= self.t0]


class fixed(windowing):
    """Let events meet in one window ``[start, end)``; what is outside is not seen. Never suspends.

    >>> from cartesius import Reactive, run
    >>> from restrictions import cartesian, fixed
    >>> left, right = Reactive("left"), Reactive("right")
    >>> may = cartesian(left, right, restrict=fixed(1, 31))
    >>> [e.value for e in run(may, [(left, "a", 0), (left, "b", 1), (right, "x", 30), (right, "y", 31)])]
    [('b', 'x')]

    Args:
        start: In time units, or as a `datetime` with a zone.
        end: Likewise, the first that is not in it.
        lateness: As for `tumbling`, and so are report, content, tick and on_leave.

    State: as `tumbling`. Relies on no order. Does not commute: what is to its right has a copy a window.

    Raises:
        InvalidArgument: An end that is not after the start.

    Law:
        What it gives is what the correlation gives for the events in it alone.

    Source:
        SEMANTICS 3.2.
    """

    start: Instant
    end: Instant

    def validate(self) -> None:
        """Check the bounds."""
        super().validate()
        _check_time(self, "start", self.start)
        _check_time(self, "end", self.end)
        if isinstance(self.start, datetime) != isinstance(self.end, datetime):
            message = (
                f"fixed: expected two times of one kind but got start={self.start!r}, end={self.end!r}; write both as"
                " datetimes, or both as ints"
            )
            raise InvalidArgument(message)
        if instant(self.start) >= instant(self.end):
            message = f"fixed: expected start < end but got start={self.start!r}, end={self.end!r}; swap them"
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Single(self.start, self.end, **self.delivery()),)

    def windows(self, event: Entry, present: Mapping[Window, Queue]) -> Iterable[Window]:
        """Return the one, if it contains it."""
        window = Window(self.start, self.end)
        return [window] if window.holds(event.start, event.end) else []


def _check_positive(restriction: windowing, argument: str, duration: Any) -> None:
    if duration <= duration * 0:
        message = f"{type(restriction).__name__}: expected a duration > 0 but got {argument}={duration!r}"
        raise InvalidArgument(message)


def _check_time(restriction: windowing, argument: str, time: Any) -> None:
    if isinstance(time, datetime) and time.utcoffset() is not None:
        return
    if isinstance(time, bool) or not isinstance(time, int):
        message = (
            f"{type(restriction).__name__}: expected a time, an int of time units or a datetime with a zone, but got"
            f" {argument}={time!r} (type={type(time).__name__})"
        )
        if isinstance(time, timedelta):
            message += "; a timedelta is a duration"
        raise InvalidArgument(message)
