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

from cartesius.columns.groups.fixed_point import Fixed, as_fixed, quotients, rounded, running
from cartesius.columns.groups.totalling import Summed, Totalled, ints
from cartesius.columns.vectors.vectors import Leaf, NotColumnar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cartesius.columns.groups.totalling import Totals
    from cartesius.columns.vectors.ordering import Segments
    from cartesius.columns.vectors.vectors import Vector

_INT64 = np.iinfo(np.int64)
_EXACT = 2**53


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
class Presences:
    """How many are not null."""

    empty: Any

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running counts of what is not null."""
        had = np.array(before, np.int64)
        there = values.valid
        ones = np.ones(len(values), np.int64) if there is None else there.astype(np.int64)
        shown = segments.running(segments.sorted(_after(had, ones)))
        return Totalled(Leaf(pa.array(shown)), segments.changed(shown), shown[segments.tails])

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return the counts."""
        assert isinstance(totals, np.ndarray)  # Invariant: what `run` gives
        found: list[Any] = totals.tolist()
        return found


@attrs.frozen
class Sums:
    """Exact sums of numbers, all ints or all floats, and nulls, which count for nothing."""

    empty: Any

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running sums."""
        found = self.exact(segments, before, counts, values)
        shown = rounded(found.sums) if isinstance(found.sums, Fixed) else found.sums
        return _totalled(segments, shown, found)

    def exact(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Summed:
        """Return running sums as they are, not rounded, by segment."""
        had = summed(before) if isinstance(before, list) else before
        assert had is None or isinstance(had, Summed)  # Invariant: what `run` gives
        numbers, there, sums = numbers_of(values, had)
        return Summed(_running(segments, sums, numbers), _running_numbers(segments, had, counts, there))

    def objects(self, totals: Totals, counts: NDArray[np.int64]) -> list[Any]:
        """Return the sums as objects."""
        assert isinstance(totals, Summed)  # Invariant: what `run` gives
        numbers = (counts if totals.numbers is None else totals.numbers).tolist()
        is_float = isinstance(totals.sums, Fixed)
        exact = totals.sums.exact() if isinstance(totals.sums, Fixed) else map(Fraction, totals.sums.tolist())
        return [
            attrs.evolve(self.empty, numerator=one.numerator, denominator=one.denominator, count=n, floats=n * is_float)
            for one, n in zip(exact, numbers, strict=True)
        ]


@attrs.frozen
class Means(Sums):
    """Exact sums, divided by how many numbers they are of."""

    def run(self, segments: Segments, before: Totals, counts: NDArray[np.int64], values: Vector) -> Totalled:
        """Return running means."""
        found = self.exact(segments, before, counts, values)
        divisors = running_counts(segments, counts) if found.numbers is None else np.maximum(found.numbers, 1)
        return _totalled(segments, divided(found.sums, divisors), found)


def _totalled(segments: Segments, shown: NDArray[Any], found: Summed) -> Totalled:
    """Return what is shown, null of no numbers."""
    changed = segments.changed(shown)
    if found.numbers is None:
        return Totalled(Leaf(pa.array(shown)), changed, found.take(segments.tails))
    nothing = found.numbers == 0
    return Totalled(
        Leaf(pa.array(shown, mask=nothing)), changed | segments.changed(nothing), found.take(segments.tails)
    )


def summed(totals: list[Any]) -> Summed | None:
    """Return sums, which are objects, as columns; None if there are none."""
    if not totals:
        return None
    if any(one.decimals or one.infinite is not None for one in totals):
        raise NotColumnar("a sum is no finite number")
    are_floats = {one.floats > 0 for one in totals if one.count}
    if any(one.floats not in (0, one.count) for one in totals) or len(are_floats) > 1:
        raise NotColumnar("ints and floats are added")
    numbers = np.array([one.count for one in totals], np.int64)
    if are_floats == {True}:
        return Summed(as_fixed([one.exact for one in totals]), numbers)
    try:
        return Summed(np.array([one.numerator for one in totals], np.int64), numbers)
    except OverflowError as error:
        raise NotColumnar("a sum leaves 64 bits") from error


def numbers_of(
    values: Vector, had: Summed | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, NDArray[np.int64] | Fixed | None]:
    """Return what values add to sums, as ints of 64 bits or floats; which of them are there, if not all; and the sums.

    Raises:
        NotColumnar: They are no numbers, or of another kind than those that sums had.
    """
    if not isinstance(values, Leaf) or values.kind or not (values.is_number or values.type == pa.null()):
        raise NotColumnar("not all that is totalled are numbers")
    before = None if had is None else had.sums
    if values.type == pa.null():
        nothing: NDArray[Any] = np.zeros(len(values), np.float64 if isinstance(before, Fixed) else np.int64)
        return nothing, np.zeros(len(values), np.bool_), before
    are_floats = pa.types.is_floating(values.type)
    if had is not None and are_floats != isinstance(before, Fixed):
        if had.numbers is None or had.numbers.any():
            raise NotColumnar("ints and floats are added")
        zeros = np.zeros(len(had.numbers), np.int64)  # sums of nothing are of any kind
        before = Fixed(zeros, zeros, 0) if are_floats else zeros
    return (values.numbers.astype(np.float64, copy=False) if are_floats else ints(values)), values.valid, before


def _running(
    segments: Segments, before: NDArray[np.int64] | Fixed | None, numbers: NDArray[Any]
) -> NDArray[np.int64] | Fixed:
    if numbers.dtype.kind == "f":
        assert not isinstance(before, np.ndarray)  # Invariant: `numbers_of` has seen to it
        return running(segments, before, numbers)
    most = max(abs(int(numbers.max())), abs(int(numbers.min()))) * len(numbers) if len(numbers) else 0
    if isinstance(before, np.ndarray) and len(before):
        most += max(abs(int(before.max())), abs(int(before.min())))
        numbers = np.concatenate([before, numbers])
    if most > _INT64.max:
        raise NotColumnar("a sum may leave 64 bits")
    return segments.running(segments.sorted(numbers))


def _running_numbers(
    segments: Segments, had: Summed | None, counts: NDArray[np.int64], there: NDArray[np.bool_] | None
) -> NDArray[np.int64] | None:
    """Return of how many numbers running sums are; None: of all rows, as there is no null among them."""
    before = counts if had is None or had.numbers is None else had.numbers
    if there is None and (before is counts or np.array_equal(before, counts)):
        return None
    ones = np.ones(segments.size - len(before), np.int64) if there is None else there.astype(np.int64)
    return segments.running(segments.sorted(_after(before, ones)))


def divided(sums: NDArray[np.int64] | Fixed, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the floats nearest to quotients; no divisor is 0."""
    if isinstance(sums, Fixed):
        return quotients(sums, numbers)
    if len(sums) and max(int(sums.max()), -int(sums.min())) > _EXACT:
        return np.array([one / n for one, n in zip(sums.tolist(), numbers.tolist(), strict=True)])
    return sums / numbers
