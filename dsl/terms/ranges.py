"""What `between` means: on a line, or, for angles, around the circle.

An angle lies between two others if it is met on the way clockwise from the first to the second, both included. 360° is
0°, and so is -360°; bounds that are a whole turn apart span the circle, equal ones a single direction.

Source: the compass rose; `tests/unit/dsl/test_ranges.py` has the brute-force meaning.
"""

from __future__ import annotations

from math import isclose, pi
from typing import TYPE_CHECKING, Any

from dsl.terms.dimensions import Dimension, Measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dsl.terms.dimensions import Kind


def turn(kind: Kind) -> float | None:
    """Return a whole turn in the measure of an angle; None for what does not wrap around.

    >>> from dsl.units import degrees, metres
    >>> turn(degrees.measure), turn(metres.measure)
    (360, None)
    """
    if not isinstance(kind, Measure) or kind.dimension != Dimension.of(angle=1):
        return None
    whole = 2 * pi / float(kind.factor)
    return round(whole) if isclose(whole, round(whole)) else whole


def lies_between(kind: Kind) -> Callable[[Any, Any, Any], bool | None]:
    """Return the test of a value, a lower and an upper bound of ``kind``: true, false, or None where one is missing.

    >>> from dsl.units import degrees
    >>> test = lies_between(degrees.measure)
    >>> test(350, 340, 20), test(30, 340, 20), test(None, 340, 20)
    (True, False, None)
    """
    whole = turn(kind)
    return _on_a_line if whole is None else _around(whole)


def slack(whole: float) -> float:
    """Return how far beyond a bound still counts as on it: a turn that is no whole number (2π) is rounded.

    >>> slack(360)
    0
    """
    return 0 if whole == round(whole) else whole * 1e-12


def _on_a_line(value: Any, low: Any, high: Any) -> bool | None:
    """Kleene's conjunction: what is above one bound is outside, whatever the other is."""
    above = None if value is None or low is None else bool(low <= value)
    below = None if value is None or high is None else bool(value <= high)
    if above is False or below is False:
        return False
    return None if above is None or below is None else True


def _around(whole: float) -> Callable[[Any, Any, Any], bool | None]:
    near = slack(whole)

    def test(value: Any, low: Any, high: Any) -> bool | None:
        if value is None or low is None or high is None:
            return None
        span = (high - low) % whole
        if low != high and min(span, whole - span) <= near:
            return True
        return bool((value - low + near) % whole <= span + 2 * near)

    return test
