"""What one gate in event time holds, in place, against the reference tier: events come in any order, and go by time.

Each that is let go is a step of its own, which may fail; then all of the push is as if it had not been.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import (
    affinely,
    at_most,
    earliest,
    fifo,
    first_match,
    in_event_time,
    in_sequence,
    key_by,
    momentarily,
    most_recently,
    only,
    optionally,
    within,
)
from restrictions.streams import filter_, map_
from restrictions.time.duration import lasting
from tests.oracle.test_in_place import Both

if TYPE_CHECKING:
    import random

A, B, C = Reactive("a"), Reactive("b"), Reactive("c")
KEYED, CROSSED = key_by(x="k", y="k"), key_by(x="k", y="j")
STACKS: dict[str, tuple[Any, ...]] = {
    "all": (),
    "of a key": (KEYED,),
    "the newest": (KEYED, most_recently("x", "y")),
    "the newest at all": (most_recently("x", "y"),),
    "the newest two": (CROSSED, most_recently("x", "y", n=2)),
    "the oldest": (KEYED, earliest("x")),
    "near": (KEYED, within(4, "x", "y")),
    "the newest that are near": (KEYED, most_recently("x", "y"), within(4, "x", "y")),
    "for some time": (CROSSED, lasting("x", 5), lasting("y", 2)),
    "the next": (KEYED, in_sequence("x", "y"), within(8, "x", "y")),
    "at once": (KEYED, in_sequence("x", "y", contiguity="strict"), within(8, "x", "y")),
    "any after": (KEYED, in_sequence("x", "y", contiguity="any"), within(8, "x", "y")),
    "used once": (KEYED, affinely("x", "y"), within(8, "x", "y")),
    "used twice": (KEYED, at_most(2, "x"), most_recently("y")),
    "the oldest first": (KEYED, fifo(), affinely("x", "y")),
    "the first match": (KEYED, first_match()),
    "of the moment": (KEYED, momentarily("x")),
    "some": (only("x", lambda x: x.n > 2), KEYED, within(4, "x", "y")),
    "some, by a function": (only("y", lambda y: 9 // y.n > 2), KEYED, most_recently("x", "y")),
    "near, or alone": (KEYED, optionally("y"), within(4, "x", "y")),
    "near, or alone on either side": (CROSSED, optionally("x", "y"), within(4, "x", "y")),
    "the newest that are near, or alone": (KEYED, optionally("x", "y"), most_recently("x", "y"), within(4, "x", "y")),
    "the newest two that are near, or alone": (CROSSED, optionally("y"), most_recently("y", n=2), within(4, "x", "y")),
}
WITH_ITSELF = ("all", "of a key", "the newest", "near", "for some time", "the next", "any after", "at once", "some")
THREE = [key_by(x="k", y="k", z="j"), within(9, "x", "y", "z"), lasting("y", 3), most_recently("x", "z"), fifo()]
FOLLOWING = [None, *(in_sequence("x", "y", "z", contiguity=one) for one in ("any", "relaxed", "strict"))]


FAILING: list[bool] = []
"""Not empty while some bodies fail: what could not be let go then can be later."""


def body(parts: list[Any]) -> tuple[Any, ...]:
    """The numbers of the parts; for a time it fails for some."""
    numbers = tuple([part.n for part in parts])
    if FAILING and sum(numbers) % 3 == 0:
        message = "this one fails"
        raise ValueError(message)
    return numbers


def joined(name: str, lateness: int, place: int, other: Reactive = B) -> Reactive:
    """A join whose gate stands at some place of its stack."""
    stack = [*STACKS[name]]
    stack.insert(place % (len(stack) + 1), in_event_time(lateness))
    restrict = functools.reduce(operator.or_, stack)
    if "alone" in name:  # what is missing is None; 9 // 0 fails
        return correlate(x=A, y=other, yields=lambda x, y: (x.n, 9 // y.n), restrict=restrict)
    return correlate(x=A, y=other, yields=lambda x, y: body([x, y]), restrict=restrict)


def let_come(both: Both, draw: random.Random, inputs: list[Reactive]) -> None:
    """Let events come, some of them late or odd, of few keys and times."""
    now = 0
    for _ in range(30):
        now += draw.choice([0, 0, 1, 1, 2, 4, 9])
        end = max(0, now - draw.choice([0, 0, 1, 2, 3, 6]))
        key = draw.choice([0, 1, 1, 2]) if draw.random() < 0.95 else draw.choice([None, "a", 1.0, True, (1, 2), []])
        value = {"k": key, "j": draw.randrange(3), "n": draw.randrange(9)}
        start = max(0, end - draw.choice([0, 0, 0, 2]))
        FAILING[:] = [True] * (draw.random() < 0.25)
        both.call("push", draw.choice(inputs), value, (start, end))
        FAILING.clear()
        if draw.random() < 0.06:
            both.swap()
        if draw.random() < 0.06:
            both.call("advance", now)
        if draw.random() < 0.2:
            both.check()
    both.check()
    both.call("close")


@pytest.mark.parametrize("name", STACKS)
def test_a_push_has_a_function_of_its_own(name: str) -> None:
    engine = Engine(joined(name, 2, 0), lateness=0)
    assert "a push is one function of its own" in engine.explain()
    assert "calls clauses" not in engine.source()
    assert "def release" in engine.source()


@pytest.mark.parametrize("following", ["", "mapped", "filtered", "mapped twice"])
@given(
    name=st.sampled_from([*STACKS]),
    draw=st.randoms(use_true_random=False),
    own=st.sampled_from([0, 1, 3, 7]),
    lateness=st.sampled_from([None, 0, 3]),
    place=st.integers(0, 3),
)
def test_what_is_let_go_agrees(
    following: str, name: str, draw: random.Random, own: int, lateness: int | None, place: int
) -> None:
    outputs = [joined(name, own, place)]
    if following == "filtered":
        outputs = [filter_(outputs[0], lambda row: row[0] != 3)]
    elif following:
        outputs = [map_(outputs[0], lambda row: 9 // row[0]), outputs[0]]
        outputs += [map_(outputs[0], lambda row: row[-1])] * (following == "mapped twice")
    let_come(Both(*outputs, lateness=lateness), draw, [A, B])


@given(
    draw=st.randoms(use_true_random=False),
    some=st.sets(st.sampled_from(range(len(THREE))), max_size=3),
    following=st.sampled_from(FOLLOWING),
    own=st.sampled_from([0, 2, 5]),
    lateness=st.sampled_from([None, 0, 3]),
)
def test_rows_of_three_agree(
    draw: random.Random, some: set[int], following: Any, own: int, lateness: int | None
) -> None:
    stack = [in_event_time(own), *([] if following is None else [following]), *(THREE[place] for place in sorted(some))]
    draw.shuffle(stack)
    rows = correlate(
        x=A, y=B, z=C, yields=lambda x, y, z: body([x, y, z]), restrict=functools.reduce(operator.or_, stack)
    )
    let_come(Both(rows, lateness=lateness), draw, [A, B, C])


@given(
    name=st.sampled_from(WITH_ITSELF),
    draw=st.randoms(use_true_random=False),
    own=st.sampled_from([0, 1, 3, 7]),
    lateness=st.sampled_from([None, 0, 3]),
)
def test_a_stream_with_itself_agrees(name: str, draw: random.Random, own: int, lateness: int | None) -> None:
    let_come(Both(joined(name, own, 0, A), lateness=lateness), draw, [A])


@pytest.mark.parametrize("other", ["apart", "near by itself", "held by itself", "made of both", "of one as well"])
@given(draw=st.randoms(use_true_random=False), lateness=st.sampled_from([None, 0, 3]))
def test_what_is_not_all_that_there_is_agrees(other: str, draw: random.Random, lateness: int | None) -> None:
    outputs = [joined(draw.choice(["near", "the newest", "near, or alone"]), draw.choice([0, 2, 5]), 0)]
    source = A if other == "of one as well" else C
    stack: Any = {"near by itself": within(3, "x", "y"), "held by itself": in_event_time(3) | within(3, "x", "y")}.get(
        other
    )
    slots = {"x": source, "y": outputs[0] if other == "made of both" else source}
    outputs.append(correlate(slots=slots, yields=lambda x, y: (x, y), restrict=stack))
    let_come(Both(*outputs, lateness=lateness), draw, [A, B, C])


def test_what_is_nested_too_deep_for_python_runs_as_written() -> None:
    names = [f"s{place}" for place in range(24)]
    streams = {name: Reactive(name) for name in names}
    near = within(50, *names)
    rows = correlate(slots=streams, yields=lambda s0: s0.n, restrict=in_event_time(1) | near)
    both = Both(rows)
    for at, name in enumerate([*names, "s0", "s1", "s2"]):
        both.call("push", streams[name], {"n": at}, at)
    both.check()


@pytest.mark.parametrize("tier", ["reference", "in_place"])
def test_keys_of_two_types_wait_for_one_time_after_a_push_that_failed(tier: Any) -> None:
    stack = in_event_time(5) | KEYED | within(5, "x", "y")
    engine = Engine(correlate(x=A, y=B, yields=lambda x, y: body([x, y]), restrict=stack), tier=tier)
    for source, key, n, at in [(B, 2, 0, 1), (B, "a", 6, 2), (B, 1, 0, 2), (A, "a", 6, 3), (A, 0, 0, 7)]:
        assert engine.push(source, {"k": key, "n": n}, at=at) == []
    FAILING[:] = [True]
    for _ in range(10):
        with pytest.raises(ValueError, match="this one fails"):
            engine.push(A, {"k": 0, "n": 0}, at=9)
        with pytest.raises(ValueError, match="this one fails"):  # where a key asks, another has asked with its number
            engine.advance(4)
    FAILING.clear()
    assert engine.stats.waiting == 4
