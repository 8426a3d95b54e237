"""The benchmark of rule packs: what it counts, and that it would see a judge that evaluates everything."""

from __future__ import annotations

import pytest

from bench import rules
from cartesius import Engine


@pytest.fixture(scope="module")
def measured() -> tuple[list[rules.Cost], list[tuple[rules.Cost, rules.Cost]]]:
    return rules.measure(events=40, repetitions=2, seed=3, ships=5)


def test_five_requirements_of_forty_are_evaluated_an_event(measured):
    growing, programs = measured
    one, forty, anew = growing
    assert (one.evaluated, forty.evaluated) == (1, 5)
    assert anew.evaluated == 4 * 40  # a step asks for the old and the new row, twice
    for remembering, each in programs:
        assert remembering.evaluated < each.evaluated


def test_with_and_without_a_memory_the_verdicts_are_the_same():
    tables = []
    for is_remembering in (True, False):
        case = rules.rules(40, 20, seed=5, ships=5)
        engine = Engine(case.pack.table())
        with rules._judging(is_remembering):
            for name, row in (*case.rows, *case.events):
                engine.push(case.pack.sources[name], row)
            tables.append(engine.query(case.pack.table()))
    assert tables[0] == tables[1]
    assert {verdict.status for verdict in tables[0].values()} == {"allowed", "restricted"}
