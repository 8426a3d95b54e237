"""Resumptions: one-shot, stored, thrown into, dropped, in constant space, and never leaked."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from typing import TYPE_CHECKING

import greenlet
import pytest

from cartesius import Handler, Operation, controls, forward, handle, handles
from cartesius.effects.strands import Future, await_, interleave
from cartesius.errors import Deadlock, InvalidArgument, ResumptionUsed, WrongThread

if TYPE_CHECKING:
    from types import FrameType

ask = Operation("ask")
tell = Operation("tell")


def live_greenlets():
    gc.collect()
    return sum(isinstance(thing, greenlet.greenlet) for thing in gc.get_objects())


class storing(Handler):
    """Store the resumption and answer "stored"."""

    def __init__(self):
        self.stored = []

    @controls(ask)
    def clause(self, resume):
        self.stored.append(resume)
        return "stored"

    def returns(self, result):
        return "returned", result


def with_clause(clause, *, operation=ask):
    class controlling(Handler):
        @controls(operation)
        def perform(self, *arguments):
            return clause(*arguments)

    return controlling()


# --------------------------------------------------------------------------------------------------------- one-shot


def test_a_second_resume_raises():
    def clause(resume):
        resume(1)
        return resume(2)

    with pytest.raises(ResumptionUsed):
        handle(with_clause(clause), ask)


@pytest.mark.parametrize("again", [lambda r: r(2), lambda r: r.throw(KeyError()), lambda r: r.tail(2)])
def test_a_used_resumption_may_not_be_used_in_another_way(again):
    handler = storing()
    handle(handler, ask)
    resume = handler.stored[0]
    assert resume(1) == ("returned", 1)
    with pytest.raises(ResumptionUsed):
        handle(with_clause(lambda _: again(resume)), ask)


def test_a_second_resume_while_the_first_is_running_raises():
    handler = storing()

    def program():
        ask()
        with pytest.raises(ResumptionUsed):
            handler.stored[0](2)
        return "once"

    handle(handler, program)
    assert handler.stored[0](1) == ("returned", "once")


# ------------------------------------------------------------------------------------------------------ stored ones


def test_a_stored_resumption_is_resumed_later_and_answers_what_the_handler_answers():
    handler = storing()
    assert handle(handler, lambda: ask() + 1) == "stored"
    assert handler.stored[0](41) == ("returned", 42)


def test_a_resumed_computation_is_handled_again():
    handler = storing()
    assert handle(handler, lambda: ask() + ask()) == "stored"
    assert handler.stored[0](1) == "stored"
    assert handler.stored[1](2) == ("returned", 3)


def test_a_stored_resumption_keeps_the_handlers_inside_and_sees_those_outside_where_it_is_resumed():
    handler = storing()

    class answering(Handler):
        def __init__(self, answer):
            self.answer = answer

        @handles(tell)
        def clause(self):
            return self.answer

    handle(answering("first") | handler, lambda: (ask(), tell()))
    assert handle(answering("second"), lambda: handler.stored[0](1)) == ("returned", (1, "second"))

    handler.stored.clear()
    handle(handler | answering("inside"), lambda: (ask(), tell()))
    assert handle(answering("second"), lambda: handler.stored[0](1)) == ("returned", (1, "inside"))


def test_a_stored_resumption_may_be_resumed_from_another_strand():
    handler, trace, ready = storing(), [], Future()

    def performer():
        trace.append(handle(handler, lambda: ("asked", ask())))
        ready.resolve(None)

    def resumer():
        await_(ready)
        trace.append(handler.stored[0]("answer"))

    interleave([resumer, performer])
    assert trace == ["stored", ("returned", ("asked", "answer"))]


def test_a_computation_that_awaits_after_it_was_resumed_elsewhere_suspends_the_strand_that_resumed_it():
    handler, trace, ready, late = storing(), [], Future(), Future()

    def performer():
        handle(handler, lambda: (ask(), await_(late)))
        ready.resolve(None)

    def resumer():
        await_(ready)
        trace.append(handler.stored[0](1))

    def resolver():
        await_(ready)
        trace.append("resolving")
        late.resolve(2)

    interleave([performer, resumer, resolver])
    assert trace == ["resolving", ("returned", (1, 2))]


# ------------------------------------------------------------------------------------------------------------ throw


def test_throw_raises_where_the_operation_was_performed():
    def program():
        try:
            ask()
        except KeyError as error:
            return f"caught {error.args[0]}"

    assert handle(with_clause(lambda resume: resume.throw(KeyError("x"))), program) == "caught x"


@pytest.mark.parametrize("given", ["x", None, KeyError])
def test_throw_of_what_is_no_exception_is_refused_and_uses_nothing_up(given):
    def clause(resume):
        with pytest.raises(InvalidArgument, match="throw: expected an exception but got"):
            resume.throw(given)
        return resume(3)

    assert handle(with_clause(clause), ask) == 3


def test_throw_that_nobody_catches_comes_out_of_the_handler():
    with pytest.raises(KeyError):
        handle(with_clause(lambda resume: resume.throw(KeyError())), ask)


def test_throw_answers_what_the_handler_answers():
    handler = storing()

    def program():
        try:
            ask()
        except KeyError:
            return "caught"

    handle(handler, program)
    assert handler.stored[0].throw(KeyError()) == ("returned", "caught")


# ------------------------------------------------------------------------------------------------------------- tail


def test_tail_runs_in_constant_space():
    n = 100_000
    deepest = 0

    class tailing(Handler):
        @controls(ask)
        def clause(self, value, resume):
            return resume.tail(value + 1)

    def program():
        nonlocal deepest
        total = 0
        for _ in range(n):
            total = ask(total)
            if total % 10_000 == 0:
                deepest = max(deepest, len(_frames()))
        return total

    assert handle(tailing(), program) == n
    assert deepest < 100


def _frames():
    frame: FrameType | None = sys._getframe()
    out = []
    while frame is not None:
        out.append(frame)
        frame = frame.f_back
    return out


def test_tail_goes_through_the_return_clause():
    class tailing(Handler):
        @controls(ask)
        def clause(self, resume):
            return resume.tail(3)

        def returns(self, result):
            return ["returned", result]

    assert handle(tailing(), lambda: ask() + 1) == ["returned", 4]


def test_a_tail_after_a_plain_resume_keeps_the_nesting():
    class mixing(Handler):
        @controls(ask)
        def clause(self, n, resume):
            return resume.tail(n) if n % 2 else [n, resume(n)]

        def returns(self, result):
            return ["end"]

    assert handle(mixing(), lambda: [ask(n) for n in range(5)]) == [0, [2, [4, ["end"]]]]


def test_a_forwarded_operation_may_be_resumed_by_tail():
    outer = with_clause(lambda n, resume: resume.tail(n + 1))

    class inner(Handler):
        @handles(ask)
        def clause(self, n):
            return forward(n * 10)

    def program():
        total = 0
        for _ in range(5_000):
            total = ask(1) + total
        return total

    assert handle(outer | inner(), program) == 55_000


def test_nested_handlers_that_both_tail_run_in_constant_space():
    outer = with_clause(lambda n, resume: resume.tail(n + 1), operation=tell)
    inner = with_clause(lambda n, resume: resume.tail(tell(n)))

    def program():
        total = 0
        for _ in range(20_000):
            total = ask(total)
        return total

    assert handle(outer | inner, program) == 20_000


# -------------------------------------------------------------------------------------------------------- abandoned


def test_an_abandoned_computation_is_unwound_at_once():
    trace = []

    def program():
        try:
            ask()
        finally:
            trace.append("unwound")

    assert handle(with_clause(lambda resume: "dropped"), program) == "dropped"
    assert trace == ["unwound"]


def test_an_abandoned_computation_is_unwound_without_an_error_that_it_could_catch_as_an_exception():
    trace = []

    def program():
        try:
            ask()
        except Exception:
            trace.append("caught")
        finally:
            trace.append("unwound")

    handle(with_clause(lambda resume: None), program)
    assert trace == ["unwound"]


def test_a_stored_resumption_that_is_dropped_unwinds_its_computation():
    trace = []

    def program():
        try:
            ask()
        finally:
            trace.append("unwound")

    handler = storing()
    handle(handler, program)
    assert trace == []
    handler.stored.clear()
    gc.collect()
    assert trace == ["unwound"]


def test_drop_runs_the_finally_blocks_now():
    trace = []

    def program():
        try:
            ask()
        finally:
            trace.append("unwound")

    handler = storing()
    handle(handler, program)
    handler.stored[0].drop()
    assert trace == ["unwound"]
    with pytest.raises(ResumptionUsed):
        handler.stored[0](1)


def test_nested_abandoned_computations_are_unwound_from_the_inside_out():
    trace = []

    def inner_program():
        try:
            tell()
        finally:
            trace.append("inner")

    def program():
        try:
            handle(with_clause(lambda resume: resume(1)), inner_program)
        finally:
            trace.append("outer")

    assert handle(with_clause(lambda resume: "left", operation=tell), program) == "left"
    assert trace == ["inner", "outer"]


def test_what_is_abandoned_from_a_clause_inside_is_unwound_at_once_too():
    trace = []
    passing = with_clause(lambda resume: resume.tail(1), operation=Operation("unused"))
    inner = with_clause(lambda resume: tell())
    outer = with_clause(lambda resume: "aborted", operation=tell)

    def program():
        try:
            ask()
        finally:
            trace.append("unwound")

    gc.disable()  # by counting references alone
    try:
        assert handle(outer | passing | inner, program) == "aborted"
        assert trace == ["unwound"]
    finally:
        gc.enable()


def test_what_an_error_thrown_in_a_clause_abandons_is_unwound_with_the_error():
    trace = []
    throwing = with_clause(lambda resume: resume.throw(KeyError()), operation=tell)

    def program():
        try:
            ask()
        finally:
            trace.append("unwound")

    gc.disable()  # by counting references alone
    try:
        with contextlib.suppress(KeyError):
            handle(with_clause(lambda resume: handle(throwing, tell)), program)
        assert trace == ["unwound"]
    finally:
        gc.enable()


def test_operations_in_the_finally_block_of_an_abandoned_computation_reach_the_handlers_inside():
    trace = []

    class noting(Handler):
        @handles(tell)
        def clause(self, what):
            trace.append(what)

    def program():
        try:
            ask()
        finally:
            tell("unwound")

    handle(with_clause(lambda resume: None) | noting(), program)
    gc.collect()
    assert trace == ["unwound"]


def _abandon():
    handle(with_clause(lambda resume: None), ask)


def _abandon_nested():
    inner = with_clause(lambda resume: resume(1))
    handle(
        with_clause(lambda resume: None, operation=tell),
        lambda: handle(inner, lambda: handle(with_clause(lambda resume: tell()), ask)),
    )


def _store_and_drop():
    handler = storing()
    handle(handler, ask)


def _store_and_resume_from_another_strand():
    handler, ready = storing(), Future()

    def performing():
        handle(handler, ask)
        ready.resolve(0)

    def resuming():
        await_(ready)
        handler.stored[0](1)

    interleave([performing, resuming])


def _throw_into_a_stored_one():
    handler = storing()
    handle(handler, lambda: [ask(), ask()])
    with pytest.raises(KeyError):
        handler.stored[0].throw(KeyError())


def _abandon_from_a_clause_inside():
    outer = with_clause(lambda resume: "aborted", operation=tell)
    handle(outer | with_clause(lambda resume: resume(1)) | with_clause(lambda resume: tell()), ask)


def _deadlock():
    with pytest.raises(Deadlock):
        interleave([lambda: await_(Future("left")), lambda: await_(Future("right"))])


def _resume():
    handle(with_clause(lambda resume: resume(1)), lambda: [ask() for _ in range(3)])


def _tail():
    handle(with_clause(lambda resume: resume.tail(1)), lambda: [ask() for _ in range(3)])


def _throw():
    with pytest.raises(KeyError):
        handle(with_clause(lambda resume: resume.throw(KeyError())), ask)


def _fail_in_clause():
    with pytest.raises(ZeroDivisionError):
        handle(with_clause(lambda resume: 1 // 0), ask)


def _await():
    future = Future()
    interleave([lambda: await_(future), lambda: future.resolve(1)])


def _divide_by_zero():
    raise ZeroDivisionError


def _fail_in_strand():
    future = Future()
    with pytest.raises(ZeroDivisionError):
        interleave([lambda: await_(future), _divide_by_zero])


@pytest.mark.parametrize(
    "once",
    [
        _abandon,
        _abandon_nested,
        _store_and_drop,
        _resume,
        _tail,
        _throw,
        _fail_in_clause,
        _await,
        _fail_in_strand,
        _store_and_resume_from_another_strand,
        _throw_into_a_stored_one,
        _abandon_from_a_clause_inside,
        _deadlock,
    ],
    ids=lambda function: function.__name__.strip("_"),
)
def test_no_greenlet_is_left_behind(once):
    once()
    before = live_greenlets()
    for _ in range(50):
        once()
    assert live_greenlets() <= before


# ---------------------------------------------------------------------------------------- dropped, in another thread


class answering(storing):
    """Store what asks, and note what is told."""

    def __init__(self):
        super().__init__()
        self.told = []

    @handles(tell)
    def note(self, text):
        self.told.append(text)


def asking():
    try:
        return ask()
    finally:
        tell("the end")


@pytest.mark.parametrize("dropping", ["drop", "forget"])
def test_what_is_dropped_ends_under_its_handlers(dropping):
    """Also under those between its own and the operation, and under those outside, where it is dropped."""
    outer, inner = answering(), storing()
    before = live_greenlets()
    handle(outer, lambda: handle(inner, asking))
    assert len(inner.stored) == 1
    if dropping == "drop":
        handle(outer, inner.stored[0].drop)
    else:
        handle(outer, inner.stored.clear)
    assert outer.told == ["the end"]
    alone = answering()
    handle(alone, asking)
    alone.stored.pop().drop()
    assert alone.told == ["the end"]
    inner.stored.clear()
    assert live_greenlets() == before


def test_an_end_may_ask_its_own_handler_once_more():
    """A ctl clause that is asked for while the computation is unwound is served, and what it stores can be dropped."""
    handler = storing()
    before = live_greenlets()

    def program():
        try:
            ask()
        finally:
            ask()

    handle(handler, program)
    handler.stored[0].drop()
    assert len(handler.stored) == 2
    handler.stored[1].drop()
    handler.stored.clear()
    assert live_greenlets() == before


@pytest.mark.parametrize("use", [lambda r: r(1), lambda r: r.throw(KeyError("no")), lambda r: r.drop()])
def test_a_resumption_stays_in_its_thread(use):
    handler, errors = answering(), []
    before = live_greenlets()
    handle(handler, asking)

    def elsewhere():
        try:
            use(handler.stored[0])
        except WrongThread as error:
            errors.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert "resumed or dropped by the thread that runs" in errors[0]
    assert handler.stored.pop()(7) == ("returned", 7)  # it was not used up
    assert handler.told == ["the end"]
    assert live_greenlets() == before
