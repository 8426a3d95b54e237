"""Handlers: the rules RET and HANDLE, deep handling, parameters, composition (SOURCES A4, A5)."""

from __future__ import annotations

import pytest

from cartesius import Handler, Implicit, Operation, controls, forward, handle, handles, push
from cartesius.effects.handlers import Composed
from cartesius.effects.operations import check_performed
from cartesius.errors import InvalidArgument, UnhandledOperation

emit = Operation("emit")
ask = Operation("ask")
leave = Operation("leave")
get = Operation("get")
put = Operation("put")


class collecting(Handler):
    """Collect what is emitted; answer (result, collected)."""

    def __init__(self):
        self.seen = []

    @handles(emit)
    def collect(self, value):
        self.seen.append(value)

    def returns(self, result):
        return result, self.seen


class catching(Handler):
    @controls(leave)
    def caught(self, reason, resume):
        return f"left: {reason}"


class holding(Handler):
    """A cell."""

    def __init__(self, content):
        self.content = content

    @handles(get)
    def read(self):
        return self.content

    @handles(put)
    def write(self, content):
        self.content = content

    def returns(self, result):
        return result, self.content


# ------------------------------------------------------------------------------------------------------------- RET


def test_a_value_goes_through_the_return_clause():
    assert handle(collecting(), lambda: 42) == (42, [])


def test_an_omitted_return_clause_is_the_identity():
    value = object()
    assert handle(catching(), lambda: value) is value
    assert handle(Handler(), lambda: value) is value


def test_the_return_clause_is_outside_its_own_handler():
    class asking(Handler):
        @handles(ask)
        def answer(self):
            return 1

        def returns(self, result):
            return ask() + result

    with pytest.raises(UnhandledOperation):
        handle(asking(), ask)

    class outer(Handler):
        @handles(ask)
        def answer(self):
            return 100

    assert handle(outer() | asking(), ask) == 101


def test_a_ctl_clause_that_does_not_resume_skips_the_return_clause():
    class aborting(catching):
        def returns(self, result):
            return ["returned", result]

    assert handle(aborting(), lambda: 1) == ["returned", 1]
    assert handle(aborting(), lambda: leave("x")) == "left: x"


def test_resuming_in_a_ctl_clause_gives_what_the_return_clause_makes_of_the_rest():
    class wrapping(Handler):
        @controls(ask)
        def clause(self, n, resume):
            return ["clause", n, resume(n + 1)]

        def returns(self, result):
            return ["returned", result]

    assert handle(wrapping(), lambda: ask(1) * 10) == ["clause", 1, ["returned", 20]]


def test_return_clauses_of_a_composition_run_from_the_inside_out():
    class tagging(Handler):
        def __init__(self, tag):
            self.tag = tag

        def returns(self, result):
            return [self.tag, result]

    assert handle(tagging("outer") | tagging("inner"), lambda: 1) == ["outer", ["inner", 1]]


# ---------------------------------------------------------------------------------------------------------- HANDLE


def test_the_innermost_handler_with_a_clause_takes_the_operation():
    outer, inner = collecting(), collecting()

    def computation():
        emit(1)
        handle(inner, lambda: emit(2))
        emit(3)

    handle(outer, computation)
    assert (outer.seen, inner.seen) == ([1, 3], [2])


def test_a_handler_without_a_clause_is_passed_over():
    outer = collecting()
    assert handle(outer | catching() | holding(0), lambda: emit(1)) == ((None, 0), [1])


def test_in_a_composition_the_right_one_is_inside():
    outer, inner = collecting(), collecting()
    handle(outer | inner, lambda: emit(1))
    assert (outer.seen, inner.seen) == ([], [1])


@pytest.mark.parametrize("group", [lambda a, b, c: (a | b) | c, lambda a, b, c: a | (b | c)])
def test_composition_is_associative(group):
    class tagging(Handler):
        def __init__(self, tag):
            self.tag = tag

        @handles(emit)
        def clause(self, trail):
            return forward(trail + self.tag)

    class bottom(Handler):
        @handles(emit)
        def clause(self, trail):
            return trail

    composed = group(tagging("a"), tagging("b"), tagging("c"))
    assert handle(bottom() | composed, lambda: emit("")) == "cba"


