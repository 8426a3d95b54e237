"""Which correlations are tables of judgements, and why another is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cartesius.columns.judgements.judging import Judging
from cartesius.columns.judgements.rejudging import Rejudging, is_rejudging
from cartesius.columns.judgements.row_judging import has_objects, row_judging_stage
from cartesius.columns.judgements.ways import ways_of
from cartesius.expressions.expressions import Apply, Part
from cartesius.expressions.missing_values import Asked, form_of
from cartesius.plan import facts
from cartesius.plan.nodes import OF_JOINS, AsTable, May
from cartesius.results.views import View

if TYPE_CHECKING:
    from cartesius.columns.stages.stages import Stage
    from cartesius.correlations.join_shape import Join


def judging_stage(join: Join) -> Stage | str | None:
    """Return the stage of a correlation that is a table of judgements."""
    yields = join.pattern.yields
    form = form_of(yields.function) if isinstance(yields, Apply) else None
    if not isinstance(yields, Apply) or form is None:
        return None
    if isinstance(form, str):
        return form
    objection = _objection(join, yields)
    if objection:
        return objection
    if isinstance(form, Asked) or has_objects(join.slots[0]):
        return row_judging_stage(join)
    ways = ways_of(join, join.pattern.conditions())
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
