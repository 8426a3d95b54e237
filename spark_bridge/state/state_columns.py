"""The body of a bucket's state: plain data and rows to bytes and back, exactly; what is long goes in columns.

Long lists, long dicts and the memories of slots become Arrow streams, compressed; the rest is the codec of snapshots,
in which a reference stands for each of them. Short ones stay where they are: a stream has a fixed cost of its own.
The codec is that of snapshots also where Arrow has no one type for the values of a column. It cannot name code.

Invariant: ``decoded(encoded(value)) == value``, type for type; rows are compared column by column.

Source: DESIGN.md, section 7.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import attrs
import numpy as np
import pyarrow as pa

from cartesius import storable
from cartesius.columns.stages.rows import BEFORE, Rows
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import Leaf, from_arrow
from cartesius.data.codec import parsed, text_of
from cartesius.data.inflating import deflated, inflated, loading
from cartesius.engines.saving import FEW, Memory
from cartesius.storage.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

_LENGTH: Final = struct.Struct(">I")
_MANY_BYTES: Final = 1 << 10
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)  # a worker has one core
_READING: Final = pa.ipc.IpcReadOptions(use_threads=False)
_STORED: Final = tuple(field.name for field in attrs.fields(Stored))
_CONTAINERS: Final = (list, dict, Memory, Rows)  # what may hold rows in turn; of such lists there are few
_NUMBERS: Final = ("start", "end", "ordinal", "number")


@storable
@attrs.frozen
class Reference:
    """What stands for something that is in a stream: which one, and what is made of it."""

    stream: int
    kind: str
    first: int = 0


def encoded(value: Any) -> bytes:
    """Return plain data, in which there may be `Rows` and `Memory`, as bytes.

    Raises:
        NotStorable: Something in it is not plain data and not of a registered type.
    """
    streams: list[bytes] = []
    text = text_of(_without_columns(value, streams)).encode()
    parts = [_LENGTH.pack(len(streams))]
    for stream in streams:
        parts += [_LENGTH.pack(len(stream)), stream]
    return b"".join([*parts, deflated(text, 1)])


def decoded(body: bytes) -> Any:
    """Return what `encoded` has encoded.

    Raises:
        SnapshotMismatch: It is damaged.
    """
    return loading(lambda: _decoded(body))


def _decoded(body: bytes) -> Any:
    (count,) = _LENGTH.unpack_from(body)
    at, tables = _LENGTH.size, []
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        tables.append(pa.ipc.open_stream(pa.py_buffer(body).slice(at, length), options=_READING).read_all())
        at += length
    return _with_columns(parsed(inflated(body[at:])), tables)


def _without_columns(value: Any, streams: list[bytes]) -> Any:
    """Return ``value`` with references to streams, which are added."""
    kind = type(value)
    if kind is Memory:
        return _reference(streams, "memory", _columns_of(value.rows), value.first)
    if kind is Rows:
        return _reference(streams, "rows", _columns_of(value))
    if kind is bytes and len(value) >= _MANY_BYTES:
        return _reference(streams, "bytes", {"item": Leaf(pa.array([value], pa.binary()))})
    if kind is list and _is_long(value):
        if all(type(item) is Stored for item in value):
            rows = [tuple(getattr(item, name) for name in _STORED) for item in value]
            return _reference(streams, "stored", {"item": of_values(rows)})
        return _reference(streams, "list", {"item": of_values(value)})
    if kind is dict and _is_long(value.values()):
        return _reference(streams, "dict", {"key": of_values(list(value)), "item": of_values(list(value.values()))})
    if kind in (list, tuple):
        return kind([_without_columns(item, streams) for item in value])
    if kind is dict:
        return {key: _without_columns(item, streams) for key, item in value.items()}
    return value


def _is_long(items: Collection[Any]) -> bool:
    return len(items) >= FEW and not any(type(item) in _CONTAINERS for item in items)


def _with_columns(value: Any, tables: Sequence[pa.Table]) -> Any:
    kind = type(value)
    if kind is Reference:
        return _READERS[value.kind](tables[value.stream], value)
    if kind in (list, tuple):
        return kind([_with_columns(item, tables) for item in value])
    if kind is dict:
        return {key: _with_columns(item, tables) for key, item in value.items()}
    return value


def _reference(streams: list[bytes], kind: str, columns: dict[str, Any], first: int = 0) -> Reference:
    fields, arrays = [], []
    for name, vector in columns.items():
        if isinstance(vector, np.ndarray):
            fields.append(pa.field(name, pa.int64()))
            arrays.append(pa.array(vector))
        else:
            fields.append(vector.field(name))
            arrays.append(vector.to_arrow())
    sink = pa.BufferOutputStream()
    schema = pa.schema(fields)
    with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    streams.append(sink.getvalue().to_pybytes())
    return Reference(len(streams) - 1, kind, first)


def _columns_of(rows: Rows) -> dict[str, Any]:
    """Return the columns of rows; one that equals the one before it is left out."""
    columns: dict[str, Any] = {"payload": rows.payload}
    before: NDArray[np.int64] | None = None
    for name in _NUMBERS:
        numbers = getattr(rows, name)
        if before is None or not (numbers is before or np.array_equal(numbers, before)):
            columns[name] = numbers
        before = numbers
    if rows.key is not None:
        columns["key"] = rows.key
    return columns


def _rows(table: pa.Table) -> Rows:
    found = {field.name: table.column(place) for place, field in enumerate(table.schema)}
    numbers: list[NDArray[np.int64]] = []
    for name in _NUMBERS:
        numbers.append(found[name].to_numpy().copy() if name in found else numbers[-1])
    start, end, ordinal, number = numbers
    key = from_arrow(found["key"], table.schema.field("key")) if "key" in found else None
    payload = from_arrow(found["payload"], table.schema.field("payload"))
    return Rows(payload, start, end, ordinal, number, np.full(table.num_rows, BEFORE, np.int64), key)


def _values(table: pa.Table, name: str) -> list[Any]:
    return from_arrow(table.column(name), table.schema.field(name)).to_list()


_READERS: Final[dict[str, Any]] = {
    "memory": lambda table, found: Memory(_rows(table), found.first),
    "rows": lambda table, _: _rows(table),
    "stored": lambda table, _: [Stored(*item) for item in _values(table, "item")],
    "bytes": lambda table, _: table.column("item")[0].as_py(),
    "list": lambda table, _: _values(table, "item"),
    "dict": lambda table, _: dict(zip(_values(table, "key"), _values(table, "item"), strict=True)),
}
