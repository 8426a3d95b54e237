"""Judgements of judgements: a table made of another one whose values are objects, such as the warnings of a pack.

Only those fields of the objects are columns that are looked at; the objects that were there when columns took over
stay where they are until they are replaced.

Invariant: of each row that is retained, either the memory has the object, or the state has all of its columns.

Source: DESIGN 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.columns.judgements.judging import Judging
from cartesius.columns.judgements.row_judging import has_objects, row_judging_stage
from cartesius.columns.judgements.ways import ways_of
from cartesius.columns.stages.held import left, store_beside
from cartesius.columns.stages.stages import Outcome, State
from cartesius.columns.stages.stored_rows import load_bare
from cartesius.columns.vectors.conversions import of_values
from cartesius.columns.vectors.vectors import NotColumnar, Struct
from cartesius.expressions.expressions import Apply, Part, children
from cartesius.expressions.made_values import Made, Sole
from cartesius.expressions.missing_values import Asked, Form, Observed, form_of
from cartesius.plan import facts
from cartesius.plan.nodes import OF_JOINS, AsTable, May
from cartesius.results.views import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cartesius.columns.stages.rows import Rows
    from cartesius.columns.stages.stages import Moment, Stage
    from cartesius.correlations.join_shape import Join
    from cartesius.expressions.expressions import Expression


class Rejudging(Judging):
    """A table of values of a function of the values of another."""

    is_in_memory = True

    @property
    def fields(self) -> list[str]:
        """The fields that are looked at."""
        found = (field for one in (*self.form.meaning, self.form.value) for field in _observed(one))
        return list(dict.fromkeys(found))

    def split(self, slot: int, rows: Rows) -> None:
        """Return nothing: the objects that have come are held besides."""

    def load(self, arriving: Mapping[int, Rows]) -> State:
        """Return the fields of the objects that are there."""
        (slot,) = self.join.slots
        (rows, objects), like = load_bare(slot), arriving.get(0)
        model = like.payload if like is not None and isinstance(like.payload, Struct) else None
        items = [
            of_values([getattr(one, name) for one in objects], None if model is None else model.item(name))
            for name in self.fields
        ]
        if rows is None:
            return State((None,))
        return State((attrs.evolve(rows, payload=Struct("made", self.fields, items, len(rows))),))

    def run(self, state: State, arriving: Mapping[int, Rows], moment: Moment) -> Outcome:
        """Judge by the fields that are looked at."""
        coming = arriving.get(0)
        given = {} if coming is None or not len(coming) else {0: self._narrowed(coming)}
        outcome = super().run(state, given, moment)
        (rows,) = outcome.state.retained
        more = [*(state.more or ()), *([coming] if coming is not None and given else ())]
        return attrs.evolve(outcome, state=State((rows,), () if rows is None else left(more, rows.number)))

    def _narrowed(self, rows: Rows) -> Rows:
        payload = rows.payload
        items = [payload.item(name) if isinstance(payload, Struct) else None for name in self.fields]
        found = [item for item in items if item is not None]
        if len(found) < len(items):
            raise NotColumnar("what is judged is no object")
        return attrs.evolve(rows, payload=Struct("made", self.fields, found, len(rows)))

    def store(self, state: State, stored: set[int]) -> None:
        """Let the memory hold the objects that have come, beside those that are still there."""
        store_beside(self.join, state, stored)


def _observed(expression: Expression) -> Iterator[str]:
    if isinstance(expression, Apply) and isinstance(expression.function, Observed):
        yield expression.function.field
    for one in children(expression):
        yield from _observed(one)


def is_rejudging(join: Join) -> bool:
    """Whether what a correlation judges are judgements."""
    if len(join.slots) != 1 or join.slots[0].reactive.pattern is None:
        return False
    pattern = join.slots[0].reactive.pattern
    if isinstance(pattern.yields, Apply) and isinstance(pattern.yields.function, Sole):
        return True
    form = form_of(pattern.yields.function) if isinstance(pattern.yields, Apply) else None
    return isinstance(form, Form) and isinstance(form.value, Apply) and isinstance(form.value.function, Made)


def judging_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that is a table of judgements."""
    yields = join.pattern.yields
    form = form_of(yields.function) if isinstance(yields, Apply) else None
    if not isinstance(yields, Apply) or form is None:
        return None
    if isinstance(form, str):
        return form
    if objection := _objection(join, yields):
        return objection
    if isinstance(form, Asked) or has_objects(join.slots[0]):
        return row_judging_stage(join)
    ways = ways_of(join, join.pattern.conditions)
    if isinstance(ways, str):
        return ways
    return Rejudging(join, ways, form) if is_rejudging(join) else Judging(join, ways, form)


def _objection(join: Join, yields: Apply) -> str:
    meanings = {type(one.node) for one in join.installed}
    if not meanings <= OF_JOINS or not isinstance(join.batch.output, View):
        return "its restrictions are not those of a table of judgements"
    if join.batch.is_read_only:
        return "its rows are looked up when they are asked"
    if yields.arguments != tuple(Part(slot.name) for slot in join.slots):
        return "it judges something else than rows"
    if any(not slot.is_table or slot.shared is not None or slot.kept is not None for slot in join.slots):
        return "a slot is no plain table"
    rows = next(one for one in join.installed if isinstance(one.node, AsTable))
    if facts.table_key(rows) != join.slots[0].name:
        return "its key is not that of the first slot"
    optional = {slot for one in join.installed if isinstance(one.node, May) for slot in one.named}
    if optional != set(join.slots[1:]):
        return "some linked row must be there"
    if len({slot.reactive for slot in join.slots}) < len(join.slots):
        return "two slots have one source"
    return ""
