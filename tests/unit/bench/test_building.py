"""What it costs to build an engine for a pack of rules, in calls of functions: the same every time."""

from __future__ import annotations

import sys

from bench.arrow_rows import pushes
from bench.program_cases import RULES, pack_workload
from cartesius import Engine


def calls(action):
    """Count the calls of functions written in Python."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def test_an_engine_for_forty_rules_costs_less_than_a_thousand_pushes_through_it():
    _, workload = pack_workload(RULES, 50, seed=1, ships=30)
    engines = []
    table = workload.output()  # rules are lowered once, however many engines are built
    building = calls(lambda: engines.append(Engine(table)))
    (engine,) = engines

    def push_all(batch):
        for name, value, at in pushes(batch, engine.inputs):
            engine.push(engine.inputs[name], value, at)

    push_all(workload.before)
    pushing = calls(lambda: push_all(workload.batch)) / workload.n
    assert building < 1_000 * pushing
