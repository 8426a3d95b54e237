from __future__ import annotations

import re
from datetime import timedelta

import pytest

from cartesius import Reactive, correlate, each, one_or_more, repeated, run
from cartesius.errors import InvalidArgument
from cartesius.transducers import Steps, Tracker
from restrictions import (
    affinely,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    only,
    recent,
    within,
    without,
)

a, b, c = Reactive("a"), Reactive("b"), Reactive("c")


def pairs(restrict, where=None):
    return correlate(a=a, b=b, where=where, yields=lambda a, b: (a, b), restrict=restrict)


def triples(restrict, where=None):
    return correlate(a=a, b=b, c=c, where=where, yields=lambda a, b, c: (a, b, c), restrict=restrict)


def found(tracker, trace):
    return [event.value for step in trace for event in tracker.push(*step)]


def test_strict_goes_on_with_the_very_next_event():
    tracker = Tracker(triples(in_sequence("a", "b", "c", contiguity="strict")))
    assert found(tracker, [(a, 1), (b, 2), (c, 3), (a, 4), (a, 5), (b, 6), (b, 7), (c, 8)]) == [(1, 2, 3)]
    assert tracker.transducer.states == ("a", "a b", "match", "latest end")
    assert [tracker.transducer.steps(tag) for tag in "abc"] == [Steps(2, 1, 2)] * 3


def test_an_input_may_be_bound_to_several_variables():
    rises = correlate(
        x=a,
        y=a,
        where=lambda x, y: x < y,
        yields=lambda x, y: (x, y),
        restrict=in_sequence("x", "y", contiguity="strict"),
    )
    assert found(Tracker(rises), [(a, 1), (a, 3), (a, 2), (a, 9), (a, 10)]) == [(1, 3), (2, 9), (9, 10)]


def test_recent_keeps_the_newest_and_what_came_before_it():
    tracker = Tracker(triples(most_recently("a", "b") | momentarily("c") | in_sequence("a", "b", "c")))
    assert found(tracker, [(a, 1), (b, 2), (b, 3), (c, 4), (c, 5), (a, 6), (c, 7)]) == [(1, 3, 4), (1, 3, 5)]


def test_what_takes_the_place_of_a_part_leaves_nothing_that_it_could_follow():
    recently = most_recently("x", "y") | in_sequence("x", "y", "z")
    sums = correlate(x=a, y=b, z=a, yields=lambda x, y, z: (x, y, z), restrict=recently)
    both = correlate(x=a, y=a, yields=lambda x, y: (x, y), restrict=most_recently("x") | in_sequence("x", "y"))
    for output, trace in [(both, [(a, 1), (a, 2), (a, 3)]), (sums, [(a, 1), (a, 2), (b, 3), (a, 4), (b, 5)])]:
        assert found(Tracker(output), trace) == [event.value for event in run(output, trace)]


def test_the_recent_context_of_snoop():  # SOURCES F1
    assert found(Tracker(pairs(recent("a", "b"))), [(a, "a1"), (a, "a2"), (b, "b1"), (b, "b2")]) == [
        ("a2", "b1"), ("a2", "b2"),
    ]  # fmt: skip


def test_the_first_that_fits_ends_what_has_begun_if_the_last_variable_keeps_its_events():
    bounded = pairs(most_recently("a") | in_sequence("a", "b"), lambda a, b: b > a)
    assert found(Tracker(bounded), [(a, 5), (b, 4), (b, 6), (b, 7), (a, 1), (b, 2)]) == [(5, 6), (1, 2)]


def test_past_last_follows_one_match_at_a_time():
    single = triples(in_sequence("a", "b", "c", after_match="past_last"), lambda a, b: (a < 9) & (b > 1))
    trace = [(a, 9), (a, 1), (a, 2), (b, 1), (b, 2), (a, 3), (c, 4), (b, 5), (c, 6), (a, 7), (b, 8), (c, 8)]
    assert found(Tracker(single), trace) == [(1, 2, 4), (7, 8, 8)]


def test_a_run_that_grows_keeps_what_came_before_its_first_event():
    rise = one_or_more(b, where=lambda run: len(run) == 1 or run[-1] > run[-2], contiguity="strict")
    peaks = correlate(
        a=a, rise=rise, c=c, yields=lambda rise: rise, restrict=in_sequence("a", "rise", "c", contiguity="strict")
    )
    trace = [(a, 0), (b, 3), (b, 5), (c, 0), (a, 0), (b, 4), (b, 2), (c, 0), (a, 0), (b, 1), (c, 0), (b, 2), (c, 0)]
    assert found(Tracker(peaks), trace) == [[3, 5], [1]]


