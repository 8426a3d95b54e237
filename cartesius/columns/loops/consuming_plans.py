"""Which products of streams consumption kernels compute, and which of them does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.columns.loops.consumption import NOTHING, Consuming
from cartesius.columns.loops.stacking import Stacking, uses_each_once
from cartesius.columns.streams.shapes import Shape, shape_of
from cartesius.plan.nodes import OF_PRODUCTS

if TYPE_CHECKING:
    from cartesius.columns.stages.stages import Stage
    from cartesius.correlations.join_shape import Join
    from cartesius.plan.nodes import Node


def consuming_stage(join: Join, known: frozenset[type[Node]] = OF_PRODUCTS) -> Stage | str | None:
    """Return the stage of a product of streams whose candidates depend on those before."""
    shape = shape_of(join, known)
    if not isinstance(shape, Shape):
        return shape
    if len(shape.slots) + len(shape.aligned) >= NOTHING:
        return "it has too many slots"
    aligned = {slot for _, slots in shape.aligned for slot in slots}
    if aligned and any(slot.leaves for slot in shape.slots):
        return "what is aligned meets what leaves at once"
    stage = Consuming(join, shape)
    return Stacking(join, shape) if uses_each_once(stage.plan) else stage
