"""Plans: which kernel computes which correlation of a program, or why it is pushed row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from cartesius.columns.windows.window_joins import window_join_stage
from cartesius.columns.windows.window_totals import window_totals_stage
from cartesius.plan.nodes import ONLY_CLAUSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius.columns.stages.stages import Stage
    from cartesius.core.engine_core import EngineCore
    from cartesius.correlations.join_shape import Join

KERNELS: tuple[Callable[[Join], Stage | str | None], ...] = (
    sifting_stage, collating_stage, version_stage, row_join_stage, zip_stage, ageing_stage, judging_stage, table_stage,
    band_stage, sequence_stage, merge_stage, stacking_stage, stepping_stage,
    window_totals_stage, window_join_stage, announcing_stage,
)  # fmt: skip
"""Each returns the stage of a correlation, or why it has none, or nothing, if a correlation is not of its kind."""


def plan(engine: EngineCore) -> list[Stage] | str:
    """Return a stage for each correlation of the program, in its order, or the reason why there is none."""
    reason = _objection(engine)
    if reason:
        return reason
    stages = []
    for join in engine._program.joins:
        found = stage_of(join)
        if isinstance(found, str):
            return f"{join.name}: {found}"
        stages.append(found)
    return stages


def way_of(engine: EngineCore, join: Join) -> str:
    """Say how a batch runs through a correlation: by which kernel, or why row by row."""
    found = stage_of(join)
    reason = _objection(engine) or (found if isinstance(found, str) else "")
    if not reason and isinstance(others := plan(engine), str):
        reason = f"all of a program is compiled, or nothing is, and of {others}"
    if reason:
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
    absence = absence_stage(join)  # the one kernel that knows what must not come
    if absence is not None:
        return absence
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
