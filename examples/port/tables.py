"""Files of lines and of comma-separated values, plain or gzipped, read for as far as they are good.

A damaged file gives the rows before the damage, and says where it ends. A file that is not there, or lacks a column, is
nobody's dead letter: there is nothing to judge, and `UnusableFile` says what to do.
"""

from __future__ import annotations

import csv
import zlib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import attrs

from examples.port.dead_letters import reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_CHUNK: Final = 4096
_GZIP: Final = 31  # zlib's name for "with a gzip header"
_LARGEST: Final = 256 * 1024 * 1024
"""How many bytes a file may have when it is unzipped; a million AIS reports have some 100 MB."""
_MOST_LINES: Final = 2_000_000
"""How many lines it may have then: a text of nothing but ends of lines takes sixteen times its size as lists."""


class UnusableFile(Exception):
    """A file is missing or has not the columns that are needed. The message names both; whoever made it is to blame."""


@attrs.frozen
class TableRow:
    """A row as it stands in a file: its line, its text, its cells by column, and why they do not fit the header."""

    line: int
    text: str
    cells: dict[str, str]
    problem: str | None = None


@attrs.frozen
class Lines:
    """The good lines of a file, and, if it is damaged, how."""

    lines: tuple[str, ...]
    damage: str | None


@attrs.frozen
class Table:
    """The rows of a file, the number of its good lines, and, if it is damaged, how."""

    rows: tuple[TableRow, ...]
    lines: int
    damage: str | None


def read_table(path: Path, columns: Sequence[str]) -> Table:
    """Read a file that has at least ``columns``.

    Raises:
        UnusableFile: It is not there, cannot be read, or lacks a column.
    """
    found = read_lines(path)
    lines, damage = found.lines, found.damage
    header = _split(lines[0]) if lines else []
    for column in columns:
        if column not in header:
            raise UnusableFile(_missing(path, column, header, damage))
    return Table(tuple(_rows(lines, header)), len(lines), damage)


def read_lines(path: Path) -> Lines:
    """Read the lines of a file; one that is cut off counts as damage.

    Raises:
        UnusableFile: It is not there, or cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        message = f"{path}: expected a file but there is none; put it there, or say where it is with --data"
        raise UnusableFile(message) from None
    except OSError as error:
        message = f"{path}: expected a file that can be read but got: {error.strerror}"
        raise UnusableFile(message) from None
    damage = None
    is_zipped = path.suffix == ".gz"
    if is_zipped:
        content, damage = _unzipped(content)
    lines = content.decode("utf-8-sig", errors="replace").split("\n", _MOST_LINES if is_zipped else -1)
    last = lines.pop()
    if last and is_zipped and len(lines) == _MOST_LINES:
        damage = f"a file of more than {_MOST_LINES:,} lines when unzipped"
    elif last and damage is None:  # else it may be cut off anywhere
        lines.append(last)
    return Lines(tuple(lines), damage)


def cut_off(path: Path, damage: str, lines: int) -> str:
    """Return what is wrong with a file that is good for so many lines only."""
    return f"{path}: {damage}: what follows line {lines} is lost"


def _rows(lines: Sequence[str], header: list[str]) -> Iterator[TableRow]:
    for line, text in enumerate(lines[1:], start=2):
        cells = _split(text)
        if not cells:
            continue
        problem = None
        if len(cells) != len(header):
            problem = reason("row", f"{len(header)} cells", len(cells))
        yield TableRow(line, text.rstrip("\r"), dict(zip(header, cells, strict=False)), problem)


def _split(line: str) -> list[str]:
    """Split one line; a quotation mark that is not closed spoils no other."""
    try:
        return next(csv.reader([line.rstrip("\r")]), [])
    except csv.Error:
        return [line]


def _unzipped(content: bytes) -> tuple[bytes, str | None]:
    """Unzip as much as is good; say what is wrong with the rest."""
    found, rest = bytearray(), content
    try:
        while rest:
            member = zlib.decompressobj(_GZIP)
            while rest and not member.eof:
                chunk, rest = rest[:_CHUNK], rest[_CHUNK:]
                before = member.copy()
                try:
                    found += member.decompress(chunk)
                    if len(found) > _LARGEST:
                        return bytes(found[:_LARGEST]), f"a file of more than {_LARGEST:,} bytes when unzipped"
                except zlib.error:  # it raises without what was good of the chunk
                    for index in range(len(chunk)):
                        found += before.decompress(chunk[index : index + 1])
                    raise
            if not member.eof:
                return bytes(found), "a file that is cut off"
            rest = member.unused_data + rest
    except zlib.error as error:
        return bytes(found), f"a damaged file ({error})"
    return bytes(found), None if content else "an empty file"


def _missing(path: Path, column: str, header: list[str], damage: str | None) -> str:
    if not header:
        return f"{path}: expected a header with the column {column!r} but got {damage or 'an empty file'}"
    close = get_close_matches(column, header, n=1)
    hint = f"; did you rename {close[0]!r}?" if close else ""
    return f"{path}: expected a column {column!r} but its columns are {', '.join(header)}{hint}"
