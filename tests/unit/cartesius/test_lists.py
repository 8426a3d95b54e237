"""Variables that are bound to lists: what bodies see, what restrictions concern, what is enumerated and refused."""

from __future__ import annotations

from datetime import timedelta
from math import comb
from typing import Any

import pytest

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Update,
    correlate,
    each,
    one_or_more,
    repeated,
    restricting,
    run,
    successive,
)
from cartesius.data.events import Interval
from cartesius.errors import InvalidArgument, SnapshotMismatch
from restrictions import (
    affinely,
    as_table,
    at_most,
    cartesian,
    fifo,
    first_match,
    in_sequence,
    key_by,
    most_recently,
    only,
    optionally,
    retracting,
    separately,
    sliding,
    take,
    tumbling,
    versioned,
    within,
    without,
)
from restrictions.gates.row_gates import upserting
from restrictions.windows import accumulated

x, y = Reactive("x"), Reactive("y")
table = Reactive("table", table=True)


def values(events):
    return [event.value for event in events]


def lists(n, **options):
    return correlate(xs=repeated(x, n), yields=lambda xs: xs, **options)


def pushed(engine, *items, into=x):
    return [event for item in items for event in engine.push(into, item)]


# ------------------------------------------------------------------------------------------------ what `repeated` binds


def test_a_variable_is_a_list_of_n_payloads_in_order_of_arrival():
    assert values(run(lists(3), [(x, "a"), (x, "b"), (x, "c")])) == [["a", "b", "c"]]
    assert values(run(lists(1), [(x, "a"), (x, "b")])) == [["a"], ["b"]]


def test_order_of_arrival_is_not_order_in_time():
    assert values(run(lists(2), [(x, "late", 9), (x, "early", 1)])) == [["late", "early"]]


def test_its_time_is_the_hull_and_its_key_that_of_each_event():
    @correlate(xs=repeated(x, 2), restrict=key_by(xs=lambda value: value[0]))
    def seen(xs, *, time_xs, key_xs):
        yield xs, time_xs, key_xs

    (event,) = run(seen, [(x, "a1", (7, 9)), (x, "b1", 1), (x, "a2", (2, 3))])
    assert event.value == (["a1", "a2"], Interval(2, 9), "a")
    assert (event.start, event.end) == (2, 9)


def test_positions_come_as_slots_do_the_first_outermost_and_the_newest_first():
    engine = Engine(correlate(y=y, xs=repeated(x, 2), yields=lambda y, xs: "".join(xs)))
    pushed(engine, "1", "2", "3", "4")
    assert values(engine.push(y, None)) == ["34", "24", "23", "14", "13", "12"]
    oldest = Engine(correlate(y=y, xs=repeated(x, 2), yields=lambda y, xs: "".join(xs), restrict=fifo()))
    pushed(oldest, "1", "2", "3", "4")
    assert values(oldest.push(y, None)) == ["12", "13", "14", "23", "24", "34"]


def test_an_event_is_stored_and_counted_once():
    engine = Engine(lists(3))
    pushed(engine, *range(5))
    assert engine.stats.retained == 5
    assert engine.stats.slots == {("correlate(x)", "xs"): (5, 0)}


def test_each_choice_is_a_result_with_an_identity_of_its_own():
    events = run(lists(2), [(x, number) for number in range(6)])
    assert len({event.identity for event in events}) == len(events) == comb(6, 2)


def test_a_list_may_be_bound_through_slots_and_by_the_implicit_restriction():
    with restricting(affinely(x)):
        pairs = correlate(slots={"where": repeated(x, 2)}, yields=lambda where: where)
    assert values(run(pairs, [(x, number) for number in range(5)])) == [[0, 1], [2, 3]]


def test_two_variables_may_list_the_same_source():
    both = correlate(a=repeated(x, 2), b=repeated(x, 1), yields=lambda a, b: (a, b))
    engine = Engine(both)
    assert values(pushed(engine, 1)) == []
    assert values(pushed(engine, 2)) == [([1, 2], [2]), ([1, 2], [1])]


