"""The stream operators, by example; `tests/oracle/test_streams.py` compares them with RxPY."""

from __future__ import annotations

import pytest

from cartesius import Engine, Reactive, run
from restrictions import streams
from tests.unit.restrictions.stream_examples import both, double, is_even, ones, total, values


@pytest.fixture
def zs():
    return Reactive("zs")


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
