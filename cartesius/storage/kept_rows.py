"""The rows of an input table, kept once for all correlations that keep none of their own.

A change of a table then comes with the row that it replaces, and a restriction need not remember it.

Source: SEMANTICS 2.3 (operators that add no state).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import attrs

from cartesius.data.entries import ABSENT
from cartesius.data.events import Delete, Event

if TYPE_CHECKING:
    from cartesius.data.journals import Journal


class Standing(Protocol):
    """What knows the present rows of a table by key: a correlation, or `KeptRows`."""

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the present row of ``key`` in a tuple, or the empty tuple."""

    def rows(self) -> dict[Any, Any]:
        """Return the present rows."""


class KeptRows:
    """The present rows of one input, by key."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.present: dict[Any, Any] = {}
        self._deleted: list[Any] = []  # keys whose place is kept until the next push, in case this one fails

    def change(self, event: Event) -> Event:
        """Take a change in; return it with the row that it replaces."""
        self._drop_deleted()
        key = event.value.key
        was_there, value = key in self.present, self.present.get(key)
        before = self.row(key)

        def undo() -> None:
            if was_there:
                self.present[key] = value
            else:
                self.present.pop(key, None)

        self.journal.append(undo)
        if not isinstance(event.value, Delete):
            self.present[key] = event.value.value
        elif was_there:
            self.present[key] = ABSENT
            self._deleted.append(key)
        return attrs.evolve(event, before=before)

    def keep(self, key: Any, value: Any) -> None:
        """Take a change in for good, ``ABSENT`` for a deletion. There is no way back."""
        self._drop_deleted()
        if value is ABSENT:
            self.present.pop(key, None)
        else:
            self.present[key] = value

    def _drop_deleted(self) -> None:
        for key in self._deleted:
            if self.present.get(key) is ABSENT:
                del self.present[key]
        self._deleted.clear()

    def row(self, key: Any) -> tuple[Any, ...]:
        """Return the present row of ``key`` in a tuple, or the empty tuple."""
        value = self.present.get(key, ABSENT)
        return () if value is ABSENT else (value,)

    def rows(self) -> dict[Any, Any]:
        """Return the present rows."""
        return {key: value for key, value in self.present.items() if value is not ABSENT}