def test_a_run_that_began_before_does_not_lie_between():
    rise = one_or_more(b, where=lambda run: len(run) == 1 or run[-1] > run[-2], contiguity="strict")
    strict = in_sequence("a", "rise", contiguity="strict")
    rises = correlate(a=a, rise=rise, yields=lambda a, rise: (a, rise), restrict=strict)
    trace = [(b, 0), (a, 7), (b, 1), (b, 0)]
    assert found(Tracker(rises), trace) == [event.value for event in run(rises, trace)] == [(7, [0])]


def test_runs_alone_are_given_as_they_grow():
    rises = correlate(
        rise=one_or_more(a, where=lambda run: len(run) == 1 or run[-1] > run[-2]),
        where=lambda rise: each(rise, lambda one: one > 0),
        yields=lambda rise: rise,
        restrict=most_recently("rise"),
    )
    assert found(Tracker(rises), [(a, 1), (a, 3), (a, 2), (a, 5)]) == [[1], [1, 3], [2], [2, 5]]


def test_each_key_has_registers_of_its_own_and_a_null_key_none():
    keyed = pairs(key_by(a="k", b="k") | in_sequence("a", "b", contiguity="strict"))
    tracker = Tracker(keyed)
    trace = [
        (a, {"k": 1}, 5),
        (a, {"k": 2}, 5),
        (b, {"k": None}, 6),
        (a, {"k": None}, 6),
        (b, {"k": 1}, 6),
        (b, {"k": 2}, 9),
    ]
    assert [(one.k, other.k) for one, other in found(tracker, trace)] == [(1, 1), (2, 2)]
    assert tracker.keys == 2


def test_a_variable_may_be_given_a_letter_by_a_predicate():
    rises = correlate(
        x=a, y=a, yields=lambda x, y: (x, y),
        restrict=in_sequence("x", "y", contiguity="strict") | only("x", lambda n: n < 3) | only("y", lambda n: n < 5),
    )  # fmt: skip
    tracker = Tracker(rises)
    assert found(tracker, [(a, 1), (a, 9), (a, 4), (a, 2), (a, 2)]) == [(1, 4), (2, 2)]
    assert tracker.transducer.tags == ("x", "y", "x y")


def test_durations_are_in_the_unit_that_is_given():
    near = pairs(in_sequence("a", "b", contiguity="strict") | within(timedelta(seconds=2), "a", "b"))
    tracker = Tracker(near, unit=timedelta(seconds=1))
    assert found(tracker, [(a, 1, 0), (b, 2, 2), (a, 3, 10), (b, 4, 13)]) == [(1, 2)]


def test_an_event_that_does_not_come_after_the_others_is_refused_and_changes_nothing():
    tracker = Tracker(pairs(in_sequence("a", "b", contiguity="strict")))
    tracker.push(a, 1, at=(3, 5))
    with pytest.raises(InvalidArgument, match=re.escape("but got one at 5..5 after one that ends at 5")):
        tracker.push(b, 2, at=5)
    assert found(tracker, [(b, 2, 6)]) == [(1, 2)]


def test_a_body_that_raises_changes_nothing_under_any_key():
    both = correlate(
        x=a, y=a, yields=lambda x, y: 1 / (x.n - y.n),
        restrict=key_by(x="k", y="j") | in_sequence("x", "y", contiguity="strict"),
    )  # fmt: skip
    tracker = Tracker(both)
    found(tracker, [(a, {"k": 1, "j": 2, "n": 3})])
    with pytest.raises(ZeroDivisionError):
        tracker.push(a, {"k": 7, "j": 1, "n": 3})
    assert tracker.keys == 2
    assert found(tracker, [(a, {"k": 7, "j": 1, "n": 1})]) == [0.5]


def test_memory_stays_as_it_is_where_that_of_an_engine_grows():
    output = pairs(in_sequence("a", "b", contiguity="strict"))
    tracker = Tracker(output)
    for number in range(100):
        tracker.push(a, number)
        assert tracker.keys == 1
        assert tracker._runs[()].counts.latest == Steps(2, 1, 2)
    assert len(tracker._runs[()].registers) == 3


