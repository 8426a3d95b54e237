"""in_sequence, by name and by hand: what follows what, what lies between, and what a match rules out."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    affinely,
    as_table,
    cartesian,
    first_match,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    optionally,
    retracting,
    separately,
    take,
    versioned,
    within,
)


class Reading(NamedTuple):
    name: str
    size: int = 0
    key: int = 0

    def __str__(self) -> str:
        return self.name


def joined(**parts: Any) -> str:
    return " ".join(str(part) for part in parts.values())


BODIES: dict[int, Any] = {
    2: lambda a, b: joined(a=a, b=b),
    3: lambda a, b, c: joined(a=a, b=b, c=c),
}


class Program:
    """Slots a, b and perhaps c, each of a reactive of its own; an event's slot is the first letter of its name."""

    def __init__(self, restrict: Any, *, slots: str = "ab", where: Any = None, **options: Any) -> None:
        self.inputs = {name: Reactive(name, type=Reading) for name in slots}
        self.output = correlate(
            slots=self.inputs, where=where, yields=BODIES[len(slots)], restrict=restrict, name="out"
        )
        self.engine = Engine(self.output, **options)
        self.time = 0

    def push(self, name: str, at: Any = None, *, size: int = 0, key: int = 0) -> list[str]:
        self.time = self.time + 1 if at is None else at
        return texts(self.engine.push(self.inputs[name[0]], Reading(name, size, key), at=self.time))

    def pushes(self, names: str) -> list[str]:
        return [text for name in names.split() for text in self.push(name)]


def texts(events):
    return [event.value if event.weight == 1 else f"-{event.value}" for event in events]


def found(names: str, slots: str = "ab", **options: Any) -> list[str]:
    """What comes of a trace, one time unit apart."""
    return Program(in_sequence(*slots, **options), slots=slots).pushes(names)


# ---------------------------------------------------------------------------------------------------------- contiguity


def test_by_default_each_start_takes_the_first_event_that_follows():
    assert found("a1 a2 b1 b2") == ["a2 b1", "a1 b1"]
    assert found("b0 a1 b1 b2 a2 b3") == ["a1 b1", "a2 b3"]


def test_any_takes_every_combination_in_order():
    assert found("a1 a2 b1 b2", contiguity="any") == ["a2 b1", "a1 b1", "a2 b2", "a1 b2"]
    assert found("a1 b1 c1 b2 c2", slots="abc", contiguity="any") == ["a1 b1 c1", "a1 b2 c2", "a1 b1 c2"]


def test_strict_lets_nothing_of_the_sequence_lie_between():
    assert found("a1 a2 b1 b2", contiguity="strict") == ["a2 b1"]
    assert found("a1 b1 c1 a2 c2 b2 a3 b3 b4 c3", slots="abc", contiguity="strict") == ["a1 b1 c1"]


def test_what_is_no_part_of_the_sequence_may_lie_between():
    program = Program(in_sequence("a", "b", contiguity="strict"), slots="abc")
    assert program.pushes("a1 c1 b1") == ["a1 b1 c1"]
    assert program.pushes("c2") == ["a1 b1 c2"]


def test_relaxed_skips_what_does_not_fit_and_takes_the_first_that_does():
    program = Program(in_sequence("a", "b"), where=lambda a, b: a.size < b.size)
    assert program.push("a1", size=2) == []
    assert program.push("a2", size=0) == []
    assert program.push("b1", size=1) == ["a2 b1"]
    assert program.push("b2", size=3) == ["a1 b2"]
    assert program.push("b3", size=4) == []


def test_a_condition_is_asked_as_soon_as_its_variables_are_bound():
    """b1 fits a1 by what is known then; that no c fits both is no reason to take b2 instead."""
    program = Program(in_sequence(*"abc"), slots="abc", where=lambda a, b, c: (a.size < b.size) & (b.size < c.size))
    assert program.push("a1", size=0) == []
    assert program.push("b0", size=0) == []
    assert program.push("b1", size=5) == []
    assert program.push("b2", size=1) == []
    assert program.push("c1", size=3) == []
    assert program.push("c2", size=6) == ["a1 b1 c2"]


