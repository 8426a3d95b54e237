"""Chains of correlations in place against the reference tier: random restrictions at each, random times and clocks.

What each gives comes to a slot of the next: nothing, one result, which goes on in the same function, or several, which
are one batch, and left to the clauses where they might meet.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import combine_latest, key_by, most_recently
from restrictions.streams import map_
from tests.oracle.test_in_place import KEYS, Both, a_value
from tests.oracle.test_in_place_bands import BANDS, OTHERS, PAIR, a_restriction

NAMES = ("x", "y")
GIVING: list[Any] = [
    lambda x, y: {"n": x.n + y.n, "k": y.k, "j": x.j},
    lambda x, y: {"n": x.n, "k": x.k, "j": 6 // (y.n % 7)},
    lambda x, y: y,
]


def restricted(draw: random.Random) -> Any:
    kinds = draw.sample(OTHERS, draw.choice([0, 1, 1, 2])) + draw.choice([["newest"], ["newest"], [draw.choice(BANDS)]])
    restrict: Any = None
    for kind in draw.sample(kinds, len(kinds)):
        one = a_restriction(draw, kind, NAMES)
        restrict = one if restrict is None else restrict | one
    return restrict


def a_chain(draw: random.Random) -> tuple[list[Reactive], Reactive] | None:
    """Two correlations, or three, each made from the one before; or None where what was drawn is refused."""
    inputs = [Reactive(name) for name in "abcd"[: draw.choice([3, 3, 4])]]
    last = inputs[0]
    try:
        for place, other in enumerate(inputs[1:]):
            slots = {"x": last, "y": other} if draw.random() < 0.7 else {"x": other, "y": last}
            is_output = place == len(inputs) - 2
            body = draw.choice(list(PAIR.values())) if is_output else {"yields": draw.choice(GIVING)}
            last = correlate(slots=slots, restrict=restricted(draw), name=f"out{place}", **body)
        Engine(last)
    except ValueError:
        return None
    return inputs, last


def run(draw: random.Random) -> bool:
    """Run one chain in both tiers; return whether pushes were functions of their own."""
    chain = a_chain(draw)
    if chain is None:
        return False
    inputs, output = chain
    both, now = Both(output, lateness=draw.choice([None, None, 2])), 0
    for place in range(18):
        now += draw.randrange(3)
        at = draw.choice([None, now, now + draw.randrange(-2, 4), (now, now + draw.randrange(4))])
        value = a_value(draw)
        if draw.random() < 0.8:
            value["k"] = draw.choice(KEYS[:3])
        both.call("push", draw.choice(inputs), value if draw.random() < 0.97 else "text", at)
        if draw.random() < 0.05:
            both.call("advance", now)
        if place == 9:
            both.swap()
    both.check()
    return inputs[0] in both.engines[1]._pushes._functions


@given(st.integers(0, 2**32))
def test_chains_agree_whatever_restricts_them(seed: int) -> None:
    run(random.Random(seed))


def test_many_chains_drawn_have_functions_of_their_own() -> None:
    assert sum(run(random.Random(seed)) for seed in range(16)) > 5


def test_a_chain_is_one_function_where_one_result_comes_at_a_time() -> None:
    a, b, c = (Reactive(name) for name in "abc")
    one = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=most_recently("x", "y"), name="one")
    two = correlate(x=one, z=c, yields=lambda x, z: (*x, z), restrict=key_by(z=abs) | most_recently("x"), name="two")
    engine = Engine(two)
    for value in range(3):
        for input_ in (a, b, c):
            engine.push(input_, value)
    emitted = engine._direct[a](7, None)
    engine._journal.is_open = False  # as Engine.push does
    assert [event.value for event in emitted or []] == [(7, 2, 2), (7, 2, 1), (7, 2, 0)]
    shown = engine.source()
    assert shown.count("def follow(results, number, step, passed):") == 2  # of a and of b
    assert shown.count("def push(value, at):") == 3


def test_what_several_correlations_are_made_from_is_followed_unless_it_comes_to_two_slots_of_one() -> None:
    a, b, c = (Reactive(name) for name in "abc")
    one = combine_latest(a, b)
    shown = Engine(one, combine_latest(one, c), map_(one, str)).source()
    assert shown.count("def follow(results, number, step, passed):") == 4  # two of a, and two of b
    assert "return [*early, *out, *given1, *given2]" in shown
    shown = Engine(map_(a, str), combine_latest(a, b)).source()
    assert "# an event of a, which comes to several correlations, and what follows: 1 map_(a), 2 combine_lat" in shown
    both = combine_latest(map_(a, str), map_(a, repr))
    assert "a comes to several slots of combine_latest(map_(a), map_(a)" in Engine(both).source()
