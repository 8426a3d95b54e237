"""Direct tables: which joins of two tables a push into one of them can do by a function of its own.

The rows of the join have the key of one slot, and each has one partner at most, found by its key, or by a value as long
as no two have the same: so a push into that slot concerns one row of the join, and a push into the other one those rows
that name it.

Invariant: a shape says of a slot all that a change of its table does.

Source: DESIGN 4; SEMANTICS 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.direct_tables.direct_kept_codes import KeptShape, kept_shape_of
from cartesius.direct_tables.direct_trees import TreeShape, tree_shape_of
from cartesius.plan.nodes import OF_JOINS, AsTable, May
from cartesius.results.views import View
from cartesius.storage.row_memories import RowMemory

if TYPE_CHECKING:
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.language.reactives import Reactive
    from cartesius.programs.programs import Program

_TWO = 2


@attrs.frozen(eq=False)
class TableShape:
    """What a change of one table of a join of two does."""

    join: Join
    slot: Slot
    keyed: tuple[int, ...]  # the slots whose key, of the first that is present, is that of a row of the join
    missing: frozenset[int]  # the slots of which there may be no row
    positions: tuple[int | None, ...]  # by slot, of the value by which it is linked with the other; None: of its key
    skips_null: bool  # a null value matches nothing

    @property
    def other(self) -> Slot:
        """The other slot."""
        return self.join.slots[1 - self.slot.index]

    @property
    def is_keyed(self) -> bool:
        """Whether a change concerns the row of the join that has its key."""
        return self.slot.index in self.keyed


def table_shape_of(program: Program, reactive: Reactive) -> TableShape | TreeShape | KeptShape | str:
    """Return what a push into a table does, or why it needs all of the handlers."""
    bound = program.bound.get(reactive, [])
    if len(bound) != 1:
        return f"{reactive.name} is bound to {len(bound) or 'no'} slots"
    ((join, index),) = bound
    if len(join.slots) == 1:
        return kept_shape_of(program, join)
    if len(join.slots) > _TWO:
        return tree_shape_of(program, join, join.slots[index])
    return _objection(program, join) or _shape(join, join.slots[index])


def _objection(program: Program, join: Join) -> str:
    strange = run_as_written(join, OF_JOINS)
    if strange:
        return strange
    if len(join.slots) != 2 or type(join.batch.output) is not View:
        return "its results are not the rows of a join of two tables"
    if any(slot.reactive.pattern is not None or type(slot.memory) is not RowMemory for slot in join.slots):
        return "not all slots are bound to tables that are pushed"
    if any(slot.reactive in program.kept for slot in join.slots):
        return "the rows of a table are kept beside its memory"
    return standing(program, join)


def _shape(join: Join, slot: Slot) -> TableShape | str:
    bindings, pattern = join.bindings, join.pattern
    if pattern.is_generator or len(bindings.links) != 1 or len(pattern.conditions()) != 1 or bindings.spaces:
        return "its rows are not found by one equality"
    keys = [(one.restriction, one.node.key) for one in join.installed if isinstance(one.node, AsTable)]
    if len(keys) != 1 or not isinstance(keys[0][1], str | tuple):
        return "its rows do not have the keys of its slots"
    ((restriction, key),) = keys
    keyed = tuple([bindings.find(name, restriction)[0].index for name in ((key,) if isinstance(key, str) else key)])
    optional = [one for one in join.installed if isinstance(one.node, May)]
    missing = frozenset(named.index for one in optional for named in one.named)
    (link,) = bindings.links
    found = {link.left: link.left_position, link.right: link.right_position}
    by_value = [(found[other.index],) in other.memory.parts()[1] for other in join.slots]
    positions = tuple([found[index] if has_index else None for index, has_index in enumerate(by_value)])
    if len(missing) == len(join.slots):
        is_found = len(set(keyed)) == len(join.slots) and not any(by_value)
    else:
        is_found = len(keyed) == 1 and keyed[0] not in missing
    if not is_found:
        return "not every row is found by its key"
    return TableShape(join, slot, keyed, missing, positions, link.skips_null)