def test_what_fits_depends_on_all_that_is_bound_before():
    program = Program(in_sequence(*"abc"), slots="abc", where=lambda a, c: a.size != c.size)
    program.push("a1", size=1)
    program.push("a2", size=2)
    program.push("b1")
    assert program.push("c1", size=1) == ["a2 b1 c1"]
    assert program.push("c2", size=2) == ["a1 b1 c2"]


def test_of_a_condition_that_runs_as_written_only_the_last_step_asks():
    program = Program(in_sequence(*"abc"), slots="abc", where=lambda a, b, c: sum([a.size, b.size, c.size]) == 3)
    assert program.push("a1", size=0) == []
    assert program.push("b1", size=1) == []  # the first one: taken, whatever its size
    assert program.push("b2", size=2) == []
    assert program.push("c1", size=1) == []
    assert program.push("c2", size=2) == ["a1 b1 c2"]
    assert program.push("c3", size=2) == []


def test_a_body_in_direct_style_is_asked_at_the_last_step():
    a, b = Reactive("a"), Reactive("b")

    @correlate(a=a, b=b, restrict=in_sequence("a", "b"))
    def double(a, b):
        if b == 2 * a:
            yield (a, b)
            yield "twice"

    trace = [(a, 1), (a, 2), (b, 3), (b, 4), (b, 2), (b, 2)]
    assert [event.value for event in run(double, trace)] == [(2, 4), "twice", (1, 2), "twice"]


def test_slots_may_be_named_by_their_reactives():
    a, b = Reactive("a"), Reactive("b")
    pairs = cartesian(a, b, restrict=in_sequence(b, a))
    assert [event.value for event in run(pairs, [(a, 1), (b, 2), (a, 3)])] == [(3, 2)]


# ---------------------------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize("contiguity", ["relaxed", "strict", "any"])
def test_a_part_ends_before_the_next_one_starts(contiguity):
    program = Program(in_sequence("a", "b", contiguity=contiguity))
    program.push("a1", (0, 4))
    assert program.push("b1", 4) == []
    assert program.push("b2", (3, 6)) == []
    assert program.push("b3", (5, 7)) == ["a1 b3"]


def test_what_overlaps_the_part_before_does_not_lie_between():
    program = Program(in_sequence("a", "b", contiguity="strict"))
    program.push("a1", (0, 4))
    program.push("a2", (2, 5))
    program.push("a3", (4, 6))
    assert program.push("b1", (5, 7)) == ["a1 b1"]
    program.push("a4", (8, 8))
    assert program.push("b2", 9) == ["a4 b2"]


def test_at_equal_times_nothing_follows_and_who_arrived_first_lies_between():
    assert Program(in_sequence("a", "b")).pushes("a1") == []
    program = Program(in_sequence("a", "b", contiguity="any"))
    program.push("a1", 5)
    assert program.push("b1", 5) == []
    program = Program(in_sequence("a", "b", contiguity="strict"))
    program.push("a1", 5)
    program.push("a2", 6)
    assert program.push("b1", 6) == []
    program = Program(in_sequence("a", "b"))
    program.push("a1", 5)
    assert program.push("b1", 6) == ["a1 b1"]
    assert program.push("b2", 6) == []


def test_a_late_event_finds_results_that_stand():
    program = Program(in_sequence("a", "b"))
    program.push("a1", 1)
    assert program.push("b1", 9) == ["a1 b1"]
    assert program.push("b2", 5) == ["a1 b2"]
    assert program.push("b3", 7) == []
    assert program.push("a2", 6) == ["a2 b3"]


def test_within_bounds_a_sequence_and_its_memory():
    program = Program(in_sequence(*"abc") | within(4, *"abc"), slots="abc", lateness=0)
    for number in range(300):
        assert len(program.push(f"{'abc'[number % 3]}{number}")) == (number % 3 == 2)
        assert program.engine.stats.retained <= 5
    program.engine.advance(1_000)
    assert program.engine.stats.retained == 0


def test_within_commutes_with_it():
    for restrict in (within(2, "a", "b") | in_sequence("a", "b"), in_sequence("a", "b") | within(2, "a", "b")):
        program = Program(restrict)
        program.push("a1", 1)
        program.push("a2", 2)
        assert program.push("b1", 4) == ["a2 b1"]


# ---------------------------------------------------------------------------------- one reactive, keys, partial orders


