"""Versioned tables against brute force, after every push; and the laws that hold of them in any order of arrival."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import as_table, key_by, only, retracting, versioned
from restrictions.tables import changelog, to_table
from tests.oracle.table_oracle import exact
from tests.oracle.version_checks import check_late, kept, table
from tests.oracle.version_oracle import (
    TWO,
    Advance,
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
    fact_cases,
    lookup_traces,
    programs,
    replayed,
    shown,
    since,
    traces,
    with_ties,
)

RETENTIONS = (None, 0, 2, 5)
TIERS = st.sampled_from([None, "in_place", "reference"])

# For what another property of this file looks at, too.
fewer = settings(max_examples=settings().max_examples // 2)


# ------------------------------------------------------------------------------------------------------------ checks


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


# ------------------------------------------------------------------------------------- of versions of one time


def plain(rows):
    return {key: dict(row) for key, row in rows.items()}


@st.composite
def ties(draw):
    """Changes with an offset each, of few keys and times, in any order; and the order in which they come."""
    offsets = draw(st.permutations(range(draw(st.integers(1, 10)))))
    changes = []
    for offset in offsets:
        key, time = draw(st.integers(0, 1)), draw(st.integers(1, 3))
        row = {"offset": offset, "v": draw(st.integers(0, 2))}
        changes.append((time, Delete(key, row) if draw(st.integers(0, 2)) == 0 else Update(key, row)))
    return changes


@given(
    changes=ties(),
    how=st.sampled_from(["offset", "function", "arrival"]),
    cut=st.integers(0, 10),
    tier=TIERS,
    is_made=st.booleans(),
)
def test_of_versions_of_one_time_the_one_holds_that_ties_says(changes, how, cut, tier, is_made):
    """Of a table that is declared, and of one that `to_table` makes of a stream of changes."""
    told = {"offset": "offset", "function": lambda row: row.offset, "arrival": "arrival"}[how]
    source = Reactive("changes") if is_made else table()
    output = to_table(source, restrict=versioned("x", ties=told)) if is_made else kept(source, ties=told)
    engine = Engine(output, tier=tier)
    for place, (time, change) in enumerate(changes):
        if place == cut:
            engine = Engine.restore(engine.snapshot(), output)
        engine.push(source, change, at=time)
    expected = with_ties(changes, None if how == "arrival" else lambda row: row["offset"])
    for time, rows in expected.items():
        assert plain(engine.query(output, at=time)) == rows


LEFT_OUT = {
    "a gate": lambda: versioned("x", ties="offset") | only("x", lambda row: row.v < 2),
    "a gate outside": lambda: only("x", lambda row: row.v < 2) | versioned("x", ties="offset"),
    "the door": lambda: key_by(x=lambda row: None if row.v == 2 else row.v // 2) | versioned("x", ties="offset"),
}
"""What lets no row of 2 in: it takes the place of the one before, as a deletion of its offset."""


@given(changes=ties(), by=st.sampled_from(sorted(LEFT_OUT)), cut=st.integers(0, 10), tier=TIERS)
def test_a_version_that_is_left_out_has_the_ties_that_it_came_with(changes, by, cut, tier):
    source = table()
    restrict = LEFT_OUT[by]() | retracting() | as_table("x")
    output = correlate(x=source, yields=lambda x: x, restrict=restrict)
    engine = Engine(output, tier=tier)
    for place, (time, change) in enumerate(changes):
        if place == cut:
            engine = Engine.restore(engine.snapshot(), output)
        engine.push(source, change, at=time)
    left = [
        (time, Delete(one.key, one.value) if isinstance(one, Update) and one.value["v"] == 2 else one)
        for time, one in changes
    ]
    for time, rows in with_ties(left, lambda row: row["offset"]).items():
        assert plain(engine.query(output, at=time)) == rows


def test_a_change_log_keeps_the_row_that_a_deletion_came_with():
    source = table()
    output = to_table(changelog(source), restrict=versioned("x", ties="offset"))
    for offset, expected in ((2, {}), (0, {0: {"offset": 1}})):
        engine = Engine(output)
        engine.push(source, Update(0, {"offset": 1}), at=5)
        engine.push(source, Delete(0, {"offset": offset}), at=5)
        assert plain(engine.query(output)) == expected


@given(changes=ties())
def test_many_at_once_and_what_comes_without_a_row_are_ordered_by_ties_too(changes):
    source = table()
    engine = Engine(kept(source, ties="offset"))
    rows = [change.row if isinstance(change, Delete) else change.value for _, change in changes]
    columns = {name: [row[name] for row in rows] for name in ("offset", "v")}
    gone = [isinstance(change, Delete) for _, change in changes]
    keys, times = [change.key for _, change in changes], [time for time, _ in changes]
    engine.push_many({source: columns | {"key": keys, "deleted": gone, "at": times}})
    for time, found in with_ties(changes, lambda row: row["offset"]).items():
        assert plain(engine.query(source, at=time)) == found


def test_a_deletion_that_says_nothing_loses_and_among_equals_the_content_decides():
    for given_ties, first, second, expected in [
        ("offset", Update(0, {"offset": 1}), Delete(0), {0: {"offset": 1}}),
        ("offset", Update(0, {"offset": 1}), Delete(0, {"offset": 2}), {}),
        ("offset", Update(0, {"offset": 1}), Delete(0, {"offset": 1}), {0: {"offset": 1}}),
        (None, Update(0, {"offset": 1}), Delete(0, {"offset": 2}), {0: {"offset": 1}}),
        ("arrival", Update(0, {"offset": 1}), Delete(0), {}),
    ]:
        source = table()
        engine = Engine(kept(source, ties=given_ties))
        for change in (first, second):
            engine.push(source, change, at=1)
        assert plain(engine.query(source, at=1)) == expected
