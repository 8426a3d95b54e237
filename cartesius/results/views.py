"""Views: a table whose rows follow from the memory, so that nothing of it is kept.

Where results are taken back when their parts are displaced, and the key of a row is that of a slot, the row of a key is
the first combination, in the order of enumeration, of what is in memory under that key. It is looked up when a step
concerns it, in the old memory and in the new one, and when somebody asks.

Source: SEMANTICS 2.2 and 2.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cartesius.data.entries import FRESH, GONE
from cartesius.data.events import Delete, Event, Update
from cartesius.results.outputs import Output, hull
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.language.matches import Match
    from cartesius.results.outputs import Result, Span
    from cartesius.results.provenance import Provenance
    from cartesius.storage.versions_in_order import Moment

First: TypeAlias = "Callable[[Any, int], Match | None]"
"""The first match of a key, without the entries in a state."""


@attrs.define(eq=False, repr=False)
class View(Output):
    """The table of a correlation whose rows are looked up."""

    name: str
    _first: First
    _present: Callable[[Any], Match | None]
    _keys: Callable[[], Iterable[Any]]
    _is_kept: Callable[[Any], bool]
    _described: Callable[[Match], tuple[Any, Result]]
    provenance: Provenance | None
    _mentioned: dict[Any, Span] = attrs.field(init=False, factory=dict)
    _unseen: dict[Any, None] = attrs.field(init=False, factory=dict)  # mentioned in this batch
    _changes: dict[Any, tuple[Match | None, Match | None]] = attrs.field(init=False, factory=dict)
    """The row before the step, and now."""

    def add(self, key: Any, result: Result, identity: Any, cause: Span) -> None:
        """Note that the row of ``key`` may have changed."""
        before = self._mentioned.get(key)
        self._mentioned[key] = cause if before is None else hull((before, cause))
        self._unseen[key] = None

    take_back = add

    def look(self, moment: Moment | None = None) -> None:
        """End a batch, before its garbage is collected: see what the rows mentioned were, and are."""
        for key in self._unseen:
            before = self._changes[key][0] if key in self._changes else self._first(key, FRESH)
            self._changes[key] = (before, self._first(key, GONE))
        self._unseen.clear()

    def settle(self) -> list[Event]:
        """End the step: return one change for each key whose row changed, in order of first mention."""
        events = [
            event
            for key, cause in self._mentioned.items()
            if (event := self._change(key, *self._changes[key], cause)) is not None
        ]
        self.clear()
        return events

    def _change(self, key: Any, before: Match | None, now: Match | None, cause: Span) -> Event | None:
        old = () if before is None else (before.value,)
        since, until = cause
        if now is None:
            if before is None:
                return None
            value: Update | Delete = Delete(key)
        elif old and is_unchanged(old[0], now.value):
            return None
        else:
            value = Update(key, now.value)
            since, until = min(now.start, since), max(now.end, until)
        change = Event(value, since, until, 1, self.name, (self.name, key), before=old)
        self._explain(change, now)
        return change

    def _explain(self, change: Event, match: Match | None) -> None:
        if self.provenance is not None:
            self.provenance.changed(change, None if match is None else self._described(match))

    def clear(self) -> None:
        """Forget a step that failed."""
        self._mentioned.clear()
        self._unseen.clear()
        self._changes.clear()

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the present row of ``key`` in a tuple, or the empty tuple."""
        match = self._present(key)
        return () if match is None else (match.value,)

    def rows(self) -> dict[Any, Any]:
        """Return the present rows."""
        return {key: row[0] for key in self._keys() if (row := self.row(key))}
