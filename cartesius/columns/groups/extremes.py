"""Least and greatest of many groups at once: running maxima of ranks, those of each segment above those before it.

Source: SEMANTICS 2.7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.groups.totalling import Totalled, widened
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import Leaf, NotColumnar, Struct, concatenated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.groups.totalling import Totals
    from cartesius.columns.vectors.ordering import Segments
    from cartesius.columns.vectors.vectors import Vector

_INT64 = np.iinfo(np.int64)


@attrs.frozen
class Extremes:
    """Base: ``is_least`` says which of them."""

    empty: Any
    is_least = True

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running extremes: the running maximum of ranks, each segment's above those of the one before."""
        had = of_values(before) if isinstance(before, list) else before
        assert isinstance(had, Leaf | Struct)  # Invariant: what `run` gives
        together = concatenated([widened(one) for one in (had, values)])
        if not isinstance(together, Leaf) or together.kind:
            raise NotColumnar("what is compared are no plain values")
        ranks, by_rank = ranked(together)
        span = len(by_rank) + 1
        if self.is_least:
            ranks = span - 2 - ranks
        ranks += 1
        if together.valid is not None:
            ranks[~together.valid] = 0
        if span * len(segments.heads) > _INT64.max:
            raise NotColumnar("ranks leave 64 bits")
        base = segments.number * span
        best = np.maximum.accumulate(segments.sorted(ranks) + base) - base - 1
        changed = segments.changed(best)
        if self.is_least:
            best[best >= 0] = span - 2 - best[best >= 0]
        shown = unranked(best, by_rank, together)
        return Totalled(shown, changed, shown.take(segments.tails))

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return the extremes as objects."""
        assert isinstance(totals, Leaf)  # Invariant: what `run` gives
        return totals.to_list()


class Least(Extremes):
    """The first of the least."""


class Greatest(Extremes):
    """The first of the greatest."""

    is_least = False


def ranked(leaf: Leaf) -> tuple[NDArray[np.int64], NDArray[Any] | range]:
    """Return the rank of each value, and the values by rank; a range of ints stands for itself, from the smallest."""
    if not (leaf.is_number or leaf.type == pa.null()):
        raise NotColumnar(f"values of the type {leaf.type} are compared")
    if leaf.type == pa.null():
        return np.zeros(len(leaf), np.int64), range(0)
    numbers = leaf.numbers
    if numbers.dtype.kind == "f" and (np.isnan(numbers).any() or (np.signbit(numbers) & (numbers == 0)).any()):
        raise NotColumnar("NaN, or a negative zero, is compared")
    if numbers.dtype.kind in "bi":
        numbers = numbers.astype(np.int64)
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < max(4 * len(numbers), 1 << 16):
            return numbers - low, range(low, high + 1)
    values, ranks = np.unique(numbers, return_inverse=True)
    return ranks.astype(np.int64), values


def unranked(best: NDArray[np.int64], by_rank: NDArray[Any] | range, like: Leaf) -> Leaf:
    """Return the values of ranks, None of a negative one."""
    if like.type == pa.null():
        return Leaf(pa.nulls(len(best)))
    missing = best < 0
    has_none = bool(missing.any())
    if isinstance(by_rank, range):
        values: NDArray[Any] = best + by_rank.start
    else:
        values = by_rank[np.where(missing, 0, best)] if len(by_rank) else best
    if pa.types.is_boolean(like.type):
        values = values.astype(np.bool_)
    return Leaf(pa.array(values, like.type, mask=missing if has_none else None))
