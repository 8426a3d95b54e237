"""What is dropped is gone: no suspended greenlet outlives its engine, its scheduler or its resumption."""

import gc

import greenlet
import pytest

from cartesius import Engine, Handler, Operation, Reactive, controls, correlate, handle
from cartesius.effects.strands import Future, await_, interleave
from cartesius.errors import Deadlock
from restrictions import zip_

ask = Operation("ask")


def suspended() -> int:
    main = greenlet.getcurrent()
    gc.collect()
    return sum(isinstance(found, greenlet.greenlet) and found is not main for found in gc.get_objects())


class keeping(Handler):
    @controls(ask)
    def keep(self, question, resume):
        self.resume = resume


def test_an_engine_takes_its_strands_along():
    left, right = Reactive("left"), Reactive("right")
    before = suspended()
    for _ in range(20):
        engine = Engine(zip_(left, right), tier="reference")
        engine.push(left, 1)
        engine = Engine.restore(engine.snapshot(), *engine.outputs, tier="reference")
        engine.push(right, 2)
    assert suspended() > before  # the last engine's strands: the count can see them
    del engine
    assert suspended() == before


def test_a_failed_push_leaves_no_strand_behind():
    numbers = Reactive("numbers")
    engine = Engine(correlate(n=numbers, yields=lambda n: 1 // n), tier="reference")
    before = suspended()
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            engine.push(numbers, 0)
    assert suspended() == before


def test_a_stored_resumption_goes_with_its_handler():
    before, unwound = suspended(), []

    def asking():
        try:
            ask("why")
        finally:
            unwound.append(True)

    for _ in range(20):
        handle(keeping(), asking)
    gc.collect()
    assert len(unwound) == 20
    assert suspended() == before


def test_a_deadlock_unwinds_the_strands_that_wait():
    before, unwound = suspended(), []

    def waiting():
        try:
            await_(Future())
        finally:
            unwound.append(True)

    with pytest.raises(Deadlock):
        interleave([waiting, waiting])
    assert unwound == [True, True]
    assert suspended() == before
