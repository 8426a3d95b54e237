"""Operations: fresh, named, generative; what happens when nobody handles one; forwarding."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cartesius
from cartesius import Handler, Implicit, Operation, controls, handle, handles
from cartesius.errors import CartesiusError, InvalidArgument, UnhandledOperation

forward: Any = cartesius.forward


def answering(operation, answer):
    class answers(Handler):
        @handles(operation)
        def clause(self, *arguments):
            return answer(*arguments) if callable(answer) else answer

    return answers()


def test_operations_of_one_name_are_two_effects():
    one, two = Operation("ask"), Operation("ask")
    handler = answering(one, "one") | answering(two, "two")
    assert handle(handler, lambda: (one(), two())) == ("one", "two")
    assert handle(answering(two, "two") | answering(one, "one"), lambda: (one(), two())) == ("one", "two")


def test_a_handler_of_one_does_not_handle_the_other_of_the_same_name():
    one, two = Operation("ask"), Operation("ask")
    with pytest.raises(UnhandledOperation):
        handle(answering(one, "one"), two)


def test_an_operation_takes_any_arguments():
    add = Operation("add")
    assert handle(answering(add, lambda *numbers: sum(numbers)), lambda: (add(), add(1), add(1, 2, 3))) == (0, 1, 6)


def test_an_operation_that_nobody_handles_names_itself_and_the_handlers_in_force():
    ask, tell = Operation("ask"), Operation("tell")

    class telling(Handler):
        @handles(tell)
        def clause(self):
            return None

    with pytest.raises(UnhandledOperation) as caught:
        handle(telling(), lambda: ask("why"))
    assert "ask" in str(caught.value)
    assert "telling" in str(caught.value)
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, CartesiusError)


def test_an_operation_outside_any_handler_is_unhandled():
    with pytest.raises(UnhandledOperation, match="ask"):
        Operation("ask")()


def test_the_handlers_in_force_are_back_after_an_unhandled_operation():
    ask, tell = Operation("ask"), Operation("tell")

    def computation():
        with pytest.raises(UnhandledOperation):
            ask()
        return tell()

    assert handle(answering(tell, 7), computation) == 7
    with pytest.raises(UnhandledOperation):
        tell()


def test_forward_outside_a_clause_is_an_error():
    with pytest.raises(UnhandledOperation):
        forward(1)


def test_forward_without_an_outer_handler_is_an_error_that_names_the_operation():
    ask = Operation("ask")
    with pytest.raises(UnhandledOperation, match="ask"):
        handle(answering(ask, forward), ask)


def test_forward_passes_what_it_is_given_and_answers_what_the_outer_handler_answers():
    say = Operation("say")
    outer = answering(say, lambda words: f"<{words}>")
    inner = answering(say, lambda words: forward(words.upper()) + "!")
    assert handle(outer | inner, lambda: say("ahoy")) == "<AHOY>!"


def test_forward_may_be_used_several_times_or_not_at_all():
    count = Operation("count")
    seen = []
    outer = answering(count, lambda n: seen.append(n) or len(seen))
    assert handle(outer | answering(count, lambda n: forward(n) + forward(n + 1)), lambda: count(5)) == 3
    assert seen == [5, 6]
    assert handle(outer | answering(count, lambda n: -n), lambda: count(5)) == -5
    assert seen == [5, 6]


def test_forward_out_of_three_handlers_goes_one_at_a_time():
    step = Operation("step")
    layers = [answering(step, lambda trail, name=name: forward([*trail, name])) for name in ("b", "c")]
    outermost = answering(step, lambda trail: [*trail, "a"])
    assert handle(outermost | layers[0] | layers[1], lambda: step([])) == ["c", "b", "a"]


def test_forward_from_a_ctl_clause_reaches_the_outer_handler():
    ask = Operation("ask")

    class doubting(Handler):
        @controls(ask)
        def clause(self, question, resume):
            return resume(forward(question) * 2)

    assert handle(answering(ask, len) | doubting(), lambda: ask("four") + 1) == 9


def test_forward_to_a_ctl_clause_from_a_fun_clause_suspends_the_computation():
    ask = Operation("ask")

    class outer(Handler):
        @controls(ask)
        def clause(self, question, resume):
            return ["before", resume(question + 1), "after"]

    inner = answering(ask, lambda n: forward(n * 10) + 1)
    assert handle(outer() | inner, lambda: ask(1) + 100) == ["before", 112, "after"]


def test_forward_inside_a_function_called_by_a_clause_is_that_of_the_clause():
    ask = Operation("ask")

    def helper(n):
        return forward(n)

    assert handle(answering(ask, lambda n: n + 1) | answering(ask, lambda n: helper(n) * 2), lambda: ask(3)) == 8


def test_forward_after_an_inner_handle_in_a_clause_is_still_that_of_the_clause():
    ask, tell = Operation("ask"), Operation("tell")

    def clause(n):
        told = handle(answering(tell, lambda m: m + 1), lambda: tell(n))
        return forward(told)

    assert handle(answering(ask, lambda n: n * 10) | answering(ask, clause), lambda: ask(1)) == 20


def test_an_implicit_variable_is_bound_for_a_dynamic_extent():
    depth = Implicit("depth", default=0)

    def reader():
        return depth()

    with depth.bound_to(1):
        assert reader() == 1
        with depth.bound_to(2):
            assert reader() == 2
        assert reader() == 1
    assert reader() == 0


def test_an_implicit_variable_without_default_is_unhandled_where_nobody_has_bound_it():
    depth = Implicit("depth")
    with depth.bound_to(None):
        assert depth() is None
    with pytest.raises(UnhandledOperation, match="depth"):
        depth()


def test_an_implicit_variable_is_unbound_by_an_exception():
    depth = Implicit("depth", default=0)
    with pytest.raises(KeyError), depth.bound_to(1):
        raise KeyError
    assert depth() == 0


def test_implicit_variables_of_one_name_are_different():
    one, two = Implicit("v", default=1), Implicit("v", default=2)
    with one.bound_to(10):
        assert (one(), two()) == (10, 2)


def test_an_implicit_variable_is_seen_inside_handlers_and_by_their_clauses_where_they_are_installed():
    unit, ask = Implicit("unit", default="m"), Operation("ask")
    handler = answering(ask, unit)
    with unit.bound_to("km"):
        assert handle(handler, unit) == "km"
        assert handle(handler, ask) == "km"

    def computation():
        with unit.bound_to("mm"):
            return ask(), unit()

    # Operations in a clause are seen by outer handlers only: the binding inside is not outer to the handler.
    assert handle(handler, computation) == ("m", "mm")


def test_a_binding_that_is_ended_elsewhere_ends_and_nothing_else_does():
    """As of a generator that is begun under a handler and ended outside of it, or the other way round."""
    ask, depth = Operation("ask"), Implicit("depth", default=0)

    def binding():
        with depth.bound_to(5):
            yield depth()

    begun = binding()
    assert handle(answering(ask, 7), lambda: next(begun)) == 5
    assert list(begun) == []
    assert depth() == 0
    with pytest.raises(UnhandledOperation):
        ask()
    begun = binding()
    assert (next(begun), depth()) == (5, 5)
    assert handle(answering(ask, 7), lambda: (list(begun), ask(), depth())) == ([], 7, 0)
    assert depth() == 0


def test_bindings_of_tasks_end_in_any_order():
    depth = Implicit("depth", default=0)

    async def bound(n):
        with depth.bound_to(n):
            for _ in range(n):
                await asyncio.sleep(0)

    async def several():
        await asyncio.gather(*map(bound, (1, 3, 2, 1)))

    asyncio.run(several())
    assert depth() == 0


def test_arguments_are_given_by_place():
    """A clause is called with what is given by place: what had a name was lost."""
    ask = Operation[..., Any]("ask")
    with pytest.raises(InvalidArgument, match="expected arguments by their places but got loud by name"):
        handle(answering(ask, 7), lambda: ask("a", loud=True))


@pytest.mark.parametrize("mark", [handles, controls])
def test_a_mark_without_an_operation_is_refused(mark):
    with pytest.raises(InvalidArgument, match=rf"{mark.__name__}: expected an operation.* in parentheses"):

        class silent(Handler):
            @mark
            def clause(self):
                """It would never be called."""


def _generator(self):
    yield


async def _coroutine(self):
    """Nobody awaits it."""


async def _both(self):
    yield


@pytest.mark.parametrize("clause", [_generator, _coroutine, _both])
@pytest.mark.parametrize("mark", [handles, controls])
def test_a_clause_that_nobody_would_run_is_refused(mark, clause):
    with pytest.raises(InvalidArgument, match=f"expected a function that returns but got the .* {clause.__name__}"):
        mark(Operation("ask"))(clause)
