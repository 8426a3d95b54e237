"""Outputs of a correlation with versions: tables of which each row, or total, holds for some time.

A change says from when on it holds, which is its time, and until when: so a change may correct an older version.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 4; SEMANTICS 3.6.
"""

from __future__ import annotations

import heapq
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs

from cartesius.data.entries import FRESH, GONE
from cartesius.data.events import EARLIEST, LATEST, Event
from cartesius.data.journals import put
from cartesius.data.validity import covers
from cartesius.results.announced import Announced, change_of, parted, times_of, what_at
from cartesius.results.outputs import Output, hull
from cartesius.results.totals import check_element
from cartesius.results.unchanged_values import is_unchanged
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.data.events import Time
    from cartesius.data.journals import Journal
    from cartesius.data.validity import Interval
    from cartesius.language.matches import Match
    from cartesius.results.announced import Row
    from cartesius.results.outputs import Result, Span
    from cartesius.results.totals import Aggregate
    from cartesius.storage.versions_in_order import Moment

Total: TypeAlias = tuple[Any, int]
"""An element of a group, and of how many results it is the total."""
Segment: TypeAlias = "tuple[Interval, Total]"


class Moments(Protocol):
    """The batch of a correlation with versions, as its outputs see it."""

    @property
    def horizon(self) -> Time:
        """The time from which on the versions are all there."""
        ...

    def looking_at(self, time: Time, read: Callable[[], Any]) -> Any:
        """Read what holds at ``time``."""
        ...


