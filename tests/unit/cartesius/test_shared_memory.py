"""Slots bound to one source and restricted alike keep its events once, and nobody can tell but by what is retained.

The oracle is an engine that keeps nothing together: one for each pattern alone, which records events (`trace=True`), so
that not even the slots of a self-join share.
"""

from __future__ import annotations

import operator
from contextlib import contextmanager
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Engine,
    Reactive,
    Restriction,
    Slots,
    Update,
    correlate,
    displace,
    forward,
    handles,
    one_or_more,
    push,
    repeated,
)
from cartesius.errors import InvalidArgument
from cartesius.plan import Opaque
from restrictions import (
    affinely,
    aligning,
    as_table,
    at_most,
    combine_latest,
    earliest,
    fifo,
    first_match,
    in_event_time,
    in_sequence,
    key_by,
    lifo,
    momentarily,
    most_recently,
    only,
    optionally,
    ordered_by,
    retracting,
    separately,
    take,
    tumbling,
    versioned,
    within,
    without,
)
from restrictions.basics.completion import completing_without_value
from restrictions.streams import either, map_
from restrictions.tables import foreign_join, inner_join, left_join, outer_join

left, right, third = Reactive("left"), Reactive("right"), Reactive("third")
ship, berth, pilot = (Reactive(name, table=True) for name in ("ship", "berth", "pilot"))


def values(events):
    return [(event.value, event.weight) for event in events]


def pairs(x, y, name, restrict=None, where=None):
    """The pairs of two reactives, as they are."""
    where = where or (lambda x, y: x <= y)
    return correlate(x=x, y=y, where=where, yields=lambda x, y: (x, y), restrict=restrict, name=name)


def shared(engine):
    """The slots that share a memory, by name of correlation and slot."""
    found: dict[int, list[str]] = {}
    for join in engine._program.joins:
        for slot in join.slots:
            found.setdefault(id(slot.memory), []).append(f"{join.name}.{slot.name}")
    return [slots for slots in found.values() if len(slots) > 1]


# -------------------------------------------------------------------------------------------------------- what is kept


def test_two_patterns_that_restrict_a_slot_alike_keep_its_events_once():
    first = pairs(left, right, "first", most_recently("x", n=2) | most_recently("y"))
    second = correlate(
        u=third,
        v=left,
        where=lambda u, v: u != v,
        yields=lambda u, v: -v,
        restrict=most_recently("v", n=2),
        name="second",
    )
    engine = Engine(first, second)
    assert shared(engine) == [["first.x", "second.v"]]
    for number in range(5):
        for reactive in (left, right, third):
            engine.push(reactive, number)
    assert engine.stats.retained == 2 + 1 + 5
    assert engine.stats.slots == {
        ("first", "x"): (2, 0),
        ("first", "y"): (1, 0),
        ("second", "u"): (5, 0),
        ("second", "v"): (2, 0),
    }
    assert values(engine.push(right, 9)) == [((4, 9), 1), ((3, 9), 1)]
    assert values(engine.push(third, 4)) == [(-3, 1)]


def test_many_outputs_over_one_input_keep_it_once():
    outputs = [pairs(left, Reactive(f"other {number}"), f"output {number}") for number in range(10)]
    engine = Engine(*outputs)
    for number in range(20):
        engine.push(left, number)
    assert engine.stats.retained == 20
    for output, other in zip(outputs, list(engine.inputs.values())[1:], strict=True):
        assert [event.reactive for event in engine.push(other, 2)] == [output.name] * 3


def test_explain_says_with_whom():
    engine = Engine(pairs(left, right, "first", most_recently("x")), pairs(left, third, "second", most_recently("x")))
    lines = [line.strip() for line in engine.explain().splitlines() if "slot x" in line]
    assert lines == [
        "slot x         left: memory O(1), by most_recently('x')",
        "slot x         left: memory O(1), by most_recently('x'); memory shared with first.x",
    ]


