"""The laws of operations and handlers, over random programs under random handlers (SOURCES A4, A5).

A program is a tuple of steps, a handler a `Spec`; all values are small integers, mixed so that every difference shows
in the outcome. `run` performs a program for real. `meaning` is the oracle: the rules RET and HANDLE of the paper's
Figure 5, written down on computations as data, without a greenlet.
"""

from __future__ import annotations

import gc
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import greenlet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartesius import Handler, Operation, controls, forward, handle, handles
from cartesius.effects.handlers import Composed

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATIONS = {name: Operation(name) for name in ("ask", "tell", "emit", "get", "put")}


class Boom(Exception):
    """The one error of the programs."""


class Clause(NamedTuple):
    kind: str
    """``fun``; or ctl: ``resume``, ``tail``, ``abort``, ``throw``."""
    before: tuple[Any, ...]
    after: tuple[Any, ...] = ()
    """Run, in a clause that resumes, on what `resume` answers."""


class Spec(NamedTuple):
    initial: int
    """Of the handler's parameter, which counts up with every clause."""
    clauses: dict[str, Clause]
    returns: tuple[Any, ...] | None


class Guards:
    """How many `finally` blocks were entered by ``try`` and how many were run."""

    entered = 0
    run = 0


def mix(*numbers: int) -> int:
    mixed = 1
    for number in numbers:
        mixed = (mixed * 31 + number) % 10_007
    return mixed


# ------------------------------------------------------------------------------------------------------------ for real


def run(program: tuple[Any, ...], last: int, log: list[Any], guards: Guards) -> int:
    for kind, *what in program:
        match kind:
            case "perform":
                operation, n = what
                answer = OPERATIONS[operation](mix(last, n))
                log.append((operation, answer))
                last = mix(last, answer)
            case "forward":
                last = mix(last, forward(mix(last, what[0])))
            case "within":
                handler, inside = make(what[0], log, guards), partial(run, what[1], last, log, guards)
                last = mix(last, handle(handler, inside))
            case "try":
                try:
                    last = mix(last, run(what[0], last, log, guards))
                except Boom as error:
                    log.append(("caught", error.args[0]))
                    last = mix(last, error.args[0])
            case "guard":
                guards.entered += 1
                try:
                    last = mix(last, run(what[0], last, log, guards))
                finally:
                    guards.run += 1
            case "raise":
                raise Boom(mix(last, what[0]))
    return last


def make(spec: Spec, log: list[Any], guards: Guards) -> Handler:
    """Return a fresh handler as ``spec`` says."""

    def start(self: Any, operation: str, argument: int) -> int:
        self.parameter += 1
        log.append(("clause", operation, argument, self.parameter))
        return run(spec.clauses[operation].before, mix(argument, self.parameter), log, guards)

    def fun(operation: str) -> Any:
        def method(self: Any, argument: int) -> int:
            return start(self, operation, argument)

        return handles(OPERATIONS[operation])(method)

    def ctl(operation: str) -> Any:
        clause = spec.clauses[operation]

        def method(self: Any, argument: int, resume: Any) -> Any:
            value = start(self, operation, argument)
            match clause.kind:
                case "resume":
                    return run(clause.after, resume(value), log, guards)
                case "tail":
                    return resume.tail(value)
                case "throw":
                    return resume.throw(Boom(value))
            return value

        return controls(OPERATIONS[operation])(method)

    members: dict[str, Any] = {f"on_{o}": (fun if c.kind == "fun" else ctl)(o) for o, c in spec.clauses.items()}
    members["parameter"] = spec.initial
    if spec.returns is not None:
        returns = spec.returns
        members["returns"] = lambda self, result: run(returns, mix(result, self.parameter), log, guards)
    made: Handler = type("made", (Handler,), members)()
    return made