table = Reactive("table", table=True)
UNBOUNDED = [
    (lambda: pairs(in_sequence("a", "b")), "every event of 'a' may begin a match"),
    (lambda: triples(most_recently("a") | in_sequence("a", "b", "c")), "every event of 'b' may begin a match"),
    (lambda: pairs(in_sequence("a", "b", contiguity="any")), "keep the newest (most_recently('a'))"),
    (lambda: triples(most_recently("a") | in_sequence("a", "b", "c", contiguity="strict")), "of 'a', but not of all"),
    (lambda: pairs(most_recently("a", n=2) | in_sequence("a", "b")), "keeps several events"),
    (lambda: pairs(momentarily("a") | in_sequence("a", "b")), "'a' leaves with its batch, before anything can follow"),
    (lambda: pairs(in_sequence("a", "b") | affinely("a")), "of affinely('a') it is not known how many matches"),
    (lambda: triples(in_sequence("a", "b", contiguity="strict")), "'c' is in no sequence"),
    (lambda: triples(in_sequence("a", "b") | in_sequence("b", "c")), "there are several sequences"),
    (lambda: pairs(most_recently("a", "b")), "nothing orders its slots"),
    (lambda: pairs(in_sequence("a", "b", contiguity="strict") | without(c, between=("a", "b"))), "'c' must be absent"),
    (
        lambda: pairs(in_sequence("a", "b", contiguity="strict") | key_by(a="k", b="k")),
        "in_sequence('a', 'b', contiguity='strict') is left of key_by",
    ),
    (
        lambda: pairs(key_by(a="k") | in_sequence("a", "b", contiguity="strict")),
        "its slots are not keyed in one key_by",
    ),
    (
        lambda: correlate(a=a, b=table, yields=lambda a: a, restrict=in_sequence("a", "b", contiguity="strict")),
        "'b' is bound to a table",
    ),
    (
        lambda: correlate(
            a=a, b=pairs(most_recently("a")), yields=lambda a: a, restrict=in_sequence("a", "b", contiguity="strict")
        ),
        "'b' is bound to results",
    ),
    (
        lambda: correlate(
            a=repeated(a, 2), b=b, yields=lambda b: b, restrict=most_recently("a") | in_sequence("a", "b")
        ),
        "'a' is a list of 2",
    ),
    (
        lambda: pairs(in_sequence("a", "b", after_match="past_last"), lambda a, b: a < b),
        "what fits depends on what has begun, by (a < b)",
    ),
    (lambda: pairs(in_sequence("a", "b", after_match="past_last") | within(5, "a", "b")), "may be too old"),
    (lambda: pairs(in_sequence("a", "b", after_match="to_next")), "matches under after_match='to_next'"),
    (
        lambda: pairs(in_sequence("a", "b", after_match="past_last") | most_recently("a")),
        "whose events memory does not keep",
    ),
    (
        lambda: pairs(in_sequence("a", "b", after_match="past_last"), lambda a, b: bool(a and b)),
        "it is not known which parts fit by themselves",
    ),
    (
        lambda: correlate(r=one_or_more(a, where=lambda run: len(run) < 3), yields=lambda r: r),
        "an event of 'r' may go on with any number of runs",
    ),
    (
        lambda: correlate(
            r=one_or_more(a), b=b, yields=lambda r: r, restrict=most_recently("b") | in_sequence("b", "r")
        ),
        "runs of 'r' that are over stay",
    ),
    (
        lambda: correlate(
            r=one_or_more(a), s=one_or_more(b), yields=lambda r: r, restrict=in_sequence("r", "s", contiguity="strict")
        ),
        "two variables are bound by one_or_more",
    ),
    (
        lambda: correlate(
            r=one_or_more(a), a=a, yields=lambda r: r, restrict=in_sequence("r", "a", contiguity="strict")
        ),
        "'r', bound by one_or_more, shares its events",
    ),
    (
        lambda: correlate(
            r=one_or_more(a), b=b, yields=lambda r: r,
            restrict=in_sequence("r", "b", contiguity="strict", after_match="past_last"),
        ),
        "goes on after a match",
    ),
    (
        lambda: correlate(r=one_or_more(a), yields=lambda r: r, restrict=momentarily("r") | most_recently("r")),
        "the runs of 'r' leave with their batch",
    ),
    (
        lambda: correlate(
            r=one_or_more(a), b=b, yields=lambda r: r,
            restrict=only("r", bool) | key_by(r="k", b="k") | in_sequence("r", "b", contiguity="strict"),
        ),
        "is left of key_by, so it sees the runs of 'r' as a whole",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "said"), UNBOUNDED, ids=[said for _, said in UNBOUNDED])
def test_what_is_not_bounded_is_refused_with_the_reason(make, said):
    with pytest.raises(InvalidArgument, match=re.escape(said)):
        Tracker(make())


def test_what_is_no_correlation_or_no_input_is_refused():
    with pytest.raises(InvalidArgument, match="expected what correlate returns"):
        Tracker(a)
    with pytest.raises(InvalidArgument, match="expected an input of this tracker but got Reactive"):
        Tracker(pairs(recent("a", "b"))).push(c, 1)


def test_a_tracker_leaves_the_correlation_as_it_is():
    output = pairs(recent("a", "b"))
    Tracker(output).push(a, 1)
    assert [event.value for event in run(output, [(a, 1), (b, 2)])] == [(1, 2)]
