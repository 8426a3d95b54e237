"""Strands: fair, deterministic, their effects are the caller's, and a deadlock is an error."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from cartesius import Handler, Operation, controls, handle, handles
from cartesius.effects.strands import Future, Strands, await_, interleave
from cartesius.errors import Deadlock, InvalidArgument

emit = Operation("emit")


class collecting(Handler):
    def __init__(self):
        self.seen = []

    @handles(emit)
    def collect(self, value):
        self.seen.append(value)


def test_strands_start_in_order():
    trace = []
    interleave([partial(trace.append, n) for n in range(4)])
    assert trace == [0, 1, 2, 3]


def test_no_strand_is_done_at_once():
    interleave([])


def test_a_strand_waits_until_its_future_is_resolved():
    future, trace = Future(), []

    def waiting():
        trace.append("waits")
        trace.append(await_(future))

    def resolving():
        trace.append("resolves")
        future.resolve("value")
        trace.append("goes on")  # never inside resolve

    interleave([waiting, resolving])
    assert trace == ["waits", "resolves", "goes on", "value"]


def test_a_resolved_future_may_be_awaited_again_and_by_many():
    future, trace = Future(), []
    future.resolve(7)

    def reading():
        trace.append((await_(future), await_(future)))

    interleave([reading, reading])
    assert trace == [(7, 7), (7, 7)]


def test_waiting_strands_go_on_in_the_order_in_which_they_waited():
    future, trace = Future(), []
    strands: list[Any] = [lambda n=n: (await_(future), trace.append(n)) for n in (3, 1, 2)]
    interleave([*strands, lambda: future.resolve(None)])
    assert trace == [3, 1, 2]


def test_strands_take_turns():
    trace = []
    futures = [[Future() for _ in range(4)] for _ in range(2)]

    def strand(me, other):
        for turn in range(3):
            trace.append((me, turn))
            futures[me][turn].resolve(None)
            await_(futures[other][turn])

    interleave([lambda: strand(0, 1), lambda: strand(1, 0)])
    assert [turn for _, turn in trace] == [0, 0, 1, 1, 2, 2]


def test_a_run_is_the_same_every_time():
    def once():
        trace, futures = [], [Future() for _ in range(5)]

        def waiter(n):
            trace.append(("wait", n))
            await_(futures[n])
            trace.append(("got", n))
            if n:
                futures[n - 1].resolve(None)

        interleave([*(lambda n=n: waiter(n) for n in range(5)), lambda: futures[4].resolve(None)])
        return trace

    assert all(once() == once() for _ in range(5))


def test_the_effects_of_strands_are_their_callers():
    handler, future = collecting(), Future()

    def one():
        emit(1)
        await_(future)
        emit(3)

    def two():
        emit(2)
        future.resolve(None)

    handle(handler, lambda: interleave([one, two]))
    assert handler.seen == [1, 2, 3]


def test_a_ctl_clause_outside_suspends_the_whole_interleaving():
    class resuming(Handler):
        @controls(emit)
        def clause(self, value, resume):
            return [value, *resume(value * 10)]

        def returns(self, result):
            return ["end"]

    got = []
    future = Future()

    def one():
        got.append(emit(1))
        await_(future)
        got.append(emit(3))

    def two():
        got.append(emit(2))
        future.resolve(None)

    assert handle(resuming(), lambda: interleave([one, two])) == [1, 2, 3, "end"]
    assert got == [10, 20, 30]


def test_handlers_inside_a_strand_survive_its_suspension():
    future, handler = Future(), collecting()

    def one():
        handle(handler, lambda: (emit(1), await_(future), emit(2)))

    interleave([one, lambda: future.resolve(None)])
    assert handler.seen == [1, 2]


def test_strands_that_wait_for_each_other_are_a_deadlock():
    a, b = Future(), Future()
    with pytest.raises(Deadlock) as caught:
        interleave([lambda: b.resolve(await_(a)), lambda: a.resolve(await_(b))])
    assert isinstance(caught.value, RuntimeError)


def test_a_strand_that_awaits_what_nobody_resolves_is_a_deadlock_after_the_others_have_ended():
    trace = []
    with pytest.raises(Deadlock):
        interleave([lambda: await_(Future()), lambda: trace.append("ran")])
    assert trace == ["ran"]


def test_a_deadlock_unwinds_the_waiting_strands():
    trace = []

    def waiting():
        try:
            await_(Future())
        finally:
            trace.append("unwound")

    with pytest.raises(Deadlock):
        interleave([waiting])
    assert trace == ["unwound"]


def test_an_exception_of_a_strand_comes_out_and_unwinds_the_others():
    trace = []

    def waiting():
        try:
            await_(Future())
        finally:
            trace.append("unwound")

    def failing():
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        interleave([waiting, failing, lambda: trace.append("never")])
    assert trace == ["unwound"]


def test_an_exception_after_a_suspension_comes_out_too():
    future = Future()

    def failing():
        await_(future)
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        interleave([failing, lambda: future.resolve(None)])


def test_a_strand_may_interleave_strands_of_its_own():
    trace, future = [], Future()

    def outer():
        interleave([lambda: trace.append(await_(future)), lambda: trace.append("inner two")])
        trace.append("outer done")

    interleave([lambda: future.resolve("value"), outer])
    assert trace in (["value", "inner two", "outer done"], ["inner two", "value", "outer done"])


def test_a_future_is_resolved_once():
    future = Future()
    future.resolve(1)
    with pytest.raises(InvalidArgument):
        future.resolve(2)
    assert future.value == 1


def test_a_future_may_hold_none():
    future, trace = Future(), []
    interleave([lambda: trace.append(await_(future)), lambda: future.resolve(None)])
    assert trace == [None]


def test_many_strands_with_many_turns_run_in_constant_space():
    futures = [Future() for _ in range(2_000)]
    total = []

    def strand(parity):
        for n in range(parity, 2_000, 2):
            if n:
                await_(futures[n - 1])
            futures[n].resolve(n)
            total.append(n)

    interleave([lambda: strand(0), lambda: strand(1)])
    assert total == list(range(2_000))


# ------------------------------------------------------------------------------------------------- names of futures


def waiting_for(*futures):
    with pytest.raises(Deadlock) as caught:
        interleave([partial(await_, future) for future in futures])
    return str(caught.value)


def test_a_deadlock_names_what_the_strands_wait_for_in_their_order():
    left, right = Future("left"), Future("right")
    assert "2 strands wait for futures that nobody is left to resolve: 'left', 'right';" in waiting_for(left, right)
    assert ": 'right', 'left';" in waiting_for(right, left)
    assert "3 strands wait for futures that nobody is left to resolve: 'left', 'right';" in waiting_for(
        left, right, left
    )


def test_the_order_is_that_of_the_strands_not_of_their_waiting():
    first, second, third = (Future(name) for name in ("first", "second", "third"))

    def strand():
        await_(first)
        await_(second)

    def resolving():
        first.resolve(None)
        await_(third)

    with pytest.raises(Deadlock, match=": 'second', 'third';"):
        interleave([strand, resolving])


def test_a_deadlock_counts_futures_without_a_name():
    assert "1 strand waits for a future that nobody is left to resolve: 1 without a name, which" in waiting_for(
        Future()
    )
    assert ": 'tide', 2 without a name, which" in waiting_for(Future(), Future(name="tide"), Future())


def test_a_future_shows_its_name():
    assert repr(Future("tide")) == "<future tide>"
    assert repr(Future()) == "<future without a name>"


def test_a_future_that_is_resolved_twice_is_named():
    future = Future("tide")
    future.resolve(1)
    with pytest.raises(InvalidArgument, match="'tide' has the value 1"):
        future.resolve(2)


def test_a_scheduler_says_what_its_strands_await():
    strands, left, right = Strands(), Future("left"), Future("right")
    strands.spawn(lambda: await_(left))
    strands.spawn(lambda: await_(right))
    strands.run()
    assert strands.awaited() == [left, right]
    left.resolve(None)
    strands.run()
    assert strands.awaited() == [right]
    strands.drop()
    assert strands.awaited() == []
