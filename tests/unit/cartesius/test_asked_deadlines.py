"""What pushes ask for waits in a queue: whoever looks finds it in the heap, and results are those of the clauses."""

import random
from typing import Any

import pytest

from cartesius import Engine, Reactive, correlate
from cartesius.batching.deadlines import MANY
from restrictions import cumulative, key_by, most_recently, optionally, within, without

A, B, C = (Reactive(name, fields=("k", "v")) for name in "abc")


def _yields(x, y):
    return x.v / (x.v % 7), y and y.v


def _band():
    return correlate(x=A, y=B, where=lambda x, y: x.k == y.k, yields=_yields, restrict=within(10, "x", "y"))


def _latest():
    stack = key_by(x="k", y="k") | most_recently("x", "y") | within(10, "x", "y")
    return correlate(x=A, y=B, yields=_yields, restrict=stack)


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


@pytest.mark.parametrize("program", [_band, _latest, _left, _absence])
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


@pytest.mark.parametrize("every", [1, 1000])
def test_what_is_due_at_one_time_is_met_correlation_by_correlation(every):
    program = [correlate(x=one, yields=lambda x: x.v, restrict=without(C, after="x", within=5)) for one in (B, A)]
    ours, theirs = Engine(*program, lateness=0), Engine(*program, lateness=0, tier="reference")
    for at in range(0, 90, 10):  # first what the second one waits for
        for source in (A, B):
            event = source, {"k": 1, "v": at}
            assert ours.push(*event, at=at) == theirs.push(*event, at=at)
        if not at % every:
            assert ours.next_deadline == theirs.next_deadline


def test_what_is_asked_again_and_again_takes_no_memory():
    stack = key_by(x="k", y="k") | most_recently("x", "y") | within(5, "x", "y")
    engine = Engine(correlate(x=A, y=B, yields=lambda x, y: x.v, restrict=stack), lateness=10)
    for number in range(MANY + 100):
        engine.push((A, B)[number % 2], {"k": number % 3, "v": number}, at=7 if number > 9 else 0)
    assert len(engine._world.deadlines.asked) + len(engine._world.deadlines.entered) < 10


@pytest.mark.parametrize("keyed", [True, False])
def test_a_row_is_decided_by_what_may_bear_on_it(keyed, monkeypatch):
    stack = without(B, after="x", within=5)
    engine = Engine(
        correlate(x=A, yields=lambda x: x.v, restrict=key_by(x="k", b="k") | stack if keyed else stack), lateness=3_000
    )
    asked = []
    kind: Any = type(stack)
    forbids = kind.forbids
    monkeypatch.setattr(kind, "forbids", lambda *given: asked.append(given) or forbids(*given))
    for at in range(0, 6_000, 10):
        engine.push(A, {"k": 1, "v": at}, at=at)
        engine.push(B, {"k": 1, "v": at}, at=at + (7 if at % 40 else 3))
    decided = 300
    assert engine.stats.slots["correlate(a)", "b"][0] > 250
    assert 0 < len(asked) < decided


@pytest.mark.parametrize("tier", ["reference", "in_place", None])
@pytest.mark.parametrize("is_restored", [False, True])
@pytest.mark.parametrize("lateness", [None, 50])
def test_rows_of_one_time_come_as_their_events_do_whatever_has_left_before(tier, is_restored, lateness):
    """What an event of the first key had asked for goes with it: so the second key, whose event stayed, is first."""
    stack = key_by(x="k", y="k") | most_recently("x", "y") | optionally("y") | within(10, "x", "y")
    near = correlate(x=A, y=B, yields=lambda x, y: x.v, restrict=stack)
    engine = Engine(near, lateness=lateness, tier=tier)
    rows = [{"k": key, "v": value} for value, key in enumerate("pqrpsq")]
    if tier is None:
        engine.push_many({A: {"value": rows, "at": [3] * len(rows)}})
    for row in rows if tier is not None else ():
        engine.push(A, row, at=3)
    if is_restored:
        engine = Engine.restore(engine.snapshot(), near, lateness=lateness, tier=tier)
    rows_of_events = engine.push(A, {"k": "z", "v": 9}, at=100)
    rows_of_events += engine.advance(60)
    assert [event.value for event in rows_of_events] == [2, 3, 4, 5]


@pytest.mark.parametrize("tier", ["reference", "in_place"])
@pytest.mark.parametrize("is_restored", [False, True])
def test_what_nothing_in_memory_waits_for_keeps_no_output_open(tier, is_restored):
    """`cumulative` holds the event of ``a`` when all ends, so that its row never comes; its deadline says nothing."""
    held = correlate(
        a=A, b=B, yields=lambda a: a, restrict=cumulative("a", "b") | optionally("b") | within(3, "a", "b")
    )
    engine = Engine(held, tier=tier)
    engine.push(B, {"k": 0, "v": 0}, at=1)
    engine.push(A, {"k": 0, "v": 1}, at=1)
    if is_restored:
        engine = Engine.restore(engine.snapshot(), held, tier=tier)
    engine.close()
    assert engine.stats.waiting == 1
    assert engine.done
