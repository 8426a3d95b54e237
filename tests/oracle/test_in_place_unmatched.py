"""Rows without a partner, which come as their events leave, in place against the reference tier.

What is drawn covers what a push may find: partners that leave before, after and with an event, on either side or both,
ties, late events, keys that are null, bodies and conditions that fail, and what is left to the clauses.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fifo, key_by, most_recently, only, optionally, retracting, take, within
from restrictions.streams import interval_join
from restrictions.time.duration import apart, lasting
from tests.oracle.test_in_place import Both
from tests.oracle.test_in_place_absences import run

WHERE = (
    lambda x, y: x.k == y.k,
    lambda x, y: (x.j == y.j) & (x.n <= y.n),
    lambda x, y: x.n <= y.n,
    lambda x, y: 4 / (x.n - y.n) > 1,
    lambda x, y: (x.k == y.k) & (x.n > 1),
    lambda x, y: y.n > 1,
)


def of_what_is_there(x: Any, y: Any) -> Any:
    yield x and x.n, y and y.n


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    a, b = Reactive("a"), Reactive("b")
    names = draw.choice([("y",), ("x",), ("x", "y")])
    bands = [within(draw.randrange(6), "x", "y"), apart("x", "y", draw.randrange(-4, 1), draw.randrange(4))]
    restrict: Any = optionally(*names) | draw.choice(bands)
    if draw.random() < 0.2:
        restrict = restrict | draw.choice([*bands, lasting("x", 3)])
    if draw.random() < 0.7:
        restrict = key_by(x="k", y="k") | restrict
    for other in (
        fifo(),
        fifo(),
        only("x", lambda x: x.n != 2),
        only("y", lambda y: y.j),
        most_recently("x"),
        most_recently("y"),
        most_recently("x", "y", n=2),
        retracting(),
        take(3),
    ):
        if draw.random() < 0.1:
            restrict = draw.choice([restrict | other, other | restrict])
    where: Any = draw.choice([None, None, *WHERE])
    if where is None and draw.random() < 0.1:
        return [a, b], correlate(slots={"x": a, "y": b}, restrict=restrict, name="out")(of_what_is_there)
    yields = draw.choice([lambda x, y: (x and x.n, y and y.n), lambda x, y: (x, y), lambda x, y: x and 6 / (x.n - 4)])
    return [a, b], correlate(slots={"x": a, "y": b}, restrict=restrict, name="out", where=where, yields=yields)


@given(st.integers(0, 2**32))
def test_rows_without_a_partner_agree_whatever_comes(seed: int) -> None:
    run(random.Random(seed), program=a_program)


def test_many_of_the_pushes_drawn_are_done_by_functions_of_their_own() -> None:
    assert sum(run(random.Random(f"{seed}"), program=a_program) for seed in range(40)) > 8


def test_one_slot_that_may_be_missing_counts_what_is_not_near_itself() -> None:
    a = Reactive("a")
    both = Both(correlate(x=a, yields=lambda x: x, restrict=optionally("x") | within(2, "x")))
    for at in [(1, 1), (-2, 1), (2, 4)]:
        both.call("push", a, 1, at)
    both.check()


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_no_push_of_an_outer_interval_join_is_left_to_the_clauses(how: str) -> None:
    a, b = Reactive("a"), Reactive("b")
    engine = Engine(interval_join(a, b, 0, 10, key="k", how=how), lateness=0)
    keys = random.Random(how)
    given = [one for t in range(600) for one in engine.push((a, b)[t % 3 == 1], {"k": keys.randrange(9)}, at=t)]
    alone = [one for one in given if None in one.value]
    assert len(alone) > 20
    assert len(given) > len(alone)
    assert sum(engine.stats.given_up.values()) == 2  # the first of each
    assert engine.stats.retained < 30
