"""Turns: what deadlines give in a batch, as steps of their own before that of the event at whose position they come.

A kernel that knows steps alone gets them numbered anew, and what it gives gets its positions and turns back.

Invariant: the order of steps is that of positions, and at one position that of turns.

Source: SEMANTICS 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.stages.rows import LAST, Flow, Rows
from cartesius.columns.vectors.ordering import begins
from cartesius.columns.vectors.vectors import NotColumnar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.stages import Moment


@attrs.frozen(eq=False)
class Steps:
    """Steps that are numbered anew: the position and the turn of each."""

    position: NDArray[np.int64]
    turn: NDArray[np.int64]

    def given_back(self, flow: Flow) -> Flow:
        """Return what is given in them, at positions and turns."""
        return attrs.evolve(flow, position=self.position[flow.position], turn=self.turn[flow.position])


def numbered(arriving: Mapping[int, Rows], moment: Moment) -> tuple[Mapping[int, Rows], Moment, Steps | None]:
    """Return what arrives in steps that are numbered anew; None and all as it is if no deadline gives anything."""
    if all(rows.turn is None for rows in arriving.values()):
        return arriving, moment, None
    position = np.concatenate([rows.position for rows in arriving.values()])
    turn = np.concatenate([turns_of(rows) for rows in arriving.values()])
    order = np.lexsort((turn, position))
    is_first = begins(position[order], turn[order])
    step = np.empty(len(order), np.int64)
    step[order] = np.cumsum(is_first) - 1
    steps = Steps(position[order][is_first], turn[order][is_first])
    parts = np.split(step, np.cumsum([len(rows) for rows in arriving.values()])[:-1])
    found = {
        index: attrs.evolve(rows, position=part, turn=None)
        for (index, rows), part in zip(arriving.items(), parts, strict=True)
    }
    return found, attrs.evolve(moment, steps=len(steps.position)), steps


def turns_of(given: Flow | Rows) -> NDArray[np.int64]:
    """Return the turn of each of what is given, or comes."""
    return np.full(len(given), LAST, np.int64) if given.turn is None else given.turn


def check_single(flow: Flow) -> None:
    """Raise `NotColumnar` if one deadline gives several results: in how many steps is not known here.

    It matters where a correlation gives to two outputs, which take turns, step by step.
    """
    if flow.turn is None:
        return
    due = np.flatnonzero(flow.turn != LAST)
    if not begins(flow.position[due], flow.turn[due]).all():
        raise NotColumnar("several results are due at one time, which go to several outputs")


def check_distinct(flows: Iterable[Flow]) -> None:
    """Raise `NotColumnar` if deadlines of two correlations are one: which is met first is not known here."""
    found: set[tuple[int, int]] = set()
    for flow in flows:
        if flow.turn is None:
            continue
        due = flow.turn != LAST
        mine = set(zip(flow.position[due].tolist(), flow.turn[due].tolist(), strict=True))
        if found & mine:
            raise NotColumnar("deadlines of two correlations are due at one time")
        found |= mine