# -------------------------------------------------------------------------------------- restrictions concern the events


def test_affinely_spends_each_event_of_a_list():
    assert values(run(lists(2, restrict=affinely("xs")), [(x, number) for number in range(5)])) == [[0, 1], [2, 3]]


def test_at_most_spends_one_use_of_each_event_of_a_list():
    found = values(run(lists(2, restrict=at_most(2, "xs")), [(x, number) for number in range(4)]))
    assert found == [[0, 1], [1, 2], [0, 2]]


def test_most_recently_keeps_so_many_events_from_which_lists_are_chosen():
    found = values(run(lists(2, restrict=most_recently("xs", n=3)), [(x, number) for number in range(5)]))
    assert found[-2:] == [[3, 4], [2, 4]]
    assert run(lists(2, restrict=most_recently("xs")), [(x, number) for number in range(5)]) == []


def test_the_events_of_a_list_meet_under_equal_keys_only():
    keyed = lists(2, restrict=key_by(xs="k"))
    trace = [(x, {"k": k, "n": n}) for n, k in enumerate(["a", "b", None, "a", None, "b"])]
    assert [[one.n for one in value] for value in values(run(keyed, trace))] == [[0, 3], [1, 5]]


def test_what_takes_an_event_back_takes_back_each_choice_with_it():
    rows = correlate(t=table, yields=lambda t: t, restrict=retracting())
    engine = Engine(correlate(xs=repeated(rows, 2), yields=lambda xs: xs, restrict=retracting()))
    pushed(engine, *(Update(key, key) for key in "abc"), into=table)
    taken = engine.push(table, Delete("b"))
    assert sorted((event.value, event.weight) for event in taken) == [(["a", "b"], -1), (["b", "c"], -1)]


def test_a_table_keyed_by_another_part_shows_the_first_list():
    first = correlate(y=table, xs=repeated(x, 2), yields=lambda y, xs: (y, *xs), restrict=as_table("y") | retracting())
    engine = Engine(first)
    engine.push(table, Update("k", "row"))
    pushed(engine, 1, 2, 3)
    assert engine.query(first) == {"k": ("row", 2, 3)}
    assert values(engine.push(table, Update("k", "new"))) == [Update("k", ("new", 2, 3))]


# --------------------------------------------------------------------------------------------------- what is enumerated


def test_a_list_is_never_made_twice_nor_in_another_order():
    engine = Engine(lists(4))
    pushed(engine, *range(9))
    assert engine.stats.tuples == comb(9, 4)


@pytest.mark.parametrize("is_list_first", [False, True])
@pytest.mark.parametrize(
    "restrict", [first_match(), affinely("xs"), affinely("y"), first_match() | affinely("xs", "y")]
)
def test_what_is_chosen_or_used_up_ends_the_enumeration(is_list_first, restrict):
    bound: dict[str, Any] = {"y": y, "xs": repeated(x, 5)}
    slots = dict(reversed(bound.items())) if is_list_first else bound
    engine = Engine(correlate(slots=slots, yields=lambda xs: (sum(xs),), restrict=restrict))
    pushed(engine, *range(200))  # there are 2.5 milliards of choices of 5 of these
    events = engine.push(y, None)
    assert events[0].value == (195 + 196 + 197 + 198 + 199,)
    assert engine.stats.tuples == len(events) <= 40


def test_without_a_partner_no_list_is_made():
    engine = Engine(correlate(xs=repeated(x, 6), y=y, yields=lambda xs: xs))
    pushed(engine, *range(60))
    assert engine.stats.visited == 0


RELEASED: dict[str, Any] = {
    "release": Reactive("release"),
    "reviews": repeated(Reactive("review"), 3),
}


def reviewed(where):
    return correlate(slots=RELEASED, where=where, yields=lambda release, reviews: (release, reviews[-1].n))


