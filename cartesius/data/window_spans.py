"""Windows: what they are, and how an event is in one.

A window is a key: each of its events is delivered as an event of its own, whose key, in one space that all streams of
a correlation share, is the window. So events meet in a window alone, restrictions written to the right have a copy a
window, and results of two windows are two results. Which windows there are is a restriction's choice.

Source: ICFP 2018, doi:10.1145/3236762, Figure 15; SEMANTICS 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cartesius.data.entries import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cartesius.data.entries import Entry
    from cartesius.data.events import Window
    from cartesius.data.journals import Journal

INSIDE: Final = "in"
"""What the identity of an event in a window begins with; the window and its own identity follow."""
REPORTED: Final = "report"
"""What the identity of a result begins with that the report of a window tells; a number and its own follow."""


def inside(entry: Entry, space: int, window: Window) -> Entry:
    """Return the event as it is delivered to a window, whose key space is ``space``."""
    delivered = entry.with_value(entry.value)
    delivered._identity = (INSIDE, window, entry._identity)
    delivered.keys = (*entry.keys[:space], window, *entry.keys[space + 1 :])
    return delivered


def outside(entry: Entry, space: int) -> Entry:
    """Return the event as it came, before it was delivered to a window."""
    event = entry.with_value(entry.value)
    event._identity = origin(entry._identity)
    event.keys = (*entry.keys[:space], ABSENT, *entry.keys[space + 1 :])
    return event


def window_of(entry: Entry) -> Window | None:
    """Return the window that an event was delivered to, if any."""
    identity = entry._identity
    while type(identity) is tuple and identity and type(identity[0]) is tuple:
        identity = identity[0]  # of several events, which are in one window
    while type(identity) is tuple and len(identity) == 3:
        if identity[0] == INSIDE:
            return identity[1]  # type: ignore[no-any-return]  # what `inside` has put there
        if identity[0] != "again":
            return None
        identity = identity[1]
    return None


def origin(identity: Any) -> Any:
    """Return the identity that an event has outside its window."""
    return identity[2] if type(identity) is tuple and len(identity) == 3 and identity[0] == INSIDE else identity


class WindowRows:
    """Which rows of a table come from which window, under which key: with that they are forgotten."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.of: dict[tuple[Any, ...], dict[Any, None]] = {}  # by the key of the window's copy

    def note(self, window: tuple[Any, ...], row: Any) -> None:
        """Note a row."""
        rows = self.of.get(window)
        if rows is None:
            self.journal.append(lambda: self.of.pop(window, None))
            rows = self.of[window] = {}
        if row not in rows:
            self.journal.append(lambda: rows.pop(row, None))
            rows[row] = None

    def pop(self, window: tuple[Any, ...]) -> Iterator[Any]:
        """Forget a window; return its rows."""
        rows = self.of.get(window)
        if rows is None:
            return iter(())
        self.journal.append(lambda: self.of.__setitem__(window, rows))
        del self.of[window]
        return iter(rows)
