"""Feeds as lists: a batch as a user may give it anew, in plain data that shares nothing with who gave it.

Source: SEMANTICS 1.1.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from cartesius.columns.batches.feeds import ORDER, TIMES
from cartesius.columns.vectors.vectors import RECORD, Struct
from cartesius.language.reactives import UNDECLARED

if TYPE_CHECKING:
    from cartesius.columns.batches.feeds import Feed
    from cartesius.columns.stages.rows import Rows
    from cartesius.core.engine_core import EngineCore

_TAKEN: Final = {*TIMES, ORDER, "key", "deleted", "value"}


def lists_of(engine: EngineCore, feed: Feed) -> dict[str, dict[str, list[Any]]]:
    """Return the columns of each input, by its name, in the order of arrival: what `Engine.push_many` takes."""
    lists, show = {}, partial(engine._world.calendar.plain, dated=feed.is_dated)
    for reactive, rows in feed.rows.items():
        columns: dict[str, list[Any]] = {ORDER: rows.position.tolist(), **_payload(rows)}
        if feed.is_timed:
            columns |= {name: [*map(show, getattr(rows, name).tolist())] for name in ("start", "end")}
        if rows.key is not None and reactive.key is UNDECLARED:
            columns["key"] = rows.key.to_list()
        if rows.deletes is not None:
            columns["deleted"] = rows.deletes.tolist()
        lists[engine._program.names[reactive]] = columns
    return lists


def _payload(rows: Rows) -> dict[str, list[Any]]:
    payload = rows.payload
    if not isinstance(payload, Struct) or payload.kind != RECORD or payload.valid is not None:
        return {"value": payload.to_list()}
    if not payload.names or not _TAKEN.isdisjoint(payload.names):
        return {"value": payload.to_list()}
    return {name: item.to_list() for name, item in zip(payload.names, payload.items, strict=True)}
