"""The stream operators, by example; `tests/oracle/test_streams.py` compares them with RxPY."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Delete, Engine, Reactive, Update, run
from cartesius.errors import InvalidArgument
from restrictions import streams
from tests.oracle.rx_oracle import Trace, engine_steps


def values(events):
    return [event.value for event in events]


def double(x):
    return 2 * x


def both(x):
    return [x, -x]


def is_even(x):
    return x % 2 == 0


def total(s, x):
    return s + x


@pytest.fixture
def xs():
    return Reactive("xs")


@pytest.fixture
def ys():
    return Reactive("ys")


@pytest.fixture
def zs():
    return Reactive("zs")


def ones(reactive, *payloads):
    """A trace of one input, a unit of time apart."""
    return [(reactive, payload, time) for time, payload in enumerate(payloads)]


# ------------------------------------------------------------------------------------------------- with_latest_from


def test_with_latest_from_gives_a_tuple_per_event_of_the_first_once_the_others_have_a_value(xs, ys, zs):
    output = streams.with_latest_from(xs, ys, zs)
    trace = [(xs, 1), (ys, "a"), (xs, 2), (zs, "A"), (xs, 3), (ys, "b"), (zs, "B"), (xs, 4), (xs, 5)]
    assert values(run(output, trace)) == [(3, "a", "A"), (4, "b", "B"), (5, "b", "B")]


def test_with_latest_from_says_nothing_when_only_the_others_change(xs, ys):
    engine = Engine(streams.with_latest_from(xs, ys))
    engine.push(ys, "a")
    assert values(engine.push(xs, 1)) == [(1, "a")]
    assert engine.push(ys, "b") == []


def test_with_latest_from_completes_with_the_first_and_not_with_the_others(xs, ys):
    engine = Engine(streams.with_latest_from(xs, ys))
    engine.push(ys, "a")
    engine.end(ys)
    assert not engine.done
    assert values(engine.push(xs, 1)) == [(1, "a")]
    engine.end(xs)
    assert engine.done


# ------------------------------------------------------------------------------------------------ merge, never, now


def test_merge_gives_the_values_themselves_in_the_order_of_their_arrival(xs, ys, zs):
    trace = [(ys, 1), (xs, 2), (zs, 3), (xs, 2), (ys, 1)]
    assert values(run(streams.merge(xs, ys, zs), trace)) == [1, 2, 3, 2, 1]


def test_merge_keeps_the_time_of_each_event(xs, ys):
    events = run(streams.merge(xs, ys), [(xs, 1, 3), (ys, 2, (1, 5))])
    assert [(event.start, event.end) for event in events] == [(3, 3), (1, 5)]


def test_merge_completes_when_all_inputs_have(xs, ys):
    engine = Engine(streams.merge(xs, ys))
    engine.end(xs)
    assert not engine.done
    assert values(engine.push(ys, 1)) == [1]
    engine.end(ys)
    assert engine.done


def test_never_emits_nothing_and_does_not_complete():
    engine = Engine(streams.never())
    assert engine.advance(100) == []
    assert not engine.done


def test_what_is_merged_with_never_does_not_complete(xs):
    engine = Engine(streams.merge(xs, streams.never()))
    assert values(engine.push(xs, 1)) == [1]
    engine.end(xs)
    assert not engine.done


def test_now_emits_its_value_once_and_completes():
    engine = Engine(streams.now(7))
    assert values(engine.advance(0)) == [7]
    assert engine.done
    assert engine.advance(1) == []


def test_now_comes_before_anything_else(xs):
    assert values(run(streams.merge(xs, streams.now(0)), [(xs, 1), (xs, 2)])) == [0, 1, 2]
    assert values(run(streams.combine_latest(xs, streams.now("k")), [(xs, 1), (xs, 2)])) == [(1, "k"), (2, "k")]


def test_two_nows_are_both_given_in_the_order_of_the_operands(xs):
    assert values(run(streams.merge(streams.now(1), xs, streams.now(2)), [(xs, 3)])) == [1, 2, 3]


# -------------------------------------------------------------------------------------- map_, filter_, map_concat


def test_map_applies_the_function_to_each_value_and_keeps_its_time(xs):
    events = run(streams.map_(xs, double), [(xs, 1, 4), (xs, 3, (5, 6))])
    assert [(event.value, event.start, event.end) for event in events] == [(2, 4, 4), (6, 5, 6)]


def test_filter_keeps_the_values_that_satisfy_the_predicate(xs):
    assert values(run(streams.filter_(xs, is_even), ones(xs, 1, 2, 2, 3, 0))) == [2, 2, 0]


def test_filter_takes_any_truth_value(xs):
    assert values(run(streams.filter_(xs, list), ones(xs, "", "a"))) == ["a"]


def test_map_concat_emits_what_the_list_holds_in_its_order(xs):
    output = streams.map_concat(xs, list)
    assert values(run(output, ones(xs, "cab", "", "a"))) == ["c", "a", "b", "a"]


def test_map_concat_emits_the_whole_list_in_one_push(xs):
    engine = Engine(streams.map_concat(xs, both))
    assert values(engine.push(xs, 1)) == [1, -1]
    assert values(engine.push(xs, 0)) == [0, 0]


@pytest.mark.parametrize("name", ["map_", "filter_", "map_concat", "skip_while", "scan"])
def test_an_operator_with_a_function_completes_with_its_stream(xs, name):
    functions = {"map_": double, "filter_": is_even, "map_concat": both, "skip_while": is_even, "scan": total}
    engine = Engine(getattr(streams, name)(xs, functions[name]))
    engine.push(xs, 1)
    assert not engine.done
    assert engine.end(xs) == []
    assert engine.done


def test_a_function_that_fails_leaves_everything_as_it_was(xs):
    engine = Engine(streams.scan(xs, total))
    engine.push(xs, 1)
    with pytest.raises(TypeError):
        engine.push(xs, "two")
    assert values(engine.push(xs, 2)) == [3]


# ------------------------------------------------------------------------------------------------------------ scan


def test_scan_without_an_initial_value_emits_its_first_input_as_it_is(xs):
    assert values(run(streams.scan(xs, total), ones(xs, 1, 2, 3))) == [1, 3, 6]
    assert values(run(streams.scan(xs, lambda s, x: f"({s}{x})"), ones(xs, 1, 2, 3))) == [1, "(12)", "((12)3)"]


def test_scan_with_an_initial_value_starts_from_it(xs):
    assert values(run(streams.scan(xs, total, initial=10), ones(xs, 1, 2))) == [11, 13]


def test_scan_emits_nothing_before_its_first_input(xs):
    engine = Engine(streams.scan(xs, total, initial=10))
    assert engine.advance(5) == []
    assert engine.end(xs) == []
    assert engine.done


def test_none_is_an_initial_value_like_any_other(xs):
    assert values(run(streams.scan(xs, lambda s, x: [s, x], initial=None), ones(xs, 1, 2))) == [
        [None, 1],
        [[None, 1], 2],
    ]


def test_none_is_a_value_that_scan_goes_on_with(xs):
    assert values(run(streams.scan(xs, lambda s, x: (s, x)), ones(xs, None, 1))) == [None, (None, 1)]


# ----------------------------------------------------------------------- skip_while, skip_until, take_until, distinct


def test_skip_while_lets_everything_pass_after_the_first_that_fails(xs):
    assert values(run(streams.skip_while(xs, is_even), ones(xs, 2, 4, 3, 2, 5))) == [3, 2, 5]


def test_skip_until_is_silent_until_the_first_event_of_the_other(xs, ys):
    output = streams.skip_until(xs, ys)
    assert values(run(output, [(xs, 1), (xs, 2), (ys, "go"), (xs, 3), (ys, "again"), (xs, 4)])) == [3, 4]


def test_skip_until_is_silent_for_ever_if_the_other_ends_without_an_event(xs, ys):
    engine = Engine(streams.skip_until(xs, ys))
    engine.end(ys)
    assert engine.push(xs, 1) == []
    engine.end(xs)
    assert not engine.done


def test_skip_until_does_not_complete_if_its_stream_ends_before_it_is_open(xs, ys):
    engine = Engine(streams.skip_until(xs, ys))
    engine.push(xs, 1)
    engine.end(xs)
    engine.push(ys, "go")
    engine.end(ys)
    assert not engine.done


def test_skip_until_completes_with_its_stream_once_open_whether_the_other_goes_on_or_not(xs, ys):
    engine = Engine(streams.skip_until(xs, ys))
    engine.push(ys, "go")
    assert values(engine.push(xs, 1)) == [1]
    engine.end(xs)
    assert engine.done


def test_take_until_completes_at_the_first_event_of_the_other(xs, ys):
    engine = Engine(streams.take_until(xs, ys))
    assert values(engine.push(xs, 1)) == [1]
    assert engine.push(ys, "stop") == []
    assert engine.done
    assert engine.push(xs, 2) == []


def test_that_the_other_merely_ends_does_not_stop_take_until(xs, ys):
    engine = Engine(streams.take_until(xs, ys))
    engine.end(ys)
    assert not engine.done
    assert values(engine.push(xs, 1)) == [1]
    engine.end(xs)
    assert engine.done


def test_distinct_until_changed_drops_what_equals_its_predecessor(xs):
    assert values(run(streams.distinct_until_changed(xs), ones(xs, 1, 1, 2, 2, 1, None, None, 1))) == [1, 2, 1, None, 1]


def test_distinct_until_changed_by_key_gives_the_first_of_each_run_of_one_key(xs):
    output = streams.distinct_until_changed(xs, key=is_even)
    assert values(run(output, ones(xs, 1, 3, 2, 4, 6, 5))) == [1, 2, 5]


# --------------------------------------------------------------------------------------------------- rolling, buffer


def test_rolling_gives_the_last_n_values_after_each_event(xs):
    assert values(run(streams.rolling(xs, 2), ones(xs, 1, 2, 3))) == [[1], [1, 2], [2, 3]]
    assert values(run(streams.rolling(xs, 1), ones(xs, 1, 2))) == [[1], [2]]


def test_a_list_that_was_given_does_not_change_later(xs):
    for output in (streams.rolling(xs, 3), streams.buffer(xs, 1)):
        engine = Engine(output)
        (first,) = engine.push(xs, 1)
        engine.push(xs, 2)
        assert first.value == [1]
        first.value.append("mine")
        engine.push(xs, 3)
        assert "mine" not in engine.push(xs, 4)[0].value


def test_buffer_gives_lists_of_n_and_the_rest_when_its_stream_ends(xs):
    engine = Engine(streams.buffer(xs, 2))
    assert engine.push(xs, 1) == []
    assert values(engine.push(xs, 2)) == [[1, 2]]
    assert engine.push(xs, 3) == []
    assert values(engine.end(xs)) == [[3]]
    assert engine.done


def test_buffer_gives_no_empty_rest(xs):
    for payloads in ([], [1, 2]):
        engine = Engine(streams.buffer(xs, 2))
        for payload in payloads:
            engine.push(xs, payload)
        assert engine.end(xs) == []
        assert engine.done


# ------------------------------------------------------------------------------------------------ sample, fork_join


def test_sample_gives_the_latest_value_at_each_trigger_if_there_is_a_new_one(xs, ys):
    trace = [(ys, "t"), (xs, 1), (xs, 2), (ys, "t"), (ys, "t"), (xs, 2), (ys, "t")]
    assert values(run(streams.sample(xs, ys), trace)) == [2, 2]


def test_sample_completes_at_the_first_trigger_after_the_end_of_its_stream(xs, ys):
    engine = Engine(streams.sample(xs, ys))
    engine.push(xs, 1)
    engine.end(xs)
    assert not engine.done
    assert values(engine.push(ys, "t")) == [1]
    assert engine.done


def test_the_end_of_the_trigger_is_a_trigger_too(xs, ys):
    engine = Engine(streams.sample(xs, ys))
    engine.push(xs, 1)
    assert values(engine.end(ys)) == [1]
    assert engine.done


def test_fork_join_gives_the_last_values_when_all_have_ended(xs, ys):
    engine = Engine(streams.fork_join(xs, ys))
    for reactive, payload in [(xs, 1), (ys, "a"), (xs, 2), (ys, "b")]:
        assert engine.push(reactive, payload) == []
    assert engine.end(ys) == []
    assert engine.push(xs, 3) == []
    assert not engine.done
    assert values(engine.end(xs)) == [(3, "b")]
    assert engine.done


def test_fork_join_completes_with_nothing_as_soon_as_an_input_ends_without_a_value(xs, ys):
    engine = Engine(streams.fork_join(xs, ys))
    engine.push(xs, 1)
    assert engine.end(ys) == []
    assert engine.done
    assert engine.end(xs) == []


# --------------------------------------------------------------------------------- join, group_join, interval_join


def at_ticks(output, trace, *, until):
    """(tick, value) of all that comes out while the clock is advanced to every tick; a payload of None is the end."""
    engine = Engine(output)
    out = []
    for tick in range(until + 1):
        out += [(tick, event.value) for event in engine.advance(tick)]
        for reactive, payload, time in trace:
            if time == tick:
                events = engine.end(reactive) if payload is None else engine.push(reactive, payload, at=time)
                out += [(tick, event.value) for event in events]
    return out, engine


def test_join_pairs_what_is_live_together_both_ends_included(xs, ys):
    trace = [(xs, "x", 2), (ys, "a", 0), (ys, "b", 1), (ys, "c", 5), (ys, "d", 6)]
    out, _ = at_ticks(streams.join(xs, ys, 3, 1), trace, until=10)
    assert out == [(2, ("x", "b")), (5, ("x", "c"))]


def test_join_gives_the_pairs_of_one_arrival_in_the_order_in_which_the_others_came(xs, ys):
    trace = [(xs, 1, 0), (xs, 2, 1), (xs, 3, 2), (ys, "y", 3)]
    out, _ = at_ticks(streams.join(xs, ys, 9, 9), trace, until=4)
    assert [value for _, value in out] == [(1, "y"), (2, "y"), (3, "y")]


def test_what_has_expired_leaves_the_memory_of_a_join(xs, ys):
    _, engine = at_ticks(streams.join(xs, ys, 2, 0), [(xs, 1, 0), (ys, 2, 1), (xs, 3, 2)], until=4)
    assert engine.stats.retained == 1
    engine.advance(5)
    assert engine.stats.retained == 0


def test_what_has_expired_leaves_the_memory_of_a_group_join(xs, ys):
    _, engine = at_ticks(streams.group_join(xs, ys, 2, 1), [(xs, 1, 0), (ys, 2, 1), (ys, 3, 4)], until=4)
    assert engine.stats.retained <= 1
    engine.advance(6)
    assert engine.stats.retained == 0


def test_join_completes_when_a_side_has_ended_and_nothing_of_it_is_live(xs, ys):
    _, engine = at_ticks(streams.join(xs, ys, 2, 2), [(xs, 1, 0), (xs, None, 1)], until=2)
    assert not engine.done
    engine.advance(3)
    assert engine.done
    _, engine = at_ticks(streams.join(xs, ys, 2, 2), [(ys, None, 0)], until=0)
    assert engine.done


def test_join_completes_when_both_sides_have_ended(xs, ys):
    _, engine = at_ticks(streams.join(xs, ys, 9, 9), [(xs, 1, 0), (ys, 1, 0), (xs, None, 1), (ys, None, 2)], until=2)
    assert engine.done


def test_group_join_gives_each_left_with_all_the_rights_that_were_live_with_it(xs, ys):
    trace = [(ys, "a", 0), (xs, 1, 1), (ys, "b", 2), (xs, 2, 3), (ys, "c", 4), (ys, "d", 9)]
    out, _ = at_ticks(streams.group_join(xs, ys, 2, 1), trace, until=12)
    assert out == [(4, (1, ["a", "b"])), (6, (2, ["b", "c"]))]


def test_group_join_gives_an_empty_list_to_a_left_that_was_alone(xs, ys):
    out, _ = at_ticks(streams.group_join(xs, ys, 2, 1), [(xs, 1, 0), (ys, "a", 3)], until=4)
    assert out == [(3, (1, []))]


def test_group_join_ends_when_the_left_has_and_all_groups_have_been_given(xs, ys):
    engine = Engine(streams.group_join(xs, ys, 2, 2))
    engine.push(xs, 1, at=0)
    engine.push(ys, "a", at=0)
    engine.end(xs)
    assert not engine.done
    assert values(engine.advance(3)) == [(1, ["a"])]
    assert engine.done


def test_closing_the_engine_gives_the_groups_that_are_open(xs, ys):
    engine = Engine(streams.group_join(xs, ys, 9, 9))
    engine.push(xs, 1, at=0)
    engine.push(ys, "a", at=1)
    assert values(engine.close()) == [(1, ["a"])]
    assert engine.done


def test_interval_join_pairs_within_the_bounds_inclusive(xs, ys):
    output = streams.interval_join(xs, ys, -1, 2)
    trace = [(xs, "x", 5), *((ys, time, time) for time in range(3, 9))]
    assert sorted(values(run(output, trace))) == [("x", 4), ("x", 5), ("x", 6), ("x", 7)]


def test_interval_join_does_not_mind_the_order_of_arrival(xs, ys):
    output = streams.interval_join(xs, ys, -1, 2)
    trace = [*((ys, time, time) for time in (8, 3, 7, 4)), (xs, "x", 5), (ys, 6, 6), (ys, 5, 5), (ys, 9, 9)]
    assert sorted(values(run(output, trace))) == [("x", 4), ("x", 5), ("x", 6), ("x", 7)]


def test_interval_join_compares_ends_and_gives_the_hull_of_the_two(xs, ys):
    (event,) = run(streams.interval_join(xs, ys, 0, 1), [(xs, "x", (1, 9)), (ys, "y", (2, 10)), (ys, "z", (2, 4))])
    assert (event.value, event.start, event.end) == (("x", "y"), 1, 10)


@pytest.mark.parametrize(("lower", "upper"), [(1, 2), (-2, -1), (0, 0), (-3, 3)])
def test_entries_of_an_interval_join_expire_with_the_clock_and_not_before_they_may(xs, ys, lower, upper):
    engine = Engine(streams.interval_join(xs, ys, lower, upper))
    engine.push(xs, "x", at=10)
    engine.advance(max(10, 10 + upper))
    paired = engine.push(ys, "y", at=10 + upper) if upper >= 0 else []
    assert values(paired) == ([("x", "y")] if upper >= 0 else [])
    engine.advance(10 + max(upper, 0) - min(lower, 0) + max(upper, 0) + 1)
    assert engine.stats.retained == 0


# --------------------------------------------------------------------------------------------------------- arguments


def fails(call, build):
    with pytest.raises(InvalidArgument, match=rf"^{re.escape(call)}: expected "):
        build()


@pytest.mark.parametrize("call", ["merge", "fork_join", "combine_latest", "zip_"])
def test_one_reactive_at_least_is_expected(call):
    fails(call, getattr(streams, call))


ARGUMENTS = {  # what follows the reactives, and how many these are
    "with_latest_from": (2, ()),
    "merge": (2, ()),
    "map_": (1, (double,)),
    "filter_": (1, (is_even,)),
    "map_concat": (1, (both,)),
    "scan": (1, (total,)),
    "skip_while": (1, (is_even,)),
    "skip_until": (2, ()),
    "take_until": (2, ()),
    "distinct_until_changed": (1, ()),
    "rolling": (1, (2,)),
    "buffer": (1, (2,)),
    "sample": (2, ()),
    "fork_join": (2, ()),
    "join": (2, (1, 2)),
    "group_join": (2, (1, 2)),
    "interval_join": (2, (-1, 2)),
}
PLACES = [(call, place) for call, (count, _) in ARGUMENTS.items() for place in range(count)]


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


def of(call):
    """The operator with the arguments of the table, on as many of two streams as it takes."""
    count, rest = ARGUMENTS[call]
    return lambda a, b: getattr(streams, call)(*(a, b)[:count], *rest)


OPERATORS = {call: of(call) for call in ARGUMENTS} | {
    "scan from an initial value": lambda a, b: streams.scan(a, total, initial=3),
    "distinct_until_changed by key": lambda a, b: streams.distinct_until_changed(a, key=is_even),
    "merge with now and never": lambda a, b: streams.merge(streams.now(0), a, streams.never(), b),
    "combine_latest": lambda a, b: streams.combine_latest(a, b, streams.now("k")),
    "a nested one": lambda a, b: streams.scan(
        streams.map_concat(streams.merge(streams.map_(a, double), streams.sample(a, b)), both), total
    ),
}
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


# ------------------------------------------------------------------------------------------ group_by, stream_table_join


def folded(trace, key, combine, initial):
    """What a dict and a loop make of a stream: the fold of each key, after each event."""
    folds, changes = {}, []
    for value in trace:
        before = folds.get(key(value), initial)
        folds[key(value)] = combine(before, value)
        if folds[key(value)] != before or key(value) not in {change.key for change in changes}:
            changes.append(Update(key(value), folds[key(value)]))
    return changes


@given(trace=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=12))
def test_group_by_folds_the_values_of_each_key(trace):
    xs = Reactive("xs")
    totals = streams.group_by(xs, lambda x: x[0], combine=lambda total, x: total + x[1], initial=0)
    expected = folded(trace, lambda x: x[0], lambda total, x: total + x[1], 0)
    assert values(run(totals, [(xs, value) for value in trace])) == expected


@given(trace=st.lists(st.integers(0, 5), max_size=10))
def test_group_by_gathers_lists_without_a_function_and_can_be_queried(trace):
    xs = Reactive("xs")
    groups = streams.group_by(xs, lambda x: x % 2)
    engine = Engine(groups)
    for value in trace:
        engine.push(xs, value)
    assert engine.query(groups) == {
        key: [value for value in trace if value % 2 == key] for key in (0, 1) if any(v % 2 == key for v in trace)
    }


def test_several_events_of_one_step_change_each_group_once_in_order():
    xs = Reactive("xs")
    groups = streams.group_by(streams.map_concat(xs, list), lambda x: x, combine=lambda n, _: n + 1, initial=0)
    engine = Engine(groups)
    assert values(engine.push(xs, "aab")) == [Update("a", 2), Update("b", 1)]
    assert values(engine.push(xs, "ba")) == [Update("b", 2), Update("a", 3)]


def test_group_by_refuses_an_initial_fold_without_a_function_and_a_key_that_is_none():
    xs = Reactive("xs")
    fails("group_by", lambda: streams.group_by(xs, "k", initial=0))
    seven: Any = 7
    fails("group_by", lambda: streams.group_by(xs, seven))
    fails("group_by", lambda: streams.group_by(xs, "k", combine=seven))


def on_text(value):
    return str(value["k"])


@given(
    trace=st.lists(st.tuples(st.sampled_from(["push", "update", "delete"]), st.integers(0, 2)), max_size=14),
    how=st.sampled_from(["inner", "left"]),
    on=st.sampled_from(["k", lambda value: value.k, on_text]),
)
def test_stream_table_join_looks_the_row_up_as_it_is_now(trace, how, on):
    xs, table = Reactive("xs"), Reactive("table", table=True)
    engine = Engine(streams.stream_table_join(xs, table, on=on, how=how))
    rows: dict[object, int] = {}
    for number, (what, k) in enumerate(trace):
        key = str(k) if on is on_text else k
        if what == "push":
            got = [(x["n"], row) for x, row in values(engine.push(xs, {"k": k, "n": number}))]
            assert got == ([(number, rows.get(key))] if how == "left" or key in rows else [])
        elif what == "update":
            rows[key] = number
            assert engine.push(table, Update(key, number)) == []
        else:
            rows.pop(key, None)
            assert engine.push(table, Delete(key)) == []
        assert engine.stats.retained == len(rows)


def test_stream_table_join_refuses_what_it_cannot_join():
    xs, table = Reactive("xs"), Reactive("table", table=True)
    fails("stream_table_join", lambda: streams.stream_table_join(xs, xs, on="k"))
    fails("stream_table_join", lambda: streams.stream_table_join(table, table, on="k"))
    fails("stream_table_join", lambda: streams.stream_table_join(xs, table, on="k", how="outer"))
    seven: Any = 7
    fails("stream_table_join", lambda: streams.stream_table_join(xs, table, on=seven))
