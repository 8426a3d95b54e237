"""The kernel of `changelog` and `update_stream`: the changes of a table as events, each a candidate of its own.

Source: thesis, Table 4.1 and L27; SEMANTICS 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
import pyarrow as pa

from cartesius.columns.stages.candidates import Parts
from cartesius.columns.stages.rows import BEFORE, nothing
from cartesius.columns.stages.stages import Outcome, Stage, State
from cartesius.columns.streams.zipping import flow_of
from cartesius.columns.tables.table_rows import by_key, changes_something, hot_codes
from cartesius.columns.tables.table_stages import TableStage
from cartesius.columns.tables.timelines import ToRows
from cartesius.columns.vectors.key_codes import encoded
from cartesius.columns.vectors.vectors import CHANGE, Leaf, Struct
from cartesius.plan.nodes import Announce, Complete, Now, TakeOrder, Visit
from cartesius.results.outputs import Events

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment
    from cartesius.correlations.join_shape import Join


class Announcing(TableStage):
    """The changes of one table as events."""

    how = "sort by key, compare with the row before"
    tells_gates = True

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Leave out what changes nothing."""
        (one,) = self.versions(state, arriving)
        if not len(one):
            return Outcome(nothing(), state, 0)
        (codes,), count = encoded([[one.key]], skips_null=False)
        ordered = by_key(one, codes, count, hot_codes(codes, one.position != BEFORE, count))
        is_change = (one.position[ordered.rows] != BEFORE) & changes_something(one, ordered)
        rows, fates = one.rows.take(np.sort(ordered.rows[is_change])), self.passed_on(one, is_change)
        after = State((one.live(codes, count),), state.more)
        if not len(rows):
            return Outcome(nothing(), after, 0, fates=fates)
        assert rows.key is not None  # Invariant: rows of a table have keys
        deletes = np.zeros(len(rows), np.bool_) if rows.deletes is None else rows.deletes
        names, items = ("key", "value", "deleted"), [rows.key, rows.payload, Leaf(pa.array(deletes))]
        rows = attrs.evolve(rows, payload=Struct(CHANGE, names, items, len(rows)))
        flow = flow_of(self.body, [Parts(rows, np.arange(len(rows)))], rows.position)
        return Outcome(flow, after, len(rows), fates=fates)


def announcing_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that makes events of the changes of one table."""
    meanings = {type(one.node) for one in join.installed}
    known = {Announce, Now, Visit, Complete, TakeOrder}
    if Announce not in meanings or not meanings <= known or not isinstance(join.batch.output, Events):
        return None
    if len(join.slots) != 1 or Now not in meanings or join.slots[0].kept is None:
        return "changes of a table meet others, or stay"
    return Announcing(join, ToRows([0]), [False])
