"""Patterns: the spellings, implicit variables, self-joins, nesting, injection, names, and refused arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import attrs
import pytest

from cartesius import Engine, Reactive, correlate, restricting, run
from cartesius.errors import CartesiusError, InvalidArgument
from restrictions import affinely, aligning, cartesian, combine_latest, key_by, most_recently, retracting

WRONG: Any = 3


def values(events):
    return [event.value for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


# ------------------------------------------------------------------------------------------------ examples of SOURCES


def test_the_even_mouse_product():
    mouse = Reactive("mouse")
    output = correlate(p=mouse, where=lambda p: p[0] % 2 == 0, yields=lambda p: p[0] * p[1])
    assert values(run(output, [(mouse, (2, 5)), (mouse, (3, 7)), (mouse, (4, 1))])) == [10, 4]


def test_mouse_and_keys_meet_within_two_milliseconds():
    mouse, keys = Reactive("mouse"), Reactive("keys")
    trace = [(mouse, "p1", 10), (keys, "k1", 12), (mouse, "p2", 13), (keys, "k2", 16)]
    output = correlate(
        p=mouse,
        k=keys,
        where=lambda p, k, time_p, time_k: abs(time_p.end - time_k.end) <= 2,
        yields=lambda p, k: p + k,
    )
    assert values(run(output, trace)) == ["p1k1", "p2k1"]

    @correlate(p=mouse, k=keys)
    def direct(p, k, *, time_p, time_k):
        if abs(time_p.end - time_k.end) <= 2:
            yield p + k

    assert values(run(direct, trace)) == ["p1k1", "p2k1"]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (cartesian, ["L1R1", "L2R1", "L2R2", "L1R2"]),
        (lambda a, b: cartesian(a, b, restrict=most_recently(a, b)), ["L1R1", "L2R1", "L2R2"]),
        (lambda a, b: cartesian(a, b, restrict=most_recently(a, b) | aligning(a, b)), ["L1R1", "L2R2"]),
        (lambda a, b: cartesian(a, b, restrict=affinely(a) | most_recently(a, b)), ["L1R1", "L2R1"]),
    ],
)
def test_the_four_combinators_of_the_paper(left, right, operator, expected):
    trace = [(left, "L1"), (right, "R1"), (left, "L2"), (right, "R2")]
    assert ["".join(value) for value in values(run(operator(left, right), trace))] == expected


# ------------------------------------------------------------------------------------------------------ the spellings


def test_not_yielding_is_failing_and_several_yields_are_several_results(left):
    @correlate(x=left)
    def output(x):
        yield from range(x)

    assert values(run(output, [(left, 0), (left, 2), (left, 1)])) == [0, 1, 0]


def test_several_yields_spend_one_use(left, right):
    @correlate(x=left, y=right, restrict=affinely("x"))
    def output(x, y):
        yield x, y
        yield y, x

    engine = Engine(output)
    engine.push(left, 1)
    assert values(engine.push(right, "a")) == [(1, "a"), ("a", 1)]
    assert engine.push(right, "b") == []


def test_a_failing_where_spends_nothing(left, right):
    output = correlate(
        x=left, y=right, where=lambda x, y: x == y, yields=lambda x, y: (x, y), restrict=affinely("x", "y")
    )
    trace = [(left, 1), (left, 2), (right, 1), (right, 2)]
    assert values(run(output, trace)) == [(1, 1), (2, 2)]


def test_a_variable_order_is_slot_order_and_parameters_are_found_by_name(left, right):
    output = correlate(x=left, y=right, where=lambda y, x: x < y, yields=lambda y: y)
    assert values(run(output, [(left, 1), (right, 2), (left, 3)])) == [2]


def test_implicit_variables_are_the_times_of_the_parts(left, right):
    output = correlate(
        x=left,
        y=right,
        yields=lambda time_x, time_y: (time_x.start, time_x.end, time_y.start, time_y.end),
    )
    (event,) = run(output, [(left, 0, (1, 4)), (right, 0, 3)])
    assert event.value == (1, 4, 3, 3)
    assert (event.start, event.end) == (1, 4)


def test_the_key_of_a_table_slot_is_an_implicit_variable(left):
    from cartesius import Update

    table = Reactive("t", table=True)
    output = correlate(t=table, x=left, where=lambda x, key_t: x == key_t, yields=lambda t, key_t: (key_t, t))
    assert values(run(output, [(table, Update("a", 1)), (left, "a"), (left, "b")])) == [("a", 1)]


def test_names_that_clash_go_into_slots(left, right):
    output = correlate(
        slots={"where": left, "yields": right},
        where=lambda where, yields: where == yields,
        yields=lambda where, yields: (where, yields),
        restrict=most_recently("where"),
    )
    assert values(run(output, [(left, 1), (right, 1)])) == [(1, 1)]


@dataclass(frozen=True)
class Plain:
    a: int


@attrs.frozen
class Attrs:
    a: int


class Named(NamedTuple):
    a: int


@pytest.mark.parametrize("payload", [{"a": 7}, Plain(7), Attrs(7), Named(7)], ids=lambda p: type(p).__name__)
def test_a_field_is_an_attribute_whatever_the_payload(left, right, payload):
    output = correlate(x=left, y=right, where=lambda x, y: x.a == y.a, yields=lambda x, y: x.a + y.a)
    assert values(run(output, [(left, payload), (right, payload)])) == [14]

    @correlate(x=left, y=right)
    def direct(x, y):
        if x.a == y.a:
            yield x.a + y.a

    assert values(run(direct, [(left, payload), (right, payload)])) == [14]


def test_a_field_of_a_yielded_mapping_is_an_attribute_downstream(left, right):
    inner = correlate(x=left, yields=lambda x: {"a": x, "b": 2 * x}, name="inner")
    outer = correlate(p=inner, y=right, where=lambda p, y: p.b == y, yields=lambda p, y: p.a)
    assert values(run(outer, [(left, 3), (right, 6)])) == [3]


# -------------------------------------------------------------------------------------------------- batches, nesting


def test_a_self_join_is_one_batch(left):
    output = correlate(x=left, y=left, yields=lambda x, y: (x, y))
    engine = Engine(output)
    assert values(engine.push(left, 1)) == [(1, 1)]
    assert values(engine.push(left, 2)) == [(2, 2), (2, 1), (1, 2)]
    assert engine.stats.tuples == 4


def test_a_self_join_of_the_latest_never_mixes(left):
    output = correlate(x=left, y=left, yields=lambda x, y: (x, y), restrict=most_recently(left))
    assert values(run(output, [(left, 1), (left, 2)])) == [(1, 1), (2, 2)]


def test_a_restriction_names_a_slot_or_all_slots_of_a_reactive(left):
    by_name = correlate(x=left, y=left, yields=lambda x, y: (x, y), restrict=most_recently("x"))
    assert values(run(by_name, [(left, 1), (left, 2)])) == [(1, 1), (2, 2), (2, 1)]


def test_a_row_released_to_a_self_join_is_one_batch_with_what_passes(left):
    """x and y are held until both have the event, z is not: still one event, so one batch, in order."""
    output = correlate(
        x=left, y=left, z=left, yields=lambda x, y, z: (x, y, z), restrict=aligning("x", "y") | most_recently("z")
    )
    engine = Engine(output)
    engine.push(left, 0)
    assert values(engine.push(left, 1)) == [(1, 1, 1), (1, 0, 1), (0, 1, 1), (0, 0, 1)]


def test_a_diamond_of_streams_is_one_batch(left):
    double = correlate(x=left, yields=lambda x: 2 * x, name="double")
    square = correlate(x=left, yields=lambda x: x * x, name="square")
    both = correlate(
        d=double, s=square, x=left, yields=lambda d, s, x: (d, s, x), restrict=most_recently("d", "s", "x")
    )
    assert values(run(both, [(left, 3), (left, 4)])) == [(6, 9, 3), (8, 16, 4)]


def test_a_result_that_is_an_input_again_carries_the_hull(left, right):
    inner = combine_latest(left, right)
    outer = correlate(p=inner, x=left, yields=lambda p, x: (p, x), restrict=most_recently("p", "x"))
    events = run(outer, [(left, 1, 1), (right, "a", 5), (left, 2, 9)])
    assert [(e.value, e.start, e.end) for e in events] == [(((1, "a"), 1), 1, 5), (((2, "a"), 2), 5, 9)]


def test_several_results_of_one_step_are_one_batch_downstream(left, right):
    pairs = correlate(x=left, y=right, yields=lambda x, y: (x, y), name="pairs")
    outer = correlate(p=pairs, yields=lambda p: p, restrict=most_recently("p"))
    engine = Engine(outer)
    engine.push(left, 1)
    engine.push(left, 2)
    # (2, a) and (1, a) arrive together; only what is still present after the batch is stored is yielded.
    assert values(engine.push(right, "a")) == [(1, "a")]


def test_an_output_may_be_an_input_of_another_output(left):
    one = correlate(x=left, yields=lambda x: x + 1, name="one")
    two = correlate(x=one, yields=lambda x: x * 10, name="two")
    events = Engine(one, two).push(left, 1)
    assert sorted((event.reactive, event.value) for event in events) == [("one", 2), ("two", 20)]


def test_a_retraction_displaces_downstream_by_identity(left, right):
    latest = correlate(x=left, yields=lambda x: "same", restrict=retracting() | most_recently("x"), name="latest")
    downstream = correlate(p=latest, y=right, yields=lambda p, y: (p, y), restrict=retracting(), name="downstream")
    facts = correlate(p=latest, y=right, yields=lambda p, y: (p, y), name="facts")
    engine = Engine(downstream, facts)
    engine.push(left, 1)
    engine.push(right, "a")
    events = engine.push(left, 2)  # two equal events are two events
    assert [(e.reactive, e.value, e.weight) for e in events if e.reactive == "downstream"] == [
        ("downstream", ("same", "a"), -1),
        ("downstream", ("same", "a"), 1),
    ]
    assert [(e.value, e.weight) for e in events if e.reactive == "facts"] == [(("same", "a"), 1)]
    assert engine.stats.slots["facts", "p"] == (1, 0)


def test_a_retraction_finds_what_a_gate_holds(left, right):
    latest = correlate(x=left, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="latest")
    rows = correlate(p=latest, y=right, yields=lambda p, y: (p, y), restrict=aligning("p", "y"), name="rows")
    engine = Engine(rows)
    engine.push(left, 1)
    assert engine.stats.slots["rows", "p"] == (0, 1)
    engine.push(left, 2)
    assert engine.stats.slots["rows", "p"] == (0, 1)
    assert values(engine.push(right, "a")) == [(2, "a")]


def test_a_retraction_of_a_consumed_event_does_nothing(left, right):
    latest = correlate(x=left, yields=lambda x: x, restrict=retracting() | most_recently("x"), name="latest")
    once = correlate(p=latest, y=right, yields=lambda p, y: (p, y), restrict=affinely("p"), name="once")
    engine = Engine(once)
    engine.push(left, 1)
    assert values(engine.push(right, "a")) == [(1, "a")]
    assert values(engine.push(left, 2)) == [(2, "a")]
    assert engine.stats.slots["once", "p"] == (0, 0)


# --------------------------------------------------------------------------------------------------------- injection


def test_restricting_injects_what_restrict_would_give(left, right):
    trace = [(left, 1), (left, 2), (right, "a")]
    with restricting(most_recently("left")):
        injected = correlate(slots={"left": left, "right": right}, yields=lambda left, right: (left, right))
        given = correlate(
            slots={"left": left, "right": right}, yields=lambda left, right: (left, right), restrict=affinely("left")
        )
    after = cartesian(left, right)
    assert values(run(injected, trace)) == [(2, "a")]
    assert values(run(given, [*trace, (right, "b")])) == [(2, "a"), (1, "a")]  # what is given wins
    assert values(run(after, trace)) == [(2, "a"), (1, "a")]


def test_restricting_nests(left, right):
    with restricting(most_recently("left")):
        with restricting(affinely("left")):
            inner = cartesian(left, right)
        outer = cartesian(left, right)
    trace = [(left, 1), (left, 2), (right, "a"), (right, "b")]
    assert values(run(inner, trace)) == [(2, "a"), (1, "a")]
    assert values(run(outer, trace)) == [(2, "a"), (2, "b")]


def test_restricting_holds_for_direct_style_too(left, right):
    with restricting(most_recently("x")):

        @correlate(x=left, y=right)
        def output(x, y):
            yield x, y

    assert values(run(output, [(left, 1), (left, 2), (right, "a")])) == [(2, "a")]


# ------------------------------------------------------------------------------------------------------------- names


def test_derived_names_are_deterministic(left, right):
    def make():
        return correlate(x=left, y=right, yields=lambda x, y: x).name

    assert make() == make()
    assert cartesian(left, right).name == "cartesian(left, right)"


def test_a_direct_body_or_a_given_name_names_the_output(left):
    @correlate(x=left)
    def doubled(x):
        yield 2 * x

    assert "doubled" in doubled.name
    assert correlate(x=left, yields=lambda x: x, name="mine").name == "mine"


# ----------------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda r: correlate(yields=lambda: 1), "variable"),
        (lambda r: correlate(x=WRONG, yields=lambda x: x), "x"),
        (lambda r: correlate(x=r, yields=lambda z: z), "z"),
        (lambda r: correlate(x=r, yields=lambda x, k=1: (x, k)), "got 'k'.*; no default is used: bind it by a closure"),
        (lambda r: correlate(x=r, where=lambda y: y, yields=lambda x: x), "y"),
        (lambda r: correlate(x=r, yields=lambda x, time_y: x), "time_y"),
        (lambda r: correlate(x=r, yields=abs), "yields to have parameters that are named as slots but <built-in"),
        (lambda r: correlate(x=r, yields=str), "but <class 'str'> does not tell its parameters; write lambda x: …"),
        (lambda r: correlate(x=r, where=lambda x, /: x, yields=lambda x: x), "where to have parameters that are named"),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=most_recently("y")), "y"),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=most_recently(Reactive("other"))), "other"),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=cast("Any", most_recently)), "most_recently"),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=WRONG), "restrict"),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=aligning("x")), "aligning"),
        (lambda r: correlate(x=r, y=r, yields=lambda x: x, restrict=aligning("x", "x")), "aligning"),
        (lambda r: correlate(x=r, y=r, z=r, yields=lambda x: x, restrict=aligning("x", "y") | aligning("y", "z")), "y"),
        (lambda r: correlate(x=r, y=r, yields=lambda x: x, restrict=key_by(x="a") | aligning("x", "y")), "aligning"),
        (
            lambda r: correlate(
                x=r, y=r, yields=lambda x: x, restrict=key_by(x="a") | key_by(y="a") | aligning("x", "y")
            ),
            "aligning",
        ),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=retracting() | affinely("x")), "affinely"),
        (lambda r: correlate(x=r, yields=lambda x: x, restrict=affinely("x") | retracting()), "affinely"),
        (lambda r: Reactive(""), "name"),
        (lambda r: Reactive(WRONG), "name"),
    ],
)
def test_what_does_not_fit_is_refused_when_it_is_built(make, match):
    with pytest.raises(InvalidArgument, match=match) as caught:
        Engine(make(Reactive("in")))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, CartesiusError)


def test_an_aligning_over_slots_that_share_their_spaces_is_accepted(left, right):
    output = cartesian(left, right, restrict=key_by(left="k", right="k") | aligning("left", "right"))
    Engine(output)


def test_an_aligning_left_of_a_key_by_is_common_to_all_keys(left, right):
    output = cartesian(left, right, restrict=aligning("left", "right") | key_by(left=lambda v: v))
    assert values(run(output, [(left, 1), (right, "a")])) == [(1, "a")]


def test_a_close_name_is_suggested(left):
    with pytest.raises(InvalidArgument, match="vessel"):
        Engine(correlate(vessel=left, yields=lambda vessel: vessel, restrict=most_recently("vesel")))
