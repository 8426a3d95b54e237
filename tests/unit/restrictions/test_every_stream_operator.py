"""What holds of every stream operator: arguments, memory, nesting, snapshots."""

from __future__ import annotations

import pytest

from cartesius import Engine, Reactive, run
from cartesius.errors import InvalidArgument
from restrictions import streams
from tests.oracle.rx_oracle import Trace, engine_steps
from tests.unit.restrictions.stream_examples import (
    ARGUMENTS,
    OPERATORS,
    PLACES,
    both,
    double,
    fails,
    ones,
    total,
    values,
)

# --------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize("call", ["merge", "fork_join", "combine_latest", "zip_"])
def test_one_reactive_at_least_is_expected(call):
    fails(call, getattr(streams, call))


@pytest.mark.parametrize(("call", "place"), PLACES)
@pytest.mark.parametrize("wrong", ["xs", None, [Reactive("in a list")]])
def test_each_stream_must_be_a_reactive(call, place, wrong):
    count, rest = ARGUMENTS[call]
    operands = [Reactive(name) for name in "abc"[:count]]
    operands[place] = wrong
    fails(call, lambda: getattr(streams, call)(*operands, *rest))


@pytest.mark.parametrize("call", ["map_", "filter_", "map_concat", "scan", "skip_while"])
@pytest.mark.parametrize("wrong", [None, 3, "double"])
def test_a_function_must_be_callable(xs, call, wrong):
    fails(call, lambda: getattr(streams, call)(xs, wrong))


@pytest.mark.parametrize("function", [lambda x: x, lambda x: -x if x else x], ids=["traced", "not traced"])
def test_a_function_of_too_few_parameters_is_refused_and_named(xs, function):
    with pytest.raises(InvalidArgument, match=r"scan: expected a function of 2 values .*<lambda>\(x\): too many pos"):
        streams.scan(xs, function)


@pytest.mark.parametrize("wrong", [3, "k"])
def test_a_key_must_be_callable(xs, wrong):
    fails("distinct_until_changed", lambda: streams.distinct_until_changed(xs, key=wrong))


@pytest.mark.parametrize("call", ["rolling", "buffer"])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", None, True])
def test_a_number_of_values_must_be_an_int_of_one_or_more(xs, call, wrong):
    fails(call, lambda: getattr(streams, call)(xs, wrong))


@pytest.mark.parametrize("call", ["join", "group_join"])
@pytest.mark.parametrize("wrong", [-1, 1.5, "2", None, True])
def test_a_duration_must_not_be_negative(xs, ys, call, wrong):
    fails(call, lambda: getattr(streams, call)(xs, ys, wrong, 1))
    fails(call, lambda: getattr(streams, call)(xs, ys, 1, wrong))


@pytest.mark.parametrize("wrong", [1.5, "2", None, True])
def test_a_bound_must_be_a_duration(xs, ys, wrong):
    fails("interval_join", lambda: streams.interval_join(xs, ys, wrong, 1))
    fails("interval_join", lambda: streams.interval_join(xs, ys, 1, wrong))


def test_the_lower_bound_must_not_be_above_the_upper(xs, ys):
    fails("interval_join", lambda: streams.interval_join(xs, ys, 2, 1))


# ------------------------------------------------------------------------------------------------------------ memory


GROWING = {"join", "group_join", "interval_join", "rolling", "buffer"}


@pytest.mark.parametrize("name", [name for name in OPERATORS if name not in GROWING])
def test_memory_does_not_grow_with_the_number_of_events(xs, ys, name):
    engine = Engine(OPERATORS[name](xs, ys))
    for number in range(200):
        reactive = ys if number % 3 == 2 and ys in engine.inputs.values() else xs
        engine.push(reactive, number)
        assert engine.stats.retained <= len(engine.stats.slots)


@pytest.mark.parametrize("name", ["map_", "filter_", "merge", "with_latest_from", "scan", "skip_until", "fork_join"])
def test_one_side_alone_does_not_fill_the_memory_either(xs, ys, name):
    for chosen in (xs, ys):
        engine = Engine(OPERATORS[name](xs, ys))
        if chosen not in engine.inputs.values():
            continue
        for number in range(200):
            engine.push(chosen, number)
        assert engine.stats.retained <= len(engine.stats.slots)


