"""Operators made from the templates depend on nothing that their input does not have; those of E2's violations do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Engine,
    Reactive,
    Reliance,
    Restriction,
    Slot,
    correlate,
    forward,
    handles,
    ordered,
    state,
    unordered,
)
from cartesius.errors import InvalidArgument, OrderMismatch
from cartesius.language.families import arrive
from cartesius.plan import Opaque
from cartesius.testing import streams_equivalent
from restrictions import by_arrival, fifo, key_by, momentarily
from restrictions.operators import BAG, Keyed, in_order_per_key, operate, per_item, unordered_per_key
from restrictions.streams import map_
from restrictions.tables import Monoid, count, sum_
from tests.laws.order_programs import is_same, outputs, shuffled

free, per_key = Reactive("free", order=unordered()), Reactive("per_key", order=ordered("key"))


class doubled(per_item):
    def on_item(self, key, value):
        yield Keyed(key, 2 * value)
        yield Keyed("all", value)

    def on_marker(self, marker):
        yield Keyed("marker", marker)


class running(in_order_per_key):
    def initial(self):
        return ()

    def on_item(self, state, key, value):
        return (*state, value), [(*state, value)]

    def on_marker(self, state, key, marker):
        return (), [(*state, marker)]


class sorting(unordered_per_key):
    monoid = BAG

    def on_marker(self, state, key, marker):
        return state


class summing(unordered_per_key):
    monoid = sum_

    def initial(self):
        return 0

    def update(self, state, total):
        return state + sum_.finish(total)

    def on_item(self, state, key, value):
        yield value, "since", state

    def on_marker(self, state, key, marker):
        yield state


def run(output, trace):
    return [[event.value for event in segment] for segment in outputs(output, trace)]


def items(source):
    one = st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 9))
    spans = st.lists(st.lists(one, max_size=4), max_size=3)
    return spans.map(
        lambda spans: [
            item
            for number, span in enumerate(spans)
            for item in [*((source, Keyed(k, v), 10 * number + at) for k, v, at in span), 10 * (number + 1)]
        ]
    )


def test_an_item_alone_makes_items_of_any_key_and_a_marker_too():
    found = run(operate(free, doubled("x", every=10)), [(free, Keyed("a", 1), 3), 10, 20])
    assert found == [[Keyed("a", 2), Keyed("all", 1), Keyed("marker", 10)], [], []]


def test_a_fold_keeps_the_key_and_may_be_begun_anew_at_a_marker():
    trace = [(per_key, Keyed("a", 1), 1), (per_key, Keyed("b", 5), 2), (per_key, Keyed("a", 2), 3), 10]
    trace += [(per_key, Keyed("a", 3), 12)]
    flat = [value for segment in run(operate(per_key, running("x", every=10)), trace) for value in segment]
    assert [value for value in flat if value.key == "a"] == [
        Keyed("a", (1,)),
        Keyed("a", (1, 2)),
        Keyed("a", (1, 2, 10)),
        Keyed("a", (3,)),
        Keyed("a", (3, 20)),
    ]


def test_what_came_between_two_markers_comes_out_as_its_total():
    trace = [(free, Keyed("a", 3), 1), (free, Keyed("a", 1), 9), (free, Keyed("a", 2), 10), 20]
    flat = [value.value for segment in run(operate(free, sorting("x", every=10)), trace) for value in segment]
    assert flat == [1, 3, 2]


def test_what_comes_out_at_once_knows_the_state_of_the_last_marker_alone():
    trace = [(free, Keyed("a", 3), 1), (free, Keyed("a", 1), 9), 10, (free, Keyed("a", 2), 11), 20]
    flat = [value.value for segment in run(operate(free, summing("x", every=10)), trace) for value in segment]
    assert flat == [(3, "since", 0), (1, "since", 0), 4, (2, "since", 4), 6]


def test_behind_each_other_they_have_the_same_markers():
    sorted_twice = operate(operate(free, sorting("x", every=10)), sorting("x", every=10))
    found = run(sorted_twice, [(free, Keyed("a", 3), 1), (free, Keyed("a", 1), 9), 10, 11])
    assert [value.value for segment in found[:2] for value in segment] == [1, 3]


@pytest.mark.parametrize(
    ("source", "operator", "gives"),
    [
        (free, doubled("x"), "unordered"),
        (per_key, doubled("x"), "unordered"),
        (per_key, running("x"), "ordered per key"),
        (free, sorting("x", every=10), "ordered per key"),
        (free, summing("x", every=10), "unordered"),
        (per_key, summing("x", every=10), "ordered per key"),
        (Reactive("all", order=ordered()), doubled("x"), "ordered"),
        (Reactive("undeclared"), sorting("x", every=10), "None"),
    ],
)
def test_an_operator_gives_the_order_of_its_template(source, operator, gives):
    assert str(operate(source, operator).order) == gives


PIPELINES = {
    "item": lambda: operate(free, doubled("x", every=10)),
    "fold": lambda: operate(per_key, running("x", every=10)),
    "bag": lambda: operate(free, sorting("x", every=10)),
    "sum": lambda: operate(free, summing("x", every=10)),
    "item, bag": lambda: operate(operate(free, doubled("x", every=10)), sorting("x", every=5)),
    "bag, fold": lambda: operate(operate(free, sorting("x", every=5)), running("x", every=10)),
    "item, bag, fold": lambda: operate(
        operate(operate(free, doubled("x")), sorting("x", every=10)), running("x", every=10)
    ),
}


@given(st.data())
def test_a_pipeline_of_templates_gives_the_same_however_its_input_is_shuffled_within_its_type(data):
    output = PIPELINES[data.draw(st.sampled_from(list(PIPELINES)))]()
    source = next(iter(Engine(output).inputs.values()))
    trace = data.draw(items(source))
    other = data.draw(shuffled(trace))
    assert is_same(output, outputs(output, trace), outputs(output, other))


@given(items(free), st.integers(0, 9))
def test_a_restored_engine_goes_on_as_if_nothing_had_been(trace, cut):
    output = PIPELINES["item, bag, fold"]()
    engine, found = Engine(output), []
    for place, item in enumerate(trace):
        if place == cut:
            engine = Engine.restore(engine.snapshot(), output)
        found += engine.advance(item) if isinstance(item, int) else engine.push(item[0], item[1], at=item[2])
    assert found + engine.close() == [event for segment in outputs(output, trace) for event in segment]


# -- E2's violations --------------------------------------------------------------------------------------------------

A, B = (free, Keyed("a", "x"), 1), (free, Keyed("a", "y"), 2)


def differ(output, trace, other):
    one, two = ([event for segment in outputs(output, items) for event in segment] for items in (trace, other))
    return not streams_equivalent(one, two)


def test_a_fold_behind_what_drops_the_key_is_refused_and_would_depend_on_the_order():
    dropped = map_(operate(per_key, running("x")), lambda item: Keyed("all", item.value))
    assert str(dropped.order) == "unordered"
    with pytest.raises(OrderMismatch, match="x is unordered; not implied is an order of x per key"):
        operate(dropped, running("x"))
    accepted = correlate(
        x=dropped,
        yields=lambda x: x,
        restrict=key_by(x="key") | momentarily("x") | fifo() | running("x") | by_arrival("x"),
    )
    trace = [(per_key, Keyed(key, key), at) for key, at in (("a", 1), ("b", 2))]
    assert differ(accepted, trace, trace[::-1])


def test_a_combination_that_does_not_commute_is_found_by_its_laws_and_depends_on_the_order():
    concatenation = Monoid("", lambda a, b: a + b)
    with pytest.raises(InvalidArgument, match=r"combine\(a, b\) == combine\(b, a\) .* no commutative monoid"):
        concatenation.check(["x", "y"])

    class concatenating(unordered_per_key):
        monoid = concatenation

        def on_marker(self, state, key, marker):
            yield state

    assert differ(operate(free, concatenating("x", every=10)), [A, B, 10], [B, A, 10])


def test_a_state_that_is_changed_by_unordered_items_depends_on_their_order_and_the_template_cannot_say_it():
    class last(Restriction):
        """By hand, with a declaration that is wrong."""

        slot: Slot
        before: Any = state(None)

        def plan(self):
            return (Opaque(relies=Reliance.NONE),)

        @handles(arrive, "slot")
        def replace(self, slot, event):
            before, self.before = self.before, event.value.value
            forward(slot, event.with_value((before, event.value.value)))

    by_hand = correlate(x=free, yields=lambda x: x, restrict=momentarily("x") | last("x"))
    assert differ(by_hand, [A, B], [B, A])

    class changing(unordered_per_key):
        monoid = BAG

        def on_item(self, state, key, value):
            self.last = value
            return ()

    with pytest.raises(InvalidArgument, match="expected an assignment to a state but got last = 'x'"):
        outputs(operate(free, changing("x", every=10)), [A])


# -- refusals ---------------------------------------------------------------------------------------------------------


class fold_of_any(in_order_per_key):
    def on_item(self, state, key, value):
        return value, [value]


class numbers(per_item):
    def on_item(self, key, value):
        yield 3


class no_monoid(unordered_per_key):
    pass


class not_a_monoid(unordered_per_key):
    monoid = max


no_stream: Any = "free"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: running("x", every=0), "running: expected a duration > 0 but got every=0"),
        (lambda: sorting("x"), "sorting: expected the span between two markers but got none; write every="),
        (lambda: no_monoid("x", every=1), "no_monoid: expected a Monoid, or a Group, but got monoid=None"),
        (lambda: not_a_monoid("x", every=1), "not_a_monoid: expected a Monoid, or a Group, but got monoid="),
        (lambda: operate(free, momentarily("x")), "expected an operator made from a template but got momentarily"),
        (lambda: operate(Reactive("t", table=True), doubled("x")), "operate: expected a stream but 't' is a table"),
        (lambda: operate(no_stream, doubled("x")), "operate: expected a Reactive but got stream='free' (type=str)"),
        (lambda: outputs(operate(free, numbers("x")), [A]), "expected Keyed(key, value) but got 3 (type=int)"),
    ],
)  # fmt: skip
def test_what_makes_no_operator_is_refused(make, said):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert said in str(caught.value)


def test_items_of_several_keys_under_none_are_refused():
    output = correlate(x=Reactive("s"), yields=lambda x: x, restrict=momentarily("x") | fold_of_any("x"))
    source = next(iter(Engine(output).inputs.values()))
    with pytest.raises(
        InvalidArgument, match=r"expected items of one key but got 'a' and 'b'; write it right of key_by"
    ):
        outputs(output, [(source, Keyed("a", 1), 1), (source, Keyed("b", 1), 2)])


@pytest.mark.parametrize("template", [per_item, in_order_per_key])
def test_a_hook_that_must_be_written_says_so(template):
    source = Reactive("s")
    with pytest.raises(NotImplementedError):
        outputs(operate(source, template("x")), [(source, Keyed("a", 1), 1)])


def test_groups_are_monoids():
    class counting(unordered_per_key):
        monoid = count

        def on_marker(self, state, key, marker):
            yield state

    found = run(operate(free, counting("x", every=10)), [A, B, 10])
    assert [value.value for segment in found for value in segment] == [2]
