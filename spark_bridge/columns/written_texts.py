"""Written texts: values of Spark's columns as JSON and as text, alike wherever a row leaves, or a key is a text.

Instants are in UTC, whatever the session's zone, with microseconds; bytes in base 64; what is nested is JSON.

Invariant: two values of one type have two texts, and a reader gets back from each what it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql import types as t

from spark_bridge.columns.values import nested

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column

_JSON: Final = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "dateFormat": "yyyy-MM-dd",
    "ignoreNullFields": "false",
}
"""How Spark writes values as JSON: alike in each zone of a session. Its defaults would lose microseconds."""
_WRITTEN_AS_THEY_ARE: Final = (t.StringType, t.NumericType, t.BooleanType)


def as_json(value: Column, kind: t.DataType) -> Column:
    """Return a struct, an array or a map as JSON, null as null; a map has `text_of` its keys."""
    return f.to_json(_keyed_by_text(value, kind), _JSON)


def as_object(columns: Iterable[tuple[str, Column, t.DataType]]) -> Column:
    """Return columns as one JSON object, each under its name."""
    return f.to_json(f.struct(*(_keyed_by_text(value, kind).alias(name) for name, value, kind in columns)), _JSON)


def text_of(value: Column, kind: t.DataType) -> Column:
    """Return a value of any type as text, null as null."""
    match kind:
        case t.StructType() | t.ArrayType() | t.MapType():
            return as_json(value, kind)
        case t.TimestampType() | t.BinaryType():
            return _as_in_json(value)
    return value.cast("string")


def _as_in_json(value: Column) -> Column:
    return f.get_json_object(f.to_json(f.struct(value.alias("value")), _JSON), "$.value")


def _keyed_by_text(value: Column, kind: t.DataType) -> Column:
    """Return a value whose maps have keys that Spark writes as they are: of others it writes Java's toString."""
    maps = (one for _, one in nested(kind) if isinstance(one, t.MapType))
    if all(isinstance(one.keyType, _WRITTEN_AS_THEY_ARE) for one in maps):
        return value
    match kind:
        case t.StructType():
            fields = [_keyed_by_text(value.getField(field.name), field.dataType).alias(field.name) for field in kind]
            return f.when(value.isNotNull(), f.struct(*fields))
        case t.ArrayType():
            return f.transform(value, lambda one: _keyed_by_text(one, kind.elementType))
        case t.MapType():
            values = f.transform_values(value, lambda _, one: _keyed_by_text(one, kind.valueType))
            is_local = isinstance(kind.keyType, t.TimestampNTZType)
            return f.transform_keys(values, lambda key, _: _as_in_json(key) if is_local else text_of(key, kind.keyType))
    return value
