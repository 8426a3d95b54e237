"""The file of a source in a folder: found, checked before anything is read, and read in columns, a part at a time.

A source is `<source>.parquet`, `.csv` or `.jsonl`, or a folder of that name with such files, which are read in the
order of their names.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from cartesius.errors import InvalidArgument, near
from dsl.histories.field_columns import TIME, Wrong, expected, may_hold, read_columns, schema_of, too_large
from dsl.histories.text_rows import UnreadableRow, count_of, header_of, rows_of
from dsl.terms.dimensions import INSTANT, NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from dsl.terms.terms import Declaration

KINDS: Final = (".parquet", ".csv", ".jsonl")
"""What files there may be."""


@attrs.frozen
class Part:
    """Some rows of a file: those that can be read, and by line or row number those that cannot.

    Args:
        file: Where they are from.
        table: The rows, in order.
        wrong: The others; `Wrong.place` counts from 1, as lines and rows of a file do.
    """

    file: Path
    table: pa.Table
    wrong: tuple[Wrong, ...]


@attrs.frozen
class SourceFiles:
    """The files of one source."""

    source: Declaration
    files: tuple[Path, ...]

    def rows(self) -> int:
        """Return how many rows they have, those included that cannot be read."""
        return sum(_rows(file) for file in self.files)

    def parts(self, size: int) -> Iterator[Part]:
        """Return the rows, in order, some ``size`` at a time."""
        for file in self.files:
            yield from (
                _columns(file, self.source, size) if file.suffix == ".parquet" else _texts(file, self.source, size)
            )


def find_files(folder: Path, source: Declaration) -> SourceFiles:
    """Return the files of a source, whose columns are checked.

    Raises:
        InvalidArgument: There is none, there are two kinds, a column is missing or is of another type.
    """
    there = [folder / f"{source.name}{kind}" for kind in KINDS if (folder / f"{source.name}{kind}").exists()]
    if len(there) != 1:
        wanted = f"{source.name}.parquet, .csv or .jsonl"
        if there:
            got, fix = f"both {there[0].name} and {there[1].name}", "; keep one"
        else:
            names = sorted(path.name for path in folder.iterdir() if path.suffix in KINDS)
            got, fix = f"no such file (there are {', '.join(names) or 'none'})", _near_file(source.name, names)
        raise InvalidArgument(_said(folder, f"one file of the source {source.name!r}, {wanted},", got, fix))
    path = there[0]
    files = sorted(each for each in path.iterdir() if each.suffix == path.suffix) if path.is_dir() else [path]
    if not files:
        raise InvalidArgument(_said(path, f"files *{path.suffix} in the folder", "none", "; put them there"))
    for file in files:
        _check(file, source)
    return SourceFiles(source, tuple(files))


def _check(file: Path, source: Declaration) -> None:
    try:
        schema = pq.read_schema(file) if file.suffix == ".parquet" else None
        names = list(schema.names) if schema is not None else header_of(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(file, str(error)) from None
    for name, kind in {TIME: INSTANT, **dict(source.fields)}.items():
        if name not in names:
            if name in source.optional or not (names or file.suffix == ".csv"):
                continue  # a file without rows of JSON lacks nothing
            what = "the time of each row" if name == TIME else f"a field of the source {source.name!r}"
            got = ", ".join(names) or "none"
            raise InvalidArgument(_said(file, f"the column {name!r}, {what},", got, near(name, names)))
        if names.count(name) > 1:
            raise InvalidArgument(_said(file, f"one column {name!r}", f"{names.count(name)}", "; keep one"))
        found = None if schema is None else schema.field(name).type
        if found is not None and not may_hold(kind, found):
            fix = f"; cast the column, or declare the field {name} as what it is"
            raise InvalidArgument(_said(file, f"{expected(kind)} in the column {name!r}", str(found), fix))


def _rows(file: Path) -> int:
    return int(pq.read_metadata(file).num_rows) if file.suffix == ".parquet" else count_of(file)


def _columns(file: Path, source: Declaration, size: int) -> Iterator[Part]:
    wanted = [TIME, *(name for name, _ in source.fields)]
    before = 0
    try:
        with pq.ParquetFile(file) as opened:
            names = [name for name in wanted if name in opened.schema_arrow.names]
            for batch in opened.iter_batches(batch_size=size, columns=names):
                try:
                    table, wrong = read_columns(source, pa.Table.from_batches([batch]))
                except pa.ArrowException as error:
                    got = f"{error}, in rows {before + 1} to {before + batch.num_rows}"
                    raise InvalidArgument(_said(file, "values that fit their fields", got, "; cast them")) from None
                yield Part(file, table, tuple(Wrong(before + each.place + 1, each.why) for each in wrong))
                before += batch.num_rows
    except (pa.ArrowException, OSError) as error:  # a damaged page
        raise _unreadable(file, f"{error} (after row {before})") from None


def _texts(file: Path, source: Declaration, size: int) -> Iterator[Part]:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    wrong: list[Wrong] = []

    def part() -> Part:
        schema = schema_of(source)
        columns = {}
        for name, kind in {TIME: INSTANT, **dict(source.fields)}.items():
            values = [row.get(name) for row in rows]
            is_whole = kind == NUMBER and all(value is None or isinstance(value, int) for value in values)
            type_ = pa.int64() if name == TIME or is_whole else pa.float64() if kind == NUMBER else schema[name]
            try:
                columns[name] = pa.array(values, type_)
            except pa.ArrowInvalid as error:
                where = f"{file}, column {name}"
                raise too_large(where, error) from None
        table, more = read_columns(source, pa.table(columns))
        found = sorted([*wrong, *(Wrong(lines[each.place], each.why) for each in more)], key=lambda each: each.place)
        return Part(file, table, tuple(found))

    for line, row in rows_of(file, source):
        if isinstance(row, UnreadableRow):
            wrong.append(Wrong(line, str(row)))
        else:
            rows.append(row)
            lines.append(line)
        if len(rows) == size:
            yield part()
            rows, lines, wrong = [], [], []
    yield part()


def _unreadable(file: Path, got: str) -> InvalidArgument:
    return InvalidArgument(_said(file, "a file that can be read", got, "; write it again"))


def _near_file(source: str, names: list[str]) -> str:
    stems = {name.rpartition(".")[0]: name for name in names}
    close = get_close_matches(source, stems, n=1)
    return f"; did you mean {stems[close[0]]!r}?" if close else ""


def _said(path: Path, expected_: str, got: str, fix: str) -> str:
    return f"{path}: expected {expected_} but got {got}{fix}"
