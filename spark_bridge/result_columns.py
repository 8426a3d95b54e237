"""Result columns: the values of results, as vectors, made into Arrow arrays of Spark's types.

What is of the type already, or of a narrower one, is taken as it is; everything else goes by way of Python's values and
`spark_bridge.values`, which says what does not fit.

Invariant: both ways give the same array, or the same error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from cartesius.columnar.vectors import DICT, RECORD, TUPLE, Leaf, Struct
from spark_bridge.values import arrow_type, to_arrow

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columnar.vectors import Vector


def array_of(
    vector: Vector, kind: t.DataType, path: str, *, is_row: bool = True, gone: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return the values of a vector as an array of a type of Spark's.

    Args:
        vector: The values.
        kind: The type.
        path: What they are, for the message.
        is_row: Whether a value has the fields of the type; otherwise it is the value of its one field.
        gone: Where there is no value; None: nowhere.

    Raises:
        InvalidArgument: One of them does not fit.
    """
    if gone is not None:
        there = np.flatnonzero(~gone)
        places = np.cumsum(~gone) - 1
        found = array_of(vector.take(there), kind, path, is_row=is_row)
        return found.take(pa.array(places, mask=gone))
    if not is_row:
        assert isinstance(kind, t.StructType)  # Invariant: it has the one field
        (field,) = kind
        item = _array(vector, field.dataType, f"{path}.{field.name}")
        return pa.StructArray.from_arrays([item], fields=list(arrow_type(kind)), mask=item.is_null())
    return _array(vector, kind, path)


def _array(vector: Vector, kind: t.DataType, path: str) -> pa.Array:
    target = arrow_type(kind)
    found = _struct(vector, kind, path) if isinstance(vector, Struct) else _leaf(vector, target)
    return to_arrow(vector.to_list(), kind, path) if found is None else found


def _leaf(leaf: Leaf, target: pa.DataType) -> pa.Array | None:
    """Return the values of a leaf, if Arrow has them in a type that holds no less."""
    have = leaf.type
    if leaf.kind:
        return None
    if have == target:
        return leaf.array
    if pa.types.is_null(have):
        return pa.nulls(len(leaf), target)
    types = pa.types
    is_narrower = (
        (types.is_integer(have) and types.is_integer(target))
        or (types.is_floating(have) and types.is_floating(target))
        or (types.is_large_string(have) and types.is_string(target))
    )
    if not is_narrower:
        return None
    try:
        return leaf.array.cast(target)
    except pa.ArrowInvalid:  # one is too large
        return None


def _struct(vector: Struct, kind: t.DataType, path: str) -> pa.Array | None:
    """Return values with fields, if it is known which field is which."""
    if not isinstance(kind, t.StructType) or not kind.names:
        return None
    items: list[Any] = []
    if vector.kind in (RECORD, DICT):
        items = [vector.item(name) for name in kind.names]
    elif vector.kind == TUPLE and len(vector.items) == len(kind):
        items = list(vector.items)
    if not items or any(item is None for item in items):
        return None
    arrays = [_array(item, field.dataType, f"{path}.{field.name}") for item, field in zip(items, kind, strict=True)]
    mask = None if vector.valid is None else pa.array(~vector.valid)
    return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)), mask=mask)