@pytest.mark.parametrize("fails", [{"model": "N", "rating": 5}, {"model": "M", "rating": 1}])
def test_what_fails_by_an_index_is_not_visited(fails):
    def visits(failing):
        output = reviewed(lambda release, reviews: each(reviews, lambda r: (r.model == release) & (r.rating >= 3.5)))
        engine = Engine(output)
        release, review = engine.inputs["release"], engine.inputs["review"]
        engine.push(release, "M")
        for number in range(failing):
            assert engine.push(review, {**fails, "n": number}) == []
        before = engine.stats.visited
        found = [event for n in range(4) for event in engine.push(review, {"model": "M", "rating": 4, "n": n})]
        assert len(found) == comb(4, 3) == engine.stats.tuples
        return engine.stats.visited - before

    assert visits(0) == visits(10) == visits(200)


def test_conditions_on_neighbours_and_items_are_checked_before_a_list_is_complete():
    rising = lists(4, where=lambda xs: successive(xs, lambda a, b: a < b) & (xs[0] == 0) & (xs[-2] > 1))
    engine = Engine(rising)
    found = values(pushed(engine, 3, 0, 2, 1, 2, 3, 4))
    assert sorted(found) == [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4], [0, 2, 3, 4]]
    assert engine.stats.tuples == len(found)


def test_a_condition_that_does_not_trace_is_asked_of_complete_lists():
    engine = Engine(lists(2, where=lambda xs: all(one > 1 for one in xs)))
    assert values(pushed(engine, 0, 2, 1, 3)) == [[2, 3]]
    assert engine.stats.tuples == comb(4, 2)


# -------------------------------------------------------------------------------------------------------------- tracing


def explained(where):
    return Engine(reviewed(where)).explain()


def test_what_each_event_must_equal_is_an_index():
    text = explained(lambda release, reviews: each(reviews, lambda r: (r.model == release.model) & (r.rating > 3)))
    assert "index         reviews and release by reviews.model == release.model" in text
    assert "runs as written:" not in text
    assert "slot reviews   review 3 times: memory unbounded" in text
    assert "partitioning  by release.model == review.model" in text
    assert "order         arrival order, relied on by the lists of reviews" in text


def test_what_is_said_of_one_position_or_of_the_whole_list_is_no_index():
    text = explained(lambda release, reviews, time_reviews: (reviews[0].n == release) & (time_reviews.end == release))
    assert "index" not in text
    assert "runs as written:" not in text


def test_iteration_does_not_trace():
    assert "as written    where runs as written" in explained(lambda release, reviews: all(r.n for r in reviews))
    assert "as written    where runs as written" in explained(lambda release, reviews: len(reviews) == 3)


with_default: Any = lambda r, least=3: r.rating > least  # noqa: E731 - a lambda with a default is what is tested


def wanted(r: Any) -> bool:
    return r.rating > 3


@pytest.mark.parametrize(
    "where",
    [
        lambda release, reviews: each(reviews, wanted),
        lambda release, reviews: each(reviews, lambda r: r.rating > 3 and r.rating < 9),
        lambda release, reviews: each(reviews, lambda r: 3 < r.rating < 9),
        lambda release, reviews: each(reviews, with_default),
    ],
)
def test_a_condition_of_each_that_does_not_trace_runs_as_written(where):
    assert "as written    where runs as written" in explained(where)
    engine = Engine(reviewed(where))
    engine.push(engine.inputs["release"], "M")
    found = pushed(engine, *({"rating": 3 + n % 2, "n": n} for n in range(7)), into=engine.inputs["review"])
    assert values(found) == [("M", 5)]


