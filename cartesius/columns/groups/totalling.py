"""Totals of many groups at once: what each comes to after every row, exactly as combining row by row gives it.

Which columns they are, and how groups are combined of which nothing is known: one by one, with their own functions.

Source: SEMANTICS 2.7; DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.groups.fixed_point import Fixed
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct
from cartesius.results.unchanged_values import is_unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.ordering import Segments
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.results.totals import Aggregate

Totals: TypeAlias = "list[Any] | Leaf | Struct | Summed | NDArray[np.int64]"
"""What groups come to: as objects, or as columns."""
COUNTS, SUMS, FIXED = "counts", "sums", "fixed"
"""Kinds of totals that are no values, where they are held as rows; floats of one exponent are of one kind."""
_INT64 = np.iinfo(np.int64)


@attrs.frozen(eq=False)
class Summed:
    """Exact sums.

    Args:
        sums: What they come to, 0 of nothing.
        numbers: Of how many numbers each is; None: of all the results of its group, as none was null.
    """

    sums: NDArray[np.int64] | Fixed
    numbers: NDArray[np.int64] | None

    def take(self, indices: Indices) -> Summed:
        """Return some of them."""
        sums = self.sums.take(indices) if isinstance(self.sums, Fixed) else self.sums[indices]
        return Summed(sums, None if self.numbers is None else self.numbers[indices])


@attrs.frozen(eq=False)
class Totalled:
    """What came of rows: by segment, and what was before among them.

    Args:
        shown: The total after each row, finished.
        changed: Where it is not what it was before the row.
        after: The totals at the ends of the segments.
    """

    shown: Vector
    changed: NDArray[np.bool_]
    after: Totals


class Totalling(Protocol):
    """How the totals of one kind of group are computed."""

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Total ``values``, in the order of rows, onto what was ``before``, of so many rows as ``counts`` says.

        Raises:
            NotColumnar: It cannot be done exactly.
        """

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return totals as the group has them."""


def ints(leaf: Leaf) -> NDArray[np.int64]:
    """Return numbers as ints of 64 bits."""
    numbers = leaf.numbers
    if numbers.dtype == np.uint64 and len(numbers) and int(numbers.max()) > _INT64.max:
        raise NotColumnar("an int leaves 64 bits")
    return numbers.astype(np.int64, copy=False)


def widened(vector: Vector) -> Vector:
    """Return values as the widest of their type, so that batches of several may follow each other."""
    if isinstance(vector, Struct):
        return Struct(vector.kind, vector.names, list(map(widened, vector.items)), len(vector), vector.valid)
    kind = vector.type
    if pa.types.is_integer(kind) and kind != pa.int64():
        ints(vector)
        return Leaf(vector.array.cast(pa.int64()), vector.kind)
    if pa.types.is_floating(kind) and kind != pa.float64():
        return Leaf(vector.array.cast(pa.float64()), vector.kind)
    return vector


def chosen(totals: Totals, indices: Indices) -> Totals:
    """Return some of the totals."""
    if isinstance(totals, list):
        return [totals[place] for place in indices.tolist()]
    return totals.take(indices) if isinstance(totals, Leaf | Struct | Summed) else totals[indices]


def as_vector(totals: Totals) -> Vector | None:
    """Return totals as values; None if they are objects."""
    if isinstance(totals, list):
        return None
    if isinstance(totals, Leaf | Struct):
        return totals
    if not isinstance(totals, Summed):
        return _columns(COUNTS, {"counts": totals})
    numbers = {} if totals.numbers is None else {"numbers": totals.numbers}
    if isinstance(totals.sums, Fixed):
        return _columns(
            f"{FIXED} {totals.sums.exponent}", {**numbers, "high": totals.sums.high, "low": totals.sums.low}
        )
    return _columns(SUMS, {**numbers, "sums": totals.sums})


def of_vector(vector: Vector) -> Totals:
    """Return the totals that `as_vector` was given."""
    kind, _, exponent = vector.kind.partition(" ")
    if not isinstance(vector, Struct) or kind not in (COUNTS, SUMS, FIXED):
        return vector
    columns = {name: item.numbers for name, item in zip(vector.names, vector.items, strict=True)}  # type: ignore[union-attr]  # they are leaves
    if kind == COUNTS:
        return columns["counts"]
    sums = Fixed(columns["high"], columns["low"], int(exponent)) if kind == FIXED else columns["sums"]
    return Summed(sums, columns.get("numbers"))


def _columns(kind: str, columns: dict[str, NDArray[np.int64]]) -> Struct:
    items = [Leaf(pa.array(column)) for column in columns.values()]
    return Struct(kind, tuple(columns), items, len(items[0]))


def combined(group: Aggregate, segments: Segments, before: Sequence[Any], values: Sequence[Any]) -> Totalled:
    """Combine one by one, with the group's own functions."""
    places: Indices = segments.number if segments.order is None else np.empty(segments.size, np.int64)
    if segments.order is not None:
        places[segments.order] = segments.number
    totals = [group.empty] * len(segments.heads)
    was: list[Any] = [None] * len(totals)
    is_there = [False] * len(totals)
    shown: list[Any] = []
    changed = []
    combine, finish, lift = group.combine, group.finish, group.lift
    try:
        for place, total in zip(places[: segments.before].tolist(), before, strict=True):
            totals[place], was[place], is_there[place] = total, finish(total), True
            shown.append(was[place])
            changed.append(True)
        for place, value in zip(places[segments.before :].tolist(), values, strict=True):
            total = totals[place] = combine(totals[place], lift(value))
            finished = finish(total)
            changed.append(not is_there[place] or not is_unchanged(was[place], finished))
            was[place], is_there[place] = finished, True
            shown.append(finished)
    except Exception as error:
        raise NotColumnar(f"a group raises {type(error).__name__}") from error
    vector, flags = of_values(shown), np.array(changed, np.bool_)
    if segments.order is not None:
        vector, flags = vector.take(segments.order), flags[segments.order]
    return Totalled(vector, flags, totals)
