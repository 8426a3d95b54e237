"""Rows (key, x, y) in windows: that show what depends on their order, that do not, and the same in another order.

Invariant: what is drawn depends on the seed alone.
Source: DiffStream's case study of MapReduce programs (SOURCES E5).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, TypeAlias

from cartesius.testing import reordered

if TYPE_CHECKING:
    from collections.abc import Iterable

Row: TypeAlias = tuple[int, int, int]

WIDTH: Final = 10
"""Of a window, in time units."""


def bad_rows(windows: int, rows: int, *, seed: int) -> list[tuple[int, Row]]:
    """Return rows whose key, x and y are 1 or 2, independently of each other, with their times.

    >>> from examples.equivalence import bad_rows
    >>> bad_rows(2, 2, seed=1)
    [(2, (1, 2, 1)), (7, (2, 2, 2)), (13, (1, 2, 1)), (16, (2, 1, 2))]

    Args:
        windows: How many windows; dimensionless.
        rows: How many rows in each; dimensionless.
        seed: What they are drawn by.
    """
    draw = random.Random(seed)
    return [
        (window * WIDTH + draw.randrange(WIDTH), (draw.randint(1, 2), draw.randint(1, 2), draw.randint(1, 2)))
        for window in range(windows)
        for _ in range(rows)
    ]


def good_rows(windows: int, rows: int, *, seed: int) -> list[tuple[int, Row]]:
    """Return rows (k, 2 k, 4 k), in which the key determines x and y; arguments are those of `bad_rows`.

    >>> from examples.equivalence import good_rows
    >>> good_rows(1, 2, seed=1)
    [(2, (1, 2, 4)), (7, (2, 4, 8))]
    """
    return [(at, (key, 2 * key, 4 * key)) for at, (key, _, _) in bad_rows(windows, rows, seed=seed)]


def shuffled(rows: Iterable[tuple[int, Row]], *, seed: int) -> list[tuple[int, Row]]:
    """Return the rows in another order, each in its window still.

    >>> from examples.equivalence import shuffled
    >>> shuffled([(1, (1, 1, 1)), (2, (1, 2, 2)), (3, (1, 3, 3)), (11, (1, 4, 4))], seed=3)
    [(1, (1, 1, 1)), (3, (1, 3, 3)), (2, (1, 2, 2)), (11, (1, 4, 4))]
    """
    return reordered(rows, lambda one, other: one[0] // WIDTH != other[0] // WIDTH, seed=seed)
