"""Keys: values as small ints, equal where the values are equal in Python's sense.

What equals nothing has the code `NEVER`: a number that is none, and a null where a null key matches nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartesius.columns.vectors.vectors import PACKED, TUPLE, Leaf, NotColumnar, Struct, concatenated, is_none
from cartesius.data.null_values import is_null

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Mask, Vector

    Coded: TypeAlias = "tuple[NDArray[np.int64], int, Mask]"

NEVER: Final = -1
_EXACT: Final = 2**53
_DENSE: Final = 4
"""How many codes per value are few enough to take ints as they are, less the smallest."""


def encoded(sides: Sequence[Sequence[Vector]], *, skips_null: bool) -> tuple[list[NDArray[np.int64]], int]:
    """Return the codes of each side, and how many there are: each code is in ``range(count)``, or `NEVER`.

    Args:
        sides: Of each side the vectors whose values together are the key; as many on every side.
        skips_null: Whether a null in it means that the key matches nothing; otherwise None equals None.
    """
    if not sides:
        return [], 0
    lengths = [len(side[0]) for side in sides]
    codes, count = _component([side[0] for side in sides], skips_null=skips_null)
    for place in range(1, len(sides[0])):
        more, n = _component([side[place] for side in sides], skips_null=skips_null)
        codes, count = _combined(codes, count, more, n)
    return np.split(codes, np.cumsum(lengths)[:-1]), count


def nulls(vector: Vector) -> Mask:
    """Return which keys are null; None if none is."""
    if isinstance(vector, Struct) and vector.kind == TUPLE:
        found = np.zeros(len(vector), np.bool_) if vector.valid is None else ~vector.valid
        for item in vector.items:
            found = found if (more := nulls(item)) is None else found | more
    elif isinstance(vector, Leaf) and not vector.kind and not pa.types.is_nested(vector.type):
        found = np.zeros(len(vector), np.bool_) if vector.valid is None else ~vector.valid
        if pa.types.is_floating(vector.type):
            found = found | np.isnan(vector.numbers)
    else:
        found = np.array([is_null(key) for key in vector.to_list()], np.bool_)
    return found if found.any() else None


def check_hashable(vector: Vector) -> None:
    """Raise `NotColumnar` if a key cannot be hashed, used or not: pushed by itself it is refused."""
    if isinstance(vector, Struct) and vector.kind == TUPLE:
        for item in vector.items:
            check_hashable(item)
    elif not isinstance(vector, Leaf) or vector.kind or pa.types.is_nested(vector.type):
        try:
            hash(tuple(vector.to_list()))
        except TypeError:
            raise NotColumnar("a key cannot be hashed") from None


def any_nan(vector: Vector) -> bool:
    """Whether there is a float that is no number, in a part of a tuple as well."""
    if isinstance(vector, Struct):
        return any(map(any_nan, vector.items))
    return bool(pc.any(pc.is_nan(vector.array)).as_py()) if pa.types.is_floating(vector.type) else False


def _combined(codes: NDArray[np.int64], count: int, more: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], int]:
    never = (codes == NEVER) | (more == NEVER)
    if count * n < _DENSE * len(codes):
        both, total = codes * n + more, count * n
    else:
        found, both = np.unique(codes * n + more, return_inverse=True)
        both, total = both.astype(np.int64), len(found)
    both[never] = NEVER
    return both, total


def _component(vectors: Sequence[Vector], *, skips_null: bool) -> tuple[NDArray[np.int64], int]:
    vectors = [one for one in vectors if len(one)] or vectors[:1]
    kinds = [None if is_none(one) else isinstance(one, Struct) for one in vectors]
    if len({*kinds}) == 1 and kinds[0] is not None:
        codes, count, valid = _of_structs(vectors) if kinds[0] else _of_leaves(vectors)
    else:
        codes, count, valid = _of_several(vectors, kinds)
    if valid is not None:
        codes[~valid] = NEVER if skips_null else count
        count += 0 if skips_null else 1
    return codes, count


def _of_several(vectors: Sequence[Vector], kinds: Sequence[bool | None]) -> Coded:
    """Return the codes of values with fields (True) and without, of which none equals one of the other; None: null."""
    first, count = np.cumsum([0, *map(len, vectors)]), 0
    codes, valid = np.full(first[-1], NEVER, np.int64), np.zeros(first[-1], np.bool_)
    for kind, coded in ((True, _of_structs), (False, _of_leaves)):
        numbers = [number for number, one in enumerate(kinds) if one is kind]
        if numbers:
            found, more, there = coded([vectors[number] for number in numbers])
            where = np.concatenate([np.arange(first[number], first[number + 1]) for number in numbers])
            codes[where] = np.where(found == NEVER, NEVER, found + count)
            valid[where] = True if there is None else there
            count += more
    return codes, max(count, 1), valid


def _of_leaves(vectors: Sequence[Vector]) -> Coded:
    """Return the codes of values without fields, how many there are, and which values are there; None: all."""
    if any(isinstance(one, Leaf) and one.kind == PACKED for one in vectors):
        raise NotColumnar("keys are of several types")
    together = concatenated(_of_one_type(vectors))
    assert isinstance(together, Leaf)  # Invariant: leaves together are a leaf
    if pa.types.is_nested(together.type):
        raise NotColumnar(f"keys are of the type {together.type}")
    return *_of_leaf(together), together.valid


def _of_leaf(leaf: Leaf) -> tuple[NDArray[np.int64], int]:
    if pa.types.is_boolean(leaf.type):
        return leaf.numbers.astype(np.int64), 2
    if pa.types.is_integer(leaf.type) and len(leaf):
        numbers = leaf.numbers
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < max(_DENSE * len(leaf), 1 << 16):
            wide = numbers if numbers.dtype.itemsize == 8 else numbers.astype(np.int64)  # 127 + 128 is no int8
            return (wide - wide.dtype.type(low)).astype(np.int64, copy=False), high - low + 1
    if pa.types.is_timestamp(leaf.type) and not _is_of_instants(leaf.type.tz):
        reason = f"keys are times in the zone {leaf.type.tz}, where two may be equal in the hour that comes twice"
        raise NotColumnar(reason)
    array = leaf.array
    never: NDArray[np.bool_] | None = None
    if pa.types.is_floating(leaf.type):
        numbers = leaf.numbers + 0.0  # -0.0 equals 0.0
        never = np.isnan(numbers)
        array = pa.array(numbers)
    found = pc.dictionary_encode(array, null_encoding="encode")
    codes = found.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    if never is not None:
        codes[never] = NEVER
    return codes, max(1, len(found.dictionary))


def _is_of_instants(zone: str | None) -> bool:
    """Whether Python's equality of times in a zone, which goes by what a clock there shows, is that of instants."""
    return zone in (None, "UTC", "Etc/UTC") or zone.startswith(("+", "-"))