def test_a_condition_may_ask_for_each_pair_of_two_lists():
    pairs = correlate(
        a=repeated(x, 2),
        b=repeated(y, 2),
        where=lambda a, b: each(a, lambda left: each(b, lambda right: left < right)),
        yields=lambda a, b: (a, b),
    )
    assert "runs as written:" not in Engine(pairs).explain()
    trace = [(x, 1), (x, 5), (y, 4), (y, 6), (x, 3), (y, 7)]
    assert values(run(pairs, trace)) == [
        ([1, 3], [4, 6]), ([5, 3], [6, 7]), ([1, 3], [6, 7]), ([1, 3], [4, 7]), ([1, 5], [6, 7])
    ]  # fmt: skip


def test_a_function_that_a_body_makes_is_no_value_that_traces():
    made = correlate(x=x, yields=lambda x: lambda: x)
    assert "a function as a value" in Engine(made).explain()
    (event,) = run(made, [(x, 7)])
    assert event.value() == 7


def test_each_and_successive_look_at_plain_lists_and_at_lists_in_payloads():
    assert each([], bool)
    assert successive([1], lambda a, b: False)
    assert each([1, 2], lambda one: one > 0)
    assert not each([1, 2], lambda one: one > 1)
    inside = correlate(x=x, where=lambda x: each(x.sizes, lambda size: size > x.least), yields=lambda x: x.least)
    assert "runs as written:" not in Engine(inside).explain()
    trace = [(x, {"sizes": [3, 4], "least": least}) for least in (2, 3)]
    assert values(run(inside, trace)) == [2]


# ------------------------------------------------------------------------------------ failures, snapshots, explanations


def test_a_condition_that_fails_with_an_error_fails_the_push_and_changes_nothing():
    ratings = Engine(lists(2, where=lambda xs: each(xs, lambda one: one.rating > 3)))
    pushed(ratings, {"rating": 4})
    with pytest.raises(TypeError, match="not supported between instances of 'str' and 'int'"):
        ratings.push(x, {"rating": "high"})
    assert ratings.stats.retained == 1
    assert len(pushed(ratings, {"rating": 5})) == 1


def test_a_body_that_fails_leaves_the_uses_of_a_list_as_they_were():
    engine = Engine(lists(2, where=lambda xs: successive(xs, lambda a, b: a / b > 0), restrict=affinely("xs")))
    pushed(engine, 1)
    with pytest.raises(ZeroDivisionError):
        engine.push(x, 0)
    assert values(pushed(engine, 2, 3)) == [[1, 2]]


def test_a_snapshot_belongs_to_the_same_count_and_the_same_runs():
    blob = Engine(lists(2, name="lists")).snapshot()
    Engine.restore(blob, lists(2, name="lists"))
    with pytest.raises(SnapshotMismatch):
        Engine.restore(blob, lists(3, name="lists"))

    def runs(**options):
        return correlate(xs=one_or_more(x, **options), yields=lambda xs: xs, name="runs")

    blob = Engine(runs(within=5)).snapshot()
    Engine.restore(blob, runs(within=5))
    for other in ({}, {"within": 6}, {"within": 5, "contiguity": "strict"}, {"within": 5, "where": lambda run: True}):
        with pytest.raises(SnapshotMismatch):
            Engine.restore(blob, runs(**other))


def test_why_names_each_event_of_a_list():
    engine = Engine(lists(2), trace=True)
    (event,) = pushed(engine, "a", "b")
    assert engine.why(event).splitlines()[1:3] == ["  xs = x 'a' @ 1", "  xs = x 'b' @ 2"]


def test_why_names_each_event_of_a_run():
    engine = Engine(correlate(xs=one_or_more(x), yields=lambda xs: (len(xs),)), trace=True)
    first, second = pushed(engine, "a", "b")
    shown = [line.strip() for line in engine.why(second).splitlines() if "=" in line]
    assert shown == ["xs = x ['a', 'b'] @ 1..2", "xs = x 'a' @ 1", "xs = x 'b' @ 2"]
    assert "became: x ['a', 'b'] @ 1..2" in engine.why(engine.pushed[0])
    assert "left xs: displaced by extending('xs')" in engine.why(first)  # by the longer run
    assert len(engine.why(first).splitlines()) == 5


