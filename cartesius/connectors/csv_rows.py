"""CSV rows: which lines of a file make a row, and the texts of its fields.

As the module csv has it, a quote opens a quotation at the beginning of a field only: ``5" pipe`` is a field as it is. A
row goes over several lines while a quotation is open. One that nobody closes makes its first line no row, and no more:
the lines after it are read for themselves.

Source: RFC 4180.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import deque
from typing import TYPE_CHECKING, Final

from cartesius.connectors.row_items import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST: Final = 1 << 19
"""How many bytes a row of several lines has at most: so a quotation that nobody closes is told while a file grows."""
_QUOTED: Final = rb'[^"]*+(?:""[^"]*+)*+'
_WITHIN: Final = re.compile(_QUOTED)
_FIELD: Final = rb'(?:"' + _QUOTED + rb'"[^,]*+|[^",][^,]*+|)'
_CLOSED: Final = re.compile(rb"(?:" + _FIELD + rb",)*+" + _FIELD)


def whole_rows(lines: Iterator[bytes], *, is_last: bool) -> Iterator[tuple[bytes, bool]]:
    r"""Iterate over rows, each as its lines in one, and whether it is one; False: a line with a quotation never closed.

    >>> list(whole_rows(iter([b'1,"a\n', b'b"\n', b'2,"c\n', b"3,d\n"]), is_last=True))
    [(b'1,"a\nb"\n', True), (b'2,"c\n', False), (b'3,d\n', True)]

    Args:
        lines: The lines, with their ends.
        is_last: Whether nothing follows; else a row whose quotation is open waits.
    """
    again: deque[bytes] = deque()  # lines behind one that is no row
    row: list[bytes] = []
    length = 0
    while True:
        if line := again.popleft() if again else next(lines, b""):
            is_open = _is_open(line, bool(row))
            row.append(line)
            length += len(line)
            if is_open is False:
                yield b"".join(row), True
                row, length = [], 0
                continue
            if is_open and length <= _LONGEST:
                continue
        elif not (row and is_last):
            return
        yield row[0], False
        again.extendleft(reversed(row[1:]))
        row, length = [], 0


def _is_open(line: bytes, was_open: bool) -> bool | None:
    """Whether a quotation is open behind a line; None: that from the line before is closed in the midst of a field.

    Then the quote is one that opens, of a field further down.
    """
    if b'"' not in line:
        return was_open
    line = line.removeprefix(codecs.BOM_UTF8)
    if was_open:
        place = _WITHIN.match(line).end()  # type: ignore[union-attr]  # it matches anything
        if place == len(line):
            return True
        line = line[place + 1 :]
        if line and line[:1] not in b",\r\n":
            return None
    return _CLOSED.fullmatch(line) is None


def texts_of(row: bytes, *, is_whole: bool = True) -> list[str]:
    """Return the texts of a row's fields; of one that `whole_rows` says to be none, the reason.

    >>> texts_of(b'5" pipe,"a ""b"", c"')
    ['5" pipe', 'a "b", c']

    Raises:
        Unreadable: It is no UTF-8, or no row, or has a field that is longer than ``csv.field_size_limit()``.
    """
    if not is_whole:
        reason = "a field begins with a quote, and no other one ends it"
        raise Unreadable(reason)
    try:
        return next(csv.reader([row.decode("utf-8-sig").rstrip("\r\n")]), [])
    except (csv.Error, UnicodeDecodeError) as error:
        raise Unreadable(str(error)) from None
