"""Joins of a stream with itself in place, against the reference tier: one event is a candidate for several parts.

The slots before a part have not got the event yet, those behind have; it never follows itself; and where slots keep
the same, they share a memory.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from restrictions import fifo, in_sequence, key_by, momentarily, most_recently, within
from restrictions.streams import map_
from restrictions.time.duration import lasting
from tests.oracle.test_in_place import Both

if TYPE_CHECKING:
    import random

A, B = Reactive("a"), Reactive("b")


@correlate(x=A)
def again(x: Any) -> Any:
    """What comes, and some of it twice."""
    yield from [x] * (1 + (x.n % 3 == 0))


ALIKE, CROSSED = key_by(x="k", y="k"), key_by(x="k", y="j")
PAIRS: dict[str, Any] = {
    "all": {},
    "equal": {"where": lambda x, y: (x.k == y.k) & (x.n < y.n)},
    "crossed": {"where": lambda x, y: x.k == y.j},
    "near": {"where": lambda x, y: x.k == y.k, "restrict": within(4, "x", "y")},
    "the newest": {"restrict": ALIKE | most_recently("x", "y")},
    "the newest of one": {"restrict": ALIKE | most_recently("x")},
    "the newest two": {"restrict": CROSSED | most_recently("x", "y", n=2)},
    "of the moment": {"restrict": CROSSED | momentarily("y")},
    "the oldest first": {"restrict": fifo() | within(6, "x", "y")},
    "for some time": {"restrict": CROSSED | lasting("x", 5) | lasting("y", 2)},
    "any after": {"restrict": ALIKE | in_sequence("x", "y", contiguity="any") | within(8, "x", "y")},
    "the next": {"restrict": ALIKE | in_sequence("x", "y") | within(8, "x", "y")},
    "the next in another order": {"restrict": ALIKE | in_sequence("y", "x", contiguity="any") | within(8, "x", "y")},
    "at once": {"restrict": in_sequence("x", "y", contiguity="strict")},
    "the next that fits": {"where": lambda x, y: x.n < y.n, "restrict": CROSSED | in_sequence("x", "y")},
}
OF_THREE = [key_by(x="k", y="k", z="k"), within(9, "x", "y", "z"), lasting("y", 3), most_recently("x", "z"), fifo()]
FOLLOWING = [None, *(in_sequence("x", "y", "z", contiguity=one) for one in ("any", "relaxed", "strict"))]
FOLLOWING += [in_sequence("x", "z", contiguity="any"), in_sequence("z", "y", contiguity="any")]
WHERES = [None, lambda x, y, z: x.k == z.j, lambda x, y, z: (x.n <= y.n) & (y.k == z.k)]


def body(parts: list[Any]) -> tuple[Any, ...]:
    """The numbers of the parts; it fails for some."""
    numbers = tuple([part.n for part in parts])
    if sum(numbers) == 13:
        message = "this one fails"
        raise ValueError(message)
    return numbers


def pair(name: str, source: Reactive = A) -> Reactive:
    """A join of a stream with itself."""
    return correlate(x=source, y=source, yields=lambda x, y: body([x, y]), **PAIRS[name])


def let_come(both: Both, draw: random.Random, inputs: list[Reactive]) -> None:
    """Let events come, most of them in order, of few keys and times."""
    now = 0
    for _ in range(24):
        now += draw.choice([0, 0, 1, 1, 2, 4])
        end = max(0, now - draw.choice([0, 0, 0, 1, 3]))
        key = draw.choice([0, 1, 1, 2]) if draw.random() < 0.95 else draw.choice([None, "a", 1.0, True, (1, 2)])
        value = {"k": key, "j": draw.randrange(3), "n": draw.randrange(9)}
        start = max(0, end - draw.choice([0, 0, 0, 2]))
        both.call("push", draw.choice(inputs), value, (start, end))
        if draw.random() < 0.06:
            both.swap()
        if draw.random() < 0.06:
            both.call("advance", now)
    both.check()
    both.call("close")


@pytest.mark.parametrize("name", PAIRS)
def test_a_push_has_a_function_of_its_own(name: str) -> None:
    assert "a push is one function of its own" in Engine(pair(name), lateness=0).explain()
    assert "calls clauses" not in Engine(pair(name), lateness=0).source()


@pytest.mark.parametrize("way", ["by itself", "of results", "followed", "sharing"])
@given(name=st.sampled_from([*PAIRS]), draw=st.randoms(use_true_random=False), lateness=st.sampled_from([None, 0, 3]))
def test_pairs_of_one_stream_agree(way: str, name: str, draw: random.Random, lateness: int | None) -> None:
    outputs = [pair(name, again if way == "of results" else A)]
    if way == "followed":
        outputs = [map_(outputs[0], lambda row: row), outputs[0]]
    if way == "sharing":
        outputs.append(correlate(x=A, b=B, yields=lambda x, b: (x.n, b.n), restrict=key_by(x="k", b="k")))
    let_come(Both(*outputs, lateness=lateness), draw, [A, B] if way == "sharing" else [A])


@given(
    draw=st.randoms(use_true_random=False),
    sources=st.sampled_from(["aaa", "aab", "aba", "baa"]),
    some=st.sets(st.sampled_from(range(len(OF_THREE))), max_size=2),
    following=st.sampled_from(FOLLOWING),
    where=st.sampled_from(WHERES),
    lateness=st.sampled_from([None, 0, 3]),
)
def test_rows_of_three_agree(
    draw: random.Random, sources: str, some: set[int], following: Any, where: Any, lateness: int | None
) -> None:
    slots = {name: A if source == "a" else B for name, source in zip("xyz", sources, strict=True)}
    stack = [*([] if following is None else [following]), *(OF_THREE[place] for place in sorted(some))]
    draw.shuffle(stack)
    rows = correlate(
        slots=slots,
        where=where,
        yields=lambda x, y, z: body([x, y, z]),
        restrict=functools.reduce(operator.or_, stack) if stack else None,
    )
    let_come(Both(rows, lateness=lateness), draw, [A, B] if "b" in sources else [A])
