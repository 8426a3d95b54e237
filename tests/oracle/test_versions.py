"""Versioned tables: Sax et al.'s examples by name, their operators cell by cell, and brute force after every push."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import as_table, optionally, retracting, versioned, within
from restrictions.streams import filter_, group_by, map_, map_concat, stream_table_join
from restrictions.tables import (
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    outer_join,
    reduce,
    sum_,
    to_table,
)
from tests.oracle.table_oracle import exact
from tests.oracle.version_oracle import (
    TWO,
    Advance,
    Facts,
    Item,
    Leaf,
    Lookups,
    One,
    Program,
    Push,
    Reference,
    Two,
    build,
    build_facts,
    build_lookup,
    content,
    evaluate,
    fact_cases,
    history,
    lookup_traces,
    programs,
    replayed,
    shown,
    since,
    snapshot,
    traces,
    versions,
)

RETENTIONS = (None, 0, 2, 5)

# For what another property of this file looks at, too.
fewer = settings(max_examples=settings().max_examples // 2)

# ------------------------------------------------------------------------------------- the oracle, on paper numbers


def changes(*arrivals):
    """A history of arrivals (time, key, value); a value of None deletes."""
    return history((time, Delete(key) if value is None else Update(key, value)) for time, key, value in arrivals)


FIGURE_1 = [(5, "A", 7.2), (6, "B", 14.7), (6, "A", 8.9), (3, "B", 12.1), (8, "B", 16.7)]
GENERATIONS = [
    {5: {"A": 7.2}},
    {5: {"A": 7.2}, 6: {"A": 7.2, "B": 14.7}},
    {5: {"A": 7.2}, 6: {"A": 8.9, "B": 14.7}},
    {3: {"B": 12.1}, 5: {"A": 7.2, "B": 12.1}, 6: {"A": 8.9, "B": 14.7}},
    {3: {"B": 12.1}, 5: {"A": 7.2, "B": 12.1}, 6: {"A": 8.9, "B": 14.7}, 8: {"A": 8.9, "B": 16.7}},
]
FIGURE_5: dict[str, dict[int, Any]] = {
    "inner": {2: ("A1", "B2"), 3: ("A1", "B3"), 5: ("A5", "B3"), 6: ("A6", "B6")},
    "left": {1: ("A1", None), 2: ("A1", "B2"), 3: ("A1", "B3"), 5: ("A5", "B3"), 6: ("A6", "B6")},
    "outer": {1: ("A1", None), 2: ("A1", "B2"), 3: ("A1", "B3"), 5: ("A5", "B3"), 6: ("A6", "B6")},
}
FIGURE_5_INPUTS = ([(1, 0, "A1"), (5, 0, "A5"), (6, 0, "A6")], [(2, 0, "B2"), (3, 0, "B3"), (6, 0, "B6")])


def test_the_oracle_gives_all_generations_of_example_3_1():
    for offset, generation in enumerate(GENERATIONS, start=1):
        table = changes(*FIGURE_1[:offset])
        assert versions(table.at, table.times()) == generation


@pytest.mark.parametrize("kind", FIGURE_5)
def test_the_oracle_gives_the_versions_of_example_4_6(kind):
    inputs = [changes(*arrivals) for arrivals in FIGURE_5_INPUTS]
    node = Two(kind, Leaf(0), Leaf(1))
    expected = {time: {0: value} for time, value in FIGURE_5[kind].items()}
    assert versions(lambda time: evaluate(node, snapshot(inputs, time)), range(8)) == expected


def test_the_oracle_gives_the_sums_of_example_4_5():
    def total(inputs, time):
        return {"sum": total} if (total := sum(inputs.at(time).values())) else {}

    arrivals = [(3, "r1", Decimal("2.3")), (7, "r2", Decimal("4.4")), (5, "r3", Decimal("6.1"))]
    table = changes(*arrivals)
    assert versions(lambda time: total(table, time), table.times()) == {
        3: {"sum": Decimal("2.3")},
        5: {"sum": Decimal("8.4")},
        7: {"sum": Decimal("12.8")},
    }
    prefix = changes(*arrivals[:2])
    assert total(prefix, 7) == {"sum": Decimal("6.7")}


def test_the_oracle_gives_the_lookups_of_example_4_7():
    table = Reference(Program(Leaf(0)))
    for time, key, value in FIGURE_1:
        table.push(Push(0, time, Update(key, value)))
    names = {"A": 0, "B": 1, "C": 2}
    table.inputs[0].changes = {names[key]: versions for key, versions in table.inputs[0].changes.items()}
    lookups = Lookups(table, "inner")
    records = [Item(1, 0, 35), Item(0, 0, 42), Item(2, 0, 64), Item(1, 0, 12)]
    for time, record in zip((2, 5, 6, 7), records, strict=True):
        lookups.push(time, record)
    assert lookups.current() == {(5, exact((records[1], 7.2))): 1, (7, exact((records[3], 14.7))): 1}
    lookups.how = "left"
    assert lookups.current() == {
        (2, exact((records[0], None))): 1,
        (5, exact((records[1], 7.2))): 1,
        (6, exact((records[2], None))): 1,
        (7, exact((records[3], 14.7))): 1,
    }


def test_the_oracle_lets_an_update_win_over_a_delete_of_the_same_time():
    for arrivals in ([(1, "a", 1), (1, "a", None)], [(1, "a", None), (1, "a", 1)]):
        assert changes(*arrivals).at(1) == {"a": 1}


def test_the_oracle_says_from_which_time_on_versions_are_exact():
    reference = Reference(Program(Leaf(0), retention=3))
    assert reference.horizon == -math.inf
    assert reference.push(Push(0, 1, Update(0, "a")))
    reference.advance(10)
    assert reference.horizon == 7
    assert not reference.push(Push(0, 6, Update(0, "b")))
    assert reference.push(Push(0, 7, Update(0, "c")))
    assert since(reference.versions(), 7) == since({7: {0: "c"}}, 7)


# ------------------------------------------------------------------------------------------------------------ checks


def table(name="table"):
    return Reactive(name, table=True)


def kept(source, **options):
    """The table as it is, with versions."""
    return correlate(
        x=source, yields=lambda x: x, restrict=versioned("x", **options) | retracting() | as_table("x"), name="kept"
    )


def change_of(key, value):
    return Delete(key) if value is None else Update(key, value)


def feed(engine, source, *arrivals):
    """Push arrivals (time, key, value) of a table; return the changes emitted, as (time, key, value)."""
    out = []
    for time, key, value in arrivals:
        out += engine.push(source, change_of(key, value), at=time)
    return as_changes(out)


def as_changes(emitted):
    assert all(event.weight == 1 for event in emitted)
    return [
        (event.end, event.value.key, None if isinstance(event.value, Delete) else event.value.value)
        for event in emitted
    ]


def as_results(emitted):
    """Each with its end, the record's time; the start is that of the hull."""
    return [(event.value, event.end, event.weight) for event in emitted]


