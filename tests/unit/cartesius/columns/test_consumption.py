"""Consumption, compiled: the same results as pushing row by row in the reference tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import (
    affine_latest,
    affinely,
    aligning,
    at_most,
    cartesian,
    earliest,
    fifo,
    key_by,
    momentarily,
    most_recently,
    only,
)
from restrictions.streams import with_latest_from
from tests.unit.cartesius.columns.stream_traces import check, cuts, traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from cartesius import Restriction
    from cartesius.language.restriction_base import Composition

FEWER = settings(max_examples=settings().max_examples // 4)  # each builds several engines
LEFT, RIGHT, THIRD = INPUTS = Reactive("left"), Reactive("right"), Reactive("third")


def odd(value: Any) -> bool:
    return bool(value.v % 2)


def near(x: Any, y: Any) -> Any:
    return 1 if abs(x.v - y.v) < 2 else 0  # a jump: it does not trace


RESTRICTIONS: dict[str, Callable[[], Composition | Restriction | None]] = {
    "nothing": lambda: None,
    "each once": lambda: affinely("x", "y"),
    "one side once": lambda: affinely("y"),
    "one side twice": lambda: at_most(2, "x"),
    "twice and three times": lambda: at_most(2, "x") | at_most(3, "y"),
    "the latest once": lambda: affinely("x") | most_recently("x", "y"),
    "the latest, both once": lambda: most_recently("x", "y") | affinely("x", "y"),
    "the latest twice": lambda: at_most(2, "x", "y") | most_recently("x", "y"),
    "the two latest once": lambda: affinely("x", "y") | most_recently("x", n=2),
    "the three oldest": lambda: earliest("y", n=3) | at_most(2, "y"),
    "the oldest once": lambda: earliest("x", "y") | affinely("y"),
    "the oldest one of each, once": lambda: earliest("x", "y") | affinely("x", "y"),
    "aligned, without more": lambda: aligning("x", "y"),
    "aligned, each once": lambda: affinely("x", "y") | aligning("x", "y"),
    "aligned, twice of the two latest": lambda: at_most(2, "x") | most_recently("x", n=2) | aligning("x", "y"),
    "aligned, of the oldest": lambda: earliest("x", n=2) | aligning("x", "y"),
    "for a moment": lambda: momentarily("x") | most_recently("y"),
    "for a moment, the other once": lambda: momentarily("x") | affinely("y"),
    "of what a filter lets through": lambda: affinely("x", "y") | only("x", odd) | only("y", odd),
}
WHERE: dict[str, Any] = {
    "always": None,
    "equal ids": lambda x, y: x.id == y.id,
    "one is less": lambda x, y: x.v < y.v,
    "of one alone": lambda x, y: (x.v > 1) & (x.v + y.v != 4),
    "as it says": near,
    "equal ids and near": lambda x, y: (x.id == y.id) & (abs(x.v - y.v) < 2),
}


@FEWER
@given(
    restricted=st.sampled_from(sorted(RESTRICTIONS)),
    where=st.sampled_from(sorted(WHERE)),
    is_keyed=st.booleans(),
    is_oldest_first=st.booleans(),
    trace=traces(2),
    cut=cuts(),
)
def test_what_is_consumed_depends_on_what_was(
    restricted: str, where: str, is_keyed: bool, is_oldest_first: bool, trace: list[Any], cut: list[Any]
) -> None:
    def program() -> Reactive:
        restrict: Any = RESTRICTIONS[restricted]()
        if is_keyed:
            restrict = key_by(x="id", y="id") if restrict is None else key_by(x="id", y="id") | restrict
        if is_oldest_first:
            restrict = fifo() if restrict is None else restrict | fifo()
        yields = lambda x, y, time_x: (x.v, y, time_x.start)  # noqa: E731 - it is traced as one
        found: Reactive = correlate(x=LEFT, y=RIGHT, where=WHERE[where], yields=yields, restrict=restrict)
        return found

    if "the latest" in restricted and "once" not in restricted and where == "always":
        return
    check(program, (LEFT, RIGHT), trace, cut)


THREE: dict[str, Callable[[], Reactive]] = {
    "each once": lambda: cartesian(*INPUTS, restrict=affinely(*INPUTS)),
    "each once, oldest first": lambda: cartesian(*INPUTS, restrict=affinely(*INPUTS) | fifo()),
    "the first once": lambda: affine_latest(*INPUTS),
    "twice, three times, without limit": lambda: cartesian(*INPUTS, restrict=at_most(2, LEFT) | at_most(3, THIRD)),
    "two aligned, beside one": lambda: cartesian(*INPUTS, restrict=aligning(LEFT, THIRD) | at_most(2, LEFT, RIGHT)),
    "all aligned": lambda: cartesian(*INPUTS, restrict=aligning(*INPUTS) | most_recently(RIGHT, n=2)),
    "looked up": lambda: with_latest_from(*INPUTS),
    "under a key, with a condition": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        z=THIRD,
        where=lambda x, y, z: (x.id == y.id) & (y.id == z.id) & (x.v + y.v > z.v),
        yields=lambda x, y, z: (x.v, y.v, z.v),
        restrict=affinely("x", "y") | at_most(2, "z"),
    ),
}


@FEWER
@given(program=st.sampled_from(sorted(THREE)), trace=traces(3, most=16), cut=cuts())
def test_three_inputs_are_consumed_alike(program: str, trace: list[Any], cut: list[Any]) -> None:
    check(THREE[program], INPUTS, trace, cut)


def generated(x: Any, y: Any) -> Any:
    if x.v <= y.v:
        yield x.v
        if x.id == y.id:
            yield {"id": x.id}


@FEWER
@given(trace=traces(2), cut=cuts())
def test_uses_are_spent_only_when_a_body_in_direct_style_yields(trace: list[Any], cut: list[Any]) -> None:
    program = correlate(x=LEFT, y=RIGHT, restrict=affinely("x", "y"))(generated)
    check(lambda: program, (LEFT, RIGHT), trace, cut)


def test_a_failing_condition_spends_nothing() -> None:
    once = correlate(
        x=LEFT, y=RIGHT, where=lambda x, y: x == y, yields=lambda x, y: (x, y), restrict=affinely("x", "y")
    )
    engine = Engine(once)
    left, right = {"value": [1, 2], "order": [0, 1]}, {"value": [1, 2], "order": [2, 3]}
    assert [e.value for e in events_of(engine.push_many({"left": left, "right": right}))] == [(1, 1), (2, 2)]
    assert engine.stats.retained == 0


@pytest.mark.parametrize(
    "restrict",
    [
        most_recently("left", n=3) | earliest("left", n=2),
        key_by(left="id") | most_recently("left") | affinely("left"),
        most_recently("left") | key_by(left="id", right="id") | affinely("left") | earliest("right"),
        momentarily("left") | aligning("left", "right"),
    ],
    ids=repr,
)
def test_what_the_kernel_does_not_know_is_left_to_the_loop_over_steps(restrict: Any) -> None:
    engine = Engine(cartesian(LEFT, RIGHT, restrict=restrict))
    left, right = ({"id": [1], "v": [n], "order": [n]} for n in (1, 2))
    (event,) = events_of(engine.push_many({"left": left, "right": right}))
    assert [part.v for part in event.value] == [1, 2]
    assert "# kernel step\n" in engine.source()


def test_a_condition_that_raises_is_met_at_its_row() -> None:
    divided = correlate(x=LEFT, y=RIGHT, where=lambda x, y: x // y > 0, yields=lambda x, y: x, restrict=at_most(2, "x"))
    engine = Engine(divided)
    batch: Any = {"left": {"value": [4, 6], "order": [0, 1]}, "right": {"value": [2, 0], "order": [2, 3]}}
    with pytest.raises(ZeroDivisionError) as caught:
        engine.push_many(batch)
    assert [event.value for event in events_of(vars(caught.value)["emitted"])] == [6, 4]
    assert engine.stats.events == 3


def test_the_source_is_a_loop_for_the_pattern() -> None:
    engine = Engine(cartesian(LEFT, RIGHT, restrict=affinely("left") | at_most(2, "right")))
    engine.push_many({"left": {"value": [1]}})
    assert engine._compiled is not None
    source = engine._compiled.source()
    assert source.startswith(
        "# cartesian(left, right): left=left, right=right\n# restrict affinely('left') | at_most(2"
    )
    assert "out += (r, p1, t)" in source
    assert "u1[p1] -= 1" in source
