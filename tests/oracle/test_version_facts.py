"""Results of versions of parts, as long as these overlap: against brute force, and by example."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Update
from tests.oracle.version_checks import check_late, overlapping, table
from tests.oracle.version_oracle import (
    Advance,
    Facts,
    build_facts,
    fact_cases,
)

# ------------------------------------------------------------------------------------------------- brute force: facts


def run_facts(case, restored=frozenset()):
    program, trace = case
    built, reference = build_facts(program), Facts(program)
    engine = Engine(built.output)
    before = set()
    for place, step in enumerate(trace):
        if place in restored:
            engine = Engine.restore(engine.snapshot(), built.output)
        if isinstance(step, Advance):
            assert engine.advance(step.time) == []
            reference.advance(step.time)
            continue
        late = len(engine.late)
        emitted = engine.push(built.inputs[step.source], step.change, at=step.time)
        engine._check_invariants()
        check_late(engine.late[late:], step, reference.push(step))
        after = reference.current()
        weights = [event.weight for event in emitted]
        assert weights == sorted(weights)
        assert Counter(event.value for event in emitted if event.weight < 0) == Counter(before - after)
        assert Counter(event.value for event in emitted if event.weight > 0) == Counter(after - before)
        before = after


@given(case=fact_cases(kinds=("table",)))
def test_a_result_stands_as_long_as_the_versions_of_its_parts_overlap(case):
    run_facts(case)


@given(case=fact_cases(kinds=("keyed", "plain")))
def test_a_versioned_stream_is_a_history_by_its_key(case):
    run_facts(case)


@given(case=fact_cases(kinds=("table", "table", "point")))
def test_an_event_beside_versions_is_there_at_its_own_time_only(case):
    run_facts(case)


@given(case=fact_cases(kinds=("table", "keyed", "point"), has_optional=True))
def test_an_event_beside_versions_may_lack_what_is_not_there_at_its_time(case):
    run_facts(case)


@given(case=fact_cases(kinds=("table", "point"), has_optional=True, has_advances=True))
def test_an_event_past_the_retention_keeps_what_it_had(case):
    run_facts(case)


@given(case=fact_cases(kinds=("table", "keyed"), has_advances=True), restored=st.sets(st.integers(0, 12), max_size=2))
def test_results_of_expired_versions_stand(case, restored):
    run_facts(case, restored)


def test_a_row_whose_parts_still_overlap_is_not_retracted():
    a, b = table("a"), table("b")
    engine = Engine(overlapping(a, b))
    assert engine.push(a, Update(0, "A1"), at=1) == []
    assert [(e.value, e.weight) for e in engine.push(b, Update(0, "B2"), at=2)] == [(("A1", "B2"), 1)]
    assert [(e.value, e.weight) for e in engine.push(a, Update(0, "A5"), at=5)] == [(("A5", "B2"), 1)]


def test_a_late_version_that_leaves_no_overlap_retracts():
    """B3 ends B2 before A5 begins, and takes its place beside both."""
    a, b = table("a"), table("b")
    engine = Engine(overlapping(a, b))
    for source, value, time in ((a, "A1", 1), (b, "B2", 2), (a, "A5", 5)):
        engine.push(source, Update(0, value), at=time)
    emitted = [(e.value, e.weight) for e in engine.push(b, Update(0, "B3"), at=3)]
    assert emitted[0] == (("A5", "B2"), -1)
    assert sorted(emitted[1:]) == [(("A1", "B3"), 1), (("A5", "B3"), 1)]


def test_a_late_delete_retracts_what_it_leaves_no_time_for():
    a, b = table("a"), table("b")
    engine = Engine(overlapping(a, b))
    engine.push(a, Update(0, "A1"), at=1)
    engine.push(b, Update(0, "B4"), at=4)
    assert [(e.value, e.weight) for e in engine.push(a, Delete(0), at=6)] == []
    assert [(e.value, e.weight) for e in engine.push(a, Delete(0), at=3)] == [(("A1", "B4"), -1)]


def test_expiry_retracts_nothing():
    a, b = table("a"), table("b")
    engine = Engine(overlapping(a, b, retention=2))
    for source, value, time in ((a, "A1", 1), (b, "B2", 2), (a, "A5", 5), (b, "B6", 6)):
        engine.push(source, Update(0, value), at=time)
    assert engine.advance(100) == []
    assert engine.stats.retained == 2
