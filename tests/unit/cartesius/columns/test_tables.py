"""Tables in columns: what is pushed in batches is what is pushed change by change into the reference tier."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import correlate
from cartesius.expressions.expressions import KeyOf
from restrictions import as_table, only, optionally, retracting
from restrictions.table_operators.aggregation import totalling, totalling_by
from restrictions.tables import (
    changelog,
    combine_updates,
    count,
    filter_table,
    foreign_join,
    inner_join,
    left_join,
    map_table,
    max_,
    mean,
    min_,
    outer_join,
    reduce,
    sum_,
    update_stream,
)
from tests.unit.cartesius.columns.stream_traces import cuts
from tests.unit.cartesius.columns.table_traces import (
    BINARY,
    LEFT,
    RIGHT,
    TERNARY,
    built,
    check,
    equal,
    keeps,
    named,
    of,
    programs,
    score,
    traces,
)


@settings(max_examples=settings().max_examples // 2)
@given(programs(), traces(), cuts())
def test_programs_of_tables_give_in_batches_what_they_give_in_the_reference(tree, trace, cut):
    check([built(tree)], trace, cut)


@settings(max_examples=settings().max_examples // 2)
@given(programs(), programs(), traces(), cuts())
def test_correlations_of_one_program_share_what_they_keep(one, other, trace, cut):
    outputs = [built(one), built(other)]
    check(outputs if outputs[0] is not outputs[1] else outputs[:1], trace, cut)


FEWER = settings(max_examples=settings().max_examples // 4)  # of each of some fifteen parameters


@pytest.mark.parametrize("name", sorted(BINARY))
@FEWER
@given(traces(most=60, keys=2), cuts())
def test_joins_of_two_inputs_are_exact(name, trace, cut):
    check([BINARY[name](LEFT, RIGHT)], trace, cut)
    check([BINARY[name](LEFT, LEFT)], trace, cut)


@pytest.mark.parametrize("name", sorted(TERNARY))
@FEWER
@given(traces(most=60), cuts(), st.permutations(["left", "right", "stream"]))
def test_joins_of_three_inputs_are_exact(name, trace, cut, tables):
    check([built((name, *tables))], trace, cut)


@FEWER
@given(programs(), traces(), cuts())
def test_an_input_may_be_an_output_as_well(tree, trace, cut):
    check([LEFT, built(tree)], trace, cut)


FAN_OUT = foreign_join(LEFT, RIGHT, on=lambda value: value // 100)
WITH_NONE = foreign_join(LEFT, RIGHT, on=lambda value: value // 100, how="left")


@pytest.mark.parametrize(
    "output",
    [
        FAN_OUT,
        WITH_NONE,
        filter_table(FAN_OUT, keeps),
        map_table(WITH_NONE, score),
        outer_join(WITH_NONE, FAN_OUT),
        left_join(FAN_OUT, RIGHT),
        inner_join(LEFT, WITH_NONE),
        foreign_join(FAN_OUT, WITH_NONE, on=named, how="left"),
        reduce(WITH_NONE, sum_.of(score), by=named),
        reduce(FAN_OUT, count),
    ],
    ids=lambda output: output.name,
)
def test_one_change_that_concerns_many_rows_gives_them_in_order(output):
    """Sixty rows name three others, of which one changes in every third step, or all lefts move to another one."""
    draw = random.Random(7)
    trace: list[tuple[int, int, int | None, int]] = [(0, key, 100 * (key % 3) + key, key) for key in range(60)]
    for at in range(60, 200):
        if at % 3:
            trace.append((0, draw.randrange(60), draw.choice([None, *range(0, 400, 7)]), at))
        else:
            trace.append((1, draw.randrange(4), draw.choice([None, 1, 2, 3, 4]), draw.randrange(300)))
    check([output], trace, [("many", 90), ("push", 5), ("many", 60), ("restore", 20)])


TOTALS = {
    "sum": lambda t: reduce(t, sum_.of(score)),
    "count": lambda t: reduce(t, count),
    "mean": lambda t: reduce(t, mean.of(score)),
    "kept": lambda t: correlate(x=t, yields=lambda x: x, restrict=retracting() | totalling(sum_.of(score))),
    "joined": lambda t: correlate(
        x=t,
        y=RIGHT,
        where=equal(of(named, "x"), KeyOf("y")),
        yields=lambda x, y: (y, x),
        restrict=retracting() | totalling_by(sum_.of(score), named) | optionally("y"),
    ),
}


@pytest.mark.parametrize("name", sorted(TOTALS))
@FEWER
@given(programs(), traces(), cuts())
def test_totals_are_exact(name, tree, trace, cut):
    check([TOTALS[name](built(tree))], trace, cut)


def halves(value):
    """Return a float."""
    return score(value) * 0.1 if score(value) % 3 else -score(value) / 1024


FLOATS = {
    "sum by": lambda t: reduce(t, sum_.of(halves), by=named),
    "mean by": lambda t: reduce(t, mean.of(halves), by=named),
}


@pytest.mark.parametrize("name", sorted(FLOATS))
@FEWER
@given(programs(), traces(), cuts())
def test_totals_of_floats_are_exact(name, tree, trace, cut):
    check([FLOATS[name](built(tree))], trace, cut)


@pytest.mark.parametrize("group", [max_.of(score), min_.of(named), min_.of(lambda value: score(value) / 4)], ids=repr)
@pytest.mark.parametrize("by", [None, lambda value: score(value) % 2], ids=["all", "by"])
@FEWER
@given(traces(most=60, keys=4), cuts())
def test_the_least_and_the_greatest_are_those_of_the_rows_that_are_there(group, by, trace, cut):
    check([reduce(LEFT, group, by=by)], trace, cut)


def stopped(value):
    """Not traced, and not the same for all that a traced predicate would be."""
    return bool(score(value) % 3)


@pytest.mark.parametrize(
    "output",
    [
        map_table(LEFT, score, restrict=only("x", stopped)),
        reduce(LEFT, sum_.of(score), by=named, restrict=only("x", stopped)),
        correlate(
            a=LEFT, b=RIGHT, where=lambda key_a, key_b: key_a == key_b, yields=lambda a, b: (a, b),
            restrict=only("a", stopped) | only("b", lambda b: b != 2) | optionally("b") | retracting() | as_table("a"),
        ),
        correlate(
            a=LEFT, b=RIGHT, where=lambda a, key_b: a == key_b, yields=lambda a, b: (a, b),
            restrict=only("b", lambda b: b != 1) | retracting() | as_table("a"),
        ),
    ],
    ids=lambda output: output.name,
)  # fmt: skip
@FEWER
@given(traces(most=60, keys=3), cuts())
def test_a_row_that_a_filter_stops_is_a_deletion(output, trace, cut):
    check([output], trace, cut)


@pytest.mark.parametrize(
    "output",
    [
        changelog(LEFT),
        update_stream(LEFT),
        changelog(outer_join(LEFT, RIGHT)),
        update_stream(filter_table(LEFT, keeps)),
    ],
    ids=lambda output: output.name,
)
@FEWER
@given(traces(most=60, keys=3), cuts())
def test_changes_of_a_table_are_events(output, trace, cut):
    check([output], trace, cut)


@pytest.mark.parametrize(
    "output",
    [
        combine_updates(LEFT, 0, lambda total, value: total * 2 + score(value)),
        map_table(combine_updates(LEFT, (), lambda seen, value: (score(value), len(seen))), score),
        inner_join(
            combine_updates(LEFT, 0, lambda total, _: total + 1),
            combine_updates(RIGHT, 0.5, lambda total, value: max(total, value + 0.5)),
        ),
    ],
    ids=lambda output: output.name,
)
@FEWER
@given(traces(most=60, keys=3), cuts())
def test_rows_are_folds_of_updates(output, trace, cut):
    check([output], trace, cut)


def test_groups_that_come_to_be_in_one_step_are_known_in_the_order_in_which_they_were_mentioned():
    check([built(("count by", ("foreign left", "right", "right")))], [(1, 1, 1, 0), (1, 0, 5, 0)])
