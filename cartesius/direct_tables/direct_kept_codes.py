"""Direct kept codes: what a change of a table does that is mapped or filtered, as the text of one function.

The correlation keeps no rows of its own: the table does, and the row that a change replaces is looked up there.

Invariant: what it computes is what the clauses, the enumeration and `views.View` would have computed.

Source: DESIGN 4; SEMANTICS 2.3 and 2.4.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from cartesius.data.entries import ABSENT
from cartesius.direct.direct_shapes import run_as_written, standing
from cartesius.direct.direct_texts import DirectText
from cartesius.direct_tables.direct_table_scope import TABLE_SCOPE
from cartesius.plan.nodes import AsTable, Recall, TakeBack
from cartesius.programs.doors import checked_value
from cartesius.results.views import View
from cartesius.storage.conservation import Fate
from cartesius.storage.kept_rows import KeptRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.correlations.join_shape import Join
    from cartesius.data.events import Event
    from cartesius.programs.programs import Program
    from cartesius.programs.steps import Steps

_KNOWN = frozenset({TakeBack, AsTable, Recall})
_TAKE_IN = """
    if type(value) is not Update or (type(value.key) is not int and type(value.key) is not str):
        value = checked(value)
    key = value.key
    before = kept.row(key)
    if type(value) is Update:
        row = value.value
        if type(row) not in plain:
            row = wrap(row)
        is_change = not before or not is_unchanged(before[0], row)
    else:
        row = ABSENT
        is_change = bool(before)
    if is_change:
        old = now = nothing
        if before:
            number += 1
            part = Entry(wrap(before[0]), start, end, source)
            part.row_key, part.slot = key, slot
            CONDITION: old = yields([part])[0]
        if row is not ABSENT:
            number += 1
            tuples = 1
            part = Entry(row, start, end, source)
            part.row_key, part.slot = key, slot
            CONDITION: now = yields([part])[0]
        if now is nothing:
            change = None if old is nothing else Delete(key)
        else:
            change = None if old is not nothing and is_unchanged(old, now) else Update(key, now)
        if change is not None:
            before = () if old is nothing else (old,)
            out.append(Event(change, start, end, 1, output, (output, key), before=before))
"""


@attrs.frozen(eq=False)
class KeptShape:
    """A change of a table whose rows are mapped or filtered one by one."""

    join: Join
    kept: KeptRows


def kept_shape_of(program: Program, join: Join) -> KeptShape | str:
    """Return what a push into the only table of a correlation does, or why it needs all of the handlers."""
    (slot,) = join.slots
    strange = run_as_written(join, _KNOWN)
    if strange:
        return strange
    keys = [one.node.key for one in join.installed if isinstance(one.node, AsTable)]
    is_known = len(join.installed) == len(_KNOWN) and keys in ([slot.name], [(slot.name,)])
    if not is_known or type(join.batch.output) is not View or join.pattern.is_generator or join.bindings.spaces:
        return "its results are not the rows of one table, each by itself"
    if slot.reactive.pattern is not None or not isinstance(slot.kept, KeptRows):
        return "its rows are not kept by an input"
    return standing(program, join) or KeptShape(join, slot.kept)


class DirectKeptCode(DirectText):
    """The function of one slot, and its text."""

    def __init__(self, shape: KeptShape, steps: Steps, lateness: int | None) -> None:
        (slot,), body = shape.join.slots, shape.join.batch.body
        super().__init__(shape.join, slot, steps, lateness, TABLE_SCOPE)
        self._has_condition = body.where is not None
        self._write()
        bound = {"ABSENT": ABSENT, "slot": slot.name, "kept": shape.kept, "where": body.where, "yields": body.yields}
        bound |= {"checked": partial(checked_value, slot.reactive)}
        self.function: Callable[[Any, Any], list[Event] | None] = self._define(bound)

    def _prepare(self) -> None:
        self._lines.add("number, tuples = world.number, 0")

    def _find_out(self) -> None:
        self._lines.add(_TAKE_IN.replace("CONDITION", "if where([part])" if self._has_condition else "if True"))

    def _change(self) -> None:
        text = self._slot.ledger.text
        self._lines.add(f"""
            world.number = number
            world.candidates += tuples
            kept.keep(key, row)
            {text(Fate.DELIVERED)}
            if is_change:
                {text(Fate.EXPIRED)}
            else:
                {text(None)}
        """)
