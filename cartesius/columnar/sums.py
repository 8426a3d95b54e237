"""Counts, sums and means of many groups at once. Sums are exact, and rounded once, when they are shown.

Ints are added in 64 bits, floats as fixed-point numbers; what does not fit is refused, and combined one by one.

Source: SEMANTICS 2.7.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columnar.fixed_point import Fixed, as_fixed, quotients, rounded, running
from cartesius.columnar.totalling import Totalled, ints
from cartesius.columnar.vectors import Leaf, NotColumnar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columnar.segments import Segments
    from cartesius.columnar.totalling import Totals
    from cartesius.columnar.vectors import Vector

_INT64 = np.iinfo(np.int64)
_EXACT = 2**53


def _numbers(vector: Vector) -> Leaf:
    if not isinstance(vector, Leaf) or vector.kind or not vector.is_number or vector.valid is not None:
        reason = "not all that is totalled are numbers"
        raise NotColumnar(reason)
    return vector


@attrs.frozen
class Counts:
    """How many there are."""

    empty: Any

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running counts."""
        shown = running_counts(segments, counts)
        return Totalled(Leaf(pa.array(shown)), np.ones(segments.size, np.bool_), shown[segments.tails])

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return the counts."""
        found: list[Any] = counts.tolist()
        return found


def running_counts(segments: Segments, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many rows each group has had, after each; those before had ``counts``."""
    if len(counts):
        return segments.running(segments.sorted(_after(counts, np.ones(segments.size - len(counts), np.int64))))
    places = np.arange(1, segments.size + 1)
    return places - np.repeat(segments.heads, segments.lengths) if len(segments.heads) > 1 else places


def _after(before: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([before, rows]) if len(before) else rows


@attrs.frozen
class Sums:
    """Exact sums of numbers, all ints or all floats."""

    empty: Any

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running sums."""
        found = self.exact(segments, before, values)
        if isinstance(found, Fixed):
            shown = rounded(found)
            return Totalled(Leaf(pa.array(shown)), segments.changed(shown), found.take(segments.tails))
        return Totalled(Leaf(pa.array(found)), segments.changed(found), found[segments.tails])

    def exact(self, segments: Segments, before: Totals, values: Vector) -> NDArray[np.int64] | Fixed:
        """Return running sums as they are, not rounded, by segment."""
        leaf = _numbers(values)
        had = self.columns(before) if isinstance(before, list) else before
        if pa.types.is_floating(leaf.type):
            if had is not None and not isinstance(had, Fixed):
                reason = "ints and floats are added"
                raise NotColumnar(reason)
            return running(segments, had, leaf.numbers.astype(np.float64, copy=False))
        if isinstance(had, Fixed):
            reason = "ints and floats are added"
            raise NotColumnar(reason)
        numbers = ints(leaf)
        most = max(abs(int(numbers.max())), abs(int(numbers.min()))) * len(numbers) if len(numbers) else 0
        if isinstance(had, np.ndarray) and len(had):
            most += max(abs(int(had.max())), abs(int(had.min())))
            numbers = np.concatenate([had, numbers])
        if most > _INT64.max:
            reason = "a sum may leave 64 bits"
            raise NotColumnar(reason)
        return segments.running(segments.sorted(numbers))

    def columns(self, totals: list[Any]) -> NDArray[np.int64] | Fixed | None:
        """Return sums as columns; None if there are none."""
        if not totals:
            return None
        if any(one.decimals or one.infinite is not None for one in totals):
            reason = "a sum is no finite number"
            raise NotColumnar(reason)
        are_floats = {one.floats > 0 for one in totals}
        if are_floats == {True}:
            return as_fixed([one.exact for one in totals])
        if are_floats == {True, False} or any(one.denominator != 1 for one in totals):
            reason = "ints and floats are added"
            raise NotColumnar(reason)
        try:
            return np.array([one.numerator for one in totals], np.int64)
        except OverflowError as error:
            reason = "a sum leaves 64 bits"
            raise NotColumnar(reason) from error

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return the sums as objects."""
        if isinstance(totals, Fixed):
            return [self._sum(exact, n) for exact, n in zip(totals.exact(), counts.tolist(), strict=True)]
        return [self._sum(Fraction(total), 0) for total in totals.tolist()]  # type: ignore[union-attr]  # ints then

    def _sum(self, exact: Fraction, floats: int) -> Any:
        return attrs.evolve(self.empty, numerator=exact.numerator, denominator=exact.denominator, floats=floats)


@attrs.frozen
class Means:
    """Exact sums, divided by counts."""

    empty: Any

    @property
    def _sums(self) -> Sums:
        return Sums(self.empty.sum)

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running means."""
        had = [one.sum for one in before] if isinstance(before, list) else before
        sums, numbers = self._sums.exact(segments, had, values), running_counts(segments, counts)
        if isinstance(sums, Fixed):
            shown = quotients(sums, numbers)
            return Totalled(Leaf(pa.array(shown)), segments.changed(shown), sums.take(segments.tails))
        shown = _divided(sums, numbers)
        return Totalled(Leaf(pa.array(shown)), segments.changed(shown), sums[segments.tails])

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return the means as objects."""
        sums = self._sums.objects(totals, counts)
        return [attrs.evolve(self.empty, sum=one, count=n) for one, n in zip(sums, counts.tolist(), strict=True)]


def _divided(sums: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    if len(sums) and max(int(sums.max()), -int(sums.min())) > _EXACT:
        return np.array([one / n for one, n in zip(sums.tolist(), numbers.tolist(), strict=True)])
    return sums / numbers