def test_the_empty_handler_is_the_identity_of_composition():
    for handler in (Handler() | collecting(), collecting() | Handler(), Handler() | collecting() | Handler()):
        assert handle(handler, lambda: emit(1) or 2) == (2, [1])


def test_handlers_are_deep_the_resumption_is_handled_again():
    class counting(Handler):
        @controls(emit)
        def clause(self, value, resume):
            return [value, *resume(None)]

        def returns(self, result):
            return ["end"]

    assert handle(counting(), lambda: [emit(n) for n in range(4)]) == [0, 1, 2, 3, "end"]


def test_operations_in_a_fun_clause_are_seen_by_outer_handlers_only():
    class inner(Handler):
        @handles(emit)
        def clause(self, value):
            emit(value + 1)  # the outer one's

    outer = collecting()
    handle(outer | inner(), lambda: emit(1))
    assert outer.seen == [2]
    with pytest.raises(UnhandledOperation):
        handle(inner(), lambda: emit(1))


def test_operations_in_a_ctl_clause_are_seen_by_outer_handlers_only():
    class inner(Handler):
        @controls(emit)
        def clause(self, value, resume):
            emit(value + 1)
            answer = resume(None)
            emit(value + 2)
            return answer

    outer = collecting()
    assert handle(outer | inner(), lambda: emit(1) or "done") == ("done", [2, 3])
    with pytest.raises(UnhandledOperation):
        handle(inner(), lambda: emit(1))


def test_an_operation_in_a_clause_does_not_reach_handlers_between_the_performer_and_the_clause():
    class translating(Handler):
        @handles(ask)
        def clause(self, value):
            emit(value)

    outer, between = collecting(), collecting()
    handle(outer | translating() | between, lambda: ask(1))
    assert (outer.seen, between.seen) == ([1], [])


def test_the_handlers_of_the_performer_are_back_after_a_clause():
    outer, inner = collecting(), collecting()

    class translating(Handler):
        @handles(ask)
        def clause(self, value):
            emit(value)

    def computation():
        ask(1)
        emit(2)

    handle(outer | translating() | inner, computation)
    assert (outer.seen, inner.seen) == ([1], [2])


def test_a_clause_may_install_handlers_of_its_own():
    class nesting(Handler):
        @handles(ask)
        def clause(self, n):
            return handle(collecting(), lambda: emit(n) or forward(n))

    class outer(Handler):
        @handles(ask)
        def clause(self, n):
            return n * 10

    assert handle(outer() | nesting(), lambda: ask(2)) == (20, [2])


def test_handlers_installed_inside_the_computation_survive_a_suspension_outside_them():
    class resuming(Handler):
        @controls(ask)
        def clause(self, n, resume):
            return ("answered", resume(n * 10))

    def computation():
        before = emit("before")
        asked = handle(holding(1), lambda: (put(ask(2)), get()))
        emit("after")
        return before, asked

    assert handle(collecting() | resuming(), computation) == (
        ("answered", (None, ((None, 20), 20))),
        ["before", "after"],
    )


def test_one_handler_object_may_be_installed_twice_at_once():
    handler = collecting()
    handle(handler | handler, lambda: emit(1))
    assert handler.seen == [1]


# ------------------------------------------------------------------------------------------- parameters and examples


def test_parameters_are_the_attributes_of_the_handler():
    def computation():
        put(get() + 1)
        put(get() * 2)
        return get()

    assert handle(holding(3), computation) == (8, 8)


def test_accum_adds_what_is_yielded_to_its_parameter():
    class accum(Handler):
        def __init__(self, total):
            self.total = total

        @controls(emit)
        def clause(self, value, resume):
            self.total += value
            return resume(None)

        def returns(self, result):
            return self.total

    assert handle(accum(0), lambda: list(map(emit, [1, 2, 3, 4]))) == 10


def test_accum_by_a_fun_clause_is_the_same():
    class accum(Handler):
        def __init__(self, total):
            self.total = total

        @handles(emit)
        def clause(self, value):
            self.total += value

        def returns(self, result):
            return self.total

    assert handle(accum(0), lambda: list(map(emit, [1, 2, 3, 4]))) == 10


