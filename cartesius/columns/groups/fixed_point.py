"""Fixed-point numbers: floats as exact multiples of one power of two, in two limbs, so that sums of them are exact.

A number is ``(high · 2**40 + low) · 2**exponent`` with ``0 ≤ low < 2**40``. It is shown as the float nearest to it,
ties to even, which is what ``float`` makes of a fraction. Where the spread of exponents, or the number of summands, is
too large for that, `NotColumnar` is raised.

Source: Boldo and Melquiond, IEEE Transactions on Computers 2008 (rounding to odd); Dekker, Numerische Mathematik 1971
(sums and products of two floats).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cartesius.columns.vectors.ordering import Segments
    from cartesius.columns.vectors.vectors import Indices

_LOW: Final = 40
_MASK: Final = (1 << _LOW) - 1
_MOST: Final = 1 << 62
_EXACT: Final = 1 << 53
_FAR: Final = 800  # powers of two beyond which a quotient may leave the normal floats


@attrs.frozen(eq=False)
class Fixed:
    """Fixed-point numbers of one exponent.

    Args:
        high: The upper limbs, with the sign.
        low: The lower limbs.
        exponent: Of the power of two that they are multiples of.
    """

    high: NDArray[np.int64]
    low: NDArray[np.int64]
    exponent: int

    def __len__(self) -> int:
        return len(self.high)

    def take(self, indices: Indices) -> Fixed:
        """Return the numbers at ``indices``."""
        return Fixed(self.high[indices], self.low[indices], self.exponent)

    def exact(self) -> list[Fraction]:
        """Return them as fractions."""
        scale = Fraction(2) ** self.exponent
        return [one * scale for one in self.ints()]

    def ints(self) -> list[int]:
        """Return which multiples they are."""
        return [(high << _LOW) + low for high, low in zip(self.high.tolist(), self.low.tolist(), strict=True)]

    def of_exponent(self, exponent: int) -> Fixed:
        """Return the same as multiples of a smaller power of two."""
        high, low, rest = self.high, self.low, self.exponent - exponent
        while rest:
            shift = min(rest, 20)
            if len(high) and max(int(high.max()), -int(high.min())) >= _MOST >> (shift + 1):
                raise _spread()
            shifted = low << shift
            high, low, rest = (high << shift) + (shifted >> _LOW), shifted & _MASK, rest - shift
        return Fixed(high, low, exponent)


def _spread() -> NotColumnar:
    reason = "floats of very different sizes are added"
    return NotColumnar(reason)


def as_fixed(numbers: Sequence[Fraction]) -> Fixed:
    """Return fractions, whose denominators are powers of two, as fixed-point numbers."""
    exponent = min((1 - one.denominator.bit_length() for one in numbers), default=0)
    ints = [int(one * Fraction(2) ** -exponent) for one in numbers]
    try:
        high = np.array([one >> _LOW for one in ints], np.int64)
    except OverflowError as error:
        raise _spread() from error
    return Fixed(high, np.array([one & _MASK for one in ints], np.int64), exponent)


def of_floats(numbers: NDArray[np.float64], exponent: int | None) -> Fixed:
    """Return floats as multiples of the largest power of two that they are all multiples of, at most ``exponent``."""
    if not np.isfinite(numbers).all():
        raise NotColumnar("a float is not finite")
    fractions, exponents = np.frexp(numbers)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    shifts = exponents.astype(np.int64) - 53
    there = mantissas != 0
    least = int(shifts[there].min()) if there.any() else 0
    if exponent is not None:
        least = min(least, exponent)
    shifts -= least
    shifts[~there] = 0
    if len(shifts) and int(shifts.max()) > _LOW:
        raise _spread()
    low = (mantissas & ((1 << (_LOW - shifts)) - 1)) << shifts
    return Fixed(mantissas >> (_LOW - shifts), low, least)


def running(segments: Segments, before: Fixed | None, numbers: NDArray[np.float64]) -> Fixed:
    """Return running sums within segments, of what was ``before`` first."""
    rows = of_floats(numbers, None if before is None else before.exponent)
    if before is not None:
        before = before.of_exponent(rows.exponent)
        rows = Fixed(np.concatenate([before.high, rows.high]), np.concatenate([before.low, rows.low]), rows.exponent)
    longest = int(segments.lengths.max()) if len(segments.lengths) else 0
    most = max(int(rows.high.max()), -int(rows.high.min())) + 1 if len(rows) else 0
    if longest * max(most, 1 << _LOW) >= _MOST:
        raise _spread()
    high, low = segments.running(segments.sorted(rows.high)), segments.running(segments.sorted(rows.low))
    return carried(high, low, rows.exponent)


def carried(high: NDArray[np.int64], low: NDArray[np.int64], exponent: int) -> Fixed:
    """Return sums of limbs as numbers: what the lower ones exceed is carried over."""
    return Fixed(high + (low >> _LOW), low & _MASK, exponent)


def rounded(numbers: Fixed) -> NDArray[np.float64]:
    """Return the nearest floats.

    Where the upper limb is a float, the sum of both limbs is rounded once. Where it is not, the lowest bits, which only
    say whether something is there, are rounded to odd before.
    """
    high, low = numbers.high, numbers.low
    found = np.ldexp(high.astype(np.float64), _LOW) + low
    large = np.abs(high) >= _EXACT
    if large.any():
        upper, rest = high[large] >> 20, ((high[large] & ((1 << 20) - 1)) << _LOW) | low[large]
        odd = (rest >> 8) | ((rest & 255) != 0)
        found[large] = np.ldexp(upper.astype(np.float64), 60) + np.ldexp(odd.astype(np.float64), 8)
    return np.ldexp(found, numbers.exponent)


def quotients(numbers: Fixed, divisors: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the floats nearest to the quotients.

    The quotient of the rounded number is corrected by what is left of the number, which two floats hold exactly. Where
    that correction is too near to the middle between two floats, ints decide.
    """
    if not -_FAR < numbers.exponent < _FAR:
        return np.array(_exactly(numbers, divisors))
    high, low = np.ldexp(numbers.high.astype(np.float64), _LOW), numbers.low.astype(np.float64)
    total, rest = _sum(high, low)
    by = divisors.astype(np.float64)
    guess = total / by
    product, error = _product(guess, by)
    correction = ((total - product) + (rest - error)) / by
    doubt = np.spacing(np.abs(guess)) * 2.0**-30
    found = guess + correction
    unsure = (np.abs(numbers.high) >= _EXACT) | (guess + (correction - doubt) != guess + (correction + doubt))
    if unsure.any():
        places = np.flatnonzero(unsure)
        found = np.ldexp(found, numbers.exponent)
        found[places] = _exactly(numbers.take(places), divisors[places])
        return found
    return np.ldexp(found, numbers.exponent)


def _exactly(numbers: Fixed, divisors: NDArray[np.int64]) -> list[float]:
    above, below = max(numbers.exponent, 0), max(-numbers.exponent, 0)
    try:
        return [(one << above) / (n << below) for one, n in zip(numbers.ints(), divisors.tolist(), strict=True)]
    except OverflowError as error:
        raise NotColumnar("a mean leaves the floats") from error


def _sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a sum, and what rounding has left out of it."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a product, and what rounding has left out of it."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high
