"""Totals in windows in place against the reference tier: random groups, keys, windows, times and clocks.

What is drawn covers each way in which a push may add to totals: windows that are there, open, overlap, wait, or are
over, events that a filter drops or that are in no window, keys that are null, equal, or no plain values.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fifo, key_by, most_recently, only, sliding, tumbling, within
from restrictions.streams import map_, map_concat
from restrictions.tables import Group, Monoid, aggregate, count, max_, mean, min_, sum_
from restrictions.windows import last, on_close
from tests.oracle.test_in_place import KEYS, Both

longest = Monoid("", lambda one, other: max(one, other, key=len), lift=lambda value: str(value.n), name="longest")
pairs = Group(
    (0, 0), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda a: (-a[0], -a[1]), lift=lambda value: (1, value.j)
)
GROUPS: list[Any] = [
    sum_.of("n"),
    sum_.of("n"),
    mean.of("n"),
    count,
    count.of("n"),
    min_.of("n"),
    max_.of("n"),
    longest,
    pairs,
]
NUMBERS = [1, 2, 2**70, True, 0.5, 0.1, 1e16, float("inf"), float("nan"), -0.0, Decimal("0.1"), None]


def windows(draw: random.Random) -> Any:
    if draw.random() < 0.5:
        options: dict[str, Any] = {"offset": draw.choice([0, 0, 1])}
    else:
        options = draw.choice([{}, {"lateness": 3}, {"report": on_close}, {"tick": "time"}, {"content": last()}])
    if draw.random() < 0.5:
        return tumbling(draw.randint(1, 6), **options)
    if draw.random() < 0.2:
        return sliding(draw.randint(1, 6), draw.randint(1, 4), t0=3)
    return sliding(draw.randint(1, 6), draw.randint(1, 4), **options)


def a_row(x: Any, y: Any) -> dict[str, Any]:
    return {"n": x.n, "k": y.k, "j": y.j}


def several(draw: random.Random, a: Reactive, b: Reactive) -> Reactive:
    """A stream of which several results come in one step, at times that no window may contain."""
    stack = draw.choice([None, within(4, "x", "y"), most_recently("x", "y", n=2), most_recently("y", n=3) | fifo()])
    joined: Reactive = correlate(x=a, y=b, yields=a_row, restrict=stack)
    twice = map_concat(a, lambda x: [{"n": x.n, "k": x.k, "j": 1 - x.j}, x, {"n": 1e16, "k": x.k, "j": x.j}])
    return draw.choice([joined, joined, map_(joined, lambda row: row), twice])


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive]:
    inputs = [Reactive("a"), Reactive("b")]
    stream = several(draw, *inputs) if draw.random() < 0.5 else inputs[0]
    inputs = inputs if stream not in inputs else [stream]
    restrict = windows(draw)
    for other in (only("x", lambda x: x.j), only("x", lambda x: x.n != 2), most_recently("x"), key_by(x="j")):
        if draw.random() < 0.12:
            restrict = restrict | other
    by = draw.choice([None, "k", "k", "j", lambda value: value.k, lambda value: (value.j, value.k)])
    return inputs, aggregate(stream, draw.choice(GROUPS), by=by, restrict=restrict)


def run(draw: random.Random, length: int = 24) -> bool:
    """Run one program in both tiers; return whether pushes were done by a function of their own."""
    inputs, output = a_program(draw)
    both = Both(output, lateness=draw.choice([None, 0, 2, 5]))
    now, stride, is_plain = 0, draw.choice([0, 1, 2]), draw.random() < 0.5
    for place in range(length):
        now += draw.randrange(stride + 1)
        at = draw.choice([None, now, now, now + draw.randrange(-3, 6), (now, now + draw.randrange(5)), float("-inf")])
        value = {"n": draw.choice(NUMBERS), "k": draw.choice(KEYS), "j": draw.randrange(2)}
        if is_plain:
            value |= {"n": draw.randrange(4), "k": draw.choice(["p", "q"])}
            at = now
        both.call("push", draw.choice(inputs), value if draw.random() < 0.97 else "text", at)
        if draw.random() < 0.06:
            both.call("advance", now + draw.randrange(-2, 4))
        if place == length // 2:
            both.swap()
    both.check()
    engine = both.engines[1]
    return inputs[0] in engine._pushes._functions and sum(engine.stats.given_up.values()) < length // 2


@given(st.integers(0, 2**32))
def test_totals_agree_whatever_comes(seed: int) -> None:
    run(random.Random(seed))


def test_many_of_the_pushes_drawn_are_done_by_a_function_of_their_own() -> None:
    assert sum(run(random.Random(f"{seed}")) for seed in range(40)) > 5


@pytest.mark.parametrize(("window", "seldom"), [(tumbling(100), 20), (sliding(100, 50), 40)])
def test_only_pushes_with_which_windows_open_or_end_are_left_to_the_clauses(window: Any, seldom: int) -> None:
    stream = Reactive("a")
    engine = Engine(aggregate(stream, sum_.of("n"), by="k", restrict=window), lateness=0)
    for time in range(1000):
        assert engine.push(stream, {"n": 1, "k": time % 7}, at=time)
    assert sum(engine.stats.given_up.values()) <= seldom


def test_totals_go_on_after_a_batch_of_columns() -> None:
    stream = Reactive("a")
    engine = Engine(aggregate(stream, sum_.of("n"), by="k", restrict=tumbling(100)), lateness=0)
    for time in range(3):
        engine.push(stream, {"n": 1, "k": 1}, at=time)
    engine.push_many({stream: {"n": [1, 1], "k": [1, 2], "at": [3, 4]}})
    assert [event.value.value for event in engine.push(stream, {"n": 1, "k": 1}, at=5)] == [5]
    assert [event.value.value for event in engine.push(stream, {"n": 1, "k": 2}, at=6)] == [2]
    assert [event.value.value for event in engine.push(stream, {"n": 1, "k": 1}, at=7)] == [6]
