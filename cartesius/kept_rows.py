"""The rows of an input table, kept once for all correlations that keep none of their own.

A change of a table then comes with the row that it replaces, and a restriction need not remember it.

Source: SEMANTICS 2.3 (operators that add no state).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius.events import Delete, Event

if TYPE_CHECKING:
    from collections.abc import Callable


class KeptRows:
    """The present rows of one input, by key."""

    def __init__(self, journal: list[Callable[[], None]]) -> None:
        self.journal = journal
        self.present: dict[Any, Any] = {}

    def change(self, event: Event) -> Event:
        """Take a change in; return it with the row that it replaces."""
        key = event.value.key
        before = self.row(key)
        if isinstance(event.value, Delete):
            self.present.pop(key, None)
        else:
            self.present[key] = event.value.value

        def undo() -> None:
            self.present.pop(key, None)
            if before:
                self.present[key] = before[0]

        self.journal.append(undo)
        return attrs.evolve(event, before=before)

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the present row of ``key`` in a tuple, or the empty tuple."""
        return (self.present[key],) if key in self.present else ()

    def rows(self) -> dict[Any, Any]:
        """Return the present rows."""
        return dict(self.present)
