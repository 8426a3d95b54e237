"""Totals as terms: what the rows of a source come to, such as the number of tugs that are available.

A `Total` binds its source: what it says of the rows of that source is observed of no single row by the rule around
it. What is left free is ``group``, a term over a linked source, which says whose total is meant.

Invariant: ``value``, ``key`` and ``condition`` observe ``source`` alone, ``group`` one other source; ``key`` and
``group`` are both there or both not. `counted_rows` builds it so.

Source: the aggregate of relational algebra with grouping; thesis, L23 (reduce).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

if TYPE_CHECKING:
    from dsl.terms.dimensions import Kind
    from dsl.terms.terms import Declaration, Term

Operation: TypeAlias = Literal["count", "sum", "mean", "min", "max"]


@attrs.frozen
class Total:
    """How many rows of a source there are, or the sum, mean, least or greatest of a term over them."""

    operation: Operation
    source: Declaration
    value: Term | None
    """What is summed up; None for a count."""
    key: Term | None
    """Of the rows only those count where this term over the row …"""
    group: Term | None
    """… equals this one over a linked source; both None: all rows do."""
    condition: Term | None
    """Of those, only the rows of which this holds count; None: all do."""
    kind: Kind = attrs.field(repr=False)