# ---------------------------------------------------------------------------------------------------------- one or more


def runs(where=None, *, restrict=None, contiguity="relaxed", longest=None):
    bound = one_or_more(x, where=where, contiguity=contiguity, within=longest)
    return correlate(y=y, xs=bound, yields=lambda xs: xs, restrict=restrict)


def rises(run):
    return len(run) == 1 or run[-1] > run[-2]


def after(output, *items):
    """Push items into x, each one later, and return what an event of y meets then."""
    engine = Engine(output)
    for item in items:
        engine.push(x, item)
    return values(engine.push(y, None))


def test_a_run_takes_the_place_of_its_shorter_self():
    assert after(runs(), 1, 2, 3) == [[1, 2, 3]]
    whole = correlate(xs=one_or_more(x), yields=lambda xs: xs)
    assert values(run(whole, [(x, 1), (x, 2)])) == [[1], [1, 2]]
    taken = run(correlate(xs=one_or_more(x), yields=lambda xs: xs, restrict=retracting()), [(x, 1), (x, 2)])
    assert [(event.value, event.weight) for event in taken] == [([1], 1), ([1], -1), ([1, 2], 1)]


def test_an_event_extends_every_run_that_it_extends_validly_or_else_begins_one():
    assert after(runs(rises), 3, 1, 4) == [[1, 4], [3, 4]]
    assert after(runs(rises), 3, 1, 2) == [[1, 2], [3]]


def test_an_event_that_makes_no_valid_run_is_skipped():
    assert after(runs(lambda run: run[0] > 0), 0, 1, 0) == [[1, 0]]


def test_strict_contiguity_ends_what_an_event_does_not_extend():
    assert after(runs(rises, contiguity="strict"), 3, 1, 4) == [[1, 4], [3]]
    assert after(runs(lambda run: 0 not in run, contiguity="strict"), 1, 0, 2, 3) == [[2, 3], [1]]


def test_within_an_event_too_far_from_the_first_begins_a_new_run():
    assert after(runs(longest=2), 1, 2, 3, 4, 5) == [[4, 5], [1, 2, 3]]
    assert after(runs(longest=timedelta(microseconds=1)), 1, 2, 3) == [[3], [1, 2]]


def test_the_time_of_a_run_is_its_hull():
    (_, event) = run(correlate(xs=one_or_more(x), yields=lambda xs, time_xs: time_xs), [(x, 1, 5), (x, 2, 3)])
    assert event.value == Interval(3, 5)


def test_a_run_is_used_up_as_a_whole_and_the_next_event_begins_a_new_one():
    engine = Engine(runs(restrict=affinely("xs", "y")))
    pushed(engine, 1, 2)
    assert values(engine.push(y, None)) == [[1, 2]]
    assert engine.stats.retained == 0
    pushed(engine, 3)
    assert values(engine.push(y, None)) == [[3]]


def test_a_run_that_grows_keeps_the_uses_that_it_has_left():
    engine = Engine(runs(restrict=at_most(2, "xs") | affinely("y")))
    pushed(engine, 1)
    assert values(engine.push(y, None)) == [[1]]
    pushed(engine, 2)
    assert values(engine.push(y, None)) == [[1, 2]]
    pushed(engine, 3)
    assert values(engine.push(y, None)) == [[3]]


def test_runs_are_kept_a_key():
    keyed = runs(restrict=key_by(xs=lambda value: value[0]))
    assert after(keyed, "a1", "b1", "a2", "b2") == [["b1", "b2"], ["a1", "a2"]]
    assert "key_by(xs=lambda value: value[0]) | extending('xs')" in Engine(keyed).explain()


def test_gates_see_single_events_and_what_handles_stored_entries_sees_runs():
    assert after(runs(restrict=only("xs", lambda value: value % 2 == 0)), 1, 2, 3, 4) == [[2, 4]]
    assert after(runs(restrict=take(2, "xs")), 1, 2, 3) == [[1, 2]]
    assert after(runs(rises, restrict=most_recently("xs")), 3, 1, 4) == [[1, 4]]