# ----------------------------------------------------------------------------------------------------------- nesting


def test_map_of_a_combine_latest(xs, ys):
    output = streams.map_(streams.combine_latest(xs, ys), lambda pair: pair[0] + pair[1])
    assert values(run(output, [(xs, 1), (ys, 10), (xs, 2), (ys, 20)])) == [11, 12, 22]


SEVERAL = {  # of several events at once, 1 and -1, then 2 and -2
    "map_": (lambda several, ys: streams.map_(several, double), [2, -2, 4, -4]),
    "filter_": (lambda several, ys: streams.filter_(several, lambda x: x < 2), [1, -1, -2]),
    "map_concat": (lambda several, ys: streams.map_concat(several, both), [1, -1, -1, 1, 2, -2, -2, 2]),
    "scan": (lambda several, ys: streams.scan(several, total), [1, 0, 2, 0]),
    "skip_while": (lambda several, ys: streams.skip_while(several, lambda x: x > 0), [-1, 2, -2]),
    "skip_until": (lambda several, ys: streams.skip_until(several, streams.map_(ys, str)), [1, -1, 2, -2]),
    "take_until": (lambda several, ys: streams.take_until(ys, several), ["y"]),
    "distinct_until_changed": (lambda several, ys: streams.distinct_until_changed(several, key=abs), [1, 2]),
    "rolling": (lambda several, ys: streams.rolling(several, 2), [[1], [1, -1], [-1, 2], [2, -2]]),
    "buffer": (lambda several, ys: streams.buffer(several, 3), [[1, -1, 2]]),
    "merge": (lambda several, ys: streams.merge(ys, several), ["y", 1, -1, 2, -2]),
    "with_latest_from": (
        lambda several, ys: streams.with_latest_from(several, ys, ys),
        [(1, "y", "y"), (-1, "y", "y"), (2, "y", "y"), (-2, "y", "y")],
    ),
    "sample": (lambda several, ys: streams.sample(ys, several), ["y"]),
    "join": (lambda several, ys: streams.join(several, ys, 9, 9), [(1, "y"), (-1, "y"), (2, "y"), (-2, "y")]),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_events_of_one_step_are_all_seen_downstream(xs, ys, name):
    operator, expected = SEVERAL[name]
    engine = Engine(operator(streams.map_concat(xs, both), ys))
    trace = [(ys, "y"), (xs, 1), (xs, 2)]
    assert [
        event.value for step in trace if step[0] in engine.inputs.values() for event in engine.push(*step)
    ] == expected


def test_merge_of_a_stream_and_what_is_derived_from_it_gives_both_in_the_order_of_the_operands(xs):
    assert values(run(streams.merge(xs, streams.map_(xs, double)), ones(xs, 1, 2))) == [1, 2, 2, 4]
    assert values(run(streams.merge(streams.map_(xs, double), xs), ones(xs, 1, 2))) == [2, 1, 4, 2]


def test_one_derived_stream_in_two_places_is_computed_once(xs):
    calls = []

    def seen(x):
        calls.append(x)
        return x

    shared = streams.map_(xs, seen)
    assert values(run(streams.combine_latest(shared, shared), ones(xs, 1, 2))) == [(1, 1), (2, 2)]
    assert calls == [1, 2]


# --------------------------------------------------------------------------------------------------------- snapshots


TRACES = [
    Trace(((0, 1), (0, 2), (1, 2), (3, 4), (4, 4), (4, 5), (6, 1), (9, 3), (9, 3)), 10),
    Trace(((1, 7), (2, 1), (4, 4), (4, 8), (5, 2), (9, 1)), 12),
]


@pytest.mark.parametrize("ending", [True, False])
@pytest.mark.parametrize("name", OPERATORS)
def test_an_engine_restored_after_each_step_goes_on_as_if_nothing_had_been(name, ending):
    count = len(Engine(OPERATORS[name](Reactive("a"), Reactive("b"))).inputs)
    inputs = [trace if ending else Trace(trace.events) for trace in TRACES]

    def operator(a, b=None):
        return OPERATORS[name](a, b)

    straight, restored = (
        [(time, events, engine.done) for time, events, engine in engine_steps(operator, inputs[:count], restoring=on)]
        for on in (False, True)
    )
    assert straight == restored
    assert any(events for _, events, _ in straight) or (name == "fork_join" and not ending)
