"""Sorts of values: which types may stand in a field that was declared as numbers, texts, truth values or instants.

Invariant: a value is of one sort at most, but for ints, which may be instants.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

ValueSort: TypeAlias = Literal["number", "text", "truth", "instant"]
"""Of what sort the values of a field are."""
PLAIN: Final[Mapping[ValueSort, frozenset[type]]] = {
    "number": frozenset({int, float}),
    "text": frozenset({str}),
    "truth": frozenset({bool}),
    "instant": frozenset({int, datetime}),
}
"""The types of most values of a sort."""
CALLED: Final = {"number": "a number", "text": "a text", "truth": "true or false", "instant": "an instant"}
"""What one value of a sort is called."""


def is_of_sort(value: Any, sort: ValueSort) -> bool:
    """Whether a value is of a sort; what is true or false is no number.

    >>> is_of_sort(3, "number"), is_of_sort("no", "truth"), is_of_sort(1.5, "number")
    (True, False, True)
    """
    if type(value) in PLAIN[sort]:
        return True
    is_truth = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    match sort:
        case "truth":
            return is_truth
        case "text":
            return isinstance(value, str)
        case "instant" if isinstance(value, datetime):
            return True
    return isinstance(value, Real | Decimal) and not is_truth