def test_events_of_one_reactive_follow_each_other_but_none_itself():
    tick = Reactive("tick")

    def pairs(**options):
        output = correlate(x=tick, y=tick, yields=lambda x, y: f"{x}{y}", restrict=in_sequence("x", "y", **options))
        return [event.value for event in run(output, [(tick, name) for name in "pqrs"])]

    assert pairs(contiguity="strict") == ["pq", "qr", "rs"]
    assert pairs() == ["pq", "qr", "rs"]
    assert pairs(contiguity="any") == ["pq", "qr", "pr", "rs", "qs", "ps"]
    assert pairs(contiguity="strict", after_match="past_last") == ["pq", "rs"]
    assert pairs(contiguity="any", after_match="past_last") == ["pq", "rs"]
    assert pairs(contiguity="any", after_match=("to_last", "y")) == ["pq", "qr", "rs"]


def test_two_results_of_one_step_that_end_together_stand_in_the_order_in_which_they_came():
    source = Reactive("source")

    @correlate(x=source)
    def letters(x):
        yield from x

    chain = correlate(
        x=letters, y=letters, yields=lambda x, y: x + y, restrict=in_sequence("x", "y", contiguity="strict")
    )
    assert [event.value for event in run(chain, [(source, "p"), (source, "qr"), (source, "s")])] == ["pq", "rs", "qs"]


def test_the_very_next_event_is_that_of_the_key():
    keyed = key_by(a="key", b="key") | in_sequence("a", "b", contiguity="strict")
    unkeyed = in_sequence("a", "b", contiguity="strict") | key_by(a="key", b="key")
    for restrict, expected in ((keyed, ["a2 b1", "a1 b2"]), (unkeyed, ["a2 b1"])):
        program = Program(restrict)
        program.push("a1", key=1)
        program.push("a2", key=2)
        assert [*program.push("b1", key=2), *program.push("b2", key=1)] == expected


def test_what_could_not_meet_under_the_keys_does_not_fit():
    """To its left, a sequence is common to all keys; what is next is still what could stand there."""
    program = Program(in_sequence("a", "b") | key_by(a="key", b="key"))
    program.push("a1", key=1)
    assert program.push("b1", key=2) == []
    assert program.push("b2", key=1) == ["a1 b2"]


def test_slots_keyed_apart_are_each_looked_at_under_their_own_keys():
    """Only a and c are keyed, so b is common to all keys."""
    program = Program(key_by(a="key", c="key") | in_sequence(*"abc", contiguity="strict"), slots="abc")
    program.push("a1", key=1)
    program.push("a2", key=2)
    program.push("b1")
    assert program.push("c1", key=1) == ["a1 b1 c1"]
    assert program.push("c2", key=2) == ["a2 b1 c2"]


def test_only_some_of_the_slots_may_be_in_sequence():
    program = Program(in_sequence("a", "c"), slots="abc")
    assert program.pushes("b1 a1 c1") == ["a1 b1 c1"]
    assert program.pushes("b2") == ["a1 b2 c1"]


def test_several_sequences_hold_side_by_side():
    """Both a and b come before c, in either order."""
    program = Program(in_sequence("a", "c", contiguity="any") | in_sequence("b", "c", contiguity="any"), slots="abc")
    assert program.pushes("a1 b1 c1") == ["a1 b1 c1"]
    assert program.pushes("b2") == []
    assert program.pushes("c2") == ["a1 b2 c2", "a1 b1 c2"]


def test_what_is_not_in_the_sequence_counts_as_bound():
    program = Program(in_sequence("a", "b"), slots="abc", where=lambda b, c: b.size == c.size)
    program.push("c1", size=1)
    program.push("c2", size=2)
    program.push("a1")
    assert program.push("b1", size=2) == ["a1 b1 c2"]
    assert program.push("b2", size=1) == ["a1 b2 c1"]
    assert program.push("b3", size=1) == []


# -------------------------------------------------------------------------------------------------------- after a match


