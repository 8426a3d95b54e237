"""Phases: what becomes of a row by the clock, in expressions that columns can compute.

A row is seen, or hidden, or too old, and the clock alone takes it from one phase to the next. The expressions are of
the row with the present time in the field `Phases.now`; they are those of `missing_values`.

Invariant: a life that says that it has phases does what they say, for each row and clock.

Source: SEMANTICS 3.10 (deadlines); `life_stages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from cartesius.expressions.expressions import Expression

MARK: Final = "@"
"""How the names of what the clock adds to a row begin; no field of a user's is called so."""


@attrs.frozen(eq=False)
class Crossing:
    """A comparison of the clock with something that the row says, which the clock changes once.

    Args:
        holds: The comparison.
        left: Its left side, in time units.
        right: Its right side, in time units.
        slope: 1 if the left side grows as the clock does, compared with the right one, -1 if it shrinks.
    """

    holds: Expression
    left: Expression
    right: Expression
    slope: int


@attrs.frozen(eq=False)
class Phases:
    """What becomes of the rows of one slot.

    Args:
        slot: What the expressions call the row.
        key: The field that has the row's key; None: there is one row.
        only: A row is seen unless one of these is false.
        crossings: What the clock changes.
        lasts: How long after its time a row is too old, and none of its fields counts but the key; None: never.
        now: The field that says when a row was seen so first; empty: none does.
        stale: The field that says that a row is too old.
    """

    slot: str
    key: str | None
    only: tuple[Expression, ...]
    crossings: tuple[Crossing, ...]
    lasts: int | None
    now: str
    stale: str


def phases_of(life: Any) -> Phases | None:
    """Return the phases of a life of `life_stages`, None if it does not say them.

    >>> phases_of(len)
    """
    found = _said(life)
    return found if isinstance(found, Phases) else None


@attrs.frozen
class Collected:
    """What is collected from a stream: rows that others see as they are kept.

    Args:
        key: The field of a row that has its key; None: there is one row.
    """

    key: str | None


def collected_of(life: Any) -> Collected | None:
    """Return what a life of `life_stages.collating` collects, None if it does not say so.

    >>> collected_of(len)
    """
    found = _said(life)
    return found if isinstance(found, Collected) else None


def _said(life: Any) -> Any:
    describe = getattr(life, "in_columns", None)
    return None if describe is None else describe()
