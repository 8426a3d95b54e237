"""Payloads: the columns of a source's rows as what an engine takes.

Spark's columns become vectors of the compiled tier. What they stand for are the values that Spark's own ``collect``
gives, but tuples for arrays, records for structs and maps, and aware datetimes in UTC for timestamps; a whole number
has 64 bits and a float is a double, whatever it was, so that types do not differ between sources or batches.

Invariant: values of one column are of one type; a row that Python has no values for is found by `unreadable` before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import MISSING, RECORD, TUPLE, Leaf, Struct, from_arrow
from cartesius.data.records import TAKEN, Record
from spark_bridge.columns.values import nested

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Vector

    Mask = NDArray[np.bool_]

_TIMES = (t.DateType, t.TimestampType, t.TimestampNTZType)
_DAY: Final = 86_400_000_000
_FIRST, _LAST = -719_162, 2_932_896  # the first and the last day of Python, from the epoch


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def vector_of(column: pa.ChunkedArray) -> Vector:
    """Return the vector of a column."""
    array, wide = whole(column), with_leaves(column.type, _wide)
    return _vector(array if array.type == wide else array.cast(wide))


def with_leaves(kind: pa.DataType, of: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a type in which what is neither struct, list nor map is what ``of`` makes of it."""
    types = pa.types
    if types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pa.struct([field.with_type(with_leaves(field.type, of)) for field in fields])
    if types.is_list(kind):
        return pa.list_(kind.value_field.with_type(with_leaves(kind.value_type, of)))
    if types.is_map(kind):
        return pa.map_(with_leaves(kind.key_type, of), with_leaves(kind.item_type, of))
    return of(kind)


def _wide(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_integer(kind) else pa.float64() if pa.types.is_floating(kind) else kind


def _vector(array: pa.Array) -> Vector:
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        return Struct(RECORD, names, [_vector(item) for item in array.flatten()], len(array), _valid(array))
    if pa.types.is_list(array.type) and (found := _tuples(array)) is not None:
        return found
    if pa.types.is_nested(array.type):
        convert = _nullable(_python(array.type))
        return of_values([convert(value) for value in array.to_pylist()])
    return from_arrow(array)


def _valid(array: pa.Array) -> Mask | None:
    if not array.null_count:
        return None
    valid: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _tuples(array: pa.Array) -> Vector | None:
    """Return lists of one length as tuples with a column for each place; None if their lengths differ."""
    lengths = pc.unique(array.value_lengths().drop_null()).to_pylist()
    if len(lengths) != 1:
        return None if lengths else Leaf(pa.nulls(len(array)))
    (width,), valid, inner = lengths, _valid(array), _vector(array.flatten())
    is_there = np.ones(len(array), np.bool_) if valid is None else valid
    firsts = np.where(is_there, (np.cumsum(is_there) - 1) * width, MISSING)
    items = [
        inner.take(np.where(is_there, firsts + place, MISSING), may_miss=valid is not None) for place in range(width)
    ]
    return Struct(TUPLE, [str(place) for place in range(width)], items, len(array), valid)


def _python(kind: pa.DataType) -> Callable[[Any], Any]:
    """Return a function from what Arrow gives for a value, not null, to the value."""
    types = pa.types
    if types.is_struct(kind):
        fields = {field.name: _nullable(_python(field.type)) for field in kind}
        return lambda value: Record({name: convert(value[name]) for name, convert in fields.items()})
    if types.is_list(kind):
        element = _nullable(_python(kind.value_type))
        return lambda values: tuple([element(value) for value in values])
    if types.is_map(kind):
        to_key, to_value = _python(kind.key_type), _nullable(_python(kind.item_type))
        return lambda entries: Record({to_key(key): to_value(value) for key, value in entries})
    return lambda value: value


def _nullable(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def unreadable(table: pa.Table, schema: t.StructType) -> dict[int, str]:
    """Return which rows have a value that Python has not, and why: odd days, odd bytes, keys that name no fields."""
    found: dict[int, str] = {}
    for place, field in enumerate(schema):
        for kinds, is_wrong, why in _OBJECTIONS:
            if has_type(field.dataType, kinds):
                rows = np.flatnonzero(_wrong(whole(table.column(place)), field.dataType, is_wrong))
                found |= dict.fromkeys(rows.tolist(), f"{field.name} {why}")
    return found


def has_type(kind: t.DataType, kinds: tuple[type[t.DataType], ...]) -> bool:
    """Whether a type is one of some kinds, or has such in it.

    >>> has_type(t.ArrayType(t.MapType(t.StringType(), t.LongType())), (t.MapType,))
    True
    """
    return any(isinstance(one, kinds) for _, one in nested(kind))


def _wrong(array: pa.Array, kind: t.DataType, is_wrong: Callable[[pa.Array, t.DataType], Mask]) -> Mask:
    """Return which values are wrong, or have such a one in them."""
    match kind:
        case t.StructType():
            parts = [_wrong(item, field.dataType, is_wrong) for item, field in zip(array.flatten(), kind, strict=True)]
            either: Mask = np.logical_or.reduce([np.zeros(len(array), np.bool_), *parts])
            return either
        case t.ArrayType():
            return _any_in(array, _wrong(array.flatten(), kind.elementType, is_wrong))
        case t.MapType():
            entries = _entries(array)
            inner = t.StructType([t.StructField("key", kind.keyType), t.StructField("value", kind.valueType)])
            return is_wrong(array, kind) | _any_in(entries, _wrong(entries.flatten(), inner, is_wrong))
    return is_wrong(array, kind)


def _entries(array: pa.Array) -> pa.Array:
    """Return maps as lists of their entries."""
    return array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))


