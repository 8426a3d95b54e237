"""Objects as a vector: values that go from one kernel to another, as texts of plain data where Arrow needs them.

Invariant: it gives back the very objects that it was made of.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cartesius.columns.vectors.vectors import MISSING, PACKED, Leaf, packed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from cartesius.columns.vectors.vectors import Indices, Mask


class Objects(Leaf):
    """Values of Python, whatever they are."""

    kind = PACKED

    def __init__(self, values: Sequence[Any] | NDArray[np.object_]) -> None:
        self.values = np.fromiter(values, object, len(values))

    def __getattr__(self, name: str) -> Any:
        """Return the array of texts, which is made when it is first asked for."""
        if name != "array":
            raise AttributeError(name)
        self.array = packed(self.values).array
        return self.array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type."""
        return pa.string()

    @cached_property
    def valid(self) -> Mask:
        """Which values are there; None if all are."""
        valid = np.fromiter((one is not None for one in self.values), np.bool_, len(self.values))
        return None if valid.all() else valid

    def take(self, indices: Indices, *, may_miss: bool = False) -> Self:
        """Return the values at ``indices``, None at `MISSING` if some ``may_miss``."""
        if not may_miss:
            return type(self)(self.values[indices])
        return type(self)(np.append(self.values, [None])[np.where(indices == MISSING, len(self.values), indices)])

    def slice(self, first: int, last: int) -> Self:
        """Return the values from ``first`` up to ``last``."""
        return type(self)(self.values[first:last])

    def to_list(self) -> list[Any]:
        """Return the values."""
        found: list[Any] = self.values.tolist()
        return found

    def joined(self, leaves: Sequence[Leaf]) -> Leaf:
        """Return the values of all leaves."""
        return type(self)([value for leaf in leaves for value in leaf.to_list()])

    @property
    def nbytes(self) -> int:
        """How many bytes the references take."""
        return int(self.values.nbytes)
