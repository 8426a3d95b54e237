"""Plans: which kernel computes which correlation of a program, or why it is pushed row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from cartesius.analysis.windowed_rows import row_windows
from cartesius.columns.judgements.ageing import ageing_stage
from cartesius.columns.judgements.rejudging import judging_stage
from cartesius.columns.judgements.sifting import sifting_stage
from cartesius.columns.loops.stacking import stacking_stage
from cartesius.columns.loops.stepping import stepping_stage
from cartesius.columns.streams.absent_events import absence_stage
from cartesius.columns.streams.bands import band_stage
from cartesius.columns.streams.merging import merge_stage
from cartesius.columns.streams.parts_in_sequence import sequence_stage
from cartesius.columns.streams.versions import version_stage
from cartesius.columns.streams.zipping import zip_stage
from cartesius.columns.tables.announcements import announcing_stage
from cartesius.columns.tables.collating import collating_stage
from cartesius.columns.tables.row_joins import row_join_stage
from cartesius.columns.tables.table_plans import table_stage
from cartesius.columns.windows.session_totals import session_totals_stage
from cartesius.columns.windows.window_joins import window_join_stage
from cartesius.columns.windows.window_totals import window_totals_stage
from cartesius.plan import facts
from cartesius.plan.nodes import ONLY_CLAUSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cartesius.columns.stages.stages import Stage
    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.join_shape import Join

KERNELS: tuple[Callable[[Join], Stage | str | None], ...] = (
    sifting_stage, collating_stage, version_stage, row_join_stage, zip_stage, ageing_stage, judging_stage, table_stage,
    band_stage, sequence_stage, merge_stage, stacking_stage, stepping_stage,
    window_totals_stage, window_join_stage, announcing_stage,
)  # fmt: skip
"""Each returns the stage of a correlation, or why it has none, or nothing, if a correlation is not of its kind."""


OF_THEIR_OWN: tuple[Callable[[Join], Stage | str | None], ...] = (absence_stage, session_totals_stage)
"""Those that know what no other kernel does: what must not come, and sessions."""


@attrs.frozen
class Plan:
    """How a batch runs through the correlations of a program.

    Args:
        stages: Those that columns compute, in their order.
        written: Why the others are run as written, in their order.
        reason: Why all of the program is pushed row by row; empty if it is not.
    """

    stages: list[Stage]
    written: dict[Join, str]
    reason: str = ""


def plan(engine: EngineCore) -> Plan:
    """Return how a batch runs through a program: what no kernel knows, or comes behind that, is run as written."""
    if reason := _objection(engine):
        return Plan([], {}, reason)
    joins, sources = engine._program.joins, engine._program.join_of
    found = {join: stage_of(join) for join in joins}
    written = {join: why for join, why in found.items() if isinstance(why, str)}
    bound = [(join, slot) for join in joins for slot in join.slots]
    n_before = -1
    while n_before < len(written):
        n_before = len(written)
        for join, slot in bound:
            source = sources.get(slot.reactive)
            if source in written:
                written.setdefault(join, f"{slot.name!r} comes row by row")
            elif source is not None and (why := _not_given_on(found[source], None if join in written else found[join])):
                written[source] = why
    stages = {join: stage for join, stage in found.items() if not isinstance(stage, str) and join not in written}
    if written and (not stages or engine._world.deadlines.floored or _share(stages, written)):
        return Plan([], {}, next(f"{join.name}: {why}" for join, why in written.items()))
    return Plan(list(stages.values()), {join: written[join] for join in joins if join in written})


def _not_given_on(stage: Stage | str, then: Stage | str | None) -> str:
    """Say why what a stage gives comes to another one, None if that is written, from objects alone."""
    assert not isinstance(stage, str)  # Invariant: that is written itself
    assert not isinstance(then, str)
    if stage.gives_turns and (then is None or not then.takes_turns):
        return "what is due comes in steps of its own"
    join = stage.join
    if join.is_table and join.batch.windows is not None and row_windows(join.pattern) is None:
        return "a row of a window that is freed may come again, as if it had not been there"
    if then is not None:
        return ""
    if any(facts.takes_back(one) for one in join.installed):
        return "its results may be taken back"
    if join.is_table or join.batch.versions is not None:
        return "its rows are read row by row"
    return ""


def _share(some: Iterable[Join], others: Iterable[Join]) -> bool:
    """Whether a slot of one correlation shares its memory with one of another."""
    shared, more = ({slot.shared for join in joins for slot in join.slots} - {None} for joins in (some, others))
    return not shared.isdisjoint(more)


def way_of(engine: EngineCore, join: Join) -> str:
    """Say how a batch runs through a correlation: by which kernel, or why row by row."""
    planned = plan(engine)
    found = stage_of(join)
    if reason := planned.written.get(join) or (found if isinstance(found, str) else planned.reason):
        return f"row by row, as {reason}"
    last = f"; the last batch went row by row, as {engine._why_row_by_row}" if engine._why_row_by_row else ""
    return f"compiled: the kernel of {_kernel(found)}{last}"


def _kernel(stage: Stage | str) -> str:
    return type(stage).__module__.rpartition(".")[2].replace("_", " ")


def _objection(engine: EngineCore) -> str:
    program = engine._program
    if engine._tier is not None:
        return f"the tier is pinned: {engine._tier}"
    if program.world.provenance is not None:
        return "what makes a result is recorded, event by event"
    if program.groups:
        return "alternatives share what they consume"
    return ""


def stage_of(join: Join) -> Stage | str:
    """Return the stage of one correlation, or the reason why it has none."""
    for kernel in OF_THEIR_OWN:
        if (found := kernel(join)) is not None:
            return found
    unknown = [one.restriction for one in join.installed if type(one.node) in ONLY_CLAUSES]
    if unknown:
        return f"{unknown[0]!r} is run as written"
    if not join.slots:
        return "it has no inputs"
    reasons = []
    for kernel in KERNELS:
        found = kernel(join)
        if isinstance(found, str):
            reasons.append(found)
        elif found is not None:
            return found
    return "; ".join(dict.fromkeys(reasons)) or "there is no kernel for its restrictions together"
