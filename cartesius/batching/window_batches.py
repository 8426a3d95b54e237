"""What a correlation in windows does beside its batches: it knows which rows come from which window, and reports.

Invariant: of a window that is closed nothing is known any more.

Source: SEMANTICS 3.2 and 3.4.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cartesius.data.entries import ABSENT
from cartesius.data.window_spans import WindowRows
from cartesius.plan import facts
from cartesius.results.outputs import Rows
from cartesius.results.relations import Relations
from cartesius.results.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.batching.batches import Batch
    from cartesius.data.entries import Candidate, Entry
    from cartesius.data.events import Time


class WindowBatch:
    """The windows of one correlation, as its output sees them."""

    def __init__(self, batch: Batch, space: int) -> None:
        self.batch = batch
        self.space = space  # under each key of the spaces to its left there are windows of their own
        self.rows = WindowRows(batch.world.journal)
        patterns = batch.bindings.pattern.restrictions
        self.opener = next(one for one in patterns if facts.opens_windows(one))
        self.keep: Callable[[Time], bool] = lambda closed_at: False  # whether to keep the totals of a window, for now
        self.are_rows_shared = False  # whether windows under several keys may add to one row
        self.lost: dict[tuple[str, Any], None] = {}  # of an alternative: what others have used up in its windows

    def key(self, parts: Candidate) -> tuple[Any, ...]:
        """Return the key of the window of a candidate: the keys to its left, and the window."""
        part = next(part for part in parts if part is not None and self.contains(part))
        return tuple([key for key in part.keys[: self.space + 1] if key is not ABSENT])

    def contains(self, entry: Entry) -> bool:
        """Whether an event is in a window; a row of a table is in none."""
        return entry.keys[self.space] is not ABSENT

    def portions(self, fresh: list[list[Entry]]) -> list[list[list[Entry]]]:
        """Return what is fresh of each slot, window by window, ascending; as it is, if some is of a table."""
        windows = {entry.keys[self.space] for entries in fresh for entry in entries}
        if not windows or ABSENT in windows:
            return [fresh]
        return [
            [[e for e in entries if e.keys[self.space] == window] for entries in fresh] for window in sorted(windows)
        ]

    def lose(self, spent: Iterable[tuple[str, Any]]) -> None:
        """Note what another alternative has used up in a window: it may be held until that window is reported."""
        self._replace_lost({**self.lost, **dict.fromkeys(spent)})

    def _replace_lost(self, lost: dict[tuple[str, Any], None]) -> None:
        self.batch.world.journal.append(partial(setattr, self, "lost", self.lost))
        self.lost = lost

    def note(self, parts: Candidate, key: Any) -> None:
        """Note the row of a table that a result of a window concerns, if it is of one: a table's row alone is not."""
        is_inside = any(part is not None and self.contains(part) for part in parts)
        if is_inside and isinstance(self.batch.output, Rows | Totals):
            self.rows.note(self.key(parts), key)

    def rows_at(self, time: Time) -> dict[Any, None]:
        """Return the keys of the rows of the windows that contain a time."""
        closed_at = self.opener.closed_at
        found = [rows for window, rows in self.rows.of.items() if window[-1].start <= time < closed_at(window[-1])]
        return {key: None for rows in found for key in rows}

    def report(self, window: tuple[Any, ...], is_empty: Callable[[], bool] | None) -> None:
        """Let what is visible of a window come out, where results are relations, unless it is empty by then."""
        if isinstance(self.batch.output, Relations):
            self.batch.output.report(window, is_empty)

    def close(self, window: tuple[Any, ...], heir: tuple[Any, ...] | None, *, displaces: bool) -> None:
        """Forget a window, and rows that come from it, unless its events are displaced: they stand, unknown.

        What other keys may still add to is forgotten with the ``heir``.
        """
        if self.lost:  # under other keys a window of this end may still be open, but none that ends before
            self._replace_lost({one: None for one in self.lost if one[1][1].end >= window[-1].end})
        if displaces:
            self.rows.pop(window)
        elif not self.keep(self.opener.closed_at(window[-1])):
            self._forget(window, heir)
        if isinstance(self.batch.output, Relations):
            self.batch.output.close(window)
        if self.batch.absences is not None:
            self.batch.absences.close(window)

    def release(self, time: Time) -> None:
        """Forget the rows of the windows that were closed by ``time``, which have been kept since."""
        for window in [one for one in self.rows.of if self.opener.closed_at(one[-1]) <= time]:
            self._forget(window, None)

    def _forget(self, window: tuple[Any, ...], heir: tuple[Any, ...] | None) -> None:
        output = self.batch.output
        for key in self.rows.pop(window):
            if heir is not None:
                self.rows.note(heir, key)
                continue
            is_of_another = any(key in rows for rows in self.rows.of.values())
            if isinstance(output, Rows | Totals) and not is_of_another:
                output.forget(key)
