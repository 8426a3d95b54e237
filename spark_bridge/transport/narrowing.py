"""Narrowing: where in a batch the rows are that columns cannot take.

A batch of columns is all or nothing. If the program raises on one row of many, halves of the batch are tried: what
comes before the row is used as columns, and so few rows are left that they are used one by one.

Invariant: rows are used in order, each once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def narrowed(use: Callable[[int, int], int], first: int, last: int, few: int) -> int:
    """Use rows by halves; return from where on a row that cannot be used is among the next ``few``.

    >>> used = []
    >>> def until_five(begin: int, end: int) -> int:
    ...     if begin <= 5 < end:
    ...         return begin
    ...     used.extend(range(begin, end))
    ...     return end
    >>> narrowed(until_five, 0, 9, few=2), used
    (4, [0, 1, 2, 3])

    Args:
        use: Uses the rows from one place up to another as far as that can be done in one go, and returns how far.
        first: The first row.
        last: Before which row to end; those before it cannot all be used.
        few: How many rows may be left in doubt.
    """
    while last - first > few:
        middle = (first + last) // 2
        done = use(first, middle)
        first, last = done, last if done == middle else middle
    return first
