"""Rule packs as they grow: what an event costs beside a pack of one rule, and beside judging everything anew.

The same trace goes through a pack of 40 rules, through a pack of one with the same sources, and through the 40 rules
with a judge that remembers nothing: a judge as it was before it did. The thesis's programs A to D follow, the judge
that remembers beside the one that does not. All are pushed event by event. Repetitions alternate, so that a busy
machine slows all of them; times are of the processor.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING
from unittest import mock

import attrs

from bench.arrow_rows import push_all, pushes
from bench.program_cases import RULES, SHIPS, pack_workload, program_workload
from cartesius import Engine
from dsl.judgements.remembering import Memory
from examples.experiments.program_rows import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.workloads import Workload
    from dsl import RulePack

    Case = tuple[RulePack, Workload]

BOUND = 3.0
"""How many times as much as with one rule an event may cost with forty."""


@attrs.frozen
class Cost:
    """What events cost: microseconds an event, one value a repetition, and requirements evaluated an event."""

    name: str
    micros: list[float]
    evaluated: float

    def ratio(self, other: Cost) -> float:
        """How many times as much as ``other``, by medians."""
        return median(self.micros) / median(other.micros)


def growing(events: int, repetitions: int, seed: int, ships: int = SHIPS) -> list[Cost]:
    """Return the costs of one rule, of forty, and of forty judged anew."""
    one, forty = pack_workload(1, events, seed, ships), pack_workload(RULES, events, seed, ships)
    return _costs([("one rule", one, True), ("40 rules", forty, True), ("40 rules, anew", forty, False)], repetitions)


def programs(events: int, repetitions: int, seed: int, ships: int = SHIPS) -> Iterator[tuple[Cost, Cost]]:
    """Measure each program, remembering and judged anew."""
    for letter in PROGRAMS:
        case = program_workload(letter, ships, events, seed)
        name = f"program {letter}"
        remembering, anew = _costs([(name, case, True), (f"{name}, anew", case, False)], repetitions)
        yield remembering, anew


def _costs(cases: list[tuple[str, Case, bool]], repetitions: int) -> list[Cost]:
    costs = [Cost(name, [], 0.0) for name, _, _ in cases]
    for _ in range(repetitions):
        for number, (_, case, is_remembering) in enumerate(cases):
            with judging(is_remembering):
                micros, evaluated = _run(*case)
            costs[number] = Cost(costs[number].name, [*costs[number].micros, micros], evaluated)
    return costs


def _run(pack: RulePack, workload: Workload) -> tuple[float, float]:
    engine = Engine(workload.output(), tier="in_place")
    push_all(engine, pushes(workload.before or {}, engine.inputs))
    events = pushes(workload.batch, engine.inputs)
    before, begin = pack.stats.requirements, time.process_time()
    push_all(engine, events)
    spent = time.process_time() - begin
    return spent / workload.n * 1e6, (pack.stats.requirements - before) / workload.n


@contextmanager
def judging(is_remembering: bool) -> Iterator[None]:
    """Judge with a memory, or, for comparison, with one that finds nothing."""
    if is_remembering:
        yield
        return
    with (
        mock.patch.object(Memory, "of", return_value=()),
        mock.patch.object(Memory, "references", return_value=None),
    ):
        yield
