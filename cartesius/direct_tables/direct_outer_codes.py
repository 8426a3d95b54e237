"""Direct outer codes: what a change of one of two tables does, of which either may have no row, as text.

A row of the join has the key of both its parts, or of the one that it has: so a change concerns the row of its own key.

Source: DESIGN 4; SEMANTICS 2.2, 2.5 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cartesius.direct_tables.direct_changes import DirectChange
from cartesius.direct_tables.direct_trees import why_as_written
from cartesius.plan.nodes import AsTable

if TYPE_CHECKING:
    from cartesius.correlations.join_shape import Join
    from cartesius.language.families import Slot
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps


@attrs.frozen(eq=False)
class OuterShape:
    """What a change of one of the two tables does."""

    join: Join
    slot: Slot
    is_first: bool  # whether a row of the join has the key of this slot where it has both parts


def outer_shape_of(program: Program, join: Join, slot: Slot) -> OuterShape | str:
    """Return what a push into a table does, or why it needs all of the handlers."""
    reason = why_as_written(program, join, slot)
    if reason:
        return reason
    keys = [(one.restriction, one.node.key) for one in join.installed if isinstance(one.node, AsTable)]
    keyed = [join.bindings.find(key, one)[0].index for one, names in keys if isinstance(names, tuple) for key in names]
    is_pair = len(join.slots) == len(join.bindings.links) + 1 == 2 and len(keys) == 1 and sorted(keyed) == [0, 1]
    if not is_pair or any(one.memory.parts()[1] for one in join.slots):
        return "not every row is found by its key"
    return OuterShape(join, slot, keyed[0] == slot.index)


class DirectOuterCode(DirectChange):
    """The function of one slot, and its text."""

    def __init__(self, shape: OuterShape, steps: Steps, lateness: int | None) -> None:
        self._is_first = shape.is_first
        super().__init__(shape.join, shape.slot, steps, lateness)

    def _bound(self) -> dict[str, Any]:
        return {"yields": self._join.batch.body.yields}

    def _find_places(self, row: str, places: str) -> None:
        self._lines.add(f"{places} = memory.{'places_of' if row == 'before' else 'places'}({row})")

    def _find_rows(self) -> None:
        (other,) = self._others
        self._lines.add(f"""
            old = now = nothing
            other = memory{other}.row(key)
            if other is not None:
                visited{other} += 1
        """)
        for row, value in (("before", "old"), ("part", "now")):
            parts = f"{row}, other" if self._slot.index == 0 else f"other, {row}"
            self._lines.add(f"if {row} is not None or other is not None:\n    {value} = yields([{parts}])[0]")
        self._lines.add(f"""
            tuples += now is not nothing
            there = before if old is not nothing else part
            shown = {"there or other" if self._is_first else "other or there"}
        """)
        self._tell("shown.row_key", ["other"])