@pytest.mark.parametrize(
    ("after_match", "expected"),
    [
        ("no_skip", ["a2 b2 c1", "a2 b1 c1", "a1 b2 c1", "a1 b1 c1"]),
        ("to_next", ["a1 b1 c1", "a2 b1 c1"]),
        ("past_last", ["a1 b1 c1"]),
        (("to_first", "a"), ["a1 b1 c1", "a1 b2 c1", "a2 b1 c1", "a2 b2 c1"]),
        (("to_first", "b"), ["a1 b1 c1"]),
        (("to_last", "b"), ["a1 b1 c1"]),
        (("to_first", "c"), ["a1 b1 c1"]),
        (("to_last", "c"), ["a1 b1 c1"]),
    ],
)
def test_the_table_on_all_combinations(after_match, expected):
    assert found("a1 a2 b1 b2 c1", slots="abc", contiguity="any", after_match=after_match) == expected


@pytest.mark.parametrize(
    ("after_match", "expected"),
    [
        ("no_skip", ["a1 b1 c1", "a2 b2 c2"]),
        ("to_next", ["a1 b1 c1", "a2 b2 c2"]),
        ("past_last", ["a1 b1 c1"]),
        (("to_first", "b"), ["a1 b1 c1", "a2 b2 c2"]),
        (("to_last", "c"), ["a1 b1 c1"]),
    ],
)
def test_the_table_on_matches_that_overlap(after_match, expected):
    assert found("a1 b1 a2 c1 b2 c2", slots="abc", after_match=after_match) == expected


@pytest.mark.parametrize(
    ("after_match", "expected"),
    [
        ("no_skip", ["a2 b1 c1", "a1 b1 c1"]),
        ("to_next", ["a1 b1 c1", "a2 b1 c1"]),
        ("past_last", ["a1 b1 c1"]),
        (("to_last", "b"), ["a1 b1 c1"]),
    ],
)
def test_the_table_on_the_first_that_follow(after_match, expected):
    assert found("a1 a2 b1 b2 c1", slots="abc", after_match=after_match) == expected


@pytest.mark.parametrize(
    ("after_match", "expected"),
    [
        ("no_skip", ["a2 b1", "a1 b1", "a2 b2", "a1 b2"]),
        ("to_next", ["a1 b1", "a2 b1"]),
        ("past_last", ["a1 b1"]),
        (("to_first", "a"), ["a1 b1", "a2 b1", "a1 b2", "a2 b2"]),
        (("to_first", "b"), ["a1 b1"]),
    ],
)
def test_the_table_on_two_steps(after_match, expected):
    contiguity = "any"
    assert sorted(found("a1 a2 b1 b2", contiguity=contiguity, after_match=after_match)) == sorted(expected)


def test_what_may_not_start_a_match_any_more_leaves_memory():
    program = Program(in_sequence("a", "b", after_match="past_last"))
    program.pushes("a1 a2 b1 a3")
    assert program.engine.stats.slots["out", "a"] == (1, 0)


def test_each_key_is_on_its_own():
    program = Program(key_by(a="key", b="key") | in_sequence("a", "b", after_match="past_last"))
    program.push("a1", key=1)
    program.push("a2", key=2)
    program.push("a3", key=1)
    assert [*program.push("b1", key=1), *program.push("b2", key=2), *program.push("b3", key=1)] == ["a1 b1", "a2 b2"]


# ------------------------------------------------------------------------------------------------------------- withheld


def waiting(after_match: Any = "past_last", *more: Any, **options: Any) -> Program:
    """A match of a2 is complete while a1, which does not fit b1, may still rule it out."""
    restrict = in_sequence("a", "b", after_match=after_match)
    for one in more:
        restrict = restrict | one
    program = Program(restrict, where=lambda a, b: a.size <= b.size, **options)
    program.push("a1", 1, size=2)
    program.push("a2", 2, size=0)
    return program


@pytest.mark.parametrize("after_match", ["no_skip", "to_next", ("to_first", "a")])
def test_where_nothing_earlier_could_rule_it_out_a_match_is_given_at_once(after_match):
    assert waiting(after_match).push("b1", 3, size=1) == ["a2 b1"]


@pytest.mark.parametrize("after_match", ["past_last", ("to_first", "b"), ("to_last", "b")])
def test_a_match_waits_for_what_began_earlier_and_is_ruled_out_by_it(after_match):
    program = waiting(after_match)
    assert program.push("b1", 3, size=1) == []
    assert program.push("b2", 4, size=2) == ["a1 b2"]
    assert texts(program.engine.close()) == []


