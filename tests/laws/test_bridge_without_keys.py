"""The law of the bridge for what is split without a key, and for joins in which a row of one side is enough."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Reactive, correlate
from restrictions import cartesian, most_recently, sliding
from restrictions.streams import filter_, interval_join, map_, merge
from restrictions.tables import changelog, filter_table, inner_join, left_join, map_table, outer_join
from tests.laws.bridge_programs import FIELDS, drawn_from, unit_of
from tests.laws.test_bridge import MODES, check
from tests.oracle.tier_programs import Case

EXAMPLES = settings(max_examples=max(5, settings().max_examples // 20))
A, B = (Reactive(name, fields=FIELDS) for name in ("in0", "in1"))
T, U = (Reactive(name, table=True, key="id", fields=FIELDS) for name in "tu")


def stateless(draw):
    """Filters, functions and merges, each of one or two of what there is already."""
    found = [A, B]
    for _ in range(draw.randint(1, 4)):
        one, other = draw.choice(found[-3:]), draw.choice(found)
        step = draw.randrange(4)
        if step == 0:
            found.append(filter_(one, lambda row: row.n % 2 == 0))
        elif step == 1:
            found.append(map_(one, lambda row: {"n": row.n + 1, "k": row.k, "j": row.j, "v": row.v}))
        elif step == 2:
            found.append(filter_(one, lambda row: row.n != row.k))
        else:
            found.append(merge(one, other))
    return found[-1] if draw.random() < 0.8 else map_(found[-1], lambda row: 1 / row.n)


def beside_all_of_another(unit, draw):
    """What comes meets what every bucket has."""
    return draw.choice(
        [
            lambda: cartesian(A, B, restrict=most_recently("in1")),
            lambda: interval_join(A, B, -2 * unit, unit),
            lambda: correlate(
                x=A, yields=lambda x, window: {"n": x.n, "since": window.start}, restrict=sliding(6 * unit, 3 * unit)
            ),
        ]
    )()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["stateless", "beside"])
@given(trace=st.binary(min_size=40, max_size=100), seed=st.integers(0, 2**32))
@EXAMPLES
def test_what_no_two_rows_meet_in_is_split_by_the_whole_row(kind, mode, trace, seed):
    draw = random.Random(seed)
    output = stateless(draw) if kind == "stateless" else beside_all_of_another(unit_of(trace), draw)
    partition = None if kind == "stateless" else {"in0": "*"}  # B's rows are kept in every bucket
    drawn = drawn_from(Case("join", (A, B), (output,)), trace)
    trial = check(drawn, mode, draw, is_derived=True, partition=partition)
    assert trial.plan.count > 1
    assert "*" in {source.partition for source in trial.plan.sources}


def joined(draw):
    """Joins of tables by their keys, in which parts may be missing, on top of each other."""
    sides = [T, U, filter_table(T, lambda row: row.n > 1), map_table(U, lambda row: {"n": row.n, "k": row.j})]
    found = draw.choice([left_join, outer_join])(*draw.sample(sides, 2))
    more = draw.choice(
        [
            lambda: found,
            lambda: draw.choice([inner_join, left_join, outer_join])(found, draw.choice(sides)),
            lambda: outer_join(draw.choice(sides), found),
            lambda: map_table(found, lambda pair: {"left": pair[0], "right": pair[1]}),
            lambda: changelog(found),
        ]
    )()
    return more


@pytest.mark.parametrize("mode", MODES)
@given(trace=st.binary(min_size=40, max_size=100), seed=st.integers(0, 2**32))
@EXAMPLES
def test_joins_by_the_key_are_split_by_it_also_where_a_row_of_either_side_is_enough(mode, trace, seed):
    draw = random.Random(seed)
    trial = check(drawn_from(Case("table", (T, U), (joined(draw),)), trace), mode, draw, is_derived=True)
    assert trial.plan.count > 1
    assert {source.partition for source in trial.plan.sources} == {"id"}
