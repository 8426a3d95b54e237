"""The totals that the faster tiers know how to make, of the values that a group makes of results."""

from __future__ import annotations

import enum


class Total(enum.Enum):
    """What a group that `Totals` totals over comes to, of the values that it makes of the results.

    A group says so by ``known``: one of these, and the functions that make the value of a result, the first first.
    """

    COUNT = "how many there are"
    PRESENT = "how many are not None"
    SUM = (
        "the exact sum of those that are not None: `numerator` / `denominator`, of `count` numbers, of which `floats`"
        " are floats; rounded once; None of no numbers"
    )
    MEAN = "their exact sum, kept as SUM keeps it, divided by its `count`; rounded once"
    LEAST = "the first of the least, None counting for nothing"
    GREATEST = "the first of the greatest, None counting for nothing"