def test_a_match_is_given_once_time_is_over_for_what_began_earlier():
    program = waiting("past_last", within(10, "a", "b"))
    assert program.push("b1", 3, size=1) == []
    assert program.engine.next_deadline == 12
    assert texts(program.engine.advance(11)) == []
    assert texts(program.engine.advance(12)) == ["a2 b1"]
    program.engine.advance(1_000)
    assert program.engine.stats.retained == 0


def test_time_is_over_before_the_event_that_says_so():
    program = waiting("past_last", within(10, "a", "b"), lateness=0)
    program.push("b1", 3, size=1)
    assert program.push("b2", 12, size=2) == ["a2 b1"]


def test_a_beginning_that_is_too_long_already_withholds_nothing():
    restrict = in_sequence(*"abc", after_match="past_last") | within(5, *"abc")
    program = Program(restrict, slots="abc", where=lambda a, c: a.size <= c.size)
    program.push("a1", 1, size=2)
    program.push("a2", 4)
    program.push("b1", 7)
    assert program.push("c1", 8, size=1) == ["a2 b1 c1"]


def test_a_beginning_is_over_when_its_next_step_is_too_late_though_it_is_remembered():
    """Of a and b alone it is said how near they are, so a1 stays in memory for those that c may bring."""
    restrict = in_sequence(*"abc", after_match="past_last") | within(4, "a", "b")
    program = Program(restrict, slots="abc", where=lambda a, b: a.size <= b.size)
    program.push("a1", 1, size=2)
    program.push("a2", 2)
    program.push("b1", 3, size=1)
    assert program.push("c1", 4) == []
    assert texts(program.engine.advance(5)) == []
    assert texts(program.engine.advance(6)) == ["a2 b1 c1"]
    assert program.engine.stats.slots["out", "a"][0] == 1


def test_matches_that_wait_may_rule_each_other_out():
    """a0 may rule out a1 alone, as its b came before a2; but a1, which waits, may rule out a2."""
    program = Program(
        in_sequence(*"abc", after_match=("to_first", "b")),
        slots="abc",
        where=lambda a, b, c: (a.size <= b.size) & (b.key == c.key),
    )
    for name, size, of_key in [("a0", 0, 0), ("a1", 5, 0), ("b0", 1, 1), ("a2", 0, 0), ("b1", 9, 0), ("c1", 0, 0)]:
        assert program.push(name, size=size, key=of_key) == []
    assert texts(program.engine.close()) == ["a1 b1 c1"]


def test_what_a_match_rules_out_when_it_is_given_withholds_nothing_more():
    program = waiting("past_last", within(10, "a", "b"))
    program.push("a3", 3, size=8)
    program.push("b1", 4, size=1)  # a2 b1 waits for a1
    program.push("a4", 5, size=0)
    program.push("b2", 6, size=1)  # a4 b2 waits for a1 and a3
    assert texts(program.engine.advance(12)) == ["a2 b1", "a4 b2"]


def test_under_keys_a_match_is_given_once_time_is_over_for_what_began_earlier():
    restrict = key_by(a="key", b="key") | in_sequence("a", "b", after_match="past_last") | within(10, "a", "b")
    program = Program(restrict, where=lambda a, b: a.size <= b.size)
    for key in (1, 2):
        program.push("a1", key, size=2, key=key)
        program.push("a2", key + 2, key=key)
        assert program.push("b1", key + 4, size=1, key=key) == []
    assert texts(program.engine.advance(12)) == ["a2 b1"]
    assert texts(program.engine.end(program.inputs["b"])) == ["a2 b1"]


def of_many(body_restrict: Any) -> tuple[Engine, Reactive, Reactive, Any]:
    """Starts that come several in one step, each of its own key; and their ends."""
    many, b = Reactive("many"), Reactive("b")

    @correlate(x=many)
    def starts(x):
        yield from x

    output = correlate(
        a=starts,
        b=b,
        where=lambda a, b: a.size <= b.size,
        yields=lambda a, b: f"{a.name} {b.name}",
        restrict=key_by(a="key", b="key") | body_restrict,
    )
    return Engine(output), many, b, output


def test_what_comes_of_several_keys_in_one_step_lets_each_key_choose():
    """The step brings a start of key 2 and a later one of key 1, before which nothing of key 1 is left."""
    engine, many, b, _ = of_many(most_recently("a", n=2) | in_sequence("a", "b", after_match="past_last"))
    engine.push(many, [Reading("a1", 2, 1), Reading("a2", 0, 1)])
    assert engine.push(b, Reading("b1", 1, 1)) == []  # a2 b1 waits for a1
    assert texts(engine.push(many, [Reading("a3", 9, 1), Reading("a4", 9, 2)])) == ["a2 b1"]


