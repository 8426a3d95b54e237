"""Outputs of a correlation with versions: tables of which each row, or total, holds for some time.

A change says from when on it holds, which is its time, and until when: so a change may correct an older version.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 4; SEMANTICS 3.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from cartesius.entries import FRESH, GONE
from cartesius.events import EARLIEST, LATEST, Delete, Event, Update
from cartesius.outputs import hull, is_unchanged
from cartesius.validity import covers
from cartesius.views import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.events import Time
    from cartesius.matches import Match
    from cartesius.outputs import Result, Span
    from cartesius.totals import Aggregate
    from cartesius.validity import Interval
    from cartesius.versions import Moment

Total: TypeAlias = tuple[Any, int]
"""An element of a group, and of how many results it is the total."""
Segment: TypeAlias = "tuple[Interval, Total]"


class VersionView(View):
    """A table whose rows are looked up at each moment that a batch concerns."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
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
        events = [
            change
            for key, cause in self._mentioned.items()
            for span, before, now in self._seen.get(key, ())
            if (change := self._change(key, before, now, cause, span)) is not None
        ]
        self.clear()
        return events

    def clear(self) -> None:
        """Forget a step that failed."""
        super().clear()
        self._seen.clear()


class VersionTotals:
    """Totals by group, each for some time: what comes counts from when it holds until it does not."""

    def __init__(
        self,
        name: str,
        journal: list[Callable[[], None]],
        group: Aggregate,
        *,
        is_table: bool,
        moment: Moment,
        horizon: Callable[[], Time],
    ) -> None:
        self.name = name
        self.journal = journal
        self.group = group
        self.is_table = is_table
        self.moment = moment
        self.horizon = horizon
        self.totals: dict[Any, list[Segment]] = {}  # in order of time
        self._mentioned: dict[Any, Span] = {}
        self._pending: dict[Any, Total] = {}  # what has come at this moment, less what has gone
        self._changed: list[tuple[Any, Interval, Total, Total]] = []

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Add a result to the total of its group, at this moment."""
        self._note(key, self.group.lift(result[1]), 1, cause)

    def take_back(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Subtract a result from the total of its group, at this moment."""
        self._note(key, self.group.inverse(self.group.lift(result[1])), -1, cause)

    def _note(self, key: Any, value: Any, number: int, cause: Span) -> None:
        before = self._mentioned.get(key)
        self._mentioned[key] = cause if before is None else hull((before, cause))
        self._pending[key] = self._plus(self._pending.get(key, (self.group.empty, 0)), (value, number))

    def _plus(self, one: Total, other: Total) -> Total:
        return self.group.combine(one[0], other[0]), one[1] + other[1]

    def look(self, moment: Moment | None = None) -> None:
        """Add what has come at the moment to the totals, until something that is seen changes."""
        assert moment is not None  # Invariant: beside versions there is one
        assert moment.at is not None
        for key, more in self._pending.items():
            self._put(key, self._added(key, (moment.at, moment.next), more))
        self._pending.clear()

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
            self._changed.append((key, piece, total, now))
            if now[1]:
                kept.append((piece, now))
        horizon = self.horizon()
        return sorted((one for one in kept if one[0][1] > horizon), key=lambda one: one[0])

    def _put(self, key: Any, segments: list[Segment]) -> None:
        before = self.totals.pop(key, None)
        if segments:
            self.totals[key] = segments

        def undo() -> None:
            self.totals.pop(key, None)
            if before is not None:
                self.totals[key] = before

        self.journal.append(undo)

    def settle(self) -> list[Event]:
        """End the step: return a change for each version of a total that changed, in order of first mention."""
        events = []
        for key, cause in self._mentioned.items():
            for other, span, before, now in self._changed:
                if other == key:
                    events += self._change(key, span, before, now, cause)
        self.clear()
        return events

    def _change(self, key: Any, span: Interval, before: Total, now: Total, cause: Span) -> list[Event]:
        start, end = cause if span[0] == EARLIEST else (min(cause[0], span[0]), span[0])
        value = self.group.finish(now[0])
        identity = (self.name, key)
        if not self.is_table:
            return [Event(value, start, end, 1, self.name, identity)]
        old = (self.group.finish(before[0]),) if before[1] else ()
        if not now[1]:
            change: Update | Delete = Delete(key)
        elif old and is_unchanged(old[0], value):
            return []
        else:
            change = Update(key, value)
        return [Event(change, start, end, 1, self.name, identity, span, old)] if old or now[1] else []

    def clear(self) -> None:
        """Forget a step that failed; the journal has undone what it did."""
        self._mentioned.clear()
        self._pending.clear()
        self._changed.clear()

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the total of a group at the moment in a tuple, or the empty tuple."""
        at = self.moment.at
        assert at is not None  # Invariant: one looks at a moment
        found = [total for span, (total, _) in self.totals.get(key, ()) if covers((span,), at)]
        return tuple([self.group.finish(total) for total in found])

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
