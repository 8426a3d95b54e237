"""Drift of columns: what differs between those that a state was written with and those that come now.

A column that is missing, or of another type, is refused by name: the values in memory have it, and new ones would not.
A new column was not there before, so nothing can depend on it: it is ignored, and reported. The columns by which rows
are spread over the buckets, and the number of these, never change: rows of a key would come where its memory is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Columns: TypeAlias = Mapping[str, Mapping[str, str]]
"""The type of each column of each source."""


def moved(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Say where rows are spread otherwise; empty if they go where they went.

    >>> from spark_bridge.columns.column_drifts import moved
    >>> moved({"buckets": 2, "keys": {"ship": "mmsi"}}, {"buckets": 8, "keys": {"ship": "mmsi"}})
    'its states are in 2 buckets, which is fixed for the life of a checkpoint, and not in 8; write buckets=2'

    Args:
        before: What is said of it with a state: ``buckets``, their number, and ``keys``, the column by which each
            source is split, ``static``, the digests of static frames, and ``deleted``, the columns that delete rows.
        now: Likewise of the query.
    """
    count, now_count = before["buckets"], now["buckets"]
    if count != now_count:
        return (
            f"its states are in {count} bucket{'s' * (count != 1)}, which is fixed for the life of a checkpoint, and"
            f" not in {now_count}; write buckets={count}"
        )
    keys, now_keys = before["keys"], now["keys"]
    if keys != now_keys and count > 1:
        return f"its rows were spread over the buckets by {keys}, and not by {now_keys}; write partition_by={keys}"
    deleted, now_deleted = before.get("deleted"), now.get("deleted")
    if deleted is not None and deleted != now_deleted:  # what deleted a row would be an update of it, or the reverse
        was = f"deleted={deleted or None}"
        return f"its states are of {was}, and it has deleted={now_deleted or None} now; write {was}"
    if before.get("live", False) != now.get("live", False):
        had, has = ("had", "has not") if before.get("live") else ("had not", "has")
        return f"its program {had} changes=, and {has} now; give it as it was"
    static, now_static = before.get("static", {}), now.get("static", {})
    for name in {**static, **now_static}:
        if name not in now_static or name not in static:
            was, is_ = ("a static frame", "a stream") if name in static else ("a stream", "a static frame")
            return f"the frame of {name!r} was {was} and is {is_}; give it as it was"
        if static[name] != now_static[name]:
            return (
                f"the static frame of {name!r} has other rows than those that its states have used; give what changes"
                " as a stream, or these rows as they were"
            )
    return ""


def lost(before: Columns, now: Columns) -> str:
    """Say what is missing, or of another type; empty if nothing is.

    >>> from spark_bridge.columns.column_drifts import lost
    >>> lost({"ship": {"mmsi": "bigint", "draught": "double"}}, {"ship": {"mmsi": "bigint"}})
    "'ship' has no column 'draught' (double) any more; bring it back, if need be as nulls"
    """
    for source, columns in before.items():
        here = now.get(source, {})
        for name, kind in columns.items():
            if name not in here:
                return f"{source!r} has no column {name!r} ({kind}) any more; bring it back, if need be as nulls"
            if here[name] != kind:
                return f"the column {name!r} of {source!r} was {kind} and is {here[name]}; cast it"
    return ""


def gained(before: Columns, now: Columns) -> dict[str, list[str]]:
    """Return the new columns of each source that has some.

    >>> from spark_bridge.columns.column_drifts import gained
    >>> gained({"ship": {"mmsi": "bigint"}}, {"ship": {"mmsi": "bigint", "name": "string"}})
    {'ship': ['name']}
    """
    found = {source: [name for name in now[source] if name not in before.get(source, {})] for source in now}
    return {source: names for source, names in found.items() if names}


def drifted(before: Columns, now: Columns, where: object) -> str:
    """Return the message of the error that refuses the state of ``where``."""
    new = [f"{name!r} of {source!r}" for source, names in gained(before, now).items() for name in names]
    what = lost(before, now) or f"{', '.join(new)} is new; Frames.start ignores what is new, or select it away"
    return f"restore: expected the columns that the state of {where} was written with but {what}"
