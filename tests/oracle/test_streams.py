"""The stream operators against RxPY: values, times and completion; and, by name, where we differ on purpose."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import operators as ops
from reactivex.scheduler import ImmediateScheduler

from cartesius import Engine, Reactive
from restrictions import streams
from tests.oracle.rx_oracle import ONE_TICK, Outcome, Trace, run_engine, run_rx, traces

INLINE = ImmediateScheduler()
"""For RxPY's `from_iterable`: a list's elements come within the event that gave it, not after those of the tick."""

small = st.integers(0, 4)
durations = st.integers(0, 5)


def check(ours, theirs, inputs):
    assert run_engine(ours, inputs) == run_rx(theirs, inputs)


def check_sample(ours, theirs, inputs, trigger):
    """As `check`, but ours completes when the trigger has ended (see the test of that name below)."""
    expected = run_rx(theirs, inputs)
    if expected.done is None:
        expected.done = trigger.end
    assert run_engine(ours, inputs) == expected


# --------------------------------------------------------------------------------------------------- one input

# Functions that any value suits, so that operators can be chained at random. They do not trace; lambdas below do.


def weight(value):
    if isinstance(value, list | tuple):
        return sum(map(weight, value))
    return value if isinstance(value, int) else 0


def wrap(value):
    return (value, weight(value) % 3)


def is_odd(value):
    return weight(value) % 2 == 1


def is_light(value):
    return weight(value) < 3


def fold(total, value):
    return (weight(total) * 2 + weight(value)) % 7


def pair(total, value):
    return [total if total is None else weight(total), value]


def copies(value):
    return [value, weight(value) + 1, value][: weight(value) % 4]


def unroll(value):
    return reactivex.from_iterable(copies(value), scheduler=INLINE)


def last(n):
    """RxPY has no `rolling`; this is its meaning."""
    return ops.scan(lambda values, value: [*values, value][-n:], [])


ONE = {
    "map_": (lambda xs: streams.map_(xs, wrap), ops.map(wrap)),
    "filter_": (lambda xs: streams.filter_(xs, is_odd), ops.filter(is_odd)),
    "map_concat": (lambda xs: streams.map_concat(xs, copies), ops.flat_map(unroll)),
    "scan": (lambda xs: streams.scan(xs, fold), ops.scan(fold)),
    "scan from 3": (lambda xs: streams.scan(xs, fold, initial=3), ops.scan(fold, 3)),
    "scan from None": (lambda xs: streams.scan(xs, pair, initial=None), ops.scan(pair, None)),
    "skip_while": (lambda xs: streams.skip_while(xs, is_light), ops.skip_while(is_light)),
    "distinct_until_changed": (lambda xs: streams.distinct_until_changed(xs, key=None), ops.distinct_until_changed()),
    "distinct_until_changed by key": (
        lambda xs: streams.distinct_until_changed(xs, key=is_odd),
        ops.distinct_until_changed(is_odd),
    ),
    "rolling 1": (lambda xs: streams.rolling(xs, 1), last(1)),
    "rolling 3": (lambda xs: streams.rolling(xs, 3), last(3)),
    "buffer 1": (lambda xs: streams.buffer(xs, 1), ops.buffer_with_count(1)),
    "buffer 3": (lambda xs: streams.buffer(xs, 3), ops.buffer_with_count(3)),
}


# Functions of integers that do trace.


def affine(x):
    return x * 2 + 1


def is_more(x):
    return x > 1


def is_less(x):
    return x < 2


def even_part(x):
    return x - x % 2


def add(total, x):
    return total + x


def alternate(total, x):
    return x - total


TRACED = {
    "map_": (lambda xs: streams.map_(xs, affine), ops.map(affine)),
    "filter_": (lambda xs: streams.filter_(xs, is_more), ops.filter(is_more)),
    "scan": (lambda xs: streams.scan(xs, add), ops.scan(add)),
    "scan from 5": (lambda xs: streams.scan(xs, alternate, initial=5), ops.scan(alternate, 5)),
    "skip_while": (lambda xs: streams.skip_while(xs, is_less), ops.skip_while(is_less)),
    "distinct_until_changed by key": (
        lambda xs: streams.distinct_until_changed(xs, key=even_part),
        ops.distinct_until_changed(even_part),
    ),
}


@pytest.mark.parametrize("name", ONE)
@given(inputs=traces(1, values=small, size=10))
def test_an_operator_on_one_stream_is_as_in_rx(name, inputs):
    ours, theirs = ONE[name]
    check(ours, theirs, inputs)


@pytest.mark.parametrize("name", TRACED)
@given(inputs=traces(1, values=small, size=10))
def test_an_operator_with_a_function_that_traces_is_as_in_rx(name, inputs):
    ours, theirs = TRACED[name]
    check(ours, theirs, inputs)


@given(names=st.lists(st.sampled_from(sorted(ONE)), min_size=2, max_size=4), inputs=traces(1, values=small, size=8))
def test_a_chain_of_operators_is_as_in_rx_though_one_step_carries_several_events(names, inputs):
    def ours(xs):
        for name in names:
            xs = ONE[name][0](xs)
        return xs

    check(ours, reactivex.compose(*[ONE[name][1] for name in names]), inputs)


@given(
    inputs=traces(1, values=st.sampled_from([0, 1, 1.0, True, False, float("nan"), "1", None, (1,), (1.0,)]), size=8)
)
def test_distinct_until_changed_compares_by_equality_as_rx_does_but_nan_is_no_change(inputs):
    def is_same(one, other):
        return one == other or (one != one and other != other)  # noqa: PLR0124 - NaN (SEMANTICS 1.18)

    ours = run_engine(streams.distinct_until_changed, inputs)
    assert repr(ours) == repr(run_rx(ops.distinct_until_changed(comparer=is_same), inputs))


# ----------------------------------------------------------------------------------------------- several inputs


def rx_join(left_duration, right_duration):
    def operator(left, right):
        return left.pipe(
            ops.join(right, lambda _: reactivex.timer(left_duration), lambda _: reactivex.timer(right_duration))
        )

    return operator


def rx_group_join(left_duration, right_duration):
    """Each group as (left, list of its rights), when it ends."""

    def collected(group):
        left, rights = group
        return rights.pipe(ops.to_list(), ops.map(lambda rights: (left, rights)))

    def operator(left, right):
        return left.pipe(
            ops.group_join(right, lambda _: reactivex.timer(left_duration), lambda _: reactivex.timer(right_duration)),
            ops.flat_map(collected),
        )

    return operator


MANY: dict[str, tuple[tuple[int, ...], Any]] = {  # the numbers of inputs, and RxPY's operator
    "combine_latest": ((1, 2, 3), reactivex.combine_latest),
    "zip_": ((1, 2, 3), reactivex.zip),
    "with_latest_from": ((1, 2, 3), reactivex.with_latest_from),
    "merge": ((1, 2, 3), reactivex.merge),
    "fork_join": ((1, 2, 3), reactivex.fork_join),
    "sample": ((2,), lambda xs, ys: xs.pipe(ops.sample(ys))),
    "skip_until": ((2,), lambda xs, ys: xs.pipe(ops.skip_until(ys))),
    "take_until": ((2,), lambda xs, ys: xs.pipe(ops.take_until(ys))),
}
CASES = [(name, count) for name, (counts, _) in MANY.items() for count in counts]


@pytest.mark.parametrize(("name", "count"), CASES)
@given(data=st.data())
def test_an_operator_on_several_streams_is_as_in_rx(name, count, data):
    """The order of the operands need not be that in which events of one tick come."""
    ours, theirs = getattr(streams, name), MANY[name][1]
    inputs = data.draw(traces(count))
    order = data.draw(st.permutations(range(count)))

    def ours_in_order(*sources):
        return ours(*[sources[index] for index in order])

    def theirs_in_order(*sources):
        return theirs(*[sources[index] for index in order])

    if name == "sample":
        check_sample(ours_in_order, theirs_in_order, inputs, inputs[order[1]])
    else:
        check(ours_in_order, theirs_in_order, inputs)


STAGES = {  # what may stand before an operator: several events in one step, an event at the end of its stream, …
    "nothing": (lambda xs: xs, ops.map(lambda x: x)),
    "map_concat": ONE["map_concat"],
    "buffer": (lambda xs: streams.buffer(xs, 2), ops.buffer_with_count(2)),
    "filter_": ONE["filter_"],
}


@pytest.mark.parametrize("name", MANY)
@given(data=st.data())
def test_an_operator_on_derived_streams_is_as_in_rx(name, data):
    """For several events in one step before combine_latest see below."""
    ours, theirs = getattr(streams, name), MANY[name][1]
    possible = sorted(STAGES.keys() - ({"map_concat"} if name == "combine_latest" else set()))
    inputs = data.draw(traces(2, values=small))
    stages = [STAGES[stage] for stage in data.draw(st.lists(st.sampled_from(possible), min_size=2, max_size=2))]

    def ours_staged(*xs):
        return ours(*[stage(x) for (stage, _), x in zip(stages, xs, strict=True)])

    def theirs_staged(*xs):
        return theirs(*[x.pipe(stage) for (_, stage), x in zip(stages, xs, strict=True)])

    if name == "sample":
        check_sample(ours_staged, theirs_staged, inputs, inputs[1])
    else:
        check(ours_staged, theirs_staged, inputs)


@given(
    outer=st.sampled_from(sorted(MANY.keys() - {"sample"})),
    inner=st.sampled_from(sorted(MANY.keys() - {"sample"})),
    is_first=st.booleans(),
    inputs=traces(3),
)
def test_an_operator_on_what_another_gives_is_as_in_rx(outer, inner, is_first, inputs):
    """A result and the completion of its stream may come in one step; the result is used."""

    def nested(outer, inner):
        return lambda xs, ys, zs: outer(inner(xs, ys), zs) if is_first else outer(xs, inner(ys, zs))

    check(
        nested(getattr(streams, outer), getattr(streams, inner)),
        nested(MANY[outer][1], MANY[inner][1]),
        inputs,
    )


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_an_output_completes_after_what_has_completed_by_itself(tier):
    """What is made of an input may end though no input has: a push that is one function does not ask."""
    xs, ys, signal = Reactive("xs"), Reactive("ys"), Reactive("signal")
    output = streams.combine_latest(xs, streams.take_until(ys, signal))
    engine = Engine(output, tier=tier)
    assert [engine.push(xs, 0), engine.push(xs, 1), engine.push(signal, 2)] == [[], [], []]
    assert not engine.done
    assert engine.push(xs, 3) == []
    assert engine.done
    batch = {xs: {"value": [0, 3], "order": [0, 2]}, signal: {"value": [2], "order": [1]}}
    engine = Engine(output, tier=tier)
    engine.push_many(batch)
    assert engine.done


@given(inputs=traces(2))
def test_what_comes_before_all_else_and_what_never_comes_are_as_in_rx(inputs):
    def ours(xs, ys):
        return streams.merge(streams.now("now"), streams.combine_latest(xs, streams.now("k")), ys)

    def theirs(xs, ys):
        return reactivex.merge(reactivex.just("now"), reactivex.combine_latest(xs, reactivex.just("k")), ys)

    check(ours, theirs, inputs)
    check(lambda *xs: streams.merge(*xs, streams.never()), lambda *xs: reactivex.merge(*xs, reactivex.never()), inputs)


# --------------------------------------------------------------------------------------------------- durations


def check_done(ours, theirs, *, ends):
    """What an expiry completes is complete one tick later with us; what an end completes, at once."""
    if theirs is None:
        assert ours is None
    else:
        assert ours is not None
        assert ours - theirs in ({0, ONE_TICK} if theirs in ends else {ONE_TICK})


@given(inputs=traces(2), left=durations, right=durations)
def test_join_is_as_in_rx_and_completes_within_one_tick(inputs, left, right):
    """Where an expiry completes it, we learn of that at the next tick (`ONE_TICK`), and nothing comes between."""
    ours = run_engine(lambda xs, ys: streams.join(xs, ys, left, right), inputs)
    theirs = run_rx(rx_join(left, right), inputs)
    assert ours.values == theirs.values
    check_done(ours.done, theirs.done, ends={trace.end for trace in inputs})


# ------------------------------------------------------------------------------------ where we differ on purpose


@given(inputs=traces(2), left=durations, right=durations)
def test_group_join_gives_a_list_when_the_group_is_known_where_rx_gives_an_observable_at_once(inputs, left, right):
    """A result is plain data, not a stream that goes on: it comes when nothing can be added, that is when its left has
    expired; we learn of that at the next tick (`ONE_TICK`), and with it the last group completes the result.
    """
    ours = run_engine(lambda xs, ys: streams.group_join(xs, ys, left, right), inputs)
    theirs = run_rx(rx_group_join(left, right), inputs)
    assert ours.values == [(time + ONE_TICK, value) for time, value in theirs.values]
    check_done(ours.done, theirs.done, ends={inputs[0].end})


def test_sample_completes_when_its_trigger_has_ended_where_rx_goes_on_in_silence():
    """RxPY takes the trigger's end as a trigger, and completes only at a trigger after the stream's end.

    So if the trigger ends first it never completes, though nothing can come: PEERS asks for the same answers, and the
    answers are the same.
    """
    inputs = [Trace(((1, "x"), (4, "y")), 6), Trace(((2, "t"),), 5)]
    answers = [(2, "x"), (5, "y")]
    assert run_rx(MANY["sample"][1], inputs) == Outcome(answers, None)
    assert run_engine(streams.sample, inputs) == Outcome(answers, 5)


@pytest.mark.parametrize("operator", ["combine_latest", "zip_", "with_latest_from"])
def test_one_stream_on_two_slots_is_one_batch_where_rx_shows_what_lies_between(operator):
    """SEMANTICS 1.1: no glitch. RxPY's combine_latest brings the first operand up to date alone, and gives (2, 1)."""
    inputs = [Trace(((1, 1), (2, 2)), 3)]
    together = Outcome([(1, (1, 1)), (2, (2, 2))], 3)
    ours = getattr(streams, operator)
    assert run_engine(lambda xs: ours(xs, xs), inputs) == together
    theirs = MANY[operator][1]
    between = [(1, (1, 1)), (2, (2, 1)), (2, (2, 2))] if operator == "combine_latest" else together.values
    assert run_rx(lambda xs: theirs(xs, xs), inputs).values == between


