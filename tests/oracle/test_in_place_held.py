"""Windows in place, against the reference tier: those that wait, of any correlation, as a push only holds what comes.

Totals of windows, and of sessions, that are freed as they close come without handlers as well; and what meets at once
in windows, which may overlap.

What is drawn covers windows that open, overlap, have been reported and take what is late, and are freed; keys on both
sides of them, also null ones; and whatever stands inside, which sees events when they are released.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import (
    affinely,
    at_most,
    fifo,
    key_by,
    most_recently,
    only,
    retracting,
    session,
    sliding,
    tumbling,
    within,
)
from restrictions.tables import aggregate, count, max_, mean, sum_
from restrictions.windows import final, non_empty, on_close
from tests.oracle.test_in_place import KEYS, Both, attempt
from tests.oracle.test_in_place_totals import several

INSIDE: list[Any] = [
    affinely("x", "y"), most_recently("x", "y"), within(3, "x", "y"), retracting(),
    only("x", lambda x: x.n != 1), only("y", lambda y: y.n > 1), at_most(2, "x"), most_recently("x", n=2), fifo(),
]  # fmt: skip


BODIES: list[dict[str, Any]] = [
    {"yields": lambda x, y: (x.n, y.n)},
    {"yields": lambda x, y: (x.n, y.n)},
    {"yields": lambda x, y: (x.n, y.n), "where": lambda x, y: (x.j == y.j) & (x.n <= y.n)},
    {"yields": lambda x, y, time_x, time_y: (x.n, time_x.end, time_y.start)},
    {"yields": lambda x, y: 6 // (x.n - 3 * y.n + 4)},
]


def windows(draw: random.Random) -> Any:
    options: dict[str, Any] = {"report": draw.choice([on_close, on_close, final, on_close & non_empty])}
    if draw.random() < 0.4:
        options = {}
    options |= draw.choice([{}, {"lateness": 3}, {"offset": 1}, {}, {"lateness": 3}, {"on_leave": "displace"}])
    if draw.random() < 0.5:
        return tumbling(draw.randint(1, 6), **options)
    return sliding(draw.randint(1, 6), draw.randint(1, 4), **options)


def a_program(draw: random.Random) -> tuple[list[Reactive], Reactive] | None:
    a, b = inputs = [Reactive("a"), Reactive("b")]
    source = several(draw, a, b) if draw.random() < 0.3 else a
    stack = windows(draw)
    if draw.random() < 0.3:
        groups: list[Any] = [count, sum_.of("n"), mean.of("n"), max_.of("n")]
        group = draw.choice(groups)
        if draw.random() < 0.5:
            session_options: list[dict[str, Any]] = [
                {}, {}, {}, {"report": final}, {"lateness": 2}, {"report": final, "lateness": 1},
            ]  # fmt: skip
            options = {**draw.choice(session_options), **draw.choice([{}, {}, {}, {}, {"on_leave": "displace"}])}
            stack = session(draw.randint(1, 4), **options)
        made = aggregate(source, group, by=draw.choice([None, "k", lambda value: value.j]), restrict=stack)
        return [a] if source is a else inputs, made
    if draw.random() < 0.2:
        gap = draw.randint(1, 4)
        stack = draw.choice([session(gap), session(gap, report=final), session(gap, lateness=2)])
    if draw.random() < 0.2:
        stack = most_recently(draw.choice("xy"), n=draw.choice([1, 2])) | stack
    if draw.random() < 0.5:
        stack = draw.choice([key_by(x="k", y="k"), key_by(x="k", y="k"), key_by(x="k", y="k"), key_by(y="j")]) | stack
    for one in draw.sample(INSIDE, draw.choice([0, 1, 1, 2])):
        stack = stack | one
    if draw.random() < 0.3:
        stack = stack | key_by(x="j", y="j")
    try:
        output: Reactive = correlate(x=source, y=b, restrict=stack, name="out", **draw.choice(BODIES))
        Engine(output)
    except ValueError:
        return None
    return inputs, output


def run(draw: random.Random, length: int = 24) -> bool:
    """Run one program in both tiers; return whether pushes were done by a function of their own."""
    program = a_program(draw)
    if program is None:
        return False
    inputs, output = program
    both = Both(output, lateness=draw.choice([None, 0, 2, 5]))
    now, stride = 0, draw.choice([0, 1, 1, 2])
    for place in range(length):
        now += draw.randrange(stride + 1)
        at = draw.choice([None, now, now, now, now + draw.randrange(-4, 3), (now, now + draw.randrange(4))])
        value = {"n": draw.randrange(4), "k": draw.choice([*KEYS, 0, 0, 1]), "j": draw.randrange(2)}
        both.call("push", draw.choice(inputs), value if draw.random() < 0.97 else "text", at)
        if draw.random() < 0.08:
            both.call("advance", now + draw.randrange(-2, 4))
        if place == length // 2:
            both.swap()
    both.check()
    engine = both.engines[1]
    return inputs[0] in engine._pushes._functions and sum(engine.stats.given_up.values()) < length // 2


@given(st.integers(0, 2**32))
def test_what_waits_agrees_whatever_comes(seed: int) -> None:
    run(random.Random(seed))


def test_many_of_the_pushes_drawn_are_done_by_a_function_of_their_own() -> None:
    assert sum(run(random.Random(f"{seed}")) for seed in range(40)) > 5


@pytest.mark.parametrize("tier", ["reference", None])
def test_a_window_tells_its_totals_when_it_closes(tier: Any) -> None:
    stream = Reactive("a")
    engine = Engine(aggregate(stream, sum_.of("n"), by="k", restrict=tumbling(10, report=on_close)), tier=tier)
    for time in range(9):
        assert engine.push(stream, {"n": time, "k": time % 2}, at=time) == []
    assert [event.value.value for event in engine.advance(10)] == [20, 16]
    assert attempt(engine, "push", stream, {"n": 1, "k": 0}, 12) == []
    if tier is None:
        assert sum(engine.stats.given_up.values()) == 1  # the first
        assert "contents.get(window, no_events).append(part0)" in engine.source()


@pytest.mark.parametrize("window", [tumbling(6), sliding(6, 2), sliding(6, 4, report=on_close, lateness=2)], ids=repr)
def test_pushes_into_windows_are_functions_of_their_own_also_where_these_open_and_overlap(window: Any) -> None:
    a, b = Reactive("a"), Reactive("b")
    stack = key_by(x="k", y="k") | window | most_recently("x", "y") | only("x", lambda x: x.n != 1)
    output = correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=stack, name="out")
    both, alone, draw = Both(output, lateness=None), Engine(output), random.Random(6)
    for time in range(60):
        pushed = draw.choice([a, b]), {"n": draw.randrange(3), "k": draw.randrange(2)}, time
        both.call("push", *pushed)
        alone.push(*pushed)
    both.check()
    assert sum(alone.stats.given_up.values()) == 2  # the first of each input


def test_an_event_that_is_dropped_opens_a_window_in_place_of_the_one_that_closes() -> None:
    a, b = Reactive("a"), Reactive("b")
    stack = key_by(x="k", y="k") | tumbling(6) | only("x", lambda x: x.n != 1)
    both = Both(correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=stack, name="out"), lateness=0)
    for time, key, n in [(0, 1, 0), (1, 1, 0), (12, 1, 0), (19, 1.0, 1)]:
        both.call("push", a, {"n": n, "k": key}, time)
    both.check()  # of one copy, under the key that it has had all along


@pytest.mark.parametrize("window", [tumbling(40, report=on_close), session(20)], ids=repr)
def test_windows_into_which_several_results_of_one_step_come_close_once(window: Any) -> None:
    a, b = Reactive("a"), Reactive("b")
    near = key_by(x="k", y="k") | within(30, "x", "y")
    joined = correlate(x=a, y=b, yields=lambda x, y: {"k": x.k, "n": x.n + y.n}, restrict=near)
    both, draw = Both(aggregate(joined, sum_.of("n"), by="k", restrict=window), lateness=0), random.Random(8)
    for time in range(1, 400):
        both.call("push", draw.choice([a, b]), {"n": time, "k": draw.randrange(3)}, 3 * time)
    both.check()
    assert sum(both.engines[1].stats.given_up.values()) < 8


@pytest.mark.parametrize("window", [tumbling(6, report=on_close), session(3)], ids=repr)
def test_what_windows_hold_is_joined_by_a_function_as_they_close_if_python_takes_its_text(window: Any) -> None:
    for n in (2, 24):
        names = [f"s{place}" for place in range(n)]
        streams = {name: Reactive(name) for name in names}
        stack = key_by(**dict.fromkeys(names, "k")) | window
        both = Both(correlate(slots=streams, yields=lambda s0: s0.n, restrict=stack, name="out"), lateness=0)
        for name in (*names, "s0"):
            both.call("push", streams[name], {"k": 0, "n": 1}, 1)
        both.call("push", streams["s0"], {"k": 0, "n": 0}, 100)
        both.check()
        engine = both.engines[1]
        assert ("when a window closes" in engine.source()) == (n == 2)


@pytest.mark.parametrize("stack", [most_recently("x") | sliding(4, 2), key_by(x="n") | tumbling(2)], ids=repr)
def test_what_is_not_said_of_each_window_and_slot_is_left_to_the_clauses(stack: Any) -> None:
    a, b = Reactive("a"), Reactive("b")
    both = Both(correlate(x=a, y=b, yields=lambda x, y: (x.n, y.n), restrict=stack, name="out"), lateness=0)
    for time in range(12):
        both.call("push", a if time % 3 else b, {"n": time % 4}, time)
        both.check()
