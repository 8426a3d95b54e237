"""Row texts: rows as JSON, much as Spark's ``to_json`` has them. Only rows that could not be used are written so.

Numbers are as Python writes them. What JSON lacks is spelled: NaN and the infinities and binary (base64) as strings,
timestamps in UTC with microseconds, maps whose keys are no strings as lists of entries; fields that are null are left
out. What is no UTF-8 in a text is U+FFFD.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cartesius import Delete, Update
from cartesius.data.events import EPOCH
from cartesius.data.records import Record, fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def json_texts(table: pa.Table, rows: Sequence[int]) -> list[str]:
    """Return rows of a table as texts: column by column, as there may be many.

    >>> json_texts(pa.table({"mmsi": [1, 2], "berth": ["A", None]}), [1, 0])
    ['{"mmsi":2}', '{"mmsi":1,"berth":"A"}']
    """
    chosen = table.take(pa.array(rows, pa.int64()))
    heads = [f"{_quoted(name)}:" for name in table.column_names]
    columns = [_texts(pa.concat_arrays(column.chunks or [pa.array([], column.type)])) for column in chosen.columns]
    return [
        f"{{{','.join([head + column[row] for head, column in zip(heads, columns, strict=True) if column[row]])}}}"
        for row in range(len(rows))
    ]


def _texts(column: pa.Array) -> list[str]:
    """Return values as texts, none of which is empty; where there is no value, the empty text."""
    kind = column.type
    if pa.types.is_integer(kind):
        return [text or "" for text in column.cast(pa.string()).to_pylist()]
    if pa.types.is_string(kind):
        values = column.cast(pa.binary()).to_pylist()
        return ["" if value is None else _quoted(value.decode(errors="replace")) for value in values]
    if pa.types.is_float32(kind):  # 0.1, not what is closest to it among the doubles
        return ["" if text is None else _number(float(text)) for text in column.cast(pa.string()).to_pylist()]
    if pa.types.is_floating(kind):
        return ["" if number is None else _number(number) for number in column.to_pylist()]
    if pa.types.is_temporal(kind):
        return _times(column)
    if pa.types.is_list(kind):
        items = iter(_texts(column.flatten()))
        return [
            "" if n is None else f"[{','.join([text or 'null' for text in islice(items, n)])}]"
            for n in column.value_lengths().to_pylist()
        ]
    return [_text(scalar) if scalar.is_valid else "" for scalar in column]


def _times(column: pa.Array) -> list[str]:
    """Return times and days as texts, also beyond the years that Python has."""
    kind = column.type
    is_day, zone = pa.types.is_date(kind), "" if pa.types.is_date(kind) or kind.tz is None else "Z"
    numbers = column.view(pa.int32() if is_day else pa.int64()).fill_null(0).to_numpy().astype(np.int64)
    texts = np.datetime_as_string(numbers.view("datetime64[D]" if is_day else "datetime64[us]")).tolist()
    there = column.is_valid().to_pylist()
    return [_quoted(text + zone) if is_there else "" for text, is_there in zip(texts, there, strict=True)]


def moment(time: Any) -> str:
    """Return when something was, in microseconds, as people write it."""
    try:
        return (EPOCH + timedelta(microseconds=time)).isoformat()
    except OverflowError:
        return f"{time} µs since the epoch"


def value_text(value: Any) -> str:
    """Return a value of Python's as text, as far as JSON has it.

    >>> value_text({"mmsi": 2})
    '{"mmsi":2}'
    """
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what it lacks is spelled."""
    match value:
        case Update():
            return {"key": _plain(value.key), "value": _plain(value.value)}
        case Delete():
            return {"key": _plain(value.key), "value": None}
        case Record():
            return _plain(fields_of(value))
        case Mapping() if all(isinstance(key, str) for key in value):
            return {key: _plain(item) for key, item in value.items()}
        case Mapping():
            return [{"key": _plain(key), "value": _plain(item)} for key, item in value.items()]
        case tuple() | list():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return json.loads(_number(value))
    return value


def _fields(items: Iterable[tuple[str, Any]]) -> str:
    return f"{{{','.join(f'{_quoted(name)}:{_text(item)}' for name, item in items if item.is_valid)}}}"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return _quoted("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")


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
            return f"{{{','.join(f'{_text(key)}:{_text(item)}' for key, item in entries)}}}"
        return f"[{','.join(_fields((('key', key), ('value', item))) for key, item in entries)}]"
    if not pa.types.is_binary(kind) and not pa.types.is_decimal(kind) and not pa.types.is_boolean(kind):
        return _texts(pa.repeat(scalar, 1))[0]
    value = scalar.as_py()
    if isinstance(value, bytes):
        return _quoted(base64.b64encode(value).decode())
    return format(value, "f") if pa.types.is_decimal(kind) else json.dumps(value)