@cache
def winner(one, other):
    """Which of two rows of one key and time wins is for the implementation to say, but not by their order."""
    won = set()
    for values in ((one, other), (other, one)):
        source = table()
        engine = Engine(kept(source))
        for value in values:
            engine.push(source, Update(0, value), at=1)
        won.add(engine.query(source, at=1)[0])
    (value,) = won
    return value


def check_versions(engine, reactive, expected, horizon, *, until=12):
    found = engine.versions(reactive)
    assert list(found) == sorted(found)
    rows = [shown(each) for each in found.values()]
    assert all(one != other for one, other in pairwise(rows))
    if horizon == -math.inf:
        assert list(zip(found, rows, strict=True)) == [(time, shown(each)) for time, each in expected.items()]
    assert since(found, horizon) == since(expected, horizon)
    assert shown(engine.query(reactive)) == shown(content(expected, math.inf))
    for time in range(-1 if horizon == -math.inf else int(horizon), until):
        assert shown(engine.query(reactive, at=time)) == shown(content(expected, time))


def check_late(late, step, is_used):
    """What is not used is late, with a reason; what is used is not."""
    assert bool(late) == (not is_used)
    for event, where, reason in late:
        assert exact(event.value) == exact(step.change)
        assert event.end == step.time
        assert where
        assert reason


class Checked:
    """An engine of a program beside the reference, compared after every step."""

    def __init__(self, program, choose=winner):
        self.built = build(program)
        self.engine = Engine(self.built.output)
        self.reference = Reference(program, choose)
        self.emitted = []

    def step(self, step):
        if isinstance(step, Advance):
            assert self.engine.advance(step.time) == []
            self.engine._check_invariants()
            self.reference.advance(step.time)
            emitted = []
        else:
            emitted = self.push(step)
        self.check()
        return emitted

    def push(self, step):
        before = len(self.engine.late)
        emitted = self.engine.push(self.built.inputs[step.source], step.change, at=step.time)
        self.engine._check_invariants()
        is_used = self.reference.push(step)
        check_late(self.engine.late[before:], step, is_used)
        assert is_used or emitted == []
        assert all(event.weight == 1 for event in emitted)
        self.emitted += [(event.end, event.value) for event in emitted]
        return emitted

    def check(self):
        expected = self.reference.versions()
        check_versions(self.engine, self.built.output, expected, self.reference.horizon)
        for time, change in {(time, exact(change.key)): (time, change) for time, change in self.emitted}.values():
            rows = {exact(key): value for key, value in content(expected, time).items()}
            assert isinstance(change, Delete) == (exact(change.key) not in rows)
            if isinstance(change, Update):
                assert exact(change.value) == exact(rows[exact(change.key)])

    def restore(self):
        blob = self.engine.snapshot()
        self.engine = Engine.restore(blob, self.built.output)
        assert self.engine.snapshot() == blob


@st.composite
def cases(draw, /, *, has_ties=False, has_advances=False, retentions=(None,), **options):
    program = draw(programs(retentions=retentions, **options))
    return program, draw(traces(program, has_ties=has_ties, has_advances=has_advances))


# ------------------------------------------------------------------------------------------------- brute force, laws


@given(case=cases())
def test_after_every_push_all_versions_are_what_brute_force_gives(case):
    program, trace = case
    checked = Checked(program)
    for step in trace:
        checked.step(step)
    for source in program.used:
        if program.kinds[source] == "table":
            check_versions(
                checked.engine, checked.built.inputs[source], checked.reference.input_versions(source), -math.inf
            )


@fewer
@given(case=cases(has_ties=True))
def test_of_several_changes_of_a_key_at_a_time_one_wins(case):
    program, trace = case
    checked = Checked(program)
    for step in trace:
        checked.step(step)


@given(case=cases(retentions=RETENTIONS, has_advances=True))
def test_within_the_retention_all_versions_are_what_brute_force_gives(case):
    program, trace = case
    checked = Checked(program)
    for step in trace:
        checked.step(step)
    for source in program.used:
        if program.kinds[source] == "table":
            expected = checked.reference.input_versions(source)
            check_versions(checked.engine, checked.built.inputs[source], expected, checked.reference.horizon)


@fewer
@given(case=cases(retentions=RETENTIONS, has_advances=True, has_ties=True), data=st.data())
def test_a_restored_engine_goes_on_as_if_nothing_had_happened(case, data):
    program, trace = case
    checked = Checked(program)
    places = data.draw(st.sets(st.integers(0, len(trace)), max_size=2))
    for place, step in enumerate([*trace, None]):
        if place in places:
            checked.restore()
            checked.check()
        if step is not None:
            checked.step(step)


@given(case=cases(has_ties=True), data=st.data())
def test_law_3_7_the_order_of_arrival_does_not_matter(case, data):
    program, trace = case
    check_any_order(program, trace, data.draw(st.permutations(trace)))


@fewer
@given(data=st.data(), kind=st.sampled_from(["table", "changes", "values"]))
def test_law_3_7_for_a_versioned_table(data, kind):
    program = Program(One("copy", "k", Leaf(0)), (kind,))
    trace = data.draw(traces(program, has_ties=True))
    check_any_order(program, trace, data.draw(st.permutations(trace)))