def test_what_comes_of_several_keys_in_one_step_may_end_what_others_wait_for():
    """With a c of key 2 comes that of key 1 for which a1 waits, too late: it ends that, and is no match."""
    a, b, many = Reactive("a"), Reactive("b"), Reactive("many")

    @correlate(x=many)
    def ends(x):
        yield from x

    restrict = key_by(a="key", b="key", c="key") | in_sequence(*"abc", after_match="past_last") | within(5, *"abc")
    output = correlate(
        a=a,
        b=b,
        c=ends,
        where=lambda a, c: a.size <= c.size,
        yields=lambda a, b, c: joined(a=a, b=b, c=c),
        restrict=restrict,
    )
    engine = Engine(output)
    engine.push(a, Reading("a1", 2, 1), at=1)
    engine.push(a, Reading("a2", 0, 1), at=3)
    engine.push(b, Reading("b1", 0, 1), at=5)
    assert engine.push(many, [Reading("c1", 1, 1)], at=6) == []
    assert texts(engine.push(many, [Reading("c2", 2, 1), Reading("c3", 2, 2)], at=7)) == ["a2 b1 c1"]


def test_what_one_key_displaces_of_another_lets_that_one_choose():
    newest = most_recently("a", n=2)  # of all keys, as it stands to the left
    many, b = Reactive("many"), Reactive("b")
    output = correlate(
        a=many,
        b=b,
        where=lambda a, b: a.size <= b.size,
        yields=lambda a, b: f"{a.name} {b.name}",
        restrict=newest | key_by(a="key", b="key") | in_sequence("a", "b", after_match="past_last"),
    )
    engine = Engine(output)
    engine.push(many, Reading("a1", 2, 1))
    engine.push(many, Reading("a2", 0, 1))
    assert engine.push(b, Reading("b1", 1, 1)) == []
    assert texts(engine.push(many, Reading("a3", 0, 2))) == ["a2 b1"]


def test_a_match_is_given_once_what_began_earlier_has_left():
    a, b = Reactive("a"), Reactive("b")
    newest = key_by(x="id") | most_recently("x") | retracting()
    starts = correlate(x=a, yields=lambda x: x, restrict=newest)
    output = correlate(
        a=starts,
        b=b,
        where=lambda a, b: a.size <= b,
        yields=lambda a, b: (a.id, a.size, b),
        restrict=in_sequence("a", "b", after_match="past_last"),
    )
    for replaced, expected in (("p", [("q", 0, 1)]), ("q", [])):
        engine = Engine(output)
        engine.push(a, {"id": "p", "size": 2})
        engine.push(a, {"id": "q", "size": 0})
        assert engine.push(b, 1) == []  # that of q waits for p
        assert [event.value for event in engine.push(a, {"id": replaced, "size": 5})] == expected
        engine.end(a)
        assert engine.end(b) == []


def test_a_match_is_given_once_the_input_has_ended_for_which_what_began_earlier_waits():
    program = waiting()
    program.push("b1", 3, size=1)
    assert texts(program.engine.end(program.inputs["a"])) == []
    assert texts(program.engine.end(program.inputs["b"])) == ["a2 b1"]
    assert program.engine.done


def test_what_does_not_satisfy_its_own_condition_begins_nothing():
    restrict = in_sequence("a", "b", contiguity="any", after_match="past_last")
    program = Program(restrict, where=lambda a: a.size <= 1)
    program.push("a1", size=2)
    program.push("a2", size=0)
    assert program.push("b1") == ["a2 b1"]


def test_with_any_a_start_may_end_as_long_as_a_step_is_open():
    program = Program(
        in_sequence(*"abc", contiguity="any", after_match="past_last"), slots="abc", where=lambda a, c: a.size <= c.size
    )
    program.push("a1", size=2)
    program.push("b1")
    program.push("a2", size=0)
    program.push("b2")
    assert program.push("c1", size=1) == []
    assert texts(program.engine.end(program.inputs["b"])) == []  # b1 follows a1: it waits for a c alone
    assert texts(program.engine.end(program.inputs["c"])) == ["a2 b2 c1"]