def test_a_run_expires_with_its_first_event():
    engine = Engine(runs(restrict=within(5, "xs", "y")))
    engine.push(x, 1, at=1)
    engine.push(x, 2, at=4)
    engine.advance(7)
    assert engine.stats.retained == 0
    engine.push(x, 3, at=8)
    assert values(engine.push(y, None, at=9)) == [[3]]


def test_a_run_may_be_missing():
    missing = runs(restrict=optionally("xs") | retracting())
    events = run(missing, [(y, None), (x, 1), (x, 2)])
    assert [(event.value, event.weight) for event in events] == [
        (None, 1), (None, -1), ([1], 1), ([1], -1), ([1, 2], 1)
    ]  # fmt: skip


def test_what_takes_an_event_back_takes_back_the_runs_that_have_it():
    rows = correlate(t=table, yields=lambda t: t, restrict=retracting())
    bound = one_or_more(rows, where=rises)
    engine = Engine(correlate(xs=bound, yields=lambda xs: xs, restrict=retracting()))
    pushed(engine, *(Update(value, value) for value in (3, 1, 4)), into=table)
    taken = engine.push(table, Delete(1))
    assert [(event.value, event.weight) for event in taken] == [([1, 4], -1)]
    assert engine.stats.retained == 3  # two rows, and the run [3, 4]


def test_equalities_on_the_items_of_a_run_are_indexes():
    joined = correlate(
        xs=one_or_more(x), y=y, where=lambda xs, y: (xs[0].k == y) & each(xs, lambda one: one.k > 0), yields=lambda y: y
    )
    assert "index         xs and y by getitem(xs, 0).k == y" in Engine(joined).explain()
    assert values(run(joined, [(x, {"k": 1}), (y, 2), (y, 1), (x, {"k": 0})])) == [1]


def test_explain_says_that_a_variable_is_a_run():
    assert "slot xs        x one or more times: memory" in Engine(runs()).explain()


# ----------------------------------------------------------------------------------------------------------- sequences


@pytest.mark.parametrize("is_list_first", [False, True])
@pytest.mark.parametrize("names", [("y", "xs"), ("xs", "y")])
def test_all_events_of_a_list_are_in_sequence_with_the_others(names, is_list_first):
    bound: dict[str, Any] = {"y": y, "xs": repeated(x, 2)}
    output = correlate(
        slots=dict(reversed(bound.items())) if is_list_first else bound,
        yields=lambda xs, y: (xs, y),
        restrict=in_sequence(*names, contiguity="any"),
    )
    trace = [(x, 1), (x, 2), (y, 3), (x, 4), (x, 5), (y, 6)]
    before = {(1, 2, 3), *((a, b, 6) for a, b in [(1, 2), (1, 4), (1, 5), (2, 4), (2, 5), (4, 5)])}
    found = [(*xs, one) for xs, one in values(run(output, trace))]
    assert set(found) == (before if names == ("xs", "y") else {(4, 5, 3)})
    assert len(set(found)) == len(found)


def test_what_follows_a_list_is_the_next_after_its_last():
    output = correlate(xs=repeated(x, 2), y=y, yields=lambda xs, y: (xs, y), restrict=in_sequence("xs", "y"))
    trace = [(x, 1), (x, 2), (y, 3), (x, 4), (y, 5)]
    assert values(run(output, trace)) == [([1, 2], 3), ([2, 4], 5), ([1, 4], 5)]


# ------------------------------------------------------------------------------------------------------------ windows


