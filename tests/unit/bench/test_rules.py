"""The benchmark of rule packs: what it counts, and that it would see a judge that evaluates everything."""

from __future__ import annotations

import pytest

from bench import rules
from bench.arrow_rows import push_all, pushes
from bench.program_cases import pack_workload
from cartesius import Engine


@pytest.fixture(scope="module")
def measured() -> tuple[list[rules.Cost], list[tuple[rules.Cost, rules.Cost]]]:
    given = {"events": 40, "repetitions": 2, "seed": 3, "ships": 5}
    return rules.growing(**given), list(rules.programs(**given))


def test_five_requirements_of_forty_are_evaluated_an_event(measured):
    growing, programs = measured
    one, forty, anew = growing
    assert (one.evaluated, forty.evaluated) == (1, 5)
    assert anew.evaluated == 2 * 40  # a step asks for the old and the new row
    for remembering, each in programs:
        assert remembering.evaluated < each.evaluated


def test_with_and_without_a_memory_the_verdicts_are_the_same():
    tables = []
    for is_remembering in (True, False):
        pack, workload = pack_workload(40, 8, seed=5, ships=5)
        engine = Engine(pack.table())
        with rules.judging(is_remembering):
            for batch in (workload.before, workload.batch):
                push_all(engine, pushes(batch or {}, engine.inputs))
            tables.append(engine.query(pack.table()))
    assert tables[0] == tables[1]
    assert {verdict.status for verdict in tables[0].values()} == {"allowed", "restricted"}
