"""Journalled changes: what is put into a table of the state, and how that is undone.

Source: SEMANTICS 1.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def put(table: dict[Any, Any], key: Any, value: Any, journal: list[Callable[[], None]]) -> None:
    """Put ``value`` under ``key``, or drop the key if there is nothing in it; note how to undo that."""
    before = table.get(key)
    _set(table, key, value)
    journal.append(lambda: _set(table, key, before))


def _set(table: dict[Any, Any], key: Any, value: Any) -> None:
    if value:
        table[key] = value
    else:
        table.pop(key, None)
