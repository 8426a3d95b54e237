"""Normalising: what a user's arrays become at the door, so that all kernels see few types, each with exact values.

Of timestamps and durations the unit becomes one that Python has, dictionaries and run lengths are decoded, and what
kernels do not know, such as extension types, becomes the Python values that it stands for.

Source: SEMANTICS 1.16 (which values there are).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import DICT, PACKED, RECORD, Leaf, Struct, Vector, from_arrow
from cartesius.data.records import wrap
from cartesius.errors import NotStorable

if TYPE_CHECKING:
    from collections.abc import Callable


def column_of(column: Any) -> tuple[pa.Array | pa.ChunkedArray, pa.Field]:
    """Return a column as a user gives it, as Arrow and with its field: a list stands for its values, exactly.

    Raises:
        TypeError: It is no column.
        pa.ArrowException: Nor is it one that Arrow can hold.
    """
    if isinstance(column, str | bytes):
        message = f"the one value {column!r}"
        raise TypeError(message)
    if isinstance(column, Sequence):
        try:
            vector = of_values(list(column))
        except NotStorable:  # such as scalars of numpy: Arrow may know them
            pass
        else:
            return vector.to_arrow(), vector.field("")
    array = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column, from_pandas=False)
    return array, pa.field("", array.type)


def normalised(array: pa.Array | pa.ChunkedArray, field: pa.Field) -> Vector:
    """Return the vector of a user's array.

    Raises:
        pa.ArrowException: It has values that Python has not.
    """
    kind = _kind(array.type)
    if kind is None:
        values, made = array.to_pylist(), _with_mappings(array.type)
        return of_values(values if made is None else [*map(made, values)])
    if pa.types.is_run_end_encoded(array.type):
        return normalised(pc.run_end_decode(array), field)
    if pa.types.is_dictionary(array.type) and array.type.value_type != kind:
        array = _with_plain_words(array, kind)
    if kind != array.type:
        array = array.cast(kind)
    return from_arrow(array, field)


def _with_mappings(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return what makes of a value, as Arrow gives it, one whose maps are no lists of pairs; None: it has no maps."""
    types = pa.types
    if types.is_map(kind) and not types.is_nested(kind.key_type):  # which no mapping has as keys
        to_item = _with_mappings(kind.item_type) or _itself
        return lambda pairs: None if pairs is None else {key: to_item(item) for key, item in pairs}
    if types.is_list(kind) or types.is_large_list(kind):
        inner = _with_mappings(kind.value_type)
        return inner and (lambda values: None if values is None else [*map(inner, values)])
    if types.is_struct(kind):
        fields = {field.name: made for field in kind if (made := _with_mappings(field.type)) is not None}
        return _with_fields(fields) if fields else None
    return None


def _with_fields(fields: Mapping[str, Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def made(value: Any) -> Any:
        return None if value is None else {**value, **{name: make(value[name]) for name, make in fields.items()}}

    return made


def _itself(value: Any) -> Any:
    return value


def _with_plain_words(array: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a dictionary whose words are of a type that Arrow can decode, as views of polars' categories are not."""
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    plain = [pa.DictionaryArray.from_arrays(chunk.indices, chunk.dictionary.cast(kind)) for chunk in chunks]
    return pa.chunked_array(plain, pa.dictionary(array.type.index_type, kind))


def _kind(kind: pa.DataType) -> pa.DataType | None:
    """Return the type that stands for the same values; None: there is none."""
    types = pa.types
    if types.is_struct(kind):
        return _struct(kind)
    if types.is_list(kind) or types.is_large_list(kind):
        inner = _kind(kind.value_type)
        make = pa.list_ if types.is_list(kind) else pa.large_list
        return None if inner is None else make(kind.value_field.with_type(inner))
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _kind(kind.value_type)
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_duration(kind):
        return pa.duration("us")
    if types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        return None
    return _SAME.get(kind.id, kind)


def _struct(kind: pa.StructType) -> pa.DataType | None:
    fields = [kind.field(place) for place in range(kind.num_fields)]
    inner = [_kind(field.type) for field in fields]
    if any(one is None for one in inner) or len({field.name for field in fields}) < len(fields):
        return None
    return pa.struct([field.with_type(one) for field, one in zip(fields, inner, strict=True)])


_SAME: dict[int, pa.DataType] = {
    one.id: other
    for one, other in [
        (pa.float16(), pa.float32()), (pa.string_view(), pa.string()), (pa.binary_view(), pa.binary()),
        (pa.binary(1), pa.binary()), (pa.time64("ns"), pa.time64("us")), (pa.date64(), pa.date32()),
    ]
}  # fmt: skip


def wrapped(vector: Vector) -> Vector:
    """Return a vector with its mappings as records, as the door of the engine wraps them."""
    if isinstance(vector, Struct):
        if vector.kind not in (RECORD, DICT):
            return vector
        return Struct(RECORD, vector.names, [wrapped(item) for item in vector.items], vector.length, vector.valid)
    if isinstance(vector, Leaf) and vector.kind == PACKED:
        values = vector.to_list()
        if any(isinstance(value, Mapping) for value in values):
            return of_values([wrap(value) for value in values])
    return vector
