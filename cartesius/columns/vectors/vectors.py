"""Vectors: many values of one type, as columns. A `Leaf` is an Arrow array, a `Struct` has a vector for each field.

A vector stands for the Python values that `Vector.to_list` gives, type for type: what is computed on columns must be
what Python computes on those. Whoever cannot promise that raises `NotColumnar`, and the rows are pushed one by one.

Invariant: the vectors of a `Struct` are as long as it is; a `Leaf` is one contiguous array.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.kinds import MAKERS, READERS
from cartesius.data.codec import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Mask: TypeAlias = "NDArray[np.bool_] | None"  # None: all of them
    Ints: TypeAlias = "NDArray[np.int64]"
    Indices: TypeAlias = Ints

KIND: Final = b"cartesius"
"""The key of a field's metadata that says which Python values its structs, or texts, stand for."""
RECORD, DICT, TUPLE, CHANGE, PACKED = "record", "dict", "tuple", "change", "packed"
MISSING: Final = -1
"""In `Vector.take`, in the place of an index: there is no value."""

# The allocator of glibc maps each large array anew, and its pages with it, until an array of that size has been freed;
# from then on it keeps what is freed, up to twice as much. Nothing is written to this one, so it costs nothing.
np.empty((1 << 25) - (1 << 13), np.uint8)


class NotColumnar(Exception):  # a control signal that never leaves the engine
    """Columns cannot do exactly what pushing the rows one by one does; its text says why."""


