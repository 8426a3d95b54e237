"""Zip, compiled: the same results as pushing row by row in the reference tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import aligning, cartesian, fifo, key_by, most_recently, only, zip_
from tests.unit.cartesius.columns.stream_traces import check, cuts, traces

if TYPE_CHECKING:
    from collections.abc import Callable

FEWER = settings(max_examples=settings().max_examples // 2)  # each builds several engines
LEFT, RIGHT, THIRD = Reactive("left"), Reactive("right"), Reactive("third")


def odd(value: Any) -> bool:
    return bool(value.v % 2)


def same(x: Any, y: Any) -> Any:
    return [x, y] if x.v == y.v else 0  # a jump: it does not trace


PROGRAMS: dict[str, Callable[[], Reactive]] = {
    "zip of two": lambda: zip_(LEFT, RIGHT),
    "zip per key": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        yields=lambda x, y, time_x: (x.id, y.v - x.v, time_x.end),
        restrict=key_by(x="id", y="id") | aligning("x", "y") | most_recently("x", "y"),
    ),
    "with a condition": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        where=lambda x, y: (x.id == y.id) & (x.v < y.v),
        yields=lambda x, y: {"x": x.v, "y": y.v},
        restrict=most_recently("x", "y") | aligning("y", "x"),
    ),
    "released across keys": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        yields=lambda x, y, key_x: (key_x, x, y),
        restrict=aligning("x", "y") | most_recently("x", "y") | key_by(x="id", y=lambda y: y.v),
    ),
    "of what a filter lets through": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        yields=lambda x, y: (x, y),
        restrict=key_by(x="id", y="id") | most_recently("x", "y") | aligning("x", "y") | only("x", odd) | fifo(),
    ),
    "asked row by row": lambda: correlate(
        x=LEFT, y=RIGHT, where=same, yields=same, restrict=most_recently("x", "y") | aligning("x", "y")
    ),
}


@FEWER
@given(program=st.sampled_from(sorted(PROGRAMS)), trace=traces(2), cut=cuts())
def test_zip_of_columns_is_zip(program: str, trace: list[Any], cut: list[Any]) -> None:
    check(PROGRAMS[program], (LEFT, RIGHT), trace, cut)


@FEWER
@given(trace=traces(3), cut=cuts())
def test_zip_of_three_inputs_is_zip(trace: list[Any], cut: list[Any]) -> None:
    check(lambda: zip_(LEFT, RIGHT, THIRD), (LEFT, RIGHT, THIRD), trace, cut)


@FEWER
@given(order=st.permutations(range(12)))
def test_the_kth_of_each_meet_whatever_the_order(order: list[int]) -> None:
    engine = Engine(zip_(LEFT, RIGHT))
    orders = [np.sort(np.array(part)) for part in (order[:6], order[6:])]
    batch: dict[Reactive | str, Any] = {
        r: {"value": [f"{r.name} {n}" for n in range(6)], "order": o}
        for r, o in zip((LEFT, RIGHT), orders, strict=True)
    }
    assert [e.value for e in events_of(engine.push_many(batch))] == [(f"left {n}", f"right {n}") for n in range(6)]


@pytest.mark.parametrize(
    "restrict",
    [
        most_recently("left", "right") | aligning("left", "right", limit=3),
        most_recently("left", "right") | only("left", odd) | aligning("left", "right"),
        most_recently("left", "right") | key_by(left="id", right="id") | aligning("left", "right"),
    ],
    ids=repr,
)
def test_what_the_kernel_does_not_know_is_left_to_the_loop_over_steps(restrict: Any) -> None:
    engine = Engine(cartesian(LEFT, RIGHT, restrict=restrict))
    left, right = ({"id": [1], "v": [1], "order": [n]} for n in (1, 2))
    (event,) = events_of(engine.push_many({"left": left, "right": right}))
    assert [part.v for part in event.value] == [1, 1]
    assert "# kernel step\n" in engine.source()


def test_the_source_shows_the_pattern_and_the_code() -> None:
    engine = Engine(PROGRAMS["with a condition"]())
    engine.push_many({"left": {"id": [1], "v": [1]}})
    assert engine._compiled is not None
    source = engine._compiled.source()
    assert "restrict most_recently('x', 'y') | aligning('y', 'x')" in source
    assert "where (x.v < y.v)" in source
    assert "lt(p0.field('v'), p1.field('v'))" in source
