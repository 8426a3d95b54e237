"""Where in the user's program a rule is being written: the file, the line, and a caret under the expression.

The user's frame is the innermost one outside this package. Its current instruction has a position in the source, to
the column (PEP 657), so the caret marks the very expression. Without source text (an interactive session) there is no
excerpt, and errors do without one. Runs only when an error is about to be raised, or a block is opened. While a text of
rules is read, the place is that in the text (`reading`): the same checks then show the text's own line.

Source: PEP 657; the carets of Effekt's compiler.
"""

from __future__ import annotations

import ast
import linecache
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from dsl.command_lines import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_GENERATED = "<attrs generated"  # code that attrs has made for classes of this package
_PACKAGE = str(Path(__file__).parent.parent) + "/"  # of the whole rule language


@attrs.frozen
class Span:
    """A piece of source text: 1-based lines, columns in UTF-8 bytes as Python counts them; the end is exclusive.

    >>> Span("rules.py", 3, 3, 0, 7).line
    3
    """

    file: str
    line: int
    end_line: int
    column: int
    end_column: int

    @classmethod
    def of(cls, file: str, node: ast.AST) -> Span:
        """Return the extent of ``node``, an expression or statement of ``file``.

        >>> Span.of("rules.py", ast.parse("a + b").body[0])
        Span(file='rules.py', line=1, end_line=1, column=0, end_column=5)
        """
        numbers = (getattr(node, name, 0) or 0 for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"))
        return cls(file, *numbers)


_read: ContextVar[tuple[Span, list[str]] | None] = ContextVar("where a text is being read", default=None)


@contextmanager
def reading(span: Span, lines: list[str]) -> Iterator[None]:
    """Let errors raised inside show ``span`` of a text of rules, whose lines are ``lines``."""
    token = _read.set((span, lines))
    try:
        yield
    finally:
        _read.reset(token)


def is_reading() -> bool:
    """Whether a text of rules is being read, so that a fix is to be spelled as in the text."""
    return _read.get() is not None


def in_bytes(place: Span, lines: list[str]) -> Span:
    """Return ``place``, whose columns count characters, with columns in bytes as `excerpts` wants them."""
    if not 0 < place.line <= len(lines):
        return place
    line = lines[place.line - 1]
    last = lines[place.end_line - 1] if place.end_line <= len(lines) else ""
    start, end = len(line[: place.column].encode()), len(last[: place.end_column].encode())
    return Span(place.file, place.line, place.end_line, start, end)


def users_frame() -> FrameType | None:
    """Return the innermost frame outside this package: the one that writes the rule."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, _GENERATED)):
        frame = frame.f_back
    return frame


def current_line() -> tuple[str, int] | None:
    """Return the file and the line of what is read, or else at which the user's frame is; None where it is unknown."""
    read = _read.get()
    if read is not None:
        return read[0].file, read[0].line
    frame = users_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def current_span() -> Span | None:
    """Return the position of what is read, or else of what the user's frame evaluates; None where it is unknown."""
    read = _read.get()
    if read is not None:
        return read[0]
    frame = users_frame()
    if frame is None:
        return None
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if None in positions:
        return None
    line, end_line, column, end_column = positions
    span = Span(frame.f_code.co_filename, line or 0, end_line or 0, column or 0, end_column or 0)
    return span if span.line == span.end_line else _head(span)


def _head(span: Span) -> Span:
    """Where ``span`` is a whole `with` or `for` statement, as in Python 3.11, return what stands at its head."""
    for node in ast.walk(syntax_tree(span.file)):
        match node:
            case ast.With(items=[ast.withitem(context_expr=head)]) | ast.For(iter=head) if (
                Span.of(span.file, node) == span
            ):
                return Span.of(span.file, head)
    return span


def syntax_tree(file: str) -> ast.AST:
    """Return the syntax tree of ``file``, an empty one if its text is unknown or does not parse."""
    try:
        return ast.parse("".join(source_lines(file)))
    except SyntaxError:
        return ast.Module([], [])


def source_lines(file: str) -> list[str]:
    """Return the lines of ``file`` as `linecache` knows them, doctests and notebooks included; [] if it does not.

    Of a text that is being read, its own lines.
    """
    read = _read.get()
    if read is not None and read[0].file == file:
        return read[1]
    frame = users_frame()
    return linecache.getlines(file, None if frame is None else frame.f_globals)


def excerpt(span: Span | None = None) -> str:
    """Show the user's line with a caret under ``span``, by default under what is being evaluated; "" without source.

    A span of several lines shows its first line. What would move a terminal's caret is escaped.
    """
    span = current_span() if span is None else span
    if span is None:
        return ""
    where = f'  File "{span.file}", line {span.line}'
    lines = source_lines(span.file)
    if not 0 < span.line <= len(lines):
        return where
    raw = lines[span.line - 1].rstrip("\n")
    encoded = raw.encode()
    text = raw.strip()
    indent = len(raw) - len(raw.lstrip())
    start = len(encoded[: span.column].decode(errors="replace")) - indent
    end = len(encoded[: span.end_column].decode(errors="replace")) - indent if span.end_line == span.line else len(text)
    text, start = text.replace("\t", " "), max(0, start)
    before, marked, behind = (printable(each) for each in (text[:start], text[start:end], text[end:]))
    return f"{where}\n    {before}{marked}{behind}\n    {' ' * len(before)}{'^' * max(1, len(marked))}"
