"""What rules about pairs and totals mean, by brute force over all present rows, written from the meaning alone.

A truth is a number, 0, ½ or 1, with what is missing where it is ½: *and* is the least, *or* the greatest, *not* 1 - x
(Kleene). A rule about pairs is the least over all other ships of (guards ⇒ condition). A total is None, with what is
missing, if it is ½ whether a row counts, or if a row that counts has no value.

Nothing of the library is used here. A port is a dict of tables, a table a dict of rows by key.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

HALF = Fraction(1, 2)
NOTHING: frozenset[str] = frozenset()


class Truth(NamedTuple):
    """0, ½ or 1, and what is missing."""

    value: Fraction
    missing: frozenset[str] = NOTHING


class Known(NamedTuple):
    """A value, or None and what is missing."""

    value: Any
    missing: frozenset[str] = NOTHING


class Finding(NamedTuple):
    """A rule that does not hold: failed (0) or undecided (½), what is missing, and the other ships concerned."""

    value: Fraction
    missing: frozenset[str]
    others: tuple[int, ...]


# ------------------------------------------------------------------------------------------------------------- values


def look(name: str, row: dict[str, Any] | None, field: str) -> Known:
    if row is None:
        return Known(None, frozenset({name}))
    value = row[field]
    return Known(None, frozenset({f"{name}.{field}"})) if value is None else Known(value)


def compare(left: Known, right: Known | Any, holds: Any) -> Truth:
    right = right if isinstance(right, Known) else Known(right)
    if left.value is None or right.value is None:
        return Truth(HALF, left.missing | right.missing)
    return Truth(Fraction(bool(holds(left.value, right.value))))


def all_of(*truths: Truth) -> Truth:
    value = min([Fraction(1), *(each.value for each in truths)])
    return Truth(value, _missing(truths) if value == HALF else NOTHING)


def opposite(truth: Truth) -> Truth:
    return Truth(1 - truth.value, truth.missing)


def implied(guards: list[Truth], condition: Truth) -> Truth:
    value = max([condition.value, *(1 - guard.value for guard in guards)])
    return Truth(value, _missing([*guards, condition]) if value == HALF else NOTHING)


def apart(left: Known, right: Known) -> Known:
    """The distance in metres, by the spherical law of cosines."""
    if left.value is None or right.value is None:
        return Known(None, left.missing | right.missing)
    (north, east), (other_north, other_east) = (tuple(map(math.radians, each.value)) for each in (left, right))
    cosine = math.sin(north) * math.sin(other_north) + math.cos(north) * math.cos(other_north) * math.cos(
        east - other_east
    )
    return Known(6_371_008.8 * math.acos(min(1.0, cosine)))


def total(rows: list[tuple[Truth, Known]], of: str) -> Known:
    """Total the values of rows of which it is given whether they count."""
    doubts = [truth.missing for truth, _ in rows if truth.value == HALF]
    doubts += [value.missing for truth, value in rows if truth.value == 1 and value.value is None]
    if doubts:
        return Known(None, frozenset().union(*doubts))
    values = [value.value for truth, value in rows if truth.value == 1]
    match of:
        case "count":
            return Known(len(values))
        case "sum":
            return Known(sum(values))
        case "mean":
            return Known(sum(values) / len(values) if values else None)
        case "min":
            return Known(min(values, default=None))
    return Known(max(values, default=None))


def pairs(found: dict[int, Truth]) -> Finding | None:
    """Fold what was found of each other ship."""
    least = min((each.value for each in found.values()), default=Fraction(1))
    if least == 1:
        return None
    concerned = {key: each for key, each in found.items() if each.value == least}
    return Finding(least, _missing(concerned.values()) if least else NOTHING, tuple(sorted(concerned)))


def single(truth: Truth) -> Finding | None:
    """The same of a rule about one ship."""
    return None if truth.value == 1 else Finding(truth.value, truth.missing, ())


def _missing(truths: Any) -> frozenset[str]:
    return frozenset().union(*(each.missing for each in truths if each.value == HALF))