def test_combine_latest_takes_the_events_of_one_step_as_one_batch_where_rx_takes_them_singly():
    """SEMANTICS 1.2: of a batch the latest stays, and only what stays is new; RxPY has no steps."""
    inputs = [Trace(((2, 2),), 3), Trace(((1, "y"),), 3)]
    ours = run_engine(lambda xs, ys: streams.combine_latest(streams.map_concat(xs, copies), ys), inputs)
    theirs = run_rx(lambda xs, ys: reactivex.combine_latest(xs.pipe(ops.flat_map(unroll)), ys), inputs)
    assert theirs == Outcome([(2, (2, "y")), (2, (3, "y"))], 3)
    assert ours == Outcome([(2, (3, "y"))], 3)


# ------------------------------------------------------------------------------------ one stream in both roles


@pytest.mark.parametrize("name", ["merge", "sample", "skip_until", "take_until", "with_latest_from", "fork_join"])
@given(inputs=traces(1))
def test_one_stream_in_both_roles_is_as_in_rx(name, inputs):
    ours, theirs = getattr(streams, name), MANY[name][1]
    check(lambda xs: ours(xs, xs), lambda xs: theirs(xs, xs), inputs)


@given(inputs=traces(1), left=durations, right=durations)
def test_a_join_of_a_stream_with_itself_gives_the_pairs_of_rx(inputs, left, right):
    """One batch, so the order of the pairs within a step is ours."""
    ours = run_engine(lambda xs: streams.join(xs, xs, left, right), inputs)
    theirs = run_rx(lambda xs: rx_join(left, right)(xs, xs), inputs)
    assert Counter(ours.values) == Counter(theirs.values)


# ------------------------------------------------------------------------------------------------ interval_join


@given(inputs=traces(2), bounds=st.tuples(st.integers(-5, 5), st.integers(-5, 5)).map(sorted))
def test_interval_join_is_the_comprehension_over_all_pairs(inputs, bounds):
    """RxPY has none. Each pair comes with the later of its two."""
    lower, upper = bounds
    ours = run_engine(lambda xs, ys: streams.interval_join(xs, ys, lower, upper), inputs)
    left, right = (trace.events for trace in inputs)
    expected = [(max(s, t), (x, y)) for s, x in left for t, y in right if lower <= t - s <= upper]
    assert Counter(ours.values) == Counter(expected)
