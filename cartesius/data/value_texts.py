"""How what users give is shown to them: times, durations and functions as they are written."""

from __future__ import annotations

import linecache
from datetime import datetime, timedelta
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

_LONGEST = 60


def shown(value: Any) -> str:
    """Return a value as one writes it: times without their module, a function by its name, a lambda by its text.

    >>> from datetime import timedelta
    >>> shown(timedelta(minutes=10)), shown("x"), shown(len)
    ('timedelta(seconds=600)', "'x'", 'len')
    """
    if isinstance(value, timedelta | datetime):
        return repr(value).replace("datetime.", "")
    if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
        return _written(value.__code__) or "<lambda>"
    if type(value) is partial:
        named = [f"{name}={shown(one)}" for name, one in value.keywords.items()]
        return f"partial({', '.join([shown(value.func), *map(shown, value.args), *named])})"
    name = getattr(value, "__qualname__", None)
    return name if callable(value) and name else repr(value)


def _written(code: CodeType) -> str:
    """Return the text of a lambda, if its source is there, it is on one line, and short."""
    places = [
        (line, start, end)
        for line, until, start, end in code.co_positions()
        if line is not None and line == until and start is not None and end is not None and end > start
    ]
    lines = {line for line, _, _ in places}
    if len(lines) != 1:
        return ""
    text = linecache.getline(code.co_filename, lines.pop()).encode()
    body = text[min(start for _, start, _ in places) : max(end for _, _, end in places)].decode(errors="replace")
    names = " ".join(["lambda", ", ".join(code.co_varnames[: code.co_argcount])]).rstrip()
    return f"{names}: {body}" if body and len(body) <= _LONGEST else ""