@fewer
@given(data=st.data(), group=st.sampled_from(["count", "sum", "mean"]))
def test_law_3_7_for_every_aggregation(data, group):
    of = data.draw(st.sampled_from([Leaf(0), One("filter", "j", Leaf(0)), Two("inner", Leaf(0), Leaf(1))]))
    program = Program(One("reduce", "weight", of, group))
    trace = data.draw(traces(program, has_ties=True))
    check_any_order(program, trace, data.draw(st.permutations(trace)))


@fewer
@given(data=st.data(), kind=st.sampled_from(TWO))
def test_law_3_7_for_every_join(data, kind):
    program = Program(Two(kind, Leaf(0), Leaf(1), "j"))
    trace = data.draw(traces(program, has_ties=True))
    check_any_order(program, trace, data.draw(st.permutations(trace)))


@fewer
@given(data=st.data(), how=st.sampled_from(["inner", "left"]))
def test_law_3_7_for_lookups(data, how):
    program = Program(One("copy", "k", Leaf(0)))
    trace = [step for step in data.draw(lookup_traces(program, has_ties=True)) if isinstance(step, Push)]
    standing = []
    for order in (trace, data.draw(st.permutations(trace))):
        built, found = build_lookup(program, how), Counter()
        engine = Engine(built.output)
        for step in order:
            for event in engine.push(built.inputs[step.source], step.change, at=step.time):
                found[event.end, exact(event.value)] += event.weight
        standing.append(+found)
    assert standing[0] == standing[1]


@fewer
@given(case=fact_cases(kinds=("table", "keyed", "plain", "point")), data=st.data())
def test_law_3_7_for_results_that_are_events(case, data):
    program, trace = case
    standing = []
    for order in (trace, data.draw(st.permutations(trace))):
        built, found = build_facts(program), Counter()
        engine = Engine(built.output)
        for step in order:
            for event in engine.push(built.inputs[step.source], step.change, at=step.time):
                found[event.value] += event.weight
        standing.append(+found)
    assert standing[0] == standing[1]


def check_any_order(program, *orders):
    ends = []
    for order in orders:
        built = build(program)
        engine = Engine(built.output)
        for step in order:
            engine.push(built.inputs[step.source], step.change, at=step.time)
        engine._check_invariants()
        tables = [built.output, *(built.inputs[s] for s in program.used if program.kinds[s] == "table")]
        ends.append([[(time, shown(rows)) for time, rows in engine.versions(each).items()] for each in tables])
    assert all(end == ends[0] for end in ends)


@given(case=cases(has_ties=True, has_advances=True, retentions=RETENTIONS))
def test_replaying_the_changelog_gives_the_table_with_the_very_same_versions(case):
    """Definition 4.4: of each key and version the last change counts."""
    program, trace = case
    checked = Checked(program)
    for step in trace:
        if isinstance(step, Advance):
            checked.engine.advance(step.time)
            checked.reference.advance(step.time)
            continue
        checked.push(step)
        expected = [(time, shown(rows)) for time, rows in checked.reference.versions().items()]
        assert [(time, shown(rows)) for time, rows in replayed(checked.emitted).items()] == expected


@fewer
@given(case=cases(has_ties=True))
def test_there_is_no_change_without_a_change(case):
    """Nothing comes out of a push that changes no version; else each key and version once, a key's in order of time."""
    program, trace = case
    checked = Checked(program)
    before = {}
    for step in trace:
        emitted = checked.push(step)
        after = {time: shown(rows) for time, rows in checked.reference.versions().items()}
        assert bool(emitted) == (before != after)
        places = [(exact(event.value.key), event.end) for event in emitted]
        assert len(places) == len(set(places))
        for key, _ in places:
            times = [time for other, time in places if other == key]
            assert times == sorted(times)
        before = after


@fewer
@given(case=cases(retentions=(0, 2, 5), has_advances=True), lateness=st.integers(0, 3))
def test_the_clock_may_follow_the_latest_end(case, lateness):
    """An event moves the clock before it is judged."""
    program, trace = case
    built, reference = build(program), Reference(program)
    engine = Engine(built.output, lateness=lateness)
    for step in trace:
        if isinstance(step, Advance):
            continue
        before = len(engine.late)
        engine.push(built.inputs[step.source], step.change, at=step.time)
        reference.advance(step.time - lateness)
        check_late(engine.late[before:], step, reference.push(step))
        check_versions(engine, built.output, reference.versions(), reference.horizon)


# ------------------------------------------------------------------------------------------- brute force: stream-table


@st.composite
def lookup_cases(draw):
    program = draw(
        st.one_of(
            st.builds(Program, st.just(Leaf(0)), retention=st.sampled_from(RETENTIONS)),
            programs(operators=1, kinds=("table", "values"), retentions=RETENTIONS),
        )
    )
    return program, draw(lookup_traces(program)), draw(st.sampled_from(["inner", "left"]))


def run_lookups(case, restored=frozenset()):
    program, trace, how = case
    built = build_lookup(program, how)
    engine = Engine(built.output)
    reference = Reference(program)
    lookups = Lookups(reference, how)
    before = Counter()
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
        is_record = step.source == len(built.inputs) - 1
        is_used = lookups.push(step.time, step.change) if is_record else reference.push(step)
        check_late(engine.late[late:], step, is_used)
        after = lookups.current()
        check_corrections(emitted, before, after)
        before = after


def check_corrections(emitted, before, after):
    """Old values are taken back, then new ones come; a row's equal successor may do both."""
    weights = [event.weight for event in emitted]
    assert weights == sorted(weights)
    back = Counter((event.end, exact(event.value)) for event in emitted if event.weight < 0)
    come = Counter((event.end, exact(event.value)) for event in emitted if event.weight > 0)
    assert back <= before
    assert before - back + come == after
    assert back - (back & come) == before - after


@given(case=lookup_cases())
def test_each_record_has_the_row_valid_at_its_time_after_every_push(case):
    run_lookups(case)


@fewer
@given(case=lookup_cases(), restored=st.sets(st.integers(0, 12), max_size=2))
def test_restored_lookups_are_corrected_all_the_same(case, restored):
    run_lookups(case, restored)


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


def overlapping(a, b, **options):
    return correlate(
        a=a, b=b, yields=lambda a, b: (a, b), restrict=versioned("a", "b", **options) | retracting(), name="overlapping"
    )


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


