"""Bands in place, and whatever stands beside them, against the reference tier: random programs, times and clocks.

What is drawn covers each restriction whose pushes are functions of their own, over all slots or some, in any order; so
a function that forgets what one of them does to a memory, an index, a deadline or a copy is found.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import (
    affinely,
    aligning,
    at_most,
    earliest,
    fifo,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    only,
    retracting,
    within,
)
from restrictions.time.duration import apart, lasting
from tests.oracle.test_in_place import BODIES, KEYS, Both, a_value

SLOTS = ("x", "y", "z")
PAIR: dict[str, dict[str, Any]] = {
    "parts": {"yields": lambda x, y: (x, y)},
    "times": {"yields": lambda x, y, time_x: (x.n, y.n, time_x.end), "where": lambda x, y: x.j <= y.j},
    "links": {"yields": lambda x, y: (x.n, y.n), "where": lambda x, y: x.k == y.k},
    "failing": {"yields": lambda x, y: x.n / (y.n % 3)},
}


def some(draw: random.Random, names: tuple[str, ...], least: int = 1) -> list[str]:
    return draw.sample(names, draw.randint(least, len(names)))


def a_restriction(draw: random.Random, kind: str, names: tuple[str, ...]) -> Any:
    match kind:
        case "within":
            return within(draw.randrange(6), *(names if draw.random() < 0.7 else some(draw, names)))
        case "lasting":
            return lasting(draw.choice(names), draw.randrange(6))
        case "apart":
            lower = draw.randrange(-4, 4)
            return apart(*draw.sample(names, 2), lower, lower + draw.randrange(5))
        case "keys":
            fields = {name: draw.choice(["k", "j"]) for name in some(draw, names)}
            return key_by(**draw.choice([fields, {draw.choice(names): "j"}, dict.fromkeys(names, "j")]))
        case "keys of all":
            return key_by(**dict.fromkeys(names, "j"))
        case "newest":
            return most_recently(*draw.choice([names, some(draw, names)]), n=draw.choice([1, 1, 1, 2, 3]))
        case "oldest":
            return earliest(*some(draw, names), n=draw.choice([1, 2]))
        case "uses":
            return at_most(draw.choice([1, 2]), *some(draw, names)) if draw.random() < 0.5 else affinely(*names)
        case "aligned":
            limit, overflow = draw.choice([None, None, 1, 2]), draw.choice(["fail", "drop_oldest", "drop_newest"])
            return aligning(*(names if draw.random() < 0.8 else some(draw, names, 2)), limit=limit, overflow=overflow)
        case "passing":
            return momentarily(*some(draw, names))
        case "sequence":
            order = names if draw.random() < 0.7 else draw.sample(names, draw.randint(2, len(names)))
            return in_sequence(*order, contiguity=draw.choice(["relaxed", "relaxed", "strict", "any", "any"]))
        case "filter":
            return only(draw.choice(names), lambda value: value.j or value.n % 3)
        case "taken back":
            return retracting()
    return fifo()


BANDS = ["within", "within", "lasting", "apart"]
OTHERS = ["keys", "keys", "newest", "oldest", "uses", "aligned", "passing", "filter", "fifo", "taken back"]
BODIES_OF_ALL: dict[int, list[dict[str, Any]]] = {
    2: [
        {"yields": lambda x, y: (x.n, y.n)},
        {"yields": lambda x, y: (x.n, y.n), "where": lambda x, y: x.j < y.j},
        {"yields": lambda x, y: (x.n, y.n), "where": lambda x, y: (x.j != 1) & (6 / (y.n - 2) > x.j)},
        {
            "yields": lambda x, y: (x.n, y.n),
            "where": lambda y, time_x, time_y: (time_x.end < time_y.end - 1) | (y.j == 0),
        },
    ],
    3: [
        {"yields": lambda x, y, z: (x.n, y.n, z.n)},
        {"yields": lambda x, y, z: (x.n, y.n, z.n), "where": lambda x, y, z: (x.j <= y.j) & (y.j <= z.j)},
        {"yields": lambda x, y, z: (x.n, y.n, z.n), "where": lambda x, z: (x.j != z.j) & (z.n > 1)},
        {"yields": lambda x, y, z: (x.n, y.n, z.n), "where": lambda x, y, z: (x.j < 2) & (x.n + y.n + z.n > 4)},
        {"yields": lambda x, y, z: (x.n, y.n, z.n), "where": lambda y, z: 6 / (y.n - z.n) < 3},
    ],
}
"""Bodies that take no link by an equality: so a sequence is followed by its keys alone."""


def a_program(
    draw: random.Random, *, has_band: bool, has_sequence: bool = False
) -> tuple[list[Reactive], Reactive] | None:
    """A program, or None where what was drawn is refused."""
    names = SLOTS[: draw.choice([2, 2, 3])]
    kinds = draw.sample(OTHERS, draw.choice([0, 1, 1, 2, 3]))
    if not has_band and draw.random() < 0.3:  # what must come together to be aligned by a function, and one of several
        keys = draw.choice(["keys", "keys of all"])
        kinds = draw.choice([["aligned", keys, "newest"], draw.sample(["aligned", "newest", keys], 3)]) + kinds[:1]
    if has_sequence:
        kinds = draw.sample([*OTHERS, "fifo"], draw.choice([0, 0, 1, 2])) if draw.random() < 0.5 else ["sequence"]
        kinds.insert(draw.randint(0, len(kinds)), "sequence")
        kinds = kinds if draw.random() < 0.4 else ["keys of all", *kinds]
    for _ in range(draw.choice([1, 1, 2]) if has_band else 0):
        kinds.insert(draw.randint(0, len(kinds)), draw.choice(BANDS))
    restrict: Any = None
    try:
        for kind in kinds:
            one = a_restriction(draw, kind, names)
            restrict = one if restrict is None else restrict | one
        body = draw.choice(list((PAIR if len(names) == 2 else BODIES).values()))
        if has_sequence and draw.random() < 0.7:
            body = draw.choice(BODIES_OF_ALL[len(names)])
        inputs = [Reactive(name) for name in "abc"[: len(names)]]
        if len(names) == 3 and draw.random() < 0.2:  # one comes to two slots, and so never by a function
            inputs[draw.randrange(3)] = draw.choice(inputs)
        slots = dict(zip(names, inputs, strict=True))
        output = correlate(slots=slots, restrict=restrict, name="out", **body)
        Engine(output)
    except ValueError:
        return None
    return inputs, output


def run(draw: random.Random, *, has_band: bool, has_sequence: bool = False, length: int = 16) -> bool:
    """Run one program in both tiers; return whether pushes were functions of their own."""
    program = a_program(draw, has_band=has_band, has_sequence=has_sequence)
    if program is None:
        return False
    inputs, output = program
    both = Both(output, lateness=draw.choice([None, 0, 2, 5]))
    now, stride = 0, draw.choice([0, 1, 2])
    for place in range(length):
        now += draw.randrange(stride + 1)
        at = draw.choice([None, now, now, now + draw.randrange(-3, 6), (now, now + draw.randrange(5))])
        value = a_value(draw)
        if draw.random() < 0.7:
            value["k"] = draw.choice(KEYS[:3])
        both.call("push", draw.choice(inputs), value if draw.random() < 0.97 else "text", at)
        if draw.random() < 0.06:
            both.call("advance", now + draw.randrange(-2, 4))
        if place == length // 2:
            both.swap()
    both.check()
    return any(one in both.engines[1]._pushes._functions for one in inputs)


@given(st.integers(0, 2**32), st.booleans())
def test_restrictions_agree_in_any_composition(seed: int, has_band: bool) -> None:
    run(random.Random(seed), has_band=has_band)


@example(seed=10461, has_band=False)  # a division by 0, of parts that nothing follows
@given(st.integers(0, 2**32), st.booleans())
def test_sequences_agree_in_any_composition(seed: int, has_band: bool) -> None:
    run(random.Random(seed), has_band=has_band, has_sequence=True, length=24)


@pytest.mark.parametrize("has_band", [True, False])
def test_most_programs_drawn_have_functions_of_their_own(has_band: bool) -> None:
    found = [run(random.Random(f"{seed} {has_band}"), has_band=has_band) for seed in range(16)]
    assert sum(found) > 5
    found = [run(random.Random(f"{seed} {has_band}"), has_band=has_band, has_sequence=True) for seed in range(32)]
    assert sum(found) > 5


def visits(disorder: int) -> int:
    """How many entries the last of a thousand pushes looks at, where a dozen are near and nothing leaves."""
    draw, inputs = random.Random(disorder), [Reactive(name) for name in "ab"]
    output = correlate(x=inputs[0], y=inputs[1], yields=lambda x, y: (x, y), restrict=within(12, "x", "y"))
    engine = Engine(output, tier="in_place")
    for time in range(1000):
        engine.push(inputs[time % 2], time, at=time + draw.randrange(disorder + 1))
    before = engine.stats.visited
    assert 4 <= len(engine.push(inputs[0], "last", at=1000)) <= 12
    assert engine.stats.retained == 1001
    return engine.stats.visited - before


def test_a_push_looks_only_at_what_is_near_as_far_as_times_ascend() -> None:
    assert visits(0) <= 7
    assert visits(5) <= 16


@pytest.mark.parametrize("lateness", [None, 0, 5])
def test_of_what_has_left_before_its_time_a_snapshot_knows_nothing(lateness: int | None) -> None:
    a, b = Reactive("a"), Reactive("b")
    stack = apart("y", "x", -2, 0) | momentarily("x") | apart("y", "x", 3, 3)
    both = Both(correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=stack), lateness=lateness)
    for source, at in [
        (a, 2),
        (a, None),
        (a, None),
        (a, None),
        (a, (3, 5)),
        (b, 4),
        (b, 3),
    ]:  # a check comes with the 8th
        both.call("push", source, 0, at)
    both.call("push", b, 0, 7)  # at the time of some a, which asked first


def test_a_push_that_fails_after_the_clock_has_moved_brings_back_what_has_left() -> None:
    inputs = [Reactive(name) for name in "ab"]
    output = correlate(
        x=inputs[0], y=inputs[1], yields=lambda x, y: x / y, restrict=key_by(x=abs, y=abs) | within(2, "x", "y")
    )
    both = Both(output, lateness=1)
    for place, (value, at) in enumerate([(0, 1), (0, 9), (1, 2), (0, 3), (0, 5), (1, 12), (0, 12), (0, 12), (1, 20)]):
        both.call("push", inputs[place % 2], value, at)
        both.check()
    assert inputs[0] in both.engines[1]._pushes._functions
