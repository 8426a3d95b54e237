"""Streams are equivalent up to the order that does not matter; if not, it is said which item has no match, and why."""

from __future__ import annotations

import itertools
import re

import attrs
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cartesius import Delete, Event, Update
from cartesius.errors import InvalidArgument
from cartesius.testing import (
    Equivalence,
    Matcher,
    all_depend,
    assert_streams_equivalent,
    check_relations,
    end_of_day,
    equal_by,
    none_depend,
    reordered,
    same_key,
    streams_equivalent,
)


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
    assert answer.behind == 0
    assert answer.reason == "item 0 of stream 2 ('b') depends on item 0 of stream 1 ('a'), which has no equal before it"
    answer = streams_equivalent("abx", "cab")  # of what is left, the earliest
    assert (answer.stream, answer.index, answer.item) == (2, 0, "c")
    assert (streams_equivalent("a", "ab").stream, streams_equivalent("a", "ab").item) == (2, "b")


def test_what_is_said_to_have_no_equal_has_none_in_what_is_still_to_come():
    for one, other in [("a", "bca"), ("a", itertools.chain("bca", itertools.repeat("z")))]:
        answer = streams_equivalent(one, other)  # 'a' may have one later on, where no more is read
        assert answer.reason == "item 0 of stream 2 ('b') has no equal left in stream 1"
        assert (answer.stream, answer.index, answer.item) == (2, 0, "b")
    assert streams_equivalent("bca", "a").stream == 1


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


EVENT: Event = Event(("a", 1), 1, 2, 1, "pairs", ("pairs", 1))


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
        "item 1 of stream 2 ('c' at 3..5) depends on item 1 of stream 1 ('b' at 2..2), which has no equal before it",
        "without an equal:",
        "  stream 1: 1 ('b' at 2..2)",
        "--- stream 1",
        "+++ stream 2",
        "@@ -1,3 +1,3 @@",
        "   'a' at 1..1",
        "-* 'b' at 2..2",
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


def test_what_has_no_equal_is_listed_a_few_of_each_stream():
    with pytest.raises(AssertionError) as caught:
        assert_streams_equivalent(range(8), [*"ab", 0, 1])
    lines = str(caught.value).splitlines()
    assert lines[:4] == [
        "item 0 of stream 2 ('a') has no equal left in stream 1",
        "without an equal:",
        "  stream 1: 2 (2), 3 (3), 4 (4), 5 (5), 6 (6) and 1 more",
        "  stream 2: 0 ('a'), 1 ('b')",
    ]


def test_of_long_streams_it_shows_what_is_around_the_items():
    one = list(range(3_000))
    other = [*one[:2_000], 2_001, 2_000, *one[2_002:]]
    with pytest.raises(AssertionError) as caught:
        assert_streams_equivalent(one, other, all_depend())
    lines = str(caught.value).splitlines()
    assert (
        lines[0] == "item 2000 of stream 2 (2001) depends on item 2000 of stream 1 (2000), which has no equal before it"
    )
    assert lines[3:5] == ["stream 1, from item 1995:", "  1995"]
    assert "* 2000" in lines[4:15]
    assert lines[15:17] == ["stream 2, from item 1995:", "  1995"]
    assert "> 2001" in lines[17:]
    assert len(lines) == 27


def test_under_pytest_a_failure_is_shown_at_the_line_of_the_test():
    with pytest.raises(AssertionError) as caught:
        assert_streams_equivalent("abc", "acb", all_depend())  # this line
    last = caught.traceback.filter(caught)[-1]  # as pytest filters what it shows
    assert str(last.statement).endswith("# this line")
    report = str(caught.getrepr(style="short"))
    assert "E   AssertionError: item 1 of stream 2 ('c') depends on item 1 of stream 1 ('b'), which has no" in report
    assert "E     stream 1: 1 ('b')" in report


# ----------------------------------------------------------------------------------------------------------- reordered


