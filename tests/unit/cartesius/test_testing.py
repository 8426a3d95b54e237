"""marbles draws what a pattern does; streams are equivalent up to the order that does not matter, and say why not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import (
    Delete,
    Duration,
    Reactive,
    Restriction,
    Slot,
    Update,
    arrive,
    correlate,
    handles,
    notify_at,
    state,
    tick,
)
from cartesius.errors import InvalidArgument
from cartesius.testing import marbles
from restrictions import (
    affinely,
    as_table,
    at_most,
    cartesian,
    combine_latest,
    most_recently,
    optionally,
    retracting,
    zip_,
)


def same(x):
    """The events of one input, as they are."""
    return correlate(x=x, yields=lambda x: x)


class debouncing(Restriction):
    """Let an event through once ``quiet`` has passed without another."""

    slot: Slot
    quiet: Duration
    latest = state(None)

    @handles(arrive, "slot")
    def hold(self, slot, event):
        self.latest = event
        notify_at(event.end + self.quiet)

    @handles(tick)
    def let_through(self, now):
        if self.latest and self.latest.end + self.quiet < now:
            event, self.latest = self.latest, None
            arrive(self.slot, event)


def shown(*values):
    """How values are shown that come out together."""
    signs = "abcdef"[: len(values)]
    return marbles(same, x=f"({signs})", values=dict(zip(signs, values, strict=True)))


# ------------------------------------------------------------------------------------------------------------- marbles


@pytest.mark.parametrize(
    ("pattern", "left", "right", "out"),
    [
        (combine_latest, "1-2--", "-x-y-", "-(1x)(2x)(2y)-"),
        (combine_latest, "12", "-x", "-(2x)"),
        (zip_, "12---", "--xyz", "--(1x)(2y)-"),
        (zip_, "(123)-", "(xy)z", "(1x,2y)(3z)"),
        (cartesian, "12--", "--xy", "--(2x,1x)(2y,1y)"),
        (cartesian, "1x", "-", "--"),
    ],
)
def test_operators_do_what_their_diagrams_show(pattern, left, right, out):
    assert marbles(pattern, left=left, right=right) == out


@pytest.mark.parametrize(
    ("restrict", "out"),
    [
        (most_recently("left"), "--(2x)(2y)"),
        (most_recently("left", n=2), "--(2x,1x)(2y,1y)"),
        (at_most(1, "left"), "--(2x,1x)-"),
        (affinely("left", "right"), "--(2x)(1y)"),
        (most_recently("left") | affinely("left"), "--(2x)-"),
    ],
)
def test_restrict_is_passed_to_a_function_that_takes_it(restrict, out):
    assert marbles(cartesian, left="12--", right="--xy", restrict=restrict) == out


def test_the_example_of_the_style_guide():
    assert marbles(cartesian, left="1--", right="-xy", restrict=at_most(1, "left")) == "-(1x)-"


def test_restrict_is_injected_into_a_function_that_does_not_take_it():
    def paired(left, right):
        return cartesian(left, right)

    assert marbles(paired, left="12--", right="--xy", restrict=most_recently("left")) == "--(2x)(2y)"


def test_restrict_is_injected_into_any_correlation_that_has_no_restriction():
    def behind(x):
        return combine_latest(same(x))

    assert marbles(behind, x="1----") == "1----"
    assert marbles(behind, x="1----", restrict=debouncing("x", 2)) == "---1-"


def test_restrict_is_refused_where_it_has_no_effect():
    with pytest.raises(InvalidArgument, match=r"marbles: expected a function that takes restrict .* combine_latest"):
        marbles(combine_latest, left="1", right="x", restrict=affinely("left"))
    with pytest.raises(InvalidArgument, match=r"without restrict but got Reactive.*where it is made"):
        marbles(cartesian(Reactive("left")), left="1", restrict=affinely("left"))
    for pattern in (cartesian, same):
        with pytest.raises(InvalidArgument, match="expected restrictions composed by"):
            marbles(pattern, left="1", restrict="12-")  # type: ignore[arg-type]  # wrong on purpose


def test_a_reactive_is_driven_by_the_names_of_its_inputs():
    pairs = combine_latest(Reactive("left"), Reactive("right"))
    assert marbles(pairs, right="-x-", left="1-2") == "-(1x)(2x)"
    assert marbles(pairs, left="1-2") == "---"  # an input without a diagram is silent
    assert marbles(pairs, left="1", right="--x") == "--(1x)"  # and so is a shorter one


def test_a_reactive_is_run_afresh_each_time():
    pairs = combine_latest(Reactive("left"), Reactive("right"))
    assert [marbles(pairs, left="1-", right="-x") for _ in range(2)] == ["-(1x)"] * 2


def test_inputs_are_pushed_in_the_order_of_the_keywords():
    pairs = combine_latest(Reactive("left"), Reactive("right"))
    assert marbles(pairs, left="12", right="xy") == "(1x)(2x,2y)"
    assert marbles(pairs, right="xy", left="12") == "(1x)(1y,2y)"


def test_a_function_gets_its_inputs_in_the_order_of_the_keywords():
    assert marbles(cartesian, right="x-", left="-1") == "-(x1)"


def test_spaces_align_and_count_for_nothing():
    assert marbles(zip_, left=" 1 (2 3) -  ", right="- - (x y)") == marbles(zip_, left="1(23)-", right="--(xy)")


@pytest.mark.parametrize(
    ("pattern", "left", "right", "out"),
    [
        (zip_, "12|", "--xy-", "--(1x)(2y|)"),  # as soon as an ended input has nothing left
        (zip_, "1|--", "x---", "(1x)|"),
        (zip_, "(1|)-", "x-", "(1x|)"),
        (zip_, "-|--", "----", "-|"),
        (combine_latest, "1|---", "-x-y|", "-(1x)-(1y)|"),
        (combine_latest, "1-|", "-(x|)", "-(1x)|"),
        (combine_latest, "|--", "-x-", "-|"),  # no result can come any more: seen when an event comes
        (cartesian, "1--|", "-(x|)", "-(1x)-|"),
        (cartesian, "1-(2|)", "-(x|)", "-(1x)(2x|)"),
        (cartesian, "(|)", "|", "|"),
        (cartesian, "(12|)", "(x|)", "(2x,1x|)"),
        (cartesian, "1|---", "x----", "(1x)----"),  # the other goes on
    ],
)
def test_the_end_is_shown_where_the_output_completes_and_is_the_last(pattern, left, right, out):
    assert marbles(pattern, left=left, right=right) == out


def test_nothing_may_follow_the_end_but_silence():
    assert marbles(same, x="1|--") == "1|"
    assert marbles(same, x="(1|)--") == "(1|)"


def test_a_deadline_fires_in_its_own_unit_before_what_is_pushed_there():
    # What comes at t is let through past t + 2, that is at t + 3.
    assert marbles(cartesian, x="1----2-34---", restrict=debouncing("x", 2)) == "---1-------4"
    assert marbles(cartesian, x="1--2---", restrict=debouncing("x", 2)) == "---1--2"


def test_the_first_unit_is_time_0_and_each_lasts_one():
    times = correlate(x=Reactive("x"), yields=lambda time_x: (time_x.start, time_x.end))
    assert marbles(times, x="a-(bc)") == "(00)-(22,22)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("ab", "(ab)"),
        ("", "()"),
        ("-", "(-)"),  # what means something in a diagram does not stand bare
        ("|", "(|)"),
        (" ", "( )"),
        (1, "1"),
        (12, "(12)"),
        (1.5, "(1.5)"),
        (True, "(True)"),
        (None, "∅"),
        (("1", "x"), "(1x)"),
        (["1", None], "(1∅)"),
        (("1", ("x", 2), []), "(1[x2][])"),
        ({"id": 7, "at": (1, 2)}, "({id:7 at:[12]})"),
        ((1, {"id": 7}), "(1{id:7})"),
    ],
)
def test_values_are_shown_as_the_table_says(value, text):
    assert shown(value) == text


def test_several_results_of_a_unit_are_separated_by_commas():
    assert shown("a", ("b", 1), None) == "(a,b1,∅)"


def test_retractions_are_marked():
    latest = most_recently("left", "right") | retracting()
    assert marbles(cartesian, left="1-2", right="-x-", restrict=latest) == "-(1x)(!1x,2x)"
    assert marbles(cartesian, x="12", restrict=most_recently("x") | retracting()) == "1(!1,2)"


def test_outer_joins_show_what_is_missing():
    def outer(left, right):
        return correlate(
            x=left,
            y=right,
            where=lambda x, y: x == y,
            yields=lambda x, y: (x, y),
            restrict=optionally("y") | retracting(),
        )

    assert marbles(outer, left="12-", right="--1") == "(1∅)(2∅)(!1∅,11)"


CHANGES = {"a": Update("E", 9), "b": Update("E", 8), "n": Update("E", None), "d": Delete("E"), "k": Update((1, 2), "x")}


def test_tables_take_changes_and_show_them():
    def copy(ship):
        return cartesian(ship, restrict=retracting() | as_table("ship"))

    ship = Reactive("ship", table=True)
    for pattern in (copy, copy(ship)):  # a function's input is a table if its diagram has a change
        out = marbles(pattern, ship="aa-b(dk)n", values=CHANGES)
        assert out == "(E:9)--(E:8)(E:∅,[12]:x)(E:[∅])"
    assert marbles(copy(ship), ship="---") == "---"


def test_a_row_that_is_an_empty_text_does_not_look_like_a_deletion():
    ship = Reactive("ship", table=True)
    copy = cartesian(ship, restrict=retracting() | as_table("ship"))
    assert marbles(copy, ship="ad", values={**CHANGES, "a": Update("E", "")}) == "(E:)(E:∅)"


def test_a_table_that_declares_its_key_takes_bare_rows():
    ship = Reactive("ship", table=True, key="id")
    copy = correlate(ship=ship, yields=lambda ship: ship.draught, restrict=retracting() | as_table("ship"))
    assert marbles(copy, ship="a", values={"a": {"id": "E", "draught": 9}}) == "(E:9)"


def test_values_give_meaning_to_other_characters():
    assert marbles(same, x=".*1", values={".": 0, "*": "ab"}) == "0(ab)1"


MALFORMED = [
    "",
    "   ",
    "(ab",
    "(",
    ")",
    "1)",
    "((a))",
    "()",
    "(a-b)",
    "(a|b)",
    "1|2",
    "||",
    "|(a)",
    "1.2",
    "1,2",
    "1_",
    5,
    None,
]


@pytest.mark.parametrize("diagram", MALFORMED)
def test_a_malformed_diagram_is_refused(diagram):
    with pytest.raises(InvalidArgument, match=r"^marbles: expected .* but got left=.*; ") as caught:
        marbles(cartesian, left=diagram, right="1")
    assert repr(diagram) in str(caught.value)


@pytest.mark.parametrize(("diagram", "rest"), [("12|3-", "3-"), ("1(ab", "(ab"), ("1-.2", ".2"), ("1 2)", ")")])
def test_the_message_says_where_a_diagram_goes_wrong(diagram, rest):
    with pytest.raises(InvalidArgument, match="wrong from") as caught:
        marbles(same, x=diagram)
    assert f"wrong from {rest!r}" in str(caught.value)


def test_an_unknown_input_is_refused_with_the_near_names():
    pairs = combine_latest(Reactive("left"), Reactive("right"))
    with pytest.raises(InvalidArgument, match=r"\(left, right\) but got 'lfet'; did you mean 'left'\?"):
        marbles(pairs, lfet="1", right="x")
    with pytest.raises(InvalidArgument, match=r"\(left, right\) but got 'tide'; leave it out"):
        marbles(pairs, tide="1")
    with pytest.raises(InvalidArgument, match=r"\(x\) but got 'unused'; leave it out"):
        marbles(lambda x, unused: same(x), x="1", unused="1")


def test_other_wrong_arguments_are_refused():
    with pytest.raises(InvalidArgument, match="marbles: expected a diagram for each input but got none; write"):
        marbles(cartesian)
    with pytest.raises(InvalidArgument, match=r"marbles: expected a function, or a reactive .* but got 5"):
        marbles(5, x="1")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="marbles: expected a Reactive but got result of the function=7"):
        marbles(lambda x: 7, x="1")  # type: ignore[arg-type, return-value]  # wrong on purpose
    for sign in ("-", "|", "(", ")", " ", "ab", ""):
        with pytest.raises(InvalidArgument, match="marbles: expected single characters"):
            marbles(same, x="1", values={sign: 1})


def test_what_the_engine_refuses_is_refused():
    with pytest.raises(InvalidArgument, match="expected an Update or a Delete for the table 'ship'"):
        marbles(cartesian(Reactive("ship", table=True)), ship="1")


UNITS = st.lists(st.one_of(st.just("-"), st.sampled_from("ab1"), st.text("ab1", min_size=2, max_size=4)), min_size=1)


@given(units=UNITS)
def test_what_passes_unchanged_is_drawn_unchanged(units):
    diagram = "".join(unit if len(unit) == 1 else f"({unit})" for unit in units)
    expected = "".join(unit if len(unit) == 1 else f"({','.join(unit)})" for unit in units)
    assert marbles(same, x=diagram) == expected