def test_what_is_not_in_the_sequence_keeps_a_start_open():
    program = Program(in_sequence("a", "b", after_match="past_last"), slots="abc", where=lambda a, c: a.size <= c.size)
    program.push("c1", size=1)
    program.push("a1", size=2)
    program.push("a2", size=0)
    assert program.push("b1") == []  # a c that fits a1 may come
    assert program.push("c2", size=2) == ["a1 b1 c2"]
    assert texts(program.engine.close()) == []


def test_of_matches_with_one_start_the_first_complete_is_taken():
    program = Program(in_sequence("a", "b", after_match="to_next"), slots="abc")
    assert program.pushes("a1 b1 c1 c2") == ["a1 b1 c1"]


@pytest.mark.parametrize("place", range(1, 6))
def test_what_is_withheld_is_in_a_snapshot(place):
    program = waiting("past_last", within(10, "a", "b"))
    steps: list[Any] = [("b1", 3, 1), ("a3", 4, 9), ("b2", 5, 1), 11, 12]
    given = []
    for number, step in enumerate(steps, 1):
        if isinstance(step, int):
            given += texts(program.engine.advance(step))
        else:
            given += program.push(step[0], step[1], size=step[2])
        if number == place:
            blob = program.engine.snapshot()
            program.engine = Engine.restore(blob, program.output)
            assert program.engine.snapshot() == blob
    assert given == ["a2 b1"]


def test_a_push_that_fails_changes_nothing_of_what_is_withheld():
    def failing(a, b):
        if b.name == "b9":
            message = "no"
            raise RuntimeError(message)
        return f"{a} {b}"

    a, b = Reactive("a", type=Reading), Reactive("b", type=Reading)
    output = correlate(
        a=a,
        b=b,
        where=lambda a, b: a.size <= b.size,
        yields=failing,
        restrict=in_sequence("a", "b", after_match="past_last"),
    )
    engine = Engine(output)
    engine.push(a, Reading("a1", 2))
    engine.push(a, Reading("a2", 0))
    engine.push(b, Reading("b1", 1))
    before = engine.snapshot()
    with pytest.raises(RuntimeError, match="no"):
        engine.push(b, Reading("b9", 2))
    assert engine.snapshot() == before
    assert texts(engine.push(b, Reading("b2", 2))) == ["a1 b2"]


def test_what_an_outer_selector_leaves_has_been_chosen_all_the_same():
    program = Program(take(1) | in_sequence("a", "b", after_match="to_next"))
    assert program.pushes("a1 a2 b1 a3 b2") == ["a1 b1"]
    program = Program(first_match() | in_sequence("a", "b", contiguity="any", after_match="to_next"))
    assert program.pushes("a1 a2 b1 b2") == ["a1 b1"]
    assert program.engine.stats.slots["out", "a"] == (0, 0)


def test_what_has_been_spent_is_in_no_later_match():
    program = Program(affinely("a", "b") | in_sequence("a", "b", contiguity="any"))
    assert program.pushes("a1 a2 b1 b2") == ["a2 b1", "a1 b2"]


# ----------------------------------------------------------------------------------------------------------- taken back


def rows(restrict: Any, contiguity: str = "relaxed", **options: Any) -> tuple[Engine, dict[str, Reactive]]:
    inputs = {name: Reactive(name, table=True) for name in "ab"}
    output = correlate(
        slots=inputs,
        yields=lambda a, b: f"{a} {b}",
        restrict=in_sequence("a", "b", contiguity=contiguity, **options) | restrict,
        name="out",
    )
    return Engine(output), inputs


def test_what_lay_between_and_leaves_lets_results_come_of_which_it_is_no_part():
    engine, inputs = rows(retracting())
    engine.push(inputs["a"], Update("k", "a1"))
    assert texts(engine.push(inputs["b"], Update("k", "b1"))) == ["a1 b1"]
    assert texts(engine.push(inputs["b"], Update("l", "b2"))) == []
    assert texts(engine.push(inputs["b"], Delete("k"))) == ["-a1 b1", "a1 b2"]
    assert texts(engine.push(inputs["a"], Delete("k"))) == ["-a1 b2"]


