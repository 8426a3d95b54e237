"""What pushes ask for waits in a queue: whoever looks finds it in the heap, and results are those of the clauses."""

import random

import pytest

from cartesius import Engine, Reactive, correlate
from restrictions import key_by, optionally, within, without

A, B = Reactive("a", fields=("k", "v")), Reactive("b", fields=("k", "v"))


def _yields(x, y):
    return x.v / (x.v % 7), y and y.v


def _band():
    return correlate(x=A, y=B, where=lambda x, y: x.k == y.k, yields=_yields, restrict=within(10, "x", "y"))


def _left():
    return correlate(x=A, y=B, yields=_yields, restrict=key_by(x="k", y="k") | optionally("y") | within(10, "x", "y"))


def _absence():
    yields = lambda x: x.v / (x.v % 7)  # noqa: E731 - which fails for some
    return correlate(x=A, yields=yields, restrict=key_by(x="k", b="k") | without(B, after="x", within=10))


def _state(engine):
    return engine.stats.retained, engine.next_deadline, engine.clock, engine._world.number


def _pushed(engine, *event):
    try:
        return [(repr(one.value), one.start, one.end) for one in engine.push(event[0], event[1], at=event[2])]
    except ZeroDivisionError:
        return "failed"


@pytest.mark.parametrize("program", [_band, _left, _absence])
@pytest.mark.parametrize("jitter", [0, 4])
@pytest.mark.parametrize("every", [1, 5, 1000])
def test_who_looks_now_and_then_finds_what_the_clauses_have(program, jitter, every):
    draw = random.Random(f"{program.__name__}/{jitter}/{every}")
    ours, theirs = Engine(program(), lateness=jitter), Engine(program(), lateness=jitter, tier="reference")
    at = 0
    for number in range(1, 250):
        at += draw.choice((0, 0, 1, 3))
        event = draw.choice((A, B)), {"k": draw.randrange(3), "v": number}, max(at - draw.randint(0, jitter), 0)
        assert _pushed(ours, *event) == _pushed(theirs, *event)
        if not number % every:
            assert _state(ours) == _state(theirs)
    assert _state(ours) == _state(theirs)
    assert ours.snapshot() == theirs.snapshot()
    loaded = Engine.restore(ours.snapshot(), program(), lateness=jitter)
    for number in range(250, 300):
        event = draw.choice((A, B)), {"k": draw.randrange(3), "v": number}, at + number
        assert _pushed(ours, *event) == _pushed(loaded, *event) == _pushed(theirs, *event)


def test_in_order_of_time_nothing_goes_through_the_heap():
    stack = key_by(x="k", y="k") | within(10, "x", "y")
    engine = Engine(correlate(x=A, y=B, yields=lambda x, y: x.v, restrict=stack), lateness=0)
    for at in range(100):
        engine.push((A, B)[at % 2], {"k": at % 3, "v": at}, at=at)
    deadlines = engine._world.deadlines
    assert len(deadlines.asked) > len(deadlines.entered) == 0
    assert engine.next_deadline == 100
    assert not deadlines.asked
