"""Bands, compiled: the same results as pushing row by row in the reference tier, whatever the clock does."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import cartesian, fifo, key_by, only, within
from restrictions.streams import interval_join, join
from restrictions.time.duration import apart, lasting
from tests.unit.cartesius.columns.stream_traces import check, cuts, traces

if TYPE_CHECKING:
    from collections.abc import Callable

FEWER = settings(max_examples=settings().max_examples // 4)  # each builds several engines
LEFT, RIGHT, THIRD = INPUTS = Reactive("left"), Reactive("right"), Reactive("third")


def odd(value: Any) -> bool:
    return bool(value.v % 2)


def near(x: Any, y: Any) -> Any:
    return 1 if abs(x.v - y.v) < 2 else 0  # a jump: it does not trace


TWO: dict[str, Callable[[], Reactive]] = {
    "within": lambda: cartesian(LEFT, RIGHT, restrict=within(3, LEFT, RIGHT)),
    "within, of one slot": lambda: cartesian(LEFT, RIGHT, restrict=within(3, LEFT)),
    "twice within": lambda: cartesian(LEFT, RIGHT, restrict=within(5, LEFT, RIGHT) | fifo() | within(2, RIGHT, LEFT)),
    "interval join": lambda: interval_join(LEFT, RIGHT, -1, 4),
    "interval join by key": lambda: interval_join(LEFT, RIGHT, 2, 5, key="id"),
    "join": lambda: join(LEFT, RIGHT, 4, 1),
    "one side lasts": lambda: cartesian(LEFT, RIGHT, restrict=lasting(LEFT, 3)),
    "with conditions": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        where=lambda x, y: (x.id == y.id) & (x.v <= y.v),
        yields=lambda x, y, time_y: (x, y.v, time_y.end),
        restrict=within(4, "x", "y") | only("y", odd),
    ),
    "by key, as it says": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        where=near,
        yields=lambda x, y, key_x: {"key": key_x, "v": y.v},
        restrict=key_by(x="id", y="id") | within(6, "x", "y"),
    ),
}
THREE: dict[str, Callable[[], Reactive]] = {
    "within": lambda: cartesian(*INPUTS, restrict=within(4, *INPUTS)),
    "two of three": lambda: cartesian(*INPUTS, restrict=within(2, LEFT, THIRD) | apart(LEFT, RIGHT, 0, 3)),
    "by key, one twice": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        z=THIRD,
        where=lambda x, y, z: x.v + y.v > z.v,
        yields=lambda x, y, z: (x.v, y.v, z.v),
        restrict=key_by(x="id", y="id", z="id") | within(9, "x", "y", "z") | lasting("y", 5),
    ),
}


@FEWER
@given(
    program=st.sampled_from(sorted(TWO)),
    trace=traces(2),
    cut=cuts(),
    lateness=st.none() | st.integers(0, 4),
    is_in_order=st.booleans(),
)
def test_what_is_near_does_not_depend_on_the_cuts(
    program: str, trace: list[Any], cut: list[Any], lateness: int | None, is_in_order: bool
) -> None:
    if is_in_order:
        times = sorted(event[3] for event in trace)
        trace = [(*event[:3], at) for event, at in zip(trace, times, strict=True)]
    check(TWO[program], (LEFT, RIGHT), trace, cut, lateness=None if "twice" in program else lateness)


@FEWER
@given(program=st.sampled_from(sorted(THREE)), trace=traces(3), cut=cuts(), lateness=st.none() | st.integers(0, 4))
def test_three_inputs_are_near_alike(program: str, trace: list[Any], cut: list[Any], lateness: int | None) -> None:
    check(THREE[program], INPUTS, trace, cut, lateness=None if "twice" in program else lateness)


@FEWER
@given(
    spans=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 9)), max_size=12),
    duration=st.integers(0, 12),
    lateness=st.none() | st.integers(0, 9),
)
def test_intervals_are_near_if_their_hull_is_short(
    spans: list[tuple[int, int, int]], duration: int, lateness: int | None
) -> None:
    def program() -> Reactive:
        return cartesian(LEFT, RIGHT, restrict=within(duration, LEFT, RIGHT))

    reference = Engine(program(), tier="reference", lateness=lateness)
    expected = [e for side, start, n in spans for e in reference.push(INPUTS[side], 1, (start, start + n))]
    engine = Engine(program(), lateness=lateness)
    found = []
    for now in (spans[:5], spans[5:]):
        batch: dict[Reactive | str, Any] = {}
        for number in (0, 1):
            mine = [(order, start, n) for order, (side, start, n) in enumerate(now) if side == number]
            times = {"start": [one[1] for one in mine], "end": [one[1] + one[2] for one in mine]}
            if mine:
                batch[INPUTS[number]] = {"value": [1] * len(mine), "order": [one[0] for one in mine], **times}
        found += events_of(engine.push_many(batch))
        assert engine._why_row_by_row == ""
    assert found == expected
    assert engine.stats == reference.stats
    assert engine.next_deadline == reference.next_deadline


def test_what_the_clock_has_passed_leaves_memory() -> None:
    engine = Engine(cartesian(LEFT, RIGHT, restrict=within(10, LEFT, RIGHT)), lateness=0)
    times = list(range(0, 1000, 5))
    engine.push_many({"left": {"value": times, "at": times}})
    assert engine._why_row_by_row == ""
    assert engine.stats.retained == 3
    assert engine.next_deadline == 996


@pytest.mark.parametrize("lateness", [None, 0, 3])
def test_events_that_two_restrictions_let_go_leave_by_the_first_and_nothing_waits_for_the_second(lateness) -> None:
    twice = cartesian(LEFT, RIGHT, restrict=within(5, LEFT, RIGHT) | apart(LEFT, RIGHT, -1, 4))
    draw = random.Random(f"twice {lateness}")
    times = sorted(draw.randrange(60) for _ in range(80))
    events = [(draw.choice((LEFT, RIGHT)), number, at) for number, at in enumerate(times)]
    engine, reference = Engine(twice, lateness=lateness), Engine(twice, lateness=lateness, tier="reference")
    for cut in range(0, 80, 10):
        batch: dict[str, dict[str, list[int]]] = {}
        for reactive, value, at in events[cut : cut + 10]:
            for name, one in {"value": value, "at": at, "order": value}.items():
                batch.setdefault(reactive.name, {}).setdefault(name, []).append(one)
        found = [repr(event) for event in events_of(engine.push_many(batch))]
        assert found == [repr(one) for event in events[cut : cut + 10] for one in reference.push(*event)]
        assert engine._why_row_by_row == ""
        if cut % 20:
            assert engine.advance(times[cut] + 2) == reference.advance(times[cut] + 2)
        assert (engine.stats, engine.next_deadline) == (reference.stats, reference.next_deadline)


def test_durations_that_are_too_long_are_left_to_python() -> None:
    engine = Engine(cartesian(LEFT, RIGHT, restrict=within(1 << 62, "left", "right")))
    batch: Any = {"left": {"value": [1], "order": [1]}, "right": {"value": [2], "order": [2]}}
    assert [event.value for event in events_of(engine.push_many(batch))] == [(1, 2)]
    assert engine._compiled is not None
    assert "durations are too long" in engine._compiled.reason


def test_times_that_are_too_far_apart_are_left_to_python() -> None:
    engine = Engine(cartesian(LEFT, RIGHT, restrict=within(5, "left", "right")))
    far = 1 << 62
    batch: Any = {"left": {"value": [1, 2], "at": [-far, far], "order": [0, 1]}}
    batch["right"] = {"value": [3], "at": [far + 5], "order": [2]}
    assert [event.value for event in events_of(engine.push_many(batch))] == [(2, 3)]
    assert engine._why_row_by_row == "times are far from 0"


@pytest.mark.parametrize("inputs", [INPUTS[:2], INPUTS], ids=["merged", "paired"])
def test_instants_of_this_century_and_many_keys_are_compiled(inputs: tuple[Reactive, ...]) -> None:
    """It is their distance that counts: microseconds since 1970 times the number of keys would leave 64 bits."""
    keys = {one.name: "id" for one in inputs}
    near_each_other = key_by(**keys) | within(10_000_000, *inputs)
    found = []
    for since in (0, 1_600_000_000_000_000):
        engine = Engine(cartesian(*inputs, restrict=near_each_other))
        given_back = []
        for turn in range(2):
            batch = {}
            for number, one in enumerate(inputs):
                n = np.arange(4_000)
                at = since + (turn * len(n) + n) * 2_000
                batch[one] = {"id": n % 3_000, "at": at, "order": n * len(inputs) + number}
            given_back += [(e.value, e.start - since, e.end - since) for e in events_of(engine.push_many(batch))]
            assert engine._why_row_by_row == ""
        found.append(given_back)
    assert found[0] == found[1]
    assert len(found[0]) > 8_000


def test_nothing_waits_for_an_event_that_another_restriction_has_let_go() -> None:
    a, b = Reactive("a"), Reactive("b")
    near = correlate(x=a, y=b, yields=lambda x, y: (x, y), restrict=lasting("x", 4) | within(1, "x", "y"))
    rows, columns = Engine(near), Engine(near)
    for event, value in ((a, 1), (b, 2)):
        rows.push(event, value, at=0)
    columns.push_many({a: {"value": [1], "at": [0], "order": [0]}, b: {"value": [2], "at": [0], "order": [1]}})
    rows.advance(2)
    columns.advance(2)
    rows.push(b, 3, at=2)
    columns.push_many({b: {"value": [3], "at": [2], "order": [0]}})
    assert rows.next_deadline == columns.next_deadline == 4
    assert rows.advance(4) == columns.advance(4) == []
    assert rows.next_deadline == columns.next_deadline is None
