"""Verdict changes: what a run gives. A ship's first verdict, and each after which status, failed or missing differ.

Invariant: changes are in order of (time, mmsi); those of one ship and one time in the order in which they happened.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from examples.port.cells import moment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from dsl import Verdict
    from examples.port.inputs import Day

SCHEMA: Final = pa.schema(
    [
        ("time", pa.timestamp("us", tz="UTC")),
        ("mmsi", pa.int64()),
        ("name", pa.string()),
        ("status", pa.string()),
        ("because", pa.list_(pa.string())),
        ("missing", pa.list_(pa.string())),
    ]
)


@attrs.frozen
class Change:
    """A change of a ship's verdict: when (microseconds since the epoch), whose, to what, and why.

    Args:
        time: That of the event which caused it.
        mmsi: The ship.
        name: What she is called.
        status: allowed, restricted or unknown.
        because: The names of the requirements that fail, in the order of the rules.
        missing: What was missing to decide others, sorted.
    """

    time: int
    mmsi: int
    name: str
    status: str
    because: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def moment(self) -> datetime:
        """The time, in UTC."""
        return moment(self.time)


class ChangeLog:
    """Collects verdicts, ship by ship in their order, and keeps those that are changes."""

    def __init__(self, day: Day) -> None:
        """Collect the verdicts of ``day``, whose reports name the ships."""
        self.last: dict[int, Change] = {}
        self._changes: list[Change] = []
        self._names: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for reading in day.readings:
            if reading.source == "vessel":
                names = self._names[reading.values["mmsi"]]
                if not names or names[-1][1] != reading.values["name"]:
                    names.append((reading.time or 0, reading.values["name"]))

    def add(self, time: int, mmsi: int, status: str, because: Iterable[str], missing: Iterable[str]) -> None:
        """Add a verdict."""
        change = Change(time, mmsi, self._name(mmsi, time), status, tuple(because), tuple(sorted(set(missing))))
        before = self.last.get(mmsi)
        if before is None or _meaning(before) != _meaning(change):
            self.last[mmsi] = change
            self._changes.append(change)

    def add_verdict(self, time: int, verdict: Verdict) -> None:
        """Add a verdict of a rule pack."""
        missing = (name for reason in verdict.undecided for name in reason.missing)
        self.add(time, int(verdict.subject), verdict.status, (reason.name for reason in verdict.failed), missing)

    def drop(self, mmsi: int) -> None:
        """Forget the last verdict about a ship that is no longer considered."""
        self.last.pop(mmsi, None)

    @property
    def changes(self) -> tuple[Change, ...]:
        """All changes so far."""
        return tuple(sorted(self._changes, key=lambda change: (change.time, change.mmsi)))

    def _name(self, mmsi: int, time: int) -> str:
        names = self._names[mmsi]
        return names[max(0, bisect_right(names, time, key=lambda known: known[0]) - 1)][1]


def write_changes(changes: Iterable[Change], path: Path) -> None:
    """Write changes as Parquet, one row each."""
    rows = list(changes)
    columns = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    pq.write_table(pa.Table.from_pydict(columns, schema=SCHEMA), path)


def _meaning(change: Change) -> tuple[str, frozenset[str], tuple[str, ...]]:
    return change.status, frozenset(change.because), change.missing
