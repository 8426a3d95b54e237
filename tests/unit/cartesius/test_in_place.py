"""In place: no coroutine is switched to where no clause is ctl, and handlers, threads and failures are as ever."""

from __future__ import annotations

import doctest
import gc
import linecache
import operator
import threading
import weakref
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import greenlet
import pytest

import restrictions
from cartesius import (
    Delete,
    Engine,
    Event,
    Handler,
    Implicit,
    Operation,
    Reactive,
    Restriction,
    Slot,
    Slots,
    Update,
    arrive,
    controls,
    correlate,
    forward,
    handle,
    handles,
    pause,
    play,
    start,
)
from cartesius.batching.world import World
from cartesius.data import generated
from cartesius.data.events import EventDraft
from cartesius.data.generated import TooDeep, define
from cartesius.errors import InvalidArgument, WrongThread
from cartesius.expressions.expressions import Apply, Constant, Part
from cartesius.plan import Node, Opaque
from cartesius.rows.enumeration import Product
from restrictions import (
    aligning,
    as_table,
    combine_latest,
    key_by,
    most_recently,
    retracting,
    streams,
    tables,
    windows,
    within,
    zip_,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

EXPORTS = {
    f"{module.__name__}.{name}": found
    for module in (restrictions, streams, tables, windows)
    for name, found in vars(module).items()
    if getattr(found, "__module__", "").startswith("restrictions.") and callable(found)
    if "run(" in (found.__doc__ or "") or "Engine(" in (found.__doc__ or "")
}


def switches(work: Callable[[], object]) -> int:
    """How often ``work`` switches to another coroutine; those that are collected meanwhile do not count."""
    seen: list[str] = []

    def note(event: str, _: object) -> None:
        if event == "switch":
            seen.append(event)

    before = greenlet.settrace(note)
    try:
        work()
    finally:
        greenlet.settrace(before)
    return len(seen)


def run_examples(found: Any) -> None:
    """Run the examples of a docstring; all must give what is written there."""
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    tests = doctest.DocTestFinder(recurse=False).find(found, "example", globs={})
    for test in tests:
        runner.run(test, out=lambda _: None)
    assert tests
    assert runner.failures == 0


@pytest.mark.parametrize("name", EXPORTS)
def test_no_operator_or_restriction_of_ours_switches(name: str) -> None:
    assert switches(lambda: run_examples(EXPORTS[name])) == 0


def test_on_the_reference_tier_the_same_examples_do(monkeypatch: pytest.MonkeyPatch) -> None:
    init = World.__init__

    def as_reference(self: World, unit: timedelta, **options: Any) -> None:
        init(self, unit, **{**options, "is_reference": True})

    monkeypatch.setattr(World, "__init__", as_reference)
    still = [name for name, found in EXPORTS.items() if switches(partial(run_examples, found)) == 0]
    assert still == []


class barrier(Restriction):
    """Hold ``slots`` back; each event of ``signal`` lets one event of each through (DESIGN 3)."""

    slots: Slots
    signal: Slot

    def plan(self) -> tuple[Node, ...]:
        return (Opaque(pauses=(*self.slots, self.signal)),)

    @handles(start)
    def close(self) -> None:
        for slot in self.slots:
            pause(slot)

    @handles(arrive, "slots")
    def close_behind(self, slot: Slot, event: Any) -> None:
        pause(slot)
        forward(slot, event)

    @handles(arrive, "signal")
    def open(self, slot: Slot, event: Any) -> None:
        forward(slot, event)
        for held in self.slots:
            play(held)


class resuming(Restriction):
    """Do nothing, by a ctl clause."""

    slots: Slots

    @controls(arrive, "slots")
    def go_on(self, slot: Slot, event: Any, resume: Any) -> Any:
        forward(slot, event)
        return resume.tail(None)


@pytest.mark.parametrize("suspending", [False, True])
@pytest.mark.parametrize("gate", [aligning("x", "y"), barrier("x", "y", signal="go")])
def test_aligning_and_pausing_switch_only_beside_a_ctl_clause(gate: Restriction, suspending: bool) -> None:
    inputs = {name: Reactive(name) for name in ("x", "y", "go")}
    restrict = most_recently("x", "y", "go") | gate
    restrict = restrict | resuming("x") if suspending else restrict
    output = correlate(slots=inputs, yields=lambda x, y, go: (x, y, go), restrict=restrict)
    trace = [("x", 1), ("go", 0), ("x", 2), ("y", 3), ("go", 4), ("y", 5), ("go", 6)]
    results: list[Any] = []

    def push_all() -> None:
        engine = Engine(output)
        for name, value in trace:
            results.extend(event.value for event in engine.push(inputs[name], value))

    assert (switches(push_all) > 0) == suspending
    reference = Engine(output, tier="reference")
    assert results == [event.value for name, value in trace for event in reference.push(inputs[name], value)]
    assert results


# ------------------------------------------------------------------------------------------------- what a push touches


def left_and_right() -> tuple[Reactive, Reactive]:
    return Reactive("left"), Reactive("right")


def test_a_push_visits_one_entry_of_each_other_slot_and_lists_no_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = left_and_right()
    keyed = correlate(
        x=left, y=right, yields=lambda x, y: (x.n, y.n), restrict=key_by(x="id", y="id") | most_recently("x", "y")
    )
    engine = Engine(keyed)
    for number in range(1000):
        engine.push(right, {"id": number, "n": -number})
    engine.push(left, {"id": 0, "n": 0})
    monkeypatch.setattr(Product, "candidates", None)
    visited = engine.stats.visited
    for number in range(100):
        (pair,) = engine.push(left, {"id": number, "n": number})
        assert pair.value == (number, -number)
    assert engine.push(left, {"id": -1, "n": 0}) == []
    assert engine.stats.visited == visited + 100


def test_events_of_a_direct_push_are_events() -> None:
    left, right = left_and_right()
    engine = Engine(combine_latest(left, right))
    engine.push(left, 1)
    engine.push(right, 2)
    (event,) = engine.push(left, 3, at=9)
    expected = Event((3, 2), 2, 9, 1, "combine_latest(left, right)")
    assert (type(event), event, hash(event), repr(event)) == (Event, expected, hash(expected), repr(expected))
    assert (event.identity, event.span, event.before) == ((0, (("left", 3), ("right", 2)), 0), None, ())
    assert copy(event) == attrs.evolve(event) == event
    assert weakref.ref(event)() is event
    assert isinstance(event, EventDraft)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        event.value = 1  # type: ignore[misc]  # it is frozen


def quotient(x: Any, y: Any) -> int:
    """A body that nobody can see through, and that fails where the last part is 0."""
    return 6 // int(y)


def quotient_of_three(x: Any, y: Any, z: Any) -> int:
    return 6 // int(z)


def failing() -> dict[str, tuple[Reactive, list[tuple[str, Any]]]]:
    """Programs with what is pushed into them by name; the last fails, in place after it has found its partners."""
    x, y, z = (Reactive(name) for name in "xyz")
    t, u, v = (Reactive(name, table=True) for name in "tuv")
    body: Any = {"yields": quotient}
    keyed = correlate(x=x, y=y, restrict=key_by(x=abs, y=abs) | most_recently("x", "y"), **body)
    rows = retracting() | as_table("x")
    star = correlate(
        slots={"x": t, "y": u, "z": v},
        where=lambda x, key_y, y, key_z: (x.k == key_y) & (x.j == key_z),
        yields=quotient_of_three,
        restrict=rows,
    )
    three = [("x", 1), ("x", 2), ("x", 3)]
    changes = [("u", Update("b", 1)), ("v", Update("c", 2)), ("t", Update("a", {"k": "b", "j": "c"}))]
    return {
        "the product": (correlate(x=x, y=y, **body), [*three, ("y", 1), ("y", 0)]),
        "a band": (correlate(x=x, y=y, restrict=within(9, "x", "y"), **body), [*three, ("y", 1), ("y", 0)]),
        "by keys": (keyed, [("x", 0), ("y", 1), ("y", 0)]),
        "a chain": (
            correlate(x=correlate(x=x, y=y, yields=lambda x, y: x * y, restrict=within(9, "x", "y")), y=z, **body),
            [("x", 2), ("z", 1), ("y", 1), ("z", 0)],
        ),
        "what follows": (
            correlate(x=z, y=correlate(x=x, y=y, yields=lambda x, y: x * y, restrict=within(9, "x", "y")), **body),
            [("x", 2), ("z", 1), ("y", 1), ("y", 0)],
        ),
        "the row of a key": (
            correlate(x=t, y=u, where=lambda x, key_y: x.k == key_y, restrict=rows, **body),
            [changes[0], changes[2], ("u", Update("d", 0)), ("t", Update("a", {"k": "d"}))],
        ),
        "the rows that name it": (
            correlate(x=t, y=u, where=lambda x, key_y: x.k == key_y, restrict=rows, **body),
            [changes[0], changes[2], ("u", Update("b", 0))],
        ),
        "a tree, from its root": (star, [*changes, ("v", Update("e", 0)), ("t", Update("a", {"k": "b", "j": "e"}))]),
        "a tree, from elsewhere": (star, [*changes, ("v", Update("c", 0))]),
    }


@pytest.mark.parametrize("case", failing())
def test_a_push_that_fails_looks_at_entries_once(case: str) -> None:
    output, pushes = failing()[case]
    looked = {}
    for tier in ("reference", "in_place"):
        engine = Engine(output, tier=tier)
        *before, (name, value) = pushes
        for other, given in before:
            engine.push(engine.inputs[other], given)
        assert (engine.inputs[name] in engine._direct) == (tier == "in_place")
        visited = engine.stats.visited
        with pytest.raises(ZeroDivisionError):
            engine.push(engine.inputs[name], value)
        looked[tier] = engine.stats.visited - visited
    assert looked["in_place"] == looked["reference"] > 0


# ------------------------------------------------------------------------------------------------------ handlers around

limit: Implicit[int] = Implicit("limit", default=0)
ask: Operation[[Any], Any] = Operation("ask")
leave: Operation[[Any], Any] = Operation("leave")


class doubling(Handler):
    @handles(ask)
    def double(self, value: int) -> int:
        return 2 * value


class catching(Handler):
    @controls(leave)
    def caught(self, reason: object, resume: Any) -> object:
        return "left", reason


class asking(Restriction):
    """Drop what nobody asked for."""

    slot: Slot

    @handles(arrive, "slot")
    def keep(self, slot: Slot, event: Any) -> None:
        if ask(event.value) > 2:
            forward(slot, event)


@pytest.mark.parametrize("options", [{}, {"tier": "reference"}, {"trace": True}, {"lateness": 0}])
def test_the_handlers_in_force_around_a_push_are_found(options: Any) -> None:
    left, right = left_and_right()
    asked = correlate(x=left, y=right, yields=lambda x, y: [ask(x + y), limit()], restrict=most_recently("x", "y"))
    dropped = correlate(x=left, yields=lambda x: x, restrict=most_recently("x") | asking("x"))
    for output, expected in ((asked, [[22, 7]]), (dropped, [10])):
        engine = Engine(output, **options)
        inputs = list(engine.inputs.values())

        def push(value: int, input_: Reactive, engine: Engine = engine) -> list[Any]:
            with limit.bound_to(7):
                return handle(doubling(), lambda: [event.value for event in engine.push(input_, value)])

        for input_ in inputs * 2:
            push(1, input_)
        assert push(10, inputs[0]) == expected
        with pytest.raises(Exception, match="ask: expected a handler"):
            engine.push(inputs[0], 1)
        assert push(10, inputs[0]) == expected


@pytest.mark.parametrize("options", [{}, {"tier": "reference"}])
def test_a_handler_around_a_push_may_abandon_it(options: Any) -> None:
    left, right = left_and_right()
    pairs = correlate(
        x=left, y=right, yields=lambda x, y: leave("enough") if x > 2 else (x, y), restrict=most_recently("x", "y")
    )
    engine = Engine(pairs, **options)
    for value in (1, 2):
        engine.push(right, value)
        engine.push(left, value)
    before = engine.snapshot()
    assert handle(catching(), lambda: engine.push(left, 3)) == ("left", "enough")
    assert engine.snapshot() == before
    assert [event.value for event in engine.push(left, 1)] == [(1, 2)]


def test_a_body_may_not_use_its_own_engine_nor_another_thread_any() -> None:
    left, right = left_and_right()
    engines: list[Engine] = []
    pairs = correlate(x=left, yields=lambda x: [engines[0].push(left, x) if x else x], restrict=most_recently("x"))
    latest = combine_latest(left, right)
    engines.append(Engine(pairs))
    for _ in range(3):
        engines[0].push(left, 0)
    with pytest.raises(InvalidArgument, match="it uses its own engine"):
        engines[0].push(left, 1)
    assert engines[0].stats.events == 3
    engine = Engine(latest)
    for input_ in (left, right, left, right):
        engine.push(input_, 1)
    failures: list[BaseException] = []

    def push() -> None:
        try:
            engine.push(left, 2)
        except WrongThread as error:
            failures.append(error)

    thread = threading.Thread(target=push)
    thread.start()
    thread.join()
    assert len(failures) == 1
    assert engine.stats.events == 4


@pytest.mark.parametrize("wrong", [[], "left", None, Reactive("left")])
def test_what_is_no_input_is_refused_however_often_was_pushed(wrong: Any) -> None:
    left, right = left_and_right()
    engine = Engine(zip_(left, right))
    for _ in range(3):
        engine.push(left, 1)
        engine.push(right, 1)
    with pytest.raises(InvalidArgument, match="expected an input of this engine"):
        engine.push(wrong, 1)


# ---------------------------------------------------------------------------------------------- what stands in the way


def test_subscribers_outputs_and_ends_that_come_and_go_are_seen() -> None:
    left, right = left_and_right()
    latest, pairs = combine_latest(left, right), zip_(left, right)
    heard: list[Any] = []
    told: list[list[Any]] = []
    for tier in ("reference", "in_place"):
        engine = Engine(latest, tier=tier)
        out: list[Any] = []

        def push(times: int, engine: Engine = engine, out: list[Any] = out) -> None:
            for number in range(times):
                out.extend((event.reactive, event.value) for event in engine.push((left, right)[number % 2], number))

        push(5)
        subscription = engine.subscribe(latest, lambda events: heard.append(len(events)))
        push(3)
        subscription.cancel()
        push(4)
        engine.add(pairs)
        push(5)
        engine.remove(latest)
        push(6)
        out.append(engine.end(left))
        out.append(engine.push(right, 9))
        told.append([*out, engine.stats, engine.done])
    assert told[0] == told[1]
    assert heard == [1] * 6


def test_an_event_that_no_index_can_take_leaves_nothing_behind() -> None:
    left, right = left_and_right()
    pairs = correlate(x=left, y=right, where=lambda x, y: x.id == y.id, yields=lambda x, y: (x.n, y.n))
    for tier in ("reference", "in_place"):
        engine = Engine(pairs, tier=tier)
        engine.push(left, {"id": 1, "n": 1})
        with pytest.raises(AttributeError, match="there is no field 'id'"):
            engine.push(left, {"n": 2})
        assert engine.stats.retained == 1
        engine._check_invariants()
        assert [event.value for event in engine.push(right, {"id": 1, "n": 3})] == [(1, 3)]


def test_what_is_too_much_for_one_function_is_pushed_as_written() -> None:
    inputs = [Reactive(f"input {number}") for number in range(25)]
    many = Engine(combine_latest(*inputs))
    results = [many.push(input_, number) for input_ in inputs for number in range(2)]
    assert [event.value for event in results[-1]] == [(1,) * 25]
    assert tier_line(many).endswith("as its text would be nested too deep for Python")
    deep: Any = Part("x")
    for _ in range(90):
        deep = Apply(operator.add, (deep, Constant(1)), "+")
    engine = Engine(correlate(x=inputs[0], yields=deep, restrict=most_recently("x")))
    assert [engine.push(inputs[0], 1)[0].value for _ in range(3)] == [91] * 3
    assert tier_line(engine).startswith("in place: a push is one function of its own")


@pytest.mark.parametrize("is_table", [False, True])
def test_an_input_that_is_an_output_tells_its_own_events(is_table: bool) -> None:
    left, right = (Reactive(name, table=is_table) for name in ("left", "right"))
    both = tables.inner_join(left, right) if is_table else combine_latest(left, right)
    values: list[Any] = [Delete(0), Update(0, 1), Update(0, 2), Delete(0), Delete(0)] if is_table else [1, 2, 3]
    told = []
    for tier in ("reference", "in_place"):
        engine = Engine(left, both, tier=tier)
        told.append([engine.push(left, value, at) for at, value in enumerate(values)])
    assert told[0] == told[1]
    assert all(told[0])


# ------------------------------------------------------------------------------------------------- source and explain


def test_nothing_of_a_users_is_in_the_text_but_in_comments() -> None:
    nasty = 'x"\n    raise SystemExit\n# \N{SNOWMAN}'
    left, right = Reactive(nasty), Reactive("right'''")
    pairs = correlate(
        slots={"a": left, "b": right},
        where=lambda a, b: getattr(a, nasty) <= b.n,
        yields=lambda a, b: (nasty, b.n),
        restrict=most_recently("a", "b"),
        name=nasty,
    )
    engine = Engine(pairs)
    for number in range(4):
        engine.push(left, {nasty: number})
        engine.push(right, {"n": number})
    assert [event.value for event in engine.push(left, {nasty: 3})] == [(nasty, 3)]
    code = [line for line in engine.source().splitlines() if not line.strip().startswith("#")]
    assert sum(line.startswith("def push(value, at):") for line in code) == 2
    assert not any("raise" in line for line in code)
    assert engine.source().isascii()


def test_source_says_what_has_no_function_and_why() -> None:
    left, right = left_and_right()
    table = Reactive("table", table=True)
    rows = correlate(t=table, yields=lambda t: t, restrict=most_recently("t"))
    first, *_, batches = Engine(rows).source().splitlines()
    assert batches.startswith("# a batch of columns is pushed row by row: correlate(table): ")
    assert first == "# it calls clauses, as most_recently('t') runs as written"
    pushing, *_ = Engine(rows, trace=True).source().splitlines()
    assert pushing.startswith("# what comes to the input 'table' runs by calls of the clauses as written: what saw")
    reference = Engine(zip_(left, right), tier="reference").source().splitlines()
    assert reference[0] == "# what comes to the input 'left' runs on coroutines: the tier is pinned"


def tier_line(engine: Engine) -> str:
    (line,) = [line for line in engine.explain().splitlines() if line.startswith("  tier")]
    return line.removeprefix("  tier").strip()


def test_explain_says_how_a_correlation_runs() -> None:
    left, right = left_and_right()
    latest = combine_latest(left, right)
    assert tier_line(Engine(latest)) == "in place: a push is one function of its own"
    assert tier_line(Engine(latest, tier="reference")).startswith("reference: every clause runs as written")
    assert tier_line(Engine(latest, trace=True)) == (
        "in place: by direct calls of the clauses, as what saw an event is recorded, by trace=True"
    )
    held = correlate(x=left, yields=lambda x: x, restrict=resuming("x"))
    assert tier_line(Engine(held)) == "reference: on coroutines, as resuming('x') may suspend a strand"
    asked = correlate(x=left, yields=lambda x: x, restrict=asking("x"))
    assert tier_line(Engine(asked)) == (
        "in place: a push is one function of its own, which calls clauses, as asking('x') runs as written"
    )


def test_only_what_is_nested_too_deep_is_taken_for_that():
    deep = "".join(f"{' ' * depth}for x in y:\n" for depth in range(30)) + " " * 30 + "pass\n"
    with pytest.raises(TooDeep):
        define("deep", deep, {})
    with pytest.raises(TooDeep):
        define("deep", f"deep = {'(' * 300}0{')' * 300}\n", {})
    with pytest.raises(SyntaxError):  # a mistake of a generator, which nobody may swallow
        define("wrong", "def wrong(:\n", {})


def test_the_lines_of_a_text_go_with_the_last_function_of_it():
    generated._compiled.cache_clear()
    gc.collect()
    before = len(linecache.cache)
    functions = [define("f", f"def f():\n    return {number}\n", {}) for number in range(1_100)]
    assert len(linecache.cache) == before + 1_100
    assert linecache.getline(functions[0].__code__.co_filename, 2) == "    return 0\n"  # however many came since
    del functions[1:]
    generated._compiled.cache_clear()
    gc.collect()
    assert len(linecache.cache) == before + 1