def test_interactive_with_scripted_keys_prints_1_2_3(capsys):
    """The paper's Figure 7: return goes on, any other key ends the program after the current item."""
    keys = iter("⏎⏎q")

    class interactive(Handler):
        @controls(emit)
        def clause(self, value, resume):
            print(value)
            return resume() if next(keys) == "⏎" else None

    assert handle(interactive(), lambda: list(map(emit, [1, 2, 3, 4]))) is None
    assert capsys.readouterr().out == "1\n2\n3\n"


@pytest.mark.parametrize(
    ("keys", "shown"), [("rrq", [1, 2, 3]), ("q", [1]), ("rrrr", [1, 2, 3, 4]), ("rq", [1, 2]), ("rrrq", [1, 2, 3, 4])]
)
def test_interactive_turns_the_same_program_into_a_pager(keys, shown):
    screen, pressed, unwound = [], iter(keys), []

    class interactive(Handler):
        @controls(emit)
        def clause(self, value, resume):
            screen.append(value)
            return resume(None) if next(pressed) == "r" else None

    def program():
        try:
            return list(map(emit, [1, 2, 3, 4]))
        finally:
            unwound.append(True)

    handle(interactive(), program)
    assert screen == shown
    assert unwound == [True]


def test_one_program_means_what_its_handlers_say():
    def program():
        emit(get())
        put(get() + 1)
        emit(get())
        leave("enough")
        emit("never")

    assert handle(collecting() | holding(1) | catching(), program) == (("left: enough", 2), [1, 2])
    assert handle(catching() | collecting() | holding(1), program) == "left: enough"


def test_state_and_failure_do_not_commute():
    def program():
        put(5)
        leave("x")

    assert handle(holding(0) | catching(), program) == ("left: x", 5)  # state outside survives
    assert handle(catching() | holding(0), program) == "left: x"  # state inside is gone


# ------------------------------------------------------------------------------------------------------- exceptions


def test_an_exception_passes_through_handlers():
    def program():
        emit(1)
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        handle(collecting() | catching(), program)


def test_an_exception_in_a_fun_clause_is_raised_where_the_operation_was_performed():
    class failing(Handler):
        @handles(ask)
        def clause(self):
            raise KeyError

    def program():
        try:
            ask()
        except KeyError:
            return "caught inside"

    assert handle(failing(), program) == "caught inside"


def test_an_exception_in_a_ctl_clause_is_raised_at_its_handler():
    unwound = []

    class failing(Handler):
        @controls(ask)
        def clause(self, resume):
            raise KeyError

    def program():
        try:
            ask()
        except KeyError:
            return "caught inside"
        finally:
            unwound.append(True)

    with pytest.raises(KeyError):
        handle(failing(), program)
    assert unwound == [True]


def test_a_handler_is_out_of_force_after_an_exception():
    with pytest.raises(KeyError):
        handle(collecting(), lambda: {"y": 1}["x"])
    with pytest.raises(UnhandledOperation):
        emit(1)


def test_a_subclass_inherits_and_overrides_clauses():
    class doubling(collecting):
        @handles(emit)
        def collect(self, value):
            self.seen.append(value * 2)

    class also(collecting):
        @handles(ask)
        def answer(self):
            return "yes"

    assert handle(doubling(), lambda: emit(2)) == (None, [4])
    assert handle(also(), lambda: emit(ask())) == (None, ["yes"])


def test_one_method_may_be_the_clause_of_several_operations():
    class both(Handler):
        @handles(ask)
        @handles(get)
        def clause(self):
            return 7

    assert handle(both(), lambda: ask() + get()) == 14


@pytest.mark.parametrize("wrong", [None, 42, lambda: 1, collecting])
def test_handle_refuses_what_is_no_handler(wrong):
    with pytest.raises(ValueError, match="handle"):
        handle(wrong, lambda: 1)


@pytest.mark.parametrize("wrong", [None, 42, collecting])
def test_composing_refuses_what_is_no_handler(wrong):
    with pytest.raises(InvalidArgument, match="expected a handler"):
        collecting() | wrong


def test_forward_in_a_handler_that_a_clause_installs_is_still_that_of_the_clause():
    class nesting(Handler):
        @handles(ask)
        def clause(self, n):
            return handle(catching(), lambda: forward(n) + 1)  # on a stack of its own

    class outer(Handler):
        @handles(ask)
        def clause(self, n):
            return n * 10

    assert handle(outer() | nesting(), lambda: ask(2)) == 21


