"""Traced = untraced: an expression tree and its indexes change the work, never the outcome (SEMANTICS 1.4, 1.15).

Each body is here once, as a lambda that traces. The same lambda behind a call does not trace, and so runs as written,
for each candidate. Likewise for laziness: a body that counts its calls shows how many candidates were looked at.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import (
    affinely,
    aligning,
    at_most,
    every_nth,
    fifo,
    first_match,
    key_by,
    lifo,
    momentarily,
    most_recently,
    ordered_by,
    take,
)

SLOTS = ("x", "y", "z")


class Body(NamedTuple):
    """A condition and the part of it that equalities of two slots make up, which an index may answer; None: no part."""

    make: Any
    """From two constants, a function of the parts that traces."""
    equalities: Any = None
    """From two constants, a function of the parts."""


NUMERIC_TWO = [
    Body(lambda a, b: lambda x, y: x.k == y.k, lambda a, b: lambda x, y: x.k == y.k),
    Body(lambda a, b: lambda x, y: y.j == x.k, lambda a, b: lambda x, y: y.j == x.k),
    Body(lambda a, b: lambda x, y: x.k + a == y.j * b, lambda a, b: lambda x, y: x.k + a == y.j * b),
    Body(lambda a, b: lambda x, y: (x.k == y.j) & (x.j == y.k), lambda a, b: lambda x, y: (x.k == y.j) & (x.j == y.k)),
    Body(lambda a, b: lambda x, y: x.pair[0] == y.k, lambda a, b: lambda x, y: x.pair[0] == y.k),
    Body(lambda a, b: lambda x, y: x.within.k == y.within.j, lambda a, b: lambda x, y: x.within.k == y.within.j),
    Body(lambda a, b: lambda x, y: abs(x.k - a) == y.k % 2, lambda a, b: lambda x, y: abs(x.k - a) == y.k % 2),
    Body(lambda a, b: lambda x, y: -x.k == a - y.j, lambda a, b: lambda x, y: -x.k == a - y.j),
    Body(lambda a, b: lambda x, y: (x.k == y.k) & (x.j < y.j), lambda a, b: lambda x, y: x.k == y.k),
    Body(lambda a, b: lambda x, y: (x.k == y.k) & (x.j == y.j), lambda a, b: lambda x, y: (x.k == y.k) & (x.j == y.j)),
    Body(lambda a, b: lambda x, y: (x.k == a) & (x.j == y.k) & (y.j != b), lambda a, b: lambda x, y: x.j == y.k),
    Body(
        lambda a, b: lambda x, y, time_x, time_y: (time_x.end == time_y.start) & (x.k >= y.k),
        lambda a, b: lambda x, y, time_x, time_y: time_x.end == time_y.start,
    ),
    Body(lambda a, b: lambda x, y: (x.k == y.k) | (x.j == y.j)),
    Body(lambda a, b: lambda x, y: ((x.k == y.k) & (x.j == a)) | (y.j == b)),
    Body(lambda a, b: lambda x, y: ((x.k < y.k) & (y.j != a)) | (x.j > y.j - b)),
    Body(lambda a, b: lambda x, y: (x.k == a) & (y.k == b)),
    Body(lambda a, b: lambda x, y: x.k + y.k == a),
    Body(lambda a, b: lambda x, y: x.k - y.k <= a),
    Body(lambda a, b: lambda x, y: (x.k == y.k) == (x.j == y.j)),
    Body(lambda a, b: lambda x, y: (x.k + y.j) // 2 != a),
    Body(lambda a, b: lambda x, y: x.k * y.k - a),  # a number: its truth value counts
    Body(lambda a, b: lambda x, y: (x.j == y.j) ^ (x.k == y.k)),
    Body(lambda a, b: lambda x, y, time_x, time_y: time_x.end <= time_y.start + a),
    Body(lambda a, b: lambda x, y: a == b),
]
ANY_TWO = [  # of values of any type: equality alone
    Body(lambda a, b: lambda x, y: x.any == y.any, lambda a, b: lambda x, y: x.any == y.any),
    Body(
        lambda a, b: lambda x, y: (x.any == y.any) & (x.k == y.j),
        lambda a, b: lambda x, y: (x.any == y.any) & (x.k == y.j),
    ),
    Body(lambda a, b: lambda x, y: (x.any == y.k) & (y.any == y.any), lambda a, b: lambda x, y: x.any == y.k),
    Body(lambda a, b: lambda x, y: x.any != y.any),
]
THREE = [
    Body(
        lambda a, b: lambda x, y, z: (x.k == y.k) & (y.k == z.k),
        lambda a, b: lambda x, y, z: (x.k == y.k) & (y.k == z.k),
    ),
    Body(
        lambda a, b: lambda x, y, z: (x.k == y.k) & (y.j == z.j) & (z.k == x.j),
        lambda a, b: lambda x, y, z: (x.k == y.k) & (y.j == z.j) & (z.k == x.j),
    ),
    Body(lambda a, b: lambda x, y, z: (x.k == z.k + a) & (y.k < z.j), lambda a, b: lambda x, y, z: x.k == z.k + a),
    Body(lambda a, b: lambda x, y, z: x.k + y.k == z.k),
    Body(lambda a, b: lambda x, y, z: (x.k == y.k) & (x.j + z.j == y.j + a), lambda a, b: lambda x, y, z: x.k == y.k),
    Body(lambda a, b: lambda x, y, z: (y.any == z.any) & (x.k != a), lambda a, b: lambda x, y, z: y.any == z.any),
    Body(lambda a, b: lambda x, y, z: (x.k < y.k) & (y.k < z.k)),
    Body(lambda a, b: lambda x, y, z: (x.k == y.k) | (y.k == z.k)),
]
YIELDS: dict[int, list[Any]] = {
    2: [
        lambda x, y: (x.n, y.n),
        lambda x, y: (x.n + y.n * 2, (x.k, y.any), "constant"),
        lambda x, y: {"sum": x.k + y.j, "n": x.n},
        lambda x, y: x,
        lambda x, y, time_y: (x.n, y.n, time_y.end - time_y.start),
        lambda x, y: (x.k < y.k) | (x.n == 0),
    ],
    3: [
        lambda x, y, z: (x.n, y.n, z.n),
        lambda x, y, z: (x.k + y.k * z.k, -z.n),
        lambda x, y, z: {"last": z, "first": x.pair},
    ],
}


def untraced(body: Any, note: Any = None) -> Any:
    """Return the same function behind a call, which does not trace; ``note`` is called first with the same."""
    names = body.__code__.co_varnames[: body.__code__.co_argcount]
    note = note or (lambda **parts: None)

    def two(x: Any, y: Any) -> Any:
        note(x=x, y=y)
        return body(x, y)

    def two_at_times(x: Any, y: Any, time_x: Any, time_y: Any) -> Any:
        note(x=x, y=y, time_x=time_x, time_y=time_y)
        return body(x, y, time_x, time_y)

    def two_at_one_time(x: Any, y: Any, time_y: Any) -> Any:
        note(x=x, y=y, time_y=time_y)
        return body(x, y, time_y)

    def three(x: Any, y: Any, z: Any) -> Any:
        note(x=x, y=y, z=z)
        return body(x, y, z)

    by_names = {
        ("x", "y"): two,
        ("x", "y", "time_x", "time_y"): two_at_times,
        ("x", "y", "time_y"): two_at_one_time,
        ("x", "y", "z"): three,
    }
    return by_names[names]


# ----------------------------------------------------------------------------------------- programs and traces

NAN = float("nan")
ANYTHING = st.sampled_from(  # but null, and NaN in a tuple: there the two spellings differ (SEMANTICS 1.18)
    [0, 1, 2, True, 1.0, "1", "", NAN, (1, None), [1], [1.0], {"k": 1}, -0.0, 2**70, 2.0**70]
)
SMALL = st.sampled_from([0, 1, 2, True, 1.0])


@st.composite
def layers(draw: Any, count: int) -> Any:
    names = SLOTS[:count]
    some = st.sets(st.sampled_from(names), min_size=1).map(sorted)
    out: Any = None
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=3)):
        slots = draw(some)
        if kind == "align":
            one: Any = aligning(*names) if out is None or "aligning" not in repr(out) else lifo()
            one = lifo() if out is not None and "key_by" in repr(out) else one
        elif kind == "keys":
            one = key_by(**{slot: draw(st.sampled_from(["k", "j"])) for slot in slots})
        else:
            one = KIND[kind](*slots)
        out = one if out is None else out | one
    return out


KIND: dict[str, Any] = {
    "latest": most_recently,
    "recent": lambda *slots: most_recently(*slots, n=2),
    "affine": affinely,
    "limit": lambda *slots: at_most(2, *slots),
    "momentary": momentarily,
    "fifo": lambda *_: fifo(),
    "first": lambda *_: first_match(),
    "take": lambda *_: take(4),
    "nth": lambda *_: every_nth(2),
    "ordered": lambda *_: ordered_by(lambda match: [part.value["n"] % 3 for part in match.parts]),
}
KINDS = (*KIND, "align", "keys", "keys", "affine", "fifo")


@st.composite
def pushes(draw: Any, count: int) -> Any:
    """Return pushes as (input, value, interval)."""
    one = st.tuples(st.integers(0, count - 1), SMALL, SMALL, ANYTHING, st.integers(0, 3), st.sampled_from([0, 1]))
    return [
        (
            source,
            {"n": n, "k": k, "j": j, "any": value, "pair": (k, j), "within": {"k": k, "j": j}},
            (start, start + length),
        )
        for n, (source, k, j, value, start, length) in enumerate(draw(st.lists(one, max_size=12)))
    ]


def build(count: int, where: Any, yields: Any, restrict: Any) -> tuple[list[Reactive], Engine]:
    inputs = [Reactive(f"in{number}") for number in range(count)]
    slots = dict(zip(SLOTS, inputs, strict=False))
    output = correlate(slots=slots, where=where, yields=yields, restrict=restrict, name="out")
    return inputs, Engine(output)


def has_line(engine: Engine, title: str) -> bool:
    return bool(re.search(f"^  {title} ", engine.explain(), re.MULTILINE))


# --------------------------------------------------------------------------------------------------- the tests


@pytest.mark.parametrize(
    ("count", "bodies"), [(2, NUMERIC_TWO), (2, ANY_TWO), (3, THREE)], ids=["two", "two of any type", "three"]
)
@given(data=st.data(), constants=st.tuples(st.integers(-1, 2), st.integers(-1, 2)))
def test_traced_is_untraced(count, bodies, data, constants):
    body = data.draw(st.sampled_from(bodies), label="body")
    where, yields = body.make(*constants), data.draw(st.sampled_from(YIELDS[count]), label="yields")
    restrict, trace = data.draw(layers(count), label="restrict"), data.draw(pushes(count), label="trace")
    equal = body.equalities(*constants) if body.equalities else lambda **parts: True
    is_told_apart = not any(isinstance(value["any"], list | dict) or value["any"] is NAN for _, value, _ in trace)
    seen: list[bool] = []

    def note(**parts: Any) -> None:
        seen.append(bool(equal(**parts)))

    inputs, traced = build(count, where, yields, restrict)
    other_inputs, plain = build(count, untraced(where, note), untraced(yields), restrict)
    assert has_line(traced, "index") == (body.equalities is not None)
    assert not has_line(traced, "as written")
    assert has_line(plain, "as written")
    assert not has_line(plain, "index")
    for source, value, at in trace:
        emitted = traced.push(inputs[source], value, at=at)
        traced._check_invariants()
        assert repr(emitted) == repr(plain.push(other_inputs[source], value, at=at))  # to the type of each value
        assert traced.stats.slots == plain.stats.slots
        assert traced.done == plain.done
        # SEMANTICS 1.17: candidates that reach the body after keys and indexes. With three slots the last one to be
        # looked up may be left to the body; an index cannot tell unhashable values apart, and finds a NaN by identity.
        assert plain.stats.tuples == len(seen)
        assert sum(seen) <= traced.stats.tuples <= plain.stats.tuples
        if body.equalities is None or (count == 2 and is_told_apart):
            assert traced.stats.tuples == sum(seen)


@given(data=st.data(), constants=st.tuples(st.integers(-1, 2), st.integers(-1, 2)))
def test_a_traced_condition_goes_with_a_body_that_is_not_and_the_other_way_round(data, constants):
    count, bodies = data.draw(st.sampled_from([(2, NUMERIC_TWO), (3, THREE)]))
    where = data.draw(st.sampled_from(bodies)).make(*constants)
    yields = data.draw(st.sampled_from(YIELDS[count]))
    restrict, trace = data.draw(layers(count), label="restrict"), data.draw(pushes(count), label="trace")
    programs = [
        build(count, one, other, restrict)
        for one, other in [(where, yields), (untraced(where), yields), (where, untraced(yields))]
    ]
    for source, value, at in trace:
        one, two, three = (repr(engine.push(inputs[source], value, at=at)) for inputs, engine in programs)
        assert one == two == three


# --------------------------------------------------------------------------------------------------- laziness


def counting(restrict, *, size, matches=lambda parts: True):
    """Return the engine of a product of three slots, two of them with ``size`` entries, and the list of calls."""
    calls: list[Any] = []

    def where(x, y, z):
        calls.append((x, y, z))
        return matches((x, y, z))

    inputs = [Reactive(name) for name in SLOTS]
    output = correlate(slots=dict(zip(SLOTS, inputs, strict=True)), where=where, yields=_tuple, restrict=restrict)
    engine = Engine(output)
    for number in range(size):
        engine.push(inputs[0], number)
        engine.push(inputs[1], number)
    assert not calls
    return inputs, engine, calls


def _tuple(x, y, z):
    return x, y, z


def test_the_first_match_is_found_with_one_call_of_the_body():
    inputs, engine, calls = counting(first_match(), size=300)  # of 90,000 candidates
    assert [event.value for event in engine.push(inputs[2], "z")] == [(299, 299, "z")]
    assert len(calls) == engine.stats.tuples == 1
    engine.push(inputs[2], "z")
    assert len(calls) == engine.stats.tuples == 2


@given(size=st.integers(1, 5), place=st.integers(0, 24), is_oldest_first=st.booleans())
def test_the_body_is_called_as_far_as_the_first_match_and_no_further(size, place, is_oldest_first):
    numbers = range(size) if is_oldest_first else range(size - 1, -1, -1)
    order = [(x, y, "z") for x in numbers for y in numbers]
    found = order[place % len(order)]
    order_of = fifo() if is_oldest_first else lifo()
    inputs, engine, calls = counting(order_of | first_match(), size=size, matches=lambda parts: parts == found)
    assert [event.value for event in engine.push(inputs[2], "z")] == [found]
    assert calls == order[: order.index(found) + 1]


@pytest.mark.parametrize(("restrict", "calls_of_the_body"), [(take(3), 3), (affinely("z"), 1), (at_most(2, "z"), 2)])
def test_what_ends_the_search_ends_it_at_once(restrict, calls_of_the_body):
    inputs, engine, calls = counting(restrict, size=40)
    assert len(engine.push(inputs[2], "z")) == calls_of_the_body
    assert len(calls) == engine.stats.tuples == calls_of_the_body


def test_what_needs_all_matches_looks_at_all_candidates():
    inputs, engine, calls = counting(first_match() | ordered_by(lambda match: match.value), size=12)
    assert [event.value for event in engine.push(inputs[2], "z")] == [(0, 0, "z")]
    assert len(calls) == 144