class answering(Handler):
    """Outermost: answers everything."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @handles(OPERATIONS["ask"])
    @handles(OPERATIONS["tell"])
    @handles(OPERATIONS["emit"])
    @handles(OPERATIONS["get"])
    @handles(OPERATIONS["put"])
    def answer(self, argument):
        self.seen.append(argument)
        return mix(argument, len(self.seen))


def outcome(under: Callable[[list[Any], Guards], Callable[[], Any]]) -> Any:
    """Return the result, or the error, with all that was logged; and check that nothing is left behind."""
    log: list[Any] = []
    guards, bottom = Guards(), answering()
    computation = under(log, guards)
    try:
        result = ("result", handle(bottom, computation))
    except Boom as error:
        result = ("error", error.args[0])
    assert guards.entered == guards.run
    return result, log, bottom.seen


def performed(program: tuple[Any, ...], composed: Callable[[list[Handler]], Handler], *specs: Spec) -> Any:
    """Return the outcome of ``program`` under fresh handlers, put together by ``composed``."""

    def under(log: list[Any], guards: Guards) -> Callable[[], Any]:
        handler = composed([make(spec, log, guards) for spec in specs])
        return lambda: handle(handler, lambda: run(program, 1, log, guards))

    return outcome(under)


# ----------------------------------------------------------------------------------- the rules, on computations as data


class Ended(NamedTuple):
    """A computation that has returned ``value``, or raised it."""

    is_value: bool
    value: int


class Suspended(NamedTuple):
    """``X[operation argument]``: ``rest`` is X, which takes a value or an error."""

    operation: str
    argument: int
    rest: Callable[[Ended], Computation]


Computation = Ended | Suspended


def then(computation: Computation, rest: Callable[[Ended], Computation]) -> Computation:
    if isinstance(computation, Ended):
        return rest(computation)
    suspended = computation
    return suspended._replace(rest=lambda answer: then(suspended.rest(answer), rest))


def then_value(computation: Computation, rest: Callable[[int], Computation]) -> Computation:
    return then(computation, lambda ended: rest(ended.value) if ended.is_value else ended)


def meaning(program: tuple[Any, ...], last: int, log: list[Any], operation: str = "") -> Computation:
    """Return what ``program`` means; ``operation`` is the one that `forward` performs."""
    if not program:
        return Ended(True, last)
    (kind, *what), rest = program[0], program[1:]

    def on(answer: int) -> Computation:
        return meaning(rest, mix(last, answer), log, operation)

    def on_performed(answer: int) -> Computation:
        log.append((what[0], answer))
        return on(answer)

    def on_tried(ended: Ended) -> Computation:
        if not ended.is_value:
            log.append(("caught", ended.value))
        return on(ended.value)

    match kind:
        case "perform":
            return then_value(Suspended(what[0], mix(last, what[1]), lambda answer: answer), on_performed)
        case "forward":
            return then_value(Suspended(operation, mix(last, what[0]), lambda answer: answer), on)
        case "within":
            inside = meaning(what[1], last, log, operation)
            return then_value(handled(what[0], [what[0].initial], inside, log, operation), on)
        case "try":
            return then(meaning(what[0], last, log, operation), on_tried)
        case "guard":
            return then_value(meaning(what[0], last, log, operation), on)
    return Ended(False, mix(last, what[0]))


def handled(spec: Spec, cell: list[int], inside: Computation, log: list[Any], forwarded: str = "") -> Computation:
    """The rules. ``cell`` holds the handler's parameter."""
    if isinstance(inside, Ended):  # RET: handle {x ↦ e; h} v → e[v/x]
        if not inside.is_value or spec.returns is None:
            return inside
        return meaning(spec.returns, mix(inside.value, cell[0]), log, forwarded)
    operation, argument, rest = inside

    def resume(answer: Ended) -> Computation:  # deep: r := λy. handle {h} X[y]
        return handled(spec, cell, rest(answer), log, forwarded)

    if operation not in spec.clauses:  # the next handler outwards takes it
        return inside._replace(rest=resume)
    clause = spec.clauses[operation]  # HANDLE: handle {h} X[com v] → e[v/x, r := …], e is outside of {h}
    cell[0] += 1
    log.append(("clause", operation, argument, cell[0]))
    started = meaning(clause.before, mix(argument, cell[0]), log, operation)
    match clause.kind:
        case "fun":
            return then(started, resume)
        case "resume":
            resumed = then_value(started, lambda value: resume(Ended(True, value)))
            return then_value(resumed, lambda answer: meaning(clause.after, answer, log, operation))
        case "tail":
            return then_value(started, lambda value: resume(Ended(True, value)))
        case "throw":
            return then_value(started, lambda value: resume(Ended(False, value)))
    return started


def by_the_rules(program: tuple[Any, ...], *specs: Spec) -> Any:
    """Return the outcome as `performed` does, by the rules alone."""
    log: list[Any] = []
    seen: list[Any] = []
    computation = meaning(program, 1, log)
    for spec in reversed(specs):
        computation = handled(spec, [spec.initial], computation, log)
    while isinstance(computation, Suspended):
        seen.append(computation.argument)
        computation = computation.rest(Ended(True, mix(computation.argument, len(seen))))
    return ("result" if computation.is_value else "error", computation.value), log, seen


