"""Payloads: a row of a file or a topic as an item to push, with its time; and a result as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from typing import Any, Final

from cartesius.data.events import EPOCH, Delete, Event, Update

_MICROSECOND: Final = timedelta(microseconds=1)
_DEEPEST: Final = 200
"""How many levels a row may have: Python reads deeper ones, but not the snapshots that hold them."""


class Unreadable(ValueError):
    """A line, or a message, is no row; its text says why."""


def row_of(text: str | bytes) -> dict[str, Any]:
    """Return a row that is written as a JSON object.

    >>> row_of('{"id": 7}')
    {'id': 7}

    Raises:
        Unreadable: It is none, or nested deeper than 200 levels.
    """
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:  # the latter of lists in lists in lists
        reason = f"no JSON: {error}"
        raise Unreadable(reason) from None
    if not isinstance(row, dict):
        reason = f"a JSON object was expected, but it is of type {type(row).__name__}"
        raise Unreadable(reason)
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if opened > _DEEPEST and _is_too_deep(row):
        reason = f"a JSON object of at most {_DEEPEST} levels was expected, one in another, but it has more"
        raise Unreadable(reason)
    return row


def _is_too_deep(value: Any) -> bool:
    """Whether a value has more levels of objects and lists than `_DEEPEST`."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, dict | list)
        ]
    return bool(level)


def item_of(row: dict[str, Any], at: str | None) -> Any:
    """Return a row as an item: with its time, which is taken out of the field ``at``; None: without.

    A time is an int of time units, or a text of ISO 8601 with its zone, in microseconds since the epoch.

    >>> item_of({"id": 7, "time": "1970-01-01T00:00:01Z"}, "time")
    Event(value={'id': 7}, start=1000000, end=1000000, weight=1, reactive='')

    Raises:
        Unreadable: There is no such field, or it is no time.
    """
    if at is None:
        return row
    if at not in row:
        reason = f"there is no field {at!r}, which says when; there is {', '.join(row) or 'none'}"
        raise Unreadable(reason)
    said = row.pop(at)
    if isinstance(said, str):
        time = _instant(said)
    elif isinstance(said, int) and not isinstance(said, bool):
        time = said
    else:
        reason = f"a time was expected in {at!r}, an int or a text of ISO 8601, but it is {said!r}"
        raise Unreadable(reason)
    return Event(row, time, time)


def _instant(said: str) -> int:
    try:
        instant = datetime.fromisoformat(said)
    except ValueError:
        reason = f"a time of ISO 8601 was expected, but it is {said!r}"
        raise Unreadable(reason) from None
    if instant.tzinfo is None:
        reason = f"a time with its zone was expected, such as {said}Z, but it is {said!r}"
        raise Unreadable(reason)
    return (instant - EPOCH) // _MICROSECOND


def result_line(event: Event) -> bytes:
    """Return a result as one line of JSON: its output, what changes, when, and the value; the bounds of time are null.

    >>> result_line(Event((7, "EVA"), 3, 5, 1, "pairs"))
    b'{"output":"pairs","change":"event","start":3,"end":5,"value":[7,"EVA"]}'
    """
    said: dict[str, Any] = {"output": event.reactive, "change": "event" if event.weight > 0 else "retract"}
    value = event.value
    if isinstance(value, Update | Delete):
        said |= {"change": "update" if isinstance(value, Update) else "delete", "key": value.key}
        value = value.value if isinstance(value, Update) else None
    for name, time in (("start", event.start), ("end", event.end)):
        said[name] = time.isoformat() if isinstance(time, datetime) else time if isinstance(time, int) else None
    text = json_text({**said, "value": value}, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace")  # half a pair of surrogates is no UTF-8, but as \ud800 it is JSON


def json_text(value: Any, **options: Any) -> str:
    """Return a value as JSON. A number that JSON has not is a text, as in Spark: ``"NaN"``, ``"Infinity"``.

    >>> json_text([float("nan"), -float("inf")])
    '["NaN", "-Infinity"]'
    """
    try:
        return json.dumps(value, default=plain, allow_nan=False, **options)
    except ValueError:
        return json.dumps(json.loads(json.dumps(value, default=plain), parse_constant=str), **options)


def plain(value: Any) -> Any:
    """Return what JSON writes for a value that it does not know: objects, lists, and else a text."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "keys"):  # a record
        return {key: value[key] for key in value.keys()}  # noqa: SIM118 - it is asked for its keys, and is no mapping
    if isinstance(value, Set):
        return sorted(value, key=repr)
    if isinstance(value, Sequence):
        return list(value)
    return value.isoformat() if isinstance(value, date) else str(value)
