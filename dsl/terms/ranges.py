"""What `between` means: on a line, or, for angles, around the circle.

An angle lies between two others if it is met on the way clockwise from the first to the second, both included. 360° is
0°, and so is -360°; bounds that are a whole turn apart span the circle, equal ones a single direction.

Source: the compass rose; `tests/unit/dsl/test_ranges.py` has the brute-force meaning.
"""

from __future__ import annotations

from math import isclose, pi
from typing import TYPE_CHECKING

from dsl.terms.dimensions import Dimension, Measure

if TYPE_CHECKING:
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


def slack(whole: float) -> float:
    """Return how far beyond a bound still counts as on it: a turn that is no whole number (2π) is rounded.

    >>> slack(360)
    0
    """
    return 0 if whole == round(whole) else whole * 1e-12
