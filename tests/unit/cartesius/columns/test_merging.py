"""Merges, compiled: the same results as pushing row by row in the reference tier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Engine, Reactive, correlate
from cartesius.columns.results import events_of
from restrictions import fifo, momentarily, only, separately
from restrictions.streams import merge
from tests.unit.cartesius.columns.stream_traces import check, cuts, traces

if TYPE_CHECKING:
    from collections.abc import Callable

FEWER = settings(max_examples=settings().max_examples // 4)  # each builds several engines
LEFT, RIGHT, THIRD = INPUTS = Reactive("left"), Reactive("right"), Reactive("third")


def odd(value: Any) -> bool:
    return bool(value.v % 2)


def shown(x: Any, y: Any) -> Any:
    return x.v if y is None else (y.id, y.v)


PROGRAMS: dict[str, Callable[[], Reactive]] = {
    "merge": lambda: merge(*INPUTS),
    "as it says": lambda: correlate(
        x=LEFT, y=RIGHT, yields=shown, restrict=separately() | momentarily("x", "y") | only("x", odd)
    ),
    "parts and times": lambda: correlate(
        x=LEFT,
        y=RIGHT,
        yields=lambda x, y, time_x: (time_x, x, y),
        restrict=momentarily("x", "y") | separately() | fifo(),
    ),
}


@FEWER
@given(program=st.sampled_from(sorted(PROGRAMS)), trace=traces(3), cut=cuts())
def test_each_event_stands_alone(program: str, trace: list[Any], cut: list[Any]) -> None:
    inputs = INPUTS if program == "merge" else INPUTS[:2]
    check(PROGRAMS[program], inputs, [event for event in trace if event[0] < len(inputs)], cut)


def test_events_that_stand_alone_and_stay_are_pushed_row_by_row() -> None:
    engine = Engine(correlate(x=LEFT, y=RIGHT, yields=lambda x, y: (x, y), restrict=separately() | momentarily("x")))
    batch: Any = {"left": {"value": [1], "order": [1]}, "right": {"value": [2], "order": [2]}}
    assert [event.value for event in events_of(engine.push_many(batch))] == [(1, None), (None, 2)]
    assert engine._compiled is not None
    assert "events that stand alone stay in memory" in engine._compiled.reason