def test_three_share_and_the_name_of_the_variable_does_not_matter():
    engine = Engine(
        pairs(left, right, "first", only("x", operator.truth) | key_by(x="real", y="real") | earliest("x", "y")),
        pairs(third, left, "second", only("y", operator.truth) | key_by(x="real", y="real") | earliest("y")),
        pairs(left, pilot, "last", only(left, operator.truth) | key_by(x="real") | earliest("x", n=1)),
    )
    assert shared(engine) == [["first.x", "second.y", "last.x"]]
    for number in (0, 1, 1, 2):
        engine.push(left, number)
    assert engine.stats.retained == 2
    assert values(engine.push(right, 1)) == [((1, 1), 1)]
    assert values(engine.push(third, 2)) == [((2, 2), 1)]
    assert values(engine.push(pilot, Update("Bo", 3))) == [((2, 3), 1), ((1, 3), 1)]


def test_the_slots_of_a_self_join_share():
    engine = Engine(pairs(left, left, "pairs", most_recently("x", "y", n=2)))
    assert shared(engine) == [["pairs.x", "pairs.y"]]
    assert [values(engine.push(left, number)) for number in (1, 2, 0)] == [
        [((1, 1), 1)],
        [((2, 2), 1), ((1, 2), 1)],
        [((0, 0), 1), ((0, 2), 1)],
    ]
    assert engine.stats.retained == 2


@given(st.lists(st.integers(0, 3), max_size=6))
def test_a_self_join_gives_each_pair_once(numbers):
    """By brute force: with the n-th event come the pairs that it is part of, newest first, x outermost."""
    engine = Engine(pairs(left, left, "pairs"))
    for n, number in enumerate(numbers):
        engine_gives = [value for value, _ in values(engine.push(left, number))]
        ordered = [(i, j) for i, j in product(range(n, -1, -1), repeat=2) if n in (i, j) and numbers[i] <= numbers[j]]
        assert engine_gives == [(numbers[i], numbers[j]) for i, j in ordered]
    assert engine.stats.retained == len(numbers)


def test_tables_share_their_rows():
    joins = [
        inner_join(ship, berth),
        left_join(ship, pilot),
        outer_join(pilot, ship),
        foreign_join(ship, berth, on="real", how="left"),
    ]
    engine = Engine(*joins)
    for number in range(10):
        engine.push(ship, Update(number, number))
    assert engine.stats.retained == 10
    assert values(engine.push(berth, Update(3, "quay"))) == [(Update(3, (3, "quay")), 1)] * 2
    engine.push(ship, Delete(3))
    assert [engine.query(join).get(3) for join in joins] == [None] * 4
    assert engine.query(joins[1])[4] == (4, None)
    assert engine.query(ship) == {number: number for number in range(10) if number != 3}


def test_each_takes_back_by_its_own_rules():
    """What is displaced is displaced for both; whether its results are taken back is the choice of each."""
    facts = pairs(left, right, "facts", most_recently("x"))
    view = pairs(left, third, "view", most_recently("x") | retracting())
    for outputs in ([facts, view], [view, facts]):
        engine = Engine(*outputs)
        assert len(shared(engine)) == 1
        for reactive in (right, third, left):
            engine.push(reactive, 1)
        assert values(engine.push(left, 0)) == (
            [((0, 1), 1), ((1, 1), -1), ((0, 1), 1)]
            if outputs[0] is facts
            else [((1, 1), -1), ((0, 1), 1), ((0, 1), 1)]
        )


def test_what_a_source_takes_back_is_gone_for_all():
    latest = correlate(x=ship, yields=lambda x: x, restrict=retracting(), name="latest")
    first, second = pairs(latest, right, "first", retracting()), pairs(latest, third, "second", retracting())
    engine = Engine(first, second)
    assert shared(engine) == [["first.x", "second.x"]]
    engine.push(right, 5)
    engine.push(third, 5)
    engine.push(ship, Update("EVA", 1))
    assert values(engine.push(ship, Update("EVA", 2))) == [((1, 5), -1), ((2, 5), 1)] * 2
    assert values(engine.push(ship, Delete("EVA"))) == [((2, 5), -1)] * 2
    assert engine.stats.retained == 2


# --------------------------------------------------------------------------------------------------- who does not share

ALIKE = most_recently("x")


