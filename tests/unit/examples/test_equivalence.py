"""The five reducers of DiffStream's MapReduce case study: bugs are found, and what is right is not reported.

The table of SOURCES E5, column by column, at inputs drawn from seeds; the reducers themselves against plain code.
"""

from __future__ import annotations

import doctest
import importlib
import itertools
from collections import defaultdict

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Window
from cartesius.testing import assert_streams_equivalent, check_relations, none_depend, streams_equivalent
from examples.equivalence import REDUCERS, __main__, bad_rows, good_rows, reduced, shuffled

NAMES = sorted(REDUCERS)
SEEDS = range(3)


def last_x(rows):
    return rows[-1][1]


def x_to_y(rows):
    return {x: y for _, x, y in rows}


def row_of_the_largest_x(rows):
    return next((x, y) for _, x, y in rows if x == max(row[1] for row in rows))


def first_five(rows):
    return len(rows[:5]), {(x, y) for _, x, y in rows[:5]}


def joined(rows):
    return "@".join(str(x) for _, x, _ in rows)


PLAIN = {
    "single_item": last_x,
    "index_value_pair": x_to_y,
    "max_row": row_of_the_largest_x,
    "first_n": first_five,
    "str_concat": joined,
}


def outputs(name, rows, seed):
    """What it gives for these rows, and for the same in another order."""
    return reduced(REDUCERS[name], rows), reduced(REDUCERS[name], shuffled(rows, seed=seed))


@pytest.mark.parametrize("name", NAMES)
def test_a_reducer_does_what_it_says(name):
    rows = bad_rows(3, 12, seed=5)
    groups = defaultdict(list)
    for at, row in rows:
        groups[row[0], Window(at // 10 * 10, at // 10 * 10 + 10)].append(row)
    assert {change.key: change.value for change in reduced(REDUCERS[name], rows)} == {
        group: PLAIN[name](found) for group, found in groups.items()
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_where_a_deterministic_result_is_needed_the_bug_is_found(name, seed):
    one, other = outputs(name, bad_rows(5, 20, seed=seed), seed)
    answer = streams_equivalent(one, other, none_depend())
    assert not answer
    assert answer.item in (one if answer.stream == 1 else other)
    assert one != other


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_what_is_right_under_its_assumption_about_the_input_is_not_reported(name, seed):
    one, other = outputs(name, good_rows(5, 20, seed=seed), seed)
    assert_streams_equivalent(one, other, none_depend())


def test_at_most_five_rows_a_key_and_window_and_any_order_gives_the_same_first_five():
    one, other = outputs("first_n", bad_rows(20, 5, seed=1), 1)
    assert_streams_equivalent(one, other, none_depend())


@pytest.mark.parametrize("seed", SEEDS)
def test_where_any_order_is_acceptable_str_concat_passes_with_an_equality_of_its_own(seed):
    one, other = outputs("str_concat", bad_rows(5, 20, seed=seed), seed)
    assert not streams_equivalent(one, other, none_depend())
    assert_streams_equivalent(one, other, none_depend(), REDUCERS["str_concat"].on_what_is_determined)
    wrong = [*one[:-1], type(one[-1])(one[-1].key, one[-1].value + "@1")]
    assert not streams_equivalent(one, wrong, none_depend(), REDUCERS["str_concat"].on_what_is_determined)


def test_str_concat_passes_as_well_if_its_parts_are_given_one_by_one():
    def parts(changes):
        return [(change.key, part) for change in changes for part in change.value.split("@")]

    one, other = outputs("str_concat", bad_rows(5, 20, seed=1), 1)
    assert parts(one) != parts(other)
    assert_streams_equivalent(parts(one), parts(other), none_depend())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["max_row", "first_n"])
def test_no_dependence_relation_accepts_max_row_and_first_n_and_the_determined_part_is_compared(name, seed):
    """The fewest pairs that may not be swapped are none at all; still values differ."""
    reducer, rows = REDUCERS[name], bad_rows(5, 20, seed=seed)
    one, other = outputs(name, rows, seed)
    assert not streams_equivalent(one, other, none_depend())
    assert_streams_equivalent(one, other, none_depend(), reducer.on_what_is_determined)
    for change in [*one, *other]:
        key, window = change.key
        assert reducer.is_possible(change.value, [row for at, row in rows if row[0] == key and window.holds(at, at)])


ROWS = st.lists(st.tuples(st.just(1), st.integers(1, 2), st.integers(1, 2)), min_size=1, max_size=6)


@given(rows=ROWS, name=st.sampled_from(NAMES))
@settings(max_examples=40)
def test_what_is_determined_is_what_all_orders_agree_in_and_what_is_possible_is_what_one_gives(rows, name):
    reducer, plain = REDUCERS[name], PLAIN[name]
    values = [plain(list(order)) for order in set(itertools.permutations(rows))]
    determined = [reducer.determined(value) for value in values]
    assert all(part == determined[0] for part in determined)
    assert all(reducer.is_possible(value, rows) for value in values)
    if name == "max_row":
        others = [(x, y) for x in (1, 2) for y in (1, 2)]
        assert all(reducer.is_possible(value, rows) == (value in values) for value in others)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_determined_makes_an_equivalence(name):
    one, other = outputs(name, bad_rows(2, 6, seed=1), 1)
    check_relations([*one, *other], none_depend(), REDUCERS[name].on_what_is_determined)


def test_the_command_prints_the_table():
    done = CliRunner().invoke(__main__.main, ["--windows", "3"])
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    found = [words for words in lines if words and words[0] == "│" and words[1] in NAMES]
    rows = {words[1]: [word for word in words[2:] if word.isalpha()] for words in found}
    assert {name: rows[name] for name in NAMES} == {name: ["differs", "the", "same", "the", "same"] for name in NAMES}
    assert "str_concat: item 0 of stream 1 (Update(key=(" in done.output


@pytest.mark.parametrize("module", ["input_rows", "reducers"])
def test_the_examples_in_docstrings_run(module):
    found = importlib.import_module(f"examples.equivalence.{module}")
    result = doctest.testmod(found)
    assert result.attempted
    assert not result.failed