def test_what_comes_between_takes_results_back():
    engine, inputs = rows(retracting(), "strict")
    engine.push(inputs["a"], Update("k", "a1"), at=1)
    assert texts(engine.push(inputs["b"], Update("k", "b1"), at=5)) == ["a1 b1"]
    assert texts(engine.push(inputs["a"], Update("l", "a2"), at=3)) == ["-a1 b1", "a2 b1"]
    assert texts(engine.push(inputs["a"], Delete("l"), at=6)) == ["-a2 b1", "a1 b1"]


def test_rows_of_a_table_follow_what_is_there():
    engine, inputs = rows(retracting() | as_table("a"))
    (output,) = engine.outputs
    engine.push(inputs["a"], Update("k", "a1"))
    engine.push(inputs["b"], Update("p", "b1"))
    engine.push(inputs["b"], Update("q", "b2"))
    assert engine.query(output) == {"k": "a1 b1"}
    assert texts(engine.push(inputs["b"], Delete("p"))) == [Update("k", "a1 b2")]
    assert engine.query(output) == {"k": "a1 b2"}


def test_without_retracting_results_stand():
    engine, inputs = rows(momentarily("b"))
    engine.push(inputs["a"], Update("k", "a1"))
    assert texts(engine.push(inputs["b"], Update("p", "b1"))) == ["a1 b1"]
    assert texts(engine.push(inputs["a"], Delete("k"))) == []


# -------------------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (in_sequence, "in_sequence: expected slots, by variable name or reactive, in slots but got none"),
        (lambda: in_sequence("a", 3), "in_sequence: expected a slot, by variable name or reactive, but got slots=3"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: in_sequence("a", "b", contiguity="stric"), "got contiguity='stric'; .*; did you mean 'strict'"),
        (lambda: in_sequence("a", "b", after_match="past-last"), "did you mean 'past_last'"),
        (lambda: in_sequence("a", "b", after_match="to_first"), "or \\('to_first', variable\\)"),
        (lambda: in_sequence("a", "b", after_match=("to_frist", "a")), "did you mean 'to_first'"),
        (lambda: in_sequence("a", "b", after_match=("to_first", 1)), "got after_match=\\('to_first', 1\\)"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: in_sequence("a", "b", after_match=None), "got after_match=None"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_what_says_nothing_is_refused_where_it_is_written(make, said):
    with pytest.raises(InvalidArgument, match=said):
        make()


@pytest.mark.parametrize(
    ("restrict", "said"),
    [
        (in_sequence("a"), "expected at least two slots, in their order, but got 'a' alone"),
        (in_sequence("a", "a"), "expected at least two slots"),
        (in_sequence("a", "d"), "expected a slot of this correlation but got 'd'"),
        (in_sequence("a", "b", after_match=("to_last", "c")), "expected a variable of the sequence, a, b, .* got 'c'"),
        (in_sequence("a", "b") | separately(), "expected parts that meet but separately\\(\\) lets them be"),
        (
            in_sequence("a", "b") | optionally("b") | retracting(),
            "expected parts that meet but optionally\\('b'\\) lets",
        ),
        (in_sequence("a", "b") | momentarily("c") | retracting(), "leaves by itself beside retracting but got moment"),
        (
            in_sequence("a", "b", contiguity="any", after_match="to_next") | versioned("a"),
            "expected matches that are taken one after another but versioned",
        ),
        (in_sequence("a", "b") | versioned("a"), "expected contiguity='any' beside versioned"),
        (
            in_sequence("a", "b", after_match="to_next") | retracting(),
            "spends or cuts but got in_sequence",
        ),
        (key_by(a="key") | in_sequence("a", "b", after_match="to_next"), "expected slots keyed in the same key_by"),
    ],
)
def test_what_does_not_fit_is_refused_when_a_correlation_is_built(restrict, said):
    with pytest.raises(InvalidArgument, match=said):
        Program(restrict, slots="abc")


def test_it_is_shown_as_it_is_written():
    written = "in_sequence('a', 'b', after_match=('to_first', 'b'), contiguity='any')"
    assert repr(in_sequence("a", "b", contiguity="any", after_match=("to_first", "b"))) == written
    assert repr(in_sequence("a", "b", after_match="no_skip")) == "in_sequence('a', 'b')"
    assert in_sequence("a", "b") == in_sequence("a", "b", contiguity="relaxed", after_match="no_skip")
