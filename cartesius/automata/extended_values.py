"""Extended values: what a register of a data transducer may hold. A value, or nothing yet, or more than one.

    undefined ≤ every value ≤ conflict

`union` is that of multisets: two values are a conflict, also if they are equal, as there are two of them. It is what
makes several transitions into one state deterministic without an order among them.

Invariant: `union` and `applied` are monotone, so that what is defined by them has a least solution.

Source: Alur, Mamouras, Stanford, Modular quantitative monitoring, POPL 2019; SOURCES E6.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Extreme(enum.Enum):
    """What an extended value is if it is no value."""

    UNDEFINED = "no value yet"
    CONFLICT = "more than one"

    def __repr__(self) -> str:
        """Show the name."""
        return self.name


UNDEFINED: Final = Extreme.UNDEFINED
"""No value yet: below every value."""
CONFLICT: Final = Extreme.CONFLICT
"""More than one value: above every value."""


def union(*values: Any) -> Any:
    """Return what several contributions to one register come to.

    >>> from cartesius.transducers import CONFLICT, UNDEFINED, union
    >>> union(), union(UNDEFINED, 3, UNDEFINED), union(3, 3), union(CONFLICT, UNDEFINED)
    (UNDEFINED, 3, CONFLICT, CONFLICT)

    Args:
        *values: Extended values.

    Returns:
        `UNDEFINED` if all are, the one that is not if there is one, otherwise `CONFLICT`.

    Law:
        Associative and commutative, with the unit `UNDEFINED`; not idempotent. Tested in
        ``tests/laws/test_transducers.py``.

    Source:
        SOURCES E6.
    """
    defined = [value for value in values if value is not UNDEFINED]
    return UNDEFINED if not defined else defined[0] if len(defined) == 1 else CONFLICT


def applied(term: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Return what a term comes to: undefined if an argument is, otherwise a conflict if one is, otherwise its value."""
    if any(argument is UNDEFINED for argument in arguments):
        return UNDEFINED
    if any(argument is CONFLICT for argument in arguments):
        return CONFLICT
    return term(*arguments)
