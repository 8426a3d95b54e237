"""Tables, outer rows, retraction and nested correlations against a from-scratch evaluation, after every push."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from restrictions import as_table, most_recently, retracting
from tests.oracle.table_oracle import (
    Condition,
    Reference,
    Row,
    TableProgram,
    as_shown,
    build,
    exact,
    push,
    shown,
    table_programs,
    table_traces,
)


@st.composite
def cases(draw, /, **options):
    program = draw(table_programs(**options))
    return program, draw(table_traces(program))


def check_every_push(program, trace):
    inputs, output = build(program)
    engine, reference = Engine(output), Reference(program)
    table = {}
    for event in trace:
        emitted = push(engine, inputs, event)
        assert shown(emitted) == as_shown(reference.step([event]))
        retained = {name: len(entries) for name, entries in reference.memory.items()}
        assert {name: engine.stats.slots["out", name] for name in program.names} == {
            name: (count, 0) for name, count in retained.items()
        }
        if program.key is not None:
            check_changes(table, emitted)
            assert exact(engine.query(output)) == exact(dict(table)) or same(engine.query(output), table)
            if program.retracts:
                assert same(table, reference.current())


def check_changes(table, emitted):
    """Each changed key once a step, no change without a change; then apply them."""
    keys = [event.value.key for event in emitted]
    assert len(keys) == len(set(keys))
    for event in emitted:
        change = event.value
        if isinstance(change, Delete):
            del table[change.key]
        else:
            assert change.key not in table or exact(table[change.key]) != exact(change.value)
            table[change.key] = change.value


def same(one, other):
    return {key: exact(value) for key, value in one.items()} == {key: exact(value) for key, value in other.items()}


@given(case=cases())
def test_a_table_is_at_every_step_what_a_full_evaluation_gives(case):
    check_every_push(*case)


@given(case=cases(has_optional=True))
def test_outer_rows_as_a_table_are_what_brute_force_gives(case):
    check_every_push(*case)


@given(case=cases(is_table=False, has_optional=True))
def test_outer_rows_are_what_brute_force_gives(case):
    check_every_push(*case)


@given(case=cases(is_table=False))
def test_retractions_are_the_difference_of_two_full_evaluations(case):
    check_every_push(*case)


@given(case=cases(has_optional=True), data=st.data())
def test_a_restored_table_goes_on_as_if_nothing_had_happened(case, data):
    program, trace = case
    point = data.draw(st.integers(0, len(trace)))
    inputs, output = build(program)
    engine, reference = Engine(output), Reference(program)
    for number, event in enumerate(trace):
        if number == point:
            blob = engine.snapshot()
            engine = Engine.restore(blob, output)
            assert engine.snapshot() == blob
        assert shown(push(engine, inputs, event)) == as_shown(reference.step([event]))
    assert same(engine.query(output), reference.current())


# ------------------------------------------------------------------------------------------------------------ nested

PAIRS = TableProgram((0, 1), frozenset({0, 1}), (Condition(frozenset("xy"), "x.k == y.k"),), frozenset("y"), key="x")
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.one_of(
            st.builds(Update, st.integers(0, 2), st.builds(Row, st.integers(0, 2), st.sampled_from([0, 1, True]))),
            st.builds(Delete, st.integers(0, 2)),
        ),
    ),
    max_size=14,
)


@given(trace=CHANGES)
def test_a_join_of_a_joined_table_is_a_full_evaluation_of_both(trace):
    inputs, inner = build(PAIRS, name="inner")
    third = Reactive("in2", table=True)
    outer = correlate(
        pair=inner,
        other=third,
        where=lambda pair, other: pair[0].j == other.j,
        yields=lambda pair, other: (pair, other),
        restrict=retracting() | as_table(lambda value: (value[0][0].k, value[1].k)),
        name="outer",
    )
    engine, reference = Engine(outer), Reference(PAIRS)
    others, table = {}, {}
    for time, (source, change) in enumerate(trace):
        emitted = engine.push([*inputs, third][source], change, at=time)
        check_changes(table, emitted)
        if source == 2:
            _apply(others, change)
        else:
            reference.step([(source, change, time, time)])
        expected = {}
        for pair in reference.current().values():
            for other in others.values():
                if pair[0].j == other.j:
                    expected.setdefault((pair[0].k, other.k), set()).add(exact((pair, other)))
        assert table.keys() == expected.keys()
        assert all(exact(value) in expected[key] for key, value in table.items())


@given(trace=CHANGES)
def test_a_diamond_sees_both_ways_at_once(trace):
    """Two tables of one input, joined again: never a row of an old and a new value, and nothing twice."""
    source = Reactive("t", table=True)
    one = correlate(r=source, yields=lambda r: r.k, restrict=retracting() | as_table("r"), name="one")
    two = correlate(r=source, yields=lambda r: (r.k, r.j), restrict=retracting() | as_table("r"), name="two")
    both = correlate(
        a=one,
        b=two,
        where=lambda a, b, key_a, key_b: key_a == key_b,
        yields=lambda a, b: (a, b),
        restrict=retracting() | as_table("a"),
        name="both",
    )
    facts = correlate(
        a=one, b=two, where=lambda a, b, key_a, key_b: key_a == key_b, yields=lambda a, b: (a, b), name="facts"
    )
    engine, table, rows = Engine(both, facts), {}, {}
    for time, (_, change) in enumerate(trace):
        before = dict(rows)
        emitted = engine.push(source, change, at=time)
        _apply(rows, change)
        expected = {key: (row.k, (row.k, row.j)) for key, row in rows.items()}
        changes = [event for event in emitted if event.reactive == "both"]
        assert len(changes) <= 1
        check_changes(table, changes)
        assert same(table, expected)
        results = [event.value for event in emitted if event.reactive == "facts"]
        assert all(value[0] == value[1][0] for value in results)  # no glitch
        is_changed = isinstance(change, Update) and (
            change.key not in before or exact(before[change.key]) != exact(change.value)
        )
        assert len(results) == int(is_changed)  # nothing twice


@given(trace=CHANGES)
def test_a_chain_of_copies_is_the_same_table(trace):
    source = Reactive("t", table=True)
    copy = source
    for number in range(3):
        copy = correlate(r=copy, yields=lambda r: r, restrict=retracting() | as_table("r"), name=f"copy{number}")
    engine, table, rows = Engine(copy), {}, {}
    for time, (_, change) in enumerate(trace):
        before = dict(rows)
        emitted = engine.push(source, change, at=time)
        _apply(rows, change)
        assert len(emitted) == (not same(before, rows))
        assert all((event.start, event.end) == (time, time) for event in emitted)
        check_changes(table, emitted)
        assert same(table, rows)
        assert same(engine.query(copy), rows)


def _apply(rows, change):
    if isinstance(change, Delete):
        rows.pop(change.key, None)
    else:
        rows[change.key] = change.value


@given(
    trace=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=18),
    n=st.integers(1, 2),
    restored=st.sets(st.integers(0, 17)),
)
def test_retractions_reach_through_a_nested_correlation(trace, n, restored):
    """What was emitted and not taken back is what a from-scratch join of the present inputs gives."""
    a, b, c = (Reactive(name) for name in "abc")
    recent = retracting() | most_recently("x", "y", n=n)
    inner = correlate(
        x=a, y=b, where=lambda x, y: x.k == y.k, yields=lambda x, y: (x.n, y.n, x.k), restrict=recent, name="inner"
    )
    outer = correlate(
        p=inner,
        z=c,
        where=lambda p, z: p[2] <= z.k,
        yields=lambda p, z: (p[0], p[1], z.n),
        restrict=retracting() | most_recently("z", n=n),
        name="outer",
    )
    engine, memory, live = Engine(outer), [[], [], []], []
    for number, (source, key) in enumerate(trace):
        if number in restored:
            engine = Engine.restore(engine.snapshot(), outer)
        memory[source] = [(key, number), *memory[source]][:n]
        signs = []
        for event in engine.push((a, b, c)[source], {"k": key, "n": number}):
            signs.append(event.weight)
            if event.weight > 0:
                live.append(event.value)
            else:
                live.remove(event.value)
        assert signs == sorted(signs)  # all retractions of a batch precede all its yields
        pairs = [(x, y, k) for k, x in memory[0] for j, y in memory[1] if k == j]
        assert sorted(live) == sorted((x, y, z) for x, y, k in pairs for j, z in memory[2] if k <= j)
        assert engine.stats.slots["outer", "p"] == (len(pairs), 0)
