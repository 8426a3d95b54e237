"""The base of windows: events are assigned to them, held until they are visible, delivered, and let go.

This module is over 300 lines because what a window does between its first event and its end is one state machine.

Source: SEMANTICS 3.2, 3.4, 3.9 and 3.10; Dindar et al., VLDB Journal 2013 (SECRET: tick).
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cartesius import Duration, Restriction, forward, handles, set_aside, state
from cartesius.data.events import LATEST
from cartesius.data.queues import Queue
from cartesius.errors import InvalidArgument
from cartesius.language import families
from cartesius.language.clauses import slot_of
from cartesius.language.restriction_base import slot_families
from cartesius.plan.nodes import Assigned, Node
from cartesius.rows.clock_clauses import ask_tick, clock, is_awaited, is_past, may_close, notify_at_time
from cartesius.rows.window_clauses import (
    catch_up,
    close_window,
    deliver,
    in_units,
    let_finish,
    may_others_wait,
    next_batch,
    note_step,
    report,
)
from restrictions.time.duration import check_duration
from restrictions.windowing.reports import Report, final, non_empty, on_content_change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cartesius import Slot
    from cartesius.data.entries import Entry
    from cartesius.data.events import Time, Window

TICKS: Final = ("tuple", "time")


def first_batch(pending: Queue, tick: Any, now: Time) -> list[Entry] | None:
    """Return the first batch of what waits that is complete at ``now``; None if there is none."""
    if tick == "tuple" or not pending:
        return None
    if tick != "time":
        steps = list(dict.fromkeys(event.noted("step") for event in pending))  # one event may have come to two slots
        return [event for event in pending if event.noted("step") in steps[:tick]] if len(steps) >= tick else None
    ends = sorted({event.end for event in pending})
    if len(ends) == 1 and ends[0] >= now:
        return None
    return [event for event in pending if event.end == ends[0]]


class windowing(Restriction):
    """Base of what opens windows: a subclass says to which windows an event belongs."""

    extent: ClassVar[str] = "size"  # the field that says how far before its end a window begins, if there is one
    lateness: Duration = 0
    report: Report = on_content_change
    content: Any = None
    tick: Any = "tuple"
    on_leave: str = "expire"
    contents: Mapping[Window, Queue] = state({})  # what is held, of each window that is not freed
    reported: frozenset[Window] = state(frozenset())  # those that are visible, of those that are held for some time
    pending: Queue = state(Queue())  # what waits for the end of its batch

    def validate(self) -> None:
        """Check the options."""
        call = type(self).__name__
        check_duration(self, "lateness", self.lateness)
        if not isinstance(self.report, Report):
            message = f"{call}: expected a Report, such as on_close, but got report={self.report!r}"
            raise InvalidArgument(message)
        if self.content is not None and not isinstance(self.content, Restriction):
            message = f"{call}: expected a content, such as last(), but got content={self.content!r}"
            raise InvalidArgument(message)
        is_number = isinstance(self.tick, int) and not isinstance(self.tick, bool) and self.tick >= 1
        if self.tick not in TICKS and not is_number:
            message = f'{call}: expected tick to be "tuple", "time" or a number ≥ 1 but got tick={self.tick!r}'
            raise InvalidArgument(message)
        if self.on_leave not in ("expire", "displace"):
            message = f'{call}: expected on_leave to be "expire" or "displace" but got on_leave={self.on_leave!r}'
            raise InvalidArgument(message)

    def check(self, slots: Mapping[str, tuple[Slot, ...]], others: tuple[Restriction, ...]) -> None:
        """Refuse what would suspend the release of what waits: the rest of it, and of the clock, would wait as well."""
        if not self.report.waits and self.tick == "tuple":
            return
        suspending = next((one for one in others if any(is_ctl for *_, is_ctl in slot_families(one))), None)
        if suspending is not None:
            message = (
                f"{self!r}: expected restrictions beside it that suspend nothing, as the clock releases what waits in"
                f" windows, but {suspending!r} has a clause by controls; let windows show at once what comes, or write"
                " it with handles"
            )
            raise InvalidArgument(message)

    def delivery(self) -> dict[str, Any]:
        """Return what the nodes of all windows have: `Deliver`."""
        return {
            "lateness": self.lateness,
            "reports": frozenset(self.report.conditions),
            "ticks": self.tick,
            "content": self.content,
            "displaces": self.on_leave == "displace",
        }

    def plan(self) -> tuple[Node, ...]:
        """Return what it means, if its subclass says no more."""
        return (Assigned(self.windows, **self.delivery()),)

    def parts(self) -> tuple[Restriction, ...]:
        """Return this, and its content inside."""
        return (self,) if self.content is None else (self, self.content)

    def windows(self, event: Entry, present: Mapping[Window, Queue]) -> Iterable[Window]:
        """Return the windows of an event, ascending; ``present`` are those that are not freed."""
        raise NotImplementedError  # each subclass says

    def reach(self) -> int | None:
        """Return how far before the clock an event may be that a window still takes; None: any time."""
        extent = getattr(self, self.extent, None)
        return None if extent is None else extent + self.lateness

    # -- what comes ----------------------------------------------------------------------------------------------------

    @handles(families.enter)
    def assign(self, slot: Slot, event: Entry) -> None:
        """Let an event come into its windows, at once or when its batch is complete."""
        if not slot.has_windows:
            forward(slot, event)
        elif event.weight < 0:
            self._take_back(event)
        elif self.tick == "tuple":
            self._take([event])
        elif not self._is_late(event):
            note_step(event)
            self.pending = self.pending.append(event)
            if self.tick != "time":
                windows = list(self.windows(event, self.contents))
                for window in windows:
                    if not self._is_over(window):
                        self._ask(window)
                if not windows:  # it comes between two, unless one is opened yet
                    notify_at_time(event.end + self.lateness)
            elif not is_past(event.end):
                notify_at_time(event.end)
            if first_batch(self.pending, self.tick, clock()) is not None:
                ask_tick()

    def _take_pending(self, batch: list[Entry]) -> None:
        taken = {id(event) for event in batch}
        self.pending = Queue(event for event in self.pending if id(event) not in taken)
        self._take(batch)

    def _take(self, events: list[Entry]) -> None:
        """Let events come into their windows, as one batch."""
        contents = dict(self.contents)
        coming: dict[Window, list[Entry]] = {}
        for event in events:
            windows = list(self.windows(event, contents))
            alive = [window for window in windows if not self._is_over(window)]
            if windows and not alive:
                self._refuse(event, windows[-1])
            for window in alive:
                was_open = self._open(window, contents)
                before = [] if was_open is None else coming.pop(was_open, [])  # of this batch
                coming.setdefault(window, before).append(event)
        for window in sorted(coming):
            if self._is_held(window, contents):
                queue = contents[window]
                for event in coming.pop(window):
                    note_step(event)
                    queue = queue.append(event)
                contents[window] = queue
        self.contents = contents
        for window in sorted(coming):
            for event in coming[window]:
                deliver(event, window)
            report(window)

    def _open(self, window: Window, contents: dict[Window, Queue]) -> Window | None:
        """Note a window, if it is new; return the one that was open so far and is closed by it."""
        if window in contents:
            return None
        opened = type(window)(window.start)
        was_open = opened if opened in contents else None
        contents[window] = contents.pop(opened, Queue())
        time = self._report_time(window)
        if contents[window]:
            ask_tick()
        elif time is not None and is_past(time - 1):
            self.reported = self.reported | {window}  # it is over: what comes corrects it
        self._ask(window)
        return was_open

    def _ask(self, window: Window) -> None:
        """Ask for the times when a window is reported, and freed."""
        time = self._report_time(window)
        if self.report.is_periodic:
            since, period = max(window.start, clock()), in_units(self.report.period)
            time = min((since // period + 1) * period, window.end)
        if time is not None and not is_past(time - 1):
            notify_at_time(time - 1)
        notify_at_time(self._freed_at(window) - 1)

    def _freed_at(self, window: Window) -> Time:
        return self.closed_at(window) + self.lateness

    def yet_to_come(self) -> Iterable[Entry]:
        """Return what waits for the end of its batch."""
        return self.pending

    def times_of(self, window: Window) -> tuple[Time, ...]:
        """Return the deadlines when one is closed, and freed."""
        return self.closed_at(window) - 1, self._freed_at(window) - 1

    def _is_over(self, window: Window) -> bool:
        time = self._freed_at(window) - 1
        return is_past(time) and may_close(time)

    def _is_held(self, window: Window, contents: Mapping[Window, Queue]) -> bool:
        if window.end == LATEST or contents[window]:
            return True
        return self.report.waits and window not in self.reported

    def _is_late(self, event: Entry) -> bool:
        """Set an event aside that is too late for all its windows; return whether it is."""
        windows = list(self.windows(event, self.contents))
        if not windows or not all(map(self._is_over, windows)):
            return False
        self._refuse(event, windows[-1])
        return True

    def _refuse(self, event: Entry, window: Window) -> None:
        until = self._freed_at(window)
        reason = f"its last window, {tuple(window)}, was freed when the clock reached {until}"
        set_aside(slot_of(event), event, reason)

    def _take_back(self, event: Entry) -> None:
        """Drop what is held, or let what is delivered be taken back."""
        if any(held.identity == event.identity for held in self.pending):
            self.pending = self.pending.without(event.identity)
            return
        contents = dict(self.contents)
        for window in sorted(contents):
            if not window.holds(event.start, event.end):
                continue
            rest = contents[window].without(event.identity)
            if len(rest) < len(contents[window]):
                contents[window] = rest
            else:
                deliver(event, window)
                self._show(window)
        self.contents = contents

    # -- what is due ---------------------------------------------------------------------------------------------------

    @handles(families.tick)
    def go_on(self, now: Time) -> None:
        """Deliver a batch; report the windows whose time has come, and let go of those whose time is over."""
        batch = first_batch(self.pending, self.tick, now)
        if batch is not None:
            self._take_pending(batch)
            if first_batch(self.pending, self.tick, now) is not None:
                ask_tick()  # each batch is a step of its own
        rest = list(self.pending)
        if any(self._is_ending(window, now) for event in rest for window in self._concerned(event)):
            next_batch()
            self._take_pending(rest)
        elif between := {id(event) for event in rest if self._is_between(event, now)}:
            self.pending = Queue(event for event in rest if id(event) not in between)
        shown = sorted(window for window in self.contents if self._is_due(window, now))
        for window in shown:
            self._release(window, now)
        for window in sorted(self.contents):
            if self._has_come(self._freed_at(window), now) and may_close(self._freed_at(window) - 1):
                if window in shown and may_others_wait():
                    notify_at_time(now - 1)  # what has come inside may wait there for what is due as well
                else:
                    self._free(window)
        self._look_again(now)

    def _concerned(self, event: Entry) -> Iterable[Window]:
        """Return the windows that an event concerns which is not in them so far."""
        return self.windows(event, self.contents)

    def _look_again(self, now: Time) -> None:
        """Ask for the times of windows that have changed."""

    @handles(families.ended)
    def show_open(self, slot: Slot) -> None:
        """When nothing comes any more, at the end of time, what is open is closed; what waits for a gate is let go."""
        if clock() == LATEST:
            for window in sorted(self.contents):
                if window.end == LATEST:
                    self._release(window, LATEST)
                    self._free(window)
                elif self._report_time(window) is not None and window not in self.reported:
                    self._release(window, LATEST)  # before that gate is told of the end

    def _is_between(self, event: Entry, now: Time) -> bool:
        """Whether an event is in no window, and none can be opened any more that holds it."""
        is_over = self._has_come(event.end + self.lateness + 1, now)
        return is_over and not list(self._concerned(event))

    def _is_ending(self, window: Window, now: Time) -> bool:
        """Whether a window is reported, or freed, by now."""
        time = self._report_time(window)
        has_come = [self._has_come(one, now) for one in (time, self._freed_at(window)) if one is not None]
        return any(has_come) or self._is_multiple(window, now)

    def _has_come(self, time: Time, now: Time) -> bool:
        """Whether a time has come: a tick of another kind may be before that of the deadline, in the same instant."""
        return time <= now and (is_past(time - 1) or not is_awaited(time - 1))

    def _is_multiple(self, window: Window, now: Time) -> bool:
        """Whether a window that is reported from time to time is so now: once at each multiple, when that is due."""
        is_open = self.report.is_periodic and window.start < now <= window.end and not is_past(now - 1)
        is_multiple = is_open and now % in_units(self.report.period) == 0
        return is_multiple and not is_awaited(now - 1)

    def _report_time(self, window: Window) -> Time | None:
        """Return when a window is reported, once; None if never, or whenever something comes."""
        if not self.report.waits:
            return None
        time = self._freed_at(window) if final in self.report else self.closed_at(window)
        is_multiple = not self.report.has_period or time % in_units(self.report.period) == 0
        return time if is_multiple else None

    def _is_due(self, window: Window, now: Time) -> bool:
        if window.end == LATEST or window in self.reported:
            return False
        if not self.report.waits:
            return bool(self.contents[window])  # it was open, and is not any more
        time = self._report_time(window)
        if self._is_multiple(window, now):
            return True
        return time is not None and self._has_come(time, now) and may_close(time - 1)

    def _release(self, window: Window, now: Time) -> None:
        """Deliver what is held, in the batches in which it came."""
        held = self.contents[window]
        visible = [event for event in held if event.end < now or not self.report.is_periodic]
        rest = Queue(event for event in held if self.report.is_periodic and event.end >= now)
        self.contents = {**self.contents, window: self._kept(held, rest)}
        if self.report.waits and (not self.report.is_periodic or now >= window.end):
            self.reported = self.reported | {window}
        catch_up()
        for _, group in groupby(visible, key=lambda event: event.noted("step")):
            next_batch()
            for event in group:
                deliver(event, window)
        if visible:
            report(window)
        else:
            self._show(window)
        if self.report.is_periodic and now < window.end:
            self._ask(window)

    def _kept(self, held: Queue, rest: Queue) -> Queue:
        return rest  # of what was held

    def _show(self, window: Window) -> None:
        """Report a window of which nothing has come: it may be empty."""
        report(window, unless_empty=non_empty in self.report)

    def _free(self, window: Window) -> None:
        let_finish(window)
        time = self._freed_at(window) - 1
        if not may_close(time):  # what has been let go inside is held by a gate that windows have in common
            notify_at_time(time)
            return
        close_window(window, displaces=self.on_leave == "displace")
        if self.on_leave == "displace":
            self._show(window)
        self.contents = {other: queue for other, queue in self.contents.items() if other != window}
        self.reported = self.reported - {window}

    def may_give(self, *, is_shown: bool, is_awaited: bool) -> bool:
        """What is held is yet to come; of what has come, at most that it leaves. An open window is never closed."""
        is_reported = is_shown and self.report.waits
        coming = (window for window in self.contents if window.end < LATEST and window not in self.reported)
        is_coming = any(is_reported or self.contents[window] for window in coming)
        return bool(self.pending) or is_coming or (is_shown and self.on_leave == "displace")
