"""Column names: what the fields of results are called where they become columns of a frame, in process and on Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cartesius.expressions.expressions import Expression, Field, KeyOf, Tuple, WindowOf


def column_names(expression: Any) -> list[str]:
    """Return what the items of a tuple or dict are called: their field, if no other has it, else ``_1``, ``_2``, …."""
    if not isinstance(expression, Tuple):
        return [str(name) for name in expression.names]
    own = [_name(item) for item in expression.items]
    count = Counter(own)
    return [name if name and count[name] == 1 else f"_{place}" for place, name in enumerate(own, start=1)]


def _name(item: Expression) -> str:
    match item:
        case Field(name=name):
            return name
        case KeyOf():
            return "key"
        case WindowOf():
            return "window"
    return ""
