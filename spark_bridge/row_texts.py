"""Row texts: a row as JSON, as Spark's ``to_json`` writes it. Only rows that could not be used are written so.

What JSON lacks is spelled: NaN and the infinities and binary (base64) as strings, timestamps in UTC with microseconds,
maps whose keys are no strings as lists of entries; fields that are null are left out.
"""

from __future__ import annotations

import base64
import json
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cartesius.records import Record, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def row_text(table: pa.Table, row: int) -> str:
    """Return a row of a table as text.

    >>> row_text(pa.table({"mmsi": [1, 2], "berth": ["A", None]}), 1)
    '{"mmsi":2}'
    """
    return _fields((name, column[row]) for name, column in zip(table.column_names, table.columns, strict=True))


def value_text(value: Any) -> str:
    """Return a value of Python's as text, as far as JSON has it.

    >>> value_text({"mmsi": 2})
    '{"mmsi":2}'
    """
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_plain)


def _plain(value: Any) -> Any:
    return fields_of(value) if isinstance(value, Record) else str(value)


def _fields(items: Iterable[tuple[str, Any]]) -> str:
    return f"{{{','.join(f'{_quoted(name)}:{_text(item)}' for name, item in items if item.is_valid)}}}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _text(scalar: Any) -> str:
    """Return a value as text, null if it is null."""
    kind = scalar.type
    if not scalar.is_valid:
        return "null"
    if pa.types.is_struct(kind):
        return _fields(scalar.items())
    if pa.types.is_map(kind):
        entries = [(entry["key"], entry["value"]) for entry in scalar.values]
        if pa.types.is_string(kind.key_type):
            return f"{{{','.join(f'{_quoted(key.as_py())}:{_text(item)}' for key, item in entries)}}}"
        return f"[{','.join(_fields((('key', key), ('value', item))) for key, item in entries)}]"
    if pa.types.is_list(kind):
        return f"[{','.join(map(_text, scalar.values))}]"
    if pa.types.is_temporal(kind):  # beyond the years that Python has, too
        return _quoted(scalar.cast(pa.string()).as_py().replace(" ", "T", 1))
    value = scalar.as_py()
    if isinstance(value, bytes):
        return _quoted(base64.b64encode(value).decode())
    if isinstance(value, float) and not math.isfinite(value):
        return _quoted("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    return format(value, "f") if pa.types.is_decimal(kind) else json.dumps(value, ensure_ascii=False)
