"""Packs of rules over columns say what they say of the same rows, pushed one by one in the reference tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine
from tests.unit.dsl.rule_traces import TRACES, packs, pushed, pushed_at_once

if TYPE_CHECKING:
    from dsl import RulePack
    from tests.unit.dsl.rule_traces import Step


def outputs_of(pack: RulePack, which: str) -> tuple[Any, ...]:
    return {"table": (pack.table(),), "warnings": (pack.warnings(),), "both": (pack.table(), pack.warnings())}[which]


OUTPUTS = st.sampled_from(["table", "warnings", "both"])
WAYS = st.sampled_from(["many", "many", "many", "push", "snapshot", "in_place"])


@given(packs(), TRACES, OUTPUTS, st.lists(st.tuples(st.integers(1, 12), WAYS), min_size=1, max_size=5))
def test_batches_mixed_with_pushes_and_snapshots_give_what_the_reference_gives(
    pack: RulePack, trace: list[Step], which: str, cuts: list[tuple[int, str]]
):
    outputs = outputs_of(pack, which)
    inputs = pack.sources
    trace = [step for step in trace if step[0] in inputs]
    reference, engine = Engine(*outputs, tier="reference"), Engine(*outputs)
    done = 0
    for size, way in [*cuts, (len(trace), "many")]:
        part, done = trace[done : done + size], done + size
        expected = pushed(reference, inputs, part)
        if way == "snapshot":
            engine = Engine.restore(engine.snapshot(), *outputs)
        elif way == "in_place":
            engine = Engine.restore(engine.snapshot(), *outputs, tier="in_place")
        push = pushed if way == "push" else pushed_at_once
        found = push(engine, inputs, part)
        assert list(map(repr, found)) == list(map(repr, expected))
        if way == "many" and part:
            assert engine._compiled is not None
            assert engine._compiled.reason == "" or engine._tier is not None
            assert engine._why_row_by_row == ""
    assert engine.stats.events == reference.stats.events
    assert engine.stats.tuples == reference.stats.tuples
    assert engine.stats.retained == reference.stats.retained
    for output in outputs:
        assert repr(engine.query(output)) == repr(reference.query(output))
    engine._check_invariants()