# ------------------------------------------------------------------------------------------- handled and performed


class passing_on(Handler):
    """Handles emit by what it performs: ask, then put."""

    performs = (ask, put)

    @handles(emit)
    def clause(self, value):
        put(ask(value))


class answering(Handler):
    @handles(ask)
    def clause(self, value):
        return value + 1


def test_a_handler_says_what_it_handles():
    assert holding(0).handled == (get, put)
    assert Handler().handled == ()
    assert catching().handled == (leave,)


def test_a_composition_handles_what_its_parts_do_outermost_first():
    assert (catching() | holding(0) | holding(1)).handled == (leave, get, put)
    assert Composed((collecting(), Composed((catching(), collecting())))).handled == (emit, leave)


def test_what_is_performed_must_be_handled_outside():
    handler = answering() | holding(0) | passing_on()
    assert handle(handler, lambda: emit(1)) == (None, 2)


@pytest.mark.parametrize(
    ("handler", "missing"),
    [
        (passing_on(), "ask"),
        (holding(0) | passing_on(), "ask"),
        (answering() | passing_on(), "put"),
        (answering() | passing_on() | holding(0), "put"),  # inside is not outside
        (catching() | (answering() | (passing_on() | holding(0))), "put"),
    ],
    ids=repr,
)
def test_the_first_operation_without_a_handler_is_named_before_anything_runs(handler, missing):
    with pytest.raises(UnhandledOperation, match=f"expected a handler outside passing_on for {missing}, which"):
        handle(handler, lambda: pytest.fail("ran"))


def test_a_handler_that_performs_what_it_handles_needs_another_one_outside():
    class louder(Handler):
        performs = (ask,)

        @handles(ask)
        def clause(self, value):
            return forward(value) * 10

    assert handle(answering() | louder(), lambda: ask(1)) == 20
    with pytest.raises(UnhandledOperation, match="outside louder for ask"):
        handle(louder(), lambda: ask(1))
    with pytest.raises(UnhandledOperation, match="innermost first, are: catching; "):
        handle(catching() | louder() | answering(), lambda: ask(1))


def test_handlers_in_force_outside_count_and_only_they():
    inner = holding(0) | passing_on()
    assert handle(answering(), lambda: handle(inner, lambda: emit(1))) == (None, 2)
    assert handle(answering() | catching(), lambda: handle(inner, lambda: emit(1))) == (None, 2)
    with pytest.raises(UnhandledOperation, match="are: holding; "):
        handle(inner, lambda: handle(answering(), lambda: emit(1)))


def test_an_implicit_variable_with_a_default_needs_no_handler_and_one_without_needs_a_binding():
    with_default, without = Implicit("with_default", default=1), Implicit("without")

    class reading(Handler):
        performs = (with_default, without)

        @handles(ask)
        def clause(self):
            return with_default() + without()

    with without.bound_to(2):
        assert handle(reading(), ask) == 3
    with pytest.raises(UnhandledOperation, match="for without, which it performs"):
        handle(reading(), ask)


def test_families_are_checked_elsewhere():
    class of_a_family(Handler):
        performs = (push,)

    check_performed([of_a_family()])


def test_the_check_speaks_in_the_name_of_its_caller():
    with pytest.raises(UnhandledOperation, match=r"^correlate: expected a handler outside passing_on for ask"):
        check_performed([passing_on()], "correlate")


def test_a_subclass_inherits_what_is_performed():
    class special(passing_on):
        pass

    with pytest.raises(UnhandledOperation, match="outside special for ask"):
        handle(special(), lambda: 1)


def test_performs_is_no_name_for_a_clause():
    with pytest.raises(InvalidArgument, match="'performs' is a method of Handler"):

        class wrong(Handler):
            @handles(ask)
            def performs(self):  # type: ignore[override]  # named as it must not be
                return 1


def test_a_handler_with_type_arguments_is_the_same_at_run_time():
    class showing(Handler[int, str]):
        def returns(self, result):
            return str(result)

    assert handle(showing(), lambda: 1) == "1"
    assert handle(Handler[int, int](), lambda: 1) == 1
