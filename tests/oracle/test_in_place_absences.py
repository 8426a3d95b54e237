"""Absence in place against the reference tier: random conditions, keys, filters, times and clocks.

What is drawn covers what a push may find: rows that wait, that are decided before it, events that forbid, tie, or are
forgotten, keys that are null, and other restrictions beside, which are left to the clauses.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fifo, key_by, most_recently, only, take, without
from tests.oracle.test_in_place import KEYS, Both


def of_several(x: Any) -> Any:
    for _ in range(x.j):
        yield x.n


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    a, b = Reactive("a"), Reactive("b")
    is_variable = draw.random() < 0.6
    absent = without("y" if is_variable else b, after="x", within=draw.randrange(5))
    kind = draw.choice(["keyed", "keyed", "keyed twice", "one keyed", "unkeyed"])
    name = "y" if is_variable else "b"
    restrict: Any = absent
    if kind.startswith("keyed"):
        restrict = key_by(x="k", **{name: "k"}) | restrict
    if kind == "keyed twice":
        restrict = key_by(x="j", **{name: "j"}) | restrict
    if kind == "one keyed":
        restrict = key_by(x="k") | restrict
    for other in (
        only("x", lambda x: x.n != 2),
        only(name, lambda y: y.j),
        fifo(),
        most_recently("x"),
        take(3),
        without("y" if is_variable else b, after="x", within=2),
        without("y" if is_variable else b, before="x", within=2),
    ):
        if draw.random() < 0.07:
            restrict = draw.choice([restrict | other, other | restrict])
    where: Any = draw.choice([None, None, lambda x: x.n > 1, lambda x: 4 / (x.n - 3) > 1])
    if is_variable and where is None and draw.random() < 0.6:
        where = draw.choice([lambda x, y: x.k == y.k, lambda x, y: x.n <= y.n, lambda x, y: (x.j == y.j) & (y.n > 1)])
    yields = draw.choice([lambda x: x, lambda x: x.n, lambda x: x.n, lambda x: (6 / (x.n - 4),)])
    slots = {"x": a, "y": b} if is_variable else {"x": a}
    body: dict[str, Any] = {"where": where, "yields": yields}
    if where is None and draw.random() < 0.1 and not is_variable:
        return [a, b], correlate(slots={"x": a}, restrict=restrict, name="out")(of_several)
    return [a, b], correlate(slots=slots, restrict=restrict, name="out", **body)


def run(draw: random.Random, length: int = 24, program: Any = a_program) -> bool:
    """Run one program in both tiers; return whether pushes were done by functions of their own."""
    try:
        inputs, output = program(draw)
        Engine(output)
    except ValueError:
        return False
    both = Both(output, lateness=draw.choice([None, 0, 0, 2, 5]))
    now, stride, is_plain = 0, draw.choice([0, 1, 2]), draw.random() < 0.5
    for place in range(length):
        now += draw.randrange(stride + 1)
        at = draw.choice([None, now, now, now + draw.randrange(-3, 6), (now, now + draw.randrange(5))])
        value = {"n": draw.randrange(5), "k": draw.choice(KEYS), "j": draw.randrange(3)}
        if is_plain:
            value |= {"k": draw.choice(["p", "q"])}
            at = now
        both.call("push", draw.choice(inputs), value if draw.random() < 0.98 else "text", at)
        if draw.random() < 0.06:
            both.call("advance", now + draw.randrange(-2, 4))
        if place == length // 2:
            both.swap()
    both.call("close")
    both.check()
    engine = both.engines[1]
    return set(inputs) <= engine._pushes._functions.keys() and sum(engine.stats.given_up.values()) < length // 2


@given(st.integers(0, 2**32))
def test_absence_agrees_whatever_comes(seed: int) -> None:
    run(random.Random(seed))


def test_many_of_the_pushes_drawn_are_done_by_functions_of_their_own() -> None:
    assert sum(run(random.Random(f"{seed}")) for seed in range(40)) > 8


@pytest.mark.parametrize("lateness", [0, 50])
def test_no_push_is_left_to_the_clauses_once_it_runs(lateness: int) -> None:
    a, b = Reactive("a"), Reactive("b")
    unpaid = correlate(x=a, yields=lambda x: x.k, restrict=key_by(x="k", b="k") | without(b, after="x", within=30))
    engine = Engine(unpaid, lateness=lateness)
    given = [len(engine.push((a, b)[time % 3 == 1], {"k": time % 20}, at=time)) for time in range(1000)]
    assert sum(given) > 300
    assert sum(engine.stats.given_up.values()) == 2  # the first of each
    assert engine.stats.retained < 100