# ------------------------------------------------------------------------------------------------ the paper's examples


@pytest.mark.parametrize("wrap", ["output", "input", "stream of changes", "stream of values"])
def test_example_3_1_shows_all_five_generations(wrap):
    source = Reactive("T", table=wrap in {"output", "input"})
    options = {"key": "k", "restrict": versioned("x")} if wrap == "stream of values" else {"restrict": versioned("x")}
    output = kept(source) if wrap in {"output", "input"} else to_table(source, **options)
    engine = Engine(output)
    for (time, key, value), generation in zip(FIGURE_1, GENERATIONS, strict=True):
        engine.push(source, {"k": key, "v": value} if wrap == "stream of values" else Update(key, value), at=time)
        found = engine.versions(source if wrap == "input" else output)
        if wrap == "stream of values":
            found = {at: {key: row["v"] for key, row in rows.items()} for at, rows in found.items()}
        assert list(found.items()) == list(generation.items())


def test_example_3_1_corrects_the_versions_that_follow_in_its_changelog():
    """B is there at 5 because of the version of 3; only the change itself is told."""
    source = table()
    engine = Engine(kept(source))
    assert [feed(engine, source, arrival) for arrival in FIGURE_1] == [[arrival] for arrival in FIGURE_1]


def test_example_4_1_filters_of_equivalent_streams_are_equivalent():
    one, other = [("r", 1), ("s", 2), ("t", 3), ("v", 4)], [("r", 1), ("s", 2), ("v", 4), ("t", 3)]
    source = Reactive("records")
    found = []
    for stream in (one, other):
        engine = Engine(filter_(source, lambda value: value != "s"))
        found.append([(e.value, e.end) for value, time in stream for e in engine.push(source, value, at=time)])
    assert found == [[("r", 1), ("t", 3), ("v", 4)], [("r", 1), ("v", 4), ("t", 3)]]
    assert equivalent(*found)


def equivalent(one, other):
    """Definition 4.2: equal as multisets of (timestamp, value)."""
    return Counter(one) == Counter(other)


RECORDS_4_5 = [(3, "r1", Decimal("2.3")), (7, "r2", Decimal("4.4")), (5, "r3", Decimal("6.1"))]


@pytest.mark.parametrize(
    ("arrivals", "changelog"),
    [
        (sorted(RECORDS_4_5), [(3, "2.3"), (5, "8.4"), (7, "12.8")]),
        (RECORDS_4_5, [(3, "2.3"), (7, "6.7"), (5, "8.4"), (7, "12.8")]),
    ],
    ids=["in order", "late"],
)
def test_example_4_5_a_late_record_gives_its_version_and_corrects_every_later_one(arrivals, changelog):
    source = table()
    total = reduce(source, sum_, by=lambda value: "all", restrict=versioned("x"))
    engine = Engine(total)
    assert feed(engine, source, *arrivals) == [(time, "all", Decimal(value)) for time, value in changelog]
    stream = Engine(reduce(source, sum_, restrict=versioned("x")))
    emitted = [event for time, key, value in arrivals for event in stream.push(source, Update(key, value), at=time)]
    assert as_results(emitted) == [(Decimal(value), time, 1) for time, value in changelog]
    assert list(engine.versions(total).items()) == [
        (time, {"all": Decimal(value)}) for time, value in ((3, "2.3"), (5, "8.4"), (7, "12.8"))
    ]


def joined(kind, a, b, **options):
    if kind == "composed":
        return correlate(
            a=a,
            b=b,
            where=lambda *, key_a, key_b: key_a == key_b,
            yields=lambda a, b: (a, b),
            restrict=versioned("a", "b", **options) | retracting() | as_table("a"),
        )
    operator = {"inner": inner_join, "left": left_join, "outer": outer_join}[kind]
    return operator(a, b, restrict=versioned("left", "right", **options))


@pytest.mark.parametrize("kind", ["inner", "composed"])
@pytest.mark.parametrize("order", ["a first", "b first", "in order", "backwards"])
def test_example_4_6_tables_are_joined_by_version(kind, order):
    """R2, R3, R5 and R6: one version where both change, and no R1."""
    a, b = table("a"), table("b")
    result = joined(kind, a, b)
    engine = Engine(result)
    arrivals = [(a, *each) for each in FIGURE_5_INPUTS[0]] + [(b, *each) for each in FIGURE_5_INPUTS[1]]
    if order != "a first":
        arrivals.sort(key=lambda each: (each[0] is a) if order == "b first" else each[1], reverse=order == "backwards")
    for source, *arrival in arrivals:
        feed(engine, source, arrival)
    assert list(engine.versions(result).items()) == [(time, {0: pair}) for time, pair in FIGURE_5["inner"].items()]


def lookup(how="inner", retention=100):
    stream, rows = Reactive("stream"), table()
    return stream, rows, stream_table_join(stream, rows, on="k", how=how, retention=retention)


RECORDS_4_7 = [
    (2, {"k": "B", "v": 3.5}),
    (5, {"k": "A", "v": 4.2}),
    (6, {"k": "C", "v": 6.4}),
    (7, {"k": "B", "v": 1.2}),
]


@pytest.mark.parametrize("is_table_first", [True, False], ids=["table first", "stream first"])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_example_4_7_a_record_finds_the_version_valid_at_its_own_time(how, is_table_first):
    stream, rows, output = lookup(how)
    engine = Engine(output)
    standing = Counter()
    pushes = [(rows, Update(key, value), time) for time, key, value in FIGURE_1]
    records = [(stream, record, time) for time, record in RECORDS_4_7]
    for reactive, value, time in (*pushes, *records) if is_table_first else (*records, *pushes):
        for event in engine.push(reactive, value, at=time):
            standing[event.end, event.value[0]["k"], event.value[0]["v"], event.value[1]] += event.weight
    # Figure 6's table has B's 12.1 from 3 on, so a record of B at 2 finds nothing.
    found = {(5, "A", 4.2, 7.2): 1, (7, "B", 1.2, 14.7): 1}
    missing = {(2, "B", 3.5, None): 1, (6, "C", 6.4, None): 1}
    assert +standing == (found if how == "inner" else found | missing)
    assert min(standing.values()) >= 0


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_late_table_update_corrects_the_result_that_it_should_have_touched(how):
    stream, rows, output = lookup(how)
    engine = Engine(output)
    record = {"k": "A", "v": "alpha"}
    engine.push(rows, Update("A", "a"), at=2)
    assert as_results(engine.push(stream, record, at=6)) == [((record, "a"), 6, 1)]
    assert as_results(engine.push(rows, Update("A", "a'"), at=5)) == [
        ((record, "a"), 6, -1),
        ((record, "a'"), 6, 1),
    ]
    assert engine.push(rows, Update("A", "a''"), at=7) == []
    assert engine.push(rows, Update("A", "b"), at=4) == []