def test_an_order_drawn_at_random_is_equivalent_and_every_one_is_drawn_some_time():
    relation = end_of_day(lambda item: item == "#")
    found = {"".join(reordered("ab#c", relation, seed=seed)) for seed in range(100)}
    assert found == {"ab#c", "ba#c"}
    assert len({tuple(reordered(range(3), lambda a, b: False, seed=seed)) for seed in range(200)}) == 6
    assert reordered("ab#c", relation, seed=3) == reordered("ab#c", relation, seed=3)
    assert reordered([], seed=1) == []
    changes = [Update("E", 1), Update("F", 1), Update("E", 2)]
    orders = {tuple(change.key for change in reordered(changes, seed=seed)) for seed in range(50)}
    assert orders == {("E", "F", "E"), ("F", "E", "E"), ("E", "E", "F")}
    assert all(streams_equivalent(changes, reordered(changes, seed=seed), same_key()) for seed in range(50))


# ----------------------------------------------------------------------------------------------------- check_relations


def test_relations_that_fit_are_passed():
    check_relations([EVENT, attrs.evolve(EVENT, reactive="others"), Update("E", 1), Delete("E"), 1, 1.0])
    check_relations("abAB", lambda a, b: (a.lower(), b.lower()) == ("a", "b"), equal_by(str.lower))


@pytest.mark.parametrize(
    ("items", "dependent", "equal", "message"),
    [
        (
            [0.0, 0.6, 1.2],
            None,
            lambda a, b: abs(a - b) < 1,
            "0.0 equals 0.6, which equals 1.2, and 0.0 does not",
        ),
        ([1, 2], None, lambda a, b: a <= b, "1 equals 2, which does not equal it"),
        ([float("nan")], None, None, "nan does not equal itself"),
        (
            "aAb",
            lambda a, b: (a, b) == ("a", "b"),
            equal_by(str.lower),
            "'a' equals 'A' and just one of them depends",
        ),
    ],
)
def test_relations_that_do_not_fit_are_refused_with_the_items_that_show_it(items, dependent, equal, message):
    with pytest.raises(InvalidArgument, match=message):
        check_relations(items, dependent, equal)


@pytest.mark.parametrize("found", [[], [1], [5]])
@pytest.mark.parametrize("relation", [all_depend(), none_depend(), None])
def test_an_endless_stream_is_read_no_further_than_the_other_one_has_items_for(found, relation):
    assert not streams_equivalent(found, itertools.count(1), relation)
    assert not streams_equivalent(itertools.count(1), found, relation)


def test_rows_of_one_key_of_two_tables_are_two_rows_and_not_a_number_is_one_key():
    a, b = (Event(Update(1, value), 0, 0, 1, table) for table, value in (("A", "x"), ("B", "y")))
    assert streams_equivalent([a, b], [b, a])
    one, other = (Event(Update(key, value), 0, 0, 1, "A") for key, value in ((float("nan"), 1), (float("nan"), 2)))
    assert not streams_equivalent([one, other], [other, one])
    assert not streams_equivalent([one, other], [other, one], same_key())


@pytest.mark.parametrize("column", [pl.Series([1, 2]), pa.table({"a": [1, 2]}).column("a"), pd.Series([1, 2])])
def test_a_column_is_a_stream_of_its_values(column):
    assert streams_equivalent(column, list(column))
    assert not streams_equivalent(column, list(column)[::-1], all_depend())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((pl.DataFrame({"a": [1]}), []), "an iterable of items but got stream 1 (type=DataFrame)"),
        (([], pd.DataFrame({"a": [1]})), "an iterable of items but got stream 2 (type=DataFrame)"),
        ((pa.table({"a": [1]}), pa.table({"a": [2]})), "an iterable of items but got stream 1 (type=Table)"),
        (([], {"a": 1}), "an iterable of items but got stream 2 (type=dict)"),
        (([], [], "taxi"), "of items of one key write same_key('taxi')"),
        (([], [], None, "taxi"), "equal: expected a function of two items but got 'taxi'"),
    ],
)
def test_what_is_no_stream_or_no_relation_is_refused(arguments, message):
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        streams_equivalent(*arguments)
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        assert_streams_equivalent(*arguments)
