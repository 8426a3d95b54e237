"""The wire: record batches as bytes, as few as can be had cheaply, between Python's workers by way of Spark.

Spark copies what is in binary columns some ten times, and each of its writers makes room by doubling. So whole numbers,
times among them, travel as their distance from the smallest in as few bytes as it takes, and a column that is the same
in all rows, or null, as no column at all. That takes two passes over a column; compression took five times as long.

Invariant: ``read(written(batch), batch.schema) == batch``, for batches that have columns.

Source: measured, see docs/rationale.md.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_ROWS: Final = struct.Struct("<qq")  # how many rows, and how many leaves
_LEAF: Final = struct.Struct("<qq")  # how a leaf travels, and its smallest number
_AS_IS, _NOWHERE, _ALIKE = 0, -1, 8  # the other ways are bytes a number
_WIDTHS: Final = {1: (pa.uint8(), np.uint8), 2: (pa.uint16(), np.uint16), 4: (pa.uint32(), np.uint32)}


def written(batch: pa.RecordBatch) -> bytes:
    """Return a record batch as bytes.

    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pydict({"at": pa.array(range(10**12, 10**12 + 100)), "k": pa.array([7] * 100)})
    >>> len(written(batch)) < batch.nbytes // 4, read(written(batch), batch.schema) == batch
    (True, True)
    """
    forms, arrays = [], []
    for column in batch.columns:
        for leaf in _leaves(column):
            form, base, array = _narrowed(leaf)
            forms.append(_LEAF.pack(form, base))
            if array is not None:
                arrays.append(array)
    body = pa.RecordBatch.from_arrays(arrays, names=[""] * len(arrays)).serialize() if arrays else b""
    return b"".join([_ROWS.pack(batch.num_rows, len(forms)), *forms, body])


def read(data: bytes | pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return the record batch that `written` wrote.

    Args:
        data: What it returned.
        schema: The schema of the batch.
    """
    buffer = pa.py_buffer(data)
    whole = memoryview(buffer)
    n, leaves = _ROWS.unpack_from(whole)
    ends = _ROWS.size + leaves * _LEAF.size
    forms = list(_LEAF.iter_unpack(whole[_ROWS.size : ends]))
    kinds = [leaf for kind in schema.types for leaf in _kinds(kind)]
    there = [
        ("", _WIDTHS[form][0] if form in _WIDTHS else kind)
        for (form, _), kind in zip(forms, kinds, strict=True)
        if form not in (_NOWHERE, _ALIKE)
    ]
    arrays = iter(pa.ipc.read_record_batch(buffer.slice(ends), pa.schema(there)).columns if there else ())
    found = iter([_widened(form, base, kind, n, arrays) for (form, base), kind in zip(forms, kinds, strict=True)])
    return pa.RecordBatch.from_arrays([_column(kind, found) for kind in schema.types], schema=schema)


def _has_leaves(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) and kind.num_fields)


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """Return what is no struct, in order; before what is in a struct, where there is one."""
    if not _has_leaves(array.type):
        yield array
        return
    yield array.is_valid() if array.null_count else pa.nulls(len(array), pa.bool_())
    for item in array.flatten():
        yield from _leaves(item)


def _kinds(kind: pa.DataType) -> Iterator[pa.DataType]:
    if not _has_leaves(kind):
        yield kind
        return
    yield pa.bool_()
    for field in kind:
        yield from _kinds(field.type)


def _column(kind: pa.DataType, leaves: Iterator[pa.Array]) -> pa.Array:
    if not _has_leaves(kind):
        return next(leaves)
    is_there = next(leaves)
    items = [_column(field.type, leaves) for field in kind]
    mask = None if is_there.null_count else pc.invert(is_there)
    return pa.StructArray.from_arrays(items, fields=list(kind), mask=mask)


def _narrowed(array: pa.Array) -> tuple[int, int, pa.Array | None]:
    """Return how an array travels, its smallest number, and what of it does."""
    if array.null_count:
        return (_NOWHERE, 0, None) if array.null_count == len(array) else (_AS_IS, 0, array)
    numbers = _numbers(array)
    if numbers is None or not len(numbers):
        return _AS_IS, 0, array
    smallest, largest = int(numbers.min()), int(numbers.max())
    if smallest == largest:
        return _ALIKE, smallest, None
    for width, (_, kind) in _WIDTHS.items():
        if width < numbers.itemsize and largest - smallest < 1 << 8 * width:
            narrow = np.empty(len(numbers), kind)
            np.subtract(numbers, smallest, out=narrow, casting="unsafe")
            return width, smallest, pa.array(narrow)
    return _AS_IS, 0, array


def _numbers(array: pa.Array) -> NDArray[np.signedinteger] | None:
    """Return what is whole numbers as such."""
    if pa.types.is_signed_integer(array.type):
        found: NDArray[np.signedinteger] = array.to_numpy()
        return found
    if pa.types.is_timestamp(array.type) or pa.types.is_date32(array.type):
        found = array.view(pa.int64() if pa.types.is_timestamp(array.type) else pa.int32()).to_numpy()
        return found
    return None


def _widened(form: int, base: int, kind: pa.DataType, n: int, arrays: Iterator[pa.Array]) -> pa.Array:
    if form == _NOWHERE:
        return pa.nulls(n, kind)
    if form == _AS_IS:
        return next(arrays)
    own = np.dtype(f"i{kind.bit_width // 8}")
    numbers = np.full(n, base, own) if form == _ALIKE else np.add(next(arrays).to_numpy(), own.type(base), dtype=own)
    return pa.array(numbers).view(kind)