def test_a_late_delete_takes_the_row_from_a_record():
    for how in ("inner", "left"):
        stream, rows, output = lookup(how)
        engine = Engine(output)
        record = {"k": "A", "v": "alpha"}
        engine.push(rows, Update("A", "a"), at=2)
        engine.push(stream, record, at=6)
        found = as_results(engine.push(rows, Delete("A"), at=6))
        assert found[0] == ((record, "a"), 6, -1)
        assert found[1:] == ([] if how == "inner" else [((record, None), 6, 1)])


def test_a_record_and_a_version_of_the_same_time_meet():
    for is_table_first in (True, False):
        stream, rows, output = lookup()
        engine = Engine(output)
        pushes = [(rows, Update("A", "a"), 3), (stream, {"k": "A"}, 3)]
        emitted = [engine.push(*push[:2], at=push[2]) for push in (pushes if is_table_first else pushes[::-1])]
        assert [event.value for event in emitted[1]] == [({"k": "A"}, "a")]


# ----------------------------------------------------------------------------------------------------------- retention


def test_within_the_retention_a_late_change_is_used():
    source = table()
    output = kept(source, retention=10)
    engine = Engine(output)
    feed(engine, source, (20, "a", 20))
    engine.advance(25)
    assert feed(engine, source, (15, "a", 15)) == [(15, "a", 15)]
    assert list(engine.late) == []
    assert engine.versions(output) == {15: {"a": 15}, 20: {"a": 20}}


@pytest.mark.parametrize("operator", ["kept", "filter", "map", "reduce", "inner", "foreign", "to_table", "lookup"])
def test_beyond_the_retention_a_change_is_late_with_a_reason_and_changes_nothing(operator):
    source = Reactive("t", table=operator != "to_table")
    over = versioned("x", retention=10)
    output = {
        "kept": lambda: kept(source, retention=10),
        "filter": lambda: filter_table(source, lambda value: value > 0, restrict=over),
        "map": lambda: map_table(source, lambda value: value + 1, restrict=over),
        "reduce": lambda: reduce(source, count, by=lambda value: 0, restrict=over),
        "inner": lambda: joined("inner", source, table("u"), retention=10),
        "foreign": lambda: foreign_join(
            source, table("u"), on=lambda value: value, how="left", restrict=versioned("left", "right", retention=10)
        ),
        "to_table": lambda: to_table(source, restrict=over),
        "lookup": lambda: stream_table_join(Reactive("s"), source, on="k", retention=10),
    }[operator]()
    engine = Engine(output)
    engine.push(source, Update("a", 20), at=20)
    engine.advance(25)
    engine.push(source, Update("a", 15), at=15)  # a time equal to clock - retention is not late
    assert list(engine.late) == []
    after = None if operator == "lookup" else engine.versions(output)
    assert engine.push(source, Update("a", 14), at=14) == []
    ((event, where, reason),) = engine.late
    assert (event.value, event.end) == (Update("a", 14), 14)
    assert isinstance(where, str)
    assert "14" in reason
    if operator != "lookup":
        assert engine.versions(output) == after


def test_a_late_record_is_used_within_the_retention_and_late_beyond():
    stream, rows, output = lookup(retention=10)
    engine = Engine(output)
    feed(engine, rows, (1, "A", "a"), (14, "A", "b"), (18, "A", "c"))
    engine.advance(25)
    assert as_results(engine.push(stream, {"k": "A"}, at=15)) == [(({"k": "A"}, "b"), 15, 1)]
    assert list(engine.late) == []
    assert engine.push(stream, {"k": "A"}, at=14) == []
    assert [(event.end, bool(reason)) for event, _, reason in engine.late] == [(14, True)]


def test_a_record_older_than_the_retention_is_not_corrected_any_more():
    stream, rows, output = lookup(retention=2)
    engine = Engine(output)
    feed(engine, rows, (1, "A", "a"))
    engine.push(stream, {"k": "A"}, at=6)
    engine.advance(9)
    assert engine.push(rows, Update("A", "b"), at=6) == []
    assert len(engine.late) == 1
    assert engine.push(rows, Update("A", "b"), at=7) == []
    assert len(engine.late) == 1


def test_without_a_retention_nothing_is_ever_late():
    source = table()
    output = kept(source)
    engine = Engine(output)
    engine.advance(1_000_000)
    feed(engine, source, (1, "a", 1))
    assert list(engine.late) == []
    assert engine.versions(output) == {1: {"a": 1}}


def test_where_one_slot_has_versions_and_another_none_a_change_is_late_for_the_other_only():
    source = table()
    old = filter_table(source, lambda value: value > 0)
    new = filter_table(source, lambda value: value > 0, restrict=versioned("x", retention=10))
    engine = Engine(old, new)
    feed(engine, source, (20, "a", 20))
    engine.advance(25)
    emitted = engine.push(source, Update("a", 18), at=18)
    assert as_changes(emitted) == [(18, "a", 18)]
    assert [event.value for event, _, _ in engine.late] == [Update("a", 18)]
    assert engine.query(old) == {"a": 20}
    assert engine.versions(new) == {18: {"a": 18}, 20: {"a": 20}}


TABLE_RUNS = ["kept", "filter", "map", "reduce", "inner", "left", "outer", "foreign", "to_table", "chain"]
LONG_RUNS = [*TABLE_RUNS, "lookup", "facts"]