def test_the_events_of_a_list_are_in_one_window():
    pairs = correlate(
        xs=repeated(x, 2), yields=lambda xs, window, time_xs: (window.start, xs, time_xs.end), restrict=sliding(4, 2)
    )
    trace = [(x, "a", 1), (x, "b", 3), (x, "c", 4)]
    assert values(run(pairs, trace)) == [(0, ["a", "b"], 3), (2, ["b", "c"], 4)]
    each_once = correlate(xs=repeated(x, 2), yields=lambda xs: xs, restrict=sliding(4, 2) | affinely("xs"))
    assert values(run(each_once, [*trace, (x, "d", 5)])) == [["a", "b"], ["b", "c"], ["c", "d"]]


def test_a_list_goes_on_in_its_window_after_a_restore():
    pairs = correlate(xs=repeated(x, 2), yields=lambda xs, window: (window.start, xs), restrict=sliding(4, 2))
    engine = Engine(pairs)
    engine.push(x, "a", at=2)
    engine = Engine.restore(engine.snapshot(), pairs)
    assert values(engine.push(x, "b", at=3)) == [(0, ["a", "b"]), (2, ["a", "b"])]
    engine.advance(10)
    assert engine.stats.retained == 0


def test_runs_are_of_one_window():
    restrict = key_by(xs=lambda value: value[0]) | sliding(4, 2) | retracting()
    grown = correlate(xs=one_or_more(x), yields=lambda xs, window: (window.start, xs), restrict=restrict)
    events = run(grown, [(x, "a1", 2), (x, "b1", 2), (x, "a2", 4), (x, "a3", 5)])
    assert [event.value for event in events if event.weight > 0] == [
        (0, ["a1"]), (2, ["a1"]), (0, ["b1"]), (2, ["b1"]), (2, ["a1", "a2"]), (4, ["a2"]), (2, ["a1", "a2", "a3"]),
        (4, ["a2", "a3"]),
    ]  # fmt: skip


def test_why_names_each_event_of_a_run_in_a_window():
    engine = Engine(correlate(xs=one_or_more(x), yields=lambda xs: (len(xs),), restrict=tumbling(9)), trace=True)
    (_, second) = pushed(engine, "a", "b")
    shown = [line.strip() for line in engine.why(second).splitlines() if "=" in line]
    assert shown == ["xs = x ['a', 'b'] @ 1..2", "xs = x 'a' @ 1", "xs = x 'b' @ 2"]


# ------------------------------------------------------------------------------------------------------------- refusals


