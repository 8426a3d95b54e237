"""optionally: maximal partial rows, by example; the oracle tests have the rest (SEMANTICS 2.6)."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from cartesius import Delete, Engine, Reactive, Restriction, Slot, Slots, Update, correlate, forward, handles
from cartesius.errors import InvalidArgument
from cartesius.language.families import admit
from restrictions import (
    affinely,
    aligning,
    as_table,
    fifo,
    key_by,
    momentarily,
    most_recently,
    optionally,
    retracting,
    tumbling,
    within,
)
from restrictions.streams import interval_join
from restrictions.windows import on_close


def changes(events):
    return [(event.value, event.weight) for event in events]


@pytest.fixture
def left():
    return Reactive("left")


@pytest.fixture
def right():
    return Reactive("right")


def outer(left, right, *slots, **options):
    return correlate(
        x=left,
        y=right,
        where=lambda x, y: x.id == y.id,
        yields=lambda x, y: (x and x.n, y and y.n),
        restrict=retracting() | optionally(*slots) | most_recently("x", "y", n=2),
        **options,
    )


def test_a_left_join_gives_the_row_at_once_and_takes_it_back_for_a_partner(left, right):
    engine = Engine(outer(left, right, "y"))
    assert changes(engine.push(left, {"id": 1, "n": 1})) == [((1, None), 1)]
    assert changes(engine.push(right, {"id": 2, "n": 2})) == []
    assert changes(engine.push(right, {"id": 1, "n": 3})) == [((1, None), -1), ((1, 3), 1)]
    assert changes(engine.push(right, {"id": 1, "n": 4})) == [((1, 4), 1)]
    assert changes(engine.push(right, {"id": 5, "n": 5})) == [((1, 3), -1)]
    assert changes(engine.push(right, {"id": 6, "n": 6})) == [((1, 4), -1), ((1, None), 1)]


def test_a_full_join_gives_the_rows_of_both_sides(left, right):
    engine = Engine(outer(left, right, "x", "y"))
    assert changes(engine.push(left, {"id": 1, "n": 1})) == [((1, None), 1)]
    assert changes(engine.push(right, {"id": 2, "n": 2})) == [((None, 2), 1)]
    assert changes(engine.push(right, {"id": 1, "n": 3})) == [((1, None), -1), ((1, 3), 1)]
    assert changes(engine.push(left, {"id": 2, "n": 4})) == [((None, 2), -1), ((4, 2), 1)]


def test_slots_that_nothing_connects_are_missing_only_while_they_are_empty(left, right):
    output = correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=retracting() | optionally("y"))
    engine = Engine(output)
    assert changes(engine.push(left, 1)) == [((1, None), 1)]
    assert changes(engine.push(right, "a")) == [((1, None), -1), ((1, "a"), 1)]
    assert changes(engine.push(left, 2)) == [((2, "a"), 1)]


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("where", [lambda x, y: x.k == y.k, None])
def test_who_has_met_a_partner_that_has_left_since_has_missed_none(where, tier):
    """Results of what leaves by itself stand: so the row without a partner does not come again."""
    left, right, rows = Reactive("left"), Reactive("right"), Reactive("rows", table=True)
    met = [((1, 10), 1), ((1, 11), 1)]
    for source, restrict, expected in [
        (left, momentarily("y") | optionally("y") | retracting(), [((1, None), 1), ((1, None), -1), *met]),
        (rows, tumbling(4, report=on_close) | optionally("y") | retracting(), [((1, None), 1), ((1, None), -1), *met]),
        (left, within(20, "x", "y") | momentarily("y") | optionally("y"), met),
    ]:
        pairs = correlate(
            x=source, y=right, where=where, yields=lambda x, y: (x.v, None if y is None else y.v), restrict=restrict
        )
        engine = Engine(pairs, lateness=0, tier=tier)
        row = {"k": 1, "v": 1}
        events = engine.push(source, Update(1, row) if source is rows else row, at=5)
        for value, at in [(10, 6), (11, 12)]:
            events += engine.push(right, {"k": 1, "v": value}, at=at)
        assert [(event.value, event.weight) for event in [*events, *engine.close()]] == expected


def test_a_condition_on_the_mandatory_part_alone_still_holds(left, right):
    output = correlate(
        x=left,
        y=right,
        where=lambda x, y: (x.id == y.id) & (x.n > 0) & (y.n > 0),
        yields=lambda x, y: (x.n, y),
        restrict=retracting() | optionally("y"),
    )
    engine = Engine(output)
    assert engine.push(left, {"id": 1, "n": 0}) == []
    assert changes(engine.push(left, {"id": 1, "n": 1})) == [((1, None), 1)]
    assert engine.push(right, {"id": 1, "n": 0}) == []
    assert [weight for _, weight in changes(engine.push(right, {"id": 1, "n": 1}))] == [-1, 1]


def test_a_chain_is_missing_from_the_missing_part_on():
    vessel, berth, tide = (Reactive(name, table=True) for name in ("vessel", "berth", "tide"))
    output = correlate(
        v=vessel,
        b=berth,
        t=tide,
        where=lambda v, b, t, key_b, key_t: (v.berth == key_b) & (b.sensor == key_t),
        yields=lambda v, b, t: (v.name, b and b.depth, t),
        restrict=as_table("v") | retracting() | optionally("b", "t"),
    )
    engine = Engine(output)

    def push(reactive, change):
        return [event.value for event in engine.push(reactive, change)]

    assert push(tide, Update("s", 3)) == []  # a tide alone is connected to no vessel
    assert push(vessel, Update(1, {"name": "EVA", "berth": "A"})) == [Update(1, ("EVA", None, None))]
    assert push(berth, Update("A", {"depth": 10, "sensor": "r"})) == [Update(1, ("EVA", 10, None))]
    assert push(berth, Update("A", {"depth": 10, "sensor": "s"})) == [Update(1, ("EVA", 10, 3))]
    assert push(tide, Update("s", 4)) == [Update(1, ("EVA", 10, 4))]
    assert push(berth, Delete("A")) == [Update(1, ("EVA", None, None))]
    assert push(tide, Delete("s")) == []


def test_in_direct_style_the_body_itself_is_asked_with_none(left, right):
    @correlate(x=left, y=right, restrict=retracting() | optionally("y") | most_recently("x", "y"))
    def output(x, y):
        if y is None or x == y:
            yield x, y

    engine = Engine(output)
    assert changes(engine.push(left, 1)) == [((1, None), 1)]
    assert changes(engine.push(right, 2)) == []
    assert changes(engine.push(right, 1)) == [((1, None), -1), ((1, 1), 1)]
    assert changes(engine.push(right, 3)) == [((1, 1), -1), ((1, None), 1)]


@pytest.mark.parametrize(
    ("restrict", "where"),
    [
        (optionally("y"), lambda x, y: x == y),
        (retracting() | optionally("y") | affinely("x"), lambda x, y: x == y),
        (affinely("x") | optionally("y"), lambda x, y: x == y),
        (retracting() | optionally("y"), lambda x, y: x == y and x),
        (retracting() | optionally("nobody"), lambda x, y: x == y),
    ],
)
def test_what_optionally_cannot_do_is_refused_when_it_is_built(left, right, restrict, where):
    with pytest.raises(InvalidArgument):
        Engine(correlate(x=left, y=right, where=where, yields=lambda x, y: (x, y), restrict=restrict))


@pytest.mark.parametrize("missing", [("a",), ("a", "b")])
def test_a_table_keyed_by_parts_that_may_all_be_missing_is_refused(missing):
    a, b = Reactive("a", table=True), Reactive("b", table=True)

    def table(key):
        stack = retracting() | as_table(key) | optionally(*missing)
        return correlate(a=a, b=b, where=lambda a, b: a.g == b.g, yields=lambda a, b: (a.g, b.g), restrict=stack)

    with pytest.raises(InvalidArgument, match=r"would have no key; write as_table\(\('a', 'b'\)\)"):
        table("a")
    engine = Engine(table(("a", "b")))
    assert [event.value for event in engine.push(b, Update(1, {"g": 1}))] == [Update(1, (None, 1))]


def test_a_cycle_of_conditions_is_refused(left, right):
    with pytest.raises(InvalidArgument, match="cycle"):
        correlate(
            x=left,
            y=right,
            z=Reactive("third"),
            where=lambda x, y, z: (x.a == y.a) & (y.b == z.b) & (z.c == x.c),
            yields=lambda x, y, z: (x, y, z),
            restrict=retracting() | optionally("y", "z"),
        )


def test_two_conditions_between_two_slots_are_no_cycle(left, right):
    output = correlate(
        x=left,
        y=right,
        where=lambda x, y: (x.a == y.a) & (x.b < y.b),
        yields=lambda x, y: (x.b, y and y.b),
        restrict=retracting() | optionally("y"),
    )
    engine = Engine(output)
    assert changes(engine.push(left, {"a": 1, "b": 1})) == [((1, None), 1)]
    assert changes(engine.push(right, {"a": 1, "b": 1})) == []
    assert changes(engine.push(right, {"a": 1, "b": 2})) == [((1, None), -1), ((1, 2), 1)]


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
def test_a_row_without_a_partner_comes_though_an_aligned_input_has_ended(left, right, tier):
    near = within(1, "x", "y") | optionally("y") | aligning("x", "y")
    engine = Engine(correlate(x=left, y=right, yields=lambda x, y: (x, y), restrict=near), lateness=0, tier=tier)
    assert [engine.push(left, n, at=0) for n in (1, 2)] == [[], []]
    assert engine.push(right, 3, at=5) == []  # it is let in with 1; that may still be met, as 2 is held
    assert changes(engine.close()) == [((1, None), 1)]
    assert engine.done


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("is_guarding", [False, True])
def test_what_fails_a_condition_on_itself_is_no_partner_when_it_leaves(left, right, tier, is_guarding):
    def meet(x, y):
        return (x.id == y.id) & (y.n != 0)

    def meet_guarded(x, y):
        return (x.id == y.id) & (y.n != 0) & (x.n / y.n > 1)

    output = correlate(
        x=left,
        y=right,
        where=meet_guarded if is_guarding else meet,
        yields=lambda x, y: (x.n, y and y.n),
        restrict=within(3, "x", "y") | optionally("y"),
    )
    engine = Engine(output, lateness=0, tier=tier)
    assert engine.push(right, {"id": 1, "n": 0}, at=15) == []
    assert engine.push(left, {"id": 1, "n": 7}, at=17) == []
    assert changes(engine.advance(30)) == [((7, None), 1)]


def test_rows_without_a_partner_come_in_the_order_of_their_times_after_a_restore(left, right):
    """Another correlation has asked for deadlines before: what columns drop of those leaves the others in order."""
    near = correlate(
        x=right, y=left, z=Reactive("third"), yields=lambda x, y: x, restrict=fifo() | within(4, "x", "y", "z")
    )
    output = interval_join(near, left, 0, 3, key="id", how="full")
    engine = Engine(output, lateness=5)
    engine.push_many({"right": {"id": [0], "at": [5]}})
    engine = Engine.restore(engine.snapshot(), output, lateness=5)
    for at in 12, 15:
        engine.push_many({"left": {"id": [1], "at": [at]}})
    assert [event.end for event in engine.close()] == [12, 15]


class equal(Restriction):
    """What a user may write: parts meet that are equal, and nothing else connects them."""

    slots: Slots

    @handles(admit)
    def are_equal(self, parts):
        values = {parts[slot.index].value for slot in self.slots if parts[slot.index] is not None}
        return len(values) < 2 and bool(forward(parts))


class big(Restriction):
    """Likewise, of one slot."""

    slot: Slot

    @handles(admit)
    def is_big(self, parts):
        part = parts[self.slot.index]
        return (part is None or part.value > 0) and bool(forward(parts))


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("keyed", [False, True])
def test_what_a_clause_of_ones_own_admits_says_what_is_missing(left, right, tier, keyed):
    """An event that matches nothing keeps its row, though there are others (SEMANTICS 2.6: none can replace a None)."""
    stack = optionally("right") | retracting() | equal("left", "right")
    if keyed:
        stack |= key_by(left=lambda value: 0, right=lambda value: 0)
    rows = correlate(left=left, right=right, yields=lambda left, right: (left, right), restrict=stack)
    engine = Engine(rows, tier=tier)
    events = [(left, 1), (right, 2), (left, 2), (right, 1), (right, 3)]
    assert [changes(engine.push(*event)) for event in events] == [
        [((1, None), 1)],
        [],
        [((2, 2), 1)],
        [((1, None), -1), ((1, 1), 1)],
        [],
    ]


@pytest.mark.parametrize("tier", ["reference", None])
@pytest.mark.parametrize("small", ["first", "second", "third"])
@pytest.mark.parametrize("seed", range(4))
def test_what_clauses_admit_of_one_slot_and_of_two_says_what_is_missing_of_three(small, seed, tier):
    """Each first with all that are like it of the others, or with none (SEMANTICS 2.6)."""
    inputs: dict[str, Reactive[Any]] = {name: Reactive(name) for name in ("first", "second", "third")}
    stack = (
        optionally("second", "third") | retracting() | equal("first", "second") | equal("first", "third") | big(small)
    )
    row = correlate(slots=inputs, yields=lambda first, second, third: (first, second, third), restrict=stack)
    engine, draw, shown, present = Engine(row, tier=tier), random.Random(seed), Counter(), {name: [] for name in inputs}
    for _ in range(15):
        name, value = draw.choice([*inputs]), draw.randrange(3)
        for event in engine.push(inputs[name], value):
            shown[event.value] += event.weight
        if name != small or value > 0:
            present[name].append(value)
        expected = Counter()
        for first in present["first"]:
            found = [[other for other in present[name] if other == first] for name in ("second", "third")]
            expected.update((first, second, third) for second in found[0] or [None] for third in found[1] or [None])
        assert +shown == expected
        assert min(shown.values(), default=0) >= 0


def test_a_clause_on_three_slots_says_of_none_that_it_is_missing():
    inputs: dict[str, Reactive[Any]] = {name: Reactive(name) for name in ("first", "second", "third")}
    stack = optionally("third") | retracting() | equal(*inputs)
    with pytest.raises(InvalidArgument, match=r"one or two slots but that of equal\('first', .* speaks of 3"):
        correlate(slots=inputs, yields=lambda first, second, third: (first, second, third), restrict=stack)