def _of_structs(vectors: Sequence[Vector]) -> Coded:
    """Return the same of tuples, part by part."""
    structs = [one for one in vectors if isinstance(one, Struct)]
    first = structs[0]
    if {(one.kind, one.names) for one in structs} != {(first.kind, first.names)} or first.kind != TUPLE:
        raise NotColumnar("keys have fields")
    valid = None
    if any(one.valid is not None for one in structs):
        valid = np.concatenate([np.ones(len(one), np.bool_) if one.valid is None else one.valid for one in structs])
    if not first.names:
        return np.zeros(sum(map(len, structs)), np.int64), 1, valid
    codes, count = encoded([one.items for one in structs], skips_null=False)
    return np.concatenate(codes), count, valid


def _of_one_type(vectors: Sequence[Vector]) -> Sequence[Vector]:
    """Return leaves cast to one type in which equality is Python's."""
    leaves = [one for one in vectors if isinstance(one, Leaf)]
    types = {leaf.type for leaf in leaves if leaf.type != pa.null()}
    if len(leaves) != len(vectors) or len(types) < 2:
        return vectors
    if all(leaf.is_number for leaf in leaves if leaf.type != pa.null()):
        if any(pa.types.is_floating(one) for one in types):
            return [
                leaf if pa.types.is_floating(leaf.type) and leaf.type == pa.float64() else _as_float(leaf)
                for leaf in leaves
            ]
        return [Leaf(_cast(leaf, pa.int64())) for leaf in leaves]
    if all(pa.types.is_string(one) or pa.types.is_large_string(one) for one in types):
        return [Leaf(_cast(leaf, pa.large_string())) for leaf in leaves]
    raise NotColumnar(f"keys of the types {', '.join(sorted(map(str, types)))} are compared")


def _as_float(leaf: Leaf) -> Leaf:
    if leaf.type != pa.null() and not pa.types.is_floating(leaf.type) and not pa.types.is_boolean(leaf.type):
        numbers = leaf.numbers
        if len(numbers) and (int(numbers.max()) > _EXACT or int(numbers.min()) < -_EXACT):
            raise NotColumnar("ints beyond 2**53 are compared with floats")
    return Leaf(_cast(leaf, pa.float64()))


def _cast(leaf: Leaf, kind: pa.DataType) -> Any:
    try:
        return leaf.array.cast(pa.int8()).cast(kind) if pa.types.is_boolean(leaf.type) else leaf.array.cast(kind)
    except pa.ArrowInvalid as error:
        raise NotColumnar(f"keys of the type {leaf.type} are compared with those of the type {kind}") from error