WRONG: Any = 3
FLOAT: Any = 1.5
TEXT: Any = "5"
LIST: Any = repeated(x, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: repeated(x, 0), r"^repeated: expected a count, an int ≥ 1, but got n=0 \(type=int\)$"),
        (lambda: repeated(x, True), r"^repeated: expected a count, an int ≥ 1, but got n=True \(type=bool\)$"),
        (lambda: repeated(x, TEXT), r"^repeated: expected a count, an int ≥ 1, but got n='5' \(type=str\)$"),
        (lambda: repeated(TEXT, 5), r"^repeated: expected a Reactive but got source='5' \(type=str\)$"),
        (lambda: repeated(table, 5), r"^repeated: expected a stream but Reactive\('table'\) is a table, whose"),
        (lambda: one_or_more(table), r"^one_or_more: expected a stream but Reactive\('table'\) is a table"),
        (lambda: one_or_more(x, where=WRONG), r"^one_or_more: expected a function of the run so far but got where=3 "),
        (lambda: one_or_more(x, contiguity="any"), r"^one_or_more: expected 'relaxed' or 'strict' but got contiguity"),
        (lambda: one_or_more(x, within=-1), r"^one_or_more: expected a duration ≥ 0, .* but got within=-1"),
        (lambda: one_or_more(x, within=timedelta(-1)), r"^one_or_more: expected a duration ≥ 0, .*within=datetime"),
        (lambda: one_or_more(x, within=FLOAT), r"^one_or_more: expected a duration ≥ 0, .* but got within=1.5"),
        (lambda: each([1], WRONG), r"^each: expected a function but got condition=3 \(type=int\)$"),
        (lambda: successive([1], WRONG), r"^successive: expected a function but got condition=3 \(type=int\)$"),
        (lambda: Engine(LIST), r"^Engine: .*got output=Repeated\(.*; it binds a variable of correlate: "),
        (lambda: cartesian(LIST), r"^cartesian: expected a Reactive but got .*; it binds a variable of corr"),
        (
            lambda: lists(2, restrict=retracting() | optionally("xs")),
            r"^repeated: expected parts of which none may be missing beside 'xs' but optionally lets some be; leave",
        ),
        (
            lambda: correlate(y=y, xs=repeated(x, 2), yields=lambda xs: xs, restrict=optionally("y") | retracting()),
            r"^repeated: expected parts of which none may be missing beside 'xs' but optionally lets some be",
        ),
        (
            lambda: lists(2, restrict=versioned("xs")),
            r"^repeated: expected events that are there or not beside 'xs' but versioned gives them a time",
        ),
        (
            lambda: correlate(xs=one_or_more(x), yields=lambda xs: xs, restrict=versioned("xs")),
            r"^one_or_more: expected no versions beside 'xs': a run grows in order of arrival; leave versioned out$",
        ),
        (
            lambda: lists(2, restrict=tumbling(9, content=accumulated(0, max, show=str))),
            r"^repeated: expected events as they are beside 'xs' but the content of the windows shows them otherwise",
        ),
        (
            lambda: correlate(
                xs=one_or_more(x), yields=lambda xs: xs, restrict=tumbling(9, content=accumulated(0, max))
            ),
            r"^one_or_more: expected events as they are beside 'xs' but accumulated\(0, max\) keeps one value of all",
        ),
        (
            lambda: correlate(y=y, xs=repeated(x, 2), yields=lambda xs: xs, restrict=in_sequence("y", "xs")),
            r"^in_sequence\('y', 'xs'\): expected contiguity='any' where 'xs', a list of several events, follows",
        ),
        (
            lambda: lists(2, restrict=separately()),
            r"^repeated: expected parts that meet, as those of a list do, beside 'xs' but separately keeps them apart",
        ),
        (
            lambda: lists(2, restrict=key_by(xs="k") | as_table("xs")),
            r"^as_table\('xs'\): expected a slot of which a result has one event but 'xs' is repeated; use a func",
        ),
        (
            lambda: lists(2, restrict=upserting("xs", key="k")),
            r"^repeated: expected a stream but a restriction makes rows of the events of 'xs'$",
        ),
        (
            lambda: correlate(xs=one_or_more(x), yields=lambda xs: xs, restrict=upserting("xs", key="k")),
            r"^one_or_more: expected a stream but a restriction makes rows of the events of 'xs'$",
        ),
    ],
)  # fmt: skip
def test_a_wrong_use_is_refused_with_its_remedy(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()


@pytest.mark.parametrize("tier", ["reference", "in_place"])
def test_rows_with_lists_that_wait_come_in_the_same_order_from_a_snapshot(tier):
    """A list that waits in `without` is stored as the events that it binds, which say in which order its rows come."""
    first, second = Reactive("first"), Reactive("second")

    def rows():
        return correlate(
            a=first,
            b=repeated(second, 2),
            where=lambda b: successive(b, lambda one, other: one < other),
            yields=lambda a, b: (a, list(b)),
            restrict=without(first, after="a", within=1),
        )

    found = []
    for is_restored in (False, True):
        engine = Engine(rows(), tier=tier)
        for value, at in ((8, (3, 6)), (13, (7, 8)), (14, (6, 9)), (16, (8, 11))):
            engine.push(second, value, at=at)
        engine.push(first, 17, at=11)
        if is_restored:
            engine = Engine.restore(engine.snapshot(), rows(), tier=tier)
        found.append([(event.value, event.start, event.identity) for event in engine.close()])
    assert found[0] == found[1]
    assert len(found[0]) == 6