class Leaf:
    """Values without fields, as an Arrow array; null is None."""

    def __init__(self, array: pa.Array, kind: str = "") -> None:
        self.array = array
        self.kind = kind  # PACKED: texts that stand for any plain data

    def __len__(self) -> int:
        return len(self.array)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type."""
        return self.array.type

    @cached_property
    def valid(self) -> Mask:
        """Which values are there; None if all are."""
        if not self.array.null_count:
            return None
        valid: NDArray[np.bool_] = self.array.is_valid().to_numpy(zero_copy_only=False)
        return valid

    @cached_property
    def numbers(self) -> NDArray[Any]:
        """The values as numpy numbers or Booleans, 0 where there is none; only if `is_number`."""
        array = self.array
        if array.null_count:
            array = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
        numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        return numbers

    @property
    def is_number(self) -> bool:
        """Whether they are numbers or Booleans, of a kind that numpy has."""
        kind = self.array.type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

    def take(self, indices: Indices, *, may_miss: bool = False) -> Leaf:
        """Return the values at ``indices``, None at `MISSING` if some ``may_miss``."""
        if pa.types.is_null(self.type):
            return Leaf(pa.nulls(len(indices)), self.kind)
        if self.is_number and not self.array.null_count and not may_miss:
            return Leaf(pa.array(self.numbers[indices], type=self.type), self.kind)
        if self.is_number and len(self):
            missing = indices == MISSING if self.valid is None else (indices == MISSING) | ~self.valid[indices]
            numbers = self.numbers[indices]
            numbers[missing] = 0
            taken = Leaf(pa.array(numbers, type=self.type, mask=missing), self.kind)
            vars(taken)["numbers"] = numbers
            return taken
        chosen = pa.array(indices, mask=indices == MISSING) if may_miss else pa.array(indices)
        return Leaf(self.array.take(chosen), self.kind)

    def slice(self, first: int, last: int) -> Leaf:
        """Return the values from ``first`` up to ``last``, in the same array."""
        return Leaf(self.array.slice(first, last - first), self.kind)

    def to_list(self) -> list[Any]:
        """Return the Python values."""
        values: list[Any] = self.array.to_pylist()
        if not self.kind:
            return values
        name, _, parameter = self.kind.partition(" ")
        return READERS[name](parameter)(values)

    def to_arrow(self) -> pa.Array:
        """Return the values as Arrow has them."""
        return self.array

    def field(self, name: str) -> pa.Field:
        """Return the field of a schema for them."""
        return pa.field(name, self.type, metadata={KIND: self.kind.encode()} if self.kind else None)

    def joined(self, leaves: Sequence[Leaf]) -> Leaf:
        """Return leaves of this kind, of which this is the first, one after the other."""
        kind = _common({leaf.type for leaf in leaves if leaf.type != pa.null()})
        arrays = [leaf.array if kind in {None, leaf.type} else leaf.array.cast(kind) for leaf in leaves]
        return Leaf(pa.concat_arrays(arrays), self.kind)

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return int(self.array.nbytes)


class Struct:
    """Values with fields: records, dicts, tuples, or what a registered kind makes of them."""

    def __init__(
        self, kind: str, names: Sequence[str], items: Sequence[Vector], length: int, valid: Mask = None
    ) -> None:
        self.kind = kind
        self.names = tuple(names)
        self.items = tuple(items)
        self.length = length
        self.valid = valid

    def __len__(self) -> int:
        return self.length

    @property
    def is_absent(self) -> bool:
        """Whether it is known that no value is there (see `Absent`)."""
        return False

    def item(self, name: str) -> Vector | None:
        """Return the vector of a field, None if there is no such field."""
        return self.items[self.names.index(name)] if name in self.names else None

    def take(self, indices: Indices, *, may_miss: bool = False) -> Struct:
        """Return the values at ``indices``, None at `MISSING` if some ``may_miss``."""
        items = [item.take(indices, may_miss=may_miss) for item in self.items]
        if may_miss and (is_missing := indices == MISSING).any():
            valid = ~is_missing if self.valid is None else np.append(self.valid, False)[indices]  # the last: it is none
        else:
            valid = None if self.valid is None else self.valid[indices]
        return Struct(self.kind, self.names, items, len(indices), valid)

    def slice(self, first: int, last: int) -> Struct:
        """Return the values from ``first`` up to ``last``, in the same arrays."""
        items = [item.slice(first, last) for item in self.items]
        return Struct(
            self.kind, self.names, items, last - first, None if self.valid is None else self.valid[first:last]
        )

    def to_list(self) -> list[Any]:
        """Return the Python values."""
        if self.valid is not None:
            places = np.flatnonzero(self.valid)
            if not len(places):
                return [None] * self.length
            there = Struct(self.kind, self.names, [item.take(places) for item in self.items], len(places))
            values = iter(there.to_list())
            return [next(values) if is_there else None for is_there in self.valid.tolist()]
        name, _, parameter = self.kind.partition(" ")
        make = MAKERS[name](self.names, parameter)
        columns = [item.to_list() for item in self.items]
        return [make(values) for values in zip(*columns, strict=True)] if columns else [make(())] * self.length

    def to_arrow(self) -> pa.Array:
        """Return the values as Arrow has them."""
        mask = None if self.valid is None else pa.array(~self.valid)
        if not self.items:
            return pa.array(
                [{}] * self.length if mask is None else [None if m else {} for m in mask.to_pylist()], self.type
            )
        return pa.StructArray.from_arrays([item.to_arrow() for item in self.items], fields=self._fields(), mask=mask)

    def _fields(self) -> list[pa.Field]:
        return [item.field(name) for item, name in zip(self.items, self.names, strict=True)]

    @property
    def type(self) -> pa.DataType:
        """The Arrow type."""
        return pa.struct(self._fields())

    def field(self, name: str) -> pa.Field:
        """Return the field of a schema for them."""
        return pa.field(name, self.type, metadata={KIND: self.kind.encode()})

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return sum(item.nbytes for item in self.items) + (0 if self.valid is None else self.valid.nbytes)


Vector: TypeAlias = Leaf | Struct


def from_arrow(array: pa.Array | pa.ChunkedArray, field: pa.Field | None = None) -> Vector:
    """Return the vector of an Arrow array; a struct stands for a record unless its field says otherwise."""
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    kind = (field.metadata or {}).get(KIND, b"").decode() if field is not None else ""
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if not pa.types.is_struct(array.type):
        return Leaf(array, kind)
    fields = [array.type.field(place) for place in range(array.type.num_fields)]
    items = [from_arrow(item, one) for item, one in zip(array.flatten(), fields, strict=True)]
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return Struct(kind or RECORD, [one.name for one in fields], items, len(array), valid)


def packed(values: Iterable[Any]) -> Leaf:
    """Return plain data of any types as texts."""
    return Leaf(pa.array([None if value is None else text_of(value) for value in values], pa.string()), PACKED)


_WIDEST: Final = (
    (lambda kind: pa.types.is_integer(kind) and kind != pa.uint64(), pa.int64()),
    (pa.types.is_unsigned_integer, pa.uint64()),
    (pa.types.is_floating, pa.float64()),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), pa.large_string()),
)  # fmt: skip


def _common(kinds: set[pa.DataType]) -> pa.DataType | None:
    """Return the type that holds the same Python values as all of these; None if there are none."""
    if len(kinds) < 2:
        return next(iter(kinds), None)
    for holds, widest in _WIDEST:
        if all(map(holds, kinds)):
            return widest
    raise NotColumnar(f"values of the types {', '.join(sorted(map(str, kinds)))} are mixed")


def _vagueness(vector: Vector) -> int:
    """Return how little a vector says of the type of others that may come after it."""
    return 2 if isinstance(vector, Leaf) else int(vector.is_absent)


def is_none(vector: Vector) -> bool:
    """Whether all values are null, whatever the type."""
    return vector.is_absent if isinstance(vector, Struct) else bool(vector.type == pa.null() and not vector.kind)


def concatenated(vectors: Iterable[Vector]) -> Vector:
    """Return vectors one after the other; `NotColumnar` if their types differ."""
    vectors = list(vectors)
    some = [vector for vector in vectors if len(vector)] or vectors[:1]
    if len(some) == 1:
        return some[0]
    first = min(some, key=_vagueness)
    if isinstance(first, Leaf):
        leaves = [vector for vector in some if isinstance(vector, Leaf)]
        if any(leaf.kind == PACKED for leaf in leaves):  # a snapshot packs decimals; those that come are columns
            leaves = [leaf if leaf.kind == PACKED else packed(leaf.to_list()) for leaf in leaves]
        if len(leaves) != len(some) or len({leaf.kind for leaf in leaves}) > 1:
            raise NotColumnar("values with fields and without are mixed")
        return leaves[0].joined(leaves)
    none = [vector for vector in some if is_none(vector)]
    missing = {id(one): first.take(np.full(len(one), MISSING, np.int64), may_miss=True) for one in none}
    some = [missing.get(id(vector), vector) for vector in some]
    structs = [vector for vector in some if isinstance(vector, Struct)]
    if len(structs) != len(some):
        raise NotColumnar("values with fields and without are mixed")
    if {(one.kind, one.names) for one in structs} != {(first.kind, first.names)}:
        raise NotColumnar("values with different fields are mixed")
    items = [concatenated(same) for same in zip(*[one.items for one in structs], strict=True)]
    valid = None
    if any(one.valid is not None for one in structs):
        valid = np.concatenate([np.ones(len(one), np.bool_) if one.valid is None else one.valid for one in structs])
    return Struct(first.kind, first.names, items, sum(map(len, structs)), valid)
