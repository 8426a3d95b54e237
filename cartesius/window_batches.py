"""What a correlation in windows does beside its batches: it knows which rows come from which window, and reports.

Invariant: of a window that is closed nothing is known any more.

Source: SEMANTICS 3.2 and 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cartesius.entries import ABSENT
from cartesius.outputs import Rows
from cartesius.relations import Relations
from cartesius.totals import Totals
from cartesius.windows import WindowRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.batches import Batch
    from cartesius.entries import Entry
    from cartesius.enumeration import Candidate
    from cartesius.events import Time


class WindowBatch:
    """The windows of one correlation, as its output sees them."""

    def __init__(self, batch: Batch, space: int) -> None:
        self.batch = batch
        self.space = space  # under each key of the spaces to its left there are windows of their own
        self.rows = WindowRows(batch.world.journal)

    def key(self, parts: Candidate) -> tuple[Any, ...]:
        """Return the key of the window of a candidate: the keys to its left, and the window."""
        part = next(part for part in parts if part is not None and part.keys[self.space] is not ABSENT)
        return tuple([key for key in part.keys[: self.space + 1] if key is not ABSENT])

    def portions(self, fresh: list[list[Entry]]) -> list[list[list[Entry]]]:
        """Return what is fresh of each slot, window by window, ascending; as it is, if some is of a table."""
        windows = {entry.keys[self.space] for entries in fresh for entry in entries}
        if not windows or ABSENT in windows:
            return [fresh]
        return [
            [[e for e in entries if e.keys[self.space] == window] for entries in fresh] for window in sorted(windows)
        ]

    def note(self, parts: Candidate, key: Any, identity: Any) -> None:
        """Note a row that comes from a window."""
        if isinstance(self.batch.output, Totals):
            self.rows.note(self.key(parts), (key, None))
        elif isinstance(self.batch.output, Rows):
            self.rows.note(self.key(parts), (key, identity))

    def rows_at(self, time: Time) -> dict[Any, None]:
        """Return the keys of the rows of the windows that contain a time."""
        found = [rows for window, rows in self.rows.of.items() if window[-1].holds(time, time)]
        return {key: None for rows in found for key, _ in rows}

    def report(self, window: tuple[Any, ...], is_empty: Callable[[], bool] | None) -> None:
        """Let what is visible of a window come out, where results are relations, unless it is empty by then."""
        if isinstance(self.batch.output, Relations):
            self.batch.output.report(window, is_empty)

    def close(self, window: tuple[Any, ...], *, displaces: bool) -> None:
        """Forget a window; its rows stand, unknown, unless its events are displaced."""
        output = self.batch.output
        for key, identity in self.rows.pop(window):
            if isinstance(output, Rows | Totals) and not displaces:
                output.forget(key, identity)
        if isinstance(output, Relations):
            output.close(window)
