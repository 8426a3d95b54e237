"""A history: the rows of all sources of a pack in the order in which they are used, in columns or one by one.

Invariant: rows are used by (time, place of their source in the pack, row number), whichever way they are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import attrs
import numpy as np
import pyarrow as pa

from cartesius.errors import InvalidArgument
from dsl.histories.field_columns import MOMENT, TIME, joined, schema_of, timed_rows, times_of
from dsl.histories.history_files import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cartesius import Reactive
    from dsl.histories.history_files import Part, SourceFiles
    from dsl.rule_packs import RulePack

BATCH: Final = 100_000
"""How many rows of a source are read at once."""
NAMED: Final = 1_000
"""How many of the rows that cannot be read are named; all are counted."""


@attrs.frozen
class UnreadRow:
    """A row of a history that cannot be read, and so was not used.

    >>> print(UnreadRow("vessel", "vessel.csv", 7, "length: expected numbers but got 'long'"))
    vessel.csv, row 7: length: expected numbers but got 'long'
    """

    source: str
    """Whose it is."""
    file: str
    """The name of the file."""
    row: int
    """Its line, or in Parquet its row, from 1."""
    why: str
    """What was expected, and what there was."""

    def __str__(self) -> str:
        """Say where it is, and why it cannot be read."""
        return f"{self.file}, row {self.row}: {self.why}"


@final
class History:
    r"""What the sources of a pack have observed, as files in a folder (docs/how_to/compare_rules.md).

    >>> import pathlib, tempfile
    >>> from dsl import RulePack, Source, require
    >>> from dsl.units import metres
    >>> vessel = Source("vessel", key="mmsi", mmsi=int, draught=metres)
    >>> port = RulePack("port", subject=vessel)
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "time,mmsi,draught", "2020-06-30T12:00Z,244,9.5", "2020-06-30T12:05Z,244,deep"
    >>> _ = (folder / "vessel.csv").write_text("\n".join(rows))
    >>> history = History(folder, port)
    >>> [(input_.name, row, time) for input_, row, time in history.pushes()]
    [('vessel', {'mmsi': 244, 'draught': 9.5}, 1593518400000000)]
    >>> history.number_unread, str(history.unread[0])
    (1, "vessel.csv, row 3: draught: expected numbers but got 'deep'")

    Args:
        folder: A file for each source, `<source>.parquet`, `.csv` or `.jsonl`, or a folder of that name with such
            files. Columns: ``time``, a timestamp (without a zone: in UTC) or an int of microseconds since the epoch, in
            ascending order; and the fields of the source, in their units. A field that is optional may be left out.
        pack: The rules that it is read for.

    Raises:
        InvalidArgument: There is no such folder, a source is missing, or a column is, or is of a wrong type.
    """

    def __init__(self, folder: str | Path, pack: RulePack) -> None:
        """Find the files and check their columns; nothing is read."""
        self.folder = Path(folder)
        if not self.folder.is_dir():
            message = f"{folder}: expected a folder with a file for each source but there is none; name one with --data"
            raise InvalidArgument(message)
        self.sources: dict[str, Reactive] = pack.sources
        """The inputs, in the order in which rows of one time are used."""
        self.files: dict[str, SourceFiles] = {
            name: find_files(self.folder, source) for name, source in pack.declarations.items()
        }
        """The files of each source."""
        self._number = 0
        self._unread: list[UnreadRow] = []

    @property
    def number_unread(self) -> int:
        """How many rows could not be read when it was last read."""
        return self._number

    @property
    def unread(self) -> tuple[UnreadRow, ...]:
        """Those rows, and why; of very many the first thousand."""
        return tuple(self._unread)

    def rows(self) -> int:
        """Return how many rows there are, those included that cannot be read; files of Parquet are not read for it."""
        return sum(files.rows() for files in self.files.values())

    def columns(self) -> dict[str, pa.Table]:
        """Return all rows as an Arrow table for each source: ``time``, as timestamps in UTC, and its fields.

        Raises:
            InvalidArgument: Times are out of order, or a value does not fit its field.
        """
        self._begin()
        found = {}
        for name in self.files:
            parts = list(self._parts(name, BATCH)) or [self.empty(name)]
            found[name] = joined(name, parts)
        return found

    def empty(self, name: str) -> pa.Table:
        """Return the table of a source without rows."""
        return pa.schema(list(schema_of(self.files[name].source).items())).empty_table()

    def batches(self, size: int = BATCH) -> Iterator[dict[str, pa.Table]]:
        """Return the rows a stretch of time after the other, as `columns` has them, so that memory stays bounded.

        Rows of one time are never parted. A source without rows in a stretch is left out of it.

        Args:
            size: How many rows of a source are read at once.

        Raises:
            InvalidArgument: As for `columns`.
        """
        self._begin()
        cursors = [_Cursor(name, self._parts(name, size)) for name in self.files]
        while reading := [each for each in cursors if each.more()]:
            # All rows before the earliest of the last times are held; of that time itself more may come.
            until = min(each.last for each in reading)
            yield from _stretch(cursors, until)
            for each in reading:
                if each.last == until:
                    each.read()
        yield from _stretch(cursors, None)

    def pushes(self) -> Iterator[tuple[Reactive, dict[str, Any], int]]:
        """Return the rows one by one, in order: the input, the row, and the time in microseconds since the epoch.

        Raises:
            InvalidArgument: As for `columns`.
        """
        for batch in self.batches():
            yield from in_order(self.sources, {name: timed_rows(table) for name, table in batch.items()})

    def _begin(self) -> None:
        self._number, self._unread = 0, []

    def _parts(self, name: str, size: int) -> Iterator[pa.Table]:
        """Return the rows of a source that can be read, note the others, and see to it that times are in order."""
        latest: int | None = None
        held: list[pa.Table] = []  # small files are read together
        for part in self.files[name].parts(size):
            self._number += len(part.wrong)
            for each in part.wrong[: NAMED - len(self._unread)]:
                self._unread.append(UnreadRow(name, part.file.name, each.place, each.why))
            if part.table.num_rows:
                latest = _in_order(part, latest)
                held.append(part.table)
                if sum(each.num_rows for each in held) >= size:
                    yield joined(name, held)
                    held = []
        if held:
            yield joined(name, held)


def in_order(
    inputs: Mapping[str, Reactive], rows: Mapping[str, list[tuple[dict[str, Any], int]]]
) -> Iterator[tuple[Reactive, dict[str, Any], int]]:
    """Yield rows, which are given with their times by input, in the order in which they are used."""
    listed = [
        (time, place, input_, row)
        for place, (name, input_) in enumerate(inputs.items())
        for row, time in rows.get(name, ())
    ]
    for time, _, input_, row in sorted(listed, key=lambda each: each[:2]):
        yield input_, row, time


class _Cursor:
    """A source that is read: the rows of it that are held, and whether there may be more."""

    def __init__(self, name: str, parts: Iterator[pa.Table]) -> None:
        self.name, self.parts = name, parts
        self.table: pa.Table | None = None
        self.is_read = False

    def more(self) -> bool:
        """Return whether there may be more rows than are held, of which there are some then."""
        while not self.is_read and not (self.table is not None and self.table.num_rows):
            self.read()
        return not self.is_read

    def read(self) -> None:
        """Hold more rows."""
        part = next(self.parts, None)
        self.is_read = part is None
        if part is not None:
            held = [] if self.table is None else [self.table]
            self.table = joined(self.name, [*held, part])

    @property
    def last(self) -> int:
        """The last time that is held."""
        assert self.table is not None  # Invariant: asked only after `more`
        return int(self.table.column(TIME)[-1].value)

    def before(self, until: int | None) -> pa.Table | None:
        """Let go of the rows before a time, and return them; None: all."""
        if self.table is None or not self.table.num_rows:
            return None
        place = self.table.num_rows if until is None else int(np.searchsorted(times_of(self.table), until))
        given, self.table = self.table.slice(0, place), self.table.slice(place)
        return given if place else None


def _stretch(cursors: list[_Cursor], until: int | None) -> Iterator[dict[str, pa.Table]]:
    given = {each.name: table for each in cursors if (table := each.before(until)) is not None}
    if given:
        yield given


def _in_order(part: Part, latest: int | None) -> int:
    """Return the last time of a part; refuse one that goes back."""
    times = times_of(part.table)
    back = np.flatnonzero(np.diff(times) < 0)
    if len(back) or (latest is not None and times[0] < latest):
        place = int(back[0]) + 1 if len(back) else 0
        before = int(times[place - 1]) if place else latest
        shown = [pa.scalar(time, MOMENT).as_py().isoformat() for time in (int(times[place]), before)]
        message = (
            f"{part.file}: expected times in ascending order but got {shown[0]} after {shown[1]}; sort the rows by time"
        )
        raise InvalidArgument(message)
    return int(times[-1])
