"""Collecting: what the yields and retractions of a step become, outermost in the join shape.

`Events` lets them out as they are, retractions with weight -1. `Rows` keeps a table: the live results of each key, of
which the one that a full enumeration would reach first is shown; at the end of a step one change a key comes out.

Source: SEMANTICS 1.9, 1.10 and 2.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import attrs

from cartesius.data.events import Delete, Event, Update
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.data.events import Time
    from cartesius.data.journals import Journal
    from cartesius.results.provenance import Provenance
    from cartesius.storage.versions_in_order import Moment

Span: TypeAlias = "tuple[Time, Time]"
Result: TypeAlias = "tuple[tuple[float, ...], Any, Time, Time]"  # rank, value, start, end


class Output:
    """Base of what the results of a step become."""

    is_ranked: ClassVar[bool] = False  # whether it looks at the rank of results

    def look(self, moment: Moment | None = None) -> None:
        """End a batch, before its garbage is collected: most have taken the results as they came."""


@attrs.define(eq=False, repr=False)
class Events(Output):
    """The results of a step, as they come."""

    name: str
    events: list[Event] = attrs.field(init=False, factory=list)

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Take a result."""
        _, value, start, end = result
        self.events.append(Event(value, start, end, 1, self.name, identity))

    def take_back(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Take a retraction."""
        _, value, start, end = result
        self.events.append(Event(value, start, end, -1, self.name, identity))

    def settle(self) -> list[Event]:
        """End the step: return its events."""
        events, self.events = self.events, []
        return events

    def clear(self) -> None:
        """Forget a step that failed."""
        self.events.clear()


@attrs.define(eq=False, repr=False)
class Rows(Output):
    """The table that `as_table` keeps."""

    is_ranked: ClassVar[bool] = True
    name: str
    journal: Journal
    provenance: Provenance | None
    keeps_all: bool = attrs.field(kw_only=True)
    """With `retracting`: every live result of a key, otherwise only the latest step's first."""
    live: dict[Any, dict[Any, Result]] = attrs.field(init=False, factory=dict)
    shown: dict[Any, Any] = attrs.field(init=False, factory=dict)
    _mentioned: dict[Any, Span] = attrs.field(init=False, factory=dict)
    _yielded: set[Any] = attrs.field(init=False, factory=set)
    _closed: list[Any] = attrs.field(init=False, factory=list)

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Take a result as a live row of ``key``."""
        results = self._mention(key, cause)
        if not self.keeps_all:
            if key in self._yielded:
                return
            self._yielded.add(key)
            results.clear()
        results[identity] = result

    def take_back(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Take a live row of ``key`` away."""
        if identity in self.live.get(key, ()):  # a combination that failed counts for nothing
            del self._mention(key, cause)[identity]

    def _mention(self, key: Any, cause: Span) -> dict[Any, Result]:
        before = self._mentioned.get(key)
        if before is not None:
            self._mentioned[key] = hull((before, cause))
            return self.live[key]
        self._mentioned[key] = cause
        self._remember(key)
        return self.live.setdefault(key, {})

    def _remember(self, key: Any) -> None:
        had, results = key in self.live, dict(self.live.get(key, {}))
        showed, shown = key in self.shown, self.shown.get(key)

        def undo() -> None:
            both: list[tuple[dict[Any, Any], bool, Any]] = [(self.live, had, results), (self.shown, showed, shown)]
            for table, present, value in both:
                if present:
                    table[key] = value  # in its place, unless it was deleted
                else:
                    table.pop(key, None)

        self.journal.append(undo)

    def _explain(self, change: Event, made: Any) -> None:
        if self.provenance is not None:
            self.provenance.changed(change, made)

    def forget(self, key: Any) -> None:
        """Forget the row of ``key``, after this step: it stands, and nobody knows it any more."""
        self._closed.append(key)

    def let_go(self, key: Any, identity: Any) -> None:
        """Forget a result whose parts leave; with its last result a row is forgotten."""
        if identity in self.live.get(key, ()):
            self._remember(key)
            del self.live[key][identity]
            if not self.live[key]:
                self._forget(key)

    def _forget(self, key: Any) -> None:
        self.live.pop(key, None)
        self.shown.pop(key, None)

    def clear(self) -> None:
        """Forget a step that failed; the journal has undone what it did."""
        self._mentioned.clear()
        self._yielded.clear()
        self._closed.clear()

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the present row of ``key`` in a tuple, or the empty tuple."""
        return (self.shown[key],) if key in self.shown else ()

    def rows(self) -> dict[Any, Any]:
        """Return the present rows."""
        return dict(self.shown)

    def settle(self) -> list[Event]:
        """End the step: return one change for each key whose shown value changed, in order of first mention."""
        events: list[Event] = []
        for key, (since, until) in self._mentioned.items():
            results = self.live[key]
            identity = (self.name, key)
            old = (self.shown[key],) if key in self.shown else ()
            if not results:
                del self.live[key]
                if key in self.shown:
                    del self.shown[key]
                    events.append(Event(Delete(key), since, until, 1, self.name, identity, before=old))
                    self._explain(events[-1], None)
                continue
            made = min(results.items(), key=_rank)
            _, (_, value, start, end) = made
            if key in self.shown and is_unchanged(self.shown[key], value):
                continue
            self.shown[key] = value
            change: Event = Event(
                Update(key, value), min(start, since), max(end, until), 1, self.name, identity, before=old
            )
            events.append(change)
            self._explain(events[-1], made)
        for key in self._closed:
            self._remember(key)
            self._forget(key)
        self.clear()
        return events


def hull(spans: Sequence[Span]) -> Span:
    """Return the convex hull of times."""
    return min([start for start, _ in spans]), max([end for _, end in spans])


def _rank(item: tuple[Any, Result]) -> tuple[float, ...]:
    return item[1][0]
