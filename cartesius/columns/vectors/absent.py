"""Absent structs: None, many times, with fields whose types are known, and no memory until somebody looks at them.

A verdict has a place for each reason there could be, of which most are nowhere given.

Invariant: it stands for as many None as it is long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.vectors import Leaf, Struct

if TYPE_CHECKING:
    from typing import Self

    from cartesius.columns.vectors.vectors import Indices, Vector


class Absent(Struct):
    """Nothing, in the fields and types of another struct.

    Args:
        like: That struct.
        length: How many times.
    """

    def __init__(self, like: Struct, length: int) -> None:
        self.kind = like.kind
        self.names = like.names
        self.length = length
        self.valid = np.zeros(length, np.bool_)
        self._like = like

    def __getattr__(self, name: str) -> Any:
        """Return the items, which are made when they are first asked for."""
        if name != "items":
            raise AttributeError(name)
        self.items = tuple([_nothing(item, self.length) for item in self._like.items])
        return self.items

    @property
    def is_absent(self) -> bool:
        """Yes."""
        return True

    def take(self, indices: Indices, *, may_miss: bool = False) -> Self:
        """Return as many as there are ``indices``."""
        del may_miss
        return type(self)(self._like, len(indices))

    def slice(self, first: int, last: int) -> Self:
        """Return those from ``first`` up to ``last``."""
        return type(self)(self._like, last - first)


def _nothing(vector: Vector, n: int) -> Vector:
    """Return ``n`` times nothing, in the fields and types of ``vector``."""
    return Leaf(_nulls(vector.type, n), vector.kind) if isinstance(vector, Leaf) else Absent(vector, n)


def _nulls(kind: pa.DataType, n: int) -> pa.Array:
    """Return nulls in memory that is not written to, where the type has one width."""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return pa.nulls(n, kind)
    nothing = pa.py_buffer(np.zeros(n * kind.bit_width // 8, np.uint8))
    return pa.Array.from_buffers(kind, n, [nothing, nothing], null_count=n)
