"""Validity: when a version of a row holds, as disjoint half-open intervals of time, in order.

Source: Sax et al., BIRTE 2018, doi:10.1145/3242153.3242155, section 2; SEMANTICS 3.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from cartesius.data.events import EARLIEST, LATEST, Time

if TYPE_CHECKING:
    from collections.abc import Iterable

Interval: TypeAlias = tuple[Time, Time]
Validity: TypeAlias = tuple[Interval, ...]

ALWAYS: Final[Validity] = ((EARLIEST, LATEST),)
NEVER: Final[Validity] = ()


def covers(validity: Validity, time: Time) -> bool:
    """Whether ``time`` is in ``validity``."""
    return any(since <= time < until for since, until in validity)


def intersection(left: Validity, right: Validity) -> Validity:
    """Return what is in both."""
    found = ((max(a[0], b[0]), min(a[1], b[1])) for a in left for b in right)
    return tuple(sorted(one for one in found if one[0] < one[1]))


def difference(left: Validity, right: Validity) -> Validity:
    """Return what is in ``left`` alone."""
    rest = list(left)
    for since, until in right:
        cut = [piece for one in rest for piece in ((one[0], min(one[1], since)), (max(one[0], until), one[1]))]
        rest = [piece for piece in cut if piece[0] < piece[1]]
    return tuple(sorted(set(rest)))


def union(intervals: Iterable[Interval]) -> Validity:
    """Return what is in any, with what touches put together."""
    merged: list[Interval] = []
    for since, until in sorted(intervals):
        if merged and since <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], until))
        else:
            merged.append((since, until))
    return tuple(merged)
