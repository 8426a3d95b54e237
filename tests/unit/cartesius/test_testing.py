"""marbles draws what a pattern does; streams are equivalent up to the order that does not matter, and say why not."""

from __future__ import annotations

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cartesius.testing
from cartesius import (
    Delete,
    Duration,
    Event,
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
from cartesius.testing import Equivalence, Matcher, assert_streams_equivalent, marbles, streams_equivalent
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


def test_just_three_names_are_public():
    assert sorted(cartesius.testing.__all__) == ["assert_streams_equivalent", "marbles", "streams_equivalent"]


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


# ------------------------------------------------------------------------------------------------ streams_equivalent


def always(a, b):
    return True


def test_without_dependence_streams_are_multisets():
    assert streams_equivalent("abca", "caab")
    assert not streams_equivalent("abca", "cabb")
    assert not streams_equivalent("aa", "a")
    assert streams_equivalent([], [])


def test_with_full_dependence_streams_are_sequences():
    assert streams_equivalent("abc", "abc", dependent=always)
    assert not streams_equivalent("abc", "acb", dependent=always)


def test_measurements_may_be_swapped_between_markers_only():
    """The example of data-trace types (SOURCES E1)."""

    def dependent(a, b):
        return "#" in (a[0], b[0])

    one = [("M", 5), ("M", 5), ("M", 8), ("#", 1), ("M", 9)]
    assert streams_equivalent(one, [one[2], one[0], one[1], one[3], one[4]], dependent)
    assert not streams_equivalent(one, [one[0], one[1], one[3], one[2], one[4]], dependent)


def test_a_relation_need_not_be_an_equivalence_and_may_say_it_one_way_only():
    """A younger event may cross a punctuation, an older one may not."""

    def dependent(a, b):
        return a[0] == "punctuation" and b[0] != "punctuation" and b[1] < a[1]

    stop, older, younger = ("punctuation", 5), ("event", 4), ("event", 6)
    assert streams_equivalent([older, younger, stop], [older, stop, younger], dependent)
    assert not streams_equivalent([older, stop], [stop, older], dependent)
    assert not streams_equivalent([stop, older], [older, stop], dependent)


def test_the_answer_says_which_item_and_why():
    answer = streams_equivalent("abc", "abd")
    assert (answer.stream, answer.index, answer.item) == (1, 2, "c")
    assert answer.reason == "item 2 of stream 1 ('c') has no equal left in stream 2"
    answer = streams_equivalent("ab", "ba", always)
    assert (answer.stream, answer.index, answer.item) == (2, 0, "b")
    assert "item 0 of stream 2 ('b') and item 0 of stream 1 ('a') are out of order" in answer.reason
    answer = streams_equivalent("abx", "cab")  # of what is left, the earliest
    assert (answer.stream, answer.index, answer.item) == (2, 0, "c")
    assert (streams_equivalent("a", "ab").stream, streams_equivalent("a", "ab").item) == (2, "b")


def test_an_answer_cannot_be_changed():
    answer = streams_equivalent("a", "a")
    assert answer == Equivalence()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        answer.reason = "?"  # type: ignore[misc]  # it is frozen


def test_it_is_decided_online():
    """An endless stream is read no further than needed."""
    read: list[int] = []

    def endless():
        for number in itertools.count():
            read.append(number)
            yield number

    assert not streams_equivalent(endless(), itertools.chain(range(5), itertools.count(6)), always)
    assert read == list(range(6))


def test_only_unmatched_items_are_kept_and_a_failure_stays():
    matcher = Matcher()
    for number in range(100):
        assert matcher.feed(1, number)
        assert matcher.unmatched == {1: [(number, number)], 2: []}
        assert matcher.feed(2, number)
    assert matcher.unmatched == {1: [], 2: []}
    assert matcher.finish()
    matcher = Matcher(dependent=always)
    assert matcher.feed(1, "a")
    assert not matcher.finish()  # as far as fed
    failure = matcher.feed(2, "b")
    assert not failure
    assert matcher.feed(2, "a") == failure
    assert matcher.feed(1, "z") == failure == matcher.finish()


def test_equal_may_compare_items_of_different_kinds():
    """Its first argument is of the first stream, in whatever order the items come."""
    assert streams_equivalent([1, 2], ["2", "1"], equal=lambda a, b: str(a + 0) == b)


EVENT = Event(("a", 1), 1, 2, 1, "pairs", ("pairs", 1))


@pytest.mark.parametrize(
    ("other", "is_equal"),
    [
        (attrs.evolve(EVENT, reactive="others", identity=("others", 9)), True),
        (attrs.evolve(EVENT, value=("a", 1.0)), False),
        (attrs.evolve(EVENT, value=("a", True)), False),
        (attrs.evolve(EVENT, value=["a", 1]), False),
        (attrs.evolve(EVENT, start=0), False),
        (attrs.evolve(EVENT, end=3), False),
        (attrs.evolve(EVENT, weight=-1), False),
        (("a", 1), False),
    ],
)
def test_events_are_equal_by_value_times_and_weight_type_exactly(other, is_equal):
    assert bool(streams_equivalent([EVENT], [other])) is is_equal
    assert bool(streams_equivalent([other], [EVENT])) is is_equal


def test_not_a_number_equals_itself():
    assert streams_equivalent([Event(float("nan"), 1, 1)], [Event(float("nan"), 1, 1)])


def test_other_things_are_equal_as_python_says():
    assert streams_equivalent([1, "a"], ["a", 1.0])


def test_a_retraction_is_an_item():
    one, back = Event("a", 1, 1), Event("a", 1, 1, -1)
    assert streams_equivalent([one, back, one], [one, one, back])
    assert not streams_equivalent([one, back], [])


def test_changes_of_one_row_stay_in_order():
    first, second, gone, other = Update("E", 1), Update("E", 2), Delete("E"), Update("F", 1)
    for wrap in (lambda change: change, lambda change: Event(change, 1, 1)):
        one = [wrap(first), wrap(second), wrap(other), wrap(gone)]
        assert streams_equivalent(one, [one[2], one[0], one[1], one[3]])
        assert not streams_equivalent(one, [one[1], one[0], one[2], one[3]])
        assert not streams_equivalent(one, [one[0], one[3], one[1], one[2]])
        assert streams_equivalent(one, one[::-1], dependent=lambda a, b: False)


# ----------------------------------------------------------------------------------------- assert_streams_equivalent


def test_an_assertion_that_holds_says_nothing():
    assert_streams_equivalent(iter("abc"), iter("cab"))
    assert_streams_equivalent([EVENT], [attrs.evolve(EVENT, reactive="others")], always)


def test_an_assertion_that_fails_shows_both_streams_the_item_and_the_reason():
    one = [Event("a", 1, 1), Event("b", 2, 2), Event("c", 3, 5)]
    other = [Event("a", 1, 1, 1, "others"), Event("c", 3, 5), Event("b", 2, 2, -1)]
    with pytest.raises(AssertionError) as caught:
        assert_streams_equivalent(iter(one), iter(other), dependent=always)
    assert str(caught.value).splitlines() == [
        "item 1 of stream 2 ('c' at 3..5) and item 1 of stream 1 ('b' at 2..2) are out of order, or lack an equal",
        "--- stream 1",
        "+++ stream 2",
        "@@ -1,3 +1,3 @@",
        "   'a' at 1..1",
        "-  'b' at 2..2",
        "-  'c' at 3..5",
        "+> 'c' at 3..5",
        "+  !'b' at 2..2",
    ]


def test_the_item_is_marked_even_if_both_streams_look_alike():
    with pytest.raises(AssertionError, match="has no equal left in stream 2") as caught:
        assert_streams_equivalent("ab", "ab", equal=lambda a, b: a == "b" == b)
    assert "-> 'a'" in str(caught.value)


def test_an_assertion_takes_another_equality():
    assert_streams_equivalent("aB", "Ab", equal=lambda a, b: a.lower() == b.lower())