def long_run(name):
    a, b, s = table("a"), table("b"), Reactive("s")
    over, both = versioned("x", retention=10), versioned("left", "right", retention=10)
    return {
        "kept": lambda: (kept(a, retention=10), [a]),
        "filter": lambda: (filter_table(a, lambda row: row.j > 0, restrict=over), [a]),
        "map": lambda: (map_table(a, lambda row: row.j, restrict=over), [a]),
        "reduce": lambda: (reduce(a, count, by=lambda row: row.j, restrict=over), [a]),
        "inner": lambda: (inner_join(a, b, restrict=both), [a, b]),
        "left": lambda: (left_join(a, b, restrict=both), [a, b]),
        "outer": lambda: (outer_join(a, b, restrict=both), [a, b]),
        "foreign": lambda: (foreign_join(a, b, on=lambda row: row.j, how="left", restrict=both), [a, b]),
        "to_table": lambda: (to_table(s, key="k", restrict=over), [s]),
        "chain": lambda: (
            reduce(filter_table(a, lambda row: row.j > 0, restrict=over), count, by="j", restrict=over),
            [a],
        ),
        "lookup": lambda: (stream_table_join(s, a, on="k", how="left", retention=10), [s, a]),
        "facts": lambda: (overlapping(a, b, retention=10), [a, b]),
    }[name]()