@pytest.mark.parametrize(
    "other",
    [
        most_recently("x", n=2),
        most_recently("y"),
        earliest("x"),
        key_by(x="real") | most_recently("x"),
        most_recently("x") | key_by(x="real"),
        most_recently("x") | only("x", operator.truth),
        most_recently("x") | within(5, "x", "y"),
        most_recently("x") | affinely("y"),
        most_recently("x") | aligning("x", "y"),
        affinely("x") | most_recently("x"),
        None,
    ],
    ids=repr,
)
def test_what_is_restricted_otherwise_does_not_share(other):
    engine = Engine(pairs(left, right, "first", ALIKE), pairs(left, third, "second", other))
    assert shared(engine) == []
    assert "shared" not in engine.explain()


@pytest.mark.parametrize(
    "restrict",
    [
        affinely("x"),
        at_most(2, "x"),
        aligning("x", "y"),
        within(5, "x", "y"),
        within(5, "x", "y") | retracting() | optionally("y"),
        take(3, "x"),
        take(3),
        in_event_time(2),
        versioned("x", "y"),
        tumbling(10),
        in_sequence("x", "y"),
        momentarily("x"),
        separately(),
        without(right, after="x", within=3),
    ],
    ids=repr,
)
def test_what_waits_spends_forgets_or_weighs_slots_together_shares_nothing(restrict):
    sources = (ship, berth, pilot) if "versioned" in repr(restrict) else (left, right, third)
    source, *others = [correlate(t=s, yields=lambda t: t, restrict=versioned("t")) if s.table else s for s in sources]
    outputs = [correlate(x=source, y=other, yields=lambda x, y: (x, y), restrict=restrict) for other in others]
    assert shared(Engine(*outputs)) == []


def test_alternatives_and_lists_share_nothing():
    one, other = pairs(left, right, "one"), pairs(left, third, "other")
    assert shared(Engine(either(one, other))) == []
    lists = [
        correlate(x=repeated(left, 2), y=y, yields=lambda x, y: (x, y), name=f"of {y.name}") for y in (right, third)
    ]
    runs = [correlate(x=one_or_more(left), y=y, yields=lambda x, y: (x, y), name=y.name) for y in (right, third)]
    assert shared(Engine(*lists, *runs)) == []


def test_functions_count_by_identity():
    def positive(number):
        return number > 0

    def natural(number):
        return number > 0

    one, same, other = (
        pairs(left, source, f"of {source.name}", only("x", function))
        for source, function in ((right, positive), (third, positive), (pilot, natural))
    )
    assert shared(Engine(one, same)) == [["of right.x", "of third.x"]]
    assert shared(Engine(one, other)) == []


def test_where_a_key_stands_counts():
    """The key of an entry is found by its place: that of another key_by to its left moves it."""
    one = pairs(left, right, "one", key_by(x="real", y="real"))
    moved = pairs(left, third, "moved", key_by(y="imag") | key_by(x="real", y="real"))
    assert shared(Engine(one, moved)) == []


def test_what_is_of_each_key_is_not_what_is_of_all():
    of_each = pairs(left, right, "of each", key_by(x="real") | most_recently("x"))
    of_all = pairs(left, third, "of all", most_recently("x") | key_by(x="real"))
    engine = Engine(of_each, of_all)
    assert shared(engine) == []
    for number in (1, 2):
        engine.push(left, number)
    assert [held for held, _ in engine.stats.slots.values()] == [2, 0, 1, 0]


class newest(Restriction):
    """Keeps the newest; it says that it concerns each slot by itself."""

    slots: Slots

    def plan(self):
        return (Opaque(shares=True),)

    @handles(push, "slots")
    def replace(self, slot, entry):
        for older in list(slot.memory)[1:]:
            displace(slot, older)
        forward(slot, entry)


class same(newest):
    """Adds nothing to what the other says of itself."""


class silent(newest):
    """Does the same, in a way of its own, and says nothing."""

    @handles(push, "slots")
    def replace(self, slot, entry):
        super().replace(slot, entry)


def test_a_restriction_of_a_user_shares_if_its_class_says_so():
    def engine(kind):
        return Engine(pairs(left, right, "first", kind("x")), pairs(left, third, "second", kind("x")))

    assert shared(engine(newest)) == [["first.x", "second.x"]]
    assert shared(engine(same)) == [["first.x", "second.x"]]
    assert shared(engine(silent)) == []  # a subclass with methods may do more
    for kind in (newest, same, silent):
        each = engine(kind)
        each.push(left, 1), each.push(left, 2)
        assert values(each.push(third, 3)) == [((2, 3), 1)]


