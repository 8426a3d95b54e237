"""Result columns: the values of results, as vectors, made into Arrow arrays of Spark's types.

What is of the type already, or of a narrower one, is taken as it is, and so are the fields of objects, and the items of
tuples that are known to have them; everything else goes by way of Python's values and `values`, which says
what does not fit.

Invariant: both ways give the same array, or an error of the same kind; where several values do not fit, the one that
it names may differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from cartesius.columns.vectors.vectors import DICT, RECORD, TUPLE, Leaf, Struct
from cartesius.data.codec import registered
from cartesius.data.records import Record, fields_of
from spark_bridge.columns.values import arrow_type, to_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices, Vector

_PAIR, _TRIPLE = 2, 3


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
        if isinstance(vector, Struct) and vector.kind in (RECORD, DICT) and _is_wrapped(vector.names, kind):
            return _array(vector, kind, path)
        item = _array(vector, field.dataType, f"{path}.{field.name}")
        return pa.StructArray.from_arrays([item], fields=list(arrow_type(kind)), mask=item.is_null())
    return _array(vector, kind, path)


def is_row_of(value: Any, kind: t.StructType) -> bool:
    """Whether a value has the one field of a type, and is not what that field is.

    >>> kind = t.StructType([t.StructField("value", t.LongType())])
    >>> is_row_of({"value": 5}, kind), is_row_of(5, kind)
    (True, False)
    """
    if isinstance(value, Record):
        value = fields_of(value)
    return isinstance(value, Mapping) and _is_wrapped(value, kind)


def _is_wrapped(names: Iterable[str], kind: t.StructType) -> bool:
    (field,) = kind
    return [*names] == [field.name] and not isinstance(field.dataType, t.StructType | t.MapType)


def _array(vector: Vector, kind: t.DataType, path: str) -> pa.Array:
    if isinstance(vector, Struct) and vector.valid is not None:  # what is behind a None is anything
        there = np.flatnonzero(vector.valid)
        if not len(there):
            return pa.nulls(len(vector), arrow_type(kind))
        items = [item.take(there) for item in vector.items]
        found = _array(Struct(vector.kind, vector.names, items, len(there)), kind, path)
        return found.take(pa.array(np.cumsum(vector.valid) - 1, mask=~vector.valid))
    array = _of_struct(vector, kind, path) if isinstance(vector, Struct) else _of_leaf(vector, kind, path)
    return to_arrow(vector.to_list(), kind, path) if array is None else array


def _of_leaf(leaf: Leaf, kind: t.DataType, path: str) -> pa.Array | None:
    name, _, parameter = leaf.kind.partition(" ")
    if name == "constant":
        return pa.repeat(_constant(leaf.kind, kind, path), len(leaf)) if len(leaf) else pa.array([], arrow_type(kind))
    if name == "noted" and isinstance(kind, t.StructType) and len(kind) == _PAIR:
        value, note = kind
        items = [
            _array(Leaf(leaf.array), value.dataType, f"{path}.{value.name}"),
            _repeated(json.loads(parameter), len(leaf), note.dataType, f"{path}.{note.name}"),
        ]
        return pa.StructArray.from_arrays(items, fields=list(arrow_type(kind)), mask=items[0].is_null())
    return _leaf(leaf, arrow_type(kind))


@lru_cache(maxsize=4096)
def _constant(name: str, kind: t.DataType, path: str) -> pa.Scalar:
    """Return what a leaf of the kind ``name`` stands for."""
    return to_arrow(Leaf(pa.nulls(1), name).to_list(), kind, path)[0]


def _repeated(text: str, n: int, kind: t.DataType, path: str) -> pa.Array:
    """Return a text, ``n`` times."""
    return pa.repeat(to_arrow([text], kind, path)[0], n)


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
        or (types.is_floating(have) and types.is_floating(target) and have.bit_width <= target.bit_width)
        or (types.is_large_string(have) and types.is_string(target))
    )
    if not is_narrower:
        return None
    try:
        return leaf.array.cast(target)
    except pa.ArrowInvalid:  # one is too large
        return None


def _of_struct(vector: Struct, kind: t.DataType, path: str) -> pa.Array | None:
    """Return values with fields or items, if it is known which they are."""
    if isinstance(kind, t.ArrayType):
        pieces = _pieces(vector, kind.elementType, path)
        return None if pieces is None else _lists(pieces, len(vector), arrow_type(kind))
    if not isinstance(kind, t.StructType) or not kind.names:
        return None
    items: list[Any] = []
    name, _, parameter = vector.kind.partition(" ")
    if vector.kind in (RECORD, DICT) or (name == "made" and _keeps_fields(registered(parameter))):
        items = [vector.item(name) for name in kind.names]
    elif vector.kind == TUPLE and len(vector.items) == len(kind):
        items = list(vector.items)
    if not items or any(item is None for item in items):
        return None
    arrays = [_array(item, field.dataType, f"{path}.{field.name}") for item, field in zip(items, kind, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)))


@lru_cache(maxsize=256)
def _keeps_fields(kind: type) -> bool:
    """Whether objects of a class have in their fields what they were made of, whatever that is."""
    if not attrs.has(kind) or hasattr(kind, "__attrs_post_init__"):
        return False
    return all(one.init and one.converter is None and one.validator is None for one in attrs.fields(kind))


def _pieces(vector: Struct, element: t.DataType, path: str) -> list[tuple[Indices, pa.Array]] | None:
    """Return the items of tuples: some of different rows, and which rows those are; those of a row in order."""
    name, _, parameter = vector.kind.partition(" ")
    n, whole, items = len(vector), np.arange(len(vector)), vector.items
    if name == "present" and all(isinstance(item, Struct) for item in items):
        there = [(item, np.flatnonzero(item.valid) if item.valid is not None else whole) for item in items]
        return [(rows, _array(item.take(rows), element, f"{path}[]")) for item, rows in there if len(rows)]
    if name == "chained":
        lists = [_array(item, t.ArrayType(element), path) for item in items]
        if any(one.null_count for one in lists):
            return None
        return [(pc.list_parent_indices(one).to_numpy(), one.flatten()) for one in lists]
    if name == "names" and len(set(json.loads(parameter))) == len(items):
        masks = [np.flatnonzero(item.numbers) for item in items if isinstance(item, Leaf)]
        names = zip(masks, json.loads(parameter), strict=True)
        return [(rows, _repeated(one, len(rows), element, f"{path}[]")) for rows, one in names if len(rows)]
    if name == "labelled" and isinstance(element, t.StructType) and len(element) == _TRIPLE and n:
        paths = [f"{path}[].{field.name}" for field in element]
        kinds = [field.dataType for field in element]
        fields = list(arrow_type(element))
        return [
            (
                whole,
                pa.StructArray.from_arrays(
                    [
                        _repeated(label, n, kinds[0], paths[0]),
                        _array(item, kinds[1], paths[1]),
                        _repeated(note, n, kinds[2], paths[2]),
                    ],
                    fields=fields,
                ),
            )
            for label, item, note in zip(vector.names, items, json.loads(parameter), strict=True)
        ]
    return None


def _lists(pieces: Sequence[tuple[Indices, pa.Array]], n: int, target: pa.DataType) -> pa.Array:
    """Return lists of what belongs to each row, in the order of the pieces."""
    if not pieces:
        return pa.array([[]] * n, target)
    rows = np.concatenate([rows for rows, _ in pieces])
    offsets = np.append(0, np.cumsum(np.bincount(rows, minlength=n))).astype(np.int32)
    items = pa.concat_arrays([array for _, array in pieces]).take(pa.array(np.argsort(rows, kind="stable")))
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=target)
