"""Single rows: a push while columns own the state is a batch of one row, for as long as that costs less than to settle.

To settle moves all that is held into objects, and the next batch moves it back: one push between two batches would
cost more the more is held. As with what is rented until the rents have come to the price, all this costs at most twice
what the better of both ways would have, however many pushes are still to come.

Whoever saves the state after each call asks before it pushes (`is_large`): what decides is not how many events come,
but how many are there.

Source: Karlin et al., Competitive snoopy caching, doi:10.1007/BF01762111 (when to stop renting).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cartesius.columns.batches.keyed_state import KeyedState
from cartesius.columns.stages.rows import FAR, Rows
from cartesius.columns.stages.stored_rows import checked_keys
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import NotColumnar
from cartesius.data.events import Delete, Update
from cartesius.errors import NotStorable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cartesius.columns.stages.stages import State
    from cartesius.core.engine_core import EngineCore
    from cartesius.data.events import Time

ROW: Final = 64
"""So many rows are settled in the time that a batch of one row takes,"""
LOOK: Final = 64
"""and one in the time in which a kernel looks at so many, where it looks at all."""
_LARGE: Final = 512  # a state that is saved after each call costs as much by row as by column


class Rent:
    """What pushes have cost since the last batch, in rows that could have been settled in that time."""

    def __init__(self) -> None:
        self._spent = 0

    def begin(self) -> None:
        """A batch has come."""
        self._spent = 0

    def is_paid(self, states: Sequence[State | KeyedState]) -> bool:
        """Whether a push is a batch of one row: then it has been paid for."""
        looked_at = sum(state.n_retained for state in states if not isinstance(state, KeyedState))
        spent = self._spent + ROW + looked_at // LOOK
        if spent > sum(state.n_retained for state in states):
            return False
        self._spent = spent
        return True


def row_of(value: Any, start: Time, end: Time, *, is_table: bool) -> Rows | None:
    """Return what is pushed as a batch of one row; None if columns do not hold it exactly."""
    key, deletes = None, None
    if not -FAR <= start <= end <= FAR or (isinstance(value, Delete) and value.row is not None):
        return None
    try:
        if is_table:
            key = checked_keys(of_values([value.key]))
            deletes = np.array([True]) if isinstance(value, Delete) else None
            value = value.value if isinstance(value, Update) else None
        payload = of_values([value])
    except (NotColumnar, NotStorable):
        return None
    none = np.zeros(1, np.int64)
    return Rows(payload, np.array([start], np.int64), np.array([end], np.int64), none, none, none, key, deletes)


def is_large(engine: EngineCore) -> bool:
    """Whether so much is in memory that even one event is better a batch, as the last batch could be computed.

    To push it, objects would be made of all that columns hold, and columns again of these for the next batch.
    """
    return not engine._why_row_by_row and _n_retained(engine) >= _LARGE


def _n_retained(engine: EngineCore) -> int:
    if engine._compiled is not None and engine._compiled.states is not None:
        return engine._compiled.n_retained
    memories = {id(slot.memory): slot.memory for join in engine._program.joins for slot in join.slots}
    return sum(map(len, memories.values()))