def test_a_table_that_may_complete_early_keeps_its_own():
    """Once it has completed its rows stand, while others go on."""
    early = most_recently("x") | retracting() | completing_without_value("x", "y")
    rows = pairs(left, right, "rows", early | as_table(lambda pair: pair[1]))
    other = pairs(left, third, "other", most_recently("x"))
    assert shared(Engine(rows, other)) == []
    assert shared(Engine(pairs(left, right, "facts", early), other)) == [["facts.x", "other.x"]]


# ---------------------------------------------------------------------------------------- adding, removing, completing


def both():
    return pairs(left, right, "first", most_recently("x", n=2)), pairs(left, third, "second", most_recently("x", n=2))


@pytest.mark.parametrize("going", [0, 1], ids=["the first to run", "the other"])
def test_what_stays_keeps_the_memory(going):
    outputs = both()
    engine, alone = Engine(*outputs), Engine(outputs[1 - going])
    other = (third, right)[going]
    for each in (engine, alone):
        for number in (1, 2, 3):
            each.push(left, number)
    engine.remove(outputs[going])
    assert engine.stats.retained == 2
    assert "shared" not in engine.explain()
    restored = Engine.restore(engine.snapshot(), outputs[1 - going])
    for number in (3, 2):
        expected = values(alone.push(other, number)) + values(alone.push(left, number))
        assert values(engine.push(other, number)) + values(engine.push(left, number)) == expected
        assert values(restored.push(other, number)) + values(restored.push(left, number)) == expected
    engine._check_invariants()
    assert engine.snapshot() == restored.snapshot()


def test_of_three_the_first_goes_and_two_share_still():
    outputs = [pairs(left, source, f"of {source.name}") for source in (right, third, pilot)]
    engine = Engine(*outputs)
    engine.push(left, 1)
    engine.remove(outputs[0])
    assert shared(engine) == [["of third.x", "of pilot.x"]]
    engine.push(left, 2)
    restored = Engine.restore(engine.snapshot(), *outputs[1:])
    assert shared(restored) == shared(engine)
    for each in (engine, restored):
        assert values(each.push(third, 2)) == [((2, 2), 1), ((1, 2), 1)]
        assert values(each.push(pilot, Update("Bo", 1))) == [((1, 1), 1)]


def test_an_output_that_is_added_begins_with_a_memory_of_its_own():
    first, second = both()
    engine = Engine(first)
    engine.push(left, 1)
    engine.add(second)
    assert shared(engine) == []
    engine.push(left, 2)
    restored = Engine.restore(engine.snapshot(), first, second)
    assert shared(restored) == []  # what was not shared has other entries
    for each in (engine, restored):
        assert values(each.push(third, 3)) == [((2, 3), 1)]
        assert values(each.push(right, 3)) == [((2, 3), 1), ((1, 3), 1)]
        assert each.stats.retained == 2 + 1 + 2


def test_one_that_has_completed_leaves_the_memory_to_the_others():
    """`combine_latest` completes when an input ends without a value: it stores nothing from then on."""
    early, late = combine_latest(left, right), pairs(left, third, "pairs", most_recently("x"))
    engine = Engine(early, late)
    assert len(shared(engine)) == 1
    engine.end(right)
    engine.push(left, 1)  # this completes it
    assert engine._program.joins[0].is_done
    engine.push(left, 2)
    assert values(engine.push(third, 3)) == [((2, 3), 1)]
    assert engine.stats.retained == 2


def test_the_rows_of_an_input_are_known_when_one_that_kept_them_has_completed():
    early = correlate(
        x=ship, y=right, yields=lambda x, y: (x, y), restrict=completing_without_value("x", "y"), name="early"
    )
    engine = Engine(early, correlate(x=ship, y=third, yields=lambda x, y: (x, y), name="late"))
    assert shared(engine) == [["early.x", "late.x"]]
    for name in ("EVA", "BO"):
        engine.push(ship, Update(name, 1))
    engine.end(right)
    engine.push(ship, Delete("EVA"))  # this completes it
    assert engine._program.joins[0].is_done
    assert engine.query(ship) == {"BO": 1}
    engine.push(ship, Update("EVA", 2))
    assert engine.query(ship) == {"BO": 1, "EVA": 2}
    assert values(engine.push(third, 3)) == [((2, 3), 1), ((1, 3), 1)]


