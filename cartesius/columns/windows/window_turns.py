"""Turns: in which order what is delivered to windows is met, and in which steps of a batch what comes of it is given.

What has waited in a window comes when that is reported, each event as a batch of its own, before the event that has
moved the clock; what comes to its windows at once is one batch.

Source: SEMANTICS 3.2 and 3.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from cartesius.columns.stages.rows import LAST, Flow, nothing
from cartesius.columns.stages.stages import Moment
from cartesius.columns.vectors.ordering import begins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.vectors.vectors import Indices, Ints
    from cartesius.columns.windows.window_deliveries import Deliveries


@attrs.frozen(eq=False)
class Turns:
    """The turns of what is delivered to the windows of all slots.

    Args:
        position: In which step of the batch each is delivered, in the order of turns.
        due: The last clock before the window of each is reported; `LAST` where it does not wait for that.
        of: By slot, the turns of its deliveries.
    """

    position: Ints
    due: Ints
    of: Sequence[Indices]

    def moment(self, moment: Moment) -> Moment:
        """Return the batch in which each delivery has a step, and there is one at the end."""
        if not moment.steps:
            return moment
        position, due = np.append(self.position, moment.steps - 1), np.append(self.due, LAST)
        clock = None if moment.clock is None else moment.clock[position]
        return Moment(len(position), clock, moment.meets_deadlines, _batches(position, due))

    def given(self, flow: Flow) -> Flow:
        """Return what is given, in the steps of the batch: first what a delivery takes back, then what it gives."""
        if not len(flow):
            return nothing()
        has_waited = bool((self.due != LAST).any())
        turn = self.due[flow.position] if has_waited else None
        found = attrs.evolve(flow, position=self.position[flow.position], turn=turn)
        if found.weight is None:
            return found
        codes = _batches(self.position, self.due)[flow.position] * 2 + (found.weight > 0)
        if (codes[1:] >= codes[:-1]).all():
            return found
        return found.take(np.argsort(codes, kind="stable"))


def turns_of(found: Sequence[Deliveries], due: Ints, asked: Ints, steps: int) -> Turns:
    """Return the turns of deliveries.

    Args:
        found: Those of each slot.
        due: Of all of them, slot by slot, as of `Turns`.
        asked: When that time was first asked for, as a number: of one time that which was asked for first comes first.
        steps: How many steps there have been before the batch.
    """
    position = flat([one.position for one in found])
    order = np.lexsort((flat([one.came(steps) for one in found]), asked, due, position))
    turn = np.empty(len(order), np.int64)
    turn[order] = np.arange(len(order))
    return Turns(position[order], due[order], np.split(turn, np.cumsum([len(one) for one in found]))[:-1])


def _batches(position: Ints, due: Ints) -> Ints:
    """Return of deliveries, in the order of turns, the number of the batch that each is in."""
    is_first = begins(position)
    is_first[1:] |= (due[1:] != LAST) | (due[:-1] != LAST)
    found: Ints = np.cumsum(is_first)
    return found


def flat(columns: Sequence[Ints]) -> Ints:
    """Return columns one after the other; of none: nothing."""
    return np.concatenate(columns) if columns else np.zeros(0, np.int64)
