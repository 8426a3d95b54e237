"""Direct trees: which joins of tables a push into one of them can do by a function of its own.

The rows of the join have the key of one slot, the *root*, which is the first of three or more; every other slot is
linked by one equality with one that is nearer to the root, and of it at most one row matches. So rule packs are. A push
into the root concerns one row of the join, a push into another slot those whose roots name it, by way of what is
between them.

Invariant: a shape says of a slot all that a change of its table does.

Source: DESIGN 4; SEMANTICS 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.plan.nodes import OF_JOINS, AsTable, May
from cartesius.results.views import View
from cartesius.storage.row_memories import RowMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.rows.enumeration import Link

TWO = 2


@attrs.frozen
class Branch:
    """How the one row of a slot is found from that of another."""

    slot: int
    position: int  # of the value that is equal
    source: int
    source_position: int
    skips_null: bool


@attrs.frozen(eq=False)
class TreeShape:
    """What a change of one table of a join of several does."""

    join: Join
    slot: Slot
    root: int
    branches: tuple[Branch, ...]  # those of a slot after that of its source
    missing: frozenset[int]  # the slots of which there may be no row

    def below(self, slot: int) -> Iterator[Branch]:
        """Iterate over the branches that lead away from the root behind a slot, in order."""
        reached = {slot}
        for branch in self.branches:
            if branch.source in reached:
                reached.add(branch.slot)
                yield branch

    def above(self, slot: int) -> Iterator[Branch]:
        """Iterate over the branches from a slot back to the root."""
        while slot != self.root:
            branch = next(branch for branch in self.branches if branch.slot == slot)
            yield branch
            slot = branch.source


def optional_slots(join: Join) -> frozenset[int]:
    """Return the slots of which there may be no row."""
    return frozenset(named.index for one in join.installed if isinstance(one.node, May) for named in one.named)


def why_as_written(program: Program, join: Join, slot: Slot) -> str:
    """Say why a push into a table needs all of the handlers, whatever rows it concerns; nothing, if it may not."""
    strange = run_as_written(join, OF_JOINS)
    if strange:
        return strange
    if type(join.batch.output) is not View:
        return "its results are not the rows of a join of tables"
    if any(type(one.memory) is not RowMemory for one in join.slots):
        return "not all slots are bound to tables"
    if slot.reactive in program.kept:
        return "the rows of a table are kept beside its memory"
    pattern, bindings = join.pattern, join.bindings
    if pattern.is_generator or bindings.spaces or len(pattern.conditions()) != len(bindings.links):
        return "its rows are not found by equalities alone"
    return standing(program, join)


def tree_shape_of(program: Program, join: Join, slot: Slot) -> TreeShape | str:
    """Return what a push into a table does, or why it needs all of the handlers."""
    reason = why_as_written(program, join, slot)
    if reason:
        return reason
    keys = [(one.restriction, one.node.key) for one in join.installed if isinstance(one.node, AsTable)]
    named = [join.bindings.find(key, one) for one, key in keys if isinstance(key, str)]
    if len(keys) != 1 or len(named) != 1:
        return "its rows do not have the keys of one slot"
    root, count, missing = named[0][0].index, len(join.slots), optional_slots(join)
    branches = _branches(join.bindings.links, count, root)
    if branches is None or root in missing or (root > 0 and count > TWO):
        return "not every row is found by its key, and what that names"
    return TreeShape(join, slot, root, branches, missing)


def _branches(links: list[Link], count: int, root: int) -> tuple[Branch, ...] | None:
    """Return the links as branches of a tree; None if they are none."""
    branches: list[Branch] = []
    reached, queue = {root}, [root]
    while queue:
        source = queue.pop(0)
        for link in links:
            seen = link.seen_from(source)
            if seen is None or any({b.slot, b.source} == {link.left, link.right} for b in branches):
                continue
            position, other, other_position = seen
            if other in reached:
                return None
            reached.add(other)
            queue.append(other)
            branches.append(Branch(other, other_position, source, position, link.skips_null))
    return tuple(branches) if len(branches) == len(links) == count - 1 else None
