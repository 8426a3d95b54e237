"""Batch sizes: when one event is better a batch than a push.

A push works on objects, a batch on columns, and who goes from one to the other pays for all that is in memory. So what
decides is not how many events come, but how many are there.

Invariant: asking moves nothing from objects to columns, nor back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cartesius.core.engine_core import EngineCore

_LARGE: Final = 512  # a state that is saved after each call costs as much by row as by column


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
