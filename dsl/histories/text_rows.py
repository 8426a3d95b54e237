"""Rows of a history as texts: a line of CSV, or an object of JSON, becomes the values of a source's fields.

What does not fit makes the row one that cannot be read, and says why; nothing is guessed.
"""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from cartesius.errors import shortened
from dsl.histories.field_columns import TIME, expected
from dsl.terms.dimensions import INSTANT, NUMBER, POSITION, TRUTH, is_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Declaration

_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")
_SIXTY_FOUR_BITS: Final = 2**63
_LOOKED_AT: Final = 1_000


class UnreadableRow(ValueError):
    """A row that cannot be read: whoever wrote it is to blame. The message says what was expected."""


def header_of(path: Path) -> list[str]:
    """Return the columns of a CSV file, or the names in the first thousand rows of one of JSON, which may leave out."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return next(csv.reader(lines), [])
    names: dict[str, None] = {}
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
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
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            reader = csv.reader(lines)
            header = next(reader, [])
            for cells in reader:
                if cells:
                    yield reader.line_num, _tried(lambda cells=cells: _of_cells(header, cells, kinds))  # type: ignore[misc]  # a default holds it
        return
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, _tried(lambda line=line: _of_object(line, kinds))  # type: ignore[misc]  # as above


def _tried(read: Callable[[], dict[str, Any]]) -> dict[str, Any] | UnreadableRow:
    try:
        return read()
    except UnreadableRow as error:
        return error


def _of_cells(header: list[str], cells: list[str], kinds: dict[str, Kind]) -> dict[str, Any]:
    if len(cells) != len(header):
        message = f"expected {len(header)} cells but got {len(cells)}"
        raise UnreadableRow(message)
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
    """Return the number that a text is, or the text."""
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _of_object(line: str, kinds: dict[str, Kind]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        message = f"expected an object of JSON but got {shortened(line.strip(), 60)!r}"
        raise UnreadableRow(message)
    return {name: _value(name, kind, row[name]) for name, kind in kinds.items() if row.get(name) is not None}


def _value(name: str, kind: Kind, given: object) -> Any:
    """Return what is stored of a value; raise `UnreadableRow` where it is none of its kind."""
    match given:
        case bool() if kind == TRUTH:
            return given
        case str() if is_text(kind):
            return given
        case [int() | float() as north, int() | float() as east] if kind == POSITION:
            return [float(north), float(east)]
        case str() if kind == INSTANT:
            return _instant(name, given)
        case bool():
            pass
        case int() if abs(given) < _SIXTY_FOUR_BITS and kind not in (TRUTH, POSITION) and not is_text(kind):
            return given if kind in (INSTANT, NUMBER) else float(given)
        case float() if kind not in (TRUTH, POSITION, INSTANT) and not is_text(kind):
            return None if given != given else given  # noqa: PLR0124 - only NaN differs from itself
    message = f"{name}: expected {expected(kind)} but got {shortened(repr(given), 60)}"
    raise UnreadableRow(message)


def _instant(name: str, text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{name}: expected a time such as 2020-06-30T12:00:00Z but got {shortened(text, 60)!r}"
        raise UnreadableRow(message) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