# --------------------------------------------------------------------------------------------------- random programs

NUMBERS = st.integers(0, 9)
KINDS = ("fun", "resume", "tail", "abort", "throw")
COMMON = ("ask", "tell", "emit")


# A strategy is made once for each arguments: to make one in each draw took more time than all the programs.


@cache
def programs(depth: int = 2, *, in_clause: bool = False, raises: bool = True) -> Any:
    kinds = ["perform"] * 3 + ["forward"] * in_clause * 2 + ["raise"] * raises
    if depth:
        kinds += ["within", "within", "guard"] + ["try"] * raises
    inner = programs(depth - 1, in_clause=in_clause, raises=raises) if depth else st.nothing()
    handler = specs(depth - 1, raises=raises) if depth else st.nothing()
    steps = {
        "perform": st.tuples(st.just("perform"), st.sampled_from(sorted(OPERATIONS)), NUMBERS),
        "forward": st.tuples(st.just("forward"), NUMBERS),
        "raise": st.tuples(st.just("raise"), NUMBERS),
        "within": st.tuples(st.just("within"), handler, inner),
        "try": st.tuples(st.just("try"), inner),
        "guard": st.tuples(st.just("guard"), inner),
    }
    step = st.sampled_from(kinds).flatmap(steps.__getitem__)
    return st.lists(step, max_size=2 if in_clause else 4).map(tuple)


@cache
def specs(depth: int = 0, *, raises: bool = True, kinds: tuple[str, ...] = KINDS, of: tuple[str, ...] = COMMON) -> Any:
    kinds = kinds if raises else tuple(kind for kind in kinds if kind != "throw")
    body = programs(min(depth, 1), in_clause=True, raises=raises)
    clause = st.builds(Clause, st.sampled_from(kinds), body, body)
    clauses = st.dictionaries(st.sampled_from(of), clause, max_size=3)
    return st.builds(Spec, NUMBERS, clauses, st.none() | programs(0, raises=raises))


def composed(handlers: list[Handler]) -> Handler:
    return Composed(tuple(handlers))


# --------------------------------------------------------------------------------------------- the rules of Figure 5


@given(programs(), st.lists(specs(1), max_size=3))
def test_a_program_means_what_the_rules_RET_and_HANDLE_say(program, inside):
    assert performed(program, composed, *inside) == by_the_rules(program, *inside)


@given(specs(), st.integers(0, 9))
def test_RET_a_value_goes_through_the_return_clause_and_no_other(spec, value):
    assert performed((), composed, spec) == by_the_rules((), spec)
    plain = make(spec._replace(returns=None), [], Guards())
    assert handle(plain, lambda: value) == value