# ------------------------------------------------------------------------------------------------- snapshots, failures


def test_a_snapshot_holds_a_shared_memory_once():
    def size(count):
        engine = Engine(*[pairs(left, Reactive(f"{n}"), f"output {n}") for n in range(count)])
        for number in range(300):
            engine.push(left, f"{number * 7919 % 1000:03}")
        return len(engine.snapshot())

    assert size(2) < size(1) * 1.1


def test_a_snapshot_is_restored_where_functions_that_were_one_are_two():
    """Who is alike is told by identity, which is of one process; what is the same program by its text."""

    def outputs(first, second):
        return (
            pairs(left, right, "first", only("x", first)),
            pairs(left, third, "second", only("x", second)),
            pairs(left, pilot, "last", only("x", second)),
        )

    def make():
        return lambda number: number > 0

    function = make()
    engine = Engine(*outputs(function, function))
    for number in (0, 1, 2):
        engine.push(left, number)
    restored = Engine.restore(engine.snapshot(), *outputs(make(), make()))
    assert (engine.stats.retained, restored.stats.retained) == (2, 4)
    restored._check_invariants()
    for source in (right, third):
        assert values(restored.push(source, 2)) == values(engine.push(source, 2)) == [((2, 2), 1), ((1, 2), 1)]
    again = Engine.restore(restored.snapshot(), *outputs(function, function))  # what was not shared is not, then
    assert shared(again) == [["second.x", "last.x"]]
    assert values(again.push(pilot, Update("Bo", 1))) == [((1, 1), 1)]


def test_an_engine_that_records_events_keeps_those_of_each_slot():
    """What saw an event is told slot by slot; a snapshot goes from one kind of engine to the other."""
    outputs = both()
    engine = Engine(*outputs)
    recording = Engine.restore(engine.snapshot(), *outputs, trace=True)
    engine.push(left, 1)
    recording.push(left, 1)
    (event,) = recording.push(third, 1)
    assert "seen by x: push most_recently('x', n=2)" in recording.why(event)
    assert recording.stats.retained == 3
    other = Engine.restore(engine.snapshot(), *outputs, trace=True)
    assert (engine.stats.retained, other.stats.retained) == (1, 2)
    assert values(other.push(right, 2)) == values(engine.push(right, 2)) == [((1, 2), 1)]
    back = Engine.restore(recording.snapshot(), *outputs)
    assert values(back.push(right, 2)) == [((1, 2), 1)]
    assert back.stats.retained == 4


class Switch:
    """Which body fails."""

    broken = ""


@contextmanager
def failing(name):
    Switch.broken = name
    try:
        yield
    finally:
        Switch.broken = ""


def yielding(name):
    def yields(x, y):
        if Switch.broken == name:
            raise ZeroDivisionError(name)
        return name, x, y

    return yields


@pytest.mark.parametrize("broken", ["first", "second", "third"])
def test_a_body_that_fails_leaves_all_as_it_was(broken):
    first, second, last = (
        correlate(x=left, y=source, yields=yielding(name), restrict=most_recently("x") | retracting(), name=name)
        for name, source in (("first", right), ("second", third), ("third", left))
    )
    engine = Engine(first, second, last)
    for reactive in (left, right, third):
        engine.push(reactive, 1)
    before = engine.snapshot()
    with failing(broken), pytest.raises(ZeroDivisionError, match=broken):
        engine.push(left, 2)
    assert engine.snapshot() == before
    engine._check_invariants()
    fresh = Engine.restore(before, first, second, last)
    for number in (2, 3):
        assert engine.push(left, number) == fresh.push(left, number)
    assert engine.snapshot() == fresh.snapshot()


# --------------------------------------------------------------------------------------------------------- the property

view = correlate(t=ship, yields=lambda t: t, restrict=retracting(), name="view")  # a stream that takes back
doubled = map_(left, lambda x: x % 3)
SOURCES = [left, right, ship, view, doubled]
PUSHED = [left, right, ship]


def positive(number):
    return number > 0


def parity(number):
    return number % 2


def total(value):
    return -sum(number for number in value[1:] if number is not None)