def _beyond(array: pa.Array, kind: t.DataType) -> Mask:
    """Return which values are times that Python has not."""
    none = np.zeros(len(array), np.bool_)
    if not isinstance(kind, _TIMES) or array.null_count == len(array):
        return none
    is_day = isinstance(kind, t.DateType)
    scale, more = (1, 0) if is_day else (_DAY, _DAY - 1)
    numbers = array.view(pa.int32()) if is_day else array.view(pa.int64())
    ends = pc.min_max(numbers).as_py()
    if _FIRST * scale <= ends["min"] and ends["max"] <= _LAST * scale + more:
        return none
    values = numbers.fill_null(0).to_numpy()
    found: Mask = (values < _FIRST * scale) | (values > _LAST * scale + more)
    return found


def _undecodable(array: pa.Array, kind: t.DataType) -> Mask:
    """Return which values are texts that are no UTF-8: Spark checks no bytes that it takes for a text."""
    found = np.zeros(len(array), np.bool_)
    if not isinstance(kind, t.StringType):
        return found
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        values = array.cast(pa.binary()).to_pylist()
        found[:] = [value is not None and not _is_text(value) for value in values]
    return found


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _taken(array: pa.Array, kind: t.DataType) -> Mask:
    """Return which values are maps with a key that is no field of a record."""
    if not isinstance(kind, t.MapType) or not isinstance(kind.keyType, t.StringType):
        return np.zeros(len(array), np.bool_)
    entries = _entries(array)
    is_taken = pc.is_in(entries.flatten().field("key"), pa.array(TAKEN, array.type.key_type))
    return _any_in(entries, is_taken.to_numpy(zero_copy_only=False))


_OBJECTIONS: Final = (
    (_TIMES, _beyond, "is beyond the years 1 to 9999"),
    ((t.StringType,), _undecodable, "is no UTF-8"),
    ((t.MapType,), _taken, "has a key that Python finds on any object, such as '__class__'"),
)


def _any_in(lists: pa.Array, inner: Mask) -> Mask:
    found = np.zeros(len(lists), np.bool_)
    found[pc.list_parent_indices(lists).to_numpy()[inner]] = True
    return found
