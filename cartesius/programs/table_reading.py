"""Reading tables between pushes: all rows, one row, or the versions.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 2 (versions); SEMANTICS 3.6.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cartesius.data.events import LATEST
from cartesius.errors import InvalidArgument
from cartesius.language.reactives import check_reactive
from cartesius.programs.programs import keeps_rows
from cartesius.results.unchanged_values import is_unchanged
from cartesius.storage.version_memories import NEWEST, VersionMemory

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.batching.version_batches import Versions
    from cartesius.batching.window_batches import WindowBatch
    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Time
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.programs.programs import Program


class Table:
    """One table of a program, as it can be read: what a correlation makes, or an input."""

    def __init__(self, program: Program, table: Reactive, call: str) -> None:
        self.call = call
        self.table = check_reactive(table, call, "table")
        self.join: Join | None = program.join_of.get(table)
        self.kept = program.kept.get(table)
        self.slot: Slot | None = None
        self.versions: Versions | None = None if self.join is None else self.join.batch.versions
        if self.join is None and table.table and table in program.bound:
            found = [(join, join.slots[index]) for join, index in program.bound[table]]
            found.sort(key=lambda one: len(one[0].bindings.needed[one[1].index]))  # who sets rows aside, last
            faithful = [one for one in found if keeps_rows(*one)]
            join, self.slot = next(((j, s) for j, s in faithful if s.keeps_versions), (faithful or found)[0])
            if faithful and self.slot.keeps_versions:
                self.versions, self.kept = join.batch.versions, None
        if self.slot is None and self.kept is None and (self.join is None or not self.join.is_table):
            message = (
                f"{call}: expected a table of this engine but got {table!r}; its tables come from as_table, or"
                " table=True"
            )
            raise InvalidArgument(message)

    def rows(self, at: Time | None = None) -> dict[Any, Any]:
        """Return the rows: the newest, or those that hold at a time, or are of a window that contains it."""
        windows = self._windows(at)
        if windows is not None:
            return {key: row[0] for key in windows.rows_at(_checked_time(self.call, at)) if (row := self._row(key))}
        found: dict[Any, Any] = self._looking(at, self._rows)
        return found

    def row(self, key: Any, at: Time | None = None) -> tuple[Any, ...]:
        """Return the row of ``key`` in a tuple, or the empty tuple."""
        windows = self._windows(at)
        if windows is not None:
            return self._row(key) if key in windows.rows_at(_checked_time(self.call, at)) else ()
        found: tuple[Any, ...] = self._looking(at, lambda: self._row(key))
        return found

    def _windows(self, at: Time | None) -> WindowBatch | None:
        """Return the windows by whose times the rows are asked for."""
        return None if at is None or self.join is None else self.join.batch.windows

    def history(self) -> dict[Time, dict[Any, Any]]:
        """Return the rows at each time at which they change, from the time on that is all there."""
        versions = self._versions()
        times = versions.times()
        if self.join is not None and hasattr(self.join.batch.output, "times"):
            times = self.join.batch.output.times()
        forgotten = [time for time in times if time <= versions.horizon]
        found: dict[Time, dict[Any, Any]] = {}
        last: dict[Any, Any] = {}
        for time in [*forgotten[-1:], *(time for time in times if time > versions.horizon)]:
            rows = versions.looking_at(time, self._rows)
            if rows.keys() != last.keys() or not all(is_unchanged(last[key], row) for key, row in rows.items()):
                found[time] = last = rows
        return found

    def _versions(self) -> Versions:
        if self.versions is None:
            message = (
                f"{self.call}: expected a table that keeps versions but {self.table.name!r} knows its newest rows"
                " alone; restrict it by versioned"
            )
            raise InvalidArgument(message)
        return self.versions

    def _looking(self, at: Time | None, read: Callable[[], Any]) -> Any:
        if at is None and self.versions is None:
            return read()
        versions = self._versions()
        at = _checked_time(self.call, at)
        if at is not None and at < versions.horizon:
            message = (
                f"{self.call}: expected a time from {versions.horizon} on, as older versions are forgotten, but got"
                f" at={at!r}; keep them longer: versioned(…, retention=…)"
            )
            raise InvalidArgument(message)
        return versions.looking_at(NEWEST if at is None or at == LATEST else at, read)

    def _rows(self) -> dict[Any, Any]:
        if self.join is not None:
            return self.join.rows()
        if self.kept is not None:
            return self.kept.rows()
        assert self.slot is not None
        return {entry.row_key: entry.value for entry in self.slot.memory.all()}

    def _row(self, key: Any) -> tuple[Any, ...]:
        if self.join is not None:
            return self.join.row(key)
        if self.kept is not None:
            return self.kept.row(key)
        assert self.slot is not None
        memory = self.slot.memory
        if isinstance(memory, VersionMemory):
            return tuple([entry.value for entry in memory.rows_of(key)])
        entry = memory.row(key)
        return () if entry is None else (entry.value,)


def _checked_time(call: str, at: Any) -> Any:
    if at is not None and (isinstance(at, bool) or not isinstance(at, int | float) or math.isnan(at)):
        message = f"{call}: expected a time, an int of time units, but got at={at!r} (type={type(at).__name__})"
        raise InvalidArgument(message)
    return at
