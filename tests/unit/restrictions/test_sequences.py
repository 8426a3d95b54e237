"""in_sequence, by name and by hand: what follows what, and what lies between."""

from __future__ import annotations

from typing import Any

import pytest

from cartesius import Delete, Engine, Reactive, Update, correlate, run
from cartesius.errors import InvalidArgument
from restrictions import (
    as_table,
    cartesian,
    in_sequence,
    key_by,
    momentarily,
    optionally,
    retracting,
    separately,
    versioned,
    within,
)
from tests.unit.restrictions.sequence_examples import Program, found, texts

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


def test_at_equal_times_points_follow_each_other_as_they_arrived_and_intervals_do_not():
    assert Program(in_sequence("a", "b")).pushes("a1") == []
    program = Program(in_sequence("a", "b", contiguity="any"))
    program.push("a1", 5)
    assert program.push("b1", 5) == ["a1 b1"]
    program.push("a2", 5)
    assert program.push("b2", (5, 6)) == []
    assert program.push("b3", (4, 5)) == []
    program = Program(in_sequence("a", "b", contiguity="strict"))
    program.push("a1", 5)
    program.push("a2", 6)
    assert program.push("b1", 6) == ["a2 b1"]
    program = Program(in_sequence("a", "b"))
    program.push("b1", 5)
    assert program.push("a1", 5) == []
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
    assert [event.value for event in run(chain, [(source, "p"), (source, "qr"), (source, "s")])] == ["qr", "pq", "rs"]


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


@pytest.mark.parametrize("contiguity", ["relaxed", "strict"])
def test_a_key_that_the_parts_before_lack_is_that_of_the_part_itself(contiguity):
    """Only b is keyed: what is next to an event of a is asked of each key of b by itself."""
    program = Program(key_by(b="key") | in_sequence("a", "b", contiguity=contiguity))
    program.push("a1", key=1)
    assert program.push("b1", key=1) == ["a1 b1"]
    assert program.push("b2", key=2) == ["a1 b2"]
    assert program.push("b3", key=1) == []


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
            "leaves matches out but got in_sequence",
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
