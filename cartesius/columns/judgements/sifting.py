"""The kernel of sifted tables: of a table of tuples of one item, or None, the items, under the same keys.

Nothing is computed: a row comes, goes or changes as its tuple does. Packs that consider only some of their subjects,
by what these are linked to, are such tables.

Source: DESIGN 4 and 6; SEMANTICS 2.2 and 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.held import left, store_beside
from cartesius.columns.stages.rows import BEFORE, Flow, Rows, joined, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.stages.stored_rows import load_bare
from cartesius.columns.stages.turns import numbered
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.ordering import begins, by_code, ends
from cartesius.columns.vectors.vectors import MISSING, Leaf, NotColumnar, Struct
from cartesius.data.generated import commented
from cartesius.expressions.expressions import Apply, Part, show
from cartesius.expressions.made_values import Sole
from cartesius.expressions.missing_values import is_there
from cartesius.plan.nodes import AsTable, TakeBack
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cartesius.columns.stages.stages import Moment
    from cartesius.columns.vectors.vectors import Indices, Vector
    from cartesius.correlations.join_shape import Join

_KNOWN = {TakeBack, AsTable}


class Sifting(Stage):
    """A table of the items of the tuples of another, where there are some."""

    is_in_memory = True
    takes_turns = True

    def source(self) -> str:
        """Return what is done, as there is no code."""
        (slot,) = self.join.slots
        conditions = " & ".join(map(show, self.join.pattern.conditions))
        return (
            f"# {commented(self.join.name)}\n# the item of each {commented(slot.name)} where {commented(conditions)}\n"
        )

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return which rows are tuples."""
        (slot,) = self.join.slots
        return State((load_bare(slot, seen=lambda value: value is not None)[0],))

    def store(self, state: State, stored: set[int]) -> None:
        """Let the memory hold the objects that have come, beside those that are still there."""
        store_beside(self.join, state, stored)

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Give on what comes, and take away what was there, where there is a tuple."""
        if not len(arriving.get(0, ())):
            return Outcome(nothing(), state, 0)
        arriving, moment, steps = numbered(arriving, moment)
        (before,), coming = state.retained, arriving[0]
        there = _is_tuple(coming)
        mine = attrs.evolve(coming, payload=Leaf(pa.array(there)))
        rows = mine if before is None else joined([before, mine])
        assert rows.key is not None  # Invariant: it is a table
        (code,), count = encoded([[rows.key]], skips_null=False)
        order = by_code(code, count)
        first = begins(code[order])
        place = np.full(len(rows), MISSING, np.int64)  # of the row before, of the same key
        place[order[1:]] = np.where(first[1:], MISSING, order[:-1])
        flow = self._flow(coming, rows, place)
        stays = order[ends(code[order])]
        if rows.deletes is not None:
            stays = stays[~rows.deletes[stays]]
        kept = rows.take(np.sort(stays)).as_retained()
        more = left([*(state.more or ()), attrs.evolve(coming, turn=None)], kept.number)
        tuples = len(coming) if coming.deletes is None else int(np.count_nonzero(~coming.deletes))
        return Outcome(flow if steps is None else steps.given_back(flow), State((kept,), more), tuples)

    def _flow(self, coming: Rows, rows: Rows, before: Indices) -> Flow:
        """Return the changes, in order: in a step, rows that were there come first, the newest first."""
        there = rows.payload
        assert isinstance(there, Leaf)  # Invariant: whether it is a tuple
        assert rows.key is not None  # Invariant: it is a table
        is_there = there.numbers
        was_there = np.where(before == MISSING, False, is_there[before])
        given = np.flatnonzero((rows.position != BEFORE) & (is_there | was_there))
        is_update = is_there[given]
        offset = len(rows) - len(coming)
        value = _items(coming).take(np.where(is_update, given - offset, MISSING), may_miss=True)
        is_new = ~was_there[given]
        number = rows.number[np.where(is_new, given, before[given])]
        order = np.lexsort((-number, is_new, rows.position[given]))
        given, is_update = given[order], is_update[order]
        deletes = None if is_update.all() else ~is_update
        key, value = rows.key.take(given), value.take(order)
        return Flow(rows.position[given], value, rows.start[given], rows.end[given], None, key, deletes)


def _is_tuple(rows: Rows) -> NDArray[np.bool_]:
    payload = rows.payload
    there = np.ones(len(rows), np.bool_) if payload.valid is None else payload.valid
    return there if rows.deletes is None else there & ~rows.deletes


def _items(rows: Rows) -> Vector:
    payload = rows.payload
    if isinstance(payload, Struct) and len(payload.items) == 1:
        return payload.items[0]
    if isinstance(payload, Leaf) and payload.type == pa.null():
        return payload
    raise NotColumnar("rows are no tuples of one item")


def sifting_stage(join: Join) -> Stage | None:
    """Return the stage of a correlation that gives the items of tuples."""
    yields = join.pattern.yields
    if not isinstance(yields, Apply) or not isinstance(yields.function, Sole) or len(join.slots) != 1:
        return None
    (slot,), conditions = join.slots, join.pattern.conditions
    part = Part(slot.name)
    if yields.arguments != (part,) or not slot.is_table or slot.shared is not None or slot.kept is not None:
        return None
    if {type(one.node) for one in join.installed} != _KNOWN or len(join.installed) != len(_KNOWN):
        return None
    if not isinstance(join.batch.output, View) or join.batch.is_read_only or len(conditions) != 1:
        return None
    (only,) = conditions
    is_known = isinstance(only, Apply) and only.function is is_there and only.arguments == (part,)
    return Sifting(join) if is_known else None