@settings(max_examples=settings().max_examples // 20)  # each looks at every object there is
@given(programs(), st.lists(specs(1), max_size=3))
def test_no_program_leaves_a_greenlet_behind(program, inside):
    def alive() -> int:
        gc.collect()
        return sum(isinstance(thing, greenlet.greenlet) for thing in gc.get_objects())

    performed(program, composed, *inside)
    before = alive()
    for _ in range(3):
        performed(program, composed, *inside)
    assert alive() <= before


# -------------------------------------------------------------------------------------------------------- composition


@given(programs(), specs(1), specs(1), specs(1))
def test_composition_is_associative(program, a, b, c):
    left = performed(program, lambda h: (h[0] | h[1]) | h[2], a, b, c)
    assert performed(program, lambda h: h[0] | (h[1] | h[2]), a, b, c) == left


@given(programs(), specs(1), specs(1))
def test_a_composition_is_its_right_handler_inside_its_left_one(program, a, b):
    def under(log: list[Any], guards: Guards) -> Callable[[], Any]:
        outer, inner = make(a, log, guards), make(b, log, guards)
        return lambda: handle(outer, lambda: handle(inner, lambda: run(program, 1, log, guards)))

    assert performed(program, lambda h: h[0] | h[1], a, b) == outcome(under)


@pytest.mark.parametrize("identity", [Handler, Composed, lambda: Composed((Handler(), Composed()))])
@given(program=programs(), spec=specs(1))
def test_the_identity_handler_is_neutral(identity, program, spec):
    alone = performed(program, lambda h: h[0], spec)
    assert performed(program, lambda h: identity() | h[0], spec) == alone
    assert performed(program, lambda h: h[0] | identity(), spec) == alone
    assert performed(program, lambda h: identity()) == outcome(lambda *args: partial(run, program, 1, *args))


# ------------------------------------------------------------------------------------------------ fun, and ctl at once


@pytest.mark.parametrize("kind", ["resume", "tail"])
@given(
    program=programs(raises=False),
    inside=st.lists(specs(1, raises=False, kinds=("fun",)), min_size=1, max_size=3),
    outside=specs(raises=False),
)
def test_a_fun_clause_is_the_ctl_clause_that_resumes_at_once(kind, program, inside, outside):
    """Where no clause raises: the error of a fun clause is raised at the operation, of a ctl clause at the handler."""
    funs = [one._replace(clauses={o: c._replace(after=()) for o, c in one.clauses.items()}) for one in inside]
    ctls = [one._replace(clauses={o: c._replace(kind=kind) for o, c in one.clauses.items()}) for one in funs]
    assert performed(program, composed, outside, *ctls) == performed(program, composed, outside, *funs)


# -------------------------------------------------------------------------------------------------------------- state


class in_place(Handler):
    """A cell, by fun clauses."""

    def __init__(self, content: int) -> None:
        self.content = content

    @handles(OPERATIONS["get"])
    def read(self, _):
        return self.content

    @handles(OPERATIONS["put"])
    def write(self, content):
        self.content = content
        return 0

    def returns(self, result):
        return mix(result, self.content)


class suspending(in_place):
    """A cell, by ctl clauses."""

    @controls(OPERATIONS["get"])
    def read(self, _, resume):
        return resume.tail(self.content)

    @controls(OPERATIONS["put"])
    def write(self, content, resume):
        self.content = content
        return resume(0)


def got() -> Any:
    return OPERATIONS["get"](0)


def put_(n: int) -> None:
    OPERATIONS["put"](n)


def get_get(rest: Callable[..., Any], m: int, n: int) -> Any:
    return rest(got(), got())


def get_once(rest: Callable[..., Any], m: int, n: int) -> Any:
    x = got()
    return rest(x, x)


def put_get(rest: Callable[..., Any], m: int, n: int) -> Any:
    put_(n)
    return rest(got())


def put_then_know(rest: Callable[..., Any], m: int, n: int) -> Any:
    put_(n)
    return rest(n)


def put_put(rest: Callable[..., Any], m: int, n: int) -> Any:
    put_(m)
    put_(n)
    return rest()


def put_once(rest: Callable[..., Any], m: int, n: int) -> Any:
    put_(n)
    return rest()


def get_put(rest: Callable[..., Any], m: int, n: int) -> Any:
    x = got()
    put_(x)
    return rest(x)


def get_alone(rest: Callable[..., Any], m: int, n: int) -> Any:
    return rest(got())


@pytest.mark.parametrize("cell", [in_place, suspending])
@pytest.mark.parametrize(
    ("left", "right"),
    [(get_get, get_once), (put_get, put_then_know), (put_put, put_once), (get_put, get_alone)],
    ids=["get-get", "set-get", "set-set", "get-set"],
)
@given(
    before=programs(1),
    after=programs(),
    outside=specs(of=(*COMMON, "get", "put")),
    inside=specs(1),  # of other operations: the laws are the innermost cell's
    initial=NUMBERS,
    m=NUMBERS,
    n=NUMBERS,
)
def test_the_laws_of_state(cell, left, right, before, after, outside, inside, initial, m, n):
    def under(law: Callable[..., Any], log: list[Any], guards: Guards) -> Callable[[], Any]:
        handler = make(outside, log, guards) | cell(initial) | make(inside, log, guards)

        def program() -> Any:
            last = run(before, 1, log, guards)
            return law(lambda *known: run(after, mix(last, *known), log, guards), m, n)

        return lambda: handle(handler, program)

    assert outcome(partial(under, left)) == outcome(partial(under, right))


@given(programs(), specs(of=(*COMMON, "get", "put")), specs(1), NUMBERS)
def test_a_cell_of_fun_clauses_and_one_of_ctl_clauses_are_the_same(program, outside, inside, initial):
    def under(cell: Callable[[int], Handler], log: list[Any], guards: Guards) -> Callable[[], Any]:
        handler = make(outside, log, guards) | cell(initial) | make(inside, log, guards)
        return lambda: handle(handler, lambda: run(program, 1, log, guards))

    assert outcome(partial(under, in_place)) == outcome(partial(under, suspending))
