"""in_sequence, by name and by hand: what a match rules out, and what is withheld until that is known."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import (
    affinely,
    first_match,
    in_sequence,
    key_by,
    most_recently,
    retracting,
    take,
    within,
)
from tests.unit.restrictions.sequence_examples import Program, Reading, found, joined, texts

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