@pytest.mark.parametrize("name", LONG_RUNS)
def test_the_retention_bounds_the_state(name):
    output, inputs = long_run(name)
    engine = Engine(output)
    retained, blobs = [], []
    for time in range(600):
        for source in inputs:
            item = Item(time % 3, time // 3 % 3, time)
            change: Any = item
            if source.name in {"a", "b"}:
                change = Delete(time % 3) if time % 7 == 0 else Update(time % 3, item)
            engine.push(source, change, at=time - 3 * time % 5)
        engine.advance(time - 4)
        if time % 100 == 99:
            retained.append(engine.stats.retained)
            blobs.append(len(engine.snapshot()))
            if name in TABLE_RUNS:
                assert len(engine.versions(output)) <= 20
    # Three keys, and 10 + 4 times of which each has a change; a chain has them at each stage.
    assert max(retained) <= 2 * len(inputs) * (3 + 15)
    assert max(retained) - min(retained) <= 10
    assert blobs[-1] <= 1.2 * blobs[0]
    engine.close()
    assert list(engine.late) == []


@pytest.mark.parametrize("name", [name for name in LONG_RUNS if name != "to_table"])
def test_a_key_that_is_deleted_is_forgotten_after_the_retention(name):
    output, inputs = long_run(name)
    engine = Engine(output)
    empty = len(engine.snapshot())
    for key in range(50):
        for source in inputs:
            if source.name == "s":
                engine.push(source, Item(key, 0, 0), at=2 * key)
            else:
                engine.push(source, Update(key, Item(key, key, 0)), at=2 * key)
                engine.push(source, Delete(key), at=2 * key + 1)
    engine.advance(10_000)
    assert engine.stats.retained == 0
    assert len(engine.snapshot()) <= empty + 200
    if name in TABLE_RUNS:
        assert engine.query(output) == {}


# ------------------------------------------------------------------------------------------------------------ by name


def test_a_query_at_a_time_gives_the_version_valid_then():
    source = table()
    output = kept(source)
    engine = Engine(output)
    feed(engine, source, (5, "a", 5), (3, "a", 3), (8, "a", None))
    for reactive in (output, source):
        assert [engine.query(reactive, at=time) for time in (2, 3, 4, 5, 7, 8, 9)] == [
            {}, {"a": 3}, {"a": 3}, {"a": 5}, {"a": 5}, {}, {},
        ]  # fmt: skip
        assert engine.query(reactive) == {}
        assert engine.versions(reactive) == {3: {"a": 3}, 5: {"a": 5}, 8: {}}


def test_the_newest_version_is_that_of_the_largest_time_not_of_the_last_arrival():
    source = table()
    output = kept(source)
    engine = Engine(output)
    feed(engine, source, (5, "a", "new"), (3, "a", "old"))
    assert engine.query(output) == engine.query(source) == {"a": "new"}


def test_without_changes_there_are_no_versions():
    source = table()
    output = kept(source)
    engine = Engine(output)
    assert engine.versions(output) == engine.query(output) == engine.query(output, at=3) == {}
    assert feed(engine, source, (3, "a", None)) == []
    assert engine.versions(output) == engine.versions(source) == {}


def test_an_equal_row_is_a_version_of_its_own_once_a_late_one_comes_between():
    """At 5 the row was a again; told only when it makes a difference."""
    source = table()
    output = kept(source)
    engine = Engine(output)
    assert feed(engine, source, (1, 0, "a"), (5, 0, "a")) == [(1, 0, "a")]
    assert engine.versions(output) == {1: {0: "a"}}
    assert feed(engine, source, (3, 0, "b")) == [(3, 0, "b"), (5, 0, "a")]
    assert engine.versions(output) == {1: {0: "a"}, 3: {0: "b"}, 5: {0: "a"}}


@pytest.mark.parametrize("is_advanced", [True, False])
def test_a_deletion_that_was_told_of_a_later_time_is_taken_back(is_advanced):
    """Of 13 a row was told, then its deletion; the row that comes at 12 is there at 13, too."""
    a, b = table("a"), table("b")
    over = versioned("left", "right", retention=0)
    engine = Engine(foreign_join(a, b, on=lambda value: value, how="left", restrict=over))
    assert feed(engine, a, (7, 0, "x")) == [(7, 0, ("x", None))]
    assert feed(engine, b, (13, "x", "X")) == [(13, 0, ("x", "X"))]
    assert feed(engine, a, (8, 0, None)) == [(8, 0, None), (13, 0, None)]
    if is_advanced:
        engine.advance(11)
    assert feed(engine, a, (12, 0, "y")) == [(12, 0, ("y", None)), (13, 0, ("y", None))]


@pytest.mark.parametrize("is_delete_first", [True, False])
def test_an_update_wins_over_a_delete_of_the_same_time(is_delete_first):
    source = table()
    output = kept(source)
    engine = Engine(output)
    arrivals = [(1, "a", 1), (1, "a", None)]
    feed(engine, source, *(arrivals[::-1] if is_delete_first else arrivals))
    assert engine.versions(output) == {1: {"a": 1}}


@pytest.mark.parametrize(
    "values",
    [
        (1, 2),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", 1),
        (None, 0),
        ((1,), (True,)),
        ({"a": 1}, {"a": 2}),
        (Decimal(1), 1),
    ],
    ids=repr,
)
def test_which_of_two_rows_of_one_time_wins_does_not_depend_on_their_order(values):
    found = []
    for order in (values, values[::-1]):
        source = table()
        output = kept(source)
        engine = Engine(output)
        for value in order:
            engine.push(source, Update("a", value), at=1)
        assert exact(engine.versions(output)) == exact(engine.versions(source))
        found.append(exact(engine.versions(output)))
    assert found[0] == found[1]


def test_a_table_joined_with_itself_never_has_halves_of_two_versions():
    source = table()
    output = inner_join(source, source, restrict=versioned("left", "right"))
    engine = Engine(output)
    feed(engine, source, (5, 0, "c"), (1, 0, "a"), (3, 0, "b"), (7, 0, None))
    assert engine.versions(output) == {1: {0: ("a", "a")}, 3: {0: ("b", "b")}, 5: {0: ("c", "c")}, 7: {}}


def test_a_push_that_fails_changes_no_version():
    def half(value):
        if value % 2:
            raise ValueError(value)
        return value // 2

    source = table()
    output = map_table(source, half, restrict=versioned("x", retention=10))
    engine = Engine(output)
    feed(engine, source, (5, "a", 6), (9, "a", 8))
    before = engine.snapshot()
    with pytest.raises(ValueError, match="7"):
        engine.push(source, Update("a", 7), at=7)
    assert engine.snapshot() == before
    assert engine.versions(output) == {5: {"a": 3}, 9: {"a": 4}}
    assert engine.versions(source) == {5: {"a": 6}, 9: {"a": 8}}
    assert feed(engine, source, (7, "a", 4)) == [(7, "a", 2)]


def test_a_lookup_gives_one_row_of_the_newest_version():
    source = table()
    output = kept(source)
    engine = Engine(output)
    feed(engine, source, (5, "a", 5), (3, "b", 3), (3, "a", 4), (6, "b", None))
    for reactive in (output, source):
        assert [engine.lookup(reactive, key) for key in "abc"] == [5, None, None]


def test_a_null_foreign_key_matches_nothing():
    a, b = table("a"), table("b")
    output = foreign_join(a, b, on=lambda value: value, how="left", restrict=versioned("left", "right"))
    engine = Engine(output)
    feed(engine, b, (1, None, "nobody"), (1, "x", "X"))
    feed(engine, a, (5, 0, "x"), (2, 0, None))
    engine.push(a, Update(0, None), at=3)
    assert engine.versions(output) == {3: {0: (None, None)}, 5: {0: ("x", "X")}}


# -------------------------------------------------------------------------- the operator table (SOURCES C7), by cell


def check_stateless(output_of, expected_of):
    """Definition 4.3: equivalent inputs give equivalent outputs, which inherit the timestamps."""
    records = [(5, 1), (3, 2), (9, 3), (3, 1), (4, 2)]
    outputs = []
    for arrivals in (records, sorted(records), records[::-1]):
        stream = Reactive("s")
        engine = Engine(output_of(stream))
        outputs.append([(e.end, e.value) for time, value in arrivals for e in engine.push(stream, value, at=time)])
    expected = [(time, value) for time, record in records for value in expected_of(record)]
    assert outputs[0] == expected
    assert all(equivalent(output, expected) for output in outputs)


def test_filter_of_a_stream_is_a_stream():
    check_stateless(lambda s: filter_(s, lambda v: v != 2), lambda v: [v] if v != 2 else [])


def test_map_values_of_a_stream_is_a_stream():
    check_stateless(lambda s: map_(s, lambda v: v * 10), lambda v: [v * 10])


def test_map_of_a_stream_is_a_stream():
    check_stateless(lambda s: map_(s, lambda v: (v % 2, v)), lambda v: [(v % 2, v)])


def test_flat_map_of_a_stream_is_a_stream():
    check_stateless(lambda s: map_concat(s, lambda v: [v] * v), lambda v: [v] * v)


def run_table(output, source, *arrivals):
    engine = Engine(output)
    return feed(engine, source, *arrivals), engine.versions(output)


def test_filter_of_a_table_is_a_table():
    """A late row that fails deletes, from its time on; one that holds comes late as well."""
    source = table()
    output = filter_table(source, lambda value: value > 0, restrict=versioned("x"))
    emitted, found = run_table(output, source, (1, 0, 1), (6, 0, 6), (3, 0, -3), (4, 0, 4), (2, 1, -2))
    assert emitted == [(1, 0, 1), (6, 0, 6), (3, 0, None), (4, 0, 4)]
    assert found == {1: {0: 1}, 3: {}, 4: {0: 4}, 6: {0: 6}}


def test_map_values_of_a_table_is_a_table():
    source = table()
    output = map_table(source, lambda value: value * 10, restrict=versioned("x"))
    emitted, found = run_table(output, source, (1, 0, 1), (6, 0, None), (3, 0, 3))
    assert emitted == [(1, 0, 10), (6, 0, None), (3, 0, 30)]
    assert found == {1: {0: 10}, 3: {0: 30}, 6: {}}


def test_group_by_and_aggregate_of_a_stream_is_a_table():
    """Each record is a row of its own."""
    stream = Reactive("s")
    rows = to_table(stream, key="n", restrict=versioned("x"))
    output = reduce(rows, count, by="k", restrict=versioned("x"))
    engine = Engine(output)
    emitted = []
    for time, k, n in ((3, "a", 1), (7, "a", 2), (5, "b", 3), (4, "a", 4)):
        emitted += as_changes(engine.push(stream, {"k": k, "n": n}, at=time))
    assert emitted == [(3, "a", 1), (7, "a", 2), (5, "b", 1), (4, "a", 2), (7, "a", 3)]
    assert engine.versions(output) == {
        3: {"a": 1}, 4: {"a": 2}, 5: {"a": 2, "b": 1}, 7: {"a": 3, "b": 1},
    }  # fmt: skip


def test_group_by_and_window_by_and_aggregate_of_a_stream_is_a_table():
    """Of Figure 7: a click counts in five windows of five minutes, a minute apart; the key is (region, window)."""
    click = Reactive("click")
    in_windows = map_concat(
        click, lambda click: [(click["region"].lower(), start) for start in range(click["at"] - 4, click["at"] + 1)]
    )
    output = group_by(in_windows, lambda pair: pair, combine=lambda number, _: number + 1, initial=0)
    engine = Engine(output)
    assert len(engine.push(click, {"region": "North", "at": 10}, at=10)) == 5
    engine.push(click, {"region": "NORTH", "at": 12}, at=12)
    engine.push(click, {"region": "north", "at": 7}, at=7)  # late by order of arrival: it counts all the same
    assert engine.query(output) == {
        **{("north", start): 1 for start in (3, 4, 5, 11, 12)},
        **{("north", start): 2 for start in (6, 7, 8, 9, 10)},
    }


def test_group_by_and_aggregate_of_a_table_is_a_table():
    """A row that moves leaves its group and enters the other; an emptied group is deleted; late moves correct both."""
    source = table()
    output = reduce(source, count, by="k", restrict=versioned("x"))
    engine = Engine(output)
    rows = {name: {"k": name} for name in "ab"}
    assert feed(engine, source, (1, 1, rows["a"]), (2, 2, rows["a"])) == [(1, "a", 1), (2, "a", 2)]
    assert sorted(feed(engine, source, (6, 1, rows["b"]))) == [(6, "a", 1), (6, "b", 1)]
    late = [(4, "a", 1), (4, "b", 1), (6, "a", None), (6, "b", 2)]
    assert set(feed(engine, source, (4, 2, rows["b"]))) == set(late)
    assert engine.versions(output) == {1: {"a": 1}, 2: {"a": 2}, 4: {"a": 1, "b": 1}, 6: {"b": 2}}


def pair_of_numbers(x, y):
    return (None if x is None else x.n, None if y is None else y.n)


def band(*optional, is_eager=False):
    x, y = Reactive("x"), Reactive("y")
    restrict: Any = within(2, "x", "y")
    if optional:
        restrict |= optionally(*optional)
    if is_eager:
        restrict |= retracting()
    output = correlate(x=x, y=y, where=lambda x, y: x.k == y.k, yields=pair_of_numbers, restrict=restrict)
    return x, y, output


def run_band(x, y, output):
    """Record 1 of x at 1 meets 3 of y at 3 (the band is inclusive); 2 at 4 and 5 at 9 stay alone."""
    engine = Engine(output)
    out: list[Any] = []
    for source, time, k, n in ((y, 4, 1, 2), (x, 1, 0, 1), (y, 3, 0, 3), (x, 9, 0, 5)):
        out += [(e.value, e.end, e.weight) for e in engine.push(source, Item(k, 0, n), at=time)]
    for time in (6, 7, 11, 12):
        out += [(time, e.value, e.end, e.weight) for e in engine.advance(time)]
    return out


def test_inner_join_of_two_streams_is_a_stream():
    assert run_band(*band()) == [((1, 3), 3, 1)]


def test_left_join_of_two_streams_is_a_stream():
    assert run_band(*band("y")) == [((1, 3), 3, 1), (12, (5, None), 9, 1)]
    assert run_band(*band("y", is_eager=True)) == [
        ((1, None), 1, 1), ((1, None), 1, -1), ((1, 3), 3, 1), ((5, None), 9, 1),
    ]  # fmt: skip


def test_outer_join_of_two_streams_is_a_stream():
    assert run_band(*band("x", "y")) == [((1, 3), 3, 1), (7, (None, 2), 4, 1), (12, (5, None), 9, 1)]
    assert run_band(*band("x", "y", is_eager=True)) == [
        ((None, 2), 4, 1), ((1, None), 1, 1), ((1, None), 1, -1), ((1, 3), 3, 1), ((5, None), 9, 1),
    ]  # fmt: skip


def check_table_join(kind, expected):
    """Figure 5's tables, and rows of B alone: 7 from 2 to 4."""
    a, b = table("a"), table("b")
    output = joined(kind, a, b)
    engine = Engine(output)
    feed(engine, a, *reversed(FIGURE_5_INPUTS[0]))
    feed(engine, b, *FIGURE_5_INPUTS[1], (4, 7, None), (2, 7, "B2'"))
    assert list(engine.versions(output).items()) == list(expected.items())


def test_inner_join_of_two_tables_is_a_table():
    check_table_join("inner", {time: {0: pair} for time, pair in FIGURE_5["inner"].items()})


def test_left_join_of_two_tables_is_a_table():
    check_table_join("left", {time: {0: pair} for time, pair in FIGURE_5["left"].items()})


def test_outer_join_of_two_tables_is_a_table():
    rows = {time: {0: pair} for time, pair in FIGURE_5["outer"].items()}
    rows[2][7] = rows[3][7] = (None, "B2'")
    rows[4] = {0: ("A1", "B3")}
    check_table_join("outer", dict(sorted(rows.items())))


def test_inner_join_of_a_stream_and_a_table_is_a_stream():
    stream, rows, output = lookup("inner")
    engine = Engine(output)
    record = {"k": "A"}
    assert engine.push(stream, record, at=6) == []
    assert as_results(engine.push(rows, Update("A", "a"), at=2)) == [((record, "a"), 6, 1)]
    assert as_results(engine.push(rows, Update("A", "b"), at=6)) == [
        ((record, "a"), 6, -1),
        ((record, "b"), 6, 1),
    ]


def test_left_join_of_a_stream_and_a_table_is_a_stream():
    """Exactly one current result a record."""
    stream, rows, output = lookup("left")
    engine = Engine(output)
    record = {"k": "A"}
    assert as_results(engine.push(stream, record, at=6)) == [((record, None), 6, 1)]
    assert engine.push(rows, Update("A", "z"), at=7) == []
    assert as_results(engine.push(rows, Update("A", "a"), at=2)) == [
        ((record, None), 6, -1),
        ((record, "a"), 6, 1),
    ]