class VersionView(View):
    """A table whose rows are looked up at each moment that a batch concerns."""

    def __init__(self, versions: Moments, journal: Journal, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.announced = Announced(journal, lambda: versions.horizon)
        self._versions = versions
        self._seen: dict[Any, list[tuple[Interval, Match | None, Match | None]]] = {}  # when; the row before, and now

    def look(self, moment: Moment | None = None) -> None:
        """See what the rows mentioned were, and are, from the moment until something that is seen changes."""
        assert moment is not None  # Invariant: beside versions there is one
        assert moment.at is not None
        rows = [(key, self._first(key, FRESH), self._first(key, GONE)) for key in self._unseen]
        for key, before, now in rows:
            since, until = moment.at, moment.next
            seen = self._seen.setdefault(key, [])
            if seen and seen[-1][0][1] == since and _is_same(seen[-1][1], before) and _is_same(seen[-1][2], now):
                since = seen.pop()[0][0]
            seen.append(((since, until), before, now))
        self._unseen.clear()

    def settle(self) -> list[Event]:
        """End the step: return a change for each version of a row that changed, rows in order of first mention."""
        events = []
        for key, cause in self._mentioned.items():
            changed = [
                (span, now, _row_of(before))
                for span, before, now in self._seen.get(key, ())
                if not is_unchanged(_row_of(before), _row_of(now))
            ]
            for batch in parted(changed):
                rows = [(span, _row_of(now)) for span, now, _ in batch]
                for span, row in self.announced.changes(key, rows, partial(self._row_at, key)):
                    now, before = what_at(batch, span[0])
                    events.append(change_of(self.name, key, row, before, span, cause, now))
                    self._explain(events[-1], now)
        self.clear()
        return events

    def _row_at(self, key: Any, time: Time) -> Row:
        return _row_of(self._versions.looking_at(time, lambda: self._first(key, GONE)))

    def clear(self) -> None:
        """Forget a step that failed."""
        super().clear()
        self._seen.clear()

    def forget(self, keys: Iterable[Any]) -> None:
        """Forget what was announced of rows for times that are forgotten; all, if nothing of them is kept."""
        self.announced.forget(keys, self._is_kept)


@attrs.define(eq=False, repr=False)
class VersionTotals(Output):
    """Totals by group, each for some time: what comes counts from when it holds until it does not."""

    name: str
    journal: Journal
    group: Aggregate
    is_table: bool = attrs.field(kw_only=True)
    is_durable: bool = attrs.field(kw_only=True)
    moment: Moment = attrs.field(kw_only=True)
    horizon: Callable[[], Time] = attrs.field(kw_only=True)
    _step: Callable[[], int] = attrs.field(kw_only=True)  # as in `Totals`
    totals: dict[Any, list[Segment]] = attrs.field(init=False, factory=dict)  # in order of time
    announced: Announced = attrs.field(init=False)
    _mentioned: dict[Any, Span] = attrs.field(init=False, factory=dict)
    _pending: dict[Any, Total] = attrs.field(init=False, factory=dict)  # what has come at this moment, less what went
    _changed: dict[Any, list[tuple[Interval, Total, Total]]] = attrs.field(init=False, factory=dict)
    """When; the total before, and now."""
    _ends: list[tuple[Time, int, Any]] = attrs.field(init=False, factory=list)
    """A heap: when something of a group ends to hold."""
    _number: int = attrs.field(init=False, default=0)

    @announced.default
    def _announced_by_then(self) -> Announced:
        return Announced(self.journal, self.horizon)

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Add a result to the total of its group, at this moment."""
        self._note(key, self.group.lift(result[1]), 1, cause)

    def take_back(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Subtract a result from the total of its group, at this moment."""
        assert self.group.inverse is not None  # Invariant: totals by version are of groups
        self._note(key, self.group.inverse(self.group.lift(result[1])), -1, cause)

    def _note(self, key: Any, value: Any, number: int, cause: Span) -> None:
        before = self._mentioned.get(key)
        self._mentioned[key] = cause if before is None else hull((before, cause))
        self._pending[key] = self._plus(self._pending.get(key, (self.group.empty, 0)), (value, number))

    def _plus(self, one: Total, other: Total) -> Total:
        total = self.group.combine(one[0], other[0])
        if self.is_durable:
            check_element(total, self.name)
        return total, one[1] + other[1]

    def look(self, moment: Moment | None = None) -> None:
        """Add what has come at the moment to the totals, until something that is seen changes."""
        assert moment is not None  # Invariant: beside versions there is one
        assert moment.at is not None
        for key, more in self._pending.items():
            put(self.totals, key, self._added(key, (moment.at, moment.next), more), self.journal)
            self._watch(key, moment.at)
            self._watch(key, moment.next)
        self._pending.clear()

    def _watch(self, key: Any, end: Time) -> None:
        """Note when something of a group may end to hold, to forget it some time."""
        if end not in (EARLIEST, LATEST):
            self._number += 1
            item = (end, self._number, key)
            self.journal.append(lambda: self._unwatch(item))
            heapq.heappush(self._ends, item)

    def _unwatch(self, item: tuple[Time, int, Any]) -> None:
        self._ends = [one for one in self._ends if one is not item]
        heapq.heapify(self._ends)

    def _watch_again(self, item: tuple[Time, int, Any]) -> None:
        self._unwatch(item)  # it may be there still
        heapq.heappush(self._ends, item)

    def watch_all(self) -> None:
        """Watch what a snapshot has brought back."""
        self._ends.clear()
        for key, segments in self.totals.items():
            for (_, end), _ in segments:
                self._watch(key, end)
        self.journal.clear()

    def _added(self, key: Any, span: Interval, more: Total) -> list[Segment]:
        """Return the segments of a group after adding ``more`` in ``span``; note what changes."""
        kept: list[Segment] = []
        rest, until = span
        changing: list[Segment] = []
        for (since, end), total in self.totals.get(key, ()):
            if end <= rest or since >= until:
                kept.append(((since, end), total))
                continue
            if since < rest:
                kept.append(((since, rest), total))
            if end > until:
                kept.append(((until, end), total))
            if rest < since:
                changing.append(((rest, since), (self.group.empty, 0)))
            changing.append(((max(since, rest), min(end, until)), total))
            rest = min(end, until)
        if rest < until:
            changing.append(((rest, until), (self.group.empty, 0)))
        for piece, total in changing:
            now = self._plus(total, more)
            self._changed.setdefault(key, []).append((piece, total, now))
            if now[1]:
                kept.append((piece, now))
        return sorted(kept, key=lambda one: one[0])

    def settle(self) -> list[Event]:
        """End the step: return a change for each version of a total that changed, in order of first mention."""
        events = []
        for key, cause in self._mentioned.items():
            changes = self._changed.get(key, ())
            changed = [(span, self._row_of(now), self._row_of(before)) for span, before, now in changes]
            if not self.is_table:
                for place, (span, row, _) in enumerate(changed):
                    value = row[0] if row else self.group.finish(self.group.empty)
                    identity = (self.name, key, self._step(), place)
                    events.append(Event(value, *times_of(span, cause), 1, self.name, identity))
                continue
            for batch in parted([one for one in changed if not is_unchanged(one[1], one[2])]):
                rows = [(span, row) for span, row, _ in batch]
                for span, row in self.announced.changes(key, rows, partial(self._row_at, key)):
                    events.append(change_of(self.name, key, row, what_at(batch, span[0])[1], span, cause))
        self.clear()
        return events

    def _row_of(self, total: Total) -> Row:
        return (self.group.finish(total[0]),) if total[1] else ()

    def _row_at(self, key: Any, time: Time) -> Row:
        found = [total for span, total in self.totals.get(key, ()) if covers((span,), time)]
        return self._row_of(found[0]) if found else ()

    def forget(self, horizon: Time) -> None:
        """Forget the totals, and what was announced of them, that held before ``horizon`` only."""
        keys = []
        while self._ends and self._ends[0][0] <= horizon:
            self.journal.append(partial(self._watch_again, self._ends[0]))
            item = heapq.heappop(self._ends)
            _, _, key = item
            rest = [one for one in self.totals.get(key, ()) if one[0][1] > horizon]
            put(self.totals, key, rest, self.journal)
            keys.append(key)
        self.announced.forget(keys, self.totals.__contains__)

    def clear(self) -> None:
        """Forget a step that failed; the journal has undone what it did."""
        self._mentioned.clear()
        self._pending.clear()
        self._changed.clear()

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the total of a group at the moment in a tuple, or the empty tuple."""
        assert self.moment.at is not None  # Invariant: one looks at a moment
        return self._row_at(key, self.moment.at)

    def rows(self) -> dict[Any, Any]:
        """Return the totals at the moment."""
        return {key: row[0] for key in self.totals if (row := self.row(key))}

    def times(self) -> list[Time]:
        """Return the times at which a total changes."""
        return sorted({bound for found in self.totals.values() for span, _ in found for bound in span} - {LATEST})


def _is_same(one: Match | None, other: Match | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(a is b for a, b in zip(one.parts, other.parts, strict=True))


def _row_of(match: Match | None) -> Row:
    return () if match is None else (match.value,)
