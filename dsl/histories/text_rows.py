"""Rows of a history as texts: a line of CSV, or an object of JSON, becomes the values of a source's fields.

What does not fit makes the row one that cannot be read, and says why; nothing is guessed. Where quotes do not say which
lines a row has, each line of it is one that cannot be read.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeGuard

from cartesius.errors import shortened
from dsl.histories.field_columns import TIME, expected
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TRUTH, is_text
from dsl.terms.instants import instant_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Declaration

P = ParamSpec("P")
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_DIGITS: Final = 100  # of an int, which Python reads up to 4,300
_SIXTY_FOUR_BITS: Final = 2**63
_LOOKED_AT: Final = 1_000


class UnreadableRow(ValueError):
    """A row that cannot be read: whoever wrote it is to blame. The message says what was expected."""


def header_of(path: Path) -> list[str]:
    """Return the columns of a CSV file, or the names in the first thousand rows of one of JSON, which may leave out.

    Raises:
        UnreadableRow: The header of a CSV file is none.
    """
    with _opened(path) as lines:
        if path.suffix == ".csv":
            return _header(csv.reader(lines, strict=True))
        names: dict[str, None] = {}
        for line in islice(lines, _LOOKED_AT):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            names |= dict.fromkeys(row) if isinstance(row, dict) else {}
        return list(names)


def rows_of(path: Path, source: Declaration) -> Iterator[tuple[int, dict[str, Any] | UnreadableRow]]:
    """Return the rows of a file by line, or why one cannot be read. Times are microseconds since the epoch."""
    kinds = {TIME: INSTANT, **dict(source.fields)}
    with _opened(path) as lines:
        if path.suffix == ".csv":
            header, records = _records(lines)
            for number, cells in records:
                if not isinstance(cells, UnreadableRow):
                    yield number, _tried(_of_cells, cells, header, kinds)
                else:
                    yield number, cells
            return
        for number, line in _filled(lines):
            yield number, _tried(_of_object, line, kinds)


def count_of(path: Path) -> int:
    """Return how many rows `rows_of` returns: a line ends where it ends there."""
    with _opened(path) as lines:
        return sum(1 for _ in (_records(lines)[1] if path.suffix == ".csv" else _filled(lines)))


def _opened(path: Path) -> TextIO:
    """Open a file, whose bytes that are not UTF-8 are lone surrogates then, which `_is_utf8` finds."""
    newline = "" if path.suffix == ".csv" else None  # within quotes the ends of lines are what they are
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline=newline)


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _header(reader: Iterator[list[str]]) -> list[str]:
    try:
        header = next(reader, [])
    except csv.Error as error:
        message = f"a header that is wrong: {error}"
        raise UnreadableRow(message) from None
    if not all(map(_is_utf8, header)):
        message = "a header that is not UTF-8"
        raise UnreadableRow(message)
    return header


def _filled(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, 1) if line.strip())


def _records(lines: Iterable[str]) -> tuple[list[str], Iterator[tuple[int, list[str] | UnreadableRow]]]:
    """Return the header of a CSV file, and the cells of its rows by line."""
    reader = csv.reader(lines, strict=True)
    header = _header(reader)

    def records() -> Iterator[tuple[int, list[str] | UnreadableRow]]:
        while True:
            first = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:  # the reader goes on at the next line
                wrong = f"expected cells of CSV from line {first} on but got: {error}"
            else:
                if len(cells) == len(header):
                    yield reader.line_num, cells
                    continue
                if not cells:
                    continue
                wrong = f"expected {len(header)} cells but got {len(cells)}"
            yield from ((line, UnreadableRow(wrong)) for line in range(first, reader.line_num + 1))

    return header, records()


def _tried(read: Callable[P, dict[str, Any]], *args: P.args, **options: P.kwargs) -> dict[str, Any] | UnreadableRow:
    try:
        return read(*args, **options)
    except UnreadableRow as error:
        return error


def _of_cells(cells: list[str], header: list[str], kinds: dict[str, Kind]) -> dict[str, Any]:
    _demand_utf8(",".join(cells))
    given = dict(zip(header, cells, strict=True))
    return {name: _of_text(name, kind, given[name]) for name, kind in kinds.items() if name in given}


def _of_text(name: str, kind: Kind, text: str) -> Any:
    if text == "":
        return None
    if is_text(kind):
        return text
    said = text.strip()
    if kind == TRUTH and said.lower() in _TRUTHS:
        return _TRUTHS[said.lower()]
    if kind == POSITION:
        return _value(name, kind, [_number(part) for part in re.split(r"[\s,;]+", said)])
    if kind == INSTANT and _WHOLE.fullmatch(said) is None:
        return _value(name, kind, said)
    return _value(name, kind, _number(said))


def _number(text: str) -> int | float | str:
    """Return the number that a text is, as plain decimals or with an exponent; or the text."""
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) <= _MOST_DIGITS else text
    return float(text) if _DECIMAL.fullmatch(text) else text


def _demand_utf8(row: str) -> None:
    if not _is_utf8(row):
        got = repr(row.strip().encode(errors="surrogateescape"))
        message = f"expected UTF-8 but got {shortened(got, 60)}; save the file as UTF-8"
        raise UnreadableRow(message)


def _of_object(line: str, kinds: dict[str, Kind]) -> dict[str, Any]:
    _demand_utf8(line)
    try:
        row = _JSON.decode(line)
    except UnreadableRow:
        raise
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        message = f"expected an object of JSON but got {shortened(line.strip(), 60)!r}"
        raise UnreadableRow(message)
    return {name: _value(name, kind, row[name]) for name, kind in kinds.items() if row.get(name) is not None}


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        name, times = Counter(name for name, _ in pairs).most_common(1)[0]
        message = f"expected each name once but got {shortened(repr(name), 60)} {times} times"
        raise UnreadableRow(message)
    return row


_JSON: Final = json.JSONDecoder(object_pairs_hook=_unrepeated)


def _value(name: str, kind: Kind, given: object) -> Any:
    """Return what is stored of a value; raise `UnreadableRow` where it is none of its kind."""
    match given:
        case bool() if kind == TRUTH:
            return given
        case str() if is_text(kind) and _is_utf8(given):
            return given
        case [north, east] if kind == POSITION and _is_number(north) and _is_number(east):
            return [float(north), float(east)]
        case str() if kind == INSTANT:
            return _instant(name, given)
        case bool():
            pass
        case int() if _is_number(given) and kind not in (TRUTH, POSITION) and not is_text(kind):
            return given if kind in (INSTANT, NUMBER) else float(given)
        case float() if kind not in (TRUTH, POSITION, INSTANT) and not is_text(kind):
            if isnan(given):
                return None
            if isfinite(given):
                return given
    message = f"{name}: expected {expected(kind)} but got {shortened(repr(given), 60)}"
    raise UnreadableRow(message)


def _is_number(given: object) -> TypeGuard[float]:
    match given:
        case bool():
            return False
        case int():
            return abs(given) < _SIXTY_FOUR_BITS
    return isinstance(given, float) and isfinite(given)


def _instant(name: str, text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{name}: expected a time such as 2020-06-30T12:00:00Z but got {shortened(text, 60)!r}"
        raise UnreadableRow(message) from None
    return instant_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
