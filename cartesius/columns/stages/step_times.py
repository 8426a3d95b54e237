"""The times of steps, of which each has one: what is caused in a step, by whatever comes to it, has that time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cartesius.columns.stages.rows import LAST
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment


def times_of(arriving: Mapping[int, Rows], moment: Moment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last instant of what comes in each step.

    Raises:
        NotColumnar: Something in a step has another time than the rest, or comes of a deadline.
    """
    start, end = np.full(moment.steps, LAST), np.full(moment.steps, LAST)
    for rows in arriving.values():
        start[rows.position], end[rows.position] = rows.start, rows.end
    for rows in arriving.values():
        if rows.turn is not None and (rows.turn != LAST).any():
            reason = "what is due comes in steps of its own"
            raise NotColumnar(reason)
        if (start[rows.position] != rows.start).any() or (end[rows.position] != rows.end).any():
            reason = "what comes in one step has several times"
            raise NotColumnar(reason)
    return start, end
