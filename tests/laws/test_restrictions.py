"""The algebra of restrictions: what composes in any order, what is idempotent, what equals what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, correlate
from cartesius.results.unchanged_values import is_equal
from restrictions import (
    affine_latest,
    affinely,
    aligning,
    as_table,
    at_most,
    cartesian,
    combine_latest,
    key_by,
    most_recently,
    optionally,
    retracting,
    zip_,
)

TRACES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), max_size=16)


def emitted(restrict, trace, *, make=None):
    """What a program emits, step by step, with memory after each."""
    inputs = [Reactive("left"), Reactive("right")]
    if make is not None:
        output = make(*inputs)
    else:
        output = correlate(
            left=inputs[0],
            right=inputs[1],
            where=lambda left, right: left.k <= right.k,
            yields=lambda left, right: (left.n, right.n),
            restrict=restrict,
            name="out",
        )
    engine, out = Engine(output), []
    for number, (source, key, at) in enumerate(trace):
        events = engine.push(inputs[source], {"k": key, "n": number}, at=at)
        out.append(([(e.value, e.start, e.end, e.weight) for e in events], list(engine.stats.slots.values())))
    return out


def both(*layers):
    out = layers[0]
    for layer in layers[1:]:
        out = out | layer
    return out


COUNTS = st.integers(1, 3)
SLOTS = st.sampled_from([("left",), ("right",), ("left", "right")])


@given(trace=TRACES, n=COUNTS, m=COUNTS, slots=SLOTS)
def test_at_most_twice_is_at_most_the_smaller(trace, n, m, slots):
    assert emitted(at_most(n, *slots) | at_most(m, *slots), trace) == emitted(at_most(min(n, m), *slots), trace)


@given(trace=TRACES, slots=SLOTS)
def test_affinely_is_at_most_one(trace, slots):
    assert emitted(affinely(*slots), trace) == emitted(at_most(1, *slots), trace)


@given(trace=TRACES, n=COUNTS, slots=SLOTS)
def test_most_recently_is_idempotent(trace, n, slots):
    once = most_recently(*slots, n=n)
    assert emitted(once | once, trace) == emitted(once, trace)


@given(trace=TRACES, n=COUNTS, m=COUNTS, slots=SLOTS)
def test_most_recently_twice_keeps_the_smaller(trace, n, m, slots):
    two = most_recently(*slots, n=n) | most_recently(*slots, n=m)
    assert emitted(two, trace) == emitted(most_recently(*slots, n=min(n, m)), trace)


@given(trace=TRACES, n=COUNTS, m=COUNTS, slots=SLOTS, others=SLOTS, data=st.data())
def test_recency_consumption_and_alignment_commute(trace, n, m, slots, others, data):
    layers = [most_recently(*slots, n=n), at_most(m, *others), aligning("left", "right")]
    layers = layers[: data.draw(st.integers(2, 3))]
    permuted = data.draw(st.permutations(layers))
    assert emitted(both(*layers), trace) == emitted(both(*permuted), trace)


@given(trace=TRACES, n=COUNTS)
def test_several_slots_are_one_restriction_each(trace, n):
    for restriction in (lambda *slots: most_recently(*slots, n=n), lambda *slots: at_most(n, *slots)):
        assert emitted(restriction("left", "right"), trace) == emitted(
            restriction("right") | restriction("left"), trace
        )


@given(trace=TRACES)
def test_a_constant_key_is_no_key(trace):
    keyed = key_by(left=lambda _: 0, right=lambda _: 0) | most_recently("left", n=2) | aligning("left", "right")
    assert emitted(keyed, trace) == emitted(most_recently("left", n=2) | aligning("left", "right"), trace)


@given(trace=TRACES)
def test_keys_are_a_condition(trace):
    inputs = [Reactive("left"), Reactive("right")]
    keyed = Engine(cartesian(*inputs, restrict=key_by(left="k", right="k")))
    asked = Engine(correlate(x=inputs[0], y=inputs[1], where=lambda x, y: x.k == y.k, yields=lambda x, y: (x, y)))
    for number, (source, key, _) in enumerate(trace):
        value = {"k": key, "n": number}
        assert [e.value for e in keyed.push(inputs[source], value)] == [
            e.value for e in asked.push(inputs[source], value)
        ]


@given(trace=TRACES)
def test_zip_by_key_is_one_zip_a_key(trace):
    inputs = [Reactive("left"), Reactive("right")]
    restrict = key_by(left="k", right="k") | most_recently("left", "right") | aligning("left", "right")
    engine = Engine(cartesian(*inputs, restrict=restrict))
    alone = {}
    for number, (source, key, _) in enumerate(trace):
        value = {"k": key, "n": number}
        expected = alone.setdefault(key, Engine(zip_(*inputs))).push(inputs[source], value)
        assert [e.value for e in engine.push(inputs[source], value)] == [e.value for e in expected]
    assert engine.stats.retained == sum(one.stats.retained for one in alone.values())
    assert engine.stats.waiting == sum(one.stats.waiting for one in alone.values())


@given(trace=TRACES)
def test_the_operators_are_the_product_restricted(trace):
    for operator, restrict in [
        (cartesian, None),
        (combine_latest, most_recently("left", "right")),
        (zip_, most_recently("left", "right") | aligning("left", "right")),
        (affine_latest, affinely("left") | most_recently("left", "right")),
    ]:
        assert emitted(None, trace, make=operator) == emitted(
            None, trace, make=lambda x, y, restrict=restrict: cartesian(x, y, restrict=restrict)
        )


@given(trace=TRACES)
def test_without_retraction_the_results_are_those_of_positive_weight(trace):
    facts = emitted(most_recently("left", "right", n=2), trace)
    view = emitted(retracting() | most_recently("left", "right", n=2), trace)
    assert [[event for event in step if event[3] > 0] for step, _ in view] == [step for step, _ in facts]
    assert [held for _, held in view] == [held for _, held in facts]


@given(trace=TRACES)
def test_what_was_emitted_and_not_taken_back_is_what_memory_gives(trace):
    live, memory = [], [[], []]
    for number, (step, _) in enumerate(emitted(retracting() | most_recently("left", "right", n=2), trace)):
        source, key, _ = trace[number]
        memory[source] = [(key, number), *memory[source]][:2]
        for value, start, end, weight in step:
            if weight > 0:
                live.append((value, start, end))
            else:
                live.remove((value, start, end))
        assert sorted(value for value, _, _ in live) == sorted(
            (left, right) for k, left in memory[0] for j, right in memory[1] if k <= j
        )


# ----------------------------------------------------------------------------------------------------------- tables

ROW = st.fixed_dictionaries({"k": st.integers(0, 2), "j": st.integers(0, 2)})
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.one_of(st.builds(Update, st.integers(0, 2), ROW), st.builds(Delete, st.integers(0, 2))),
    ),
    max_size=16,
)


@given(trace=CHANGES)
def test_optionally_equals_a_left_deep_chain_of_left_joins(trace):
    """By foreign keys, so that each row has at most one partner: v.k points into b, b.j into t."""
    v, b, t = (Reactive(name, table=True) for name in "vbt")
    at_once = correlate(
        v=v,
        b=b,
        t=t,
        where=lambda v, b, t, key_b, key_t: (v.k == key_b) & (b.j == key_t),
        yields=lambda v, b, t: (v, b, t),
        restrict=as_table("v") | retracting() | optionally("b", "t"),
        name="at_once",
    )
    first = correlate(
        v=v,
        b=b,
        where=lambda v, b, key_b: v.k == key_b,
        yields=lambda v, b: (v, b, b and b.j),
        restrict=as_table("v") | retracting() | optionally("b"),
        name="first",
    )
    second = correlate(
        p=first,
        t=t,
        where=lambda p, t, key_t: p[2] == key_t,
        yields=lambda p, t: (p[0], p[1], t),
        restrict=as_table("p") | retracting() | optionally("t"),
        name="second",
    )
    engine = Engine(at_once, second)
    for source, change in trace:
        engine.push((v, b, t)[source], change)
        assert is_equal(engine.query(at_once), engine.query(second))  # the order of fields is no difference


@given(trace=CHANGES)
def test_the_inner_rows_are_those_of_the_outer_join_that_miss_nothing(trace):
    x, y = Reactive("x", table=True), Reactive("y", table=True)

    def join(name, *layers):
        return correlate(
            x=x,
            y=y,
            where=lambda x, y: x.k == y.k,
            yields=lambda x, y: (x, y),
            restrict=both(as_table(_keys), retracting(), *layers),
            name=name,
        )

    inner, left, full = join("inner"), join("left", optionally("y")), join("full", optionally("x", "y"))
    engine = Engine(inner, left, full)
    for source, change in trace:
        engine.push((x, y)[source % 2], change)
        tables = {output.name: engine.query(output) for output in (inner, left, full)}
        assert tables["inner"] == {k: v for k, v in tables["left"].items() if v[1] is not None}
        assert tables["left"] == {k: v for k, v in tables["full"].items() if v[0] is not None}


def _keys(value):
    return tuple(None if part is None else (part.k, part.j) for part in value)


@given(trace=CHANGES)
def test_a_table_is_the_same_whatever_way_it_got_there(trace):
    """The rows depend on the present inputs alone: replaying only the last change of each key gives the same table."""
    x, y = Reactive("x", table=True), Reactive("y", table=True)
    output = correlate(
        x=x,
        y=y,
        where=lambda x, y: x.k == y.k,
        yields=lambda x, y: (x.j, y and y.j),
        restrict=as_table("x") | retracting() | optionally("y"),
    )
    whole, short = Engine(output), Engine(output)
    last = {(source % 2, change.key): number for number, (source, change) in enumerate(trace)}
    for number, (source, change) in enumerate(trace):
        whole.push((x, y)[source % 2], change)
        if last[source % 2, change.key] == number:
            short.push((x, y)[source % 2], change)
    assert whole.query(output) == short.query(output)