SLOTS = ["x", "y"]
STORING: list[Any] = [
    lambda slots: most_recently(*slots),
    lambda slots: most_recently(slots[0]),
    lambda slots: earliest(*slots, n=2),
    lambda slots: newest(*slots),
    lambda slots: only(slots[0], positive),
    lambda slots: key_by(**dict.fromkeys(slots, parity)),
    lambda slots: key_by(**{slots[0]: parity}),
]
OTHERS: list[Any] = [
    lambda slots: retracting(),
    lambda slots: retracting() | optionally(slots[-1]),
    lambda slots: as_table(total),
    lambda slots: retracting() | as_table(slots[0]),
    lambda slots: fifo(),
    lambda slots: lifo(),
    lambda slots: first_match(),
    lambda slots: ordered_by(lambda match: total(match.value)),
    lambda slots: affinely(slots[0]),
]
WHERES: list[Any] = [None, lambda x, y: x == y, lambda x, y: x <= y]


@st.composite
def patterns_that_may_share(draw):
    """Two or three patterns; most of them restrict their slots by the same restrictions, and by others of their own."""
    common = draw(st.lists(st.sampled_from(STORING), max_size=2))
    sources = draw(st.lists(st.sampled_from(SOURCES), min_size=1, max_size=3, unique=True))
    return [
        (
            draw(st.lists(st.sampled_from(sources), min_size=2, max_size=2)),
            draw(st.sampled_from([common, common, common, common[1:], [*common, STORING[1]]]))
            + draw(st.lists(st.sampled_from(OTHERS), max_size=2)),
            draw(st.sampled_from(WHERES)),
            draw(st.booleans()),
        )
        for _ in range(draw(st.integers(2, 3)))
    ]


CHANGE = st.tuples(st.sampled_from(PUSHED), st.integers(0, 3), st.sampled_from([True, True, True, False]))


def made(name, pattern):
    """A correlation, or None if what restricts it does not go together."""
    sources, kinds, where, is_swapped = pattern
    slots = SLOTS[::-1] if is_swapped else SLOTS
    restrict = None
    for kind in kinds:
        one = kind(slots)
        restrict = one if restrict is None else restrict | one
    bound = dict(zip(slots, sources, strict=True))
    try:
        return correlate(slots=bound, where=where, yields=yielding(name), restrict=restrict, name=name)
    except InvalidArgument:
        return None


def change(reactive, number, is_there):
    if not reactive.table:
        return number
    return Update(number % 2, number) if is_there else Delete(number % 2)


@given(
    patterns_that_may_share(),
    st.lists(CHANGE, min_size=1, max_size=8),
    st.sampled_from(["", "", "output 0", "output 1", "output 2"]),
    st.integers(0, 7),
    st.integers(0, 9),
    st.integers(0, 12),
)
def test_sharing_shows_in_nothing_but_what_is_retained(patterns, trace, broken, broken_at, restored_at, removed_at):
    outputs = [made(f"output {number}", pattern) for number, pattern in enumerate(patterns)]
    assume(None not in outputs)
    engine = Engine(*outputs)
    alone = {output: Engine(output, trace=True) for output in outputs}
    for number, (reactive, digit, is_there) in enumerate(trace):
        value = change(reactive, digit, is_there)
        if number == restored_at:
            blob = engine.snapshot()
            engine = Engine.restore(blob, *outputs)
            assert engine.snapshot() == blob
        if number == removed_at:
            engine.remove(outputs.pop(digit % len(outputs)))
        if reactive not in engine.inputs.values():
            continue
        if number == broken_at:
            before = engine.snapshot()
            try:
                with failing(broken):
                    events = engine.push(reactive, value)
            except ZeroDivisionError:
                # A row that is kept, and was deleted, comes back behind the others.
                assert engine.snapshot() == before or reactive.table or any(output.table for output in outputs)
                events = engine.push(reactive, value)
        else:
            events = engine.push(reactive, value)
        engine._check_invariants()
        for output in outputs:
            oracle = alone[output]
            expected = oracle.push(reactive, value) if reactive in oracle.inputs.values() else []
            got = [event for event in events if event.reactive == output.name]
            # Times are left out: an engine gives an event that has none one after the latest that it has seen.
            assert values(got) == values(expected)
            if output.table:
                assert engine.query(output) == oracle.query(output)
            of_join = {key: held for key, held in oracle.stats.slots.items() if key[0] == output.name}
            assert of_join.items() <= engine.stats.slots.items()
