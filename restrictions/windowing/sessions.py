"""Sessions: windows that end when nothing has come for some time.

A session is known only when it is over. So what is in it is held until then, and an event that joins two of them, in
whatever order it comes, makes them one.

Source: Flink (session windows merge if they touch); SEMANTICS 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from cartesius.data.events import EARLIEST, LATEST, Window
from cartesius.data.queues import Queue
from cartesius.errors import InvalidArgument
from cartesius.plan.nodes import Sessions
from cartesius.rows.clock_clauses import ask_tick, cancel_at, is_past, notify_at_time
from cartesius.rows.window_clauses import close_window, deliver, delivered_to, may_drop, note_step
from restrictions.windowing.reports import Report, on_close
from restrictions.windowing.window_base import windowing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius import Duration
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time
    from cartesius.plan.nodes import Node


class session(windowing):
    """Let events meet in sessions: windows that end when nothing has come for ``gap``. Never suspends.

    >>> from cartesius import Reactive, correlate, run
    >>> from restrictions import key_by, session
    >>> click = Reactive("click")
    >>> visits = correlate(
    ...     first=click,
    ...     second=click,
    ...     where=lambda first, second, *, time_first, time_second: time_first.end < time_second.end,
    ...     yields=lambda first, second, window: (first.page, second.page, window.start, window.end),
    ...     restrict=key_by(first="user", second="user") | session(10),
    ... )
    >>> pages = [(click, {"user": "A", "page": page}, at) for page, at in (("home", 3), ("cart", 9), ("home", 30))]
    >>> [event.value for event in run(visits, pages, close=True)]
    [('home', 'cart', 3, 19)]

    An event begins the session from its start to ``end + gap``, which is still in it; those that overlap, or touch, are
    one. Each is reported once the clock is past its end, as an event exactly a gap after the last one belongs to it. If
    what is late changes one that is reported, its events are displaced, so that `retracting` takes its results back,
    and it is reported anew.

    Args:
        gap: Time units or a `timedelta`, > 0.
        lateness: How long after it is closed a session takes what is late, and may be merged with another: time units
            or a `timedelta`, ≥ 0. An event that merges with one that is not freed is not late.
        report: `on_close`, or `final`.
        content: As for `tumbling`, and so are tick and on_leave.

    State: the events of the sessions that are not reported; of those that are, and may still change, if restrictions
    inside drop some. Relies on no order. Does not commute: what is to its right has
    a copy a session; those of a key are its own right of a `key_by`.

    Raises:
        InvalidArgument: A gap that is none, or a report before the end; when a correlation is built: slots that are
            keyed differently to its left.

    Law:
        The sessions of a set of events are the same in whatever order they come, if none is late.

    Source:
        SEMANTICS 3.2.
    """

    extent: ClassVar[str] = "gap"
    gap: Duration
    report: Report = on_close

    def validate(self) -> None:
        """Check the gap, and the report."""
        super().validate()
        if self.gap <= self.gap * 0:
            message = f"session: expected a duration > 0 but got gap={self.gap!r}"
            raise InvalidArgument(message)
        if not self.report.waits or self.report.has_period:
            message = f"session: expected on_close or final but got report={self.report!r}: it is known when it is over"
            raise InvalidArgument(message)

    def plan(self) -> tuple[Node, ...]:
        """Return what it means."""
        return (Sessions(self.gap, **self.delivery()),)

    def windows(self, event: Entry, present: Mapping[Window, Queue]) -> Iterable[Window]:
        """Return the session that it begins; what has always been so, or goes on for ever, is in none."""
        is_finite = event.start > EARLIEST and event.end < LATEST
        return [Window(event.start, event.end + self.gap)] if is_finite else []

    def closed_at(self, window: Window) -> Time:
        """Return the first clock at which nothing can come that is a gap after the last event."""
        end: Time = window.end
        return end + 1

    def _take(self, events: list[Entry]) -> None:
        for event in events:
            note_step(event)
            windows = [*self.windows(event, self.contents)]
            if not windows:
                continue
            (new,) = windows
            touching = [window for window in sorted(self.contents) if _touch(window, new)]
            merged = Window(min(w.start for w in (new, *touching)), max(w.end for w in (new, *touching)))
            if self._is_over(merged):
                self._refuse(event, merged)
                continue
            contents = dict(self.contents)
            queues = [contents.pop(window) or Queue(delivered_to(window)) for window in touching]
            if len(queues) != 1:  # one queue is in order already
                queues = [Queue(sorted([one for queue in queues for one in queue], key=_step))]
            contents[merged] = queues[0].append(event)
            is_shown = merged in touching and merged in self.reported
            self._forget(window for window in touching if window != merged)
            self.contents = contents
            if is_shown:
                self.contents = {**contents, merged: self._kept(contents[merged], Queue())}
                deliver(event, merged)
                self._show(merged)
            elif is_past(merged.end):
                ask_tick()
            self._ask(merged)
            if touching and touching != [merged]:
                self._ask_no_more(touching)

    def _concerned(self, event: Entry) -> Iterable[Window]:
        """Return the session that an event begins, and those that it prolongs."""
        own = list(self.windows(event, self.contents))
        return [*own, *[window for window in self.contents for new in own if _touch(window, new)]]

    def _look_again(self, now: Time) -> None:
        """Ask when sessions end that have not asked for it: those of a snapshot of an earlier version."""
        for window in self.contents:
            for time in self.times_of(window):
                if time >= now:
                    notify_at_time(time)

    def _ask_no_more(self, gone: Iterable[Window]) -> None:
        """Take back what sessions have asked for that are none any more."""
        asked = {time for window in gone for time in self.times_of(window)}
        for time in asked.difference(*map(self.times_of, self.contents)):
            cancel_at(time)

    def _is_late(self, event: Entry) -> bool:
        return False  # that is known once it has been merged

    def _forget(self, windows: Iterable[Window]) -> None:
        """Displace what has been delivered to sessions that are none any more."""
        for window in windows:
            if window in self.reported:
                close_window(window, displaces=True)
                self.reported = self.reported - {window}

    def _take_back(self, event: Entry) -> None:
        if any(held.identity == event.identity for held in self.pending):
            self.pending = self.pending.without(event.identity)
            return
        for window, queue in self.contents.items():
            there = Queue(queue or (delivered_to(window) if window in self.reported else ()))
            rest = there.without(event.identity)
            if len(rest) < len(there):
                self._split(window, rest, event)
                return

    def _split(self, window: Window, rest: Queue, event: Entry) -> None:
        """Make the sessions of what is left of one."""
        found: list[tuple[Window, list[Entry]]] = []
        for held in sorted(rest, key=lambda one: (one.start, one.end)):
            new = Window(held.start, held.end + self.gap)
            if found and _touch(found[-1][0], new):
                before, inside = found.pop()
                found.append((Window(before.start, max(before.end, new.end)), [*inside, held]))
            else:
                found.append((new, [held]))
        contents = {other: queue for other, queue in self.contents.items() if other != window}
        contents.update({new: Queue(sorted(inside, key=_step)) for new, inside in found})
        self.contents = contents
        if window in self.reported and [new for new, _ in found] == [window]:
            self.contents = {**contents, window: self._kept(contents[window], Queue())}
            deliver(event, window)
            self._show(window)
            return
        self._forget([window])
        for new, _ in found:
            if is_past(new.end):
                ask_tick()
            self._ask(new)

    def _kept(self, held: Queue, rest: Queue) -> Queue:
        """Keep what was delivered, if it cannot be found again."""
        return held if may_drop() else Queue()


def _touch(one: Window, other: Window) -> bool:
    return bool(one.start <= other.end and other.start <= one.end)


def _step(event: Entry) -> Any:
    return event.noted("step")
